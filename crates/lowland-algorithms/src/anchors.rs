//! Positions of an earlier map that rows keep, or are tied to, while the other rows move.

use lowland_core::{Embedding, Error, Points, Result};

/// Where every row starts, and which rows are tied to a position, and how strongly.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchors {
    start: Embedding,
    targets: Embedding,
    strengths: Vec<f64>,
}

impl Anchors {
    /// Creates the ties of all rows. A row of strength zero is free, one of infinite strength is held at its target, and others are
    /// attracted by their target: a strength of one is that of all their neighbors together. Free rows have no use for a target.
    pub fn new(start: Embedding, targets: Embedding, strengths: Vec<f64>) -> Result<Self> {
        for (what, expected, found) in [
            ("rows of the anchors' targets", start.rows(), targets.rows()),
            ("strengths of anchors (one per row)", start.rows(), strengths.len()),
            ("dimensions of the anchors' targets", start.dim(), targets.dim()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        if let Some(strength) = strengths.iter().find(|strength| strength.is_nan() || **strength < 0.0) {
            let (name, value) = ("anchor", strength.to_string());
            return Err(Error::Parameter { name, value, allowed: "at least 0".into() });
        }
        start.points().check_finite()?;
        let (dim, mut start) = (start.dim(), start.into_values());
        for (i, strength) in strengths.iter().enumerate() {
            if *strength > 0.0 {
                let target = Points::new(targets.row(i), targets.dim())?;
                target.check_finite().map_err(|error| match error {
                    Error::NotFinite { column, value, count, name, .. } => {
                        Error::NotFinite { row: i, column, value, count, name }
                    }
                    other => other,
                })?;
            }
            if strength.is_infinite() {
                start[i * dim..][..dim].copy_from_slice(targets.row(i));
            }
        }
        Ok(Self { start: Embedding::new(start, dim)?, targets, strengths })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.strengths.len()
    }

    /// Returns where the iterations start; rows that are held start at their target.
    pub fn start(&self) -> &Embedding {
        &self.start
    }

    /// Returns the target of a row.
    pub fn target(&self, row: usize) -> &[f64] {
        self.targets.row(row)
    }

    /// Returns the strength of each row's tie.
    pub fn strengths(&self) -> &[f64] {
        &self.strengths
    }

    /// Whether a row stays at its target.
    pub fn is_held(&self, row: usize) -> bool {
        self.strengths[row].is_infinite()
    }

    /// Number of rows that have a target.
    pub fn tied(&self) -> usize {
        self.strengths.iter().filter(|strength| **strength > 0.0).count()
    }

    /// Returns the map with the rows that are held exactly at their targets: sums and single precision may have rounded them.
    pub fn restore(&self, map: Embedding) -> Embedding {
        let (dim, mut values) = (map.dim(), map.into_values());
        for i in (0..self.rows()).filter(|&i| self.is_held(i)) {
            values[i * dim..][..dim].copy_from_slice(self.target(i));
        }
        Embedding::new(values, dim).expect("whole rows")
    }

    /// A number that depends on every position and strength.
    pub fn fingerprint(&self) -> u64 {
        let numbers = self.start.values().iter().chain(self.targets.values()).chain(&self.strengths);
        numbers
            .flat_map(|number| number.to_le_bytes())
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
