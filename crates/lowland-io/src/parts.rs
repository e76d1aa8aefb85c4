//! Data sets of several files: a folder, or a pattern such as `parts/*.parquet`.

use std::path::{Path, PathBuf};

use crate::error::{FileError, FileErrorKind, Result};
use crate::options::FileFormat;

/// Returns whether a path is a pattern: it names no file, and its last component contains `*`, `?` or `[`.
pub fn is_pattern(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| name.contains(['*', '?', '['])) && !path.exists()
}

/// Returns the files of a data set, sorted by name: those in a folder that can be read (by their extension, hidden files apart), those that
/// a pattern matches, or the one file itself. In a pattern, `*` stands for any text, `?` for a character, and `[a-c]` for one of several;
/// only the last component of the path can be a pattern.
pub fn list_parts(path: &Path, any_extension: bool) -> Result<Vec<PathBuf>, FileError> {
    list(path, any_extension).map_err(|kind| kind.at(path))
}

fn list(path: &Path, any_extension: bool) -> Result<Vec<PathBuf>> {
    let (folder, pattern) = if is_pattern(path) {
        let name = path.file_name().expect("a pattern has a name").to_string_lossy().into_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        (folder, Some(name.chars().collect::<Vec<_>>()))
    } else if path.is_dir() {
        (path, None)
    } else {
        return Ok(vec![path.into()]);
    };
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?.path();
        let name: Vec<char> = entry.file_name().unwrap_or_default().to_string_lossy().chars().collect();
        let matches = match &pattern {
            Some(pattern) => (name[0] != '.' || pattern[0] == '.') && matches_pattern(pattern, &name),
            None => name[0] != '.' && (any_extension || FileFormat::guess(&entry).is_some()),
        };
        if matches && entry.is_file() {
            // Without the `./` of the current folder, as the pattern was given.
            parts.push(if path.parent().is_some_and(|folder| folder.as_os_str().is_empty()) && pattern.is_some() {
                entry.file_name().map(PathBuf::from).unwrap_or(entry)
            } else {
                entry
            });
        }
    }
    if parts.is_empty() {
        return Err(FileErrorKind::Empty(match pattern {
            Some(_) => "no file matches the pattern",
            None => "the folder holds no file with an ending that can be read",
        }));
    }
    parts.sort();
    Ok(parts)
}

fn matches_pattern(pattern: &[char], name: &[char]) -> bool {
    match pattern.first() {
        None => name.is_empty(),
        Some('*') => (0..=name.len()).any(|skipped| matches_pattern(&pattern[1..], &name[skipped..])),
        Some('?') => !name.is_empty() && matches_pattern(&pattern[1..], &name[1..]),
        Some('[') => match (pattern.iter().skip(2).position(|&c| c == ']'), name.first()) {
            // The first character of a set can be `]` itself.
            (Some(length), Some(&found)) => {
                let (set, rest) = (&pattern[1..length + 2], &pattern[length + 3..]);
                is_in_set(set, found) && matches_pattern(rest, &name[1..])
            }
            (Some(_), None) => false,
            (None, _) => name.first() == Some(&'[') && matches_pattern(&pattern[1..], &name[1..]),
        },
        Some(own) => name.first() == Some(own) && matches_pattern(&pattern[1..], &name[1..]),
    }
}

/// Whether a character is in a set such as `a-cx`, or, with `!` or `^` at its beginning, not in it.
fn is_in_set(set: &[char], found: char) -> bool {
    let (negated, mut set) = match set {
        ['!' | '^', rest @ ..] => (true, rest),
        _ => (false, set),
    };
    let mut contained = false;
    while let Some((&low, rest)) = set.split_first() {
        set = match rest {
            ['-', high, rest @ ..] => {
                contained |= (low..=*high).contains(&found);
                rest
            }
            _ => {
                contained |= low == found;
                rest
            }
        };
    }
    contained != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let matches = |pattern: &str, name: &str| {
            matches_pattern(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
        };
        for (pattern, name, expected) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("part-?[0-4].*", "part-13.parquet", true),
            ("part-?[0-4].*", "part-15.parquet", false),
            ("[!a]b", "cb", true),
            ("[!a]b", "ab", false),
            ("[]x]", "]", true),
            ("[ab", "[ab", true),
            ("", "", true),
            ("*a*b*", "xxaxxbxx", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn folders_and_patterns_are_listed_in_order_without_hidden_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "c.parquet", ".hidden.csv", "notes.md", "x[1].csv"] {
            std::fs::write(folder.path().join(name), "1,2\n").unwrap();
        }
        std::fs::create_dir(folder.path().join("d.csv")).unwrap();
        let names = |path: &Path| {
            let names = list_parts(path, false).unwrap();
            names.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(folder.path()), ["a.csv", "b.csv", "c.parquet", "x[1].csv"]);
        assert_eq!(names(&folder.path().join("*.csv")), ["a.csv", "b.csv", "x[1].csv"]);
        // A file of that name is that file.
        assert_eq!(names(&folder.path().join("x[1].csv")), ["x[1].csv"]);
        let error = list_parts(&folder.path().join("*.npy"), false).unwrap_err().to_string();
        assert!(error.contains("no file matches"), "{error}");
    }
}
