//! `lowland plot`: pictures and pages of maps.

use std::process::ExitCode;

use crate::args::PlotArgs;
use crate::failure::Failure;

pub fn plot(args: &PlotArgs) -> Result<ExitCode, Failure> {
    let map = lowland_io::read_map(&args.maps[0])?;
    for path in &args.out {
        let options = lowland_view::PictureOptions::default();
        let labels = map.labels.as_ref();
        let labels = labels.map(|labels| lowland_view::Labels { codes: &labels.codes, names: &labels.names });
        lowland_io::write_bytes(path, &lowland_view::png(map.map.points(), labels, &options)?)
            .map_err(Failure::write)?;
    }
    Ok(ExitCode::SUCCESS)
}
