//! Reverts each piece of a change alone: a piece that no test needs and that breaks an old test was not requested.

use std::ops::Range;

use super::inline;
use super::noticed::kept;
use crate::check::source::Language;

/// A file of a change with one of its pieces reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Without {
    /// First line of the piece in the new text, from 1.
    pub line: u32,
    /// Text.
    pub text: String,
}

/// Returns a copy of the file for each changed piece, with only that piece reverted. Tests in the same file don't
/// count as pieces.
pub fn without_each(path: &str, old: &str, new: &str) -> Vec<Without> {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let (was, is) = kept(&before, &after);
    let tests = if Language::of(path) == Some(Language::Rust) { inline::test_items(new) } else { Vec::new() };
    let mut found = Vec::new();
    for (gone, come) in pieces(&was, &is) {
        let start: usize = after[..come.start].iter().map(|line| line.len()).sum();
        let is_of_tests = tests.iter().any(|test| test.contains(&start));
        let says = |lines: &[&str]| lines.iter().any(|line| line.chars().any(char::is_alphanumeric));
        if is_of_tests || !says(&before[gone.clone()]) && !says(&after[come.clone()]) {
            continue;
        }
        let parts = [&after[..come.start], &before[gone], &after[come.end..]];
        let line = u32::try_from(come.start + 1).unwrap_or(u32::MAX);
        found.push(Without { line, text: parts.concat().concat() });
    }
    found
}

/// Returns pairs of line ranges that replace each other. Each side marks the lines that the other one also has.
fn pieces(was: &[bool], is: &[bool]) -> Vec<(Range<usize>, Range<usize>)> {
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    while i < was.len() || j < is.len() {
        let end = |side: &[bool], from: usize| {
            side.iter().skip(from).position(|kept| *kept).map_or(side.len(), |at| from + at)
        };
        let (to, till) = (end(was, i), end(is, j));
        if to > i || till > j {
            found.push((i..to, j..till));
        }
        (i, j) = (to + 1, till + 1);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_of_a_change_is_taken_back_alone() {
        let old = "a = 3\n\ndef f():\n    if b or c:\n        return 1\n";
        let new = "a = 5\n\ndef f():\n    if c:\n        return 1\n\n\ndef g():\n    return 2\n";
        let texts: Vec<(u32, String)> =
            without_each("a.py", old, new).into_iter().map(|it| (it.line, it.text)).collect();
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0], (1, new.replace("a = 5", "a = 3")));
        assert_eq!(texts[1], (4, new.replace("if c", "if b or c")));
        assert_eq!(texts[2].1, new.replace("\n\ndef g():\n    return 2\n", ""));
        assert_eq!(without_each("a.py", old, old), []);
        let gone = without_each("a.py", "a\nb\nc\n", "a\nc\n");
        assert_eq!(gone, [Without { line: 2, text: "a\nb\nc\n".to_owned() }]);
    }

    #[test]
    fn tests_beside_the_code_are_no_pieces() {
        let code = "pub fn f() -> u8 { 1 }\n";
        let tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn f() { assert_eq!(1, 2); }\n}\n";
        let (old, new) = (format!("{code}{tests}"), format!("{code}{}", tests.replace("1, 2", "1, 1")));
        assert_eq!(without_each("src/a.rs", &old, &new), []);
    }
}
