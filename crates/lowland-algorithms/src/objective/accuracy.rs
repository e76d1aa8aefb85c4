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

/// Access to an engine for [`AccuracyController::update`]. Every measurement costs a sum or two.
pub(super) trait AccuracyProbe {
    /// Sets the engine's accuracy.
    fn set_accuracy(&mut self, accuracy: f64);
    /// Returns the relative errors of the force and of the sum that the value contains, measured against the exact sums on
    /// a sample of points.
    fn errors(&mut self) -> Result<[f64; 2]>;
    /// Returns the trace of the Hessian.
    fn curvature(&mut self) -> Result<f64>;
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
            (self.target, self.measured) = (self.tolerance, f64::NAN);
        }
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
    pub(super) fn update(&mut self, value: Option<f64>, probe: &mut dyn AccuracyProbe) -> Result<()> {
        if self.mode == Accuracy::Schedule && self.target > self.tolerance {
            let value = value.unwrap_or(f64::NAN);
            let progress = (self.value - value) / value.abs();
            self.value = value;
            // Without two values to compare, progress is NaN and the target stays.
            // A lack of any progress is an effect of noise, whatever the curvature.
            if progress <= 0.0 || progress < self.target && probe.curvature()? > 0.0 {
                self.target = progress.max(self.tolerance);
            }
        }
        self.requested = self.requested.min(self.target);
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
        // Far more accurate than needed: request less from the next measurement on.
        if self.measured < 0.2 * self.target {
            self.requested = (self.requested * 2.0).min(self.target);
        }
        Ok(())
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put("accuracy", [self.target, self.requested, self.measured, self.value_error, self.value].as_slice());
    }

    pub(super) fn restore(&mut self, archive: &Archive) -> Result<()> {
        let &[target, requested, measured, value_error, value] = archive.f64s("accuracy")? else {
            return Err(archive.invalid("the accuracy is not five numbers".into()));
        };
        let is_accuracy = |error: f64| error > 0.0 && error < 1.0;
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

    /// An engine whose true error is a constant times the requested one, down to a smallest request that it accepts.
    struct InaccurateEngine {
        requested: f64,
        min_request: f64,
        factor: f64,
        curvature: f64,
    }

    impl AccuracyProbe for InaccurateEngine {
        fn set_accuracy(&mut self, accuracy: f64) {
            self.requested = accuracy;
        }
        fn errors(&mut self) -> Result<[f64; 2]> {
            if self.requested < self.min_request {
                return Err(Error::Numerical { what: "an inaccurate sum", reason: "the request is too small".into() });
            }
            Ok([self.requested * self.factor, 0.0])
        }
        fn curvature(&mut self) -> Result<f64> {
            Ok(self.curvature)
        }
    }

    #[test]
    fn the_requested_accuracy_meets_the_tolerance() {
        let mut engine = InaccurateEngine { requested: 0.0, min_request: 0.0, factor: 30.0, curvature: 1.0 };
        let mut controller = AccuracyController::new(Accuracy::Fixed, 1e-3);
        controller.update(None, &mut engine).unwrap();
        assert!(controller.measured_error().unwrap() <= 1e-3 && controller.requested() > 1e-6);
        engine.factor = 0.01;
        let before = controller.requested();
        controller.update(None, &mut engine).unwrap();
        assert!(controller.requested() > before && controller.requested() <= 1e-3);
    }

    #[test]
    fn an_engine_that_cannot_meet_the_tolerance_keeps_its_best_accuracy() {
        let mut engine = InaccurateEngine { requested: 0.0, min_request: 1e-4, factor: 30.0, curvature: 1.0 };
        let mut controller = AccuracyController::new(Accuracy::Fixed, 1e-3);
        controller.update(None, &mut engine).unwrap();
        assert_eq!(
            (controller.requested(), controller.measured_error()),
            (1e-3, Some(3e-2)),
            "as before the failed attempt"
        );
        engine.min_request = 1e-2;
        assert!(controller.update(None, &mut engine).is_err(), "the first request fails too");
    }

    #[test]
    fn the_schedule_tightens_with_slower_progress_and_positive_curvature_only() {
        let mut engine = InaccurateEngine { requested: 0.0, min_request: 0.0, factor: 1.0, curvature: -1.0 };
        let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-4);
        for value in [10.0, 5.0, 4.9] {
            controller.update(Some(value), &mut engine).unwrap();
        }
        assert_eq!(controller.target, INITIAL_TARGET, "the curvature is negative");
        engine.curvature = 1.0;
        controller.update(Some(4.8), &mut engine).unwrap();
        assert!((controller.target - 0.1 / 4.8).abs() < 1e-12);
        controller.update(Some(2.4), &mut engine).unwrap();
        assert!((controller.target - 0.1 / 4.8).abs() < 1e-12, "never coarser again");
        controller.update(Some(2.5), &mut engine).unwrap();
        assert_eq!(controller.target, 1e-4, "no progress at all");
    }

    #[test]
    fn a_restored_controller_continues_identically() {
        let mut engine = InaccurateEngine { requested: 0.0, min_request: 0.0, factor: 3.0, curvature: 1.0 };
        let mut controller = AccuracyController::new(Accuracy::Schedule, 1e-3);
        controller.update(Some(3.0), &mut engine).unwrap();
        let mut archive = Archive::new(lowland_core::archive::ArchiveKind::Checkpoint);
        controller.save(&mut archive);
        let mut other = AccuracyController::new(Accuracy::Schedule, 1e-3);
        other.restore(&archive).unwrap();
        controller.update(Some(2.99), &mut engine).unwrap();
        other.update(Some(2.99), &mut engine).unwrap();
        assert_eq!(controller, other);
        archive.put("accuracy", [0.0; 5].as_slice());
        assert!(other.restore(&archive).is_err());
    }
}
