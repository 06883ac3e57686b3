//! Phases: a change commits its tests and the stubs that they need first, and the implementation afterwards.
//!
//! Then the state in which the tests must be red is a commit of the change itself. The tests compile there, so even
//! tests of new functions fail by an assertion. In return the tests are locked: each must be the same at the end as
//! when it was red. Commits of the first phase may only add code; otherwise they could make a test red by breaking its
//! subject.

use std::collections::BTreeMap;

use crate::check::cases::cases;
use crate::check::source::{Language, Source};

use super::inline;

/// Marks a commit of the first phase, as a line of its message.
pub const MARK: &str = "Phase: test";

/// A test that changed after it was red.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlocked {
    /// Its name; `None` for a file in which no test is found.
    pub name: Option<String>,
    /// Its line in the earlier file.
    pub line: u32,
    /// What happened to it.
    pub how: How,
}

/// What happened to a locked test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Its text changed.
    Changed,
    /// It no longer exists.
    Gone,
}

/// Returns whether a commit with this message belongs to the first phase.
pub fn is_first(message: &str) -> bool {
    message.lines().any(|line| line.trim_end().eq_ignore_ascii_case(MARK))
}

/// Returns the last commit of the first phase. `commits` are those of a change, oldest first; the first one without the
/// mark ends the phase.
pub fn last_of_first<'a, T>(commits: impl IntoIterator<Item = (T, &'a str)>) -> Option<T> {
    commits.into_iter().take_while(|(_, message)| is_first(message)).map(|(id, _)| id).last()
}

/// Returns the tests of a file that changed. `then` is the file when they were red, `now` at the end. `whole` says
/// whether the whole file belongs to the tests: then a file in which no test is found is test data and must be the
/// same.
pub fn unlocked(path: &str, then: &str, now: Option<&str>, whole: Belongs) -> Vec<Unlocked> {
    let before = texts(path, then);
    if before.is_empty() {
        let same = now == Some(then) || whole == Belongs::InPart;
        let how = if now.is_some() { How::Changed } else { How::Gone };
        return if same { Vec::new() } else { vec![Unlocked { name: None, line: 1, how }] };
    }
    let after = texts(path, now.unwrap_or_default());
    let mut found = Vec::new();
    for (key, (line, text)) in before {
        let how = match after.get(&key) {
            Some((_, same)) if *same == text => continue,
            Some(_) => How::Changed,
            None => How::Gone,
        };
        found.push(Unlocked { name: Some(key.0), line, how });
    }
    found
}

/// How much of a file belongs to the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// All of it.
    Whole,
    /// Only the tests in it.
    InPart,
}

/// Returns the text of each test by name; tests of the same name are numbered.
fn texts(path: &str, text: &str) -> BTreeMap<(String, usize), (u32, String)> {
    let Some(language) = Language::of(path) else { return BTreeMap::new() };
    let source = Source::new(language, text.to_owned());
    let mut all = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for case in cases(language, &source) {
        let number = seen.entry(case.name.clone()).or_default();
        let body = source.text.get(case.whole.clone()).unwrap_or_default().trim().to_owned();
        all.insert((case.name, *number), (case.line, body));
        *number += 1;
    }
    all
}

/// Returns whether a file only grew: every line of its code still exists, in the same order.
pub fn only_adds(path: &str, old: &str, new: Option<&str>) -> bool {
    let Some(new) = new else { return false };
    let code = |text: &str| match Language::of(path) {
        Some(Language::Rust) => inline::without_tests(text),
        Some(Language::Script | Language::Python | Language::Go | Language::Java) | None => text.to_owned(),
    };
    let (old, new) = (code(old), code(new));
    let mut lines = new.lines().map(str::trim).filter(|line| !line.is_empty());
    old.lines().map(str::trim).filter(|line| !line.is_empty()).all(|line| lines.any(|other| other == line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_phase_is_the_commits_at_the_beginning_that_say_so() {
        let phase = "Tests\n\nPhase: test\nTask: T-1\n";
        let commits = [("a", phase), ("b", "More\n\nphase: TEST \n"), ("c", "Code\n"), ("d", phase)];
        assert_eq!(last_of_first(commits), Some("b"));
        assert_eq!(last_of_first([("c", "Code, not Phase: test\n"), ("d", phase)]), None);
        assert_eq!(last_of_first(std::iter::empty::<((), &str)>()), None);
    }

    #[test]
    fn a_test_is_locked_by_what_it_says() {
        let then = "#[test]\nfn a() {\n    assert!(x());\n}\n\n#[test]\nfn b() {\n    assert!(y());\n}\n";
        let check = |now: &str| unlocked("src/a.rs", then, Some(now), Belongs::InPart);
        assert_eq!(check(then), []);
        assert_eq!(
            check(&format!("fn more() {{}}\n{then}\n#[test]\nfn c() {{}}\n")),
            [],
            "more may be added"
        );
        let weaker = then.replace("assert!(x())", "assert!(x() || true)");
        assert_eq!(check(&weaker), [Unlocked { name: Some("a".to_owned()), line: 2, how: How::Changed }]);
        let skipped = then.replace("#[test]\nfn b", "#[test]\n#[ignore]\nfn b");
        assert_eq!(check(&skipped)[0].how, How::Changed);
        let gone = &then[..then.find("\n\n").unwrap()];
        assert_eq!(check(gone), [Unlocked { name: Some("b".to_owned()), line: 7, how: How::Gone }]);
        assert_eq!(unlocked("src/a.rs", then, None, Belongs::InPart).len(), 2);
    }

    #[test]
    fn data_of_tests_is_locked_as_a_whole() {
        assert_eq!(unlocked("tests/a.txt", "1", Some("1"), Belongs::Whole), []);
        assert_eq!(unlocked("tests/a.txt", "1", Some("2"), Belongs::Whole)[0].how, How::Changed);
        assert_eq!(unlocked("tests/a.txt", "1", None, Belongs::Whole)[0].how, How::Gone);
        assert_eq!(unlocked("src/a.rs", "fn a() {}", Some("fn b() {}"), Belongs::InPart), []);
    }

    #[test]
    fn stubs_are_added_and_nothing_is_taken_away() {
        let old = "fn a() {\n    1\n}\n";
        let tests = "#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        assert!(only_adds("a.rs", old, Some(&format!("{old}\nfn b() {{\n    todo!()\n}}\n{tests}"))));
        assert!(only_adds("a.rs", &format!("{old}{tests}"), Some(old)), "tests are not code");
        assert!(!only_adds("a.rs", old, Some("fn a() {\n    2\n}\n")));
        assert!(!only_adds("a.py", "x = 1\n", None));
    }
}
