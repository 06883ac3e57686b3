//! `paths` and `env` of gates: which changes a gate is run for, and with which variables.

use acquit_core::event::Body;
use acquit_core::gate::Verdict;

use crate::common::Sandbox;

const CONFIG: &str = r#"
agent = "bot"
[agents.bot]
adapter = "command"
run = ["sh", "-c", "xargs -I{} sh -c {} < \"$0/change\"", "@ROOT@"]
[budgets]
test = 0
[gates.app]
run = "cd app && test \"$MODE\" = strict && test -z \"$CI\" && ! grep -r broken ."
kind = "test"
env = { MODE = "strict", CI = "" }
paths = ["app/**", "package.json", "!*.md"]
[gates.lib]
run = "! grep -r broken lib"
kind = "test"
paths = ["!app/**"]
"#;

const FLOW: &str = "[budgets]\nnothing = 0\nharness = 0\n[stages.code]\nmode = \"implement\"\ngates = [\"project\"]\non = { pr_ready = \"done\" }\n";

const FILES: [(&str, &str); 4] =
    [("app/a.txt", "a\n"), ("lib/b.txt", "b\n"), ("package.json", "{}\n"), ("app/notes.md", "n\n")];

/// The verdicts on a change that these lines for sh make.
fn verdicts(sandbox: &Sandbox, change: &str, task: u32) -> Vec<Verdict> {
    std::fs::write(sandbox.place("change"), change).expect("a file");
    let ran = sandbox.acquit(&["run", "Do it"]);
    let log = sandbox.acquit(&["logs", &format!("T-{task}"), "--json", "--all"]).must(0);
    let events = log.out.lines().map(|line| serde_json::from_str::<acquit_core::event::Event>(line).unwrap());
    let found: Vec<Verdict> = events
        .filter_map(|event| match event.body {
            Body::Gate { verdict } => Some(*verdict),
            _ => None,
        })
        .collect();
    assert_eq!(found.len(), 2, "{change}: {}\n{}", ran.out, ran.err);
    found
}

#[test]
fn a_gate_with_paths_is_run_for_changes_that_touch_them() {
    let sandbox = Sandbox::new(CONFIG, FLOW, "");
    for (path, text) in FILES {
        sandbox.repo.write(path, text);
    }
    sandbox.repo.commit("two packages");
    // What the change does, and whether each gate is run and passes.
    let cases: [(&str, Option<bool>, Option<bool>); 7] = [
        ("'echo more >> app/a.txt'", Some(true), None),
        ("'echo broken >> app/a.txt'", Some(false), None),
        ("'echo broken >> lib/b.txt'", None, Some(false)),
        ("'echo more >> package.json'", Some(true), Some(true)),
        ("'echo more >> app/notes.md'", None, None),
        // A file that goes away, and one that moves out, change the place that they leave.
        ("'rm app/a.txt'", Some(true), None),
        ("'mv app/a.txt lib/c.txt'", Some(true), Some(true)),
    ];
    for (number, (change, app, lib)) in (1_u32..).zip(cases) {
        let found = verdicts(&sandbox, change, number);
        for (name, expected) in [("app", app), ("lib", lib)] {
            let verdict = found.iter().find(|verdict| verdict.gate == *name).expect("a verdict of each gate");
            let ran = !verdict.ended.starts_with("not run: the change touches none of its paths");
            assert_eq!(
                (ran, verdict.passed),
                (expected.is_some(), expected.unwrap_or(true)),
                "{change}: {verdict:?}"
            );
        }
    }
}

#[test]
fn env_and_paths_are_refused_where_they_mean_nothing() {
    let config = format!(
        "{CONFIG}\n[gates.small]\ncheck = \"scope\"\nmax_lines = 3\npaths = [\"app/**\"]\n[gates.x]\nrun = \"true\"\nenv = {{ \"A-B\" = \"1\" }}\npaths = [\"/etc\"]\n"
    );
    let sandbox = Sandbox::new(&config, FLOW, "");
    let said = sandbox.acquit(&["run", "Do it"]);
    assert_ne!(said.code, Some(0));
    for words in [
        "`paths` has no meaning in gate `small`",
        "cannot be the name of an environment variable",
        "a pattern begins with `/`",
    ] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
}
