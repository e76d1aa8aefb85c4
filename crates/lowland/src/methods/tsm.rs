//! Thresholded similarity matching (Saul 2022): an embedding that preserves norms and small angles.

use lowland_algorithms::llx::Llx;
use lowland_algorithms::tsm::{
    AlternatingOptions, AlternatingUpdates, AngleHistogram, CosineSimilarity, TsmProblem, relu_transform,
};
use lowland_core::archive::Archive;
use lowland_core::message::{Note, Remedy};
use lowland_core::params::{Auto, ParamValue, at_least_one, check_tolerance, invalid_parameter, param_enum, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Result, Seed, format_bytes};
use lowland_linalg::pca_memory;
use lowland_neighbors::{self, Search};

use super::components::available_components;
use crate::landmarks::LlxTransformer;
use crate::method::{FitInput, FitOutput, LandmarksUnsupported, Method, TransformOutput, Transformer};

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
        /// Relative change of the cost at which the updates stop; 0 performs all updates, as in the paper.
        tol: f64 = 0.0,
    }
}

const SIMILARITIES: &str = "similarities";
const UPDATES: &str = "updates";

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
        check_tolerance("tol", self.tol)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let [n, dim, d] = [shape.rows, shape.dim, self.n_components].map(|count| count as f64);
        // Rough seconds on two cores.
        let similarities = n * n * (dim + 20.0) / 1.5e11 + 1e-3;
        let updates = self.max_iter as f64 * n * n * (d + 8.0) / 2e10 + 1e-3;
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

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<TsmTransformer>> {
        let data = input.data;
        let max_components = data.dim().min(data.rows());
        available_components(self.n_components, max_components, "the number of columns or of rows", context)?;
        let (problem, tau) = context.stage(SIMILARITIES, |context| self.similarities(data, context))?;
        let output = |embedding: Embedding, outcome: Outcome| {
            let (llx, data) = (self.llx(), data.clone());
            let llx = LlxTransformer { llx, data, embedding: embedding.clone(), std: None };
            Ok(FitOutput {
                embedding,
                transformer: TsmTransformer { llx, tau, placing: self.placing },
                outcome,
                neighbors: None,
            })
        };
        if problem.similarities.rows() == 0 {
            context.note(Note::AllRowsZero);
            return output(problem.to_embedding(&[], 0), Outcome::without_iterations());
        }
        let options = self.options(&problem, context)?;
        let mut updates = AlternatingUpdates::new(problem, options, context.seed.stream(UPDATES))?;
        let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
        let outcome = context.stage(UPDATES, |context| run(&mut updates, rule, context))?;
        if let Some(warning) = updates.gram()?.negative_eigenvalue_warning(max_components) {
            context.note(Note::Warning(warning));
        }
        output(updates.embedding(), outcome)
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<TsmTransformer> {
        let llx = LlxTransformer::load(self.llx(), archive, dim)?;
        match archive.finite("tsm/tau")? {
            &[tau] if tau > 0.0 && tau < 1.0 && llx.embedding.dim() == self.n_components => {
                Ok(TsmTransformer { llx, tau, placing: self.placing })
            }
            _ => Err(archive.invalid("its threshold or its embedding is invalid for this method".into())),
        }
    }
}

impl Tsm {
    /// Returns the histogram of angles from which `tau = auto` is chosen.
    pub fn angles(data: &Data, seed: Seed, progress: &mut Progress) -> Result<AngleHistogram> {
        AngleHistogram::new(&CosineSimilarity::new(data)?, seed.stream(SIMILARITIES), progress)
    }

    fn llx(&self) -> Llx {
        Llx::linear(self.n_components)
    }

    /// Returns the sparse similarities and their threshold.
    fn similarities(&self, data: &Data, context: &mut Context) -> Result<(TsmProblem, f64)> {
        let seed = context.seed;
        let angles = context.with_progress(|progress| Self::angles(data, seed, &mut |done| progress(0.1 * done)))?;
        let tau = match self.tau {
            Auto::Value(tau) => tau,
            Auto::Auto => {
                let tau = angles.threshold(self.density);
                let histogram = angles.to_text(tau);
                context.note(Note::Info(format!("angles between rows, with the threshold (<):\n{histogram}")));
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
            TsmProblem::new(data, tau, self.n_components, seed, &mut |done| progress(0.1 + 0.9 * done))
        })?;
        context.note(Note::Info(similarity.describe()));
        Ok((problem, tau))
    }

    /// Chooses the storage of the matrices, now that the similarities and the number of virtual inputs are known.
    fn options(&self, problem: &TsmProblem, context: &mut Context) -> Result<AlternatingOptions> {
        let inputs = problem.similarities.rows();
        let double = inputs <= MAX_DOUBLE_ROWS;
        let updates = |store_tiles| {
            let options =
                AlternatingOptions { store_tiles, double_precision: double, ..AlternatingOptions::default() };
            // S, its shifted copy, and the offsets of its entries in the tiles.
            let similar = problem.similarities.values().len() as f64 * 28.0;
            (similar + AlternatingUpdates::memory(inputs as f64, self.n_components as f64, &options)) as u64
        };
        let needed = updates(true);
        let fits = context.memory_limit().is_none_or(|limit| needed <= limit);
        let dense = match (self.matrices, context.checkpoint()) {
            (MatrixStorage::Tiles, _) => true,
            (MatrixStorage::Factors, _) => false,
            // A resumed run keeps its storage, regardless of the memory available now.
            (MatrixStorage::Auto, Some(archive)) => AlternatingUpdates::has_tiles(archive)?,
            (MatrixStorage::Auto, None) => inputs <= MAX_TILED_ROWS && fits,
        };
        let needed_now = updates(dense);
        if let Some(limit) = context.memory_limit().filter(|&limit| needed_now > limit) {
            let mut remedies = vec![Remedy::RaiseMaxMemory, Remedy::Landmarks(5000)];
            if dense {
                remedies.insert(0, Remedy::Set { name: "matrices", value: "factors" });
            }
            let what = format!("the matrices of {inputs} rows, virtual ones included,");
            return Err(Error::Memory { what, needed: needed_now, limit, remedies });
        }
        context.note(Note::Info(match (self.matrices, dense) {
            (_, true) => format!("matrices in tiles: about {} in total", format_bytes(needed)),
            (MatrixStorage::Factors, _) => {
                format!("matrices from factors (in tiles: about {} in total)", format_bytes(needed))
            }
            (_, _) if fits => {
                format!("matrices from factors: there are many rows (in tiles: about {})", format_bytes(needed))
            }
            (_, _) => {
                format!("matrices from factors: tiles would not fit into memory (about {})", format_bytes(needed))
            }
        }));
        Ok(AlternatingOptions {
            momentum: self.momentum,
            store_tiles: dense,
            double_precision: double,
            ..AlternatingOptions::default()
        })
    }

    /// Returns the number of bytes for the similarities and the updates.
    fn needed_memory(&self, shape: DataShape, dense: bool) -> u64 {
        let [n, d] = [shape.rows, self.n_components].map(|count| count as f64);
        let options = AlternatingOptions {
            store_tiles: dense,
            double_precision: shape.rows <= MAX_DOUBLE_ROWS,
            ..AlternatingOptions::default()
        };
        // Density is only a guess if tau is set.
        let similar = similarities_memory(n, self.density.max(10.0 / n.max(1.0)).min(1.0));
        // A copy of the rows with the virtual ones, and their directions.
        let copies = 2.25 * shape.bytes as f64;
        let search = lowland_neighbors::search_memory(
            DataShape { rows: shape.rows.min(4096), ..shape },
            Metric::Cosine,
            2,
            Search::Exact,
        );
        // The updates begin when the copies and the search are gone.
        let start = copies + similar + pca_memory(self.n_components, shape).max(search) as f64;
        start.max(similar + AlternatingUpdates::memory(n, d, &options)) as u64
    }
}

/// Returns the number of bytes for the similar pairs of `n` rows: the pairs, the matrix S and its shifted copy, and the
/// offsets of its entries in the tiles.
fn similarities_memory(n: f64, share: f64) -> f64 {
    n * n * share * 42.0
}

/// The training rows with their embedding, and the threshold.
pub struct TsmTransformer {
    llx: LlxTransformer,
    tau: f64,
    placing: TransformRule,
}

impl Transformer for TsmTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        match self.placing {
            TransformRule::Llx => self.llx.transform(new, progress),
            TransformRule::Relu => {
                let init = self.llx.transform(new, &mut |done| progress(0.5 * done))?.embedding;
                let (data, points) = (&self.llx.data, self.llx.embedding.points());
                Ok(relu_transform(new, data, points, self.tau, &init, &mut |done| progress(0.5 + 0.5 * done))?.into())
            }
        }
    }

    fn save(&self, archive: &mut Archive) {
        self.llx.save(archive);
        archive.put("tsm/tau", [self.tau].as_slice());
    }
}
