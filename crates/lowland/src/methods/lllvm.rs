//! The locally linear latent variable model (Park et al. 2015): an embedding with a covariance for every point, and a lower
//! bound on the evidence.

use lowland_algorithms::lllvm::{
    Alpha, ColumnNoise, EmRun, LaplacianGraph, LaplacianModes, LllvmEm, LllvmOptions, LllvmProblem, LowRankEm,
    LowRankProblem, MissingValues, ModelGraph, MultiStartEm, Posterior, PosteriorRank, ScaledRows,
};
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{at_least_one, check_tolerance, invalid_parameter, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Points, Result, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{Symmetrization, symmetrize};
use lowland_neighbors::{self, NeighborGraph, Search, nearest_to_with};

use super::lllvm_missing::{CompletedRows, fill_from_nearest};
use crate::method::{FitInput, FitOutput, InferredCells, Method, TransformOutput, Transformer};
use crate::neighbor_stage::{self, Neighbors, connected_lengths, neighbors};

params! {
    /// The locally linear latent variable model.
    pub struct Lllvm {
    /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of neighbors of each point, not counting the point itself.
        n_neighbors: usize = 10,
        /// Distance metric between rows, for the neighbor search.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
        /// Precision of the prior of the coordinates; optimise maximizes the bound, which tends to collapse the embedding.
        alpha: Alpha = Alpha::Fixed(1e-3),
        /// Whether all columns have the same noise, or each its own.
        column_noise: ColumnNoise = ColumnNoise::Common,
        /// Number of eigenvectors of the graph that the posteriors are general in; full computes exact posteriors, auto uses 64 beyond 3,000 rows.
        rank: PosteriorRank = PosteriorRank::Auto,
        /// Whether missing cells (NaN) are refused, or get a posterior of their own.
        missing_values: MissingValues = MissingValues::Refuse,
        /// Number of random starts; the one with the largest bound is kept.
        starts: usize = 3,
        /// Maximum number of iterations.
        max_iter: usize = 100,
        /// Change of the bound, per value of the data, at which a start has converged.
        tol: f64 = 1e-6,
    }
}

const EIGENVECTORS: &str = "eigenvectors";
const ITERATIONS: &str = "iterations";

impl Method for Lllvm {
    const NAME: &'static str = "lllvm";
    const CLASS_NAME: &'static str = "LLLVM";
    const OBJECTIVE: Option<&'static str> = Some("lower_bound");
    const REPORTS_ITERATIONS: bool = true;
    const SUMMARY: &'static str = "Locally linear latent variable model: coordinates with covariances, and a bound for choosing the numbers of neighbors and dimensions.";
    const ADVICE: &'static str = "For up to ten thousand or so rows on a smooth manifold, when the uncertainty of the embedding, the correct neighbors or \
        the number of dimensions matter (see model selection), or when cells are missing.";
    const HAS_STD: bool = true;
    const HAS_INVERSE: bool = true;
    const HAS_COVARIANCES: bool = true;
    const HAS_SAMPLES: bool = true;
    type Transformer = LllvmTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("n_neighbors", self.n_neighbors)?;
        at_least_one("starts", self.starts)?;
        at_least_one("max_iter", self.max_iter)?;
        if matches!(self.alpha, Alpha::Fixed(alpha) if !(alpha > 0.0 && alpha.is_finite())) {
            return invalid_parameter("alpha", &self.alpha, "optimise, or a number above 0");
        }
        if self.rank == PosteriorRank::Low(0) {
            return invalid_parameter("rank", &self.rank, "auto, full, or a number above 0");
        }
        if self.metric == Metric::Precomputed {
            let reason =
                "cannot be used, since the model needs the rows: pass the rows, and the neighbors as a precomputed graph".into();
            return Err(Error::Metric { metric: self.metric.to_string(), reason });
        }
        check_tolerance("tol", self.tol)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }

    fn accepts_missing(&self) -> bool {
        self.missing_values == MissingValues::Marginalize
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let [n, dim, d] = [shape.rows, shape.dim.max(10), self.n_components].map(|count| count as f64);
        // Rough seconds on two cores.
        let search = neighbor_stage::seconds(shape);
        if let Some(rank) = self.rank.resolve(shape.rows) {
            let m = rank as f64;
            let iteration = (n * d * dim * 2.0 * (m + 10.0) + d * d * m.powi(4) * 4.0 + (m * d).powi(3) * 4.0) / 2e10;
            return vec![
                Stage { name: neighbor_stage::STAGE, weight: search },
                Stage { name: EIGENVECTORS, weight: n * m.powi(4) / 2e10 + n * n * 4e-8 + 1e-3 },
                Stage { name: ITERATIONS, weight: (self.starts * self.max_iter) as f64 * iteration + 1e-3 },
            ];
        }
        let iteration = (n * d).powi(2) * (2.0 * n * d + 3.0 * dim) / 5e10;
        let work = (self.starts * self.max_iter) as f64 * iteration + 1e-3;
        vec![Stage { name: neighbor_stage::STAGE, weight: search }, Stage { name: ITERATIONS, weight: work }]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let k = self.n_neighbors.min(shape.rows);
        let [n, dim, d, starts] = [shape.rows, shape.dim, self.n_components, self.starts].map(|count| count as f64);
        let side = n * d;
        let search = lowland_neighbors::search_memory(shape, self.metric, k, self.search);
        if let Some(rank) = self.rank.resolve(shape.rows) {
            let start = LowRankEm::memory(shape.rows, rank, self.n_components, shape.dim);
            // The rows, and for each start its own if they change; the posterior with the products of its covariances.
            let own_rows = self.column_noise == ColumnNoise::Separate || self.accepts_missing();
            let rows = n * dim * 8.0 * (2.0 + if own_rows { starts } else { 0.0 });
            let posterior = side * (dim * 4.0 + 2.0 * rank as f64 * d * 8.0) + n * rank as f64 * 8.0;
            let modes = LaplacianModes::memory(shape.rows, rank);
            return search.max((modes + rows + starts * start + posterior) as u64);
        }
        // Each start has two matrices of all coordinates and two blocks of linear maps; the graph has three matrices; the
        // posterior is stored twice.
        let iterations = starts * (2.0 * side * side + 2.0 * side * dim) * 8.0 + 3.0 * n * n * 8.0;
        let own_rows = self.column_noise == ColumnNoise::Separate || self.accepts_missing();
        let scaled_rows = if own_rows { 2.0 * starts * n * dim * 8.0 } else { 0.0 };
        let rest = scaled_rows + 3.0 * side * side * 8.0 + side * dim * 16.0 + n * dim * 16.0;
        search.max((iterations + rest) as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        self.n_neighbors.min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<LllvmTransformer>> {
        self.metric.check(input.data)?;
        let rows = ScaledRows::new(input.data)?;
        let missing = rows.missing.len();
        if missing > 0 && self.metric != Metric::Euclidean {
            return invalid_parameter("metric", &self.metric, "euclidean if cells are missing");
        }
        let n = input.data.rows();
        if n > 1
            && let Some(column) = empty_column(&rows, n)
        {
            return Err(Error::NoValues { what: "column", index: column });
        }
        let filled = if missing > 0 {
            context.note(Note::MissingCells { cells: missing, of: rows.values.len() });
            Some(fill_from_nearest(input.data, &mut |_| Ok(()))?)
        } else {
            None
        };
        let input = FitInput { data: filled.as_ref().unwrap_or(input.data), ..input };
        let Neighbors { graph, exact, .. } = neighbors(input, self.n_neighbors, self.metric, self.search, context)?;
        let Fitted { posterior, rows, missing_std, outcome } = if n == 1 || rows.values.iter().all(|&v| v == 0.0) {
            context.note(if n == 1 { Note::SingleRow } else { Note::AllRowsEqual });
            let posterior = Posterior::constant(n, rows.columns(), self.n_components);
            Fitted {
                posterior,
                missing_std: vec![0.0; rows.missing.len()],
                rows,
                outcome: Outcome::without_iterations(),
            }
        } else {
            let edges = model_edges(input.data, &graph, self.metric, context)?;
            self.fit_graph(&edges, rows, context)?
        };
        let completed = CompletedRows::new(input.data, &rows, missing_std)?;
        let embedding = posterior.embedding();
        let data = completed.as_ref().map_or(input.data, |completed| &completed.data).clone();
        // Inferred cells in single precision, as in a loaded model.
        let rows = match &completed {
            Some(completed) => ScaledRows::with_center(&completed.data, rows.center.clone(), rows.scale)?
                .with_column_scales(rows.column_scales())
                .expect("the scales of the fit are positive"),
            None => rows,
        };
        let transformer = LllvmTransformer { params: self.clone(), data, rows, posterior, completed };
        // Neighbors of rows whose cells have changed are not those of the data.
        let neighbors = (exact && missing == 0).then_some(graph);
        Ok(FitOutput { embedding, transformer, outcome, neighbors })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<LllvmTransformer> {
        let data = Data::load("training", archive)?;
        self.metric.check(&data)?;
        let embedding = Embedding::load("embedding", archive)?;
        if data.dim() != dim || embedding.rows() != data.rows() || embedding.dim() != self.n_components {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        let (completed, rows) = match CompletedRows::load(archive, &data)? {
            Some((completed, rows)) => (Some(completed), rows),
            None => (None, ScaledRows::new(&data)?),
        };
        let rows = match self.column_noise {
            ColumnNoise::Common => rows,
            ColumnNoise::Separate => {
                rows.with_column_scales(archive.finite("lllvm/column_scales")?).ok_or_else(|| {
                    archive.invalid("'lllvm/column_scales' should hold a positive number for every column".into())
                })?
            }
        };
        let low_rank = archive.has("lllvm/basis/vectors");
        let posterior = Posterior::load(archive, low_rank, data.rows(), dim, self.n_components)?;
        Ok(LllvmTransformer { params: self.clone(), data, rows, posterior, completed })
    }
}

/// The result of the iterations.
struct Fitted {
    posterior: Posterior,
    rows: ScaledRows,
    missing_std: Vec<f64>,
    outcome: Outcome,
}

/// Returns the first column without values.
fn empty_column(rows: &ScaledRows, n: usize) -> Option<usize> {
    rows.missing.chunk_by(|a, b| a.0 == b.0).find(|cells| cells.len() == n).map(|cells| cells[0].0 as usize)
}

impl Lllvm {
    /// Returns the options of EM.
    pub fn em_options(&self) -> LllvmOptions {
        LllvmOptions { column_noise: self.column_noise, ..LllvmOptions::new(self.n_components, self.alpha) }
    }

    /// Runs EM from all starts, with separate random numbers for each `purpose`.
    pub(crate) fn run_starts<'a>(
        &self,
        problem: &'a LllvmProblem,
        purpose: &str,
        context: &mut Context,
    ) -> Result<(MultiStartEm<LllvmEm<'a>>, Outcome)> {
        self.run_from(|seed| LllvmEm::random(problem, self.em_options(), seed), purpose, context)
    }

    fn run_from<E: EmRun>(
        &self,
        start: impl Fn(Seed) -> Result<E> + Sync,
        purpose: &str,
        context: &mut Context,
    ) -> Result<(MultiStartEm<E>, Outcome)> {
        let mut starts = MultiStartEm::new(self.starts, self.tol, context.seed.stream(purpose), start)?;
        let outcome = run(&mut starts, StopRule { max_iter: self.max_iter, tol: self.tol }, context)?;
        Ok((starts, outcome))
    }

    fn fit_graph(&self, edges: &Csr, rows: ScaledRows, context: &mut Context) -> Result<Fitted> {
        let Some(rank) = self.rank.resolve(edges.rows()) else {
            let problem = LllvmProblem::new(LaplacianGraph::new(edges)?, rows)?;
            return self.iterate(|seed| LllvmEm::random(&problem, self.em_options(), seed), context);
        };
        let modes = context.stage(EIGENVECTORS, |context| {
            let alive = LaplacianModes::memory(edges.rows(), rank);
            let (limit, seed) = (context.memory_left(alive), context.seed.stream(EIGENVECTORS));
            let graph = ModelGraph::new(edges)?;
            context.with_progress(|progress| LaplacianModes::new(graph, rank, limit, seed, progress))
        })?;
        let problem = LowRankProblem::new(modes, rows)?;
        self.iterate(|seed| LowRankEm::new(&problem, self.em_options(), seed), context)
    }

    fn iterate<E: EmRun>(&self, start: impl Fn(Seed) -> Result<E> + Sync, context: &mut Context) -> Result<Fitted> {
        let (starts, outcome) = context.stage(ITERATIONS, |context| self.run_from(start, ITERATIONS, context))?;
        if self.starts > 1 {
            context.note(Note::StartBounds(starts.bounds()));
        }
        if let Some(alpha) = starts.collapsed_alpha() {
            context.note(Note::PosteriorCollapsed { alpha });
        }
        if starts.noise_is_at_limit() {
            context.note(Note::NoiseAtLimit);
        }
        let (rows, missing_std) = (starts.rows(), starts.missing_std());
        Ok(Fitted { posterior: starts.into_posterior()?, rows, missing_std, outcome })
    }
}

/// Returns the graph of the model: symmetric and connected.
pub(crate) fn model_edges(data: &Data, graph: &NeighborGraph, metric: Metric, context: &mut Context) -> Result<Csr> {
    symmetrize(&connected_lengths(data, metric, graph, context)?, Symmetrization::Union)
}

/// The training rows and the posterior of their coordinates and linear maps.
pub struct LllvmTransformer {
    params: Lllvm,
    data: Data,
    rows: ScaledRows,
    posterior: Posterior,
    completed: Option<CompletedRows>,
}

impl Transformer for LllvmTransformer {
    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        if let Some(completed) = &self.completed {
            completed.save(&self.rows, archive);
        }
        self.posterior.save(archive);
        if self.params.column_noise == ColumnNoise::Separate {
            archive.put("lllvm/column_scales", self.rows.column_scales());
        }
    }

    fn std(&self) -> Option<Vec<f64>> {
        Some(self.posterior.std())
    }

    fn covariances(&self) -> Option<Vec<f64>> {
        Some(self.posterior.covariances().to_vec())
    }

    fn inferred_cells(&self) -> Option<&InferredCells> {
        self.completed.as_ref().map(|completed| &completed.cells)
    }

    fn completed_rows(&self) -> Option<Data> {
        self.completed.as_ref().map(|completed| completed.data.clone())
    }

    fn samples_memory(&self, count: usize) -> u64 {
        self.posterior.samples_memory(count)
    }

    fn samples(&self, count: usize, seed: Seed) -> Result<Option<Vec<Embedding>>> {
        self.posterior.samples(count, seed).map(Some)
    }

    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let k = self.params.n_neighbors.min(self.data.rows());
        let graph = nearest_to_with(new, &self.data, k, self.params.metric, &mut |done| progress(0.3 * done))?;
        let transformed = self.posterior.transform(new, &self.rows, &graph, &mut |done| progress(0.3 + 0.7 * done))?;
        let (std, covariances) = (Some(transformed.std()), Some(transformed.covariances));
        Ok(TransformOutput { std, covariances, ..transformed.embedding.into() })
    }

    fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Option<Data>> {
        Ok(self.inverse_with_std(points, progress)?.map(|(rows, _)| rows))
    }

    fn inverse_with_std(&self, points: Points, progress: &mut Progress) -> Result<Option<(Data, Option<Data>)>> {
        let reconstruction = self.posterior.inverse_transform(points, &self.rows, self.params.n_neighbors, progress)?;
        let columns = self.rows.columns();
        Ok(Some((Data::dense(reconstruction.rows, columns)?, Some(Data::dense(reconstruction.std, columns)?))))
    }
}

#[cfg(test)]
#[path = "lllvm_tests.rs"]
mod tests;
