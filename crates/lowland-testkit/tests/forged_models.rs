//! Models whose numbers were changed, with a valid checksum: loading or transforming fails, or the results are finite.

use lowland::fit::fit;
use lowland::registry::{METHODS, ParsedMethod};
use lowland::run::{Archive, ArchiveKind};
use lowland::{Data, FitOptions, Model, Seed};
use lowland_core::archive::Array;

/// Copies of an archive in which one number of an entry is extreme.
fn forgeries(archive: &Archive, name: &str) -> Vec<Archive> {
    let extremes = [f64::MAX, -f64::MAX, 1e160, 1e-310, 0.0];
    let change = |value: f64| {
        let mut forged = archive.clone();
        match archive.get(name)? {
            Array::F64(values) if !values.is_empty() => {
                let mut values = values.clone();
                let middle = values.len() / 2;
                values[middle] = value;
                forged.put(name, values);
            }
            Array::F32(values) if !values.is_empty() => {
                let mut values = values.clone();
                let middle = values.len() / 2;
                values[middle] = value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
                forged.put(name, values);
            }
            _ => return None,
        }
        Some(forged)
    };
    extremes.into_iter().filter_map(change).collect()
}

fn is_finite(data: &Data) -> bool {
    data.check_finite().is_ok()
}

#[test]
fn forged_models_give_an_error_or_finite_results() {
    let rows = |seed, count: usize| {
        Data::dense(Seed(seed).normals(count * 4).into_iter().map(|v| v as f32).collect(), 4).unwrap()
    };
    let (data, new) = (rows(1, 40), rows(2, 5));
    let (mut forged, mut rejected) = (0, 0);
    for info in METHODS {
        let quick: Vec<(&str, &str)> =
            info.params().iter().filter(|spec| spec.name == "max_iter").map(|_| ("max_iter", "5")).collect();
        let Ok(ParsedMethod { method, .. }) = info.parse(&quick) else { continue };
        // Some methods need other parameters for so few rows.
        let Ok(model) = fit(method, &data, FitOptions::default()) else { continue };
        let archive = Archive::from_bytes(&model.to_bytes(), ArchiveKind::Model).unwrap();
        for name in archive.names().map(str::to_string).collect::<Vec<_>>() {
            for forgery in forgeries(&archive, &name) {
                forged += 1;
                let Ok(model) = Model::from_bytes(&forgery.to_bytes()) else {
                    rejected += 1;
                    continue;
                };
                let what = format!("{} with an extreme number in {name}", info.name);
                if let Ok(output) = model.transform_with(&new, &mut |_| Ok(())) {
                    let parts = [Some(output.embedding.values()), output.std.as_deref(), output.covariances.as_deref()];
                    assert!(parts.into_iter().flatten().flatten().all(|v| v.is_finite()), "{what}: transform");
                }
                if let Ok(rows) = model.inverse_transform(data_points(&model)) {
                    assert!(is_finite(&rows), "{what}: inverse");
                }
                if let Ok(samples) = model.samples(2, Seed(0)) {
                    assert!(samples.iter().all(|sample| sample.points().check_finite().is_ok()), "{what}: samples");
                }
            }
        }
    }
    assert!(forged > 200, "{forged} models were forged");
    assert!(rejected < forged);
}

/// The first points of the embedding.
fn data_points(model: &Model) -> lowland::Points<'_> {
    let dim = model.embedding().dim();
    lowland::Points::new(&model.embedding().values()[..3 * dim], dim).unwrap()
}
