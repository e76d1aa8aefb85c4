//! How accurately the repulsion is summed: the tolerance the user sets, the error that is measured, and the schedule.

use lowland_core::archive::Archive;
use lowland_core::params::choice;
use lowland_core::{Error, Result};

choice! {
    /// Whether the accuracy changes along the way.
    pub enum Accuracy ("fixed or schedule") {
        /// The tolerance holds from the first iteration on.
        Fixed = "fixed",
        /// Coarse at first, and as fine as the tolerance once the curvature is positive and progress has slowed down.
        Schedule = "schedule",
    }
}

/// Iterations between two looks at the error.
const PERIOD: usize = 25;
/// The coarsest the schedule begins with.
const COARSE: f64 = 0.1;
/// The finest that engines are asked for: rounding is not far below.
const FINEST: f64 = 1e-12;
/// Attempts to meet the target at one look.
const ATTEMPTS: usize = 6;

/// What the engine is asked for, so that the relative error of the repulsive force is what it should be now.
#[derive(Debug, Clone, PartialEq)]
pub struct AccuracyControl {
    mode: Accuracy,
    tolerance: f64,
    /// The relative error of the force that is wanted now.
    target: f64,
    /// What the engine is asked for.
    asked: f64,
    /// The error found at the last look.
    measured: f64,
    /// The relative error of the sum in the value, found then too.
    noise: f64,
    /// The objective at the last look.
    value: f64,
}

/// What [`AccuracyControl::look`] needs to know; all of it costs a sum or two.
pub(super) trait Measure {
    /// Sets the engine's accuracy.
    fn ask(&mut self, accuracy: f64);
    /// The relative errors, against the exact sums on a sample of points, of the force and of the sum in the value.
    fn errors(&mut self) -> Result<[f64; 2]>;
    /// The trace of the Hessian.
    fn curvature(&mut self) -> Result<f64>;
}

impl AccuracyControl {
    /// For a relative error of the force of at most `tolerance`.
    pub fn new(mode: Accuracy, tolerance: f64) -> Self {
        let target = match mode {
            Accuracy::Fixed => tolerance,
            Accuracy::Schedule => tolerance.max(COARSE),
        };
        Self { mode, tolerance, target, asked: target, measured: f64::NAN, noise: 0.0, value: f64::NAN }
    }

    /// The error allowed now.
    pub fn target(&self) -> f64 {
        self.target
    }

    /// The error found at the last look, if there was one.
    pub fn measured(&self) -> Option<f64> {
        (!self.measured.is_nan()).then_some(self.measured)
    }

    /// The relative error of the sum in the value, as found at the last look.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// What the engine is asked for.
    pub(super) fn asked(&self) -> f64 {
        self.asked
    }

    /// Whether this iteration takes a look.
    pub(super) fn due(&self, iteration: usize) -> bool {
        iteration % PERIOD == 1 || self.measured.is_nan()
    }

    /// Whether the schedule has not come down to the tolerance yet.
    pub fn coarse(&self) -> bool {
        self.target > self.tolerance
    }

    /// Ends the schedule: the tolerance holds from now on, and the next iteration takes a look.
    pub(super) fn refine(&mut self) {
        if self.coarse() {
            (self.target, self.measured) = (self.tolerance, f64::NAN);
        }
    }

    /// The objective has changed: its values before and after cannot be compared.
    pub(super) fn forget(&mut self) {
        self.value = f64::NAN;
    }

    /// Sets the target by the schedule, then the engine's accuracy by what is measured.
    ///
    /// Noise does harm only where the mean curvature is positive (Carreira-Perpiñán & Vladymyrov 2014, theorem 2.1), and
    /// matters only once it is as large as the progress: the error allowed is the share by which the objective fell since
    /// the last look, and never grows again.
    pub(super) fn look(&mut self, value: Option<f64>, measure: &mut dyn Measure) -> Result<()> {
        if self.mode == Accuracy::Schedule && self.target > self.tolerance {
            let value = value.unwrap_or(f64::NAN);
            let progress = (self.value - value) / value.abs();
            self.value = value;
            // Without two values to compare, progress is not a number and the target stays.
            // No progress at all is what noise does, whatever the curvature.
            if progress <= 0.0 || progress < self.target && measure.curvature()? > 0.0 {
                self.target = progress.max(self.tolerance);
            }
        }
        self.asked = self.asked.min(self.target);
        let mut possible = None;
        for attempt in 0..ATTEMPTS {
            measure.ask(self.asked);
            [self.measured, self.noise] = match (measure.errors(), possible) {
                // The engine can do no better than before: that is measured, and will be said.
                (Err(Error::Numerical { .. }), Some(asked)) => {
                    self.asked = asked;
                    break;
                }
                (errors, _) => errors?,
            };
            possible = Some(self.asked);
            if self.measured > self.target && attempt + 1 < ATTEMPTS && self.asked > FINEST {
                self.asked = (self.asked * (0.7 * self.target / self.measured).max(0.05)).max(FINEST);
            } else {
                break;
            }
        }
        // Far better than needed: ask for less from the next look on.
        if self.measured < 0.2 * self.target {
            self.asked = (self.asked * 2.0).min(self.target);
        }
        Ok(())
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put("accuracy", [self.target, self.asked, self.measured, self.noise, self.value].as_slice());
    }

    pub(super) fn restore(&mut self, archive: &Archive) -> Result<()> {
        let &[target, asked, measured, noise, value] = archive.f64s("accuracy")? else {
            return Err(archive.bad("the accuracy is not five numbers".into()));
        };
        if !(target > 0.0 && asked > 0.0 && noise >= 0.0) {
            return Err(archive.bad("the accuracy is negative".into()));
        }
        (self.target, self.asked, self.measured, self.noise, self.value) = (target, asked, measured, noise, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine whose true error is a constant times what is asked for, down to the finest it can do.
    struct Sloppy {
        asked: f64,
        finest: f64,
        factor: f64,
        curvature: f64,
    }

    impl Measure for Sloppy {
        fn ask(&mut self, accuracy: f64) {
            self.asked = accuracy;
        }
        fn errors(&mut self) -> Result<[f64; 2]> {
            if self.asked < self.finest {
                return Err(Error::Numerical { what: "a sloppy sum", reason: "too much to ask".into() });
            }
            Ok([self.asked * self.factor, 0.0])
        }
        fn curvature(&mut self) -> Result<f64> {
            Ok(self.curvature)
        }
    }

    #[test]
    fn the_engine_is_asked_for_as_much_as_meets_the_tolerance() {
        let mut engine = Sloppy { asked: 0.0, finest: 0.0, factor: 30.0, curvature: 1.0 };
        let mut control = AccuracyControl::new(Accuracy::Fixed, 1e-3);
        control.look(None, &mut engine).unwrap();
        assert!(control.measured().unwrap() <= 1e-3 && control.asked() > 1e-6);
        engine.factor = 0.01;
        let before = control.asked();
        control.look(None, &mut engine).unwrap();
        assert!(control.asked() > before && control.asked() <= 1e-3);
    }

    #[test]
    fn an_engine_that_cannot_meet_the_tolerance_does_what_it_can() {
        let mut engine = Sloppy { asked: 0.0, finest: 1e-4, factor: 30.0, curvature: 1.0 };
        let mut control = AccuracyControl::new(Accuracy::Fixed, 1e-3);
        control.look(None, &mut engine).unwrap();
        assert_eq!((control.asked(), control.measured()), (1e-3, Some(3e-2)), "as before the attempt");
        engine.finest = 1e-2;
        assert!(control.look(None, &mut engine).is_err(), "not even that");
    }

    #[test]
    fn the_schedule_tightens_with_slower_progress_and_positive_curvature_only() {
        let mut engine = Sloppy { asked: 0.0, finest: 0.0, factor: 1.0, curvature: -1.0 };
        let mut control = AccuracyControl::new(Accuracy::Schedule, 1e-4);
        for value in [10.0, 5.0, 4.9] {
            control.look(Some(value), &mut engine).unwrap();
        }
        assert_eq!(control.target(), COARSE, "the curvature is negative");
        engine.curvature = 1.0;
        control.look(Some(4.8), &mut engine).unwrap();
        assert!((control.target() - 0.1 / 4.8).abs() < 1e-12);
        control.look(Some(2.4), &mut engine).unwrap();
        assert!((control.target() - 0.1 / 4.8).abs() < 1e-12, "never coarser again");
        control.look(Some(2.5), &mut engine).unwrap();
        assert_eq!(control.target(), 1e-4, "no progress at all");
    }

    #[test]
    fn a_saved_control_goes_on_alike() {
        let mut engine = Sloppy { asked: 0.0, finest: 0.0, factor: 3.0, curvature: 1.0 };
        let mut control = AccuracyControl::new(Accuracy::Schedule, 1e-3);
        control.look(Some(3.0), &mut engine).unwrap();
        let mut archive = Archive::new(lowland_core::archive::Kind::Checkpoint);
        control.save(&mut archive);
        let mut other = AccuracyControl::new(Accuracy::Schedule, 1e-3);
        other.restore(&archive).unwrap();
        control.look(Some(2.99), &mut engine).unwrap();
        other.look(Some(2.99), &mut engine).unwrap();
        assert_eq!(control, other);
        archive.put("accuracy", [0.0; 5].as_slice());
        assert!(other.restore(&archive).is_err());
    }
}
