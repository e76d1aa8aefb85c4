//! Draws a map that `lowland embed` wrote: `picture MAP.csv OUT.png "TITLE" ["CAPTION" [SHARE]]`. With a share, the
//! points of the largest standard deviations are left out, so many of a hundred.

use std::path::Path;

use anyhow::{Context, Result, bail};
use lowland::Embedding;
use lowland_view::{ClassLabels, PictureOptions, draw_png};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [map, out, title, rest @ ..] = &words[..] else { bail!("usage: picture MAP OUT.png TITLE [CAPTION [SHARE]]") };
    let table = lowland_io::read_map(Path::new(map))?;
    let share: f64 = rest.get(1).map_or(Ok(0.0), |text| text.parse()).context("SHARE")?;
    let mut rows: Vec<usize> = (0..table.map.rows()).collect();
    if let Some(std) = table.std.filter(|_| share > 0.0) {
        rows.sort_by(|&a, &b| std[a].total_cmp(&std[b]));
        rows.truncate((rows.len() as f64 * (1.0 - share / 100.0)).round() as usize);
        rows.sort_unstable();
    }
    let values = rows.iter().flat_map(|&i| table.map.row(i).to_vec()).collect();
    let map = Embedding::new(values, table.map.dim())?;
    let labels = table.labels.map(|labels| labels.select(&rows));
    let labels = labels.as_ref().map(|labels| ClassLabels { codes: &labels.codes, names: &labels.names });
    let caption = rest.first().cloned().unwrap_or_default();
    let options =
        PictureOptions { width: 520, height: Some(520), title: title.clone(), caption, ..PictureOptions::default() };
    std::fs::write(out, draw_png(map.points(), labels, &options)?)?;
    Ok(())
}
