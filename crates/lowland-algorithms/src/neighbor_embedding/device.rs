//! The objective of the neighbor embeddings on a graphics card, and a gradient descent that stays there.

use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Error, MemoryOrder, Points, Result};
use lowland_cuda::{
    DeviceEdges, DeviceMap, EdgeAttraction, GainStep, Gradient, MAX_DIM, MAX_ROWS, MapForces, PairKernel, Work,
    current_device, gpu_for, map_memory, map_shared_memory, or_processor, unusable,
};
use lowland_linalg::Csr;
use lowland_nbody::Kernel;

use super::attraction_kernel::AttractionKernel;
use super::energy::EnergyFactors;
use super::objective::MAX_REPULSION_STRENGTH;
use super::{Energy, EnergySchedule, ScheduleStage};
use crate::objective::{Accuracy, AccuracyController, Objective, ObjectiveChange, VectorField};
use crate::optim::{GradientDescentParams, VALUE_PERIOD};

/// Maps of fewer points are computed on the processor.
const MIN_POINTS: usize = 256;
/// Number of iterations between two measurements of the error.
const MEASUREMENT_PERIOD: usize = 25;
/// Largest relative error of sums in single precision, which a line search has to tolerate.
const ROUNDING: f64 = 1e-5;
/// Smallest mean sum of the kernel over the other points that single precision can hold.
const MIN_TOTAL: f64 = 1e-30;

/// An [`Energy`] of a map on a card.
pub struct DeviceObjective {
    map: DeviceMap,
    energy: Energy,
    weights: Csr,
    /// `sum p ln p`, which makes the value a divergence.
    constant: f64,
    schedule: EnergySchedule,
    factors: EnergyFactors,
    schedule_pending: bool,
    /// Relative error of the repulsive force that is allowed; `None` sums over all pairs.
    tolerance: Option<f64>,
    measure: bool,
}

impl DeviceObjective {
    /// Copies the edges and a map to the card; returns the weights if there is no card for it. Without a `tolerance`, the repulsion is summed over
    /// all pairs. `iterations` is their expected number.
    pub fn new(
        energy: Energy,
        weights: Csr,
        schedule: EnergySchedule,
        tolerance: Option<f64>,
        start: &Embedding,
        iterations: usize,
    ) -> Result<std::result::Result<Self, Csr>> {
        let (n, edges, dim) = (weights.rows(), weights.values().len(), start.dim());
        if !(MIN_POINTS..=MAX_ROWS).contains(&n) || dim > MAX_DIM {
            return Ok(Err(weights));
        }
        let work = Work {
            name: "the descent",
            cpu_seconds: iterations as f64 * (edges as f64 * 3e-9 + n as f64 * if dim <= 2 { 4e-7 } else { 4e-6 }),
            memory: map_memory(n, edges, dim),
            shared_memory: map_shared_memory(dim),
        };
        let Some(gpu) = gpu_for(work)? else { return Ok(Err(weights)) };
        let forces = MapForces {
            kernel: match energy.kernel() {
                Kernel::Gaussian => PairKernel::Gaussian,
                Kernel::Cauchy { power } => PairKernel::Cauchy { power },
            },
            scale: energy.scale(),
            attraction: match energy.attraction() {
                AttractionKernel::Quadratic => EdgeAttraction::Quadratic,
                AttractionKernel::Student { dof } => EdgeAttraction::Student { dof },
            },
            normalized: !matches!(energy, Energy::Elastic { .. }),
        };
        let edges = DeviceEdges { starts: weights.indptr(), columns: weights.indices(), weights: weights.values() };
        let map = DeviceMap::new(gpu, edges, start.values(), dim, forces);
        let Some(mut map) = or_processor(map, work.name)? else { return Ok(Err(weights)) };
        if tolerance.is_none() {
            map.sum_all_pairs();
        }
        let constant = match energy {
            Energy::Elastic { .. } => 0.0,
            _ => weights.values().iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum(),
        };
        let factors = schedule.factors(usize::MAX);
        Ok(Ok(Self {
            map,
            energy,
            weights,
            constant,
            schedule,
            factors,
            schedule_pending: false,
            tolerance,
            measure: false,
        }))
    }

    /// Returns the name of the algorithm that sums the repulsion, and the relative error of the force as measured last.
    pub fn measured_error(&self) -> (&'static str, f64) {
        (self.map.engine_name(), self.map.measured_error())
    }

    /// Returns the stage of the schedule at the last iteration, if the schedule was not finished.
    pub fn unfinished_stage(&self) -> Option<ScheduleStage> {
        match self.schedule_pending {
            true if self.factors.exaggeration != self.schedule.exaggeration => Some(ScheduleStage::EarlyExaggeration),
            true => Some(ScheduleStage::Homotopy),
            false => None,
        }
    }

    /// Returns the strength of each point's repulsion, as `NeighborEmbeddingObjective::repulsion_strength` does, at the map of the last
    /// evaluation.
    pub fn repulsion_strength(&mut self) -> Result<f64> {
        let n = self.weights.rows() as f64;
        let strength = match self.energy {
            Energy::Elastic { lambda } => lambda * n,
            _ => {
                self.evaluate_on_card(false)?;
                let total = self.map.read_scalars()?[0];
                self.check_total(total)?;
                n / total
            }
        };
        Ok((strength / self.schedule.exaggeration).min(MAX_REPULSION_STRENGTH))
    }

    /// Computes the sums at another map.
    pub fn evaluate_at(&mut self, y: Points) -> Result<()> {
        self.map.set_positions(y.values())?;
        self.evaluate_on_card(false)
    }

    /// Sets the factors of an iteration; returns whether the objective has changed.
    fn begin(&mut self, iteration: usize) -> bool {
        let before = self.factors;
        self.factors = self.schedule.factors(iteration);
        self.schedule_pending = self.factors != self.schedule.factors(usize::MAX);
        self.measure = iteration % MEASUREMENT_PERIOD == 1;
        iteration > 1 && before != self.factors
    }

    fn evaluate_on_card(&mut self, with_value: bool) -> Result<()> {
        let EnergyFactors { exaggeration, lambda_factor } = self.factors;
        let repulsion = match self.energy {
            Energy::Elastic { lambda } => lambda_factor * lambda,
            _ => 1.0,
        };
        let gradient = Gradient { exaggeration, repulsion, with_value, tolerance: self.tolerance.unwrap_or(0.0) };
        let measure = std::mem::take(&mut self.measure);
        self.map.evaluate(gradient, measure)
    }

    /// Fails if single precision leaves nothing of the sum of the kernel, which divides the repulsion.
    fn check_total(&self, total: f64) -> Result<()> {
        let elastic = matches!(self.energy, Energy::Elastic { .. });
        if elastic || total > MIN_TOTAL * self.weights.rows() as f64 {
            return Ok(());
        }
        let reason = "all points of the map are far from each other, which needs double precision";
        Err(unusable(current_device(), reason.into()))
    }

    /// The value for the sum of the kernel and the attraction.
    fn value(&self, total: f64, attraction: f64) -> f64 {
        let EnergyFactors { exaggeration, lambda_factor } = self.factors;
        let repulsion = match self.energy {
            Energy::Elastic { lambda } => lambda_factor * lambda * total,
            _ => total.max(f64::MIN_POSITIVE).ln(),
        };
        exaggeration * attraction + repulsion + self.constant
    }
}

impl VectorField for DeviceObjective {
    fn evaluate(&mut self, y: Points, with_value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        self.map.set_positions(y.values())?;
        self.evaluate_on_card(with_value)?;
        let [total, attraction] = self.map.read_scalars()?;
        self.check_total(total)?;
        out.copy_from_slice(&self.map.gradient()?);
        Ok(with_value.then(|| self.value(total, attraction)))
    }

    fn begin_iteration(&mut self, iteration: usize, _: Points, _: Option<f64>) -> Result<ObjectiveChange> {
        Ok(if self.begin(iteration) { ObjectiveChange::Objective } else { ObjectiveChange::None })
    }

    fn has_pending_changes(&self) -> bool {
        self.schedule_pending
    }

    fn exaggeration(&self) -> f64 {
        self.factors.exaggeration
    }

    /// The state is also that of the objective on the processor, which can continue from it.
    fn save(&self, archive: &mut Archive) {
        AccuracyController::new(Accuracy::Fixed, self.tolerance.unwrap_or(0.0)).save(archive);
        MemoryOrder::default().save(archive, self.weights.rows());
        archive.put("objective/schedule", [self.factors.exaggeration, self.factors.lambda_factor].as_slice());
        archive.put("objective/grid", [self.map.spacing(), self.map.measured_error()].as_slice());
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let &[exaggeration, lambda_factor] = archive.finite("objective/schedule")? else {
            return Err(archive.invalid("the schedule is not two numbers".into()));
        };
        // A checkpoint of a descent on the processor has none.
        if let Ok(&[spacing, error]) = archive.finite("objective/grid") {
            self.map.set_grid(spacing, error);
        }
        self.factors = EnergyFactors { exaggeration, lambda_factor };
        self.schedule_pending = self.factors != self.schedule.factors(usize::MAX);
        Ok(())
    }
}

impl Objective for DeviceObjective {
    fn attraction(&self) -> Csr {
        self.weights.clone()
    }

    fn degrees(&self) -> Vec<f64> {
        self.weights.row_sums()
    }

    fn noise(&self) -> f64 {
        ROUNDING.max(self.map.measured_error())
    }
}

/// Gradient descent with momentum and gains, all of it on the card: the same steps as `GradientDescent`, in single precision.
pub struct DeviceDescent {
    objective: DeviceObjective,
    params: GradientDescentParams,
    n: usize,
    dim: usize,
    steps: usize,
    iteration: usize,
    value: f64,
}

impl DeviceDescent {
    /// Creates a descent that starts at the map of the objective.
    pub fn new(objective: DeviceObjective, params: GradientDescentParams, dim: usize) -> Self {
        let n = objective.weights.rows();
        Self { objective, params, n, dim, steps: 0, iteration: 0, value: f64::NAN }
    }

    /// Returns the map; fails if the card does.
    pub fn final_embedding(&self) -> Result<Embedding> {
        Embedding::new(self.objective.map.positions()?, self.dim)
    }

    /// Returns the objective.
    pub fn objective(&mut self) -> &mut DeviceObjective {
        &mut self.objective
    }
}

impl Stepper for DeviceDescent {
    fn step(&mut self) -> Result<Step> {
        self.iteration += 1;
        if self.objective.begin(self.iteration) {
            // The value is computed at the next step, and the momentum is kept.
            self.steps = 0;
        }
        let with_value = self.steps.is_multiple_of(VALUE_PERIOD);
        self.steps += 1;
        self.objective.evaluate_on_card(with_value)?;
        let GradientDescentParams { momentum, min_gain, max_step, max_relative_step, .. } = self.params;
        let rate = self.params.rate(self.n, self.objective.factors.exaggeration);
        let step = GainStep { rate, momentum, min_gain, max_step, max_relative_step };
        let result = self.objective.map.gain_step(step)?;
        self.objective.check_total(result.total)?;
        if !result.change.is_finite() {
            let reason = format!("a coordinate became NaN at iteration {}", self.iteration);
            return Err(Error::Numerical { what: "the iteration", reason });
        }
        if with_value {
            self.value = self.objective.value(result.total, result.attraction);
        }
        let change = if self.objective.schedule_pending { result.change.max(1.0) } else { result.change };
        Ok(Step { iteration: self.iteration, objective: self.value, change })
    }

    fn embedding(&self) -> Embedding {
        // If the card fails here, the next step, or `final_embedding`, returns the error.
        self.final_embedding()
            .unwrap_or_else(|_| Embedding::new(vec![0.0; self.n * self.dim], self.dim).expect("whole rows"))
    }

    fn save(&self, archive: &mut Archive) {
        let (Ok(embedding), Ok([update, gains])) = (self.final_embedding(), self.objective.map.momentum()) else {
            return archive.mark_incomplete();
        };
        archive.put("descent/map", embedding.values());
        archive.put("descent/iteration", self.iteration as u64);
        archive.put("descent/value", [self.value].as_slice());
        self.objective.save(archive);
        archive.put("gains/steps", self.steps as u64);
        archive.put("gains/gains", gains.as_slice());
        archive.put("gains/update", update.as_slice());
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let &[value] = archive.f64s("descent/value")? else {
            return Err(archive.invalid("there is not one value".into()));
        };
        let [map, gains, update] =
            [archive.finite("descent/map")?, archive.finite("gains/gains")?, archive.finite("gains/update")?];
        if [map, gains, update].iter().any(|values| values.len() != self.n * self.dim) {
            return Err(archive.invalid(format!("its map does not have {} x {} coordinates", self.n, self.dim)));
        }
        if let Some(v) = map.iter().find(|v| v.abs() > f64::from(f32::MAX).sqrt()) {
            return Err(archive.invalid(format!("its map has a coordinate of {v}")));
        }
        self.value = value;
        self.iteration = archive.size("descent/iteration")?;
        if self.iteration > u32::MAX as usize {
            return Err(archive.invalid(format!("iteration {} is beyond any run", self.iteration)));
        }
        self.steps = archive.size("gains/steps")?;
        self.objective.restore(archive)?;
        self.objective.map.set_positions(map)?;
        self.objective.map.set_momentum(update, gains)
    }
}
