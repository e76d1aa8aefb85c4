//! The coefficients of eqs 2-4 and the values of their series, for comparison with other implementations. Arrays of
//! `order^dim` numbers, one charge.

use super::expansion::{
    Expansion, ExpansionBasis, ExpansionShape, gather, spread, translate_axis, translate_last, translation_table,
};
use crate::Charges;
use crate::pairs::SourceColumns;
use lowland_core::Points;

/// `A` of eq 2: the Hermite coefficients of the sources about `center`.
pub fn hermite(sources: Points, charges: &[f64], center: &[f64], order: usize) -> Vec<f64> {
    source_coefficients(ExpansionBasis::Moment, sources, charges, center, order)
}

/// `C` of eq 3: the Taylor coefficients of the sources about `center`.
pub fn taylor(sources: Points, charges: &[f64], center: &[f64], order: usize) -> Vec<f64> {
    source_coefficients(ExpansionBasis::Derivative, sources, charges, center, order)
}

/// `C^` of eq 4: Hermite coefficients about `from` as Taylor coefficients about `to`.
pub fn translate(hermite: &[f64], from: &[f64], to: &[f64], order: usize) -> Vec<f64> {
    let shape = ExpansionShape { dim: from.len(), order, charges: 1 };
    let table = |axis: usize| {
        let mut table = vec![0.0; order * shape.width()];
        translation_table(shape, from[axis] - to[axis], &mut table);
        table
    };
    let mut now = vec![0.0; shape.len()];
    translate_last(shape, &table(shape.dim - 1), &with_padding(shape, hermite), &mut now);
    for axis in (0..shape.dim - 1).rev() {
        let mut next = vec![0.0; shape.len()];
        translate_axis(shape, axis, &table(axis), &now, &mut next);
        now = next;
    }
    without_padding(shape, &now)
}

/// Eq 2: a Hermite series about `center` at the targets.
pub fn hermite_values(hermite: &[f64], center: &[f64], targets: Points, order: usize) -> Vec<f64> {
    values(ExpansionBasis::Hermite, hermite, center, targets, order)
}

/// Eqs 3 and 4: a Taylor series about `center` at the targets.
pub fn taylor_values(taylor: &[f64], center: &[f64], targets: Points, order: usize) -> Vec<f64> {
    values(ExpansionBasis::Power, taylor, center, targets, order)
}

fn source_coefficients(
    basis: ExpansionBasis,
    sources: Points,
    charges: &[f64],
    center: &[f64],
    order: usize,
) -> Vec<f64> {
    let shape = ExpansionShape { dim: sources.dim(), order, charges: 1 };
    let sources = SourceColumns::new(sources, Charges { values: charges, per_point: 1 }, 1, |row| row);
    let mut out = vec![0.0; shape.len()];
    spread(Expansion { basis, shape, center }, &sources, 0..sources.rows(), &mut out);
    without_padding(shape, &out)
}

fn values(basis: ExpansionBasis, series: &[f64], center: &[f64], targets: Points, order: usize) -> Vec<f64> {
    let shape = ExpansionShape { dim: targets.dim(), order, charges: 1 };
    let mut out = vec![0.0; targets.rows()];
    gather(Expansion { basis, shape, center }, &with_padding(shape, series), targets.values(), &mut out);
    out
}

fn without_padding(shape: ExpansionShape, padded: &[f64]) -> Vec<f64> {
    padded.chunks_exact(shape.width()).flat_map(|row| &row[..shape.order]).copied().collect()
}

fn with_padding(shape: ExpansionShape, compact: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; shape.len()];
    for (out, row) in out.chunks_exact_mut(shape.width()).zip(compact.chunks_exact(shape.order)) {
        out[..shape.order].copy_from_slice(row);
    }
    out
}
