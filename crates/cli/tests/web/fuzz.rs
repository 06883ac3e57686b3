//! Schemathesis makes requests from the OpenAPI document, for each role: right ones, and wrong ones. No answer may be a server error or one that the
//! document does not describe, and no wrong request may be taken for a right one.
//!
//! Every request is checked by the same code, from the schema of its operation. So in the ordinary run an operator makes some forty requests at the
//! edges of the schema for one operation of each shape ([`SHAPES`]), and a viewer and an admin make a few random requests for every operation. The
//! soak test makes those at the edges for every operation. `ACQUIT_FUZZ=500` makes so many random requests for each operation and role.

use std::path::{Path, PathBuf};
use std::process::Command;

use acquit_testkit::need;

use crate::browser::Served;
use crate::common::{self, Sandbox};

/// What is held against each answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,\
                      negative_data_rejection,unsupported_method,ignored_auth";

/// The program, installed by `cargo xtask test`.
fn schemathesis() -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("runners/http/bin/schemathesis");
    let found = program.is_file().then_some(program);
    need::or_skip(found, "schemathesis below target/runners", "tests of the API")
}

/// An operation for each shape of input: parts of a path, numbers, queries with lists and cursors, bodies with and without required fields.
const SHAPES: [&str; 6] =
    ["createTask", "retryTask", "answerTask", "listTasks", "getTranscript", "getArtifact"];

/// Makes requests for these operations, or for all.
fn fuzz(role: &str, phases: &str, operations: &[&str]) {
    let Some(program) = schemathesis() else { return };
    let sandbox = Sandbox::scripted(common::CODE, super::ASKS);
    sandbox.run_to(3);
    let served = Served::start(&sandbox, &["--workers", "1"]);
    let token = sandbox.acquit(&["token", "add", role, "--role", role]).must(0).out;
    let asked = std::env::var("ACQUIT_FUZZ").ok();
    let phases = if asked.is_some() { "coverage,fuzzing" } else { phases };
    let count = asked.unwrap_or_else(|| "3".to_owned());
    let output = Command::new(program)
        .args(["run", &format!("http://127.0.0.1:{}/api/v1/openapi.json", served.port())])
        .args(["--header", &format!("Authorization: Bearer {}", token.trim())])
        .args(["--checks", CHECKS, "--max-examples", &count, "--seed", "1", "--phases", phases])
        .args([
            "--request-timeout",
            "60",
            "--rate-limit",
            "auto",
            "--generation-database",
            "none",
            "--no-color",
        ])
        .args(operations.iter().flat_map(|id| ["--include-operation-id", id]))
        .args(["--suppress-health-check", "all", "--continue-on-failure", "--warnings", "off"])
        .current_dir(sandbox.place(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("passed") || said.contains("No issues"), "{said}");
}

#[test]
fn no_request_of_a_viewer_is_answered_in_an_undocumented_way() {
    fuzz("viewer", "fuzzing", &[]);
}

#[test]
fn no_request_of_an_operator_is_answered_in_an_undocumented_way() {
    fuzz("operator", "coverage", &SHAPES);
}

#[test]
fn no_request_of_an_admin_is_answered_in_an_undocumented_way() {
    fuzz("admin", "fuzzing", &[]);
}

/// The ordinary run shows the same for an operation of each shape.
#[test]
fn soak_no_request_of_an_operator_at_the_edges_of_any_schema_is_answered_in_an_undocumented_way() {
    fuzz("operator", "coverage", &[]);
}
