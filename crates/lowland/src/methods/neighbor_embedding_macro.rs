//! The macro that declares the elastic embedding, symmetric SNE and t-SNE.

/// Imports for the expansion of [`neighbor_embedding!`].
pub(super) mod prelude {
    pub use lowland_algorithms::affinity::{AffinityKind, Perplexities};
    pub use lowland_algorithms::density::DensityParams;
    pub use lowland_algorithms::neighbor_embedding::{Energy, EnergySchedule};
    pub use lowland_algorithms::objective::Accuracy;
    pub use lowland_algorithms::optim::OptimizerKind;
    pub use lowland_core::archive::Archive;
    pub use lowland_core::message::Note;
    pub use lowland_core::params::{Auto, invalid_parameter};
    pub use lowland_core::run::{Context, Stage};
    pub use lowland_core::{DataShape, Error, Metric, Result};
    pub use lowland_nbody::Engine;
    pub use lowland_neighbors::Search;

    pub use super::super::init::Init;
    pub use super::super::neighbor_embedding::{
        DENSITY_SHIFT, NeighborEmbeddingSettings, RepulsionWeights, check_positive,
    };
    pub use super::super::neighbor_embedding_transformer::NeighborEmbeddingTransformer;
    pub(in super::super) use super::neighbor_embedding;
    pub use crate::method::{FitInput, FitOutput, Method};
    pub(in super::super) use crate::target::{Supervision, TargetMetric};
}

/// Declares one of the methods with its own and the shared parameters.
macro_rules! neighbor_embedding {
    (
        $(#[$doc:meta])* $type:ident, $name:literal, $class:literal, $summary:literal, $advice:literal,
        notes: $notes:expr, objective: $objective:expr,
        optimizer: $optimizer:ident, early_exaggeration: $early_exaggeration:literal, exaggeration_iter: $exaggeration_iter:literal, max_iter: $max_iter:literal,
        own: { $(#[doc = $help:literal] $field:ident: $kind:ty = $default:expr,)* },
        energy: $energy:expr, exaggeration: $exaggeration:expr, note: $note:expr, homotopy: $homotopy:expr, repulsion: $repulsion:expr, check: $check:expr
    ) => {
        lowland_core::params! {
            $(#[$doc])*
            pub struct $type {
                /// Number of dimensions of the embedding.
                n_components: usize = 2,
                /// Effective number of neighbors, or several numbers whose affinities are averaged (30,300).
                perplexity: f64 = 30.0,
                $(#[doc = $help] $field: $kind = $default,)*
                /// Distance metric between rows.
                metric: Metric = Metric::Euclidean,
                /// Algorithm of the neighbor search.
                search: Search = Search::Auto,
                /// How the affinities of neighbors are computed from their distances.
                affinity: AffinityKind = AffinityKind::Entropic,
                /// Initial embedding.
                init: Init = Init::Auto,
                /// Engine that computes the repulsion.
                engine: Engine = Engine::Auto,
                /// Relative error allowed in the repulsive force; it is measured and reported. No effect on engine sampled.
                tolerance: f64 = 0.01,
                /// Whether the accuracy is fixed, or low at first and raised as progress slows.
                accuracy: Accuracy = Accuracy::Schedule,
                /// Optimizer of the objective.
                optimizer: OptimizerKind = OptimizerKind::$optimizer,
                /// Learning rate of gradient descent, for the gradient with the factor 4; auto uses max(n / (4 exaggeration), 50), for ee n / 400.
                learning_rate: Auto<f64> = Auto::Auto,
                /// Factor of the attraction during early exaggeration.
                early_exaggeration: f64 = $early_exaggeration,
                /// Number of iterations of early exaggeration.
                exaggeration_iter: usize = $exaggeration_iter,
                /// Maximum number of iterations, including early exaggeration.
                max_iter: usize = $max_iter,
                /// Stop when a step changes the embedding by less than this fraction of its size.
                tol: f64 = 1e-5,
                /// Weight of the correlation between the local radii of the rows and of their points: 0, or 0.1 to 1 to preserve density (den-SNE).
                density: f64 = 0.0,
                /// Share of the iterations, at the end, in which density is preserved.
                density_frac: f64 = 0.3,
                /// Influence of the target on the neighbor graph, if there is one: from 0, none, to 1, no neighbors of other classes.
                target_weight: f64 = 0.5,
                /// Whether the target is a class or a number of each row.
                target_metric: TargetMetric = TargetMetric::Auto,
            }
            list perplexity + /// Further perplexities, whose affinities are averaged with those of the first one.
                more_perplexities
        }

        impl $type {
            /// The settings of a fit to this number of rows.
            pub(super) fn settings(&self, rows: usize) -> NeighborEmbeddingSettings {
                let own = self;
                let schedule = EnergySchedule {
                    early_exaggeration: self.early_exaggeration,
                    early_iter: if self.early_exaggeration == 1.0 { 0 } else { self.exaggeration_iter },
                    exaggeration: $exaggeration(own, rows),
                    homotopy: $homotopy(own),
                };
                NeighborEmbeddingSettings {
                    n_components: self.n_components,
                    perplexity: Perplexities::of(self.perplexity, &self.more_perplexities),
                    metric: self.metric,
                    search: self.search,
                    affinity: self.affinity,
                    init: self.init,
                    engine: self.engine,
                    tolerance: self.tolerance,
                    accuracy: self.accuracy,
                    optimizer: self.optimizer,
                    learning_rate: self.learning_rate,
                    max_iter: self.max_iter,
                    tol: self.tol,
                    supervision: Supervision { weight: self.target_weight, metric: self.target_metric },
                    density: DensityParams { weight: self.density, share: self.density_frac, shift: DENSITY_SHIFT },
                    schedule,
                    repulsion: $repulsion(own),
                    energy: $energy(own),
                }
            }
        }

        impl Method for $type {
            const NAME: &'static str = $name;
            const CLASS_NAME: &'static str = $class;
            const NOTES: &'static str = $notes;
            const OBJECTIVE: Option<&'static str> = $objective;
            const REPORTS_ITERATIONS: bool = true;
            const SUPPORTS_ANCHORS: bool = true;
            const SUMMARY: &'static str = $summary;
            const ADVICE: &'static str = $advice;
            type Transformer = NeighborEmbeddingTransformer;

            fn validate(&self) -> Result<()> {
                $check(self)?;
                self.settings(0).validate()
            }

            fn n_components(&self) -> usize {
                self.n_components
            }

            fn metric(&self) -> Option<Metric> {
                Some(self.metric)
            }

            fn stages(&self, shape: DataShape) -> Vec<Stage> {
                self.settings(shape.rows).stages(shape)
            }

            fn memory(&self, shape: DataShape) -> u64 {
                self.settings(shape.rows).memory(shape)
            }

            fn required_neighbors(&self, rows: usize) -> usize {
                self.settings(rows).neighbors().min(rows.saturating_sub(1))
            }

            fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<NeighborEmbeddingTransformer>> {
                let mut settings = self.settings(input.data.rows());
                if input.anchors.is_some() {
                    settings.start_from_map();
                }
                $note(self, settings.schedule.exaggeration, context);
                settings.fit_with_context(input, context)
            }

            fn load(&self, archive: &Archive, dim: usize) -> Result<NeighborEmbeddingTransformer> {
                let settings = self.settings(0);
                let affinity = settings.affinity_settings();
                NeighborEmbeddingTransformer::load(archive, dim, settings.metric, affinity, settings.tolerance, settings.energy, settings.preserves_density())
            }
        }
    };
}

pub(super) use neighbor_embedding;
