//! A data set: rows with their labels, ids and column names.

use std::collections::HashMap;

use lowland::{Data, Embedding};

use crate::budget::{Budget, STRING_OVERHEAD};
use crate::error::{FileErrorKind, Result};

/// A data set: rows with their labels, ids and column names.
#[derive(Debug, Clone)]
pub struct Table {
    /// The rows.
    pub data: Data,
    /// One label per row.
    pub labels: Option<Labels>,
    /// One name per row.
    pub ids: Option<Vec<String>>,
    /// One name per column of the data.
    pub columns: Option<Vec<String>>,
    /// The true low-dimensional coordinates, for generated data.
    pub truth: Option<Embedding>,
    /// What was guessed, dropped or noticed while reading, in sentences.
    pub notes: Vec<String>,
}

/// One label per row, stored as codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Index into `names`, one per row.
    pub codes: Vec<u32>,
    /// The distinct labels, sorted by value if all are numbers, else alphabetically.
    pub names: Vec<String>,
}

impl Table {
    /// Creates a table of rows without labels, ids or names.
    pub fn new(data: Data) -> Self {
        Self { data, labels: None, ids: None, columns: None, truth: None, notes: Vec::new() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.rows()
    }

    /// Returns the given rows, in that order, with their labels and ids. Labels keep their codes.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            data: self.data.select(rows),
            labels: self.labels.as_ref().map(|labels| labels.select(rows)),
            ids: self.ids.as_ref().map(|ids| rows.iter().map(|&i| ids[i].clone()).collect()),
            columns: self.columns.clone(),
            truth: self.truth.as_ref().map(|truth| {
                let values = rows.iter().flat_map(|&i| truth.row(i).iter().copied()).collect();
                Embedding::new(values, truth.dim()).expect("whole rows")
            }),
            notes: self.notes.clone(),
        }
    }

    /// Returns the quoted name of a column, or its index if it has none.
    pub fn column_name(&self, column: usize) -> String {
        match self.columns.as_ref().and_then(|names| names.get(column)) {
            Some(name) => format!("{name:?}"),
            None => column.to_string(),
        }
    }

    /// Checks that there is one label and id per row and one name per column.
    pub(crate) fn check_counts(&self) -> Result<()> {
        let rows = self.rows();
        let counts = [
            ("labels", rows, self.labels.as_ref().map(|labels| labels.codes.len())),
            ("ids", rows, self.ids.as_ref().map(Vec::len)),
            ("true coordinates", rows, self.truth.as_ref().map(Embedding::rows)),
            ("column names", self.data.dim(), self.columns.as_ref().map(Vec::len)),
        ];
        for (what, expected, found) in counts {
            if let Some(found) = found.filter(|&found| found != expected) {
                return Err(FileErrorKind::Count { what, expected, found });
            }
        }
        Ok(())
    }
}

impl Labels {
    /// Creates labels from texts.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let budget = Budget::unlimited();
        Self::from_texts(texts.into_iter().map(Ok), &budget).expect("the budget has no limit")
    }

    /// Creates labels from texts; only a code per row and each distinct text are stored.
    pub(crate) fn from_texts<T: AsRef<str>>(
        texts: impl IntoIterator<Item = Result<T>>,
        budget: &Budget,
    ) -> Result<Self> {
        let mut classes = LabelsBuilder::default();
        texts.into_iter().try_for_each(|text| classes.add(text?.as_ref(), budget))?;
        Ok(classes.finish())
    }

    /// Creates labels from numbers; integers are written without a decimal point.
    pub fn from_numbers(values: impl IntoIterator<Item = f64>) -> Self {
        Self::new(values.into_iter().map(|value| value.to_string()))
    }

    /// Returns the label of row `i`.
    pub fn name(&self, i: usize) -> &str {
        &self.names[self.codes[i] as usize]
    }

    /// Returns the labels of the given rows; `names` stays the same.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { codes: rows.iter().map(|&i| self.codes[i]).collect(), names: self.names.clone() }
    }
}

/// Builds [`Labels`] row by row.
#[derive(Default)]
pub(crate) struct LabelsBuilder {
    /// Code of each label, in order of first occurrence.
    codes_by_name: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl LabelsBuilder {
    /// Adds the label of the next row.
    pub fn add(&mut self, text: &str, budget: &Budget) -> Result<()> {
        budget.reserve("the labels", 1, size_of::<u32>())?;
        let code = match self.codes_by_name.get(text) {
            Some(&code) => code,
            None => {
                // The text, its entry in the hash table while that grows, and in the lists that sort it.
                budget.reserve("the labels", 1, STRING_OVERHEAD + text.len() + 4 * size_of::<(String, u32)>())?;
                let code = self.codes_by_name.len() as u32;
                self.codes_by_name.insert(text.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
        Ok(())
    }

    /// Returns the labels, sorted by value if all are numbers, else alphabetically.
    pub fn finish(self) -> Labels {
        let mut names = vec![String::new(); self.codes_by_name.len()];
        self.codes_by_name.into_iter().for_each(|(name, code)| names[code as usize] = name);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_labels_are_sorted_by_value_and_others_alphabetically() {
        let labels = Labels::new(["10", "9", "10", "-1"]);
        assert_eq!(labels.names, ["-1", "9", "10"]);
        assert_eq!(labels.codes, [2, 1, 2, 0]);
        assert_eq!(Labels::new(["b", "10", "9"]).names, ["10", "9", "b"]);
        assert_eq!(Labels::from_numbers([3.0, 1.5]).names, ["1.5", "3"]);
    }
}
