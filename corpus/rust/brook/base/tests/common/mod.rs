#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Exit code, standard output, standard error.
pub fn brook(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_brook")).args(args).output().expect("brook runs");
    (
        out.status.code().expect("an exit code"),
        String::from_utf8(out.stdout).expect("UTF-8"),
        String::from_utf8(out.stderr).expect("UTF-8"),
    )
}

pub fn assert_golden(name: &str, actual: &str) {
    let expected = std::fs::read_to_string(golden(name)).expect("the golden file");
    assert_eq!(actual, expected, "{name}");
}

/// Small random numbers that are the same in each run.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
