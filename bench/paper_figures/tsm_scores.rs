//! The numbers of docs/methods/tsm.md: `tsm_scores FILE TAU STEP FOLD DIMS UPDATES METHODS [QUESTIONS]`
//!
//! Embeds every STEP-th row of FILE (an array or word vectors), from row FOLD on, with METHODS (`svd,isomap,tsm,extension`) in each
//! number of dimensions (`4,8,16`) and prints a JSON line with mean angular deviation, Jaccard index, norm error and seconds (Figs 3, 4
//! and 9; `extension` is `tsm` on these rows, extended to all others, Figs 6 and 7), analogies if QUESTIONS are given (Fig 5) with the
//! answers to those of Table 1, and the histogram of angles (Fig 2). `svd` and `isomap` are computed once in the largest number of
//! dimensions; fewer dimensions are its first columns.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use lowland::FitOptions;
use lowland::quality::{AnalogyQuestions, AnalogyScore, angle_scores, score_analogies};
use lowland::registry::MethodInfo;
use lowland::{Data, Embedding, Points, Seed};
use lowland_algorithms::llx::Llx;
use lowland_algorithms::tsm::{AngleHistogram, CosineSimilarity, SimilarPair};
use rayon::prelude::*;
use serde_json::{Value, json};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| {
        arguments.get(at).map(String::as_str).context("usage: FILE TAU STEP FOLD DIMS UPDATES METHODS [QUESTIONS]")
    };
    let table = lowland_io::read(Path::new(word(0)?), &Default::default())?;
    let (tau, step, fold): (f64, usize, usize) = (word(1)?.parse()?, word(2)?.parse()?, word(3)?.parse()?);
    let methods: Vec<&str> = word(6)?.split(',').collect();
    let rows: Vec<usize> = (fold..table.data.rows()).step_by(step).collect();
    let (all, part) = (&table.data, table.data.select(&rows));
    let all_words: Vec<String> = table.ids.clone().unwrap_or_default();
    let words: Vec<String> = table.ids.iter().flat_map(|ids| rows.iter().map(|&i| ids[i].clone())).collect();
    let questions = match arguments.get(7) {
        Some(path) => Some(AnalogyQuestions::parse(&std::fs::read_to_string(path)?)?),
        None => None,
    };
    let asked = |vectors: Points| -> Result<Value> {
        let Some(questions) = &questions else { return Ok(Value::Null) };
        let words = if vectors.rows() == words.len() { &words } else { &all_words };
        let scores = score_analogies(vectors, words, questions)?;
        let share = |grammar: bool| {
            let kind = |score: &&AnalogyScore| score.category.starts_with("gram") == grammar;
            let sum = |part: fn(&AnalogyScore) -> usize| scores.iter().filter(kind).map(part).sum::<usize>() as f64;
            sum(|score| score.correct) / sum(|score| score.asked)
        };
        let answers: Vec<Option<&str>> = TABLE_1.iter().map(|question| answer(vectors, words, question)).collect();
        Ok(json!({ "semantic": share(false), "syntactic": share(true), "table_1": answers }))
    };

    let cosines = CosineSimilarity::new(&part)?;
    let histogram = AngleHistogram::new(&cosines, Seed(0), &mut |_| Ok(()))?;
    println!("{}", json!({ "nearest": histogram.nearest, "others": histogram.others, "tau": tau }));
    if let (Some(_), Data::Dense(x)) = (&questions, &part) {
        let values: Vec<f64> = x.values().iter().map(|&v| f64::from(v)).collect();
        println!("{}", json!({ "method": "data", "d": x.dim(), "analogies": asked(Points::new(&values, x.dim())?)? }));
    }
    let tau_text = tau.to_string();
    let tsm = [("tau", tau_text.as_str()), ("max_iter", word(5)?)];
    let fit = |method: &str, parameters: &[(&str, &str)], data: &Data| -> Result<(Embedding, f64)> {
        let clock = Instant::now();
        let mut options = FitOptions::default();
        // Isomap preserves distances; between rows of unit length they correspond to angles.
        options.preprocessing.normalize = method == "isomap";
        let parsed = MethodInfo::find(method)?.parse(parameters)?;
        let model = lowland::fit::fit(parsed.method, data, FitOptions { landmarks: parsed.landmarks, ..options })?;
        Ok((model.embedding().clone(), clock.elapsed().as_secs_f64()))
    };
    let report = |name: &str, data: &Data, map: Points, seconds: f64| -> Result<()> {
        let scores = angle_scores(data, map, tau)?;
        let analogies = asked(map)?;
        let line = json!({
            "method": name, "d": map.dim(), "degrees": scores.deviation, "jaccard": scores.jaccard,
            "norm_error": scores.norm_error, "seconds": seconds, "analogies": analogies,
        });
        println!("{line}");
        Ok(())
    };
    let dims: Vec<usize> = word(4)?.split(',').map(str::parse).collect::<Result<_, _>>()?;
    let most = dims.iter().max().context("no dimensions")?.to_string();
    if methods.contains(&"svd") {
        let whole = if step > 1 { vec![("svd", &part), ("svd all", all)] } else { vec![("svd", &part)] };
        for (name, data) in whole {
            let (map, seconds) = fit("svd", &[("n_components", &most)], data)?;
            dims.iter().try_for_each(|&d| report(name, data, first_columns(&map, d)?.points(), seconds))?;
        }
    }
    if methods.contains(&"isomap") {
        let pairs = cosines.similar_pairs(tau, 0)?;
        let (landmarks, dims_of_isomap) = isomap_size(&part, &dims);
        let most = dims_of_isomap.iter().max().context("too many dimensions for isomap")?.to_string();
        let parameters = [("n_components", most.as_str()), ("n_neighbors", "32"), ("landmarks", &landmarks)];
        let (map, seconds) = fit("isomap", &parameters, &part)?;
        for d in dims_of_isomap {
            let jaccard = jaccard_by_distance(&pairs, first_columns(&map, d)?.points(), tau);
            println!("{}", json!({ "method": "isomap", "d": d, "jaccard": jaccard, "seconds": seconds }));
        }
    }
    drop(cosines);
    for d in dims.iter().filter(|_| methods.contains(&"tsm") || methods.contains(&"extension")) {
        let d = d.to_string();
        let parameters = [&tsm[..], &[("n_components", d.as_str())]].concat();
        let (map, seconds) = fit("tsm", &parameters, &part)?;
        report("tsm", &part, map.points(), seconds)?;
        if methods.contains(&"extension") {
            let clock = Instant::now();
            let (map, _) = Llx::linear(map.dim()).extend(all, &rows, map.points(), Seed(0), &mut |_| Ok(()))?;
            report("tsm llx", all, map.points(), clock.elapsed().as_secs_f64())?;
        }
    }
    Ok(())
}

/// The prompts, queries and answers of Table 1.
const TABLE_1: [[&str; 4]; 14] = [
    ["Athens", "Greece", "Baghdad", "Iraq"],
    ["Abuja", "Nigeria", "Amman", "Jordan"],
    ["Algeria", "dinar", "Cambodia", "riel"],
    ["Chicago", "Illinois", "Houston", "Texas"],
    ["boy", "girl", "father", "mother"],
    ["amazing", "amazingly", "calm", "calmly"],
    ["aware", "unaware", "honest", "dishonest"],
    ["bad", "worse", "cold", "colder"],
    ["bad", "worst", "cool", "coolest"],
    ["code", "coding", "jump", "jumping"],
    ["Albania", "Albanian", "Austria", "Austrian"],
    ["dancing", "danced", "describing", "described"],
    ["banana", "bananas", "goat", "goats"],
    ["decrease", "decreases", "estimate", "estimates"],
];

/// Returns the word nearest in angle to `c + (b - a)`, other than `b` and `c` (eq 13); `None` if one of the words has no vector.
fn answer<'a>(vectors: Points, words: &'a [String], [a, b, c, _]: &[&str; 4]) -> Option<&'a str> {
    let find = |word: &str| words.iter().position(|known| known == word);
    let (a, b, c) = (find(a)?, find(b)?, find(c)?);
    let target: Vec<f64> =
        (0..vectors.dim()).map(|at| vectors.row(c)[at] + vectors.row(b)[at] - vectors.row(a)[at]).collect();
    let cosine = |i: usize| {
        let row = vectors.row(i);
        let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter().zip(&target).map(|(v, t)| v * t).sum::<f64>() / norm.max(f64::MIN_POSITIVE)
    };
    let candidates = (0..words.len()).filter(|&i| i != b && i != c);
    let best = candidates.map(|i| (i, cosine(i))).reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(i, _)| words[i].as_str())
}

/// Most dimensions of Isomap on landmarks: the extension to the other rows uses four neighbors per dimension, and its time grows with
/// their square.
const MOST_EXTENDED: usize = 32;

/// Returns the number of landmarks (0: none) and the dimensions for Isomap, which considers all pairs of rows.
fn isomap_size(data: &Data, dims: &[usize]) -> (String, Vec<usize>) {
    if data.rows() <= 15_000 {
        return ("0".into(), dims.to_vec());
    }
    ("8000".into(), dims.iter().copied().filter(|&d| d <= MOST_EXTENDED).collect())
}

fn first_columns(map: &Embedding, d: usize) -> Result<Embedding> {
    let rows = map.values().chunks_exact(map.dim());
    Ok(Embedding::new(rows.flat_map(|row| row[..d].iter().copied()).collect(), d)?)
}

/// The Jaccard index of appendix B: on the map, pairs with `|y_i - y_j|^2 / 2 < 1 - tau` count as similar.
fn jaccard_by_distance(similar: &[SimilarPair], map: Points, tau: f64) -> f64 {
    let near = |i: usize, j: usize| {
        let square: f64 = map.row(i).iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        0.5 * square < 1.0 - tau
    };
    let of_row = |i: usize| (i + 1..map.rows()).filter(|&j| near(i, j)).count();
    let on_map: usize = (0..map.rows()).into_par_iter().map(of_row).sum();
    let both = similar.par_iter().filter(|pair| near(pair.i as usize, pair.j as usize)).count();
    // In both orders, and each row with itself, as for the other methods.
    let count = |pairs: usize| (2 * pairs + map.rows()) as f64;
    count(both) / (count(on_map) + count(similar.len()) - count(both))
}
