//! `lowland select --method tsm`: chooses the threshold from the angles between rows.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::Data;
use lowland::method::Method;
use lowland::methods::{AngleHistogram, Tsm};
use lowland_view::{ChartOptions, Curve, draw_chart};
use serde_json::json;

use super::select::print_conclusion;
use crate::args::SelectArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::paths::{extension, file_name};
use crate::print::{print_json, print_stdout};

pub fn select_threshold(args: &SelectArgs, data: &Data, console: &mut Console) -> Result<ExitCode, Failure> {
    Tsm { density: args.density, ..Tsm::default() }.validate()?;
    let angles = console.run_stage("angles", |progress| Tsm::angles(data, args.common.run.seed(), progress))?;
    console.finish();
    let tau = angles.threshold(args.density);
    for path in &args.out {
        let bytes =
            if extension(path) == "csv" { angles_csv(&angles).into_bytes() } else { chart(args, &angles, tau)? };
        lowland_io::write_bytes(path, &bytes).map_err(Failure::write)?;
    }
    if args.common.run.json {
        let (nearest, others) = (&angles.nearest, &angles.others);
        print_json(
            &json!({ "event": "angles", "tau": tau, "nearest": nearest, "others": others, "rows": angles.rows }),
        );
    } else {
        print_stdout(&angles.to_text(tau))?;
        let (degrees, share) = (tau.acos().to_degrees(), 100.0 * angles.fraction_above(tau));
        print_conclusion(
            args,
            &format!("take --tau {tau:.4} ({degrees:.1} degrees): {share:.3} % of all pairs exceed it"),
        );
    }
    Ok(console.exit_code())
}

fn angles_csv(angles: &AngleHistogram) -> String {
    let mut text = String::from("degrees,nearest,others\n");
    for (degrees, (nearest, others)) in angles.nearest.iter().zip(&angles.others).enumerate() {
        let _ = writeln!(text, "{degrees},{nearest},{others}");
    }
    text
}

/// Draws the histograms of the angles (figure 2 of the paper) with the threshold.
fn chart(args: &SelectArgs, angles: &AngleHistogram, tau: f64) -> Result<Vec<u8>, Failure> {
    let is_used = |degrees: &usize| angles.nearest[*degrees] + angles.others[*degrees] > 0;
    let range = (0..180).find(is_used).zip((0..180).rfind(is_used));
    let Some((first, last)) = range else {
        return Err(Failure::flag("--out: no two rows have an angle to draw"));
    };
    let shares = |counts: &[u64]| -> Vec<[f64; 4]> {
        let all = counts.iter().sum::<u64>().max(1) as f64;
        let share = |degrees: usize| counts[degrees] as f64 / all;
        (first..=last).map(|at| [at as f64 + 0.5, share(at), share(at), share(at)]).collect()
    };
    let (nearest, others) = (shares(&angles.nearest), shares(&angles.others));
    let highest = nearest.iter().chain(&others).fold(0.0f64, |most, point| most.max(point[1]));
    let degrees = tau.acos().to_degrees();
    let curves = [
        Curve { name: "nearest neighbors".into(), points: nearest },
        Curve { name: "other pairs".into(), points: others },
        // An error bar without a curve: a line from the axis to the top.
        Curve { name: format!("threshold {degrees:.1}"), points: vec![[degrees, 0.0, 0.0, highest]] },
    ];
    let options = ChartOptions {
        title: file_name(&args.common.input.input),
        x_label: "angle in degrees".into(),
        y_label: "share of the pairs, per degree".into(),
        ..ChartOptions::default()
    };
    Ok(draw_chart(&curves, &options)?)
}
