//! Locally linear embedding (Roweis & Saul 2000) and local tangent space alignment (Zhang & Zha 2004): what holds within each
//! neighbourhood should hold on the map. Both end with the bottom eigenvectors of a sparse matrix.

use lowland_algorithms::llx::{Llx, copy_row};
use lowland_core::archive::Archive;
use lowland_core::params::{at_least_one, params, refuse};
use lowland_core::run::{Context, Outcome, Stage, in_batches};
use lowland_core::{Data, Embedding, Error, Metric, Result, Shape};
use lowland_linalg::dense::{Cholesky, eigh, power_of_two_near, product_nt};
use lowland_linalg::{Csr, EigenOptions, Jacobi, Preconditioner, SparseCholesky, SpectrumEnd, eigenpairs};
use lowland_neighbors::graph::ConnectedComponents;
use lowland_neighbors::{self, NeighborGraph, Search};

use super::landmarks::LocalModel;
use super::neighbor_stage::{self, Neighbors, all_equal, neighbors};
use super::{Fit, Input, Recipe, available_components};

params! {
    /// Locally linear embedding.
    pub struct Lle {
        /// Dimensions of the map.
        n_components: usize = 2,
        /// Neighbours of each point, the point itself not counted.
        n_neighbors: usize = 12,
        /// Distance between rows.
        metric: Metric = Metric::Euclidean,
        /// How neighbours are searched.
        search: Search = Search::Auto,
        /// What weights cost, relative to the squared distances of the neighbours.
        reg: f64 = 1e-3,
    }
}

params! {
    /// Local tangent space alignment.
    pub struct Ltsa {
        /// Dimensions of the map.
        n_components: usize = 2,
        /// Neighbours of each point, the point itself not counted; more than there are dimensions.
        n_neighbors: usize = 12,
        /// Distance between rows.
        metric: Metric = Metric::Euclidean,
        /// How neighbours are searched.
        search: Search = Search::Auto,
    }
}

const WEIGHTS: &str = "neighbourhoods";
const EIGENVECTORS: &str = "eigenvectors";

/// What new rows cost to be combined of training rows.
const PLACING: f64 = 1e-3;

impl Recipe for Lle {
    const NAME: &'static str = "lle";
    const SUMMARY: &'static str =
        "locally linear embedding: each point is the same combination of its neighbours on the map";
    const ADVICE: &'static str = "A classic for one smooth sheet, sampled well; fast, but its maps are often squeezed, and it has no say about \
        clusters. For comparison with newer methods.";
    const GIVES_STD: bool = false;
    type Model = LocalModel;

    fn check(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("n_neighbors", self.n_neighbors)?;
        if !(self.reg > 0.0 && self.reg.is_finite()) {
            return refuse("reg", &self.reg, "a positive number");
        }
        Ok(())
    }

    fn stages(&self, shape: Shape) -> Vec<Stage> {
        stages(shape, self.n_neighbors)
    }

    fn memory(&self, shape: Shape) -> u64 {
        memory(shape, self.n_neighbors, self.n_components, self.metric, self.search)
    }

    fn neighbors(&self, rows: usize) -> usize {
        self.n_neighbors.min(rows.saturating_sub(1))
    }

    fn fit(&self, input: Input, context: &mut Context) -> Result<Fit<LocalModel>> {
        fit(self.llx(), self.n_components, input, context, |graph, context| self.matrix(input.data, graph, context))
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<LocalModel> {
        LocalModel::load(self.llx(), archive, dim)
    }
}

impl Lle {
    fn llx(&self) -> Llx {
        Llx { n_neighbors: self.n_neighbors, metric: self.metric, affine: true, ridge: self.reg, search: self.search }
    }

    /// `(I - W)'(I - W)`, `W` the weights of each row's neighbours.
    fn matrix(&self, data: &Data, graph: &NeighborGraph, context: &mut Context) -> Result<Csr> {
        let weights = context.with_progress(|progress| self.llx().weights_among(data, graph, progress))?;
        let entries = (0..weights.rows()).flat_map(|i| {
            let (near, values) = weights.row(i);
            let row: Vec<(u32, f64)> =
                near.iter().copied().zip(values.iter().map(|w| -w)).chain([(i as u32, 1.0)]).collect();
            outer(&row)
        });
        Csr::from_triplets(weights.rows(), weights.rows(), entries)
    }
}

impl Recipe for Ltsa {
    const NAME: &'static str = "ltsa";
    const SUMMARY: &'static str =
        "local tangent space alignment: the flat coordinates of each neighbourhood, put together";
    const ADVICE: &'static str = "A classic for one smooth sheet, sampled well; steadier than lle where the sheet bends. For comparison with newer methods.";
    const GIVES_STD: bool = false;
    type Model = LocalModel;

    fn check(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        if self.n_neighbors <= self.n_components {
            return refuse("n_neighbors", &self.n_neighbors, "more than n_components");
        }
        Ok(())
    }

    fn stages(&self, shape: Shape) -> Vec<Stage> {
        stages(shape, self.n_neighbors)
    }

    fn memory(&self, shape: Shape) -> u64 {
        memory(shape, self.n_neighbors, self.n_components, self.metric, self.search)
    }

    fn neighbors(&self, rows: usize) -> usize {
        self.n_neighbors.min(rows.saturating_sub(1))
    }

    fn fit(&self, input: Input, context: &mut Context) -> Result<Fit<LocalModel>> {
        fit(self.llx(), self.n_components, input, context, |graph, context| self.matrix(input.data, graph, context))
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<LocalModel> {
        LocalModel::load(self.llx(), archive, dim)
    }
}

impl Ltsa {
    fn llx(&self) -> Llx {
        Llx { n_neighbors: self.n_neighbors, metric: self.metric, affine: true, ridge: PLACING, search: self.search }
    }

    /// The sum of what all neighbourhoods cost.
    fn matrix(&self, data: &Data, graph: &NeighborGraph, context: &mut Context) -> Result<Csr> {
        let n = graph.rows();
        let mut met = vec![false; n];
        graph.indices().iter().for_each(|&j| met[j as usize] = true);
        let parts = context.with_progress(|progress| {
            in_batches(n, progress, |i| {
                let mut near = graph.row(i).0.to_vec();
                // A point that is nobody's neighbour would have no place: it is its own.
                if !met[i] {
                    near.push(i as u32);
                }
                misalignment(data, &near, self.n_components)
            })
        })?;
        Csr::from_triplets(n, n, parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten())
    }
}

/// What places of a neighbourhood cost that are no affine image of its tangent coordinates: `I - G G'`, `G` the constant
/// and the top left singular vectors of the centred neighbours.
fn misalignment(data: &Data, near: &[u32], dim: usize) -> Result<Vec<(u32, u32, f64)>> {
    let (k, columns) = (near.len(), data.dim());
    let mut rows = vec![0.0; k * columns];
    rows.chunks_exact_mut(columns.max(1)).zip(near).for_each(|(row, &j)| copy_row(data, j as usize, row));
    let means = lowland_linalg::block::column_means(&rows, columns);
    rows.chunks_exact_mut(columns.max(1)).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, m)| *v -= m));
    // Its square must neither overflow nor vanish.
    let unit = power_of_two_near(rows.iter().fold(0.0f64, |m, v| m.max(v.abs())));
    rows.iter_mut().for_each(|v| *v /= unit);
    let mut gram = vec![0.0; k * k];
    product_nt(&rows, &rows, columns, &mut gram);
    let (values, vectors) = eigh(&gram, k)?;
    let tangent = |i: usize, c: usize| vectors[i * k + k - 1 - c];
    // Where neighbours span fewer dimensions, the next vectors mean nothing, and the constant one may be among them.
    let spanned = values.iter().rev().take(dim).take_while(|&&value| value > 1e-12 * values[k - 1]).count();
    let mut out = Vec::with_capacity(k * k);
    for i in 0..k {
        for j in 0..k {
            let shared: f64 = (0..spanned).map(|c| tangent(i, c) * tangent(j, c)).sum();
            out.push((near[i], near[j], f64::from(u8::from(i == j)) - 1.0 / k as f64 - shared));
        }
    }
    Ok(out)
}

/// All products of the entries of a sparse vector.
fn outer(row: &[(u32, f64)]) -> Vec<(u32, u32, f64)> {
    row.iter().flat_map(|&(i, a)| row.iter().map(move |&(j, b)| (i, j, a * b))).collect()
}

fn stages(shape: Shape, k: usize) -> Vec<Stage> {
    let (n, dim, k) = (shape.rows as f64, shape.dim.max(10) as f64, k as f64);
    // Seconds on two cores, roughly.
    let search = neighbor_stage::seconds(shape);
    vec![
        Stage { name: neighbor_stage::STAGE, weight: search },
        Stage { name: WEIGHTS, weight: n * k * k * (dim * 4e-10 + 4e-8) + 1e-3 },
        Stage { name: EIGENVECTORS, weight: n * k * k * 1e-6 + 1e-3 },
    ]
}

/// Entries of a sparse factor at the most.
const MOST: usize = 1 << 26;
/// Beyond this many rows a factor that is not sparse is not tried: its time grows with the cube.
const MOST_DENSE: usize = 6_000;

fn memory(shape: Shape, k: usize, d: usize, metric: Metric, search: Search) -> u64 {
    let k = k.min(shape.rows);
    let [n, edges, d] = [shape.rows, k, d].map(|count| count as f64);
    // The matrix, its entries before they are added up, its factor, some blocks of vectors.
    let entries = n * (edges + 1.0).powi(2) * 60.0;
    let factor = if shape.rows <= MOST_DENSE { 16.0 * n * n } else { 8.0 * MOST as f64 };
    let own = entries + factor + n * (d + 14.0) * 80.0;
    lowland_neighbors::search_memory(shape, metric, k, search).saturating_add(own as u64)
}

/// The bottom eigenvectors, but the constant one, of the matrix that `matrix` makes of the neighbour graph.
fn fit(
    llx: Llx,
    dim: usize,
    input: Input,
    context: &mut Context,
    matrix: impl FnOnce(&NeighborGraph, &mut Context) -> Result<Csr>,
) -> Result<Fit<LocalModel>> {
    llx.check(input.data)?;
    let Neighbors { graph, exact } = neighbors(input, llx.n_neighbors, llx.metric, llx.search, context)?;
    let n = input.data.rows();
    let mut wanted = available_components(dim, n - 1, "the number of points less one", context)?;
    if n > 1 && graph.distances().iter().all(|&d| d == 0.0) {
        if !all_equal(input.data, llx.metric, &graph, context)? {
            let (value, allowed) = (llx.n_neighbors.to_string(), "more: every row's neighbours are copies of it");
            return Err(Error::Parameter { name: "n_neighbors", value, allowed: allowed.into() });
        }
        context.note("all rows are equal: they share one place");
        wanted = 0;
    }
    let mut map = vec![0.0; n * dim];
    if wanted > 0 {
        note_parts(&graph, wanted, context);
        let matrix = context.stage(WEIGHTS, |context| matrix(&graph, context))?;
        let vectors = context.stage(EIGENVECTORS, |context| bottom(&matrix, wanted, llx.n_neighbors, MOST, context))?;
        // Each coordinate with standard deviation 1.
        let scale = (n as f64).sqrt();
        for (row, vector) in map.chunks_exact_mut(dim).zip(vectors.chunks_exact(wanted)) {
            row.iter_mut().zip(vector).for_each(|(y, v)| *y = scale * v);
        }
    }
    let embedding = Embedding::new(map, dim)?;
    let model = LocalModel { llx, data: input.data.clone(), embedding: embedding.clone(), std: None };
    Ok(Fit { embedding, model, outcome: Outcome::direct(), graph: exact.then_some(graph) })
}

/// Where the graph falls into parts, vectors that are constant on each cost nothing and come first. (For LLE it is enough that no
/// row of a part has neighbours elsewhere, though others may have it for theirs; that is not looked for.)
fn note_parts(graph: &NeighborGraph, wanted: usize, context: &mut Context) {
    let parts = ConnectedComponents::from_neighbors(graph).count();
    if parts > 1 {
        let constant = wanted.min(parts - 1);
        context.note(format!(
            "the neighbour graph fell into {parts} parts, and {constant} of {wanted} coordinates only tell them apart: try \
             more n_neighbors, or a method that joins them, such as lvm or isomap"
        ));
    }
}

/// Eigenvectors to the smallest eigenvalues, the constant vector left out: with a factor of at most `most` entries, or without one.
/// The second way finds them where they stand clear of the rest (`ltsa` of rows that fill many dimensions), not where all crowd at
/// zero.
fn bottom(matrix: &Csr, wanted: usize, n_neighbors: usize, most: usize, context: &mut Context) -> Result<Vec<f64>> {
    let n = matrix.rows();
    let constant = vec![1.0 / (n as f64).sqrt(); n];
    // The values themselves are near zero: residuals are compared with the whole matrix.
    let mut options = EigenOptions { floor: 1e-12, ..EigenOptions::new(SpectrumEnd::Smallest, wanted) };
    let factor = ShiftedInverse::new(matrix, most)?;
    let diagonal = Jacobi::new(&matrix.diagonal());
    let preconditioner: &dyn Preconditioner = match &factor {
        Some(factor) => factor,
        None => {
            options.max_iterations = 1000;
            &diagonal
        }
    };
    let seed = context.seed.stream(EIGENVECTORS);
    let found =
        context.with_progress(|progress| eigenpairs(matrix, preconditioner, options, &constant, 1, seed, progress))?;
    if !found.report.converged {
        if factor.is_none() {
            let allowed = "fewer, or landmarks = 5000: the matrix has too large a factor, and without one its \
                eigenvectors are not found";
            return refuse("n_neighbors", &n_neighbors, allowed);
        }
        let worst = found.report.residuals.iter().copied().fold(0.0, f64::max);
        context.note(format!("the eigenvectors are approximate: residual {worst:.1e}"));
    }
    Ok(found.vectors)
}

/// The inverse of a positive semidefinite matrix with a little added to its diagonal.
enum ShiftedInverse {
    Sparse(Box<SparseCholesky>),
    Dense(Cholesky),
}

impl ShiftedInverse {
    /// `None` if its factor would have more than `most` entries.
    fn new(matrix: &Csr, most: usize) -> Result<Option<Self>> {
        let largest = matrix.diagonal().iter().copied().fold(0.0, f64::max);
        // A neighbourhood's share is of size one: less is rounding.
        let largest = largest.max(1.0);
        let mut shift = 1e-12 * largest;
        // Rounding can make a singular matrix look indefinite.
        loop {
            let shifted = matrix.map(|i, j, v| if i == j { v + shift } else { v });
            match Self::factor(&shifted, most) {
                Err(Error::Numerical { .. }) if shift < 1e-3 * largest => shift *= 100.0,
                result => return result,
            }
        }
    }

    fn factor(matrix: &Csr, most: usize) -> Result<Option<Self>> {
        let n = matrix.rows();
        if let Some(factor) = SparseCholesky::new(matrix, 1, most.min(n * n / 2))? {
            return Ok(Some(Self::Sparse(Box::new(factor))));
        }
        if n > MOST_DENSE || n * n > most {
            return Ok(None);
        }
        let mut full = vec![0.0; n * n];
        matrix.iter().for_each(|(i, j, v)| full[i * n + j] = v);
        Cholesky::new(&full, n).map(|factor| Some(Self::Dense(factor)))
    }
}

impl Preconditioner for ShiftedInverse {
    fn apply(&self, r: &[f64], columns: usize, out: &mut [f64]) {
        out.copy_from_slice(r);
        match self {
            Self::Sparse(factor) => factor.solve_columns(out, columns),
            Self::Dense(factor) => factor.solve(out, columns),
        }
    }

    fn name(&self) -> &'static str {
        "shifted inverse"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Job;
    use lowland_core::run::{Limits, Silent};
    use lowland_core::{Dense, Seed};

    /// Rows that fill ten dimensions, longer in some than in others.
    fn cloud(n: usize) -> Data {
        let values = Seed(7).normals(n * 10).into_iter().enumerate().map(|(at, v)| v as f32 / (1 + at % 10) as f32);
        Data::Dense(Dense::new(values.collect(), 10).unwrap())
    }

    /// The bottom vectors of a method's matrix by a factor of at most `most` entries.
    fn vectors(of: fn(&Data, &NeighborGraph, &mut Context) -> Result<Csr>, most: usize) -> Result<Vec<f64>> {
        // More rows than a dense decomposition is tried with.
        let data = cloud(2500);
        let mut silent = Silent;
        let mut context = Context::new(&mut silent, Seed(1), None);
        let params = lowland_neighbors::NeighborParams::default();
        let graph = lowland_neighbors::nearest(&data, &params)?.graph;
        bottom(&of(&data, &graph, &mut context)?, 2, 15, most, &mut context)
    }

    #[test]
    fn tangent_spaces_are_aligned_with_a_factor_and_without() {
        let alignment =
            |data: &Data, graph: &NeighborGraph, context: &mut Context| Ltsa::default().matrix(data, graph, context);
        let (by_factor, without) = (vectors(alignment, MOST).unwrap(), vectors(alignment, 0).unwrap());
        let furthest = by_factor.iter().zip(&without).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(furthest < 1e-5, "{furthest}");
    }

    #[test]
    fn parts_of_the_graph_are_said() {
        let apart = |distance: f32| {
            let Data::Dense(cloud) = cloud(200) else { unreachable!() };
            let mut values = cloud.values().to_vec();
            values[..1000].iter_mut().for_each(|value| *value += distance);
            Data::Dense(Dense::new(values, 10).unwrap())
        };
        for method in ["lle", "ltsa"] {
            let [said, one] = [1e4, 0.0].map(|distance| {
                let job = Job::new(method, &[], Seed(0)).unwrap();
                let fitted = job.fit(&apart(distance), None, &Limits::default(), &mut Silent).unwrap();
                fitted.notes.iter().any(|note| note.contains("fell into 2 parts"))
            });
            assert!(said && !one, "{method}");
        }
    }

    #[test]
    fn what_is_not_found_without_a_factor_is_refused() {
        let combinations =
            |data: &Data, graph: &NeighborGraph, context: &mut Context| Lle::default().matrix(data, graph, context);
        assert!(vectors(combinations, MOST).is_ok());
        let said = vectors(combinations, 0).unwrap_err().to_string();
        assert!(said.contains("landmarks = 5000"), "{said}");
    }
}
