//! From columns to a table: which column is what, and the cells as `f32`, labels and ids.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use lowland::Data;
use lowland::data::LabelsBuilder;
use lowland::message::list_names;

use super::{CellValues, ColumnCells, ColumnField, ColumnKind, ColumnarFile, DecodedRows};
use crate::block_visitor::VisitBlock;
use crate::budget::Budget;
use crate::delimited::find_column;
use crate::error::{FileErrorKind, Location, Result};
use crate::map::TextColumns;
use crate::options::{Missing, ReadOptions};
use crate::row_builder::RowBuilder;
use crate::table::{Table, push_label};

/// The column in which pandas stores an index that has no name.
const PANDAS_INDEX: &str = "__index_level_0__";

/// Reads a table from columns of numbers, or from one column of vectors.
pub(crate) fn read_table<F: ColumnarFile>(file: F, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let mut table = None;
    read_table_blocks(file, options, budget, usize::MAX, &mut |block| {
        table = Some(block);
        Ok(ControlFlow::Break(()))
    })?;
    table.ok_or(FileErrorKind::Empty("the table has no rows"))
}

/// Reads a table in blocks of `block_rows` rows. The notes are those of the first block.
pub(crate) fn read_table_blocks<F: ColumnarFile>(
    mut file: F,
    options: &ReadOptions,
    budget: &Budget,
    block_rows: usize,
    visit: &mut VisitBlock,
) -> Result<()> {
    let mut notes = Vec::new();
    let roles = ColumnRoles::new(file.fields(), F::FORMAT, options, &mut notes)?;
    let wanted: Vec<usize> =
        roles.data.iter().copied().chain(roles.label).chain(roles.target).chain(roles.id).collect();
    let (reserved, mut total) = (budget.reserved(), 0);
    let mut builder = TableBuilder::new::<F>(&roles, options, budget, 0);
    loop {
        let most = options.max_rows.map_or(usize::MAX, |most| most - total).min(block_rows - builder.rows);
        let decoded = if most == 0 { None } else { file.next_rows(&wanted, most)? };
        let Some(decoded) = decoded else { break };
        builder.add::<F>(&roles, &wanted, file.fields(), &decoded)?;
        total += decoded.rows;
        if builder.rows == block_rows {
            let table = builder.finish(&roles, file.fields(), std::mem::take(&mut notes))?;
            if visit(table)?.is_break() {
                return Ok(());
            }
            budget.release_to(reserved);
            builder = TableBuilder::new::<F>(&roles, options, budget, total);
        }
    }
    if total == 0 {
        return Err(FileErrorKind::Empty("the table has no rows"));
    }
    if builder.rows > 0 {
        let _ = visit(builder.finish(&roles, file.fields(), notes)?)?;
    }
    Ok(())
}

/// Reads all columns as text, for maps; structs and the like have no text form and are left out.
pub(crate) fn read_text_columns<F: ColumnarFile>(mut file: F, budget: &Budget) -> Result<TextColumns> {
    let wanted: Vec<usize> =
        (0..file.fields().len()).filter(|&j| file.fields()[j].kind != ColumnKind::Nested).collect();
    let mut cells = vec![Vec::new(); wanted.len()];
    while let Some(decoded) = file.next_rows(&wanted, usize::MAX)? {
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
    target: Option<usize>,
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
        let (label, target) = (find(&options.label_column)?, find(&options.target_column)?);
        let id = find(&options.id_column)?.or_else(|| names.iter().position(|name| name == PANDAS_INDEX));
        let key = find(&options.key)?;
        for field in [label, target, id].into_iter().flatten().map(|j| &fields[j]) {
            if field.kind == ColumnKind::Nested {
                let reason = format!(
                    "column {:?} holds {}, which cannot be labels, a target or ids",
                    field.name, field.type_name
                );
                return Err(FileErrorKind::format(format, reason));
            }
        }
        let other: Vec<usize> = (0..names.len()).filter(|&j| ![label, target, id].contains(&Some(j))).collect();
        if let Some(vector) = vector_column(fields, &other, key, format)? {
            notes.push(format!("the vectors of column {:?} were taken as the data", names[vector]));
            let ignored: Vec<String> =
                other.iter().filter(|&&j| j != vector).map(|&j| format!("{:?}", names[j])).collect();
            if !ignored.is_empty() {
                notes.push(format!("left out: {}", list_names(&ignored)));
            }
            return Ok(Self { data: vec![vector], is_vector: true, label, target, id });
        }
        if let Some(field) = other.iter().map(|&j| &fields[j]).find(|field| field.kind != ColumnKind::Number) {
            return Err(FileErrorKind::NotNumeric { column: field.name.clone(), content: field.type_name.to_string() });
        }
        if other.is_empty() {
            return Err(FileErrorKind::Empty("no column is left for the data"));
        }
        Ok(Self { data: other, is_vector: false, label, target, id })
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

/// The rows of a block read so far.
struct TableBuilder<'a> {
    format: &'static str,
    /// Missing cells become NaN; whether their rows are dropped is decided later.
    accepts_missing: bool,
    budget: &'a Budget,
    /// The row of the file with which the block begins.
    first_row: usize,
    rows: usize,
    /// The rows; those of vectors once the first one and so their length has been read.
    values: Option<RowBuilder<'a>>,
    /// Offsets of the columns, if they are given.
    offsets: Option<&'a Arc<[f64]>>,
    /// Number of missing vectors before the first one.
    missing_vectors: usize,
    labels: LabelsBuilder,
    target: LabelsBuilder,
    ids: Vec<String>,
}

impl<'a> TableBuilder<'a> {
    fn new<F: ColumnarFile>(
        roles: &ColumnRoles,
        options: &'a ReadOptions,
        budget: &'a Budget,
        first_row: usize,
    ) -> Self {
        let offsets = options.offsets.as_ref();
        Self {
            format: F::FORMAT,
            accepts_missing: options.missing != Missing::Refuse,
            budget,
            first_row,
            rows: 0,
            values: (!roles.is_vector).then(|| RowBuilder::new(Vec::new(), roles.data.len(), offsets, budget)),
            offsets,
            missing_vectors: 0,
            labels: LabelsBuilder::default(),
            target: LabelsBuilder::default(),
            ids: Vec::new(),
        }
    }

    /// Adds decoded rows of the columns `wanted`.
    fn add<F: ColumnarFile>(
        &mut self,
        roles: &ColumnRoles,
        wanted: &[usize],
        fields: &[ColumnField],
        decoded: &DecodedRows,
    ) -> Result<()> {
        let budget = self.budget;
        let names = |at: usize| fields[wanted[at]].name.as_str();
        let (data, text) = decoded.columns.split_at(roles.data.len());
        if roles.is_vector {
            self.add_vectors(&data[0], decoded.rows, names(0))?;
        } else {
            self.add_numbers(data, decoded.rows, names)?;
        }
        let mut text = text.iter();
        if let Some(column) = roles.label.and_then(|_| text.next()) {
            let labels = &mut self.labels;
            visit_text(column, decoded.rows, F::FORMAT, |text| push_label(labels, text, budget))?;
        }
        if let Some(column) = roles.target.and_then(|_| text.next()) {
            let target = &mut self.target;
            visit_text(column, decoded.rows, F::FORMAT, |text| push_label(target, text, budget))?;
        }
        if let Some(column) = roles.id.and_then(|_| text.next()) {
            let ids = &mut self.ids;
            visit_text(column, decoded.rows, F::FORMAT, |text| budget.reserve_text(text).map(|text| ids.push(text)))?;
        }
        self.rows += decoded.rows;
        Ok(())
    }

    /// Returns the rows as a table.
    fn finish(self, roles: &ColumnRoles, fields: &[ColumnField], notes: Vec<String>) -> Result<Table> {
        let data = match self.values {
            Some(values) => values.finish(self.rows)?,
            None => Data::dense(Vec::new(), 0)?,
        };
        let mut table = Table::new(data);
        table.labels = roles.label.map(|_| self.labels.finish());
        table.target = roles.target.map(|_| self.target.finish());
        table.ids = roles.id.map(|_| self.ids);
        if !roles.is_vector {
            table.columns = Some(roles.data.iter().map(|&j| fields[j].name.clone()).collect());
        }
        table.notes = notes;
        Ok(table)
    }

    fn add_numbers<'n>(
        &mut self,
        columns: &[ColumnCells],
        rows: usize,
        names: impl Fn(usize) -> &'n str,
    ) -> Result<()> {
        self.budget.reserve("the table", rows, columns.len() * size_of::<f32>())?;
        let builder = self.values.as_mut().expect("created for tables of numbers");
        builder.grow(rows);
        for (at, cells) in columns.iter().enumerate() {
            let numbers = Numbers::new(cells, self.format, names(at))?;
            for i in 0..rows {
                let (row, column) = (self.first_row + self.rows + i, || format!("{:?}", names(at)));
                let wide = wide_value(cells, &numbers, i, self.accepts_missing, row, column)?;
                builder.set((self.rows + i, at), wide as f32, || wide, |_, _| (Location::Row(row), column()))?;
            }
        }
        Ok(())
    }

    fn add_vectors(&mut self, column: &ColumnCells, rows: usize, name: &str) -> Result<()> {
        let CellValues::List { offsets, items } = &column.values else {
            return Err(FileErrorKind::format(self.format, format!("column {name:?} does not hold vectors")));
        };
        let numbers = Numbers::new(items, self.format, name)?;
        for i in 0..rows {
            let row = self.first_row + self.rows + i;
            if column.is_null(i) {
                if !self.accepts_missing {
                    return Err(missing(row, format!("{name:?}")));
                }
                match &mut self.values {
                    None => self.missing_vectors += 1,
                    Some(values) => {
                        self.budget.reserve("the table", values.dim(), size_of::<f32>())?;
                        values.push_missing(values.dim());
                    }
                }
                continue;
            }
            let range = offsets[i]..offsets[i + 1];
            if self.values.is_none() {
                // Missing vectors before the first one had no length to be filled up to.
                let filled = self.missing_vectors.saturating_mul(range.len());
                self.budget.reserve("the table", filled, size_of::<f32>())?;
                let mut values = RowBuilder::new(Vec::new(), range.len(), self.offsets, self.budget);
                values.push_missing(filled);
                self.values = Some(values);
            }
            let values = self.values.as_mut().expect("created for the first vector");
            if range.len() != values.dim() {
                let reason = format!(
                    "row {row} (from 0) of column {name:?} has {} numbers, the rows before it {}",
                    range.len(),
                    values.dim()
                );
                return Err(FileErrorKind::format(self.format, reason));
            }
            self.budget.reserve("the table", range.len(), size_of::<f32>())?;
            for at in range.clone() {
                let column = || format!("{name:?}[{}]", at - range.start);
                let wide = wide_value(items, &numbers, at, self.accepts_missing, row, column)?;
                values.push(wide as f32, || wide, |_, _| (Location::Row(row), column()))?;
            }
        }
        Ok(())
    }
}

/// The cells of a column of numbers; those in single precision are not copied.
enum Numbers<'c> {
    Single(&'c [f32]),
    Double(Cow<'c, [f64]>),
}

impl<'c> Numbers<'c> {
    fn new(cells: &'c ColumnCells, format: &'static str, name: &str) -> Result<Self> {
        if let CellValues::Float32(values) = &cells.values {
            return Ok(Numbers::Single(values));
        }
        let reason = || FileErrorKind::format(format, format!("column {name:?} does not hold numbers"));
        cells.to_f64().map(Numbers::Double).ok_or_else(reason)
    }
}

/// Returns the number of cell `i`; a missing one is NaN if it may be dropped.
fn wide_value(
    cells: &ColumnCells,
    numbers: &Numbers,
    i: usize,
    accepts_missing: bool,
    row: usize,
    column: impl Fn() -> String,
) -> Result<f64> {
    if cells.may_have_nulls() && cells.is_null(i) {
        return if accepts_missing { Ok(f64::NAN) } else { Err(missing(row, column())) };
    }
    Ok(match numbers {
        Numbers::Single(values) => f64::from(values[i]),
        Numbers::Double(values) => values[i],
    })
}

fn missing(row: usize, column: String) -> FileErrorKind {
    FileErrorKind::Missing { location: Location::Row(row), column, found: "null".into(), count: 1 }
}
