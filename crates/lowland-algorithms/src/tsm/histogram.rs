//! Angles between inputs (Saul 2022, figure 2): nearest neighbours against all other pairs, to choose the threshold by.

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Result, Seed};
use lowland_neighbors::cosine_similarity::{CosineSimilarity, TILE};

/// How many pairs have which angle.
#[derive(Debug, Clone, PartialEq)]
pub struct AngleHistogram {
    /// Pairs of a row and its nearest, by whole degrees from 0 to 180.
    pub nearest: Vec<u64>,
    /// All other pairs.
    pub others: Vec<u64>,
    /// Rows compared with all; fewer than there are when there are many.
    pub rows: usize,
    /// Pairs by cosine, in `FINE` steps from 1 down to -1.
    cosines: Vec<u64>,
    /// Rows that have a direction.
    total: usize,
}

/// Rows compared with all others, at most.
const ROWS: usize = 2048;
const FINE: usize = 20_000;
/// Rows counted together.
const TOGETHER: usize = 64;
/// Thresholds nearer to 1 or 0 than this say nothing.
const RANGE: [f64; 2] = [0.05, 0.995];

impl AngleHistogram {
    /// Of all rows, or of a sample of them against all.
    pub fn new(cosines: &CosineSimilarity, seed: Seed, progress: &mut Progress) -> Result<Self> {
        let directed: Vec<usize> = (0..cosines.rows()).filter(|&i| cosines.norms()[i] > 0.0).collect();
        let count = directed.len().min(ROWS);
        // Evenly spread, from a random row on: the order of the rows often means something.
        let offset = if directed.is_empty() { 0 } else { (seed.stream("angles").0 % directed.len() as u64) as usize };
        let sample: Vec<usize> =
            (0..count).map(|at| directed[(offset + at * directed.len() / count) % directed.len()]).collect();
        let parts = in_batches(count.div_ceil(TOGETHER), progress, |chunk| {
            let mut part = Self::empty();
            let mut line = vec![0f32; cosines.rows()];
            sample[chunk * TOGETHER..].iter().take(TOGETHER).for_each(|&i| part.add_row(cosines, i, &mut line));
            part
        })?;
        let mut out = Self { rows: count, total: directed.len(), ..Self::empty() };
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
        Self { nearest: vec![0; 180], others: vec![0; 180], rows: 0, cosines: vec![0; FINE + 1], total: 0 }
    }

    /// Counts one row against all others.
    fn add_row(&mut self, cosines: &CosineSimilarity, i: usize, line: &mut [f32]) {
        let n = cosines.rows();
        for start in (0..n).step_by(TILE * 8) {
            let columns = start..n.min(start + TILE * 8);
            cosines.fill_tile(i..i + 1, columns.clone(), &mut line[columns]);
        }
        let mut best: Option<f32> = None;
        for (j, &cosine) in line.iter().enumerate() {
            if j == i || cosines.norms()[j] == 0.0 {
                continue;
            }
            best = Some(best.map_or(cosine, |best| best.max(cosine)));
            self.others[degree(cosine)] += 1;
            self.cosines[((1.0 - f64::from(cosine.clamp(-1.0, 1.0))) * FINE as f64 / 2.0) as usize] += 1;
        }
        if let Some(bin) = best.map(degree) {
            self.nearest[bin] += 1;
            self.others[bin] -= 1;
        }
    }

    /// The cosine that the given share of all pairs (a row with itself included) exceeds: between .05 and .995, and no fewer
    /// than ten neighbours a row.
    pub fn threshold(&self, density: f64) -> f64 {
        let pairs = self.rows as f64 * self.total as f64;
        let share = density.max(10.0 / self.total.max(1) as f64).min(0.5);
        let mut left = share * pairs - self.rows as f64;
        let mut at = 0;
        while at < FINE && left > self.cosines[at] as f64 {
            left -= self.cosines[at] as f64;
            at += 1;
        }
        (1.0 - 2.0 * at as f64 / FINE as f64).clamp(RANGE[0], RANGE[1])
    }

    /// The share of all pairs (a row with itself included) whose cosine exceeds `tau`.
    pub fn share(&self, tau: f64) -> f64 {
        let last = ((1.0 - tau) * FINE as f64 / 2.0) as usize;
        let above: u64 = self.cosines.iter().take(last).sum();
        (above + self.rows as u64) as f64 / (self.rows as f64 * self.total as f64).max(1.0)
    }

    /// In words for a terminal: a line for every five degrees that have pairs, nearest and others, and the threshold marked.
    pub fn draw(&self, tau: f64) -> String {
        const WIDTH: usize = 5;
        let bins = |counts: &[u64]| counts.chunks(WIDTH).map(|bin| bin.iter().sum()).collect::<Vec<u64>>();
        let (nearest, others) = (bins(&self.nearest), bins(&self.others));
        let most = |counts: &[u64]| counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let bar = |count: u64, most: f64| "#".repeat((30.0 * count as f64 / most).round() as usize);
        let used = |bin: &usize| nearest[*bin] + others[*bin] > 0;
        let (first, last) = ((0..nearest.len()).find(used).unwrap_or(0), (0..nearest.len()).rfind(used).unwrap_or(0));
        let mark = (tau.acos().to_degrees() / WIDTH as f64) as usize;
        let mut text = format!("{:>9}  {:<30}  {}\n", "angle", "nearest neighbours", "other pairs");
        for bin in first..=last {
            let line = format!(
                "{:>3}-{:>3}{}  {:<30}  {}",
                bin * WIDTH,
                (bin + 1) * WIDTH,
                if bin == mark { " <" } else { "  " },
                bar(nearest[bin], most(&nearest)),
                bar(others[bin], most(&others)),
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

fn degree(cosine: f32) -> usize {
    (f64::from(cosine.clamp(-1.0, 1.0)).acos().to_degrees() as usize).min(179)
}
