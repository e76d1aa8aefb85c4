//! Elastic embedding, symmetric SNE and t-SNE: the shared implementation.

use rayon::prelude::*;

use lowland_algorithms::affinity::{
    AffinityKind, NEIGHBORS_PER_PERPLEXITY, Perplexities, joint_affinities_of_graph, neighbors_for,
};
use lowland_algorithms::anchors::Anchors;
use lowland_algorithms::density::{DensityParams, DensityTerm, LocalRadii, symmetric_lengths};
use lowland_algorithms::neighbor_embedding::{
    DeviceDescent, DeviceObjective, Energy, EnergySchedule, NeighborEmbeddingObjective, PredictedNoise,
};
use lowland_algorithms::objective::{Accuracy, AccuracyController, AnchoredField, Objective};
use lowland_algorithms::optim::{
    Descent, FixedPoint, GradientDescent, GradientDescentParams, Lbfgs, LineSearch, Optimizer, OptimizerKind,
    SpectralDirection,
};
use lowland_algorithms::out_of_sample::{AffinitySettings, TrainingRows};
use lowland_algorithms::similarity_curve::SimilarityCurve;
use lowland_core::message::{Note, ToleranceMiss};
use lowland_core::params::{Auto, at_least_one, check_tolerance, invalid_parameter, param_enum};
use lowland_core::run::{Context, Outcome, Stage, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Result};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, Sampled, new_engine};
use lowland_neighbors::{self, NeighborGraph, Search, distance};

use super::init::{Init, coincide, initial_embedding, initial_memory};
use super::neighbor_embedding_transformer::NeighborEmbeddingTransformer;
use crate::method::{FitInput, FitOutput};
use crate::neighbor_stage::{self, Neighbors, precomputed_graph, supervised_neighbors};
use crate::target::Supervision;

param_enum! {
    /// Weights of the repulsion between pairs of points.
    pub enum RepulsionWeights ("uniform or distances") {
        /// Equal weights for all pairs.
        Uniform = "uniform",
        /// Squared distances in the data; all pairs are stored and summed.
        Distances = "distances",
    }
}

/// The parameters that the three methods share.
pub struct NeighborEmbeddingSettings {
    pub(super) n_components: usize,
    pub(super) perplexity: Perplexities,
    pub(super) metric: Metric,
    pub(super) search: Search,
    pub(super) affinity: AffinityKind,
    pub(super) init: Init,
    pub(super) engine: Engine,
    pub(super) tolerance: f64,
    pub(super) accuracy: Accuracy,
    pub(super) optimizer: OptimizerKind,
    pub(super) learning_rate: Auto<f64>,
    pub(super) max_iter: usize,
    pub(super) tol: f64,
    pub(super) supervision: Supervision,
    pub(super) density: DensityParams,
    pub(super) schedule: EnergySchedule,
    pub(super) repulsion: RepulsionWeights,
    /// The objective; lambda refers to affinities whose rows sum to one.
    pub(super) energy: Energy,
}

/// The result of the iterations.
struct FittedMap {
    embedding: Embedding,
    /// Strength of each point's repulsion for new points.
    repulsion: f64,
    outcome: Outcome,
    radii: Option<LocalRadii>,
}

/// Added to the variance of the radii on the map, as in den-SNE.
pub const DENSITY_SHIFT: f64 = 0.1;

/// The similarity of points on the map for the purpose of local radii: that of t-SNE.
const DENSITY_CURVE: SimilarityCurve = SimilarityCurve { a: 1.0, b: 1.0 };

/// Returns an error if the value is not a positive number.
pub fn check_positive(name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { invalid_parameter(name, &value, "above 0") }
}

/// Returns an error if density cannot be preserved in this way.
pub fn check_density(weight: &'static str, share: &'static str, density: DensityParams) -> Result<()> {
    if !(density.weight >= 0.0 && density.weight.is_finite()) {
        return invalid_parameter(weight, &density.weight, "at least 0");
    }
    if !(density.share > 0.0 && density.share <= 1.0) {
        return invalid_parameter(share, &density.share, "above 0 and at most 1");
    }
    Ok(())
}

const AFFINITIES: &str = "affinities";
const INITIALIZATION: &str = "initialization";
const DESCENT: &str = "descent";

/// Maximum factor of the attraction after early exaggeration; far beyond it all clusters collapse to points.
const MAX_EXAGGERATION: f64 = 1000.0;
/// Minimum learning rate of gradient descent without exaggeration.
const MIN_LEARNING_RATE: f64 = 50.0;
/// Maximum step of gradient descent, so that no point leaves the others far behind.
const MAX_STEP: f64 = 5.0;

impl NeighborEmbeddingSettings {
    pub fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        self.perplexity.check()?;
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return invalid_parameter("tolerance", &self.tolerance, "above 0 and below 1");
        }
        if let Some(rate) = self.learning_rate.value() {
            check_positive("learning_rate", rate)?;
        }
        let EnergySchedule { early_exaggeration, exaggeration, .. } = self.schedule;
        if !(early_exaggeration >= 1.0 && early_exaggeration.is_finite()) {
            return invalid_parameter("early_exaggeration", &early_exaggeration, "at least 1");
        }
        if !(1.0..=MAX_EXAGGERATION).contains(&exaggeration) {
            return invalid_parameter("exaggeration", &exaggeration, format!("from 1 to {MAX_EXAGGERATION}"));
        }
        at_least_one("max_iter", self.max_iter)?;
        if self.repulsion == RepulsionWeights::Distances && !matches!(self.engine, Engine::Auto | Engine::Exact) {
            return invalid_parameter(
                "engine",
                &self.engine,
                "repulsion = distances needs engine = exact, since it is summed pair by pair",
            );
        }
        self.supervision.validate()?;
        check_density("density", "density_frac", self.density)?;
        if self.preserves_density() && self.affinity == AffinityKind::Precomputed {
            return invalid_parameter(
                "density",
                &self.density.weight,
                "0 with precomputed affinities, which have no distances",
            );
        }
        check_tolerance("tol", self.tol)?;
        new_engine(self.engine, self.n_components, self.energy.kernel()).map(|_| ())
    }

    /// Leaves out the first iterations, which are to forget the initial embedding.
    pub fn start_from_map(&mut self) {
        let EnergySchedule { early_iter, .. } = self.schedule;
        self.schedule = EnergySchedule { early_iter: 0, homotopy: 0, ..self.schedule };
        self.max_iter = self.max_iter.saturating_sub(early_iter).max(1);
    }

    pub(super) fn preserves_density(&self) -> bool {
        self.density.weight > 0.0
    }

    pub fn neighbors(&self) -> usize {
        neighbors_for(self.affinity, &self.perplexity)
    }

    pub fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let (n, dim, k) = (shape.rows as f64, shape.dim.max(10) as f64, self.neighbors() as f64);
        // Rough seconds on two cores.
        let search = neighbor_stage::seconds(shape);
        let iteration = n * (k * 3e-9 + 2e-7) + 1e-4;
        vec![
            Stage { name: neighbor_stage::STAGE, weight: search },
            Stage { name: AFFINITIES, weight: n * k * 5e-8 + 1e-3 },
            Stage { name: INITIALIZATION, weight: n * dim * 2e-8 + 1e-3 },
            Stage { name: DESCENT, weight: iteration * self.max_iter as f64 },
        ]
    }

    pub fn memory(&self, shape: DataShape) -> u64 {
        let k = self.neighbors().min(shape.rows);
        let [n, edges, d] = [shape.rows, k, self.n_components].map(|count| count as f64);
        // The graph twice (once for checkpoints), the conditional affinities, and the joint ones with up to twice as many entries, of
        // which the transposed part comes in blocks. Later, a copy of the values while they are reordered.
        let graphs = n * edges * (8.0 + 8.0 + 12.0 + 2.0 * 12.5);
        // Several perplexities need another matrix; the spectral direction needs a matrix and its factor.
        let several = if self.perplexity.values().len() > 1 { n * edges * 24.0 } else { 0.0 };
        let factor = if self.optimizer == OptimizerKind::Sd { n * edges * 2.0 * 60.0 } else { 0.0 };
        // The distances in both directions, and then the pattern of the edges with the radii.
        let (lengths, pattern) =
            if self.preserves_density() { (n * edges * 72.0, n * (edges * 8.0 + 96.0)) } else { (0.0, 0.0) };
        // Blocks of the size of the embedding, and a reordered copy of the points.
        let blocks = n * d * 8.0 * if self.optimizer == OptimizerKind::Lbfgs { 35.0 } else { 12.0 } + n * 32.0;
        let pairs = if self.repulsion == RepulsionWeights::Distances { n * n * 8.0 } else { 0.0 };
        // The graph and the joint affinities remain.
        let joint = n * edges * (8.0 + 2.0 * 12.0);
        let init = joint + initial_memory(self.init, self.n_components, shape, 2.0 * n * edges);
        let sampled = if self.n_components > 3 { Sampled::memory(n, d, 2.0 * n * edges) } else { 0.0 };
        let descent = joint + several + factor + pairs + pattern + sampled;
        lowland_neighbors::search_memory(shape, self.metric, k, self.search)
            .max(((graphs + several + lengths).max(init + pattern).max(descent) + blocks) as u64)
    }

    pub fn fit_with_context(
        &self,
        input: FitInput,
        context: &mut Context,
    ) -> Result<FitOutput<NeighborEmbeddingTransformer>> {
        self.metric.check(input.data)?;
        let n = input.data.rows();
        let Neighbors { graph, exact, wider } = self.graph(input, context)?;
        let perplexity = self.perplexity.limited_to((graph.min_degree() as f64 / NEIGHBORS_PER_PERPLEXITY).max(1.0));
        if perplexity != self.perplexity && self.affinity == AffinityKind::Entropic {
            let (perplexity, neighbors) = (perplexity.max(), graph.min_degree());
            context.note(Note::PerplexityReduced { perplexity, neighbors });
        }
        let energy = match self.energy {
            // Here all affinities sum to one.
            Energy::Elastic { lambda } => Energy::Elastic { lambda: lambda / n as f64 },
            energy => energy,
        };
        let new_transformer = |embedding: &Embedding, repulsion: f64, radii: Option<LocalRadii>| {
            let settings = AffinitySettings { perplexity: perplexity.clone(), ..self.affinity_settings() };
            let training = TrainingRows::new(input.data.clone(), self.metric, settings, self.tolerance);
            NeighborEmbeddingTransformer {
                training,
                embedding: embedding.clone(),
                energy: self.energy,
                repulsion,
                radii,
            }
        };
        if n < 2 {
            let embedding = Embedding::new(vec![0.0; n * self.n_components], self.n_components)?;
            let transformer = new_transformer(&embedding, 0.0, None);
            return Ok(FitOutput {
                embedding,
                transformer,
                outcome: Outcome::without_iterations(),
                neighbors: wider.or_else(|| exact.then_some(graph)),
            });
        }
        let (weights, graph, density) = context.stage(AFFINITIES, |_| {
            let lengths = self.preserves_density().then(|| symmetric_lengths(&graph)).transpose()?;
            let (weights, graph) = joint_affinities_of_graph(graph, self.affinity, &perplexity, exact)?;
            let density = lengths.map(|lengths| DensityTerm::new(&weights, &lengths, DENSITY_CURVE, self.density));
            Ok((weights, graph, density))
        })?;
        let init = context.stage(INITIALIZATION, |context| {
            let init = match self.init {
                Init::Auto if self.metric == Metric::Precomputed => Init::Spectral,
                init => init,
            };
            initial_embedding(input.data, &weights, init, self.n_components, self.init_size(), context)
        })?;
        let FittedMap { embedding, repulsion, outcome, radii } = context.stage(DESCENT, |context| {
            match self.device_objective(weights, energy, &init, input.anchors)? {
                Ok(objective) => self.descend_on_device(objective, init, context),
                Err(weights) => self.descend(input, (weights, density), energy, init, context),
            }
        })?;
        if coincide(embedding.points()) {
            context.note(Note::PointsCoincide);
        }
        if let Some(radii) = &radii {
            context.note(Note::DensityCorrelation { correlation: radii.correlation() });
        }
        let transformer = new_transformer(&embedding, repulsion, radii);
        Ok(FitOutput { embedding, transformer, outcome, neighbors: wider.or(graph) })
    }

    /// Runs the iterations.
    fn descend(
        &self,
        input: FitInput,
        (weights, density): (Csr, Option<DensityTerm>),
        energy: Energy,
        init: Embedding,
        context: &mut Context,
    ) -> Result<FittedMap> {
        let optimizer = self.optimizer(weights.rows());
        let objective = self.objective(input.data, weights, energy)?;
        let objective = match density {
            Some(term) => objective.with_density(term, self.max_iter),
            None => objective,
        };
        let objective = AnchoredField::new(objective, input.anchors.cloned());
        let objective = if self.optimizer == OptimizerKind::Gd { objective.scaled() } else { objective };
        let mut descent = Descent::new(objective, optimizer, init);
        let outcome = run(&mut descent, self.stop_rule(), context)?;
        let embedding = match input.anchors {
            Some(anchors) => anchors.restore(descent.embedding()),
            None => descent.embedding(),
        };
        let objective = descent.objective().field();
        if let Some(error) = objective.controller().measured_error().filter(|error| *error > 0.0) {
            let missed = if error <= self.tolerance {
                None
            } else if objective.is_sampled() {
                Some(ToleranceMiss::Sample)
            } else if objective.controller().is_coarse() {
                Some(ToleranceMiss::ScheduleUnfinished)
            } else {
                Some(ToleranceMiss::EngineLimit)
            };
            let (engine, certified) = (objective.engine_name().to_string(), objective.certified_bound());
            context.note(Note::RepulsionError { engine, error, certified, missed });
            let noise = objective.predicted_noise(embedding.points())?;
            let PredictedNoise {
                mean_curvature, deviation, relative_change, relative_deviation, relative_bound, ..
            } = noise;
            context.note(Note::PredictedNoise {
                mean_curvature,
                deviation,
                relative_change,
                relative_deviation,
                relative_bound,
            });
        }
        if let Some(reason) = objective.unfinished_stage() {
            context.note(Note::ObjectiveModified { reason: reason.to_string() });
        }
        let repulsion = objective.repulsion_strength(embedding.points())?;
        let radii = objective.local_radii(embedding.points());
        Ok(FittedMap { embedding, repulsion, outcome, radii })
    }

    /// Copies the affinities to a graphics card; returns them if there is none in effect, or if it does not support the objective.
    fn device_objective(
        &self,
        weights: Csr,
        energy: Energy,
        init: &Embedding,
        anchors: Option<&Anchors>,
    ) -> Result<std::result::Result<DeviceObjective, Csr>> {
        if anchors.is_some()
            || self.preserves_density()
            || self.repulsion == RepulsionWeights::Distances
            || !matches!(self.engine, Engine::Auto | Engine::Exact)
        {
            return Ok(Err(weights));
        }
        let tolerance = (self.engine != Engine::Exact).then_some(self.tolerance);
        DeviceObjective::new(energy, weights, self.schedule, tolerance, init, self.max_iter)
    }

    /// Runs the iterations on a graphics card. Gradient descent stays there; other optimizers run on the processor.
    fn descend_on_device(
        &self,
        objective: DeviceObjective,
        init: Embedding,
        context: &mut Context,
    ) -> Result<FittedMap> {
        let (n, dim) = (init.rows(), init.dim());
        let (embedding, outcome, repulsion, error, unfinished) = if self.optimizer == OptimizerKind::Gd {
            let mut descent = DeviceDescent::new(objective, self.gradient_descent(n), dim);
            let outcome = run(&mut descent, self.stop_rule(), context)?;
            let embedding = descent.final_embedding()?;
            let objective = descent.objective();
            (
                embedding,
                outcome,
                objective.repulsion_strength()?,
                objective.measured_error(),
                objective.unfinished_stage(),
            )
        } else {
            let mut descent = Descent::new(objective, self.optimizer(n), init);
            let outcome = run(&mut descent, self.stop_rule(), context)?;
            let embedding = descent.embedding();
            let objective = descent.objective();
            objective.evaluate_at(embedding.points())?;
            (
                embedding,
                outcome,
                objective.repulsion_strength()?,
                objective.measured_error(),
                objective.unfinished_stage(),
            )
        };
        let (engine, error) = (error.0.to_string(), error.1);
        if error > 0.0 {
            let missed = (error > self.tolerance).then_some(ToleranceMiss::EngineLimit);
            context.note(Note::RepulsionError { engine, error, certified: None, missed });
        }
        if let Some(reason) = unfinished {
            context.note(Note::ObjectiveModified { reason: reason.to_string() });
        }
        Ok(FittedMap { embedding, repulsion, outcome, radii: None })
    }

    fn stop_rule(&self) -> StopRule {
        StopRule { max_iter: self.max_iter, tol: self.tol }
    }

    /// How the affinities of new rows are computed, with the perplexities of the parameters.
    pub fn affinity_settings(&self) -> AffinitySettings {
        AffinitySettings { affinity: self.affinity, perplexity: self.perplexity.clone(), min_neighbors: 0 }
    }

    /// Returns the neighbor graph. A precomputed graph may have fewer neighbors than a search would return.
    fn graph(&self, input: FitInput, context: &mut Context) -> Result<Neighbors> {
        let wanted = self.neighbors().min(input.data.rows().saturating_sub(1));
        match (self.affinity, input.neighbors) {
            (AffinityKind::Precomputed, None) if context.checkpoint().is_none() => invalid_parameter(
                "affinity",
                &self.affinity,
                "needs a precomputed neighbor graph with the affinities as its values",
            ),
            (AffinityKind::Precomputed, _) if input.target.is_some() => invalid_parameter(
                "affinity",
                &self.affinity,
                "entropic or uniform with a target, which chooses the neighbors by their distances",
            ),
            (AffinityKind::Precomputed, _) => precomputed_graph(input, context),
            (_, Some(graph)) if wanted > 0 && graph.min_degree() == 0 => {
                let isolated = (0..graph.rows()).find(|&i| graph.row(i).0.is_empty()).unwrap_or(0);
                let reason = format!("row {isolated} has no neighbors");
                Err(Error::Format { what: "neighbor graph", reason })
            }
            (_, given) => {
                let wanted = wanted.min(given.map_or(usize::MAX, NeighborGraph::min_degree));
                supervised_neighbors(input, self.supervision, wanted, self.metric, self.search, context)
            }
        }
    }

    fn objective(&self, data: &Data, weights: Csr, energy: Energy) -> Result<NeighborEmbeddingObjective> {
        let engine = new_engine(self.engine, self.n_components, energy.kernel())?;
        let control = AccuracyController::new(self.accuracy, self.tolerance);
        let objective = NeighborEmbeddingObjective::new(energy, weights, engine, control)?
            .with_schedule(self.schedule)
            .with_sampling_period(self.optimizer.sampling_period());
        match self.repulsion {
            RepulsionWeights::Uniform => Ok(objective),
            RepulsionWeights::Distances => objective.with_repulsion_weights(squared_distances(data, self.metric)),
        }
    }

    fn optimizer<F: Objective + 'static>(&self, n: usize) -> Box<dyn Optimizer<F>> {
        // Step lengths can grow again. In the reference implementation they only shrink, and stay short after one bad step.
        let search = LineSearch::new(1.5);
        match self.optimizer {
            OptimizerKind::Gd => Box::new(GradientDescent::new(self.gradient_descent(n))),
            OptimizerKind::Fp => Box::new(FixedPoint::new(search)),
            OptimizerKind::Sd => Box::new(SpectralDirection::new(search)),
            OptimizerKind::Lbfgs => Box::new(Lbfgs::default()),
        }
    }

    pub(super) fn gradient_descent(&self, n: usize) -> GradientDescentParams {
        // Quadratic attraction is unbounded, so gradient descent needs limits; the attraction of t-SNE decays by itself.
        let quadratic = !matches!(self.energy, Energy::StudentSne { .. });
        // The repulsion of the elastic embedding is not normalized: it grows with the number of points while the embedding is small.
        let elastic = matches!(self.energy, Energy::Elastic { .. });
        GradientDescentParams {
            learning_rate: self.learning_rate.value().or(elastic.then_some((n as f64 / 400.0).max(1.0))),
            // The longest stable step is inversely proportional to the attraction, also where this bound applies.
            min_learning_rate: MIN_LEARNING_RATE / self.schedule.exaggeration,
            momentum: 0.8,
            min_gain: if quadratic { 1e-4 } else { 0.01 },
            max_step: MAX_STEP,
            max_relative_step: if quadratic { 0.2 } else { f64::INFINITY },
        }
    }

    /// Size of the initial embedding: small enough to unfold from, and large enough for line searches.
    fn init_size(&self) -> f64 {
        if self.optimizer == OptimizerKind::Gd { 1e-4 } else { 1e-2 }
    }
}

/// Returns the squared distances of all pairs, scaled to mean one.
fn squared_distances(data: &Data, metric: Metric) -> Vec<f64> {
    let n = data.rows();
    let mut squares = vec![0.0; n * n];
    squares.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
        (0..n).filter(|&j| j != i).for_each(|j| row[j] = distance(data, i, data, j, metric));
    });
    // Scaled before they are squared, to avoid overflow.
    let largest = squares.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    squares.iter_mut().for_each(|d| *d = (*d / largest).powi(2));
    let mean = squares.iter().sum::<f64>() / (n * n.saturating_sub(1)).max(1) as f64;
    squares.iter_mut().for_each(|d| *d /= mean.max(f64::MIN_POSITIVE));
    squares
}
