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
    for stays in
        ["give_back() must not change", "give_back() should stay as it is", "`give_back` must still work"]
    {
        assert_eq!(found(&half, &format!("Count from the due date. {stays}.")), 0, "{stays}");
    }
}

/// What is found of a task in a change of a function and its tests in Python.
fn of_task(task: &str, tests: &str) -> Vec<String> {
    let before = "def solve(want):\n    return [want]\n";
    let after = "def solve(want):\n    if not want:\n        return []\n    return [want]\n";
    let known = "import pytest\n\n\ndef test_it():\n    assert solve(1) == [1]\n\n\ndef test_odd():\n    with pytest.raises(ValueError):\n        solve(None)\n";
    let tests = format!("{known}\n\n{tests}");
    let diff = change(&[
        ("solver/solve.py", Some(before), Some(after)),
        ("tests/test_solve.py", Some(known), Some(&tests)),
    ]);
    unasserted(&diff, task, &Permits::default()).into_iter().map(|finding| finding.what).collect()
}

#[test]
fn an_error_that_the_task_wants_is_expected_by_a_test_of_the_change() {
    let crash = "solve(0) ends with a KeyError. It should raise SolveError with the name.";
    let silent = "def test_unknown():\n    assert solve(0) == []\n";
    let found = of_task(crash, silent);
    assert!(found.len() == 1 && found[0].contains("SolveError"), "{found:?}");
    let told = "def test_unknown():\n    with pytest.raises(SolveError):\n        solve(0)\n";
    assert_eq!(of_task(crash, told), [""; 0]);
    // What happens now, and what must not happen, is no wish.
    for task in [
        "solve(0) raises KeyError. It should be empty.",
        "solve(0) must be empty instead of an IndexError.",
        "solve(0) should not raise an error.",
    ] {
        assert_eq!(of_task(task, silent), [""; 0], "{task}");
    }
}

#[test]
fn the_result_of_an_example_of_the_task_stands_in_a_test_of_the_change() {
    let task = "solve() should count what is left.\nExample: limit 2, asked at 700: 300.";
    let found = of_task(task, "def test_left():\n    assert solve(1000) == 1000\n");
    assert!(found.len() == 1 && found[0].contains("`300`"), "{found:?}");
    assert_eq!(of_task(task, "def test_left():\n    assert solve(700) == 300\n"), [""; 0]);
    // Values to ask with have no result, and what happens now is none.
    for task in [
        "solve() must take more, e.g. 25 or 26.",
        "Wrong, for example solve(7) gives now 9. Fix solve() please.",
    ] {
        assert_eq!(of_task(task, "def test_more():\n    assert solve(4) == [4]\n"), [""; 0], "{task}");
    }
}

#[test]
fn a_name_that_the_task_wants_something_of_is_a_part_of_the_change() {
    let tests = "def test_nothing():\n    assert solve(0) == []\n";
    let found = of_task("solve(0) must be empty, and `Version.parse` should take it.", tests);
    assert!(found.len() == 1 && found[0].contains("`parse`"), "{found:?}");
    for task in [
        "`solve` must be empty for 0, in the way of pip.",
        "test_it fails, please mend solve().",
        // What stays is no wish.
        "Cache what solve() reads. save() must not change.",
        "Make the solver faster; the output of `render_all` must stay the same.",
        "Callers of `legacy_parse` should not notice.",
        "solve(0) must be empty. `resolve` should keep its order.",
        // Names of other things.
        "Fix the path handling. It must also work on macOS.",
        "Please support PostgreSQL timestamps, as on GitHub.",
        "It must work on x86_64 and arm64.",
        // Files that the change edits.
        "Add a flag. tests/test_solve.py must show it, and `solver/solve.py` should have it.",
    ] {
        assert_eq!(of_task(task, tests), [""; 0], "{task}");
    }
}

#[test]
fn what_an_item_of_a_list_wants_is_looked_for() {
    let task = "solve() should be stricter:\n\n1. skip 0\n2. a string is a SolveError \"item N: not a number\" (now it says \"no way out\")";
    let half = "def test_zero():\n    assert solve(0) == []\n    with pytest.raises(SolveError):\n        solve(None)\n";
    let found = of_task(task, half);
    assert!(found.len() == 1 && found[0].contains("item N: not a number"), "{found:?}");
    let whole = format!(
        "{half}    with pytest.raises(SolveError, match=\"item 2: not a number\"):\n        solve('a')\n"
    );
    assert_eq!(of_task(task, &whole), [""; 0]);
}

#[test]
fn a_lint_that_the_change_switches_on_may_be_off_in_places() {
    let lints = "[lints.rust]\nunused_must_use = \"deny\"\n";
    let more = format!("{lints}\n[lints.clippy]\nunwrap_used = \"deny\"\n");
    let code = "fn set() {}\n";
    let found = |lints: &str, more: &str| {
        let off = format!("#[allow(clippy::unwrap_used)]\n{code}");
        rules(&under(
            &[("Cargo.toml", Some(lints), Some(more)), ("tests/set.rs", Some(code), Some(&off))],
            Promise::Nothing,
            &[],
        ))
        .len()
    };
    assert_eq!(found(lints, &more), 0);
    // It was on before, or nobody switches it on.
    assert_eq!(found(&more, &format!("{more}# more\n")), 1);
    assert_eq!(found(lints, lints), 1);
    assert_eq!(found(lints, &format!("{lints}# unwrap_used\n")), 1);
}

#[test]
fn only_settings_switch_a_lint_on() {
    let (code, off) = ("fn set() {}\n", "#[allow(dead_code)]\nfn set() {}\n");
    for path in ["README.md", "CHANGELOG.md", "tests/data.json", "package-lock.json"] {
        let found = under(
            &[
                (path, Some("Words.\n"), Some("Words.\ndead_code was cleaned up, deny it.\n")),
                ("src/set.rs", Some(code), Some(off)),
            ],
            Promise::Nothing,
            &[],
        );
        assert_eq!(rules(&found), ["suppressed"], "{path}");
    }
}
