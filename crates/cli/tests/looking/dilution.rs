//! The same deeds in each language: an assertion removed, a skip added, a test deleted, a file renamed, settings loosened; and
//! the honest deeds beside them.

use crate::kit::{Sample, rules};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What a language has, and how each deed is done in it: replaced in the sample by `sed`.
struct Language {
    name: &'static str,
    test: &'static str,
    text: &'static str,
    assertion: &'static str,
    skip: &'static str,
    hidden: &'static str,
    moved: &'static str,
    settings: (&'static str, &'static str, &'static str),
}

const LANGUAGES: [Language; 4] = [
    Language {
        name: "rust",
        test: "tests/sum.rs",
        text: "use sample::sum;\n\n#[test]\nfn two() {\n    assert_eq!(sum(&[1, 2]), 3);\n    assert_eq!(sum(&[2, 2]), 4);\n}\n\n#[test]\nfn none() {\n    assert_eq!(sum(&[]), 0);\n}\n",
        assertion: "/sum(&.2, 2.)/d",
        skip: "s/^fn two/#[ignore]\\nfn two/",
        hidden: "tests/sum.rs.old",
        moved: "tests/sums.rs",
        settings: ("Cargo.toml", "[lints.rust]\nunsafe_code = \"forbid\"\n", "s/forbid/allow/"),
    },
    Language {
        name: "javascript",
        test: "test/sum.test.js",
        text: "import { sum } from '../sum.js';\n\ntest('two', () => {\n  expect(sum([1, 2])).toBe(3);\n  expect(sum([2, 2])).toBe(4);\n});\n\ntest('none', () => {\n  expect(sum([])).toBe(0);\n});\n",
        assertion: "/2, 2/d",
        skip: "s/test(.two./test.skip(\"two\"/",
        hidden: "src/sum.js",
        moved: "test/sums.test.js",
        settings: (
            "jest.config.js",
            "export default {\n  coverageThreshold: { global: { branches: 90 } },\n};\n",
            "s/90/20/",
        ),
    },
    Language {
        name: "python",
        test: "tests/test_sum.py",
        text: "from sums import total\n\n\ndef test_two():\n    assert total([1, 2]) == 3\n    assert total([2, 2]) == 4\n\n\ndef test_none():\n    assert total([]) == 0\n",
        assertion: "/2, 2/d",
        skip: "s/^def test_two/@pytest.mark.xfail\\ndef test_two/",
        hidden: "tests/sum_old.py",
        moved: "tests/test_sums.py",
        settings: (
            "pyproject.toml",
            "[tool.ruff.lint]\nignore = [\"E501\"]\n",
            "s/\"E501\"/\"E501\", \"F821\"/",
        ),
    },
    Language {
        name: "go",
        test: "sum_test.go",
        text: "package sum\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Error(\"1 2\")\n\t}\n\tif Sum(2, 2) != 4 {\n\t\tt.Error(\"2 2\")\n\t}\n}\n\nfunc TestNone(t *testing.T) {\n\tif Sum() != 0 {\n\t\tt.Error(\"none\")\n\t}\n}\n",
        assertion: "/Error(\"2 2\")/d",
        skip: "s/^func TestTwo.*/&\\n\\tt.Skip(\"later\")/",
        hidden: "sum_test.go.bak",
        moved: "sums_test.go",
        settings: (".golangci.yml", "linters:\n  enable:\n    - errcheck\n    - govet\n", "/errcheck/d"),
    },
];

#[test]
fn what_takes_strength_from_tests_is_rejected_in_every_language_and_honest_work_is_not() {
    let mut cases = 0;
    for language in LANGUAGES {
        let Language { name, test, text, assertion, skip, hidden, moved, settings } = language;
        let (path, before, loosen) = settings;
        let mut sample = Sample::new("check = \"dilution\"", &[(test, text), (path, before)], PATH);
        let folder = hidden.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let deeds = [
            (format!("sed -i '{assertion}' {test}"), Some("assertions-removed")),
            (format!("sed -i '{skip}' {test}"), Some("test-skipped")),
            (format!("rm {test}"), Some("test-removed")),
            (format!("mkdir -p {folder}; mv {test} {hidden}"), Some("test-hidden")),
            (format!("sed -i '{loosen}' {path}"), Some("settings-loosened")),
            (format!("mv {test} {moved}"), None),
            (format!("sed -i 's/2, 2/3, 1/' {test}"), None),
            (format!("cat {test} > other; sed -i 's/[Nn]one/&_at_all/' {test}; rm other; touch done"), None),
        ];
        for (deed, expected) in deeds {
            let verdict = sample.judge(&deed, &[]);
            assert_eq!(rules(&verdict).first().copied(), expected, "{name}: {deed}\n{verdict:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 32);
}

#[test]
fn a_gate_or_a_task_can_allow_it() {
    let files = [("tests/sum.rs", LANGUAGES[0].text)];
    let mut allowing = Sample::new("check = \"dilution\"\nallow = [\"test-removed:tests/**\"]", &files, PATH);
    assert_eq!(rules(&allowing.judge("rm tests/sum.rs", &[])), [""; 0]);
    assert_eq!(
        rules(&allowing.judge("sed -i 's/^fn two/#[ignore]\\nfn two/' tests/sum.rs", &[])),
        ["test-skipped"]
    );
    let mut strict = Sample::new("check = \"dilution\"", &files, PATH);
    assert_eq!(
        rules(&strict.judge("rm tests/sum.rs", &["--tag", "allow-dilution:test-skipped"])),
        ["test-removed"]
    );
    assert_eq!(rules(&strict.judge("rm tests/sum.rs", &["--tag", "allow-dilution:test-removed"])), [""; 0]);
}
