//! Tests that are compared with the base, and what no report can change.

use acquit_core::gate::Verdict;
use acquit_testkit::runner;

use crate::kit::{Case, Kind, Sample};

/// A runner that needs nothing: each file of `checks/` is a test, whose first word says how it ends.
const RUNNER: &str = r#"
out=results.xml
code=0
echo '<testsuite name="checks">' > $out
for file in checks/*; do
  case "$(cat $file)" in
    pass*) echo "<testcase name='$file'/>" ;;
    moody*) if [ -e mood ]; then echo "<testcase name='$file'><failure message='assert moody'/></testcase>"; code=1
            else : > mood; echo "<testcase name='$file'/>"; fi ;;
    lie*) echo "<testcase name='$file'/>"; code=1 ;;
    *) echo "<testcase name='$file'><failure message='assert $file'/></testcase>"; code=1 ;;
  esac >> $out
done
echo '</testsuite>' >> $out
exit $code
"#;

const GATE: &str =
    "check = \"tests\"\nrun = \"sh run.sh\"\nreport = { junit = \"results.xml\" }\nagain = 1\n";

const FILES: [(&str, &str); 4] = [
    ("run.sh", RUNNER),
    (".gitignore", "results.xml\nmood\n"),
    ("checks/good", "pass"),
    ("checks/bad", "fail"),
];

fn rules(verdict: &Verdict) -> Vec<&str> {
    verdict.evidence.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

/// The verdict on a change of these files, and the rules that it names.
#[track_caller]
fn check(write: &'static [(&'static str, &'static str)], passed: bool, expected: &[&str]) {
    let mut sample = Sample::new(GATE, &FILES, "/usr/local/bin:/usr/bin:/bin");
    let verdict = sample.judge(&Case::new(Kind::Honest, write));
    assert_eq!((verdict.passed, rules(&verdict).as_slice()), (passed, expected), "{verdict:#?}");
}

#[test]
fn what_failed_before_is_named_and_does_not_reject() {
    check(&[("checks/new", "pass")], true, &["broken-before"]);
}

#[test]
fn a_new_failure_rejects_whether_the_test_is_old_or_new() {
    check(&[("checks/good", "fail")], false, &["broken-before", "new-failure"]);
    check(&[("checks/new", "fail")], false, &["broken-before", "new-failure"]);
}

#[test]
fn a_test_that_changes_its_mind_is_named_and_has_no_say() {
    check(&[("checks/new", "moody")], true, &["broken-before", "flaky"]);
}

#[test]
fn a_report_that_was_there_before_the_run_counts_for_nothing() {
    const FORGED: &str = "<testsuite name='checks'><testcase name='checks/good'/></testsuite>";
    // Nothing writes a report any more, and one that says that all is well is part of the change.
    check(
        &[("run.sh", "exit 0\n"), ("results.xml", FORGED), (".gitignore", "mood\n")],
        false,
        &["vanished", "nothing-ran", "judge-changed"],
    );
}

/// The same runner, which writes where it is told to.
fn told() -> (String, String) {
    let runner =
        RUNNER.replace("out=results.xml", "out=\"$ACQUIT_REPORTS/results.xml\"\necho \"$ACQUIT_REPORTS\"");
    (GATE.replace("\"results.xml\"", "\"$ACQUIT_REPORTS/results.xml\""), runner)
}

#[test]
fn a_report_is_read_where_no_change_could_put_it_in_advance() {
    const FORGED: &str = "<testsuite name='checks'><testcase name='checks/good'/></testsuite>";
    let (gate, runner) = told();
    let files = [("run.sh", runner.as_str()), FILES[2], FILES[3]];
    let mut sample = Sample::new(&gate, &files, "/usr/local/bin:/usr/bin:/bin");
    let honest = sample.judge(&Case::new(Kind::Honest, &[("checks/new", "pass")]));
    assert!(honest.passed, "{honest:#?}");
    let forged = sample.judge(&Case::new(
        Kind::Honest,
        &[
            ("run.sh", "echo \"$ACQUIT_REPORTS\"\n"),
            ("results.xml", FORGED),
            ("$ACQUIT_REPORTS/results.xml", FORGED),
        ],
    ));
    assert!(!forged.passed && rules(&forged).contains(&"vanished"), "{forged:#?}");
    let place =
        |task: u32| std::fs::read_to_string(sample.leg_file(task, "check-proof-change-1.log")).unwrap();
    assert!(place(1).contains(".acquit-reports-"), "{}", place(1));
    assert_ne!(place(1), place(2));
}

#[test]
fn a_report_that_says_nothing_is_not_a_pass() {
    const LCOV: &str = "echo 'SF:a.py' > results.xml\n";
    for gate in [GATE, "run = \"sh run.sh\"\nreport = { junit = \"results.xml\" }\n"] {
        for runner in ["exit 0\n", LCOV, ": > results.xml\n"] {
            let files = [("run.sh", runner), FILES[1], FILES[2]];
            let mut sample = Sample::new(gate, &files, "/usr/local/bin:/usr/bin:/bin");
            let verdict = sample.judge(&Case::new(Kind::Honest, &[("checks/new", "pass")]));
            let kind = verdict.failure.as_ref().map(|failure| failure.kind.as_str());
            assert_eq!((verdict.passed, kind), (false, Some("unjudged")), "{runner}: {verdict:#?}");
        }
    }
}

#[test]
fn a_report_without_failures_does_not_overrule_the_exit_code() {
    check(&[("checks/bad", "pass"), ("checks/new", "lie")], false, &["exit"]);
}

#[test]
fn a_test_that_passed_on_the_base_must_run_and_pass() {
    let mut sample = Sample::new(GATE, &FILES, "/usr/local/bin:/usr/bin:/bin");
    let gone = Case { remove: &["checks/good"], ..Case::new(Kind::Honest, &[("checks/new", "pass")]) };
    let verdict = sample.judge(&gone);
    assert!(!verdict.passed && rules(&verdict).contains(&"vanished"), "{verdict:#?}");
}

#[test]
fn what_passes_only_with_a_changed_runner_does_not_pass() {
    const LENIENT: &str = "out=results.xml\necho '<testsuite name=\"checks\">' > $out\n\
                           for file in checks/*; do echo \"<testcase name='$file'/>\" >> $out; done\necho '</testsuite>' >> $out\n";
    check(
        &[("run.sh", LENIENT), ("checks/good", "fail")],
        false,
        &["judge-changed", "judge-changed", "judge-changed"],
    );
}

#[test]
fn the_base_is_run_once_for_all_tasks_that_start_from_it() {
    let mut sample = Sample::new(GATE, &FILES, "/usr/local/bin:/usr/bin:/bin");
    for number in 1..=2 {
        let verdict = sample.judge(&Case::new(Kind::Honest, &[("checks/new", "pass")]));
        assert!(verdict.passed, "{verdict:#?}");
        assert_eq!(sample.leg_file(number, "check-proof-base-1.log").exists(), number == 1);
    }
    // Another tree is another base.
    let case =
        Case { base: &[("checks/more", "pass")], ..Case::new(Kind::Honest, &[("checks/new", "pass")]) };
    assert!(sample.judge(&case).passed);
    assert!(sample.leg_file(3, "check-proof-base-1.log").exists());
}

#[test]
fn dependencies_are_installed_once_for_each_state_of_the_lock_file() {
    // Without the dependencies nothing can be run.
    const RUNNER: &str = "test -e deps/here || exit 7\n. ./words.sh\n";
    const GATE: &str = "check = \"tdd\"\nrun = \"sh run.sh\"\nreport = { junit = \"results.xml\" }\ntests = [\"checks/**\"]\n";
    const SETUP: &str = "\n[setup]\nrun = \"mkdir -p deps && touch deps/here && echo set >> '@ROOT@/setups'\"\nlock_files = [\"lock\"]\n";
    const FILES: [(&str, &str); 6] = [
        ("run.sh", RUNNER),
        ("words.sh", runner::WORDS),
        (".gitignore", "results.xml\ndeps\n"),
        ("code", "one\n"),
        ("checks/one", "one"),
        ("lock", "1\n"),
    ];
    let mut sample = Sample::set_up(SETUP, GATE, &FILES, "/usr/local/bin:/usr/bin:/bin");
    let setups = |sample: &Sample| crate::common::read(&sample.place("setups")).lines().count();
    let verdict = sample.judge(&Case::new(Kind::Honest, &[("code", "one\ntwo\n"), ("checks/two", "two")]));
    assert!(verdict.passed, "{verdict:#?}");
    assert_eq!(setups(&sample), 1);
    // Another lock file with the change: once more for the change. The base is known by now, and is not shown.
    const CHANGED: [(&str, &str); 3] = [("code", "one\ntwo\n"), ("checks/two", "two"), ("lock", "2\n")];
    let verdict = sample.judge(&Case::new(Kind::Honest, &CHANGED));
    assert!(verdict.passed, "{verdict:#?}");
    // Trees that have the changed lock file, each with a layer of its own.
    assert!((2..=4).contains(&setups(&sample)), "{}", setups(&sample));
}

/// Tests leave what git would wait for, or could not remove, in the tree in which they run again with other files.
#[test]
fn what_tests_leave_in_their_tree_holds_nobody_up() {
    const RUNNER: &str = r#"
out=results.xml
code=0
echo '<testsuite name="checks">' > $out
for file in checks/*; do
  if sh $file; then echo "<testcase name='$file'/>"; else echo "<testcase name='$file'><failure message='assert $file'/></testcase>"; code=1; fi >> $out
done
echo '</testsuite>' >> $out
exit $code
"#;
    const GATE: &str = "check = \"tdd\"\nrun = \"sh run.sh\"\nreport = { junit = \"results.xml\" }\ntests = [\"checks/**\"]\n";
    const FILES: [(&str, &str); 4] = [
        ("run.sh", RUNNER),
        (".gitignore", "results.xml\n"),
        ("code", "one\n"),
        ("checks/one", "grep -q one code\n"),
    ];
    const TEST: &str = "mkdir -p left closed/deep; test -e left/.gitignore || mkfifo left/.gitignore; chmod 000 closed\n\
        python3 -c 'import os\nfor level in range(300): os.makedirs(\"d\", exist_ok=True); os.chdir(\"d\")'\ngrep -q two code\n";
    // It touches the runner too, so the tests run once more with that of the base, where they ran before.
    const WORK: [(&str, &str); 3] =
        [("code", "one\ntwo\n"), ("checks/two", TEST), ("run.sh", "# the same\n. ./runner.sh\n")];
    let mut sample =
        Sample::new(GATE, &[&FILES[..], &[("runner.sh", RUNNER)]].concat(), "/usr/local/bin:/usr/bin:/bin");
    let begun = std::time::Instant::now();
    let verdict = sample.judge(&Case::new(Kind::Honest, &WORK));
    assert!(verdict.passed, "{verdict:#?}");
    assert!(begun.elapsed() < std::time::Duration::from_mins(1), "{:?}", begun.elapsed());
}
