//! A small package of JavaScript, whose own runner tells of each test, and the judgement of a change of it.

use serde_json::Value;

use crate::common::{Ran, Sandbox};

pub(crate) const SUM: &str =
    "export function sum(list) { return list.length > 1 ? list[0] + list[1] : list[0]; }\n";
pub(crate) const MENDED: &str = "export function sum(list) { return list.reduce((a, b) => a + b, 0); }\n";
pub(crate) const BROKEN: &str = "export function sum(list) { return list.length; }\n";
pub(crate) const OLD_TEST: &str = r"import test from 'node:test';
import assert from 'node:assert';
import { sum } from '../sum.js';
test('two', () => {
  assert.strictEqual(sum([1, 2]), 3);
  assert.strictEqual(sum([5, 2]), 7);
});
test('one', () => {
  assert.strictEqual(sum([4]), 4);
});
";
pub(crate) const HONEST: &str = r"import test from 'node:test';
import assert from 'node:assert';
import { sum } from '../sum.js';
test('three numbers', () => assert.strictEqual(sum([1, 2, 3]), 6));
";
pub(crate) const MANIFEST: &str =
    "{ \"name\": \"sample\", \"type\": \"module\", \"scripts\": { \"test\": \"node --test\" } }\n";

/// The package, without `.acquit/`.
pub(crate) fn package() -> Sandbox {
    Sandbox::of_files("project", &FILES)
}

pub(crate) const FILES: [(&str, &str); 4] = [
    ("package.json", MANIFEST),
    (".gitignore", "junit.xml\nignored/\n"),
    ("sum.js", SUM),
    ("test/old.test.js", OLD_TEST),
];

/// The judgement, which must end with this exit code.
#[track_caller]
pub(crate) fn prove(sandbox: &Sandbox, args: &[&str], code: i32) -> Value {
    ran(sandbox, &[args, &["--json"]].concat(), code).json()
}

/// The same as it was printed.
#[track_caller]
pub(crate) fn ran(sandbox: &Sandbox, args: &[&str], code: i32) -> Ran {
    sandbox.acquit(&[&["prove"], args].concat()).must(code)
}

/// The claim of a gate.
#[track_caller]
pub(crate) fn claim<'v>(report: &'v Value, gate: &str) -> &'v Value {
    let claims = report["claims"].as_array().unwrap();
    claims.iter().find(|claim| claim["gate"] == gate).unwrap_or_else(|| panic!("no {gate} in {report:#}"))
}

/// The rules of all findings that speak against the change.
pub(crate) fn rules(report: &Value) -> Vec<String> {
    let claims = report["claims"].as_array().unwrap();
    let findings = claims.iter().flat_map(|claim| claim["evidence"]["findings"].as_array().unwrap());
    findings.filter(|it| it["weight"] != "noted").map(|it| it["rule"].as_str().unwrap().to_owned()).collect()
}
