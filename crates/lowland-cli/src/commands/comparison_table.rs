//! The table of scores and times of a comparison.

use std::fmt::Write as _;

use lowland::quality::{Score, ScoreKind};
use lowland_view::{TableCell, TextTable};

use crate::print::format_duration;

/// The scores in the table; the JSON has all of them.
const TABLE_SCORES: [ScoreKind; 6] = [
    ScoreKind::KnnRecall,
    ScoreKind::Trustworthiness,
    ScoreKind::Continuity,
    ScoreKind::TripletAccuracy,
    ScoreKind::DistanceCorrelation,
    ScoreKind::ClassificationError,
];

/// A map in the table.
pub struct ComparisonRow {
    /// Its name, such as the method.
    pub name: String,
    pub scores: Vec<Score>,
    /// Time of its fit.
    pub seconds: Option<f64>,
}

/// A row for each map, a column for each score that any of them has, and a column of times if they are known.
pub struct ComparisonTable {
    /// What the names are.
    heading: &'static str,
    names: Vec<String>,
    columns: Vec<ScoreColumn>,
}

/// A column: its name, a text for each map, and which map is best.
struct ScoreColumn {
    name: String,
    texts: Vec<String>,
    best: Option<usize>,
}

impl ComparisonTable {
    pub fn new(heading: &'static str, rows: &[ComparisonRow]) -> Self {
        let all: Vec<&[Score]> = rows.iter().map(|row| row.scores.as_slice()).collect();
        let mut kinds: Vec<(ScoreKind, Option<usize>)> = Vec::new();
        for score in all.iter().copied().flatten() {
            if TABLE_SCORES.contains(&score.kind) && !kinds.iter().any(|(kind, _)| *kind == score.kind) {
                kinds.push((score.kind, score.k));
            }
        }
        let score_column = |(kind, k): (ScoreKind, Option<usize>)| {
            let value = |scores: &&[Score]| scores.iter().find(|score| score.kind == kind).map(|score| score.value);
            let values: Vec<Option<f64>> = all.iter().map(value).collect();
            let format = |value: &Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
            let name = k.map_or(kind.name().to_string(), |k| format!("{} ({k})", kind.name()));
            let best = best(&values, kind.higher_is_better());
            ScoreColumn { name, texts: values.iter().map(format).collect(), best }
        };
        let mut columns: Vec<ScoreColumn> = kinds.into_iter().map(score_column).collect();
        let times: Vec<Option<f64>> = rows.iter().map(|row| row.seconds).collect();
        if times.iter().any(Option::is_some) {
            let texts = times.iter().map(|seconds| seconds.map_or("-".into(), format_duration)).collect();
            columns.push(ScoreColumn { name: "time".into(), texts, best: best(&times, false) });
        }
        Self { heading, names: rows.iter().map(|row| row.name.clone()).collect(), columns }
    }

    /// The table for pictures and pages.
    pub fn to_text_table(&self) -> TextTable {
        let header =
            [self.heading.to_string()].into_iter().chain(self.columns.iter().map(|column| column.name.clone()));
        let row = |(at, name): (usize, &String)| {
            let name = TableCell { text: name.clone(), best: false };
            let cell =
                |column: &ScoreColumn| TableCell { text: column.texts[at].clone(), best: column.best == Some(at) };
            [name].into_iter().chain(self.columns.iter().map(cell)).collect()
        };
        TextTable { header: header.collect(), rows: self.names.iter().enumerate().map(row).collect() }
    }

    /// The table for the terminal; the best of each column has a star.
    pub fn to_text(&self) -> String {
        let table = self.to_text_table();
        let format = |cell: &TableCell| format!("{}{}", cell.text, if cell.best { '*' } else { ' ' });
        let header = table.header.iter().map(|name| format!("{name} ")).collect();
        let rows = table.rows.iter().map(|row| row.iter().map(format).collect());
        let lines: Vec<Vec<String>> = [header].into_iter().chain(rows).collect();
        let width = |c: usize| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..table.header.len()).map(width).collect();
        let mut text = String::new();
        for line in &lines {
            for (c, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                let _ = if c == 0 { write!(text, "{cell:<width$}") } else { write!(text, " {cell:>width$}") };
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }
}

/// The index of the best value, if there is more than one value.
fn best(values: &[Option<f64>], higher_is_better: bool) -> Option<usize> {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let known = values.iter().enumerate().filter_map(|(at, value)| Some((at, sign * (*value)?)));
    known.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(at, _)| at).filter(|_| values.len() > 1)
}
