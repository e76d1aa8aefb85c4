//! Thresholded similarity matching (Saul 2022): an embedding that preserves norms and small angles.

use lowland_algorithms::tsm::{AlternatingOptions, AlternatingUpdates, AngleHistogram, CosineSimilarity, TsmProblem};
use lowland_core::archive::Archive;
use lowland_core::message::{Note, PairMatrixStorage, Remedy, SimilarityNote};
use lowland_core::params::{Auto, ParamValue, at_least_one, check_tolerance, invalid_parameter, param_enum, params};
use lowland_core::run::{Context, Progress, Stage};
use lowland_core::{Data, DataShape, Error, Metric, Result, Seed};
use lowland_linalg::pca_memory;
use lowland_neighbors::{self, Search};

use super::components::{MAX_PADDED_COMPONENTS, available_components};
use super::tsm_layers::fit_layers;
use super::tsm_transformer::TsmTransformer;
use crate::method::{FitInput, FitOutput, LandmarksUnsupported, Method};

param_enum! {
    /// Storage of the matrices of all pairs.
    pub enum MatrixStorage ("auto, tiles or factors") {
        /// Tiles if they fit into memory and there are not too many rows, factors otherwise.
        Auto = "auto",
        /// Two matrices of half of all pairs, in tiles; exactly the updates of the paper.
        Tiles = "tiles",
        /// Entries are computed from factors when needed, without storing all pairs; the momentum applies to the factors.
        Factors = "factors",
    }
}

param_enum! {
    /// How new rows are transformed.
    pub enum TransformRule ("llx or relu") {
        /// As a combination of their neighbors.
        Llx = "llx",
        /// By matching the similarities to all training rows (eq 16).
        Relu = "relu",
    }
}

param_enum! {
    /// The norms of the embedding.
    pub enum NormRule ("fitted or exact") {
        /// Those of the best embedding of the Gram matrix, as in the paper.
        Fitted = "fitted",
        /// Exactly those of the data: every row is scaled, which does not change angles.
        Exact = "exact",
    }
}

/// Numbers of dimensions of the layers before the last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HiddenLayers(pub Vec<usize>);

impl ParamValue for HiddenLayers {
    const EXPECTS: &'static str = "none, or whole numbers separated by commas";

    fn parse(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self::default());
        }
        text.split(',').map(usize::parse).collect::<Option<Vec<_>>>().map(Self)
    }

    fn to_text(&self) -> String {
        if self.0.is_empty() {
            "none".into()
        } else {
            self.0.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
        }
    }
}

params! {
    /// Thresholded similarity matching.
    pub struct Tsm {
        /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Cosine above which rows are similar; auto uses the cosine that a fraction density of all pairs exceeds.
        tau: Auto<f64> = Auto::Auto,
        /// Fraction of all pairs that are similar (if tau is auto).
        density: f64 = 0.01,
        /// Number of updates.
        max_iter: usize = 250,
        /// Fraction of the last change that is added to the next.
        momentum: f64 = 0.9,
        /// Storage of the matrices of all pairs; tiles need about 4 n^2 bytes.
        matrices: MatrixStorage = MatrixStorage::Auto,
        /// How new rows are transformed.
        placing: TransformRule = TransformRule::Llx,
        /// Norms of the embedding: those of the best embedding of the inner products, or exactly those of the data.
        norms: NormRule = NormRule::Fitted,
        /// Numbers of dimensions of the layers before the last, descending; each layer embeds the result of the one before.
        layers: HiddenLayers = HiddenLayers::default(),
        /// Relative change of the cost at which the updates stop; 0 performs all updates, as in the paper.
        tol: f64 = 0.0,
    }
}

const SIMILARITIES: &str = "similarities";
pub(super) const UPDATES: &str = "updates";

/// Maximum number of rows for tiles, which then take six gigabytes; factors only take some more time.
const MAX_TILED_ROWS: usize = 40_000;
/// Maximum number of rows for double precision.
const MAX_DOUBLE_ROWS: usize = 2_000;

impl Method for Tsm {
    const NAME: &'static str = "tsm";
    const CLASS_NAME: &'static str = "TSM";
    const REPORTS_ITERATIONS: bool = true;
    const SUMMARY: &'static str =
        "Thresholded similarity matching: preserves norms and small angles, and maps zero to zero.";
    const ADVICE: &'static str = "For data with meaningful norms and directions (word vectors, brightness, counts): 8 to 64 dimensions with the same \
        norms and the same neighbors by angle, for search and analogies rather than pictures.";
    const PRESERVES_ORIGIN: bool = true;
    type Transformer = TsmTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("max_iter", self.max_iter)?;
        if let Auto::Value(tau) = self.tau
            && !(tau > 0.0 && tau < 1.0)
        {
            return invalid_parameter("tau", &self.tau, "auto, or above 0 and below 1");
        }
        if !(self.density > 0.0 && self.density < 1.0) {
            return invalid_parameter("density", &self.density, "above 0 and below 1");
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return invalid_parameter("momentum", &self.momentum, "at least 0 and below 1");
        }
        let dims = self.layer_dims();
        if dims.windows(2).any(|pair| pair[0] < pair[1]) {
            let allowed = format!("in descending order, and at least {} (n_components)", self.n_components);
            return invalid_parameter("layers", &self.layers, allowed);
        }
        check_tolerance("tol", self.tol)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let [n, dim] = [shape.rows, shape.dim].map(|count| count as f64);
        // Rough seconds on two cores.
        let similarities = n * n * (dim + 20.0) / 1.5e11 + 1e-3;
        let width: f64 = self.layer_dims().iter().map(|&d| d as f64 + 8.0).sum();
        let updates = self.max_iter as f64 * n * n * width / 2e10 + 1e-3;
        vec![Stage { name: SIMILARITIES, weight: similarities }, Stage { name: UPDATES, weight: updates }]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        self.needed_memory(shape, self.matrices == MatrixStorage::Tiles)
    }

    fn memory_within(&self, shape: DataShape, limit: Option<u64>) -> u64 {
        let tiled = self.needed_memory(shape, true);
        let uses_tiles = self.matrices == MatrixStorage::Auto
            && shape.rows <= MAX_TILED_ROWS
            && limit.is_none_or(|limit| tiled <= limit);
        if uses_tiles { tiled } else { self.memory(shape) }
    }

    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported> {
        match self.placing {
            TransformRule::Llx => Ok(()),
            TransformRule::Relu => {
                let allowed = "landmarks need llx";
                Err(LandmarksUnsupported { name: "placing", value: self.placing.to_text(), allowed })
            }
        }
    }

    fn keeps_norms(&self) -> bool {
        self.keeps_exact_norms()
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<TsmTransformer>> {
        let data = input.data;
        let max_components = data.dim().min(data.rows());
        let limit = "the number of columns or of rows";
        available_components(self.n_components, max_components, limit, context)?;
        if self.layers.0.first().is_some_and(|&widest| widest > max_components.max(MAX_PADDED_COMPONENTS)) {
            return invalid_parameter("layers", &self.layers, format!("at most {max_components} ({limit})"));
        }
        fit_layers(self, data, context)
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<TsmTransformer> {
        TsmTransformer::load(self, archive, dim)
    }
}

impl Tsm {
    /// Returns the histogram of angles from which `tau = auto` is chosen.
    pub fn angles(data: &Data, seed: Seed, progress: &mut Progress) -> Result<AngleHistogram> {
        AngleHistogram::new(&CosineSimilarity::new(data)?, seed.stream(SIMILARITIES), progress)
    }

    /// Numbers of dimensions of all layers.
    pub(super) fn layer_dims(&self) -> Vec<usize> {
        self.layers.0.iter().copied().chain([self.n_components]).collect()
    }

    pub(super) fn keeps_exact_norms(&self) -> bool {
        self.norms == NormRule::Exact
    }

    /// Returns the sparse similarities for an embedding of `dim` dimensions, and their threshold.
    pub(super) fn similarities(&self, data: &Data, dim: usize, context: &mut Context) -> Result<(TsmProblem, f64)> {
        context.stage(SIMILARITIES, |context| self.thresholded(data, dim, context))
    }

    fn thresholded(&self, data: &Data, dim: usize, context: &mut Context) -> Result<(TsmProblem, f64)> {
        let seed = context.seed;
        let angles = context.with_progress(|progress| Self::angles(data, seed, &mut |done| progress(0.1 * done)))?;
        let tau = match self.tau {
            Auto::Value(tau) => tau,
            Auto::Auto => {
                let tau = angles.threshold(self.density);
                let histogram = angles.to_text(tau);
                context.note(Note::Similarity(SimilarityNote::AngleHistogram { density: self.density, histogram }));
                tau
            }
        };
        let needed = similarities_memory(data.rows() as f64, angles.fraction_above(tau)) as u64;
        if let Some(limit) = context.memory_limit().filter(|&limit| needed > limit) {
            let remedies = vec![Remedy::Raise("tau"), Remedy::RaiseMaxMemory, Remedy::Landmarks(5000)];
            return Err(Error::Memory {
                what: format!("the set of pairs above tau {tau:.4}"),
                needed,
                limit,
                remedies,
            });
        }
        let (problem, similarity) = context.with_progress(|progress| {
            let seed = seed.stream(SIMILARITIES);
            TsmProblem::new(data, tau, dim, seed, &mut |done| progress(0.1 + 0.9 * done))
        })?;
        context.note(Note::Similarity(similarity));
        Ok((problem, tau))
    }

    /// Returns the options of the updates of one layer, whose similarities and virtual inputs are known. `stored` is the storage
    /// that a checkpoint or an earlier layer used.
    pub(super) fn options(
        &self,
        problem: &TsmProblem,
        stored: Option<bool>,
        context: &mut Context,
    ) -> Result<AlternatingOptions> {
        let inputs = problem.similarities.rows();
        let updates = |store_tiles| {
            let double_precision = inputs <= MAX_DOUBLE_ROWS;
            let options = AlternatingOptions { store_tiles, double_precision, ..AlternatingOptions::default() };
            // S, its shifted copy, and the offsets of its entries in the tiles.
            let similar = problem.similarities.values().len() as f64 * 28.0;
            (similar + AlternatingUpdates::memory(inputs as f64, problem.output_dim as f64, &options)) as u64
        };
        let needed = updates(true);
        let fits = context.memory_limit().is_none_or(|limit| needed <= limit);
        let (store_tiles, storage) = match (self.matrices, stored) {
            (MatrixStorage::Tiles, _) | (MatrixStorage::Auto, Some(true)) => (true, PairMatrixStorage::Tiles),
            (MatrixStorage::Factors, _) => (false, PairMatrixStorage::Factors),
            (MatrixStorage::Auto, None) if inputs <= MAX_TILED_ROWS && fits => (true, PairMatrixStorage::Tiles),
            (MatrixStorage::Auto, _) if fits => (false, PairMatrixStorage::FactorsForManyRows),
            (MatrixStorage::Auto, _) => (false, PairMatrixStorage::FactorsForMemory),
        };
        let needed_now = updates(store_tiles);
        if let Some(limit) = context.memory_limit().filter(|&limit| needed_now > limit) {
            let mut remedies = vec![Remedy::RaiseMaxMemory, Remedy::Landmarks(5000)];
            if store_tiles {
                remedies.insert(1, Remedy::Set { name: "matrices", value: "factors" });
            }
            let what = format!("the set of matrices of {inputs} rows, with virtual ones,");
            return Err(Error::Memory { what, needed: needed_now, limit, remedies });
        }
        context.note(Note::Similarity(SimilarityNote::PairMatrices { storage, tile_bytes: needed }));
        Ok(AlternatingOptions {
            momentum: self.momentum,
            store_tiles,
            double_precision: inputs <= MAX_DOUBLE_ROWS,
            ..AlternatingOptions::default()
        })
    }

    /// Returns the number of bytes for the similarities and the updates.
    fn needed_memory(&self, shape: DataShape, dense: bool) -> u64 {
        // The first layer is the widest.
        let widest = self.layer_dims()[0];
        let [n, d] = [shape.rows, widest].map(|count| count as f64);
        let options = AlternatingOptions {
            store_tiles: dense,
            double_precision: shape.rows <= MAX_DOUBLE_ROWS,
            ..AlternatingOptions::default()
        };
        // Density is only a guess if tau is set.
        let similar = similarities_memory(n, self.density.max(10.0 / n.max(1.0)).min(1.0));
        // A copy of the rows with the virtual ones, and their directions.
        let copies = 2.25 * shape.bytes as f64 + self.layers.0.iter().map(|&d| n * d as f64 * 16.0).sum::<f64>();
        let search = lowland_neighbors::search_memory(
            DataShape { rows: shape.rows.min(4096), ..shape },
            Metric::Cosine,
            2,
            Search::Exact,
        );
        // The updates begin when the copies and the search are gone.
        let start = copies + similar + pca_memory(widest, shape).max(search) as f64;
        start.max(similar + AlternatingUpdates::memory(n, d, &options)) as u64
    }
}

/// Returns the number of bytes for the similar pairs of `n` rows: the pairs, the matrix S and its shifted copy, and the
/// offsets of its entries in the tiles.
fn similarities_memory(n: f64, share: f64) -> f64 {
    n * n * share * 42.0
}
