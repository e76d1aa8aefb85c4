//! A data set: rows with their labels, ids and column names.

use lowland::data::LabelsBuilder;
use lowland::{Data, Embedding, Labels};

use crate::budget::{Budget, STRING_OVERHEAD};
use crate::error::{FileErrorKind, Result};

/// A data set: rows with their labels, ids and column names.
#[derive(Debug, Clone)]
pub struct Table {
    /// The rows.
    pub data: Data,
    /// One label per row.
    pub labels: Option<Labels>,
    /// The target of each row, if a column was named as the target.
    pub target: Option<Labels>,
    /// One name per row.
    pub ids: Option<Vec<String>>,
    /// One name per column of the data.
    pub columns: Option<Vec<String>>,
    /// The true low-dimensional coordinates, for generated data.
    pub truth: Option<Embedding>,
    /// What was guessed, dropped or noticed while reading, in sentences.
    pub notes: Vec<String>,
}

impl Table {
    /// Creates a table of rows without labels, ids or names.
    pub fn new(data: Data) -> Self {
        Self { data, labels: None, target: None, ids: None, columns: None, truth: None, notes: Vec::new() }
    }

    /// Returns the bytes that the table holds besides its rows: ids, labels, names, true coordinates.
    pub fn memory_besides_rows(&self) -> u64 {
        let texts = |texts: &[String]| texts.iter().map(|text| text.len() + STRING_OVERHEAD).sum::<usize>();
        let labels = [&self.labels, &self.target].into_iter().flatten();
        let labels = labels.map(|labels| labels.codes.len() * 4 + texts(&labels.names)).sum::<usize>();
        let names = [&self.ids, &self.columns].into_iter().flatten().map(|names| texts(names)).sum::<usize>();
        let truth = self.truth.as_ref().map_or(0, |truth| truth.values().len() * 8);
        (labels + names + truth + texts(&self.notes)) as u64
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
            target: self.target.as_ref().map(|target| target.select(rows)),
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
            ("values of the target", rows, self.target.as_ref().map(|target| target.codes.len())),
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

/// Creates labels from texts within a budget; only a code per row and each distinct text are stored.
pub(crate) fn labels_from_texts<T: AsRef<str>>(
    texts: impl IntoIterator<Item = Result<T>>,
    budget: &Budget,
) -> Result<Labels> {
    let mut labels = LabelsBuilder::default();
    texts.into_iter().try_for_each(|text| push_label(&mut labels, text?.as_ref(), budget))?;
    Ok(labels.finish())
}

/// Adds the label of the next row within a budget.
pub(crate) fn push_label(labels: &mut LabelsBuilder, text: &str, budget: &Budget) -> Result<()> {
    budget.reserve("the labels", 1, size_of::<u32>())?;
    if !labels.contains(text) {
        // The text, its entry in the hash table while that grows, and in the lists that sort it.
        budget.reserve("the labels", 1, STRING_OVERHEAD + text.len() + 4 * size_of::<(String, u32)>())?;
    }
    labels.push(text);
    Ok(())
}
