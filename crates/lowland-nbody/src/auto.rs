//! Chooses the engine for a sum.

use super::request::are_same;
use super::{
    BarnesHut, Engine, ErrorReport, Exact, FastGauss, Fft, Kernel, KernelSum, NearPairs, PotentialOutput,
    PotentialRequest, Sampled, SumRequest,
};
use lowland_core::params::invalid_parameter;
use lowland_core::{Points, Result};

/// Creates an engine for maps of `dim` dimensions and kernels like `kernel`; an error if it does not support them.
pub fn new_engine(engine: Engine, dim: usize, kernel: Kernel) -> Result<Box<dyn KernelSum>> {
    let gaussian = kernel == Kernel::Gaussian;
    match engine {
        Engine::Auto => Ok(Box::new(AutoEngine::new(dim))),
        Engine::Exact => Ok(Box::new(Exact)),
        Engine::FastGauss if !gaussian => invalid_parameter(
            "engine",
            &engine,
            "the fast Gauss transform sums Gaussian kernels, those of ee and ssne: use fft or barnes-hut",
        ),
        Engine::FastGauss if dim > 3 => {
            invalid_parameter("engine", &engine, format!("for up to 3 dimensions, not {dim}: use barnes-hut or exact"))
        }
        Engine::FastGauss => Ok(Box::new(FastGauss::new(1e-3))),
        Engine::BarnesHut if dim > 10 => {
            invalid_parameter("engine", &engine, format!("for up to 10 dimensions, not {dim}: use exact"))
        }
        Engine::BarnesHut => Ok(Box::new(BarnesHut::default())),
        Engine::Fft if dim > 3 => {
            invalid_parameter("engine", &engine, format!("for up to 3 dimensions, not {dim}: use barnes-hut or exact"))
        }
        Engine::Fft => Ok(Box::new(Fft::default())),
        Engine::Sampled => Ok(Box::new(Sampled::default())),
    }
}

/// Chooses an engine at every call, by the points alone: a resumed run continues with the same bytes.
struct AutoEngine {
    accuracy: f64,
    exact: Exact,
    fft: Fft,
    tree: BarnesHut,
    gauss: FastGauss,
    sampled: Sampled,
    dim: usize,
    /// Whether the pairs are known that a sample always contains.
    near_known: bool,
    /// The engine of the last call.
    last: Engine,
}

impl AutoEngine {
    fn new(dim: usize) -> Self {
        let mut auto = Self {
            accuracy: 0.0,
            exact: Exact,
            fft: Fft::default(),
            tree: BarnesHut::default(),
            gauss: FastGauss::new(1e-3),
            sampled: Sampled::default(),
            dim,
            near_known: false,
            last: Engine::Auto,
        };
        auto.set_accuracy(1e-3);
        auto
    }
}

/// Number of points from which a sample of the pairs is summed in more than three dimensions, where there is no grid.
const MIN_SAMPLED_POINTS: usize = 10_000;

/// Number of pairs up to which summing all of them is fastest, by dimension; measured with `bench --bin kernel_sums`.
fn max_exact_pairs(dim: usize) -> f64 {
    match dim {
        1 | 2 => 2e6,
        3 => 1e7,
        4..=6 => 1e8,
        _ => 1e9,
    }
}

/// Nanoseconds of one core for a sum in three dimensions without a grid, measured with `bench --bin kernel_sums`: a grid grows
/// with the cube of the extent of the map, and may cost more than that.
fn cost_without_grid(gaussian: bool, pairs: f64, targets: usize, accuracy: f64) -> f64 {
    match (pairs <= max_exact_pairs(3), gaussian) {
        (true, _) => 1.2 * pairs,
        (_, true) => 8000.0 * targets as f64,
        _ => 2000.0 * (0.1 / accuracy).cbrt() * targets as f64,
    }
}

impl AutoEngine {
    fn choose(&mut self, kernels: &[Kernel], targets: Points, sources: Points) -> &mut dyn KernelSum {
        let gaussian = kernels.iter().all(|&kernel| kernel == Kernel::Gaussian);
        let dim = sources.dim();
        let pairs = targets.rows() as f64 * sources.rows() as f64;
        let few = pairs <= max_exact_pairs(dim) || dim > 10;
        let grid_pays = |cost| dim <= 2 || cost <= cost_without_grid(gaussian, pairs, targets.rows(), self.accuracy);
        self.last = if few && dim != 3 {
            Engine::Exact
        } else if Fft::cost(kernels, targets, sources, self.accuracy).is_some_and(grid_pays) {
            Engine::Fft
        } else if few {
            Engine::Exact
        } else if gaussian && dim <= 3 {
            Engine::FastGauss
        } else {
            Engine::BarnesHut
        };
        match self.last {
            Engine::Exact | Engine::Auto => &mut self.exact,
            Engine::Sampled => &mut self.sampled,
            Engine::Fft => &mut self.fft,
            Engine::FastGauss => &mut self.gauss,
            Engine::BarnesHut => &mut self.tree,
        }
    }
}

impl KernelSum for AutoEngine {
    /// Name of the engine that was used last.
    fn name(&self) -> &'static str {
        match self.last {
            Engine::Auto => "auto",
            Engine::Exact => self.exact.name(),
            Engine::Sampled => self.sampled.name(),
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

    fn samples(&self, points: usize) -> bool {
        self.near_known && points >= MIN_SAMPLED_POINTS
    }

    fn set_near_pairs(&mut self, points: usize, pairs: &dyn Fn() -> NearPairs) {
        if self.dim > 3 && points >= MIN_SAMPLED_POINTS {
            self.near_known = true;
            self.sampled.set_near_pairs(points, pairs);
        }
    }

    fn begin_round(&mut self, round: u64) {
        self.sampled.begin_round(round);
    }

    fn sum(&mut self, request: SumRequest, out: &mut [f64]) -> Result<ErrorReport> {
        self.choose(&request.kernels(), request.targets, request.sources).sum(request, out)
    }

    fn potential(&mut self, request: PotentialRequest, out: PotentialOutput) -> Result<ErrorReport> {
        let PotentialRequest { kernel, targets, sources, .. } = request;
        if self.samples(sources.rows()) && are_same(targets, sources) {
            self.last = Engine::Sampled;
            return self.sampled.potential(request, out);
        }
        self.choose(&[kernel], targets, sources).potential(request, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn engine_is_chosen_by_size_dimension_kernel_and_extent() {
        let (gauss, cauchy) = (Kernel::Gaussian, Kernel::Cauchy { power: 1.0 });
        let cases = [
            (500, 2, cauchy, 10.0, "exact"),
            (5_000, 2, cauchy, 10.0, "fft"),
            (5_000, 2, gauss, 10.0, "fft"),
            (5_000, 1, gauss, 10.0, "fft"),
            (5_000, 2, cauchy, 1e5, "barnes-hut"),
            (5_000, 2, gauss, 1e5, "fast-gauss"),
            (5_000, 3, gauss, 1.0, "fft"),
            (5_000, 3, gauss, 100.0, "fast-gauss"),
            (5_000, 3, cauchy, 1.0, "fft"),
            (5_000, 3, cauchy, 10.0, "barnes-hut"),
            (3_300, 3, cauchy, 4.5, "barnes-hut"),
            (30_000, 3, cauchy, 3.5, "fft"),
            (2_500, 3, gauss, 1.0, "fft"),
            (300, 3, gauss, 1.0, "exact"),
            (12_000, 5, gauss, 1.0, "barnes-hut"),
            (1_000, 5, gauss, 1.0, "exact"),
            (5_000, 12, cauchy, 10.0, "exact"),
        ];
        for (n, dim, kernel, width, expected) in cases {
            let values: Vec<f64> = Seed(3).normals(n * dim).iter().map(|v| width * v).collect();
            let points = Points::new(&values, dim).unwrap();
            let mut auto = AutoEngine::new(dim);
            auto.choose(&[kernel], points, points);
            assert_eq!(auto.name(), expected, "{n} points in {dim} dimensions, {kernel:?}, {width}");
        }
        // A finer accuracy allows a smaller extent.
        let values: Vec<f64> = Seed(3).normals(10_000).iter().map(|v| 60.0 * v).collect();
        let points = Points::new(&values, 2).unwrap();
        let mut auto = AutoEngine::new(2);
        let chosen = [1e-2, 1e-11].map(|accuracy| {
            auto.set_accuracy(accuracy);
            auto.choose(&[cauchy], points, points);
            auto.name()
        });
        assert_eq!(chosen, ["fft", "barnes-hut"]);
    }

    #[test]
    fn many_points_in_many_dimensions_are_sampled_once_their_near_pairs_are_known() {
        for (dim, n, expected) in [(10, 10_000, true), (10, 9_999, false), (3, 10_000, false)] {
            let mut auto = AutoEngine::new(dim);
            assert!(!auto.samples(n));
            auto.set_near_pairs(n, &|| NearPairs::new(vec![0; n + 1], Vec::new()));
            assert_eq!(auto.samples(n), expected, "{n} points in {dim} dimensions");
        }
    }
}
