//! `acquit check` says what holds on the untouched base, offers the edit that mends the rest, and leaves nothing behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the table of packages is printed, to be read, and another user runs a test again"
)]

#[path = "check/adding.rs"]
mod adding;
#[path = "check/agents.rs"]
mod agents;
mod common;
#[path = "check/first_hour.rs"]
mod first_hour;
#[path = "check/install.rs"]
mod install;
#[path = "check/machine.rs"]
mod machine;
#[path = "check/packages.rs"]
mod packages;
#[path = "check/repositories.rs"]
mod repositories;
#[path = "check/subfolders.rs"]
mod subfolders;
#[path = "common/user.rs"]
mod user;

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
fn fix_is_offered_only_for_edits_that_it_makes() {
    // An address of the user's own network is opened by nobody but the user, who is asked on a terminal.
    let config = "[setup]\nrun = \"curl -sSf -m 20 http://10.255.255.1/x\"\nlock_files = [\"README.md\"]\n[gates.test]\nrun = \"true\"\n";
    let sandbox = Sandbox::of_files("project", &[(".acquit/acquit.toml", config)]);
    for args in [&["check"][..], &["check", "--fix"]] {
        let said = sandbox.acquit(args).must(1);
        assert!(said.err.contains("add 10.255.255.1:80 to `hosts`"), "{said}");
        assert!(said.err.contains("on a terminal, `acquit check` asks"), "{said}");
        assert!(!said.err.contains("--fix"), "{said}");
    }
    assert_eq!(read(&sandbox.repo.path().join(".acquit/acquit.toml")), config);
}

#[test]
fn init_checks_what_it_wrote() {
    let makefile = "test:\n\ttest -f README.md\n";
    let sandbox = Sandbox::of_files("project", &[("Makefile", makefile)]);
    let said = sandbox.acquit(&["init"]).must(0);
    assert!(
        said.err.contains("setup and gates hold") && said.out.contains("✓ test"),
        "{}\n{}",
        said.err,
        said.out
    );
    let written = read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    assert!(written.contains("[gates.dilution]") && written.contains("[gates.secrets]"), "{written}");
}

#[test]
fn init_with_force_keeps_what_a_person_wrote_beside_the_new_file() {
    let sandbox = Sandbox::of_files("project", &[("Makefile", "test:\n\ttest -f README.md\n")]).untrusted();
    sandbox.acquit(&["init", "--no-check"]).must(0);
    let file = sandbox.repo.path().join(".acquit/acquit.toml");
    let fresh = read(&file);
    let mut edits = Vec::new();
    for name in ["acquit.toml.old", "acquit.toml.old2"] {
        let edited = format!("{fresh}\n[variables]\ntone = \"{name}\"\n");
        fs::write(&file, &edited).unwrap();
        let said = sandbox.acquit(&["init", "--force"]).must(0);
        said.said(&format!("what was there is in .acquit/{name}"));
        said.said("setup and gates hold");
        assert_eq!((read(&file), read(&file.with_file_name(name))), (fresh.clone(), edited.clone()));
        edits.push(edited);
    }
    // Nothing was written by hand since, and the copies stay.
    let said = sandbox.acquit(&["init", "--force", "--no-check"]).must(0);
    assert!(!said.err.contains("what was there"), "{said}");
    assert_eq!(read(&file.with_file_name("acquit.toml.old")), edits[0]);
    assert!(!file.with_file_name("acquit.toml.old3").exists());
}

/// Prints what a runner of Rust prints: one test passes, one fails. Each run leaves a line beside the repository.
const RUNNER: &str = "echo once >> '@ROOT@/ran'\necho 'running 2 tests'\necho 'test adds ... ok'\necho 'test subtracts ... FAILED'\necho\n\
    echo 'failures:'\necho\necho '---- subtracts stdout ----'\necho \"thread 'subtracts' panicked at src/lib.rs:3:5:\"\necho 'assertion failed'\n\
    echo\necho 'failures:'\necho '    subtracts'\necho\necho 'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'\n\
    echo\nexit 101\n";

/// A project whose tests are compared with the base, before `.acquit/` is committed.
fn compared(run: &str) -> Sandbox {
    let sandbox = Sandbox::of_files("project", &[("run.sh", RUNNER)]);
    let config = format!(
        "workflow = \"flow\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"-ec\", \"echo more >> README.md\"]\n\
         [gates.test]\ncheck = \"tests\"\nrun = \"{run}\"\nreport = \"libtest\"\nkind = \"test\"\nagain = 0\n[access]\nwrite = [\"{}\"]\n",
        sandbox.place("").display()
    );
    let flow = "[budgets]\nnothing = 0\nharness = 0\ntest = 0\n[stages.code]\nmode = \"implement\"\ngates = [\"project\"]\n\
                on = { pr_ready = \"deliver\" }\n[stages.deliver]\nkind = \"action\"\naction = \"squash\"\non = { done = \"done\" }\n";
    sandbox.repo.write(".acquit/acquit.toml", &config);
    sandbox.repo.write(".acquit/workflows/flow.toml", flow);
    sandbox.repo.write(".acquit/run.sh", &RUNNER.replace("@ROOT@", &sandbox.place("").to_string_lossy()));
    sandbox
}

fn runs(sandbox: &Sandbox) -> usize {
    read(&sandbox.place("ran")).lines().count()
}

#[test]
fn tests_that_fail_already_are_counted_and_do_not_stop_tasks() {
    let sandbox = compared("sh run.sh");
    let said = sandbox.acquit(&["check"]).must(0);
    assert!(said.out.contains(" · 2 tests · 1 fail already"), "{}", said.out);
    assert!(said.err.contains("everything holds"), "{}", said.err);
}

#[test]
fn what_check_found_on_the_base_counts_after_acquit_s_files_are_committed() {
    let sandbox = compared("sh run.sh");
    sandbox.acquit(&["check"]).must(0);
    let checked = runs(&sandbox);
    assert!(checked > 0);
    sandbox.repo.commit("Set up acquit");
    sandbox.run_to(0);
    assert_eq!(runs(&sandbox), checked + 1, "only the tests of the work ran");
    // Another state of the files is another base.
    sandbox.repo.write("more", "more\n");
    sandbox.repo.commit("more");
    let before = runs(&sandbox);
    sandbox.acquit(&["run", "Another"]).must(0);
    assert_eq!(runs(&sandbox), before + 2, "the base's tests and those of the work");
}

/// There the result depends on a file of `.acquit/`.
#[test]
fn what_check_found_does_not_count_if_a_command_uses_acquit_s_files() {
    let sandbox = compared("test ! -f .acquit/run.sh || sh .acquit/run.sh; sh run.sh");
    sandbox.acquit(&["check"]).must(0);
    let checked = runs(&sandbox);
    sandbox.repo.commit("Set up acquit");
    sandbox.run_to(0);
    assert_eq!(runs(&sandbox), checked + 4, "two for the base and two for the work");
}
