//! UMAP: uniform manifold approximation and projection.

mod stages;

use lowland_algorithms::anchors::Anchors;
use lowland_algorithms::density::{DensityParams, DensityTerm, LocalRadii, ScheduledDensity, symmetric_lengths};
use lowland_algorithms::objective::AnchoredField;
use lowland_algorithms::optim::{Descent, Lbfgs};
use lowland_algorithms::umap::{
    ExpectedLoss, Forces, FuzzyGraphParams, LayoutParams, SampledLayout, SimilarityCurve, fuzzy_graph,
};
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{Auto, at_least_one, invalid_parameter, param_enum, params};
use lowland_core::run::{Context, Outcome, Stage, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Result, Seed};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, Kernel, new_engine};
use lowland_neighbors::graph::edge_lengths;
use lowland_neighbors::{self, IndexedRows, NeighborGraph, Search};

use super::init::{Init, initial_embedding, initial_memory, joined_components};
use super::neighbor_embedding::{check_density, check_positive};
use super::neighbor_embedding_transformer::load_radii;
use super::umap_transformer::UmapTransformer;
use crate::method::{FitInput, FitOutput, Method};
use crate::neighbor_stage::{self, Neighbors, precomputed_graph, supervised_neighbors};
use crate::target::{Supervision, TargetMetric};

pub use stages::Memberships;

param_enum! {
    /// Where the memberships of UMAP come from.
    pub enum Affinity ("fuzzy or precomputed") {
        /// The distances to the nearest neighbors.
        Fuzzy = "fuzzy",
        /// They are the values of the given neighbor graph.
        Precomputed = "precomputed",
    }
}

param_enum! {
    /// How UMAP lays out its graph.
    pub enum LayoutOptimizer ("sampled or full") {
        /// Stochastic gradient descent: every attraction comes with repelling points that are drawn at random.
        Sampled = "sampled",
        /// L-BFGS on the expected loss of the former, whose repulsion is summed over all pairs.
        Full = "full",
    }
}

params! {
    /// UMAP.
    pub struct Umap {
        /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of neighbors of each point, counting the point itself, as in umap-learn.
        n_neighbors: usize = 15,
        /// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
        /// Whether memberships are computed from distances, or are the values of the given neighbor graph (lowland combine).
        affinity: Affinity = Affinity::Fuzzy,
        /// Distance up to which points of the embedding count as equal; smaller values give denser clusters.
        min_dist: f64 = 0.1,
        /// Scale of the embedding; together with min_dist, it determines how clustered the points are.
        spread: f64 = 1.0,
        /// Number of epochs; auto takes 500 for up to 10,000 rows and 200 beyond.
        n_epochs: Auto<usize> = Auto::Auto,
        /// Whether the layout draws repelling points at random, or minimizes the expected loss over all pairs (1 to 3 dimensions).
        optimizer: LayoutOptimizer = LayoutOptimizer::Sampled,
        /// Learning rate of the first epoch; it decreases to zero.
        learning_rate: f64 = 1.0,
        /// Initial embedding: auto or spectral, pca, random.
        init: Init = Init::Auto,
        /// From 1 (a point is a neighbor if either of the two has the other as a neighbor) to 0 (if both have).
        set_op_mix_ratio: f64 = 1.0,
        /// Number of nearest neighbors that every point is fully connected to.
        local_connectivity: f64 = 1.0,
        /// Weight of the repulsion.
        repulsion_strength: f64 = 1.0,
        /// Number of repelling points that are drawn for each attraction.
        negative_sample_rate: usize = 5,
        /// Factor of the similarity curve 1 / (1 + a d^(2b)); auto fits it to min_dist and spread.
        a: Auto<f64> = Auto::Auto,
        /// Half of the exponent of the similarity curve; auto fits it to min_dist and spread.
        b: Auto<f64> = Auto::Auto,
        /// Whether local densities are preserved (densMAP).
        densmap: bool = false,
        /// Weight of the correlation between the local radii of the rows and of their points, with densmap.
        dens_lambda: f64 = 2.0,
        /// Share of the epochs, at the end, in which density is preserved.
        dens_frac: f64 = 0.3,
        /// Added to the variance of the local radii of the points.
        dens_var_shift: f64 = 0.1,
        /// Whether local radii are computed (rad_orig_ and rad_emb_) without densmap, too.
        output_dens: bool = false,
        /// Influence of the target on the neighbor graph, if there is one: from 0, none, to 1, no neighbors of other classes.
        target_weight: f64 = 0.5,
        /// Whether the target is a class or a number of each row.
        target_metric: TargetMetric = TargetMetric::Auto,
    }
}

/// Largest number of dimensions in which close pairs are found in cells.
const MAX_FULL_DIM: usize = 3;
/// The iterations of the full optimizer end when a step changes the embedding by less than this fraction of its size.
const FULL_TOLERANCE: f64 = 1e-5;

const FUZZY_GRAPH: &str = "fuzzy graph";
const INITIALIZATION: &str = "initialization";
const LAYOUT: &str = "layout";

/// Number of rows up to which the layout has more epochs.
const SMALL: usize = 10_000;
/// The initial embedding fills a cube of this size, which the learning rate and the bound of steps are made for.
const INIT_SIZE: f64 = 10.0;

impl Umap {
    fn epochs(&self, rows: usize) -> usize {
        self.n_epochs.value().unwrap_or(if rows <= SMALL { 500 } else { 200 })
    }

    pub(super) fn curve(&self) -> Result<SimilarityCurve> {
        match (self.a, self.b) {
            (Auto::Value(a), Auto::Value(b)) => Ok(SimilarityCurve { a, b }),
            _ => SimilarityCurve::fit(self.min_dist, self.spread),
        }
    }

    fn forces(&self) -> Result<Forces> {
        Ok(Forces::new(self.curve()?, self.repulsion_strength))
    }

    pub(super) fn layout_params(&self, rows: usize, seed: Seed) -> Result<LayoutParams> {
        Ok(LayoutParams {
            forces: self.forces()?,
            epochs: self.epochs(rows),
            learning_rate: self.learning_rate,
            negative_sample_rate: self.negative_sample_rate,
            seed: seed.stream(LAYOUT),
        })
    }
}

impl Method for Umap {
    const NAME: &'static str = "umap";
    const CLASS_NAME: &'static str = "UMAP";
    const REPORTS_ITERATIONS: bool = true;
    const SUPPORTS_ANCHORS: bool = true;
    const HAS_INVERSE: bool = true;
    const SUMMARY: &'static str = "UMAP: attraction along a fuzzy neighbor graph, repulsion by samples.";
    const ADVICE: &'static str = "For those who know umap-learn: the same parameters and graph, with results that do not depend on the number of threads. \
        Compact clusters in the plane, and useful coordinates in 5 to 50 dimensions; tsne keeps more neighbors in the plane.";
    type Transformer = UmapTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        if self.n_neighbors < 2 {
            return invalid_parameter(
                "n_neighbors",
                &self.n_neighbors,
                "at least 2, since a point counts as its own neighbor",
            );
        }
        check_positive("spread", self.spread)?;
        if !(self.min_dist >= 0.0 && self.min_dist <= self.spread) {
            return invalid_parameter("min_dist", &self.min_dist, format!("from 0 to spread ({})", self.spread));
        }
        self.n_epochs.value().map_or(Ok(()), |epochs| at_least_one("n_epochs", epochs))?;
        check_positive("learning_rate", self.learning_rate)?;
        if !(0.0..=1.0).contains(&self.set_op_mix_ratio) {
            return invalid_parameter("set_op_mix_ratio", &self.set_op_mix_ratio, "from 0 to 1");
        }
        if !(self.local_connectivity >= 0.0 && self.local_connectivity.is_finite()) {
            return invalid_parameter("local_connectivity", &self.local_connectivity, "at least 0");
        }
        if !(self.repulsion_strength >= 0.0 && self.repulsion_strength.is_finite()) {
            return invalid_parameter("repulsion_strength", &self.repulsion_strength, "at least 0");
        }
        for (name, other, value) in [("a", self.b, self.a), ("b", self.a, self.b)] {
            match value {
                Auto::Value(value) => check_positive(name, value)?,
                Auto::Auto if other != Auto::Auto => {
                    return invalid_parameter(
                        name,
                        &Auto::<f64>::Auto,
                        "a number, since the other of a and b is given",
                    );
                }
                Auto::Auto => {}
            }
        }
        if self.optimizer == LayoutOptimizer::Full && self.n_components > MAX_FULL_DIM {
            let allowed = format!("sampled for more than {MAX_FULL_DIM} dimensions");
            return invalid_parameter("optimizer", &self.optimizer, allowed);
        }
        self.supervision().validate()?;
        check_density("dens_lambda", "dens_frac", self.density())?;
        if !(self.dens_var_shift >= 0.0 && self.dens_var_shift.is_finite()) {
            return invalid_parameter("dens_var_shift", &self.dens_var_shift, "at least 0");
        }
        self.forces().map(|_| ())
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let (n, k, d) = (shape.rows as f64, self.n_neighbors as f64, self.n_components as f64);
        // Rough seconds on two cores.
        vec![
            Stage { name: neighbor_stage::STAGE, weight: neighbor_stage::seconds(shape) },
            Stage { name: FUZZY_GRAPH, weight: n * k * 1e-6 + 1e-3 },
            Stage { name: INITIALIZATION, weight: n * k * (d + 4.0) * 3e-7 + 1e-3 },
            Stage { name: LAYOUT, weight: n * k * (d + 4.0) * 5e-9 * self.epochs(shape.rows) as f64 + 1e-3 },
        ]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let k = self.required_neighbors(shape.rows);
        let [n, edges, d] = [shape.rows, k, self.n_components].map(|count| count as f64);
        // The neighbor graph and the memberships, in both directions and merged, with up to twice as many entries.
        let graphs = n * edges * (8.0 + 8.0 + 2.0 * 12.0 + 2.0 * 12.0) + n * 64.0;
        // The merged graph stays while the layout is initialized, and then the layout's own edges.
        let merged = n * edges * (8.0 + 2.0 * 12.0);
        let init = initial_memory(self.init(), self.n_components, shape, 2.0 * n * edges);
        // The distances in both directions, and then the pattern of the edges with the radii, and two more maps.
        let (lengths, pattern) =
            if self.needs_radii() { (n * edges * 72.0, n * (edges * 8.0 + 96.0 + d * 16.0)) } else { (0.0, 0.0) };
        let layout = pattern
            + match self.optimizer {
                LayoutOptimizer::Sampled => n * edges * 2.0 * 8.0 + n * d * 24.0,
                // The steps of L-BFGS, the field, and the sorted points.
                LayoutOptimizer::Full => n * d * 8.0 * 35.0 + n * 80.0,
            };
        lowland_neighbors::search_memory(shape, self.metric, k, self.search)
            .max(((graphs + lengths).max(merged + (init + pattern).max(layout)) + n * d * 16.0) as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        (self.n_neighbors - 1).min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<UmapTransformer>> {
        self.metric.check(input.data)?;
        let n = input.data.rows();
        if self.n_neighbors > n && self.affinity == Affinity::Fuzzy {
            context.note(Note::NeighborsReduced { requested: self.n_neighbors, used: n, points: n });
        }
        let Neighbors { graph, exact, wider } = self.graph(input, context)?;
        let mean_distance = if self.affinity == Affinity::Fuzzy { mean_distance(&graph) } else { 0.0 };
        let seed = context.seed;
        let new_transformer = |embedding: &Embedding, radii: Option<LocalRadii>| UmapTransformer {
            params: self.clone(),
            rows: IndexedRows::new(input.data.clone(), self.metric, self.n_neighbors),
            embedding: embedding.clone(),
            mean_distance,
            seed,
            radii,
        };
        if n < 2 {
            let embedding = Embedding::new(vec![0.0; n * self.n_components], self.n_components)?;
            let transformer = new_transformer(&embedding, None);
            let outcome = Outcome::without_iterations();
            return Ok(FitOutput {
                embedding,
                transformer,
                outcome,
                neighbors: wider.or_else(|| exact.then_some(graph)),
            });
        }
        let (weights, graph, density) = context.stage(FUZZY_GRAPH, |_| {
            let lengths = self.needs_radii().then(|| symmetric_lengths(&graph)).transpose()?;
            let (local_connectivity, set_op_mix_ratio) = (self.local_connectivity, self.set_op_mix_ratio);
            let params = FuzzyGraphParams { local_connectivity, set_op_mix_ratio };
            let weights = match self.affinity {
                Affinity::Fuzzy => fuzzy_graph(&graph, params)?,
                Affinity::Precomputed => memberships(&graph)?,
            };
            let curve = self.curve()?;
            let density = lengths.map(|lengths| DensityTerm::new(&weights, &lengths, curve, self.density()));
            Ok((weights, wider.or_else(|| exact.then_some(graph)), density))
        })?;
        let init = context.stage(INITIALIZATION, |context| {
            if input.anchors.is_some() {
                return initial_embedding(input.data, &weights, self.init(), self.n_components, 1.0, context);
            }
            let connected = self.connected(input.data, &weights, context)?;
            let weights = connected.as_ref().unwrap_or(&weights);
            fill_cube(initial_embedding(input.data, weights, self.init(), self.n_components, 1.0, context)?)
        })?;
        let (embedding, radii, outcome) = context.stage(LAYOUT, |context| match self.optimizer {
            LayoutOptimizer::Sampled => {
                let params = self.layout_params(n, seed)?;
                let mut layout = SampledLayout::new(&weights, &init, params, input.anchors, density)?;
                drop((weights, init));
                let outcome = run(&mut layout, StopRule { max_iter: self.epochs(n), tol: 0.0 }, context)?;
                let embedding = layout.final_embedding()?;
                let radii = layout.local_radii(&embedding);
                Ok((embedding, radii, outcome))
            }
            LayoutOptimizer::Full => self.minimize(weights, init, input.anchors, density, context),
        })?;
        if let Some(radii) = &radii {
            context.note(Note::DensityCorrelation { correlation: radii.correlation() });
        }
        let transformer = new_transformer(&embedding, radii);
        Ok(FitOutput { embedding, transformer, outcome, neighbors: graph })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<UmapTransformer> {
        let rows = IndexedRows::load("training", archive, self.metric, &|_| self.n_neighbors)?;
        let embedding = Embedding::load("embedding", archive)?;
        self.metric.check(rows.data())?;
        let &[mean_distance] = archive.finite("placement/mean_distance")? else {
            return Err(archive.invalid("it does not have exactly one mean distance".into()));
        };
        let seed = archive.number("placement/seed")?;
        if rows.data().dim() != dim || embedding.rows() != rows.data().rows() {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        let radii = load_radii(archive, embedding.rows(), self.needs_radii())?;
        Ok(UmapTransformer { params: self.clone(), rows, embedding, mean_distance, seed: Seed(seed), radii })
    }
}

impl Umap {
    fn supervision(&self) -> Supervision {
        Supervision { weight: self.target_weight, metric: self.target_metric }
    }

    /// Minimizes the expected loss.
    fn minimize(
        &self,
        weights: Csr,
        init: Embedding,
        anchors: Option<&Anchors>,
        density: Option<DensityTerm>,
        context: &mut Context,
    ) -> Result<(Embedding, Option<LocalRadii>, Outcome)> {
        let (curve, epochs) = (self.curve()?, self.epochs(weights.rows()));
        let engine = new_engine(Engine::Auto, self.n_components, Kernel::Cauchy { power: curve.b })?;
        let repulsion = self.repulsion_strength * self.negative_sample_rate as f64;
        let density = density.map(|term| ScheduledDensity::new(term, epochs));
        let loss = ExpectedLoss::new(weights, curve, repulsion, engine, density)?;
        let mut descent = Descent::new(AnchoredField::new(loss, anchors.cloned()), Box::new(Lbfgs::default()), init);
        let outcome = run(&mut descent, StopRule { max_iter: epochs, tol: FULL_TOLERANCE }, context)?;
        let embedding = match anchors {
            Some(anchors) => anchors.restore(descent.embedding()),
            None => descent.embedding(),
        };
        let radii = descent.objective().field().local_radii(embedding.points());
        Ok((embedding, radii, outcome))
    }

    /// Returns the neighbor graph; the given one as it is if its values are memberships.
    fn graph(&self, input: FitInput, context: &mut Context) -> Result<Neighbors> {
        if self.affinity == Affinity::Fuzzy {
            let wanted = self.required_neighbors(input.data.rows());
            return supervised_neighbors(input, self.supervision(), wanted, self.metric, self.search, context);
        }
        let refuse = |allowed: &str| invalid_parameter("affinity", &self.affinity, allowed);
        if input.neighbors.is_none() && context.checkpoint().is_none() {
            return refuse("needs a neighbor graph with memberships as its values, such as one of combined graphs");
        }
        if input.target.is_some() {
            return refuse("fuzzy with a target, which chooses the neighbors by their distances");
        }
        if self.needs_radii() {
            return refuse("fuzzy with densmap or output_dens, which need distances");
        }
        precomputed_graph(input, context)
    }

    /// How density is preserved; without densmap, radii are only computed.
    fn density(&self) -> DensityParams {
        let weight = if self.densmap { self.dens_lambda } else { 0.0 };
        DensityParams { weight, share: self.dens_frac, shift: self.dens_var_shift }
    }

    fn needs_radii(&self) -> bool {
        self.densmap || self.output_dens
    }

    fn init(&self) -> Init {
        if self.init == Init::Auto { Init::Spectral } else { self.init }
    }

    /// Returns the graph with its components joined, if the initial embedding needs one that is connected.
    fn connected(&self, data: &Data, weights: &Csr, context: &mut Context) -> Result<Option<Csr>> {
        if self.init() != Init::Spectral || context.init().is_some() {
            return Ok(None);
        }
        joined_components(data, self.metric, weights, context)
    }
}

/// Returns the values of a graph, which are memberships, in both directions.
fn memberships(graph: &NeighborGraph) -> Result<Csr> {
    if let Some(value) = graph.distances().iter().find(|value| **value > 1.0) {
        let reason = format!("it has the value {value}; memberships are from 0 to 1");
        return Err(Error::Format { what: "graph of memberships", reason });
    }
    let directed = edge_lengths(graph)?;
    directed
        .merge(&directed.transpose(), |a, b| Some(a.unwrap_or(0.0).max(b.unwrap_or(0.0))).filter(|&value| value > 0.0))
}

/// Returns the mean distance between neighbors, where each row counts itself, at distance zero.
fn mean_distance(graph: &NeighborGraph) -> f64 {
    let sum: f64 = graph.distances().iter().map(|&d| f64::from(d)).sum();
    sum / (graph.distances().len() + graph.rows()).max(1) as f64
}

/// Scales and translates each coordinate to reach from zero to [`INIT_SIZE`].
fn fill_cube(embedding: Embedding) -> Result<Embedding> {
    let d = embedding.dim();
    let mut values = embedding.into_values();
    for c in 0..d {
        let column = || values.iter().skip(c).step_by(d).copied();
        let (low, high) = (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
        let scale = if high > low { INIT_SIZE / (high - low) } else { 0.0 };
        values.iter_mut().skip(c).step_by(d).for_each(|v| *v = (*v - low) * scale);
    }
    Embedding::new(values, d)
}
