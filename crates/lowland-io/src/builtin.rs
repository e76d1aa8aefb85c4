//! Built-in data sets: the digits, clusters, and surfaces with known coordinates.

mod generated;

use std::f64::consts::PI;

use lowland::{Data, Embedding, Error, Labels, Result, Seed};

use crate::options::{Header, ReadOptions};
use crate::table::Table;

/// A built-in data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// The name.
    pub name: &'static str,
    /// A one-line description.
    pub description: &'static str,
    /// Default number of rows.
    pub rows: usize,
    /// Number of columns.
    pub dim: usize,
}

const BUILTINS: [Builtin; 12] = [
    Builtin {
        name: "digits",
        description: "handwritten digits, 8 x 8 pixels (UCI, CC BY 4.0), with labels",
        rows: DIGITS,
        dim: 64,
    },
    Builtin {
        name: "swiss-roll",
        description: "a sheet rolled up in three dimensions, with its true coordinates",
        rows: 1500,
        dim: 3,
    },
    Builtin {
        name: "s-curve",
        description: "a sheet bent into an S in three dimensions, with its true coordinates",
        rows: 1500,
        dim: 3,
    },
    Builtin {
        name: "severed-sphere",
        description: "a sphere without its poles and a strip between them, with its true angles",
        rows: 1500,
        dim: 3,
    },
    Builtin {
        name: "blobs",
        description: "five Gaussian clusters in ten dimensions, with labels",
        rows: 1500,
        dim: 10,
    },
    Builtin {
        name: "torus",
        description: "the surface of a ring in three dimensions, with its two true angles",
        rows: 1500,
        dim: 3,
    },
    Builtin {
        name: "helix",
        description: "a closed curve wound eight times round a ring, with its true circle",
        rows: 1500,
        dim: 3,
    },
    Builtin {
        name: "gaussian",
        description: "one Gaussian without any clusters",
        rows: 3000,
        dim: generated::GAUSSIAN_DIM,
    },
    Builtin {
        name: "tree",
        description: "a tree of fifteen branches, with labels and the noise-free rows as truth",
        rows: 3000,
        dim: generated::DIM,
    },
    Builtin {
        name: "mixture",
        description: "pairs of Gaussian clusters at distances 2, 3, 4, 6, 8 and 12, with labels",
        rows: 3000,
        dim: generated::DIM,
    },
    Builtin {
        name: "unequal-density",
        description: "five separate Gaussian clusters of different spread, with labels",
        rows: 3000,
        dim: generated::DIM,
    },
    Builtin {
        name: "bridge",
        description: "two Gaussian clusters and a bridge of four percent of the rows, with labels",
        rows: 3000,
        dim: generated::DIM,
    },
];

const DIGITS: usize = 1797;
const BLOBS: usize = 5;
/// Largest standard deviation of the noise: draws of up to 30 standard deviations are within the range of 32-bit floats.
const MAX_NOISE: f64 = 1e37;

/// Returns the data sets that [`builtin`] can create.
pub fn builtins() -> &'static [Builtin] {
    &BUILTINS
}

/// Creates a data set by name. `noise` is the standard deviation of Gaussian noise added to every coordinate (0 unless given, 0.3 for
/// the tree; for Gaussian clusters their spread, 1 unless given). Row `i` is the same whatever the number of points.
pub fn builtin(name: &str, n_points: Option<usize>, noise: Option<f64>, seed: Seed) -> Result<Table> {
    let Some(known) = BUILTINS.iter().find(|builtin| builtin.name == name) else {
        return Err(Error::Parameter {
            name: "dataset",
            value: name.into(),
            allowed: format!("one of {}", BUILTINS.map(|builtin| builtin.name).join(", ")),
        });
    };
    let n = n_points.unwrap_or(known.rows);
    if n == 0 || (name == "digits" && n > DIGITS) || n > u32::MAX as usize {
        let most = if name == "digits" { DIGITS } else { u32::MAX as usize };
        return Err(Error::Parameter {
            name: "n_points",
            value: n.to_string(),
            allowed: format!("from 1 to {most} for {name}"),
        });
    }
    if let Some(noise) = noise.filter(|noise| !(0.0..=MAX_NOISE).contains(noise)) {
        return Err(Error::Parameter {
            name: "noise",
            value: format!("{noise:?}"),
            allowed: format!("a standard deviation from 0 to {MAX_NOISE:e}"),
        });
    }
    let seed = seed.stream(name);
    let mut table = match name {
        "digits" => digits(n, noise)?,
        "blobs" => blobs(n, noise.unwrap_or(1.0), seed)?,
        "gaussian" => generated::gaussian(n, noise.unwrap_or(1.0), seed)?,
        "tree" => generated::tree(n, noise.unwrap_or(0.3), seed)?,
        "mixture" => generated::mixture(n, noise.unwrap_or(1.0), seed)?,
        "unequal-density" => generated::unequal_density(n, noise.unwrap_or(1.0), seed)?,
        "bridge" => generated::bridge(n, noise.unwrap_or(1.0), seed)?,
        _ => surface(name, n, noise.unwrap_or(0.0), seed)?,
    };
    table.notes.push(format!("{name}: {}", known.description));
    Ok(table)
}

/// Draws a number from the uniform distribution on [0, 1).
fn uniform(seed: Seed, item: usize) -> f64 {
    // The 64 bits of `Seed::item` are well mixed; the top 53 make a double.
    (seed.item(item).0 >> 11) as f64 / (1u64 << 53) as f64
}

fn surface(name: &str, n: usize, noise: f64, seed: Seed) -> Result<Table> {
    let (draw_u, draw_v, draw_noise) = (seed.stream("u"), seed.stream("v"), seed.stream("noise"));
    let (mut values, mut truth) = (Vec::with_capacity(n * 3), Vec::with_capacity(n * 2));
    for i in 0..n {
        let (point, coordinates) = point_of(name, uniform(draw_u, i), uniform(draw_v, i));
        let jitter = if noise > 0.0 { draw_noise.item(i).normals(3) } else { vec![0.0; 3] };
        values.extend((0..3).map(|c| (point[c] + noise * jitter[c]) as f32));
        truth.extend(coordinates);
    }
    let mut table = Table::new(Data::dense(values, 3)?);
    table.truth = Some(Embedding::new(truth, 2)?);
    table.columns = Some(["x", "y", "z"].map(String::from).to_vec());
    Ok(table)
}

/// Returns a point of a surface and its true coordinates, from two numbers in [0, 1).
fn point_of(name: &str, u: f64, v: f64) -> ([f64; 3], [f64; 2]) {
    match name {
        // scikit-learn's make_swiss_roll. The true coordinate along the spiral is its arc length, so that the truth is
        // an isometric unrolling: s(t) = (t sqrt(1 + t^2) + asinh t) / 2.
        "swiss-roll" => {
            let (t, y) = (1.5 * PI * (1.0 + 2.0 * u), 21.0 * v);
            let arc = 0.5 * (t * (1.0 + t * t).sqrt() + t.asinh());
            ([t * t.cos(), y, t * t.sin()], [arc, y])
        }
        // scikit-learn's make_s_curve; t is its arc length already.
        "s-curve" => {
            let (t, y) = (3.0 * PI * (u - 0.5), 2.0 * v);
            ([t.sin(), y, t.signum() * (t.cos() - 1.0)], [t, y])
        }
        // scikit-learn's example plot_manifold_sphere: longitude p stops 0.55 short of a full turn, colatitude t keeps
        // pi/8 from either pole.
        "severed-sphere" => {
            let (p, t) = (u * (2.0 * PI - 0.55), PI / 8.0 + v * 0.75 * PI);
            ([t.sin() * p.cos(), t.sin() * p.sin(), t.cos()], [p, t])
        }
        // Radii 2 and 1; both angles uniform.
        "torus" => {
            let (a, b) = (2.0 * PI * u, 2.0 * PI * v);
            ([(2.0 + b.cos()) * a.cos(), (2.0 + b.cos()) * a.sin(), b.sin()], [a, b])
        }
        // The toroidal helix of Coifman and Lafon (2006); its true shape is a circle.
        _ => {
            let t = 2.0 * PI * u;
            let ring = 2.0 + (8.0 * t).cos();
            ([ring * t.cos(), ring * t.sin(), (8.0 * t).sin()], [t.cos(), t.sin()])
        }
    }
}

/// Creates clusters of equal size; their centers are uniform in the box from -10 to 10, as in make_blobs.
fn blobs(n: usize, spread: f64, seed: Seed) -> Result<Table> {
    const DIM: usize = 10;
    let (draw_center, draw_point) = (seed.stream("centres"), seed.stream("points"));
    let centers: Vec<f64> = (0..BLOBS * DIM).map(|item| 20.0 * uniform(draw_center, item) - 10.0).collect();
    let mut values = Vec::with_capacity(n * DIM);
    for i in 0..n {
        let center = &centers[(i % BLOBS) * DIM..][..DIM];
        let offsets = draw_point.item(i).normals(DIM);
        values.extend(center.iter().zip(offsets).map(|(c, offset)| (c + spread * offset) as f32));
    }
    let mut table = Table::new(Data::dense(values, DIM)?);
    table.labels = Some(Labels::new((0..n).map(|i| (i % BLOBS).to_string())));
    Ok(table)
}

fn digits(n: usize, noise: Option<f64>) -> Result<Table> {
    if let Some(noise) = noise {
        return Err(Error::Parameter {
            name: "noise",
            value: noise.to_string(),
            allowed: "the digits are measured, not made: leave it out".into(),
        });
    }
    let options = ReadOptions {
        label_column: Some("64".into()),
        header: Header::No,
        delimiter: Some(b','),
        max_rows: Some(n),
        ..Default::default()
    };
    let packed = include_bytes!("../assets/digits.csv.gz");
    let broken =
        |problem: crate::FileErrorKind| Error::Format { what: "built-in dataset", reason: problem.to_string() };
    let budget = crate::budget::Budget::unlimited();
    let text = crate::source::decompress_gzip(&packed[..], &budget).map_err(broken)?;
    crate::delimited::read(&text, b',', &options, &budget).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(name: &str, n: usize, noise: Option<f64>) -> Table {
        builtin(name, Some(n), noise, Seed(3)).unwrap()
    }

    fn dense(table: &Table) -> &lowland::data::Dense {
        match &table.data {
            Data::Dense(x) => x,
            other => panic!("{}", other.kind()),
        }
    }

    #[test]
    fn digits_are_the_1797_images_with_their_labels() {
        let table = builtin("digits", None, None, Seed(0)).unwrap();
        assert_eq!((table.rows(), table.data.dim()), (1797, 64));
        let labels = table.labels.as_ref().unwrap();
        assert_eq!(labels.names, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        assert_eq!(labels.codes[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(dense(&table).values().iter().map(|&v| f64::from(v)).sum::<f64>(), 561_718.0);
        assert_eq!(make("digits", 100, None).rows(), 100);
    }

    #[test]
    fn every_builtin_has_the_shape_it_announces_and_does_not_depend_on_the_number_of_points() {
        for known in builtins() {
            let (long, short) = (make(known.name, 50, None), make(known.name, 20, None));
            assert_eq!(long.data.dim(), known.dim, "{}", known.name);
            assert_eq!(dense(&long).values()[..20 * known.dim], *dense(&short).values(), "{}", known.name);
            assert!(long.truth.is_some() || long.labels.is_some());
            long.check_counts().unwrap();
        }
    }

    #[test]
    fn the_truth_of_the_sheets_is_isometric() {
        // Steps along u on the surface and in the truth have the same length, to second order.
        for name in ["swiss-roll", "s-curve"] {
            for step in 1..19 {
                let (u, h) = (f64::from(step) / 20.0, 1e-5);
                let ((p, s), (q, t)) = (point_of(name, u, 0.3), point_of(name, u + h, 0.3));
                let length = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                let (on_surface, in_truth) = (length(&p, &q), length(&s, &t));
                assert!((on_surface / in_truth - 1.0).abs() < 1e-4, "{name} at {u}: {on_surface} {in_truth}");
            }
        }
    }

    #[test]
    fn points_lie_on_their_surfaces_and_fill_them() {
        for (name, distance) in [
            ("severed-sphere", (|p: [f64; 3]| p.iter().map(|v| v * v).sum::<f64>() - 1.0) as fn([f64; 3]) -> f64),
            ("torus", |p| ((p[0].hypot(p[1]) - 2.0).powi(2) + p[2] * p[2]) - 1.0),
            ("helix", |p| ((p[0].hypot(p[1]) - 2.0).powi(2) + p[2] * p[2]) - 1.0),
            ("swiss-roll", |p| {
                let t = p[0].hypot(p[2]);
                (t * t.cos() - p[0]).abs() + f64::from(!(4.7..14.2).contains(&t) || !(0.0..21.0).contains(&p[1]))
            }),
        ] {
            let table = make(name, 400, None);
            for row in dense(&table).values().chunks(3) {
                let off = distance([row[0].into(), row[1].into(), row[2].into()]);
                assert!(off.abs() < 1e-4, "{name}: {row:?} is off by {off}");
            }
        }
        let roll = make("swiss-roll", 400, None);
        let heights: Vec<f32> = dense(&roll).values().chunks(3).map(|row| row[1]).collect();
        let mean = heights.iter().sum::<f32>() / 400.0;
        assert!((mean - 10.5).abs() < 1.0, "{mean}");
    }

    #[test]
    fn noise_beyond_32_bit_floats_is_rejected_and_the_largest_allowed_is_finite() {
        for noise in [1e300, 1.1e37, -1.0, f64::NAN, f64::INFINITY] {
            let error = builtin("blobs", Some(10), Some(noise), Seed(0)).err().unwrap().to_string();
            assert!(error.contains("from 0 to 1e37"), "{error}");
        }
        for name in ["blobs", "swiss-roll"] {
            make(name, 2000, Some(1e37)).data.check_finite().unwrap();
        }
    }

    #[test]
    fn noise_has_the_spread_asked_for() {
        let (clean, noisy) = (make("s-curve", 2000, None), make("s-curve", 2000, Some(0.1)));
        let pairs = dense(&clean).values().iter().zip(dense(&noisy).values());
        let variance = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / 6000.0;
        assert!((variance.sqrt() - 0.1).abs() < 0.005, "{variance}");
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_what_can() {
        assert!(builtin("mnist", None, None, Seed(0)).unwrap_err().to_string().contains("swiss-roll"));
        assert!(builtin("digits", Some(1798), None, Seed(0)).is_err());
        assert!(builtin("torus", Some(0), None, Seed(0)).is_err());
        assert!(builtin("torus", None, Some(f64::NAN), Seed(0)).is_err());
        assert!(builtin("digits", None, Some(0.1), Seed(0)).is_err());
    }
}
