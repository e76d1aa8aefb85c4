//! The traits that a method implements, inside this crate or outside of it.
//!
//! A method is a parameter struct (see [`params!`](crate::params!)) that implements [`Method`]. Everything else follows from
//! that: [`Fit::fit`](crate::Fit::fit), models that save and load, landmarks, preprocessing, checkpoints.

use lowland_core::archive::Archive;
use lowland_core::message::Remedy;
use lowland_core::params::Params;
use lowland_core::run::{Context, Outcome, Progress, Stage};
use lowland_core::{Data, DataShape, Embedding, Metric, Points, Result, Seed};
use lowland_neighbors::NeighborGraph;

/// What a method is fitted to.
#[derive(Clone, Copy)]
pub struct FitInput<'a> {
    /// The preprocessed data.
    pub data: &'a Data,
    /// Their nearest neighbors, where the caller has them already.
    pub neighbors: Option<&'a NeighborGraph>,
}

/// The result of fitting a method.
pub struct FitOutput<T> {
    /// The embedding, one row per row of the data.
    pub embedding: Embedding,
    /// Places new rows on the embedding.
    pub transformer: T,
    /// How the iterations went.
    pub outcome: Outcome,
    /// The neighbor graph that was used, where it was found exactly, for reuse by the caller.
    pub neighbors: Option<NeighborGraph>,
}

/// New rows on an embedding.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformOutput {
    /// Their coordinates.
    pub embedding: Embedding,
    /// The standard deviation of each row's position, where the method has one.
    pub std: Option<Vec<f64>>,
    /// The covariance of each row's position, `dim x dim` values per row, where the method has one.
    pub covariances: Option<Vec<f64>>,
    /// The log-likelihood of each row, where the method has one.
    pub log_likelihoods: Option<Vec<f64>>,
}

impl From<Embedding> for TransformOutput {
    fn from(embedding: Embedding) -> Self {
        Self { embedding, std: None, covariances: None, log_likelihoods: None }
    }
}

/// The state of a fitted method: places new rows, and answers what else the method can tell.
pub trait Transformer: Send + Sync {
    /// Places new rows. The result for a row depends on that row alone.
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput>;

    /// Writes the state to a model file.
    fn save(&self, archive: &mut Archive);

    /// The standard deviation of each fitted row's position, where the method has one.
    fn std(&self) -> Option<Vec<f64>> {
        None
    }

    /// The covariance of each fitted row's position, `dim x dim` values per row, where the method has one.
    fn covariances(&self) -> Option<Vec<f64>> {
        None
    }

    /// Bytes needed for `count` samples.
    fn samples_memory(&self, _count: usize) -> u64 {
        0
    }

    /// Embeddings drawn from the posterior; `None` when the method has none.
    fn samples(&self, _count: usize, _seed: Seed) -> Result<Option<Vec<Embedding>>> {
        Ok(None)
    }

    /// Dense rows that correspond to positions on the embedding; `None` when the method has no inverse.
    fn inverse(&self, _points: Points, _progress: &mut Progress) -> Result<Option<Data>> {
        Ok(None)
    }

    /// The same with the standard deviation of every value, where the method has one.
    fn inverse_with_std(&self, points: Points, progress: &mut Progress) -> Result<Option<(Data, Option<Data>)>> {
        Ok(self.inverse(points, progress)?.map(|rows| (rows, None)))
    }
}

/// Why a method cannot be fitted to landmarks.
#[derive(Debug, Clone, PartialEq)]
pub struct LandmarksUnsupported {
    /// The parameter that prevents it.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What is allowed instead.
    pub allowed: &'static str,
}

/// An embedding method with its parameters.
pub trait Method: Params + Send + Sync + 'static {
    /// The name on the command line and in model files.
    const NAME: &'static str;
    /// The name of the class in Python.
    const CLASS_NAME: &'static str;
    /// What it does, in one line.
    const SUMMARY: &'static str;
    /// When to use it, in one or two sentences.
    const ADVICE: &'static str;
    /// What users of a model should know beyond the summary and the advice.
    const NOTES: &'static str = "";
    /// Name of the objective, if it has a common one: `kl_divergence`, `lower_bound`.
    const OBJECTIVE: Option<&'static str> = None;
    /// Whether a fit reports an embedding after each iteration.
    const REPORTS_ITERATIONS: bool = false;
    /// Whether zero rows map to zero, so that embeddings must not be translated.
    const PRESERVES_ORIGIN: bool = false;
    /// Whether embeddings come with a standard deviation for each point.
    const HAS_STD: bool = false;
    /// Whether the model has an inverse: rows for positions on the embedding.
    const HAS_INVERSE: bool = false;
    /// Whether the model has a log-likelihood for new rows.
    const HAS_LIKELIHOOD: bool = false;
    /// Whether transforming a training row returns exactly its coordinates in the embedding.
    const TRANSFORMS_EXACTLY: bool = false;
    /// The fitted state.
    type Transformer: Transformer + 'static;

    /// Rejects parameters that make no sense for any data.
    fn validate(&self) -> Result<()>;
    /// Dimensions of the embedding.
    fn n_components(&self) -> usize;
    /// The metric by which neighbors are found, if the method uses one.
    fn metric(&self) -> Option<Metric> {
        None
    }
    /// The stages of a fit, with their expected shares of the time.
    fn stages(&self, shape: DataShape) -> Vec<Stage>;
    /// Bytes that a fit needs beyond the data.
    fn memory(&self, shape: DataShape) -> u64;
    /// Number of neighbors that a fit needs for each of `rows` rows; 0 where the method uses no neighbor graph.
    fn required_neighbors(&self, _rows: usize) -> usize {
        0
    }
    /// Whether the method can be fitted to some of the rows and extended to the others.
    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported> {
        match self.metric() {
            Some(metric @ (Metric::Precomputed | Metric::Levenshtein)) => Err(LandmarksUnsupported {
                name: "metric",
                value: metric.to_string(),
                allowed: "landmarks need rows of numbers",
            }),
            _ => Ok(()),
        }
    }
    /// Fits the method; called by [`Fit::fit`](crate::Fit::fit) with validated parameters and finite, preprocessed data.
    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<Self::Transformer>>;
    /// Reads the fitted state from a model file; `n_features` is the number of columns it was fitted to.
    fn load(&self, archive: &Archive, n_features: usize) -> Result<Self::Transformer>;
}

/// A method behind a pointer. Every [`Method`] is one.
pub trait DynMethod: Send + Sync {
    /// The name on the command line and in model files.
    fn name(&self) -> &'static str;
    /// Whether zero rows map to zero, so that embeddings must not be translated.
    fn preserves_origin(&self) -> bool;
    /// Whether embeddings come with a standard deviation for each point.
    fn has_std(&self) -> bool;
    /// Whether transforming a training row returns exactly its coordinates in the embedding.
    fn transforms_exactly(&self) -> bool;
    /// Name and value of every parameter, as text.
    fn values(&self) -> Vec<(&'static str, String)>;
    /// Rejects parameters that make no sense for any data.
    fn validate(&self) -> Result<()>;
    /// Dimensions of the embedding.
    fn n_components(&self) -> usize;
    /// The metric by which neighbors are found, if the method uses one.
    fn metric(&self) -> Option<Metric>;
    /// The stages of a fit, with their expected shares of the time.
    fn stages(&self, shape: DataShape) -> Vec<Stage>;
    /// Bytes that a fit needs beyond the data.
    fn memory(&self, shape: DataShape) -> u64;
    /// Number of neighbors that a fit needs for each of `rows` rows; 0 where the method uses no neighbor graph.
    fn required_neighbors(&self, rows: usize) -> usize;
    /// Whether the method can be fitted to some of the rows and extended to the others.
    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported>;
    /// Fits the method.
    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<Box<dyn Transformer>>>;
    /// Reads the fitted state from a model file.
    fn load(&self, archive: &Archive, n_features: usize) -> Result<Box<dyn Transformer>>;
    /// A copy of the method.
    fn clone_box(&self) -> Box<dyn DynMethod>;
}

impl<M: Method> DynMethod for M {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn preserves_origin(&self) -> bool {
        M::PRESERVES_ORIGIN
    }

    fn has_std(&self) -> bool {
        M::HAS_STD
    }

    fn transforms_exactly(&self) -> bool {
        M::TRANSFORMS_EXACTLY
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        Params::values(self)
    }

    fn validate(&self) -> Result<()> {
        Method::validate(self)
    }

    fn n_components(&self) -> usize {
        Method::n_components(self)
    }

    fn metric(&self) -> Option<Metric> {
        Method::metric(self)
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        Method::stages(self, shape)
    }

    fn memory(&self, shape: DataShape) -> u64 {
        Method::memory(self, shape)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        Method::required_neighbors(self, rows)
    }

    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported> {
        Method::supports_landmarks(self)
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<Box<dyn Transformer>>> {
        let FitOutput { embedding, transformer, outcome, neighbors } = Method::fit_with_context(self, input, context)?;
        Ok(FitOutput { embedding, transformer: Box::new(transformer), outcome, neighbors })
    }

    fn load(&self, archive: &Archive, n_features: usize) -> Result<Box<dyn Transformer>> {
        Ok(Box::new(Method::load(self, archive, n_features)?))
    }

    fn clone_box(&self) -> Box<dyn DynMethod> {
        Box::new(self.clone())
    }
}

/// The remedies of methods that need rows of numbers.
pub(crate) fn numbers_needed() -> Vec<Remedy> {
    vec![Remedy::Other("give rows of numbers")]
}
