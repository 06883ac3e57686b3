//! Arguments and project files that cannot be used: told before anything is made, with what and where and how to mend it.

use std::fs;

use super::{Bench, Ran};

/// What a user did: how the bench is changed, and the command.
struct Case {
    what: &'static str,
    change: fn(&Bench),
    args: &'static [&'static str],
    code: i32,
}

const fn case(what: &'static str, change: fn(&Bench), args: &'static [&'static str]) -> Case {
    Case { what, change, args, code: 2 }
}

fn nothing(_: &Bench) {}

fn config(bench: &Bench, bytes: impl AsRef<[u8]>) {
    fs::write(bench.repo().path().join(".acquit/acquit.toml"), bytes).unwrap();
}

fn workflow(bench: &Bench, text: &str) {
    bench.repo().write(".acquit/workflows/flow.toml", text);
}

fn remove(bench: &Bench, path: &str) {
    fs::remove_dir_all(bench.repo().path().join(path)).unwrap();
}

const CASES: &[Case] = &[
    case("an empty title", nothing, &["run", ""]),
    case("a title of blanks", nothing, &["run", " \t\n"]),
    case("an unknown task", nothing, &["run", "T-99"]),
    case("an unknown task to show", nothing, &["task", "show", "T-99"]),
    case("an unknown task to log", nothing, &["logs", "T-99"]),
    case("an unknown task to cancel", nothing, &["task", "cancel", "T-99"]),
    case("an unknown task to try again", nothing, &["task", "retry", "T-99"]),
    case("something that is no task", nothing, &["task", "show", "first"]),
    case("a number too large for a task", nothing, &["task", "show", "T-99999999999999999999999"]),
    case("an unknown workflow", nothing, &["run", "x", "--workflow", "floww"]),
    case("a workflow that is no name", nothing, &["run", "x", "--workflow", "../flow"]),
    case("an unknown base", nothing, &["run", "x", "--base", "nope"]),
    case("a base that is an option", nothing, &["run", "x", "--base=--all"]),
    case("a variable without a value", nothing, &["run", "x", "--var", "name"]),
    case("an unknown verb", nothing, &["runn", "x"]),
    case("a title that looks like an option", nothing, &["run", "--json-flag"]),
    case("an unknown key", |bench| config(bench, "workflwo = \"flow\"\n"), &["run", "x"]),
    case("broken TOML", |bench| config(bench, "workflow = \"flow\n[agents\n"), &["run", "x"]),
    case(
        "a configuration that is not text",
        |bench| config(bench, b"# \xc3\xa4\nworkflow = \"\xff\"\n"),
        &["run", "x"],
    ),
    case(
        "a configuration of escape sequences",
        |bench| config(bench, "workflow = \x1b[31m\"\u{202e}\"\n"),
        &["run", "x"],
    ),
    case("an empty configuration", |bench| config(bench, ""), &["run", "x"]),
    case("no agent for a stage", |bench| config(bench, "workflow = \"flow\"\n"), &["run", "x"]),
    case(
        "an agent without a program",
        |bench| config(bench, "[agents.bot]\nadapter = \"command\"\nrun = []\n"),
        &["run", "x"],
    ),
    case(
        "a default workflow that is not there",
        |bench| config(bench, "workflow = \"other\"\n"),
        &["workflow", "check"],
    ),
    case(
        "mistakes in two files",
        |bench| {
            config(bench, "agent = 3\n");
            workflow(bench, "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"delivr\" }\n");
        },
        &["workflow", "check"],
    ),
    case("an empty workflow", |bench| workflow(bench, ""), &["run", "x"]),
    case("no configuration", |bench| remove(bench, ".acquit"), &["run", "x"]),
    case("no folder of workflows", |bench| remove(bench, ".acquit/workflows"), &["run", "x"]),
    case(
        "an empty folder of workflows",
        |bench| {
            remove(bench, ".acquit/workflows");
            fs::create_dir(bench.repo().path().join(".acquit/workflows")).unwrap();
        },
        &["run", "x"],
    ),
    case(
        "a file instead of the folder of workflows",
        |bench| {
            remove(bench, ".acquit/workflows");
            bench.repo().write(".acquit/workflows", "");
        },
        &["run", "x"],
    ),
    case(
        "a workflow's file with a bad name",
        |bench| bench.repo().write(".acquit/workflows/My Flow.toml", ""),
        &["run", "x"],
    ),
    case(
        "a folder instead of a workflow's file",
        |bench| bench.repo().write(".acquit/workflows/b.toml/x", ""),
        &["run", "x"],
    ),
    case(
        "a file instead of .acquit",
        |bench| {
            remove(bench, ".acquit");
            bench.repo().write(".acquit", "");
        },
        &["run", "x"],
    ),
    case(
        "a file where init writes",
        |bench| {
            remove(bench, ".acquit");
            bench.repo().write(".acquit", "");
        },
        &["init"],
    ),
    case("init where it was done before", nothing, &["init"]),
];

/// What the command said, and that it made nothing.
fn play(case: &Case) -> String {
    let bench = Bench::new();
    (case.change)(&bench);
    let Ran { err, out, .. } = bench.acquit(case.args).must(case.code);
    assert_eq!(out, "", "{}: data was printed", case.what);
    let refs = bench.repo().git(&["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main", "{}: something was made in the repository", case.what);
    assert!(!bench.place("acquit/tasks").exists(), "{}: a task was begun", case.what);
    format!("## {}\n{:?}\n{}\n", case.what, case.args, bench.mask(err.trim_end()))
}

#[test]
fn what_cannot_be_used_is_told_with_place_and_remedy() {
    let texts: Vec<String> = std::thread::scope(|scope| {
        let (one, other) = CASES.split_at(CASES.len() / 2);
        let halves = [one, other].map(|half| scope.spawn(|| half.iter().map(play).collect::<Vec<_>>()));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("usage", texts.join("\n"));
    });
}

#[test]
fn unusual_titles_make_tasks() {
    let long = "x".repeat(100_000);
    let titles: [(&[&str], &str); 5] = [
        (&["run", "--", "--dashes first"], "T-1 --dashes first"),
        (&["run", "one line\nanother line"], "T-1 one line"),
        (&["run", "Füge 日本 hinzu 🎉"], "T-1 Füge 日本 hinzu 🎉"),
        (&["run", "\u{1b}[31mred\u{202e}"], "T-1 \\u{1b}[31mred\\u{202e}"),
        (&["run", &long], "T-1 xxxxxxxx"),
    ];
    for (args, shown) in titles {
        let bench = Bench::new();
        bench.acquit(args).must(0).says(shown);
        bench.acquit(&["task", "list"]).must(0).says("done");
        bench.acquit(&["task", "show", "T-1"]).must(0).says(shown);
        let branch = bench.repo().git(&["for-each-ref", "--format=%(refname)", "refs/heads/acquit/"]);
        assert_eq!(bench.at_ref(&branch, "new.txt"), "work", "{shown}");
        let message = bench.repo().git(&["log", "-1", "--format=%B", &branch]);
        assert!(message.lines().next().unwrap().chars().count() <= 72, "{message}");
    }
}
