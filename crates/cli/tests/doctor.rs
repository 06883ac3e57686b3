//! `acquit doctor` says what there is, and ends as a script can use it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{SCRIPTED, Sandbox};

const FLOW: &str = "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"deliver\" }\n\
                    [stages.deliver]\nkind = \"action\"\naction = \"squash\"\non = { done = \"done\" }\n";

/// The abilities by name, and whether all is there.
fn asked(sandbox: &Sandbox) -> (Option<i32>, serde_json::Value) {
    let ran = sandbox.acquit(&["doctor", "--json"]);
    (
        ran.code,
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err)),
    )
}

fn one<'a>(all: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let list = all["abilities"].as_array().unwrap();
    list.iter().find(|ability| ability["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:#}"))
}

#[test]
fn the_exit_code_says_whether_tasks_would_start_and_every_lack_has_its_consequence() {
    let sandbox = Sandbox::scripted(FLOW, "");
    let (code, all) = asked(&sandbox);
    let list = all["abilities"].as_array().unwrap();
    let lacks = |ability: &&serde_json::Value| ability["state"].get("no").is_some();
    assert!(list.iter().filter(lacks).all(|ability| ability["consequence"] != ""), "{all:#}");
    let complete = !list.iter().filter(lacks).any(|ability| ability["need"] != "useful");
    assert_eq!((all["complete"].as_bool(), code), (Some(complete), Some(i32::from(!complete))));
    for name in [
        "user namespaces",
        "Landlock",
        "seccomp",
        "barrier to Unix sockets",
        "barrier to abstract sockets",
        "store",
        "project",
        "version of git",
    ] {
        one(&all, name);
    }
    assert!(one(&all, "version of git")["state"]["yes"].as_str().unwrap().starts_with("git version"));
}

#[test]
fn words_come_without_colours_where_there_is_no_terminal_and_say_it_all_in_the_last_line() {
    let sandbox = Sandbox::scripted(FLOW, "");
    let ran = sandbox.acquit(&["doctor"]);
    assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
    assert!(
        ran.out.contains("  seccomp  ") && ran.out.lines().last().unwrap().contains("sandbox = \"on\""),
        "{}",
        ran.out
    );
}

#[test]
fn mistakes_of_the_project_are_found_with_their_place() {
    let sandbox = Sandbox::scripted(FLOW, "");
    assert!(one(&asked(&sandbox).1, "project")["state"].get("yes").is_some());
    sandbox.repo.write(".acquit/acquit.toml", "agnt = \"bot\"\n");
    let (code, all) = asked(&sandbox);
    let wrong = one(&all, "project");
    assert_eq!(code, Some(1));
    assert!(wrong["state"]["no"].as_str().unwrap().contains(".acquit/acquit.toml:1:1"), "{wrong:#}");
}

#[test]
fn a_store_that_cannot_be_opened_is_said_and_does_not_hide_the_rest() {
    let sandbox = Sandbox::scripted(FLOW, "").with("ACQUIT_STORE", "/dev/null/store.db");
    let (code, all) = asked(&sandbox);
    assert_eq!(code, Some(1));
    assert!(one(&all, "store")["state"].get("no").is_some(), "{all:#}");
    assert!(one(&all, "project")["state"].get("yes").is_some(), "{all:#}");
}

#[test]
fn a_sandbox_that_is_written_off_is_said_even_where_the_machine_could() {
    let sandbox = Sandbox::new(&format!("sandbox = \"off\"\n{SCRIPTED}"), FLOW, "");
    let (code, all) = asked(&sandbox);
    assert_eq!(code, Some(1));
    let off = one(&all, "sandbox of the project");
    assert!(off["state"]["no"].as_str().unwrap().contains("off"), "{off:#}");
}
