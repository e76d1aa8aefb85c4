//! MAP IT: the affinities of t-SNE, aligned with the embedding over neighborhoods.

use lowland_algorithms::affinity::{
    AffinityKind, NEIGHBORS_PER_PERPLEXITY, Perplexities, joint_affinities_of_graph, neighbors_for,
};
use lowland_algorithms::anchors::Anchors;
use lowland_algorithms::mapit::{
    CauchySchwarzDivergence, DeviceMapIt, EntropyWeights, MapItCost, MapItField, MapItFittedState, NonNeighborSampling,
    SimilarityKernel,
};
use lowland_algorithms::objective::AnchoredField;
use lowland_algorithms::optim::{
    Descent, FixedPoint, Lbfgs, LineSearch, MomentumDescent, MomentumDescentParams, Optimizer, OptimizerKind,
    SpectralDirection,
};
use lowland_algorithms::out_of_sample::{AffinitySettings, TrainingRows};
use lowland_core::archive::Archive;
use lowland_core::message::{Note, ToleranceMiss};
use lowland_core::params::{Auto, at_least_one, check_tolerance, invalid_parameter, param_enum, params};
use lowland_core::run::{Context, Outcome, Stage, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Metric, Result};
use lowland_linalg::Csr;
use lowland_linalg::block::column_means;
use lowland_nbody::{Engine, KernelSum, Sampled, new_engine};
use lowland_neighbors::{self, Search};

use super::init::{Init, initial_embedding, initial_memory};
use super::mapit_transformer::MapItTransformer;
use super::neighbor_embedding::check_positive;
use crate::method::{FitInput, FitOutput, Method};
use crate::neighbor_stage::{self, Neighbors, supervised_neighbors};
use crate::target::{Supervision, TargetMetric};

param_enum! {
    /// Variant of the algorithm.
    pub enum MapItVariant ("fast, exact, sampled or objective") {
        /// The authors' program on the affinities of nearest neighbors, with repulsion by kernel sums: linear time.
        Fast = "fast",
        /// The authors' program on the affinities of all pairs.
        Exact = "exact",
        /// The authors' program with a sample of the non-neighbors.
        Sampled = "sampled",
        /// Minimization of a cost function of the paper.
        Objective = "objective",
    }
}

params! {
    /// MAP IT.
    pub struct MapIt {
        /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Effective number of neighbors of the affinities, or several numbers whose affinities are averaged.
        perplexity: f64 = 15.0,
        /// Number of neighbors of each point whose marginals are aligned.
        n_neighbors: usize = 10,
        /// Number of steps along neighborhoods within which marginals are aligned; 2 adds the neighbors of neighbors.
        reach: usize = 1,
        /// Variant: the authors' program (fast, exact or sampled), or minimization of an objective.
        variant: MapItVariant = MapItVariant::Fast,
        /// Similarity kernel of points in the embedding.
        kernel: SimilarityKernel = SimilarityKernel::Student,
        /// Pairs over which the entropy weights are summed.
        entropy: EntropyWeights = EntropyWeights::All,
        /// Cost function that variant objective minimizes.
        cost: MapItCost = MapItCost::Pairs,
        /// Optimizer of variant objective.
        optimizer: OptimizerKind = OptimizerKind::Lbfgs,
        /// Number of non-neighbors drawn per point by variant sampled, as a multiple of n_neighbors.
        samples: f64 = 3.0,
        /// Weight of each sampled non-neighbor; auto uses the fraction that was drawn.
        sample_weight: Auto<f64> = Auto::Auto,
        /// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
        /// Initial embedding.
        init: Init = Init::Auto,
        /// Engine that computes the repulsion.
        engine: Engine = Engine::Auto,
        /// Relative error allowed in the repulsion; it is measured and reported. No effect on engine sampled.
        tolerance: f64 = 0.01,
        /// Learning rate; auto uses n / 40, which is 50 for 2,000 points as in the paper.
        learning_rate: Auto<f64> = Auto::Auto,
        /// Maximum number of iterations.
        max_iter: usize = 1000,
        /// Stop when a step changes the embedding by less than this fraction of its size.
        tol: f64 = 0.0,
        /// Influence of the target on the neighbor graph, if there is one: from 0, none, to 1, no neighbors of other classes.
        target_weight: f64 = 0.5,
        /// Whether the target is a class or a number of each row.
        target_metric: TargetMetric = TargetMetric::Auto,
    }
    list perplexity + /// Further perplexities, whose affinities are averaged with those of the first one.
        more_perplexities
}

const AFFINITIES: &str = "affinities";
const INITIALIZATION: &str = "initialization";
const DESCENT: &str = "descent";

/// Number of points per unit of the learning rate.
const POINTS_PER_RATE: f64 = 40.0;
/// Maximum change of a coordinate in a step. The authors' program has no such limit; with it, a learning rate that is too
/// high for the data leaves an embedding in which points stay in sight of each other.
const MAX_STEP: f64 = 5.0;
/// An embedding with less spread than this has collapsed, since the kernel has width one.
const COLLAPSED_SPREAD: f64 = 1e-2;

impl MapIt {
    pub(super) fn perplexities(&self) -> Perplexities {
        Perplexities::of(self.perplexity, &self.more_perplexities)
    }

    fn engine(&self) -> Result<Box<dyn KernelSum>> {
        let which = if self.variant == MapItVariant::Exact { Engine::Exact } else { self.engine };
        new_engine(which, self.n_components, self.kernel.squared().0)
    }

    /// Returns the vector field with repulsion by an engine.
    fn engine_field(&self, weights: &Csr) -> Result<MapItField> {
        let field = MapItField::new(weights, self.n_neighbors, self.kernel, self.engine()?, self.tolerance)?;
        field.with_entropy(self.entropy).with_reach(weights, self.reach)
    }

    /// Returns the vector field of the variant.
    fn field(&self, weights: &Csr, context: &mut Context) -> Result<MapItField> {
        let field = match self.variant {
            MapItVariant::Sampled => {
                let requested = (self.samples * self.n_neighbors as f64).round().max(1.0);
                let count = requested.min((weights.rows() - 1) as f64) as usize;
                if count as f64 != requested {
                    context.note(Note::SamplesReduced { requested, used: count });
                }
                let sampling =
                    NonNeighborSampling::new(count, self.sample_weight.value(), context.seed.stream("non-neighbours"));
                MapItField::sampled(weights, self.n_neighbors, self.kernel, sampling)?
            }
            MapItVariant::Exact => MapItField::exact(weights, self.n_neighbors, self.kernel)?,
            MapItVariant::Fast | MapItVariant::Objective => return self.engine_field(weights),
        };
        field.with_entropy(self.entropy).with_reach(weights, self.reach)
    }

    pub(super) fn momentum(&self, n: usize) -> MomentumDescentParams {
        let learning_rate = self.learning_rate.value().unwrap_or(n as f64 / POINTS_PER_RATE);
        // The schedule of the authors' program (the paper changes the momentum after 100 iterations).
        MomentumDescentParams { learning_rate, momentum: [0.5, 0.8], early_steps: 250, max_step: MAX_STEP }
    }

    fn optimizer(&self, n: usize) -> Box<dyn Optimizer<AnchoredField<CauchySchwarzDivergence>>> {
        let search = LineSearch::new(1.5);
        match self.optimizer {
            OptimizerKind::Gd => Box::new(MomentumDescent::new(self.momentum(n))),
            OptimizerKind::Fp => Box::new(FixedPoint::new(search)),
            OptimizerKind::Sd => Box::new(SpectralDirection::new(search)),
            OptimizerKind::Lbfgs => Box::new(Lbfgs::default()),
        }
    }

    /// Computes the embedding and the state for new rows, and notes the measured error of the engine.
    fn descend(
        &self,
        weights: &Csr,
        init: Embedding,
        anchors: Option<&Anchors>,
        context: &mut Context,
    ) -> Result<(Embedding, Outcome, MapItFittedState)> {
        let final_map = |map: Embedding| if let Some(anchors) = anchors { anchors.restore(map) } else { map };
        let n = weights.rows();
        let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
        let (embedding, outcome, state, measured_error, sampled) = if self.variant == MapItVariant::Objective {
            let (cost, k) = (self.cost, self.n_neighbors);
            let objective =
                CauchySchwarzDivergence::new(cost, weights.clone(), k, self.kernel, self.engine()?, self.tolerance)?
                    .with_sampling_period(self.optimizer.sampling_period());
            let objective = AnchoredField::new(objective, anchors.cloned());
            let objective = if self.optimizer == OptimizerKind::Gd { objective.scaled() } else { objective };
            let mut descent = Descent::new(objective, self.optimizer(n), init);
            let outcome = run(&mut descent, rule, context)?;
            let embedding = final_map(descent.embedding());
            let objective = descent.objective().field();
            let state = objective.fitted_state(embedding.points())?;
            (embedding, outcome, state, objective.measured_error(), objective.is_sampled())
        } else if let Some(mut descent) = self.device_descent(weights, &init, anchors)? {
            let outcome = run(&mut descent, rule, context)?;
            let embedding = descent.final_embedding()?;
            // The state for new rows is computed once, on the processor.
            let state = self.engine_field(weights)?.fitted_state(embedding.points())?;
            let (engine, error) = descent.measured_error();
            (embedding, outcome, state, (error > 0.0).then_some((engine, error)), false)
        } else {
            let optimizer = Box::new(MomentumDescent::new(self.momentum(n)));
            let field = AnchoredField::new(self.field(weights, context)?, anchors.cloned()).scaled();
            let mut descent = Descent::new(field, optimizer, init);
            let outcome = run(&mut descent, rule, context)?;
            let embedding = final_map(descent.embedding());
            let state = if self.variant == MapItVariant::Sampled {
                // The state needs the sums over all points, not over a sample.
                self.engine_field(weights)?.fitted_state(embedding.points())?
            } else {
                descent.objective().field().fitted_state(embedding.points())?
            };
            let field = descent.objective().field();
            (embedding, outcome, state, field.measured_error(), field.is_sampled())
        };
        if let Some((engine, error)) = measured_error {
            let (engine, cause) =
                (engine.to_string(), if sampled { ToleranceMiss::Sample } else { ToleranceMiss::EngineLimit });
            let missed = (error > self.tolerance).then_some(cause);
            context.note(Note::RepulsionError { engine, error, certified: None, missed });
        }
        Ok((embedding, outcome, state))
    }

    fn supervision(&self) -> Supervision {
        Supervision { weight: self.target_weight, metric: self.target_metric }
    }

    /// Copies affinities and map to a graphics card; `None` if there is none in effect, or if it does not support the variant.
    fn device_descent(
        &self,
        weights: &Csr,
        init: &Embedding,
        anchors: Option<&Anchors>,
    ) -> Result<Option<DeviceMapIt>> {
        let engine = matches!(self.engine, Engine::Auto | Engine::Exact);
        let supported = self.variant == MapItVariant::Fast && self.entropy == EntropyWeights::All && self.reach <= 1;
        if !(engine && supported) || anchors.is_some() {
            return Ok(None);
        }
        let tolerance = (self.engine != Engine::Exact).then_some(self.tolerance);
        let (k, params) = (self.n_neighbors, self.momentum(weights.rows()));
        DeviceMapIt::new(weights, k, self.kernel, tolerance, params, init, self.max_iter)
    }

    fn transformer(
        &self,
        data: &Data,
        embedding: &Embedding,
        perplexity: Perplexities,
        state: MapItFittedState,
    ) -> MapItTransformer {
        let training = TrainingRows::new(data.clone(), self.metric, self.affinity_settings(perplexity), self.tolerance);
        MapItTransformer { training, embedding: embedding.clone(), params: self.clone(), state }
    }

    /// How the affinities of new rows are computed.
    fn affinity_settings(&self, perplexity: Perplexities) -> AffinitySettings {
        AffinitySettings { affinity: AffinityKind::Entropic, perplexity, min_neighbors: self.n_neighbors }
    }
}

impl Method for MapIt {
    const NAME: &'static str = "mapit";
    const CLASS_NAME: &'static str = "MapIt";
    const REPORTS_ITERATIONS: bool = true;
    const SUPPORTS_ANCHORS: bool = true;
    const SUMMARY: &'static str = "MAP IT: aligns the neighborhoods of points as a whole instead of pair by pair.";
    const ADVICE: &'static str = "Classes are denser and further apart than with tsne, at the cost of some nearest neighbors. The paper uses perplexity 15 and 10 neighbors.";
    type Transformer = MapItTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        self.perplexities().check()?;
        at_least_one("n_neighbors", self.n_neighbors)?;
        at_least_one("reach", self.reach)?;
        if self.reach > 1 && self.variant == MapItVariant::Objective {
            return invalid_parameter(
                "reach",
                &self.reach,
                "1 with variant objective, whose costs have no farther pairs",
            );
        }
        self.supervision().validate()?;
        check_positive("samples", self.samples)?;
        for (name, value) in [("sample_weight", self.sample_weight), ("learning_rate", self.learning_rate)] {
            value.value().map_or(Ok(()), |value| check_positive(name, value))?;
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return invalid_parameter("tolerance", &self.tolerance, "above 0 and below 1");
        }
        at_least_one("max_iter", self.max_iter)?;
        check_tolerance("tol", self.tol)?;
        self.engine().map(|_| ())
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let (n, dim, k) = (shape.rows as f64, shape.dim.max(10) as f64, self.required_neighbors(shape.rows) as f64);
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

    fn memory(&self, shape: DataShape) -> u64 {
        let k = self.required_neighbors(shape.rows);
        let [n, edges, d] = [shape.rows, k, self.n_components].map(|count| count as f64);
        // The graph, the conditional affinities and their transpose, and the joint affinities, also in two parts or in tiles.
        let graphs = n * edges * (8.0 + 12.0 + 12.0 + 4.0 * 12.0 + 8.0);
        // The pairs within reach, while they are collected, and once more when points are reordered.
        let steps = i32::try_from(self.reach).unwrap_or(i32::MAX);
        let reached = if steps > 1 { n * (2.0 * self.n_neighbors as f64).powi(steps).min(n) * 28.0 } else { 0.0 };
        // Blocks of the size of the embedding, a reordered copy of the points, and the marginals.
        let blocks = n * d * 8.0 * if self.variant == MapItVariant::Objective { 50.0 } else { 14.0 } + n * 64.0;
        let sampled = if self.n_components > 3 { Sampled::memory(n, d, 2.0 * n * edges) } else { 0.0 };
        let init = n * edges * 32.0 + initial_memory(self.init, self.n_components, shape, 2.0 * n * edges);
        lowland_neighbors::search_memory(shape, self.metric, k, self.search)
            .max(((graphs + reached).max(init) + blocks + sampled) as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        let others = rows.saturating_sub(1);
        let wanted = neighbors_for(AffinityKind::Entropic, &self.perplexities()).max(self.n_neighbors);
        if self.variant == MapItVariant::Exact { others } else { wanted.min(others) }
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<MapItTransformer>> {
        self.metric.check(input.data)?;
        let n = input.data.rows();
        let wanted = input.neighbors.map_or(usize::MAX, |graph| graph.min_degree()).min(self.required_neighbors(n));
        let Neighbors { graph, exact, wider } =
            supervised_neighbors(input, self.supervision(), wanted, self.metric, self.search, context)?;
        let perplexity =
            self.perplexities().limited_to((graph.min_degree() as f64 / NEIGHBORS_PER_PERPLEXITY).max(1.0));
        if perplexity != self.perplexities() {
            let (perplexity, neighbors) = (perplexity.max(), graph.min_degree());
            context.note(Note::PerplexityReduced { perplexity, neighbors });
        }
        if n < 2 {
            let embedding = Embedding::new(vec![0.0; n * self.n_components], self.n_components)?;
            let state =
                MapItFittedState { marginals: [vec![0.0; n], vec![0.0; n]], entropies: [1.0; 2], neighborhoods: None };
            let transformer = self.transformer(input.data, &embedding, perplexity, state);
            return Ok(FitOutput {
                embedding,
                transformer,
                outcome: Outcome::without_iterations(),
                neighbors: wider.or_else(|| exact.then_some(graph)),
            });
        }
        let (weights, graph) = context
            .stage(AFFINITIES, |_| joint_affinities_of_graph(graph, AffinityKind::Entropic, &perplexity, exact))?;
        let init = context.stage(INITIALIZATION, |context| {
            let init = match self.init {
                Init::Auto if self.metric == Metric::Precomputed => Init::Spectral,
                init => init,
            };
            // From the tiny random start of the authors' program, points hardly move for a quarter of the iterations.
            let size = if init == Init::Random { 1e-4 } else { 1.0 };
            initial_embedding(input.data, &weights, init, self.n_components, size, context)
        })?;
        let (embedding, outcome, state) =
            context.stage(DESCENT, |context| self.descend(&weights, init, input.anchors, context))?;
        if spread(&embedding) < COLLAPSED_SPREAD {
            context.note(Note::EmbeddingCollapsed { n_neighbors: self.n_neighbors });
        }
        let transformer = self.transformer(input.data, &embedding, perplexity, state);
        Ok(FitOutput { embedding, transformer, outcome, neighbors: wider.or(graph) })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<MapItTransformer> {
        let embedding = Embedding::load("embedding", archive)?;
        let settings = self.affinity_settings(self.perplexities());
        let training = TrainingRows::load(archive, self.metric, settings, self.tolerance)?;
        let data = training.data();
        self.metric.check(data)?;
        let &[c1, c2] = archive.finite("placement/entropies")? else {
            return Err(archive.invalid("it does not have two entropy weights".into()));
        };
        let marginals = |name| archive.finite(name).map(<[f64]>::to_vec);
        let marginals = [marginals("placement/marginals")?, marginals("placement/map_marginals")?];
        let sizes = [embedding.rows(), marginals[0].len(), marginals[1].len()];
        if data.dim() != dim || sizes.iter().any(|&size| size != data.rows()) {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        if !(c1 > 0.0 && c2 > 0.0) {
            return Err(archive.invalid("an entropy weight is not positive".into()));
        }
        let neighborhoods = match self.reach {
            1 => None,
            _ => MapItTransformer::load_neighborhoods(archive, data.rows())?,
        };
        let state = MapItFittedState { marginals, entropies: [c1, c2], neighborhoods };
        Ok(MapItTransformer { training, embedding, params: self.clone(), state })
    }
}

/// Returns the root mean square distance of the points from their mean.
fn spread(embedding: &Embedding) -> f64 {
    let (d, values) = (embedding.dim(), embedding.values());
    let mean = column_means(values, d);
    let square: f64 = values.chunks_exact(d).flat_map(|row| row.iter().zip(&mean)).map(|(v, m)| (v - m).powi(2)).sum();
    (square / embedding.rows() as f64).sqrt()
}
