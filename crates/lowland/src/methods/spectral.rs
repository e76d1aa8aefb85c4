//! Laplacian eigenmaps (Belkin & Niyogi 2003): the smoothest functions on the neighbor graph as coordinates.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{at_least_one, check_tolerance, param_enum, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, Step, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Metric, Result};
use lowland_linalg::{Csr, EigenState, LaplacianKind};
use lowland_neighbors::graph::{SpectralCoordinates, Symmetrization, symmetrize};
use lowland_neighbors::{self, NeighborGraph, Search, nearest_to_with};

use super::components::available_components;
use crate::method::{FitInput, FitOutput, Method, TransformOutput, Transformer};
use crate::neighbor_stage::{self, Neighbors, all_equal, connected_lengths, supervised_neighbors};
use crate::target::{Supervision, TargetMetric};

param_enum! {
    /// Weights of the edges.
    pub enum SpectralAffinity ("connectivity or heat") {
        /// One for every neighbor.
        Connectivity = "connectivity",
        /// `exp(-d^2 / (s_i s_j))`, where `s_i` is the distance from `i` to its last neighbor.
        Heat = "heat",
    }
}

params! {
    /// Laplacian eigenmaps.
    pub struct Spectral {
        /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of neighbors of each point, not counting the point itself.
        n_neighbors: usize = 15,
        /// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
        /// Weights of the edges of the neighbor graph.
        affinity: SpectralAffinity = SpectralAffinity::Connectivity,
        /// Maximum number of iterations of the eigensolver.
        max_iter: usize = 300,
        /// Relative residual at which an eigenvector has converged.
        tol: f64 = 1e-4,
        /// Influence of the target on the neighbor graph, if there is one: from 0, none, to 1, no neighbors of other classes.
        target_weight: f64 = 0.5,
        /// Whether the target is a class or a number of each row.
        target_metric: TargetMetric = TargetMetric::Auto,
    }
}

const EIGENVECTORS: &str = "eigenvectors";

impl Method for Spectral {
    const NAME: &'static str = "spectral";
    const CLASS_NAME: &'static str = "SpectralEmbedding";
    const REPORTS_ITERATIONS: bool = true;
    const SUMMARY: &'static str = "Laplacian eigenmaps: the smoothest coordinates on the neighbor graph.";
    const ADVICE: &'static str = "Preserves the large-scale shape of one connected manifold (rolls, curves, trajectories), without local optima. \
        Clusters appear as tight arms; use it for global structure and as an initialization of other methods.";
    type Transformer = SpectralTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("n_neighbors", self.n_neighbors)?;
        at_least_one("max_iter", self.max_iter)?;
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
        // Rough seconds on two cores: exact or approximate search, and about forty block iterations.
        let search = neighbor_stage::seconds(shape);
        let eigen = n * (self.n_neighbors as f64 + 10.0) * (self.n_components as f64 + 4.0) * 9e-8 + 1e-3;
        vec![Stage { name: neighbor_stage::STAGE, weight: search }, Stage { name: EIGENVECTORS, weight: eigen }]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let k = self.n_neighbors.min(shape.rows);
        // Computed in floating point, since the cast saturates where integers would overflow.
        let own = self.eigenvectors_memory(shape.rows, shape.rows as f64 * k as f64);
        lowland_neighbors::search_memory(shape, self.metric, k, self.search).max(own as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        self.n_neighbors.min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<SpectralTransformer>> {
        self.metric.check(input.data)?;
        let Neighbors { graph, exact, wider } = self.neighbors(input, context)?;
        let new_transformer = |embedding: &Embedding, values: Vec<f64>| SpectralTransformer {
            params: self.clone(),
            data: input.data.clone(),
            embedding: embedding.clone(),
            values,
            scales: last_distances(&graph),
        };
        let n = input.data.rows();
        // n points span n - 1 coordinates besides the constant one, equal points none.
        let wanted = if n > 1 && all_equal(input.data, self.metric, &graph, context)? {
            context.note(Note::AllRowsEqual);
            0
        } else {
            available_components(self.n_components, n - 1, "the number of points less one", context)?
        };
        if wanted == 0 {
            let embedding = Embedding::new(vec![0.0; n * self.n_components], self.n_components)?;
            let transformer = new_transformer(&embedding, vec![0.0; self.n_components]);
            return Ok(FitOutput {
                embedding,
                transformer,
                outcome: Outcome::without_iterations(),
                neighbors: wider.or_else(|| exact.then_some(graph)),
            });
        }
        let (stepper, outcome) = context.stage(EIGENVECTORS, |context| {
            let weights = self.weights(input.data, &graph, context)?;
            let seed = context.seed.stream(EIGENVECTORS);
            let solver = SpectralCoordinates::new(&weights, LaplacianKind::Normalized, wanted, self.tol, seed)?
                .with_max_iterations(self.max_iter)
                .with_max_memory(context.memory_left(self.eigenvectors_memory(n, graph.indices().len() as f64)));
            let mut stepper = EigenmapsStepper { solver, dim: self.n_components };
            if stepper.solver.finished() {
                return Ok((stepper, Outcome::without_iterations()));
            }
            let outcome = run(&mut stepper, StopRule { max_iter: self.max_iter, tol: self.tol }, context)?;
            let gave_up = stepper.solver.finished() && !stepper.solver.report().converged;
            Ok((stepper, outcome.exhausted_if(gave_up)))
        })?;
        let report = stepper.solver.report();
        if !report.converged {
            let residual = report.residuals.iter().copied().reduce(f64::max);
            context.note(Note::Approximate { what: "eigenvectors", iterations: Some(report.iterations), residual });
        }
        let embedding = stepper.embedding();
        let mut values = stepper.solver.values();
        values.resize(self.n_components, 0.0);
        let transformer = new_transformer(&embedding, values);
        Ok(FitOutput { embedding, transformer, outcome, neighbors: wider.or_else(|| exact.then_some(graph)) })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<SpectralTransformer> {
        let data = Data::load("training", archive)?;
        let transformer = SpectralTransformer {
            params: self.clone(),
            embedding: Embedding::load("embedding", archive)?,
            values: archive.finite("spectral/values")?.to_vec(),
            scales: archive.finite("spectral/scales")?.to_vec(),
            data,
        };
        self.metric.check(&transformer.data)?;
        let fits = transformer.data.dim() == dim
            && transformer.embedding.rows() == transformer.data.rows()
            && transformer.scales.len() == transformer.data.rows()
            && transformer.values.len() == transformer.embedding.dim();
        if fits { Ok(transformer) } else { Err(archive.invalid("its parts differ in size".into())) }
    }
}

impl Spectral {
    fn supervision(&self) -> Supervision {
        Supervision { weight: self.target_weight, metric: self.target_metric }
    }

    fn neighbors(&self, input: FitInput, context: &mut Context) -> Result<Neighbors> {
        supervised_neighbors(input, self.supervision(), self.n_neighbors, self.metric, self.search, context)
    }

    /// Returns the number of bytes after the neighbor search: the graph, its symmetric weights, and either what they are
    /// made from or the eigensolver.
    fn eigenvectors_memory(&self, rows: usize, edges: f64) -> f64 {
        let solver = SpectralCoordinates::memory(rows, 2.0 * edges, self.n_components);
        edges * (8.0 + 24.0) + rows as f64 * 24.0 + solver.max(edges * 80.0)
    }

    /// Returns `W = (K + K')/2`. Components are joined at their closest pairs of points.
    fn weights(&self, data: &Data, graph: &NeighborGraph, context: &mut Context) -> Result<Csr> {
        let lengths = connected_lengths(data, self.metric, graph, context)?;
        let scales = last_distances(graph);
        symmetrize(&lengths.map(|i, j, d| self.weight(d, scales[i], scales[j])), Symmetrization::Average)
    }

    fn weight(&self, distance: f64, scale: f64, other: f64) -> f64 {
        match self.affinity {
            SpectralAffinity::Connectivity => 1.0,
            // Duplicates have scale 0 and distance 0. The lower limit keeps distant joins in the graph.
            SpectralAffinity::Heat if distance == 0.0 => 1.0,
            SpectralAffinity::Heat => (-(distance / scale) * (distance / other)).exp().max(1e-6),
        }
    }
}

/// Returns the distance of each row to its last neighbor.
fn last_distances(graph: &NeighborGraph) -> Vec<f64> {
    (0..graph.rows()).map(|i| graph.row(i).1.last().map_or(0.0, |&d| f64::from(d))).collect()
}

/// The eigensolver as a stepper.
struct EigenmapsStepper {
    solver: SpectralCoordinates,
    dim: usize,
}

impl Stepper for EigenmapsStepper {
    fn step(&mut self) -> Result<Step> {
        self.solver.step()?;
        let values = self.solver.values();
        let report = self.solver.report();
        let residuals = report.residuals.iter().zip(&values);
        let worst = residuals.map(|(r, value)| r / value.abs().max(f64::MIN_POSITIVE)).fold(0.0, f64::max);
        // Zero ends the loop: the solver has converged by its own criterion or given up.
        let change = if self.solver.finished() { 0.0 } else { worst.max(f64::MIN_POSITIVE) };
        Ok(Step { iteration: report.iterations, objective: values.iter().sum(), change })
    }

    /// `D^-1/2 u`, each coordinate with standard deviation 1.
    fn embedding(&self) -> Embedding {
        let vectors = self.solver.random_walk_vectors();
        let found = self.solver.values().len();
        let n = vectors.len() / found;
        let mut values = vec![0.0; n * self.dim];
        for c in 0..found {
            let column = |i: usize| vectors[i * found + c];
            let mean = (0..n).map(column).sum::<f64>() / n as f64;
            let deviation = ((0..n).map(|i| (column(i) - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
            let scale = if deviation > 0.0 { 1.0 / deviation } else { 1.0 };
            (0..n).for_each(|i| values[i * self.dim + c] = column(i) * scale);
        }
        Embedding::new(values, self.dim).expect("complete rows")
    }

    fn save(&self, archive: &mut Archive) {
        self.solver.save().save("eigen", archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.solver.restore(EigenState::load("eigen", archive)?)
    }
}

/// The training rows, their embedding and the eigenvalues.
pub struct SpectralTransformer {
    params: Spectral,
    data: Data,
    embedding: Embedding,
    values: Vec<f64>,
    scales: Vec<f64>,
}

/// Minimum of `1 - lambda` for the Nyström correction; rougher eigenvectors use the plain average.
const MIN_SMOOTHNESS: f64 = 0.5;

impl Transformer for SpectralTransformer {
    /// The Nyström extension: `(1 - lambda) y = D^-1 W y` holds for the training rows, and the right side is defined for any
    /// row.
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let dim = self.embedding.dim();
        let k = self.params.n_neighbors.min(self.data.rows());
        let graph = nearest_to_with(new, &self.data, k, self.params.metric, progress)?;
        let factors: Vec<f64> = self
            .values
            .iter()
            .map(|value| if 1.0 - value >= MIN_SMOOTHNESS { 1.0 / (1.0 - value) } else { 1.0 })
            .collect();
        let mut coordinates = vec![0.0; new.rows() * dim];
        coordinates.par_chunks_mut(dim).enumerate().for_each(|(i, position)| {
            let (indices, distances) = graph.row(i);
            let scale = distances.last().map_or(0.0, |&d| f64::from(d));
            let mut total = 0.0;
            for (&j, &d) in indices.iter().zip(distances) {
                let weight = self.params.weight(f64::from(d), scale, self.scales[j as usize]);
                total += weight;
                position.iter_mut().zip(self.embedding.row(j as usize)).for_each(|(y, v)| *y += weight * v);
            }
            position.iter_mut().zip(&factors).for_each(|(y, factor)| *y *= factor / total);
        });
        Ok(Embedding::new(coordinates, dim)?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("spectral/values", self.values.as_slice());
        archive.put("spectral/scales", self.scales.as_slice());
    }
}
