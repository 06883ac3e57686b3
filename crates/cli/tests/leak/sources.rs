//! A secret that cannot be had ends the leg before the agent starts, with the way to mend it and without its value.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_core::leg::Ending;

use crate::{CONFIG, canaries, common::Sandbox, look, sandbox};

const ONE: &str = "[budgets]\nharness = 0\n[stages.write]\nmode = \"implement\"\nsecrets = [\"NAME\"]\non = { pr_ready = \"done\" }\n";

#[track_caller]
fn missing(sandbox: &Sandbox, words: &[&str]) {
    sandbox.run_unchecked_to(3);
    let endings = sandbox.endings();
    let [Ending::Failed { kind, reason }] = endings.as_slice() else { panic!("{endings:?}") };
    assert_eq!(kind.as_str(), "config", "{reason}");
    for word in words {
        assert!(reason.contains(word), "no {word:?} in {reason}");
    }
    assert!(!sandbox.leg_file(1, "output.log").exists(), "the agent was started");
}

#[test]
fn a_variable_that_is_not_set() {
    let config = CONFIG.replace("A_SOURCE", "ANOTHER_SOURCE");
    let sandbox = sandbox(&config, &ONE.replace("NAME", "A_KEY"), "echo x > x\n", &canaries());
    missing(&sandbox, &["find the secret A_KEY", "$ANOTHER_SOURCE is not set"]);
}

#[test]
fn a_file_that_is_not_there_or_that_others_can_read() {
    let canaries = canaries();
    let sandbox = sandbox(CONFIG, &ONE.replace("NAME", "B_KEY"), "echo x > x\n", &canaries);
    let file = sandbox.place("home/b-token");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    missing(&sandbox, &["read the secret B_KEY", "home/b-token (mode 640)", "chmod 600"]);
    look::nowhere(&sandbox, &canaries);
    fs::remove_file(&file).unwrap();
    let ran = sandbox.acquit(&["run", "Again"]).must(2);
    ran.said("read the secret B_KEY from");
    ran.said("No such file");
}

#[test]
fn a_command_that_fails_is_told_without_what_it_printed() {
    let canaries = canaries();
    let command = "command = \"cat @ROOT@/vault/c-token; { echo locked:; cat @ROOT@/vault/c-token; } | tr '\\\\n' ' ' >&2; exit 3\"";
    let config = CONFIG.replace("command = [\"cat\", \"@ROOT@/vault/c-token\"]", command);
    let sandbox = sandbox(&config, &ONE.replace("NAME", "C_KEY"), "echo x > x\n", &canaries);
    missing(&sandbox, &["get the secret C_KEY", "exit 3", "locked: [secret C_KEY]"]);
    look::nowhere(&sandbox, &canaries);
}

#[test]
fn a_value_that_is_too_short_to_be_kept_out_of_logs() {
    let sandbox = sandbox(CONFIG, &ONE.replace("NAME", "A_KEY"), "echo x > x\n", &canaries());
    let sandbox = sandbox.with("A_SOURCE", "abc12");
    missing(&sandbox, &["use the secret A_KEY", "5 bytes", "fewer than 6"]);
}
