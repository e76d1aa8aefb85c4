//! The spectrum between repulsion and attraction: t-SNE at several exaggerations, each started from the map before.
//!
//! ```
//! use lowland::methods::Tsne;
//! use lowland::{Data, FitOptions, Seed, spectrum};
//!
//! let x = Data::dense(Seed(1).normals(400).into_iter().map(|v| v as f32).collect(), 4)?;
//! let found = spectrum::fit(&Tsne::default(), &[1.0, 4.0, 30.0], &x, FitOptions::default())?;
//! assert_eq!(found.maps.iter().map(|map| map.exaggeration).collect::<Vec<_>>(), [1.0, 4.0, 30.0]);
//! # Ok::<(), lowland::Error>(())
//! ```

use lowland_algorithms::affinity::AffinityKind;
use lowland_core::message::Note;
use lowland_core::params::Auto;
use lowland_core::run::{Context, Event, NoObserver, Observer, Outcome, Stage, StopReason};
use lowland_core::{Data, Embedding, Error, Result, with_threads};
use lowland_neighbors::NeighborGraph;
use lowland_quality::procrustes;

use crate::fit::FitOptions;
use crate::method::{FitInput, Method};
use crate::methods::Tsne;
use crate::neighbor_stage::{self, Neighbors, neighbors};
use crate::preprocessing::rows_for_metric;

/// The exaggerations of a spectrum by default: 1 is t-SNE, 4 is close to UMAP, 30 close to a spectral embedding (Böhm, Berens and
/// Kobak 2022).
pub const EXAGGERATIONS: [f64; 6] = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0];

/// Maps of the same rows, from strong repulsion to strong attraction.
pub struct Spectrum {
    /// The maps, by ascending exaggeration.
    pub maps: Vec<SpectrumMap>,
    /// The rows after preprocessing.
    pub data: Data,
    /// Nearest neighbors in the data, if they were found exactly.
    pub neighbors: Option<NeighborGraph>,
}

/// A map of a spectrum.
pub struct SpectrumMap {
    /// Factor of the attraction.
    pub exaggeration: f64,
    /// The map, translated, scaled and rotated onto the map before.
    pub embedding: Embedding,
    /// How the iterations went.
    pub outcome: Outcome,
    /// What is worth knowing about the fit.
    pub notes: Vec<Note>,
}

/// Fits t-SNE at ascending exaggerations, each map started from the one before and aligned to it.
///
/// A map starts from the one before, contracted to a small size. Preprocessing and neighbor search run once. The parameter `exaggeration` of the method is replaced. After the first map there
/// is no early exaggeration, and `max_iter` is reduced by its iterations. A stop keeps the complete maps, and the first one in
/// any case. Landmarks, fixed positions and checkpoints are not supported.
pub fn fit(method: &Tsne, exaggerations: &[f64], data: &Data, mut options: FitOptions) -> Result<Spectrum> {
    check(method, exaggerations, &options)?;
    match options.threads.take() {
        None => fit_on_current_pool(method, exaggerations, data, options),
        Some(threads) => with_threads(Some(threads), || fit_on_current_pool(method, exaggerations, data, options))?,
    }
}

fn fit_on_current_pool(method: &Tsne, exaggerations: &[f64], data: &Data, mut options: FitOptions) -> Result<Spectrum> {
    let mut no_observer = NoObserver;
    let observer: &mut dyn Observer = match options.observer.take() {
        Some(observer) => observer,
        None => &mut no_observer,
    };
    let (data, found) = {
        let mut context = Context::new(&mut *observer, options.seed, None);
        let data = match options.preprocessing.is_empty() {
            true => data.clone(),
            false => options.preprocessing.fit(data, &mut context)?.1,
        };
        let data = rows_for_metric(&data, method.metric, options.inverse_covariance)?;
        let found = if options.neighbors.is_some() { None } else { find_neighbors(method, &data, &mut context)? };
        (data, found)
    };
    let mut maps: Vec<SpectrumMap> = Vec::new();
    let mut last: Option<Embedding> = None;
    for &exaggeration in exaggerations {
        let heading = Note::Info(format!("map with exaggeration {exaggeration}:"));
        if observer.on(&Event::Note(&heading)).is_break() && !maps.is_empty() {
            break;
        }
        let step = FitOptions {
            seed: options.seed,
            neighbors: options.neighbors.or(found.as_ref().map(|found| &found.graph)),
            init: last.as_ref().or(options.init),
            observer: Some(&mut *observer),
            memory: options.memory.clone(),
            ..FitOptions::default()
        };
        let parameters = if last.is_some() { continued(method) } else { method.clone() };
        let model = Tsne { exaggeration: Auto::Value(exaggeration), ..parameters }.fit_with(&data, step)?;
        let stopped = model.outcome().stop_reason == StopReason::Stopped;
        if stopped && !maps.is_empty() {
            break;
        }
        let embedding = match maps.last() {
            Some(before) => align(&before.embedding, model.embedding()),
            None => model.embedding().clone(),
        };
        maps.push(SpectrumMap {
            exaggeration,
            embedding,
            outcome: model.outcome().clone(),
            notes: model.notes().to_vec(),
        });
        if stopped {
            break;
        }
        last = Some(contracted(model.embedding())?);
    }
    let neighbors = found.filter(|found| found.exact).map(|found| found.graph);
    Ok(Spectrum { maps, data, neighbors })
}

/// Standard deviation of the coordinates of a map that another starts from. Kernels have width one, so that all points attract each
/// other at first. From a map of full size, clusters would have to pass through the empty space between them, and the iterations
/// end far above the objective of a start from principal components (digits, exaggeration 30: 6.5 instead of 3.8).
const START_SIZE: f64 = 1e-2;

/// Returns the map contracted to the size of a start.
fn contracted(map: &Embedding) -> Result<Embedding> {
    let size = (map.values().iter().map(|v| v * v).sum::<f64>() / map.values().len().max(1) as f64).sqrt();
    let factor = if size > 0.0 { START_SIZE / size } else { 1.0 };
    Embedding::new(map.values().iter().map(|v| factor * v).collect(), map.dim())
}

/// The parameters of a map that starts from another.
fn continued(method: &Tsne) -> Tsne {
    let max_iter = method.max_iter.saturating_sub(method.exaggeration_iter).max(1);
    Tsne { early_exaggeration: 1.0, max_iter, ..method.clone() }
}

/// Rejects invalid parameters before the work begins.
fn check(method: &Tsne, exaggerations: &[f64], options: &FitOptions) -> Result<()> {
    let invalid = |name, value: String, allowed: String| Err(Error::Parameter { name, value, allowed });
    if exaggerations.is_empty() || !exaggerations.is_sorted_by(|a, b| a < b) {
        let list: Vec<String> = exaggerations.iter().map(f64::to_string).collect();
        return invalid("exaggerations", list.join(","), "at least one number, each larger than the one before".into());
    }
    if options.landmarks.is_some_and(|count| count > 0) {
        return invalid("landmarks", options.landmarks.unwrap_or(0).to_string(), "0: a spectrum fits all rows".into());
    }
    Method::validate(&Tsne { exaggeration: Auto::Value(1.0), ..method.clone() })?;
    for &exaggeration in exaggerations {
        if let Err(Error::Parameter { value, allowed, .. }) =
            Method::validate(&Tsne { exaggeration: Auto::Value(exaggeration), ..method.clone() })
        {
            return invalid("exaggerations", value, allowed);
        }
    }
    Ok(())
}

/// Finds the neighbors for all fits; `None` if the method does not search for them.
fn find_neighbors(method: &Tsne, data: &Data, context: &mut Context) -> Result<Option<Neighbors>> {
    let wanted = method.required_neighbors(data.rows());
    if wanted == 0 || method.affinity == AffinityKind::Precomputed {
        return Ok(None);
    }
    method.metric.check(data)?;
    data.check_finite()?;
    context.announce_stages(&[Stage { name: neighbor_stage::STAGE, weight: 1.0 }])?;
    let input = FitInput { data, neighbors: None, target: None, anchors: None, reported_neighbors: 0 };
    neighbors(input, wanted, method.metric, method.search, context).map(Some)
}

/// Returns the second map aligned to the first, or as it is if all points of one of them coincide.
fn align(first: &Embedding, second: &Embedding) -> Embedding {
    procrustes(first.points(), second.points()).map_or_else(|_| second.clone(), |found| found.aligned)
}

#[cfg(test)]
#[path = "spectrum_tests.rs"]
mod tests;
