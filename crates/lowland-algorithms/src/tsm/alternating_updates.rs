//! The alternating updates (Saul 2022, section 2.2 and appendix A): `Z` from `L` elementwise, and `L` from `Z` by
//! its largest eigenpairs.

use super::eigenpairs::{EigenpairOptions, improve_eigenpairs};
use super::gram::GramEigenpairs;
use super::off_pattern::{OffPatternMatrix, OffPatternTiles};
use super::problem::TsmProblem;
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Result, Seed};
use lowland_linalg::{Csr, block};

/// Options of the updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlternatingOptions {
    /// Fraction of the last change of `Z` that is added to the next one (eq 23).
    pub momentum: f64,
    /// Whether `Z` is stored, in tiles; otherwise it is computed from its factors whenever it is applied, and the
    /// momentum is that of `L`.
    pub store_tiles: bool,
    /// Whether tiles use double precision.
    pub double_precision: bool,
    /// Residual of an eigenpair, relative to the largest eigenvalue, at which the eigenpairs of an update are
    /// accurate enough.
    pub tolerance: f64,
    /// Maximum number of times that `Z` is applied per update, after the first.
    pub rounds: usize,
}

impl Default for AlternatingOptions {
    fn default() -> Self {
        Self { momentum: 0.9, store_tiles: true, double_precision: false, tolerance: 2e-6, rounds: 3 }
    }
}

/// A low-rank matrix `L = left right'`.
#[derive(Debug, Clone, PartialEq, Default)]
struct LowRankFactors {
    left: Vec<f64>,
    right: Vec<f64>,
    rank: usize,
}

/// Number of updates before the momentum sets in (in the authors' program, iterates 0, 1 and 2 have none).
const UPDATES_WITHOUT_MOMENTUM: usize = 3;
/// Maximum number of rounds for the first eigenpairs, which have no good basis to start from.
const INITIAL_ROUNDS: usize = 60;

/// Checkpoint key: whether tiles are stored.
const STORED_KEY: &str = "tsm/kept";

/// Number of columns that a product processes at once.
const LANES: usize = 16;

/// Number of block columns for a number of eigenpairs. These are far larger than all others, so that additional
/// columns do not speed up convergence, but a product takes no longer for them.
fn block_width(rank: usize) -> usize {
    rank.div_ceil(LANES).saturating_mul(LANES)
}

/// The state of the alternating updates.
pub struct AlternatingUpdates {
    problem: TsmProblem,
    options: AlternatingOptions,
    off_pattern: Box<dyn OffPatternMatrix>,
    /// `S - shift`, on the pattern of `S`.
    shifted: Csr,
    low_rank: LowRankFactors,
    previous: LowRankFactors,
    /// Columns that span the requested eigenvectors, and some more.
    basis: Vec<f64>,
    block_width: usize,
    rank: usize,
    /// The value added off the pattern in the last update and in the one before; it has momentum as well.
    shifts: [f64; 2],
    updates: usize,
    cost: f64,
    /// Sums of `S` and of its squares.
    similarity_sums: [f64; 2],
}

impl AlternatingUpdates {
    /// Starts from eq 17, before the first update.
    pub fn new(problem: TsmProblem, options: AlternatingOptions, seed: Seed) -> Result<Self> {
        let (n, rank) = (problem.similarities.rows(), problem.dim());
        let block_width = block_width(rank);
        // A block that would fill a third of the space fills all of it: then the eigenpairs are exact.
        let block_width = if n <= 3 * block_width { n } else { block_width };
        let off_pattern: Box<dyn OffPatternMatrix> = if options.double_precision {
            Box::new(OffPatternTiles::<f64>::new(&problem.similarities, options.store_tiles))
        } else {
            Box::new(OffPatternTiles::<f32>::new(&problem.similarities, options.store_tiles))
        };
        let low_rank = initial_factors(&problem);
        let noise = seed.stream("tsm basis").normals(n * block_width);
        let (spanned, have) = block::orthonormalize(low_rank.right.clone(), low_rank.rank, &[], 0)?;
        let have = have.min(block_width);
        let spanned = block::select_columns(&spanned, spanned.len() / n.max(1), &(0..have).collect::<Vec<_>>());
        let (more, added) = block::orthonormalize(noise, block_width, &spanned, have)?;
        let more = block::select_columns(&more, added, &(0..added.min(block_width - have)).collect::<Vec<_>>());
        let basis = block::concat_columns(&[(&spanned, have), (&more, added.min(block_width - have))], n);
        let values = problem.similarities.values();
        let similarity_sums = [sum_in_chunks(values, |v| v), sum_in_chunks(values, |v| v * v)];
        Ok(Self {
            shifted: problem.similarities.clone(),
            previous: low_rank.clone(),
            block_width: have + added.min(block_width - have),
            rank,
            shifts: [0.0; 2],
            updates: 0,
            cost: f64::INFINITY,
            problem,
            options,
            off_pattern,
            low_rank,
            basis,
            similarity_sums,
        })
    }

    /// Bytes needed for `n` rows in `dim` dimensions.
    pub fn memory(n: f64, dim: f64, options: &AlternatingOptions) -> f64 {
        let block_width = dim + LANES as f64;
        let off_pattern = if options.double_precision {
            OffPatternTiles::<f64>::memory(n, block_width, options.store_tiles)
        } else {
            OffPatternTiles::<f32>::memory(n, block_width, options.store_tiles)
        };
        // A dozen blocks of three widths while the eigenpairs are improved.
        off_pattern + 36.0 * n * block_width * 8.0
    }

    /// Returns whether a checkpoint was written by updates with stored tiles.
    pub fn has_tiles(archive: &Archive) -> Result<bool> {
        Ok(archive.number(STORED_KEY)? == 1)
    }

    /// Computes `Z` from `L`, then `L` from `Z`, and returns the root mean square of `Z - L`.
    ///
    /// Without stored tiles the momentum is that of `L`, `Z = Z~ + gamma (L - L_previous)`, and the value is that of
    /// `Z~ - L` before the update, which is eq 4 at `L`.
    pub fn update(&mut self) -> Result<f64> {
        let momentum = if self.updates < UPDATES_WITHOUT_MOMENTUM { 0.0 } else { self.options.momentum };
        let n = self.problem.similarities.rows();
        let columns = self.block_width;
        let mut image = vec![0.0; n * columns];
        let low_rank = (&self.low_rank.left[..], &self.low_rank.right[..], self.low_rank.rank);
        let sums = self.off_pattern.advance(low_rank, momentum, &self.basis, columns, &mut image);
        // Eqs 20-22, with the inequality corrected: the sum of Z is at most that of the inputs.
        let zeros = n as f64 * n as f64 - self.problem.similarities.entries() as f64;
        let excess = self.similarity_sums[0] + sums.clamped - self.problem.max_sum;
        let new_shift = if excess > 0.0 && zeros > 0.0 { -excess / zeros } else { 0.0 };
        let is_stored = self.off_pattern.is_stored();
        let shift = new_shift + if is_stored { momentum * (self.shifts[0] - self.shifts[1]) } else { 0.0 };
        self.shifts = [shift, self.shifts[0]];
        let entries = self.shifted.values_mut().iter_mut().zip(self.problem.similarities.values());
        entries.for_each(|(value, similarity)| *value = similarity - shift);
        let square = self.similarity_sums[1] + sums.square + 2.0 * shift * sums.linear + shift * shift * zeros;
        let basis = std::mem::take(&mut self.basis);
        add_pattern(&self.shifted, shift, &basis, columns, &mut image);
        // Stored tiles already include their momentum.
        let momentum = if is_stored { 0.0 } else { momentum };
        if !is_stored {
            self.cost = self.rms_distance_to_low_rank(square, &basis, &image);
        }
        add_momentum([&self.low_rank, &self.previous], momentum, &basis, columns, &mut image);
        let rounds = if self.updates == 0 { self.options.rounds.max(INITIAL_ROUNDS) } else { self.options.rounds };
        let eigenpair_options =
            EigenpairOptions { requested: self.rank, tolerance: self.options.tolerance, max_rounds: rounds };
        let Self { off_pattern, shifted, low_rank, previous, block_width, .. } = &mut *self;
        let ritz = improve_eigenpairs((basis, image, columns), *block_width, eigenpair_options, &mut |x, columns| {
            let mut out = vec![0.0; x.len()];
            off_pattern.apply(x, columns, &mut out);
            add_pattern(shifted, shift, x, columns, &mut out);
            add_momentum([low_rank, previous], momentum, x, columns, &mut out);
            out
        })?;
        let first: Vec<usize> = (0..self.rank).collect();
        let right = block::select_columns(&ritz.vectors, self.block_width, &first);
        let mut left = right.clone();
        block::multiply_columns(&mut left, &ritz.values[..self.rank]);
        let low_rank = LowRankFactors { left, right, rank: self.rank };
        self.previous = std::mem::replace(&mut self.low_rank, low_rank);
        self.basis = ritz.vectors;
        if is_stored {
            // <Z, L> = |L|^2 for Ritz pairs, however accurate.
            let captured: f64 = ritz.values[..self.rank].iter().map(|v| v * v).sum();
            self.cost = (square - captured).max(0.0).sqrt() / n as f64;
        }
        self.updates += 1;
        Ok(self.cost)
    }

    /// The root mean square of `Z~ - L`; `square` is `|Z~|^2`, and the basis, whose image is given, spans `L`.
    fn rms_distance_to_low_rank(&self, square: f64, basis: &[f64], image: &[f64]) -> f64 {
        let LowRankFactors { left, right, rank } = &self.low_rank;
        let columns = self.block_width;
        let spanned = block::gram(basis, columns, right, *rank);
        let image_products = block::gram(image, columns, left, *rank);
        let cross: f64 = spanned.iter().zip(&image_products).map(|(a, b)| a * b).sum();
        let (l, r) = (block::gram(left, *rank, left, *rank), block::gram(right, *rank, right, *rank));
        let own: f64 = l.iter().zip(&r).map(|(a, b)| a * b).sum();
        (square - 2.0 * cross + own).max(0.0).sqrt() / self.problem.similarities.rows() as f64
    }

    /// The Gram matrix of the map (step 3) of the current `L`.
    pub fn gram(&self) -> Result<GramEigenpairs> {
        GramEigenpairs::new(&self.low_rank.left, &self.low_rank.right, self.low_rank.rank, self.problem.tau, self.rank)
    }

    /// The diagonal of `L`.
    pub fn diagonal(&self) -> Vec<f64> {
        super::gram::diagonal(&self.low_rank.left, &self.low_rank.right, self.low_rank.rank)
    }
}

/// Adds `(S - shift P + shift 1 1') x`, with `P` the pattern of `S`.
fn add_pattern(shifted: &Csr, shift: f64, x: &[f64], columns: usize, out: &mut [f64]) {
    shifted.multiply_add(x, columns, out);
    let total = shift * shifted.rows() as f64;
    let sums: Vec<f64> = block::column_means(x, columns).into_iter().map(|mean| mean * total).collect();
    out.chunks_exact_mut(columns).for_each(|row| row.iter_mut().zip(&sums).for_each(|(out, sum)| *out += sum));
}

/// Adds `momentum (L - L_previous) x`.
fn add_momentum(factors: [&LowRankFactors; 2], momentum: f64, x: &[f64], columns: usize, out: &mut [f64]) {
    if momentum == 0.0 {
        return;
    }
    for (LowRankFactors { left, right, rank }, factor) in factors.into_iter().zip([momentum, -momentum]) {
        let mut inner = block::gram(right, *rank, x, columns);
        inner.iter_mut().for_each(|v| *v *= factor);
        let part = block::combine(left, *rank, &inner, columns);
        out.iter_mut().zip(&part).for_each(|(out, part)| *out += part);
    }
}

/// Sum in chunks, in a fixed order.
fn sum_in_chunks(values: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    values.chunks(4096).map(|chunk| chunk.iter().map(|&v| term(v)).sum::<f64>()).sum()
}

/// Eq 17: `L = V V' - tau |v| |v|'`, of rank `d + 1`.
fn initial_factors(problem: &TsmProblem) -> LowRankFactors {
    let (d, tau) = (problem.dim(), problem.tau);
    let rank = d + 1;
    let n = problem.similarities.rows();
    let (mut left, mut right) = (Vec::with_capacity(n * rank), Vec::with_capacity(n * rank));
    for v in problem.initial_coordinates.chunks_exact(d) {
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        left.extend_from_slice(v);
        left.push(-tau * norm);
        right.extend_from_slice(v);
        right.push(norm);
    }
    LowRankFactors { left, right, rank }
}

impl Stepper for AlternatingUpdates {
    fn step(&mut self) -> Result<Step> {
        if self.updates == 0 {
            self.update()?;
        }
        let previous = self.cost;
        let cost = self.update()?;
        let change = if cost > 0.0 { (previous - cost).abs() / cost } else { 0.0 };
        // The cost of a problem with an exact solution can consist of rounding errors only.
        Ok(Step { iteration: self.updates - 1, objective: cost * self.problem.unit * self.problem.unit, change })
    }

    fn embedding(&self) -> Embedding {
        match self.gram() {
            Ok(gram) => self.problem.to_embedding(&gram.coordinates(), self.rank),
            Err(_) => self.problem.to_embedding(&vec![0.0; self.problem.similarities.rows() * self.rank], self.rank),
        }
    }

    fn save(&self, archive: &mut Archive) {
        for (name, factors) in [("low", &self.low_rank), ("before", &self.previous)] {
            archive.put(format!("tsm/{name}/left"), factors.left.as_slice());
            archive.put(format!("tsm/{name}/right"), factors.right.as_slice());
        }
        archive.put("tsm/basis", self.basis.as_slice());
        archive.put("tsm/numbers", vec![self.shifts[0], self.shifts[1], self.cost]);
        archive.put("tsm/updates", self.updates as u64);
        archive.put(STORED_KEY, u64::from(self.off_pattern.is_stored()));
        self.off_pattern.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let n = self.problem.similarities.rows();
        let factors = |name: &str| -> Result<LowRankFactors> {
            let part = |side: &str| archive.finite(&format!("tsm/{name}/{side}")).map(<[f64]>::to_vec);
            let (left, right) = (part("left")?, part("right")?);
            let rank = left.len() / n;
            // The initial factors have one column more than those of the updates.
            let fits =
                left.len() == right.len() && left.len() == rank * n && (self.rank..=self.rank + 1).contains(&rank);
            if fits {
                Ok(LowRankFactors { left, right, rank })
            } else {
                Err(archive.invalid("its factors differ in size".into()))
            }
        };
        (self.low_rank, self.previous) = (factors("low")?, factors("before")?);
        let basis = archive.finite("tsm/basis")?;
        let &[shift, previous, cost] = archive.finite("tsm/numbers")? else {
            return Err(archive.invalid("'tsm/numbers' should hold three numbers".into()));
        };
        if basis.len() != self.basis.len() {
            return Err(archive.invalid("its basis is of another size".into()));
        }
        self.basis = basis.to_vec();
        (self.shifts, self.cost) = ([shift, previous], cost);
        self.updates = archive.size("tsm/updates")?;
        if Self::has_tiles(archive)? != self.off_pattern.is_stored() {
            return Err(archive.invalid("its matrices are kept in another way".into()));
        }
        self.off_pattern.restore(archive)
    }
}
