//! Go with its own runner.
#![allow(
    clippy::disallowed_methods,
    reason = "the standard library is compiled once, into a cache that all cases share"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use acquit_testkit::need;

use crate::kit::{Case, Kind, Sample, Tried};

const GATE: &str = r#"
check = "tdd"
red = "every"
run = "go test -vet=off -json -count=1 ./..."
report = "go-test"
runs = 2
"#;

const LIB: &str = "package sample\n\nfunc Total(values []int) int {\n\treturn values[0] + values[1]\n}\n";
const MENDED: &str = "package sample\n\nfunc Total(values []int) int {\n\tsum := 0\n\tfor _, value := range values {\n\t\tsum += value\n\t}\n\t\
                      return sum\n}\n";
const BROKEN: &str = "package sample\n\nfunc Total(values []int) int {\n\treturn len(values)\n}\n";
const OLD_TEST: &str = "package sample\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestTwo(t *testing.T) {\n\t\
                        if got := Total([]int{1, 2}); got != 3 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n\nfunc TestData(t *testing.T) {\n\t\
                        text, err := os.ReadFile(\"testdata/list.txt\")\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tvar want, a, b, c int\n\t\
                        fmt.Sscan(string(text), &want, &a, &b, &c)\n\tif got := Total([]int{a, b, c}); got != want {\n\t\t\
                        t.Errorf(\"got %d, want %d\", got, want)\n\t}\n}\n";
const HONEST: &str = "package sample\n\nimport \"testing\"\n\nfunc TestThree(t *testing.T) {\n\tif got := Total([]int{1, 2, 3}); got != 6 {\n\t\t\
                      t.Errorf(\"got %d\", got)\n\t}\n}\n";
const FLAKY: &str = "package sample\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMoody(t *testing.T) {\n\t_, err := os.Stat(\"mood\")\n\t\
                     os.WriteFile(\"mood\", []byte(\"x\"), 0o644)\n\tif err == nil {\n\t\tt.Error(\"not again\")\n\t}\n}\n";
const FILES: [(&str, &str); 4] = [
    ("go.mod", "module example.com/sample\n\ngo 1.18\n"),
    ("sample.go", LIB),
    ("old_test.go", OLD_TEST),
    ("testdata/list.txt", "4 2 2 0\n"),
];

pub(crate) static CASES: [Case; 18] = [
    Case::new(Kind::Honest, &[("sample.go", MENDED), ("new_test.go", HONEST)]),
    Case::new(
        Kind::NewThing,
        &[
            ("double.go", "package sample\n\nfunc Double(x int) int {\n\treturn 2 * x\n}\n"),
            (
                "double_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(2) != 4 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::Blind,
        &[
            ("double.go", "package sample\n\nfunc Double(x int) int {\n\treturn 2 * x\n}\n"),
            (
                "double_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(2) == 0 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::Tautology,
        &[
            ("sample.go", MENDED),
            (
                "same_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestSame(t *testing.T) {\n\tif Total([]int{1, 1}) != 2 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::NeverRan,
        &[
            ("sample.go", MENDED),
            ("new_test.go", HONEST),
            (
                "more_windows_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestUnseen(t *testing.T) {\n\tt.Fatal(\"no\")\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::Skipped,
        &[
            ("sample.go", MENDED),
            (
                "later_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestLater(t *testing.T) {\n\tt.Skip(\"later\")\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::NewSignature,
        &[
            (
                "sample.go",
                "package sample\n\nfunc Total(values []int, start int) int {\n\treturn values[0] + values[1] + start\n}\n",
            ),
            (
                "old_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif Total([]int{1, 2}, 1) != 4 {\n\t\tt.Error(\"no\")\n\t}\n}\n\nfunc TestData(t *testing.T) {\n\tif got := Total([]int{2, 2, 0}, 0); got != 4 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n",
            ),
        ],
    ),
    Case::new(
        Kind::Crash,
        &[
            ("sample.go", MENDED),
            (
                "none_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {\n\tTotal(nil)\n}\n",
            ),
        ],
    ),
    Case::new(Kind::StillRed, &[("sample.go", BROKEN), ("new_test.go", HONEST)]),
    Case::new(
        Kind::Regression,
        &[
            ("sample.go", BROKEN),
            (
                "new_test.go",
                "package sample\n\nimport \"testing\"\n\nfunc TestOnes(t *testing.T) {\n\tif Total([]int{5, 5, 5}) != 3 {\n\t\tt.Error(\"no\")\n\t}\n}\n",
            ),
        ],
    ),
    Case::new(Kind::FlakyToo, &[("sample.go", MENDED), ("new_test.go", HONEST), ("moody_test.go", FLAKY)]),
    Case::new(Kind::FlakyAlone, &[("sample.go", MENDED), ("moody_test.go", FLAKY)]),
    Case {
        kind: Kind::BrokenBefore,
        base: &[(
            "broken_test.go",
            "package sample\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) {\n\tt.Error(\"broken\")\n}\n",
        )],
        write: &[("sample.go", MENDED), ("new_test.go", HONEST)],
        remove: &[],
    },
    Case::new(Kind::Fixture, &[("sample.go", MENDED), ("testdata/list.txt", "6 2 2 2\n")]),
    Case::new(Kind::FixtureOnly, &[("testdata/list.txt", "5 3 2 0\n")]),
    Case {
        kind: Kind::Renamed,
        base: &[],
        write: &[("sample.go", MENDED), ("renamed_test.go", OLD_TEST), ("new_test.go", HONEST)],
        remove: &["old_test.go"],
    },
    Case::new(Kind::Untested, &[("sample.go", MENDED)]),
    Case::new(Kind::Docs, &[("README.md", "words\n")]),
];

/// A build cache that has the standard library already, made once for all runs of the tests.
fn warm_cache(go: &Path) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let lock = File::create(place.join("go-build.lock")).unwrap();
    lock.lock().unwrap();
    let cache = place.join("go-build");
    if !cache.join("warm").exists() {
        let module = place.join("go-warm");
        acquit_testkit::repo::write(&module.join("go.mod"), FILES[0].1);
        acquit_testkit::repo::write(&module.join("sample.go"), LIB);
        acquit_testkit::repo::write(&module.join("old_test.go"), HONEST);
        acquit_testkit::repo::write(&module.join("more_test.go"), FLAKY);
        let mut command = Command::new(go);
        command.args(["test", "-vet=off", "-run", "^$", "./..."]).current_dir(&module).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &module).env("GOCACHE", &cache);
        assert!(command.output().unwrap().status.success());
        std::fs::write(cache.join("warm"), "").unwrap();
    }
    cache
}

#[test]
fn changes_in_go_are_judged_by_what_their_tests_show() {
    judged(Tried::OfTheLanguage);
}

#[test]
fn soak_every_change_in_go_is_judged_by_what_its_tests_show() {
    judged(Tried::All);
}

fn judged(tried: Tried) {
    let Some(go) = need::program("go", "tests of Go") else { return };
    let cache = warm_cache(&go);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", go.parent().unwrap().display());
    let mut sample = Sample::new(GATE, &FILES, &path);
    let home = sample.home();
    std::fs::create_dir_all(home.join(".cache")).unwrap();
    // The world of a test is a folder that programs may write to, in which no link is followed.
    let copied = Command::new("cp").arg("-R").arg(cache).arg(home.join(".cache/go-build")).status();
    assert!(copied.unwrap().success());
    sample.table(&CASES, tried);
}
