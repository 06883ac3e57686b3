//! Runs the command under test.

use std::process::Command;

pub struct Out {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the command.
pub fn quarry(args: &[&str]) -> Out {
    let out = Command::new(env!("CARGO_BIN_EXE_quarry")).args(args).output().expect("runs");
    Out {
        code: out.status.code().expect("a code"),
        stdout: String::from_utf8(out.stdout).expect("text"),
        stderr: String::from_utf8(out.stderr).expect("text"),
    }
}
