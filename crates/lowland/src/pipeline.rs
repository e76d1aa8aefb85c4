//! A method with everything that determines its result for given data.

use lowland_algorithms::anchors::Anchors;
use lowland_core::archive::{Archive, ArchiveKind};
use lowland_core::message::{Note, Remedy};
use lowland_core::params::{ParamValue, Params, parse as parse_value};
use lowland_core::run::{Context, Stage};
use lowland_core::{Data, DataShape, MemoryBudget, Result, Seed};

use crate::fixed::{FIXED, FixedPositions, FixedRows};
use crate::landmarks::{LANDMARKS, Landmarks};
use crate::method::{DynMethod, Method};
use crate::preprocessing::{Preprocessing, note_rounded_columns};
use crate::registry::{MethodInfo, ParsedMethod};
use crate::target::{Supervision, Target};

/// Name of the preprocessing stage.
pub(crate) const PREPROCESSING: &str = "preprocessing";

/// Landmarks that an error suggests where a fit of all rows needs too much memory.
const SUGGESTED_LANDMARKS: usize = 5000;
/// Principal components that an error suggests where the columns need too much memory.
const SUGGESTED_COMPONENTS: usize = 50;

/// Name of the entry of model files that says that the fit was supervised.
const TARGET: &str = "target";
/// Name of the entry of model files with the number of rows that were tied to an earlier map.
const ANCHORED: &str = "anchored";

/// Bytes of a fit that do not depend on the method: hashes of the rows and the order in which equal ones are found, and
/// small things such as names and notes.
fn fit_overhead(shape: DataShape) -> u64 {
    (shape.rows as u64).saturating_mul(32).saturating_add(64 << 10)
}

/// A method with the options that determine its result: what a model or a checkpoint was made with.
pub struct Pipeline {
    /// The method.
    pub method: Box<dyn DynMethod>,
    /// Steps before the method.
    pub preprocessing: Preprocessing,
    /// Number of rows that are fitted; `None` for all.
    pub landmarks: Option<usize>,
    /// Number of rows with known positions, which take the place of the fit; `None` if the method is fitted.
    pub fixed: Option<usize>,
    /// Number of rows that keep their position of an earlier map or are tied to it; `None` if the fit does not continue a map.
    pub anchored: Option<usize>,
    /// Whether the fit is supervised by a target.
    pub has_target: bool,
    /// Seed of everything random.
    pub seed: Seed,
}

impl Pipeline {
    /// The method as it runs: on all rows, on the landmarks, or not at all if positions are known (`None` for those of a
    /// saved model, or where only memory is estimated).
    pub(crate) fn runner(&self, positions: Option<&FixedPositions>) -> Result<Box<dyn DynMethod>> {
        match (self.fixed, self.landmarks) {
            (Some(_), _) => Ok(Box::new(FixedRows::new(self.method.clone_box(), positions.cloned())?)),
            (None, None) => Ok(self.method.clone_box()),
            (None, Some(count)) => Ok(Box::new(Landmarks::new(self.method.clone_box(), count)?)),
        }
    }

    /// Whether transforming a training row returns exactly its coordinates in the embedding.
    pub(crate) fn transforms_exactly(&self) -> bool {
        self.landmarks.is_none() && self.fixed.is_none() && self.method.transforms_exactly()
    }

    /// What makes the result depend on the origin of the data; `None` if it depends on differences of rows only.
    pub(crate) fn depends_on_origin(&self) -> Option<String> {
        match self.method.metric() {
            Some(metric) if !metric.is_translation_invariant() => Some(format!("metric {metric}")),
            _ => self.method.preserves_origin().then(|| format!("method {}", self.method.name())),
        }
    }

    /// Returns the preprocessed rows as the method takes them: as stored, without the offsets of the columns, if it depends on
    /// differences only, and with the offsets added otherwise.
    pub(crate) fn rows_for_method(&self, prepared: &Data) -> Data {
        if self.depends_on_origin().is_none() { prepared.without_offsets() } else { prepared.unshifted() }
    }

    /// Notes the columns that lose precision in [`Self::rows_for_method`].
    pub(crate) fn note_rounded_columns(&self, prepared: &Data, context: &mut Context) {
        if let Some(cause) = self.depends_on_origin() {
            note_rounded_columns(prepared, cause, context);
        }
    }

    /// Bytes that are held while the method runs: the data, the preprocessed data, hashes of the rows, names and notes.
    pub(crate) fn memory_besides_method(&self, shape: DataShape) -> u64 {
        let prepared = if self.preprocessing.is_empty() { 0 } else { self.preprocessing.output(shape).bytes };
        shape.bytes.saturating_add(prepared).saturating_add(fit_overhead(shape))
    }

    /// Bytes of the whole fit, the data included, if the method may use `limit`.
    fn memory(&self, shape: DataShape, limit: Option<u64>) -> Result<u64> {
        let held = self.memory_besides_method(shape);
        let limit = limit.map(|limit| limit.saturating_sub(held));
        let method = self.runner(None)?.memory_within(self.preprocessing.output(shape), limit);
        let steps = self.preprocessing.memory(shape).saturating_add(fit_overhead(shape));
        let method =
            method.saturating_add(self.target_memory(shape.rows)).saturating_add(self.anchors_memory(shape.rows));
        let needed = held.saturating_add(method).max(shape.bytes.saturating_add(steps));
        // The allocator rounds up and keeps some for itself.
        Ok(needed.saturating_add(needed / 16))
    }

    /// Whether the method can be supervised.
    pub(crate) fn uses_target(&self) -> bool {
        self.method.values().iter().any(|(name, _)| *name == "target_weight")
    }

    /// Bytes of the anchors, which the caller has and the method copies: starts, targets and strengths.
    fn anchors_memory(&self, rows: usize) -> u64 {
        let row = (self.method.n_components() as u64).saturating_mul(16).saturating_add(8);
        self.anchored.map_or(0, |_| row.saturating_mul(2 * rows as u64))
    }

    /// Bytes that supervision adds: the graph of the candidates, the search for them, and the classes of the rows.
    fn target_memory(&self, rows: usize) -> u64 {
        if !self.has_target {
            return 0;
        }
        let rows = self.landmarks.map_or(rows, |count| count.min(rows));
        let k = self.method.required_neighbors(rows);
        let candidates = Supervision::candidates(k).min(rows);
        (rows as f64 * (candidates as f64 * 24.0 + (candidates - k.min(candidates)) as f64 * 24.0 + 64.0)) as u64
    }

    /// Estimates the memory of the whole fit with what is reserved in the budget, or fails where it exceeds the limit.
    pub fn check_memory(&self, shape: DataShape, budget: &MemoryBudget) -> Result<u64> {
        let allowed = budget.remaining();
        let needed = self.memory(shape, allowed)?;
        let what = format!("method {}", self.method.name());
        match allowed.filter(|&allowed| needed > allowed) {
            None => budget.check(what, needed, &[]),
            Some(allowed) => budget.check(what, needed, &self.memory_remedies(shape, allowed)),
        }
    }

    pub(crate) fn memory_remedies(&self, shape: DataShape, allowed: u64) -> Vec<Remedy> {
        if shape.bytes > allowed {
            return vec![Remedy::RaiseMaxMemory, Remedy::Other("use fewer rows, which alone exceed the limit")];
        }
        let prepared = self.preprocessing.output(shape);
        let besides = self.memory_besides_method(shape);
        let landmarks = Landmarks::new(self.method.clone_box(), SUGGESTED_LANDMARKS);
        let with_landmarks = landmarks.map_or(u64::MAX, |method| method.memory(prepared));
        let last = if besides.saturating_add(with_landmarks) <= allowed {
            Remedy::Landmarks(SUGGESTED_LANDMARKS)
        } else {
            Remedy::ReduceColumns(SUGGESTED_COMPONENTS)
        };
        vec![Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerNeighbors, last]
    }

    pub(crate) fn stages(&self, runner: &dyn DynMethod, shape: DataShape) -> Vec<Stage> {
        let mut stages = runner.stages(self.preprocessing.output(shape));
        if !self.preprocessing.is_empty() {
            let total: f64 = stages.iter().map(|stage| stage.weight).sum();
            stages.insert(0, Stage { name: PREPROCESSING, weight: 0.3 * total });
        }
        stages
    }

    /// Adds to every checkpoint what it is a checkpoint of, and rejects a checkpoint of something else.
    pub(crate) fn identify(
        &self,
        data: &Data,
        target: Option<&Target>,
        anchors: Option<&Anchors>,
        context: &mut Context,
    ) -> Result<()> {
        let mut identity = Archive::new(ArchiveKind::Checkpoint);
        self.save(&mut identity);
        identity.put("data/fingerprint", data.fingerprint());
        if let Some(target) = target {
            identity.put("target/fingerprint", target.fingerprint());
        }
        if let Some(anchors) = anchors {
            identity.put("anchors/fingerprint", anchors.fingerprint());
        }
        if let Some(archive) = context.checkpoint() {
            let differs = |what: &str| Err(archive.invalid(format!("it was made with {what}; start again without it")));
            Note::load_all("notes", archive)?;
            if archive.number("data/fingerprint")? != identity.number("data/fingerprint")? {
                return differs("other data");
            }
            if archive.text("job/method")? != self.method.name() || archive.number("job/seed")? != self.seed.0 {
                return differs("another method or seed");
            }
            if archive.texts("job/parameters")? != identity.texts("job/parameters")? {
                return differs(&format!("other parameters ({})", archive.texts("job/parameters")?.join(", ")));
            }
            if let Some(target) = target
                && archive.number("target/fingerprint")? != target.fingerprint()
            {
                return differs("another target");
            }
            if let Some(anchors) = anchors
                && archive.number("anchors/fingerprint")? != anchors.fingerprint()
            {
                return differs("other positions of an earlier map");
            }
        }
        context.add_to_checkpoint(|archive| *archive = identity);
        Ok(())
    }

    /// Name and value of every parameter of the method, and `landmarks`, the numbers of `fixed` and `anchored` rows and `target`
    /// where they are set.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let mut values = self.method.values();
        values.extend(self.landmarks.map(|count| (LANDMARKS, count.to_text())));
        values.extend(self.fixed.map(|count| (FIXED, count.to_text())));
        values.extend(self.anchored.map(|count| (ANCHORED, count.to_text())));
        values.extend(self.has_target.then(|| (TARGET, true.to_text())));
        values
    }

    /// Writes the pipeline to a model or checkpoint.
    pub(crate) fn save(&self, archive: &mut Archive) {
        archive.put("job/method", self.method.name());
        archive.put("job/seed", self.seed.0);
        let method = self.values().into_iter().map(|(name, value)| format!("{name}={value}"));
        let steps = self.preprocessing.values().into_iter().map(|(name, value)| format!("prepare.{name}={value}"));
        archive.put("job/parameters", method.chain(steps).collect::<Vec<_>>());
    }

    /// Reads the pipeline that a model or checkpoint of a built-in method was made with.
    pub fn load(archive: &Archive) -> Result<Self> {
        let info = MethodInfo::find(archive.text("job/method")?)?;
        Self::load_by(archive, |values| info.parse(values))
    }

    /// Reads the pipeline that a model or checkpoint of this method was made with.
    pub(crate) fn load_as<M: Method>(archive: &Archive) -> Result<Self> {
        let name = archive.text("job/method")?;
        if name != M::NAME {
            return Err(archive.invalid(format!("it is of method {name}, not {}", M::NAME)));
        }
        Self::load_by(archive, ParsedMethod::new::<M>)
    }

    fn load_by(archive: &Archive, parse: impl Fn(&[(&str, &str)]) -> Result<ParsedMethod>) -> Result<Self> {
        let mut preprocessing = Preprocessing::default();
        let (mut values, mut fixed, mut anchored, mut has_target) = (Vec::new(), None, None, false);
        for text in archive.texts("job/parameters")? {
            let Some((name, value)) = text.split_once('=') else {
                return Err(archive.invalid(format!("the parameter '{text}' has no value")));
            };
            match name.strip_prefix("prepare.") {
                Some(name) => preprocessing.set(name, value)?,
                None if name == FIXED => fixed = Some(parse_value(FIXED, value)?),
                None if name == ANCHORED => anchored = Some(parse_value(ANCHORED, value)?),
                None if name == TARGET => has_target = parse_value(TARGET, value)?,
                None => values.push((name, value)),
            }
        }
        let ParsedMethod { method, landmarks } = parse(&values)?;
        let seed = Seed(archive.number("job/seed")?);
        Ok(Self { method, preprocessing, landmarks, fixed, anchored, has_target, seed })
    }
}
