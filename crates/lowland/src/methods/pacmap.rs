//! PaCMAP and LocalMAP: pairwise controlled manifold approximation.

use lowland_algorithms::pacmap::{PacmapLayout, PacmapParams, PacmapTransform, PairCounts, PointPairs};
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{Auto, ParamValue, at_least_one, invalid_parameter, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Metric, Result};
use lowland_linalg::Csr;
use lowland_neighbors::{self, IndexedRows, QuerySearch, Search};

use super::init::{Init, initial_embedding, initial_memory, joined_components};
use super::neighbor_embedding::check_positive;
use crate::method::{FitInput, FitOutput, Method, TransformOutput, Transformer};
use crate::neighbor_stage::{self, Neighbors, neighbors};

params! {
    /// PaCMAP.
    #[allow(non_snake_case)] // The names of the parameters of the pacmap package.
    pub struct Pacmap {
        /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of near pairs of each point; auto takes 10 for up to 10,000 rows, and 15 more for every factor of ten beyond.
        n_neighbors: Auto<usize> = Auto::Value(10),
        /// Number of mid-near pairs of each point, for the arrangement of the clusters, relative to the near pairs.
        MN_ratio: f64 = 0.5,
        /// Number of further pairs of each point, which repel, relative to the near pairs.
        FP_ratio: f64 = 2.0,
        /// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
        /// Initial embedding: auto or pca, spectral, random.
        init: Init = Init::Auto,
        /// Learning rate of the optimizer (Adam).
        lr: f64 = 1.0,
        /// Number of iterations of the three phases, or of the last one, after 100 and 100.
        num_iters: PhaseIterations = PhaseIterations([100, 100, 250]),
        /// Whether the last phase is that of LocalMAP, which separates clusters that are close.
        localmap: bool = false,
        /// Distance in the embedding within which LocalMAP draws further pairs.
        low_dist_thres: f64 = 10.0,
    }
}

/// Number of iterations of the three phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseIterations(pub [usize; 3]);

impl PhaseIterations {
    fn total(self) -> usize {
        self.0.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }
}

impl ParamValue for PhaseIterations {
    const EXPECTS: &'static str = "three whole numbers separated by commas, or one";

    fn parse(text: &str) -> Option<Self> {
        let counts: Option<Vec<usize>> = text.split(',').map(|count| count.trim().parse().ok()).collect();
        match *counts?.as_slice() {
            [first, second, last] => Some(Self([first, second, last])),
            [last] => Some(Self([FIRST_PHASES, FIRST_PHASES, last])),
            _ => None,
        }
    }

    fn to_text(&self) -> String {
        self.0.map(|count| count.to_string()).join(",")
    }
}

/// Number of iterations of each of the first two phases, if only that of the last is given.
const FIRST_PHASES: usize = 100;

const PAIRS: &str = "pairs";
const INITIALIZATION: &str = "initialization";
const LAYOUT: &str = "layout";

/// Number of neighbors that near pairs are chosen from, besides as many as there are near pairs.
const MORE_NEIGHBORS: usize = 50;
/// Standard deviation of the first coordinate of the initial embedding.
const INIT_SIZE: f64 = 1e-2;

impl Pacmap {
    fn near_pairs(&self, rows: usize) -> usize {
        let by_rows = || (10.0 + 15.0 * ((rows.max(1) as f64).log10() - 4.0).max(0.0)).round() as usize;
        self.n_neighbors.value().unwrap_or_else(by_rows)
    }

    fn counts(&self, rows: usize) -> PairCounts {
        let near = self.near_pairs(rows);
        let relative = |ratio: f64| (near as f64 * ratio).round() as usize;
        PairCounts { near, mid: relative(self.MN_ratio), further: relative(self.FP_ratio).max(1) }
    }

    fn iterations(&self) -> usize {
        self.num_iters.total()
    }
}

impl Method for Pacmap {
    const NAME: &'static str = "pacmap";
    const CLASS_NAME: &'static str = "PaCMAP";
    const REPORTS_ITERATIONS: bool = true;
    const SUPPORTS_ANCHORS: bool = true;
    const SUMMARY: &'static str = "PaCMAP and LocalMAP: near, mid-near and further pairs in three phases.";
    const ADVICE: &'static str = "For a plane in which the arrangement of the clusters means something as well as their content, or for those who know the pacmap package; \
        its localmap separates clusters that touch. tsne keeps more neighbors.";
    type Transformer = PacmapTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        self.n_neighbors.value().map_or(Ok(()), |count| at_least_one("n_neighbors", count))?;
        if !(self.MN_ratio >= 0.0 && self.MN_ratio.is_finite()) {
            return invalid_parameter("MN_ratio", &self.MN_ratio, "at least 0");
        }
        check_positive("FP_ratio", self.FP_ratio)?;
        check_positive("lr", self.lr)?;
        if self.iterations() == 0 {
            return invalid_parameter("num_iters", &self.num_iters, "at least one iteration");
        }
        check_positive("low_dist_thres", self.low_dist_thres)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let (n, d, dim) = (shape.rows as f64, self.n_components as f64, shape.dim.max(10) as f64);
        let PairCounts { near, mid, further } = self.counts(shape.rows);
        let pairs = n * (near as f64 + mid as f64 + further as f64);
        // Rough seconds on two cores.
        vec![
            Stage { name: neighbor_stage::STAGE, weight: 2.0 * neighbor_stage::seconds(shape) },
            Stage { name: PAIRS, weight: pairs * 1e-8 + n * mid as f64 * (2e-7 + dim * 1e-9) + 1e-3 },
            Stage { name: INITIALIZATION, weight: n * dim * 2e-8 + 1e-3 },
            Stage { name: LAYOUT, weight: pairs * (d + 2.0) * 1e-9 * self.iterations() as f64 + 1e-3 },
        ]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let k = self.required_neighbors(shape.rows);
        let counts = self.counts(shape.rows);
        let most = |count: usize| count.min(shape.rows) as f64;
        let [n, neighbors, d] = [shape.rows, k, self.n_components].map(|count| count as f64);
        // The graph twice (once for checkpoints), the pairs, and the rows that they are put together from.
        let pairs = most(counts.near) + most(counts.mid) + most(counts.further);
        let drawn = n * (neighbors * 16.0 + pairs * 8.0 + 3.0 * 40.0 + 24.0);
        // The pairs, the same from both ends, and the points with their moments.
        let layout = n * (pairs * 12.0 + 6.0 * 8.0 + d * 24.0);
        let edges = 2.0 * n * most(counts.near);
        // Both directions of every near pair as triplets, sorted, and as a matrix.
        let near_graph = if self.init == Init::Spectral { edges * 44.0 } else { 0.0 };
        let init = initial_memory(self.init, self.n_components, shape, edges) + near_graph;
        let init = n * (neighbors * 8.0 + pairs * 4.0) + init;
        lowland_neighbors::search_memory(shape, self.metric, k, self.search)
            .max((drawn.max(init).max(n * neighbors * 8.0 + layout) + n * d * 16.0) as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        self.near_pairs(rows).saturating_add(MORE_NEIGHBORS).min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<PacmapTransformer>> {
        self.metric.check(input.data)?;
        let n = input.data.rows();
        let counts = self.counts(n);
        let Neighbors { graph, exact, wider } = self.graph(input, counts.near, context)?;
        let new_transformer = |embedding: &Embedding| PacmapTransformer {
            params: self.clone(),
            rows: IndexedRows::new(input.data.clone(), self.metric, self.near_pairs(n)),
            embedding: embedding.clone(),
        };
        if n < 2 {
            let embedding = Embedding::new(vec![0.0; n * self.n_components], self.n_components)?;
            let transformer = new_transformer(&embedding);
            let outcome = Outcome::without_iterations();
            return Ok(FitOutput {
                embedding,
                transformer,
                outcome,
                neighbors: wider.or_else(|| exact.then_some(graph)),
            });
        }
        let seed = context.seed;
        let (pairs, graph) = context.stage(PAIRS, |context| {
            let (data, seed) = (input.data, seed.stream(PAIRS));
            let pairs = context
                .with_progress(|progress| PointPairs::draw(data, self.metric, &graph, counts, seed, progress))?;
            Ok((pairs, wider.or_else(|| exact.then_some(graph))))
        })?;
        let init = context.stage(INITIALIZATION, |context| {
            let init = self.initialization(input.data);
            let mut weights = near_graph(&pairs, init)?;
            if init == Init::Spectral
                && context.init().is_none()
                && let Some(joined) = joined_components(input.data, self.metric, &weights, context)?
            {
                weights = joined;
            }
            initial_embedding(input.data, &weights, init, self.n_components, INIT_SIZE, context)
        })?;
        let (layout, outcome) = context.stage(LAYOUT, |context| {
            // The first phases arrange the clusters, which are in their places on an earlier map.
            let [_, _, last] = self.num_iters.0;
            let phases = if input.anchors.is_some() { [0, 0, last] } else { self.num_iters.0 };
            let params = PacmapParams {
                phases,
                learning_rate: self.lr,
                local_distance: self.localmap.then_some(self.low_dist_thres),
                seed: seed.stream(LAYOUT),
            };
            let mut layout = PacmapLayout::new(pairs, &init, params, input.anchors)?;
            drop(init);
            let outcome =
                run(&mut layout, StopRule { max_iter: PhaseIterations(phases).total().max(1), tol: 0.0 }, context)?;
            Ok((layout, outcome))
        })?;
        let embedding = layout.final_embedding()?;
        let transformer = new_transformer(&embedding);
        Ok(FitOutput { embedding, transformer, outcome, neighbors: graph })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<PacmapTransformer> {
        let rows = IndexedRows::load("training", archive, self.metric, &|rows| self.near_pairs(rows))?;
        let embedding = Embedding::load("embedding", archive)?;
        self.metric.check(rows.data())?;
        if rows.data().dim() != dim || embedding.rows() != rows.data().rows() {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        Ok(PacmapTransformer { params: self.clone(), rows, embedding })
    }
}

impl Pacmap {
    /// Returns the neighbors that near pairs are chosen from. A given graph may have fewer than a search would return.
    fn graph(&self, input: FitInput, near: usize, context: &mut Context) -> Result<Neighbors> {
        let n = input.data.rows();
        if near > n.saturating_sub(1) {
            context.note(Note::NeighborsReduced { requested: near, used: n.saturating_sub(1), points: n });
        }
        let mut wanted = self.required_neighbors(n);
        if let Some(given) = input.neighbors {
            let available = given.min_degree();
            if available < near.min(n.saturating_sub(1)) {
                context.note(Note::NeighborsOfGraph { requested: near, used: available });
            }
            wanted = wanted.min(available.max(1));
        }
        neighbors(input, wanted, self.metric, self.search, context)
    }

    /// Returns the initial embedding that `auto` stands for.
    fn initialization(&self, data: &Data) -> Init {
        match self.init {
            Init::Auto if self.metric == Metric::Precomputed || matches!(data, Data::Text(_)) => Init::Spectral,
            Init::Auto => Init::Pca,
            init => init,
        }
    }
}

/// Returns the symmetric graph of the near pairs, if the initial embedding is computed from it.
fn near_graph(pairs: &PointPairs, init: Init) -> Result<Csr> {
    let n = pairs.near.rows();
    let rows = if init == Init::Spectral { 0..n } else { 0..0 };
    let both = rows.flat_map(|i| {
        let row = pairs.near.row(i).iter();
        row.flat_map(move |&j| [(i as u32, j, 1.0), (j, i as u32, 1.0)])
    });
    Csr::from_triplets(n, n, both)
}

/// The training rows with their embedding.
pub struct PacmapTransformer {
    params: Pacmap,
    rows: IndexedRows,
    embedding: Embedding,
}

impl Transformer for PacmapTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, QuerySearch::Indexed, progress)
    }

    fn transform_exactly(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, QuerySearch::Exact, progress)
    }

    fn save(&self, archive: &mut Archive) {
        self.rows.save("training", archive);
    }
}

impl PacmapTransformer {
    fn place(&self, new: &Data, search: QuerySearch, progress: &mut Progress) -> Result<TransformOutput> {
        let rows = self.rows.data().rows();
        let k = self.params.near_pairs(rows).min(rows);
        let graph = self.rows.nearest(new, k, search, &mut |done| progress(0.9 * done))?;
        let transform = PacmapTransform { map: self.embedding.points() };
        let coordinates = transform.coordinates(&graph, &mut |done| progress(0.9 + 0.1 * done))?;
        Ok(Embedding::new(coordinates, self.embedding.dim())?.into())
    }
}
