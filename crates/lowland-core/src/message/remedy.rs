//! Remedies: what a user can do about an error.

use super::Terms;

/// A change that would avoid an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Drop rows with missing values while reading, or fill the values in.
    DropMissingRows,
    /// Allow more memory.
    RaiseMaxMemory,
    /// Use fewer rows.
    FewerRows,
    /// Use fewer neighbors.
    FewerNeighbors,
    /// Use fewer random starts.
    FewerStarts,
    /// Generate fewer points.
    FewerPoints,
    /// Draw fewer samples at a time.
    FewerSamples,
    /// Request fewer output dimensions.
    FewerComponents,
    /// Fit this many rows and extend the embedding to the others.
    Landmarks(usize),
    /// Reduce the columns to this many principal components before the fit.
    ReduceColumns(usize),
    /// Set a parameter to a value.
    Set {
        /// Name of the parameter.
        name: &'static str,
        /// Value that avoids the error.
        value: &'static str,
    },
    /// Raise a parameter.
    Raise(&'static str),
    /// Lower a parameter.
    Lower(&'static str),
    /// Remove a parameter.
    Omit(&'static str),
    /// Use another method.
    UseMethod(&'static str),
    /// Any other advice, as a clause without a period.
    Other(&'static str),
}

impl Remedy {
    /// Returns the remedy as an imperative clause in the terms of an interface, without a period.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        match *self {
            Remedy::DropMissingRows => {
                format!("drop such rows ({}) or fill them in", terms.drop_missing())
            }
            Remedy::RaiseMaxMemory => format!("raise {}", terms.parameter("max_memory")),
            Remedy::FewerRows => "use fewer rows".into(),
            Remedy::FewerNeighbors => format!("lower {}", terms.parameter("n_neighbors")),
            Remedy::FewerStarts => format!("lower {}", terms.parameter("starts")),
            Remedy::FewerPoints => format!("lower {}", terms.parameter("n_points")),
            Remedy::FewerSamples => format!("lower {}", terms.parameter("count")),
            Remedy::FewerComponents => format!("lower {}", terms.parameter("n_components")),
            Remedy::Landmarks(count) => {
                format!(
                    "fit some of the rows and extend the embedding to the others ({})",
                    terms.setting("landmarks", &count)
                )
            }
            Remedy::ReduceColumns(count) => format!("reduce the columns first ({})", terms.setting("pca", &count)),
            Remedy::Set { name, value } => format!("use {}", terms.setting(name, &value)),
            Remedy::Raise(name) => format!("raise {}", terms.parameter(name)),
            Remedy::Lower(name) => format!("lower {}", terms.parameter(name)),
            Remedy::Omit(name) => format!("leave out {}", terms.parameter(name)),
            Remedy::UseMethod(name) => format!("use {}", terms.setting("method", &name)),
            Remedy::Other(advice) => advice.into(),
        }
    }

    /// Returns several remedies as one sentence that starts with a space, such as ` Raise max_memory or use fewer rows.`,
    /// or an empty string if there are none.
    pub fn sentence(remedies: &[Remedy], terms: &dyn Terms) -> String {
        let clauses: Vec<String> = remedies.iter().map(|remedy| remedy.describe(terms)).collect();
        let text = match clauses.as_slice() {
            [] => return String::new(),
            [only] => only.clone(),
            [first, second] => format!("{first} or {second}"),
            [others @ .., last] => format!("{}, or {last}", others.join(", ")),
        };
        let mut letters = text.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        format!(" {first}{}.", letters.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::super::RustTerms;
    use super::*;

    #[test]
    fn remedies_form_one_sentence() {
        let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::Landmarks(5000)];
        let sentence = Remedy::sentence(&remedies, &RustTerms);
        let expected = " Raise max_memory, use fewer rows, or fit some of the rows and extend the embedding to the others (landmarks = 5000).";
        assert_eq!(sentence, expected);
        assert_eq!(Remedy::sentence(&[], &RustTerms), "");
    }
}
