//! Entropic affinities of a neighbor graph, as one symmetric matrix.

use lowland_core::Result;

use crate::gpu::{Buffer, Gpu};
use crate::launch::{Arg, Kernel, Shape};
use crate::{AffinityRequest, SparseMatrix};

/// Warps of a block: the macro AFFINITY_WARPS.
const WARPS: usize = 4;
/// Rows with more entries are sorted on the processor: the macro LONGEST_ROW.
const LONGEST_ROW: usize = 1024;
/// Memory that blocks share at most, in bytes.
pub const AFFINITY_SHARED_MEMORY: usize = WARPS * 16 * LONGEST_ROW;

/// Computes the weights of every row and their average with the transpose, whose rows are sorted by column. `None` if a row has itself
/// or another point twice among its neighbors.
pub fn entropic_affinities(gpu: &Gpu, request: AffinityRequest) -> Result<Option<SparseMatrix>> {
    let AffinityRequest { indices, distances, k, perplexities } = request;
    let n = indices.len() / k;
    let entropies: Vec<f64> = perplexities.iter().map(|perplexity| perplexity.ln()).collect();
    let columns: Buffer<u32> = gpu.zeros(n * k)?;
    let weights: Buffer<f64> = gpu.zeros(n * k)?;
    {
        let (indices, distances) = (gpu.upload(indices)?, gpu.upload(distances)?);
        let irregular: Buffer<i32> = gpu.zeros(1)?;
        let capacity = k.next_power_of_two().max(32);
        let entropies_on_card = gpu.upload(&entropies)?;
        let args = [
            indices.arg(),
            distances.arg(),
            n.into(),
            k.into(),
            capacity.into(),
            entropies_on_card.arg(),
            entropies.len().into(),
            columns.arg(),
            weights.arg(),
            irregular.arg(),
        ];
        let shape = Shape { blocks: (n.div_ceil(WARPS), 1), threads: WARPS * 32, shared: WARPS * 8 * (capacity + k) };
        gpu.launch(kernel("entropic_rows"), shape, &args)?;
        let mut flag = [0];
        gpu.download(&irregular, &mut flag)?;
        if flag[0] != 0 {
            return Ok(None);
        }
    }
    let counts: Buffer<u32> = gpu.zeros(n)?;
    let edges = Arg::Long((n * k) as u64);
    let for_each_edge = Shape::for_each(n * k);
    gpu.launch(kernel("count_one_sided"), for_each_edge, &[columns.arg(), edges, k.into(), counts.arg()])?;
    let mut one_sided = vec![0u32; n];
    gpu.download(&counts, &mut one_sided)?;
    let mut starts = Vec::with_capacity(n + 1);
    starts.push(0u64);
    for (i, &count) in one_sided.iter().enumerate() {
        starts.push(starts[i] + k as u64 + u64::from(count));
    }
    let entries = starts[n] as usize;
    let (starts_on_card, used) = (gpu.upload(&starts)?, gpu.zeros::<u32>(n)?);
    let (out_columns, out_values) = (gpu.zeros::<u32>(entries)?, gpu.zeros::<f64>(entries)?);
    let args = [
        columns.arg(),
        weights.arg(),
        edges,
        k.into(),
        starts_on_card.arg(),
        used.arg(),
        out_columns.arg(),
        out_values.arg(),
    ];
    gpu.launch(kernel("average_with_transpose"), for_each_edge, &args)?;
    let longest = k + one_sided.iter().copied().max().unwrap_or(0) as usize;
    let capacity = longest.next_power_of_two().clamp(32, LONGEST_ROW);
    let shape = Shape { blocks: (n.div_ceil(WARPS), 1), threads: WARPS * 32, shared: WARPS * 16 * capacity };
    let args = [starts_on_card.arg(), n.into(), k.into(), capacity.into(), out_columns.arg(), out_values.arg()];
    gpu.launch(kernel("sort_rows"), shape, &args)?;
    let mut found = SparseMatrix {
        starts: starts.iter().map(|&start| start as usize).collect(),
        columns: vec![0; entries],
        values: vec![0.0; entries],
    };
    gpu.download(&out_columns, &mut found.columns)?;
    gpu.download(&out_values, &mut found.values)?;
    if longest > LONGEST_ROW {
        found.sort_rows_longer_than(LONGEST_ROW);
    }
    Ok(Some(found))
}

fn kernel(name: &'static str) -> Kernel {
    Kernel("affinity", name)
}

impl SparseMatrix {
    fn sort_rows_longer_than(&mut self, length: usize) {
        for bounds in self.starts.windows(2).filter(|bounds| bounds[1] - bounds[0] > length) {
            let range = bounds[0]..bounds[1];
            let columns = self.columns[range.clone()].iter().copied();
            let mut row: Vec<(u32, f64)> = columns.zip(self.values[range.clone()].iter().copied()).collect();
            row.sort_unstable_by_key(|entry| entry.0);
            for (at, (column, value)) in range.zip(row) {
                (self.columns[at], self.values[at]) = (column, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_sorted_with_their_values() {
        let mut matrix =
            SparseMatrix { starts: vec![0, 2, 5], columns: vec![3, 1, 4, 0, 2], values: vec![3.0, 1.0, 4.0, 0.0, 2.0] };
        matrix.sort_rows_longer_than(2);
        assert_eq!((&matrix.columns[..], &matrix.values[..]), (&[3, 1, 0, 2, 4][..], &[3.0, 1.0, 0.0, 2.0, 4.0][..]));
    }
}
