//! `acquit check` says what holds on the untouched base, offers the edit that mends the rest, and leaves nothing behind.
#![allow(clippy::disallowed_macros, reason = "the table of packages is printed, to be read")]

#[path = "check/adding.rs"]
mod adding;
mod common;
#[path = "check/first_hour.rs"]
mod first_hour;
#[path = "check/install.rs"]
mod install;
#[path = "check/packages.rs"]
mod packages;
#[path = "check/repositories.rs"]
mod repositories;

use std::fs;

use common::{Sandbox, read};

const CONFIG: &str = r#"
agent = "bot"

# The owner's comment.
[gates.lint]
run = "echo 'style error' && exit 1"
kind = "lint"

[gates.test]
run = "test -f README.md"
kind = "test"

[gates.secrets]
check = "secrets"

[agents.bot]
adapter = "scripted"
script = "script.toml"
"#;

#[test]
fn what_fails_on_the_base_is_found_and_its_edit_is_only_made_when_asked_for() {
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", CONFIG)]);
    let file = sandbox.repo.path().join(".acquit/acquit.toml");
    let found = sandbox.acquit(&["check", "--json"]).must(1).json();
    assert_eq!(found["holds"], false, "{found}");
    assert_eq!(found["problems"][0]["place"]["gate"], "lint", "{found}");
    assert_eq!(found["problems"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(read(&file), CONFIG, "nothing is edited without a word from the user");

    let mended = sandbox.acquit(&["check", "--fix"]).must(0);
    assert!(mended.err.contains("make lint a warning"), "{}", mended.err);
    let text = read(&file);
    assert!(
        text.contains("kind = \"lint\"\nseverity = \"warning\"\n") && text.contains("# The owner's comment."),
        "{text}"
    );

    let tasks = sandbox.acquit(&["task", "list", "--json"]).must(0).out;
    assert!(!tasks.contains("T-"), "the rehearsal shows in the list of tasks: {tasks}");
    assert!(sandbox.refs("refs/acquit/").is_empty(), "{:?}", sandbox.refs("refs/acquit/"));
    let left: Vec<_> = fs::read_dir(sandbox.place("acquit/tasks")).into_iter().flatten().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_setup_that_asks_an_unlisted_server_is_told_which() {
    let config = "[setup]\nrun = \"curl -sS -m 20 https://registry.invalid/x\"\nlock_files = [\"README.md\"]\n[gates.test]\nrun = \"true\"\n";
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", config)]);
    let found = sandbox.acquit(&["check", "--json"]).must(1).json();
    let problem = &found["problems"][0];
    assert_eq!(problem["what"], "setup needs servers that are not listed: registry.invalid", "{found}");
    assert_eq!(problem["mends"][0]["edit"]["add"]["values"][0], "registry.invalid", "{found}");
}

#[test]
fn init_checks_what_it_wrote() {
    let makefile = "test:\n\ttest -f README.md\n";
    let sandbox = Sandbox::of_files("project", &[("Makefile", makefile)]);
    let said = sandbox.acquit(&["init"]).must(0);
    assert!(
        said.err.contains("everything holds") && said.out.contains("✓ test"),
        "{}\n{}",
        said.err,
        said.out
    );
    let written = read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    assert!(written.contains("[gates.dilution]") && written.contains("[gates.secrets]"), "{written}");
}
