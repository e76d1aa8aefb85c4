//! Principal components: `pca` centers the data, `svd` does not.

use lowland_core::archive::Archive;
use lowland_core::message::{Note, Remedy};
use lowland_core::params::{invalid_parameter, param_enum};
use lowland_core::run::{Context, Outcome, Step, Stepper, StopReason, StopRule, run};
use lowland_core::{Data, DataShape, Embedding, Error, Result};
use lowland_linalg::{
    EigenState, LinearMap, PcaAlgorithm, RandomizedSvd, Svd as SingularVectors, SvdOptions, choose_pca_algorithm,
    exact_svd_with,
};

use super::component_count::{ComponentCount, components_for};
use super::components::available_components;
use super::linear_transformer::{ComponentVariances, LinearTransformer};
use crate::method::FitOutput;

param_enum! {
    /// Algorithm that computes the components.
    pub enum LinearSolver ("auto, exact or randomized") {
/// Chosen by the size and kind of the data.
        Auto = "auto",
/// Eigenvectors of the covariance matrix; dense data only.
        Exact = "exact",
/// Iterative, from a random start.
        Randomized = "randomized",
    }
}

/// Declares a linear method: `pca` or `svd`.
macro_rules! linear_method {
    ($(#[$doc:meta])* $type:ident, $name:literal, $class:literal, centered: $centered:literal, count: $count:ty = $help:literal, $summary:literal, $advice:literal) => {
        lowland_core::params! {
            $(#[$doc])*
            pub struct $type {
                #[doc = $help]
                n_components: $count = <$count>::from(2usize),
            /// Algorithm that computes the components.
                solver: LinearSolver = LinearSolver::Auto,
                /// Maximum number of passes over the data (randomized solver).
                max_iter: usize = 100,
                /// Relative residual at which a component has converged (randomized solver).
                tol: f64 = 1e-6,
            }
        }

        impl Method for $type {
            const NAME: &'static str = $name;
            const CLASS_NAME: &'static str = $class;
            const SUMMARY: &'static str = $summary;
            const ADVICE: &'static str = $advice;
            const PRESERVES_ORIGIN: bool = !$centered;
            const TRANSFORMS_EXACTLY: bool = true;
            const HAS_INVERSE: bool = true;
            type Transformer = LinearTransformer;

            fn validate(&self) -> Result<()> {
                ComponentCount::from(self.n_components).validate()?;
                at_least_one("max_iter", self.max_iter)?;
                check_tolerance("tol", self.tol)
            }

            fn n_components(&self) -> usize {
                ComponentCount::from(self.n_components).nominal()
            }

            fn stages(&self, _: DataShape) -> Vec<Stage> {
                vec![Stage { name: COMPONENTS, weight: 1.0 }]
            }

            fn memory(&self, shape: DataShape) -> u64 {
                let most = ComponentCount::from(self.n_components).at_most(shape);
                pca_algorithm(most, self.solver, shape).memory(most, shape)
            }

            fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<LinearTransformer>> {
                let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
                fit(input.data, self.n_components.into(), self.solver, rule, $centered, context)
            }

            fn load(&self, archive: &Archive, dim: usize) -> Result<LinearTransformer> {
                let loaded = LinearTransformer::load(archive)?;
                let count = match ComponentCount::from(self.n_components) {
                    ComponentCount::Count(count) => count,
                    ComponentCount::Variance(_) => loaded.map.output_dim(),
                };
                let fits = loaded.map.dim() == dim && loaded.map.output_dim() == count;
                if fits { Ok(loaded) } else { Err(archive.invalid("its components do not match the data".into())) }
            }
        }
    };
}

pub(super) const COMPONENTS: &str = "components";

/// Chooses the algorithm for the solver parameter.
pub(super) fn pca_algorithm(components: usize, solver: LinearSolver, shape: DataShape) -> PcaAlgorithm {
    match solver {
        LinearSolver::Auto => choose_pca_algorithm(shape.dim, shape.sparse, components),
        LinearSolver::Exact => PcaAlgorithm::Covariance,
        LinearSolver::Randomized => PcaAlgorithm::Iterative,
    }
}

/// Fits a linear map to data.
pub(super) fn fit(
    data: &Data,
    components: ComponentCount,
    solver: LinearSolver,
    rule: StopRule,
    centered: bool,
    context: &mut Context,
) -> Result<FitOutput<LinearTransformer>> {
    if let Data::Text(_) = data {
        let remedies = vec![Remedy::Other("use a method with a metric, such as lvm with metric levenshtein")];
        return Err(Error::Kind { what: "a linear map", kind: "text", remedies });
    }
    let count = match components {
        ComponentCount::Count(count) => available_components(count, data.dim(), "the number of columns", context)?,
        ComponentCount::Variance(_) => data.dim(),
    };
    let fitted = context.stage(COMPONENTS, |context| {
        let (svd, outcome) = match components {
            ComponentCount::Count(shown) => fit_svd(data, count, shown, solver, rule, centered, context)?,
            ComponentCount::Variance(share) => {
                (svd_for_share(data, share, solver, centered, context)?, Outcome::without_iterations())
            }
        };
        let shown = match components {
            ComponentCount::Count(shown) => shown,
            ComponentCount::Variance(_) => svd.singular_values.len(),
        };
        let map = svd.map().padded(shown);
        let embedding = map.apply(data)?;
        let variances = ComponentVariances::new(data, &embedding, svd.singular_values, svd.total_squares, centered);
        let transformer = LinearTransformer { map, variances: Some(variances) };
        Ok(FitOutput { embedding, transformer, outcome, neighbors: None })
    })?;
    if let Some(variances) = &fitted.transformer.variances {
        context.note(Note::ExplainedVariance { ratios: variances.ratios() });
    }
    Ok(fitted)
}

/// Computes as few components as explain a share of the variance, for which all of them are needed first.
fn svd_for_share(
    data: &Data,
    share: f64,
    solver: LinearSolver,
    centered: bool,
    context: &mut Context,
) -> Result<SingularVectors> {
    if solver == LinearSolver::Randomized {
        return invalid_parameter(
            "solver",
            &solver,
            "a share of the variance needs all components, which the exact solver computes",
        );
    }
    let mut svd = context.with_progress(|progress| exact_svd_with(data, data.dim(), centered, progress))?;
    let kept = components_for(share, &svd.singular_values, svd.total_squares);
    svd.singular_values.truncate(kept);
    svd.components.truncate(kept * data.dim());
    Ok(svd)
}

/// Computes `wanted` components; embeddings during the iterations have `shown` coordinates.
fn fit_svd(
    data: &Data,
    wanted: usize,
    shown: usize,
    solver: LinearSolver,
    rule: StopRule,
    centered: bool,
    context: &mut Context,
) -> Result<(SingularVectors, Outcome)> {
    match pca_algorithm(wanted, solver, data.shape()) {
        PcaAlgorithm::Covariance => {
            let svd = context.with_progress(|progress| exact_svd_with(data, wanted, centered, progress))?;
            Ok((svd, Outcome::without_iterations()))
        }
        PcaAlgorithm::Iterative => {
            let options = SvdOptions { tolerance: rule.tol, max_iterations: rule.max_iter, ..SvdOptions::default() };
            let seed = context.seed.stream(COMPONENTS);
            let solver = RandomizedSvd::new(data, wanted, centered, options, seed)?;
            let mut stepper = RandomizedPca { solver, data, count: shown };
            if stepper.solver.finished() {
                return Ok((stepper.solver.result(), Outcome::without_iterations()));
            }
            let outcome = run(&mut stepper, rule, context)?;
            let gave_up = stepper.solver.finished() && !stepper.solver.converged();
            if outcome.stop_reason != StopReason::Stopped && !stepper.solver.converged() {
                let iterations = Some(outcome.trace.len());
                context.note(Note::Approximate { what: "components", iterations, residual: None });
            }
            Ok((stepper.solver.result(), outcome.exhausted_if(gave_up)))
        }
    }
}

pub(super) use linear_method;

/// The randomized algorithm as a stepper.
struct RandomizedPca<'a> {
    solver: RandomizedSvd,
    data: &'a Data,
    count: usize,
}

impl RandomizedPca<'_> {
    fn map(&self) -> LinearMap {
        self.solver.result().map().padded(self.count)
    }
}

impl Stepper for RandomizedPca<'_> {
    /// The objective is the fraction of the sum of squares that the components do not explain.
    fn step(&mut self) -> Result<Step> {
        self.solver.step()?;
        let result = self.solver.result();
        let kept: f64 = result.singular_values.iter().map(|s| s * s).sum();
        let left = if result.total_squares > 0.0 { 1.0 - kept / result.total_squares } else { 0.0 };
        let residuals = result.report.residuals.iter().zip(&result.singular_values);
        let worst = residuals.map(|(r, s)| r / (s * s).max(f64::MIN_POSITIVE)).fold(f64::MIN_POSITIVE, f64::max);
        // Zero ends the loop: the solver has converged by its own criterion or given up.
        let change = if self.solver.finished() { 0.0 } else { worst };
        Ok(Step { iteration: result.report.iterations, objective: left, change })
    }

    fn embedding(&self) -> Embedding {
        self.map().apply(self.data).expect("the data of the fit")
    }

    fn save(&self, archive: &mut Archive) {
        self.solver.save().save("components", archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.solver.restore(EigenState::load("components", archive)?)
    }
}
