//! Accuracy of approximate kernel sums: the tolerance that the user sets, the error that is measured, and the schedule.

use lowland_core::archive::Archive;
use lowland_core::params::param_enum;
use lowland_core::{Error, Result};

param_enum! {
    /// Whether the accuracy changes along the iterations.
    pub enum Accuracy ("fixed or schedule") {
        /// The tolerance holds from the first iteration on.
        Fixed = "fixed",
        /// Coarse at first, and as fine as the tolerance once the curvature is positive and progress has slowed down.
        Schedule = "schedule",
    }
}

/// Number of iterations between two measurements of the error.
const MEASUREMENT_PERIOD: usize = 25;
/// Error that the schedule starts with.
const INITIAL_TARGET: f64 = 0.1;
/// Smallest error that is requested of an engine; rounding errors are not far below.
const MIN_REQUEST: f64 = 1e-12;
/// Maximal number of attempts to meet the target at one measurement.
const MAX_ATTEMPTS: usize = 6;
/// Largest error that is requested of an engine whose parameters follow from a bound.
const MAX_REQUEST: f64 = 3.0;
/// An engine is asked for less if its error is below this share of the target.
const TOO_ACCURATE: f64 = 0.2;
/// The same for an engine with a bound, whose parameters are whole numbers: a transform with twice the error can be much cheaper.
const TOO_ACCURATE_WITH_BOUND: f64 = 0.5;
/// Coarse sums are worthwhile if they cost at most this share of those at the tolerance.
const WORTHWHILE: f64 = 0.8;
/// Largest factor by which a request grows in one attempt.
const MAX_LOOSENING: f64 = 8.0;
/// Smallest such factor: below it, the error is known to jump from far below the target to above it.
const MIN_LOOSENING: f64 = 1.1;

/// Chooses the accuracy that is requested of an engine, so that the measured relative error of the force meets its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccuracyController {
    mode: Accuracy,
    tolerance: f64,
    /// Relative error of the force that is allowed now.
    target: f64,
    /// Accuracy that is requested of the engine.
    requested: f64,
    /// Relative error of the force at the last measurement; NaN before the first.
    measured: f64,
    /// Relative error of the sum that the value contains, at the last measurement.
    value_error: f64,
    /// Value of the objective at the last measurement.
    value: f64,
}

/// Returns whether the costs of coarse and fine sums are to be compared at this iteration: at the second measurement, when the
/// map has unfolded, and then ever less often.
fn is_comparison_due(iteration: usize) -> bool {
    iteration > MEASUREMENT_PERIOD && (iteration / MEASUREMENT_PERIOD).is_power_of_two()
}

/// Access to an engine for [`AccuracyController::update`]. Every measurement costs a sum or two.
pub(super) trait AccuracyProbe {
    /// Sets the engine's accuracy.
    fn set_accuracy(&mut self, accuracy: f64);
    /// Returns the relative errors of the force and of the sum that the value contains, measured against the exact sums on
    /// a sample of points.
    fn errors(&mut self) -> Result<[f64; 2]>;
    /// Returns the trace of the Hessian.
    fn curvature(&mut self) -> Result<f64>;
    /// Returns the cost of a sum with this accuracy, which is left set; `None` if the engine cannot compute it.
    fn work(&mut self, accuracy: f64) -> Result<Option<f64>>;
    /// Returns whether the engine chooses its parameters by a bound, far above the errors that occur. It can be asked for a
    /// larger error than the target.
    fn is_certified(&self) -> bool;
    /// Returns whether the error is that of a sample of fixed size, which no request changes.
    fn is_sampled(&self) -> bool;
}

impl AccuracyController {
    /// Creates a controller for a relative error of the force of at most `tolerance`.
    pub fn new(mode: Accuracy, tolerance: f64) -> Self {
        let target = match mode {
            Accuracy::Fixed => tolerance,
            Accuracy::Schedule => tolerance.max(INITIAL_TARGET),
        };
        Self { mode, tolerance, target, requested: target, measured: f64::NAN, value_error: 0.0, value: f64::NAN }
    }

    /// Returns the relative error of the force at the last measurement, if there was one.
    pub fn measured_error(&self) -> Option<f64> {
        (!self.measured.is_nan()).then_some(self.measured)
    }

    /// Returns the relative error of the sum that the value contains, at the last measurement.
    pub(super) fn value_error(&self) -> f64 {
        self.value_error
    }

    /// Returns the accuracy that is requested of the engine.
    pub(super) fn requested(&self) -> f64 {
        self.requested
    }

    /// Returns whether the error is to be measured at this iteration.
    pub(super) fn is_due(&self, iteration: usize) -> bool {
        iteration % MEASUREMENT_PERIOD == 1 || self.measured.is_nan()
    }

    /// Returns whether the schedule has not reached the tolerance yet.
    pub fn is_coarse(&self) -> bool {
        self.target > self.tolerance
    }

    /// Ends the schedule: the tolerance holds from now on, and the error is measured at the next iteration.
    pub(super) fn finish_schedule(&mut self) {
        if self.is_coarse() {
            self.set_target(self.tolerance);
            self.measured = f64::NAN;
        }
    }

    /// Sets the error allowed, and asks the engine for no more than that; if it was asked for more before, in proportion.
    fn set_target(&mut self, target: f64) {
        let excess = (self.requested / self.target).max(1.0);
        self.requested = self.requested.min(target * excess);
        self.target = target;
    }

    /// Discards the last value: the objective has changed, and values before and after are not comparable.
    pub(super) fn forget_value(&mut self) {
        self.value = f64::NAN;
    }

    /// Sets the target by the schedule, then the engine's accuracy by the measured error.
    ///
    /// Noise is harmful only where the mean curvature is positive (Carreira-Perpiñán & Vladymyrov 2014, theorem 2.1), and
    /// matters only once it is as large as the progress: the error allowed is the relative decrease of the objective since
    /// the last measurement, and never grows again.
    pub(super) fn update(&mut self, iteration: usize, value: Option<f64>, probe: &mut dyn AccuracyProbe) -> Result<()> {
        if probe.is_sampled() {
            [self.measured, self.value_error] = probe.errors()?;
            self.set_target(self.tolerance);
            return Ok(());
        }
        // Not known before the first measurement, and after one that found that the schedule has ended.
        let was_coarse = self.is_coarse() || self.measured.is_nan();
        if self.is_coarse() && is_comparison_due(iteration) && !self.saves_work(probe)? {
            self.set_target(self.tolerance);
        }
        if self.mode == Accuracy::Schedule && self.target > self.tolerance {
            let value = value.unwrap_or(f64::NAN);
            let progress = (self.value - value) / value.abs();
            self.value = value;
            // Without two values to compare, progress is NaN and the target stays.
            // A lack of any progress is an effect of noise, whatever the curvature.
            if progress <= 0.0 || progress < self.target && probe.curvature()? > 0.0 {
                self.set_target(progress.max(self.tolerance));
            }
        }
        let mut possible = None;
        for attempt in 0..MAX_ATTEMPTS {
            probe.set_accuracy(self.requested);
            [self.measured, self.value_error] = match (probe.errors(), possible) {
                // The engine cannot do better than before: its measured error stands, and is reported.
                (Err(Error::Numerical { .. }), Some(requested)) => {
                    self.requested = requested;
                    break;
                }
                (errors, _) => errors?,
            };
            possible = Some(self.requested);
            if self.measured > self.target && attempt + 1 < MAX_ATTEMPTS && self.requested > MIN_REQUEST {
                self.requested = (self.requested * (0.7 * self.target / self.measured).max(0.05)).max(MIN_REQUEST);
            } else {
                break;
            }
        }
        // Far more accurate than needed: request less.
        if probe.is_certified() {
            let reached_tolerance = was_coarse && !self.is_coarse();
            if iteration <= 1 || is_comparison_due(iteration) || reached_tolerance {
                self.loosen(probe)?;
            }
        } else if self.measured < TOO_ACCURATE * self.target {
            self.requested = (self.requested * 2.0).min(self.target);
        }
        Ok(())
    }

    /// Returns whether coarse sums are sufficiently cheaper than those at the tolerance to pay for the schedule: for its
    /// measurements, and for the steps that noise spoils.
    fn saves_work(&self, probe: &mut dyn AccuracyProbe) -> Result<bool> {
        let fine = self.requested * self.tolerance / self.target;
        match (probe.work(self.requested)?, probe.work(fine)?) {
            (Some(coarse), Some(fine)) => Ok(coarse <= WORTHWHILE * fine),
            _ => Ok(true),
        }
    }

    /// Requests less of an engine with a bound while the measured error allows it.
    fn loosen(&mut self, probe: &mut dyn AccuracyProbe) -> Result<()> {
        // Coarse sums are not brought as close to their target: with all the error that is allowed there, line searches end in
        // worse minima.
        let (too_accurate, aim) = match self.is_coarse() {
            true => (TOO_ACCURATE, 0.5),
            false => (TOO_ACCURATE_WITH_BOUND, 0.75),
        };
        let mut max_factor = MAX_LOOSENING;
        for _ in 0..MAX_ATTEMPTS {
            if !(self.measured < too_accurate * self.target && self.requested < MAX_REQUEST) {
                break;
            }
            let factor = (aim * self.target / self.measured).min(max_factor);
            if factor < MIN_LOOSENING {
                break;
            }
            let requested = (self.requested * factor).min(MAX_REQUEST);
            probe.set_accuracy(requested);
            let [measured, value_error] = probe.errors()?;
            if measured <= self.target {
                (self.requested, self.measured, self.value_error) = (requested, measured, value_error);
            } else {
                // The number of terms is whole, and the error grows in jumps.
                max_factor = factor.sqrt();
            }
        }
        Ok(())
    }

    pub(crate) fn save(&self, archive: &mut Archive) {
        archive.put("accuracy", [self.target, self.requested, self.measured, self.value_error, self.value].as_slice());
    }

    pub(super) fn restore(&mut self, archive: &Archive) -> Result<()> {
        let &[target, requested, measured, value_error, value] = archive.f64s("accuracy")? else {
            return Err(archive.invalid("the accuracy is not five numbers".into()));
        };
        let is_accuracy = |error: f64| error > 0.0 && error <= MAX_REQUEST;
        if !(is_accuracy(target) && is_accuracy(requested) && value_error >= 0.0) || measured < 0.0 {
            return Err(archive.invalid("the accuracy is out of range".into()));
        }
        (self.target, self.requested, self.measured) = (target, requested, measured);
        (self.value_error, self.value) = (value_error, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine whose true error is a constant times a power of the requested one, down to a smallest request that it accepts.
    struct InaccurateEngine {
        requested: f64,
        min_request: f64,
        factor: f64,
        exponent: f64,
        curvature: f64,
        certified: bool,
        sampled: bool,
        /// Cost of a sum as a power of the accuracy.
        cost_exponent: f64,
    }

    const ENGINE: InaccurateEngine = InaccurateEngine {
        requested: 0.0,
        min_request: 0.0,
        factor: 1.0,
        exponent: 1.0,
        curvature: 1.0,
        certified: false,
        sampled: false,
        cost_exponent: -0.5,
    };

    impl AccuracyProbe for InaccurateEngine {
        fn set_accuracy(&mut self, accuracy: f64) {
            self.requested = accuracy;
        }
        fn errors(&mut self) -> Result<[f64; 2]> {
            if self.requested < self.min_request {
                return Err(Error::Numerical { what: "an inaccurate sum", reason: "the request is too small".into() });
            }
            Ok([self.requested.powf(self.exponent) * self.factor, 0.0])
        }
        fn curvature(&mut self) -> Result<f64> {
            Ok(self.curvature)
        }
        fn is_certified(&self) -> bool {
            self.certified
        }
        fn is_sampled(&self) -> bool {
            self.sampled
        }
        fn work(&mut self, accuracy: f64) -> Result<Option<f64>> {
            Ok(Some(accuracy.powf(self.cost_exponent)))
        }
    }

    #[test]
    fn the_schedule_ends_where_coarse_sums_are_not_cheaper() {
        for (cost_exponent, ends) in [(0.0, true), (-0.02, true), (-0.3, false)] {
            let mut engine = InaccurateEngine { factor: 1.0, cost_exponent, ..ENGINE };
            let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-3);
            controller.update(1, Some(10.0), &mut engine).unwrap();
            assert!(controller.is_coarse(), "the first map is not typical");
            controller.update(26, Some(5.0), &mut engine).unwrap();
            assert_eq!(!controller.is_coarse(), ends, "{cost_exponent}");
        }
    }

    #[test]
    fn an_engine_with_a_pessimistic_bound_is_asked_for_the_tolerance_and_no_more() {
        for factor in [0.01, 0.2, 1.0] {
            let mut engine = InaccurateEngine { factor, certified: true, ..ENGINE };
            let mut controller = AccuracyController::new(Accuracy::Fixed, 1e-2);
            controller.update(1, None, &mut engine).unwrap();
            let error = controller.measured_error().unwrap();
            assert!((0.2e-2..=1e-2).contains(&error), "{error} for 1e-2, factor {factor}");
            // The other engines are not asked for more than the tolerance.
            engine.certified = false;
            let mut controller = AccuracyController::new(Accuracy::Fixed, 1e-2);
            controller.update(1, None, &mut engine).unwrap();
            assert!(controller.requested() <= 1e-2);
        }
    }

    #[test]
    fn an_engine_with_a_pessimistic_bound_is_asked_for_no_more_once_the_schedule_has_ended() {
        let mut engine = InaccurateEngine { factor: 0.01, exponent: 2.0, certified: true, ..ENGINE };
        let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-3);
        controller.update(1, Some(10.0), &mut engine).unwrap();
        // Not an iteration at which costs are compared. Without progress the tolerance holds from here on.
        controller.update(76, Some(10.0), &mut engine).unwrap();
        controller.update(77, Some(10.0), &mut engine).unwrap();
        let error = controller.measured_error().unwrap();
        assert!(!controller.is_coarse() && (0.2e-3..=1e-3).contains(&error), "{error}");
        // The same if a step without progress ended it.
        let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-3);
        controller.update(1, Some(10.0), &mut engine).unwrap();
        controller.finish_schedule();
        controller.update(77, Some(10.0), &mut engine).unwrap();
        let error = controller.measured_error().unwrap();
        assert!((0.2e-3..=1e-3).contains(&error), "{error}");
    }

    #[test]
    fn the_requested_accuracy_meets_the_tolerance() {
        let mut engine = InaccurateEngine { min_request: 0.0, factor: 30.0, curvature: 1.0, ..ENGINE };
        let mut controller = AccuracyController::new(Accuracy::Fixed, 1e-3);
        controller.update(1, None, &mut engine).unwrap();
        assert!(controller.measured_error().unwrap() <= 1e-3 && controller.requested() > 1e-6);
        engine.factor = 0.01;
        let before = controller.requested();
        controller.update(1, None, &mut engine).unwrap();
        assert!(controller.requested() > before && controller.requested() <= 1e-3);
    }

    #[test]
    fn an_engine_that_cannot_meet_the_tolerance_keeps_its_best_accuracy() {
        let mut engine = InaccurateEngine { min_request: 1e-4, factor: 30.0, curvature: 1.0, ..ENGINE };
        let mut controller = AccuracyController::new(Accuracy::Fixed, 1e-3);
        controller.update(1, None, &mut engine).unwrap();
        assert_eq!(
            (controller.requested(), controller.measured_error()),
            (1e-3, Some(3e-2)),
            "as before the failed attempt"
        );
        engine.min_request = 1e-2;
        assert!(controller.update(1, None, &mut engine).is_err(), "the first request fails too");
    }

    #[test]
    fn the_error_of_a_sample_is_measured_and_ends_the_schedule() {
        let mut engine = InaccurateEngine { factor: 30.0, sampled: true, ..ENGINE };
        let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-3);
        let before = controller.requested();
        controller.update(1, Some(3.0), &mut engine).unwrap();
        assert!(controller.measured_error().is_some() && !controller.is_coarse());
        assert!(controller.requested() <= before);
    }

    #[test]
    fn the_schedule_tightens_with_slower_progress_and_positive_curvature_only() {
        let mut engine = InaccurateEngine { min_request: 0.0, factor: 1.0, curvature: -1.0, ..ENGINE };
        let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-4);
        for value in [10.0, 5.0, 4.9] {
            controller.update(2, Some(value), &mut engine).unwrap();
        }
        assert_eq!(controller.target, INITIAL_TARGET, "the curvature is negative");
        engine.curvature = 1.0;
        controller.update(2, Some(4.8), &mut engine).unwrap();
        assert!((controller.target - 0.1 / 4.8).abs() < 1e-12);
        controller.update(2, Some(2.4), &mut engine).unwrap();
        assert!((controller.target - 0.1 / 4.8).abs() < 1e-12, "never coarser again");
        controller.update(2, Some(2.5), &mut engine).unwrap();
        assert_eq!(controller.target, 1e-4, "no progress at all");
    }

    #[test]
    fn a_restored_controller_continues_identically() {
        let mut engine = InaccurateEngine { min_request: 0.0, factor: 3.0, curvature: 1.0, ..ENGINE };
        let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-3);
        controller.update(2, Some(3.0), &mut engine).unwrap();
        let mut archive = Archive::new(lowland_core::archive::ArchiveKind::Checkpoint);
        controller.save(&mut archive);
        let mut other = AccuracyController::new(Accuracy::Schedule, 1e-3);
        other.restore(&archive).unwrap();
        controller.update(2, Some(2.99), &mut engine).unwrap();
        other.update(2, Some(2.99), &mut engine).unwrap();
        assert_eq!(controller, other);
        archive.put("accuracy", [0.0; 5].as_slice());
        assert!(other.restore(&archive).is_err());
    }
}
