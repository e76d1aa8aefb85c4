//! Distance metrics.

use std::fmt;
use std::str::FromStr;

use super::{Data, Dense, Error, Result};

/// A distance between rows. The names are those of scikit-learn and scipy.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Metric {
    /// Straight-line distance.
    #[default]
    Euclidean,
    /// One minus the cosine of the angle.
    Cosine,
    /// Sum of absolute differences.
    Manhattan,
    /// Largest absolute difference.
    Chebyshev,
    /// `(sum |a-b|^p)^(1/p)`, `p >= 1`.
    Minkowski(f64),
    /// One minus Pearson's correlation.
    Correlation,
    /// Fraction of columns that differ.
    Hamming,
    /// One minus the fraction of nonzero columns that the two rows have in common.
    Jaccard,
    /// `sum |a-b| / (|a|+|b|)`.
    Canberra,
    /// `sum |a-b| / sum |a+b|`.
    BrayCurtis,
    /// Great-circle distance on the unit sphere between rows of latitude and longitude in radians.
    Haversine,
    /// Euclidean distance of rows that were transformed to unit covariance. A fit transforms the rows; elsewhere they must be
    /// transformed already.
    Mahalanobis,
    /// Hellinger distance of rows of nonnegative numbers, each scaled to sum to one.
    Hellinger,
    /// Number of insertions, deletions and substitutions between strings.
    Levenshtein,
    /// The data is a square matrix of distances.
    Precomputed,
}

/// Other names of metrics in scikit-learn and scipy.
const ALIASES: [(&str, Metric); 6] = [
    ("l2", Metric::Euclidean),
    ("l1", Metric::Manhattan),
    ("cityblock", Metric::Manhattan),
    ("infinity", Metric::Chebyshev),
    // Without a p, these are the Euclidean distance in scikit-learn.
    ("minkowski", Metric::Minkowski(2.0)),
    ("p", Metric::Minkowski(2.0)),
];

impl Metric {
    /// All metrics, for help texts. Minkowski represents its family.
    pub const ALL: [Metric; 15] = [
        Metric::Euclidean,
        Metric::Cosine,
        Metric::Manhattan,
        Metric::Chebyshev,
        Metric::Minkowski(3.0),
        Metric::Correlation,
        Metric::Hamming,
        Metric::Jaccard,
        Metric::Canberra,
        Metric::BrayCurtis,
        Metric::Hellinger,
        Metric::Haversine,
        Metric::Mahalanobis,
        Metric::Levenshtein,
        Metric::Precomputed,
    ];

    /// Whether the distance of two rows stays the same if the same vector is added to both.
    pub fn is_translation_invariant(self) -> bool {
        match self {
            Metric::Euclidean
            | Metric::Manhattan
            | Metric::Chebyshev
            | Metric::Minkowski(_)
            | Metric::Hamming
            | Metric::Mahalanobis => true,
            Metric::Cosine
            | Metric::Correlation
            | Metric::Jaccard
            | Metric::Canberra
            | Metric::BrayCurtis
            | Metric::Hellinger
            | Metric::Haversine
            | Metric::Levenshtein
            | Metric::Precomputed => false,
        }
    }

    /// Returns the rows as the metric compares them: without the offsets of the columns if it only depends on differences, with
    /// the offsets added otherwise.
    pub fn rows_to_compare(self, data: &Data) -> Data {
        if self.is_translation_invariant() { data.without_offsets() } else { data.unshifted() }
    }

    /// Returns an error if the metric is not defined for the data.
    pub fn check(self, data: &Data) -> Result<()> {
        let unusable = |reason: String| Err(Error::Metric { metric: self.to_string(), reason });
        match (self, data) {
            (Metric::Levenshtein, Data::Text(_)) => Ok(()),
            (Metric::Levenshtein, _) => {
                unusable("compares strings, but the data is numeric; use another metric".into())
            }
            (_, Data::Text(_)) => unusable("compares numbers; for strings use levenshtein".into()),
            (Metric::Precomputed, x) if x.rows() != x.dim() => {
                unusable(format!("needs a square matrix of distances, found {} x {}", x.rows(), x.dim()))
            }
            (Metric::Haversine, Data::Dense(x)) if x.dim() == 2 => match first_latitude_out_of_range(x) {
                Some((row, value)) => unusable(format!(
                    "needs latitudes from -pi/2 to pi/2 in the first column; row {row} is {value}. Convert degrees to radians"
                )),
                None => Ok(()),
            },
            (Metric::Haversine, x) => unusable(format!(
                "needs two dense columns, latitude and longitude in radians; the data is {}, with {} columns",
                x.kind(),
                x.dim()
            )),
            (Metric::Mahalanobis, Data::Sparse(_)) => unusable("needs dense rows; use another metric".into()),
            (Metric::Hellinger, x) => match first_negative(x) {
                Some((row, column)) => unusable(format!("needs values >= 0; row {row}, column {column} is negative")),
                None => Ok(()),
            },
            (Metric::Precomputed, x) => match first_negative(x) {
                Some((row, column)) => {
                    unusable(format!("needs distances >= 0; row {row}, column {column} is negative"))
                }
                None => match first_asymmetric(x) {
                    Some((i, j, [one, other])) => unusable(format!(
                        "needs symmetric distances; row {i}, column {j} is {one}, but row {j}, column {i} is {other}. Replace \
                         the matrix by the mean of itself and its transpose"
                    )),
                    None => Ok(()),
                },
            },
            _ => Ok(()),
        }
    }
}

/// Two distances of the same points may differ by this share of the largest distance: those that were computed from inner
/// products in single precision differ by up to about half of it.
const SYMMETRY_TOLERANCE: f32 = 1e-3;

/// The first row and column of a square matrix whose value differs from the transposed one, and both values. An entry that
/// a sparse matrix has on one side only is accepted: a row need not list all distances.
fn first_asymmetric(data: &Data) -> Option<(usize, usize, [f32; 2])> {
    /// Side of the blocks that are compared at a time, so that columns are read from the cache.
    const BLOCK: usize = 64;
    let largest = |values: &[f32]| SYMMETRY_TOLERANCE * values.iter().copied().fold(0.0, f32::max);
    match data {
        Data::Dense(x) => {
            let (n, tolerance) = (x.rows(), largest(x.values()));
            let mut first: Option<(usize, usize)> = None;
            for rows in (0..n).step_by(BLOCK) {
                for columns in (rows..n).step_by(BLOCK) {
                    for i in rows..n.min(rows + BLOCK) {
                        let row = x.row(i);
                        for j in columns.max(i + 1)..n.min(columns + BLOCK) {
                            if (row[j] - x.row(j)[i]).abs() > tolerance && first.is_none_or(|first| (i, j) < first) {
                                first = Some((i, j));
                            }
                        }
                    }
                }
            }
            first.map(|(i, j)| (i, j, [x.row(i)[j], x.row(j)[i]]))
        }
        Data::Sparse(x) => {
            let tolerance = largest(x.values());
            let transposed = |i: usize, j: usize| {
                let (columns, values) = x.row(j);
                columns.binary_search(&(i as u32)).ok().map(|at| values[at])
            };
            (0..x.rows()).find_map(|i| {
                let (columns, values) = x.row(i);
                columns.iter().zip(values).find_map(|(&j, &one)| {
                    let other = transposed(i, j as usize).filter(|other| (one - other).abs() > tolerance)?;
                    Some((i, j as usize, [one, other]))
                })
            })
        }
        Data::Text(_) => None,
    }
}

/// The first row whose latitude is not between the poles, and the latitude; rounding is accepted.
fn first_latitude_out_of_range(x: &Dense) -> Option<(usize, f64)> {
    (0..x.rows()).map(|i| (i, x.value(i, 0))).find(|(_, latitude)| latitude.abs() > std::f64::consts::FRAC_PI_2 + 1e-6)
}

fn first_negative(data: &Data) -> Option<(usize, usize)> {
    match data {
        Data::Dense(x) => x.values().iter().position(|&v| v < 0.0).map(|at| (at / x.dim(), at % x.dim())),
        Data::Sparse(x) => (0..x.rows()).find_map(|i| {
            let (columns, values) = x.row(i);
            values.iter().position(|&v| v < 0.0).map(|at| (i, columns[at] as usize))
        }),
        Data::Text(_) => None,
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Metric::Euclidean => "euclidean",
            Metric::Cosine => "cosine",
            Metric::Manhattan => "manhattan",
            Metric::Chebyshev => "chebyshev",
            Metric::Minkowski(p) => return write!(f, "minkowski({p})"),
            Metric::Correlation => "correlation",
            Metric::Hamming => "hamming",
            Metric::Jaccard => "jaccard",
            Metric::Canberra => "canberra",
            Metric::BrayCurtis => "braycurtis",
            Metric::Hellinger => "hellinger",
            Metric::Haversine => "haversine",
            Metric::Mahalanobis => "mahalanobis",
            Metric::Levenshtein => "levenshtein",
            Metric::Precomputed => "precomputed",
        };
        f.write_str(name)
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if let Some(p) = name.strip_prefix("minkowski(").and_then(|rest| rest.strip_suffix(')')) {
            return match p.trim().parse::<f64>() {
                Ok(p) if p >= 1.0 && p.is_finite() => Ok(Metric::Minkowski(p)),
                _ => Err(Error::Parameter {
                    name: "metric",
                    value: name.into(),
                    allowed: "p of minkowski(p) must be at least 1".into(),
                }),
            };
        }
        if let Some((_, metric)) = ALIASES.iter().find(|(alias, _)| *alias == name) {
            return Ok(*metric);
        }
        let known = Self::ALL.into_iter().filter(|metric| !matches!(metric, Metric::Minkowski(_)));
        known.clone().find(|metric| metric.to_string() == name).ok_or_else(|| Error::Parameter {
            name: "metric",
            value: name.into(),
            allowed: format!(
                "one of {}, minkowski(p)",
                known.map(|metric| metric.to_string()).collect::<Vec<_>>().join(", ")
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Sparse;

    #[test]
    fn metrics_round_trip_through_their_names() {
        for metric in Metric::ALL {
            assert_eq!(metric.to_string().parse::<Metric>().unwrap(), metric);
        }
    }

    #[test]
    fn the_error_for_an_unknown_metric_lists_all_metrics() {
        assert!("euclid".parse::<Metric>().unwrap_err().to_string().contains("braycurtis"));
        assert!("minkowski(0.5)".parse::<Metric>().is_err());
        assert!("minkowski(nan)".parse::<Metric>().is_err());
    }

    #[test]
    fn the_names_of_scikit_learn_are_known() {
        for (alias, name) in [
            ("l2", "euclidean"),
            ("l1", "manhattan"),
            ("cityblock", "manhattan"),
            ("infinity", "chebyshev"),
            ("p", "minkowski(2)"),
        ] {
            assert_eq!(alias.parse::<Metric>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn haversine_needs_latitudes_in_radians() {
        let check = |values: Vec<f32>, dim| Metric::Haversine.check(&Data::dense(values, dim).unwrap());
        assert!(check(vec![0.5, 3.0], 2).is_ok());
        let error = check(vec![0.5, 3.0, 52.5, 13.4], 2).unwrap_err().to_string();
        assert!(error.contains("row 1 is 52.5") && error.contains("radians"), "{error}");
        assert!(check(vec![0.5, 3.0, 1.0], 3).unwrap_err().to_string().contains("two dense columns"));
    }

    #[test]
    fn only_levenshtein_accepts_strings() {
        let words = Data::text(vec!["a".into(), "b".into()]);
        let numbers = Data::dense(vec![1.0, -2.0], 1).unwrap();
        assert!(Metric::Levenshtein.check(&words).is_ok());
        assert!(Metric::Euclidean.check(&words).is_err());
        assert!(Metric::Levenshtein.check(&numbers).is_err());
        assert!(Metric::Hellinger.check(&numbers).unwrap_err().to_string().contains("row 1, column 0"));
    }
    #[test]
    fn precomputed_distances_must_be_symmetric() {
        let n = 150usize;
        let mut values: Vec<f32> = (0..n * n).map(|at| (at / n).abs_diff(at % n) as f32).collect();
        values[3 * n + 7] += 0.01;
        assert!(Metric::Precomputed.check(&Data::dense(values.clone(), n).unwrap()).is_ok(), "rounding is accepted");
        values[130 * n + 7] += 1.0;
        values[20 * n + 149] = 5.0;
        let error = Metric::Precomputed.check(&Data::dense(values, n).unwrap()).unwrap_err().to_string();
        assert!(error.contains("row 7, column 130 is 123, but row 130, column 7 is 124"), "{error}");
        // Row 2 lists no distance to point 0: that is no contradiction.
        let sparse =
            |other| Data::Sparse(Sparse::new(vec![0, 2, 3, 3], vec![1, 2, 0], vec![1.0, 2.0, other], 3).unwrap());
        assert!(Metric::Precomputed.check(&sparse(1.0)).is_ok());
        let error = Metric::Precomputed.check(&sparse(4.0)).unwrap_err().to_string();
        assert!(error.contains("row 0, column 1 is 1, but row 1, column 0 is 4"), "{error}");
    }
}
