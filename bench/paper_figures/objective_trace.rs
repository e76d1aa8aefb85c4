//! Objective against time: `objective_trace ARRAY.npy METHOD NAME=VALUE..` fits and prints a CSV row for every iteration: wall and
//! CPU seconds since the start of the stage, iteration, objective. `objective_curves.py` draws the curves.
#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, bail};
use lowland::FitOptions;
use lowland::registry::MethodInfo;
use lowland::run::Event;
use lowland_bench::Clock;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [array, method, values @ ..] = &arguments[..] else {
        bail!("usage: objective_trace ARRAY.npy METHOD NAME=VALUE..");
    };
    let values: Vec<(&str, &str)> =
        values.iter().map(|text| text.split_once('=').with_context(|| text.clone())).collect::<Result<_>>()?;
    let data = lowland_io::read(Path::new(array), &Default::default())?.data;
    let parsed = MethodInfo::find(method)?.parse(&values)?;
    let mut clock = Clock::start();
    println!("wall_s,cpu_s,iteration,objective");
    let mut print = |event: &Event| {
        match event {
            Event::StageStart(_) => clock = Clock::start(),
            Event::Step { step, .. } => {
                let used = clock.used();
                println!("{:.4},{:.4},{},{}", used.wall_s, used.cpu_s, step.iteration, step.objective);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let options = FitOptions { landmarks: parsed.landmarks, observer: Some(&mut print), ..FitOptions::default() };
    lowland::fit::fit(parsed.method, &data, options)?;
    Ok(())
}
