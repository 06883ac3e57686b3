//! Tables of logs with their style, and titles with their subjects.

use super::*;

const CONVENTIONAL: [&str; 5] = [
    "feat(parser): read numbers",
    "fix: do not crash on empty input",
    "chore(deps): bump serde",
    "Merge branch 'x'",
    "docs: say how",
];
const TICKETS: [&str; 4] = ["ABC-12: Add a flag", "ABC-9: Remove it", "ABC-7: Rename things", "hotfix"];
const BRACKETS: [&str; 3] = ["[ABC-12] add a flag", "[ABC-9] remove it", "[ABC-7] rename"];
const PLAIN: [&str; 4] = ["Add a flag", "Remove it", "Rename things", "Fix the crash"];
const STOPS: [&str; 3] = ["Added a flag.", "Removed it.", "Renamed things."];
const AREAS: [&str; 4] =
    ["core: a key is known", "tests: lints", "cli: sums saturate", "docs and tests: links"];

#[test]
fn a_subject_is_in_the_style_of_the_log() {
    let table: [(&[&str], &str, Option<&str>, &str); 18] = [
        (&[], "Add a --json flag.", None, "Add a --json flag"),
        (&["x"], "Added a flag", None, "Add a flag"),
        (&CONVENTIONAL, "Add a --json flag", None, "feat: add a --json flag"),
        (&CONVENTIONAL, "Fixes the crash on empty input", None, "fix: fix the crash on empty input"),
        (&CONVENTIONAL, "Document the flags", None, "docs: document the flags"),
        (&CONVENTIONAL, "JSON for listings", None, "feat: JSON for listings"),
        (&CONVENTIONAL, "perf(io): Read in blocks", None, "perf(io): read in blocks"),
        (&TICKETS, "add a flag", Some("ABC-44"), "ABC-44: Add a flag"),
        (&TICKETS, "add a flag", None, "Add a flag"),
        (&TICKETS, "[ABC-3] adds a flag", None, "ABC-3: Add a flag"),
        (&BRACKETS, "Add a flag", Some("ABC-44"), "[ABC-44] add a flag"),
        (&BRACKETS, "ABC-3: Add a flag", None, "[ABC-3] add a flag"),
        (&PLAIN, "adds a flag", Some("ABC-44"), "Add a flag"),
        (&PLAIN, "fix: a crash", None, "fix: A crash"),
        (&STOPS, "Removed the flag", None, "Removed the flag."),
        (&AREAS, "Let listings be JSON", None, "let listings be JSON"),
        (&PLAIN, "first line\nsecond line", None, "First line"),
        (&PLAIN, "  \n\n", None, ""),
    ];
    for (log, title, ticket, expected) in table {
        let style = Style::of(log.iter().copied());
        assert_eq!(style.subject(title, ticket), expected, "{title:?} after {log:?}");
    }
}

#[test]
fn a_long_title_is_cut_between_words_and_visibly() {
    let title =
        "Let the parser of the configuration accept numbers that are written with underscores and signs";
    let subject = Style::usual().subject(title, None);
    assert_eq!(subject, "Let the parser of the configuration accept numbers that are written…");
    assert!(subject.chars().count() <= 72);
    let subject = Style::usual().subject(&"ü".repeat(100), None);
    assert_eq!(subject.chars().count(), 72);
    assert!(subject.ends_with('…'));
}

#[test]
fn a_strict_log_keeps_its_limit() {
    let log: Vec<String> = (0..30).map(|number| format!("Add number {number}")).collect();
    let style = Style::of(log.iter().map(String::as_str));
    assert_eq!(style.limit, 50);
    let title = "Let the parser of the configuration accept numbers with underscores";
    assert!(style.subject(title, None).chars().count() <= 50);
}

#[test]
fn what_looks_like_a_prefix_and_is_none_stays() {
    for title in ["Note: this is it", "A-1 is a road", "UTF-8 everywhere", "std::fmt: use it"] {
        let words = split(title);
        if title == "UTF-8 everywhere" {
            // It looks like a ticket, and there is no way to know better.
            assert_eq!(words.0, Prefix::BareTicket);
        } else {
            assert_eq!(words, (Prefix::None, title));
        }
    }
}
