//! Programs that are missing, checks that hang or flood, a setup that fails.

use super::Bench;

fn gate(toml: &str) -> Bench {
    Bench::new().with_stage("gates = [\"check\"]", &format!("[gates.check]\n{toml}\n"))
}

#[test]
fn a_gate_that_does_not_come_to_a_verdict_rejects_with_the_reason() {
    let cases = [
        ("run = [\"no-such-check\", \"--all\"]", "failed to start \"no-such-check\": no such program"),
        (
            "run = [\"./README.md\"]",
            "failed to start \"./README.md\": not a program that can be executed here",
        ),
        ("run = \"no-such-check --all\"", "no-such-check: not found"),
        ("run = \"sleep 1000\"\ntimeout = \"1s\"", "`sleep 1000`: timed out after 1s; it printed nothing"),
        (
            "run = \"echo begun; sleep 1000\"\ntimeout = \"1s\"",
            "`echo begun; sleep 1000`: timed out after 1s",
        ),
        ("run = \"cat; exit 1\"", "`cat; exit 1`: exit 1; it printed nothing"),
    ];
    for (toml, says) in cases {
        let bench = gate(toml);
        bench.run_to(3).says("✗ gate check").says(says);
        // The work is not lost: it stands in the workspace, and a person can let it be tried again.
        assert!(
            bench.repo().git(&["for-each-ref", "refs/heads/acquit"]).is_empty(),
            "{toml}: it was delivered"
        );
    }
}

#[test]
fn a_gate_that_is_always_killed_gives_no_verdict_and_a_person_is_asked() {
    let bench = gate("run = \"kill -9 $$\"");
    bench
        .run_to(3)
        .says("`check` was killed, and not by acquit (ended by signal 9): running it again")
        .says("`check` was killed, and not by acquit (ended by signal 9), so there is no result")
        .says("the budget for lost (");
    let verdicts = bench.acquit(&["logs", "T-1", "--all", "--json"]).must(0).out;
    assert!(!verdicts.contains("\"verdict\""), "{verdicts}");
}

#[test]
fn a_gate_that_floods_is_stopped() {
    let bench = gate("run = \"yes\"");
    bench
        .run_to(3)
        .says("gate check printed more than 268435456 bytes")
        .says("`yes`: printed more than 268435456 bytes");
}

#[test]
fn a_missing_agent_is_told_with_what_to_do() {
    for program in ["no-such-agent", "README.md", "/no/such/agent"] {
        let bench = Bench::new();
        bench.repo().write(
            ".acquit/acquit.toml",
            &format!("[agents.bot]\nadapter = \"command\"\nrun = [\"{program}\", \"-p\"]\n"),
        );
        bench
            .run_to(2)
            .says(&format!("the program `{program}` of the agent bot is not installed: install it"));
        bench.acquit(&["task", "list"]).must(0).says("no tasks");
    }
    for program in ["./no/such/agent", "./README.md"] {
        let bench = Bench::new();
        bench.repo().write(
            ".acquit/acquit.toml",
            &format!("[agents.bot]\nadapter = \"command\"\nrun = [\"{program}\", \"-p\"]\n"),
        );
        let says = format!("the agent bot did not start: failed to start \"{program}\": ");
        bench
            .run_to(3)
            .says(&says)
            .says("install it in a folder of PATH and approve, or configure another in [agents.bot]");
    }
}

#[test]
fn a_missing_script_or_turn_is_told() {
    let bench = Bench::new();
    bench
        .repo()
        .write(".acquit/acquit.toml", "[agents.bot]\nadapter = \"scripted\"\nscript = \"script.toml\"\n");
    bench.run_to(3).says("failed to read the script").says("script.toml");
    bench.repo().write(".acquit/script.toml", "[[plan]]\n");
    bench.acquit(&["run", "x"]).must(3).says("failed to find a turn for stage `code` in the script");
    bench.repo().write(".acquit/script.toml", "[[code]]\n[[code.step]]\nsay = 3\n");
    bench.acquit(&["run", "x"]).must(3).says("failed to understand the script").says("expected a string");
}

#[test]
fn a_variable_that_is_not_set_is_told() {
    let bench = Bench::new().with_config("pass_env = [\"BOT_KEY\"]\n");
    bench
        .run_to(2)
        .says("$BOT_KEY is in `pass_env` of [agents.bot], and is not set where acquit was started");
}

#[test]
fn a_setup_that_fails_is_told_with_its_words_and_tried_again() {
    let bench = Bench::new();
    let flag = bench.place("flag");
    let setup =
        format!("\n[setup]\nrun = \"test -e {} || {{ echo no network; exit 7; }}\"\n", flag.display());
    let bench = bench.with_config(&setup);
    bench.run_to(3).says("the setup command `test -e").says("exit 7").says("no network");
    std::fs::write(&flag, "").unwrap();
    bench.acquit(&["task", "answer", "T-1", "--approve"]).must(0);
    bench.acquit(&["run", "T-1"]).must(0);
    assert_eq!(bench.at_ref("acquit/do-it-T-1", "new.txt"), "work");

    let hangs = Bench::new().with_config("\n[setup]\nrun = \"sleep 1000\"\ntimeout = \"1s\"\n");
    hangs.run_to(3).says("the setup command `sleep 1000`: timed out after 1s");
}
