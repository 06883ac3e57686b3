//! Tests on code that is broken on purpose: those that are written anew must notice what the old ones noticed. That those of a
//! change must look at what it gives is tried in each language ([`Kind::Blind`]), and here in Java.

use acquit_testkit::gauge::JUNIT;
use acquit_testkit::need;

use crate::kit::{Case, Kind, Sample, Tried};
use crate::python::{path, pytest};

const TESTS: &str = r#"
check = "tests"
run = "python -m pytest -q -p no:cacheprovider --continue-on-collection-errors --junitxml=junit.xml"
report = { junit = "junit.xml" }
"#;

const FILES: [(&str, &str); 4] = [
    (
        "sums.py",
        "def total(values):\n    return sum(values)\n\n\ndef label(count):\n    if count == 1:\n        return \"1 item\"\n    return f\"{count} items\"\n",
    ),
    (".gitignore", "junit.xml\n__pycache__/\n"),
    ("conftest.py", ""),
    (
        "tests/test_sums.py",
        "from sums import label, total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n\ndef test_one():\n    assert label(1) == \"1 item\"\n\n\ndef test_more():\n    assert label(2) == \"2 items\"\n",
    ),
];

#[test]
fn tests_in_other_words_pass_if_they_notice_as_much() {
    let Some(bin) = pytest() else { return };
    let mut sample = Sample::new(TESTS, &FILES, &path(&bin));
    for (text, passes) in [
        (
            "import sums\n\nCASES = [(sums.total, [4, 5], 9), (sums.label, 1, \"1 item\"), (sums.label, 7, \"7 items\")]\n\n\ndef test_sums():\n    for call, given, wanted in CASES:\n        assert call(given) == wanted\n",
            true,
        ),
        (
            "import sums\n\nCASES = [(sums.total, [4, 5], 9), (sums.label, 7, \"7 items\")]\n\n\ndef test_sums():\n    for call, given, wanted in CASES:\n        assert call(given) == wanted\n",
            false,
        ),
    ] {
        let files = vec![("tests/test_sums.py", text)].leak();
        let verdict = sample.judge_task(&Case::new(Kind::Honest, files), "Write the tests as one table");
        assert_eq!(verdict.passed, passes, "{verdict:#?}");
    }
}

const JAVA: &str = r#"
check = "tdd"
runs = 1
build = "rm -rf out && mkdir -p out && javac -J-XX:TieredStopAtLevel=1 -nowarn -d out -cp JUNIT *.java"
run = "java -XX:TieredStopAtLevel=1 -cp out:JUNIT org.junit.platform.console.ConsoleLauncher --disable-banner --scan-classpath out --reports-dir reports"
report = { junit = "reports/TEST-junit-jupiter.xml" }
tests = ["*Test.java"]
"#;

const SUMS: &str = "class Sums {\n    static int first(int[] all) {\n        return all[0];\n    }\n}\n";
const TWICE: &str = "class Twice {\n    static int of(int x) {\n        return 2 * x;\n    }\n}\n";

macro_rules! java_test {
    ($class:literal, $body:literal) => {
        concat!(
            "import static org.junit.jupiter.api.Assertions.*;\nimport org.junit.jupiter.api.Test;\n\nclass ",
            $class,
            " {\n    @Test\n    void it() {\n        ",
            $body,
            "\n    }\n}\n"
        )
    };
}

static IN_JAVA: [Case; 3] = [
    Case::new(
        Kind::NewThing,
        &[
            ("Twice.java", TWICE),
            ("TwiceTest.java", java_test!("TwiceTest", "assertEquals(6, Twice.of(3));")),
        ],
    ),
    Case::new(
        Kind::Blind,
        &[
            ("Twice.java", TWICE),
            ("TwiceTest.java", java_test!("TwiceTest", "assertTrue(Twice.of(3) != 0);")),
        ],
    ),
    Case::new(
        Kind::Crash,
        &[
            (
                "Sums.java",
                "class Sums {\n    static int first(int[] all) {\n        if (all.length == 0) {\n            return 0;\n        }\n        return all[0];\n    }\n}\n",
            ),
            ("NoneTest.java", java_test!("NoneTest", "Sums.first(new int[0]);")),
        ],
    ),
];

#[test]
fn tests_of_a_change_in_java_must_look_at_what_it_gives() {
    let jar = std::path::Path::new(JUNIT).canonicalize().ok().filter(|_| need::find("javac").is_some());
    let Some(jar) = need::or_skip(jar, "JUnit 5 and a JDK", "tests of Java") else { return };
    let files = [
        (".gitignore", "out/\nreports/\n"),
        ("Sums.java", SUMS),
        ("SumsTest.java", java_test!("SumsTest", "assertEquals(1, Sums.first(new int[] {1, 2}));")),
    ];
    let gate = JAVA.replace("JUNIT", &jar.display().to_string());
    Sample::new(&gate, &files, "/usr/local/bin:/usr/bin:/bin").table(&IN_JAVA, Tried::All);
}
