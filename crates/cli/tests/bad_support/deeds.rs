//! What an agent does to its clone, its files and its report: nothing hangs, nothing of the user's is touched, and what it
//! did is either taken rightly or refused with the reason.

use std::path::PathBuf;

use super::Bench;

/// What was done; the script; the exit code; what is said.
type Deed = (&'static str, &'static str, i32, &'static str);

const DEEDS: &[Deed] = &[
    ("does nothing", "true", 3, "the agent ended without changing anything"),
    ("fails", "echo oops >&2; exit 3", 3, "the agent bot: exit 3"),
    ("is killed", "kill -9 $$", 3, "the agent bot: ended by signal 9"),
    (
        "deletes its folder",
        "rm -rf \"$PWD\"; cd /",
        3,
        "the agent did what no agent may: its repository was deleted",
    ),
    (
        "deletes its repository",
        "echo x > new.txt; rm -rf .git",
        3,
        "the agent did what no agent may: its repository was deleted",
    ),
    (
        "rewrites history",
        "git commit -q --amend -m other; echo x > new.txt",
        3,
        "does not build on the commit that the leg started from",
    ),
    (
        "begins a history of its own",
        "git checkout -q --orphan o; git commit -qm o; git branch -f acquit/do-it-T-1; git checkout -q acquit/do-it-T-1",
        3,
        "does not build on the commit that the leg started from",
    ),
    ("leaves a merge", CONFLICT, 3, "the agent left a merge unfinished"),
    (
        "reports half of it",
        "echo x > new.txt; printf '{\"outcome\": \"pr_re' > $ACQUIT_HANDOFF",
        3,
        "the handoff file is not valid JSON: EOF while parsing a string",
    ),
    (
        "reports bytes",
        "echo x > new.txt; printf '\\377\\0' > $ACQUIT_HANDOFF",
        3,
        "the handoff file is not valid JSON",
    ),
    (
        "reports an unknown outcome",
        "echo x > new.txt; echo '{\"outcome\": \"great\", \"payload\": {}}' > $ACQUIT_HANDOFF",
        3,
        "`great` is not an outcome of this stage; it can be: ",
    ),
    (
        "reports a list",
        "echo x > new.txt; echo '[]' > $ACQUIT_HANDOFF",
        3,
        "the handoff file must be a JSON object",
    ),
    (
        "reports ten megabytes",
        "echo x > new.txt; head -c 10000000 /dev/zero > $ACQUIT_HANDOFF",
        3,
        "the handoff file has 10000000 bytes; 262144 are allowed",
    ),
    (
        "puts a folder in place of the report",
        "echo x > new.txt; rm $ACQUIT_HANDOFF; mkdir $ACQUIT_HANDOFF",
        3,
        "it was replaced by a folder",
    ),
    (
        "puts a link in place of the report",
        "echo x > new.txt; ln -sf /etc/passwd $ACQUIT_HANDOFF",
        3,
        "it was replaced by a link",
    ),
    (
        "puts a pipe in place of the report",
        "echo x > new.txt; rm $ACQUIT_HANDOFF; mkfifo $ACQUIT_HANDOFF",
        3,
        "it was replaced by neither a file nor a folder",
    ),
];

const CONFLICT: &str = "git checkout -qb o; echo 1 > README.md; git commit -qam 1; git checkout -q -; echo 2 > README.md; git commit -qam 2; git merge -q o; true";

/// What is taken all the same: the work is in the branch.
const TAKEN: &[(&str, &str)] = &[
    (
        "commits on another branch",
        "git checkout -qb other; echo work > new.txt; git add -A; git commit -qm w",
    ),
    ("detaches its HEAD", "git checkout -q --detach; echo work > new.txt; git add -A; git commit -qm w"),
    ("deletes the report", "echo work > new.txt; rm $ACQUIT_HANDOFF"),
    ("empties the report", "echo work > new.txt; : > $ACQUIT_HANDOFF"),
    ("empties the output folder", "echo work > new.txt; rm -rf $ACQUIT_OUTPUT; true"),
    ("leaves a pipe as plan", "echo work > new.txt; mkfifo $ACQUIT_OUTPUT/plan.md $ACQUIT_OUTPUT/x.md"),
    (
        "leaves many files",
        "echo work > new.txt; cd $ACQUIT_OUTPUT; seq 1 5000 | sed 's/$/.md/' | xargs touch",
    ),
    ("leaves something running", "echo work > new.txt; setsid sleep 1000 & "),
    (
        "leaves a name that is not text",
        "echo work > new.txt; touch \"$(printf 'b\\377d')\" \"$(printf 'line\\nbreak')\"",
    ),
    ("leaves a lock of git", "echo work > new.txt; touch .git/index.lock .git/HEAD.lock"),
];

#[test]
fn what_cannot_be_taken_is_refused_with_its_reason_and_kept() {
    for (what, script, code, says) in DEEDS {
        let bench = Bench::agent(script);
        let files = || bench.repo().fingerprint(&["refs/acquit", "logs/refs/acquit"]);
        let before = files();
        let ran = bench.acquit(&["run", "Do it"]);
        assert_eq!(ran.code, Some(*code), "{what}: {ran}");
        assert!(ran.out.contains(says), "{what}: no {says:?} in {ran}");
        let touched: Vec<_> =
            files().into_iter().filter(|file| !before.contains(file)).map(|(name, _)| name).collect();
        assert_eq!(touched, [""; 0].map(PathBuf::from), "{what}: the user's repository was touched");
        assert!(!ran.out.contains("root:"), "{what}: {ran}");
        // Whatever it was, the next attempt begins on a clean tree and comes to its end.
        bench.set_agent("test ! -e new.txt && test -e README.md && echo work > new.txt");
        bench.acquit(&["task", "retry", "T-1"]).must(0);
        let again = bench.acquit(&["run", "T-1"]);
        assert_eq!(again.code, Some(0), "{what}, then once more: {again}");
        assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work", "{what}");
        if script.contains("> new.txt") {
            let workspace = bench.place("acquit/tasks/T-1/workspace/git");
            let taken = workspace.join("refs/acquit/legs/T-1.1").exists();
            assert!(taken || !bench.saved().is_empty(), "{what}: its work is neither taken nor saved");
        }
    }
}

#[test]
fn what_can_be_taken_is_delivered() {
    for (what, script) in TAKEN {
        let bench = Bench::agent(script);
        let ran = bench.acquit(&["run", "Do it"]);
        assert_eq!(ran.code, Some(0), "{what}: {ran}");
        assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work", "{what}");
        assert_eq!(bench.repo().git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main", "{what}");
    }
}

#[test]
fn links_do_not_make_the_harness_read_what_they_lead_to() {
    let bench = Bench::agent("");
    let secret = bench.place("secret");
    acquit_testkit::repo::write(&secret.join("plan.md"), "hidden words\n");
    acquit_testkit::repo::write(&secret.join("notes.txt"), "hidden words\n");
    let report = r#"{"outcome":"pr_ready","payload":{"summary":"hidden words"}}"#;
    acquit_testkit::repo::write(&secret.join("handoff.json"), report);
    let secret = secret.to_string_lossy();
    let cases = [
        format!("echo work > new.txt; ln -s {secret}/plan.md {secret}/notes.txt $ACQUIT_OUTPUT/"),
        format!("echo work > new.txt; rm -rf $ACQUIT_OUTPUT; ln -s {secret} $ACQUIT_OUTPUT"),
    ];
    for (number, script) in cases.iter().enumerate() {
        bench.set_agent(script);
        let ran = bench.acquit(&["run", "Do it"]);
        let shown = bench.acquit(&["task", "show", &format!("T-{}", number + 1), "--json"]).must(0);
        for text in [&ran.out, &ran.err, &shown.out] {
            assert!(!text.contains("hidden words") && !text.contains("notes.txt"), "{script}: {text}");
        }
    }
}

#[test]
fn a_change_of_the_projects_files_has_no_effect_but_the_end_of_the_leg() {
    let script = "rm -rf .acquit; mkdir .acquit; echo nonsense > .acquit/acquit.toml; echo work > new.txt";
    let bench = Bench::agent(script)
        .with_stage("gates = [\"check\"]", "[gates.check]\nrun = \"echo not good; exit 1\"\n");
    bench.run_to(3).says("the agent did what no agent may").says("leave it as it is");
    bench.acquit(&["workflow", "check"]).must(0);
}

#[test]
fn an_agent_that_is_silent_or_slow_is_stopped_by_its_limit() {
    let slow = Bench::agent("echo begun; sleep 1000").with_stage("timeout = \"1s\"", "");
    slow.run_to(3)
        .says("the agent bot: timed out after 1s; the limit is `timeout` of stage code in the workflow");
    let silent = Bench::agent("sleep 1000").with_stage("idle = \"1s\"", "");
    silent.run_to(3).says("the agent bot: silent for 1s; the limit is `idle` of stage code in the workflow");
    let chatty = Bench::agent("yes").with_stage("output = \"64KiB\"", "");
    chatty.run_to(3).says(
        "the agent bot: printed more than 65536 bytes; the limit is `output` of stage code in the workflow",
    );
}
