//! Fitting: validation, memory check, preprocessing, landmarks, the method, the model.

use lowland_algorithms::anchors::Anchors;
use lowland_core::archive::Archive;
use lowland_core::message::{Note, Remedy};
use lowland_core::run::{Context, NoObserver, Observer};
use lowland_core::{
    Data, DataShape, Embedding, Error, MemoryBudget, Metric, Result, Seed, threads_within_limits, with_threads,
};
use lowland_cuda::{Device, current_device, with_device};
use lowland_neighbors::NeighborGraph;

use crate::fixed::{FIXED, FixedPositions};
use crate::landmarks::LANDMARKS;
use crate::method::{DynMethod, FitInput, FitOutput, Method};
use crate::methods::*;
use crate::model::Model;
use crate::pipeline::{PREPROCESSING, Pipeline};
use crate::preprocessing::Preprocessing;
use crate::registry::{METHODS, for_each_method};
use crate::target::Target;

/// Options of a fit, apart from the method's own parameters.
#[derive(Default)]
pub struct FitOptions<'a> {
    /// Seed of all random numbers.
    pub seed: Seed,
    /// Steps applied to the data before the method.
    pub preprocessing: Preprocessing,
    /// Number of rows to fit; the embedding is extended to the others by locally linear extension. `None` fits all rows.
    pub landmarks: Option<usize>,
    /// Known positions of some rows, which take the place of the fit: they are kept, and the other rows are placed by locally
    /// linear extension, with the metric of the method. `None` fits the method.
    pub fixed: Option<&'a FixedPositions>,
    /// What is known about the rows besides their values, which supervises the methods that are based on a neighbor graph and
    /// have a parameter `target_weight`. New rows are placed without it.
    pub target: Option<&'a Target>,
    /// Positions of an earlier map that rows keep or are tied to; the iterations start from it, without early exaggeration.
    pub anchors: Option<&'a Anchors>,
    /// Precomputed nearest neighbors of the preprocessed data.
    pub neighbors: Option<&'a NeighborGraph>,
    /// Number of neighbors that [`Model::neighbors`] has at least, if the fit searches exactly; 0 for those that the method uses. More cost
    /// little in the search of the fit, and another search later would cost as much.
    pub reported_neighbors: usize,
    /// The embedding that iterations start from, for methods with a parameter `init`.
    pub init: Option<&'a Embedding>,
    /// Names of the columns, stored in the model.
    pub feature_names: Vec<String>,
    /// Receives progress, notes and checkpoints, and can stop the run.
    pub observer: Option<&'a mut dyn Observer>,
    /// A checkpoint of an earlier run with the same method, data and options, to continue from.
    pub resume: Option<&'a Archive>,
    /// Memory that the run may use, the data included; no limit by default.
    pub memory: MemoryBudget,
    /// Whether the caller has the data in single precision, and expects results in it; stored in the model.
    pub single_precision: bool,
    /// Inverse covariance matrix of the preprocessed columns, row by row, for [`Metric::Mahalanobis`]; computed from the rows if
    /// it is not given.
    pub inverse_covariance: Option<&'a [f64]>,
    /// Where the fit is computed; `None` for the device that is in effect (see [`with_device`]), or the
    /// processor. Maps of different devices differ, unless their method has a unique result.
    pub device: Option<Device>,
    /// Number of threads of a private pool, 0 for all cores; `None` runs on the current rayon pool. Results do not depend on it.
    pub threads: Option<usize>,
}

/// Fits a method to data.
pub fn fit(method: Box<dyn DynMethod>, data: &Data, mut options: FitOptions) -> Result<Model> {
    match options.threads.take() {
        None => fit_on_current_pool(method, data, options, None),
        Some(requested) => {
            let used = threads_within_limits(Some(requested));
            let limited = (used < requested).then_some(Note::ThreadsLimited { requested, used });
            // The device is in effect for a thread, and the pool has others.
            options.device.get_or_insert_with(current_device);
            with_threads(Some(requested), || fit_on_current_pool(method, data, options, limited))?
        }
    }
}

/// Estimates the memory of a fit to data of this shape, in bytes, with the data and what is reserved in the budget of the
/// options. Fails if it exceeds the limit. Needs only the shape, so that it can be called before the data is read.
pub fn check_memory(method: &dyn DynMethod, shape: DataShape, options: &FitOptions) -> Result<u64> {
    pipeline(method.clone_box(), options).check_memory(shape, &options.memory)
}

fn pipeline(method: Box<dyn DynMethod>, options: &FitOptions) -> Pipeline {
    let landmarks = options.landmarks.filter(|&count| count > 0);
    let (fixed, anchored) = (options.fixed.map(FixedPositions::len), options.anchors.map(Anchors::tied));
    let (preprocessing, has_target) = (options.preprocessing.clone(), options.target.is_some());
    Pipeline { method, preprocessing, landmarks, fixed, anchored, has_target, seed: options.seed }
}

fn fit_on_current_pool(
    method: Box<dyn DynMethod>,
    data: &Data,
    mut options: FitOptions,
    limited_threads: Option<Note>,
) -> Result<Model> {
    match options.device.take() {
        Some(device) => with_device(device, || fit_on_current_device(method, data, options, limited_threads))?,
        None => fit_on_current_device(method, data, options, limited_threads),
    }
}

fn fit_on_current_device(
    method: Box<dyn DynMethod>,
    data: &Data,
    mut options: FitOptions,
    limited_threads: Option<Note>,
) -> Result<Model> {
    method.validate()?;
    let pipeline = pipeline(method, &options);
    check_input(&pipeline, data).map_err(|error| error.with_column_names(&options.feature_names))?;
    if let Some(target) = options.target {
        check_target(target, &pipeline, data)?;
    }
    if let Some(fixed) = options.fixed {
        check_fixed(fixed, &options)?;
    }
    if let Some(anchors) = options.anchors {
        check_anchors(anchors, &pipeline, data, &options)?;
    }
    let mut no_observer = NoObserver;
    let observer = options.observer.take().unwrap_or(&mut no_observer);
    let mut context = Context::new(observer, pipeline.seed, options.resume);
    context.set_init(options.anchors.map(Anchors::start).or(options.init));
    // Index and distance of each neighbor that is only reported.
    let reported = match options.reported_neighbors > pipeline.method.required_neighbors(data.rows()) {
        true => (8 * data.rows() as u64).saturating_mul(options.reported_neighbors as u64),
        false => 0,
    };
    options.memory.reserve(reported);
    let needed =
        pipeline.check_memory(data.shape(), &options.memory).inspect_err(|_| options.memory.release(reported))?;
    context.note(Note::MemoryEstimate { bytes: needed });
    if let Some(note) = limited_threads {
        context.note(note);
    }
    let runner = pipeline.runner(options.fixed)?;
    let other_memory = pipeline.memory_besides_method(data.shape());
    context.set_memory_limit(options.memory.remaining().map(|limit| limit.saturating_sub(other_memory)));
    options.memory.release(reported);
    pipeline.identify(data, options.target, options.anchors, &mut context)?;
    let count = data.repeated_rows();
    if count > 0 {
        context.note(Note::DuplicateRows { count, rows: data.rows() });
    }
    context.announce_stages(&pipeline.stages(runner.as_ref(), data.shape()))?;
    let (preprocessor, prepared) = if pipeline.preprocessing.is_empty() {
        pipeline.preprocessing.fit(data, &mut context)?
    } else {
        context.stage(PREPROCESSING, |context| pipeline.preprocessing.fit(data, context))?
    };
    let (preprocessor, prepared) = match pipeline.method.metric() {
        Some(Metric::Mahalanobis) => preprocessor.with_whitening(&prepared, options.inverse_covariance)?,
        _ => (preprocessor, prepared),
    };
    pipeline.note_rounded_columns(&prepared, &mut context);
    let prepared = pipeline.rows_for_method(&prepared);
    // Scaling can overflow single precision.
    check_values(&pipeline, &prepared)?;
    let FitOptions { neighbors, target, anchors, reported_neighbors, .. } = options;
    let input = FitInput { data: &prepared, neighbors, target, anchors, reported_neighbors };
    let FitOutput { embedding, transformer, outcome, neighbors } = runner.fit_with_context(input, &mut context)?;
    let prepared = transformer.completed_rows().unwrap_or(prepared);
    let device_notes = crate::device::take_notes();
    if let (device @ Device::Cuda(_), true) = (current_device(), device_notes.is_empty()) {
        context.note(Note::DeviceUnused { device: device.to_string() });
    }
    device_notes.into_iter().for_each(|note| context.note(note));
    let notes = context.take_notes();
    let output = FitOutput { embedding, transformer, outcome, neighbors };
    let model = Model::new(pipeline, data, preprocessor, prepared, output, notes, options.feature_names);
    Ok(model.with_single_precision(options.single_precision))
}

/// Rejects options that mean nothing without a fit.
fn check_fixed(fixed: &FixedPositions, options: &FitOptions) -> Result<()> {
    let conflicts = [
        (LANDMARKS, options.landmarks.is_some_and(|count| count > 0)),
        ("init", options.init.is_some()),
        ("resume", options.resume.is_some()),
        ("target", options.target.is_some()),
    ];
    match conflicts.into_iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(Error::FixedPositions { fixed: fixed.len(), conflict: name }),
        None => Ok(()),
    }
}

/// Rejects anchors of other data or of a method that does not start from a map, and options that would replace its start.
fn check_anchors(anchors: &Anchors, pipeline: &Pipeline, data: &Data, options: &FitOptions) -> Result<()> {
    let (name, n_components) = (pipeline.method.name(), pipeline.method.n_components());
    if !pipeline.method.supports_anchors() {
        let others: Vec<&str> = METHODS.iter().filter(|info| info.supports_anchors).map(|info| info.name).collect();
        let allowed = format!("cannot continue an earlier map; these can: {}", others.join(", "));
        return Err(Error::Parameter { name: "method", value: name.into(), allowed });
    }
    for (what, expected, found) in [
        ("rows of the anchors (one per row of the data)", data.rows(), anchors.rows()),
        ("dimensions of the map that is continued", n_components, anchors.start().dim()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found });
        }
    }
    let conflicts = [
        (LANDMARKS, pipeline.landmarks.map(|count| count.to_string())),
        (FIXED, pipeline.fixed.map(|count| count.to_string())),
        ("init", options.init.map(|_| "an embedding".into())),
    ];
    match conflicts.into_iter().find_map(|(name, value)| Some((name, value?))) {
        Some((name, value)) => {
            let allowed = "cannot be combined with the continuation of an earlier map; leave it out".into();
            Err(Error::Parameter { name, value, allowed })
        }
        None => Ok(()),
    }
}

/// Rejects a target of a method that does not use one, and one of another number of rows.
fn check_target(target: &Target, pipeline: &Pipeline, data: &Data) -> Result<()> {
    if target.rows() != data.rows() {
        let what = "values of the target (one per row)";
        return Err(Error::Shape { what, expected: data.rows(), found: target.rows() });
    }
    if pipeline.uses_target() {
        return Ok(());
    }
    let reason = format!(
        "method {} has no use for it; these have: {}",
        pipeline.method.name(),
        METHODS.iter().filter(|info| info.uses_target()).map(|info| info.name).collect::<Vec<_>>().join(", ")
    );
    Err(Error::Target { reason, remedies: vec![Remedy::Omit("target"), Remedy::UseMethod("umap")] })
}

fn check_input(pipeline: &Pipeline, data: &Data) -> Result<()> {
    if data.rows() == 0 {
        return Err(Error::TooFewPoints { what: "an embedding".into(), needed: 1, found: 0, remedies: Vec::new() });
    }
    if data.dim() == 0 && !matches!(data, Data::Text(_)) {
        return Err(Error::Shape { what: "columns of numbers", expected: 1, found: 0 });
    }
    if pipeline.method.metric() == Some(Metric::Precomputed) && !pipeline.preprocessing.is_empty() {
        return Err(Error::Parameter {
            name: "metric",
            value: Metric::Precomputed.to_string(),
            allowed:
                "the data is a matrix of distances, which cannot be preprocessed (log1p, standardize, normalize, pca)"
                    .into(),
        });
    }
    check_values(pipeline, data)
}

/// Missing cells are left to the method, if it accepts them. Preprocessing, landmarks and extension from fixed positions need all cells.
fn check_values(pipeline: &Pipeline, data: &Data) -> Result<()> {
    let is_plain = pipeline.preprocessing.is_empty() && pipeline.landmarks.is_none() && pipeline.fixed.is_none();
    let is_plain = is_plain && pipeline.method.metric() != Some(Metric::Mahalanobis);
    if pipeline.method.accepts_missing() && is_plain { data.check_finite_or_missing() } else { data.check_finite() }
}

/// Fits methods; implemented for every [`Method`]. Built-in methods have the same functions without this trait in scope.
pub trait Fit: Method {
    /// Fits the method to data with the default options. Parameters are validated first.
    fn fit(&self, data: &Data) -> Result<Model> {
        Fit::fit_with(self, data, FitOptions::default())
    }

    /// Fits the method to data. Parameters are validated first.
    fn fit_with(&self, data: &Data, options: FitOptions) -> Result<Model> {
        fit(Box::new(self.clone()), data, options)
    }
}

impl<M: Method> Fit for M {}

macro_rules! inherent_fit {
    ($($method:ident,)*) => {
        $(impl $method {
            /// Fits the method to data with the default options. Parameters are validated first.
            pub fn fit(&self, data: &Data) -> Result<Model> {
                Fit::fit(self, data)
            }

            /// Fits the method to data. Parameters are validated first.
            pub fn fit_with(&self, data: &Data, options: FitOptions) -> Result<Model> {
                Fit::fit_with(self, data, options)
            }
        })*
    };
}

for_each_method!(inherent_fit);

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
