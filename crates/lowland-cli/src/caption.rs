//! Captions of maps: method, main parameters, scores.

use lowland::message::Note;
use lowland::quality::QualityReport;
use serde_json::Value;

/// The parameters in a caption.
const PARAMETERS: [&str; 3] = ["n_neighbors", "perplexity", "metric"];
/// The scores in a caption.
const SCORES: [&str; 3] = ["knn recall", "trustworthiness", "continuity"];

/// The contents of a caption.
pub struct Caption {
    method: Option<String>,
    /// `n_neighbors 9`
    parameters: Vec<String>,
    /// `knn recall 0.412`
    scores: Vec<String>,
}

impl Caption {
    /// The caption of a fitted map. The notes of the fit say which parameters were reduced.
    pub fn new(
        method: &str,
        values: &[(&'static str, String)],
        notes: &[Note],
        scores: Option<&QualityReport>,
    ) -> Self {
        let value = |name: &str| {
            let requested = &values.iter().find(|(known, _)| *known == name)?.1;
            Some(used_value(name, notes).unwrap_or_else(|| requested.clone()))
        };
        let rows = scores.map_or(&[][..], |report| &report.scores);
        Self::build(Some(method), value, rows.iter().map(|score| (score.kind.name(), score.value)))
    }

    /// The caption of a map by its report, as far as the report has its contents.
    pub fn from_report(report: &Value) -> Self {
        let value = |name: &str| match [&report["used"][name], &report["parameters"][name]] {
            [Value::String(text), _] => Some(text.clone()),
            [_, Value::Null] => None,
            [_, Value::String(text)] => Some(text.clone()),
            [_, value] => Some(value.to_string()),
        };
        let scores = report["scores"]["values"].as_array().into_iter().flatten();
        let scores = scores.filter_map(|score| Some((score["name"].as_str()?, score["value"].as_f64()?)));
        Self::build(report["method"].as_str(), value, scores)
    }

    fn build<'a, T: std::fmt::Display>(
        method: Option<&str>,
        value: impl Fn(&str) -> Option<T>,
        scores: impl Iterator<Item = (&'a str, f64)>,
    ) -> Self {
        let parameters = PARAMETERS.iter().filter_map(|name| Some(format!("{name} {}", value(name)?)));
        let scores = scores.filter(|(name, _)| SCORES.contains(name)).map(|(name, value)| format!("{name} {value:.3}"));
        Self { method: method.map(str::to_string), parameters: parameters.collect(), scores: scores.collect() }
    }

    /// Method and parameters: `lvm, n_neighbors 9, metric euclidean`.
    pub fn summary(&self) -> String {
        self.method.iter().chain(&self.parameters).cloned().collect::<Vec<_>>().join(", ")
    }

    /// Everything: `lvm, n_neighbors 9, metric euclidean | knn recall 0.412, trustworthiness 0.981`.
    pub fn full_text(&self) -> String {
        join_parts(&self.summary(), &self.scores.join(", "))
    }

    /// Everything but the method, for places that show its name anyway.
    pub fn details(&self) -> String {
        join_parts(&self.parameters.join(", "), &self.scores.join(", "))
    }
}

/// Returns the value that was used instead of the requested one, if the fit reduced it.
pub fn used_value(name: &str, notes: &[Note]) -> Option<String> {
    notes.iter().find_map(|note| match *note {
        Note::PerplexityReduced { perplexity, .. } if name == "perplexity" => Some(format!("{perplexity:.1}")),
        Note::ExaggerationChosen { exaggeration } if name == "exaggeration" => Some(exaggeration.to_string()),
        Note::NeighborsReduced { used, .. } if name == "n_neighbors" => Some(used.to_string()),
        _ => None,
    })
}

fn join_parts(first: &str, second: &str) -> String {
    [first, second].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn captions_of_fits_and_of_reports_are_the_same() {
        let values = [("n_neighbors", "9".to_string()), ("tol", "1e-4".into()), ("metric", "euclidean".into())];
        let fitted = Caption::new("lvm", &values, &[], None);
        let parameters = json!({ "n_neighbors": 9, "tol": 1e-4, "metric": "euclidean" });
        let scores =
            json!({ "values": [{ "name": "knn recall", "value": 0.4123 }, { "name": "other", "value": 1.0 }] });
        let reported = Caption::from_report(&json!({ "method": "lvm", "parameters": parameters, "scores": scores }));
        assert_eq!(fitted.full_text(), "lvm, n_neighbors 9, metric euclidean");
        assert_eq!(reported.summary(), fitted.full_text());
        assert_eq!(reported.full_text(), "lvm, n_neighbors 9, metric euclidean | knn recall 0.412");
        assert_eq!(reported.details(), "n_neighbors 9, metric euclidean | knn recall 0.412");
        assert_eq!(Caption::from_report(&json!({ "method": "pca" })).details(), "");
    }

    #[test]
    fn captions_show_the_values_that_were_used() {
        let values = [("perplexity", "30".to_string()), ("metric", "euclidean".into())];
        let notes = [Note::PerplexityReduced { perplexity: 49.0 / 3.0, neighbors: 49 }];
        let shown = "tsne, perplexity 16.3, metric euclidean";
        assert_eq!(Caption::new("tsne", &values, &notes, None).summary(), shown);
        let report = json!({
            "method": "tsne", "parameters": { "perplexity": "30", "metric": "euclidean" }, "used": { "perplexity": "16.3" },
        });
        assert_eq!(Caption::from_report(&report).summary(), shown);
    }
}
