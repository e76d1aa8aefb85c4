//! Saving and restoring a solver.

use super::{EigenSolver, Phase};
use crate::EigenState;
use lowland_core::{Error, Result};

/// Phases in the order of their saved numbers.
const PHASES: [Phase; 5] = [Phase::Running, Phase::Converged, Phase::GaveUp, Phase::Dense, Phase::DenseFallback];

impl EigenSolver {
    /// Returns the state from which the iteration can be resumed.
    pub fn save(&self) -> EigenState {
        let phase = PHASES.iter().position(|p| *p == self.phase).unwrap_or(0);
        EigenState {
            vectors: self.x.clone(),
            images: self.ax.clone(),
            directions: self.p.clone(),
            direction_images: self.ap.clone(),
            numbers: [&self.ritz[..], &self.residuals, &[self.best]].concat(),
            counters: [self.width, self.p_columns, self.iterations, self.since_best, phase].map(|c| c as u64).to_vec(),
        }
    }

    /// Restores a saved state; the solver must have been created for the same operator with the same options.
    pub fn restore(&mut self, state: EigenState) -> Result<()> {
        let bad = |reason: &str| Error::Format { what: "state of an eigenvalue solver", reason: reason.into() };
        let &[width, directions, iterations, since_best, phase] = &state.counters[..] else {
            return Err(bad("it has the wrong number of counters"));
        };
        let phase = *PHASES.get(phase as usize).ok_or_else(|| bad("it is in no known phase"))?;
        let (width, directions) = (width as usize, directions as usize);
        let block = self.rows.checked_mul(width).ok_or_else(|| bad("its block is too wide"))?;
        let span = self.rows.checked_mul(directions).ok_or_else(|| bad("its block is too wide"))?;
        if iterations > u64::from(u32::MAX) || since_best > u64::from(u32::MAX) {
            return Err(bad("its counters are out of range"));
        }
        if width < self.options.wanted
            || width > self.rows
            || state.vectors.len() != block
            || state.images.len() != block
            || state.directions.len() != span
            || state.direction_images.len() != span
            || state.numbers.len() != 2 * width + 1
        {
            return Err(bad("its arrays do not fit the operator"));
        }
        self.width = width;
        self.p_columns = directions;
        self.iterations = iterations as usize;
        self.since_best = since_best as usize;
        self.phase = phase;
        self.ritz = state.numbers[..width].to_vec();
        self.residuals = state.numbers[width..2 * width].to_vec();
        self.best = state.numbers[2 * width];
        (self.x, self.ax) = (state.vectors, state.images);
        (self.p, self.ap) = (state.directions, state.direction_images);
        Ok(())
    }
}
