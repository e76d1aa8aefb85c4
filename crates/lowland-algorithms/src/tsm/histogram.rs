//! Angles between inputs (Saul 2022, figure 2): nearest neighbors against all other pairs, for choosing the
//! threshold.

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Result, Seed};
use lowland_neighbors::cosine_similarity::{CosineSimilarity, TILE};

/// Counts of pairs by angle.
#[derive(Debug, Clone, PartialEq)]
pub struct AngleHistogram {
    /// Pairs of a row and its nearest neighbor, by whole degrees from 0 to 180.
    pub nearest: Vec<u64>,
    /// All other pairs.
    pub others: Vec<u64>,
    /// Number of rows compared with all others; a sample if there are many.
    pub rows: usize,
    /// Pairs by cosine, in `COSINE_BINS` steps from 1 down to -1.
    cosines: Vec<u64>,
    /// Number of nonzero rows.
    directed_rows: usize,
}

/// Maximum number of rows compared with all others.
const MAX_ROWS: usize = 2048;
/// Number of bins of the cosines.
const COSINE_BINS: usize = 20_000;
/// Rows counted in one task.
const ROWS_PER_TASK: usize = 64;
/// The range of thresholds; values nearer to 1 or 0 are not useful.
const THRESHOLD_RANGE: [f64; 2] = [0.05, 0.995];

impl AngleHistogram {
    /// Counts the angles of all rows, or of a sample of them, to all others.
    pub fn new(cosines: &CosineSimilarity, seed: Seed, progress: &mut Progress) -> Result<Self> {
        let directed: Vec<usize> = (0..cosines.rows()).filter(|&i| cosines.norms()[i] > 0.0).collect();
        let count = directed.len().min(MAX_ROWS);
        // Evenly spaced from a random row on, because the order of the rows often has a meaning.
        let offset = if directed.is_empty() { 0 } else { (seed.stream("angles").0 % directed.len() as u64) as usize };
        let sample: Vec<usize> =
            (0..count).map(|at| directed[(offset + at * directed.len() / count) % directed.len()]).collect();
        let parts = in_batches(count.div_ceil(ROWS_PER_TASK), progress, |chunk| {
            let mut part = Self::empty();
            let mut row_cosines = vec![0f32; cosines.rows()];
            sample[chunk * ROWS_PER_TASK..]
                .iter()
                .take(ROWS_PER_TASK)
                .for_each(|&i| part.add_row(cosines, i, &mut row_cosines));
            part
        })?;
        let mut out = Self { rows: count, directed_rows: directed.len(), ..Self::empty() };
        for part in parts {
            let pairs =
                [(&mut out.nearest, part.nearest), (&mut out.others, part.others), (&mut out.cosines, part.cosines)];
            for (all, part) in pairs {
                all.iter_mut().zip(part).for_each(|(all, part)| *all += part);
            }
        }
        Ok(out)
    }

    fn empty() -> Self {
        Self {
            nearest: vec![0; 180],
            others: vec![0; 180],
            rows: 0,
            cosines: vec![0; COSINE_BINS + 1],
            directed_rows: 0,
        }
    }

    /// Counts the angles of one row to all others.
    fn add_row(&mut self, cosines: &CosineSimilarity, i: usize, row_cosines: &mut [f32]) {
        let n = cosines.rows();
        for start in (0..n).step_by(TILE * 8) {
            let columns = start..n.min(start + TILE * 8);
            cosines.fill_tile(i..i + 1, columns.clone(), &mut row_cosines[columns]);
        }
        let mut best: Option<f32> = None;
        for (j, &cosine) in row_cosines.iter().enumerate() {
            if j == i || cosines.norms()[j] == 0.0 {
                continue;
            }
            best = Some(best.map_or(cosine, |best| best.max(cosine)));
            self.others[degree_bin(cosine)] += 1;
            self.cosines[((1.0 - f64::from(cosine.clamp(-1.0, 1.0))) * COSINE_BINS as f64 / 2.0) as usize] += 1;
        }
        if let Some(bin) = best.map(degree_bin) {
            self.nearest[bin] += 1;
            self.others[bin] -= 1;
        }
    }

    /// The cosine that the given fraction of all pairs (including a row with itself) exceeds: between .05 and .995,
    /// with at least ten neighbors per row.
    pub fn threshold(&self, density: f64) -> f64 {
        let pairs = self.rows as f64 * self.directed_rows as f64;
        let fraction = density.max(10.0 / self.directed_rows.max(1) as f64).min(0.5);
        let mut left = fraction * pairs - self.rows as f64;
        let mut at = 0;
        while at < COSINE_BINS && left > self.cosines[at] as f64 {
            left -= self.cosines[at] as f64;
            at += 1;
        }
        (1.0 - 2.0 * at as f64 / COSINE_BINS as f64).clamp(THRESHOLD_RANGE[0], THRESHOLD_RANGE[1])
    }

    /// The fraction of all pairs (including a row with itself) whose cosine exceeds `tau`.
    pub fn fraction_above(&self, tau: f64) -> f64 {
        let last = ((1.0 - tau) * COSINE_BINS as f64 / 2.0) as usize;
        let above: u64 = self.cosines.iter().take(last).sum();
        (above + self.rows as u64) as f64 / (self.rows as f64 * self.directed_rows as f64).max(1.0)
    }

    /// Renders the histogram as text: a line for every five degrees with pairs, nearest and others, and the
    /// threshold marked.
    pub fn to_text(&self, tau: f64) -> String {
        const WIDTH: usize = 5;
        let bins = |counts: &[u64]| counts.chunks(WIDTH).map(|bin| bin.iter().sum()).collect::<Vec<u64>>();
        let (nearest, others) = (bins(&self.nearest), bins(&self.others));
        let most = |counts: &[u64]| counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let bar = |count: u64, most: f64| "#".repeat((30.0 * count as f64 / most).round() as usize);
        let used = |bin: &usize| nearest[*bin] + others[*bin] > 0;
        let (first, last) = ((0..nearest.len()).find(used).unwrap_or(0), (0..nearest.len()).rfind(used).unwrap_or(0));
        let mark = (tau.acos().to_degrees() / WIDTH as f64) as usize;
        let mut text = format!("{:>9}  {:<30}  {}\n", "angle", "nearest neighbors", "other pairs");
        for bin in first..=last {
            let row_cosines = format!(
                "{:>3}-{:>3}{}  {:<30}  {}",
                bin * WIDTH,
                (bin + 1) * WIDTH,
                if bin == mark { " <" } else { "  " },
                bar(nearest[bin], most(&nearest)),
                bar(others[bin], most(&others)),
            );
            text.push_str(row_cosines.trim_end());
            text.push('\n');
        }
        text
    }
}

fn degree_bin(cosine: f32) -> usize {
    (f64::from(cosine.clamp(-1.0, 1.0)).acos().to_degrees() as usize).min(179)
}
