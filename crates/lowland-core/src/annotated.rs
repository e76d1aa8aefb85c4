//! An embedding with the annotations of its points.

use std::collections::HashMap;

use crate::{Embedding, Error, Points, Reliability, Result};

/// Class labels: one code per point, and the name of each class.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// Index into `names`, one per point.
    pub codes: Vec<u32>,
    /// Names of the classes.
    pub names: Vec<String>,
}

impl Labels {
    /// Creates labels from one text per point.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut builder = LabelsBuilder::default();
        texts.into_iter().for_each(|text| {
            builder.push(text.as_ref());
        });
        builder.finish()
    }

    /// Creates labels from one number per point. Integers are named without a decimal point.
    pub fn from_numbers(values: impl IntoIterator<Item = f64>) -> Self {
        Self::new(values.into_iter().map(|value| value.to_string()))
    }

    /// Returns the class name of point `i`.
    pub fn name(&self, i: usize) -> &str {
        &self.names[self.codes[i] as usize]
    }

    /// Returns the labels of the given points, in that order. Codes do not change.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { codes: rows.iter().map(|&i| self.codes[i]).collect(), names: self.names.clone() }
    }
}

/// Builds [`Labels`] point by point without storing one text per point.
#[derive(Debug, Default)]
pub struct LabelsBuilder {
    /// Code of each name, in the order of first appearance.
    classes: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl LabelsBuilder {
    /// Returns whether a class with this name has been added.
    pub fn contains(&self, text: &str) -> bool {
        self.classes.contains_key(text)
    }

    /// Adds a point with this class name.
    pub fn push(&mut self, text: &str) {
        let next = self.classes.len() as u32;
        let code = match self.classes.get(text) {
            Some(&code) => code,
            None => {
                self.classes.insert(text.into(), next);
                next
            }
        };
        self.codes.push(code);
    }

    /// Builds the labels. Classes are sorted by value if all names are numbers, and alphabetically otherwise.
    pub fn finish(self) -> Labels {
        let mut names = vec![String::new(); self.classes.len()];
        self.classes.into_iter().for_each(|(name, code)| names[code as usize] = name);
        let numbers: Option<Vec<f64>> = names.iter().map(|name| name.trim().parse().ok()).collect();
        let mut order: Vec<usize> = (0..names.len()).collect();
        match numbers {
            Some(numbers) => {
                order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]).then_with(|| names[a].cmp(&names[b])))
            }
            None => order.sort_by(|&a, &b| names[a].cmp(&names[b])),
        }
        let mut rank = vec![0; names.len()];
        order.iter().enumerate().for_each(|(new, &old)| rank[old] = new as u32);
        Labels {
            codes: self.codes.into_iter().map(|code| rank[code as usize]).collect(),
            names: order.iter().map(|&old| std::mem::take(&mut names[old])).collect(),
        }
    }
}

/// An embedding with optional annotations per point. Tables, pictures and pages are read from and written to this type.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnotatedEmbedding {
    /// The coordinates.
    pub embedding: Embedding,
    /// Standard deviation of each point.
    pub std: Option<Vec<f64>>,
    /// Covariance of each point: one row-major `dim x dim` matrix per point.
    pub covariances: Option<Vec<f64>>,
    /// Identifier of each point.
    pub ids: Option<Vec<String>>,
    /// Class of each point.
    pub labels: Option<Labels>,
    /// Reliability of each point.
    pub reliability: Option<Reliability>,
    /// Further columns by which points can be colored: name, and one cell per point.
    pub columns: Vec<(String, Vec<String>)>,
}

impl From<Embedding> for AnnotatedEmbedding {
    fn from(embedding: Embedding) -> Self {
        Self {
            embedding,
            std: None,
            covariances: None,
            ids: None,
            labels: None,
            reliability: None,
            columns: Vec::new(),
        }
    }
}

impl AnnotatedEmbedding {
    /// Returns a view of the coordinates.
    pub fn points(&self) -> Points<'_> {
        self.embedding.points()
    }

    /// Number of points.
    pub fn rows(&self) -> usize {
        self.embedding.rows()
    }

    /// Returns an error if an annotation has the wrong length or a coordinate is not finite.
    pub fn check(&self) -> Result<()> {
        self.points().check_finite()?;
        let (rows, dim) = (self.rows(), self.embedding.dim());
        let sizes = [
            ("standard deviations", self.std.as_ref().map(Vec::len), rows),
            ("covariances", self.covariances.as_ref().map(Vec::len), rows * dim * dim),
            ("ids", self.ids.as_ref().map(Vec::len), rows),
            ("labels", self.labels.as_ref().map(|labels| labels.codes.len()), rows),
        ];
        let columns = self.columns.iter().map(|(_, cells)| ("cells of a column", Some(cells.len()), rows));
        for (what, found, expected) in sizes.into_iter().chain(columns) {
            if let Some(found) = found.filter(|&found| found != expected) {
                return Err(Error::Shape { what, expected, found });
            }
        }
        self.reliability.as_ref().map_or(Ok(()), |reliability| reliability.check(rows))
    }

    /// Returns the given points, in that order, with their annotations. Label codes do not change.
    pub fn select(&self, rows: &[usize]) -> Self {
        let dim = self.embedding.dim();
        let values = rows.iter().flat_map(|&i| self.embedding.row(i).iter().copied()).collect();
        let texts = |cells: &Vec<String>| rows.iter().map(|&i| cells[i].clone()).collect::<Vec<_>>();
        Self {
            embedding: Embedding::new(values, dim).expect("complete rows"),
            std: self.std.as_ref().map(|std| rows.iter().map(|&i| std[i]).collect()),
            covariances: self.covariances.as_ref().map(|all| {
                let size = dim * dim;
                rows.iter().flat_map(|&i| all[i * size..(i + 1) * size].iter().copied()).collect()
            }),
            ids: self.ids.as_ref().map(texts),
            labels: self.labels.as_ref().map(|labels| labels.select(rows)),
            reliability: self.reliability.as_ref().map(|reliability| reliability.select(rows)),
            columns: self.columns.iter().map(|(name, cells)| (name.clone(), texts(cells))).collect(),
        }
    }
}

/// Returns an error if a coordinate, standard deviation or covariance that was computed is not finite: such an embedding is
/// not returned and not written.
pub fn check_computed_embedding(embedding: Points, std: Option<&[f64]>, covariances: Option<&[f64]>) -> Result<()> {
    let dim = embedding.dim();
    let parts = [
        ("coordinate", Some(embedding.values()), dim),
        ("standard deviation", std, 1),
        ("covariance", covariances, dim * dim),
    ];
    for (what, values, width) in parts {
        let values = values.unwrap_or_default();
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            let reason = format!("a {what} of row {} (from 0) is {}", at / width, values[at]);
            return Err(Error::Numerical { what: "the computation of the embedding", reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ordered_by_value_or_alphabetically() {
        let labels = Labels::new(["10", "9", "10", "-1"]);
        assert_eq!(labels.names, ["-1", "9", "10"]);
        assert_eq!(labels.codes, [2, 1, 2, 0]);
        assert_eq!(Labels::new(["b", "10", "9"]).names, ["10", "9", "b"]);
        assert_eq!(Labels::from_numbers([3.0, 1.5]).names, ["1.5", "3"]);
    }

    #[test]
    fn selected_points_keep_their_annotations() {
        let mut all = AnnotatedEmbedding::from(Embedding::new(vec![0.0, 1.0, 2.0, 3.0], 2).unwrap());
        all.std = Some(vec![0.1, 0.2]);
        all.covariances = Some((0..8).map(f64::from).collect());
        all.labels = Some(Labels::new(["a", "b"]));
        all.columns = vec![("size".into(), vec!["1".into(), "2".into()])];
        all.check().unwrap();
        let second = all.select(&[1]);
        assert_eq!((second.embedding.values(), second.std.as_deref()), (&[2.0, 3.0][..], Some(&[0.2][..])));
        assert_eq!(second.covariances.as_deref(), Some(&[4.0, 5.0, 6.0, 7.0][..]));
        assert_eq!((second.labels.unwrap().name(0), second.columns[0].1[0].as_str()), ("b", "2"));
        all.ids = Some(vec!["only one".into()]);
        assert!(all.check().is_err());
    }

    #[test]
    fn computed_values_that_are_not_finite_are_named() {
        let message = |values: &[f64], std: &[f64], covariances: &[f64]| {
            let points = Points::new(values, 2).unwrap();
            check_computed_embedding(points, Some(std), Some(covariances)).err().map(|error| error.to_string())
        };
        let (fine, cov, bad) = ([0.0, 1.0, 2.0, 3.0], [1.0; 8], f64::NAN);
        assert_eq!(message(&fine, &[0.1, 0.2], &cov), None);
        assert!(message(&[0.0, 1.0, bad, 3.0], &[], &[]).unwrap().contains("a coordinate of row 1 (from 0) is NaN"));
        assert!(
            message(&fine, &[f64::INFINITY], &[]).unwrap().contains("a standard deviation of row 0 (from 0) is inf")
        );
        assert!(message(&fine, &[], &[&cov[..5], &[bad]].concat()).unwrap().contains("a covariance of row 1 (from 0)"));
    }
}
