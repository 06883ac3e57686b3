//! Attacks by an agent or the tests of a change: a table of verbs. Each verb tries one thing in every way it knows and
//! prints the result in one line.
//!
//! `hostile <world> <verb>…`: the world is a file of `key=value` lines with places that don't belong to the attacker.
//! Each verb runs in its own process, so that it cannot affect the next one, with a time limit.
//!
//! ```text
//! attack write-plain: refused EACCES, EROFS (4 ways)
//! attack read-ssh-key: done plain: CANARY-…
//! ```
//!
//! **A successful attack does no harm** outside of its world: devices are opened but not written, settings are written
//! with their current value, and anything that could affect the machine (signals to all processes, bombs) runs only
//! inside a pid namespace. It connects only to loopback and to addresses reserved for documentation.
//!
//! To add an attack, add a line to the table of its file, and a line to the test that says what must be seen from
//! outside.
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

/// Time limit of an attack, in seconds.
const LIMIT: u32 = 10;

/// Verb, description, function.
pub type Attack = (&'static str, &'static str, fn(&World, &mut Tried));

/// Returns all attacks.
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

/// Runs the verbs in the arguments. `all` runs every verb; `outside` is not an attack but the target.
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
    // An emulated machine needs more time.
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

/// Runs a verb in its own process, and reports how it ended if it could not report that itself.
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
