//! `lowland select --method tsm`: the angles between rows, and the threshold that so many pairs exceed.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::Data;
use lowland::methods::{Recipe, Tsm};
use lowland::tsm::AngleHistogram;
use lowland_view::{ChartOptions, Curve};
use serde_json::json;

use super::select::{conclude, ending, print_table, title};
use crate::failure::{Failure, STOPPED};
use crate::observer::{Console, emit};
use crate::select_args::SelectArgs;

pub fn threshold(args: &SelectArgs, data: &Data, console: &mut Console) -> Result<ExitCode, Failure> {
    Recipe::check(&Tsm { density: args.density, ..Tsm::default() })?;
    let angles = lowland::with_threads(args.run.threads(), || {
        console.progress("angles", |progress| Tsm::angles(data, args.run.seed(), progress))
    })??;
    console.finish();
    let tau = angles.threshold(args.density);
    for path in &args.out {
        let bytes = if ending(path) == "csv" { table(&angles).into_bytes() } else { picture(args, &angles, tau)? };
        lowland_io::write_bytes(path, &bytes).map_err(Failure::write)?;
    }
    if args.run.json {
        let (nearest, others) = (&angles.nearest, &angles.others);
        emit(&json!({ "event": "angles", "tau": tau, "nearest": nearest, "others": others, "rows": angles.rows }));
    } else {
        print_table(&angles.to_text(tau))?;
        let degrees = tau.acos().to_degrees();
        let share = 100.0 * angles.fraction_above(tau);
        conclude(args, &format!("take --tau {tau:.4} ({degrees:.1} degrees): {share:.3} % of all pairs exceed it"));
    }
    Ok(if console.stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn table(angles: &AngleHistogram) -> String {
    let mut text = String::from("degrees,nearest,others\n");
    for (degrees, (nearest, others)) in angles.nearest.iter().zip(&angles.others).enumerate() {
        let _ = writeln!(text, "{degrees},{nearest},{others}");
    }
    text
}

/// Figure 2 of the paper, with the threshold.
fn picture(args: &SelectArgs, angles: &AngleHistogram, tau: f64) -> Result<Vec<u8>, Failure> {
    let used = |degrees: &usize| angles.nearest[*degrees] + angles.others[*degrees] > 0;
    let ends = (0..180).find(used).zip((0..180).rfind(used));
    let Some((first, last)) = ends else {
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
        Curve { name: "nearest neighbours".into(), points: nearest },
        Curve { name: "other pairs".into(), points: others },
        // An error bar without a curve: a line from the axis to the top.
        Curve { name: format!("threshold {degrees:.1}"), points: vec![[degrees, 0.0, 0.0, highest]] },
    ];
    let (x_label, y_label) = ("angle in degrees".into(), "share of the pairs, for each degree".into());
    Ok(lowland_view::draw_chart(
        &curves,
        &ChartOptions { title: title(args), x_label, y_label, ..ChartOptions::default() },
    )?)
}
