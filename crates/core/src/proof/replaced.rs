//! Finds the replacements of values that a test expected, and checks whether the task asks for them.
//!
//! An old test that the new code fails may be rewritten if the task wants another answer to the same question. An
//! answer that the task does not mention was taken from the code, and a removed question has no answer at all.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::turned::TestFile;
use crate::check::outline::literals;
use crate::pattern::pattern;

/// Maximum number of lines of a file to compare on each side.
const MOST_LINES: usize = 1_000;

/// Number of letters that identify a word.
const STEM: usize = 5;

/// Values in the lines that only one side has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    gone: BTreeSet<String>,
    come: BTreeSet<String>,
    /// The lines themselves.
    text: String,
}

impl Replaced {
    /// Adds a file that tests read: every word of a line is a value.
    pub fn add_data(&mut self, path: &str, old: &str, new: &str) {
        self.text.push_str(path);
        self.text.push('\n');
        let whole = |line: &str| tokens(line).collect::<Vec<_>>();
        self.add(old, new, whole);
    }

    /// Adds test code: its values are number and text literals.
    pub(super) fn add_code(&mut self, old: &str, new: &str) {
        self.add(old, new, |line| literals(line).iter().flat_map(|text| tokens(text)).collect());
    }

    fn add(&mut self, old: &str, new: &str, values: impl Fn(&str) -> Vec<String>) {
        let lines = |text| -> BTreeSet<&str> { str::lines(text).map(str::trim).collect() };
        let (before, after) = (lines(old), lines(new));
        for (only, all) in
            [(before.difference(&after), &mut self.gone), (after.difference(&before), &mut self.come)]
        {
            for line in only.take(MOST_LINES) {
                all.extend(values(line));
                self.text.push_str(line);
                self.text.push('\n');
            }
        }
    }

    /// Returns both combined.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            gone: self.gone.union(&other.gone).cloned().collect(),
            come: self.come.union(&other.come).cloned().collect(),
            text: format!("{}\n{}", self.text, other.text),
        }
    }

    /// Returns the lines that only one side has.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether values are gone and the task mentions none of their replacements. If the task contains numbers,
    /// other values may follow from them, unless it says that the rest stays the same.
    pub(super) fn is_unasked(&self, task: &str) -> bool {
        let mut come = self.come.difference(&self.gone).peekable();
        // Punctuation alone is a matter of form, and a task may describe it in words.
        let are_signs =
            self.come.difference(&self.gone).all(|token| !token.starts_with(char::is_alphanumeric));
        if self.gone.is_subset(&self.come) || come.peek().is_none() || are_signs {
            return false;
        }
        let wanted: BTreeSet<String> = tokens(task).map(|token| stem(&token)).collect();
        let counts = wanted.iter().any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let follows = counts && !keeps_rest(task);
        !come.any(|token| {
            let is_number = token.starts_with(|c: char| c.is_ascii_digit());
            is_number && follows || wanted.contains(&stem(token)) && is_telling(token, task)
        })
    }
}

/// Returns whether a task says that everything it does not name stays the same.
fn keeps_rest(task: &str) -> bool {
    static STAYS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(everything|anything|all|nothing|the rest|the others?)\b[^.;\n]{0,40}\b(stays?|remains?|unchanged|may change|changes?|as (it|they) (is|are))\b",
        )
    });
    STAYS.is_match(task)
}

/// Returns whether a token of a task is significant. Short words and punctuation are in every text, unless the task
/// quotes them.
fn is_telling(token: &str, task: &str) -> bool {
    let is_sign = !token.starts_with(char::is_alphanumeric);
    let quoted = || ["`", "\"", "'"].iter().any(|mark| task.contains(&format!("{mark}{token}{mark}")));
    match token.chars().count() {
        1 if is_sign && ":;?!-/`=<>".contains(token) => quoted(),
        1 | 2 if token.chars().all(char::is_alphabetic) => quoted(),
        _ => true,
    }
}

/// Returns the lower-case numbers, words and punctuation of a text. Numbers written as words count as both.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    static TOKEN: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"\d+(?:\.\d+)?|\p{Alphabetic}+|[^\w\s"'.,()\[\]{}\\]"#));
    const NUMBERS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let found: Vec<String> = TOKEN.find_iter(text).map(|token| token.as_str().to_lowercase()).collect();
    found.into_iter().flat_map(|token| {
        let number = NUMBERS.iter().position(|word| *word == token).map(|number| number.to_string());
        [Some(token), number].into_iter().flatten()
    })
}

fn stem(token: &str) -> String {
    let is_word = token.starts_with(char::is_alphabetic);
    if is_word { token.chars().take(STEM).collect() } else { token.to_owned() }
}

/// Returns lines of an old test whose question no line of the new one asks: rows of which no value is left, and
/// assertions about something that the test still has but no longer checks. `now` is the new test.
pub(super) fn dropped(was: &str, now: Option<&str>, files: &Files) -> Vec<String> {
    let new: BTreeSet<String> = files.new.difference(&files.old).flat_map(|line| cells(line)).collect();
    let mut found = Vec::new();
    for line in was.lines().map(squeezed).filter(|line| !files.new.contains(line)) {
        let cells: BTreeSet<String> = cells(&line).collect();
        let is_row = cells.len() > 1 && cells.is_disjoint(&new);
        if is_row || now.is_some_and(|now| cells.is_empty() && is_unlooked(&line, now)) {
            found.push(line);
        }
    }
    found
}

/// Lines of all test files, before and after.
pub(super) struct Files {
    old: BTreeSet<String>,
    new: BTreeSet<String>,
}

impl Files {
    pub(super) fn of(files: &[TestFile]) -> Self {
        let lines = |text: fn(&TestFile) -> &str| -> BTreeSet<String> {
            files.iter().flat_map(|file| text(file).lines()).map(squeezed).collect()
        };
        Self { old: lines(|file| &file.old), new: lines(|file| &file.new) }
    }
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the values of a line; one text may contain several, as in the rows of a table.
fn cells(line: &str) -> impl Iterator<Item = String> {
    let all = literals(line);
    all.into_iter()
        .flat_map(|text| text.split([',', ';', '|']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>())
        .filter(|cell| !cell.is_empty())
}

/// Returns whether a line asserts something about a name that the test still has, while none of its assertions uses
/// that name any more.
fn is_unlooked(line: &str, now: &str) -> bool {
    static ABOUT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^(?:assert(?:_eq!|_ne!|!)?|self\.assert\w+|assert\w*(?:\.\w+)*|expect)[\s(]+(?:not\s+)?(?:len\()?&?([A-Za-z_]\w*)\b[^(]*$|^(?:assert(?:_eq!|!)?|expect)[\s(]+(?:not\s+)?(?:len\()?([A-Za-z_]\w*)\)?[\s)]*(?:[=!<>]=|\bis\b|\.to)",
        )
    });
    static ASSERTS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\bassert|\bexpect\(|\bt\.(?:Error|Fatal)|\bif\b|\bcheck|\brequire\b|\braises\b|\bverify")
    });
    let Some(name) = ABOUT.captures(line).and_then(|found| found.get(1).or_else(|| found.get(2))) else {
        return false;
    };
    let has = |text: &str| {
        text.match_indices(name.as_str()).any(|(at, word)| {
            let part = |c: char| c.is_alphanumeric() || c == '_';
            !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part)
        })
    };
    // The first line names the test and its parameters.
    let body = || now.lines().skip(1);
    body().any(has) && !body().any(|line| ASSERTS.is_match(line) && has(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(old: &str, new: &str) -> Replaced {
        let mut replaced = Replaced::default();
        replaced.add_code(old, new);
        replaced
    }

    #[test]
    fn another_answer_is_one_that_the_task_asks_for() {
        for (task, old, new, unasked) in [
            ("Put the currency in front: € 12.50.", "[5, \"0.05\"]", "[5, \"€ 0.05\"]", false),
            ("Titles need a line of dashes.", "is(\"job done\")", "is(\"job done\\n--- ----\")", false),
            ("List the scarcest first.", "[\"milk\", \"salt\"]", "[\"salt\", \"milk\"]", false),
            ("The message should say `card refused`.", "is(\"no card\")", "is(\"refused\")", false),
            ("Days open at 8:00.", "free() == [540, 1020]", "free() == [480, 1020]", false),
            ("Fall back to the address.", "is(\"Dear Ann Lee\")", "is(\"Dear Ann@Example.Org\")", true),
            ("Two of ten go free from 30 on.", "is(18000, of(10))", "is(16000, of(10))", false),
            (
                "Two of ten go free from 30 on. Below that everything stays as it is.",
                "is(18000, of(10))",
                "is(16000, of(10))",
                true,
            ),
            ("Let it wait: no rush.", "is(\"a\")", "is(\"a:\")", false),
            ("Let it wait: no rush.", "is(\"a b\")", "is(\"a:c\")", true),
            ("Print a line of 40 equal signs between them.", "is(\"a\\n---\")", "is(\"a\\n====\")", false),
        ] {
            assert_eq!(code(old, new).is_unasked(task), unasked, "{task} {new}");
        }
    }

    #[test]
    fn every_word_of_data_is_a_value() {
        let mut golden = Replaced::default();
        golden.add_data("tests/a.golden", "Dear Ann Lee,\nseat A1\n", "Dear a@example.org,\nseat A1\n");
        assert!(golden.is_unasked("A contact without a name should get its address."));
        assert!(!golden.is_unasked("Letters must say a@example.org."));
        assert_eq!(golden.text(), "tests/a.golden\nDear Ann Lee,\nDear a@example.org,\n");
    }

    #[test]
    fn a_question_that_nothing_asks_any_more_is_dropped() {
        let drops = |was: &str, now: &str| {
            let file = TestFile { path: "tests/a.py".to_owned(), old: was.to_owned(), new: now.to_owned() };
            dropped(was, Some(now), &Files::of(&[file])).len()
        };
        let table = "ROWS = [\n    (\"13 fri\", \"or\"),\n    (\"* mon\", \"and\"),\n]";
        assert_eq!(drops(table, "ROWS = [\n    (\"*/2 mon\", \"odd\"),\n    (\"* mon\", \"and\"),\n]"), 1);
        assert_eq!(drops(table, "ROWS = [\n    (\"13 fri\", \"and\"),\n    (\"* mon\", \"and\"),\n]"), 0);
        assert_eq!(drops("@Csv({\"100, 290\", \"499, 290\"})", "@Csv({\"100, 310\", \"499, 310\"})"), 0);
        let naps = "def test_a(naps):\n    send(sleep=naps.append)\n    assert naps == []";
        assert_eq!(drops(naps, "def test_a(naps):\n    send(sleep=naps.append)\n    assert sent == []"), 1);
        assert_eq!(
            drops(naps, "def test_a(naps):\n    send(sleep=naps.append)\n    assert len(naps) == 2"),
            0
        );
        assert_eq!(drops(naps, "def test_a():\n    with raises(Error):\n        send()"), 0);
    }
}
