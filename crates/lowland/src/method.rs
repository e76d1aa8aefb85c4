//! The traits that a method implements, inside this crate or outside of it.
//!
//! A method is a parameter struct (see [`params!`](crate::params!)) that implements [`Method`]. Everything else follows from
//! that: [`Fit::fit`](crate::Fit::fit), models that save and load, landmarks, preprocessing, checkpoints.

use lowland_algorithms::anchors::Anchors;
use lowland_algorithms::density::LocalRadii;
use lowland_core::archive::Archive;
use lowland_core::message::Remedy;
use lowland_core::params::Params;
use lowland_core::run::{Context, Outcome, Progress, Stage};
use lowland_core::{Data, DataShape, Embedding, Metric, Points, Result, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;
use lowland_trust::MapLoss;

use crate::target::Target;

/// What a method is fitted to.
#[derive(Clone, Copy)]
pub struct FitInput<'a> {
    /// The preprocessed data.
    pub data: &'a Data,
    /// Nearest neighbors of the rows, if the caller has computed them.
    pub neighbors: Option<&'a NeighborGraph>,
    /// What is known about the rows besides their values, for methods with a parameter `target_weight`.
    pub target: Option<&'a Target>,
    /// Positions of an earlier map that rows keep or are tied to, for methods that [support](Method::SUPPORTS_ANCHORS) it.
    pub anchors: Option<&'a Anchors>,
    /// Number of neighbors that an exact search returns at least, for [`FitOutput::neighbors`]. The method uses as many as before.
    pub reported_neighbors: usize,
}

/// The result of fitting a method.
pub struct FitOutput<T> {
    /// The embedding, one row per row of the data.
    pub embedding: Embedding,
    /// Transforms new rows.
    pub transformer: T,
    /// Outcome of the iterations.
    pub outcome: Outcome,
    /// Neighbor graph of the fit, or of more neighbors, if it was computed exactly, for reuse by the caller.
    pub neighbors: Option<NeighborGraph>,
}

/// The result of transforming new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct TransformOutput {
    /// Coordinates of the rows.
    pub embedding: Embedding,
    /// Standard deviation of each row's position, if the method has one.
    pub std: Option<Vec<f64>>,
    /// Covariance of each row's position, `dim x dim` values per row, if the method has one.
    pub covariances: Option<Vec<f64>>,
    /// Log-likelihood of each row, if the method has one.
    pub log_likelihoods: Option<Vec<f64>>,
}

impl From<Embedding> for TransformOutput {
    fn from(embedding: Embedding) -> Self {
        Self { embedding, std: None, covariances: None, log_likelihoods: None }
    }
}

/// The missing cells of the training rows, as a method has inferred them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InferredCells {
    /// Row of each cell.
    pub rows: Vec<u32>,
    /// Column of each cell.
    pub columns: Vec<u32>,
    /// Mean of each cell's posterior.
    pub means: Vec<f64>,
    /// Standard deviation of each cell's posterior.
    pub std: Vec<f64>,
}

/// The directions of a linear method, as scikit-learn's PCA and TruncatedSVD have them.
#[derive(Debug, Clone, PartialEq)]
pub struct PrincipalComponents {
    /// The components, one per row.
    pub components: Vec<f64>,
    /// The mean that is subtracted from every row; zeros for `svd`.
    pub mean: Vec<f64>,
    /// Singular value of each component.
    pub singular_values: Vec<f64>,
    /// Variance of each coordinate.
    pub explained_variance: Vec<f64>,
    /// Share of the variance of all columns that each coordinate has.
    pub explained_variance_ratio: Vec<f64>,
}

/// The state of a fitted method, which transforms new rows.
pub trait Transformer: Send + Sync {
    /// Transforms new rows. The result for a row depends on that row alone.
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput>;

    /// Like [`Transformer::transform`], but without an index of the training rows and without interpolation, if the method uses any:
    /// each row is compared with all training rows and points of the map.
    fn transform_exactly(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.transform(new, progress)
    }

    /// Writes the state to a model file.
    fn save(&self, archive: &mut Archive);

    /// Returns the loss of single points of the map, everything else being fixed; `None` if the method has none, or not with these
    /// parameters, or not in two dimensions.
    fn point_loss(&self) -> Option<MapLoss<'_>> {
        None
    }

    /// Returns the standard deviation of each training row's position, if the method has one.
    fn std(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the covariance of each training row's position, `dim x dim` values per row, if the method has one.
    fn covariances(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the logarithms of the local radii of the training rows, if density is preserved.
    fn local_radii(&self) -> Option<&LocalRadii> {
        None
    }

    /// Returns the missing cells of the training rows, if the method has inferred any.
    fn inferred_cells(&self) -> Option<&InferredCells> {
        None
    }

    /// Returns the training rows with their missing cells filled, if there were any.
    fn completed_rows(&self) -> Option<Data> {
        None
    }

    /// Returns the number of bytes needed for `count` samples.
    fn samples_memory(&self, _count: usize) -> u64 {
        0
    }

    /// Draws embeddings from the posterior; `None` if the method has none.
    fn samples(&self, _count: usize, _seed: Seed) -> Result<Option<Vec<Embedding>>> {
        Ok(None)
    }

    /// Returns dense rows for positions in the embedding; `None` if the method has no inverse.
    fn inverse(&self, _points: Points, _progress: &mut Progress) -> Result<Option<Data>> {
        Ok(None)
    }

    /// Returns the symmetric graph of memberships of the training rows, if the method is a layout of one that follows from the rows.
    /// `known` are their neighbors, if they are known exactly.
    fn membership_graph(&self, _known: Option<&NeighborGraph>, _progress: &mut Progress) -> Result<Option<Csr>> {
        Ok(None)
    }

    /// Returns the components of a linear method; `None` for other methods and for models saved by earlier versions.
    fn principal_components(&self) -> Option<PrincipalComponents> {
        None
    }

    /// Returns the eigenvalue of each coordinate, if the coordinates are scaled eigenvectors of a Gram matrix.
    fn eigenvalues(&self) -> Option<Vec<f64>> {
        None
    }

    /// Returns the distances between all training rows along the neighbor graph, row by row, if the method is based on them.
    fn path_lengths(&self, _progress: &mut Progress) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Returns dense rows for positions in the embedding, with the standard deviation of every value if the method has one.
    fn inverse_with_std(&self, points: Points, progress: &mut Progress) -> Result<Option<(Data, Option<Data>)>> {
        Ok(self.inverse(points, progress)?.map(|rows| (rows, None)))
    }
}

/// Reason why a method cannot be fitted to landmarks.
#[derive(Debug, Clone, PartialEq)]
pub struct LandmarksUnsupported {
    /// The parameter that prevents it.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Values that are allowed instead.
    pub allowed: &'static str,
}

/// An embedding method with its parameters.
pub trait Method: Params + Send + Sync + 'static {
    /// Name on the command line and in model files.
    const NAME: &'static str;
    /// Name of the class in Python.
    const CLASS_NAME: &'static str = Self::NAME;
    /// Summary in one line.
    const SUMMARY: &'static str;
    /// When to use it, in one or two sentences.
    const ADVICE: &'static str;
    /// Further notes for users of a model.
    const NOTES: &'static str = "";
    /// Conventional name of the objective, such as `kl_divergence` or `lower_bound`.
    const OBJECTIVE: Option<&'static str> = None;
    /// Whether a fit reports an embedding after each iteration.
    const REPORTS_ITERATIONS: bool = false;
    /// Whether zero rows map to zero, so that embeddings must not be translated.
    const PRESERVES_ORIGIN: bool = false;
    /// Whether embeddings come with a standard deviation for each point.
    const HAS_STD: bool = false;
    /// Whether the model has an inverse: rows for positions in the embedding.
    const HAS_INVERSE: bool = false;
    /// Whether the model has a log-likelihood for new rows.
    const HAS_LIKELIHOOD: bool = false;
    /// Whether embeddings come with a covariance for each point.
    const HAS_COVARIANCES: bool = false;
    /// Whether embeddings can be drawn from a posterior.
    const HAS_SAMPLES: bool = false;
    /// Whether transforming a training row returns exactly its coordinates in the embedding.
    const TRANSFORMS_EXACTLY: bool = false;
    /// Whether a fit can continue an earlier map, some of whose rows keep their positions or are tied to them.
    const SUPPORTS_ANCHORS: bool = false;
    /// State of the fitted method.
    type Transformer: Transformer + 'static;

    /// Returns an error if the parameters are invalid for any data.
    fn validate(&self) -> Result<()>;
    /// Number of dimensions of the embedding.
    fn n_components(&self) -> usize;
    /// Returns the metric of the neighbor search, if the method has one.
    fn metric(&self) -> Option<Metric> {
        None
    }
    /// Whether every row of the embedding has the norm of its row of the data.
    fn keeps_norms(&self) -> bool {
        false
    }
    /// Whether dense rows may have missing cells, which are NaN.
    fn accepts_missing(&self) -> bool {
        false
    }
    /// Returns the stages of a fit with their expected shares of the time.
    fn stages(&self, shape: DataShape) -> Vec<Stage>;
    /// Returns the number of bytes that a fit needs besides the data, on the threads of the current pool.
    fn memory(&self, shape: DataShape) -> u64;
    /// Returns the number of bytes that a fit uses if it may use `limit`: more than [`Self::memory`] if the method has a
    /// faster way that needs more.
    fn memory_within(&self, shape: DataShape, _limit: Option<u64>) -> u64 {
        self.memory(shape)
    }
    /// Number of neighbors per row that a fit to `rows` rows needs; 0 if the method uses no neighbor graph.
    fn required_neighbors(&self, _rows: usize) -> usize {
        0
    }
    /// Checks whether the method can be fitted to some of the rows and extended to the others.
    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported> {
        match self.metric() {
            Some(metric @ (Metric::Precomputed | Metric::Levenshtein)) => Err(LandmarksUnsupported {
                name: "metric",
                value: metric.to_string(),
                allowed: "landmarks need numeric rows",
            }),
            _ => Ok(()),
        }
    }
    /// Fits the method; called by [`Fit::fit`](crate::Fit::fit) with validated parameters and finite, preprocessed data.
    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<Self::Transformer>>;
    /// Reads the fitted state from a model file; `n_features` is the number of columns it was fitted to.
    fn load(&self, archive: &Archive, n_features: usize) -> Result<Self::Transformer>;
}

/// The object-safe version of [`Method`], implemented by every method.
pub trait DynMethod: Send + Sync {
    /// Name on the command line and in model files.
    fn name(&self) -> &'static str;
    /// Whether zero rows map to zero, so that embeddings must not be translated.
    fn preserves_origin(&self) -> bool;
    /// Whether embeddings come with a standard deviation for each point.
    fn has_std(&self) -> bool;
    /// Whether transforming a training row returns exactly its coordinates in the embedding.
    fn transforms_exactly(&self) -> bool;
    /// Whether a fit can continue an earlier map.
    fn supports_anchors(&self) -> bool;
    /// Name and value of every parameter, as text.
    fn values(&self) -> Vec<(&'static str, String)>;
    /// Name and default value of every parameter, as text.
    fn default_values(&self) -> Vec<(&'static str, String)>;
    /// Returns an error if the parameters are invalid for any data.
    fn validate(&self) -> Result<()>;
    /// Number of dimensions of the embedding.
    fn n_components(&self) -> usize;
    /// Returns the metric of the neighbor search, if the method has one.
    fn metric(&self) -> Option<Metric>;
    /// Whether every row of the embedding has the norm of its row of the data.
    fn keeps_norms(&self) -> bool;
    /// Whether dense rows may have missing cells, which are NaN.
    fn accepts_missing(&self) -> bool;
    /// Returns the stages of a fit with their expected shares of the time.
    fn stages(&self, shape: DataShape) -> Vec<Stage>;
    /// Returns the number of bytes that a fit needs besides the data, on the threads of the current pool.
    fn memory(&self, shape: DataShape) -> u64;
    /// Returns the number of bytes that a fit uses if it may use `limit`.
    fn memory_within(&self, shape: DataShape, limit: Option<u64>) -> u64;
    /// Number of neighbors per row that a fit to `rows` rows needs; 0 if the method uses no neighbor graph.
    fn required_neighbors(&self, rows: usize) -> usize;
    /// Checks whether the method can be fitted to some of the rows and extended to the others.
    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported>;
    /// Fits the method.
    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<Box<dyn Transformer>>>;
    /// Reads the fitted state from a model file.
    fn load(&self, archive: &Archive, n_features: usize) -> Result<Box<dyn Transformer>>;
    /// Returns a copy of the method.
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

    fn supports_anchors(&self) -> bool {
        M::SUPPORTS_ANCHORS
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        Params::values(self)
    }

    fn default_values(&self) -> Vec<(&'static str, String)> {
        Params::values(&M::default())
    }

    fn accepts_missing(&self) -> bool {
        Method::accepts_missing(self)
    }

    fn keeps_norms(&self) -> bool {
        Method::keeps_norms(self)
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

    fn memory_within(&self, shape: DataShape, limit: Option<u64>) -> u64 {
        Method::memory_within(self, shape, limit)
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

/// Returns the remedies of methods that need numeric rows.
pub(crate) fn numeric_rows_remedies() -> Vec<Remedy> {
    vec![Remedy::Other("pass numeric rows")]
}
