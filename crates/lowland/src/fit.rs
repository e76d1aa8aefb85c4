//! Fitting: validation, memory check, preprocessing, landmarks, the method, the model.

use lowland_core::archive::{Archive, ArchiveKind};
use lowland_core::message::{Note, Remedy};
use lowland_core::params::{ParamValue, Params};
use lowland_core::run::{Context, NoObserver, Observer, Stage};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Result, Seed, with_threads};
use lowland_neighbors::NeighborGraph;

use crate::landmarks::Landmarks;
use crate::method::{DynMethod, FitInput, FitOutput, Method};
use crate::model::Model;
use crate::preprocessing::Preprocessing;
use crate::registry::{LANDMARKS, MethodInfo, ParsedMethod};

/// Options of a fit, apart from the method's own parameters.
#[derive(Default)]
pub struct FitOptions<'a> {
    /// Seed of all random numbers.
    pub seed: Seed,
    /// Steps applied to the data before the method.
    pub preprocessing: Preprocessing,
    /// Number of rows to fit; the embedding is extended to the others by locally linear extension. `None` fits all rows.
    pub landmarks: Option<usize>,
    /// Precomputed nearest neighbors of the preprocessed data.
    pub neighbors: Option<&'a NeighborGraph>,
    /// The embedding that iterations start from, for methods with a parameter `init`.
    pub init: Option<&'a Embedding>,
    /// Names of the columns, stored in the model.
    pub feature_names: Vec<String>,
    /// Receives progress, notes and checkpoints, and can stop the run.
    pub observer: Option<&'a mut dyn Observer>,
    /// A checkpoint of an earlier run with the same method, data and options, to continue from.
    pub resume: Option<&'a Archive>,
    /// Bytes that the run may use; `None` for no limit.
    pub max_memory: Option<u64>,
    /// Bytes that the caller needs at the same time, counted against the limit.
    pub reserved_memory: u64,
    /// Number of threads of a private pool; `None` runs on the current rayon pool. Results do not depend on it.
    pub threads: Option<usize>,
}

/// A method with the options that determine its result. Stored in models and checkpoints.
pub struct Pipeline {
    /// The method.
    pub method: Box<dyn DynMethod>,
    /// Steps applied to the data before the method.
    pub preprocessing: Preprocessing,
    /// Number of rows to fit; `None` for all.
    pub landmarks: Option<usize>,
    /// Seed of all random numbers.
    pub seed: Seed,
}

/// Fits a method to data.
pub fn fit(method: Box<dyn DynMethod>, data: &Data, mut options: FitOptions) -> Result<Model> {
    match options.threads.take() {
        None => fit_on_current_pool(method, data, options),
        Some(threads) => with_threads(Some(threads), || fit_on_current_pool(method, data, options))?,
    }
}

/// Estimates the memory of a fit to data of this shape, in bytes. Fails if it exceeds the limit of the options. Needs only
/// the shape, so that it can be called before the data is read.
pub fn check_memory(method: &dyn DynMethod, shape: DataShape, options: &FitOptions) -> Result<u64> {
    Pipeline::new(method.clone_box(), options).check_memory(shape, options)
}

const PREPROCESSING: &str = "preprocessing";

/// Number of landmarks suggested by the error if a fit of all rows needs too much memory.
const SUGGESTED_LANDMARKS: usize = 5000;
/// Number of principal components suggested by the error if the columns need too much memory.
const SUGGESTED_COMPONENTS: usize = 50;

fn fit_on_current_pool(method: Box<dyn DynMethod>, data: &Data, mut options: FitOptions) -> Result<Model> {
    method.validate()?;
    let pipeline = Pipeline::new(method, &options);
    check_input(&pipeline, data)?;
    let mut no_observer = NoObserver;
    let observer = options.observer.take().unwrap_or(&mut no_observer);
    let mut context = Context::new(observer, pipeline.seed, options.resume);
    context.set_init(options.init);
    let needed = pipeline.check_memory(data.shape(), &options)?;
    context.note(Note::MemoryEstimate { bytes: needed });
    let runner = pipeline.runner()?;
    let other_memory = needed.saturating_sub(runner.memory(pipeline.preprocessing.output(data.shape())));
    context.set_memory_limit(options.max_memory.map(|limit| limit.saturating_sub(other_memory)));
    pipeline.identify(data, &mut context)?;
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
    // Scaling can overflow single precision.
    prepared.check_finite()?;
    let input = FitInput { data: &prepared, neighbors: options.neighbors };
    let FitOutput { embedding, transformer, outcome, neighbors } = runner.fit_with_context(input, &mut context)?;
    let notes = context.take_notes();
    let output = FitOutput { embedding, transformer, outcome, neighbors };
    Ok(Model::new(pipeline, data, preprocessor, prepared, output, notes, options.feature_names))
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
    data.check_finite()
}

impl Pipeline {
    fn new(method: Box<dyn DynMethod>, options: &FitOptions) -> Self {
        let (preprocessing, landmarks, seed) = (options.preprocessing.clone(), options.landmarks, options.seed);
        Self { method, preprocessing, landmarks: landmarks.filter(|&count| count > 0), seed }
    }

    /// Returns the method that is run: the method itself, or its extension from landmarks.
    pub(crate) fn runner(&self) -> Result<Box<dyn DynMethod>> {
        match self.landmarks {
            None => Ok(self.method.clone_box()),
            Some(count) => Ok(Box::new(Landmarks::new(self.method.clone_box(), count)?)),
        }
    }

    /// Returns whether transforming a training row returns exactly its coordinates in the embedding.
    pub(crate) fn transforms_exactly(&self) -> bool {
        self.landmarks.is_none() && self.method.transforms_exactly()
    }

    /// Returns the number of bytes of the fit, including the data.
    fn memory(&self, shape: DataShape) -> Result<u64> {
        let method = self.runner()?.memory(self.preprocessing.output(shape));
        Ok(shape.bytes.saturating_add(self.preprocessing.memory(shape)).saturating_add(method))
    }

    fn check_memory(&self, shape: DataShape, options: &FitOptions) -> Result<u64> {
        let needed = self.memory(shape)?.saturating_add(options.reserved_memory);
        match options.max_memory.filter(|&limit| needed > limit) {
            None => Ok(needed),
            Some(limit) => {
                let remedies = self.memory_remedies(shape, limit.saturating_sub(options.reserved_memory));
                Err(Error::Memory { what: format!("method {}", self.method.name()), needed, limit, remedies })
            }
        }
    }

    fn memory_remedies(&self, shape: DataShape, allowed: u64) -> Vec<Remedy> {
        if shape.bytes > allowed {
            return vec![Remedy::RaiseMaxMemory, Remedy::Other("use fewer rows, which alone exceed the limit")];
        }
        let prepared = self.preprocessing.output(shape);
        let other_memory = shape.bytes.saturating_add(self.preprocessing.memory(shape));
        let landmarks = Landmarks::new(self.method.clone_box(), SUGGESTED_LANDMARKS);
        let with_landmarks = landmarks.map_or(u64::MAX, |method| method.memory(prepared));
        let last = if other_memory.saturating_add(with_landmarks) <= allowed {
            Remedy::Landmarks(SUGGESTED_LANDMARKS)
        } else {
            Remedy::ReduceColumns(SUGGESTED_COMPONENTS)
        };
        vec![Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerNeighbors, last]
    }

    fn stages(&self, runner: &dyn DynMethod, shape: DataShape) -> Vec<Stage> {
        let mut stages = runner.stages(self.preprocessing.output(shape));
        if !self.preprocessing.is_empty() {
            let total: f64 = stages.iter().map(|stage| stage.weight).sum();
            stages.insert(0, Stage { name: PREPROCESSING, weight: 0.3 * total });
        }
        stages
    }

    /// Adds the pipeline and the fingerprint of the data to every checkpoint, and rejects a checkpoint that does not match.
    fn identify(&self, data: &Data, context: &mut Context) -> Result<()> {
        let mut identity = Archive::new(ArchiveKind::Checkpoint);
        self.save(&mut identity);
        identity.put("data/fingerprint", data.fingerprint());
        if let Some(archive) = context.checkpoint() {
            let differs =
                |what: &str| Err(archive.invalid(format!("it was created with {what}; start again without it")));
            if archive.number("data/fingerprint")? != identity.number("data/fingerprint")? {
                return differs("other data");
            }
            if archive.text("job/method")? != self.method.name() || archive.number("job/seed")? != self.seed.0 {
                return differs("another method or seed");
            }
            if archive.texts("job/parameters")? != identity.texts("job/parameters")? {
                return differs(&format!("other parameters ({})", archive.texts("job/parameters")?.join(", ")));
            }
        }
        context.add_to_checkpoint(|archive| *archive = identity);
        Ok(())
    }

    /// Returns the name and value of every parameter of the method, and of `landmarks` if it is set.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let mut values = self.method.values();
        values.extend(self.landmarks.map(|count| (LANDMARKS, count.to_text())));
        values
    }

    /// Writes the pipeline to a model or checkpoint.
    pub(crate) fn save(&self, archive: &mut Archive) {
        archive.put("job/method", self.method.name());
        archive.put("job/seed", self.seed.0);
        let method = self.values().into_iter().map(|(name, value)| format!("{name}={value}"));
        let steps = self.preprocessing.values().into_iter().map(|(name, value)| format!("prepare.{name}={value}"));
        archive.put("job/parameters", method.chain(steps).collect::<Vec<_>>());
    }

    /// Reads the pipeline of a model or checkpoint of a built-in method.
    pub fn load(archive: &Archive) -> Result<Self> {
        let info = MethodInfo::find(archive.text("job/method")?)?;
        Self::load_with_parser(archive, |values| info.parse(values))
    }

    /// Reads the pipeline of a model or checkpoint of method `M`.
    pub(crate) fn load_as<M: Method>(archive: &Archive) -> Result<Self> {
        let name = archive.text("job/method")?;
        if name != M::NAME {
            return Err(archive.invalid(format!("its method is {name}, not {}", M::NAME)));
        }
        Self::load_with_parser(archive, ParsedMethod::new::<M>)
    }

    fn load_with_parser(archive: &Archive, parse: impl Fn(&[(&str, &str)]) -> Result<ParsedMethod>) -> Result<Self> {
        let mut preprocessing = Preprocessing::default();
        let mut values = Vec::new();
        for text in archive.texts("job/parameters")? {
            let Some((name, value)) = text.split_once('=') else {
                return Err(archive.invalid(format!("the parameter '{text}' has no value")));
            };
            match name.strip_prefix("prepare.") {
                Some(name) => preprocessing.set(name, value)?,
                None => values.push((name, value)),
            }
        }
        let ParsedMethod { method, landmarks } = parse(&values)?;
        Ok(Self { method, preprocessing, landmarks, seed: Seed(archive.number("job/seed")?) })
    }
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
