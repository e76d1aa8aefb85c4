//! The distance between two rows, in `f64`: the reference for every search.
//!
//! A search may filter with something faster, but the distances it returns, and the order of its neighbors, are those
//! of this file rounded to `f32`. The definitions are those of scipy and scikit-learn; where those give NaN (a constant
//! row under correlation, two zero rows under Bray-Curtis), the value is documented at the formula.

use std::cmp::Ordering;

use lowland_core::simd::simd_dispatch;

use super::levenshtein;
use lowland_core::{Data, Metric};

/// Returns the distance between row `i` of `data` and row `j` of `other`.
///
/// Rows of different kinds, and rows or columns that do not exist, give NaN. Under [`Metric::Precomputed`] it is cell
/// `(i, j)` of `data`, infinite where a sparse matrix has no entry.
pub fn distance(data: &Data, i: usize, other: &Data, j: usize, metric: Metric) -> f64 {
    let columns_agree = data.dim() == other.dim() || metric == Metric::Precomputed;
    if i >= data.rows() || j >= other.rows() || !columns_agree {
        return f64::NAN;
    }
    match (data, other) {
        (Data::Text(a), Data::Text(b)) => levenshtein::levenshtein(&a[i], &b[j]) as f64,
        (Data::Dense(a), _) if metric == Metric::Precomputed => a.row(i).get(j).map_or(f64::NAN, |&d| f64::from(d)),
        (Data::Sparse(a), _) if metric == Metric::Precomputed => {
            let (columns, lengths) = a.row(i);
            columns.binary_search(&(j as u32)).map_or(f64::INFINITY, |at| f64::from(lengths[at]))
        }
        (Data::Dense(a), Data::Dense(b)) => dense(metric, a.row(i), b.row(j)),
        (Data::Sparse(a), Data::Sparse(b)) => sparse(metric, a.row(i), b.row(j), a.dim()),
        _ => f64::NAN,
    }
}

/// Compares pairs (distance, index): by distance, ties by index.
pub(super) fn by_distance_then_index(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// Returns the distance between two dense rows of equal length.
#[simd_dispatch]
pub(super) fn dense(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    if metric == Metric::Haversine {
        return haversine(a, b);
    }
    distance_of_pair(metric, &DensePair { a, b })
}

/// Computes the distances from `a` to each of the rows laid end to end in `rows`, rounded to `f32`.
#[simd_dispatch]
pub(super) fn dense_many(metric: Metric, a: &[f32], rows: &[f32], out: &mut [f32]) {
    if metric == Metric::Haversine {
        rows.chunks_exact(a.len()).zip(out).for_each(|(b, out)| *out = haversine(a, b) as f32);
        return;
    }
    for (b, out) in rows.chunks_exact(a.len()).zip(out) {
        *out = distance_of_pair(metric, &DensePair { a, b }) as f32;
    }
}

/// Returns the distance between two sparse rows of a matrix with `dim` columns.
pub(super) fn sparse(metric: Metric, a: (&[u32], &[f32]), b: (&[u32], &[f32]), dim: usize) -> f64 {
    distance_of_pair(metric, &SparsePair { a, b, dim })
}

/// Two rows, iterated column by column.
trait RowPair: Sized {
    /// Sum of `term(a_c, b_c)` over all columns.
    fn sum(&self, term: impl Fn(f64, f64) -> f64) -> f64;
    /// Largest `term(a_c, b_c)`, at least zero.
    fn max(&self, term: impl Fn(f64, f64) -> f64) -> f64;
    /// Number of columns.
    fn columns(&self) -> usize;
}

#[inline(always)]
fn distance_of_pair<P: RowPair>(metric: Metric, pair: &P) -> f64 {
    let gap = |a: f64, b: f64| (a - b).abs();
    match metric {
        Metric::Euclidean | Metric::Mahalanobis => pair.sum(|a, b| (a - b) * (a - b)).sqrt(),
        Metric::Manhattan => pair.sum(gap),
        Metric::Chebyshev => pair.max(gap),
        Metric::Minkowski(p) => minkowski(pair, p),
        Metric::Cosine => one_minus_cosine(pair, 0.0, 0.0),
        Metric::Correlation => {
            let columns = pair.columns() as f64;
            one_minus_cosine(pair, pair.sum(|a, _| a) / columns, pair.sum(|_, b| b) / columns)
        }
        Metric::Hamming => pair.sum(|a, b| if a != b { 1.0 } else { 0.0 }) / pair.columns().max(1) as f64,
        Metric::Jaccard => {
            let either = pair.sum(|a, b| if a != 0.0 || b != 0.0 { 1.0 } else { 0.0 });
            let differ = pair.sum(|a, b| if (a != 0.0) != (b != 0.0) { 1.0 } else { 0.0 });
            if either == 0.0 { 0.0 } else { differ / either }
        }
        Metric::Canberra => pair.sum(|a, b| {
            let size = a.abs() + b.abs();
            if size == 0.0 { 0.0 } else { (a - b).abs() / size }
        }),
        // Infinite for b = -a, as in scipy; equal rows are at distance 0 even when they are zero (scipy: NaN).
        Metric::BrayCurtis => {
            let differ = pair.sum(gap);
            if differ == 0.0 { 0.0 } else { differ / pair.sum(|a, b| (a + b).abs()) }
        }
        Metric::Hellinger => hellinger(pair),
        // Handled by `distance` and `dense`.
        Metric::Levenshtein | Metric::Precomputed | Metric::Haversine => f64::NAN,
    }
}

/// Angle between two points on a sphere, given by latitude and longitude in radians; NaN for other rows.
fn haversine(a: &[f32], b: &[f32]) -> f64 {
    let (&[latitude, longitude], &[other_latitude, other_longitude]) = (a, b) else { return f64::NAN };
    let [latitude, longitude, other_latitude, other_longitude] =
        [latitude, longitude, other_latitude, other_longitude].map(f64::from);
    let half = |difference: f64| (0.5 * difference).sin().powi(2);
    let square =
        half(latitude - other_latitude) + latitude.cos() * other_latitude.cos() * half(longitude - other_longitude);
    2.0 * square.sqrt().min(1.0).asin()
}

/// Minkowski distance, scaled by the largest difference so that no power overflows or vanishes.
#[inline(always)]
fn minkowski<P: RowPair>(pair: &P, p: f64) -> f64 {
    let largest = pair.max(|a, b| (a - b).abs());
    if largest == 0.0 {
        return 0.0;
    }
    let scale = largest.recip();
    let gap = |a: f64, b: f64| (a - b).abs() * scale;
    let sum = if p == 1.0 {
        pair.sum(gap)
    } else if p == 2.0 {
        pair.sum(|a, b| gap(a, b) * gap(a, b))
    } else if p == 3.0 {
        pair.sum(|a, b| gap(a, b) * gap(a, b) * gap(a, b))
    } else if p == 4.0 {
        pair.sum(|a, b| (gap(a, b) * gap(a, b)) * (gap(a, b) * gap(a, b)))
    } else {
        pair.sum(|a, b| gap(a, b).powf(p))
    };
    largest * sum.powf(p.recip())
}

/// `1 - <a, b> / (|a| |b|)` after subtracting the means; 1 if either row is zero (as scikit-learn for cosine).
///
/// Uses `sqrt(|a|^2 |b|^2)` instead of `|a| |b|`, so that equal rows give exactly zero.
#[inline(always)]
fn one_minus_cosine<P: RowPair>(pair: &P, mean_a: f64, mean_b: f64) -> f64 {
    let aa = pair.sum(|a, _| (a - mean_a) * (a - mean_a));
    let bb = pair.sum(|_, b| (b - mean_b) * (b - mean_b));
    let ab = pair.sum(|a, b| (a - mean_a) * (b - mean_b));
    if aa == 0.0 || bb == 0.0 { 1.0 } else { (1.0 - ab / (aa * bb).sqrt()).clamp(0.0, 2.0) }
}

/// `|sqrt p - sqrt q| / sqrt 2` for the rows scaled to sum one. A zero row is not a distribution: its distance is 0 to
/// other zero rows and 1 to all others (as in umap-learn).
#[inline(always)]
fn hellinger<P: RowPair>(pair: &P) -> f64 {
    let (sum_a, sum_b) = (pair.sum(|a, _| a), pair.sum(|_, b| b));
    if sum_a == 0.0 || sum_b == 0.0 {
        return if sum_a == sum_b { 0.0 } else { 1.0 };
    }
    let squared = pair.sum(|a, b| {
        let gap = (a / sum_a).sqrt() - (b / sum_b).sqrt();
        gap * gap
    });
    (squared / 2.0).sqrt().min(1.0)
}

struct DensePair<'a> {
    a: &'a [f32],
    b: &'a [f32],
}

/// Number of independent partial results, which lets the compiler use vectors and fixes the order of summation.
const LANES: usize = 16;

impl DensePair<'_> {
    #[inline(always)]
    fn fold(&self, term: impl Fn(f64, f64) -> f64, join: impl Fn(f64, f64) -> f64) -> f64 {
        let mut lanes = [0.0; LANES];
        let mut rest = (self.a, self.b);
        while fold_chunk::<LANES>(&mut lanes, &mut rest, &term, &join) {}
        fold_chunk::<8>(&mut lanes, &mut rest, &term, &join);
        fold_chunk::<4>(&mut lanes, &mut rest, &term, &join);
        fold_chunk::<2>(&mut lanes, &mut rest, &term, &join);
        fold_chunk::<1>(&mut lanes, &mut rest, &term, &join);
        let mut width = LANES / 2;
        while width > 0 {
            for l in 0..width {
                lanes[l] = join(lanes[l], lanes[l + width]);
            }
            width /= 2;
        }
        lanes[0]
    }
}

/// Folds the next `N` columns into the first `N` lanes; returns false if there are fewer.
#[inline(always)]
fn fold_chunk<const N: usize>(
    lanes: &mut [f64; LANES],
    rest: &mut (&[f32], &[f32]),
    term: impl Fn(f64, f64) -> f64,
    join: impl Fn(f64, f64) -> f64,
) -> bool {
    let (Some((a, a_rest)), Some((b, b_rest))) = (rest.0.split_first_chunk::<N>(), rest.1.split_first_chunk::<N>())
    else {
        return false;
    };
    for l in 0..N {
        lanes[l] = join(lanes[l], term(f64::from(a[l]), f64::from(b[l])));
    }
    *rest = (a_rest, b_rest);
    true
}

impl RowPair for DensePair<'_> {
    #[inline(always)]
    fn sum(&self, term: impl Fn(f64, f64) -> f64) -> f64 {
        self.fold(term, |x, y| x + y)
    }

    #[inline(always)]
    fn max(&self, term: impl Fn(f64, f64) -> f64) -> f64 {
        self.fold(term, |x, y| if y > x { y } else { x })
    }

    #[inline(always)]
    fn columns(&self) -> usize {
        self.a.len()
    }
}

struct SparsePair<'a> {
    a: (&'a [u32], &'a [f32]),
    b: (&'a [u32], &'a [f32]),
    dim: usize,
}

impl SparsePair<'_> {
    /// Visits the columns in which either row has an entry; returns their number.
    #[inline(always)]
    fn walk(&self, mut visit: impl FnMut(f64, f64)) -> usize {
        let ((a_columns, a), (b_columns, b)) = (self.a, self.b);
        let (mut x, mut y, mut visited) = (0, 0, 0);
        while x < a.len() || y < b.len() {
            let column_a = a_columns.get(x).copied().unwrap_or(u32::MAX);
            let column_b = b_columns.get(y).copied().unwrap_or(u32::MAX);
            let take_a = x < a.len() && (column_a <= column_b || y == b.len());
            let take_b = y < b.len() && (column_b <= column_a || x == a.len());
            visit(if take_a { f64::from(a[x]) } else { 0.0 }, if take_b { f64::from(b[y]) } else { 0.0 });
            x += usize::from(take_a);
            y += usize::from(take_b);
            visited += 1;
        }
        visited
    }
}

impl RowPair for SparsePair<'_> {
    #[inline(always)]
    fn sum(&self, term: impl Fn(f64, f64) -> f64) -> f64 {
        let mut sum = 0.0;
        let visited = self.walk(|a, b| sum += term(a, b));
        sum + (self.dim - visited) as f64 * term(0.0, 0.0)
    }

    #[inline(always)]
    fn max(&self, term: impl Fn(f64, f64) -> f64) -> f64 {
        let mut largest = 0.0;
        self.walk(|a, b| {
            let value = term(a, b);
            largest = if value > largest { value } else { largest };
        });
        largest
    }

    fn columns(&self) -> usize {
        self.dim
    }
}
