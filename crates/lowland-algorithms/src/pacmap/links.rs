//! Pairs of points from both of their ends, and the gradient of their loss.

use super::pair_loss::PairLoss;
use super::pairs::Pairs;
use lowland_cuda::PairEnds;

/// Number of pairs that are computed together.
const LANES: usize = 8;

/// For every point, the other ends of its pairs, whichever end drew them. A pair that both ends drew is there twice.
pub(super) struct Links {
    starts: Vec<usize>,
    ends: Vec<u32>,
}

impl Links {
    pub fn new(pairs: &Pairs) -> Self {
        let n = pairs.rows();
        let mut starts = vec![0; n + 1];
        for i in 0..n {
            starts[i + 1] += pairs.row(i).len();
            pairs.row(i).iter().for_each(|&j| starts[j as usize + 1] += 1);
        }
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = starts.clone();
        let mut ends = vec![0; starts[n]];
        for i in 0..n {
            for &j in pairs.row(i) {
                for (from, to) in [(i, j), (j as usize, i as u32)] {
                    ends[next[from]] = to;
                    next[from] += 1;
                }
            }
        }
        Self { starts, ends }
    }

    /// Returns the ends as a graphics card takes them.
    pub fn on_device(&self) -> PairEnds<'_> {
        PairEnds { starts: &self.starts, ends: &self.ends }
    }

    /// Number of ends: every pair has two.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline(always)]
    pub fn row(&self, i: usize) -> &[u32] {
        &self.ends[self.starts[i]..self.starts[i + 1]]
    }

    /// Returns the loss of the pairs of point `i`.
    pub fn loss(&self, points: &[f32], dim: usize, i: usize, pair_loss: impl PairLoss) -> f64 {
        let point = &points[i * dim..][..dim];
        let of = |&j: &u32| pair_loss.loss(f64::from(1.0 + square(point, &points[j as usize * dim..][..dim])));
        self.row(i).iter().map(of).sum()
    }
}

/// Adds the gradient by point `i` of the loss of its pairs with `ends`. `DIM` is the dimension, if the compiler is to know it,
/// or zero.
#[inline(always)]
pub(super) fn add_gradient<const DIM: usize>(
    points: &[f32],
    i: usize,
    ends: &[u32],
    pair_loss: impl PairLoss,
    gradient: &mut [f32],
) {
    if DIM == 0 {
        let dim = gradient.len();
        let point = &points[i * dim..][..dim];
        for &j in ends {
            let other = &points[j as usize * dim..][..dim];
            let factor = pair_loss.factor(1.0 + square(point, other));
            gradient.iter_mut().zip(point).zip(other).for_each(|((g, p), o)| *g += factor * (p - o));
        }
        return;
    }
    let point: [f32; DIM] = std::array::from_fn(|c| points[i * DIM + c]);
    let mut sums = [[0.0f32; LANES]; DIM];
    for batch in ends.chunks(LANES) {
        // The lanes without a pair have the point itself, which adds nothing.
        let mut differences = [[0.0f32; LANES]; DIM];
        for (lane, &j) in batch.iter().enumerate() {
            let other = &points[j as usize * DIM..][..DIM];
            (0..DIM).for_each(|c| differences[c][lane] = point[c] - other[c]);
        }
        let mut d = [1.0f32; LANES];
        for difference in &differences {
            (0..LANES).for_each(|lane| d[lane] += difference[lane] * difference[lane]);
        }
        let mut factors = [0.0f32; LANES];
        (0..LANES).for_each(|lane| factors[lane] = pair_loss.factor(d[lane]));
        for (sum, difference) in sums.iter_mut().zip(&differences) {
            (0..LANES).for_each(|lane| sum[lane] += factors[lane] * difference[lane]);
        }
    }
    gradient.iter_mut().zip(&sums).for_each(|(g, sum)| *g += sum.iter().sum::<f32>());
}

#[inline(always)]
pub(super) fn square(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
