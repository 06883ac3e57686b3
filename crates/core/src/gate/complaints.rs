//! Parses the complaints of linters, compilers and formatters, and finds those that a change introduced.
//!
//! A command that fails on the base fails with every change, so its exit code says nothing about a change. Its output
//! does. A complaint is identified by its file and text, without line numbers, because an edit above shifts them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::shorten;

/// Maximum number of complaints. With more, two runs are not compared.
const MOST: usize = 5_000;

/// Maximum length of a complaint's text. It distinguishes complaints, and no linter needs more.
const LONGEST: usize = 200;

/// A complaint in the output of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Complaint {
    /// Path from the root of the tree.
    pub path: String,
    /// Line, or 0 for the whole file.
    pub line: u32,
    /// Text, without numbers.
    pub words: String,
    /// Whether it is only a warning.
    pub warning: bool,
}

/// Parses the output of a command, without escape sequences. `file` returns the path of a file in the tree for a word
/// that names one. Returns nothing if there are too many complaints to compare.
pub fn read(printed: &str, file: &dyn Fn(&str) -> Option<String>) -> Vec<Complaint> {
    let mut reader = Reader { file, found: Vec::new(), header: "", listed: None };
    for line in printed.lines() {
        reader.line(line.trim_end());
        if reader.found.len() > MOST {
            return Vec::new();
        }
    }
    reader.end_of_list();
    reader.found
}

struct Reader<'p> {
    file: &'p dyn Fn(&str) -> Option<String>,
    found: Vec<Complaint>,
    /// Last line without indentation: `error[E0425]: cannot find …`, with its location below.
    header: &'p str,
    /// Last line with only a path, and whether locations followed, as ESLint prints them.
    listed: Option<(String, bool)>,
}

impl<'p> Reader<'p> {
    fn line(&mut self, line: &'p str) {
        let text = line.trim_start();
        if let (Some((path, _)), Some((number, words))) = (&self.listed, row(text)) {
            let path = path.clone();
            self.listed = Some((path.clone(), true));
            self.add(path, number, words);
            return;
        }
        if text.is_empty() {
            self.end_of_list();
            return;
        }
        // `--> a.rs:3:5`, or `╭─[a.rs:3:5]`.
        let place = text
            .strip_prefix("-->")
            .or_else(|| text.strip_prefix('╭')?.trim_start_matches('─').strip_prefix('['));
        if let Some(place) = place {
            if let Some((path, number, _)) = self.place(place.trim().trim_end_matches(']')) {
                self.add(path, number, self.header);
            }
            return;
        }
        if let Some((path, number, words)) = self.place(text) {
            self.end_of_list();
            let bare = !words.chars().any(char::is_alphanumeric);
            self.add(path, number, if bare { self.header } else { &words });
            return;
        }
        if let Some(path) = (self.file)(text) {
            self.end_of_list();
            self.listed = Some((path, false));
        } else if let Some(path) = self.of_a_formatter(text) {
            self.end_of_list();
            self.add(path, 0, "is formatted otherwise");
        }
        if !line.starts_with(char::is_whitespace) {
            self.header = line;
        }
    }

    /// Handles a path without locations below, which is a complaint itself: `gofmt -l` prints nothing else.
    fn end_of_list(&mut self) {
        if let Some((path, false)) = self.listed.take() {
            self.add(path, 0, "is listed");
        }
    }

    fn add(&mut self, path: String, line: u32, words: &str) {
        let lower = words.trim_start().to_lowercase();
        let opens = |signs: &[&str]| lower.split_whitespace().take(2).any(|word| opens_with(word, signs));
        // An explanation of another complaint is not a complaint.
        if opens(&["note", "help", "info", "hint"]) {
            return;
        }
        let warning = opens(&["warning", "warn"]);
        self.found.push(Complaint { path, line, words: shorten(&without_numbers(words), LONGEST), warning });
    }

    /// Returns the first location in a line that names a file of the tree, and the text around it.
    fn place(&self, text: &str) -> Option<(String, u32, String)> {
        // A prefix such as `[ERROR]` or `Diff in` is short. A path deep inside a sentence is its subject.
        const WORDS_BEFORE: usize = 3;
        text.split_whitespace().take(WORDS_BEFORE).find_map(|word| {
            let (path, number, rest) = numbered(word)?;
            let path = (self.file)(path)?;
            let around = text.replacen(word, rest, 1);
            Some((path, number, around))
        })
    }

    /// Returns the file that a formatter would change: `would reformat a.py`, `[warn] a.js`.
    fn of_a_formatter(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        if !["format", "[warn]", "[error]", "diff in", "differs"].iter().any(|sign| lower.contains(sign)) {
            return None;
        }
        text.split_whitespace().find_map(|word| (self.file)(word.trim_matches([':', ',', '"', '\'', '`'])))
    }
}

/// Returns whether a word is one of these, apart from punctuation around it: `warning:`, `[WARNING]`.
fn opens_with(word: &str, signs: &[&str]) -> bool {
    let word = word.trim_matches(|char: char| !char.is_alphanumeric());
    // Also accept `warning[E0001]` and `warning(rule)`.
    let word = word.split(['[', '(', ':']).next().unwrap_or(word);
    signs.contains(&word)
}

/// Parses a row below a path: `12:5  error  'x' is not defined`.
fn row(text: &str) -> Option<(u32, &str)> {
    let (place, words) = text.split_once(char::is_whitespace)?;
    let (line, column) = place.split_once(':')?;
    let column = column.trim_end_matches(':');
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(line) && is_number(column)).then_some(())?;
    Some((line.parse().ok()?, words.trim_start()))
}

/// Splits `a.rs:12:5:`, `a.ts(12,5):`, `A.java:[12,5]` into the path, the line and the text after the location.
fn numbered(word: &str) -> Option<(&str, u32, &str)> {
    let word = word.trim_start_matches(['(', '"', '\'', '`']);
    let mut starts = word.char_indices().filter(|(_, char)| matches!(char, ':' | '('));
    starts.find_map(|(at, _)| {
        let after = word[at..].trim_start_matches([':', '(', '[']);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let number = after[..digits].parse().ok()?;
        let rest =
            after[digits..].trim_start_matches(|char: char| char.is_ascii_digit() || ",:)]".contains(char));
        (at > 0).then_some((&word[..at], number, rest))
    })
}

/// Replaces separate numbers: a line that grew from 121 to 125 characters is the same complaint. Keeps `F401`.
fn without_numbers(text: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut out = String::with_capacity(text.len());
    for (index, word) in text.trim().split_inclusive(|char| !is_word(char)).enumerate() {
        let end = word.trim_end_matches(|char| !is_word(char)).len();
        let (name, rest) = word.split_at(end);
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        // Column widths depend on the other rows.
        if index > 0 && word.trim().is_empty() && out.ends_with(' ') {
            continue;
        }
        out.push_str(if is_number { "#" } else { name });
        out.push_str(rest);
    }
    out
}

/// The unit in which two runs of the same command are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Each complaint.
    Each,
    /// Each file: how often a formatter names a file depends on how it splits its differences.
    File,
}

/// Returns complaints that the change introduced. Returns `None` if the output on the base does not show its
/// complaints.
///
/// A complaint that disappeared in one file and appeared in another was moved. If complaints of the base disappeared,
/// complaints that they hid may appear; then only those in files that the change touches count.
pub fn brought<'c>(
    base: &[Complaint],
    change: &'c [Complaint],
    unit: Unit,
    touched: &dyn Fn(&str) -> bool,
) -> Option<Vec<&'c Complaint>> {
    if base.is_empty() || change.is_empty() {
        return None;
    }
    // If there are errors, the command fails because of them, whatever the warnings.
    let errors_only = change.iter().chain(base).any(|it| !it.warning);
    let counts = |it: &&Complaint| !(errors_only && it.warning);
    let words = |it: &Complaint| match unit {
        Unit::Each => it.words.clone(),
        Unit::File => String::new(),
    };
    let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
    for it in base.iter().filter(counts) {
        let count = known.entry((it.path.clone(), words(it))).or_default();
        *count = if unit == Unit::File { usize::MAX } else { *count + 1 };
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut fresh = Vec::new();
    for it in change.iter().filter(counts) {
        let key = (it.path.clone(), words(it));
        match known.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None if unit == Unit::Each || seen.insert(key.clone()) => fresh.push(it),
            None => {}
        }
        if unit == Unit::File {
            seen.insert(key);
        }
    }
    let mut gone: BTreeMap<String, usize> = BTreeMap::new();
    for ((path, words), count) in known {
        let left = match unit {
            Unit::Each => count,
            Unit::File => usize::from(!seen.contains(&(path, String::new()))),
        };
        *gone.entry(words).or_default() += left;
    }
    let hid = gone.values().any(|count| *count > 0);
    fresh.retain(|it| match gone.get_mut(&words(it)).filter(|count| **count > 0) {
        Some(count) => {
            *count -= 1;
            false
        }
        None => !hid || touched(&it.path),
    });
    Some(fresh)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(word: &str) -> Option<String> {
        let word = word.strip_prefix("/tree/").unwrap_or(word);
        ["a.rs", "a.py", "b.py", "src/a.js", "src/b.js", "A.java", "a.go"]
            .contains(&word.trim_start_matches("./"))
            .then(|| word.trim_start_matches("./").to_owned())
    }

    fn seen(printed: &str) -> Vec<(String, u32, String)> {
        read(printed, &files).into_iter().map(|it| (it.path, it.line, it.words)).collect()
    }

    fn one(path: &str, line: u32, words: &str) -> (String, u32, String) {
        (path.to_owned(), line, words.to_owned())
    }

    #[test]
    fn complaints_are_read_in_the_forms_that_tools_print() {
        // rustc, clippy, and ruff since its full format became the default.
        let rust = "error[E0425]: cannot find value `x`\n  --> a.rs:3:5\n   |\n3  |     x\n   |     ^ not found\n\nerror: 1 more\n";
        assert_eq!(seen(rust), [one("a.rs", 3, "error[E0425]: cannot find value `x`")]);
        let ruff = "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n";
        assert_eq!(seen(ruff), [one("a.py", 1, "F401 [*] `os` imported but unused")]);
        // ruff's concise form, flake8, pylint, mypy, go vet, tsc, javac under Maven, standard.
        for (line, path, number, words) in [
            (
                "a.py:12:80: E501 line too long (121 > 79 characters)",
                "a.py",
                12,
                "E501 line too long (# > # characters)",
            ),
            (
                "a.py:3: error: Name \"x\" is not defined  [name-defined]",
                "a.py",
                3,
                "error: Name \"x\" is not defined [name-defined]",
            ),
            ("./a.go:7:2: x declared and not used", "a.go", 7, "x declared and not used"),
            (
                "src/a.js(4,7): error TS2322: Type 'a' is wrong",
                "src/a.js",
                4,
                "error TS2322: Type 'a' is wrong",
            ),
            ("[ERROR] /tree/A.java:[5,9] ';' expected", "A.java", 5, "[ERROR] ';' expected"),
            ("  /tree/src/a.js:2:1: Extra semicolon. (semi)", "src/a.js", 2, "Extra semicolon. (semi)"),
        ] {
            assert_eq!(seen(line), [one(path, number, words)], "{line}");
        }
        // ESLint.
        let eslint = "\n/tree/src/a.js\n  1:7   error    'x' is assigned a value but never used  no-unused-vars\n  12:1  warning  Unexpected console statement  no-console\n\n✖ 2 problems\n";
        let found = read(eslint, &files);
        assert_eq!(
            found.iter().map(|it| (it.line, it.warning)).collect::<Vec<_>>(),
            [(1, false), (12, true)]
        );
        assert_eq!(found[0].words, "error 'x' is assigned a value but never used no-unused-vars");
        // Formatters name files.
        assert_eq!(
            seen("would reformat a.py\n1 file would be reformatted\n"),
            [one("a.py", 0, "is formatted otherwise")]
        );
        assert_eq!(seen("a.go\n"), [one("a.go", 0, "is listed")]);
        assert_eq!(seen("Diff in /tree/a.rs:3:\n-  x\n+x\n"), [one("a.rs", 3, "Diff in")]);
        // An explanation, or a text that names no file of the tree, is not a complaint.
        assert_eq!(
            seen("a.py:3: note: use x\nnote: declared here\n --> a.rs:1:1\nother.py:1:1: E1\n12 problems\n"),
            []
        );
        assert_eq!(read(&"a.py:1:1: E1 x\n".repeat(MOST + 1), &files), []);
    }

    fn brought_by(base: &str, change: &str, touched: &[&str]) -> Option<Vec<String>> {
        let (base, change) = (read(base, &files), read(change, &files));
        let new = brought(&base, &change, Unit::Each, &|path| touched.contains(&path))?;
        Some(new.into_iter().map(|it| format!("{}:{} {}", it.path, it.line, it.words)).collect())
    }

    #[test]
    fn only_what_the_change_brought_is_new() {
        let none: Option<Vec<String>> = Some(Vec::new());
        let base = "a.py:1:1: F401 `os` unused\na.py:9:1: E501 line too long (90 > 79)\n";
        let moved = "a.py:4:1: F401 `os` unused\na.py:12:1: E501 line too long (95 > 79)\n";
        assert_eq!(brought_by(base, moved, &["a.py"]), none);
        let one_more = format!("{moved}a.py:5:1: F401 `os` unused\n");
        assert_eq!(brought_by(base, &one_more, &["a.py"]), Some(vec!["a.py:5 F401 `os` unused".to_owned()]));
        // Complaints in files that the change does not touch count too, such as in a caller.
        let elsewhere = format!("{moved}b.py:5:1: E1 too few arguments\n");
        assert_eq!(
            brought_by(base, &elsewhere, &["a.py"]),
            Some(vec!["b.py:5 E1 too few arguments".to_owned()])
        );
        // A renamed file, or moved code.
        assert_eq!(brought_by(base, &base.replace("a.py", "b.py"), &["a.py", "b.py"]), none);
        // A fixed complaint may have hidden others.
        let mended = "a.py:9:1: E501 line too long (90 > 79)\nb.py:1:1: E2 other\n";
        assert_eq!(brought_by(base, mended, &["a.py"]), none);
        assert_eq!(brought_by(base, mended, &["b.py"]), Some(vec!["b.py:1 E2 other".to_owned()]));
        // If there are errors, warnings are not why a command fails.
        let warned = format!("{base}a.py:3:1: warning: unused\n");
        assert_eq!(brought_by(base, &warned, &["a.py"]), none);
        // Output that shows nothing about the base cannot be compared.
        assert_eq!(brought_by("crashed\n", base, &["a.py"]), None);
    }

    #[test]
    fn files_of_a_formatter_are_compared_as_files() {
        let read = |text: &str| read(text, &files);
        let new = |base: &str, change: &str| {
            let (base, change) = (read(base), read(change));
            let new = brought(&base, &change, Unit::File, &|_| true).unwrap();
            new.into_iter().map(|it| it.path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(new("Diff in a.rs:3:\n", "Diff in a.rs:3:\nDiff in a.rs:30:\n"), Vec::<String>::new());
        assert_eq!(new("a.go\n", "a.go\na.py\na.py\n"), ["a.py"]);
        assert_eq!(new("a.py\n", "b.py\n"), Vec::<String>::new());
    }
}
