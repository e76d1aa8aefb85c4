//! Which engine for which sum.

use super::{BarnesHut, Charges, Engine, ErrorReport, Exact, FastGauss, Fft, Kernel, KernelSum, Term};
use crate::params::refuse;
use crate::points::{Points, Result};

/// The engine of that name, for maps of `dim` dimensions and kernels like `kernel`; an error if it cannot sum those.
pub fn engine(engine: Engine, dim: usize, kernel: Kernel) -> Result<Box<dyn KernelSum>> {
    let gaussian = kernel == Kernel::Gaussian;
    match engine {
        Engine::Auto => Ok(Box::new(Auto::default())),
        Engine::Exact => Ok(Box::new(Exact)),
        Engine::FastGauss if !gaussian => refuse(
            "engine",
            &engine,
            "the fast Gauss transform sums Gaussian kernels, those of ee and ssne: use fft or barnes-hut",
        ),
        Engine::FastGauss if dim > 3 => {
            refuse("engine", &engine, format!("for up to 3 dimensions, not {dim}: use barnes-hut or exact"))
        }
        Engine::FastGauss => Ok(Box::new(FastGauss::new(1e-3))),
        Engine::BarnesHut if dim > 10 => {
            refuse("engine", &engine, format!("for up to 10 dimensions, not {dim}: use exact"))
        }
        Engine::BarnesHut => Ok(Box::new(BarnesHut::default())),
        Engine::Fft if dim > 2 => {
            refuse("engine", &engine, format!("for 1 or 2 dimensions, not {dim}: use barnes-hut or exact"))
        }
        Engine::Fft => Ok(Box::new(Fft::default())),
    }
}

/// Chooses at every call, by the points alone: a run that is resumed goes on with the same bytes.
struct Auto {
    accuracy: f64,
    exact: Exact,
    fft: Fft,
    tree: BarnesHut,
    gauss: FastGauss,
    last: Engine,
}

impl Default for Auto {
    fn default() -> Self {
        let mut auto = Self {
            accuracy: 0.0,
            exact: Exact,
            fft: Fft::default(),
            tree: BarnesHut::default(),
            gauss: FastGauss::new(1e-3),
            last: Engine::Auto,
        };
        auto.set_accuracy(1e-3);
        auto
    }
}

/// Pairs up to which summing all of them is fastest, by dimension; measured with `bench/run.sh kernel_sums`.
fn few_pairs(dim: usize) -> f64 {
    match dim {
        1 | 2 => 2e6,
        3 => 1e7,
        4..=6 => 1e8,
        _ => 1e9,
    }
}

impl Auto {
    fn choose(&mut self, targets: Points, sources: Points, gaussian: bool) -> &mut dyn KernelSum {
        let dim = sources.dim();
        let pairs = targets.rows() as f64 * sources.rows() as f64;
        self.last = if pairs <= few_pairs(dim) || dim > 10 {
            Engine::Exact
        } else if dim <= 2 && Fft::fits(sources, self.accuracy) {
            Engine::Fft
        } else if gaussian && dim <= 3 {
            Engine::FastGauss
        } else {
            Engine::BarnesHut
        };
        match self.last {
            Engine::Exact | Engine::Auto => &mut self.exact,
            Engine::Fft => &mut self.fft,
            Engine::FastGauss => &mut self.gauss,
            Engine::BarnesHut => &mut self.tree,
        }
    }
}

impl KernelSum for Auto {
    /// Of the engine that was used last.
    fn name(&self) -> &'static str {
        match self.last {
            Engine::Auto => "auto",
            Engine::Exact => self.exact.name(),
            Engine::Fft => self.fft.name(),
            Engine::FastGauss => self.gauss.name(),
            Engine::BarnesHut => self.tree.name(),
        }
    }

    fn set_accuracy(&mut self, accuracy: f64) {
        self.accuracy = accuracy;
        self.fft.set_accuracy(accuracy);
        self.tree.set_accuracy(accuracy);
        self.gauss.set_accuracy(accuracy);
    }

    fn sum(
        &mut self,
        terms: &[Term],
        targets: Points,
        sources: Points,
        charges: Charges,
        out: &mut [f64],
    ) -> Result<ErrorReport> {
        let gaussian = terms.iter().all(|term| term.kernel == Kernel::Gaussian);
        self.choose(targets, sources, gaussian).sum(terms, targets, sources, charges, out)
    }

    fn potential(
        &mut self,
        kernel: Kernel,
        targets: Points,
        sources: Points,
        charges: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) -> Result<ErrorReport> {
        let engine = self.choose(targets, sources, kernel == Kernel::Gaussian);
        engine.potential(kernel, targets, sources, charges, values, gradients)
    }
}
