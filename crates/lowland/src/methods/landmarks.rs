//! `landmarks = m`: any method on `m` rows, and the others beside them by locally linear extension.

use lowland_algorithms::llx::Llx;
use lowland_core::archive::Archive;
use lowland_core::params::{ParamSpec, ParamValue, at_least_one, parse, refuse};
use lowland_core::run::{Context, Progress, Stage};
use lowland_core::{Data, Embedding, Metric, Points, Result, Shape};
use lowland_neighbors;

use super::{Fit, Input, Method, Model, Placed, Placing, neighbor_stage};

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

/// Whether a method with these parameter values can be fitted on some of the rows, as far as they tell.
pub(super) fn apply(values: &[(&str, &str)]) -> bool {
    let without = [
        ("metric", Metric::Precomputed.to_string()),
        ("metric", Metric::Levenshtein.to_string()),
        ("placing", Placing::Relu.show()),
    ];
    !without.iter().any(|(name, value)| values.contains(&(name, value)))
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
        self.method.gives_std()
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        let mut values = self.method.values();
        values.push((NAME, self.count.show()));
        values
    }

    fn stages(&self, shape: Shape) -> Vec<Stage> {
        let mut stages = self.method.stages(self.shape(shape));
        let (n, dim) = (shape.rows as f64, shape.dim.max(10) as f64);
        stages.push(Stage { name: EXTENSION, weight: neighbor_stage::seconds(shape) + n * dim * 4e-8 });
        stages
    }

    fn memory(&self, shape: Shape) -> u64 {
        let Ok(llx) = self.llx() else { return u64::MAX };
        let k = llx.n_neighbors.min(shape.rows);
        let part = self.shape(shape);
        let search = lowland_neighbors::memory(shape, llx.metric, k, llx.search);
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
        if self.method.values().contains(&("placing", Placing::Relu.show())) {
            return refuse("placing", &Placing::Relu, "llx where there are landmarks");
        }
        if input.graph.is_some() {
            return refuse(NAME, &self.count, "not with a neighbour graph, which is of all rows");
        }
        let (n, m) = (data.rows(), self.count.min(data.rows()));
        let rows: Vec<usize> = (0..m).map(|at| (at as u128 * n as u128 / m as u128) as usize).collect();
        let fitted = self.method.fit(Input { data: &data.select(&rows), graph: None }, context)?;
        let std = fitted.model.std();
        let (embedding, std) = context.stage(EXTENSION, |context| {
            let seed = context.seed.stream(EXTENSION);
            // The standard deviations are carried along as one more coordinate.
            let wide = beside(fitted.embedding.points(), std.as_deref())?;
            let places = wide.points();
            let (map, report) = context.with_progress(|progress| llx.extend(data, &rows, places, seed, progress))?;
            let worst = report.residuals.iter().copied().fold(0.0, f64::max);
            if !report.converged {
                context.note(format!("the extension is approximate: residual {worst:.1e}"));
            }
            apart(map, std.as_deref())
        })?;
        let model = LocalModel { llx, data: data.clone(), embedding: embedding.clone(), std };
        Ok(Fit { embedding, model: Box::new(model), outcome: fitted.outcome, graph: None })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<Box<dyn Model>> {
        Ok(Box::new(LocalModel::load(self.llx()?, archive, dim)?))
    }
}

/// A map with the standard deviations, if there are any, as its last coordinate.
fn beside(map: Points, std: Option<&[f64]>) -> Result<Embedding> {
    let Some(std) = std else { return Embedding::new(map.values().to_vec(), map.dim()) };
    let rows = (0..map.rows()).flat_map(|i| map.row(i).iter().chain(&std[i..=i]).copied());
    Embedding::new(rows.collect(), map.dim() + 1)
}

/// Takes them apart again. Weights can be negative: no point is surer than the surest of those `known`.
fn apart(wide: Embedding, known: Option<&[f64]>) -> Result<(Embedding, Option<Vec<f64>>)> {
    let Some(known) = known else { return Ok((wide, None)) };
    let dim = wide.dim() - 1;
    let least = known.iter().copied().fold(f64::INFINITY, f64::min);
    let std = (0..wide.rows()).map(|i| wide.row(i)[dim].max(least)).collect();
    let map = (0..wide.rows()).flat_map(|i| wide.row(i)[..dim].iter().copied()).collect();
    Ok((Embedding::new(map, dim)?, Some(std)))
}

/// All rows and their map: new rows are combinations of their neighbours.
pub struct LocalModel {
    pub(super) llx: Llx,
    pub(super) data: Data,
    pub(super) embedding: Embedding,
    /// The standard deviation of each row's place, where the method knew those of the landmarks.
    pub(super) std: Option<Vec<f64>>,
}

impl LocalModel {
    /// Reads it back; `dim` is the number of columns of the rows.
    pub(super) fn load(llx: Llx, archive: &Archive, dim: usize) -> Result<Self> {
        let (data, embedding) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        llx.check(&data)?;
        let std = match archive.number("landmarks/std_known")? {
            0 => None,
            _ => Some(archive.finite("landmarks/std")?.to_vec()),
        };
        let fits = data.dim() == dim
            && data.rows() == embedding.rows()
            && std.as_ref().is_none_or(|std| std.len() == data.rows() && std.iter().all(|s| *s >= 0.0));
        if fits { Ok(Self { llx, data, embedding, std }) } else { Err(archive.bad("its parts differ in size".into())) }
    }
}

impl Model for LocalModel {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<Embedding> {
        self.llx.transform(new, &self.data, self.embedding.points(), progress)
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

    fn place(&self, new: &Data, progress: &mut Progress) -> Result<Placed> {
        let std = self.std.as_deref();
        let wide = beside(self.embedding.points(), std)?;
        let placed = self.llx.transform(new, &self.data, wide.points(), progress)?;
        let (embedding, std) = apart(placed, std)?;
        Ok(Placed { std, ..Placed::bare(embedding) })
    }
}
