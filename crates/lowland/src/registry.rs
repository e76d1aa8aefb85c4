//! The list of built-in methods, and their construction from text for the command line, Python and model files. No other
//! part of the library parses parameters.
//!
//! ```
//! use lowland::registry::MethodInfo;
//!
//! let parsed = MethodInfo::find("tsne")?.parse(&[("perplexity", "30,300"), ("landmarks", "5000")])?;
//! assert_eq!((parsed.method.name(), parsed.landmarks), ("tsne", Some(5000)));
//! let error = MethodInfo::find("tsne")?.parse(&[("perplexity", "0")]).err().unwrap();
//! assert!(error.to_string().starts_with("perplexity = 0"));
//! # Ok::<(), lowland::Error>(())
//! ```

use lowland_core::params::{ParamSpec, ParamValue, parse};
use lowland_core::{Error, Result};

use crate::landmarks::LANDMARKS;
use crate::method::{DynMethod, Method};
use crate::methods::*;

/// A built-in method.
pub struct MethodInfo {
    /// Name on the command line and in model files.
    pub name: &'static str,
    /// Name of the class in Python.
    pub class_name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// When to use it.
    pub advice: &'static str,
    /// Further notes for users of a model.
    pub notes: &'static str,
    /// Conventional name of the objective, if it has one.
    pub objective: Option<&'static str>,
    /// Whether a fit reports an embedding after each iteration.
    pub reports_iterations: bool,
    /// Whether embeddings come with a standard deviation for each point.
    pub has_std: bool,
    /// Whether models have an inverse.
    pub has_inverse: bool,
    /// Whether models have a log-likelihood for new rows.
    pub has_likelihood: bool,
    /// Whether embeddings come with a covariance for each point.
    pub has_covariances: bool,
    /// Whether embeddings can be drawn from a posterior.
    pub has_samples: bool,
    /// Whether a fit can continue an earlier map.
    pub supports_anchors: bool,
    method_params: fn() -> Vec<ParamSpec>,
    build: BuildFn,
}

type BuildFn = fn(&[(&str, &str)]) -> Result<Box<dyn DynMethod>>;

/// Calls a macro with the list of built-in methods. A new method is one line here.
macro_rules! for_each_method {
    ($apply:ident) => {
        $apply! {
            Tsne,
            Lvm,
            Lllvm,
            Ssne,
            Ee,
            MapIt,
            Umap,
            Pacmap,
            Tsm,
            Spectral,
            Isomap,
            Lle,
            Ltsa,
            GpLvm,
            Pca,
            Svd,
        }
    };
}

pub(crate) use for_each_method;

macro_rules! method_list {
    ($($method:ident,)*) => {
        /// Every built-in method.
        pub const METHODS: &[MethodInfo] = &[$(info::<$method>()),*];
    };
}

for_each_method!(method_list);

/// Name of the default method.
pub const DEFAULT_METHOD: &str = Tsne::NAME;

const fn info<M: Method>() -> MethodInfo {
    MethodInfo {
        name: M::NAME,
        class_name: M::CLASS_NAME,
        summary: M::SUMMARY,
        advice: M::ADVICE,
        notes: M::NOTES,
        objective: M::OBJECTIVE,
        reports_iterations: M::REPORTS_ITERATIONS,
        has_std: M::HAS_STD,
        has_inverse: M::HAS_INVERSE,
        has_likelihood: M::HAS_LIKELIHOOD,
        has_covariances: M::HAS_COVARIANCES,
        has_samples: M::HAS_SAMPLES,
        supports_anchors: M::SUPPORTS_ANCHORS,
        method_params: M::specs,
        build: build::<M>,
    }
}

fn build<M: Method>(values: &[(&str, &str)]) -> Result<Box<dyn DynMethod>> {
    let mut method = M::default();
    for (name, text) in values {
        method.set(name, text)?;
    }
    Method::validate(&method)?;
    Ok(Box::new(method))
}

/// A method parsed from text, with the number of landmarks.
pub struct ParsedMethod {
    /// The method with its parameters, validated.
    pub method: Box<dyn DynMethod>,
    /// Number of rows to fit; `None` for all.
    pub landmarks: Option<usize>,
}

impl MethodInfo {
    /// Finds a method by name.
    pub fn find(name: &str) -> Result<&'static MethodInfo> {
        METHODS.iter().find(|info| info.name == name).ok_or_else(|| Error::Parameter {
            name: "method",
            value: name.into(),
            allowed: format!("one of {}", METHODS.iter().map(|info| info.name).collect::<Vec<_>>().join(", ")),
        })
    }

    /// Returns the descriptions of the parameters, including `landmarks`, which every method has.
    pub fn params(&self) -> Vec<ParamSpec> {
        let mut specs = (self.method_params)();
        specs.push(ParamSpec {
            name: LANDMARKS,
            help: "Number of evenly spaced rows to fit; the embedding is extended to the others by locally linear extension (0 fits all rows).",
            default: "0".into(),
            expects: usize::EXPECTS,
        });
        specs
    }

    /// Returns whether the method can use a precomputed neighbor graph.
    pub fn uses_neighbors(&self) -> bool {
        (self.build)(&[]).is_ok_and(|method| method.required_neighbors(usize::MAX) > 0)
    }

    /// Returns whether the method can be supervised by a target.
    pub fn uses_target(&self) -> bool {
        (self.method_params)().iter().any(|spec| spec.name == "target_weight")
    }

    /// Builds the method from parameter values as text. Other parameters keep their defaults.
    pub fn parse(&self, values: &[(&str, &str)]) -> Result<ParsedMethod> {
        ParsedMethod::parse(values, self.build)
    }
}

impl ParsedMethod {
    /// Builds method `M`, which need not be built in, from parameter values as text.
    pub(crate) fn new<M: Method>(values: &[(&str, &str)]) -> Result<Self> {
        Self::parse(values, build::<M>)
    }

    fn parse(values: &[(&str, &str)], build: BuildFn) -> Result<Self> {
        let (mut own, mut landmarks) = (Vec::new(), 0usize);
        for &(name, text) in values {
            if name == LANDMARKS { landmarks = parse(LANDMARKS, text)? } else { own.push((name, text)) }
        }
        Ok(Self { method: build(&own)?, landmarks: (landmarks > 0).then_some(landmarks) })
    }
}
