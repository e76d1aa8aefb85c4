//! A fitted model: the embedding, and everything that new rows need.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use lowland_core::archive::{Archive, ArchiveKind};
use lowland_core::message::{Note, Remedy};
use lowland_core::run::{Outcome, Progress};
use lowland_core::{Data, Embedding, Error, Points, Result, Seed};
use lowland_neighbors::NeighborGraph;

use crate::files;
use crate::method::{DynMethod, FitOutput, Method, TransformOutput, Transformer};
use crate::pipeline::Pipeline;
use crate::preprocessing::{Preprocessing, Preprocessor};

/// A fitted model.
pub struct Model {
    pipeline: Pipeline,
    embedding: Embedding,
    outcome: Outcome,
    notes: Vec<Note>,
    feature_names: Vec<String>,
    neighbors: Option<NeighborGraph>,
    preprocessor: Preprocessor,
    transformer: Box<dyn Transformer>,
    n_features: usize,
    kind: String,
    training_data: Option<Data>,
    training_rows: TrainingRows,
}

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
            outcome,
            notes,
            feature_names,
            neighbors,
            preprocessor,
            transformer,
            n_features: data.dim(),
            kind: data.kind().into(),
            training_data: Some(prepared),
            training_rows: TrainingRows::new(hashes),
        }
    }

    /// The embedding, one row per row of the data.
    pub fn embedding(&self) -> &Embedding {
        &self.embedding
    }

    /// The standard deviation of each row's position, where the method has one.
    pub fn std(&self) -> Option<Vec<f64>> {
        self.transformer.std()
    }

    /// The covariance of each row's position, `dim x dim` values per row, where the method has one.
    pub fn covariances(&self) -> Option<Vec<f64>> {
        self.transformer.covariances()
    }

    /// How the iterations went; empty for a loaded model.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// What is worth knowing about the fit; empty for a loaded model.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The method with its parameters.
    pub fn method(&self) -> &dyn DynMethod {
        self.pipeline.method.as_ref()
    }

    /// The method, preprocessing, landmarks and seed that the model was fitted with.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The steps applied to rows before the method.
    pub fn preprocessing(&self) -> &Preprocessing {
        &self.pipeline.preprocessing
    }

    /// The seed of the fit.
    pub fn seed(&self) -> Seed {
        self.pipeline.seed
    }

    /// Names of the columns, where they were given.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// Number of columns of the data, before preprocessing; 0 for strings.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// The kind of data: `dense`, `sparse` or `text`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The neighbor graph of the preprocessed data, where the method found it exactly; `None` for a loaded model.
    pub fn neighbors(&self) -> Option<&NeighborGraph> {
        self.neighbors.as_ref()
    }

    /// The preprocessed data that the method was fitted to; `None` for a loaded model.
    pub fn training_data(&self) -> Option<&Data> {
        self.training_data.as_ref()
    }

    /// The fitted state of the method, which places every row anew, training rows included.
    pub fn transformer(&self) -> &dyn Transformer {
        self.transformer.as_ref()
    }

    /// Applies the preprocessing steps to rows.
    pub fn preprocess(&self, data: &Data) -> Result<Data> {
        self.preprocessor.apply(data)
    }

    /// Places new rows on the embedding. The result for a row depends on that row alone; training rows keep their
    /// coordinates.
    pub fn transform(&self, new: &Data) -> Result<Embedding> {
        Ok(self.transform_with(new, &mut |_| Ok(()))?.embedding)
    }

    /// Places new rows with everything the method can tell about them, reporting progress.
    pub fn transform_with(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        if new.kind() != self.kind {
            let remedies = vec![match self.kind.as_str() {
                "dense" => Remedy::Other("give dense rows, as the model was fitted to"),
                "sparse" => Remedy::Other("give sparse rows, as the model was fitted to"),
                _ => Remedy::Other("give strings, as the model was fitted to"),
            }];
            return Err(Error::Kind { what: "this model", kind: new.kind(), remedies });
        }
        if new.dim() != self.n_features {
            let what = "columns, as the model was fitted to (a label or id column must be named again)";
            return Err(Error::Shape { what, expected: self.n_features, found: new.dim() });
        }
        if new.rows() == 0 {
            return Ok(Embedding::new(Vec::new(), self.embedding.dim())?.into());
        }
        new.check_finite()?;
        let prepared = self.preprocess(new)?;
        prepared.check_finite()?;
        let output = self.transformer.transform(&prepared, progress)?;
        self.training_rows.restore(self, new, output)
    }

    /// The log-likelihood of each new row under the model.
    pub fn score(&self, new: &Data) -> Result<Vec<f64>> {
        self.score_with(new, &mut |_| Ok(()))
    }

    /// The log-likelihood of each new row under the model, reporting progress.
    pub fn score_with(&self, new: &Data, progress: &mut Progress) -> Result<Vec<f64>> {
        self.transform_with(new, progress)?
            .log_likelihoods
            .ok_or_else(|| self.unsupported("likelihood of rows", "lvm has"))
    }

    /// Bytes that [`Model::samples`] needs beyond the model.
    pub fn samples_memory(&self, count: usize) -> u64 {
        self.transformer.samples_memory(count)
    }

    /// Embeddings drawn from the posterior.
    pub fn samples(&self, count: usize, seed: Seed) -> Result<Vec<Embedding>> {
        let samples = self.transformer.samples(count, seed)?;
        samples.ok_or_else(|| self.unsupported("posterior of embeddings", "lllvm has"))
    }

    /// Rows that correspond to positions on the embedding, preprocessed as the method sees rows.
    pub fn inverse_transform(&self, points: Points) -> Result<Data> {
        self.inverse_transform_with(points, &mut |_| Ok(()))
    }

    /// Rows that correspond to positions on the embedding, reporting progress.
    pub fn inverse_transform_with(&self, points: Points, progress: &mut Progress) -> Result<Data> {
        self.check_points(points)?;
        self.transformer.inverse(points, progress)?.ok_or_else(|| self.no_inverse())
    }

    /// Rows that correspond to positions on the embedding, with the standard deviation of every value where the method has
    /// one.
    pub fn inverse_transform_std(&self, points: Points, progress: &mut Progress) -> Result<(Data, Option<Data>)> {
        self.check_points(points)?;
        self.transformer.inverse_with_std(points, progress)?.ok_or_else(|| self.no_inverse())
    }

    fn no_inverse(&self) -> Error {
        self.unsupported("inverse", "lvm, lllvm and gplvm have")
    }

    fn unsupported(&self, what: &str, others: &str) -> Error {
        let allowed = format!("this method has no {what}; {others}");
        Error::Parameter { name: "method", value: self.method().name().into(), allowed }
    }

    fn check_points(&self, points: Points) -> Result<()> {
        if points.dim() != self.embedding.dim() {
            let what = "coordinates of a point of the embedding";
            return Err(Error::Shape { what, expected: self.embedding.dim(), found: points.dim() });
        }
        points.check_finite()
    }

    /// Writes the model to a file, which is replaced whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        files::write(path.as_ref(), &self.to_bytes())
    }

    /// Reads a model of a built-in method from a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_bytes(&files::read(path.as_ref())?)
    }

    /// Reads a model of a method that is defined outside of this crate from a file.
    pub fn load_as<M: Method>(path: impl AsRef<Path>) -> Result<Self> {
        let archive = Archive::from_bytes(&files::read(path.as_ref())?, ArchiveKind::Model)?;
        Self::from_archive(&archive, Pipeline::load_as::<M>(&archive)?)
    }

    /// The content of the model's file: everything but the neighbor graph, the trace, and the training data.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut archive = Archive::new(ArchiveKind::Model);
        self.pipeline.save(&mut archive);
        archive.put("data/columns", self.n_features as u64);
        archive.put("data/kind", self.kind.as_str());
        archive.put("data/names", self.feature_names.as_slice());
        self.embedding.save("embedding", &mut archive);
        self.preprocessor.save(&mut archive);
        self.transformer.save(&mut archive);
        self.training_rows.save(&mut archive);
        archive.to_bytes()
    }

    /// Reads a model of a built-in method from the content of its file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let archive = Archive::from_bytes(bytes, ArchiveKind::Model)?;
        Self::from_archive(&archive, Pipeline::load(&archive)?)
    }

    fn from_archive(archive: &Archive, pipeline: Pipeline) -> Result<Self> {
        let embedding = Embedding::load("embedding", archive)?;
        let n_features = archive.size("data/columns")?;
        let preprocessor = Preprocessor::load(&pipeline.preprocessing, archive, n_features)?;
        let transformer = pipeline.runner()?.load(archive, preprocessor.output_dim(n_features))?;
        let feature_names = archive.texts("data/names")?.to_vec();
        if !feature_names.is_empty() && feature_names.len() != n_features {
            return Err(archive.invalid(format!("it names {} of {n_features} columns", feature_names.len())));
        }
        Ok(Self {
            kind: archive.text("data/kind")?.into(),
            training_rows: TrainingRows::load(archive, embedding.rows(), pipeline.transforms_exactly())?,
            outcome: Outcome::without_iterations(),
            notes: Vec::new(),
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

/// The content hashes of the training rows. A training row that is transformed keeps its coordinates: scikit-learn expects it,
/// and since it is decided row by row, no result depends on the batch.
#[derive(Default)]
struct TrainingRows {
    /// One per row; empty where the method transforms exactly.
    hashes: Vec<u64>,
    /// The first row of each hash.
    index: OnceLock<HashMap<u64, u32>>,
}

const HASHES: &str = "training/hashes";
/// Pairs of row and hash, as version 1 had them when it was saved from Python.
const PYTHON_HASHES: &str = "python/rows";

impl TrainingRows {
    fn new(hashes: Vec<u64>) -> Self {
        Self { hashes, index: OnceLock::new() }
    }

    fn save(&self, archive: &mut Archive) {
        archive.put(HASHES, self.hashes.as_slice());
    }

    fn load(archive: &Archive, rows: usize, transforms_exactly: bool) -> Result<Self> {
        if archive.version() == 1 {
            return Self::load_version_1(archive, rows);
        }
        let hashes = archive.u64s(HASHES)?;
        if hashes.len() != if transforms_exactly { 0 } else { rows } {
            return Err(archive.invalid(format!("it has hashes of {} of {rows} training rows", hashes.len())));
        }
        Ok(Self::new(hashes.to_vec()))
    }

    fn load_version_1(archive: &Archive, rows: usize) -> Result<Self> {
        if !archive.has(PYTHON_HASHES) {
            return Ok(Self::default());
        }
        let pairs = archive.u64s(PYTHON_HASHES)?.chunks_exact(2);
        // Rows that repeat an earlier one had no entry; any hash that is known already stands for them.
        let mut hashes = vec![pairs.clone().next().map_or(0, |pair| pair[1]); rows];
        for pair in pairs {
            match hashes.get_mut(pair[0] as usize) {
                Some(hash) => *hash = pair[1],
                None => return Err(archive.invalid("it has hashes of rows that are not in the embedding".into())),
            }
        }
        Ok(Self::new(hashes))
    }

    fn find(&self, hash: u64) -> Option<usize> {
        let index = self.index.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.hashes.len());
            self.hashes.iter().zip(0..).for_each(|(&hash, row)| {
                index.entry(hash).or_insert(row);
            });
            index
        });
        index.get(&hash).map(|&row| row as usize)
    }

    /// Gives training rows among the new ones their coordinates of the fit.
    fn restore(&self, model: &Model, new: &Data, mut output: TransformOutput) -> Result<TransformOutput> {
        if self.hashes.is_empty() {
            return Ok(output);
        }
        let known: Vec<(usize, usize)> =
            new.row_hashes().iter().enumerate().filter_map(|(i, &hash)| Some((i, self.find(hash)?))).collect();
        if known.is_empty() {
            return Ok(output);
        }
        let dim = model.embedding.dim();
        let mut values = output.embedding.into_values();
        for &(i, row) in &known {
            values[i * dim..(i + 1) * dim].copy_from_slice(model.embedding.row(row));
        }
        output.embedding = Embedding::new(values, dim)?;
        if let (Some(std), Some(fitted)) = (&mut output.std, model.std()) {
            known.iter().for_each(|&(i, row)| std[i] = fitted[row]);
        }
        if let (Some(all), Some(fitted)) = (&mut output.covariances, model.covariances()) {
            let size = dim * dim;
            for &(i, row) in &known {
                all[i * size..(i + 1) * size].copy_from_slice(&fitted[row * size..(row + 1) * size]);
            }
        }
        Ok(output)
    }
}
