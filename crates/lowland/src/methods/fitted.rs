//! A whole job, from data to a fitted map, and the map with what new rows need.

use crate::prepare::{Prepare, Prepared};
use lowland_core::archive::{Archive, Kind};
use lowland_core::params::Params;
use lowland_core::run::{Context, Limits, Observer, Outcome, Progress, Stage};
use lowland_core::{Data, Embedding, Error, Metric, Points, Result, Seed, Shape, bytes};
use lowland_neighbors::NeighborGraph;

use super::{Fit, Input, Method, MethodInfo, Model, Placed, landmarks};

/// What to do to which data, apart from the data.
pub struct Job {
    /// Steps before the method.
    pub prepare: Prepare,
    /// The method.
    pub method: Box<dyn Method>,
    /// The seed of everything random.
    pub seed: Seed,
}

/// A fitted map.
pub struct Fitted {
    /// What was done.
    pub job: Job,
    /// The map, a row for each row of the data.
    pub embedding: Embedding,
    /// How the iterations went.
    pub outcome: Outcome,
    /// What is worth knowing about the run.
    pub notes: Vec<String>,
    /// Names of the data's columns, where someone knows them; kept with the model.
    pub feature_names: Vec<String>,
    /// The neighbour graph of the prepared data, where the method found it exactly: scores may rely on it.
    pub graph: Option<NeighborGraph>,
    prepared: Prepared,
    model: Box<dyn Model>,
    columns: usize,
    /// Dense, sparse or text, as [`Data::kind`] says it.
    kind: String,
}

const PREPARE_STAGE: &str = "preparation";

impl Job {
    /// A job without preparation, by method name and parameter values.
    pub fn new(method: &str, values: &[(&str, &str)], seed: Seed) -> Result<Self> {
        Ok(Self { prepare: Prepare::default(), method: MethodInfo::find(method)?.build(values)?, seed })
    }

    /// Bytes the whole job needs, the data included.
    pub fn memory(&self, shape: Shape) -> u64 {
        let parts = [shape.bytes, self.prepare.memory(shape), self.method.memory(self.prepare.output(shape))];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// The stages to come.
    fn stages(&self, shape: Shape) -> Vec<Stage> {
        let mut stages = self.method.stages(self.prepare.output(shape));
        if !self.prepare.is_empty() {
            let total: f64 = stages.iter().map(|stage| stage.weight).sum();
            stages.insert(0, Stage { name: PREPARE_STAGE, weight: 0.3 * total });
        }
        stages
    }

    /// The bytes that fitting rows of this shape takes, or an error where the limits forbid it: to be asked before the rows
    /// themselves are looked at.
    pub fn check_memory(&self, shape: Shape, limits: &Limits) -> Result<u64> {
        let needed = self.memory(shape).saturating_add(limits.reserve);
        match limits.max_memory.filter(|&limit| needed > limit) {
            None => Ok(needed),
            Some(limit) => {
                let allowed = limit.saturating_sub(limits.reserve);
                let (what, remedy) = (format!("method {}", self.method.name()), self.fewer_bytes(shape, allowed));
                Err(Error::Memory { what, needed, limit, remedy })
            }
        }
    }

    /// What to do where the job needs more than is allowed.
    fn fewer_bytes(&self, shape: Shape, allowed: u64) -> &'static str {
        let prepared = self.prepare.output(shape);
        let besides = self.memory(shape).saturating_sub(self.method.memory(prepared));
        let with_landmarks = self.with_landmarks().map_or(u64::MAX, |method| method.memory(prepared));
        if shape.bytes > allowed {
            "The rows alone take more: raise max_memory, or use fewer of them"
        } else if besides.saturating_add(with_landmarks) <= allowed {
            "Raise max_memory, use fewer rows, or fit some and place the others beside them (landmarks = 5000)"
        } else {
            "Raise max_memory, use fewer rows or neighbours, or reduce the columns first (pca)"
        }
    }

    /// The method on 5,000 of the rows, if it can be fitted so.
    fn with_landmarks(&self) -> Option<Box<dyn Method>> {
        let values = self.method.values();
        let mut values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        landmarks::take_out(&mut values).ok()?;
        if !landmarks::apply(&values) {
            return None;
        }
        values.push((landmarks::NAME, "5000"));
        MethodInfo::find(self.method.name()).ok()?.build(&values).ok()
    }

    /// Prepares, fits, and keeps what new rows need. `graph`, when given, is of the prepared data.
    pub fn fit(
        self,
        data: &Data,
        graph: Option<&NeighborGraph>,
        limits: &Limits,
        observer: &mut dyn Observer,
    ) -> Result<Fitted> {
        if data.rows() == 0 {
            let remedy = "The input is empty";
            return Err(Error::TooFewPoints { what: "a map".into(), needed: 1, found: 0, remedy });
        }
        if data.dim() == 0 && !matches!(data, Data::Text(_)) {
            return Err(Error::Shape { what: "columns of numbers", expected: 1, found: 0 });
        }
        let is_distances = self.method.values().contains(&("metric", Metric::Precomputed.to_string()));
        if is_distances && !self.prepare.is_empty() {
            return Err(Error::Parameter {
                name: "metric",
                value: Metric::Precomputed.to_string(),
                allowed: "the data are distances, which must not be prepared (log1p, standardize, normalize, pca)"
                    .into(),
            });
        }
        data.check_finite()?;
        let mut context = Context::new(observer, self.seed, limits.resume.as_ref());
        context.begin_with(limits.start.as_ref());
        let needed = self.check_memory(data.shape(), limits)?;
        context.note(format!("memory: about {}", bytes(needed)));
        let besides = needed.saturating_sub(self.method.memory(self.prepare.output(data.shape())));
        context.allow(limits.max_memory.map(|limit| limit.saturating_sub(besides)));
        self.identify(data, &mut context)?;
        self.report_duplicates(data, &mut context);
        context.plan(&self.stages(data.shape()))?;
        let (prepared, ready) = if self.prepare.is_empty() {
            self.prepare.fit(data, &mut context)?
        } else {
            context.stage(PREPARE_STAGE, |context| self.prepare.fit(data, context))?
        };
        if !self.prepare.is_empty() {
            // Scaling can leave the range of single precision.
            ready.check_finite()?;
        }
        let Fit { embedding, model, outcome, graph } = self.method.fit(Input { data: &ready, graph }, &mut context)?;
        let notes = context.take_notes();
        let (columns, kind) = (data.dim(), data.kind().to_string());
        let feature_names = Vec::new();
        Ok(Fitted { job: self, embedding, outcome, notes, feature_names, graph, prepared, model, columns, kind })
    }

    /// Puts into every checkpoint what it is a checkpoint of, and refuses to go on from one of something else.
    fn identify(&self, data: &Data, context: &mut Context) -> Result<()> {
        let mut identity = Archive::new(Kind::Checkpoint);
        self.save(&mut identity);
        identity.put("data/fingerprint", data.fingerprint());
        if let Some(archive) = context.resumed() {
            let differs = |what: &str| Err(archive.bad(format!("it was made with {what}; start again without it")));
            if archive.number("data/fingerprint")? != identity.number("data/fingerprint")? {
                return differs("other data");
            }
            if archive.text("job/method")? != self.method.name() || archive.number("job/seed")? != self.seed.0 {
                return differs("another method or seed");
            }
            if archive.texts("job/parameters")? != identity.texts("job/parameters")? {
                return differs(&format!("other parameters ({})", archive.texts("job/parameters")?.join(", ")));
            }
        }
        context.keep(|archive| *archive = identity);
        Ok(())
    }

    fn report_duplicates(&self, data: &Data, context: &mut Context) {
        let duplicates = data.repeated_rows();
        if duplicates > 0 {
            context.note(format!("{duplicates} of {} rows repeat an earlier row; they are kept", data.rows()));
        }
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("job/method", self.method.name());
        archive.put("job/seed", self.seed.0);
        let method = self.method.values().into_iter().map(|(name, value)| format!("{name}={value}"));
        let prepare = self.prepare.values().into_iter().map(|(name, value)| format!("prepare.{name}={value}"));
        archive.put("job/parameters", method.chain(prepare).collect::<Vec<_>>());
    }

    /// The job a model or checkpoint was made by.
    pub fn load(archive: &Archive) -> Result<Self> {
        let mut prepare = Prepare::default();
        let mut values = Vec::new();
        for text in archive.texts("job/parameters")? {
            let Some((name, value)) = text.split_once('=') else {
                return Err(archive.bad(format!("the parameter '{text}' has no value")));
            };
            match name.strip_prefix("prepare.") {
                Some(name) => prepare.set(name, value)?,
                None => values.push((name, value)),
            }
        }
        let method = MethodInfo::find(archive.text("job/method")?)?.build(&values)?;
        Ok(Self { prepare, method, seed: Seed(archive.number("job/seed")?) })
    }
}

impl Fitted {
    /// Data as the method sees them, after the preparation.
    pub fn prepare(&self, data: &Data) -> Result<Data> {
        self.prepared.apply(data)
    }

    /// Columns of the data it was fitted on, before the preparation; 0 for strings.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The images of new rows. Each depends on its row and the fitted map alone.
    pub fn transform(&self, new: &Data, progress: &mut Progress) -> Result<Embedding> {
        Ok(self.place(new, progress)?.embedding)
    }

    /// The standard deviation of each row of the map, where the method knows one.
    pub fn std(&self) -> Option<Vec<f64>> {
        self.model.std()
    }

    /// The log-likelihood of each new row under the model.
    pub fn score(&self, new: &Data, progress: &mut Progress) -> Result<Vec<f64>> {
        self.place(new, progress)?.scores.ok_or_else(|| self.has_no("likelihood of rows", "lvm"))
    }

    /// The covariance of each row's place, row after row, where the method knows one.
    pub fn covariances(&self) -> Option<Vec<f64>> {
        self.model.covariances()
    }

    /// Bytes that [`Fitted::samples`] needs beyond the model.
    pub fn samples_memory(&self, count: usize) -> u64 {
        self.model.samples_memory(count)
    }

    /// Maps drawn from the model's posterior.
    pub fn samples(&self, count: usize, seed: Seed) -> Result<Vec<Embedding>> {
        self.model.samples(count, seed)?.ok_or_else(|| self.has_no("posterior of maps", "lllvm"))
    }

    /// Rows that would have these places on the map, as the method sees rows: after the preparation.
    pub fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Data> {
        self.check_points(points)?;
        self.model.inverse(points, progress)?.ok_or_else(|| self.has_no_inverse())
    }

    /// The same with the standard deviation of every value, where the method knows one.
    pub fn inverse_with_std(&self, points: Points, progress: &mut Progress) -> Result<(Data, Option<Data>)> {
        self.check_points(points)?;
        self.model.inverse_with_std(points, progress)?.ok_or_else(|| self.has_no_inverse())
    }

    fn has_no_inverse(&self) -> Error {
        self.has_no("inverse", "lvm, lllvm or gplvm")
    }

    fn check_points(&self, points: Points) -> Result<()> {
        if points.dim() != self.embedding.dim() {
            let what = "coordinates of a point of the map";
            return Err(Error::Shape { what, expected: self.embedding.dim(), found: points.dim() });
        }
        if let Some(at) = points.values().iter().position(|v| !v.is_finite()) {
            let (row, column) = (at / points.dim(), at % points.dim());
            return Err(Error::NotFinite { row, column, value: points.values()[at] as f32, count: 1 });
        }
        Ok(())
    }

    fn has_no(&self, what: &str, who: &str) -> Error {
        let allowed = format!("this method has no {what}; {who} has");
        Error::Parameter { name: "method", value: self.job.method.name().into(), allowed }
    }

    /// The images of new rows, with what else the method knows of them.
    pub fn place(&self, new: &Data, progress: &mut Progress) -> Result<Placed> {
        if new.kind() != self.kind {
            let remedy = match self.kind.as_str() {
                "dense" => "It was fitted on dense rows: give the new rows dense",
                "sparse" => "It was fitted on sparse rows: give the new rows sparse",
                _ => "It was fitted on strings: give strings",
            };
            return Err(Error::Kind { what: "this model", kind: new.kind(), remedy });
        }
        if new.dim() != self.columns {
            let what = "columns, as the model was fitted on (a label or id column must be named again)";
            return Err(Error::Shape { what, expected: self.columns, found: new.dim() });
        }
        if new.rows() == 0 {
            let embedding = Embedding::new(Vec::new(), self.embedding.dim())?;
            return Ok(Placed::bare(embedding));
        }
        new.check_finite()?;
        let ready = self.prepare(new)?;
        ready.check_finite()?;
        self.model.place(&ready, progress)
    }

    /// Everything but the graph and the trace, as one file's content.
    pub fn to_archive(&self) -> Archive {
        let mut archive = Archive::new(Kind::Model);
        self.job.save(&mut archive);
        archive.put("data/columns", self.columns as u64);
        archive.put("data/kind", self.kind.as_str());
        archive.put("data/names", self.feature_names.as_slice());
        self.embedding.save("embedding", &mut archive);
        self.prepared.save(&mut archive);
        self.model.save(&mut archive);
        archive
    }

    /// Reads a saved model.
    pub fn from_archive(archive: &Archive) -> Result<Self> {
        let job = Job::load(archive)?;
        let embedding = Embedding::load("embedding", archive)?;
        let columns = archive.size("data/columns")?;
        let prepared = Prepared::load(&job.prepare, archive, columns)?;
        let model = job.method.load(archive, prepared.output_dim(columns))?;
        let kind = archive.text("data/kind")?.to_string();
        let outcome = Outcome::direct();
        let feature_names = archive.texts("data/names")?.to_vec();
        if !feature_names.is_empty() && feature_names.len() != columns {
            return Err(archive.bad(format!("it names {} of {columns} columns", feature_names.len())));
        }
        let notes = Vec::new();
        Ok(Self { job, embedding, outcome, notes, feature_names, graph: None, prepared, model, columns, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_names_what_helps() {
        let said = |method: &str, values: &[(&str, &str)], [rows, dim]: [usize; 2], [limit, reserve]: [u64; 2]| {
            let shape = Shape { rows, dim, sparse: false, bytes: (4 * rows * dim) as u64 };
            let limits = Limits { max_memory: Some(limit), reserve, ..Limits::default() };
            Job::new(method, values, Seed(0)).unwrap().check_memory(shape, &limits).unwrap_err().to_string()
        };
        let (some, whole) = ("landmarks = 5000", [70_000, 50]);
        assert!(said("isomap", &[], whole, [4 << 30, 0]).contains(some));
        assert!(said("pca", &[], [1_000_000, 1000], [1 << 30, 0]).contains("rows alone"));
        assert!(said("tsne", &[], [1_000_000, 1000], [4 << 30, 0]).contains("(pca)"));
        // What is set aside for other things is not there for landmarks either.
        assert!(!said("isomap", &[], whole, [4 << 30, (4 << 30) - (64 << 20)]).contains(some));
        // Fewer landmarks than asked for; none where rows cannot be combined.
        assert!(said("isomap", &[("landmarks", "60000")], whole, [4 << 30, 0]).contains(some));
        assert!(!said("isomap", &[("metric", "precomputed")], whole, [4 << 30, 0]).contains(some));
    }
}
