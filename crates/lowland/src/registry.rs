//! The list of built-in methods, and how they are built from text: the adapter that the command line, Python and model
//! files use. Nothing else in the library reads parameters from text.

use lowland_core::params::{ParamSpec, ParamValue, parse};
use lowland_core::{Error, Result};

use crate::landmarks::LANDMARKS;
use crate::method::{DynMethod, Method};
use crate::methods::*;

/// A built-in method.
pub struct MethodInfo {
    /// The name on the command line and in model files.
    pub name: &'static str,
    /// The name of the class in Python.
    pub class_name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// When to use it.
    pub advice: &'static str,
    /// What users of a model should know beyond the summary and the advice.
    pub notes: &'static str,
    /// Name of the objective, if it has a common one.
    pub objective: Option<&'static str>,
    /// Whether a fit reports an embedding after each iteration.
    pub reports_iterations: bool,
    /// Whether embeddings come with a standard deviation for each point.
    pub has_std: bool,
    /// Whether models have an inverse.
    pub has_inverse: bool,
    /// Whether models have a log-likelihood for new rows.
    pub has_likelihood: bool,
    method_params: fn() -> Vec<ParamSpec>,
    build: BuildFn,
}

type BuildFn = fn(&[(&str, &str)]) -> Result<Box<dyn DynMethod>>;

/// Calls a macro with the list of built-in methods. A new method is one line here.
macro_rules! for_each_method {
    ($apply:ident) => {
        $apply! {
            Lvm,
            Lllvm,
            Tsne,
            Ssne,
            Ee,
            MapIt,
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

/// The method used when none is named.
pub const DEFAULT_METHOD: &str = Lvm::NAME;

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

/// A method as described by text, with the number of landmarks.
pub struct ParsedMethod {
    /// The method with its parameters, validated.
    pub method: Box<dyn DynMethod>,
    /// Rows to fit; `None` for all.
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

    /// Descriptions of its parameters and of `landmarks`, which every method has.
    pub fn params(&self) -> Vec<ParamSpec> {
        let mut specs = (self.method_params)();
        specs.push(ParamSpec {
            name: LANDMARKS,
            help: "Rows to fit, evenly spread over the data; the others are placed by locally linear extension (0: fit all).",
            default: "0".into(),
            expects: usize::EXPECTS,
        });
        specs
    }

    /// Whether the method can use a precomputed neighbor graph.
    pub fn uses_neighbors(&self) -> bool {
        (self.build)(&[]).is_ok_and(|method| method.required_neighbors(usize::MAX) > 0)
    }

    /// Builds the method from parameter values as text; parameters that are not named keep their defaults.
    pub fn parse(&self, values: &[(&str, &str)]) -> Result<ParsedMethod> {
        ParsedMethod::parse(values, self.build)
    }
}

impl ParsedMethod {
    /// Builds a method from parameter values as text, whether it is built in or not.
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
