//! `--quick`: static checks and the tests that a change affects, and what was left out.

use crate::common::Sandbox;
use crate::kit::{BROKEN, FILES, MENDED, claim, prove, rules};

/// The package with another module and its test, which the change does not concern.
fn package() -> Sandbox {
    const OTHER: [(&str, &str); 2] = [
        ("other.js", "export const other = 1;\n"),
        (
            "test/other.test.js",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport { other } from '../other.js';\ntest('other', () => assert.strictEqual(other, 1));\n",
        ),
    ];
    Sandbox::of_files("project", &[&FILES[..], &OTHER].concat())
}

#[test]
fn only_affected_tests_run_and_what_was_left_out_is_named() {
    let sandbox = package();
    sandbox.repo.write("sum.js", MENDED);
    let report = prove(&sandbox, &["--quick"], 0);
    let figures = claim(&report, "test")["evidence"]["figures"].to_string();
    assert!(figures.contains("\"tests\"") && figures.contains('2'), "two of three tests: {figures}");
    let unchecked = report["unchecked"].to_string();
    assert!(unchecked.contains("only the affected tests were run: ./test/old.test.js"), "{report:#}");
    assert!(unchecked.contains("tdd"), "{report:#}");

    sandbox.repo.write("sum.js", BROKEN);
    let report = prove(&sandbox, &["--quick"], 1);
    assert!(rules(&report).contains(&"new-failure".to_owned()), "{report:#}");

    // Settings concern all tests.
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("package.json", &crate::kit::MANIFEST.replace("sample", "renamed"));
    let report = prove(&sandbox, &["--quick"], 0);
    assert!(
        report["unchecked"].to_string().contains("all tests were run: package.json changed"),
        "{report:#}"
    );
}

#[test]
fn what_no_test_can_see_needs_none_and_code_without_a_test_is_not_acquitted() {
    let sandbox = package();
    sandbox.repo.write("README.md", "Words.\n");
    let report = prove(&sandbox, &["--quick"], 0);
    assert_eq!(report["decision"], "acquitted", "{report:#}");
    sandbox.repo.write("lonely.js", "export const lonely = 1;\n");
    let report = prove(&sandbox, &["--quick"], 5);
    assert!(
        report["unchecked"].to_string().contains("no test was found that the change affects"),
        "{report:#}"
    );
}
