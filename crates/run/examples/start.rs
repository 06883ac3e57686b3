//! What a start takes, as a harness meets it: `cargo xtask bench sandbox` asks, and puts the figures beside their limits.
//!
//! Arguments: how often, a folder to start in, a program that does nothing, and files with policies. Says one line for each
//! round and each kind: the kind (0 is the plain start, the others are the policies), the nanoseconds until the program is
//! executed, and those until everything that was made for it is gone again.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark starts programs and prints"
)]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use acquit_run::process::contain::Launcher;
use acquit_run::process::{Exit, Limits, Next, Spawner, Spec, Stderr, Stdin, Stdout, Watcher};

/// Waits for the end and nothing else.
struct Idle;

impl Watcher for Idle {
    fn output(&mut self, _: u64, _: &[u8]) {}

    fn tick(&mut self) -> Next {
        Next::Continue
    }
}

fn main() {
    // First of all, as a harness does.
    let launcher = Launcher::fork().unwrap();
    let mut words = std::env::args_os().skip(1);
    let rounds: usize = words.next().unwrap().to_str().unwrap().parse().unwrap();
    let folder = PathBuf::from(words.next().unwrap());
    let program = words.next().unwrap();
    let policies: Vec<PathBuf> = words.map(PathBuf::from).collect();
    let spawner = Spawner::new("/nonexistent/helper").with_launcher(Some(launcher));
    for _ in 0..rounds {
        say(0, plain(&program, &folder));
        for (number, policy) in policies.iter().enumerate() {
            say(number + 1, contained(&spawner, &program, &folder, policy));
        }
    }
}

fn say(kind: usize, [exec, end]: [Duration; 2]) {
    println!("{kind} {} {}", exec.as_nanos(), end.as_nanos());
}

fn plain(program: &OsString, folder: &Path) -> [Duration; 2] {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.current_dir(folder).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let exec = begun.elapsed();
    assert!(child.wait().unwrap().success());
    [exec, begun.elapsed()]
}

fn contained(spawner: &Spawner, program: &OsString, folder: &Path, policy: &Path) -> [Duration; 2] {
    let spec = Spec {
        program: program.clone(),
        args: Vec::new(),
        cwd: folder.to_owned(),
        env: Vec::new(),
        stdin: Stdin::Closed,
        stdout: Stdout::Truncate(policy.with_extension("output")),
        stderr: Stderr::WithStdout,
        limits: Limits { time: Duration::from_mins(1), idle: None, output: 1 << 20, grace: Duration::ZERO },
        policy: Some(policy.to_owned()),
    };
    let begun = Instant::now();
    let child = spawner.spawn(&spec).unwrap();
    let exec = begun.elapsed();
    assert_eq!(child.watch(&mut Idle).unwrap().exit, Exit::Code(0));
    [exec, begun.elapsed()]
}
