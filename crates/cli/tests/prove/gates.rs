//! Gates that a project configures, as `prove` judges and shows them: scope, coverage, mutants, flaky tests.

use acquit_testkit::need;

use crate::common::Sandbox;
use crate::kit::{BROKEN, FILES, HONEST, MENDED, claim, prove, ran};

/// Coverage is measured by node itself. Mutants are those of a tool that wrote its report in the common format.
const CONFIG: &str = r#"[gates.scope]
check = "scope"
forbidden = ["vendor/**"]

[gates.coverage]
check = "coverage"
min = 80
run = "node --test --experimental-test-coverage --test-reporter=lcov --test-reporter-destination=lcov.info"
report = { lcov = "lcov.info" }

[gates.mutants]
check = "mutation"
run = "sed s/STATUS/$(grep -q 'a + b, 0' sum.js && echo Survived || echo Killed)/ mutants.in > mutants.json"
report = { mutation = "mutants.json" }

[gates.test]
run = "node --test"
kind = "test"
"#;

const MUTANTS: &str = r#"{ "schemaVersion": "1", "thresholds": { "high": 80, "low": 60 }, "files": { "sum.js": { "language": "javascript", "source": "", "mutants": [ { "id": "1", "mutatorName": "ArithmeticOperator", "replacement": "a - b", "status": "STATUS", "location": { "start": { "line": 1, "column": 1 }, "end": { "line": 1, "column": 9 } } } ] } } }
"#;

#[test]
fn scope_coverage_and_mutants_are_judged_with_their_evidence() {
    let Some(_) = need::program("node", "coverage of JavaScript") else { return };
    let own = [
        (".acquit/acquit.toml", CONFIG),
        (".gitignore", "lcov.info\nmutants.json\n"),
        ("mutants.in", MUTANTS),
        ("vendor/lib.js", "export const lib = 1;\n"),
    ];
    let files: Vec<_> = FILES.into_iter().filter(|(path, _)| *path != ".gitignore").chain(own).collect();
    let sandbox = Sandbox::of_files("project", &files);
    sandbox.repo.write("sum.js", &MENDED.replace("a + b, 0", "b + a, 0"));
    sandbox.repo.write("test/new.test.js", HONEST);
    let report = prove(&sandbox, &[], 0);
    for gate in ["scope", "coverage", "mutants"] {
        assert_eq!(claim(&report, gate)["status"], "holds", "{report:#}");
    }

    let untested = "export function product(list) {\n  let all = 1;\n  for (const one of list) {\n    all *= one;\n  }\n  return all;\n}\n";
    sandbox.repo.write("sum.js", &format!("{MENDED}{untested}"));
    sandbox.repo.write("vendor/lib.js", "export const lib = 2;\n");
    let report = prove(&sandbox, &[], 1);
    for gate in ["scope", "coverage", "mutants"] {
        assert_eq!(claim(&report, gate)["status"], "broken", "{report:#}");
    }
    let words = ran(&sandbox, &[], 1).out;
    for said in ["vendor/lib.js", "sum.js:1: ", "a - b", "[survivor]", "[uncovered]"] {
        assert!(words.contains(said), "{said} is not in {words}");
    }
}

#[test]
fn a_flaky_test_is_named_and_not_held_against_the_change() {
    let moody = "import test from 'node:test';\nimport { existsSync, writeFileSync } from 'node:fs';\n\
        test('moody', () => { if (!existsSync('seen')) { writeFileSync('seen', ''); throw new Error('mood'); } });\n";
    let files: Vec<_> = FILES.into_iter().chain([("test/moody.test.js", moody)]).collect();
    let sandbox = Sandbox::of_files("project", &files);
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("test/new.test.js", HONEST);
    let report = prove(&sandbox, &[], 0);
    let findings = claim(&report, "test")["evidence"]["findings"].to_string();
    assert!(findings.contains("flaky") && findings.contains("moody"), "{report:#}");
}

#[test]
fn a_long_message_leaves_room_for_the_name_of_its_rule() {
    let sandbox = Sandbox::of_files("project", &FILES);
    let long =
        HONEST.replace("three numbers", &"x".repeat(300)).replace("sum([1, 2, 3]), 6", "sum([1, 2]), 3");
    sandbox.repo.write("test/long.test.js", &long);
    sandbox.repo.commit("a test with a long name");
    sandbox.repo.write("sum.js", BROKEN);
    let words = ran(&sandbox, &[], 1).out;
    let line = words.lines().find(|line| line.contains("xxxx")).unwrap_or_else(|| panic!("{words}"));
    assert!(line.ends_with("… [new-failure]"), "{words}");
}
