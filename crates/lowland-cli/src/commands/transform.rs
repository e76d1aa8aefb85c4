//! `lowland transform`: new rows on a saved map.

use std::path::Path;
use std::process::ExitCode;

use lowland::archive::{Archive, Kind};
use lowland::methods::Fitted;
use lowland_view::page::PageMap;

use crate::args::TransformArgs;
use crate::failure::Failure;
use crate::input;
use crate::observer::Console;
use crate::paths;

use super::outputs::{Found, Outputs, short};
use super::page::Known;
use super::written::Written;

pub fn transform(args: &TransformArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs::new(&args.out, &args.input.input, &args.run)?;
    paths::check(&[&args.model, Path::new(&args.input.input)], &outputs.files().collect::<Vec<_>>())?;
    let model = read_model(&args.model)?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    check_names(&model.feature_names, table.columns.as_deref().unwrap_or_default())?;
    let placed = lowland::with_threads(args.run.threads(), || {
        console.progress("transform", |progress| model.place(&table.data, progress))
    })??;
    let map = placed.embedding.points();
    let (std, covariances) = (placed.std.as_deref(), placed.covariances.as_deref());
    let found = Found { map, std, covariances };
    let mut written = Written::default();
    outputs.write_maps(found, &table, &mut written);
    let caption = format!("{} rows placed on a map of {}", map.rows(), model.embedding.rows());
    outputs.write_pictures(found, &table, &args.input.input, &caption, &mut written);
    if outputs.has_pages() {
        let name = model.job.method.name().to_string();
        let known = Known::of(&table);
        let mut page = known.page(short(&args.input.input));
        page.maps = vec![PageMap { name, caption, points: map, std, covariances, neighbors: None }];
        outputs.write_pages(&page, &mut written);
    }
    console.finish();
    written.finish(&mut console)?;
    Ok(ExitCode::SUCCESS)
}

/// A model that `embed --save` wrote.
pub fn read_model(path: &Path) -> Result<Fitted, Failure> {
    let bytes = lowland_io::read_bytes(path, u64::MAX)?;
    let model = Archive::from_bytes(&bytes, Kind::Model).and_then(|archive| Fitted::from_archive(&archive));
    model.map_err(|error| Failure::from(error).within(&path.display().to_string()))
}

/// Where both sides know the names of their columns, they must be the same in the same order.
pub fn check_names(model: &[String], new: &[String]) -> Result<(), Failure> {
    if model.is_empty() || new.is_empty() || model.len() != new.len() {
        return Ok(());
    }
    match model.iter().zip(new).position(|(ours, theirs)| ours != theirs) {
        None => Ok(()),
        Some(at) => Err(Failure::Other {
            code: 3,
            error: anyhow::anyhow!(
                "column {at} is \"{}\" where the model was fitted on \"{}\"; give the columns the model knows, in its order",
                new[at],
                model[at]
            ),
        }),
    }
}
