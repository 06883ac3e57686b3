//! Runs every benchmark briefly, to check that it works. `cargo xtask bench` produces figures.
#![allow(clippy::disallowed_methods, reason = "the test starts the program that it is about")]

use std::process::Command;

/// Runs every step of a benchmark once, on small input.
fn runs(name: &str) {
    let ran = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["bench", name, "--brief"])
        .output()
        .expect("xtask starts");
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    assert!(said.contains(&format!("bench {name}, on ")), "{said}");
    assert!(
        said.lines().any(|line| line.contains(" | ") && !line.starts_with("thing")),
        "no figures: {said}"
    );
}

#[test]
fn the_benchmark_of_legs_runs() {
    runs("leg");
}

#[test]
fn the_benchmark_of_handoffs_runs() {
    runs("handoff");
}

#[test]
fn the_benchmark_of_bursts_runs() {
    runs("ingest");
}

#[test]
fn the_benchmark_of_the_sandbox_runs() {
    runs("sandbox");
}

#[test]
fn the_benchmark_of_parsers_runs() {
    runs("parse");
}

#[test]
fn the_benchmark_of_many_tasks_runs() {
    runs("tasks");
}

#[test]
fn the_benchmark_of_pages_runs() {
    runs("pages");
}

#[test]
fn the_benchmark_of_claims_runs() {
    runs("claims");
}

#[test]
fn the_benchmark_of_recovery_runs() {
    runs("recovery");
}

/// A new benchmark must be tested here too.
#[test]
fn no_benchmark_is_forgotten() {
    let ran =
        Command::new(env!("CARGO_BIN_EXE_xtask")).args(["bench", "none"]).output().expect("xtask starts");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(
        said.contains("there is no benchmark `none`: leg, handoff, ingest, sandbox, parse, tasks, pages, claims, recovery"),
        "{said}"
    );
}
