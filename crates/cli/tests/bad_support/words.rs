//! What an agent prints: kept as it is in its file, shown so that it cannot act.

use std::fs;

use acquit_testkit::need;

use super::{ACQUIT, Bench, finish, wait};

/// What is printed, how the task ends, and what is shown of it. [`Bench`] holds every output to showing nothing raw.
const PRINTED: &[(&str, &str, &str)] = &[
    ("no newline", r"printf 'no newline'", "│ no newline"),
    ("NUL bytes", r"printf 'a\0b\0\n'", r"│ a\u{0}b\u{0}"),
    ("half a line of JSON", r#"printf '{"type":"te'"#, r#"│ {"type":"te"#),
    ("invalid UTF-8", r"printf '\377\376 bytes\n'", "│ \u{fffd}\u{fffd} bytes"),
    ("a cut character", r"printf 'cut \303'", "│ cut \u{fffd}"),
    ("colours and titles", r"printf '\033[31mred\033]0;title\007\n'", r"│ \u{1b}[31mred\u{1b}]0;title\u{7}"),
    ("C1 controls", r"printf '\302\23331m\n'", r"│ \u{9b}31m"),
    ("bidi overrides", r"printf '\342\200\256\342\201\246bidi\n'", r"│ \u{202e}\u{2066}bidi"),
    ("carriage returns", r"printf 'one\rtwo\n'", r"│ one\u{d}two"),
    ("nothing", "true", "agent bot works"),
    ("only line ends", r"printf '\n\n\n'", "agent bot works"),
];

#[test]
fn whatever_an_agent_prints_is_shown_without_acting_and_kept_as_it_is() {
    for (what, script, shown) in PRINTED {
        let bench = Bench::agent(&format!("echo work > new.txt\n{script}\n"));
        bench.run_to(0).says(shown);
        bench.acquit(&["logs", "T-1", "--all"]).must(0).says(shown);
        bench.acquit(&["task", "show", "T-1"]).must(0);
        let printed = std::process::Command::new("sh").args(["-c", script]).output().unwrap().stdout;
        assert_eq!(fs::read(bench.place("acquit/tasks/T-1/legs/1/output.log")).unwrap(), printed, "{what}");
        let raw = bench.command(&["logs", "T-1", "--leg", "1"]).output().unwrap();
        assert_eq!(raw.stdout, printed, "{what}: as a pipe gets it");
    }
}

#[test]
fn what_an_agent_reports_and_complains_of_does_not_act_either() {
    let report = r#"{"outcome":"pr_ready","payload":{"summary":"\u001b[31mred\u202e"}}"#;
    let bench = Bench::agent(&format!("echo work > new.txt\ncat > $ACQUIT_HANDOFF <<'END'\n{report}\nEND\n"));
    bench.run_to(0).says(r"✓ pr_ready: \u{1b}[31mred\u{202e}");
    bench.acquit(&["task", "show", "T-1"]).must(0);
    let message = bench.repo().git(&["log", "-1", "--format=%B", "acquit/do-it-T-1"]);
    assert_eq!(message, "Do it\n\n- code: \\u{1b}[31mred\\u{202e}\n\nTask: T-1");

    let bench = Bench::agent(r"printf '\033[31mred\342\200\256\n' >&2; exit 3");
    bench.run_to(3).says("the agent bot: exit 3").says(r"\u{1b}[31mred\u{202e}");
    bench.acquit(&["task", "show", "T-1"]).must(0).says(r"\u{1b}[31mred\u{202e}");

    let bench = Bench::agent("echo work > new.txt").with_stage(
        "gates = [\"check\"]",
        r#"
[gates.check]
run = "printf '\\033[31mred\\342\\200\\256\\n'; exit 1"
"#,
    );
    bench.run_to(3).says(r"red\u{202e}");
    bench.acquit(&["logs", "T-1"]).must(0).says(r"red\u{202e}");
}

#[test]
fn on_a_terminal_an_agents_own_output_does_not_act() {
    let Some(script) = need::program("script", "a terminal") else { return };
    let bench =
        Bench::agent(r"echo work > new.txt; printf 'so \033]0;title\007\302\2332J\342\200\256 it is\n'");
    let terminal = |args: &str| {
        let mut command = bench.program(&script);
        command.args(["-qec", &format!("'{ACQUIT}' {args}"), "/dev/null"]).env("TERM", "xterm");
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        wait(command.spawn().unwrap())
    };
    for args in ["run 'Do it'", "logs T-1", "logs T-1 --leg 1", "task show T-1"] {
        let shown = terminal(args);
        for acting in ["\u{1b}]0;", "\u{7}", "\u{9b}", "\u{202e}"] {
            assert!(!shown.out.contains(acting), "{args}: {acting:?} in {:?}", shown.out);
        }
        assert!(args.starts_with("task") || shown.out.contains("it is"), "{args}: {:?}", shown.out);
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let bench = Bench::new();
    bench.run_to(0);
    let Some(script) = need::program("script", "a terminal") else { return };
    let terminal = |variable: (&str, &str), args: &str| {
        let mut command = bench.program(&script);
        command.args(["-qec", &format!("'{ACQUIT}' task show T-1 {args}"), "/dev/null"]).env("TERM", "xterm");
        command
            .env(variable.0, variable.1)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped());
        wait(command.spawn().unwrap()).out.contains('\u{1b}')
    };
    assert!(terminal(("X", "1"), ""), "a terminal gets colours");
    assert!(!terminal(("NO_COLOR", "1"), ""), "NO_COLOR");
    assert!(terminal(("NO_COLOR", ""), ""), "NO_COLOR that is empty is not set");
    assert!(!terminal(("X", "1"), "--color never"), "--color never");
    let piped = bench.command(&["task", "show", "T-1", "--color", "always"]).output().unwrap();
    assert!(piped.stdout.contains(&0x1b), "--color always");
    finish(&mut bench.command(&["task", "show", "T-1"])).must(0);
}
