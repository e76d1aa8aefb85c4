//! Step 1 (Saul 2022): the sparse similarities, with virtual inputs where an input has none.

use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Metric, Result, Seed, Sparse};
use lowland_linalg::dense::power_of_two_near;
use lowland_linalg::{Csr, SvdOptions, svd_with};
use lowland_neighbors::cosine_similarity::{CosineSimilarity, thresholded_similarity};
use lowland_neighbors::nearest_to_with;

/// What the updates solve. Lengths are in units of [`Problem::unit`].
#[derive(Debug, Clone)]
pub struct Problem {
    /// `S` (eq 3), virtual inputs last.
    pub similar: Csr,
    /// The most that `Z` may sum to: `sum_ij [x_i.x_j - tau |x_i| |x_j|]` (eq 21, which prints the inequality reversed).
    pub cap: f64,
    /// The threshold.
    pub tau: f64,
    /// The inputs' coordinates along their leading singular vectors (eq 10), row-major.
    pub start: Vec<f64>,
    /// The length that counts as one.
    pub unit: f64,
    /// The row of the data that each input is, virtual ones left out.
    pub rows: Vec<u32>,
    /// Rows of the data; those not among `rows` are zero.
    pub total: usize,
    /// Dimensions of the map, of which the last may be zero.
    pub output_dim: usize,
}

/// What the similarities are like, before virtual inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Similarity {
    /// The threshold.
    pub tau: f64,
    /// Rows without a direction.
    pub zero_rows: usize,
    /// Rows with no other within the angle.
    pub isolated: usize,
    /// Rows with one other.
    pub single: usize,
    /// Others within the angle: median, mean and most.
    pub neighbors: [f64; 3],
    /// Share of all pairs, a row with itself included, that are not similar.
    pub sparsity: f64,
    /// Rows added.
    pub virtual_rows: usize,
    /// Rows without another that stay so: none were added for them.
    pub alone: usize,
}

impl Similarity {
    /// In words.
    pub fn describe(&self) -> String {
        let [median, mean, most] = self.neighbors;
        let mut text = format!(
            "tau {:.4} ({:.1} degrees): neighbours median {median}, mean {mean:.1}, most {most}; {:.2} % of the pairs are \
             dissimilar; {} rows have one neighbour, {} none",
            self.tau,
            self.tau.acos().to_degrees(),
            100.0 * self.sparsity,
            self.single,
            self.isolated
        );
        if self.virtual_rows > 0 {
            text.push_str(&format!(", and got {} virtual ones on the way to their nearest", self.virtual_rows));
        }
        if self.alone > 0 {
            text.push_str(&format!(
                "; {} of them stay alone: their nearest is opposite, or {MOST_STEPS} and more such angles away",
                self.alone
            ));
        }
        if self.zero_rows > 0 {
            text.push_str(&format!("; {} zero rows map to zero", self.zero_rows));
        }
        text
    }
}

impl Problem {
    /// The similarities of the rows beyond `tau`, for a map of `dim` dimensions.
    pub fn new(data: &Data, tau: f64, dim: usize, seed: Seed, progress: &mut Progress) -> Result<(Self, Similarity)> {
        let all = CosineSimilarity::new(data)?;
        let rows: Vec<usize> = (0..data.rows()).filter(|&i| all.norms()[i] > 0.0).collect();
        let whole = rows.len() == data.rows();
        let chosen = if whole { data.clone() } else { data.select(&rows) };
        let kept = if whole { all } else { CosineSimilarity::new(&chosen)? };
        let n = kept.rows();
        let mut pairs = kept.similar_pairs_with(tau, 0, &mut |done| progress(0.6 * done))?;
        let mut degrees = vec![0u32; n];
        pairs.iter().for_each(|pair| {
            degrees[pair.i as usize] += 1;
            degrees[pair.j as usize] += 1;
        });
        let (added, alone) = virtual_rows(&kept, &chosen, tau, &degrees, progress)?;
        let virtual_rows = added.as_ref().map_or(0, Data::rows);
        let summary = Similarity { virtual_rows, alone, ..summary(tau, data.rows(), &degrees) };
        drop(kept);
        let augmented = match added {
            Some(added) => stacked(&chosen, &added)?,
            None => chosen,
        };
        let cosines = CosineSimilarity::new(&augmented)?;
        if cosines.rows() > n {
            pairs.extend(cosines.similar_pairs_with(tau, n, &mut |done| progress(0.7 + 0.1 * done))?);
            pairs.sort_unstable_by_key(|pair| (pair.i, pair.j));
        }
        let unit = power_of_two_near(cosines.norms().iter().copied().fold(0.0, f64::max));
        let norms: Vec<f64> = cosines.norms().iter().map(|norm| norm / unit).collect();
        pairs.iter_mut().for_each(|pair| pair.dot = pair.dot / unit / unit);
        let similar = thresholded_similarity(&pairs, &norms, tau)?;
        drop(pairs);
        let cap = cap(&augmented, &norms, unit, tau);
        let wanted = dim.min(augmented.dim()).min(augmented.rows());
        let start = if wanted == 0 {
            Vec::new()
        } else {
            let options = SvdOptions { tolerance: 1e-7, max_iterations: 200, ..SvdOptions::default() };
            let parts = svd_with(&augmented, wanted, false, options, seed, &mut |done| progress(0.8 + 0.2 * done))?;
            parts.map().apply(&augmented)?.into_values().into_iter().map(|v| v / unit).collect()
        };
        let rows = rows.into_iter().map(|i| i as u32).collect();
        Ok((Self { similar, cap, tau, start, unit, rows, total: data.rows(), output_dim: dim }, summary))
    }

    /// Dimensions that the updates work with.
    pub fn dim(&self) -> usize {
        self.start.len() / self.similar.rows().max(1)
    }

    /// Coordinates of the inputs (`dim` columns) as a map of all rows: virtual inputs left out, zero rows at zero.
    pub fn place(&self, coordinates: &[f64], dim: usize) -> Embedding {
        let mut values = vec![0.0; self.total * self.output_dim];
        for (&row, point) in self.rows.iter().zip(coordinates.chunks_exact(dim.max(1))) {
            let to = &mut values[row as usize * self.output_dim..][..dim];
            to.iter_mut().zip(point).for_each(|(to, v)| *to = v * self.unit);
        }
        Embedding::new(values, self.output_dim).expect("whole rows")
    }
}

fn summary(tau: f64, total: usize, degrees: &[u32]) -> Similarity {
    let n = degrees.len();
    let mut sorted = degrees.to_vec();
    sorted.sort_unstable();
    let middle = |at: usize| f64::from(sorted.get(at).copied().unwrap_or(0));
    let sum: f64 = sorted.iter().map(|&d| f64::from(d)).sum();
    let count = |degree: u32| degrees.iter().filter(|d| **d == degree).count();
    Similarity {
        tau,
        zero_rows: total - n,
        isolated: count(0),
        single: count(1),
        neighbors: [
            (middle(n.saturating_sub(1) / 2) + middle(n / 2)) / 2.0,
            sum / n.max(1) as f64,
            sorted.last().map_or(0.0, |&d| f64::from(d)),
        ],
        sparsity: 1.0 - (sum + n as f64) / (n.max(1) as f64).powi(2),
        virtual_rows: 0,
        alone: 0,
    }
}

/// `|sum x|^2 - tau (sum |x|)^2`.
fn cap(data: &Data, norms: &[f64], unit: f64, tau: f64) -> f64 {
    let mut sum = vec![0.0; data.dim()];
    for i in 0..data.rows() {
        match data {
            Data::Dense(x) => sum.iter_mut().zip(x.row(i)).for_each(|(s, &v)| *s += f64::from(v) / unit),
            Data::Sparse(x) => {
                let (columns, values) = x.row(i);
                columns.iter().zip(values).for_each(|(&c, &v)| sum[c as usize] += f64::from(v) / unit);
            }
            Data::Text(_) => {}
        }
    }
    let lengths: f64 = norms.iter().sum();
    sum.iter().map(|s| s * s).sum::<f64>() - tau * lengths * lengths
}

/// Points on the way from each isolated row to its nearest, as many as bring every step within the angle: directions by
/// spherical interpolation, lengths linearly. (Interpolated linearly, the middle step would be too wide.) With them, how many rows
/// have no such way.
fn virtual_rows(
    cosines: &CosineSimilarity,
    data: &Data,
    tau: f64,
    degrees: &[u32],
    progress: &mut Progress,
) -> Result<(Option<Data>, usize)> {
    let isolated: Vec<usize> = (0..data.rows()).filter(|&i| degrees[i] == 0).collect();
    if isolated.is_empty() || data.rows() < 2 {
        return Ok((None, isolated.len()));
    }
    let near =
        nearest_to_with(&data.select(&isolated), data, 2, Metric::Cosine, &mut |done| progress(0.6 + 0.1 * done))?;
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut alone = 0;
    for (at, &i) in isolated.iter().enumerate() {
        let Some(j) = near.row(at).0.iter().map(|&j| j as usize).find(|&j| j != i) else {
            alone += 1;
            continue;
        };
        let angle = cosines.cosine(i, j).acos();
        let steps = (angle / tau.acos()).ceil();
        // Opposite rows have no way between them; a threshold near one would need too many steps.
        if !(angle.sin() > 1e-9) || !(2.0..=MOST_STEPS).contains(&steps) {
            alone += 1;
            continue;
        }
        let (from, to) = (cosines.norms()[i], cosines.norms()[j]);
        for step in 1..steps as usize {
            let share = step as f64 / steps;
            let length = (1.0 - share) * from + share * to;
            let weights = [(i, ((1.0 - share) * angle).sin() / from), (j, (share * angle).sin() / to)];
            let weights = weights.map(|(row, weight)| (row, weight * length / angle.sin()));
            combine(data, weights, &mut indices, &mut values);
            indptr.push(values.len());
        }
    }
    if indptr.len() == 1 {
        return Ok((None, alone));
    }
    let added = match data {
        Data::Dense(x) => Data::dense(values, x.dim())?,
        _ => Data::Sparse(Sparse::new(indptr, indices, values, data.dim())?),
    };
    Ok((Some(added), alone))
}

/// More virtual inputs than this for one row would outweigh it.
const MOST_STEPS: f64 = 64.0;

/// Appends a weighted sum of two rows; `indices` stays empty for dense rows.
fn combine(data: &Data, [(i, a), (j, b)]: [(usize, f64); 2], indices: &mut Vec<u32>, values: &mut Vec<f32>) {
    let sum = |x: f32, y: f32| (a * f64::from(x) + b * f64::from(y)) as f32;
    match data {
        Data::Dense(x) => values.extend(x.row(i).iter().zip(x.row(j)).map(|(&x, &y)| sum(x, y))),
        Data::Sparse(x) => {
            let ((first, xs), (second, ys)) = (x.row(i), x.row(j));
            let (mut p, mut q) = (0, 0);
            while p < first.len() || q < second.len() {
                let (c, d) = (first.get(p).copied().unwrap_or(u32::MAX), second.get(q).copied().unwrap_or(u32::MAX));
                indices.push(c.min(d));
                values.push(sum(if c <= d { xs[p] } else { 0.0 }, if d <= c { ys[q] } else { 0.0 }));
                p += usize::from(c <= d);
                q += usize::from(d <= c);
            }
        }
        Data::Text(_) => {}
    }
}

/// Rows below rows.
fn stacked(above: &Data, below: &Data) -> Result<Data> {
    match (above, below) {
        (Data::Dense(a), Data::Dense(b)) => Data::dense([a.values(), b.values()].concat(), a.dim()),
        (Data::Sparse(a), Data::Sparse(b)) => {
            let end = a.indices().len();
            let indptr = a.indptr().iter().copied().chain(b.indptr()[1..].iter().map(|at| end + at)).collect();
            let indices = [a.indices(), b.indices()].concat();
            Sparse::new(indptr, indices, [a.values(), b.values()].concat(), a.dim()).map(Data::Sparse)
        }
        _ => Ok(above.clone()),
    }
}
