//! The fitted layers of thresholded similarity matching.

use lowland_algorithms::llx::Llx;
use lowland_algorithms::tsm::{relu_transform, row_norms, scale_to_norms};
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Result};

use super::tsm::{TransformRule, Tsm};
use crate::landmarks::LlxTransformer;
use crate::method::{TransformOutput, Transformer};

/// One layer: its training rows with their embedding, and its threshold.
pub(super) struct TsmLayer {
    pub(super) llx: LlxTransformer,
    pub(super) tau: f64,
}

impl TsmLayer {
    /// A layer that maps the rows of `data` to `embedding`.
    pub(super) fn new(data: Data, embedding: Embedding, tau: f64) -> Self {
        let llx = Llx::linear(embedding.dim());
        Self { llx: LlxTransformer { llx, data, embedding, std: None, keeps_norms: false }, tau }
    }

    /// The output of the layer for its training rows, as the input of the next.
    pub(super) fn output(&self) -> Result<Data> {
        to_data(&self.llx.embedding)
    }

    fn transform(&self, new: &Data, placing: TransformRule, progress: &mut Progress) -> Result<Embedding> {
        match placing {
            TransformRule::Llx => Ok(self.llx.transform(new, progress)?.embedding),
            TransformRule::Relu => {
                let init = self.llx.transform(new, &mut |done| progress(0.5 * done))?.embedding;
                let (data, points) = (&self.llx.data, self.llx.embedding.points());
                relu_transform(new, data, points, self.tau, &init, &mut |done| progress(0.5 + 0.5 * done))
            }
        }
    }
}

/// Rows of numbers from coordinates.
pub(super) fn to_data(embedding: &Embedding) -> Result<Data> {
    Data::dense(embedding.values().iter().map(|&v| v as f32).collect(), embedding.dim())
}

/// The fitted layers; most models have one.
pub struct TsmTransformer {
    pub(super) layers: Vec<TsmLayer>,
    pub(super) placing: TransformRule,
    /// Whether rows are scaled to the norms of the data.
    pub(super) keeps_norms: bool,
    /// Whether the number of layers is saved: it differs from the requested one if the fit was stopped.
    pub(super) stacked: bool,
}

/// The entry of a model for a hidden layer.
pub(super) fn hidden_key(layer: usize) -> String {
    format!("tsm/hidden/{layer}")
}

const LAYER_COUNT: &str = "tsm/layers";
const THRESHOLDS: &str = "tsm/tau";

impl TsmTransformer {
    /// Reads the layers from a model file; `dim` is the number of columns of the data.
    pub(super) fn load(params: &Tsm, archive: &Archive, dim: usize) -> Result<Self> {
        let invalid = || archive.invalid("its thresholds or its embeddings are invalid for this method".into());
        let last = LlxTransformer::load(Llx::linear(params.n_components), archive, dim)?;
        let stacked = !params.layers.0.is_empty();
        let count = if stacked { archive.size(LAYER_COUNT)? } else { 1 };
        let thresholds = archive.finite(THRESHOLDS)?;
        if !(1..=params.layers.0.len() + 1).contains(&count)
            || thresholds.len() != count
            || !thresholds.iter().all(|tau| *tau > 0.0 && *tau < 1.0)
            || last.embedding.dim() != params.n_components
        {
            return Err(invalid());
        }
        let (mut layers, mut data) = (Vec::with_capacity(count), last.data);
        for (layer, &tau) in thresholds.iter().enumerate() {
            if layer + 1 == count {
                layers.push(TsmLayer::new(data, last.embedding, tau));
                break;
            }
            let embedding = Embedding::load(&hidden_key(layer), archive)?;
            if embedding.rows() != data.rows() || embedding.dim() != params.layers.0[layer] {
                return Err(invalid());
            }
            let next = to_data(&embedding)?;
            layers.push(TsmLayer::new(std::mem::replace(&mut data, next), embedding, tau));
        }
        Ok(Self { layers, placing: params.placing, keeps_norms: params.keeps_exact_norms(), stacked })
    }
}

impl Transformer for TsmTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let norms = self.keeps_norms.then(|| row_norms(new));
        let count = self.layers.len() as f64;
        let (mut rows, mut output) = (new.clone(), None);
        for (at, layer) in self.layers.iter().enumerate() {
            if let Some(embedding) = &output {
                rows = to_data(embedding)?;
            }
            let mut embedding =
                layer.transform(&rows, self.placing, &mut |done| progress((at as f64 + done) / count))?;
            if let Some(norms) = &norms {
                embedding = scale_to_norms(embedding, norms)?.0;
            }
            output = Some(embedding);
        }
        Ok(output.expect("a model has a layer").into())
    }

    fn save(&self, archive: &mut Archive) {
        let (_, hidden) = self.layers.split_last().expect("a model has a layer");
        self.layers[0].llx.save(archive);
        hidden.iter().enumerate().for_each(|(at, layer)| layer.llx.embedding.save(&hidden_key(at), archive));
        archive.put(THRESHOLDS, self.layers.iter().map(|layer| layer.tau).collect::<Vec<f64>>());
        if self.stacked {
            archive.put(LAYER_COUNT, self.layers.len() as u64);
        }
    }
}
