//! Thresholded similarity matching (Saul 2022): a map that keeps norms and small angles.

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
    /// Where the matrices of all pairs are.
    pub enum MatrixStorage ("auto, tiles or factors") {
        /// Tiles where they fit into memory and rows are not too many, else factors.
        Auto = "auto",
        /// Two matrices of half of all pairs, in tiles; the paper's updates exactly.
        Tiles = "tiles",
        /// Nothing of that size: entries are made from factors whenever they are needed; the momentum is that of the factors.
        Factors = "factors",
    }
}

param_enum! {
    /// How new rows are placed.
    pub enum TransformRule ("llx or relu") {
        /// As a combination of their neighbours.
        Llx = "llx",
        /// Where their similarities to all fitted rows come out right (eq 16).
        Relu = "relu",
    }
}

params! {
    /// Thresholded similarity matching.
    pub struct Tsm {
        /// Dimensions of the map.
        n_components: usize = 2,
        /// Cosine above which rows are similar; auto takes the one that `density` of all pairs exceed.
        tau: Auto<f64> = Auto::Auto,
        /// Share of all pairs that are similar (tau auto).
        density: f64 = 0.01,
        /// Updates.
        max_iter: usize = 250,
        /// Share of the last change that is added to the next.
        momentum: f64 = 0.9,
        /// Where the matrices of all pairs are: tiles need about 4 n^2 bytes.
        matrices: MatrixStorage = MatrixStorage::Auto,
        /// How new rows are placed.
        placing: TransformRule = TransformRule::Llx,
        /// Relative change of the cost at which the updates end; the paper makes them all.
        tol: f64 = 0.0,
    }
}

const SIMILARITIES: &str = "similarities";
const UPDATES: &str = "updates";

/// Tiles of more rows take over six gigabytes; factors then lose nothing but some time.
const MOST_TILED: usize = 40_000;
/// Up to this many rows double precision costs nothing that matters.
const DOUBLE: usize = 2_000;

impl Method for Tsm {
    const NAME: &'static str = "tsm";
    const CLASS_NAME: &'static str = "TSM";
    const REPORTS_ITERATIONS: bool = true;
    const SUMMARY: &'static str = "thresholded similarity matching: norms and small angles are kept, zero stays zero";
    const ADVICE: &'static str = "For data whose lengths and directions mean something (word vectors, brightness, counts): 8 to 64 dimensions \
        with the same norms and the same neighbours by angle, for search and analogies rather than pictures.";
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
        // Seconds on two cores, roughly.
        let similarities = n * n * (dim + 20.0) / 1.5e11 + 1e-3;
        let updates = self.max_iter as f64 * n * n * (d + 8.0) / 2e10 + 1e-3;
        vec![Stage { name: SIMILARITIES, weight: similarities }, Stage { name: UPDATES, weight: updates }]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        self.needed(shape, self.matrices == MatrixStorage::Tiles)
    }

    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported> {
        match self.placing {
            TransformRule::Llx => Ok(()),
            TransformRule::Relu => {
                let allowed = "llx where there are landmarks";
                Err(LandmarksUnsupported { name: "placing", value: self.placing.to_text(), allowed })
            }
        }
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<TsmTransformer>> {
        let data = input.data;
        let most = data.dim().min(data.rows());
        available_components(self.n_components, most, "the number of columns or of rows", context)?;
        let (problem, tau) = context.stage(SIMILARITIES, |context| self.similarities(data, context))?;
        let done = |embedding: Embedding, outcome: Outcome| {
            let (llx, data) = (self.llx(), data.clone());
            let local = LlxTransformer { llx, data, embedding: embedding.clone(), std: None };
            Ok(FitOutput {
                embedding,
                transformer: TsmTransformer { local, tau, placing: self.placing },
                outcome,
                neighbors: None,
            })
        };
        if problem.similarities.rows() == 0 {
            context.note(Note::AllRowsZero);
            return done(problem.to_embedding(&[], 0), Outcome::without_iterations());
        }
        let options = self.options(problem.similarities.rows(), data.shape(), context)?;
        let mut updates = AlternatingUpdates::new(problem, options, context.seed.stream(UPDATES))?;
        let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
        let outcome = context.stage(UPDATES, |context| run(&mut updates, rule, context))?;
        if let Some(complaint) = updates.gram()?.negative_eigenvalue_warning(most) {
            context.note(Note::Warning(complaint));
        }
        done(updates.embedding(), outcome)
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<TsmTransformer> {
        let local = LlxTransformer::load(self.llx(), archive, dim)?;
        match archive.finite("tsm/tau")? {
            &[tau] if tau > 0.0 && tau < 1.0 && local.embedding.dim() == self.n_components => {
                Ok(TsmTransformer { local, tau, placing: self.placing })
            }
            _ => Err(archive.invalid("its threshold or its map is not one of this method".into())),
        }
    }
}

impl Tsm {
    /// The angles by which `tau = auto` is chosen.
    pub fn angles(data: &Data, seed: Seed, progress: &mut Progress) -> Result<AngleHistogram> {
        AngleHistogram::new(&CosineSimilarity::new(data)?, seed.stream(SIMILARITIES), progress)
    }

    fn llx(&self) -> Llx {
        Llx::linear(self.n_components)
    }

    /// The sparse similarities, and the threshold they are made with.
    fn similarities(&self, data: &Data, context: &mut Context) -> Result<(TsmProblem, f64)> {
        let seed = context.seed;
        let angles = context.with_progress(|progress| Self::angles(data, seed, &mut |done| progress(0.1 * done)))?;
        let tau = match self.tau {
            Auto::Value(tau) => tau,
            Auto::Auto => {
                let tau = angles.threshold(self.density);
                let drawing = angles.to_text(tau);
                context.note(Note::Info(format!("angles between rows, with the threshold (<):\n{drawing}")));
                tau
            }
        };
        let needed = similar_bytes(data.rows() as f64, angles.fraction_above(tau)) as u64;
        if let Some(limit) = context.memory_limit().filter(|&limit| needed > limit) {
            let remedies = vec![Remedy::Raise("tau"), Remedy::RaiseMaxMemory, Remedy::Landmarks(5000)];
            return Err(Error::Memory { what: format!("the pairs beyond tau {tau:.4}"), needed, limit, remedies });
        }
        let (problem, similarity) = context.with_progress(|progress| {
            let seed = seed.stream(SIMILARITIES);
            TsmProblem::new(data, tau, self.n_components, seed, &mut |done| progress(0.1 + 0.9 * done))
        })?;
        context.note(Note::Info(similarity.describe()));
        Ok((problem, tau))
    }

    fn options(&self, inputs: usize, shape: DataShape, context: &mut Context) -> Result<AlternatingOptions> {
        let need = self.needed(DataShape { rows: inputs, ..shape }, true);
        let fits = context.memory_limit().is_none_or(|allowed| need <= allowed);
        let dense = match (self.matrices, context.checkpoint()) {
            (MatrixStorage::Tiles, _) => true,
            (MatrixStorage::Factors, _) => false,
            // A run goes on as it began, whatever memory is free now.
            (MatrixStorage::Auto, Some(archive)) => AlternatingUpdates::has_tiles(archive)?,
            (MatrixStorage::Auto, None) => inputs <= MOST_TILED && fits,
        };
        context.note(Note::Info(match (self.matrices, dense) {
            (_, true) => format!("matrices in tiles: about {} in all", format_bytes(need)),
            (MatrixStorage::Factors, _) => {
                format!("matrices from factors (in tiles: about {} in all)", format_bytes(need))
            }
            (_, _) if fits => {
                format!("matrices from factors: there are many rows (in tiles: about {})", format_bytes(need))
            }
            (_, _) => format!("matrices from factors: tiles would not fit into memory (about {})", format_bytes(need)),
        }));
        let double = inputs <= DOUBLE;
        Ok(AlternatingOptions {
            momentum: self.momentum,
            store_tiles: dense,
            double_precision: double,
            ..AlternatingOptions::default()
        })
    }

    /// Bytes for the similarities and the updates.
    fn needed(&self, shape: DataShape, dense: bool) -> u64 {
        let [n, d] = [shape.rows, self.n_components].map(|count| count as f64);
        let kept = AlternatingOptions {
            store_tiles: dense,
            double_precision: shape.rows <= DOUBLE,
            ..AlternatingOptions::default()
        };
        // Density is a guess where tau is given.
        let similar = similar_bytes(n, self.density.max(10.0 / n.max(1.0)).min(1.0));
        // The rows again with virtual ones, and their directions.
        let copies = 3.0 * shape.bytes as f64;
        let search = lowland_neighbors::search_memory(
            DataShape { rows: shape.rows.min(4096), ..shape },
            Metric::Cosine,
            2,
            Search::Exact,
        );
        let updates = AlternatingUpdates::memory(n, d, &kept);
        pca_memory(self.n_components, shape).saturating_add(search).saturating_add((similar + copies + updates) as u64)
    }
}

/// Bytes for the similar pairs of `n` rows: the pairs, S and its shifted copy, places of its entries in the tiles.
fn similar_bytes(n: f64, share: f64) -> f64 {
    n * n * share * 42.0
}

/// The rows and their map, with the threshold.
pub struct TsmTransformer {
    local: LlxTransformer,
    tau: f64,
    placing: TransformRule,
}

impl Transformer for TsmTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        match self.placing {
            TransformRule::Llx => self.local.transform(new, progress),
            TransformRule::Relu => {
                let start = self.local.transform(new, &mut |done| progress(0.5 * done))?.embedding;
                let (data, map) = (&self.local.data, self.local.embedding.points());
                Ok(relu_transform(new, data, map, self.tau, &start, &mut |done| progress(0.5 + 0.5 * done))?.into())
            }
        }
    }

    fn save(&self, archive: &mut Archive) {
        self.local.save(archive);
        archive.put("tsm/tau", [self.tau].as_slice());
    }
}
