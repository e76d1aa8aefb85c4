//! MAP IT: affinities as t-SNE's, aligned with the map over neighbourhoods.

use lowland_algorithms::affinity::{
    AffinityKind, NEIGHBORS_PER_PERPLEXITY, Perplexities, affinities_from_distances, joint_affinities, neighbors_for,
};
use lowland_algorithms::mapit::{
    CauchySchwarzDivergence, EntropyWeights, MapItCost, MapItField, MapItFittedState, MapItTransform,
    NonNeighborSampling, SimilarityKernel,
};
use lowland_algorithms::optim::{
    Descent, FixedPoint, Lbfgs, LineSearch, MomentumDescent, MomentumDescentParams, Optimizer, OptimizerKind,
    SpectralDirection,
};
use lowland_algorithms::out_of_sample::TrainingRows;
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{Auto, at_least_one, check_tolerance, invalid_parameter, param_enum, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Metric, Result};
use lowland_linalg::Csr;
use lowland_linalg::block::column_means;
use lowland_nbody::{Engine, KernelSum, new_engine};
use lowland_neighbors::graph::edge_lengths;
use lowland_neighbors::{self, Search};

use super::init::{Init, initial_embedding};
use super::neighbor_embedding::positive;
use crate::method::{FitInput, FitOutput, Method, TransformOutput, Transformer};
use crate::neighbor_stage::{self, Neighbors, neighbors};

param_enum! {
    /// How the map is made.
    pub enum MapItVariant ("fast, exact, sampled or objective") {
        /// The released program on the affinities of near neighbours, its pushes by kernel sums: linear time.
        Fast = "fast",
        /// The released program on the affinities of all pairs.
        Exact = "exact",
        /// The released program with a sample of the non-neighbours.
        Sampled = "sampled",
        /// A cost of the paper, minimised.
        Objective = "objective",
    }
}

params! {
    /// MAP IT.
    pub struct MapIt {
        /// Dimensions of the map.
        n_components: usize = 2,
        /// Neighbours that count for the affinities, or several numbers of them whose affinities are averaged.
        perplexity: f64 = 15.0,
        /// Neighbours of each point whose marginals are aligned.
        n_neighbors: usize = 10,
        /// The released program, fast or exact or with samples; or the true objective.
        variant: MapItVariant = MapItVariant::Fast,
        /// SimilarityKernel of points in the map.
        kernel: SimilarityKernel = SimilarityKernel::Student,
        /// Over which pairs the program's entropy weights are summed.
        entropy: EntropyWeights = EntropyWeights::All,
        /// What variant objective minimises.
        cost: MapItCost = MapItCost::Pairs,
        /// How variant objective minimises it.
        optimizer: OptimizerKind = OptimizerKind::Lbfgs,
        /// Non-neighbours drawn for each point by variant sampled, as a multiple of n_neighbors.
        samples: f64 = 3.0,
        /// What each of those counts for; auto: the share that was drawn.
        sample_weight: Auto<f64> = Auto::Auto,
        /// Distance between rows.
        metric: Metric = Metric::Euclidean,
        /// How neighbours are searched.
        search: Search = Search::Auto,
        /// The map the iterations begin with.
        init: Init = Init::Auto,
        /// Which engine sums the pushes.
        engine: Engine = Engine::Auto,
        /// Relative error allowed in the pushes; it is measured, and reported.
        tolerance: f64 = 0.01,
        /// The step; auto: n / 40, which is the released program's 50 at the paper's 2,000 points.
        learning_rate: Auto<f64> = Auto::Auto,
        /// Iterations at the most.
        max_iter: usize = 1000,
        /// Stop when a step moves the map by less than this share of its size.
        tol: f64 = 0.0,
    }
    list perplexity + /// Further perplexities, whose affinities are averaged with those of the first.
        more_perplexities
}

const AFFINITIES: &str = "affinities";
const START: &str = "start";
const DESCENT: &str = "descent";

/// Points of the map for each unit of the learning rate.
const POINTS_PER_RATE: f64 = 40.0;
/// No coordinate moves further in a step: points that shoot off would stretch the map for all.
const LONGEST_STEP: f64 = 5.0;
/// A map this small, beside a kernel of width one, says that every point is like every other.
const TOGETHER: f64 = 1e-2;

impl MapIt {
    fn perplexities(&self) -> Perplexities {
        Perplexities::of(self.perplexity, &self.more_perplexities)
    }

    fn engine(&self) -> Result<Box<dyn KernelSum>> {
        let which = if self.variant == MapItVariant::Exact { Engine::Exact } else { self.engine };
        new_engine(which, self.n_components, self.kernel.squared().0)
    }

    /// The program with pushes by an engine.
    fn summed(&self, weights: &Csr) -> Result<MapItField> {
        let program = MapItField::new(weights, self.n_neighbors, self.kernel, self.engine()?, self.tolerance)?;
        Ok(program.with_entropy(self.entropy))
    }

    fn program(&self, weights: &Csr, context: &Context) -> Result<MapItField> {
        let program = match self.variant {
            MapItVariant::Sampled => {
                let count = (self.samples * self.n_neighbors as f64).round().max(1.0) as usize;
                let sampling =
                    NonNeighborSampling::new(count, self.sample_weight.value(), context.seed.stream("non-neighbours"));
                MapItField::sampled(weights, self.n_neighbors, self.kernel, sampling)?
            }
            MapItVariant::Exact => MapItField::exact(weights, self.n_neighbors, self.kernel)?,
            MapItVariant::Fast | MapItVariant::Objective => return self.summed(weights),
        };
        Ok(program.with_entropy(self.entropy))
    }

    fn momentum(&self, n: usize) -> MomentumDescent {
        let learning_rate = self.learning_rate.value().unwrap_or(n as f64 / POINTS_PER_RATE);
        // The program's own schedule (the paper's text changes after 100 iterations).
        MomentumDescent::new(MomentumDescentParams {
            learning_rate,
            momentum: [0.5, 0.8],
            early_steps: 250,
            max_step: LONGEST_STEP,
        })
    }

    fn optimizer(&self, n: usize) -> Box<dyn Optimizer<CauchySchwarzDivergence>> {
        let search = LineSearch::new(1.5);
        match self.optimizer {
            OptimizerKind::Gd => Box::new(self.momentum(n)),
            OptimizerKind::Fp => Box::new(FixedPoint::new(search)),
            OptimizerKind::Sd => Box::new(SpectralDirection::new(search)),
            OptimizerKind::Lbfgs => Box::new(Lbfgs::default()),
        }
    }

    /// Makes the map, and what new rows are placed by; says what was measured of the engine.
    fn descend(
        &self,
        weights: &Csr,
        start: Embedding,
        context: &mut Context,
    ) -> Result<(Embedding, Outcome, MapItFittedState)> {
        let n = weights.rows();
        let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
        let (embedding, outcome, frozen, measured) = if self.variant == MapItVariant::Objective {
            let (cost, k) = (self.cost, self.n_neighbors);
            let objective =
                CauchySchwarzDivergence::new(cost, weights.clone(), k, self.kernel, self.engine()?, self.tolerance)?;
            let mut descent = Descent::new(objective, self.optimizer(n), start);
            let outcome = run(&mut descent, rule, context)?;
            let map = descent.embedding();
            let frozen = descent.objective().fitted_state(map.points())?;
            (map, outcome, frozen, descent.objective().measured_error())
        } else {
            let mut descent = Descent::new(self.program(weights, context)?, Box::new(self.momentum(n)), start);
            let outcome = run(&mut descent, rule, context)?;
            let map = descent.embedding();
            let frozen = if self.variant == MapItVariant::Sampled {
                // The sums of a sample are not those of the map.
                self.summed(weights)?.fitted_state(map.points())?
            } else {
                descent.objective().fitted_state(map.points())?
            };
            (map, outcome, frozen, descent.objective().measured_error())
        };
        if let Some((engine, error)) = measured {
            let engine = engine.to_string();
            context.note(Note::RepulsionError { engine, error, certified: None, missed: None });
        }
        Ok((embedding, outcome, frozen))
    }

    fn model(
        &self,
        data: &Data,
        map: &Embedding,
        perplexity: Perplexities,
        frozen: MapItFittedState,
    ) -> MapItTransformer {
        MapItTransformer { data: data.clone(), map: map.clone(), settings: self.clone(), perplexity, frozen }
    }
}

impl Method for MapIt {
    const NAME: &'static str = "mapit";
    const CLASS_NAME: &'static str = "MapIt";
    const REPORTS_ITERATIONS: bool = true;
    const SUMMARY: &'static str = "MAP IT: aligns each point's neighbourhood as a whole, not pair by pair";
    const ADVICE: &'static str = "Classes come out denser and further apart than with tsne, at the price of some nearest neighbours. The paper's settings are perplexity 15 and 10 neighbours.";
    type Transformer = MapItTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        self.perplexities().check()?;
        at_least_one("n_neighbors", self.n_neighbors)?;
        positive("samples", self.samples)?;
        for (name, value) in [("sample_weight", self.sample_weight), ("learning_rate", self.learning_rate)] {
            value.value().map_or(Ok(()), |value| positive(name, value))?;
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
        // Seconds on two cores, roughly.
        let search = neighbor_stage::seconds(shape);
        let iteration = n * (k * 3e-9 + 2e-7) + 1e-4;
        vec![
            Stage { name: neighbor_stage::STAGE, weight: search },
            Stage { name: AFFINITIES, weight: n * k * 5e-8 + 1e-3 },
            Stage { name: START, weight: n * dim * 2e-8 + 1e-3 },
            Stage { name: DESCENT, weight: iteration * self.max_iter as f64 },
        ]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let k = self.required_neighbors(shape.rows);
        let [n, edges, d] = [shape.rows, k, self.n_components].map(|count| count as f64);
        // The graph, the rows of affinities, their transpose, the joint ones, and these in two parts or in tiles.
        let graphs = n * edges * (8.0 + 12.0 + 12.0 + 4.0 * 12.0 + 8.0);
        // Blocks of the map's size, the points as edges look them up, and the marginals.
        let blocks = n * d * 8.0 * if self.variant == MapItVariant::Objective { 50.0 } else { 14.0 } + n * 64.0;
        lowland_neighbors::search_memory(shape, self.metric, k, self.search).saturating_add((graphs + blocks) as u64)
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
        let Neighbors { graph, exact } = neighbors(input, wanted, self.metric, self.search, context)?;
        let perplexity =
            self.perplexities().limited_to((graph.min_degree() as f64 / NEIGHBORS_PER_PERPLEXITY).max(1.0));
        if perplexity != self.perplexities() {
            let (perplexity, neighbors) = (perplexity.max(), graph.min_degree());
            context.note(Note::PerplexityReduced { perplexity, neighbors });
        }
        if n < 2 {
            let embedding = Embedding::new(vec![0.0; n * self.n_components], self.n_components)?;
            let frozen = MapItFittedState { marginals: [vec![0.0; n], vec![0.0; n]], entropies: [1.0; 2] };
            let transformer = self.model(input.data, &embedding, perplexity, frozen);
            return Ok(FitOutput {
                embedding,
                transformer,
                outcome: Outcome::without_iterations(),
                neighbors: exact.then_some(graph),
            });
        }
        let (weights, graph) = context.stage(AFFINITIES, |_| {
            let lengths = edge_lengths(&graph)?;
            let graph = exact.then_some(graph);
            Ok((joint_affinities(affinities_from_distances(lengths, AffinityKind::Entropic, &perplexity)?)?, graph))
        })?;
        let start = context.stage(START, |context| {
            let init = match self.init {
                Init::Auto if self.metric == Metric::Precomputed => Init::Spectral,
                init => init,
            };
            // From the program's tiny random start, a quarter of its iterations go by before anything moves.
            let size = if init == Init::Random { 1e-4 } else { 1.0 };
            initial_embedding(input.data, &weights, init, self.n_components, size, context)
        })?;
        let (embedding, outcome, frozen) = context.stage(DESCENT, |context| self.descend(&weights, start, context))?;
        if spread(&embedding) < TOGETHER {
            context.note(Note::EmbeddingCollapsed { n_neighbors: self.n_neighbors });
        }
        let transformer = self.model(input.data, &embedding, perplexity, frozen);
        Ok(FitOutput { embedding, transformer, outcome, neighbors: graph })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<MapItTransformer> {
        let (data, map) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        self.metric.check(&data)?;
        let &[c1, c2] = archive.finite("placement/entropies")? else {
            return Err(archive.invalid("there are not two entropy weights".into()));
        };
        let marginals = |name| archive.finite(name).map(<[f64]>::to_vec);
        let marginals = [marginals("placement/marginals")?, marginals("placement/map_marginals")?];
        let sizes = [map.rows(), marginals[0].len(), marginals[1].len()];
        if data.dim() != dim || sizes.iter().any(|&size| size != data.rows()) {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        if !(c1 > 0.0 && c2 > 0.0) {
            return Err(archive.invalid("an entropy weight is not positive".into()));
        }
        let frozen = MapItFittedState { marginals, entropies: [c1, c2] };
        Ok(MapItTransformer {
            data,
            map,
            settings: self.clone(),
            perplexity: Perplexities::load(archive, &self.perplexities())?,
            frozen,
        })
    }
}

/// Root mean square distance of the points from their mean.
fn spread(map: &Embedding) -> f64 {
    let (d, values) = (map.dim(), map.values());
    let mean = column_means(values, d);
    let square: f64 = values.chunks_exact(d).flat_map(|row| row.iter().zip(&mean)).map(|(v, m)| (v - m).powi(2)).sum();
    (square / map.rows() as f64).sqrt()
}

/// A fixed map with the rows it is a map of. New rows are placed by what made it: the program's field, or the cost.
pub struct MapItTransformer {
    data: Data,
    map: Embedding,
    settings: MapIt,
    /// As the map was made with.
    perplexity: Perplexities,
    frozen: MapItFittedState,
}

impl Transformer for MapItTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let settings = &self.settings;
        let training = TrainingRows {
            data: &self.data,
            metric: settings.metric,
            affinity: AffinityKind::Entropic,
            perplexity: &self.perplexity,
            min_neighbors: settings.n_neighbors,
        };
        let objective = MapItTransform {
            map: self.map.points(),
            similarity: settings.kernel,
            state: &self.frozen,
            k: settings.n_neighbors,
            cost: (settings.variant == MapItVariant::Objective).then_some(settings.cost),
        };
        Ok(training.transform(new, &objective, progress)?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        self.perplexity.save(archive);
        archive.put("placement/marginals", self.frozen.marginals[0].as_slice());
        archive.put("placement/map_marginals", self.frozen.marginals[1].as_slice());
        archive.put("placement/entropies", self.frozen.entropies.as_slice());
    }
}
