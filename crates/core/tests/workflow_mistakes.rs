//! Every mistake that a file can have is found, alone and with its place: one small file each, all messages in a snapshot.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fmt::Write as _;

use acquit_core::config;
use acquit_core::ids::Name;
use acquit_core::toml_reader::{Mistake, Mistakes};
use acquit_core::workflow::{self, Around, Workflow};

use support::Sample;

const WORKFLOWS: &str = include_str!("fixtures/workflow_mistakes.txt");
const CONFIGS: &str = include_str!("fixtures/config_mistakes.txt");
const FULL: &str = include_str!("../reference/workflow.toml");

fn read(text: &str) -> Result<Workflow, Mistakes> {
    let budgets = std::collections::BTreeMap::new();
    let around =
        Around { variables: &["reviewer".to_owned()], gates: &[], budgets: &budgets, texts: &Sample };
    workflow::read_in("workflows/feature.toml", &Name::literal("feature"), text, &around)
}

/// The cases of a fixture: a title after `###`, then the file.
fn cases(fixture: &str) -> Vec<(&str, &str)> {
    fixture.split("### ").skip(1).map(|case| case.split_once('\n').unwrap()).collect()
}

/// The messages of all cases, each of which must have exactly one: more would be the same mistake told twice.
fn table(fixture: &str, mistakes: impl Fn(&str) -> Vec<Mistake>) -> String {
    let mut out = String::new();
    let mut not_one = Vec::new();
    for (title, text) in cases(fixture) {
        let found = mistakes(text);
        if found.len() != 1 {
            not_one.push((title, Mistakes(found.clone()).to_string()));
        }
        for mistake in found {
            let mark = " ".repeat(mistake.column - 1);
            writeln!(out, "# {title}\n{mistake}\n    {}\n    {mark}^\n", mistake.source_line).unwrap();
        }
    }
    assert!(not_one.is_empty(), "{not_one:#?}");
    out
}

#[test]
fn every_mistake_of_a_workflow_is_found_once_and_in_its_place() {
    let table = table(WORKFLOWS, |text| read(text).map_or_else(|mistakes| mistakes.0, |_| Vec::new()));
    insta::assert_snapshot!(table);
}

#[test]
fn every_mistake_of_a_configuration_is_found_once_and_in_its_place() {
    let read = |text: &str| config::read(".acquit/acquit.toml", text);
    let table = table(CONFIGS, |text| read(text).map_or_else(|mistakes| mistakes.0, |_| Vec::new()));
    insta::assert_snapshot!(table);
}

#[test]
fn all_mistakes_of_a_file_are_reported_together_in_the_files_order() {
    let text = FULL
        .replace("run = \"cargo test\"", "runs = \"cargo test\"")
        .replace("mode = \"plan\"", "mode = \"plam\"")
        .replace("\"{{ tone }}", "\"{{ tune }}")
        .replace("Be {{ tone }}", "Be {{ tune }}")
        .replace("passed = \"review\"", "passed = \"revue\"")
        .replace("\nbudget = \"rework\"", "\n# no budget")
        .replace("question = \"Ship it?\"", "");
    insta::assert_snapshot!(read(&text).unwrap_err().to_string());
}

#[test]
fn a_cycle_that_asks_a_person_or_spends_a_budget_is_sound() {
    let sound = |code: &str, review: &str| {
        let text = format!(
            "[stages.code]\nmode = \"implement\"\n{code}\non = {{ pr_ready = \"review\" }}\n\
             [stages.review]\nmode = \"review\"\non = {{ approved = \"done\", refused = {review} }}\n"
        );
        read(&text).map(|_| ())
    };
    assert!(sound("", "\"code\"").is_err());
    sound("", "{ to = \"code\", budget = \"review\" }").unwrap();
    sound("", "[\"code\", \"failed\"]").unwrap();
    sound("", "[]").unwrap();
    sound("approval = true", "\"code\"").unwrap();
    sound("irreversible = true", "\"code\"").unwrap();
}

#[test]
fn every_cycle_is_reported_that_mending_the_others_would_leave() {
    let text = "[stages.a]\nmode = \"investigate\"\non = { x = \"b\", y = \"done\" }\n\
                [stages.b]\nmode = \"investigate\"\non = { x = \"c\", y = \"a\" }\n\
                [stages.c]\nmode = \"investigate\"\non = { x = \"b\", y = \"c\" }\n";
    let whats: Vec<String> = read(text).unwrap_err().0.into_iter().map(|mistake| mistake.what).collect();
    let cycle = |path: &str| format!("a cycle without a budget: {path}");
    assert_eq!(whats, [cycle("a → b → a"), cycle("b → c → b"), cycle("c → c")]);
}

#[test]
fn a_place_is_counted_in_characters_and_shown_without_what_a_terminal_acts_on() {
    let text = "# caf\u{e9}\r\n\"\u{e9}\u{202e}\u{1F980}\" = 1\r\n";
    let Mistakes(mistakes) = config::read("x", &format!("{text}b\u{e9} = \u{1b}[31m\n")).unwrap_err();
    assert!(mistakes.iter().all(|mistake| !mistake.source_line.contains('\u{1b}')), "{mistakes:?}");
    let Mistakes(mistakes) = config::read("x", text).unwrap_err();
    assert_eq!((mistakes[0].line, mistakes[0].column), (2, 1));
    assert_eq!(mistakes[0].source_line, "\"\u{e9}\u{fffd}\u{1F980}\" = 1");
    assert!(!mistakes[0].what.contains('\u{202e}'), "{:?}", mistakes[0].what);
    let Mistakes(mistakes) = config::read("x", "variables = { \"\u{e9}\u{e9}\" = 1 }").unwrap_err();
    assert_eq!((mistakes[0].line, mistakes[0].column), (1, 15));
}

#[test]
fn what_is_reported_is_bounded_however_much_is_wrong() {
    let text = (0..5_000).map(|number| format!("k{number} = 1\n")).collect::<Vec<_>>().concat();
    let Mistakes(mistakes) = read(&text).unwrap_err();
    assert_eq!((mistakes.len(), mistakes[0].line, mistakes[49].line), (50, 1, 49));
    let Mistakes(mistakes) = read(&"#".repeat(300 * 1024)).unwrap_err();
    assert_eq!(mistakes[0].what, "the file has 307200 bytes; 262144 are allowed");
    let stage = |number: usize| format!("[stages.s{number}]\nmode = \"design\"\non = {{ x = \"done\" }}\n");
    let many = (0..201).map(stage).collect::<Vec<_>>().concat();
    let Mistakes(mistakes) = read(&many).unwrap_err();
    assert_eq!(mistakes[0].what, "201 stages; 200 are allowed");
    let word = "x".repeat(100_000);
    let Mistakes(mistakes) = read(&format!("{word} = 1\n")).unwrap_err();
    assert!(mistakes.iter().all(|mistake| mistake.to_string().len() < 500));
    for deep in [format!("{}1", "a.".repeat(90_000)), format!("a = {}", "[".repeat(200_000))] {
        assert!(read(&deep).is_err());
    }
}
