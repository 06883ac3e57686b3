//! Filters the changes that a gate runs for, by the paths that they touch.
//!
//! A list of patterns as in [`Paths`]. Patterns that begin with `!` exclude paths. A list of only such patterns starts
//! with all paths: `["!docs/**"]` matches every change that touches something outside of `docs/`.

use globset::GlobSet;
use serde::{Deserialize, Serialize};

use super::{BadPattern, Paths};

/// Patterns for the paths of a change. Without patterns, every change matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct PathFilter {
    include: Paths,
    exclude: Paths,
}

impl PathFilter {
    /// Adds a pattern.
    pub fn push(&mut self, pattern: &str) -> Result<(), BadPattern> {
        match pattern.strip_prefix('!') {
            Some(pattern) => self.exclude.push(pattern),
            None => self.include.push(pattern),
        }
    }

    /// Returns whether there is no pattern, so that every change matches.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Compiles the patterns for repeated use.
    pub fn compile(&self) -> Matcher {
        let include = (!self.include.is_empty()).then(|| self.include.compile());
        Matcher { include, exclude: self.exclude.compile() }
    }
}

/// A compiled [`PathFilter`].
#[derive(Clone, Debug)]
pub struct Matcher {
    /// `None` for all paths.
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Matcher {
    /// Returns whether a path matches.
    pub fn is_match(&self, path: &str) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(path)) && !self.exclude.is_match(path)
    }
}

impl std::fmt::Display for PathFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Vec::from(self.clone()).join(", "))
    }
}

impl TryFrom<Vec<String>> for PathFilter {
    type Error = BadPattern;

    fn try_from(patterns: Vec<String>) -> Result<Self, Self::Error> {
        let mut filter = Self::default();
        patterns.iter().try_for_each(|pattern| filter.push(pattern))?;
        Ok(filter)
    }
}

impl From<PathFilter> for Vec<String> {
    fn from(filter: PathFilter) -> Self {
        let exclude = filter.exclude.as_slice().iter().map(|pattern| format!("!{pattern}"));
        filter.include.as_slice().iter().cloned().chain(exclude).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(patterns: &[&str], path: &str) -> bool {
        let patterns: Vec<String> = patterns.iter().map(|it| (*it).to_owned()).collect();
        PathFilter::try_from(patterns).unwrap().compile().is_match(path)
    }

    #[test]
    fn patterns_with_an_exclamation_mark_take_paths_out_again() {
        for (patterns, path, expected) in [
            (&["a/**"][..], "a/x.py", true),
            (&["a/**"], "b/x.py", false),
            (&["a/**", "!*.md"], "a/README.md", false),
            (&["!packages/{b,c}/**"], "packages/b/x.js", false),
            (&["!packages/{b,c}/**"], "packages/a/x.js", true),
            (&["!packages/{b,c}/**"], "package.json", true),
            (&[], "anything", true),
        ] {
            assert_eq!(matches(patterns, path), expected, "{patterns:?} {path}");
        }
    }

    #[test]
    fn a_filter_is_stored_as_it_was_written() {
        let text = r#"["a/**","!*.md"]"#;
        let filter: PathFilter = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&filter).unwrap(), text);
        assert_eq!(filter.to_string(), "a/**, !*.md");
        assert!(serde_json::from_str::<PathFilter>(r#"["!/etc/*"]"#).is_err());
        assert!(serde_json::from_str::<PathFilter>(r#"["!"]"#).is_err());
    }
}
