//! `landmarks = m`: any method on `m` rows, and the others beside them by locally linear extension.

use crate::archive::Archive;
use crate::llx::Llx;
use crate::neighbors;
use crate::params::{ParamSpec, ParamValue, at_least_one, parse, refuse};
use crate::points::{Data, Embedding, Metric, Result, Shape};
use crate::run::{Context, Progress, Stage};

use super::{Fit, Input, Method, Model};

/// The parameter's name.
pub(super) const NAME: &str = "landmarks";

const EXTENSION: &str = "extension";

/// What `landmarks` is, beside the method's own parameters.
pub(super) fn spec() -> ParamSpec {
    ParamSpec {
        name: NAME,
        help: "Rows to fit, evenly spread over the data; the others are placed by locally linear extension (0: fit all).",
        default: "0".into(),
        expects: usize::EXPECTS,
    }
}

/// Takes `landmarks` out of some parameter values; `None` when all rows are to be fitted.
pub(super) fn take_out(values: &mut Vec<(&str, &str)>) -> Result<Option<usize>> {
    let given = values.iter().rfind(|(name, _)| *name == NAME);
    let count: usize = given.map_or(Ok(0), |(_, text)| parse(NAME, text))?;
    values.retain(|(name, _)| *name != NAME);
    Ok((count > 0).then_some(count))
}

/// A method on some of the rows.
pub(super) struct Landmarks {
    pub method: Box<dyn Method>,
    pub count: usize,
}

impl Landmarks {
    fn llx(&self) -> Result<Llx> {
        let values = self.method.values();
        let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str());
        let dim: usize = parse("n_components", value("n_components").unwrap_or("2"))?;
        at_least_one("n_components", dim)?;
        let metric: Metric = value("metric").map_or(Ok(Metric::Euclidean), |text| parse("metric", text))?;
        Ok(if self.method.keeps_origin() { Llx::linear(dim) } else { Llx::affine(dim, metric) })
    }

    fn shape(&self, shape: Shape) -> Shape {
        let rows = self.count.min(shape.rows);
        let bytes = (shape.bytes as f64 * rows as f64 / shape.rows.max(1) as f64) as u64;
        Shape { rows, bytes, ..shape }
    }
}

impl Method for Landmarks {
    fn name(&self) -> &'static str {
        self.method.name()
    }

    fn keeps_origin(&self) -> bool {
        self.method.keeps_origin()
    }

    fn gives_std(&self) -> bool {
        false
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        let mut values = self.method.values();
        values.push((NAME, self.count.show()));
        values
    }

    fn stages(&self, shape: Shape) -> Vec<Stage> {
        let mut stages = self.method.stages(self.shape(shape));
        let (n, dim) = (shape.rows as f64, shape.dim.max(10) as f64);
        stages.push(Stage { name: EXTENSION, weight: (n * n * (dim + 40.0) / 2e11).min(n * 1e-4) + n * dim * 4e-8 });
        stages
    }

    fn memory(&self, shape: Shape) -> u64 {
        let Ok(llx) = self.llx() else { return u64::MAX };
        let k = llx.n_neighbors.min(shape.rows);
        let part = self.shape(shape);
        let search = neighbors::memory(shape, llx.metric, k, llx.search);
        // Weights as lists, as rows and as columns; the map and the solver's blocks.
        let weights = shape.rows as f64 * (k as f64 * 60.0 + llx.n_neighbors as f64 * 20.0);
        let extension = search.saturating_add(weights as u64);
        part.bytes.saturating_add(self.method.memory(part).max(extension))
    }

    fn neighbors(&self, _rows: usize) -> usize {
        0
    }

    fn fit(&self, input: Input, context: &mut Context) -> Result<Fit<Box<dyn Model>>> {
        let (data, llx) = (input.data, self.llx()?);
        llx.check(data)?;
        if input.graph.is_some() {
            return refuse(NAME, &self.count, "not with a neighbour graph, which is of all rows");
        }
        let (n, m) = (data.rows(), self.count.min(data.rows()));
        let rows: Vec<usize> = (0..m).map(|at| (at as u128 * n as u128 / m as u128) as usize).collect();
        let fitted = self.method.fit(Input { data: &data.select(&rows), graph: None }, context)?;
        let embedding = context.stage(EXTENSION, |context| {
            let seed = context.seed.stream(EXTENSION);
            let places = fitted.embedding.points();
            let (map, report) = context.with_progress(|progress| llx.extend(data, &rows, places, seed, progress))?;
            let worst = report.residuals.iter().copied().fold(0.0, f64::max);
            if !report.converged {
                context.note(format!("the extension is approximate: residual {worst:.1e}"));
            }
            Ok(map)
        })?;
        let model = LocalModel { llx, data: data.clone(), embedding: embedding.clone() };
        Ok(Fit { embedding, model: Box::new(model), outcome: fitted.outcome, graph: None })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<Box<dyn Model>> {
        Ok(Box::new(LocalModel::load(self.llx()?, archive, dim)?))
    }
}

/// All rows and their map: new rows are combinations of their neighbours.
pub struct LocalModel {
    pub(super) llx: Llx,
    pub(super) data: Data,
    pub(super) embedding: Embedding,
}

impl LocalModel {
    /// Reads it back; `dim` is the number of columns of the rows.
    pub(super) fn load(llx: Llx, archive: &Archive, dim: usize) -> Result<Self> {
        let (data, embedding) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        llx.check(&data)?;
        let fits = data.dim() == dim && data.rows() == embedding.rows();
        if fits { Ok(Self { llx, data, embedding }) } else { Err(archive.bad("its parts differ in size".into())) }
    }
}

impl Model for LocalModel {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<Embedding> {
        self.llx.place(new, &self.data, self.embedding.points(), progress)
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
    }
}
