//! Parquet and Arrow: numeric columns, one column of vectors, and text for labels and ids.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef};
use lowland::Data;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

use crate::budget::Budget;
use crate::columns::{Column, Values};
use crate::delimited::find_column;
use crate::error::{Outcome, Place, Problem};
use crate::ipc;
use crate::map::TextColumns;
use crate::options::{Format, Missing, ReadOptions};
use crate::source::{Bytes, guarded};
use crate::table::{Classes, Table};

const REMEDY: &str = "If the column holds classes or names, say so with label_column or id_column \
                      (--label-column, --id-column)";
/// The column in which pandas keeps an index that has no name.
const PANDAS_INDEX: &str = "__index_level_0__";

/// Rows per batch: enough to keep the overhead small, few enough to keep the second copy small.
const BATCH: usize = 8192;

/// Record batches one after another.
pub(crate) type Batches = Box<dyn Iterator<Item = Outcome<RecordBatch>>>;

fn open(bytes: Bytes, format: Format, budget: &Budget) -> Outcome<(SchemaRef, Batches)> {
    let bytes = bytes::Bytes::from_owner(bytes);
    if format == Format::Arrow {
        return ipc::batches(bytes, budget);
    }
    let failed = |error: parquet::errors::ParquetError| Problem::format("parquet", error.to_string());
    let plain = ArrowReaderMetadata::load(&bytes, Default::default()).map_err(failed)?;
    check_chunks(plain.metadata(), budget)?;
    let schema = plain.schema().clone();
    // Strings stay indices into a dictionary: written out, a few rows that share a long one would fill the memory.
    let coded = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(
        schema.fields().iter().map(|field| field.as_ref().clone().with_data_type(coded(field))).collect::<Vec<_>>(),
    )));
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, coded).map_err(failed)?;
    let batches = builder.with_batch_size(BATCH).build().map_err(failed)?;
    let failed = |error: arrow::error::ArrowError| Problem::format("parquet", error.to_string());
    Ok((schema, Box::new(batches.map(move |batch| batch.map_err(failed)))))
}

/// The type as which a column is read.
fn coded(field: &Field) -> DataType {
    match field.data_type() {
        text @ (DataType::Utf8 | DataType::LargeUtf8) => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(text.clone()))
        }
        other => other.clone(),
    }
}

/// What the parts of the columns declare fits: packed pages of one row group at a time, and one number for each value.
/// A column of one value takes no room in the file: only the counts say how large the table becomes.
fn check_chunks(about: &ParquetMetaData, budget: &Budget) -> Outcome<()> {
    let columns = about.file_metadata().schema_descr().num_columns() as u64;
    let rows = u64::try_from(about.file_metadata().num_rows()).unwrap_or(u64::MAX);
    let (mut values, mut largest) = (rows.saturating_mul(columns), 0);
    let (mut declared, size) = (0u64, |size: i64| u64::try_from(size).unwrap_or(u64::MAX));
    for group in about.row_groups() {
        let unpacked = group.columns().iter().map(|chunk| size(chunk.uncompressed_size()));
        largest = largest.max(unpacked.fold(0, u64::saturating_add));
        declared = group.columns().iter().map(|chunk| size(chunk.num_values())).fold(declared, u64::saturating_add);
    }
    values = values.max(declared);
    if values.saturating_mul(size_of::<f32>() as u64).saturating_add(largest) > budget.left() {
        return Err(budget.exceeded("the table"));
    }
    Ok(())
}

/// Reads a table; `format` is Parquet or Arrow.
pub(crate) fn read(bytes: Bytes, format: Format, options: &ReadOptions, budget: &Budget) -> Outcome<Table> {
    guarded(format.name(), || {
        let (schema, batches) = open(bytes, format, budget)?;
        let mut notes = Vec::new();
        let plan = Plan::new(&schema, format, options, &mut notes)?;
        let mut filled = Filled::default();
        for batch in batches {
            let batch = batch?;
            if options.max_rows.is_some_and(|most| filled.rows >= most) {
                break;
            }
            filled.add(&batch, &plan, format, options, budget)?;
        }
        if filled.rows == 0 {
            return Err(Problem::Empty("the table has no rows"));
        }
        let dim = if plan.vector { filled.dim.unwrap_or(0) } else { plan.features.len() };
        let mut table = Table::new(Data::dense(filled.values, dim)?);
        table.labels = plan.label.map(|_| filled.labels.finish());
        table.ids = plan.id.map(|_| filled.ids);
        table.columns = (!plan.vector).then(|| plan.features.iter().map(|&j| plan.names[j].clone()).collect());
        table.notes = notes;
        Ok(table)
    })
}

/// Which column is what.
struct Plan {
    names: Vec<String>,
    features: Vec<usize>,
    /// The only feature is a column of vectors.
    vector: bool,
    label: Option<usize>,
    id: Option<usize>,
}

impl Plan {
    fn new(schema: &Schema, format: Format, options: &ReadOptions, notes: &mut Vec<String>) -> Outcome<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let find =
            |name: &Option<String>| name.as_ref().map(|name| find_column(name, names.len(), Some(&names))).transpose();
        let label = find(&options.label_column)?;
        let id = find(&options.id_column)?.or_else(|| names.iter().position(|name| name == PANDAS_INDEX));
        let key = find(&options.key)?;
        let free: Vec<usize> = (0..names.len()).filter(|&j| Some(j) != label && Some(j) != id).collect();
        let kind = |j: usize| schema.field(j).data_type();
        let vectors: Vec<usize> = free.iter().copied().filter(|&j| is_vector(kind(j))).collect();
        let vector = match (key, &vectors[..]) {
            (Some(key), _) if is_vector(kind(key)) => Some(key),
            (Some(key), _) => {
                let reason = format!("column {:?} holds {}, not vectors", names[key], kind(key));
                return Err(Problem::format(format.name(), reason));
            }
            (None, []) => None,
            (None, [only]) => Some(*only),
            (None, several) => {
                let several: Vec<&str> = several.iter().map(|&j| names[j].as_str()).collect();
                let reason =
                    format!("several columns hold vectors ({}); say which with key (--key)", several.join(", "));
                return Err(Problem::format(format.name(), reason));
            }
        };
        if let Some(vector) = vector {
            notes.push(format!("the vectors of column {:?} were taken as the data", names[vector]));
            let left: Vec<String> = free.iter().filter(|&&j| j != vector).map(|&j| format!("{:?}", names[j])).collect();
            if !left.is_empty() {
                notes.push(format!("left out: {}", left.join(", ")));
            }
            return Ok(Self { names, features: vec![vector], vector: true, label, id });
        }
        if let Some(&j) = free.iter().find(|&&j| !is_number(kind(j))) {
            let reason = format!("column {:?} holds {}, not numbers. {REMEDY}", names[j], kind(j));
            return Err(Problem::format(format.name(), reason));
        }
        if free.is_empty() {
            return Err(Problem::Empty("no column is left for the data"));
        }
        Ok(Self { names, features: free, vector: false, label, id })
    }
}

fn is_number(kind: &DataType) -> bool {
    kind.is_numeric() || matches!(kind, DataType::Boolean | DataType::Null)
}

fn is_vector(kind: &DataType) -> bool {
    match kind {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            is_number(item.data_type())
        }
        _ => false,
    }
}

/// What has been read so far.
#[derive(Default)]
struct Filled {
    rows: usize,
    values: Vec<f32>,
    /// Length of the vectors, once one was seen.
    dim: Option<usize>,
    labels: Classes,
    ids: Vec<String>,
}

impl Filled {
    fn add(
        &mut self,
        batch: &RecordBatch,
        plan: &Plan,
        format: Format,
        options: &ReadOptions,
        budget: &Budget,
    ) -> Outcome<()> {
        let drop = options.missing == Missing::Drop;
        if plan.vector {
            self.add_vectors(batch.column(plan.features[0]), plan, format, drop, budget)?;
        } else {
            let (start, width) = (self.values.len(), plan.features.len());
            budget.take("the table", batch.num_rows(), width * size_of::<f32>())?;
            self.values.resize(start + batch.num_rows() * width, 0.0);
            for (at, &j) in plan.features.iter().enumerate() {
                let column = numbers(batch.column(j), format)?;
                for i in 0..batch.num_rows() {
                    let cell = narrow(&column, i, drop, self.rows + i, || format!("{:?}", plan.names[j]))?;
                    self.values[start + i * width + at] = cell;
                }
            }
        }
        if let Some(j) = plan.label {
            each_text(batch.column(j), format, |text| self.labels.add(text, budget))?;
        }
        if let Some(j) = plan.id {
            each_text(batch.column(j), format, |text| budget.text(text).map(|text| self.ids.push(text)))?;
        }
        self.rows += batch.num_rows();
        Ok(())
    }

    fn add_vectors(
        &mut self,
        column: &ArrayRef,
        plan: &Plan,
        format: Format,
        drop: bool,
        budget: &Budget,
    ) -> Outcome<()> {
        let name = &plan.names[plan.features[0]];
        for i in 0..column.len() {
            let row = self.rows + i;
            let vector = match column.data_type() {
                _ if column.is_null(i) => None,
                DataType::FixedSizeList(..) => Some(column.as_fixed_size_list().value(i)),
                DataType::LargeList(_) => Some(column.as_list::<i64>().value(i)),
                _ => Some(column.as_list::<i32>().value(i)),
            };
            let Some(vector) = vector else {
                if !drop {
                    let (place, column) = (Place::Row(row), format!("{name:?}"));
                    return Err(Problem::Missing { place, column, found: "null".into(), count: 1 });
                }
                budget.take("the table", self.dim.unwrap_or(0), size_of::<f32>())?;
                self.values.resize(self.values.len() + self.dim.unwrap_or(0), f32::NAN);
                continue;
            };
            // Nulls before the first vector had no length to be filled up to.
            if self.dim.is_none() {
                budget.take("the table", row, vector.len().saturating_mul(size_of::<f32>()))?;
                self.values.resize(row * vector.len(), f32::NAN);
            }
            let dim = *self.dim.get_or_insert(vector.len());
            if vector.len() != dim {
                let reason = format!(
                    "row {row} (from 0) of column {name:?} has {} numbers, the rows before it {dim}",
                    vector.len()
                );
                return Err(Problem::format(format.name(), reason));
            }
            budget.take("the table", dim, size_of::<f32>())?;
            let vector = numbers(&vector, format)?;
            for at in 0..dim {
                self.values.push(narrow(&vector, at, drop, row, || format!("{name:?}[{at}]"))?);
            }
        }
        Ok(())
    }
}

fn numbers(column: &ArrayRef, format: Format) -> Outcome<Float64Array> {
    let wide = cast(column, &DataType::Float64).map_err(|error| Problem::format(format.name(), error.to_string()))?;
    Ok(wide.as_primitive::<Float64Type>().clone())
}

/// A cell as `f32`; a null is NaN if it may be dropped.
fn narrow(column: &Float64Array, i: usize, drop: bool, row: usize, name: impl Fn() -> String) -> Outcome<f32> {
    let place = Place::Row(row);
    if column.is_null(i) {
        return if drop {
            Ok(f32::NAN)
        } else {
            Err(Problem::Missing { place, column: name(), found: "null".into(), count: 1 })
        };
    }
    let wide = column.value(i);
    match wide as f32 {
        value if value.is_infinite() && wide.is_finite() => {
            Err(Problem::Overflow { place, column: name(), found: format!("{wide:e}") })
        }
        value => Ok(value),
    }
}

/// Visits the cells as text: numbers in the fewest digits that read back, nulls empty.
fn each_text(column: &ArrayRef, format: Format, mut visit: impl FnMut(&str) -> Outcome<()>) -> Outcome<()> {
    if column.data_type().is_floating() {
        let wide = numbers(column, format)?;
        return wide.iter().try_for_each(|value| visit(&value.map_or_else(String::new, |value| value.to_string())));
    }
    // A dictionary is not written out row by row: its strings may be long and shared by all rows.
    if let Some(coded) = column.as_any_dictionary_opt().filter(|coded| !coded.values().data_type().is_floating()) {
        let (names, codes) = (strings(coded.values(), format)?, coded.normalized_keys());
        let at = |i: usize| codes.get(i).filter(|&&code| !coded.is_null(i) && !names.is_null(code));
        return (0..column.len()).try_for_each(|i| visit(at(i).map_or("", |&code| names.value(code))));
    }
    strings(column, format)?.iter().try_for_each(|text| visit(text.unwrap_or_default()))
}

fn strings(column: &ArrayRef, format: Format) -> Outcome<StringArray> {
    let text = cast(column, &DataType::Utf8).map_err(|error| Problem::format(format.name(), error.to_string()))?;
    Ok(text.as_string::<i32>().clone())
}

/// All columns as text, for maps.
pub(crate) fn text_columns(bytes: Bytes, format: Format, budget: &Budget) -> Outcome<TextColumns> {
    guarded(format.name(), || {
        let (schema, batches) = open(bytes, format, budget)?;
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut cells = vec![Vec::new(); names.len()];
        for batch in batches {
            let batch = batch?;
            for (column, cells) in batch.columns().iter().zip(&mut cells) {
                each_text(column, format, |text| budget.text(text).map(|text| cells.push(text)))?;
            }
        }
        Ok(TextColumns { names, cells })
    })
}

/// Writes columns of `rows` values.
pub(crate) fn write_parquet(file: &mut dyn Write, rows: usize, columns: &[Column]) -> Outcome<()> {
    let failed = |error: parquet::errors::ParquetError| Problem::format("parquet", error.to_string());
    let kind = |column: &Column| match column.values {
        Values::Wide { .. } => DataType::Float64,
        Values::Narrow { .. } => DataType::Float32,
        Values::Ids(_) | Values::Labels(_) => DataType::Utf8,
    };
    let fields: Vec<Field> = columns.iter().map(|column| Field::new(&column.name, kind(column), false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut out = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties)).map_err(failed)?;
    for start in (0..rows).step_by(BATCH) {
        let range = start..(start + BATCH).min(rows);
        let arrays = columns.iter().map(|column| slice(&column.values, range.clone())).collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays);
        let batch = batch.map_err(|error| Problem::format("parquet", error.to_string()))?;
        out.write(&batch).map_err(failed)?;
    }
    Ok(file.write_all(&out.into_inner().map_err(failed)?)?)
}

fn slice(values: &Values, mut range: std::ops::Range<usize>) -> ArrayRef {
    match values {
        Values::Wide { values, start, step } => {
            Arc::new(Float64Array::from_iter_values(range.map(|i| values[start + i * step])))
        }
        Values::Narrow { values, start, step } => {
            Arc::new(Float32Array::from_iter_values(range.map(|i| values[start + i * step])))
        }
        Values::Ids(ids) => Arc::new(StringArray::from_iter_values(&ids[range])),
        Values::Labels(labels) => Arc::new(StringArray::from_iter_values(range.by_ref().map(|i| labels.name(i)))),
    }
}
