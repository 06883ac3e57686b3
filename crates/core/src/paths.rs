//! Path patterns of gates.
//!
//! A pattern with a slash matches the whole path from the repository root (`tests/**`, `**/*.test.ts`). A pattern
//! without one matches the file name in any folder (`*_test.go`). `*` never matches a slash.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

/// A list of valid patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Paths(Vec<String>);

/// Why a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// It is empty and would match nothing.
    #[error("a pattern is empty")]
    Empty,
    /// It points outside of the repository.
    #[error("a pattern begins with `/` or contains `..`")]
    Outside,
    /// It cannot be parsed.
    #[error("a pattern cannot be read: {0}")]
    Unreadable(String),
}

impl Paths {
    /// Creates patterns from literals that a test has checked.
    pub fn literal(patterns: &[&str]) -> Self {
        Self(patterns.iter().map(|pattern| (*pattern).to_owned()).collect())
    }

    /// Adds a pattern.
    pub fn push(&mut self, pattern: &str) -> Result<(), BadPattern> {
        if pattern.trim().is_empty() {
            return Err(BadPattern::Empty);
        }
        if pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            return Err(BadPattern::Outside);
        }
        GlobSetBuilder::new()
            .add(glob(pattern).map_err(|error| BadPattern::Unreadable(error.kind().to_string()))?)
            .build()
            .map_err(|error| BadPattern::Unreadable(error.kind().to_string()))?;
        self.0.push(pattern.to_owned());
        Ok(())
    }

    /// Returns the patterns in lowercase, for case-insensitive file systems.
    #[must_use]
    pub fn lowercase(&self) -> Self {
        Self(self.0.iter().map(|pattern| pattern.to_lowercase()).collect())
    }

    /// Returns whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the patterns as written.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Compiles the patterns for repeated matching.
    pub fn compile(&self) -> GlobSet {
        let mut set = GlobSetBuilder::new();
        for glob in self.0.iter().filter_map(|pattern| glob(pattern).ok()) {
            set.add(glob);
        }
        set.build().unwrap_or_else(|_| GlobSet::empty())
    }
}

fn glob(pattern: &str) -> Result<globset::Glob, globset::Error> {
    let anywhere = if pattern.contains('/') { String::new() } else { "**/".to_owned() };
    GlobBuilder::new(&format!("{anywhere}{pattern}")).literal_separator(true).build()
}

impl TryFrom<Vec<String>> for Paths {
    type Error = BadPattern;

    fn try_from(patterns: Vec<String>) -> Result<Self, Self::Error> {
        let mut paths = Self::default();
        patterns.iter().try_for_each(|pattern| paths.push(pattern))?;
        Ok(paths)
    }
}

impl From<Paths> for Vec<String> {
    fn from(paths: Paths) -> Self {
        paths.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_without_a_slash_is_for_names_and_one_with_a_slash_for_paths() {
        let set = Paths::literal(&["tests/**", "*_test.go", "src/*.md"]).compile();
        for path in ["tests/a/b.rs", "x_test.go", "a/b/x_test.go", "src/a.md"] {
            assert!(set.is_match(path), "{path}");
        }
        for path in ["a/tests/b.rs", "tests", "x.go", "src/a/b.md"] {
            assert!(!set.is_match(path), "{path}");
        }
    }

    #[test]
    fn what_cannot_be_a_pattern_of_the_repository_is_refused() {
        let refused = |pattern: &str| Paths::default().push(pattern).is_err();
        assert!(["", " ", "/etc/*", "../x", "a/../b", "[", "{a"].into_iter().all(refused));
        assert!(!refused("a..b/*.rs"));
    }
}
