//! The Bayesian Gaussian process latent variable model (Titsias & Lawrence 2010) as a method.

use lowland_algorithms::dense_rows::copy_dense_row;
use lowland_algorithms::gplvm::{GplvmSizes, GplvmState, InducingKernel, VariationalBound};
use lowland_algorithms::optim::{Descent, Lbfgs};
use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{at_least_one, check_tolerance, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, Step, Stepper, StopReason, StopRule, in_batches, run};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Points, Result};
use lowland_linalg::block::column_means;
use lowland_linalg::{SvdOptions, pca_memory, svd_with};
use lowland_neighbors::nearest_to_with;

use super::components::available_components;
use crate::method::{FitInput, FitOutput, Method, TransformOutput, Transformer, numbers_needed};

params! {
    /// The Bayesian Gaussian process latent variable model.
    pub struct GpLvm {
        /// Dimensions of the map; those that are not needed switch themselves off.
        n_components: usize = 2,
        /// Inducing points: more follow finer detail and take longer, with their square.
        inducing: usize = 30,
        /// Iterations at the most.
        max_iter: usize = 200,
        /// Length of a step, relative to the model, at which the iterations end.
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
        "Bayesian Gaussian process latent variable model: a smooth function from the map to the rows";
    const ADVICE: &'static str = "Smooth maps of some thousand rows, with error bars, new rows and rows for any place on the map. MultiStartEm \
        from PCA and stays close to it; for comparison with lllvm and lvm.";
    const HAS_STD: bool = true;
    const HAS_INVERSE: bool = true;
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
        // The rows in double precision; expectations and their derivatives; L-BFGS remembers 15 pairs of all numbers.
        let own = n * dim * 16.0 + n * m * 32.0 + (2.0 * n + m) * q * 8.0 * 45.0 + m * m * 8.0 * (20.0 + n / 32.0);
        pca_memory(self.n_components.min(shape.dim), shape).saturating_add(own as u64)
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<GpLvmTransformer>> {
        let scaled = Scaled::new(input.data)?;
        let (n, dim) = (input.data.rows(), self.n_components);
        let most = input.data.dim().min(n - 1);
        let mut wanted = available_components(dim, most, "the number of columns, or of points less one", context)?;
        if scaled.unit == 0.0 {
            context.note(Note::AllRowsEqual);
            wanted = 0;
        }
        if wanted == 0 {
            let embedding = Embedding::new(vec![0.0; n * dim], dim)?;
            let transformer = GpLvmTransformer { fitted: None, data: input.data.clone(), embedding: embedding.clone() };
            return Ok(FitOutput { embedding, transformer, outcome: Outcome::without_iterations(), neighbors: None });
        }
        let sizes = GplvmSizes { rows: n, dim: wanted, inducing: self.inducing.min(n) };
        let bound = VariationalBound::new(scaled.rows(input.data), input.data.dim(), sizes)?;
        let start = match context.checkpoint() {
            Some(_) => vec![0.0; sizes.parameter_count()],
            None => context.stage(START, |context| start(input.data, sizes, context))?,
        };
        let descent = Descent::new(bound.clone(), Box::new(Lbfgs::default()), Embedding::new(start, 1)?);
        let mut fitting = Fitting { descent, sizes, columns: input.data.dim(), dim };
        let rule = StopRule { max_iter: self.max_iter, tol: self.tol };
        let outcome = context.stage(ITERATIONS, |context| run(&mut fitting, rule, context))?;
        let numbers = fitting.descent.embedding().into_values();
        let frozen = bound.fitted_state(&numbers)?;
        let left_at = |i: usize| -> (Vec<f64>, Vec<f64>) {
            let spread = numbers[(n + i) * wanted..][..wanted].iter().map(|v| v.exp()).collect();
            (numbers[i * wanted..][..wanted].to_vec(), spread)
        };
        let placed = if outcome.stop_reason == StopReason::Stopped {
            // Whoever stopped the run is waiting, and placing every row takes as long as many iterations.
            (0..n).map(|i| Ok((left_at(i).0, left_at(i).1, 0.0))).collect()
        } else {
            // Places are those the fitted function gives to the rows: a row that is placed again stays where it is.
            context.with_progress(|progress| {
                in_batches(n, progress, |i| {
                    let row = &bound.data()[i * input.data.dim()..][..input.data.dim()];
                    let (mean, spread) = left_at(i);
                    frozen.transform_row(row, &mean, &spread)
                })
            })?
        };
        let (mut map, mut spreads) = (vec![0.0; n * dim], Vec::with_capacity(n * wanted));
        for (row, placed) in map.chunks_exact_mut(dim).zip(placed) {
            let (mean, spread, _) = placed?;
            row[..wanted].copy_from_slice(&mean);
            spreads.extend(spread);
        }
        let embedding = Embedding::new(map, dim)?;
        context.note(Note::Relevance(frozen.weights().to_vec()));
        let transformer = GpLvmTransformer {
            fitted: Some(Smooth { frozen, scaled, spreads }),
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
        let fitted = match archive.size("gplvm/dim")? {
            0 => None,
            wanted if wanted > self.n_components => return Err(archive.invalid("it has too many dimensions".into())),
            wanted => Some(Smooth::load(archive, data.rows(), dim, wanted)?),
        };
        Ok(GpLvmTransformer { fitted, data, embedding })
    }
}

/// Means of the columns, and the standard deviation of all numbers beside them.
#[derive(Debug, Clone, PartialEq)]
struct Scaled {
    means: Vec<f64>,
    unit: f64,
}

impl Scaled {
    fn new(data: &Data) -> Result<Self> {
        if let Data::Text(_) = data {
            return Err(Error::Kind { what: "a Gaussian process", kind: "text", remedies: numbers_needed() });
        }
        let columns = data.dim();
        let mut all = Self { means: vec![0.0; columns], unit: 1.0 }.rows(data);
        let means = column_means(&all, columns);
        all.chunks_exact_mut(columns).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, mean)| *v -= mean));
        let unit = (all.iter().map(|v| v * v).sum::<f64>() / all.len() as f64).sqrt();
        Ok(Self { means, unit })
    }

    fn row(&self, data: &Data, i: usize, out: &mut [f64]) {
        copy_dense_row(data, i, out);
        out.iter_mut().zip(&self.means).for_each(|(v, mean)| *v = (*v - mean) / self.unit);
    }

    fn rows(&self, data: &Data) -> Vec<f64> {
        let mut all = vec![0.0; data.rows() * data.dim()];
        all.chunks_exact_mut(data.dim()).enumerate().for_each(|(i, out)| self.row(data, i, out));
        all
    }
}

/// The variance of every coordinate at the start; those of the means are 1.
const START_SPREAD: f64 = 0.1;
/// How much stronger than the noise the signal is at the start.
const START_PRECISION: f64 = 20.0;

/// Principal components, each with standard deviation 1; inducing points among them.
fn start(data: &Data, sizes: GplvmSizes, context: &mut Context) -> Result<Vec<f64>> {
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
    let mut numbers = means;
    numbers.resize(2 * n * dim, START_SPREAD.ln());
    numbers.extend(points);
    numbers.extend(std::iter::repeat_n(0.0, dim + 1));
    numbers.push(START_PRECISION.ln());
    Ok(numbers)
}

/// The iteration over all numbers, of which people see the means and the bound.
struct Fitting {
    descent: Descent<VariationalBound>,
    sizes: GplvmSizes,
    columns: usize,
    dim: usize,
}

impl Stepper for Fitting {
    fn step(&mut self) -> Result<Step> {
        let step = self.descent.step()?;
        Ok(Step { objective: -step.objective * (self.sizes.rows * self.columns) as f64, ..step })
    }

    fn embedding(&self) -> Embedding {
        let numbers = self.descent.embedding().into_values();
        let mut map = vec![0.0; self.sizes.rows * self.dim];
        for (row, mean) in map.chunks_exact_mut(self.dim).zip(numbers.chunks_exact(self.sizes.dim)) {
            row[..self.sizes.dim].copy_from_slice(mean);
        }
        Embedding::new(map, self.dim).expect("whole rows")
    }

    fn save(&self, archive: &mut Archive) {
        self.descent.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.descent.restore(archive)
    }
}

/// A fitted function from the map to rows.
struct Smooth {
    frozen: GplvmState,
    scaled: Scaled,
    /// Variances of the training rows' coordinates.
    spreads: Vec<f64>,
}

impl Smooth {
    fn load(archive: &Archive, rows: usize, columns: usize, dim: usize) -> Result<Self> {
        let get = |name: &str| archive.finite(&format!("gplvm/{name}")).map(<[f64]>::to_vec);
        let (weights, inducing, scales) = (get("weights")?, get("inducing")?, get("scales")?);
        let &[signal, precision, unit] = scales.as_slice() else {
            return Err(archive.invalid("there are not three scales".into()));
        };
        let psi = InducingKernel { weights, signal, inducing };
        let smooth = Self {
            frozen: GplvmState::new(psi, precision, columns, get("second")?, get("solved")?),
            scaled: Scaled { means: get("means")?, unit },
            spreads: get("spreads")?,
        };
        let fits = smooth.frozen.is_consistent(dim)
            && smooth.scaled.means.len() == columns
            && smooth.spreads.len() == rows * dim
            && smooth.spreads.iter().chain(&scales).chain(smooth.frozen.weights()).all(|v| *v > 0.0);
        if fits { Ok(smooth) } else { Err(archive.invalid("its parts differ in size".into())) }
    }
}

/// The training rows with their places, and the function, if there was anything to fit.
pub struct GpLvmTransformer {
    fitted: Option<Smooth>,
    data: Data,
    embedding: Embedding,
}

/// The standard deviation of a place over all its coordinates.
fn deviation(spread: &[f64]) -> f64 {
    (spread.iter().sum::<f64>() / spread.len() as f64).sqrt()
}

/// Coordinates are independent: their variances on the diagonal, zero for those that do not exist.
fn covariance(spread: &[f64], dim: usize) -> Vec<f64> {
    let mut all = vec![0.0; dim * dim];
    all.iter_mut().step_by(dim + 1).zip(spread).for_each(|(own, v)| *own = *v);
    all
}

impl Transformer for GpLvmTransformer {
    fn std(&self) -> Option<Vec<f64>> {
        let smooth = self.fitted.as_ref()?;
        Some(smooth.spreads.chunks_exact(smooth.frozen.weights().len()).map(deviation).collect())
    }

    fn covariances(&self) -> Option<Vec<f64>> {
        let smooth = self.fitted.as_ref()?;
        let rows = smooth.spreads.chunks_exact(smooth.frozen.weights().len());
        Some(rows.flat_map(|spread| covariance(spread, self.embedding.dim())).collect())
    }

    /// Each row by its own share of the bound, all else as it is, from the place of the nearest training row.
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let dim = self.embedding.dim();
        let Some(Smooth { frozen, scaled, spreads }) = &self.fitted else {
            let embedding = Embedding::new(vec![0.0; new.rows() * dim], dim)?;
            return Ok(embedding.into());
        };
        let wanted = frozen.weights().len();
        let near = nearest_to_with(new, &self.data, 1, Metric::Euclidean, &mut |done| progress(0.3 * done))?;
        let placed = in_batches(new.rows(), &mut |done| progress(0.3 + 0.7 * done), |i| {
            let closest = near.row(i).0[0] as usize;
            let mut row = vec![0.0; new.dim()];
            scaled.row(new, i, &mut row);
            frozen.transform_row(&row, &self.embedding.row(closest)[..wanted], &spreads[closest * wanted..][..wanted])
        })?;
        let (mut map, mut std, mut covariances, mut scores) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for placed in placed {
            let (mean, spread, score) = placed?;
            map.extend(mean.iter().copied().chain(std::iter::repeat_n(0.0, dim - wanted)));
            std.push(deviation(&spread));
            covariances.extend(covariance(&spread, dim));
            // The density of a row in its own units.
            scores.push(score - new.dim() as f64 * scaled.unit.ln());
        }
        let embedding = Embedding::new(map, dim)?;
        Ok(TransformOutput { embedding, std: Some(std), covariances: Some(covariances), log_likelihoods: Some(scores) })
    }

    fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Option<Data>> {
        let columns = self.data.dim();
        let rows = in_batches(points.rows(), progress, |i| {
            let mut row = vec![0.0; columns];
            match &self.fitted {
                None => copy_dense_row(&self.data, 0, &mut row),
                Some(Smooth { frozen, scaled, .. }) => {
                    frozen.predict(&points.row(i)[..frozen.weights().len()], &mut row);
                    row.iter_mut().zip(&scaled.means).for_each(|(v, mean)| *v = *v * scaled.unit + mean);
                }
            }
            row.into_iter().map(|v| v as f32).collect::<Vec<f32>>()
        })?;
        Data::dense(rows.concat(), columns).map(Some)
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("gplvm/dim", self.fitted.as_ref().map_or(0, |smooth| smooth.frozen.weights().len()) as u64);
        if let Some(Smooth { frozen, scaled, spreads }) = &self.fitted {
            archive.put("gplvm/weights", frozen.weights());
            archive.put("gplvm/inducing", frozen.kernel().inducing.as_slice());
            archive.put("gplvm/scales", [frozen.kernel().signal, frozen.precision(), scaled.unit].as_slice());
            archive.put("gplvm/second", frozen.grad_psi2());
            archive.put("gplvm/solved", frozen.inducing_coefficients());
            archive.put("gplvm/means", scaled.means.as_slice());
            archive.put("gplvm/spreads", spreads.as_slice());
        }
    }
}
