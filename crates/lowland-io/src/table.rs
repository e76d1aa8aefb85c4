//! A table: rows of data and what is known about each.

use std::collections::HashMap;

use lowland::{Data, Embedding};

use crate::budget::{Budget, STRING_OVERHEAD};
use crate::error::{FileErrorKind, Result};

/// Rows of data and what is known about each.
#[derive(Debug, Clone)]
pub struct Table {
    /// The rows.
    pub data: Data,
    /// A class for each row.
    pub labels: Option<Labels>,
    /// A name for each row.
    pub ids: Option<Vec<String>>,
    /// A name for each column of the data.
    pub columns: Option<Vec<String>>,
    /// The true low-dimensional coordinates, for made-up data.
    pub truth: Option<Embedding>,
    /// What was guessed, mapped, dropped or found on the way, in sentences.
    pub notes: Vec<String>,
}

/// A class for each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Index into `names`, one a row.
    pub codes: Vec<u32>,
    /// The distinct classes: by value if all are numbers, else by the alphabet.
    pub names: Vec<String>,
}

impl Table {
    /// Rows about which nothing else is known.
    pub fn new(data: Data) -> Self {
        Self { data, labels: None, ids: None, columns: None, truth: None, notes: Vec::new() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.rows()
    }

    /// The rows named, in that order, with all that is known about them. Labels keep their codes.
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

    /// The name of a column, or its index where it has none.
    pub fn column_name(&self, column: usize) -> String {
        match self.columns.as_ref().and_then(|names| names.get(column)) {
            Some(name) => format!("{name:?}"),
            None => column.to_string(),
        }
    }

    /// Labels and ids are one a row, columns one a column.
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
    /// The classes of these texts.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let budget = Budget::unlimited();
        Self::within(texts.into_iter().map(Ok), &budget).expect("nothing is beyond no limit")
    }

    /// The classes of these texts, which are not kept: a code a row and each name once.
    pub(crate) fn within<T: AsRef<str>>(texts: impl IntoIterator<Item = Result<T>>, budget: &Budget) -> Result<Self> {
        let mut classes = LabelsBuilder::default();
        texts.into_iter().try_for_each(|text| classes.add(text?.as_ref(), budget))?;
        Ok(classes.finish())
    }

    /// The classes of these numbers; whole numbers are named without a decimal point.
    pub fn from_numbers(values: impl IntoIterator<Item = f64>) -> Self {
        Self::new(values.into_iter().map(|value| value.to_string()))
    }

    /// The name of the class of row `i`.
    pub fn name(&self, i: usize) -> &str {
        &self.names[self.codes[i] as usize]
    }

    /// The labels of the rows named; the classes stay.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { codes: rows.iter().map(|&i| self.codes[i]).collect(), names: self.names.clone() }
    }
}

/// Labels in the making, row by row.
#[derive(Default)]
pub(crate) struct LabelsBuilder {
    /// Class of each name, by the order of first sight.
    seen: HashMap<String, u32>,
    codes: Vec<u32>,
}

impl LabelsBuilder {
    /// The class of the next row.
    pub fn add(&mut self, text: &str, budget: &Budget) -> Result<()> {
        budget.reserve("the labels", 1, size_of::<u32>())?;
        let code = match self.seen.get(text) {
            Some(&code) => code,
            None => {
                // The name, its place in the hash table while that grows, and in the lists it is sorted by.
                budget.reserve("the labels", 1, STRING_OVERHEAD + text.len() + 4 * size_of::<(String, u32)>())?;
                let code = self.seen.len() as u32;
                self.seen.insert(text.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
        Ok(())
    }

    /// The classes in their order: by value if all are numbers, else by the alphabet.
    pub fn finish(self) -> Labels {
        let mut names = vec![String::new(); self.seen.len()];
        self.seen.into_iter().for_each(|(name, code)| names[code as usize] = name);
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
    fn numbers_are_ordered_by_value_and_words_by_the_alphabet() {
        let labels = Labels::new(["10", "9", "10", "-1"]);
        assert_eq!(labels.names, ["-1", "9", "10"]);
        assert_eq!(labels.codes, [2, 1, 2, 0]);
        assert_eq!(Labels::new(["b", "10", "9"]).names, ["10", "9", "b"]);
        assert_eq!(Labels::from_numbers([3.0, 1.5]).names, ["1.5", "3"]);
    }
}
