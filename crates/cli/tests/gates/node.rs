//! JavaScript with node's own runner.

use acquit_testkit::need;

use crate::kit::{Case, Kind, Sample, Tried};

const GATE: &str = r#"
check = "tdd"
red = "every"
run = "node --test --test-reporter=spec --test-reporter-destination=stdout --test-reporter=junit --test-reporter-destination=junit.xml"
runs = 2
report = { junit = "junit.xml" }
"#;

const SUM: &str = "export function sum(list) { return list.length > 1 ? list[0] + list[1] : list[0]; }\n";
const MENDED: &str = "export function sum(list) { return list.reduce((a, b) => a + b, 0); }\n";
const BROKEN: &str = "export function sum(list) { return list.length; }\n";
const MORE: &str = "export function sum(list) { return list.length > 1 ? list[0] + list[1] : list[0]; }\n\
                    export function double(x) { return 2 * x; }\n";
const OLD_TEST: &str = r"import test from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import { sum } from '../sum.js';
test('two', () => assert.strictEqual(sum([1, 2]), 3));
test('data', () => {
  const { list, total } = JSON.parse(readFileSync(new URL('./data/list.json', import.meta.url)));
  assert.strictEqual(sum(list), total);
});
";
const HONEST: &str = r"import test from 'node:test';
import assert from 'node:assert';
import { sum } from '../sum.js';
test('three numbers', () => assert.strictEqual(sum([1, 2, 3]), 6));
";
const FILES: [(&str, &str); 5] = [
    ("package.json", "{ \"name\": \"sample\", \"type\": \"module\" }\n"),
    (".gitignore", "junit.xml\n"),
    ("sum.js", SUM),
    ("test/old.test.js", OLD_TEST),
    ("test/data/list.json", "{ \"list\": [2, 2], \"total\": 4 }\n"),
];

const FLAKY: &str = r"import test from 'node:test';
import assert from 'node:assert';
import { existsSync, writeFileSync } from 'node:fs';
test('moody', () => {
  const known = existsSync('mood');
  writeFileSync('mood', 'x');
  assert.ok(!known);
});
";

pub(crate) static CASES: [Case; 18] = [
    Case::new(Kind::Honest, &[("sum.js", MENDED), ("test/new.test.js", HONEST)]),
    Case::new(
        Kind::NewThing,
        &[
            ("sum.js", MORE),
            (
                "test/double.test.js",
                "import test from 'node:test';\nimport assert from 'node:assert';\nimport { double } from '../sum.js';\n\
                 test('doubles', () => assert.strictEqual(double(2), 4));\n",
            ),
        ],
    ),
    Case::new(
        Kind::Blind,
        &[
            ("sum.js", MORE),
            (
                "test/double.test.js",
                "import test from 'node:test';\nimport assert from 'node:assert';\nimport { double } from '../sum.js';\n\
                 test('doubles', () => assert.strictEqual(typeof double(2), 'number'));\n",
            ),
        ],
    ),
    Case::new(
        Kind::Tautology,
        &[
            ("sum.js", MENDED),
            ("test/new.test.js", HONEST),
            (
                "test/same.test.js",
                "import test from 'node:test';\nimport assert from 'node:assert';\ntest('same', () => assert.ok(true));\n",
            ),
        ],
    ),
    Case::new(
        Kind::NeverRan,
        &[
            ("sum.js", MENDED),
            ("test/new.test.js", HONEST),
            ("checks/more.test.txt", ""),
            ("checks/__tests__/x.js", "test('unseen', () => {});\n"),
        ],
    ),
    Case::new(
        Kind::Skipped,
        &[
            ("sum.js", MENDED),
            ("test/new.test.js", HONEST),
            ("test/later.test.js", "import test from 'node:test';\ntest.skip('later', () => {});\n"),
        ],
    ),
    Case::new(
        Kind::Crash,
        &[
            ("sum.js", "export function sum(list) { return (list ?? []).reduce((a, b) => a + b, 0); }\n"),
            (
                "test/none.test.js",
                "import test from 'node:test';\nimport { sum } from '../sum.js';\ntest('nothing', () => { sum(undefined); });\n",
            ),
        ],
    ),
    Case::new(Kind::StillRed, &[("sum.js", BROKEN), ("test/new.test.js", HONEST)]),
    Case::new(
        Kind::Regression,
        &[
            ("sum.js", BROKEN),
            (
                "test/new.test.js",
                "import test from 'node:test';\nimport assert from 'node:assert';\nimport { sum } from '../sum.js';\n\
                 test('ones', () => assert.strictEqual(sum([5, 5, 5]), 3));\n",
            ),
        ],
    ),
    Case::new(
        Kind::FlakyToo,
        &[("sum.js", MENDED), ("test/new.test.js", HONEST), ("test/moody.test.js", FLAKY)],
    ),
    Case::new(Kind::FlakyAlone, &[("sum.js", MENDED), ("test/moody.test.js", FLAKY)]),
    Case {
        kind: Kind::BrokenBefore,
        base: &[(
            "test/broken.test.js",
            "import test from 'node:test';\nimport assert from 'node:assert';\ntest('broken', () => assert.ok(false));\n",
        )],
        write: &[("sum.js", MENDED), ("test/new.test.js", HONEST)],
        remove: &[],
    },
    Case::new(
        Kind::Fixture,
        &[("sum.js", MENDED), ("test/data/list.json", "{ \"list\": [2, 2, 2], \"total\": 6 }\n")],
    ),
    Case::new(Kind::FixtureOnly, &[("test/data/list.json", "{ \"list\": [3, 2], \"total\": 5 }\n")]),
    Case {
        kind: Kind::Renamed,
        base: &[],
        write: &[("sum.js", MENDED), ("test/renamed.test.js", OLD_TEST), ("test/new.test.js", HONEST)],
        remove: &["test/old.test.js"],
    },
    Case::new(Kind::Untested, &[("sum.js", MENDED)]),
    Case::new(Kind::Docs, &[("README.md", "words\n")]),
    Case::new(
        Kind::OneUnloadable,
        &[
            (
                "sum.js",
                "export function sum(list) { return list.reduce((a, b) => a + b, 0); }\nexport const double = (x) => 2 * x;\n",
            ),
            ("test/new.test.js", HONEST),
            (
                "test/double.test.js",
                "import test from 'node:test';\nimport assert from 'node:assert';\nimport { double } from '../sum.js';\n\
                 test('doubles', () => assert.strictEqual(double(2), 4));\n",
            ),
        ],
    ),
];

#[test]
fn changes_in_javascript_are_judged_by_what_their_tests_show() {
    let Some(_) = need::program("node", "tests of JavaScript") else { return };
    Sample::new(GATE, &FILES, "/usr/local/bin:/usr/bin:/bin").table(&CASES, Tried::All);
}
