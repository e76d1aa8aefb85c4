//! How far points move between runs with other random numbers and some rows left out.

use lowland_core::run::{NoObserver, Observer, StopReason};
use lowland_core::{Data, Embedding, Error, MemoryBudget, Metric, Points, Result};
use lowland_quality::procrustes;

use crate::fit::{FitOptions, fit};
use crate::pipeline::Pipeline;
use crate::target::Target;

/// Every rerun leaves out one row in this many, another part of the rows in each of the first ones.
const PARTS: u64 = 10;
/// Fewest reruns: with two, every row is in at least one.
pub const MIN_RERUNS: usize = 2;

/// Options of [`instability`].
pub struct RerunOptions<'a> {
    /// Number of reruns, at least [`MIN_RERUNS`].
    pub reruns: usize,
    /// What the fit was supervised by, if it was.
    pub target: Option<&'a Target>,
    /// Receives the progress of every rerun, and can stop them.
    pub observer: Option<&'a mut dyn Observer>,
    /// Memory that a rerun may use, the data included.
    pub memory: MemoryBudget,
}

/// Fits the pipeline again with other seeds, each time without a tenth of the rows, and returns for every point its mean distance
/// from its place on `map` over the reruns that have it, after alignment by translation, scaling, rotation and reflection, in units
/// of the root mean square distance of the points from their center.
///
/// `data` are the rows before preprocessing. Runs that are stopped return [`Error::Stopped`].
pub fn instability(pipeline: &Pipeline, data: &Data, map: &Embedding, options: RerunOptions) -> Result<Vec<f64>> {
    check(pipeline, data, map, options.reruns)?;
    if pipeline.has_target != options.target.is_some() {
        return Err(Error::Parameter {
            name: "reruns",
            value: options.reruns.to_string(),
            allowed: "the map is supervised, and can be fitted again only where its target is given (embed --trust)"
                .into(),
        });
    }
    let mut no_observer = NoObserver;
    let observer: &mut dyn Observer = match options.observer {
        Some(observer) => observer,
        None => &mut no_observer,
    };
    let seed = pipeline.seed.stream("reruns");
    let radius = radius(map.points());
    let (mut sums, mut counts) = (vec![0.0; data.rows()], vec![0u32; data.rows()]);
    for run in 0..options.reruns {
        let rows: Vec<usize> = (0..data.rows()).filter(|&i| seed.item(i).0 % PARTS != run as u64 % PARTS).collect();
        let part = data.select(&rows);
        let target = options.target.map(|target| target.select(&rows));
        let again = FitOptions {
            seed: seed.stream("run").item(run),
            preprocessing: pipeline.preprocessing.clone(),
            landmarks: pipeline.landmarks,
            target: target.as_ref(),
            observer: Some(&mut *observer),
            memory: options.memory.clone(),
            ..FitOptions::default()
        };
        let model = fit(pipeline.method.clone_box(), &part, again)?;
        if model.outcome().stop_reason == StopReason::Stopped {
            return Err(Error::Stopped { stage: "reruns" });
        }
        let before: Vec<f64> = rows.iter().flat_map(|&i| map.row(i)).copied().collect();
        let aligned = procrustes(Points::new(&before, map.dim())?, model.embedding().points())?.aligned;
        for (at, &i) in rows.iter().enumerate() {
            sums[i] += distance(aligned.row(at), map.row(i)) / radius;
            counts[i] += 1;
        }
    }
    Ok(sums.iter().zip(&counts).map(|(sum, &count)| sum / f64::from(count)).collect())
}

fn check(pipeline: &Pipeline, data: &Data, map: &Embedding, reruns: usize) -> Result<()> {
    let invalid =
        |allowed: &str| Err(Error::Parameter { name: "reruns", value: reruns.to_string(), allowed: allowed.into() });
    if map.rows() != data.rows() {
        let what = "points of the map (one per row of the data)";
        return Err(Error::Shape { what, expected: data.rows(), found: map.rows() });
    }
    if reruns < MIN_RERUNS {
        return invalid("at least 2, so that every row is in one of them");
    }
    if pipeline.anchored.is_some() {
        return invalid("none for a map that continues an earlier one, from which it starts every time");
    }
    if pipeline.fixed.is_some() {
        return invalid("none for a map with fixed positions, which was not fitted");
    }
    if pipeline.method.metric() == Some(Metric::Precomputed) {
        return invalid("none for precomputed distances, of which rows cannot be left out");
    }
    Ok(())
}

/// Root mean square distance of the points from their center.
fn radius(map: Points) -> f64 {
    let n = map.rows() as f64;
    let mut center = vec![0.0; map.dim()];
    for row in map.values().chunks_exact(map.dim()) {
        center.iter_mut().zip(row).for_each(|(c, v)| *c += v / n);
    }
    let square = |row: &[f64]| distance(row, &center).powi(2);
    (map.values().chunks_exact(map.dim()).map(square).sum::<f64>() / n).sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use lowland_core::Seed;
    use lowland_core::run::Event;
    use std::ops::ControlFlow;

    use super::*;
    use crate::Model;
    use crate::methods::{Pca, Tsne};

    fn options(reruns: usize) -> RerunOptions<'static> {
        RerunOptions { reruns, target: None, observer: None, memory: MemoryBudget::default() }
    }

    fn again(model: &Model, data: &Data, reruns: usize) -> Result<Vec<f64>> {
        instability(model.pipeline(), data, model.embedding(), options(reruns))
    }

    /// Two columns of different variance and one of little noise, so that principal components hardly depend on the rows.
    fn sheet(n: usize) -> Data {
        let values = Seed(3).normals(3 * n);
        let scaled = values.chunks(3).flat_map(|v| [5.0 * v[0] as f32, 2.0 * v[1] as f32, 0.01 * v[2] as f32]);
        Data::dense(scaled.collect(), 3).unwrap()
    }

    #[test]
    fn a_linear_map_is_stable_and_one_of_noise_is_not() {
        let data = sheet(400);
        let stable = again(&Pca::default().fit(&data).unwrap(), &data, 3).unwrap();
        assert!(stable.iter().all(|&v| v < 0.05), "{:?}", stable.iter().copied().fold(0.0, f64::max));
        let noise = Data::dense(Seed(5).normals(400 * 10).into_iter().map(|v| v as f32).collect(), 10).unwrap();
        let unstable = again(&Tsne { max_iter: 300, ..Tsne::default() }.fit(&noise).unwrap(), &noise, 2).unwrap();
        assert_eq!(unstable.len(), 400);
        let mean = unstable.iter().sum::<f64>() / 400.0;
        assert!(mean > 0.1 && unstable.iter().all(|v| v.is_finite()), "{mean}");
    }

    #[test]
    fn reruns_that_mean_nothing_are_refused_and_a_stop_ends_them() {
        let data = sheet(60);
        let model = Pca::default().fit(&data).unwrap();
        assert!(matches!(again(&model, &data, 1), Err(Error::Parameter { name: "reruns", .. })));
        assert!(matches!(again(&model, &sheet(50), 2), Err(Error::Shape { .. })));
        let model = Tsne { max_iter: 250, ..Tsne::default() }.fit(&data).unwrap();
        let mut stop = |event: &Event| match event {
            Event::Step { .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let options = RerunOptions { observer: Some(&mut stop), ..options(2) };
        let stopped = instability(model.pipeline(), &data, model.embedding(), options);
        assert!(matches!(stopped, Err(Error::Stopped { .. })), "{stopped:?}");
    }
}
