//! Rows of dense or sparse data as dense numbers.

use lowland_core::Data;

/// Copies row `i` to `out` as dense numbers.
pub fn copy_dense_row<T: From<f32> + Clone>(data: &Data, i: usize, out: &mut [T]) {
    match data {
        Data::Dense(x) => out.iter_mut().zip(x.row(i)).for_each(|(out, &v)| *out = v.into()),
        Data::Sparse(x) => {
            out.fill(0.0.into());
            let (columns, values) = x.row(i);
            columns.iter().zip(values).for_each(|(&c, &v)| out[c as usize] = v.into());
        }
        Data::Text(_) => {}
    }
}
