//! Attacks, as an agent or the tests of a change would make them: a table of verbs, each of which tries one thing in
//! every way it knows, and says in one line what came of it.
//!
//! `hostile <world> <verb>…`: the world is a file of `key=value` lines with the places that are not the attacker's. Each
//! verb has a process of its own, so that what one does to itself is not the next one's, and a limit of time.
//!
//! ```text
//! attack write-plain: refused EACCES, EROFS (4 ways)
//! attack read-ssh-key: done plain: CANARY-…
//! ```
//!
//! **An attack that succeeds does no harm** beyond the world it was given: devices are opened and not written, settings
//! are written with the value that they have, and whatever could reach the machine (signals to everybody, bombs)
//! happens only where the attacker is shut into a pid namespace. It talks to nobody but loopback and addresses
//! that are reserved for documentation.
//!
//! A new attack is a line in the table of its file, and a line in the test that says what must be seen from outside.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an attacker keeps no rules: it starts what it likes, reads its environment and prints what it found"
)]
#![allow(clippy::unnecessary_wraps, reason = "all attacks have one signature")]

mod bombs;
mod files;
mod git;
mod kernel;
mod leftovers;
mod mounts;
mod network;
pub mod outside;
mod powers;
mod processes;
mod proxy;
pub mod secrets;
mod sockets;
mod sys;
mod tried;
mod world;

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, Stdio};

pub use tried::Tried;
pub use world::{MARK, World};

/// How long an attack may take.
const LIMIT: u32 = 10;

/// Verb, what it tries, how.
pub type Attack = (&'static str, &'static str, fn(&World, &mut Tried));

/// All of them.
pub fn attacks() -> Vec<Attack> {
    let tables = [
        files::ATTACKS,
        mounts::ATTACKS,
        processes::ATTACKS,
        kernel::ATTACKS,
        powers::ATTACKS,
        sockets::ATTACKS,
        network::ATTACKS,
        proxy::ATTACKS,
        git::ATTACKS,
        leftovers::ATTACKS,
        bombs::ATTACKS,
        secrets::ATTACKS,
    ];
    tables.concat()
}

/// Runs the verbs of the arguments; `all` is every one, and `outside` is not an attack but what is attacked.
pub fn main(args: Vec<OsString>) -> ExitCode {
    let mut args = args.into_iter().map(|arg| arg.to_string_lossy().into_owned());
    let file = args.next().unwrap_or_default();
    if file == "outside" {
        return outside::main(&args.next().unwrap_or_default());
    }
    if file == "list" {
        for (verb, what, _) in attacks() {
            println!("{verb}: {what}");
        }
        return ExitCode::SUCCESS;
    }
    let world = World::read(&file);
    let verbs: Vec<String> = args.collect();
    match verbs.as_slice() {
        [one] => match one.strip_prefix("in-this-process=") {
            Some(verb) => alone(&world, verb),
            None => apart(&file, one),
        },
        many => many.iter().for_each(|verb| apart(&file, verb)),
    }
    ExitCode::SUCCESS
}

/// Runs a verb in this process.
fn alone(world: &World, verb: &str) {
    // A machine that is emulated needs more.
    let times = world.text("patience").parse().unwrap_or(1);
    sys::alarm(LIMIT * times);
    sys::survive_file_limit();
    let mut tried = Tried::default();
    match attacks().into_iter().find(|(name, ..)| *name == verb) {
        Some((.., attack)) => attack(world, &mut tried),
        None => tried.error("no such verb"),
    }
    println!("attack {verb}: {tried}");
}

/// Runs a verb in a process of its own, and says how that ended if it could not say so itself.
fn apart(world: &str, verb: &str) {
    let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let child = Command::new(program)
        .arg0("hostile")
        .args([world, &format!("in-this-process={verb}")])
        .stdout(Stdio::inherit())
        .status();
    match child {
        Ok(status) => match status.signal() {
            None => {}
            Some(libc::SIGSYS) => println!("attack {verb}: refused SIGSYS"),
            Some(libc::SIGALRM) => println!("attack {verb}: error no end in time"),
            Some(libc::SIGKILL) => println!("attack {verb}: refused SIGKILL"),
            Some(signal) => println!("attack {verb}: refused signal {signal}"),
        },
        Err(error) => println!("attack {verb}: error it did not start: {error}"),
    }
}
