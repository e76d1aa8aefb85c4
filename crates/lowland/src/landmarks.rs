//! Landmarks: a method is fitted to some of the rows, and the embedding is extended to the others by locally linear
//! extension.

use lowland_algorithms::llx::Llx;
use lowland_algorithms::tsm::{row_norms, scale_to_norms};
use lowland_core::archive::Archive;
use lowland_core::message::{Note, SimilarityNote};
use lowland_core::params::invalid_parameter;
use lowland_core::run::{Context, Progress, Stage};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Points, Result};
use lowland_linalg::Csr;

use crate::method::{DynMethod, FitInput, FitOutput, LandmarksUnsupported, TransformOutput, Transformer};
use crate::neighbor_stage;

/// The name of the parameter that every method has besides its own.
pub const LANDMARKS: &str = "landmarks";

pub(crate) const EXTENSION: &str = "extension";

/// A method that is fitted to evenly spaced rows and extended to the others.
pub(crate) struct Landmarks {
    method: Box<dyn DynMethod>,
    count: usize,
    llx: Llx,
}

impl Landmarks {
    /// Fails if the method does not support landmarks.
    pub(crate) fn new(method: Box<dyn DynMethod>, count: usize) -> Result<Self> {
        if let Err(LandmarksUnsupported { name, value, allowed }) = method.supports_landmarks() {
            return Err(Error::Parameter { name, value, allowed: allowed.into() });
        }
        let llx = extension_of(method.as_ref());
        Ok(Self { method, count, llx })
    }

    fn landmark_shape(&self, shape: DataShape) -> DataShape {
        let rows = self.count.min(shape.rows);
        let bytes = (shape.bytes as f64 * rows as f64 / shape.rows.max(1) as f64) as u64;
        DataShape { rows, bytes, ..shape }
    }

    /// Returns the number of bytes of a fit whose method takes `method` bytes for the landmarks.
    fn memory_with(&self, shape: DataShape, method: u64) -> u64 {
        self.landmark_shape(shape).bytes.saturating_add(method.max(extension_memory(&self.llx, shape)))
    }
}

/// The locally linear extension of a method: by angles and unconstrained weights if zero means zero, by the method's metric
/// and weights that sum to one otherwise.
pub(crate) fn extension_of(method: &dyn DynMethod) -> Llx {
    let (dim, metric) = (method.n_components(), method.metric().unwrap_or(Metric::Euclidean));
    if method.preserves_origin() { Llx::linear(dim) } else { Llx::affine(dim, metric) }
}

/// Expected seconds of an extension.
pub(crate) fn extension_seconds(shape: DataShape) -> f64 {
    neighbor_stage::seconds(shape) + shape.rows as f64 * shape.dim.max(10) as f64 * 4e-8
}

/// Bytes that an extension needs besides the data.
pub(crate) fn extension_memory(llx: &Llx, shape: DataShape) -> u64 {
    let k = llx.n_neighbors.min(shape.rows);
    let search = lowland_neighbors::search_memory(shape, llx.metric, k, llx.search);
    // The weights as lists, rows and columns; the embedding and the blocks of the solver.
    let weights = shape.rows as f64 * (k as f64 * 60.0 + llx.n_neighbors as f64 * 20.0);
    search.max(weights as u64)
}

impl DynMethod for Landmarks {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn preserves_origin(&self) -> bool {
        self.method.preserves_origin()
    }

    fn has_std(&self) -> bool {
        self.method.has_std()
    }

    fn transforms_exactly(&self) -> bool {
        false
    }

    fn supports_anchors(&self) -> bool {
        false
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        self.method.values()
    }

    fn default_values(&self) -> Vec<(&'static str, String)> {
        self.method.default_values()
    }

    /// Extension needs all cells.
    fn accepts_missing(&self) -> bool {
        false
    }

    fn keeps_norms(&self) -> bool {
        self.method.keeps_norms()
    }

    fn validate(&self) -> Result<()> {
        self.method.validate()
    }

    fn n_components(&self) -> usize {
        self.method.n_components()
    }

    fn metric(&self) -> Option<Metric> {
        self.method.metric()
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        let mut stages = self.method.stages(self.landmark_shape(shape));
        stages.push(Stage { name: EXTENSION, weight: extension_seconds(shape) });
        stages
    }

    fn memory(&self, shape: DataShape) -> u64 {
        self.memory_with(shape, self.method.memory(self.landmark_shape(shape)))
    }

    fn memory_within(&self, shape: DataShape, limit: Option<u64>) -> u64 {
        let part = self.landmark_shape(shape);
        let limit = limit.map(|limit| limit.saturating_sub(part.bytes));
        self.memory_with(shape, self.method.memory_within(part, limit))
    }

    fn required_neighbors(&self, _rows: usize) -> usize {
        0
    }

    fn supports_landmarks(&self) -> std::result::Result<(), LandmarksUnsupported> {
        self.method.supports_landmarks()
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<Box<dyn Transformer>>> {
        let (data, llx) = (input.data, &self.llx);
        llx.check(data)?;
        if input.neighbors.is_some() {
            return invalid_parameter(
                LANDMARKS,
                &self.count,
                "landmarks cannot be combined with a neighbor graph of all rows",
            );
        }
        let (n, m) = (data.rows(), self.count.min(data.rows()));
        if self.count > n {
            context.note(Note::LandmarksReduced { requested: self.count, rows: n });
        }
        let rows: Vec<usize> = (0..m).map(|at| (at as u128 * n as u128 / m as u128) as usize).collect();
        let target = input.target.map(|target| target.select(&rows));
        let landmarks = FitInput {
            data: &data.select(&rows),
            neighbors: None,
            target: target.as_ref(),
            anchors: None,
            reported_neighbors: 0,
        };
        let fitted = self.method.fit_with_context(landmarks, context)?;
        let std = fitted.transformer.std();
        let (embedding, std) = context.stage(EXTENSION, |context| {
            let seed = context.seed.stream(EXTENSION);
            // The standard deviations are extended as an additional coordinate.
            let with_std = append_std(fitted.embedding.points(), std.as_deref())?;
            let known = with_std.points();
            let weights =
                context.with_progress(|progress| llx.weights(data, seed, &mut |done| progress(0.7 * done)))?;
            let unreached = Llx::unreached_rows(&weights, &rows);
            if !unreached.is_empty() {
                context.note(Note::NotConnectedToLandmarks { rows: unreached });
            }
            let extended = extend(&weights, &rows, known, context)?;
            split_std(extended, std.as_deref())
        })?;
        let keeps_norms = self.method.keeps_norms();
        let embedding = if keeps_norms { scale_to_data(embedding, data, context)? } else { embedding };
        let transformer =
            LlxTransformer { llx: *llx, data: data.clone(), embedding: embedding.clone(), std, keeps_norms };
        let transformer: Box<dyn Transformer> = Box::new(transformer);
        Ok(FitOutput { embedding, transformer, outcome: fitted.outcome, neighbors: None })
    }

    fn load(&self, archive: &Archive, n_features: usize) -> Result<Box<dyn Transformer>> {
        let loaded = LlxTransformer::load(self.llx, archive, n_features)?;
        Ok(Box::new(LlxTransformer { keeps_norms: self.method.keeps_norms(), ..loaded }))
    }

    fn clone_box(&self) -> Box<dyn DynMethod> {
        Box::new(Self { method: self.method.clone_box(), count: self.count, llx: self.llx })
    }
}

/// Extends the positions of `rows` by the given weights, with a note if the solver did not converge.
pub(crate) fn extend(weights: &Csr, rows: &[usize], known: Points, context: &mut Context) -> Result<Embedding> {
    let (extended, report) = context.with_progress(|progress| {
        Llx::extend_by_weights(weights, rows, known, &mut |done| progress(0.7 + 0.3 * done))
    })?;
    if !report.converged {
        let residual = report.residuals.iter().copied().reduce(f64::max);
        context.note(Note::Approximate { what: "extended coordinates", iterations: None, residual });
    }
    Ok(extended)
}

/// Scales every row to the norm of its row of the data, with a note about rows at zero.
fn scale_to_data(embedding: Embedding, data: &Data, context: &mut Context) -> Result<Embedding> {
    let (embedding, count) = scale_to_norms(embedding, &row_norms(data))?;
    if count > 0 {
        context.note(Note::Similarity(SimilarityNote::NormsNotScaled { count }));
    }
    Ok(embedding)
}

/// Returns the embedding with the standard deviations, if there are any, as its last coordinate.
fn append_std(points: Points, std: Option<&[f64]>) -> Result<Embedding> {
    let Some(std) = std else { return Embedding::new(points.values().to_vec(), points.dim()) };
    let rows = (0..points.rows()).flat_map(|i| points.row(i).iter().chain(&std[i..=i]).copied());
    Embedding::new(rows.collect(), points.dim() + 1)
}

/// Splits off the standard deviations. Since weights can be negative, the result is clipped to the smallest `known` value.
fn split_std(with_std: Embedding, known: Option<&[f64]>) -> Result<(Embedding, Option<Vec<f64>>)> {
    let Some(known) = known else { return Ok((with_std, None)) };
    let dim = with_std.dim() - 1;
    let smallest = known.iter().copied().fold(f64::INFINITY, f64::min);
    let std = (0..with_std.rows()).map(|i| with_std.row(i)[dim].max(smallest)).collect();
    let coordinates = (0..with_std.rows()).flat_map(|i| with_std.row(i)[..dim].iter().copied()).collect();
    Ok((Embedding::new(coordinates, dim)?, Some(std)))
}

/// Transforms new rows by combining the coordinates of their nearest training rows.
pub struct LlxTransformer {
    pub(crate) llx: Llx,
    pub(crate) data: Data,
    pub(crate) embedding: Embedding,
    /// Standard deviation of each row's position, if the method has one.
    pub(crate) std: Option<Vec<f64>>,
    /// Whether new rows are scaled to the norms of their data.
    pub(crate) keeps_norms: bool,
}

impl LlxTransformer {
    /// Reads the transformer from a model file; `dim` is the number of columns of the data.
    pub(crate) fn load(llx: Llx, archive: &Archive, dim: usize) -> Result<Self> {
        let (data, embedding) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        llx.check(&data)?;
        let std = match archive.number("landmarks/std_known")? {
            0 => None,
            _ => Some(archive.finite("landmarks/std")?.to_vec()),
        };
        let fits = data.dim() == dim
            && data.rows() == embedding.rows()
            && std.as_ref().is_none_or(|std| std.len() == data.rows() && std.iter().all(|s| *s >= 0.0));
        if fits {
            Ok(Self { llx, data, embedding, std, keeps_norms: false })
        } else {
            Err(archive.invalid("its parts differ in size".into()))
        }
    }
}

impl Transformer for LlxTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let std = self.std.as_deref();
        let with_std = append_std(self.embedding.points(), std)?;
        let transformed = self.llx.transform(new, &self.data, with_std.points(), progress)?;
        let (mut embedding, std) = split_std(transformed, std)?;
        if self.keeps_norms {
            embedding = scale_to_norms(embedding, &row_norms(new))?.0;
        }
        Ok(TransformOutput { std, ..embedding.into() })
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("landmarks/std_known", u64::from(self.std.is_some()));
        if let Some(std) = &self.std {
            archive.put("landmarks/std", std.as_slice());
        }
    }

    fn std(&self) -> Option<Vec<f64>> {
        self.std.clone()
    }
}
