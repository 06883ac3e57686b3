//! The text of a request, whatever went into it: nothing in it is alive but its own mark, and it fits.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use acquit_core::agent::Usage;
use acquit_core::artifact::{Artifact, DiffStats};
use acquit_core::config::Commit;
use acquit_core::delivery::message::{Parts, message};
use acquit_core::delivery::style::Style;
use acquit_core::delivery::{Account, LIMIT, Marker, Whose, body, title};
use acquit_core::gate::{Evidence, Severity, Verdict, Weight};
use acquit_core::ids::Name;
use acquit_core::leg::{Ending, Entry, Past, Purpose};
use acquit_core::outcome::{Outcome, Source};
use acquit_core::task::{Base, Project, Seed, Task, Wish};
use acquit_core::time::{Span, Timestamp};
use proptest::prelude::*;
use regex::Regex;

/// What forges act on, written down from their side.
const ALIVE: [&str; 12] = [
    r"@[\w-]",
    r"#[0-9]",
    r"![0-9\[]",
    r"\b(?:[Gg][Hh]|[A-Z][A-Z0-9_]+)-[0-9]",
    r"&#?[0-9A-Za-z]",
    r"<[A-Za-z/!?]",
    r"[A-Za-z]://",
    r"(?i)www\.\w",
    r"\][(\[:]",
    r"(?m)^[\s>*+-]*/[A-Za-z]",
    r"(?i)(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:[\w./-]*#|GH-|https?://)[0-9]",
    r"\[[a-z_]+:[0-9]",
];

fn seed(text: &str) -> Seed {
    Seed {
        id: "T-12".parse().unwrap(),
        wish: Wish { description: text.to_owned(), ..Wish::titled(text) },
        project: Project { name: "widget".to_owned(), path: "/srv/widget".to_owned() },
        workflow: Name::literal("flow"),
        base: Base { branch: Some("main".to_owned()), commit: "a".repeat(40), work: None },
        branch: "acquit/x-T-12".to_owned(),
        created: Timestamp(1),
    }
}

/// A task into which a text of others got wherever one can.
fn task(text: &str) -> (Task, Vec<Verdict>) {
    let mut task = Task::new(seed(text));
    let payload = serde_json::json!({ "alternatives": [text, { "name": text, "why": text }] });
    task.past.push(Past {
        number: 1,
        entry: Entry { stage: Name::literal("code"), purpose: Purpose::Work },
        ending: Ending::Passed {
            outcome: Outcome { name: Name::literal("pr_ready"), payload, source: Source::Harness },
        },
        usage: Usage {
            model: Some(text.to_owned()),
            input: 7,
            cost_micros: Some(20_000),
            ..Usage::default()
        },
        session: None,
    });
    task.learnings = vec![text.to_owned(); 20];
    task.artifacts = vec![
        Artifact::Diff(DiffStats { files: 1, insertions: 2, deletions: 3 }),
        Artifact::Plan { text: format!("# Plan\n{text}\n## Alternatives\n{text}\n## Rest\n") },
    ];
    let mut evidence = Evidence::default();
    evidence.figure(text, text);
    evidence.figure("of the change", 31);
    evidence.figure("assert-red", 30);
    for number in 0..30 {
        evidence.turned(&format!("suite › {text} {number}"));
    }
    evidence.find(Weight::Noted, "rule", text, None);
    let verdict = Verdict {
        reused: None,
        stopped: None,
        gate: Name::literal("tdd"),
        passed: true,
        severity: Severity::Error,
        command: text.to_owned(),
        ended: "exit 0".to_owned(),
        took: Span::secs(3),
        output: String::new(),
        failure: None,
        evidence,
        tail: text.to_owned(),
    };
    (task, vec![verdict])
}

fn written(text: &str) -> (Marker, String) {
    written_by(text, serde_json::json!({ "alternatives": [text, { "name": text, "why": text }] }))
}

/// The request of work that an agent reported with this payload.
fn written_by(text: &str, payload: serde_json::Value) -> (Marker, String) {
    let (mut task, verdicts) = task(text);
    if let Ending::Passed { outcome } = &mut task.past[0].ending {
        outcome.payload = payload;
    }
    let marker = Marker::of(&task.seed);
    let commit = "b".repeat(40);
    let account = Account {
        task: &task,
        verdicts: &verdicts,
        commit: &commit,
        branch: &task.seed.branch,
        base: "aaaa",
        moved: Some("cccccccccccccccccccc"),
        cost: true,
        marker: &marker,
    };
    let text = body(&account);
    (marker, text)
}

/// The text between the marks.
fn inside(text: &str) -> &str {
    let start = text.find("-->\n").unwrap() + 4;
    &text[start..text.rfind("\n<!-- /acquit -->").unwrap()]
}

#[test]
fn a_request_tells_the_whole_story() {
    let (marker, text) = written("Add a flag");
    for words in [
        "## What was asked\n\n> Add a flag\n",
        "1 file, +2 −3, as commit bbbbbbbbbbbb.",
        "> - Add a flag\n",
        "**The base has moved:** what follows was seen on aaaa, and the branch to merge into was at cccccccccccc when",
        "| tdd | passed |",
        "**Red before, green now:** of 31 tests of this change, 30 failed by an assertion",
        "pass on the new:\n\n> - suite › Add a flag 0\n> - suite › Add a flag 1\n",
        "> - suite › Add a flag 19\n\nand 10 more.\n",
        "```sh\ngit fetch origin acquit/x-T-12\ngit checkout bbbb",
        "$0.02 by the agents' own figures",
        "## Alternatives considered\n\n> - Add a flag\n> - Add a flag: Add a flag\n",
    ] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    assert_eq!(marker.whose(&text), Whose::Ours);
    assert_eq!(Marker::of(&seed("Add a flag")), marker, "the same task has the same mark");
    assert_ne!(Marker::of(&seed("Another")), marker);
}

#[test]
fn work_that_no_gate_saw_is_said_to_be_unproven() {
    let (task, _) = task("x");
    let marker = Marker::of(&task.seed);
    let account = Account {
        task: &task,
        verdicts: &[],
        commit: "c",
        branch: "b",
        base: "a",
        moved: None,
        cost: true,
        marker: &marker,
    };
    assert!(body(&account).contains("nothing of it is proven"));
}

#[test]
fn however_much_there_is_it_fits() {
    for text in
        ["x".repeat(1 << 20), "@a#1 ".repeat(200_000), "\u{202e}".repeat(100_000), "é\n".repeat(500_000)]
    {
        let (marker, text) = written(&text);
        assert!(text.chars().count() <= LIMIT && text.len() <= LIMIT, "{}", text.len());
        assert_eq!(marker.whose(&text), Whose::Ours);
        assert!(text.contains("## Proof"), "what counts most is not what is left out");
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let dangerous = prop::sample::select(vec![
        "@",
        "#",
        "!",
        "&",
        "<",
        "[",
        "]",
        "(",
        ":",
        "/",
        "//",
        "-",
        "12",
        "GH",
        "www",
        ".",
        "closes ",
        "fixes: ",
        "\n",
        " ",
        ">",
        "|",
        "\\",
        "`",
        "```",
        "<!-- acquit: T-12 ",
        "-->",
        "<!-- /acquit -->",
        "ada",
        "\r",
        "https",
        "/merge",
        "64;",
        "PROJ",
        "~~~",
        "# Proof\n",
        "\u{200b}",
    ]);
    let piece =
        prop_oneof![8 => dangerous.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn no_text_of_others_makes_another_column() {
    let (_, text) = written("a | **passed** | b \\| c");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 1, "{text}");
    for row in rows {
        let mut bare = row.replace("\\\\", "");
        bare = bare.replace("\\|", "");
        assert_eq!(bare.matches('|').count(), 5, "{row}");
    }
}

#[test]
fn no_line_of_a_commits_message_begins_with_a_command_where_it_was_broken() {
    let (task, _) = task("x");
    let changes: Vec<String> = (40..80).map(|width| format!("{} /merge now", "x".repeat(width))).collect();
    let command = Regex::new(r"(?m)^[\s>*+-]*/[A-Za-z]").unwrap();
    for change in changes {
        let (settings, seen) = (Commit::default(), Style::usual());
        let changes = [change];
        let parts = Parts { task: &task, settings: &settings, seen: &seen, changes: &changes, phase: None };
        let text = message(&parts).unwrap();
        assert!(!command.is_match(&text), "{text}");
        assert!(text.replace('\u{200b}', "").contains("/merge"), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_text_of_others_is_alive_in_a_request(text in pieces()) {
        let alive: Vec<Regex> = ALIVE.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
        let (marker, whole) = written_by(&text, serde_json::json!({
            "alternatives": [text], "summary": text, "reasoning": text, "changes": [text, { "name": text }],
        }));
        let part = inside(&whole);
        for pattern in &alive {
            let found = pattern.find(part).map(|found| found.as_str().to_owned());
            prop_assert_eq!(found, None, "{} in what was described: {}", pattern, part);
        }
        prop_assert_eq!(marker.replace(&whole, "x"), "x", "nothing of it is left behind");
        let (marker, whole) = written(&text);
        let part = inside(&whole);
        for pattern in &alive {
            let found = pattern.find(part).map(|found| found.as_str().to_owned());
            prop_assert_eq!(found, None, "{} in {}", pattern, part);
            let found = pattern.find(&title(&text)).map(|found| found.as_str().to_owned());
            prop_assert_eq!(found, None, "{} in the title", pattern);
        }
        prop_assert_eq!(whole.matches("<!--").count(), 2, "no mark but ours");
        prop_assert_eq!(marker.replace(&whole, "x"), "x", "nothing of it is left behind");
    }
}

fn ended(number: u32, payload: serde_json::Value) -> Past {
    Past {
        number,
        entry: Entry { stage: Name::literal("describe"), purpose: Purpose::Work },
        ending: Ending::Passed {
            outcome: Outcome { name: Name::literal("described"), payload, source: Source::Harness },
        },
        usage: Usage::default(),
        session: None,
    }
}

#[test]
fn a_request_has_what_the_describer_was_asked_for_and_nothing_of_abandoned_tries() {
    let mut task = Task::new(seed("Improve something"));
    let abandoned = serde_json::json!({
        "title": "Old title", "summary": "old words", "reasoning": "old reasons", "alternatives": ["old way"],
    });
    task.past.push(ended(2, abandoned));
    task.tried.push(acquit_core::task::Tried {
        value: "tests".to_owned(),
        reason: "in vain".to_owned(),
        failure: None,
        left: 1,
        next: Some("refactoring".to_owned()),
        last_leg: 2,
    });
    task.learnings = vec!["implement: first try".to_owned(), "implement: second try".to_owned()];
    let written = |task: &Task| {
        let (marker, commit) = (Marker::of(&task.seed), "b".repeat(40));
        let (verdicts, branch) = ([], &task.seed.branch);
        body(&Account {
            task,
            verdicts: &verdicts,
            commit: &commit,
            branch,
            base: "a",
            moved: None,
            cost: true,
            marker: &marker,
        })
    };
    let text = written(&task);
    assert!(text.contains("second try") && !text.contains("first try"), "{text}");
    let described = serde_json::json!({
        "title": "Split the parser", "summary": "it is in two parts now", "reasoning": "each can be tested",
        "changes": ["the lexer is a module", "so is the reader"], "alternatives": ["leave it: too long"],
    });
    task.past.push(ended(4, described));
    let text = written(&task);
    for words in [
        "Category: refactoring (fallback from tests)",
        "> it is in two parts now",
        "## Reasoning\n\n> each can be tested",
        "## Changes\n\n> - the lexer is a module\n> - so is the reader",
        "> - leave it: too long",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(!text.contains("old ") && !text.contains("try"), "{text}");
    assert_eq!(task.headline(), "Split the parser");
}
