//! Missing cells of `lllvm`: their first values, from which neighbors are found, and the rows with the values that the model has inferred.

use lowland_algorithms::lllvm::ScaledRows;
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::run::in_batches;
use lowland_core::{Data, Error, Result};

use crate::method::InferredCells;

/// Rows whose mean is the first value of a missing cell.
const DONORS: usize = 5;

/// Fills missing cells with the mean of the five nearest rows that have a value there. Distances are over the columns that both rows
/// have, scaled to all columns.
pub(super) fn fill_from_nearest(data: &Data, progress: &mut Progress) -> Result<Data> {
    let Data::Dense(x) = data else { return Ok(data.clone()) };
    let (n, columns) = (x.rows(), x.dim());
    let incomplete: Vec<usize> = (0..n).filter(|&i| x.row(i).iter().any(|v| v.is_nan())).collect();
    if let Some(&row) = incomplete.iter().find(|&&i| x.row(i).iter().all(|v| v.is_nan())) {
        return Err(Error::NoValues { what: "row", index: row });
    }
    let distance = |i: usize, j: usize| {
        let (mut sum, mut count) = (0.0, 0usize);
        for (a, b) in x.row(i).iter().zip(x.row(j)) {
            let difference = f64::from(a - b);
            if !difference.is_nan() {
                sum += difference * difference;
                count += 1;
            }
        }
        if count == 0 { f64::INFINITY } else { sum * columns as f64 / count as f64 }
    };
    let fill = |at: usize| -> Vec<f32> {
        let i = incomplete[at];
        let mut others: Vec<(f64, usize)> = (0..n).filter(|&j| j != i).map(|j| (distance(i, j), j)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let value = |(c, &v): (usize, &f32)| {
            if !v.is_nan() {
                return v;
            }
            let donors = others.iter().map(|&(_, j)| x.row(j)[c]).filter(|v| !v.is_nan()).take(DONORS);
            let (sum, count) = donors.fold((0.0, 0), |(sum, count), v| (sum + f64::from(v), count + 1));
            // A column without values is refused later, by its name.
            if count == 0 { 0.0 } else { (sum / f64::from(count)) as f32 }
        };
        x.row(i).iter().enumerate().map(value).collect()
    };
    let filled = in_batches(incomplete.len(), progress, fill)?;
    let mut values = x.values().to_vec();
    for (&i, row) in incomplete.iter().zip(filled) {
        values[i * columns..(i + 1) * columns].copy_from_slice(&row);
    }
    Data::dense(values, columns)
}

/// The training rows of a model with missing cells.
pub(super) struct CompletedRows {
    /// The rows, with the means of the missing cells.
    pub data: Data,
    /// The missing cells.
    pub cells: InferredCells,
}

impl CompletedRows {
    /// Puts the means of the model into the rows; `None` if no cell was missing.
    pub fn new(data: &Data, rows: &ScaledRows, std: Vec<f64>) -> Result<Option<Self>> {
        let Data::Dense(x) = data else { return Ok(None) };
        if rows.missing.is_empty() {
            return Ok(None);
        }
        let (mut values, columns) = (x.values().to_vec(), x.dim());
        let mut cells = InferredCells { std, ..InferredCells::default() };
        for &(column, row) in &rows.missing {
            let (c, i) = (column as usize, row as usize);
            let mean = rows.center[c] + rows.scale * rows.row(i)[c] / rows.column_scales()[c];
            values[i * columns + c] = mean as f32;
            cells.rows.push(row);
            cells.columns.push(column);
            cells.means.push(mean);
        }
        Ok(Some(Self { data: Data::dense(values, columns)?, cells }))
    }

    pub fn save(&self, rows: &ScaledRows, archive: &mut Archive) {
        archive.put("lllvm/center", rows.center.as_slice());
        archive.put("lllvm/scale", vec![rows.scale]);
        archive.put("lllvm/missing/rows", self.cells.rows.as_slice());
        archive.put("lllvm/missing/columns", self.cells.columns.as_slice());
        archive.put("lllvm/missing/means", self.cells.means.as_slice());
        archive.put("lllvm/missing/std", self.cells.std.as_slice());
    }

    /// Reads the cells, and the rows with the center and scale of the fit; `None` if no cell was missing.
    pub fn load(archive: &Archive, data: &Data) -> Result<Option<(Self, ScaledRows)>> {
        if !archive.has("lllvm/missing/rows") {
            return Ok(None);
        }
        let (center, scale) = (archive.finite("lllvm/center")?.to_vec(), archive.finite("lllvm/scale")?);
        let cells = InferredCells {
            rows: archive.u32s("lllvm/missing/rows")?.to_vec(),
            columns: archive.u32s("lllvm/missing/columns")?.to_vec(),
            means: archive.finite("lllvm/missing/means")?.to_vec(),
            std: archive.finite("lllvm/missing/std")?.to_vec(),
        };
        let count = cells.rows.len();
        let in_range = cells.rows.iter().all(|&i| (i as usize) < data.rows())
            && cells.columns.iter().all(|&c| (c as usize) < data.dim());
        let &[scale] = scale else { return Err(archive.invalid("'lllvm/scale' should hold a number".into())) };
        let fits = center.len() == data.dim() && scale > 0.0;
        if !(fits && in_range && [cells.columns.len(), cells.means.len(), cells.std.len()] == [count; 3]) {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        let rows = ScaledRows::with_center(data, center, scale)?;
        Ok(Some((Self { data: data.clone(), cells }, rows)))
    }
}
