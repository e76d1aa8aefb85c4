//! Which columns of a Parquet schema can be read, and as what.

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit as ParquetTimeUnit, Type as PhysicalType};
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::{ColumnDescriptor, Type};

use crate::arrow_ipc::{ArrowField, ArrowType, embedded_schema};
use crate::columnar::{ColumnField, ColumnKind, TemporalType, TextEncoding, TimeUnit};

/// The key under which Arrow writers store their own schema.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// How a top-level column is stored.
#[derive(Debug, Clone)]
pub(super) struct ParquetColumn {
    /// Index of the only leaf, or of the first one.
    pub leaf: usize,
    pub value_type: ValueType,
    /// Definition level from which on a list has an item; `None` if the column is not a list.
    pub list_level: Option<i16>,
    /// Definition level of a value.
    pub max_level: i16,
}

/// What the stored values mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ValueType {
    Null,
    Boolean,
    Signed,
    Unsigned,
    Float,
    Half,
    Decimal { scale: i32 },
    Temporal(TemporalType),
    Text(TextEncoding),
}

/// The top-level columns of a file.
pub(super) fn columns(about: &FileMetaData) -> (Vec<ColumnField>, Vec<ParquetColumn>) {
    let schema = about.schema_descr();
    let pairs = about.key_value_metadata().into_iter().flatten();
    let arrow = pairs.filter(|pair| pair.key == ARROW_SCHEMA).find_map(|pair| embedded_schema(pair.value.as_deref()?));
    let leaves: Vec<usize> = (0..schema.num_columns()).map(|leaf| schema.get_column_root_idx(leaf)).collect();
    let roots = schema.root_schema().get_fields();
    let describe = |(j, root): (usize, &std::sync::Arc<Type>)| {
        let leaf = leaves.iter().position(|&of| of == j)?;
        let is_single = leaves.iter().filter(|&&of| of == j).count() == 1;
        let arrow = arrow.as_ref().and_then(|fields| fields.get(j)).filter(|field| field.name == root.name());
        Some(describe_column(root, leaf, &schema.column(leaf), is_single, arrow))
    };
    roots.iter().enumerate().filter_map(describe).unzip()
}

fn describe_column(
    root: &Type,
    leaf: usize,
    descriptor: &ColumnDescriptor,
    is_single: bool,
    arrow: Option<&ArrowField>,
) -> (ColumnField, ParquetColumn) {
    let mut value_type = value_type(descriptor);
    let max_level = descriptor.max_def_level();
    let is_categorical = arrow.is_some_and(|field| field.dictionary.is_some());
    if let (Some(ArrowType::Duration(unit)), ValueType::Signed) = (arrow.map(|field| &field.kind), &value_type) {
        value_type = ValueType::Temporal(TemporalType::Duration(*unit));
    }
    let list_level = list_level(root);
    let is_number = value_type.is_number();
    let (kind, type_name) = match (root.is_primitive() || list_level.is_some()) && is_single {
        false => (ColumnKind::Nested, "nested values".into()),
        true if list_level.is_some() && is_number => (ColumnKind::Vector, "vectors".into()),
        true if list_level.is_some() => (ColumnKind::Text, format!("lists of {}", value_type.name())),
        true if is_categorical => (ColumnKind::Text, "categories".into()),
        true if is_number => (ColumnKind::Number, value_type.name().into()),
        true => (ColumnKind::Text, value_type.name().into()),
    };
    let field = ColumnField { name: root.name().to_string(), kind, type_name };
    (field, ParquetColumn { leaf, value_type, list_level, max_level })
}

/// Definition level from which on a list has an item, for each of the three ways to store lists of single values: a group
/// with a repeated group of one field, a group with a repeated field, and a repeated field.
fn list_level(root: &Type) -> Option<i16> {
    let repetition =
        |field: &Type| field.get_basic_info().has_repetition().then(|| field.get_basic_info().repetition());
    let is_repeated = |field: &Type| repetition(field) == Some(Repetition::REPEATED);
    if root.is_primitive() {
        return is_repeated(root).then_some(1);
    }
    let about = root.get_basic_info();
    let is_list = about.logical_type_ref() == Some(&LogicalType::List) || about.converted_type() == ConvertedType::LIST;
    let [items] = root.get_fields() else { return None };
    let is_flat =
        items.is_primitive() || matches!(items.get_fields(), [item] if item.is_primitive() && !is_repeated(item));
    let level = if repetition(root) == Some(Repetition::OPTIONAL) { 2 } else { 1 };
    (is_list && is_repeated(items) && !is_repeated(root) && is_flat).then_some(level)
}

impl ValueType {
    fn is_number(&self) -> bool {
        !matches!(self, ValueType::Temporal(_) | ValueType::Text(_))
    }

    /// The name in messages.
    fn name(&self) -> &'static str {
        match self {
            ValueType::Null => "nothing but nulls",
            ValueType::Boolean => "booleans",
            ValueType::Signed | ValueType::Unsigned => "integers",
            ValueType::Float | ValueType::Half => "floats",
            ValueType::Decimal { .. } => "decimals",
            ValueType::Temporal(_) => "dates or times",
            ValueType::Text(TextEncoding::Utf8) => "text",
            ValueType::Text(TextEncoding::Binary) => "binary data",
        }
    }
}

/// What the values of a leaf mean. Files of old writers have the converted type only.
fn value_type(leaf: &ColumnDescriptor) -> ValueType {
    let unit = |unit: &ParquetTimeUnit| match unit {
        ParquetTimeUnit::MILLIS => TimeUnit::Millisecond,
        ParquetTimeUnit::MICROS => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    let annotated = match leaf.logical_type_ref() {
        Some(LogicalType::Unknown) => Some(ValueType::Null),
        Some(LogicalType::Integer(about)) if !about.is_signed => Some(ValueType::Unsigned),
        Some(LogicalType::Integer(_)) => Some(ValueType::Signed),
        Some(LogicalType::Decimal(about)) => Some(ValueType::Decimal { scale: about.scale }),
        Some(LogicalType::Date) => Some(ValueType::Temporal(TemporalType::Date)),
        Some(LogicalType::Time(about)) => Some(ValueType::Temporal(TemporalType::Time(unit(&about.unit)))),
        Some(LogicalType::Timestamp(about)) => {
            let zone = about.is_adjusted_to_u_t_c.then_some(0);
            Some(ValueType::Temporal(TemporalType::Timestamp(unit(&about.unit), zone)))
        }
        Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) => Some(ValueType::Text(TextEncoding::Utf8)),
        Some(LogicalType::Float16) => Some(ValueType::Half),
        _ => converted_type(leaf),
    };
    let plain = match leaf.physical_type() {
        PhysicalType::BOOLEAN => ValueType::Boolean,
        PhysicalType::INT32 | PhysicalType::INT64 => ValueType::Signed,
        PhysicalType::INT96 => ValueType::Temporal(TemporalType::Timestamp(TimeUnit::Nanosecond, None)),
        PhysicalType::FLOAT | PhysicalType::DOUBLE => ValueType::Float,
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => ValueType::Text(TextEncoding::Binary),
    };
    // An annotation that does not suit the stored type is ignored.
    let suits = |meaning: &ValueType| match (leaf.physical_type(), meaning) {
        (_, ValueType::Null) => true,
        (PhysicalType::INT32 | PhysicalType::INT64, meaning) => {
            !matches!(meaning, ValueType::Text(_) | ValueType::Half | ValueType::Boolean | ValueType::Float)
        }
        (PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY, ValueType::Text(_)) => true,
        (PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY, ValueType::Decimal { .. }) => true,
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, ValueType::Half) => leaf.type_length() == 2,
        _ => false,
    };
    annotated.filter(suits).unwrap_or(plain)
}

fn converted_type(leaf: &ColumnDescriptor) -> Option<ValueType> {
    use ConvertedType as Converted;
    let timestamp = |unit| ValueType::Temporal(TemporalType::Timestamp(unit, Some(0)));
    Some(match leaf.converted_type() {
        Converted::UTF8 | Converted::ENUM | Converted::JSON => ValueType::Text(TextEncoding::Utf8),
        Converted::DECIMAL => ValueType::Decimal { scale: leaf.type_scale() },
        Converted::DATE => ValueType::Temporal(TemporalType::Date),
        Converted::TIME_MILLIS => ValueType::Temporal(TemporalType::Time(TimeUnit::Millisecond)),
        Converted::TIME_MICROS => ValueType::Temporal(TemporalType::Time(TimeUnit::Microsecond)),
        Converted::TIMESTAMP_MILLIS => timestamp(TimeUnit::Millisecond),
        Converted::TIMESTAMP_MICROS => timestamp(TimeUnit::Microsecond),
        Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64 => ValueType::Unsigned,
        _ => return None,
    })
}
