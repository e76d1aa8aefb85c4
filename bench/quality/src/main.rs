//! `bench-quality DATA.npy [--labels LABELS.npy] [--map MAP.npy] [--max-exact ROWS] [--picture OUT.png] [--scores no]`:
//! scores a map of the data (its first two columns when none is given), draws it, and prints a table of scores and times.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::Instant;

use lowland::quality::{QualityParams, report};
use lowland::{Data, Points};
use lowland_view::{Labels, PictureOptions, png};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which .npy file?")?;
    let mut options = HashMap::new();
    while let Some(name) = arguments.next() {
        options.insert(name, arguments.next().ok_or("an option without its value")?);
    }
    let (values, dim) = matrix(&path)?;
    let (map, map_dim) = match options.get("--map") {
        Some(path) => matrix(path)?,
        None => (values.chunks(dim).flat_map(|row| [row[0], row[1]]).collect(), 2),
    };
    let map: Vec<f64> = map.into_iter().map(f64::from).collect();
    let map = Points::new(&map, map_dim)?;
    let labels = options.get("--labels").map(|path| codes(path)).transpose()?;
    let mut caption = String::new();
    if !options.contains_key("--scores") {
        let max_exact = options.get("--max-exact").map(|rows| rows.parse()).transpose()?;
        caption = score(&Data::dense(values, dim)?, map, labels.as_deref(), max_exact)?;
    }
    if let Some(path) = options.get("--picture") {
        let names: Vec<String> = (0..10).map(|digit| format!("digit {digit}")).collect();
        let labels = labels.as_deref().map(|codes| Labels { codes, names: &names });
        let options = PictureOptions { title: "A map".into(), caption, ..Default::default() };
        let started = Instant::now();
        let file = png(map, labels, &options)?;
        println!("- picture: {:.2} s, {} bytes", started.elapsed().as_secs_f64(), file.len());
        std::fs::write(path, file)?;
    }
    Ok(())
}

/// Prints scores and times; returns the main scores in a line.
fn score(data: &Data, map: Points, labels: Option<&[u32]>, max_exact: Option<usize>) -> Result<String, Box<dyn Error>> {
    let params = QualityParams { max_exact, ..Default::default() };
    let started = Instant::now();
    let mut stages = vec![(0.0, 0.0)];
    let scored = report(data, map, labels, &params, &mut |done| {
        stages.push((done, started.elapsed().as_secs_f64()));
        Ok(())
    })?;
    let seconds = started.elapsed().as_secs_f64();
    println!("| score | k | sampled | value |\n|---|---|---|---|");
    for score in scored.rows() {
        let shown = |count: Option<usize>| count.map_or("-".to_string(), |count| count.to_string());
        println!("| {} | {} | {} | {:.6} |", score.name, shown(score.k), shown(score.sampled), score.value);
    }
    let wait = stages.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max);
    println!(
        "\n{} x {}: {seconds:.1} s; longest wait between two calls of progress {wait:.2} s",
        data.rows(),
        data.dim()
    );
    for (name, mark) in
        [("map neighbours", 0.03), ("data neighbours", 0.48), ("trustworthiness", 0.78), ("continuity", 0.93)]
    {
        if let Some(stage) = stages.iter().find(|stage| stage.0 >= mark - 1e-9) {
            println!("- {name} done after {:.1} s", stage.1);
        }
    }
    let main = ["knn recall", "trustworthiness", "continuity", "triplet accuracy"];
    let main = main.iter().filter_map(|name| scored.get(name).map(|value| format!("{name} {value:.3}")));
    Ok(main.collect::<Vec<_>>().join(", "))
}

/// Class codes of one byte each.
fn codes(path: &str) -> Result<Vec<u32>, Box<dyn Error>> {
    let file = npyz::NpyFile::new(BufReader::new(File::open(path)?))?;
    Ok(file.into_vec::<u8>()?.into_iter().map(u32::from).collect())
}

/// Values and row length of a two-dimensional `f32` or `f64` array.
fn matrix(path: &str) -> Result<(Vec<f32>, usize), Box<dyn Error>> {
    let open = || -> Result<_, Box<dyn Error>> { Ok(npyz::NpyFile::new(BufReader::new(File::open(path)?))?) };
    let dim = *open()?.shape().get(1).ok_or("not a matrix")? as usize;
    let values = open()?.into_vec::<f32>().or_else(|_| {
        let wide = npyz::NpyFile::new(BufReader::new(File::open(path)?))?.into_vec::<f64>()?;
        Ok::<_, std::io::Error>(wide.into_iter().map(|v| v as f32).collect())
    })?;
    Ok((values, dim))
}
