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
use crate::error::Result;
use crate::write_columns::{ColumnValues, OutputColumn};

/// Rows in a row group.
const GROUP_ROWS: usize = 1 << 20;
/// Rows gathered at a time.
const BATCH_ROWS: usize = 8192;

/// Writes columns of `rows` values.
pub(crate) fn write_parquet(file: &mut dyn Write, rows: usize, columns: &[OutputColumn]) -> Result<()> {
    let fields = columns.iter().map(field).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build().map_err(failed)?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).map_err(failed)?;
    for start in (0..rows).step_by(GROUP_ROWS) {
        let mut group = writer.next_row_group().map_err(failed)?;
        for column in columns {
            if let Some(mut writer) = group.next_column().map_err(failed)? {
                for from in (start..rows.min(start + GROUP_ROWS)).step_by(BATCH_ROWS) {
                    let to = (from + BATCH_ROWS).min(start + GROUP_ROWS).min(rows);
                    write_values(&mut writer, &column.values, from..to)?;
                }
                writer.close().map_err(failed)?;
            }
        }
        group.close().map_err(failed)?;
    }
    Ok(file.write_all(&writer.into_inner().map_err(failed)?)?)
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
