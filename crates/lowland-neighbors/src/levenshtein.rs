//! Levenshtein distance between strings: insertions, deletions and substitutions of Unicode scalar values.

use std::collections::HashMap;

/// Returns the Levenshtein distance of two strings.
pub(super) fn levenshtein(a: &str, b: &str) -> u32 {
    let (a, b): (Vec<u32>, Vec<u32>) = (a.chars().map(u32::from).collect(), b.chars().map(u32::from).collect());
    distance_within(&a, &b, u32::MAX).unwrap_or(u32::MAX)
}

/// Returns the distance of two sequences if it is at most `limit`, computing only the band of the table that matters.
fn distance_within(a: &[u32], b: &[u32], limit: u32) -> Option<u32> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let limit = (limit as usize).min(long.len());
    let extra = long.len() - short.len();
    if extra > limit {
        return None;
    }
    const FAR: u32 = u32::MAX / 2;
    let mut row: Vec<u32> = (0..=short.len() as u32).map(|x| if x as usize <= limit { x } else { FAR }).collect();
    for (y, letter) in long.iter().enumerate() {
        let y = y + 1;
        // A path through column x of this line costs at least |y - x|, so nothing outside the band is within the limit.
        let (first, last) = (y.saturating_sub(limit).max(1), (y + limit).min(short.len()));
        if first > last + 1 {
            return None;
        }
        let mut diagonal = row[first - 1];
        row[first - 1] = if first == 1 && y <= limit { y as u32 } else { FAR };
        let mut nearest = row[first - 1];
        for x in first..=last {
            let substituted = diagonal + u32::from(short[x - 1] != *letter);
            diagonal = row[x];
            row[x] = substituted.min(row[x - 1] + 1).min(row[x] + 1);
            nearest = nearest.min(row[x]);
        }
        if last < short.len() {
            row[last + 1] = FAR;
        }
        if nearest as usize > limit {
            return None;
        }
    }
    Some(row[short.len()]).filter(|&d| d as usize <= limit)
}

/// Strings as sequences of character numbers, for repeated comparisons.
pub(super) struct EncodedStrings {
    letters: Vec<u32>,
    starts: Vec<usize>,
}

/// Numbers of the characters of one or more collections of strings.
#[derive(Default)]
pub(super) struct Alphabet(HashMap<char, u32>);

impl Alphabet {
    /// Encodes `lines`; new characters are numbered in the order they appear.
    pub(super) fn encode(&mut self, lines: &[String]) -> EncodedStrings {
        let (mut letters, mut starts) = (Vec::new(), vec![0]);
        for line in lines {
            letters.extend(line.chars().map(|letter| {
                let next = self.0.len() as u32;
                *self.0.entry(letter).or_insert(next)
            }));
            starts.push(letters.len());
        }
        EncodedStrings { letters, starts }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl EncodedStrings {
    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of characters of all strings.
    pub(super) fn letters(&self) -> usize {
        self.letters.len()
    }

    pub(super) fn string(&self, i: usize) -> &[u32] {
        &self.letters[self.starts[i]..self.starts[i + 1]]
    }
}

/// A string to compare with many. Strings of up to 64 characters are compared a column of the table at a time (Myers
/// 1999, "A fast bit-vector algorithm for approximate string matching", with Hyyro's 2003 form for whole strings).
pub(super) struct EditDistanceMatcher {
    /// For each character, a bit mask of its positions in the string.
    positions: Vec<u64>,
    word: Vec<u32>,
}

impl EditDistanceMatcher {
    pub(super) fn new(alphabet: usize) -> Self {
        Self { positions: vec![0; alphabet], word: Vec::new() }
    }

    /// Sets the string for the following comparisons.
    pub(super) fn set(&mut self, word: &[u32]) {
        self.word.iter().for_each(|&letter| self.positions[letter as usize] = 0);
        self.word.clear();
        self.word.extend_from_slice(word);
        for (at, &letter) in word.iter().enumerate().take(64) {
            self.positions[letter as usize] |= 1 << at;
        }
    }

    /// Returns the distance to `other` if it is at most `limit`.
    pub(super) fn distance_within(&self, other: &[u32], limit: u32) -> Option<u32> {
        let length = self.word.len();
        if length.abs_diff(other.len()) > limit as usize {
            return None;
        }
        if length == 0 {
            return Some(other.len() as u32);
        }
        if length > 64 {
            return distance_within(&self.word, other, limit);
        }
        let last = 1u64 << (length - 1);
        // Bits where the table increases (decreases) by one from one line to the next, within the current column.
        let (mut rises, mut falls, mut distance) = (!0u64, 0u64, length as u32);
        for &letter in other {
            let equal = self.positions[letter as usize];
            let carried = (((equal & rises).wrapping_add(rises)) ^ rises) | equal | falls;
            let mut across_rises = falls | !(carried | rises);
            let mut across_falls = rises & carried;
            distance += u32::from(across_rises & last != 0);
            distance -= u32::from(across_falls & last != 0);
            across_rises = (across_rises << 1) | 1;
            across_falls <<= 1;
            rises = across_falls | !(carried | across_rises);
            falls = across_rises & carried;
        }
        (distance <= limit).then_some(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The full table, as in the textbook.
    fn table(a: &[u32], b: &[u32]) -> u32 {
        let mut rows = vec![vec![0u32; b.len() + 1]; a.len() + 1];
        for x in 0..=a.len() {
            for y in 0..=b.len() {
                rows[x][y] = if x == 0 || y == 0 {
                    (x + y) as u32
                } else {
                    let same = rows[x - 1][y - 1] + u32::from(a[x - 1] != b[y - 1]);
                    same.min(rows[x - 1][y] + 1).min(rows[x][y - 1] + 1)
                };
            }
        }
        rows[a.len()][b.len()]
    }

    #[test]
    fn characters_are_unicode_scalar_values() {
        assert_eq!(levenshtein("kitten", "sitting"), 3);
        assert_eq!(levenshtein("", "äö"), 2);
        assert_eq!(levenshtein("straße", "strasse"), 2);
        assert_eq!(levenshtein("", ""), 0);
    }

    proptest! {
        #[test]
        fn the_band_and_the_bit_vectors_agree_with_the_full_table(
            a in prop::collection::vec(0u32..4, 0..90),
            b in prop::collection::vec(0u32..4, 0..90),
            limit in 0u32..100,
        ) {
            let expected = Some(table(&a, &b)).filter(|&d| d <= limit);
            prop_assert_eq!(distance_within(&a, &b, limit), expected);
            let mut matcher = EditDistanceMatcher::new(4);
            matcher.set(&b);
            matcher.set(&a);
            prop_assert_eq!(matcher.distance_within(&b, limit), expected);
        }
    }
}
