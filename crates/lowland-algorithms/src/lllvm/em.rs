//! Variational expectation-maximisation from one start (Park et al. 2015, eqs 6-11, S36-S77).
//!
//! Vectors of all points hold the first coordinate of every point, then the second, ...: entry `r n + i` is coordinate `r`
//! of point `i`. The maps are `dim n` rows of as many columns as the data have: row `r n + i` is column `r` of `C_i`.

use rayon::prelude::*;

use super::contract::{Sign, contract};
use super::posterior::{Numbers, Posterior};
use super::problem::Problem;
use lowland_core::params::ParamValue;
use lowland_core::{Error, Result, Seed};
use lowland_linalg::{dense, mirror_upper_triangle, spd_inverse};

/// The precision of the prior of the places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alpha {
    /// As given. The authors' program fixes it at 1e-3, whatever the paper says.
    Fixed(f64),
    /// Where the bound is largest, as the paper says. It tends to infinity, and the map to a point.
    Optimise,
}

impl ParamValue for Alpha {
    const EXPECTS: &'static str = "a positive number or optimise";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "optimise" | "optimize" => Some(Self::Optimise),
            _ => f64::parse(text).map(Self::Fixed),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Fixed(value) => value.show(),
            Self::Optimise => "optimise".into(),
        }
    }
}

/// Where alpha may lie when it is optimised.
const ALPHAS: std::ops::Range<f64> = 1e-5..500.0;

/// What to fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Dimensions of the map.
    pub dim: usize,
    /// The precision of the prior of the places.
    pub alpha: Alpha,
    /// The precision of the prior of the mean map (`epsilon`, eq 4).
    pub epsilon: f64,
}

impl Settings {
    /// As the authors' program has them.
    pub fn new(dim: usize, alpha: Alpha) -> Self {
        Self { dim, alpha, epsilon: 1e-3 }
    }
}

/// What EM begins with: a posterior of the maps, and the two parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// The means of the maps.
    pub means: Vec<f64>,
    /// Their covariance, shared by all columns of the data.
    pub covariance: Vec<f64>,
    /// The precision of the data.
    pub gamma: f64,
    /// The precision of the prior of the places.
    pub alpha: f64,
}

impl Start {
    /// The prior's covariance `(epsilon JJ' + 2 L)^-1`, with means that are random numbers times it.
    pub fn random(problem: &Problem, settings: Settings, seed: Seed) -> Self {
        let (n, columns) = (problem.points(), problem.columns());
        let side = n * settings.dim;
        let constant = 1.0 / (settings.epsilon * (n * n) as f64);
        let prior: Vec<f64> = problem.network.k.iter().map(|k| 0.5 * k + constant).collect();
        let mut covariance = vec![0.0; side * side];
        for r in 0..settings.dim {
            let blocks = covariance[r * n * side..].chunks_exact_mut(side).zip(prior.chunks_exact(n));
            blocks.for_each(|(row, prior)| row[r * n..(r + 1) * n].copy_from_slice(prior));
        }
        let mut means = vec![0.0; side * columns];
        let normals = seed.normals(side * columns);
        for (means, normals) in means.chunks_exact_mut(n * columns).zip(normals.chunks_exact(n * columns)) {
            dense::product_nn(&prior, normals, n, means);
        }
        let alpha = match settings.alpha {
            Alpha::Fixed(alpha) => alpha,
            Alpha::Optimise => 1.0,
        };
        Self { means, covariance, gamma: 1.0, alpha }
    }
}

/// Rows multiplied at once.
const PANEL: usize = 128;

/// The state of one start, and what is needed to improve it.
#[derive(Debug, Clone)]
pub struct Em<'a> {
    problem: &'a Problem,
    settings: Settings,
    pub(super) gamma: f64,
    pub(super) alpha: f64,
    pub(super) bound: f64,
    /// Change of the bound in the last step, for each value of the data.
    pub(super) change: f64,
    /// How far the places are apart beside how uncertain they are: squares, moving all of them together not counted.
    pub(super) clarity: f64,
    /// The means of the maps.
    pub(super) maps: Vec<f64>,
    /// Second moments: of the maps, `E[C'C]`, between steps; of the places within one.
    pub(super) moments: Vec<f64>,
    /// The means of the places.
    pub(super) places: Vec<f64>,
    /// `H'` (eq S62).
    pull: Vec<f64>,
    room: Vec<f64>,
}

/// What the bound needs to know of the places: of their posterior, and of its second moments.
struct PlaceSums {
    log_determinant: f64,
    trace: f64,
    roughness: f64,
}

impl<'a> Em<'a> {
    /// From a start.
    pub fn new(problem: &'a Problem, settings: Settings, start: Start) -> Result<Self> {
        let side = problem.points() * settings.dim;
        let columns = problem.columns();
        for (what, expected, values) in [
            ("means of the maps", side * columns, &start.means),
            ("covariance of the maps", side * side, &start.covariance),
        ] {
            if values.len() != expected || expected == 0 {
                return Err(Error::Shape { what, expected, found: values.len() });
            }
        }
        let mut em = Self {
            problem,
            settings,
            gamma: start.gamma,
            alpha: start.alpha,
            bound: f64::NEG_INFINITY,
            change: 1.0,
            clarity: f64::INFINITY,
            maps: start.means,
            moments: start.covariance,
            places: vec![0.0; side],
            pull: vec![0.0; side * columns],
            room: vec![0.0; side * side],
        };
        em.add_means_of_maps();
        Ok(em)
    }

    /// The bound on the evidence after the last step (eq S65).
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The precision of the data.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The precision of the prior of the places.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The means of the places.
    pub fn places(&self) -> &[f64] {
        &self.places
    }

    /// The means of the maps.
    pub fn maps(&self) -> &[f64] {
        &self.maps
    }

    /// The second moments of the maps.
    pub fn moments(&self) -> &[f64] {
        &self.moments
    }

    /// `H'` of the last update of the maps.
    pub fn pull(&self) -> &[f64] {
        &self.pull
    }

    fn side(&self) -> usize {
        self.places.len()
    }

    /// One iteration: places, maps, gamma, alpha; the bound with the new parameters.
    pub fn step(&mut self) -> Result<()> {
        let before = self.bound;
        let sums = self.update_places()?;
        let log_determinant = self.update_maps()?;
        self.update_parameters(&sums, log_determinant);
        let values = (self.problem.points() * self.problem.columns()) as f64;
        self.change = if before.is_finite() { (self.bound - before).abs() / values } else { 1.0 };
        Ok(())
    }

    /// `<A>` (S48), in place of the second moments of the maps.
    pub fn place_form(&mut self) -> &[f64] {
        self.form(Sign::Sum)
    }

    fn form(&mut self, sign: Sign) -> &[f64] {
        let (network, dim) = (&self.problem.network, self.settings.dim);
        contract(network, dim, sign, 0.5 * self.gamma, &mut self.moments, &mut self.room);
        &self.moments
    }

    /// `<b>` (S49).
    pub fn place_drive(&self) -> Vec<f64> {
        let (n, columns, rows) = (self.problem.points(), self.problem.columns(), &self.problem.rows);
        let map = |r: usize, i: usize| &self.maps[(r * n + i) * columns..(r * n + i + 1) * columns];
        let entry = |a: usize| -> f64 {
            let (r, i) = (a / n, a % n);
            let (own, y) = (map(r, i), rows.row(i));
            let edge = |&j: &u32| -> f64 {
                let (other, z) = (map(r, j as usize), rows.row(j as usize));
                (0..columns).map(|c| (own[c] + other[c]) * (y[c] - z[c])).sum()
            };
            self.gamma * self.problem.network.near(i).iter().map(edge).sum::<f64>()
        };
        (0..self.side()).into_par_iter().map(entry).collect()
    }

    /// `q(x)` given `q(C)` (eq 9). The second moments are those of the places afterwards.
    fn update_places(&mut self) -> Result<PlaceSums> {
        let log_determinant = self.posterior_of_places()?;
        let (n, side, places) = (self.problem.points() as f64, self.side(), &self.places);
        let variances: f64 = (0..side).map(|a| self.moments[a * side + a]).sum();
        self.clarity = dot((places, places)) / (variances - self.sum_of_blocks() / n);
        self.moments.par_chunks_mut(side).zip(places).for_each(|(row, own)| {
            row.iter_mut().zip(places).for_each(|(m, x)| *m += own * x);
        });
        let trace = (0..side).map(|a| self.moments[a * side + a]).sum();
        Ok(PlaceSums { log_determinant, trace, roughness: self.roughness() })
    }

    /// The covariance of `q(x)`, in place of the second moments, and its means; returns the covariance's log-determinant.
    pub(super) fn posterior_of_places(&mut self) -> Result<f64> {
        let drive = self.place_drive();
        self.place_form();
        let (side, alpha) = (self.side(), self.alpha);
        (0..side).for_each(|a| self.moments[a * side + a] += alpha);
        let log_determinant = -self.invert()?;
        let places = self.moments.par_chunks(side);
        self.places = places.map(|row| row.iter().zip(&drive).map(|(v, b)| v * b).sum()).collect();
        Ok(log_determinant)
    }

    /// Adds the Laplacian prior both posteriors have and inverts the second moments; returns the log-determinant.
    fn invert(&mut self) -> Result<f64> {
        let (n, side) = (self.problem.points(), self.side());
        for r in 0..self.settings.dim {
            self.problem.network.add_laplacian(2.0, &mut self.moments[r * n * (side + 1)..], side);
        }
        let log_determinant = spd_inverse(&mut self.moments, side, &mut self.room)?;
        std::mem::swap(&mut self.moments, &mut self.room);
        Ok(log_determinant)
    }

    /// `q(C)` given `q(x)` (eq 11, whose last factor must read Sigma_C). The second moments are those of the maps
    /// afterwards; returns the log-determinant of the covariance.
    fn update_maps(&mut self) -> Result<f64> {
        self.update_pull();
        self.form(Sign::Difference);
        let (n, side, columns) = (self.problem.points(), self.side(), self.problem.columns());
        for (a, row) in self.moments.chunks_exact_mut(side).enumerate() {
            row[a / n * n..(a / n + 1) * n].iter_mut().for_each(|v| *v += self.settings.epsilon);
        }
        let log_determinant = -self.invert()?;
        let (covariance, pull, gamma) = (&self.moments, &self.pull, self.gamma);
        let rows = self.maps.par_chunks_mut(PANEL * columns).zip(covariance.par_chunks(PANEL * side));
        rows.for_each(|(maps, covariance)| {
            dense::product_nn(covariance, pull, side, maps);
            maps.iter_mut().for_each(|v| *v *= gamma);
        });
        self.add_means_of_maps();
        Ok(log_determinant)
    }

    /// `H' = sum_j G_ij (x_j - x_i) (y_j - y_i)'` (S62).
    fn update_pull(&mut self) {
        let (n, columns, rows) = (self.problem.points(), self.problem.columns(), &self.problem.rows);
        let (places, network) = (&self.places, &self.problem.network);
        self.pull.par_chunks_mut(columns).enumerate().for_each(|(a, pull)| {
            let (first, i) = (a / n * n, a % n);
            pull.fill(0.0);
            for &j in network.near(i) {
                let step = places[first + j as usize] - places[a];
                let (y, z) = (rows.row(i), rows.row(j as usize));
                pull.iter_mut().zip(y.iter().zip(z)).for_each(|(pull, (y, z))| *pull += step * (z - y));
            }
        });
    }

    /// From the covariance of the maps to their second moments, `d_y Sigma_C + mu_C' mu_C` (S52).
    fn add_means_of_maps(&mut self) {
        let (side, columns) = (self.side(), self.problem.columns());
        add_products(&mut self.moments, side, columns as f64, &self.maps, columns, 1.0);
    }

    /// The sum over coordinates of `tr(L M)`.
    fn roughness(&self) -> f64 {
        let (n, side) = (self.problem.points(), self.side());
        let block = |r: usize| self.problem.network.laplacian_trace(&self.moments[r * n * (side + 1)..], side);
        (0..self.settings.dim).map(block).sum()
    }

    /// Gamma in closed form, alpha if it is free, and the bound with both.
    fn update_parameters(&mut self, places: &PlaceSums, maps_determinant: f64) {
        let (n, d, columns) = (self.problem.points() as f64, self.settings.dim as f64, self.problem.columns() as f64);
        let (epsilon, values) = (self.settings.epsilon, self.problem.network.values());
        let agreement: f64 =
            self.maps.par_chunks(4096).zip(self.pull.par_chunks(4096)).map(dot).collect::<Vec<_>>().iter().sum();
        // tr((epsilon JJ' + 2 L) E[C'C]), and from it tr(Gamma_L E[C'C]): Sigma_C is the inverse of the sum of Gamma and
        // this prior, and mu_C = gamma H Sigma_C.
        let prior = epsilon * self.sum_of_blocks() + 2.0 * self.roughness();
        let quadratic = 2.0 * (columns * n * d / self.gamma + agreement - prior / self.gamma);
        self.gamma = 0.5 * columns * (n - 1.0) / (0.25 * quadratic - agreement + self.problem.roughness);
        self.alpha = match self.settings.alpha {
            Alpha::Fixed(alpha) => alpha,
            Alpha::Optimise => best_alpha(values, d, places.trace),
        };
        let logs: f64 = values.iter().map(|w| w.ln()).sum();
        let likelihood = -0.5 * epsilon * self.problem.offset
            - self.gamma * (self.problem.roughness - agreement + 0.25 * quadratic)
            - 0.5 * n * columns * std::f64::consts::TAU.ln()
            + 0.5 * columns * (logs + (n * epsilon).ln() + (n - 1.0) * (2.0 * self.gamma).ln());
        let prior_determinant = d * (logs + (n - 1.0) * std::f64::consts::LN_2 + (n * epsilon).ln());
        let maps = 0.5 * columns * (maps_determinant + prior_determinant) - 0.5 * prior + 0.5 * n * d * columns;
        let spread: f64 = values.iter().map(|w| (self.alpha + 2.0 * w).ln()).sum::<f64>() + self.alpha.ln();
        let quadratic = self.alpha * places.trace + 2.0 * places.roughness;
        let places = 0.5 * places.log_determinant + 0.5 * d * spread - 0.5 * quadratic + 0.5 * n * d;
        self.bound = likelihood + maps + places;
    }

    /// The sum over coordinates of all entries of its block of second moments: `tr(JJ' M)`.
    fn sum_of_blocks(&self) -> f64 {
        let (n, side) = (self.problem.points(), self.side());
        let row = |(a, row): (usize, &[f64])| row[a / n * n..(a / n + 1) * n].iter().sum::<f64>();
        self.moments.par_chunks(side).enumerate().map(row).collect::<Vec<_>>().iter().sum()
    }

    /// The posterior: the maps as they are, and the places once more given those, which only raises the bound.
    pub fn finish(mut self) -> Result<Posterior> {
        let (side, columns) = (self.side(), self.problem.columns());
        let mut covariance = self.moments.clone();
        add_products(&mut covariance, side, 1.0, &self.maps, columns, -1.0);
        covariance.iter_mut().for_each(|v| *v /= columns as f64);
        self.posterior_of_places()?;
        let Self { settings, gamma, alpha, bound, places, moments, maps, .. } = self;
        let numbers = Numbers { dim: settings.dim, gamma, alpha, bound };
        Posterior::new(numbers, &places, &moments, &maps, &covariance)
    }
}

/// `scale matrix + factor rows rows'`.
fn add_products(matrix: &mut [f64], side: usize, scale: f64, rows: &[f64], columns: usize, factor: f64) {
    matrix.par_chunks_mut(PANEL * side).enumerate().for_each(|(at, panel)| {
        let first = at * PANEL;
        panel.iter_mut().for_each(|v| *v *= scale);
        let own = &rows[first * columns..][..panel.len() / side * columns];
        dense::product_nt_add(own, &rows[first * columns..], columns, factor, &mut panel[first..], side);
    });
    mirror_upper_triangle(matrix, side);
}

fn dot((a, b): (&[f64], &[f64])) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The root of `d sum 1 / (alpha + 2 omega) = tr(Sigma_x) + mu_x' mu_x` (S72), or the end of the range.
fn best_alpha(values: &[f64], dim: f64, trace: f64) -> f64 {
    let slope = |alpha: f64| dim * (1.0 / alpha + values.iter().map(|w| 1.0 / (alpha + 2.0 * w)).sum::<f64>()) - trace;
    let (mut low, mut high) = (ALPHAS.start, ALPHAS.end);
    if slope(high) >= 0.0 {
        return high;
    }
    // The slope falls: halving a logarithmic range sixty times leaves nothing of it.
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if slope(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}
