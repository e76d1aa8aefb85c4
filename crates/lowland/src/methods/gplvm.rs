//! The Bayesian Gaussian process latent variable model (Titsias & Lawrence 2010).

use lowland_algorithms::gplvm::{GplvmSizes, VariationalBound};
use lowland_algorithms::optim::{Descent, Lbfgs};
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{at_least_one, check_tolerance, params};
use lowland_core::run::{Context, Outcome, Stage, Step, Stepper, StopReason, StopRule, in_batches, run};
use lowland_core::{Data, DataShape, Embedding, Result};
use lowland_linalg::{SvdOptions, pca_memory, svd_with};

use super::components::available_components;
use super::gplvm_transformer::{GpLvmTransformer, LatentFunction, RowScaling};
use crate::method::{FitInput, FitOutput, Method};

params! {
    /// The Bayesian Gaussian process latent variable model.
    pub struct GpLvm {
        /// Number of dimensions of the embedding; the model switches off those it does not need.
        n_components: usize = 2,
        /// Number of inducing points: more capture finer detail; the time grows with their square.
        inducing: usize = 30,
        /// Maximum number of iterations.
        max_iter: usize = 200,
        /// Step length, relative to the model, at which the iterations stop.
        tol: f64 = 1e-6,
    }
}

const START: &str = "linear start";
const ITERATIONS: &str = "iterations";

impl Method for GpLvm {
    const NAME: &'static str = "gplvm";
    const CLASS_NAME: &'static str = "GPLVM";
    const OBJECTIVE: Option<&'static str> = Some("lower_bound");
    const REPORTS_ITERATIONS: bool = true;
    const SUMMARY: &'static str =
        "Bayesian Gaussian process latent variable model: a smooth function from the embedding to the data.";
    const ADVICE: &'static str = "Smooth embeddings of a few thousand rows, with standard deviations and an inverse for any position in the embedding. \
        It starts from PCA and stays close to it; useful for comparison with lllvm and lvm.";
    const HAS_STD: bool = true;
    const HAS_INVERSE: bool = true;
    const HAS_COVARIANCES: bool = true;
    const HAS_LIKELIHOOD: bool = true;
    type Transformer = GpLvmTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("inducing", self.inducing)?;
        at_least_one("max_iter", self.max_iter)?;
        check_tolerance("tol", self.tol)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let [n, dim, m, q] =
            [shape.rows, shape.dim, self.inducing.min(shape.rows), self.n_components].map(|v| v as f64);
        let step = n * m * (m * (2e-9 + q * 2e-9) + dim * 1e-9) + 1e-5;
        vec![
            Stage { name: START, weight: n * dim * dim.min(100.0) * 2e-10 + 1e-3 },
            Stage { name: ITERATIONS, weight: self.max_iter as f64 * step },
        ]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let [n, dim, m, q] =
            [shape.rows, shape.dim, self.inducing.min(shape.rows), self.n_components].map(|v| v as f64);
        // The rows in double precision; expectations and their derivatives; 15 pairs of all parameters for L-BFGS.
        let own = n * dim * 16.0 + n * m * 32.0 + (2.0 * n + m) * q * 8.0 * 45.0 + m * m * 8.0 * (20.0 + n / 32.0);
        let start = n * dim * 8.0 + pca_memory(self.n_components.min(shape.dim), shape) as f64;
        own.max(start) as u64
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<GpLvmTransformer>> {
        let scaling = RowScaling::new(input.data)?;
        let (n, dim) = (input.data.rows(), self.n_components);
        let most = input.data.dim().min(n - 1);
        let mut wanted = available_components(dim, most, "the number of columns, or of points less one", context)?;
        if scaling.unit == 0.0 {
            context.note(Note::AllRowsEqual);
            wanted = 0;
        }
        if wanted == 0 {
            let embedding = Embedding::new(vec![0.0; n * dim], dim)?;
            let transformer =
                GpLvmTransformer { function: None, data: input.data.clone(), embedding: embedding.clone() };
            return Ok(FitOutput { embedding, transformer, outcome: Outcome::without_iterations(), neighbors: None });
        }
        let sizes = GplvmSizes { rows: n, dim: wanted, inducing: self.inducing.min(n) };
        let bound = VariationalBound::new(scaling.scaled_rows(input.data), input.data.dim(), sizes)?;
        let init = match context.checkpoint() {
            Some(_) => vec![0.0; sizes.parameter_count()],
            None => context.stage(START, |context| initial_parameters(input.data, sizes, context))?,
        };
        let descent = Descent::new(bound.clone(), Box::new(Lbfgs::default()), Embedding::new(init, 1)?);
        let mut stepper = GpLvmStepper { descent, sizes, columns: input.data.dim(), dim };
        let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
        let outcome = context.stage(ITERATIONS, |context| run(&mut stepper, rule, context))?;
        let parameters = stepper.descent.embedding().into_values();
        let state = bound.fitted_state(&parameters)?;
        let fitted_position = |i: usize| -> (Vec<f64>, Vec<f64>) {
            let variances = parameters[(n + i) * wanted..][..wanted].iter().map(|v| v.exp()).collect();
            (parameters[i * wanted..][..wanted].to_vec(), variances)
        };
        let positions = if outcome.stop_reason == StopReason::Stopped {
            // The user is waiting, and transforming every row takes as long as many iterations.
            (0..n).map(|i| Ok((fitted_position(i).0, fitted_position(i).1, 0.0))).collect()
        } else {
            // The positions are those that a transform of the training rows returns.
            context.with_progress(|progress| {
                in_batches(n, progress, |i| {
                    let row = &bound.data()[i * input.data.dim()..][..input.data.dim()];
                    let (mean, variances) = fitted_position(i);
                    state.transform_row(row, &mean, &variances)
                })
            })?
        };
        let (mut coordinates, mut variances) = (vec![0.0; n * dim], Vec::with_capacity(n * wanted));
        for (row, position) in coordinates.chunks_exact_mut(dim).zip(positions) {
            let (mean, row_variances, _) = position?;
            row[..wanted].copy_from_slice(&mean);
            variances.extend(row_variances);
        }
        let embedding = Embedding::new(coordinates, dim)?;
        context.note(Note::Relevance(state.weights().to_vec()));
        let transformer = GpLvmTransformer {
            function: Some(LatentFunction { state, scaling, variances }),
            data: input.data.clone(),
            embedding: embedding.clone(),
        };
        Ok(FitOutput { embedding, transformer, outcome, neighbors: None })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<GpLvmTransformer> {
        let (data, embedding) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        if data.dim() != dim || data.rows() != embedding.rows() || embedding.dim() != self.n_components {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        let function = match archive.size("gplvm/dim")? {
            0 => None,
            wanted if wanted > self.n_components => return Err(archive.invalid("it has too many dimensions".into())),
            wanted => Some(LatentFunction::load(archive, data.rows(), dim, wanted)?),
        };
        Ok(GpLvmTransformer { function, data, embedding })
    }
}

/// Initial variance of every coordinate; the means have variance 1.
const INITIAL_VARIANCE: f64 = 0.1;
/// Initial signal-to-noise ratio.
const INITIAL_PRECISION: f64 = 20.0;

/// Returns the initial parameters: principal components with standard deviation 1, some of which are inducing points.
fn initial_parameters(data: &Data, sizes: GplvmSizes, context: &mut Context) -> Result<Vec<f64>> {
    let GplvmSizes { rows: n, dim, inducing } = sizes;
    let seed = context.seed.stream(START);
    let found = context.with_progress(|progress| svd_with(data, dim, true, SvdOptions::default(), seed, progress))?;
    let mut means = found.map().apply(data)?.into_values();
    let scales: Vec<f64> = found
        .singular_values
        .iter()
        .map(|&value| if value > 1e-12 * found.singular_values[0] { (n as f64).sqrt() / value } else { 0.0 })
        .collect();
    means.chunks_exact_mut(dim).for_each(|mean| mean.iter_mut().zip(&scales).for_each(|(v, scale)| *v *= scale));
    let points: Vec<f64> = (0..inducing).flat_map(|m| means[m * n / inducing * dim..][..dim].to_vec()).collect();
    let mut parameters = means;
    parameters.resize(2 * n * dim, INITIAL_VARIANCE.ln());
    parameters.extend(points);
    parameters.extend(std::iter::repeat_n(0.0, dim + 1));
    parameters.push(INITIAL_PRECISION.ln());
    Ok(parameters)
}

/// Optimizes all parameters; reports the means and the bound.
struct GpLvmStepper {
    descent: Descent<VariationalBound>,
    sizes: GplvmSizes,
    columns: usize,
    dim: usize,
}

impl Stepper for GpLvmStepper {
    fn step(&mut self) -> Result<Step> {
        let step = self.descent.step()?;
        Ok(Step { objective: -step.objective * (self.sizes.rows * self.columns) as f64, ..step })
    }

    fn embedding(&self) -> Embedding {
        let parameters = self.descent.embedding().into_values();
        let mut coordinates = vec![0.0; self.sizes.rows * self.dim];
        for (row, mean) in coordinates.chunks_exact_mut(self.dim).zip(parameters.chunks_exact(self.sizes.dim)) {
            row[..self.sizes.dim].copy_from_slice(mean);
        }
        Embedding::new(coordinates, self.dim).expect("complete rows")
    }

    fn save(&self, archive: &mut Archive) {
        self.descent.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.descent.restore(archive)
    }
}
