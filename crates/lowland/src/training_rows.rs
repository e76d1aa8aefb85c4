//! Recognition of training rows in a transform.

use std::collections::HashMap;
use std::sync::OnceLock;

use lowland_core::archive::Archive;
use lowland_core::{Data, Embedding, Result};

use crate::method::{TransformOutput, Transformer};

/// The hashes of the training rows, by which a transform recognizes them and returns their coordinates, as scikit-learn
/// expects. This is decided row by row, so that results do not depend on the batch.
#[derive(Default)]
pub(crate) struct TrainingRowHashes {
    /// Hash of each row; empty if the method transforms exactly, or if they are not known.
    hashes: Vec<u64>,
    /// First row with each hash.
    index: OnceLock<HashMap<u64, u32>>,
}

const HASHES: &str = "training/hashes";
/// Pairs of row and hash in models that version 1 saved from Python.
const PYTHON_HASHES: &str = "python/rows";

impl TrainingRowHashes {
    /// Creates the index of the given hashes, one per training row.
    pub(crate) fn new(hashes: Vec<u64>) -> Self {
        Self { hashes, index: OnceLock::new() }
    }

    /// Returns the hash of each training row; empty if they are not known.
    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Writes the hashes to a model file.
    pub(crate) fn save(&self, archive: &mut Archive) {
        archive.put(HASHES, self.hashes.as_slice());
    }

    /// Reads the hashes from a model file.
    pub(crate) fn load(archive: &Archive, rows: usize) -> Result<Self> {
        if archive.version() == 1 {
            return Self::load_version_1(archive, rows);
        }
        let hashes = archive.u64s(HASHES)?;
        // Models of version 1 that were saved again have none.
        if !hashes.is_empty() && hashes.len() != rows {
            return Err(archive.invalid(format!("it has hashes of {} of {rows} training rows", hashes.len())));
        }
        Ok(Self::new(hashes.to_vec()))
    }

    /// Reads the hashes from a model file of version 1, which has them only if it was saved from Python.
    fn load_version_1(archive: &Archive, rows: usize) -> Result<Self> {
        if !archive.has(PYTHON_HASHES) {
            return Ok(Self::default());
        }
        let pairs = archive.u64s(PYTHON_HASHES)?.chunks_exact(2);
        // Repeated rows have no entry; they get the hash of another row.
        let mut hashes = vec![pairs.clone().next().map_or(0, |pair| pair[1]); rows];
        for pair in pairs {
            match hashes.get_mut(pair[0] as usize) {
                Some(hash) => *hash = pair[1],
                None => return Err(archive.invalid("it has hashes of rows that are not in the embedding".into())),
            }
        }
        Ok(Self::new(hashes))
    }

    /// Returns the first training row with this hash.
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

    /// Replaces the output of training rows by their coordinates of the fit.
    pub(crate) fn restore(
        &self,
        embedding: &Embedding,
        transformer: &dyn Transformer,
        new: &Data,
        mut output: TransformOutput,
    ) -> Result<TransformOutput> {
        if self.hashes.is_empty() {
            return Ok(output);
        }
        let known: Vec<(usize, usize)> =
            new.row_hashes().iter().enumerate().filter_map(|(i, &hash)| Some((i, self.find(hash)?))).collect();
        if known.is_empty() {
            return Ok(output);
        }
        let dim = embedding.dim();
        let mut values = output.embedding.into_values();
        for &(i, row) in &known {
            values[i * dim..(i + 1) * dim].copy_from_slice(embedding.row(row));
        }
        output.embedding = Embedding::new(values, dim)?;
        if let (Some(std), Some(fitted)) = (&mut output.std, transformer.std()) {
            known.iter().for_each(|&(i, row)| std[i] = fitted[row]);
        }
        if let (Some(all), Some(fitted)) = (&mut output.covariances, transformer.covariances()) {
            let size = dim * dim;
            for &(i, row) in &known {
                all[i * size..(i + 1) * size].copy_from_slice(&fitted[row * size..(row + 1) * size]);
            }
        }
        Ok(output)
    }
}
