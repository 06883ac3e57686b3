//! The commands that acquit suggests, and following them.
//!
//! With `ACQUIT_TEST_FOLLOW` set (`cargo xtask test --follow`), every test of the binary ends by running what the last
//! command of its world suggested: there, in the state in which it was suggested. `relay/offered` does so for the usual
//! situations in the ordinary run.

use std::process::Stdio;
use std::time::Instant;

use super::{LOOK, PATIENCE, Ran, Sandbox, binary};

/// Suggestions that do not end by themselves, or that change the machine.
const NOT_FOLLOWED: [&str; 6] = ["serve", "service", "worker", "top", "mcp", "logs -f"];

/// 1, 3 and 4 say how a task stands; 2 and 5 that the command does not work.
const HOW_A_TASK_STANDS: [i32; 4] = [0, 1, 3, 4];

/// `workflow check` ends with 2 where it lists mistakes, and is suggested for that.
const MISTAKES_ARE_LISTED: [i32; 2] = [0, 2];

/// Commands that change nothing. What others leave is another situation, in which the rest was not suggested.
const LOOKS: [&str; 14] = [
    "agents",
    "config show",
    "diff",
    "doctor",
    "inbox",
    "logs",
    "prompt show",
    "show",
    "stats",
    "task list",
    "trust --show",
    "workflow check",
    "workflow graph",
    "workflow list",
];

/// The commands in an output: what stands after `acquit` in lines such as `  take it:  acquit merge T-1`.
pub(crate) fn offered(ran: &Ran) -> Vec<String> {
    offered_in(&ran.out)
}

fn offered_in(text: &str) -> Vec<String> {
    let commands = text.lines().filter_map(|line| {
        let (what, command) = line.strip_prefix("  ")?.split_once(": ")?;
        let command = command.trim_start();
        let ours = ["acquit ", "env ", "cd "].iter().any(|front| command.starts_with(front));
        // `doctor` says in such lines what follows for acquit.
        let is_sentence = what.contains('·') || what.trim() == "so";
        (ours && !is_sentence).then(|| command.to_owned())
    });
    commands.collect()
}

/// The commands that sentences name, as in "added; `acquit run T-1` runs it". Those with a gap to fill in are left out.
pub(crate) fn named(ran: &Ran) -> Vec<String> {
    let text = format!("{}\n{}", ran.out, ran.err);
    let quoted = text.split('`').skip(1).step_by(2).map(str::to_owned);
    quoted.filter(|words| words.starts_with("acquit ") && !words.contains(['…', '<', '\n'])).collect()
}

/// Runs a command as a person would, by a shell.
#[track_caller]
pub(crate) fn follow(sandbox: &Sandbox, command: &str) {
    follow_to(sandbox, command, &HOW_A_TASK_STANDS);
}

/// Runs a command that ends with one of these codes.
#[track_caller]
pub(crate) fn follow_to(sandbox: &Sandbox, command: &str, codes: &[i32]) {
    // What was suggested before is no longer suggested in the state that this leaves.
    drop(sandbox.last.lock().expect("no test panicked here").take());
    if let Err(why) = try_to_follow(sandbox, command, codes) {
        panic!("{why}");
    }
}

fn try_to_follow(sandbox: &Sandbox, command: &str, codes: &[i32]) -> Result<(), String> {
    let folder = binary().parent().expect("a folder").to_owned();
    let mut shell = sandbox.program("sh");
    let path = shell.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    let path = format!("{}:{}", folder.display(), path.unwrap_or_default().to_string_lossy());
    let said = sandbox.place("said/suggested");
    let file = std::fs::File::create(&said).expect("a file");
    shell.args(["-c", command]).env("PATH", path).stdin(Stdio::null());
    shell.stdout(file.try_clone().expect("a file")).stderr(file);
    let mut child = shell.spawn().expect("a shell");
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            return Err(format!("{command}: no end after {PATIENCE:?}"));
        }
        std::thread::sleep(LOOK);
    };
    match status.code() {
        Some(code) if codes.contains(&code) => Ok(()),
        code => Err(format!("{command}: {code:?}\n{}", super::read(&said))),
    }
}

/// Whether tests follow suggestions at their ends.
pub(super) fn is_wanted() -> bool {
    std::env::var_os("ACQUIT_TEST_FOLLOW").is_some()
}

/// The words after `acquit`, in a command that may set variables or go to a folder first.
fn verb(command: &str) -> &str {
    let words = command.rsplit_once("acquit ").map_or(command, |(_, words)| words);
    words.strip_prefix("demo ").unwrap_or(words)
}

/// The suggestions to follow in one world: every one that only looks, and then the first of those that act.
pub(crate) fn in_one_world(commands: Vec<String>) -> Vec<String> {
    let is =
        |command: &String, verbs: &[&str]| verbs.iter().any(|verb_of| verb(command).starts_with(verb_of));
    let followed = |command: &String| {
        !is(command, &NOT_FOLLOWED) && !command.contains(" -f") && !command.contains(['…', '<'])
    };
    let (mut looks, acts): (Vec<String>, Vec<String>) =
        commands.into_iter().filter(followed).partition(|command| is(command, &LOOKS));
    looks.sort();
    looks.dedup();
    looks.extend(acts.into_iter().next());
    looks
}

/// Follows what a command suggested at the end of a test.
pub(super) fn follow_all(sandbox: &Sandbox, ran: &Ran) {
    let wrong: Vec<String> = in_one_world([offered(ran), offered_in(&ran.err), named(ran)].concat())
        .iter()
        .filter_map(|command| {
            match verb(command) {
                "workflow check" => try_to_follow(sandbox, command, &MISTAKES_ARE_LISTED),
                // It asks on a terminal, and a person says yes.
                "trust" => try_to_follow(sandbox, &format!("{command} --yes"), &HOW_A_TASK_STANDS),
                _ => try_to_follow(sandbox, command, &HOW_A_TASK_STANDS),
            }
            .err()
        })
        .collect();
    assert!(wrong.is_empty(), "suggested, and does not work: {wrong:#?}\nby:{ran}");
}
