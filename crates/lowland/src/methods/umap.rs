//! UMAP: uniform manifold approximation and projection.

use lowland_algorithms::umap::{
    Forces, FuzzyGraphParams, LayoutParams, SampledLayout, SimilarityCurve, UmapTransform, fuzzy_graph,
};
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{Auto, at_least_one, invalid_parameter, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, Stepper, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Metric, Result, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{ConnectedComponents, Edge, add_edges, join_components_with};
use lowland_neighbors::{self, NeighborGraph, Search, nearest_to_with};

use super::init::{Init, initial_embedding, initial_memory};
use super::neighbor_embedding::check_positive;
use crate::method::{FitInput, FitOutput, Method, TransformOutput, Transformer};
use crate::neighbor_stage::{self, Neighbors, neighbors};

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
        /// Distance up to which points of the embedding count as equal; smaller values give denser clusters.
        min_dist: f64 = 0.1,
        /// Scale of the embedding; together with min_dist, it determines how clustered the points are.
        spread: f64 = 1.0,
        /// Number of epochs; auto takes 500 for up to 10,000 rows and 200 beyond.
        n_epochs: Auto<usize> = Auto::Auto,
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
    }
}

const FUZZY_GRAPH: &str = "fuzzy graph";
const INITIALIZATION: &str = "initialization";
const LAYOUT: &str = "layout";

/// Number of rows up to which the layout has more epochs.
const SMALL: usize = 10_000;
/// Number of epochs for new rows. Their number of rows does not matter: each is placed on its own.
const TRANSFORM_EPOCHS: usize = 100;
/// New rows start close to their place.
const TRANSFORM_RATE: f64 = 0.25;
/// Weight of the edges that join the components of the graph for the initial embedding; the layout does without them.
const JOIN_WEIGHT: f64 = 0.01;
/// The initial embedding fills a cube of this size, which the learning rate and the bound of steps are made for.
const INIT_SIZE: f64 = 10.0;

impl Umap {
    fn epochs(&self, rows: usize) -> usize {
        self.n_epochs.value().unwrap_or(if rows <= SMALL { 500 } else { 200 })
    }

    fn forces(&self) -> Result<Forces> {
        let curve = match (self.a, self.b) {
            (Auto::Value(a), Auto::Value(b)) => SimilarityCurve { a, b },
            _ => SimilarityCurve::fit(self.min_dist, self.spread)?,
        };
        Ok(Forces::new(curve, self.repulsion_strength))
    }

    fn layout_params(&self, rows: usize, seed: Seed) -> Result<LayoutParams> {
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
        let layout = n * edges * 2.0 * 8.0 + n * d * 24.0;
        lowland_neighbors::search_memory(shape, self.metric, k, self.search)
            .max((graphs.max(merged + init.max(layout)) + n * d * 16.0) as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        (self.n_neighbors - 1).min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<UmapTransformer>> {
        self.metric.check(input.data)?;
        let n = input.data.rows();
        if self.n_neighbors > n {
            context.note(Note::NeighborsReduced { requested: self.n_neighbors, used: n, points: n });
        }
        let wanted = self.required_neighbors(n);
        let Neighbors { graph, exact } = neighbors(input, wanted, self.metric, self.search, context)?;
        let mean_distance = mean_distance(&graph);
        let seed = context.seed;
        let new_transformer = |embedding: &Embedding| UmapTransformer {
            params: self.clone(),
            data: input.data.clone(),
            embedding: embedding.clone(),
            mean_distance,
            seed,
        };
        if n < 2 {
            let embedding = Embedding::new(vec![0.0; n * self.n_components], self.n_components)?;
            let transformer = new_transformer(&embedding);
            let outcome = Outcome::without_iterations();
            return Ok(FitOutput { embedding, transformer, outcome, neighbors: exact.then_some(graph) });
        }
        let (weights, graph) = context.stage(FUZZY_GRAPH, |_| {
            let (local_connectivity, set_op_mix_ratio) = (self.local_connectivity, self.set_op_mix_ratio);
            let weights = fuzzy_graph(&graph, FuzzyGraphParams { local_connectivity, set_op_mix_ratio })?;
            Ok((weights, exact.then_some(graph)))
        })?;
        let init = context.stage(INITIALIZATION, |context| {
            let connected = self.connected(input.data, &weights, context)?;
            let weights = connected.as_ref().unwrap_or(&weights);
            fill_cube(initial_embedding(input.data, weights, self.init(), self.n_components, 1.0, context)?)
        })?;
        let (layout, outcome) = context.stage(LAYOUT, |context| {
            let mut layout = SampledLayout::new(&weights, &init, self.layout_params(n, seed)?);
            drop((weights, init));
            let outcome = run(&mut layout, StopRule { max_iter: self.epochs(n), tol: 0.0 }, context)?;
            Ok((layout, outcome))
        })?;
        let embedding = layout.embedding();
        let transformer = new_transformer(&embedding);
        Ok(FitOutput { embedding, transformer, outcome, neighbors: graph })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<UmapTransformer> {
        let (data, embedding) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        self.metric.check(&data)?;
        let &[mean_distance] = archive.finite("placement/mean_distance")? else {
            return Err(archive.invalid("it does not have exactly one mean distance".into()));
        };
        let seed = archive.number("placement/seed")?;
        if data.dim() != dim || embedding.rows() != data.rows() {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        Ok(UmapTransformer { params: self.clone(), data, embedding, mean_distance, seed: Seed(seed) })
    }
}

impl Umap {
    fn init(&self) -> Init {
        if self.init == Init::Auto { Init::Spectral } else { self.init }
    }

    /// Returns the graph with its components joined, if the initial embedding needs one that is connected.
    fn connected(&self, data: &Data, weights: &Csr, context: &mut Context) -> Result<Option<Csr>> {
        if self.init() != Init::Spectral || context.init().is_some() {
            return Ok(None);
        }
        let components = ConnectedComponents::from_matrix(weights);
        if components.count() < 2 {
            return Ok(None);
        }
        let joins = context.with_progress(|progress| join_components_with(data, self.metric, &components, progress))?;
        context.note(Note::ComponentsJoined { components: components.count() });
        let joins: Vec<Edge> = joins.into_iter().map(|join| Edge { length: JOIN_WEIGHT, ..join }).collect();
        add_edges(weights, &joins).map(Some)
    }
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

/// The training rows with their embedding.
pub struct UmapTransformer {
    params: Umap,
    data: Data,
    embedding: Embedding,
    mean_distance: f64,
    seed: Seed,
}

impl Transformer for UmapTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let k = self.params.n_neighbors.min(self.data.rows());
        let graph = nearest_to_with(new, &self.data, k, self.params.metric, &mut |done| progress(0.7 * done))?;
        let epochs = self.params.n_epochs.value().map_or(TRANSFORM_EPOCHS, |epochs| epochs.div_ceil(3));
        let params = self.params.layout_params(self.data.rows(), self.seed)?;
        let transform = UmapTransform {
            map: self.embedding.points(),
            params: LayoutParams { epochs, learning_rate: TRANSFORM_RATE * self.params.learning_rate, ..params },
            local_connectivity: self.params.local_connectivity,
            mean_distance: self.mean_distance,
        };
        let coordinates = transform.coordinates(&graph, &mut |done| progress(0.7 + 0.3 * done))?;
        Ok(Embedding::new(coordinates, self.embedding.dim())?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("placement/mean_distance", [self.mean_distance].as_slice());
        archive.put("placement/seed", vec![self.seed.0]);
    }
}
