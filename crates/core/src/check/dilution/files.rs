//! Which files hold tests, by the names that runners look for.

use std::sync::LazyLock;

use regex::Regex;

use super::TEST_HIDDEN;
use crate::check::Finding;
use crate::check::diff::{FileChange, Origin};
use crate::check::source::Language;
use crate::pattern::pattern;

/// A file of tests that is one no more: by its name, or by having become something that is not text.
pub(super) fn hidden(file: &FileChange) -> Option<Finding> {
    let (old, new) = (file.old.as_deref()?, file.new.as_deref()?);
    let language = Language::of(old)?;
    if file.origin == Origin::Renamed && loses_tests(file) {
        let what = format!(
            "the tests of {old} moved to a name that no test runner looks for: give the file its name back"
        );
        return Some(Finding::new(TEST_HIDDEN, new, None, what));
    }
    let what = "this test file is not text any more: restore it";
    (file.binary && is_collected(language, old)).then(|| Finding::new(TEST_HIDDEN, new, None, what))
}

/// Whether a file of tests moved to a name under which no runner finds them. In JavaScript a folder makes a file one of tests, and
/// helpers stand there as well.
pub(super) fn loses_tests(file: &FileChange) -> bool {
    static DECLARES: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\b(it|test|describe|suite|specify|scenario)\s*(\.\w+\s*)*[(`]"));
    let (Some(old), Some(new)) = (file.old.as_deref(), file.new.as_deref()) else { return false };
    let name = old.rsplit('/').next().unwrap_or(old);
    let by_folder =
        Language::of(old) == Some(Language::Script) && !name.contains("test") && !name.contains("spec");
    is_lost(old, new) && (!by_folder || DECLARES.is_match(&file.before()))
}

/// Whether a runner that finds tests in `old` would find none in `new`.
fn is_lost(old: &str, new: &str) -> bool {
    match (Language::of(old), Language::of(new)) {
        (Some(before), Some(after)) => is_collected(before, old) && !is_collected(after, new),
        (Some(before), None) => is_collected(before, old),
        (None, _) => false,
    }
}

/// Whether runners look for tests in a file of this name, by the conventions of the language.
pub(super) fn is_collected(language: Language, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let in_folder = |names: &[&str]| folder.split('/').any(|part| names.contains(&part));
    match language {
        Language::Rust => true,
        Language::Script => {
            matches!(stem.rsplit_once('.'), Some((_, "test" | "spec")))
                || stem.ends_with("_test")
                || stem.ends_with("-test")
                || stem.starts_with("test-")
                || stem == "test"
                || in_folder(&["__tests__", "test", "tests", "spec"])
        }
        Language::Python => stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests",
        Language::Go => is_go_test(folder, stem),
        Language::Java => {
            stem.ends_with("Test")
                || stem.ends_with("Tests")
                || stem.ends_with("TestCase")
                || stem.ends_with("IT")
                || stem.starts_with("Test")
        }
    }
}

/// Go leaves out files that begin with `_` or `.`, folders called `testdata`, and files for other systems.
fn is_go_test(folder: &str, stem: &str) -> bool {
    const OTHERS: [&str; 14] = [
        "windows",
        "darwin",
        "freebsd",
        "netbsd",
        "openbsd",
        "plan9",
        "solaris",
        "js",
        "wasip1",
        "wasm",
        "android",
        "ios",
        "aix",
        "dragonfly",
    ];
    let Some(rest) = stem.strip_suffix("_test") else { return false };
    let system = rest.rsplit('_').next().unwrap_or_default();
    let elsewhere = rest.contains('_') && OTHERS.contains(&system);
    let aside = folder.split('/').any(|part| part == "testdata" || part.starts_with('_'));
    !elsewhere && !aside && !stem.starts_with(['_', '.'])
}

/// Whether a path belongs to tests: files of tests, and what stands in folders of tests.
pub(super) fn is_of_tests(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let lower = folder.to_lowercase();
    let folders = [
        "test",
        "tests",
        "spec",
        "specs",
        "__tests__",
        "testing",
        "testdata",
        "e2e",
        "integration",
        "fixtures",
    ];
    lower.split('/').any(|part| folders.contains(&part))
        || name.starts_with("conftest.")
        || Language::of(path)
            .is_some_and(|language| language != Language::Rust && is_collected(language, path))
}
