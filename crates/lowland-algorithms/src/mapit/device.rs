//! MAP IT on a graphics card: the field of [`MapItField`](super::MapItField) and the descent along it, in single precision.

use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Error, MemoryOrder, Result};
use lowland_cuda::{
    DeviceEdges, DeviceMap, EdgeAttraction, MAX_DIM, MAX_ROWS, MapForces, MomentumStep, PairKernel, Work, gpu_for,
    map_memory, map_shared_memory, or_processor,
};
use lowland_linalg::Csr;
use lowland_nbody::Kernel;

use super::SimilarityKernel;
use super::neighborhoods::Neighborhoods;
use crate::objective::{Accuracy, AccuracyController};
use crate::optim::MomentumDescentParams;

/// Maps of fewer points are computed on the processor.
const MIN_POINTS: usize = 256;
/// Number of iterations between two measurements of the error.
const MEASUREMENT_PERIOD: usize = 25;

/// A descent along MAP IT's field, all of it on the card.
pub struct DeviceMapIt {
    map: DeviceMap,
    params: MomentumDescentParams,
    /// Relative error of the repulsion that is allowed; `None` sums over all pairs.
    tolerance: Option<f64>,
    n: usize,
    dim: usize,
    iteration: usize,
}

impl DeviceMapIt {
    /// Copies affinities and a map to the card; `None` if there is no card for it. The arguments are those of
    /// [`MapItField::new`](super::MapItField::new) and of the optimizer; `iterations` is their expected number.
    pub fn new(
        affinities: &Csr,
        k: usize,
        similarity: SimilarityKernel,
        tolerance: Option<f64>,
        params: MomentumDescentParams,
        start: &Embedding,
        iterations: usize,
    ) -> Result<Option<Self>> {
        let (n, dim) = (start.rows(), start.dim());
        if !(MIN_POINTS..=MAX_ROWS).contains(&n) || dim > MAX_DIM {
            return Ok(None);
        }
        let entries = affinities.entries();
        let work = Work {
            name: "the descent",
            cpu_seconds: iterations as f64 * (entries as f64 * 5e-9 + n as f64 * if dim <= 2 { 4e-7 } else { 4e-6 }),
            memory: map_memory(n, 2 * entries, dim),
            shared_memory: map_shared_memory(dim),
        };
        let Some(gpu) = gpu_for(work)? else { return Ok(None) };
        let (kernel, scale) = similarity.squared();
        let forces = MapForces {
            kernel: match kernel {
                Kernel::Gaussian => PairKernel::Gaussian,
                Kernel::Cauchy { power } => PairKernel::Cauchy { power },
            },
            scale,
            attraction: EdgeAttraction::Quadratic,
            normalized: true,
        };
        let graph = Neighborhoods::new(affinities, k)?;
        let aligned = || {
            let mut map = DeviceMap::new(gpu, edges(&graph.others), start.values(), dim, forces)?;
            map.align(edges(&graph.near), &graph.marginals)?;
            Ok(map)
        };
        let Some(mut map) = or_processor(aligned(), work.name)? else { return Ok(None) };
        if tolerance.is_none() {
            map.sum_all_pairs();
        }
        Ok(Some(Self { map, params, tolerance, n, dim, iteration: 0 }))
    }

    /// Returns the map; fails if the card does.
    pub fn final_embedding(&self) -> Result<Embedding> {
        Embedding::new(self.map.positions()?, self.dim)
    }

    /// Returns the name of the algorithm that sums the repulsion, and the relative error of its force as measured last.
    pub fn measured_error(&self) -> (&'static str, f64) {
        (self.map.engine_name(), self.map.measured_error())
    }
}

fn edges(weights: &Csr) -> DeviceEdges<'_> {
    DeviceEdges { starts: weights.indptr(), columns: weights.indices(), weights: weights.values() }
}

impl Stepper for DeviceMapIt {
    fn step(&mut self) -> Result<Step> {
        self.iteration += 1;
        self.map.evaluate_field(self.tolerance.unwrap_or(0.0), self.iteration % MEASUREMENT_PERIOD == 1)?;
        let MomentumDescentParams { learning_rate, momentum, early_steps, max_step } = self.params;
        let momentum = momentum[usize::from(self.iteration > early_steps)];
        let result = self.map.momentum_step(MomentumStep { rate: learning_rate, momentum, max_step })?;
        if !result.change.is_finite() {
            let reason = format!("a coordinate became NaN at iteration {}", self.iteration);
            return Err(Error::Numerical { what: "the iteration", reason });
        }
        let [c2, c1] = [result.total, result.attraction].map(|sum| sum.max(f64::MIN_POSITIVE));
        Ok(Step { iteration: self.iteration, objective: c2.ln() - c1.ln(), change: result.change })
    }

    fn embedding(&self) -> Embedding {
        // If the card fails here, the next step, or `final_embedding`, returns the error.
        self.final_embedding()
            .unwrap_or_else(|_| Embedding::new(vec![0.0; self.n * self.dim], self.dim).expect("whole rows"))
    }

    /// The state is also that of the descent on the processor, which can continue from it.
    fn save(&self, archive: &mut Archive) {
        let (Ok(embedding), Ok([update, _])) = (self.final_embedding(), self.map.momentum()) else {
            return archive.mark_incomplete();
        };
        archive.put("descent/map", embedding.values());
        archive.put("descent/iteration", self.iteration as u64);
        archive.put("descent/value", [f64::NAN].as_slice());
        AccuracyController::new(Accuracy::Fixed, self.tolerance.unwrap_or(0.0)).save(archive);
        MemoryOrder::default().save(archive, self.n);
        archive.put("momentum/steps", self.iteration as u64);
        archive.put("momentum/update", update.as_slice());
        archive.put("objective/grid", [self.map.spacing(), self.map.measured_error()].as_slice());
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let [map, update] = [archive.finite("descent/map")?, archive.finite("momentum/update")?];
        if [map, update].iter().any(|values| values.len() != self.n * self.dim) {
            return Err(archive.invalid(format!("its map does not have {} x {} coordinates", self.n, self.dim)));
        }
        self.iteration = archive.size("descent/iteration")?;
        if self.iteration > u32::MAX as usize {
            return Err(archive.invalid(format!("iteration {} is beyond any run", self.iteration)));
        }
        if let Ok(&[spacing, error]) = archive.finite("objective/grid") {
            self.map.set_grid(spacing, error);
        }
        self.map.set_positions(map)?;
        self.map.set_momentum(update, &vec![1.0; update.len()])
    }
}
