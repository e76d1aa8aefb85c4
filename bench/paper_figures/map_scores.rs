//! Embeds an array with several methods or settings and prints a table of scores:
//! `map_scores ARRAY.npy LABELS.npy ROWS FOLDER NAME=METHOD[:key=value,...]...`. Both arrays are two-dimensional. If ROWS is less
//! than the number of rows, a random sample is used. The key `seed` sets the seed. Pictures, embeddings and traces go to FOLDER.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use lowland::FitOptions;
use lowland::neighbors::{NeighborParams, Search, nearest, nearest_points};
use lowland::quality::{class_shares, classification_error, knn_recall};
use lowland::registry::MethodInfo;
use lowland::{AnnotatedEmbedding, Labels};
use lowland::{Data, Metric, Seed};
use lowland_view::{PictureOptions, draw_png};

const NEAR: [usize; 4] = [15, 30, 45, 60];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [array, labels, rows, folder, specs @ ..] = &arguments[..] else {
        bail!("usage: map_scores ARRAY.npy LABELS.npy ROWS FOLDER NAME=METHOD[:key=value,...]...");
    };
    let (data, labels) = sample_rows(Path::new(array), Path::new(labels), rows.parse()?)?;
    let most = NEAR[NEAR.len() - 1].min(data.rows() - 1);
    let exact = NeighborParams { n_neighbors: most, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    let truth = nearest(&data, &exact)?.graph;
    println!(
        "| map | recall at 15 | 30 | 45 | 60 | share of its class at 15 | 30 | 45 | 60 | 1-NN error | objective | s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for spec in specs {
        let (name, recipe) = spec.split_once('=').with_context(|| format!("no name in {spec}"))?;
        let (method, values) = recipe.split_once(':').unwrap_or((recipe, ""));
        let pairs = values.split(',').filter(|pair| !pair.is_empty());
        let values =
            pairs.map(|pair| pair.split_once('=').with_context(|| pair.to_owned())).collect::<Result<Vec<_>>>()?;
        let (seed, values): (Vec<_>, Vec<_>) = values.into_iter().partition(|(key, _)| *key == "seed");
        let seed = seed.first().map_or(Ok(0), |(_, text)| text.parse())?;
        let clock = Instant::now();
        let parsed = MethodInfo::find(method)?.parse(&values)?;
        let options = FitOptions { seed: Seed(seed), landmarks: parsed.landmarks, ..FitOptions::default() };
        let fitted = lowland::fit::fit(parsed.method, &data, options)?;
        let seconds = clock.elapsed().as_secs_f64();
        let map = fitted.embedding().points();
        let near = nearest_points(map, most)?;
        let mut scores = Vec::new();
        for k in NEAR {
            scores.push(knn_recall(&truth, &near, k.min(most))?);
        }
        for k in NEAR {
            let shares = class_shares(&near, &labels, k.min(most))?;
            let points: usize = shares.iter().map(|class| class.points).sum();
            scores.push(shares.iter().map(|class| class.share * class.points as f64).sum::<f64>() / points as f64);
        }
        scores.push(classification_error(&near, &labels, 1)?);
        scores.push(fitted.outcome().trace.last().map_or(f64::NAN, |step| step.objective));
        let scores: Vec<String> = scores.iter().map(|score| format!("{score:.3}")).collect();
        println!("| {name} | {} | {seconds:.1} |", scores.join(" | "));
        let options = PictureOptions { width: 700, height: Some(700), title: name.into(), ..PictureOptions::default() };
        let labels = Labels { codes: labels.clone(), names: Vec::new() };
        let annotated = AnnotatedEmbedding { labels: Some(labels), ..fitted.embedding().clone().into() };
        let picture = draw_png(&annotated, &options)?;
        std::fs::write(Path::new(folder).join(format!("{name}.png")), picture)?;
        let path = Path::new(folder).join(format!("{name}.npy"));
        lowland_io::write_map(&path, &annotated, &lowland_io::WriteOptions::default())?;
        let trace = fitted.outcome().trace.iter().map(|step| format!("{},{}\n", step.iteration, step.objective));
        let lines = std::iter::once("iteration,objective\n".to_owned()).chain(trace).collect::<String>();
        std::fs::write(Path::new(folder).join(format!("{name}.csv")), lines)?;
    }
    Ok(())
}

fn sample_rows(array: &Path, labels: &Path, count: usize) -> Result<(Data, Vec<u32>)> {
    let data = lowland_io::read(array, &Default::default())?.data;
    let labels: Vec<u32> = lowland_io::read_map(labels)?.embedding.values().iter().map(|&v| v as u32).collect();
    if count >= data.rows() {
        return Ok((data, labels));
    }
    let keys = Seed(1).normals(data.rows());
    let mut order: Vec<usize> = (0..data.rows()).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    order.truncate(count);
    let chosen = order.iter().map(|&i| labels[i]).collect();
    Ok((data.select(&order), chosen))
}
