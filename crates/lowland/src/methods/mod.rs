//! The methods: recipes made of the parts below them.
//!
//! A method is a parameter struct that implements [`Recipe`] and one line in [`METHODS`]; the command line, Python and the
//! model file follow from that.

mod aligned;
mod fitted;
mod gplvm;
mod isomap;
mod landmarks;
mod linear;
mod lllvm;
mod lvm;
mod mapit;
mod neighbor_embedding;
mod neighbor_stage;
mod placed;
mod spectral;
mod start;
mod tsm;

use lowland_core::archive::Archive;
use lowland_core::params::{ParamSpec, Params, refuse};
use lowland_core::run::{Context, Outcome, Progress, Stage};
use lowland_core::{Data, Embedding, Error, Points, Result, Seed, Shape};
use lowland_neighbors::NeighborGraph;

pub use aligned::{Lle, Ltsa};
pub use fitted::{Fitted, Job};
pub use gplvm::GpLvm;
pub use isomap::Isomap;
pub use linear::{LinearSolver, Pca, Svd};
pub use lllvm::Lllvm;
pub(crate) use lllvm::model_edges;
pub use lvm::{Lvm, Parts};
pub use mapit::{MapIt, Variant};
pub use neighbor_embedding::{Ee, RepulsionWeights, Ssne, Tsne};
pub(crate) use neighbor_stage::{Neighbors, neighbors};
pub use spectral::{Affinity, Spectral};
pub use start::Init;
pub use tsm::{Matrices, Placing, Tsm};

/// What a method is given.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The prepared data.
    pub data: &'a Data,
    /// Its neighbours, when they were computed before.
    pub graph: Option<&'a NeighborGraph>,
}

/// What a method gives back.
pub struct Fit<M> {
    /// The map.
    pub embedding: Embedding,
    /// What new rows are placed with.
    pub model: M,
    /// How the iterations went.
    pub outcome: Outcome,
    /// The neighbour graph that was used, where it was found exactly, for whoever can use it again.
    pub graph: Option<NeighborGraph>,
}

/// What new rows are placed with.
pub trait Model: Send + Sync {
    /// The images of new rows; each depends on its row alone.
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<Embedding>;
    /// Writes the model.
    fn save(&self, archive: &mut Archive);

    /// The standard deviation of each row of the map, where the method knows one.
    fn std(&self) -> Option<Vec<f64>> {
        None
    }

    /// The images of new rows, with what else the method knows of them.
    fn place(&self, new: &Data, progress: &mut Progress) -> Result<Placed> {
        Ok(Placed::bare(self.transform(new, progress)?))
    }

    /// The covariance of each row's place, `dim x dim`, row after row, where the method knows one.
    fn covariances(&self) -> Option<Vec<f64>> {
        None
    }

    /// Bytes that so many samples need.
    fn samples_memory(&self, _count: usize) -> u64 {
        0
    }

    /// Maps drawn from the model's posterior; `None` when the method has none.
    fn samples(&self, _count: usize, _seed: Seed) -> Result<Option<Vec<Embedding>>> {
        Ok(None)
    }

    /// Rows that would have these places on the map, dense; `None` when the method has no such thing.
    fn inverse(&self, _points: Points, _progress: &mut Progress) -> Result<Option<Data>> {
        Ok(None)
    }

    /// The same with the standard deviation of every value, where the method knows one.
    fn inverse_with_std(&self, points: Points, progress: &mut Progress) -> Result<Option<(Data, Option<Data>)>> {
        Ok(self.inverse(points, progress)?.map(|rows| (rows, None)))
    }
}

/// New rows on a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Their images.
    pub embedding: Embedding,
    /// The standard deviation of each.
    pub std: Option<Vec<f64>>,
    /// The covariance of each, `dim x dim`, row after row.
    pub covariances: Option<Vec<f64>>,
    /// How likely the model takes each to be: a logarithm.
    pub scores: Option<Vec<f64>>,
}

impl Placed {
    /// Images of which nothing else is known.
    pub(crate) fn bare(embedding: Embedding) -> Self {
        Self { embedding, std: None, covariances: None, scores: None }
    }
}

/// A method, as its author writes it.
pub trait Recipe: Params + Send + Sync + 'static {
    /// The name on the command line.
    const NAME: &'static str;
    /// What it does, in one line.
    const SUMMARY: &'static str;
    /// When to use it, in one or two sentences.
    const ADVICE: &'static str;
    /// Whether zero means zero in its maps, so that they must not be moved.
    const KEEPS_ORIGIN: bool = false;
    /// Whether its maps come with a standard deviation for each point.
    const GIVES_STD: bool;
    /// What it leaves for `transform`.
    type Model: Model + 'static;

    /// Refuses parameters that make no sense whatever the data.
    fn check(&self) -> Result<()>;
    /// The stages of a fit, with their expected shares of the time.
    fn stages(&self, shape: Shape) -> Vec<Stage>;
    /// Bytes a fit needs beyond the data.
    fn memory(&self, shape: Shape) -> u64;
    /// Neighbours that a fit asks for each of `rows` rows; none where a graph is no use to it.
    fn neighbors(&self, rows: usize) -> usize;
    /// Fits.
    fn fit(&self, input: Input, context: &mut Context) -> Result<Fit<Self::Model>>;
    /// Reads a saved model; `dim` is the number of columns it was fitted on.
    fn load(&self, archive: &Archive, dim: usize) -> Result<Self::Model>;
}

/// A method with its parameters, ready to fit; any [`Recipe`] is one.
pub trait Method: Send + Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;
    /// Whether zero means zero in its maps, so that they must not be moved.
    fn keeps_origin(&self) -> bool;
    /// Whether its maps come with a standard deviation for each point.
    fn gives_std(&self) -> bool;
    /// Name and value of every parameter.
    fn values(&self) -> Vec<(&'static str, String)>;
    /// The stages of a fit, with their expected shares of the time.
    fn stages(&self, shape: Shape) -> Vec<Stage>;
    /// Bytes a fit needs beyond the data.
    fn memory(&self, shape: Shape) -> u64;
    /// Neighbours that a fit asks for each of `rows` rows; none where a graph is no use to it.
    fn neighbors(&self, rows: usize) -> usize;
    /// Fits.
    fn fit(&self, input: Input, context: &mut Context) -> Result<Fit<Box<dyn Model>>>;
    /// Reads a saved model.
    fn load(&self, archive: &Archive, dim: usize) -> Result<Box<dyn Model>>;
}

impl<R: Recipe> Method for R {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn keeps_origin(&self) -> bool {
        R::KEEPS_ORIGIN
    }

    fn gives_std(&self) -> bool {
        R::GIVES_STD
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        Params::values(self)
    }

    fn stages(&self, shape: Shape) -> Vec<Stage> {
        Recipe::stages(self, shape)
    }

    fn memory(&self, shape: Shape) -> u64 {
        Recipe::memory(self, shape)
    }

    fn neighbors(&self, rows: usize) -> usize {
        Recipe::neighbors(self, rows)
    }

    fn fit(&self, input: Input, context: &mut Context) -> Result<Fit<Box<dyn Model>>> {
        let Fit { embedding, model, outcome, graph } = Recipe::fit(self, input, context)?;
        Ok(Fit { embedding, model: Box::new(model), outcome, graph })
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<Box<dyn Model>> {
        Ok(Box::new(Recipe::load(self, archive, dim)?))
    }
}

/// Coordinates that do not exist are filled with zeros so that small data can still be drawn; more than a picture needs
/// is a mistake.
const FILLED: usize = 3;

/// How many of the `asked` coordinates there are. `what` says what limits them, as in `the number of columns`.
fn available_components(asked: usize, available: usize, what: &str, context: &mut Context) -> Result<usize> {
    if asked > available.max(FILLED) {
        return refuse("n_components", &asked, format!("at most {available}, {what}"));
    }
    if asked > available {
        context.note(format!("{} of {asked} coordinates are zero: {what} is {available}", asked - available));
    }
    Ok(asked.min(available))
}

/// A method in the list.
pub struct MethodInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// When to use it.
    pub advice: &'static str,
    specs: fn() -> Vec<ParamSpec>,
    build: Build,
}

type Build = fn(&[(&str, &str)]) -> Result<Box<dyn Method>>;

/// Every method there is.
pub const METHODS: &[MethodInfo] = &[
    info::<Lvm>(),
    info::<Lllvm>(),
    info::<Tsne>(),
    info::<Ssne>(),
    info::<Ee>(),
    info::<MapIt>(),
    info::<Tsm>(),
    info::<Spectral>(),
    info::<Isomap>(),
    info::<Lle>(),
    info::<Ltsa>(),
    info::<GpLvm>(),
    info::<Pca>(),
    info::<Svd>(),
];

/// The method used when none is named.
pub const DEFAULT_METHOD: &str = Lvm::NAME;

const fn info<R: Recipe>() -> MethodInfo {
    MethodInfo { name: R::NAME, summary: R::SUMMARY, advice: R::ADVICE, specs: R::specs, build: build::<R> }
}

fn build<R: Recipe>(values: &[(&str, &str)]) -> Result<Box<dyn Method>> {
    let mut recipe = R::default();
    for (name, text) in values {
        recipe.set(name, text)?;
    }
    recipe.check()?;
    Ok(Box::new(recipe))
}

impl MethodInfo {
    /// The method of that name.
    pub fn find(name: &str) -> Result<&'static MethodInfo> {
        METHODS.iter().find(|info| info.name == name).ok_or_else(|| Error::Parameter {
            name: "method",
            value: name.into(),
            allowed: format!("one of {}", METHODS.iter().map(|info| info.name).collect::<Vec<_>>().join(", ")),
        })
    }

    /// Its parameters, and `landmarks`, which every method has.
    pub fn params(&self) -> Vec<ParamSpec> {
        let mut specs = (self.specs)();
        specs.push(landmarks::spec());
        specs
    }

    /// The method with these parameters, the others at their defaults.
    pub fn build(&self, values: &[(&str, &str)]) -> Result<Box<dyn Method>> {
        let mut values = values.to_vec();
        let landmarks = landmarks::take_out(&mut values)?;
        let method = (self.build)(&values)?;
        Ok(match landmarks {
            Some(count) => Box::new(landmarks::Landmarks { method, count }),
            None => method,
        })
    }
}
