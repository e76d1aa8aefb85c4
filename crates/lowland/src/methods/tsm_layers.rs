//! Fitting the layers of thresholded similarity matching: the paper proposes its nonlinear map (eq 16) as a layer of a
//! deep network, each fitted to the outputs of the one before.

use lowland_algorithms::tsm::{AlternatingUpdates, row_norms, scale_to_norms};
use lowland_core::archive::Archive;
use lowland_core::message::{Note, SimilarityNote};
use lowland_core::run::{Context, Outcome, Step, Stepper, StopReason, StopRule, run};
use lowland_core::{Data, Embedding, Error, Result};

use super::tsm::{Tsm, UPDATES};
use super::tsm_transformer::{TsmLayer, TsmTransformer, hidden_key};
use crate::method::FitOutput;

/// The entry of a checkpoint for the number of finished layers.
const FINISHED_LAYERS: &str = "tsm/layer";
/// The entry of a checkpoint for their thresholds.
const FINISHED_THRESHOLDS: &str = "tsm/layer_thresholds";

/// Fits all layers, or those after the ones of a checkpoint.
pub(super) fn fit_layers(params: &Tsm, data: &Data, context: &mut Context) -> Result<FitOutput<TsmTransformer>> {
    let dims = params.layer_dims();
    let norms = params.keeps_exact_norms().then(|| row_norms(data));
    let mut layers = finished_layers(params, data, context)?;
    let mut stored = context.checkpoint().map(AlternatingUpdates::has_tiles).transpose()?;
    let mut outcome = Outcome::without_iterations();
    for (at, &dim) in dims.iter().enumerate().skip(layers.len()) {
        if dims.len() > 1 {
            save_finished(&layers, context);
            let (layer, layers) = (at + 1, dims.len());
            context.note(Note::Similarity(SimilarityNote::Layer { layer, layers, n_components: dim }));
        }
        let input = layers.last().map_or_else(|| Ok(data.clone()), TsmLayer::output)?;
        match fit_layer(params, &input, dim, &mut stored, context) {
            Ok((embedding, tau, layer_outcome)) => {
                let embedding = match &norms {
                    Some(norms) => scaled(embedding, norms, context)?,
                    None => embedding,
                };
                layers.push(TsmLayer::new(input, embedding, tau));
                outcome = layer_outcome;
            }
            // The layers so far have an embedding to keep.
            Err(Error::Stopped { .. }) if !layers.is_empty() => outcome.stop_reason = StopReason::Stopped,
            Err(error) => return Err(error),
        }
        if outcome.stop_reason == StopReason::Stopped {
            break;
        }
    }
    let mut last = layers.pop().expect("there is a layer");
    let mut embedding = last.llx.embedding;
    if embedding.dim() > params.n_components {
        // A stop in an earlier layer: its leading coordinates.
        embedding = leading_columns(&embedding, params.n_components)?;
        if let Some(norms) = &norms {
            embedding = scaled(embedding, norms, context)?;
        }
    }
    last = TsmLayer::new(last.llx.data, embedding.clone(), last.tau);
    layers.push(last);
    let transformer = TsmTransformer {
        layers,
        placing: params.placing,
        keeps_norms: params.keeps_exact_norms(),
        stacked: dims.len() > 1,
    };
    Ok(FitOutput { embedding, transformer, outcome, neighbors: None })
}

/// Fits one layer; also returns its threshold.
fn fit_layer(
    params: &Tsm,
    data: &Data,
    dim: usize,
    stored: &mut Option<bool>,
    context: &mut Context,
) -> Result<(Embedding, f64, Outcome)> {
    let (problem, tau) = params.similarities(data, dim, context)?;
    if problem.similarities.rows() == 0 {
        context.note(Note::AllRowsZero);
        return Ok((problem.to_embedding(&[], 0), tau, Outcome::without_iterations()));
    }
    let options = params.options(&problem, *stored, context)?;
    *stored = Some(options.store_tiles);
    let updates = AlternatingUpdates::new(problem, options, context.seed.stream(UPDATES))?;
    let mut updates = LayerUpdates { updates, columns: params.n_components };
    let rule = StopRule { max_iter: params.max_iter, tol: params.tol };
    let outcome = context.stage(UPDATES, |context| run(&mut updates, rule, context))?;
    context.leave_checkpoint();
    let most = data.dim().min(data.rows());
    if let Some(note) = updates.updates.gram()?.negative_eigenvalues(most) {
        context.note(Note::Similarity(note));
    }
    Ok((updates.updates.embedding(), tau, outcome))
}

/// Scales the rows to the given norms, with a note about those at zero.
fn scaled(embedding: Embedding, norms: &[f64], context: &mut Context) -> Result<Embedding> {
    let (embedding, count) = scale_to_norms(embedding, norms)?;
    if count > 0 {
        context.note(Note::Similarity(SimilarityNote::NormsNotScaled { count }));
    }
    Ok(embedding)
}

/// Returns the layers that were finished before the checkpoint was made.
fn finished_layers(params: &Tsm, data: &Data, context: &Context) -> Result<Vec<TsmLayer>> {
    let mut layers: Vec<TsmLayer> = Vec::new();
    let Some(archive) = context.checkpoint().filter(|_| !params.layers.0.is_empty()) else { return Ok(layers) };
    let count = archive.size(FINISHED_LAYERS)?;
    let thresholds = if count > 0 { archive.finite(FINISHED_THRESHOLDS)? } else { &[] };
    if count > params.layers.0.len() || thresholds.len() != count {
        return Err(archive.invalid("its layers are not those of this run".into()));
    }
    for (at, &tau) in thresholds.iter().enumerate() {
        let embedding = Embedding::load(&hidden_key(at), archive)?;
        if embedding.rows() != data.rows() || embedding.dim() != params.layers.0[at] || !(tau > 0.0 && tau < 1.0) {
            return Err(archive.invalid("its layers are of another size".into()));
        }
        let input = layers.last().map_or_else(|| Ok(data.clone()), TsmLayer::output)?;
        layers.push(TsmLayer::new(input, embedding, tau));
    }
    Ok(layers)
}

/// Adds the finished layers to the checkpoints of the next.
fn save_finished(layers: &[TsmLayer], context: &mut Context) {
    context.add_to_checkpoint(|archive| {
        archive.put(FINISHED_LAYERS, layers.len() as u64);
        if !layers.is_empty() {
            archive.put(FINISHED_THRESHOLDS, layers.iter().map(|layer| layer.tau).collect::<Vec<_>>());
        }
        layers.iter().enumerate().for_each(|(at, layer)| layer.llx.embedding.save(&hidden_key(at), archive));
    });
}

/// The first columns of an embedding, which have the largest eigenvalues.
fn leading_columns(embedding: &Embedding, columns: usize) -> Result<Embedding> {
    let rows = embedding.values().chunks_exact(embedding.dim());
    Embedding::new(rows.flat_map(|row| row[..columns].iter().copied()).collect(), columns)
}

/// The updates of a layer, whose embedding is shown in the dimensions of the last one.
struct LayerUpdates {
    updates: AlternatingUpdates,
    columns: usize,
}

impl Stepper for LayerUpdates {
    fn step(&mut self) -> Result<Step> {
        self.updates.step()
    }

    fn embedding(&self) -> Embedding {
        let embedding = self.updates.embedding();
        leading_columns(&embedding, self.columns).expect("a layer has at least the dimensions of the last")
    }

    fn save(&self, archive: &mut Archive) {
        self.updates.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.updates.restore(archive)
    }
}
