//! Reduces a gate's output to what the next agent needs: the important lines, the location, and the code around it.

use std::path::{Component, Path, PathBuf};

use acquit_core::agent::shorten;
use acquit_core::failure::Location;
use acquit_core::gate::complaints::{self, Complaint};

use crate::leg::TREE;
use crate::untrusted::{self, text as read_text};

/// Number of bytes to read from the end of the output, where tools report the failure.
const LOOKED_AT: u64 = 256 * 1024;
/// Maximum number of lines to keep.
const LINES: usize = 40;
/// Maximum length of a kept line.
const LINE: usize = 400;
/// Number of lines to show around a location.
const AROUND: usize = 10;
/// Maximum number of locations to show: the failure itself and the calls that led to it.
const FRAMES: usize = 4;
/// Maximum size of a source file.
const SOURCE_LIMIT: u64 = 4 * 1024 * 1024;

/// Words in lower case that announce a failure.
const SIGNS: [&str; 12] = [
    "error",
    "fail",
    "panicked",
    "assert",
    "expected",
    "actual",
    "exception",
    "traceback",
    "not ok",
    "undefined",
    "cannot",
    "left:",
];

/// A distilled failure.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Important lines.
    pub message: String,
    /// First location in the repository that they name.
    pub location: Option<Location>,
    /// Numbered code around that location, and around other locations in the repository that they name.
    pub excerpt: Option<String>,
}

/// Distills a gate's output.
pub fn distill(log: &Path, tree: &Path) -> Found {
    let text = untrusted::tail(log, LOOKED_AT);
    let lines = telling(&text);
    let places = places(&lines, tree);
    let excerpt = excerpts(&places, tree);
    Found { message: essential(&lines, LINES), location: places.into_iter().next(), excerpt }
}

/// Returns the non-empty lines of an output. If there is a compiler error, omits warnings: there can be hundreds before
/// it, with words that look like a failure.
fn telling(text: &str) -> Vec<&str> {
    let starts =
        |line: &str, word: &str| line.strip_prefix(word).is_some_and(|rest| rest.starts_with([':', '[']));
    let has_errors = text.lines().any(|line| starts(line, "error"));
    let mut in_warning = false;
    let is_telling = |line: &&str| {
        // A message ends at an empty line or at the next message.
        let ends = line.is_empty() || starts(line, "error");
        in_warning = has_errors && (starts(line, "warning") || in_warning && !ends);
        !in_warning && !line.is_empty()
    };
    text.lines().map(str::trim_end).filter(is_telling).collect()
}

/// Returns the first locations that an output names.
fn places(lines: &[&str], tree: &Path) -> Vec<Location> {
    apart(lines.iter().filter_map(|line| place(line, tree)))
}

/// Returns the first locations that are far enough from earlier ones, so that no code is shown twice.
fn apart(found: impl Iterator<Item = Location>) -> Vec<Location> {
    let mut places: Vec<Location> = Vec::new();
    for found in found {
        let shown =
            |other: &Location| other.path == found.path && other.line.abs_diff(found.line) as usize <= AROUND;
        if !places.iter().any(shown) {
            places.push(found);
        }
        if places.len() == FRAMES {
            break;
        }
    }
    places
}

/// Returns the code around each location. The first is the failure's own and needs no heading.
fn excerpts(places: &[Location], tree: &Path) -> Option<String> {
    let shown = places.iter().enumerate().filter_map(|(index, place)| {
        let code = excerpt(place, tree)?;
        Some(if index == 0 { code } else { format!("{}:{}\n{code}", place.path, place.line) })
    });
    let all: Vec<String> = shown.collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

/// Returns the output from its first failure on, at greater length: for searching, not for reading.
pub(super) fn errors(log: &Path) -> String {
    /// More lines than the messages of one compilation that stopped at its first errors.
    const SEARCHED: usize = 400;
    let text = untrusted::tail(log, LOOKED_AT);
    essential(&telling(&text), SEARCHED)
}

/// Returns the complaints of a linter, compiler or formatter. Returns none if there is more output than is read,
/// because half of it cannot be compared.
pub(super) fn complaints(log: &Path, tree: &Path) -> Vec<Complaint> {
    /// Room for thousands of complaints with the code around them.
    const READ: u64 = 4 << 20;
    let Ok(Some(text)) = read_text(log, READ) else { return Vec::new() };
    let text = text.lines().map(printable).collect::<Vec<_>>().join("\n");
    complaints::read(&text, &|word| inside(word, tree))
}

/// Returns the first location in the tree that findings name, and the code around it and the next ones.
pub(super) fn around<'a>(
    named: impl Iterator<Item = &'a Location>,
    tree: &Path,
) -> (Option<Location>, Option<String>) {
    let places = apart(named.filter_map(|place| located(place, tree)));
    let excerpt = excerpts(&places, tree);
    (places.into_iter().next(), excerpt)
}

/// Returns a location in a report, if it is in the tree.
pub(super) fn located(location: &Location, tree: &Path) -> Option<Location> {
    Some(Location { path: inside(&location.path, tree)?, line: location.line })
}

/// Returns the end of an output, ready to show.
pub(super) fn tail(log: &Path, limit: u64) -> String {
    let text = untrusted::tail(log, limit);
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// Returns the lines from the first one that looks like a failure; if there is none, the end.
fn essential(lines: &[&str], most: usize) -> String {
    let sounds = |line: &&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign))
    };
    let from = lines.iter().position(sounds).unwrap_or_else(|| lines.len().saturating_sub(most));
    // The line before a failure often names the test.
    let kept = &lines[from.saturating_sub(1)..];
    let shown: Vec<String> = kept.iter().take(most).map(|line| shorten(&printable(line), LINE)).collect();
    let text = shown.join("\n");
    match kept.len().saturating_sub(most) {
        0 => text,
        more => format!("{text}\n… ({more} lines more)"),
    }
}

/// Removes colours and other escape sequences.
fn printable(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        if char == '\u{1b}' {
            // A CSI sequence ends with a letter.
            while chars.next().is_some_and(|char| !char.is_ascii_alphabetic()) {}
        } else if !char.is_control() || char == '\t' {
            out.push(char);
        }
    }
    out
}

/// Returns the location that a line names, if the file is in the tree: `src/a.rs:12:5`, `(src/a.js:12)`,
/// `File "a.py", line 12`.
fn place(line: &str, tree: &Path) -> Option<Location> {
    let python = line.split_once("File \"").and_then(|(_, rest)| {
        let (path, rest) = rest.split_once('"')?;
        let number = rest.strip_prefix(", line ")?;
        Some((path, leading_number(number)?))
    });
    let breaks = |char: char| char.is_whitespace() || "()[]{}<>\"'`,;=".contains(char);
    let others = line.split(breaks).filter_map(|word| {
        let (path, rest) = word.split_once(':')?;
        Some((path, leading_number(rest)?))
    });
    python.into_iter().chain(others).find_map(|(path, line)| {
        let path = inside(path, tree)?;
        Some(Location { path, line })
    })
}

fn leading_number(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number > 0)
}

/// Returns the path relative to the tree, if it names a regular file in it.
fn inside(path: &str, tree: &Path) -> Option<String> {
    let path = Path::new(path);
    let relative: PathBuf = path
        .strip_prefix(tree)
        .or_else(|_| path.strip_prefix(TREE))
        .unwrap_or(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect();
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let text = relative.to_str()?.to_owned();
    let file = tree.join(&relative);
    if !plain || text.is_empty() || !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    // A symbolic link in a parent folder could lead out of the tree.
    file.canonicalize().ok()?.starts_with(tree.canonicalize().ok()?).then_some(text)
}

/// Returns the numbered lines around a location, with the line itself marked.
fn excerpt(location: &Location, tree: &Path) -> Option<String> {
    let path = tree.join(&location.path);
    let text = read_text(&path, SOURCE_LIMIT).ok()??;
    let at = location.line as usize;
    let first = at.saturating_sub(AROUND).max(1);
    let shown: Vec<String> = text
        .lines()
        .enumerate()
        .skip(first - 1)
        .take(2 * AROUND + 1)
        .map(|(index, line)| {
            let mark = if index + 1 == at { '>' } else { ' ' };
            format!("{mark} {:>5} | {}", index + 1, shorten(line, LINE))
        })
        .collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected_place: Option<(&str, u32)>, expected_in_message: &str) {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("work");
        std::fs::create_dir_all(tree.join("src")).unwrap();
        std::fs::write(tree.join("src/a.rs"), "one\ntwo\nthree\n").unwrap();
        std::os::unix::fs::symlink("/etc", tree.join("out")).unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, output.replace("TREE", tree.to_str().unwrap())).unwrap();
        let found = distill(&log, &tree);
        let place = found.location.as_ref().map(|place| (place.path.as_str(), place.line));
        assert_eq!(place, expected_place, "{output}");
        assert!(found.message.contains(expected_in_message), "{:?}", found.message);
        assert_eq!(found.excerpt.is_some(), expected_place.is_some(), "{output}");
    }

    #[test]
    fn warnings_do_not_hide_the_error_of_a_compiler() {
        let warning = "warning: unexpected `cfg` condition name: `x`\n --> src/a.rs:1:1\n  = help: expected names are: `y`\n\n";
        let error = "error[E0425]: cannot find function `twice`\n --> src/a.rs:2:5\n";
        check(&format!("{}{error}", warning.repeat(500)), Some(("src/a.rs", 2)), "`twice`");
        // If the warnings are the failure, they are shown.
        check(&format!("{warning}3 warnings, which are not allowed\n"), Some(("src/a.rs", 1)), "unexpected");
    }

    #[test]
    fn the_place_is_found_in_the_forms_that_tools_use() {
        check("noise\nerror[E0308]: mismatched\n --> src/a.rs:2:5\n", Some(("src/a.rs", 2)), "E0308");
        check("thread 'x' panicked at ./src/a.rs:3:1:\nboom", Some(("src/a.rs", 3)), "boom");
        check(
            "  File \"TREE/src/a.rs\", line 2, in f\nAssertionError",
            Some(("src/a.rs", 2)),
            "AssertionError",
        );
        check("at f (TREE/src/a.rs:1:9)\nError: x", Some(("src/a.rs", 1)), "Error: x");
    }

    #[test]
    fn each_frame_of_the_repository_is_shown_once() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("work");
        std::fs::create_dir_all(&tree).unwrap();
        let numbered: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
        for name in ["a.py", "b.py"] {
            std::fs::write(tree.join(name), numbered.join("\n")).unwrap();
        }
        let log = folder.path().join("log");
        let output = "Error: x\n  File \"a.py\", line 50, in f\n  File \"a.py\", line 55, in g\n  File \"/usr/lib/x.py\", line 1\n\
                      b.py:20: in h\na.py:90: in i\n";
        std::fs::write(&log, output).unwrap();
        let found = distill(&log, &tree);
        assert_eq!(found.location, Some(Location { path: "a.py".to_owned(), line: 50 }));
        let excerpt = found.excerpt.unwrap();
        let marked: Vec<&str> = excerpt.lines().filter(|line| line.starts_with('>')).collect();
        assert_eq!(marked, [">    50 | line 50", ">    20 | line 20", ">    90 | line 90"]);
        assert!(excerpt.contains("\n\nb.py:20\n") && excerpt.contains("\n\na.py:90\n"), "{excerpt}");
        assert_eq!(excerpt.lines().filter(|line| line.contains(" | ")).count(), 63);
    }

    #[test]
    fn places_outside_the_tree_are_not_followed() {
        check("error at out/passwd:1:1", None, "passwd");
        check("error at ../../etc/passwd:1", None, "passwd");
        check("error at /etc/passwd:1", None, "passwd");
    }

    #[test]
    fn colours_are_taken_off_and_long_output_is_cut() {
        check("\u{1b}[31merror\u{1b}[0m: red", None, "error: red");
        let long = "error: line\n".repeat(500);
        check(&long, None, "(460 lines more)");
        check("", None, "");
    }
}
