//! Word analogies (Mikolov et al. 2013): `a` is to `b` as `c` is to which word?

use std::collections::HashMap;

use lowland_core::run::{Progress, in_batches};
use lowland_core::{Error, Points, Result};
use lowland_linalg::dense::product_nt;

/// Four words: the first is to the second as the third is to the fourth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analogy {
    /// Index of the category.
    pub category: usize,
    /// The four words.
    pub words: [String; 4],
}

/// Analogy questions by category.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnalogyQuestions {
    /// Names of the categories, in the order of the file.
    pub categories: Vec<String>,
    /// The questions.
    pub questions: Vec<Analogy>,
}

impl AnalogyQuestions {
    /// Parses the usual format: a line `: category`, then lines of four words.
    pub fn parse(text: &str) -> Result<Self> {
        let mut out = Self::default();
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = line.trim().strip_prefix(':') {
                out.categories.push(name.trim().to_string());
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [a, b, c, d] => {
                    if out.categories.is_empty() {
                        out.categories.push("all".into());
                    }
                    let words = [a, b, c, d].map(str::to_string);
                    out.questions.push(Analogy { category: out.categories.len() - 1, words });
                }
                _ => {
                    let reason = format!("line {} has {} words instead of four", number + 1, words.len());
                    return Err(Error::Format { what: "list of analogies", reason });
                }
            }
        }
        Ok(out)
    }
}

/// Number of correct answers in a category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalogyScore {
    /// Name of the category.
    pub category: String,
    /// Number of correct answers.
    pub correct: usize,
    /// Number of questions whose words all have a vector.
    pub asked: usize,
    /// Number of questions skipped because a word has no vector.
    pub skipped: usize,
}

/// Number of questions answered together.
const BLOCK: usize = 128;

/// Answers each question by the word whose vector is nearest in angle to `c + (b - a)`, other than `b` and `c` (Saul
/// 2022, eq 13), and counts the correct answers.
pub fn score_analogies(vectors: Points, words: &[String], questions: &AnalogyQuestions) -> Result<Vec<AnalogyScore>> {
    score_analogies_with(vectors, words, questions, &mut |_| Ok(()))
}

/// Like [`score_analogies`], and reports progress.
pub fn score_analogies_with(
    vectors: Points,
    words: &[String],
    asked: &AnalogyQuestions,
    progress: &mut Progress,
) -> Result<Vec<AnalogyScore>> {
    super::check_finite(vectors)?;
    let dim = vectors.dim();
    if words.len() != vectors.rows() {
        return Err(Error::Shape { what: "words of the vectors", expected: vectors.rows(), found: words.len() });
    }
    // Of repeated words the first counts.
    let mut place: HashMap<&str, usize> = HashMap::with_capacity(words.len());
    for (i, word) in words.iter().enumerate() {
        place.entry(word).or_insert(i);
    }
    let mut scores: Vec<AnalogyScore> = asked
        .categories
        .iter()
        .map(|category| AnalogyScore { category: category.clone(), correct: 0, asked: 0, skipped: 0 })
        .collect();
    let mut known: Vec<(usize, [usize; 4])> = Vec::new();
    for question in &asked.questions {
        let found = question.words.each_ref().map(|word| place.get(word.as_str()).copied());
        match found {
            [Some(a), Some(b), Some(c), Some(d)] => known.push((question.category, [a, b, c, d])),
            _ => scores[question.category].skipped += 1,
        }
    }
    let mut unit = vec![0f32; vectors.values().len()];
    for (out, row) in unit.chunks_exact_mut(dim).zip(vectors.values().chunks_exact(dim)) {
        let largest = row.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let length = row.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt() * largest;
        if length > 0.0 {
            out.iter_mut().zip(row).for_each(|(out, v)| *out = (v / length) as f32);
        }
    }
    let answers = in_batches(known.len().div_ceil(BLOCK), progress, |block| {
        let questions = &known[block * BLOCK..known.len().min((block + 1) * BLOCK)];
        let mut targets = Vec::with_capacity(questions.len() * dim);
        for (_, [a, b, c, _]) in questions {
            let [a, b, c] = [a, b, c].map(|&i| vectors.row(i));
            let target: Vec<f64> = (0..dim).map(|at| c[at] + (b[at] - a[at])).collect();
            // Only the order matters, so the target need not have unit length, but it must fit into single precision.
            let largest = target.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
            targets.extend(target.iter().map(|v| (v / largest) as f32));
        }
        let mut cosines = vec![0f32; questions.len() * words.len()];
        product_nt(&targets, &unit, dim, &mut cosines);
        let lines = cosines.chunks_exact(words.len());
        lines
            .zip(questions)
            .map(|(line, (_, [_, b, c, d]))| {
                let candidates = (0..words.len()).filter(|at| at != b && at != c);
                let best = candidates.reduce(|best, at| if line[at] > line[best] { at } else { best });
                best == Some(*d)
            })
            .collect::<Vec<bool>>()
    })?;
    for ((category, _), right) in known.iter().zip(answers.into_iter().flatten()) {
        scores[*category].asked += 1;
        scores[*category].correct += usize::from(right);
    }
    Ok(scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_analogies_are_solved_and_unknown_words_are_skipped() {
        let words: Vec<String> = ["man", "woman", "king", "queen", "apple"].map(String::from).to_vec();
        let vectors = [1.0, 0.0, 0.2, 1.0, 1.0, 0.2, 1.0, 0.1, 1.0, 1.0, 1.1, 1.0, -1.0, -1.0, 0.0];
        let text = ": family\nman woman king queen\nman king woman queen\n\n: fruit\nman apple king pear\nman woman king apple\n";
        let asked = AnalogyQuestions::parse(text).unwrap();
        let scores = score_analogies(Points::new(&vectors, 3).unwrap(), &words, &asked).unwrap();
        let numbers: Vec<_> = scores.iter().map(|s| (s.category.as_str(), s.correct, s.asked, s.skipped)).collect();
        assert_eq!(numbers, [("family", 2, 2, 0), ("fruit", 0, 1, 1)]);
    }

    #[test]
    fn a_line_of_three_words_is_rejected_with_its_line_number() {
        let error = AnalogyQuestions::parse(": x\na b c d\na b c\n").unwrap_err();
        assert!(error.to_string().contains("line 3 has 3 words"), "{error}");
        assert!(AnalogyQuestions::parse("").unwrap().questions.is_empty());
        assert_eq!(AnalogyQuestions::parse("a b c d").unwrap().categories, ["all"]);
    }
}
