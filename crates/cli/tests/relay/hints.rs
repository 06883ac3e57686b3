//! The commands in hints of errors: each is run right after the error that printed it.

use std::collections::BTreeSet;

use crate::common::Sandbox;
use crate::common::suggestions::{follow, follow_to, named};
use crate::{CODE, GOOD};

/// Where the hints are written.
const HINTS: &str = include_str!("../../../app/src/error/advice.rs");

/// A place, the command that fails there, and the commands that its hint names.
type Case = (fn() -> Sandbox, &'static [&'static str], &'static [&'static str]);

fn added() -> Sandbox {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["task", "add", "Something"]).must(0);
    sandbox
}

fn bare() -> Sandbox {
    Sandbox::of_files("project", &[("Makefile", "test:\n\ttest -f README.md\n")])
}

fn asks() -> Sandbox {
    let ask = "[[code]]\nstep = [{ outcome = \"needs_input\", payload = { questions = [{ question = \"Which colour?\" }] } }]\n";
    let sandbox = Sandbox::scripted(CODE, ask);
    sandbox.run_to(3);
    sandbox
}

fn without_program() -> Sandbox {
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"no-such-program\"]\n";
    Sandbox::new(config, CODE, "")
}

fn mistaken() -> Sandbox {
    Sandbox::new("agent = 7\n", CODE, "")
}

fn untrusted() -> Sandbox {
    Sandbox::shell(CODE, "true\n").untrusted()
}

fn no_backup() -> Sandbox {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.repo.write("file", "no backup\n");
    sandbox
}

const CASES: [Case; 16] = [
    (added, &["top"], &["acquit task list --json", "acquit inbox --json"]),
    (added, &["token", "remove", "nobody"], &["acquit token list"]),
    (added, &["merge", "T-1"], &["acquit show T-1"]),
    (added, &["approve", "T-1"], &[]),
    (added, &["prompt", "show", "T-1", "--stage", "deliver"], &["acquit workflow graph"]),
    (added, &["workflow", "eject", "none"], &["acquit workflow list"]),
    (added, &["logs", "T-1", "--leg", "9"], &["acquit show T-1"]),
    (added, &["show", "T-9"], &["acquit task list --all-projects"]),
    (asks, &["answer", "T-1"], &["acquit inbox"]),
    (bare, &["run", "Something"], &["acquit init"]),
    (without_program, &["run", "Something"], &["acquit doctor", "acquit agents"]),
    // On a terminal the mistakes themselves are listed.
    (mistaken, &["run", "Something", "--json"], &["acquit workflow check"]),
    (untrusted, &["run", "Something"], &["acquit trust", "acquit trust --show"]),
    (no_backup, &["restore", "none"], &["acquit backup FILE"]),
    (bare, &["demo", "show", "T-1"], &["acquit demo"]),
    (no_backup, &["verify", "file"], &["acquit prove --attest FILE"]),
];

/// Commands of hints whose errors are not made here.
const ELSEWHERE: [(&str, &str); 14] = [
    ("acquit prove --staged", "needs more uncommitted work than git can be asked for"),
    ("acquit task retry … --stage …", "has a gap to fill in"),
    ("acquit run T-1", "needs a harness that ends without its leg"),
    ("acquit service install --name {other}", "changes the machine"),
    ("acquit service uninstall", "changes the machine"),
    ("acquit serve", "does not end"),
    ("acquit prove --hook pre-push", "is a line for a file"),
    ("acquit run", "needs a second machine"),
    ("acquit clean", "needs a second machine"),
    ("acquit store move", "needs a PostgreSQL database"),
    ("acquit workers", "needs a PostgreSQL database"),
    ("acquit store check", "needs a role of a PostgreSQL database"),
    ("acquit store grant ROLE", "needs a role of a PostgreSQL database"),
    ("acquit task list --state working", "needs a leg that runs while the store is moved"),
];

#[test]
fn every_command_in_a_hint_works_after_its_error() {
    for (place, args, hinted) in CASES {
        for (index, command) in hinted.iter().enumerate() {
            let sandbox = place();
            let ran = sandbox.acquit(args);
            assert!(matches!(ran.code, Some(1 | 2 | 5)), "{args:?}{ran}");
            assert_eq!(named(&ran).get(index).map(String::as_str), Some(*command), "{args:?}{ran}");
            match *command {
                // The first lists the mistakes, as it should. Without a terminal, the second shows what there is to
                // trust, and asks for --yes.
                "acquit workflow check" | "acquit trust" => follow_to(&sandbox, command, &[2]),
                // Without a test that runs, nothing is proven. It writes the file all the same.
                "acquit prove --attest FILE" => follow_to(&sandbox, command, &[5]),
                _ => follow(&sandbox, command),
            }
        }
    }
}

#[test]
fn every_hint_with_a_command_is_tried_or_says_why_not() {
    let quoted = HINTS.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let written: BTreeSet<String> = quoted
        .filter(|words| words.starts_with("acquit "))
        .map(|words| words.replace("{task}", "T-1"))
        .collect();
    assert!(written.len() > 15, "{written:?}");
    let tried = CASES.iter().flat_map(|(_, _, hinted)| *hinted).copied();
    let known: BTreeSet<String> =
        tried.chain(ELSEWHERE.iter().map(|(command, _)| *command)).map(str::to_owned).collect();
    assert_eq!(written, known);
}
