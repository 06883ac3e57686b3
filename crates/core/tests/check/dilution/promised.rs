//! Rules that need more than one file of the change: what the task promises, what the base settles, what a workspace has.

use acquit_core::check::Finding;
use acquit_core::check::dilution::{Outlines, Permits, Promise, dilution, unasserted};

use super::{breaks, honest, look};
use crate::kit::{Edit, change};

fn under(edits: &[Edit<'_>], promise: Promise, settled: &[(&str, &str)]) -> Vec<Finding> {
    let settled: Vec<(String, String)> =
        settled.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    dilution(&change(edits), &Outlines::default(), &settled, promise, &Permits::default()).findings
}

fn rules(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn an_expected_output_stays_where_the_task_promises_the_same_results() {
    let snapshot = "exports[`a 1`] = `\n[\n  \"one\",\n  \"two\",\n  \"three\",\n  \"four\",\n]\n`;\n";
    let other = snapshot.replace("two", "twice");
    let path = "test/__snapshots__/a.test.js.snap";
    let found = |promise| under(&[(path, Some(snapshot), Some(&other))], promise, &[]);
    assert_eq!(rules(&found(Promise::Same)), ["expectation-changed"]);
    assert!(found(Promise::Nothing).is_empty());
    // What only moved is there still.
    let moved = snapshot.replace("  \"one\",\n  \"two\",\n", "  \"two\",\n  \"one\",\n");
    assert!(under(&[(path, Some(snapshot), Some(&moved))], Promise::Same, &[]).is_empty());
}

#[test]
fn a_snapshot_that_keeps_only_types_is_weaker() {
    let path = "test/__snapshots__/a.test.js.snap";
    let before = "exports[`a 1`] = `\n{\n  \"id\": 7,\n  \"total\": 30,\n}\n`;\n";
    breaks(path, before, &before.replace("30", "Any<Number>"), "assertion-weakened", 4);
    honest(path, before, &before.replace('}', "  \"made\": Any<Date>,\n}"));
}

#[test]
fn a_crate_that_leaves_the_workspace_takes_its_tests_along() {
    let before = "[workspace]\nmembers = [\"core\", \"cli\"]\n";
    breaks("Cargo.toml", before, &before.replace(", \"cli\"", ""), "settings-loosened", 2);
    let narrowed = format!("{before}default-members = [\"core\"]\n");
    breaks("Cargo.toml", before, &narrowed, "settings-loosened", 3);
    honest("Cargo.toml", before, &before.replace("\"cli\"", "\"cli\", \"web\""));
    honest("Cargo.toml", &narrowed, before);
}

#[test]
fn a_new_file_of_settings_is_compared_with_the_one_whose_place_it_takes() {
    let project = "[tool.ruff]\nline-length = 100\n\n[tool.ruff.lint]\nselect = [\"E\", \"F\", \"B\"]\n";
    let new = |text: &str| {
        under(&[("ruff.toml", None, Some(text))], Promise::Nothing, &[("pyproject.toml", project)])
    };
    assert!(rules(&new("line-length = 100\n\n[lint]\nselect = [\"E\"]\n")).contains(&"settings-loosened"));
    assert!(new("line-length = 100\n\n[lint]\nselect = [\"E\", \"F\", \"B\", \"I\"]\n").is_empty());
}

#[test]
fn a_failure_that_is_only_logged_or_trapped_is_ignored() {
    for line in ["npm test || warn \"red\"", "npm test || log_error red", "trap 'exit 0' EXIT"] {
        breaks("scripts/check.sh", "a\nb\n", &format!("a\n{line}\nb\n"), "failure-ignored", 2);
    }
    honest("justfile", "test:\n    cargo test\n", "test:\n    cargo test --no-fail-fast --workspace\n");
    honest("scripts/check.sh", "a\n", "a\ntrap 'rm -f x' EXIT\nnpm test || exit 1\n");
}

#[test]
fn a_command_that_looks_at_fewer_packages_is_narrower() {
    for (path, before, after) in [
        ("Makefile", "test:\n\tgo test -count=1 ./...\n", "test:\n\tgo test -count=1 .\n"),
        ("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test ./price/...\n"),
        ("justfile", "test:\n    cargo test\n", "test:\n    cargo test -p core\n"),
        ("Jenkinsfile", "sh 'mvn -B verify'\n", "sh 'mvn -B -pl core verify'\n"),
    ] {
        let found = look(&[(path, Some(before), Some(after))]);
        assert!(rules(&found).contains(&"settings-loosened"), "{after}: {found:?}");
        honest(path, after, before);
    }
    honest("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test -race ./...\n");
    honest("Makefile", "test:\n\tpytest -q tests\n", "test:\n\tpytest -q -p no:cacheprovider .\n");
}

#[test]
fn a_setting_that_moved_to_another_file_is_still_there() {
    let cfg = "[metadata]\nname = slots\n\n[coverage:report]\nfail_under = 85\n";
    let rest = "[metadata]\nname = slots\n";
    let project =
        |limit: u32| format!("[project]\nname = \"slots\"\n\n[tool.coverage.report]\nfail_under = {limit}\n");
    let found = |limit: u32| {
        let new = project(limit);
        let edits = [
            ("setup.cfg", Some(cfg), Some(rest)),
            ("pyproject.toml", Some("[project]\nname = \"slots\"\n"), Some(new.as_str())),
        ];
        under(&edits, Promise::Nothing, &[]).len()
    };
    assert_eq!(found(85), 0);
    assert!(found(20) > 0);
}

#[test]
fn a_snapshot_may_go_if_the_tests_have_its_values() {
    let path = "test/__snapshots__/a.test.js.snap";
    let snapshot = "// Jest Snapshot v1\n\nexports[`a 1`] = `\n[\n  \"a quick\",\n  \"brown fox\",\n]\n`;\n";
    let before = "test('a', () => {\n  expect(wrap(text)).toMatchSnapshot();\n});\n";
    let found = |line: &str| {
        let after = before.replace("toMatchSnapshot()", line);
        rules(&under(
            &[(path, Some(snapshot), None), ("test/a.test.js", Some(before), Some(&after))],
            Promise::Nothing,
            &[],
        ))
        .contains(&"snapshot-rewritten")
    };
    assert!(!found("toEqual([\"a quick\", \"brown fox\"])"));
    assert!(found("toEqual([\"a quick\"])"));
}

#[test]
fn tasks_promise_the_same_behaviour_in_many_words() {
    for text in [
        "Use reduce. No change of behaviour.",
        "Extract the key function",
        "Rename Slot to Span",
        "The output must not change: keep its behaviour.",
        "Report: count cards and hours in one pass, with a struct per hour.",
        "lookup: walk the path with a loop instead of reduce.",
        "Rewrite mean.",
        "Sort the cases of the parser: values first. Only sort.",
        "report() calls total() for each row. Let it keep the sum instead.",
    ] {
        assert_eq!(Promise::of(text), Promise::Same, "{text}");
    }
    assert_eq!(Promise::of("Two parcels with equal fields are one"), Promise::Equality);
    assert_eq!(Promise::of("split() must not lose cents"), Promise::Nothing);
    assert_eq!(Promise::of("Rewrite mean: it crashes on an empty list"), Promise::Nothing);
    assert_eq!(Promise::of("list() calls total() twice, so the fee is wrong."), Promise::Nothing);
    assert_eq!(Promise::of("Sort files by size"), Promise::Nothing);
    assert_eq!(Promise::of("Merge overwrites the counts instead of adding."), Promise::Nothing);
}

#[test]
fn a_list_of_the_task_is_done_whole() {
    let task = "by_name should know aqua, black, blue, fuchsia, gray, green and lime.";
    let before = "const NAMES: [(&str, u32); 1] = [(\"black\", 0)];\n";
    let with = |names: &[&str]| {
        let rows: Vec<String> = names.iter().map(|name| format!("    (\"{name}\", 1),\n")).collect();
        format!("const NAMES: [(&str, u32); 9] = [(\"black\", 0),\n{}];\n", rows.concat())
    };
    let found = |after: &str, task: &str| {
        let diff = change(&[("src/names.rs", Some(before), Some(after))]);
        rules(&unasserted(&diff, task, &Permits::default()))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&with(&["blue", "lime"]), task), ["task-unasserted"]);
    let all = with(&["aqua", "blue", "fuchsia", "gray", "green", "lime"]);
    assert!(found(&all, task).is_empty());
    // Code that writes none of them knows them in another way.
    assert!(found("const NAMES: [(&str, u32); 0] = load();\n", task).is_empty());
    assert!(found(&with(&["blue", "lime"]), "Know blue and lime.").is_empty());
}

#[test]
fn each_function_that_the_task_wants_something_of_is_touched_or_tested() {
    let before = "def renew(loan):\n    return loan.today\n\n\ndef give_back(item):\n    return item\n";
    let half = before.replace("loan.today", "loan.due");
    let whole = half.replace("return item", "return lend(item)");
    let found = |after: &str, task: &str| {
        let diff = change(&[("shelf/desk.py", Some(before), Some(after))]);
        unasserted(&diff, task, &Permits::default()).len()
    };
    let both = "renew() must count from the due date, and give_back() of an unknown item should raise.";
    assert_eq!((found(&half, both), found(&whole, both)), (1, 0));
    // What is only named, or named beside something that was done, is not asked for.
    assert_eq!(found(&half, "renew() must count from the due date. give_back() does so already."), 0);
    assert_eq!(found(&half, "renew() must do what give_back() does."), 0);
}
