//! Columns to Parquet.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::failed;
use crate::error::{FileErrorKind, Result};
use crate::write_columns::{ColumnValues, OutputColumn};

/// Rows in a row group.
const GROUP_ROWS: usize = 1 << 20;
/// Rows gathered at a time.
const BATCH_ROWS: usize = 8192;

/// Writes columns of `rows` values.
pub(crate) fn write_parquet(file: &mut dyn Write, rows: usize, columns: &[OutputColumn]) -> Result<()> {
    let mut writer = new_writer(columns)?;
    for start in (0..rows).step_by(GROUP_ROWS) {
        write_group(&mut writer, columns, start..rows.min(start + GROUP_ROWS))?;
    }
    Ok(file.write_all(&writer.into_inner().map_err(failed)?)?)
}

/// Collects rows that come in blocks, and writes a row group whenever one is complete: the file is the one that
/// [`write_parquet`] writes.
#[derive(Default)]
pub(crate) struct ParquetGroups {
    writer: Option<SerializedFileWriter<Vec<u8>>>,
    columns: Vec<HeldColumn>,
    rows: usize,
}

/// The values of a column that have not been written.
struct HeldColumn {
    name: String,
    values: HeldValues,
}

enum HeldValues {
    F64(Vec<f64>),
    Texts(Vec<String>),
}

impl ParquetGroups {
    /// Adds rows.
    pub fn add(&mut self, file: &mut dyn Write, rows: usize, columns: &[OutputColumn]) -> Result<()> {
        if self.writer.is_none() {
            self.writer = Some(new_writer(columns)?);
            self.columns = columns.iter().map(HeldColumn::new).collect();
        }
        if !self.columns.iter().map(|held| &held.name).eq(columns.iter().map(|column| &column.name)) {
            return Err(FileErrorKind::Count {
                what: "columns of a block of the map",
                expected: self.columns.len(),
                found: columns.len(),
            });
        }
        let mut from = 0;
        while from < rows {
            let to = rows.min(from + GROUP_ROWS - self.rows);
            self.columns.iter_mut().zip(columns).for_each(|(held, column)| held.add(&column.values, from..to));
            self.rows += to - from;
            from = to;
            if self.rows == GROUP_ROWS {
                self.write_group(file)?;
            }
        }
        Ok(())
    }

    fn write_group(&mut self, file: &mut dyn Write) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let columns: Vec<OutputColumn> = self.columns.iter().map(HeldColumn::to_output).collect();
        write_group(writer, &columns, 0..self.rows)?;
        drop(columns);
        self.columns.iter_mut().for_each(HeldColumn::clear);
        self.rows = 0;
        writer.flush()?;
        file.write_all(writer.inner())?;
        writer.inner_mut().clear();
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(mut self, file: &mut dyn Write) -> Result<()> {
        if self.rows > 0 {
            self.write_group(file)?;
        }
        let Some(writer) = self.writer else { return Ok(()) };
        Ok(file.write_all(&writer.into_inner().map_err(failed)?)?)
    }
}

impl HeldColumn {
    fn new(column: &OutputColumn) -> Self {
        let values = match column.values {
            ColumnValues::F64 { .. } | ColumnValues::F32 { .. } => HeldValues::F64(Vec::new()),
            ColumnValues::Ids(_) | ColumnValues::Labels(_) => HeldValues::Texts(Vec::new()),
        };
        Self { name: column.name.clone(), values }
    }

    fn add(&mut self, values: &ColumnValues, rows: Range<usize>) {
        match (&mut self.values, values) {
            (HeldValues::F64(held), ColumnValues::F64 { values, start, step }) => {
                held.extend(rows.map(|i| values[start + i * step]));
            }
            (HeldValues::Texts(held), ColumnValues::Ids(ids)) => held.extend_from_slice(&ids[rows]),
            (HeldValues::Texts(held), ColumnValues::Labels(labels)) => {
                held.extend(rows.map(|i| labels.name(i).to_string()));
            }
            // Maps have no columns in single precision, and those of one name are of one type.
            _ => {}
        }
    }

    fn to_output(&self) -> OutputColumn<'_> {
        let values = match &self.values {
            HeldValues::F64(values) => ColumnValues::F64 { values, start: 0, step: 1 },
            HeldValues::Texts(texts) => ColumnValues::Ids(texts),
        };
        OutputColumn { name: self.name.clone(), values }
    }

    fn clear(&mut self) {
        match &mut self.values {
            HeldValues::F64(values) => values.clear(),
            HeldValues::Texts(texts) => texts.clear(),
        }
    }
}

fn new_writer(columns: &[OutputColumn]) -> Result<SerializedFileWriter<Vec<u8>>> {
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build().map_err(failed)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).map_err(failed)
}

/// Writes some rows as a row group.
fn write_group(writer: &mut SerializedFileWriter<Vec<u8>>, columns: &[OutputColumn], rows: Range<usize>) -> Result<()> {
    let mut group = writer.next_row_group().map_err(failed)?;
    for column in columns {
        if let Some(mut writer) = group.next_column().map_err(failed)? {
            for from in rows.clone().step_by(BATCH_ROWS) {
                write_values(&mut writer, &column.values, from..rows.end.min(from + BATCH_ROWS))?;
            }
            writer.close().map_err(failed)?;
        }
    }
    group.close().map_err(failed)?;
    Ok(())
}

fn field(column: &OutputColumn) -> Result<Arc<Type>> {
    let (physical, logical) = match column.values {
        ColumnValues::F64 { .. } => (PhysicalType::DOUBLE, None),
        ColumnValues::F32 { .. } => (PhysicalType::FLOAT, None),
        ColumnValues::Ids(_) | ColumnValues::Labels(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(&column.name, physical).with_logical_type(logical);
    Ok(Arc::new(builder.with_repetition(Repetition::REQUIRED).build().map_err(failed)?))
}

fn write_values(writer: &mut SerializedColumnWriter, values: &ColumnValues, rows: Range<usize>) -> Result<()> {
    let texts = |texts: Vec<ByteArray>, writer: &mut SerializedColumnWriter| {
        writer.typed::<ByteArrayType>().write_batch(&texts, None, None)
    };
    let written = match values {
        ColumnValues::F64 { values, start, step } => {
            let values: Vec<f64> = rows.map(|i| values[start + i * step]).collect();
            writer.typed::<DoubleType>().write_batch(&values, None, None)
        }
        ColumnValues::F32 { values, start, step } => {
            let values: Vec<f32> = rows.map(|i| values[start + i * step]).collect();
            writer.typed::<FloatType>().write_batch(&values, None, None)
        }
        ColumnValues::Ids(ids) => texts(ids[rows].iter().map(|id| id.as_str().into()).collect(), writer),
        ColumnValues::Labels(labels) => texts(rows.map(|i| labels.name(i).into()).collect(), writer),
    };
    written.map_err(failed)?;
    Ok(())
}
