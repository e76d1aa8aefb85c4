//! Known positions of some rows: they stay where they are, and the other rows are placed by locally linear extension.

use std::collections::HashMap;

use lowland_algorithms::llx::Llx;
use lowland_core::archive::Archive;
use lowland_core::message::Remedy;
use lowland_core::run::{Context, Outcome, Stage};
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Result};

use crate::landmarks::{EXTENSION, LlxTransformer, extend, extension_memory, extension_of, extension_seconds};
use crate::method::{DynMethod, FitInput, FitOutput, LandmarksUnsupported, Transformer};

/// The name of the option, and of the number of fixed rows in model files.
pub const FIXED: &str = "fixed";

/// Parameters that mean something without a fit of the method.
const USED_PARAMETERS: [&str; 2] = ["n_components", "metric"];

/// Known positions of some rows.
///
/// ```
/// use lowland::methods::Pca;
/// use lowland::{Data, Embedding, FitOptions, FixedPositions};
///
/// // Points on a line; the positions of the first, the last and two between them are known.
/// let x = Data::dense((0..40).flat_map(|i| [i as f32, 2.0 * i as f32]).collect(), 2)?;
/// let positions = Embedding::new(vec![0.0, 10.0, 30.0, 39.0], 1)?;
/// let fixed = FixedPositions::new(vec![0, 10, 30, 39], positions)?;
/// let options = FitOptions { fixed: Some(&fixed), ..FitOptions::default() };
/// let model = Pca { n_components: 1.into(), ..Pca::default() }.fit_with(&x, options)?;
/// assert_eq!(model.embedding().row(10), [10.0]);
/// assert!((model.embedding().row(20)[0] - 20.0).abs() < 0.1);
/// # Ok::<(), lowland::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FixedPositions {
    /// The rows, ascending.
    rows: Vec<usize>,
    positions: Embedding,
}

impl FixedPositions {
    /// Creates the positions of the given rows, in any order. Fails if a row is repeated or a position is not finite.
    pub fn new(rows: Vec<usize>, positions: Embedding) -> Result<Self> {
        if rows.len() != positions.rows() {
            return Err(Error::Shape { what: "fixed positions", expected: rows.len(), found: positions.rows() });
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&at| rows[at]);
        if let Some(pair) = order.windows(2).find(|pair| rows[pair[0]] == rows[pair[1]]) {
            return Err(invalid_row(&rows[pair[0]].to_string(), "it has two positions; give one"));
        }
        if let Some(at) = (0..rows.len()).find(|&at| positions.row(at).iter().any(|v| !v.is_finite())) {
            return Err(invalid_row(
                &rows[at].to_string(),
                "its position is not finite; give numbers or leave the row out",
            ));
        }
        let values = order.iter().flat_map(|&at| positions.row(at)).copied().collect();
        let positions = Embedding::new(values, positions.dim())?;
        Ok(Self { rows: order.into_iter().map(|at| rows[at]).collect(), positions })
    }

    /// Creates positions from one per row of the data, of which those that are NaN are unknown.
    pub fn from_all_rows(positions: &Embedding) -> Result<Self> {
        let rows: Vec<usize> =
            (0..positions.rows()).filter(|&i| !positions.row(i).iter().all(|v| v.is_nan())).collect();
        let values = rows.iter().flat_map(|&i| positions.row(i)).copied().collect();
        Self::new(rows, Embedding::new(values, positions.dim())?)
    }

    /// Creates the positions of the rows with the given ids, among the ids of all rows. Fails if an id is unknown or belongs
    /// to several rows.
    pub fn from_ids(fixed: &[String], ids: &[String], positions: Embedding) -> Result<Self> {
        let mut places: HashMap<&str, (usize, usize)> = HashMap::with_capacity(ids.len());
        for (row, id) in ids.iter().enumerate() {
            places.entry(id).or_insert((row, 0)).1 += 1;
        }
        let find = |id: &String| match places.get(id.as_str()) {
            Some(&(row, 1)) => Ok(row),
            Some(_) => Err(invalid_row(id, "several rows of the data have this id; give ids that differ")),
            None => Err(invalid_row(id, "no row of the data has this id")),
        };
        Self::new(fixed.iter().map(find).collect::<Result<_>>()?, positions)
    }

    /// Number of fixed rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no row is fixed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the fixed rows, ascending.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    /// Returns the positions, in the order of the rows.
    pub fn positions(&self) -> &Embedding {
        &self.positions
    }

    fn check(&self, data: &Data, n_components: usize) -> Result<()> {
        if self.positions.dim() != n_components {
            let allowed = format!("the fixed positions have {} coordinates", self.positions.dim());
            return Err(Error::Parameter { name: "n_components", value: n_components.to_string(), allowed });
        }
        if let Some(&last) = self.rows.last().filter(|&&last| last >= data.rows()) {
            let allowed = format!("the data has {} rows, counted from 0", data.rows());
            return Err(invalid_row(&last.to_string(), &allowed));
        }
        // Fewer do not determine a linear map.
        let needed = (n_components + 1).min(data.rows());
        if self.len() < needed {
            let remedies = vec![Remedy::Other("give the positions of more rows"), Remedy::FewerComponents];
            let what = format!("an extension in {n_components} dimensions");
            return Err(Error::TooFewPoints { what, needed, found: self.len(), remedies });
        }
        Ok(())
    }
}

fn invalid_row(row: &str, allowed: &str) -> Error {
    Error::Parameter { name: FIXED, value: format!("(row {row})"), allowed: allowed.into() }
}

/// A method whose place is taken by known positions of some rows.
pub(crate) struct FixedRows {
    method: Box<dyn DynMethod>,
    llx: Llx,
    /// `None` for a model that is loaded.
    fixed: Option<FixedPositions>,
}

impl FixedRows {
    /// Fails if the method has a metric without an extension, or parameters that are set but have no effect.
    pub(crate) fn new(method: Box<dyn DynMethod>, fixed: Option<FixedPositions>) -> Result<Self> {
        if let Some(metric @ (Metric::Precomputed | Metric::Levenshtein)) = method.metric() {
            let allowed = "fixed positions need numeric rows, of which others are combinations".into();
            return Err(Error::Parameter { name: "metric", value: metric.to_string(), allowed });
        }
        let defaults = method.default_values();
        let changed = method
            .values()
            .into_iter()
            .zip(defaults)
            .find(|((name, value), (_, default))| value != default && !USED_PARAMETERS.contains(name));
        if let Some(((name, value), _)) = changed {
            let allowed = "it has no effect with fixed positions, which take the place of the fit; leave it out".into();
            return Err(Error::Parameter { name, value, allowed });
        }
        let llx = extension_of(method.as_ref());
        Ok(Self { method, llx, fixed })
    }
}

impl DynMethod for FixedRows {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn preserves_origin(&self) -> bool {
        self.method.preserves_origin()
    }

    fn has_std(&self) -> bool {
        false
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
        false
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
        vec![Stage { name: EXTENSION, weight: extension_seconds(shape) }]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        extension_memory(&self.llx, shape)
    }

    fn memory_within(&self, shape: DataShape, _limit: Option<u64>) -> u64 {
        self.memory(shape)
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
        let Some(fixed) = &self.fixed else {
            return Err(Error::Format { what: "model", reason: "its fixed positions are not stored".into() });
        };
        fixed.check(data, self.method.n_components())?;
        if input.neighbors.is_some() {
            return Err(Error::FixedPositions { fixed: fixed.len(), conflict: "neighbors" });
        }
        let embedding = context.stage(EXTENSION, |context| {
            let seed = context.seed.stream(EXTENSION);
            let weights = context.with_progress(|progress| llx.weights(data, seed, &mut |done| progress(0.7 * done)))?;
            let unreached = Llx::unreached_rows(&weights, &fixed.rows);
            if let Some(first) = unreached.first() {
                let allowed = format!(
                    "{} rows, of which it is the first, are not connected to any fixed row by their {} neighbors; give the \
                     position of at least one row of each group",
                    unreached.len(),
                    llx.n_neighbors
                );
                return Err(invalid_row(&first.to_string(), &allowed));
            }
            extend(&weights, &fixed.rows, fixed.positions.points(), context)
        })?;
        let (data, known) = (data.clone(), embedding.clone());
        let transformer = LlxTransformer { llx: *llx, data, embedding: known, std: None, keeps_norms: false };
        let transformer: Box<dyn Transformer> = Box::new(transformer);
        Ok(FitOutput { embedding, transformer, outcome: Outcome::without_iterations(), neighbors: None })
    }

    fn load(&self, archive: &Archive, n_features: usize) -> Result<Box<dyn Transformer>> {
        Ok(Box::new(LlxTransformer::load(self.llx, archive, n_features)?))
    }

    fn clone_box(&self) -> Box<dyn DynMethod> {
        Box::new(Self { method: self.method.clone_box(), llx: self.llx, fixed: self.fixed.clone() })
    }
}

#[cfg(test)]
#[path = "fixed_tests.rs"]
mod tests;
