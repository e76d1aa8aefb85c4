//! The tractable latent variable model (Saul 2020): an embedding with a variance for every point.

use lowland_algorithms::lvm::{
    AdjacencyRule, EmOptions, LvmEm, LvmState, PairOptions, Precision, TrainingPairs, Variances,
};
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{Auto, at_least_one, check_tolerance, invalid_parameter, param_enum, params};
use lowland_core::run::{Context, Outcome, Stage, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Result};
use lowland_linalg::{Csr, LaplacianKind};
use lowland_neighbors::graph::{
    ConnectedComponents, SpectralCoordinates, minimum_spanning_forest, mutual_reach, undirected_edges,
};
use lowland_neighbors::{self, IndexedRows, NeighborGraph, NeighborParams, Search, nearest_with};

use super::components::available_components;
use super::lvm_transformer::LvmTransformer;
use crate::method::{FitInput, FitOutput, Method, Transformer};
use crate::neighbor_stage::{self, Neighbors, all_equal, connected_lengths, supervised_neighbors};
use crate::target::{Supervision, TargetMetric};

param_enum! {
    /// Handling of a neighbor graph with several components.
    pub enum ComponentHandling ("join or largest") {
        /// Join the components at their closest pairs of points.
        Join = "join",
        /// Fit the largest component and transform the other points.
        Largest = "largest",
    }
}

/// Returns the number of levels of coarse-graining. A few hundred points need none; with more than some millions, even the
/// pairs of landmarks are many. For a million points, a second level saves a quarter of the time but preserves far fewer
/// neighbors.
fn levels(requested: Auto<usize>, points: usize) -> usize {
    match requested {
        Auto::Value(levels) => levels,
        Auto::Auto => usize::from(points > 500) + usize::from(points > 3_000_000) + usize::from(points > 100_000_000),
    }
}

params! {
    /// The tractable latent variable model.
    pub struct Lvm {
/// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of neighbors of each point, not counting the point itself.
        n_neighbors: usize = 9,
/// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
        /// Number of steps within which neighbors must reach each other to be similar; 2 or 3 for embeddings with many dimensions.
        reach: usize = 1,
        /// Levels of coarse-graining: 0 considers every pair of points, each level fewer of them.
        levels: Auto<usize> = Auto::Auto,
        /// Number of landmarks of the first level of coarse-graining; further levels have more or fewer by the same factor.
        coarse_landmarks: Auto<usize> = Auto::Auto,
        /// Adjacent points that do not count as dissimilar: those with an edge in the direction of the pair, or in either.
        adjacent: AdjacencyRule = AdjacencyRule::Directed,
        /// Maximum number of iterations.
        max_iter: usize = 400,
        /// Fraction of the last step that is added to the next.
        momentum: f64 = 0.9,
        /// Whether each point has a variance of its own.
        variances: Variances = Variances::Free,
        /// Handling of a neighbor graph with several components.
        components: ComponentHandling = ComponentHandling::Join,
        /// Relative change of the log-likelihood at which the iterations stop.
        tol: f64 = 1e-6,
        /// Reduction of the residual at which the linear system of an iteration counts as solved.
        solver_tol: f64 = 0.5,
        /// Influence of the target on the neighbor graph, if there is one: from 0, none, to 1, no neighbors of other classes.
        target_weight: f64 = 0.5,
        /// Whether the target is a class or a number of each row.
        target_metric: TargetMetric = TargetMetric::Auto,
    }
}

/// Maximum number of iterations of the linear solver for each halving of the residual.
const SOLVER_ITERATIONS: usize = 30;

const LANDMARKS: &str = "landmarks";
const START: &str = "spectral start";
const ITERATIONS: &str = "iterations";

/// Upper limit of the levels, more than any data set in memory can use.
const MAX_LEVELS: usize = 16;

impl Method for Lvm {
    const NAME: &'static str = "lvm";
    const CLASS_NAME: &'static str = "LVM";
    const NOTES: &'static str = "The standard deviation compares the rows of one model, fitted or new: the larger, the less the embedding keeps of the \
        row's relations to its neighbors. It is not an error in the units of the data: it shrinks with the number of iterations, like its \
        inverse square root.";
    const OBJECTIVE: Option<&'static str> = Some("lower_bound");
    const REPORTS_ITERATIONS: bool = true;
    const SUMMARY: &'static str = "Latent variable model: clear clusters, with a standard deviation for every point.";
    const ADVICE: &'static str = "The method with a likelihood and a variance for every point. Clear clusters in two or three dimensions; embeddings with more dimensions (and reach 2 or 3) for search \
        and classification; and a standard deviation that shows which points are misplaced.";
    const HAS_STD: bool = true;
    const HAS_INVERSE: bool = true;
    type Transformer = LvmTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("n_neighbors", self.n_neighbors)?;
        at_least_one("reach", self.reach)?;
        at_least_one("max_iter", self.max_iter)?;
        if !(0.0..1.0).contains(&self.momentum) {
            return invalid_parameter("momentum", &self.momentum, "at least 0 and below 1");
        }
        if matches!(self.levels, Auto::Value(levels) if levels > MAX_LEVELS) {
            return invalid_parameter("levels", &self.levels, format!("auto, or at most {MAX_LEVELS}"));
        }
        if let Auto::Value(count) = self.coarse_landmarks {
            at_least_one("coarse_landmarks", count)?;
        }
        if !(self.solver_tol > 0.0 && self.solver_tol < 1.0) {
            return invalid_parameter("solver_tol", &self.solver_tol, "greater than 0 and below 1");
        }
        self.supervision().validate()?;
        check_tolerance("tol", self.tol)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let n = shape.rows as f64;
        // Rough seconds on two cores.
        let search = neighbor_stage::seconds(shape);
        let start = n * (self.n_neighbors + 10) as f64 * (self.n_components + 4) as f64 * 5e-8 + 1e-3;
        let pair_count = pair_count(levels(self.levels, shape.rows), n);
        let iteration = pair_count * (8e-9 + 2e-9 * self.n_components as f64) + n * self.n_neighbors as f64 * 3e-8;
        vec![
            Stage { name: neighbor_stage::STAGE, weight: search },
            Stage { name: LANDMARKS, weight: 0.1 * search + 1e-3 },
            Stage { name: START, weight: start },
            Stage { name: ITERATIONS, weight: self.max_iter as f64 * iteration + 1e-3 },
        ]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let (rows, k) = (shape.rows, self.n_neighbors.min(shape.rows));
        let [n, edges, d] = [rows, k, self.n_components].map(|count| count as f64);
        // The graph and matrices derived from it, blocks of vectors, and partial sums of all strips of the blocks.
        let graphs = n * (edges + 2.0) * 160.0;
        let levels = levels(self.levels, rows);
        let blocks = n * (d + d.clamp(4.0, 10.0)) * 8.0 * 10.0 + n * d * 16.0 * if levels == 0 { 32.0 } else { 4.0 };
        lowland_neighbors::search_memory(shape, self.metric, k, self.search).max((graphs + blocks) as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        self.n_neighbors.min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<LvmTransformer>> {
        self.metric.check(input.data)?;
        let Neighbors { graph, exact, wider } = self.neighbors(input, context)?;
        let n = input.data.rows();
        let largest = self.largest_component(&graph, context);
        let (data, near) = match &largest {
            Some(rows) => (input.data.select(rows), subgraph(&graph, rows)?),
            None => (input.data.clone(), graph.clone()),
        };
        let wanted = if all_equal(&data, self.metric, &near, context)? {
            0
        } else {
            available_components(self.n_components, data.rows() - 1, "the number of points less one", context)?
        };
        let edges = self.edges(&data, &near, context)?;
        let pairs = context.stage(LANDMARKS, |context| {
            let seed = context.seed.stream(LANDMARKS);
            let options = PairOptions {
                levels: levels(self.levels, data.rows()),
                landmarks: match self.coarse_landmarks {
                    Auto::Value(count) => Some(count),
                    Auto::Auto => None,
                },
                adjacency: self.adjacent,
                seed,
            };
            context.with_progress(|progress| TrainingPairs::new(&data, self.metric, &edges, options, progress))
        })?;
        let (em, outcome) = self.iterate(pairs, wanted, context)?;
        let state = LvmState::new(&em, &near, self.reach);
        let mut transformer = LvmTransformer {
            params: self.clone(),
            rows: IndexedRows::new(data, self.metric, self.n_neighbors),
            std: state.std(),
            state,
        };
        let mut embedding = em.embedding();
        if let Some(rows) = largest {
            let others: Vec<usize> = (0..n).filter(|i| rows.binary_search(i).is_err()).collect();
            let others_rows = input.data.select(&others);
            let transformed =
                context.with_progress(|progress| transformer.transform_exactly(&others_rows, progress))?;
            embedding = merge_embeddings(n, &rows, &embedding, &others, &transformed.embedding)?;
            let stds = transformed.std.unwrap_or_default();
            let mut all: Vec<(usize, f64)> =
                rows.into_iter().zip(transformer.std).chain(others.into_iter().zip(stds)).collect();
            all.sort_unstable_by_key(|entry| entry.0);
            transformer.std = all.into_iter().map(|entry| entry.1).collect();
        }
        Ok(FitOutput { embedding, transformer, outcome, neighbors: wider.or_else(|| exact.then_some(graph)) })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<LvmTransformer> {
        let embedding = Embedding::load("embedding", archive)?;
        let mut transformer = LvmTransformer {
            params: self.clone(),
            rows: IndexedRows::load("training", archive, self.metric, &|_| self.n_neighbors)?,
            state: LvmState::load(archive, embedding.dim(), self.max_iter)?,
            std: archive.finite("lvm/std")?.to_vec(),
        };
        self.metric.check(transformer.rows.data())?;
        let fits = transformer.rows.data().dim() == dim
            && transformer.rows.data().rows() == transformer.state.points()
            && transformer.std.len() == embedding.rows()
            && self.n_components == embedding.dim();
        if !fits {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        if self.reach > 1 && !transformer.state.has_neighbors() {
            if archive.version() > 1 {
                return Err(archive.invalid("it has no neighbor graph".into()));
            }
            // Models of version 1 were saved without the graph.
            let (n_neighbors, metric, search) = (self.n_neighbors, self.metric, self.search);
            let params = NeighborParams { n_neighbors, metric, search, ..NeighborParams::default() };
            transformer.state.set_neighbors(nearest_with(transformer.rows.data(), &params, &mut |_| Ok(()))?.graph);
        }
        Ok(transformer)
    }
}

impl Lvm {
    fn supervision(&self) -> Supervision {
        Supervision { weight: self.target_weight, metric: self.target_metric }
    }

    fn neighbors(&self, input: FitInput, context: &mut Context) -> Result<Neighbors> {
        supervised_neighbors(input, self.supervision(), self.n_neighbors, self.metric, self.search, context)
    }

    /// Returns the rows of the largest component, if only these are fitted and there are others.
    fn largest_component(&self, graph: &NeighborGraph, context: &mut Context) -> Option<Vec<usize>> {
        let components = ConnectedComponents::from_neighbors(graph);
        if self.components == ComponentHandling::Join || components.count() < 2 {
            return None;
        }
        let rows = components.members(components.largest()?);
        let largest = components.largest()? as u32;
        let other_rows = (0..graph.rows()).filter(|&i| components.labels()[i] != largest).collect();
        context.note(Note::LargestComponentFitted { components: components.count(), other_rows });
        Some(rows)
    }

    /// Returns the connected graph of eqs 22-24.
    fn edges(&self, data: &Data, graph: &NeighborGraph, context: &mut Context) -> Result<Csr> {
        let near = connected_lengths(data, self.metric, graph, context)?;
        let tree = minimum_spanning_forest(near.rows(), undirected_edges(&near))?;
        mutual_reach(&near, &tree, self.reach)
    }

    /// Runs EM from a spectral initialization or a checkpoint.
    fn iterate(&self, pairs: TrainingPairs, wanted: usize, context: &mut Context) -> Result<(LvmEm, Outcome)> {
        let (n, dim) = (pairs.points(), self.n_components);
        let mut means = vec![0.0; n * dim];
        if wanted > 0 && context.checkpoint().is_none() {
            context.stage(START, |context| initialize_means(&pairs, wanted, &mut means, dim, context))?;
        }
        let variances = pairs.initial_variances(dim);
        let options = EmOptions {
            momentum: self.momentum,
            variances: self.variances,
            // Double precision is affordable for few points.
            precision: if n <= 1_000 { Precision::Double } else { Precision::Single },
            solve_tolerance: self.solver_tol,
            solve_iterations: SOLVER_ITERATIONS * (-self.solver_tol.log2()).ceil().max(1.0) as usize,
        };
        let mut em = LvmEm::new(pairs, means, variances, dim, options)?;
        if wanted == 0 {
            context.note(Note::AllRowsEqual);
            return Ok((em, Outcome::without_iterations()));
        }
        let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
        let outcome = context.stage(ITERATIONS, |context| run(&mut em, rule, context))?;
        Ok((em, outcome))
    }
}

/// Standard deviation of each initial coordinate, in median edge lengths: small enough for all points to interact.
const INITIAL_WIDTH: f64 = 0.1;

/// Initializes the means with the bottom eigenvectors of the Laplacian of the similarities, or randomly if the solver fails.
fn initialize_means(
    pairs: &TrainingPairs,
    wanted: usize,
    means: &mut [f64],
    dim: usize,
    context: &mut Context,
) -> Result<()> {
    let seed = context.seed.stream(START);
    let tolerance = SpectralCoordinates::TOLERANCE;
    let similar = pairs.similarity_weights();
    let alive = similar.values().len() as f64 * 60.0;
    let max_memory = context.memory_left(alive);
    let solver = SpectralCoordinates::new(similar, LaplacianKind::Plain, wanted, tolerance, seed);
    let found = solver.and_then(|solver| {
        let mut solver = solver.with_max_memory(max_memory);
        context.with_progress(|progress| solver.run(progress))?;
        Ok(solver.vectors())
    });
    let scale = INITIAL_WIDTH * (pairs.points() as f64).sqrt();
    let vectors: Vec<f64> = match found {
        Ok(vectors) => vectors.into_iter().map(|v| v * scale).collect(),
        Err(Error::Numerical { reason, .. }) => {
            context.note(Note::SpectralInitFailed { reason });
            seed.normals(pairs.points() * wanted).iter().map(|v| INITIAL_WIDTH * v).collect()
        }
        Err(error) => return Err(error),
    };
    for (mean, vector) in means.chunks_exact_mut(dim).zip(vectors.chunks_exact(wanted)) {
        mean[..wanted].copy_from_slice(vector);
    }
    Ok(())
}

/// Estimates the number of pairs that are considered individually.
fn pair_count(levels: usize, n: f64) -> f64 {
    let exponent = 1.0 + 3f64.powi(-(levels as i32));
    n.powf(exponent) * if levels == 0 { 0.5 } else { 1.5 }
}

/// Returns the induced subgraph of some rows.
fn subgraph(graph: &NeighborGraph, rows: &[usize]) -> Result<NeighborGraph> {
    let (mut indptr, mut indices, mut distances) = (vec![0], Vec::new(), Vec::new());
    for &i in rows {
        let (columns, lengths) = graph.row(i);
        for (&j, &length) in columns.iter().zip(lengths) {
            if let Ok(at) = rows.binary_search(&(j as usize)) {
                indices.push(at as u32);
                distances.push(length);
            }
        }
        indptr.push(indices.len());
    }
    NeighborGraph::new(indptr, indices, distances, rows.len(), graph.metric())
}

/// Merges the embeddings of two disjoint sets of rows.
fn merge_embeddings(
    n: usize,
    rows: &[usize],
    embedding: &Embedding,
    other_rows: &[usize],
    other: &Embedding,
) -> Result<Embedding> {
    let dim = embedding.dim();
    let mut values = vec![0.0; n * dim];
    for (rows, embedding) in [(rows, embedding), (other_rows, other)] {
        for (&i, point) in rows.iter().zip(embedding.values().chunks_exact(dim)) {
            values[i * dim..(i + 1) * dim].copy_from_slice(point);
        }
    }
    Embedding::new(values, dim)
}

#[cfg(test)]
#[path = "lvm_tests.rs"]
mod tests;
