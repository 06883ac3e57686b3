//! The parts of a file that a change touches: functions, and lines outside of them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Edit;
use crate::check::functions::functions;
use crate::check::source::{Language, Source};
use crate::pattern::pattern;
use crate::proof::{broken, inline};

/// Functions with changed lines, and changed lines outside of functions that have an effect.
pub(super) struct Touched {
    functions: Vec<Range<usize>>,
    outside: BTreeSet<u32>,
}

impl Touched {
    pub(super) fn of(language: Language, source: &Source, changed: &BTreeSet<u32>) -> Self {
        let tests = if language == Language::Rust { inline::test_items(&source.text) } else { Vec::new() };
        let all: Vec<Range<usize>> = functions(language, source)
            .into_iter()
            .map(|function| source.line(source.line_of(function.at)).start..function.body.end)
            .collect();
        let mut touched = Self { functions: Vec::new(), outside: BTreeSet::new() };
        for line in changed {
            let at = source.line(*line);
            let text = source.bare.get(at.clone()).unwrap_or_default();
            let start = at.start + (text.len() - text.trim_start().len());
            let of_tests = tests.iter().any(|test| test.contains(&start));
            if of_tests || !text.chars().any(char::is_alphanumeric) {
                continue;
            }
            let within = all.iter().filter(|function| function.contains(&start)).min_by_key(|it| it.len());
            match within {
                // A function head alone has no effect: the body reads a new parameter.
                Some(function) if !touched.functions.contains(function) => {
                    touched.functions.push(function.clone());
                }
                Some(_) => {}
                None if is_declaration(language, text) => {}
                None => {
                    touched.outside.insert(*line);
                }
            }
        }
        touched
    }

    /// Returns all lines of the functions.
    pub(super) fn lines(&self, source: &Source) -> BTreeSet<u32> {
        let lines = |it: &Range<usize>| source.line_of(it.start)..=source.line_of(it.end.saturating_sub(1));
        self.functions.iter().flat_map(lines).collect()
    }

    /// Changes texts and numbers on the lines outside of functions.
    pub(super) fn values(&self, language: Language, source: &Source) -> Vec<Edit> {
        let all = [broken::Way::Texts, broken::Way::Numbers, broken::Way::Bounds]
            .map(|way| broken::values(language, source, way));
        let mut edits = all.concat();
        edits.retain(|(at, _)| self.outside.contains(&source.line_of(at.start)));
        edits
    }

    /// Returns whether every function, and every line outside of functions, has an edit.
    pub(super) fn are_broken(&self, source: &Source, edits: &[Edit]) -> bool {
        let inside = |it: &Range<usize>| edits.iter().any(|(at, _)| it.start <= at.start && at.end <= it.end);
        let on = |line: &u32| edits.iter().any(|(at, _)| source.line_of(at.start) == *line);
        self.functions.iter().all(inside) && self.outside.iter().all(on)
    }
}

/// Returns whether a line outside of functions only declares a name.
fn is_declaration(language: Language, line: &str) -> bool {
    static PYTHON: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(import|from|class|@|\)|\w+,?$|__all__)|^\w+\s*:\s*[\w.\[\], |]+$"));
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(import|export\s*[{*]|export (default )?(class|interface|type)|class|interface|type|declare|\}|\w+,?$|\w+\??:\s*[\w<>\[\]| ]+[;,]?$)|^(const|let|var)\s.*\brequire\(|^module\.exports",
        )
    });
    static RUST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(pub(\([^)]*\))?\s+)?(use|mod|struct|enum|impl|trait|type|extern)\b|^#!?\[|^(pub(\([^)]*\))?\s+)?\w+:\s|^\w+,?$|^where\b",
        )
    });
    static GO: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"^(package|import|type|const|var)\b[^=]*$|^\w+(,\s*\w+)*\s+[\w.*\[\]{}]+$|^[\w.*]+$|^\)")
    });
    static JAVA: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(package|import|@)|\b(class|interface|enum|record)\b|^[^=(]*;$|^\w+,?$"));
    let form: &Regex = match language {
        Language::Python => &PYTHON,
        Language::Script => &SCRIPT,
        Language::Rust => &RUST,
        Language::Go => &GO,
        Language::Java => &JAVA,
    };
    form.is_match(line.trim())
}
