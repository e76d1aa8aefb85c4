//! The alternating updates (Saul 2022, section 2.2 and appendix A): `Z` from `L` entry by entry, `L` from `Z` by its largest
//! eigenpairs.

use super::gram::Gram;
use super::low_rank::{Effort, improve};
use super::problem::Problem;
use super::tiles::{OffPattern, Tiles};
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Result, Seed};
use lowland_linalg::{Csr, block};

/// How the updates are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlternatingOptions {
    /// Share of the last change of `Z` that is added to the next (eq 23).
    pub momentum: f64,
    /// Whether `Z` is stored, in tiles; else it is made from its factors whenever it is applied, and the momentum is that of `L`.
    pub dense: bool,
    /// Whether tiles are in double precision.
    pub double: bool,
    /// Residual of an eigenpair, relative to the largest, at which an update's eigenpairs are good enough.
    pub tolerance: f64,
    /// Times `Z` is applied in an update, beyond the first, at most.
    pub rounds: usize,
}

impl Default for AlternatingOptions {
    fn default() -> Self {
        Self { momentum: 0.9, dense: true, double: false, tolerance: 2e-6, rounds: 3 }
    }
}

/// `L = left right'`.
#[derive(Debug, Clone, PartialEq, Default)]
struct Factors {
    left: Vec<f64>,
    right: Vec<f64>,
    rank: usize,
}

/// The iterates before the momentum sets in (the released program: iterates 0, 1 and 2 are plain).
const PLAIN: usize = 3;
/// The first eigenpairs have no good basis to start from.
const FIRST_ROUNDS: usize = 60;

/// In a checkpoint: whether tiles are stored.
const KEPT: &str = "tsm/kept";

/// Columns that a product takes in one go.
const LANES: usize = 16;

/// Columns of the block for so many eigenpairs. They are far larger than all others, so that more are no help in themselves, but
/// a product takes no longer for them.
fn width(wanted: usize) -> usize {
    wanted.div_ceil(LANES).saturating_mul(LANES)
}

/// The updates, one at a time.
pub struct Alternating {
    problem: Problem,
    options: AlternatingOptions,
    tiles: Box<dyn Tiles>,
    /// `S - shift`, on the pattern of `S`.
    shifted: Csr,
    low: Factors,
    before: Factors,
    /// Columns that span the eigenvectors wanted, and some more.
    basis: Vec<f64>,
    width: usize,
    wanted: usize,
    /// What is added off the pattern, in the last update and in the one before: momentum acts on it too.
    shifts: [f64; 2],
    updates: usize,
    cost: f64,
    /// Sums of `S` and of its squares.
    similar_sums: [f64; 2],
}

impl Alternating {
    /// From eq 17, before the first update.
    pub fn new(problem: Problem, options: AlternatingOptions, seed: Seed) -> Result<Self> {
        let (n, wanted) = (problem.similar.rows(), problem.dim());
        let width = width(wanted);
        // A block that would fill a third of the space may as well fill it all: then the eigenpairs are exact.
        let width = if n <= 3 * width { n } else { width };
        let tiles: Box<dyn Tiles> = if options.double {
            Box::new(OffPattern::<f64>::new(&problem.similar, options.dense))
        } else {
            Box::new(OffPattern::<f32>::new(&problem.similar, options.dense))
        };
        let low = start(&problem);
        let noise = seed.stream("tsm basis").normals(n * width);
        let (spanned, have) = block::orthonormalize(low.right.clone(), low.rank, &[], 0)?;
        let have = have.min(width);
        let spanned = block::select_columns(&spanned, spanned.len() / n.max(1), &(0..have).collect::<Vec<_>>());
        let (more, added) = block::orthonormalize(noise, width, &spanned, have)?;
        let more = block::select_columns(&more, added, &(0..added.min(width - have)).collect::<Vec<_>>());
        let basis = block::concat_columns(&[(&spanned, have), (&more, added.min(width - have))], n);
        let values = problem.similar.values();
        let similar_sums = [ordered(values, |v| v), ordered(values, |v| v * v)];
        Ok(Self {
            shifted: problem.similar.clone(),
            before: low.clone(),
            width: have + added.min(width - have),
            wanted,
            shifts: [0.0; 2],
            updates: 0,
            cost: f64::INFINITY,
            problem,
            options,
            tiles,
            low,
            basis,
            similar_sums,
        })
    }

    /// Bytes for `n` rows in `dim` dimensions.
    pub fn memory(n: f64, dim: f64, options: &AlternatingOptions) -> f64 {
        let width = dim + LANES as f64;
        let tiles = if options.double {
            OffPattern::<f64>::memory(n, width, options.dense)
        } else {
            OffPattern::<f32>::memory(n, width, options.dense)
        };
        // A dozen blocks of three widths while the eigenpairs are improved.
        tiles + 36.0 * n * width * 8.0
    }

    /// Whether a checkpoint is one of updates with stored tiles.
    pub fn has_tiles(archive: &Archive) -> Result<bool> {
        Ok(archive.number(KEPT)? == 1)
    }

    /// Makes `Z` of `L`, then `L` of `Z`, and returns the root mean square of `Z - L`.
    ///
    /// Without stored tiles the momentum is that of `L`, `Z = Z~ + gamma (L - L_before)`, and the value is that of
    /// `Z~ - L` before the update: what eq 4 comes to at `L`.
    pub fn update(&mut self) -> Result<f64> {
        let momentum = if self.updates < PLAIN { 0.0 } else { self.options.momentum };
        let n = self.problem.similar.rows();
        let columns = self.width;
        let mut image = vec![0.0; n * columns];
        let low = (&self.low.left[..], &self.low.right[..], self.low.rank);
        let sums = self.tiles.advance(low, momentum, &self.basis, columns, &mut image);
        // Eqs 20-22, the inequality the right way round: the sum of Z is at most that of the inputs.
        let zeros = n as f64 * n as f64 - self.problem.similar.entries() as f64;
        let excess = self.similar_sums[0] + sums.clamped - self.problem.cap;
        let fresh = if excess > 0.0 && zeros > 0.0 { -excess / zeros } else { 0.0 };
        let kept = self.tiles.kept();
        let shift = fresh + if kept { momentum * (self.shifts[0] - self.shifts[1]) } else { 0.0 };
        self.shifts = [shift, self.shifts[0]];
        let entries = self.shifted.values_mut().iter_mut().zip(self.problem.similar.values());
        entries.for_each(|(value, similar)| *value = similar - shift);
        let square = self.similar_sums[1] + sums.square + 2.0 * shift * sums.linear + shift * shift * zeros;
        let basis = std::mem::take(&mut self.basis);
        add_pattern(&self.shifted, shift, &basis, columns, &mut image);
        // Stored tiles have had their momentum.
        let momentum = if kept { 0.0 } else { momentum };
        if !kept {
            self.cost = self.distance_to_low(square, &basis, &image);
        }
        add_momentum([&self.low, &self.before], momentum, &basis, columns, &mut image);
        let rounds = if self.updates == 0 { self.options.rounds.max(FIRST_ROUNDS) } else { self.options.rounds };
        let effort = Effort { wanted: self.wanted, tolerance: self.options.tolerance, rounds };
        let Self { tiles, shifted, low, before, width, .. } = &mut *self;
        let ritz = improve((basis, image, columns), *width, effort, &mut |x, columns| {
            let mut out = vec![0.0; x.len()];
            tiles.apply(x, columns, &mut out);
            add_pattern(shifted, shift, x, columns, &mut out);
            add_momentum([low, before], momentum, x, columns, &mut out);
            out
        })?;
        let first: Vec<usize> = (0..self.wanted).collect();
        let right = block::select_columns(&ritz.vectors, self.width, &first);
        let mut left = right.clone();
        block::multiply_columns(&mut left, &ritz.values[..self.wanted]);
        let low = Factors { left, right, rank: self.wanted };
        self.before = std::mem::replace(&mut self.low, low);
        self.basis = ritz.vectors;
        if kept {
            // <Z, L> = |L|^2 for Ritz pairs, however exact.
            let caught: f64 = ritz.values[..self.wanted].iter().map(|v| v * v).sum();
            self.cost = (square - caught).max(0.0).sqrt() / n as f64;
        }
        self.updates += 1;
        Ok(self.cost)
    }

    /// The root mean square of `Z~ - L`: `square` is `|Z~|^2`, and the basis, whose image is given, spans `L`.
    fn distance_to_low(&self, square: f64, basis: &[f64], image: &[f64]) -> f64 {
        let Factors { left, right, rank } = &self.low;
        let columns = self.width;
        let spanned = block::gram(basis, columns, right, *rank);
        let on_image = block::gram(image, columns, left, *rank);
        let cross: f64 = spanned.iter().zip(&on_image).map(|(a, b)| a * b).sum();
        let (l, r) = (block::gram(left, *rank, left, *rank), block::gram(right, *rank, right, *rank));
        let own: f64 = l.iter().zip(&r).map(|(a, b)| a * b).sum();
        (square - 2.0 * cross + own).max(0.0).sqrt() / self.problem.similar.rows() as f64
    }

    /// The Gram matrix of the map (step 3), from the `L` there is.
    pub fn gram(&self) -> Result<Gram> {
        Gram::new(&self.low.left, &self.low.right, self.low.rank, self.problem.tau, self.wanted)
    }

    /// The diagonal of `L`.
    pub fn diagonal(&self) -> Vec<f64> {
        super::gram::diagonal(&self.low.left, &self.low.right, self.low.rank)
    }
}

/// Adds `(S - shift P + shift 1 1') x`, `P` the pattern of `S`.
fn add_pattern(shifted: &Csr, shift: f64, x: &[f64], columns: usize, out: &mut [f64]) {
    shifted.multiply_add(x, columns, out);
    let total = shift * shifted.rows() as f64;
    let sums: Vec<f64> = block::column_means(x, columns).into_iter().map(|mean| mean * total).collect();
    out.chunks_exact_mut(columns).for_each(|row| row.iter_mut().zip(&sums).for_each(|(out, sum)| *out += sum));
}

/// Adds `momentum (L - L_before) x`.
fn add_momentum(factors: [&Factors; 2], momentum: f64, x: &[f64], columns: usize, out: &mut [f64]) {
    if momentum == 0.0 {
        return;
    }
    for (Factors { left, right, rank }, factor) in factors.into_iter().zip([momentum, -momentum]) {
        let mut inner = block::gram(right, *rank, x, columns);
        inner.iter_mut().for_each(|v| *v *= factor);
        let part = block::combine(left, *rank, &inner, columns);
        out.iter_mut().zip(&part).for_each(|(out, part)| *out += part);
    }
}

/// Sum in chunks, in order.
fn ordered(values: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    values.chunks(4096).map(|chunk| chunk.iter().map(|&v| term(v)).sum::<f64>()).sum()
}

/// Eq 17: `L = V V' - tau |v| |v|'`, of rank `d + 1`.
fn start(problem: &Problem) -> Factors {
    let (d, tau) = (problem.dim(), problem.tau);
    let rank = d + 1;
    let n = problem.similar.rows();
    let (mut left, mut right) = (Vec::with_capacity(n * rank), Vec::with_capacity(n * rank));
    for v in problem.start.chunks_exact(d) {
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        left.extend_from_slice(v);
        left.push(-tau * norm);
        right.extend_from_slice(v);
        right.push(norm);
    }
    Factors { left, right, rank }
}

impl Stepper for Alternating {
    fn step(&mut self) -> Result<Step> {
        if self.updates == 0 {
            self.update()?;
        }
        let before = self.cost;
        let cost = self.update()?;
        let change = if cost > 0.0 { (before - cost).abs() / cost } else { 0.0 };
        // The cost of a problem that has a solution can be rounding alone.
        Ok(Step { iteration: self.updates - 1, objective: cost * self.problem.unit * self.problem.unit, change })
    }

    fn embedding(&self) -> Embedding {
        match self.gram() {
            Ok(gram) => self.problem.place(&gram.coordinates(), self.wanted),
            Err(_) => self.problem.place(&vec![0.0; self.problem.similar.rows() * self.wanted], self.wanted),
        }
    }

    fn save(&self, archive: &mut Archive) {
        for (name, factors) in [("low", &self.low), ("before", &self.before)] {
            archive.put(format!("tsm/{name}/left"), factors.left.as_slice());
            archive.put(format!("tsm/{name}/right"), factors.right.as_slice());
        }
        archive.put("tsm/basis", self.basis.as_slice());
        archive.put("tsm/numbers", vec![self.shifts[0], self.shifts[1], self.cost]);
        archive.put("tsm/updates", self.updates as u64);
        archive.put(KEPT, u64::from(self.tiles.kept()));
        self.tiles.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let n = self.problem.similar.rows();
        let factors = |name: &str| -> Result<Factors> {
            let part = |side: &str| archive.finite(&format!("tsm/{name}/{side}")).map(<[f64]>::to_vec);
            let (left, right) = (part("left")?, part("right")?);
            let rank = left.len() / n;
            // The start has one more than the updates.
            let fits =
                left.len() == right.len() && left.len() == rank * n && (self.wanted..=self.wanted + 1).contains(&rank);
            if fits { Ok(Factors { left, right, rank }) } else { Err(archive.bad("its factors differ in size".into())) }
        };
        (self.low, self.before) = (factors("low")?, factors("before")?);
        let basis = archive.finite("tsm/basis")?;
        let &[shift, before, cost] = archive.finite("tsm/numbers")? else {
            return Err(archive.bad("'tsm/numbers' should hold three numbers".into()));
        };
        if basis.len() != self.basis.len() {
            return Err(archive.bad("its basis is of another size".into()));
        }
        self.basis = basis.to_vec();
        (self.shifts, self.cost) = ([shift, before], cost);
        self.updates = archive.size("tsm/updates")?;
        if Self::has_tiles(archive)? != self.tiles.kept() {
            return Err(archive.bad("its matrices are kept in another way".into()));
        }
        self.tiles.restore(archive)
    }
}
