//! Defines a method outside of the crate: random projection, which multiplies rows by a random matrix.
//!
//! A method is a struct of parameters that implements [`Method`], and a struct for the fitted state that implements
//! [`Transformer`]. Preprocessing, landmarks, model files, notes, memory limits and threads then work as for built-in
//! methods.
//!
//! ```sh
//! cargo run --release --example custom_method
//! ```
#![allow(clippy::print_stdout)]

use lowland::data::{DataShape, Dense};
use lowland::message::Remedy;
use lowland::method::{FitInput, FitOutput, Method, TransformOutput, Transformer};
use lowland::params::{at_least_one, param_enum, params};
use lowland::preprocessing::Preprocessing;
use lowland::run::{Archive, Context, Outcome, Progress, Stage};
use lowland::{Data, Embedding, Error, Fit, FitOptions, Model, Result, Seed};

param_enum! {
    /// Distribution of the entries of the matrix.
    pub enum Distribution ("normal or sign") {
        /// Standard normal.
        Normal = "normal",
        /// +1 or -1 with equal probability.
        Sign = "sign",
    }
}

// Declares the struct with its defaults, and how parameters are written to model files.
params! {
    /// Random projection.
    pub struct RandomProjection {
        /// Dimensions of the embedding.
        n_components: usize = 2,
        /// Distribution of the entries of the matrix.
        distribution: Distribution = Distribution::Normal,
    }
}

/// The fitted state: one row of the matrix per output dimension.
pub struct ProjectionTransformer {
    n_features: usize,
    matrix: Vec<f64>,
}

const PROJECTION: &str = "projection";
const MATRIX: &str = "random_projection/matrix";

impl Method for RandomProjection {
    const NAME: &'static str = "random-projection";
    const CLASS_NAME: &'static str = "RandomProjection";
    const SUMMARY: &'static str = "Random projection: multiplies rows by a random matrix";
    const ADVICE: &'static str = "Fast, and keeps distances approximately in many dimensions.";
    /// Zero rows are mapped to zero, and landmarks are extended accordingly.
    const PRESERVES_ORIGIN: bool = true;
    const TRANSFORMS_EXACTLY: bool = true;
    type Transformer = ProjectionTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn stages(&self, _: DataShape) -> Vec<Stage> {
        vec![Stage { name: PROJECTION, weight: 1.0 }]
    }

    fn memory(&self, shape: DataShape) -> u64 {
        ((shape.rows + shape.dim) * self.n_components * size_of::<f64>()) as u64
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<ProjectionTransformer>> {
        let n_features = dense_rows(input.data)?.dim();
        // A stream of its own for every purpose: results do not depend on what else draws random numbers.
        let normals = context.seed.stream(PROJECTION).normals(n_features * self.n_components);
        let matrix = match self.distribution {
            Distribution::Normal => normals,
            Distribution::Sign => normals.into_iter().map(f64::signum).collect(),
        };
        let transformer = ProjectionTransformer { n_features, matrix };
        let embedding = context
            .stage(PROJECTION, |context| context.with_progress(|progress| transformer.project(input.data, progress)))?;
        Ok(FitOutput { embedding, transformer, outcome: Outcome::without_iterations(), neighbors: None })
    }

    fn load(&self, archive: &Archive, n_features: usize) -> Result<ProjectionTransformer> {
        // A file may be damaged: check everything that later code relies on.
        let matrix = archive.finite(MATRIX)?.to_vec();
        if matrix.len() != n_features * self.n_components {
            return Err(archive.invalid("the matrix has another size".into()));
        }
        Ok(ProjectionTransformer { n_features, matrix })
    }
}

impl ProjectionTransformer {
    fn project(&self, data: &Data, progress: &mut Progress) -> Result<Embedding> {
        let (rows, scale) = (dense_rows(data)?, (self.n_components() as f64).sqrt().recip());
        let mut values = Vec::with_capacity(rows.rows() * self.n_components());
        for i in 0..rows.rows() {
            if i % 1000 == 0 {
                // Reports the share that is done; an error means that the observer stopped the run.
                progress(i as f64 / rows.rows() as f64)?;
            }
            let project = |direction: &[f64]| {
                scale * rows.row(i).iter().zip(direction).map(|(&value, weight)| f64::from(value) * weight).sum::<f64>()
            };
            values.extend(self.matrix.chunks_exact(self.n_features).map(project));
        }
        Embedding::new(values, self.n_components())
    }

    fn n_components(&self) -> usize {
        self.matrix.len() / self.n_features
    }
}

impl Transformer for ProjectionTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        Ok(self.project(new, progress)?.into())
    }

    fn save(&self, archive: &mut Archive) {
        archive.put(MATRIX, self.matrix.as_slice());
    }
}

fn dense_rows(data: &Data) -> Result<&Dense> {
    match data {
        Data::Dense(rows) => Ok(rows),
        other => {
            let remedies = vec![Remedy::Other("give dense rows")];
            Err(Error::Kind { what: "random projection", kind: other.kind(), remedies })
        }
    }
}

fn main() -> Result<()> {
    let data = Data::dense(Seed(1).normals(500 * 20).into_iter().map(|v| v as f32).collect(), 20)?;
    let method = RandomProjection { n_components: 3, distribution: Distribution::Sign };

    // `fit` and `fit_with` come with the trait `Fit`.
    let model = method.fit(&data)?;
    assert_eq!((model.embedding().rows(), model.embedding().dim()), (500, 3));

    // Preprocessing and landmarks need no code: 100 rows are projected, the others extend them.
    let preprocessing = Preprocessing { standardize: true, ..Preprocessing::default() };
    let options = FitOptions { preprocessing, landmarks: Some(100), seed: Seed(7), ..FitOptions::default() };
    let model = method.fit_with(&data, options)?;
    println!("row 0: {:.3?}", model.embedding().row(0));

    // Models are saved as usual. Loading names the method, because the registry only has the built-in ones.
    let path = std::env::temp_dir().join(format!("custom-method-example-{}.lowland", std::process::id()));
    model.save(&path)?;
    let loaded = Model::load_as::<RandomProjection>(&path)?;
    assert!(Model::load(&path).is_err());
    std::fs::remove_file(&path).expect("the file was just written");

    let new = Data::dense(Seed(2).normals(5 * 20).into_iter().map(|v| v as f32).collect(), 20)?;
    assert_eq!(loaded.transform(&new)?, model.transform(&new)?);
    assert_eq!(loaded.embedding(), model.embedding());

    // Parameters are validated before anything else.
    let error = RandomProjection { n_components: 0, ..method }.fit(&data).err();
    assert_eq!(error.map(|error| error.to_string()).as_deref(), Some("n_components = 0: at least 1"));
    Ok(())
}
