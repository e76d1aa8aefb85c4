//! AnnData (`.h5ad`): the data from `X` or an entry of `obsm`, labels and ids from `obs`.

use std::io::Cursor;
use std::ops::Range;
use std::sync::Arc;

use hdf5_pure::{AttrValue, DType, Dataset, File, Group, ReadSeekSource, VlenStringReadOptions};
use lowland::Data;
use lowland::data::Dense;

use crate::block_visitor::{VisitBlock, visit_row_ranges};
use crate::budget::{Budget, STRING_OVERHEAD};
use crate::catch_panics::catch_panics;
use crate::error::{FileErrorKind, Location, Result};
use crate::options::ReadOptions;
use crate::row_builder::{RowBuilder, array_cell};
use crate::source::{FileBytes, SharedBytes};
use crate::sparse::{self, CompressedMatrix, MatrixShape};
use crate::table::{Table, labels_from_texts};

const FORMAT: &str = "h5ad";

/// Reads the data with the labels, ids and names in `obs` and `var`.
pub(crate) fn read(bytes: FileBytes, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    catch_panics(FORMAT, || {
        let source = ReadSeekSource::new(Cursor::new(bytes)).map_err(failed)?;
        let root = File::from_source(source).map_err(failed)?.root();
        AnnDataReader { budget, offsets: options.offsets.as_ref() }.table(&root, options)
    })
}

fn failed(error: impl std::fmt::Display) -> FileErrorKind {
    FileErrorKind::format(FORMAT, error.to_string())
}

/// Names of the datasets and groups in a group.
fn children(group: &Group) -> Result<Vec<String>> {
    let mut names = group.datasets().map_err(failed)?;
    names.extend(group.groups().map_err(failed)?);
    Ok(names)
}

fn has_dataset(group: &Group, name: &str) -> Result<bool> {
    Ok(group.datasets().map_err(failed)?.iter().any(|known| known == name))
}

fn has_group(group: &Group, name: &str) -> Result<bool> {
    Ok(group.groups().map_err(failed)?.iter().any(|known| known == name))
}

fn text_attribute(group: &Group, name: &str) -> Result<Option<String>> {
    Ok(group.attrs().map_err(failed)?.get(name).and_then(text_of))
}

/// The text of an attribute in any of the string types.
fn text_of(value: &AttrValue) -> Option<String> {
    match value {
        AttrValue::VarLenString(text)
        | AttrValue::VarLenAsciiString(text)
        | AttrValue::String(text)
        | AttrValue::AsciiString(text)
        | AttrValue::StringSized { value: text, .. }
        | AttrValue::AsciiStringSized { value: text, .. } => Some(text.clone()),
        _ => None,
    }
}

/// A shape of two dimensions from an attribute.
fn sizes(value: &AttrValue) -> Option<(usize, usize)> {
    let pair = match value {
        AttrValue::I64Array(sizes) => sizes.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<Vec<_>>>(),
        AttrValue::I32Array(sizes) => sizes.iter().map(|&size| usize::try_from(size).ok()).collect(),
        AttrValue::U64Array(sizes) => sizes.iter().map(|&size| usize::try_from(size).ok()).collect(),
        AttrValue::U32Array(sizes) => sizes.iter().map(|&size| usize::try_from(size).ok()).collect(),
        _ => None,
    }?;
    match pair[..] {
        [rows, dim] => Some((rows, dim)),
        _ => None,
    }
}

/// Rows and columns of a dense dataset.
fn dense_shape(dataset: &Dataset, name: &str) -> Result<(usize, usize)> {
    let shape = dataset.shape().map_err(failed)?;
    match shape[..] {
        [rows, dim] => Ok((rows as usize, dim as usize)),
        _ => Err(failed(format!("{name} has {} dimensions, not rows and columns", shape.len()))),
    }
}

/// Reads an AnnData file in blocks of `block_rows` rows. What `obs` says of the rows is read at once.
pub(crate) fn read_blocks(
    bytes: SharedBytes,
    options: &ReadOptions,
    budget: &Budget,
    block_rows: usize,
    visit: &mut VisitBlock,
) -> Result<()> {
    let reader = AnnDataReader { budget, offsets: options.offsets.as_ref() };
    let (matrix, all) = catch_panics(FORMAT, || {
        let source = ReadSeekSource::new(Cursor::new(bytes)).map_err(failed)?;
        let root = File::from_source(source).map_err(failed)?.root();
        let (parent, name) = reader.matrix_location(&root, options)?;
        let matrix = reader.open_matrix(&parent, &name)?;
        let all = reader.annotations(&root, options, matrix.dim)?;
        Ok((matrix, all))
    })?;
    let described = [
        ("labels", all.labels.as_ref().map(|labels| labels.codes.len())),
        ("values of the target", all.target.as_ref().map(|target| target.codes.len())),
        ("ids", all.ids.as_ref().map(Vec::len)),
    ];
    for (what, found) in described {
        if let Some(found) = found.filter(|&found| found != matrix.rows) {
            return Err(FileErrorKind::Count { what, expected: matrix.rows, found });
        }
    }
    visit_row_ranges(matrix.rows, options, budget, block_rows, visit, |rows| {
        let data = catch_panics(FORMAT, || reader.block(&matrix, rows.clone()))?;
        let which: Vec<usize> = rows.collect();
        Ok(Table {
            data,
            labels: all.labels.as_ref().map(|labels| labels.select(&which)),
            target: all.target.as_ref().map(|target| target.select(&which)),
            ids: all.ids.as_ref().map(|ids| which.iter().map(|&i| ids[i].clone()).collect()),
            columns: all.columns.clone(),
            truth: None,
            notes: Vec::new(),
        })
    })
}

/// The data of an AnnData file, for reading in blocks.
struct MatrixBlocks {
    rows: usize,
    dim: usize,
    values: MatrixValues,
}

enum MatrixValues {
    Dense(Dataset),
    Csr {
        indptr: Vec<usize>,
        indices: Dataset,
        values: Dataset,
    },
    /// Read as a whole.
    Whole(Data),
}

/// A sparse matrix: its group, and whether it is stored by rows.
struct Compressed {
    group: Group,
    is_csr: bool,
    rows: usize,
    dim: usize,
}

struct AnnDataReader<'a> {
    budget: &'a Budget,
    /// Offsets of the columns of dense data, if they are given.
    offsets: Option<&'a Arc<[f64]>>,
}

/// A column of `obs` or `var` as text.
enum AnnDataColumn {
    Texts(Vec<String>),
    /// Code -1 stands for a missing value.
    Coded {
        codes: Vec<i64>,
        categories: Vec<String>,
    },
}

impl AnnDataColumn {
    fn texts(&self) -> Box<dyn Iterator<Item = Result<&str>> + '_> {
        match self {
            AnnDataColumn::Texts(texts) => Box::new(texts.iter().map(|text| Ok(text.as_str()))),
            AnnDataColumn::Coded { codes, categories } => {
                Box::new(codes.iter().map(|&code| match usize::try_from(code) {
                    Err(_) => Ok("NA"),
                    Ok(code) => categories.get(code).map(String::as_str).ok_or_else(|| {
                        failed(format!("a column names category {code}, there are {}", categories.len()))
                    }),
                }))
            }
        }
    }
}

impl AnnDataReader<'_> {
    fn table(&self, root: &Group, options: &ReadOptions) -> Result<Table> {
        let (parent, name) = self.matrix_location(root, options)?;
        let data = self.matrix(&parent, &name)?;
        let dim = data.dim();
        Ok(Table { data, ..self.annotations(root, options, dim)? })
    }

    /// Returns the group that holds the data, and their name in it.
    fn matrix_location(&self, root: &Group, options: &ReadOptions) -> Result<(Group, String)> {
        let Some(key) = &options.key else { return Ok((root.clone(), "X".into())) };
        let name = key.strip_prefix("obsm/").unwrap_or(key);
        let obsm = if has_group(root, "obsm")? { Some(root.group("obsm").map_err(failed)?) } else { None };
        let available = obsm.as_ref().map(children).transpose()?.unwrap_or_default();
        match obsm {
            Some(obsm) if available.iter().any(|known| known == name) => Ok((obsm, name.into())),
            _ => Err(FileErrorKind::NoSuch { what: "obsm entry", name: key.clone(), available }),
        }
    }

    /// Reads ids, labels and the target from `obs`, and the names of the columns of data with `dim` columns from `var`; the data of the
    /// table are empty.
    fn annotations(&self, root: &Group, options: &ReadOptions, dim: usize) -> Result<Table> {
        let mut table = Table::new(Data::dense(Vec::new(), 0)?);
        if has_group(root, "obs")? {
            let obs = root.group("obs").map_err(failed)?;
            let index = text_attribute(&obs, "_index")?.unwrap_or_else(|| "_index".into());
            let id = options.id_column.as_deref().unwrap_or(&index);
            if options.id_column.is_some() || children(&obs)?.iter().any(|known| known == id) {
                table.ids = Some(self.texts(&obs, id)?);
            }
            if let Some(name) = &options.label_column {
                table.labels = Some(labels_from_texts(self.column(&obs, name)?.texts(), self.budget)?);
            }
            if let Some(name) = &options.target_column {
                table.target = Some(labels_from_texts(self.column(&obs, name)?.texts(), self.budget)?);
            }
        } else if options.label_column.is_some() || options.target_column.is_some() || options.id_column.is_some() {
            return Err(failed("its obs is not a group; write it again with a current anndata"));
        }
        if options.key.is_none() && has_group(root, "var")? {
            let var = root.group("var").map_err(failed)?;
            let index = text_attribute(&var, "_index")?.unwrap_or_else(|| "_index".into());
            // Column names are optional: a file without readable ones is still valid.
            table.columns = self.texts(&var, &index).ok().filter(|names| names.len() == dim);
        }
        Ok(table)
    }

    /// Opens the data for reading in blocks. A matrix that is stored by columns is read as a whole.
    fn open_matrix(&self, parent: &Group, name: &str) -> Result<MatrixBlocks> {
        if has_dataset(parent, name)? {
            let dataset = parent.dataset(name).map_err(failed)?;
            let (rows, dim) = dense_shape(&dataset, name)?;
            return Ok(MatrixBlocks { rows, dim, values: MatrixValues::Dense(dataset) });
        }
        match self.compressed(parent, name)? {
            Compressed { group, is_csr: true, rows, dim } => {
                let dataset = |part: &str| group.dataset(part).map_err(failed);
                let (values, indices) = (dataset("data")?, dataset("indices")?);
                let indptr = self.indices(&dataset("indptr")?)?;
                if indptr.len() != rows + 1 || !indptr.is_sorted() {
                    return Err(failed("the rows of its sparse matrix do not follow each other; the file is damaged"));
                }
                Ok(MatrixBlocks { rows, dim, values: MatrixValues::Csr { indptr, indices, values } })
            }
            Compressed { rows, dim, .. } => {
                Ok(MatrixBlocks { rows, dim, values: MatrixValues::Whole(self.matrix(parent, name)?) })
            }
        }
    }

    /// Reads some rows of the data.
    fn block(&self, matrix: &MatrixBlocks, rows: Range<usize>) -> Result<Data> {
        let (first, count) = (rows.start as u64, rows.len() as u64);
        match &matrix.values {
            MatrixValues::Dense(dataset) => {
                self.budget.reserve("a dataset", rows.len().saturating_mul(matrix.dim), 8 + size_of::<f32>())?;
                let mut builder = RowBuilder::new(Vec::new(), matrix.dim, self.offsets, self.budget);
                if matches!(dataset.dtype().map_err(failed)?, DType::F32) {
                    let single = dataset.read_f32_rows(first, count).map_err(failed)?;
                    single.iter().try_for_each(|&value| builder.push(value, || value.into(), array_cell))?;
                } else {
                    let wide = dataset.read_f64_rows(first, count).map_err(failed)?;
                    wide.iter().try_for_each(|&wide| builder.push(wide as f32, || wide, array_cell))?;
                }
                builder.finish(rows.len())
            }
            MatrixValues::Csr { indptr, indices, values } => {
                let entries = indptr[rows.start]..indptr[rows.end];
                self.budget.reserve("a sparse matrix", entries.len(), 8 + 8 + 8)?;
                let (first, count) = (entries.start as u64, entries.len() as u64);
                let columns = indices.read_i64_rows(first, count).map_err(failed)?;
                let columns = columns.into_iter().map(|j| usize::try_from(j).ok()).collect::<Option<Vec<_>>>();
                let stored = CompressedMatrix {
                    indptr: indptr[rows.start..=rows.end].iter().map(|&at| at - entries.start).collect(),
                    indices: columns.ok_or_else(|| failed("an index of a sparse matrix is negative"))?,
                    values: values.read_f32_rows(first, count).map_err(failed)?,
                };
                let shape = MatrixShape { rows: rows.len(), dim: matrix.dim };
                Ok(Data::Sparse(sparse::from_csr(stored, shape)?))
            }
            MatrixValues::Whole(data) => Ok(data.select(&rows.collect::<Vec<_>>())),
        }
    }

    /// Finds a sparse matrix and its layout.
    fn compressed(&self, parent: &Group, name: &str) -> Result<Compressed> {
        if !has_group(parent, name)? {
            return Err(FileErrorKind::NoSuch { what: "entry", name: name.into(), available: children(parent)? });
        }
        let group = parent.group(name).map_err(failed)?;
        let attributes = group.attrs().map_err(failed)?;
        let attribute = |names: [&str; 2]| names.iter().find_map(|name| attributes.get(*name));
        // The second names are those of anndata before 0.7.
        let layout = attribute(["encoding-type", "h5sparse_format"]).and_then(text_of).unwrap_or_default();
        let shape = attribute(["shape", "h5sparse_shape"]).and_then(sizes);
        let is_csr = layout.starts_with("csr");
        let (true, Some((rows, dim))) = (is_csr || layout.starts_with("csc"), shape) else {
            let reason = format!("{name} is stored as {layout:?}; only dense, CSR and CSC matrices can be read");
            return Err(failed(reason));
        };
        Ok(Compressed { group, is_csr, rows, dim })
    }

    /// Reads a dense dataset, or a group with a sparse matrix.
    fn matrix(&self, parent: &Group, name: &str) -> Result<Data> {
        if has_dataset(parent, name)? {
            return self.dense(&parent.dataset(name).map_err(failed)?, name);
        }
        let Compressed { group, is_csr, rows, dim } = self.compressed(parent, name)?;
        let shape = MatrixShape::within(rows, dim, self.budget)?;
        let dataset = |part: &str| group.dataset(part).map_err(failed);
        let values = self.floats(&dataset("data")?, name)?;
        sparse::reserve_scratch(values.len(), self.budget)?;
        let (indptr, indices) = (self.indices(&dataset("indptr")?)?, self.indices(&dataset("indices")?)?);
        let stored = CompressedMatrix { indptr, indices, values };
        let x = if is_csr { sparse::from_csr(stored, shape) } else { sparse::from_csc(stored, shape) };
        Ok(Data::Sparse(x?))
    }

    fn dense(&self, dataset: &Dataset, name: &str) -> Result<Data> {
        let (rows, dim) = dense_shape(dataset, name)?;
        self.count(dataset, size_of::<f32>())?;
        let is_single = matches!(dataset.dtype().map_err(failed)?, DType::F32);
        if is_single && self.offsets.is_none() {
            let values = dataset.read_f32().map_err(failed)?;
            return Ok(Data::Dense(Dense::shared(Arc::new(values), rows, dim)?));
        }
        let wide = dataset.read_f64().map_err(failed)?;
        let mut builder = RowBuilder::new(Vec::with_capacity(wide.len()), dim, self.offsets, self.budget);
        wide.iter().try_for_each(|&wide| builder.push(wide as f32, || wide, array_cell))?;
        builder.finish(rows)
    }

    /// Returns the number of values, after reserving memory for them: their size in the file, at least 8 bytes each, and
    /// `more`.
    fn count(&self, dataset: &Dataset, more: usize) -> Result<usize> {
        let shape = dataset.shape().map_err(failed)?;
        let count = shape.iter().fold(1u64, |product, &size| product.saturating_mul(size)) as usize;
        let width = dataset.element_size().map_err(failed)?.max(8) as usize;
        self.budget.reserve("a dataset", count, width.saturating_add(more))?;
        Ok(count)
    }

    /// Reads the values of a sparse matrix.
    fn floats(&self, dataset: &Dataset, name: &str) -> Result<Vec<f32>> {
        self.count(dataset, 0)?;
        if dataset.dtype().map_err(failed)? != DType::F64 {
            return dataset.read_f32().map_err(failed);
        }
        let wide = dataset.read_f64().map_err(failed)?;
        let narrow = |(at, &value): (usize, &f64)| match value as f32 {
            narrow if narrow.is_infinite() && value.is_finite() => {
                let (location, column) = (Location::Row(at), format!("{name}/data"));
                Err(FileErrorKind::Overflow { location, column, found: format!("{value:e}") })
            }
            narrow => Ok(narrow),
        };
        wide.iter().enumerate().map(narrow).collect()
    }

    fn indices(&self, dataset: &Dataset) -> Result<Vec<usize>> {
        self.count(dataset, 0)?;
        let whole = dataset.read_i64().map_err(failed)?;
        let indices = whole.into_iter().map(|index| usize::try_from(index).ok()).collect::<Option<Vec<_>>>();
        indices.ok_or_else(|| failed("an index of a sparse matrix is negative"))
    }

    fn texts(&self, frame: &Group, name: &str) -> Result<Vec<String>> {
        match self.column(frame, name)? {
            AnnDataColumn::Texts(texts) => Ok(texts),
            coded => coded.texts().map(|text| self.budget.reserve_text(text?)).collect(),
        }
    }

    /// Reads a column of `obs` or `var`: strings, numbers, categories in either layout, or values with a mask.
    fn column(&self, frame: &Group, name: &str) -> Result<AnnDataColumn> {
        if has_group(frame, name)? {
            let column = frame.group(name).map_err(failed)?;
            if has_dataset(&column, "categories")? {
                let categories = self.dataset_texts(&column.dataset("categories").map_err(failed)?)?;
                return self.categorical(&column.dataset("codes").map_err(failed)?, categories);
            }
            if has_dataset(&column, "values")? {
                return self.dataset_texts(&column.dataset("values").map_err(failed)?).map(AnnDataColumn::Texts);
            }
            return Err(failed(format!("column {name:?} is stored in a way that cannot be read")));
        }
        if !has_dataset(frame, name)? {
            let mut available = children(frame)?;
            available.retain(|known| known != "__categories");
            return Err(FileErrorKind::NoSuch { what: "column", name: name.into(), available });
        }
        let column = frame.dataset(name).map_err(failed)?;
        if has_group(frame, "__categories")? {
            let old = frame.group("__categories").map_err(failed)?;
            if has_dataset(&old, name)? {
                let categories = self.dataset_texts(&old.dataset(name).map_err(failed)?)?;
                return self.categorical(&column, categories);
            }
        }
        self.dataset_texts(&column).map(AnnDataColumn::Texts)
    }

    fn categorical(&self, codes: &Dataset, categories: Vec<String>) -> Result<AnnDataColumn> {
        self.count(codes, 0)?;
        Ok(AnnDataColumn::Coded { codes: codes.read_i64().map_err(failed)?, categories })
    }

    fn dataset_texts(&self, dataset: &Dataset) -> Result<Vec<String>> {
        let count = self.count(dataset, STRING_OVERHEAD)?;
        let number = |value: f64| value.to_string();
        Ok(match dataset.dtype().map_err(failed)? {
            DType::F32 | DType::F64 => dataset.read_f64().map_err(failed)?.into_iter().map(number).collect(),
            DType::String => dataset.read_string().map_err(failed)?,
            DType::VariableLengthString => {
                let most = usize::try_from(self.budget.remaining()).unwrap_or(usize::MAX);
                let options = VlenStringReadOptions::new().with_max_elements(count).with_max_payload_bytes(most);
                dataset.read_vlen_strings(options).map_err(failed)?
            }
            // numpy's booleans are an enumeration of FALSE and TRUE.
            DType::Enum(names) => {
                let name =
                    |&code: &u8| names.get(code as usize).map_or_else(|| code.to_string(), |name| name.to_lowercase());
                dataset.read_raw().map_err(failed)?.iter().map(name).collect()
            }
            _ => dataset.read_i64().map_err(failed)?.into_iter().map(|value| value.to_string()).collect(),
        })
    }
}
