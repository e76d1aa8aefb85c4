//! The numbers behind docs/methods/tsm.md: `tsm_figures FILE TAU STEP DIMS UPDATES [QUESTIONS]`
//!
//! Every STEP-th row of FILE (an array, or word vectors) by `tsm` and by `svd` in each of the dimensions (`4,8,16`): mean angular
//! deviation, Jaccard index, norm error and seconds (Figs 3 and 4; Figs 6 and 7 by `tsm` on landmarks where STEP is above 1),
//! analogies where QUESTIONS are given (Fig 5), and the histogram of angles (Fig 2). One JSON line each.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use lowland::methods::Job;
use lowland::quality::{Analogies, AnalogyScore, analogies, angles};
use lowland::run::{Limits, Silent};
use lowland::tsm::{AngleHistogram, Cosines};
use lowland::{Data, Points, Seed};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word =
        |at: usize| arguments.get(at).map(String::as_str).context("usage: FILE TAU STEP DIMS UPDATES [QUESTIONS]");
    let table = lowland_io::read(Path::new(word(0)?), &Default::default())?;
    let (tau, step): (f64, usize) = (word(1)?.parse()?, word(2)?.parse()?);
    let rows: Vec<usize> = (0..table.data.rows()).step_by(step).collect();
    let (all, part) = (&table.data, table.data.select(&rows));
    let words: Vec<String> = table.ids.iter().flat_map(|ids| rows.iter().map(|&i| ids[i].clone())).collect();
    let questions = match arguments.get(5) {
        Some(path) => Some(Analogies::parse(&std::fs::read_to_string(path)?)?),
        None => None,
    };
    let asked = |vectors: Points| -> Result<Value> {
        let Some(questions) = &questions else { return Ok(Value::Null) };
        let scores = analogies(vectors, &words, questions, &mut |_| Ok(()))?;
        let share = |grammar: bool| {
            let kind = |score: &&AnalogyScore| score.category.starts_with("gram") == grammar;
            let sum = |part: fn(&AnalogyScore) -> usize| scores.iter().filter(kind).map(part).sum::<usize>() as f64;
            sum(|score| score.right) / sum(|score| score.asked)
        };
        Ok(json!({ "semantic": share(false), "syntactic": share(true) }))
    };

    let cosines = Cosines::new(&part)?;
    let histogram = AngleHistogram::new(&cosines, Seed(0), &mut |_| Ok(()))?;
    println!("{}", json!({ "nearest": histogram.nearest, "others": histogram.others, "tau": tau }));
    if let (Some(_), Data::Dense(x)) = (&questions, &part) {
        let values: Vec<f64> = x.values().iter().map(|&v| f64::from(v)).collect();
        println!("{}", json!({ "method": "data", "d": x.dim(), "analogies": asked(Points::new(&values, x.dim())?)? }));
    }
    let (tau_text, landmarks) = (tau.to_string(), rows.len().to_string());
    let tsm = vec![("tau", tau_text.as_str()), ("max_iter", word(4)?)];
    for d in word(3)?.split(',') {
        let mut runs = vec![("svd", "svd", &part, vec![]), ("tsm", "tsm", &part, tsm.clone())];
        if step > 1 {
            runs.push(("svd all", "svd", all, vec![]));
            runs.push(("tsm llx", "tsm", all, [&tsm[..], &[("landmarks", landmarks.as_str())]].concat()));
        }
        for (name, method, data, mut parameters) in runs {
            parameters.push(("n_components", d));
            let clock = Instant::now();
            let fitted = Job::new(method, &parameters, Seed(0))?.fit(data, None, &Limits::default(), &mut Silent)?;
            let seconds = clock.elapsed().as_secs_f64();
            let scores = angles(data, fitted.embedding.points(), tau, &mut |_| Ok(()))?;
            let analogies = if data.rows() == words.len() { asked(fitted.embedding.points())? } else { Value::Null };
            let line = json!({
                "method": name, "d": d.parse::<usize>()?, "degrees": scores.deviation, "jaccard": scores.jaccard,
                "norm_error": scores.norm_error, "seconds": seconds, "analogies": analogies,
            });
            println!("{line}");
        }
    }
    Ok(())
}
