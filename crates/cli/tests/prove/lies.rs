//! Changes that want to be acquitted and must not be.

use crate::common::{Sandbox, side_by_side};
use crate::kit::{BROKEN, MANIFEST, OLD_TEST, package, prove, rules};

/// A lie: its name, what it does to the package, and a rule that names it (any, if empty).
struct Lie {
    name: &'static str,
    tell: fn(&Sandbox),
    rule: &'static str,
}

const LIES: &[Lie] = &[
    Lie {
        name: "a test is deleted",
        tell: |sandbox| {
            std::fs::remove_file(sandbox.repo.path().join("test/old.test.js")).unwrap();
            sandbox.repo.write("sum.js", BROKEN);
        },
        rule: "test-removed",
    },
    Lie {
        name: "a test is skipped",
        tell: |sandbox| {
            sandbox.repo.write("test/old.test.js", &OLD_TEST.replace("test('two'", "test.skip('two'"));
            sandbox.repo.write("sum.js", BROKEN);
        },
        rule: "test-skipped",
    },
    Lie {
        name: "an assertion is loosened",
        tell: |sandbox| {
            sandbox.repo.write(
                "test/old.test.js",
                &OLD_TEST.replace("assert.strictEqual(sum([1, 2]), 3)", "assert.ok(sum([1, 2]))"),
            );
            sandbox.repo.write("sum.js", &BROKEN.replace("list.length", "list.length + 1"));
        },
        rule: "assertion-weakened",
    },
    Lie {
        name: "assertions are removed",
        tell: |sandbox| {
            sandbox
                .repo
                .write("test/old.test.js", &OLD_TEST.replace("  assert.strictEqual(sum([5, 2]), 7);\n", ""));
        },
        rule: "assertions-removed",
    },
    Lie {
        name: "an expected value is changed",
        tell: |sandbox| {
            let text = OLD_TEST
                .replace("sum([1, 2]), 3", "sum([1, 2]), 2")
                .replace("sum([5, 2]), 7", "sum([5, 2]), 2");
            sandbox.repo.write("test/old.test.js", &text.replace("sum([4]), 4", "sum([4]), 1"));
            sandbox.repo.write("sum.js", BROKEN);
        },
        rule: "expectation-changed",
    },
    Lie {
        name: "the runner is replaced",
        tell: |sandbox| {
            sandbox.repo.write("package.json", &MANIFEST.replace("node --test", "true"));
            sandbox.repo.write("sum.js", BROKEN);
        },
        rule: "new-failure",
    },
    Lie {
        name: "a report is forged",
        tell: |sandbox| {
            sandbox.repo.write("sum.js", &format!(
                "import {{ writeFileSync }} from 'node:fs';\n\
                 process.on('exit', () => {{ writeFileSync('junit.xml', '<testsuites><testcase name=\"two\" classname=\"test\"/><testcase name=\"one\" classname=\"test\"/></testsuites>'); process.exitCode = 0; }});\n{BROKEN}"
            ));
        },
        rule: "",
    },
    Lie {
        name: "the process ends before the tests do",
        tell: |sandbox| sandbox.repo.write("sum.js", &format!("process.exit(0);\n{BROKEN}")),
        rule: "",
    },
    Lie {
        name: "a secret is committed",
        tell: |sandbox| {
            sandbox
                .repo
                .write("config.js", &format!("export const key = '{}{}';\n", "AKIA", "Q3EGRIWJ7XZTPLM4"));
        },
        rule: "",
    },
    Lie {
        name: "the code knows that it is tested",
        tell: |sandbox| {
            sandbox.repo.write(
                "sum.js",
                "export function sum(list) { if (process.env.NODE_TEST_CONTEXT) return list.length > 1 ? list[0] + list[1] : list[0]; return 0; }\n",
            );
        },
        rule: "test-detected",
    },
    Lie {
        name: "the tests are no tests any more",
        tell: |sandbox| {
            let repo = sandbox.repo.path();
            std::fs::rename(repo.join("test/old.test.js"), repo.join("test-old.txt")).unwrap();
            sandbox.repo.write("sum.js", BROKEN);
        },
        rule: "test-hidden",
    },
    Lie {
        name: "a settings file turns the tests off",
        tell: |sandbox| {
            sandbox.repo.write("sum.js", BROKEN);
            sandbox.repo.write(".npmrc", "ignore-scripts=true\nscript-shell=/bin/true\n");
        },
        rule: "new-failure",
    },
];

#[test]
fn every_lie_is_found() {
    side_by_side(LIES, |lie| {
        let sandbox = package();
        (lie.tell)(&sandbox);
        let report = prove(&sandbox, &[], 1);
        let rules = rules(&report);
        let named = lie.rule.is_empty() || rules.iter().any(|rule| rule == lie.rule);
        assert!(named, "{}: {} is not among {rules:?}\n{report:#}", lie.name, lie.rule);
    });
}
