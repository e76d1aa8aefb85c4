//! The methods as `lowland methods --json` describes them.

use anyhow::{Context, Result};
use serde_json::Value;

/// A method, as the program describes it.
pub struct MethodDescription {
    pub name: String,
    pub class_name: String,
    pub is_default: bool,
    pub summary: String,
    pub advice: String,
    pub notes: String,
    pub objective: Option<String>,
    pub reports_iterations: bool,
    pub gives_std: bool,
    pub has_inverse: bool,
    pub has_likelihood: bool,
    pub has_covariances: bool,
    pub has_samples: bool,
    /// Those of the method, then the preprocessing steps.
    pub parameters: Vec<ParameterDescription>,
}

/// A parameter, as the program describes it.
pub struct ParameterDescription {
    pub name: String,
    pub default: String,
    pub help: String,
    pub expects: String,
}

impl MethodDescription {
    /// Reads the output of `lowland methods --json`.
    pub fn read_all(document: &Value) -> Result<Vec<Self>> {
        let preprocessing = &document["preprocessing"];
        list(&document["methods"])?.iter().map(|method| Self::read(method, preprocessing)).collect()
    }

    fn read(method: &Value, preprocessing: &Value) -> Result<Self> {
        let parameters = list(&method["parameters"])?.iter().chain(list(preprocessing)?);
        Ok(Self {
            name: string(method, "name")?,
            class_name: string(method, "class_name")?,
            is_default: boolean(method, "is_default")?,
            summary: string(method, "summary")?,
            advice: string(method, "advice")?,
            notes: string(method, "notes")?,
            objective: method["objective"].as_str().map(String::from),
            reports_iterations: boolean(method, "reports_iterations")?,
            gives_std: boolean(method, "gives_std")?,
            has_inverse: boolean(method, "has_inverse")?,
            has_likelihood: boolean(method, "has_likelihood")?,
            has_covariances: boolean(method, "has_covariances")?,
            has_samples: boolean(method, "has_samples")?,
            parameters: parameters.map(ParameterDescription::read).collect::<Result<_>>()?,
        })
    }

    /// Whether it is a linear projection, with the attributes of scikit-learn's.
    pub fn is_linear(&self) -> bool {
        ["pca", "svd"].contains(&self.name.as_str())
    }

    /// Whether the method has this parameter.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == name)
    }
}

impl ParameterDescription {
    fn read(value: &Value) -> Result<Self> {
        Ok(Self {
            name: string(value, "name")?,
            default: string(value, "default")?,
            help: string(value, "help")?,
            expects: string(value, "expects")?,
        })
    }
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().context("expected a list")
}

fn string(object: &Value, key: &str) -> Result<String> {
    object[key].as_str().map(String::from).with_context(|| format!("expected text in {key}"))
}

fn boolean(object: &Value, key: &str) -> Result<bool> {
    object[key].as_bool().with_context(|| format!("expected true or false in {key}"))
}
