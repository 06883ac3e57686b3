//! Coverage as real tools report it: coverage.py, node:test and go test. Each time half of a change is executed, then all of it.

use acquit_testkit::need;

use crate::kit::{Sample, rules};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The change adds a file with two branches, and a test for one or for both.
fn judged(
    gate: &str,
    files: &[(&str, &str)],
    change: impl Fn(&str) -> String,
    tests: [&str; 2],
    missed: u32,
) {
    let mut sample = Sample::new(&format!("check = \"coverage\"\nmin = 80\n{gate}"), files, PATH);
    let half = sample.judge(&change(tests[0]), &[]);
    assert_eq!(rules(&half), ["coverage", "uncovered"], "{half:?}");
    assert_eq!(half.failure.unwrap().location.unwrap().line, missed);
    let whole = sample.judge(&change(tests[1]), &[]);
    assert_eq!(rules(&whole), [""; 0], "{whole:?}");
}

#[test]
fn coverage_of_python_is_read_as_coverage_py_writes_it() {
    let found = std::path::Path::new("/usr/lib/python3/dist-packages/coverage").is_dir().then_some(());
    let Some(()) = need::or_skip(found, "coverage.py of the system", "coverage of Python") else { return };
    let gate = "run = \"/usr/bin/python3 -m coverage run -m unittest -q && /usr/bin/python3 -m coverage lcov -q -o lcov.info\"\n\
                report = { lcov = \"lcov.info\" }";
    let change = |test: &str| {
        format!(
            "printf 'def low(x):\\n    if x < 7:\\n        return 1\\n    return 2\\n' > clamp.py\n\
             printf 'import unittest\\nfrom clamp import low\\n\\n\\nclass T(unittest.TestCase):\\n    def test(self):\\n        {test}\\n' > test_clamp.py"
        )
    };
    let tests = ["self.assertEqual(low(1), 1)", "self.assertEqual((low(1), low(9)), (1, 2))"];
    judged(gate, &[(".gitignore", ".coverage\nlcov.info\n__pycache__/\n")], change, tests, 4);
}

#[test]
fn coverage_of_javascript_is_read_as_node_writes_it() {
    let Some(_) = need::program("node", "coverage of JavaScript") else { return };
    let gate = "run = \"node --test --experimental-test-coverage --test-reporter=lcov --test-reporter-destination=lcov.info\"\n\
                report = { lcov = \"lcov.info\" }";
    let change = |test: &str| {
        format!(
            "printf 'exports.low = (x) => {{\\n  if (x < 7) {{\\n    return 1;\\n  }}\\n  return 2;\\n}};\\n' > clamp.js\n\
             printf 'const {{ test }} = require(\"node:test\");\\nconst assert = require(\"node:assert\");\\n\
             const {{ low }} = require(\"./clamp.js\");\\ntest(\"low\", () => {test});\\n' > clamp.test.js"
        )
    };
    let tests = ["assert.equal(low(1), 1)", "assert.deepEqual([low(1), low(9)], [1, 2])"];
    judged(gate, &[(".gitignore", "lcov.info\n")], change, tests, 5);
}

#[test]
fn coverage_of_go_is_read_as_its_own_profile_has_it() {
    let Some(_) = need::program("go", "coverage of Go") else { return };
    let gate =
        "run = \"go test -vet=off -coverprofile=cover.out ./...\"\nreport = { go-cover = \"cover.out\" }";
    let change = |test: &str| {
        format!(
            "printf 'package sample\\n\\nfunc Low(x int) int {{\\n\\tif x < 7 {{\\n\\t\\treturn 1\\n\\t}}\\n\\treturn 2\\n}}\\n' > low.go\n\
             printf 'package sample\\n\\nimport \"testing\"\\n\\nfunc TestLow(t *testing.T) {{\\n\\tif {test} {{\\n\\t\\tt.Fail()\\n\\t}}\\n}}\\n' > low_test.go"
        )
    };
    let files = [("go.mod", "module example.com/sample\n\ngo 1.18\n"), (".gitignore", "cover.out\n")];
    judged(gate, &files, change, ["Low(1) != 1", "Low(1) != 1 || Low(9) != 2"], 7);
}
