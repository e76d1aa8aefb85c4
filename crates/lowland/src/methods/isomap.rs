//! Isomap (Tenenbaum, de Silva & Langford 2000): classical scaling of the shortest paths in the neighbor graph.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::message::Note;
use lowland_core::params::{at_least_one, params};
use lowland_core::run::{Context, Outcome, Progress, Stage, in_batches};
use lowland_core::{Data, DataShape, Embedding, Metric, Result};
use lowland_linalg::{Csr, EigenOptions, Identity, SpectrumEnd, SymmetricOperator, block, dense, eigenpairs};
use lowland_neighbors::graph::{ConnectedComponents, ShortestPaths, Symmetrization, symmetrize};
use lowland_neighbors::{self, Search, nearest_to_with};

use super::components::available_components;
use crate::method::{FitInput, FitOutput, Method, TransformOutput, Transformer};
use crate::neighbor_stage::{self, Neighbors, connected_lengths, neighbors};

params! {
    /// Isomap.
    pub struct Isomap {
    /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of neighbors of each point, not counting the point itself.
        n_neighbors: usize = 10,
    /// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
    }
}

const PATHS: &str = "shortest paths";
const SCALING: &str = "scaling";
const NEGATIVE: &str = "negative eigenvalues";

impl Method for Isomap {
    const NAME: &'static str = "isomap";
    const CLASS_NAME: &'static str = "Isomap";
    const SUMMARY: &'static str = "Isomap: preserves the distances along the neighbor graph.";
    const ADVICE: &'static str = "Unrolls one connected manifold without holes and preserves its proportions. It needs memory for all pairs of rows, \
        so use landmarks beyond some ten thousand rows. A single wrong neighbor can short-circuit the embedding.";
    type Transformer = IsomapTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("n_neighbors", self.n_neighbors)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let n = shape.rows as f64;
        // Rough seconds on two cores.
        let search = neighbor_stage::seconds(shape);
        let paths = n * n * self.n_neighbors as f64 * 8e-9 + 1e-3;
        let scaling = n * n * (self.n_components as f64 + 4.0) * 2e-8 + 1e-3;
        vec![
            Stage { name: neighbor_stage::STAGE, weight: search },
            Stage { name: PATHS, weight: paths },
            Stage { name: SCALING, weight: scaling },
            Stage { name: NEGATIVE, weight: 0.5 * scaling },
        ]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        let k = self.n_neighbors.min(shape.rows);
        let own = self.paths_memory(shape.rows, shape.rows as f64 * k as f64);
        lowland_neighbors::search_memory(shape, self.metric, k, self.search).max(own as u64)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        self.n_neighbors.min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<IsomapTransformer>> {
        self.metric.check(input.data)?;
        let Neighbors { graph, exact, wider } = neighbors(input, self.n_neighbors, self.metric, self.search, context)?;
        let n = input.data.rows();
        let wanted = available_components(self.n_components, n - 1, "the number of points less one", context)?;
        let lengths = connected_lengths(input.data, self.metric, &graph, context)?;
        let lengths = symmetrize(&lengths, Symmetrization::Union)?;
        let squares = context
            .stage(PATHS, |context| context.with_progress(|progress| squared_path_lengths(&lengths, progress)))?;
        let gram = CenteredGram { means: block::column_means(&squares, n), squares };
        let (values, vectors) = context.stage(SCALING, |context| {
            // The largest eigenvalue tells whether any rows differ.
            let alive = self.paths_memory(n, graph.indices().len() as f64);
            let options = EigenOptions {
                max_memory: context.memory_left(alive),
                tolerance: 1e-7,
                max_iterations: 500,
                ..EigenOptions::new(SpectrumEnd::Largest, wanted)
            };
            if wanted == 0 {
                return Ok((Vec::new(), Vec::new()));
            }
            let seed = context.seed.stream(SCALING);
            let found =
                context.with_progress(|progress| eigenpairs(&gram, &Identity, options, &[], 0, seed, progress))?;
            if !found.report.converged {
                let residual = found.report.residuals.iter().copied().reduce(f64::max);
                context.note(Note::Approximate { what: "coordinates", iterations: None, residual });
            }
            Ok((found.values, found.vectors))
        })?;
        let dim = self.n_components;
        let mut coordinates = vec![0.0; n * dim];
        let top = values.first().copied().unwrap_or(0.0).max(0.0);
        let kept = values.iter().take_while(|&&value| value > 1e-12 * top && value > 0.0).count();
        if let Some(note) = negative_eigenvalues(&gram, &values[..kept], context)? {
            context.note(note);
        }
        if kept < wanted {
            let reason = "the distances have fewer dimensions".into();
            context.note(Note::ZeroCoordinates { zero: dim - kept, requested: dim, reason });
        }
        for (row, vector) in coordinates.chunks_exact_mut(dim).zip(vectors.chunks_exact(wanted.max(1))) {
            (0..kept).for_each(|c| row[c] = vector[c] * values[c].sqrt());
        }
        let embedding = Embedding::new(coordinates, dim)?;
        let mut values = values;
        values.resize(dim, 0.0);
        values[kept..].fill(0.0);
        let transformer = IsomapTransformer {
            params: self.clone(),
            data: input.data.clone(),
            lengths,
            means: gram.means,
            embedding: embedding.clone(),
            values,
        };
        Ok(FitOutput {
            embedding,
            transformer,
            outcome: Outcome::without_iterations(),
            neighbors: wider.or_else(|| exact.then_some(graph)),
        })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<IsomapTransformer> {
        let data = Data::load("training", archive)?;
        let n = data.rows();
        let indptr = archive.u64s("isomap/starts")?.iter().map(|&start| start as usize).collect();
        let lengths =
            Csr::new(indptr, archive.u32s("isomap/ends")?.to_vec(), archive.finite("isomap/lengths")?.to_vec(), n)?;
        let transformer = IsomapTransformer {
            params: self.clone(),
            lengths,
            means: archive.finite("isomap/means")?.to_vec(),
            embedding: Embedding::load("embedding", archive)?,
            values: archive.finite("isomap/values")?.to_vec(),
            data,
        };
        self.metric.check(&transformer.data)?;
        let fits = transformer.data.dim() == dim
            && transformer.lengths.rows() == n
            && transformer.means.len() == n
            && transformer.embedding.rows() == n
            && transformer.embedding.dim() == self.n_components
            && transformer.values.len() == self.n_components
            && transformer.lengths.values().iter().all(|length| *length >= 0.0)
            // Unreachable points would have no coordinates.
            && ConnectedComponents::from_matrix(&transformer.lengths).count() == 1;
        if fits { Ok(transformer) } else { Err(archive.invalid("its parts differ in size".into())) }
    }
}

impl Isomap {
    /// Returns the number of bytes after the neighbor search: all squared distances, the graph and its symmetric copy, and
    /// the eigensolver.
    fn paths_memory(&self, rows: usize, edges: f64) -> f64 {
        let n = rows as f64;
        let solver = EigenOptions::new(SpectrumEnd::Largest, self.n_components).memory(rows);
        n * n * 8.0 + edges * 64.0 + n * 40.0 + solver
    }
}

/// Returns a note about the negative eigenvalues of the Gram matrix, of which the distances of points in a Euclidean space
/// have none (Saul 2022, figure 11); `positive` holds the eigenvalues of the coordinates, descending.
fn negative_eigenvalues(gram: &CenteredGram, positive: &[f64], context: &mut Context) -> Result<Option<Note>> {
    let (Some(&largest), Some(&smallest)) = (positive.first(), positive.last()) else { return Ok(None) };
    // As many as there are coordinates: with more of them that are as large, no coordinate can be relied on. An eigenvalue
    // is far more accurate than its vector, which is not needed.
    let wanted = positive.len().min(gram.dim() - 1);
    let options = EigenOptions {
        tolerance: 1e-3,
        max_iterations: 100,
        fallback_up_to: 0,
        ..EigenOptions::new(SpectrumEnd::Smallest, wanted)
    };
    let seed = context.seed.stream(NEGATIVE);
    let found = context.stage(NEGATIVE, |context| {
        context.with_progress(|progress| eigenpairs(gram, &Identity, options, &[], 0, seed, progress))
    })?;
    let Some(most_negative) = found.values.first().map(|least| -least / largest).filter(|share| *share > 1e-9) else {
        return Ok(None);
    };
    let large: Vec<f64> = found.values.iter().map(|value| -value).filter(|size| *size >= smallest).collect();
    let (sum, kept): (f64, f64) = (large.iter().sum(), positive.iter().sum());
    Ok(Some(Note::NegativeEigenvalues {
        count: large.len(),
        more: large.len() == wanted,
        share: sum / (sum + kept),
        most_negative,
        supported: positive.iter().filter(|value| **value > most_negative * largest).count(),
        n_components: positive.len(),
    }))
}

/// Returns the squared lengths of the shortest paths between all points, row by row.
fn squared_path_lengths(lengths: &Csr, progress: &mut Progress) -> Result<Vec<f64>> {
    /// Number of points between two progress reports.
    const BATCH: usize = 64;
    let n = lengths.rows();
    let mut squares = vec![0.0; n * n];
    let search = ShortestPaths::new(lengths);
    for (batch, rows) in squares.chunks_mut(BATCH * n).enumerate() {
        progress((batch * BATCH) as f64 / n as f64)?;
        rows.par_chunks_mut(n).enumerate().for_each_init(
            || search.clone(),
            |search, (local, paths)| {
                search.from_sources(&[((batch * BATCH + local) as u32, 0.0)], paths);
                paths.iter_mut().for_each(|length| *length *= *length);
            },
        );
    }
    Ok(squares)
}

/// The operator `-J D2 J / 2`, where `D2` contains the squared distances and `J` subtracts means.
struct CenteredGram {
    squares: Vec<f64>,
    means: Vec<f64>,
}

impl SymmetricOperator for CenteredGram {
    fn dim(&self) -> usize {
        self.means.len()
    }

    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]) {
        /// Number of rows per task; fixed, so that sums do not depend on the number of threads.
        const ROWS: usize = 64;
        let n = self.dim();
        let mut centered = x.to_vec();
        subtract_means(&mut centered, columns);
        let tasks = out.par_chunks_mut(ROWS * columns).zip(self.squares.par_chunks(ROWS * n));
        tasks.for_each(|(out, squares)| dense::product_nn(squares, &centered, n, out));
        out.iter_mut().for_each(|v| *v *= -0.5);
        subtract_means(out, columns);
    }
}

fn subtract_means(x: &mut [f64], columns: usize) {
    let means = block::column_means(x, columns);
    x.chunks_exact_mut(columns).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, mean)| *v -= mean));
}

/// The neighbor graph, with the eigenvalues and mean squared distances of the training rows.
pub struct IsomapTransformer {
    params: Isomap,
    data: Data,
    lengths: Csr,
    /// Mean squared distance to each point.
    means: Vec<f64>,
    embedding: Embedding,
    values: Vec<f64>,
}

impl Transformer for IsomapTransformer {
    /// The out-of-sample formula of classical scaling (de Silva & Tenenbaum 2004):
    /// `y = sum_i y_i (mean_i - d_i^2) / (2 lambda)`. Shortest paths from a new row start at its neighbors.
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let (n, dim) = (self.data.rows(), self.embedding.dim());
        let k = self.params.n_neighbors.min(n);
        let graph = nearest_to_with(new, &self.data, k, self.params.metric, &mut |done| progress(0.3 * done))?;
        let search = ShortestPaths::new(&self.lengths);
        let rows = in_batches(new.rows(), &mut |done| progress(0.3 + 0.7 * done), |i| {
            let (near, lengths) = graph.row(i);
            let mut paths = vec![0.0; n];
            let sources: Vec<(u32, f64)> = near.iter().copied().zip(lengths.iter().map(|&d| f64::from(d))).collect();
            search.clone().from_sources(&sources, &mut paths);
            let mut position = vec![0.0; dim];
            for (j, (length, mean)) in paths.iter().zip(&self.means).enumerate() {
                let weight = 0.5 * (mean - length * length);
                position.iter_mut().zip(self.embedding.row(j)).for_each(|(y, other)| *y += other * weight);
            }
            for (y, value) in position.iter_mut().zip(&self.values) {
                *y = if *value > 0.0 { *y / value } else { 0.0 };
            }
            position
        })?;
        Ok(Embedding::new(rows.concat(), dim)?.into())
    }

    fn eigenvalues(&self) -> Option<Vec<f64>> {
        Some(self.values.clone())
    }

    fn path_lengths(&self, progress: &mut Progress) -> Result<Option<Vec<f64>>> {
        let mut lengths = squared_path_lengths(&self.lengths, progress)?;
        lengths.iter_mut().for_each(|square| *square = square.sqrt());
        Ok(Some(lengths))
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        let starts: Vec<u64> = self.lengths.indptr().iter().map(|&start| start as u64).collect();
        archive.put("isomap/starts", starts);
        archive.put("isomap/ends", self.lengths.indices());
        archive.put("isomap/lengths", self.lengths.values());
        archive.put("isomap/means", self.means.as_slice());
        archive.put("isomap/values", self.values.as_slice());
    }
}

#[cfg(test)]
#[path = "isomap_tests.rs"]
mod tests;
