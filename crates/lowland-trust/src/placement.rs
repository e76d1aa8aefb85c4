//! `jump` and `fragile`: how firmly the loss holds each point at its place (Liu, Ma & Zhong 2025).

use lowland_algorithms::affinity::entropic_affinities;

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Dense, Points, Result};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;

use super::field::RepulsionField;
use super::point_loss::{PointLoss, smallest_curvature};

/// The scores of placement.
pub(crate) struct Placement {
    /// How far the point moves when its row is moved, in units of the map's spacing.
    pub jump: Vec<f64>,
    /// Inverse of the smallest curvature of the point's loss.
    pub fragile: Vec<f64>,
    /// Factor that brings the map to the scale of the loss.
    pub scale: f64,
    pub perplexity: f64,
}

/// Neighbors from which the directions of a row are computed.
const LOCAL_ROWS: usize = 15;
/// Number of directions in which a row is moved, forward and back.
const DIRECTIONS: usize = 2;
/// Length of the move, in units of the distance to the last of [`LOCAL_ROWS`].
const MOVE: f64 = 1.0;
/// Neighbors at whose places a search begins.
const STARTS: usize = 3;
/// Rows that determine the scale of the map.
const SCALE_ROWS: usize = 200;
/// Curvatures below this, also negative ones, give the largest value of `fragile`.
const MIN_CURVATURE: f64 = 1e-3;

/// Computes the scores of a map in two dimensions of dense rows with Euclidean distances. The affinities are to the first
/// `degree` neighbors of `graph`, at least [`LOCAL_ROWS`]; `spacing` is the distance between neighboring points of the map.
pub(crate) fn place_points(
    data: &Dense,
    map: Points,
    graph: &NeighborGraph,
    degree: usize,
    spacing: f64,
    progress: &mut Progress,
) -> Result<Placement> {
    let n = map.rows();
    let perplexity = (degree as f64 / 3.0).min(30.0);
    let affinities = {
        let (mut columns, mut values) = (Vec::with_capacity(n * degree), Vec::with_capacity(n * degree));
        for i in 0..n {
            let (others, lengths) = graph.row(i);
            let mut row: Vec<(u32, f32)> =
                others[..degree].iter().copied().zip(lengths[..degree].iter().copied()).collect();
            row.sort_unstable_by_key(|entry| entry.0);
            columns.extend(row.iter().map(|entry| entry.0));
            values.extend(row.iter().map(|entry| f64::from(entry.1)));
        }
        entropic_affinities(Csr::new((0..=n).map(|i| i * degree).collect(), columns, values, n)?, perplexity)
    };
    progress(0.1)?;
    let (scale, kernel_mean) = fit_scale(map, &affinities.rows, spacing);
    let scaled: Vec<f64> = map.values().iter().map(|v| v * scale).collect();
    let scaled = Points::new(&scaled, 2)?;
    let field = RepulsionField::new(scaled)?;
    let loss = PointLoss { map: scaled, field: &field, repulsion: 1.0 / kernel_mean };
    progress(0.3)?;
    let score = |i: usize| {
        let (columns, weights) = affinities.rows.row(i);
        let own = [scaled.row(i)[0], scaled.row(i)[1]];
        let fragile = 1.0 / smallest_curvature(&loss.at(i, own, columns, weights)).max(MIN_CURVATURE);
        let farthest = |weights: &[f64]| {
            let place = best_place(&loss, i, own, columns, weights);
            (place[0] - own[0]).hypot(place[1] - own[1])
        };
        let mut jump = farthest(weights);
        let mut moved = vec![0.0; weights.len()];
        let length = MOVE * f64::from(graph.row(i).1[LOCAL_ROWS - 1]);
        let bandwidth = affinities.bandwidths[i];
        for direction in leading_directions(data, i, &graph.row(i).0[..LOCAL_ROWS]) {
            let along: Vec<f64> = columns.iter().map(|&j| project(data, i, j as usize, &direction)).collect();
            for sign in [length, -length] {
                // |x_j - x - s e|^2 = |x_j - x|^2 - 2 s e.(x_j - x) + s^2, and the last term is the same for all.
                for (moved, (&w, &along)) in moved.iter_mut().zip(weights.iter().zip(&along)) {
                    *moved = w.max(f64::MIN_POSITIVE).ln() + sign * along / (bandwidth * bandwidth);
                }
                let largest = moved.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                moved.iter_mut().for_each(|v| *v = (*v - largest).exp());
                let total: f64 = moved.iter().sum();
                moved.iter_mut().for_each(|v| *v /= total);
                jump = jump.max(farthest(&moved));
            }
        }
        (jump / (scale * spacing), fragile)
    };
    let scores = in_batches(n, &mut |done| progress(0.3 + 0.7 * done), score)?;
    let (jump, fragile) = scores.into_iter().unzip();
    Ok(Placement { jump, fragile, scale, perplexity })
}

/// Returns the minimum of the loss with the lowest value, of those near the place of the point and near the neighbors of
/// largest weight.
fn best_place(loss: &PointLoss, i: usize, own: [f64; 2], columns: &[u32], weights: &[f64]) -> [f64; 2] {
    let mut best = loss.minimize(i, own, columns, weights);
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let starts = STARTS.min(order.len() - 1);
    order.select_nth_unstable_by(starts, |&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
    order[..starts].sort_unstable();
    for &at in &order[..starts] {
        let there = loss.map.row(columns[at] as usize);
        // A start near a minimum that is known leads there again.
        if (there[0] - best.0[0]).hypot(there[1] - best.0[1]) < 1.0 {
            continue;
        }
        let found = loss.minimize(i, [there[0], there[1]], columns, weights);
        if found.1 < best.1 {
            best = found;
        }
    }
    best.0
}

/// Returns the scale at which the map has the smallest divergence from the affinities, and the mean over all points of the sum
/// of the kernel over the others, both from some of the rows.
fn fit_scale(map: Points, affinities: &Csr, spacing: f64) -> (f64, f64) {
    let n = map.rows();
    let step = n.div_ceil(SCALE_ROWS);
    let rows: Vec<usize> = (0..n).step_by(step).collect();
    let square = |i: usize, j: usize| {
        let (a, b) = (map.row(i), map.row(j));
        (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
    };
    let evaluate = |log_scale: f64| {
        let c = (2.0 * log_scale).exp();
        let parts: Vec<(f64, f64)> = rows
            .iter()
            .map(|&i| {
                let (columns, weights) = affinities.row(i);
                let attraction: f64 =
                    columns.iter().zip(weights).map(|(&j, w)| w * (c * square(i, j as usize)).ln_1p()).sum();
                let kernel = (0..n).map(|j| 1.0 / (1.0 + c * square(i, j))).sum::<f64>() - 1.0;
                (attraction, kernel)
            })
            .collect();
        let mean = |part: fn(&(f64, f64)) -> f64| parts.iter().map(part).sum::<f64>() / parts.len() as f64;
        let kernel = mean(|part| part.1);
        (mean(|part| part.0) + kernel.ln(), kernel)
    };
    // Golden-section search of the logarithm of the scale, in which neighboring points are 0.001 to 100 apart.
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = ((1e-3 / spacing).ln(), (1e2 / spacing).ln());
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (evaluate(a).0, evaluate(b).0);
    while high - low > 0.02 {
        if at_a < at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = evaluate(a).0;
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = evaluate(b).0;
        }
    }
    let log_scale = 0.5 * (low + high);
    (log_scale.exp(), evaluate(log_scale).1)
}

/// Returns unit vectors of the leading principal directions of rows around row `i`.
fn leading_directions(data: &Dense, i: usize, neighbors: &[u32]) -> Vec<Vec<f64>> {
    let own = data.row(i);
    let mut rows: Vec<Vec<f64>> = neighbors
        .iter()
        .map(|&j| data.row(j as usize).iter().zip(own).map(|(a, b)| f64::from(*a) - f64::from(*b)).collect())
        .collect();
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(DIRECTIONS);
    for _ in 0..DIRECTIONS {
        // Power iteration from the longest difference.
        let length = |row: &[f64]| row.iter().map(|v| v * v).sum::<f64>();
        let Some(longest) = rows.iter().max_by(|a, b| length(a).total_cmp(&length(b))) else { break };
        let mut direction = longest.clone();
        for _ in 0..8 {
            let mut next = vec![0.0; direction.len()];
            for row in &rows {
                let share: f64 = row.iter().zip(&direction).map(|(a, b)| a * b).sum();
                next.iter_mut().zip(row).for_each(|(n, v)| *n += share * v);
            }
            let size = length(&next).sqrt();
            if !(size > 0.0) {
                return found;
            }
            next.iter_mut().for_each(|v| *v /= size);
            direction = next;
        }
        for row in &mut rows {
            let share: f64 = row.iter().zip(&direction).map(|(a, b)| a * b).sum();
            row.iter_mut().zip(&direction).for_each(|(v, d)| *v -= share * d);
        }
        found.push(direction);
    }
    found
}

fn project(data: &Dense, i: usize, j: usize, direction: &[f64]) -> f64 {
    let rows = data.row(j).iter().zip(data.row(i));
    rows.zip(direction).map(|((a, b), d)| (f64::from(*a) - f64::from(*b)) * d).sum()
}

/// Returns why the scores cannot be computed, if they cannot.
pub(crate) fn unsupported(data: &Data, map: Points, euclidean: bool, degree: usize) -> Option<String> {
    match data {
        _ if map.dim() != 2 => {
            Some(format!("the loss is evaluated on maps of 2 dimensions, and this one has {}", map.dim()))
        }
        Data::Dense(_) if !euclidean => {
            Some("rows are moved along their differences, which needs the Euclidean metric".into())
        }
        Data::Dense(_) if degree < 2 * LOCAL_ROWS => {
            Some(format!("needs {} neighbors of each row, and there are {degree}", 2 * LOCAL_ROWS))
        }
        Data::Dense(_) => None,
        other => {
            Some(format!("rows are moved along their differences, which needs dense rows; these are {}", other.kind()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_directions_are_those_of_the_largest_variance() {
        let rows: Vec<f32> = (0..16)
            .flat_map(|i| {
                let t = f32::from(i as u8) - 8.0;
                [t, 0.3 * (t * 7.0).sin(), 0.01 * (t * 3.0).cos()]
            })
            .collect();
        let data = Data::dense(rows, 3).unwrap();
        let Data::Dense(data) = &data else { unreachable!() };
        let found = leading_directions(data, 8, &(0..16).filter(|&j| j != 8).collect::<Vec<u32>>());
        assert!(found[0][0].abs() > 0.999 && found[1][1].abs() > 0.99, "{found:?}");
        assert!((project(data, 8, 10, &[1.0, 0.0, 0.0]) - 2.0).abs() < 1e-6);
    }
}
