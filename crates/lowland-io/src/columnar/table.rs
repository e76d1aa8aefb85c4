//! From columns to a table: which column is what, and the cells as `f32`, labels and ids.

use std::borrow::Cow;

use lowland::Data;
use lowland::data::LabelsBuilder;
use lowland::message::list_names;

use super::{CellValues, ColumnCells, ColumnField, ColumnKind, ColumnarFile};
use crate::budget::Budget;
use crate::delimited::find_column;
use crate::error::{FileErrorKind, Location, Result};
use crate::map::TextColumns;
use crate::options::{Missing, ReadOptions};
use crate::table::{Table, push_label};

/// The column in which pandas stores an index that has no name.
const PANDAS_INDEX: &str = "__index_level_0__";

/// Reads a table from columns of numbers, or from one column of vectors.
pub(crate) fn read_table<F: ColumnarFile>(mut file: F, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let mut notes = Vec::new();
    let roles = ColumnRoles::new(file.fields(), F::FORMAT, options, &mut notes)?;
    let wanted: Vec<usize> = roles.data.iter().copied().chain(roles.label).chain(roles.id).collect();
    let mut builder = TableBuilder {
        format: F::FORMAT,
        drop_missing: options.missing == Missing::Drop,
        budget,
        rows: 0,
        values: Vec::new(),
        vector_len: None,
        labels: LabelsBuilder::default(),
        ids: Vec::new(),
    };
    while options.max_rows.is_none_or(|most| builder.rows < most) {
        let Some(decoded) = file.next_rows(&wanted)? else { break };
        let names = |at: usize| file.fields()[wanted[at]].name.as_str();
        let (data, text) = decoded.columns.split_at(roles.data.len());
        if roles.is_vector {
            builder.add_vectors(&data[0], decoded.rows, names(0))?;
        } else {
            builder.add_numbers(data, decoded.rows, names)?;
        }
        let mut text = text.iter();
        if let Some(column) = roles.label.and_then(|_| text.next()) {
            let labels = &mut builder.labels;
            visit_text(column, decoded.rows, F::FORMAT, |text| push_label(labels, text, budget))?;
        }
        if let Some(column) = roles.id.and_then(|_| text.next()) {
            let ids = &mut builder.ids;
            visit_text(column, decoded.rows, F::FORMAT, |text| budget.reserve_text(text).map(|text| ids.push(text)))?;
        }
        builder.rows += decoded.rows;
    }
    if builder.rows == 0 {
        return Err(FileErrorKind::Empty("the table has no rows"));
    }
    let dim = if roles.is_vector { builder.vector_len.unwrap_or(0) } else { roles.data.len() };
    let mut table = Table::new(Data::dense(builder.values, dim)?);
    table.labels = roles.label.map(|_| builder.labels.finish());
    table.ids = roles.id.map(|_| builder.ids);
    if !roles.is_vector {
        table.columns = Some(roles.data.iter().map(|&j| file.fields()[j].name.clone()).collect());
    }
    table.notes = notes;
    Ok(table)
}

/// Reads all columns as text, for maps; structs and the like have no text form and are left out.
pub(crate) fn read_text_columns<F: ColumnarFile>(mut file: F, budget: &Budget) -> Result<TextColumns> {
    let wanted: Vec<usize> =
        (0..file.fields().len()).filter(|&j| file.fields()[j].kind != ColumnKind::Nested).collect();
    let mut cells = vec![Vec::new(); wanted.len()];
    while let Some(decoded) = file.next_rows(&wanted)? {
        for (column, cells) in decoded.columns.iter().zip(&mut cells) {
            visit_text(column, decoded.rows, F::FORMAT, |text| budget.reserve_text(text).map(|text| cells.push(text)))?;
        }
    }
    Ok(TextColumns { names: wanted.iter().map(|&j| file.fields()[j].name.clone()).collect(), cells })
}

/// Calls `visit` with the text of every cell.
fn visit_text(
    column: &ColumnCells,
    rows: usize,
    format: &'static str,
    mut visit: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    (0..rows).try_for_each(|i| {
        let visited = column.with_text(i, &mut visit);
        visited.unwrap_or_else(|_| Err(FileErrorKind::format(format, "a text is not UTF-8; the file is damaged")))
    })
}

/// Which columns hold the data, the labels and the ids.
struct ColumnRoles {
    data: Vec<usize>,
    /// The data are one column of vectors.
    is_vector: bool,
    label: Option<usize>,
    id: Option<usize>,
}

impl ColumnRoles {
    fn new(
        fields: &[ColumnField],
        format: &'static str,
        options: &ReadOptions,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let find =
            |name: &Option<String>| name.as_ref().map(|name| find_column(name, names.len(), Some(&names))).transpose();
        let label = find(&options.label_column)?;
        let id = find(&options.id_column)?.or_else(|| names.iter().position(|name| name == PANDAS_INDEX));
        let key = find(&options.key)?;
        for field in [label, id].into_iter().flatten().map(|j| &fields[j]) {
            if field.kind == ColumnKind::Nested {
                let reason =
                    format!("column {:?} holds {}, which cannot be labels or ids", field.name, field.type_name);
                return Err(FileErrorKind::format(format, reason));
            }
        }
        let other: Vec<usize> = (0..names.len()).filter(|&j| Some(j) != label && Some(j) != id).collect();
        if let Some(vector) = vector_column(fields, &other, key, format)? {
            notes.push(format!("the vectors of column {:?} were taken as the data", names[vector]));
            let ignored: Vec<String> =
                other.iter().filter(|&&j| j != vector).map(|&j| format!("{:?}", names[j])).collect();
            if !ignored.is_empty() {
                notes.push(format!("left out: {}", list_names(&ignored)));
            }
            return Ok(Self { data: vec![vector], is_vector: true, label, id });
        }
        if let Some(field) = other.iter().map(|&j| &fields[j]).find(|field| field.kind != ColumnKind::Number) {
            return Err(FileErrorKind::NotNumeric { column: field.name.clone(), content: field.type_name.to_string() });
        }
        if other.is_empty() {
            return Err(FileErrorKind::Empty("no column is left for the data"));
        }
        Ok(Self { data: other, is_vector: false, label, id })
    }
}

/// The column of vectors to read: the one asked for, or the only one.
fn vector_column(
    fields: &[ColumnField],
    other: &[usize],
    key: Option<usize>,
    format: &'static str,
) -> Result<Option<usize>> {
    if let Some(key) = key {
        let field = &fields[key];
        if field.kind != ColumnKind::Vector {
            let reason = format!("column {:?} holds {}, not vectors", field.name, field.type_name);
            return Err(FileErrorKind::format(format, reason));
        }
        return Ok(Some(key));
    }
    let vectors: Vec<usize> = other.iter().copied().filter(|&j| fields[j].kind == ColumnKind::Vector).collect();
    if vectors.len() > 1 {
        let names: Vec<&str> = vectors.iter().map(|&j| fields[j].name.as_str()).collect();
        let reason = format!("several columns hold vectors ({}); say which with key (--key)", list_names(&names));
        return Err(FileErrorKind::format(format, reason));
    }
    Ok(vectors.first().copied())
}

/// The table read so far.
struct TableBuilder<'a> {
    format: &'static str,
    /// Missing cells become NaN, and their rows are dropped later.
    drop_missing: bool,
    budget: &'a Budget,
    rows: usize,
    values: Vec<f32>,
    /// Length of the vectors, once one has been read.
    vector_len: Option<usize>,
    labels: LabelsBuilder,
    ids: Vec<String>,
}

impl TableBuilder<'_> {
    fn add_numbers<'n>(
        &mut self,
        columns: &[ColumnCells],
        rows: usize,
        names: impl Fn(usize) -> &'n str,
    ) -> Result<()> {
        let (start, width) = (self.values.len(), columns.len());
        self.budget.reserve("the table", rows, width * size_of::<f32>())?;
        self.values.resize(start + rows * width, 0.0);
        for (at, cells) in columns.iter().enumerate() {
            let out = self.values[start + at..].iter_mut().step_by(width);
            if let (CellValues::Float32(values), None) = (&cells.values, &cells.validity) {
                out.zip(values).for_each(|(out, &value)| *out = value);
                continue;
            }
            let numbers = numbers(cells, self.format, names(at))?;
            for (i, out) in out.enumerate() {
                let column = || format!("{:?}", names(at));
                *out = narrow(cells, &numbers, i, self.drop_missing, self.rows + i, column)?;
            }
        }
        Ok(())
    }

    fn add_vectors(&mut self, column: &ColumnCells, rows: usize, name: &str) -> Result<()> {
        let CellValues::List { offsets, items } = &column.values else {
            return Err(FileErrorKind::format(self.format, format!("column {name:?} does not hold vectors")));
        };
        // Complete vectors of `f32` are copied as they are.
        let complete = match (&items.values, &items.validity) {
            (CellValues::Float32(values), None) => Some(values),
            _ => None,
        };
        let numbers = if complete.is_some() { Cow::default() } else { numbers(items, self.format, name)? };
        for i in 0..rows {
            let row = self.rows + i;
            if column.is_null(i) {
                if !self.drop_missing {
                    return Err(missing(row, format!("{name:?}")));
                }
                self.fill_with_nan(self.vector_len.unwrap_or(0))?;
                continue;
            }
            let range = offsets[i]..offsets[i + 1];
            // Missing vectors before the first one had no length to be filled up to.
            if self.vector_len.is_none() {
                self.fill_with_nan(row.saturating_mul(range.len()))?;
            }
            let len = *self.vector_len.get_or_insert(range.len());
            if range.len() != len {
                let reason = format!(
                    "row {row} (from 0) of column {name:?} has {} numbers, the rows before it {len}",
                    range.len()
                );
                return Err(FileErrorKind::format(self.format, reason));
            }
            self.budget.reserve("the table", len, size_of::<f32>())?;
            if let Some(values) = complete {
                self.values.extend_from_slice(&values[range]);
                continue;
            }
            for at in range.clone() {
                let column = || format!("{name:?}[{}]", at - range.start);
                self.values.push(narrow(items, &numbers, at, self.drop_missing, row, column)?);
            }
        }
        Ok(())
    }

    fn fill_with_nan(&mut self, count: usize) -> Result<()> {
        self.budget.reserve("the table", count, size_of::<f32>())?;
        self.values.resize(self.values.len() + count, f32::NAN);
        Ok(())
    }
}

/// Returns the cells as numbers.
fn numbers<'c>(cells: &'c ColumnCells, format: &'static str, name: &str) -> Result<Cow<'c, [f64]>> {
    let reason = || FileErrorKind::format(format, format!("column {name:?} does not hold numbers"));
    cells.to_f64().ok_or_else(reason)
}

/// Converts cell `i` to `f32`; a missing one is NaN if it may be dropped.
fn narrow(
    cells: &ColumnCells,
    numbers: &[f64],
    i: usize,
    drop_missing: bool,
    row: usize,
    column: impl Fn() -> String,
) -> Result<f32> {
    let (wide, value) = (numbers[i], numbers[i] as f32);
    if cells.may_have_nulls() && cells.is_null(i) {
        return if drop_missing { Ok(f32::NAN) } else { Err(missing(row, column())) };
    }
    if value.is_infinite() && wide.is_finite() {
        let location = Location::Row(row);
        return Err(FileErrorKind::Overflow { location, column: column(), found: format!("{wide:e}") });
    }
    Ok(value)
}

fn missing(row: usize, column: String) -> FileErrorKind {
    FileErrorKind::Missing { location: Location::Row(row), column, found: "null".into(), count: 1 }
}
