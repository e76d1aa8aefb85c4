//! Names of islands.

use std::collections::{BTreeMap, BTreeSet};

use lowland::data::Dense;
use lowland::{Labels, Points};

/// What is known about the points.
#[derive(Debug, Clone, Copy)]
pub enum IslandContent<'a> {
    /// A name of each point, such as a word; the points in the middle of an island name it, earlier rows first.
    Ids(&'a [String]),
    /// A text of each point; words that are frequent in an island and rare elsewhere name it.
    Texts(&'a [String]),
    /// Names and values of columns; those whose mean in an island is farthest from the mean of all points name it.
    Columns(&'a [String], &'a Dense),
}

/// Number of words or ids, and of columns, in a name.
const WORDS: usize = 3;
const COLUMNS: usize = 2;
/// Smallest difference of a column from the mean of all points, in standard deviations.
const MIN_DIFFERENCE: f64 = 0.5;

/// Names the islands of a map; points in no island, and islands of which nothing is characteristic, have an empty name.
pub fn name_islands(map: Points, islands: &[u32], content: IslandContent) -> Labels {
    let count = islands.iter().copied().max().unwrap_or(0) as usize;
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
    islands.iter().enumerate().for_each(|(row, &island)| members[island as usize].push(row));
    let mut names = match content {
        IslandContent::Ids(ids) => members.iter().map(|rows| central_ids(map, rows, ids)).collect(),
        IslandContent::Texts(texts) => frequent_words(&members, texts),
        IslandContent::Columns(columns, values) => distinct_columns(&members, columns, values),
    };
    if let Some(outside) = names.first_mut() {
        outside.clear();
    }
    Labels { codes: islands.to_vec(), names }
}

/// Of the points closest to the center of an island, the names of those that come first.
fn central_ids(map: Points, rows: &[usize], ids: &[String]) -> String {
    let median = |c: usize| {
        let mut values: Vec<f64> = rows.iter().map(|&row| map.row(row)[c]).collect();
        let middle = values.len() / 2;
        if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
    };
    let center = [median(0), median(1)];
    let distance = |row: usize| (map.row(row)[0] - center[0]).hypot(map.row(row)[1] - center[1]);
    let mut nearest = rows.to_vec();
    nearest.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
    // A sixth of the island is its middle.
    nearest.truncate((rows.len() / 6).max(WORDS));
    nearest.sort_unstable();
    nearest.into_iter().take(WORDS).map(|row| ids[row].as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the words of a text of at least three letters, each once.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
    let is_word = |part: &&str| part.chars().count() >= 3 && part.chars().any(char::is_alphabetic);
    parts.map(|part| part.trim_matches('\'')).filter(is_word).map(str::to_lowercase).collect()
}

fn frequent_words(members: &[Vec<usize>], texts: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (island, rows) in members.iter().enumerate() {
        for &row in rows {
            for word in words(&texts[row]) {
                counts.entry(word).or_insert_with(|| vec![0; members.len()])[island] += 1;
            }
        }
    }
    let n = texts.len() as f64;
    let mut names = Vec::new();
    for (island, rows) in members.iter().enumerate() {
        let (inside, outside) = (rows.len() as f64, n - rows.len() as f64);
        let mut scored: Vec<(f64, &str)> = Vec::new();
        for (word, counts) in &counts {
            let (here, all) = (f64::from(counts[island]), f64::from(counts.iter().sum::<u32>()));
            if here < 3.0 || here < 0.02 * inside {
                continue;
            }
            // Shares of the texts with the word, of which one more text without it is assumed on each side.
            let (own, other) = (here / (inside + 1.0), (all - here + 0.5) / (outside + 1.0));
            scored.push((own * (own / other).ln(), word));
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let best = scored.into_iter().take(WORDS).filter(|(score, _)| *score > 0.0).map(|(_, word)| word);
        names.push(best.collect::<Vec<_>>().join(", "));
    }
    names
}

fn distinct_columns(members: &[Vec<usize>], columns: &[String], values: &Dense) -> Vec<String> {
    let n = values.rows().max(1) as f64;
    let moments: Vec<(f64, f64)> = (0..columns.len())
        .map(|c| {
            let mean = (0..values.rows()).map(|i| values.value(i, c)).sum::<f64>() / n;
            let variance = (0..values.rows()).map(|i| (values.value(i, c) - mean).powi(2)).sum::<f64>() / n;
            (mean, variance.sqrt())
        })
        .collect();
    let name = |rows: &Vec<usize>| {
        let mut found: Vec<(f64, usize)> = (0..columns.len())
            .map(|c| {
                let mean = rows.iter().map(|&row| values.value(row, c)).sum::<f64>() / rows.len().max(1) as f64;
                let (all, deviation) = moments[c];
                (if deviation > 0.0 { (mean - all) / deviation } else { 0.0 }, c)
            })
            .filter(|(difference, _)| difference.abs() >= MIN_DIFFERENCE)
            .collect();
        found.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()).then(a.1.cmp(&b.1)));
        let parts = found.into_iter().take(COLUMNS);
        let describe =
            |(difference, c): (f64, usize)| format!("{}{}", columns[c], if difference > 0.0 { '↑' } else { '↓' });
        parts.map(describe).collect::<Vec<_>>().join(", ")
    };
    members.iter().map(name).collect()
}
