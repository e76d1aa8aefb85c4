//! Fitted models: the embedding, and the state that transforms new rows.

use std::path::Path;
use std::sync::Arc;

use lowland_algorithms::density::LocalRadii;
use lowland_core::archive::{Archive, ArchiveKind};
use lowland_core::message::{Note, Remedy};
use lowland_core::run::{Outcome, Progress};
use lowland_core::{Data, Embedding, Error, Metric, Points, Result, Seed, check_computed_embedding};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;
use lowland_trust::MapLoss;

use crate::alignment::MapAlignment;
use crate::files;
use crate::fixed::FixedPositions;
use crate::method::{DynMethod, FitOutput, InferredCells, Method, PrincipalComponents, TransformOutput, Transformer};
use crate::pipeline::Pipeline;
use crate::preprocessing::{Preprocessing, Preprocessor};
use crate::training_rows::TrainingRowHashes;

/// A fitted model.
///
/// ```
/// use lowland::methods::Lvm;
/// use lowland::{Data, Model, Seed};
///
/// let x = Data::dense(Seed(1).normals(300).into_iter().map(|v| v as f32).collect(), 3)?;
/// let model = Lvm { max_iter: 20, ..Lvm::default() }.fit(&x)?;
/// let std = model.std().expect("lvm has a standard deviation for every point");
/// assert_eq!(std.len(), model.embedding().rows());
/// assert_eq!(&model.transform(&x)?, model.embedding());          // training rows keep their coordinates
/// let rows = model.inverse_transform(model.embedding().points())?;
/// assert_eq!(rows.dim(), 3);
/// let again = Model::from_bytes(&model.to_bytes())?;
/// assert_eq!(again.embedding(), model.embedding());
/// # Ok::<(), lowland::Error>(())
/// ```
pub struct Model {
    pipeline: Pipeline,
    /// As the method has computed it.
    embedding: Embedding,
    /// How the map is shown, and the embedding transformed in that way.
    aligned: Option<(MapAlignment, Embedding)>,
    outcome: Outcome,
    notes: Vec<Note>,
    feature_names: Vec<String>,
    neighbors: Option<NeighborGraph>,
    preprocessor: Preprocessor,
    transformer: Box<dyn Transformer>,
    n_features: usize,
    offsets: Option<Arc<[f64]>>,
    single_precision: bool,
    kind: String,
    training_data: Option<Data>,
    training_rows: TrainingRowHashes,
}

/// Coordinates that differ by less than this share of the largest are equal up to rounding.
const ROUNDING: f64 = 1e-4;

impl Model {
    pub(crate) fn new(
        pipeline: Pipeline,
        data: &Data,
        preprocessor: Preprocessor,
        prepared: Data,
        output: FitOutput<Box<dyn Transformer>>,
        notes: Vec<Note>,
        feature_names: Vec<String>,
    ) -> Self {
        let FitOutput { embedding, transformer, outcome, neighbors } = output;
        let hashes = if pipeline.transforms_exactly() { Vec::new() } else { data.row_hashes().into_owned() };
        Self {
            pipeline,
            embedding,
            aligned: None,
            outcome,
            notes,
            feature_names,
            neighbors,
            preprocessor,
            transformer,
            n_features: data.dim(),
            offsets: data.offsets().map(Arc::from),
            single_precision: false,
            kind: data.kind().into(),
            training_data: Some(prepared),
            training_rows: TrainingRowHashes::new(hashes),
        }
    }

    pub(crate) fn with_single_precision(self, single_precision: bool) -> Self {
        Self { single_precision, ..self }
    }

    /// Whether the caller of the fit had the data in single precision.
    pub fn single_precision(&self) -> bool {
        self.single_precision
    }

    /// Returns the embedding, one row per row of the data.
    pub fn embedding(&self) -> &Embedding {
        self.aligned.as_ref().map_or(&self.embedding, |(_, embedding)| embedding)
    }

    /// Returns the embedding as the method has computed it, without an [alignment](Model::align_to).
    pub fn own_embedding(&self) -> &Embedding {
        &self.embedding
    }

    /// Rotates, reflects, scales and translates the map so that rows come as close as possible to the given positions. The embedding and
    /// everything that the model returns for new rows follow; distances on the map keep their proportions.
    pub fn align_to(&mut self, positions: &FixedPositions) -> Result<()> {
        let (rows, dim) = (self.embedding.rows(), self.embedding.dim());
        if positions.positions().dim() != dim {
            let what = "dimensions of the map to align to";
            return Err(Error::Shape { what, expected: dim, found: positions.positions().dim() });
        }
        if let Some(&last) = positions.rows().last().filter(|&&last| last >= rows) {
            return Err(Error::Shape {
                what: "rows of the map (all rows to align exist)",
                expected: rows,
                found: last + 1,
            });
        }
        if positions.len() < 2 {
            let remedies = vec![Remedy::Other("align to a map with more of the rows")];
            let what = "an alignment".into();
            return Err(Error::TooFewPoints { what, needed: 2, found: positions.len(), remedies });
        }
        let alignment = MapAlignment::new(&self.embedding, positions)?;
        if !alignment.scale().is_normal() {
            let reason = "the positions to align to do not vary with those of the map".into();
            return Err(Error::Numerical { what: "the alignment", reason });
        }
        let embedding = alignment.apply(self.embedding.points());
        self.aligned = Some((alignment, embedding));
        Ok(())
    }

    /// Returns how the map was aligned with another, if it was.
    pub fn alignment(&self) -> Option<&MapAlignment> {
        self.aligned.as_ref().map(|(alignment, _)| alignment)
    }

    /// Returns points of the map as the method has computed it, before the alignment, if there is one.
    pub fn own_points(&self, points: Points) -> Result<Embedding> {
        match self.alignment() {
            Some(alignment) if points.dim() == self.embedding.dim() => Ok(alignment.invert(points)),
            _ => Embedding::new(points.values().to_vec(), points.dim()),
        }
    }

    /// Estimates the bytes that the model holds besides the data it was fitted to: embeddings, the preprocessed data, the
    /// neighbor graph, hashes of the rows.
    pub fn memory(&self) -> u64 {
        let copies = if self.aligned.is_some() { 4 } else { 3 };
        let embeddings = self.embedding.values().len() as u64 * 8 * copies;
        let prepared = self.training_data.as_ref().filter(|_| !self.preprocessing().is_empty());
        let graph = self.neighbors.as_ref().map_or(0, |graph| graph.indices().len() as u64 * 8);
        embeddings + prepared.map_or(0, |data| data.shape().bytes) + graph + self.embedding.rows() as u64 * 24
    }

    /// Returns the standard deviation of each row's position, if the method has one.
    pub fn std(&self) -> Option<Vec<f64>> {
        let mut std = self.transformer.std()?;
        if let Some(alignment) = self.alignment() {
            std.iter_mut().for_each(|value| *value *= alignment.scale());
        }
        Some(std)
    }

    /// Returns the covariance of each row's position, `dim x dim` values per row, if the method has one.
    pub fn covariances(&self) -> Option<Vec<f64>> {
        let own = self.transformer.covariances()?;
        Some(match self.alignment() {
            Some(alignment) => alignment.of_covariances(&own),
            None => own,
        })
    }

    /// Returns the logarithms of the local radii of the rows, in the data and on the map, if the method preserves density.
    pub fn local_radii(&self) -> Option<&LocalRadii> {
        self.transformer.local_radii()
    }

    /// Returns the fuzzy graph that `umap` has laid out, computed again from the training rows; `None` for other methods, and if it
    /// was given, or changed by a target.
    pub fn membership_graph(&self, progress: &mut Progress) -> Result<Option<Csr>> {
        if self.pipeline.has_target {
            return Ok(None);
        }
        self.transformer.membership_graph(self.neighbors(), progress)
    }

    /// Returns the missing cells of the training rows with their inferred values, if there were any.
    pub fn inferred_cells(&self) -> Option<InferredCells> {
        let mut cells = self.transformer.inferred_cells()?.clone();
        // The rows were stored without these; rows with missing cells are not preprocessed.
        if let Some(offsets) = self.offsets.as_ref().filter(|_| self.pipeline.depends_on_origin().is_none()) {
            cells.means.iter_mut().zip(&cells.columns).for_each(|(mean, &column)| *mean += offsets[column as usize]);
        }
        Some(cells)
    }

    /// Returns the outcome of the iterations; empty for models saved by earlier versions.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// Returns the notes of the fit; those of a loaded model are [recorded](Note::Recorded) as text.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Returns the method with its parameters.
    pub fn method(&self) -> &dyn DynMethod {
        self.pipeline.method.as_ref()
    }

    /// Returns the method, preprocessing, landmarks and seed of the fit.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Returns the steps applied to rows before the method.
    pub fn preprocessing(&self) -> &Preprocessing {
        &self.pipeline.preprocessing
    }

    /// Returns the seed of the fit.
    pub fn seed(&self) -> Seed {
        self.pipeline.seed
    }

    /// Returns the names of the columns; empty if they are unknown.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// Number of columns of the data, before preprocessing; 0 for strings.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Returns what was subtracted from each column of the data before it was stored in single precision; `None` if nothing was.
    /// Rows to transform that are read with these offsets are rounded like those of the fit.
    pub fn offsets(&self) -> Option<&Arc<[f64]>> {
        self.offsets.as_ref()
    }

    /// Returns the kind of data: `dense`, `sparse` or `text`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the neighbor graph of the preprocessed data, if the method computed it exactly; `None` for a loaded model.
    pub fn neighbors(&self) -> Option<&NeighborGraph> {
        self.neighbors.as_ref()
    }

    /// Returns the preprocessed data that the method was fitted to; `None` for a loaded model.
    pub fn training_data(&self) -> Option<&Data> {
        self.training_data.as_ref()
    }

    /// Returns the state of the fitted method, which does not recognize training rows.
    pub fn transformer(&self) -> &dyn Transformer {
        self.transformer.as_ref()
    }

    /// Returns the loss of single points of `map`, if the method has one and the map is the model's [own](Model::own_points) embedding. A
    /// map that was read from a file may be rounded.
    pub fn point_loss(&self, map: Points) -> Option<MapLoss<'_>> {
        let own = self.embedding.points();
        let largest = own.values().iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let is_own = (own.rows(), own.dim()) == (map.rows(), map.dim())
            && own.values().iter().zip(map.values()).all(|(a, b)| (a - b).abs() <= ROUNDING * largest);
        if is_own { self.transformer.point_loss() } else { None }
    }

    /// Applies the preprocessing steps to rows.
    pub fn preprocess(&self, data: &Data) -> Result<Data> {
        let data = data.with_offsets(self.offsets.as_deref());
        Ok(self.pipeline.rows_for_method(&self.preprocessor.apply(&data)?))
    }

    /// Transforms new rows. The result for a row depends on that row alone; training rows keep their coordinates.
    pub fn transform(&self, new: &Data) -> Result<Embedding> {
        Ok(self.transform_with(new, &mut |_| Ok(()))?.embedding)
    }

    /// Transforms new rows, with standard deviations, covariances and log-likelihoods if the method has them. Reports
    /// progress.
    pub fn transform_with(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, false, progress)
    }

    /// Like [`Model::transform_with`], but without an index of the training rows and without interpolation of the map's repulsion, which
    /// some methods use for models of many rows. It takes many times as long.
    pub fn transform_exactly_with(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, true, progress)
    }

    fn place(&self, new: &Data, exactly: bool, progress: &mut Progress) -> Result<TransformOutput> {
        let output = self.place_without_alignment(new, exactly, progress)?;
        let Some(alignment) = self.alignment() else { return Ok(output) };
        Ok(TransformOutput {
            embedding: alignment.apply(output.embedding.points()),
            std: output.std.map(|std| std.iter().map(|value| value * alignment.scale()).collect()),
            covariances: output.covariances.map(|covariances| alignment.of_covariances(&covariances)),
            log_likelihoods: output.log_likelihoods,
        })
    }

    /// Transforms new rows to the coordinates that the method has computed.
    pub(crate) fn place_own(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place_without_alignment(new, false, progress)
    }

    /// Returns the hash of every training row; empty if the method transforms exactly.
    pub(crate) fn training_hashes(&self) -> &[u64] {
        self.training_rows.hashes()
    }

    fn place_without_alignment(&self, new: &Data, exactly: bool, progress: &mut Progress) -> Result<TransformOutput> {
        if new.kind() != self.kind {
            let remedies = vec![match self.kind.as_str() {
                "dense" => Remedy::Other("pass dense rows, as in the fit"),
                "sparse" => Remedy::Other("pass sparse rows, as in the fit"),
                _ => Remedy::Other("pass strings, as in the fit"),
            }];
            return Err(Error::Kind { what: "this model", kind: new.kind(), remedies });
        }
        if new.dim() != self.n_features {
            let what = "columns, as in the fit (a label or id column must be named again)";
            return Err(Error::Shape { what, expected: self.n_features, found: new.dim() });
        }
        if new.rows() == 0 {
            return Ok(Embedding::new(Vec::new(), self.embedding.dim())?.into());
        }
        new.check_finite().map_err(|error| error.with_column_names(&self.feature_names))?;
        let new = &new.with_offsets(self.offsets.as_deref());
        let prepared = self.preprocess(new)?;
        prepared.check_finite()?;
        let output = match exactly {
            false => self.transformer.transform(&prepared, progress)?,
            true => self.transformer.transform_exactly(&prepared, progress)?,
        };
        let output = self.training_rows.restore(&self.embedding, self.transformer.as_ref(), new, output)?;
        check_computed_embedding(output.embedding.points(), output.std.as_deref(), output.covariances.as_deref())?;
        Ok(output)
    }

    /// Returns the log-likelihood of each new row under the model.
    pub fn score(&self, new: &Data) -> Result<Vec<f64>> {
        self.score_with(new, &mut |_| Ok(()))
    }

    /// Returns the log-likelihood of each new row under the model. Reports progress.
    pub fn score_with(&self, new: &Data, progress: &mut Progress) -> Result<Vec<f64>> {
        self.transform_with(new, progress)?
            .log_likelihoods
            .ok_or_else(|| self.unsupported("likelihood of rows", "lvm has"))
    }

    /// Returns the number of bytes that [`Model::samples`] needs besides the model.
    pub fn samples_memory(&self, count: usize) -> u64 {
        self.transformer.samples_memory(count)
    }

    /// Draws embeddings from the posterior.
    pub fn samples(&self, count: usize, seed: Seed) -> Result<Vec<Embedding>> {
        let samples = self.transformer.samples(count, seed)?;
        let samples = samples.ok_or_else(|| self.unsupported("posterior of embeddings", "lllvm has"))?;
        samples.iter().try_for_each(|sample| check_computed_embedding(sample.points(), None, None))?;
        Ok(match self.alignment() {
            Some(alignment) => samples.iter().map(|sample| alignment.apply(sample.points())).collect(),
            None => samples,
        })
    }

    /// Returns rows for positions in the embedding, in the units of the data: preprocessing is undone, except that normalized rows
    /// keep length 1.
    pub fn inverse_transform(&self, points: Points) -> Result<Data> {
        self.inverse_transform_with(points, &mut |_| Ok(()))
    }

    /// Returns rows for positions in the embedding. Reports progress.
    pub fn inverse_transform_with(&self, points: Points, progress: &mut Progress) -> Result<Data> {
        self.check_points(points)?;
        let own = self.own_points(points)?;
        let rows = self.transformer.inverse(own.points(), progress)?.ok_or_else(|| self.no_inverse())?;
        let (rows, _) = self.undo_preprocessing(&rows, None)?;
        check_computed_rows(&rows)?;
        Ok(rows)
    }

    /// Returns rows for positions in the embedding, with the standard deviation of every value if the method has one.
    pub fn inverse_transform_std(&self, points: Points, progress: &mut Progress) -> Result<(Data, Option<Data>)> {
        self.check_points(points)?;
        let own = self.own_points(points)?;
        let (rows, std) =
            self.transformer.inverse_with_std(own.points(), progress)?.ok_or_else(|| self.no_inverse())?;
        let (rows, std) = self.undo_preprocessing(&rows, std.as_ref())?;
        check_computed_rows(&rows)?;
        std.as_ref().map_or(Ok(()), check_computed_rows)?;
        Ok((rows, std))
    }

    fn undo_preprocessing(&self, rows: &Data, std: Option<&Data>) -> Result<(Data, Option<Data>)> {
        let offsets_added = self.pipeline.depends_on_origin().is_some();
        self.preprocessor.invert(rows, std, self.offsets.as_deref(), offsets_added)
    }

    fn no_inverse(&self) -> Error {
        self.unsupported("inverse", "pca, svd, umap, lvm, lllvm and gplvm have")
    }

    fn unsupported(&self, what: &str, others: &str) -> Error {
        let allowed = format!("this method has no {what}; {others}");
        Error::Parameter { name: "method", value: self.method().name().into(), allowed }
    }

    fn check_points(&self, points: Points) -> Result<()> {
        if points.dim() != self.embedding.dim() {
            let what = "coordinates per point of the embedding";
            return Err(Error::Shape { what, expected: self.embedding.dim(), found: points.dim() });
        }
        points.check_finite()
    }

    /// Returns the components of `pca` and `svd`, of the preprocessed rows; `None` for other methods, for landmarks, and for models
    /// saved by earlier versions.
    pub fn principal_components(&self) -> Option<PrincipalComponents> {
        let mut found = self.transformer.principal_components()?;
        // The rows were stored without these.
        if let Some(offsets) = self.offsets.as_ref().filter(|_| self.preprocessing().is_empty())
            && self.pipeline.depends_on_origin().is_none()
        {
            found.mean.iter_mut().zip(&offsets[..]).for_each(|(mean, offset)| *mean += offset);
        }
        Some(found)
    }

    /// Writes the model to a file atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        files::write(path.as_ref(), &self.to_bytes())
    }

    /// Reads a model of a built-in method from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&files::read(path)?).map_err(|error| error.in_file(path))
    }

    /// Reads a model of a method that is defined outside of this crate from a file.
    pub fn load_as<M: Method>(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let load = |bytes: &[u8]| {
            let archive = Archive::from_bytes(bytes, ArchiveKind::Model)?;
            Self::from_archive(&archive, Pipeline::load_as::<M>(&archive)?)
        };
        load(&files::read(path)?).map_err(|error| error.in_file(path))
    }

    /// Serializes the model without the neighbor graph and the preprocessed training data.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut archive = Archive::new(ArchiveKind::Model);
        self.pipeline.save(&mut archive);
        archive.put("data/columns", self.n_features as u64);
        archive.put("data/kind", self.kind.as_str());
        archive.put("data/names", self.feature_names.as_slice());
        archive.put("data/single", u64::from(self.single_precision));
        let no_offsets = || vec![0.0; self.n_features];
        archive.put("data/offsets", self.offsets.as_deref().map_or_else(no_offsets, <[f64]>::to_vec));
        self.embedding.save("embedding", &mut archive);
        if let Some(alignment) = self.alignment() {
            alignment.save(&mut archive);
        }
        self.outcome.save("outcome", &mut archive);
        Note::save_all(&self.notes, "notes", &mut archive);
        self.preprocessor.save(&mut archive);
        self.transformer.save(&mut archive);
        if !self.pipeline.transforms_exactly() {
            self.training_rows.save(&mut archive);
        }
        archive.to_bytes()
    }

    /// Reads a model of a built-in method from serialized bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let archive = Archive::from_bytes(bytes, ArchiveKind::Model)?;
        Self::from_archive(&archive, Pipeline::load(&archive)?)
    }

    fn from_archive(archive: &Archive, pipeline: Pipeline) -> Result<Self> {
        let embedding = Embedding::load("embedding", archive)?;
        let n_features = archive.size("data/columns")?;
        let whitened = pipeline.method.metric() == Some(Metric::Mahalanobis);
        let preprocessor = Preprocessor::load(&pipeline.preprocessing, whitened, archive, n_features)?;
        let transformer = pipeline.runner(None)?.load(archive, preprocessor.output_dim(n_features))?;
        let feature_names = archive.texts("data/names")?.to_vec();
        if !feature_names.is_empty() && feature_names.len() != n_features {
            return Err(archive.invalid(format!("it names {} of {n_features} columns", feature_names.len())));
        }
        let offsets = if archive.version() < 3 { None } else { Some(archive.finite("data/offsets")?) };
        if let Some(offsets) = offsets.filter(|offsets| offsets.len() != n_features) {
            return Err(archive.invalid(format!("it has the offsets of {} of {n_features} columns", offsets.len())));
        }
        let alignment = MapAlignment::load(archive, embedding.dim())?;
        Ok(Self {
            aligned: alignment.map(|alignment| (alignment.clone(), alignment.apply(embedding.points()))),
            offsets: offsets.filter(|offsets| offsets.iter().any(|&offset| offset != 0.0)).map(Arc::from),
            single_precision: archive.version() >= 3 && archive.number("data/single")? != 0,
            kind: archive.text("data/kind")?.into(),
            training_rows: if pipeline.transforms_exactly() {
                TrainingRowHashes::default()
            } else {
                TrainingRowHashes::load(archive, embedding.rows())?
            },
            outcome: Outcome::load("outcome", archive)?,
            notes: Note::load_all("notes", archive)?,
            neighbors: None,
            training_data: None,
            pipeline,
            embedding,
            feature_names,
            preprocessor,
            transformer,
            n_features,
        })
    }
}

/// Returns an error if a value that was computed is not finite.
fn check_computed_rows(rows: &Data) -> Result<()> {
    rows.check_finite().map_err(|error| match error {
        Error::NotFinite { row, column, value, .. } => Error::Numerical {
            what: "the computation of rows",
            reason: format!("row {row}, column {column} (from 0) is {value}; the model or the point is out of range"),
        },
        other => other,
    })
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
