//! Python with pytest.

use std::path::{Path, PathBuf};

use acquit_testkit::need;

use crate::kit::{Case, Kind, Sample, Tried};

const GATE: &str = r#"
check = "tdd"
red = "every"
run = "python -m pytest -q -p no:cacheprovider --continue-on-collection-errors --junitxml=junit.xml"
report = { junit = "junit.xml" }
runs = 2
"#;

const SUM: &str = "def total(values):\n    return values[0] + values[1]\n";
const MENDED: &str = "def total(values):\n    return sum(values)\n";
const BROKEN: &str = "def total(values):\n    return len(values)\n";
const OLD_TEST: &str = "import json\nimport pathlib\n\nfrom sums import total\n\n\ndef test_two():\n    assert total([1, 2]) == 3\n\n\n\
                        def test_data():\n    data = json.loads((pathlib.Path(__file__).parent / 'data' / 'list.json').read_text())\n    \
                        assert total(data['list']) == data['total']\n";
const HONEST: &str = "from sums import total\n\n\ndef test_three():\n    assert total([1, 2, 3]) == 6\n";
const DOUBLE: &str = "from sums import double\n\n\ndef test_doubles():\n    assert double(2) == 4\n";
const FLAKY: &str = "import pathlib\n\n\ndef test_moody():\n    mood = pathlib.Path('mood')\n    known = mood.exists()\n    \
                     mood.write_text('x')\n    assert not known\n";
const FILES: [(&str, &str); 5] = [
    ("sums.py", SUM),
    (".gitignore", "junit.xml\n__pycache__/\n"),
    ("conftest.py", ""),
    ("tests/test_old.py", OLD_TEST),
    ("tests/data/list.json", "{ \"list\": [2, 2], \"total\": 4 }\n"),
];

pub(crate) static CASES: [Case; 20] = [
    Case::new(
        Kind::OddRed,
        &[
            ("sums.py", MENDED),
            ("expected.json", "6"),
            (
                "tests/test_file.py",
                "from sums import total\n\n\ndef test_file():\n    assert total([1, 2, 3]) == int(open('expected.json').read())\n",
            ),
        ],
    ),
    Case::new(Kind::Honest, &[("sums.py", MENDED), ("tests/test_new.py", HONEST)]),
    Case::new(
        Kind::NewThing,
        &[
            (
                "sums.py",
                "def total(values):\n    return values[0] + values[1]\n\n\ndef double(x):\n    return 2 * x\n",
            ),
            ("tests/test_double.py", DOUBLE),
        ],
    ),
    Case::new(
        Kind::Blind,
        &[
            (
                "sums.py",
                "def total(values):\n    return values[0] + values[1]\n\n\ndef double(x):\n    return 2 * x\n",
            ),
            (
                "tests/test_double.py",
                "from sums import double\n\n\ndef test_doubles():\n    assert double(2) is not None\n",
            ),
        ],
    ),
    Case::new(
        Kind::Tautology,
        &[
            ("sums.py", MENDED),
            (
                "tests/test_same.py",
                "from sums import total\n\n\ndef test_same():\n    assert total([1, 1]) == total([1, 1])\n",
            ),
        ],
    ),
    Case::new(
        Kind::NeverRan,
        &[
            ("sums.py", MENDED),
            ("tests/test_new.py", HONEST),
            ("tests/more.py", "def test_unseen():\n    assert False\n"),
        ],
    ),
    Case::new(
        Kind::Skipped,
        &[
            ("sums.py", MENDED),
            (
                "tests/test_later.py",
                "import pytest\nfrom sums import total\n\n\n@pytest.mark.skip\ndef test_later():\n    assert total([1, 2, 3]) == 6\n",
            ),
        ],
    ),
    Case::new(
        Kind::NewSignature,
        &[
            ("sums.py", "def total(values, start=0):\n    return values[0] + values[1] + start\n"),
            (
                "tests/test_start.py",
                "from sums import total\n\n\ndef test_start():\n    assert total([1, 2], 3) == 6\n",
            ),
        ],
    ),
    Case::new(
        Kind::Crash,
        &[
            ("sums.py", MENDED),
            ("tests/test_none.py", "from sums import total\n\n\ndef test_nothing():\n    total([])\n"),
        ],
    ),
    Case::new(Kind::StillRed, &[("sums.py", BROKEN), ("tests/test_new.py", HONEST)]),
    Case::new(
        Kind::Regression,
        &[
            ("sums.py", BROKEN),
            (
                "tests/test_new.py",
                "from sums import total\n\n\ndef test_ones():\n    assert total([5, 5, 5]) == 3\n",
            ),
        ],
    ),
    Case::new(
        Kind::FlakyToo,
        &[("sums.py", MENDED), ("tests/test_new.py", HONEST), ("tests/test_moody.py", FLAKY)],
    ),
    Case::new(Kind::FlakyAlone, &[("sums.py", MENDED), ("tests/test_moody.py", FLAKY)]),
    Case {
        kind: Kind::BrokenBefore,
        base: &[("tests/test_broken.py", "def test_broken():\n    assert False\n")],
        write: &[("sums.py", MENDED), ("tests/test_new.py", HONEST)],
        remove: &[],
    },
    Case::new(
        Kind::Fixture,
        &[("sums.py", MENDED), ("tests/data/list.json", "{ \"list\": [2, 2, 2], \"total\": 6 }\n")],
    ),
    Case::new(Kind::FixtureOnly, &[("tests/data/list.json", "{ \"list\": [3, 2], \"total\": 5 }\n")]),
    Case {
        kind: Kind::Renamed,
        base: &[],
        write: &[
            ("sums.py", MENDED),
            (
                "tests/test_renamed.py",
                "import json\nimport pathlib\n\nfrom sums import total\n\n\ndef test_two():\n    assert total([1, 2]) == 3\n\n\ndef test_data():\n    data = json.loads((pathlib.Path(__file__).parent / 'data' / 'list.json').read_text())\n    assert total(data['list']) == data['total']\n\n\ndef test_three():\n    assert total([1, 2, 3]) == 6\n",
            ),
        ],
        remove: &["tests/test_old.py"],
    },
    Case::new(Kind::Untested, &[("sums.py", MENDED)]),
    Case::new(Kind::Docs, &[("docs/how.rst", "words\n")]),
    Case::new(
        Kind::OneUnloadable,
        &[
            ("sums.py", "def total(values):\n    return sum(values)\n\n\ndef double(x):\n    return 2 * x\n"),
            ("tests/test_new.py", HONEST),
            ("tests/test_double.py", DOUBLE),
        ],
    ),
];

/// The folder of programs with pytest, made by `cargo xtask test`.
pub(crate) fn pytest() -> Option<PathBuf> {
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("runners/python/bin");
    let found = bin.join("pytest").is_file().then_some(bin);
    need::or_skip(found, "pytest below target/runners", "tests of Python")
}

/// Where programs are looked for.
pub(crate) fn path(bin: &Path) -> String {
    // The environment borrows its interpreter, which a sandbox shows only where it is named.
    let real = bin.join("python").canonicalize().unwrap();
    format!("{}:{}:/usr/local/bin:/usr/bin:/bin", bin.display(), real.parent().unwrap().display())
}

#[test]
fn changes_in_python_are_judged_by_what_their_tests_show() {
    judged(Tried::OfTheLanguage);
}

#[test]
fn soak_every_change_in_python_is_judged_by_what_its_tests_show() {
    judged(Tried::All);
}

fn judged(tried: Tried) {
    let Some(bin) = pytest() else { return };
    Sample::new(GATE, &FILES, &path(&bin)).table(&CASES, tried);
}
