//! A set of points with an order of distances.

use lowland_core::simd::simd_dispatch;
use lowland_core::{Data, Metric, Points};
use lowland_neighbors::distance;

/// One side of a comparison: the data under a metric, or a map under the Euclidean distance.
#[derive(Debug, Clone, Copy)]
pub enum MetricSpace<'a> {
    /// Data under a metric.
    Data(&'a Data, Metric),
    /// A map.
    Map(Points<'a>),
}

impl MetricSpace<'_> {
    /// Number of points.
    pub fn rows(&self) -> usize {
        match self {
            MetricSpace::Data(data, _) => data.rows(),
            MetricSpace::Map(map) => map.rows(),
        }
    }

    /// Returns a number that orders pairs like their distance, in `f64`: the square for Euclidean distances, which
    /// avoids the root, otherwise the distance. It defines every rank in this crate; faster computations must agree
    /// with it.
    pub fn key(&self, i: usize, j: usize) -> f64 {
        match *self {
            MetricSpace::Data(Data::Dense(x), Metric::Euclidean | Metric::Mahalanobis) => {
                squared_distance(x.row(i), x.row(j))
            }
            MetricSpace::Data(data, metric) => distance(data, i, data, j, metric),
            MetricSpace::Map(map) => map.row(i).iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum(),
        }
    }

    /// Approximate cost of comparing a pair, in nanoseconds, to within a factor of about two. Decides between all rows
    /// and a sample.
    pub(super) fn pair_cost(&self) -> f64 {
        let rows = self.rows().max(1) as f64;
        match *self {
            MetricSpace::Map(map) => 1.0 + 0.03 * map.dim() as f64,
            MetricSpace::Data(Data::Dense(x), Metric::Euclidean | Metric::Cosine) => 1.0 + 0.03 * x.dim() as f64,
            MetricSpace::Data(Data::Dense(x), _) => 10.0 + 1.5 * x.dim() as f64,
            MetricSpace::Data(Data::Sparse(x), _) => 10.0 + 6.0 * x.values().len() as f64 / rows,
            MetricSpace::Data(Data::Text(lines), _) => {
                let length = lines.iter().map(|line| line.len() as f64).sum::<f64>() / rows;
                50.0 + 1.5 * length * length
            }
        }
    }
}

/// Squared distance in `f64`, in eight partial sums, so the order of additions is the same on every machine.
#[simd_dispatch]
fn squared_distance(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f64 = rest.map(|(&x, &y)| (f64::from(x) - f64::from(y)).powi(2)).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for ((sum, &x), &y) in sums.iter_mut().zip(a).zip(b) {
            let difference = f64::from(x) - f64::from(y);
            *sum += difference * difference;
        }
    }
    sums.iter().sum::<f64>() + rest
}
