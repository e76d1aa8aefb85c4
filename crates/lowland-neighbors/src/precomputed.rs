//! Nearest neighbors from a precomputed matrix of distances.

use super::distance::by_distance_then_index;
use lowland_core::message::Remedy;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Error, Result};

/// Returns the `k` nearest of every row of a matrix of distances; `within` leaves out the diagonal.
pub(super) fn nearest(distances: &Data, k: usize, within: bool, progress: &mut Progress) -> Result<Vec<(f32, u32)>> {
    let rows = in_batches(distances.rows(), progress, |i| nearest_of_row(distances, i, k, within))?;
    let mut found = Vec::with_capacity(rows.len() * k);
    for row in rows {
        found.extend(row?);
    }
    Ok(found)
}

fn nearest_of_row(distances: &Data, i: usize, k: usize, within: bool) -> Result<Vec<(f32, u32)>> {
    let mut row: Vec<(f32, u32)> = match distances {
        Data::Dense(x) => x.row(i).iter().copied().zip(0..).collect(),
        Data::Sparse(x) => {
            let (columns, lengths) = x.row(i);
            lengths.iter().copied().zip(columns.iter().copied()).collect()
        }
        Data::Text(_) => Vec::new(),
    };
    if within {
        row.retain(|&(_, j)| j as usize != i);
    }
    if row.len() < k {
        return Err(Error::TooFewPoints {
            what: format!("row {i} of the precomputed distances, with n_neighbors = {k},"),
            needed: k,
            found: row.len(),
            remedies: vec![
                Remedy::FewerNeighbors,
                Remedy::Other("give more distances in each row (absent entries are not neighbors)"),
            ],
        });
    }
    if row.len() > k {
        row.select_nth_unstable_by(k, by_distance_then_index);
        row.truncate(k);
        // All rows are kept until the last one is read: with their full capacity they would be a second matrix.
        row.shrink_to_fit();
    }
    row.sort_unstable_by(by_distance_then_index);
    Ok(row)
}
