//! Trust in a repository: what its `.acquit/` names is not used before the user has trusted exactly that. Every attack is a tripwire
//! in a repository that was cloned, and must not have fired.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "trust/changes.rs"]
mod changes;
mod common;
#[path = "trust/daemon.rs"]
mod daemon;
#[path = "trust/shared.rs"]
mod shared;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use common::{CODE, SCRIPTED, Sandbox, side_by_side};

/// An agent that does its work.
pub(crate) const WORKS: &str =
    "[[code]]\nstep = [ { write = \"work.txt\", content = \"work\\n\" }, { outcome = \"pr_ready\" } ]\n";

/// A repository that nobody trusts, with a program `@ROOT@/evil` that leaves a trace.
pub(crate) fn cloned(config: &str, workflow: &str) -> Sandbox {
    let sandbox = Sandbox::new(config, workflow, WORKS).untrusted();
    let evil = sandbox.place("evil");
    fs::write(
        &evil,
        format!("#!/bin/sh\ntouch '{}'\necho 1.0.0-of-evil\n", sandbox.place("fired").display()),
    )
    .unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox
}

/// Whether a tripwire fired.
pub(crate) fn fired(sandbox: &Sandbox) -> bool {
    sandbox.place("fired").exists()
}

/// How many tasks the store has.
fn tasks(sandbox: &Sandbox) -> usize {
    let listed = sandbox.acquit(&["task", "list", "--all-projects", "--json"]).must(0).json();
    listed.as_array().map_or_else(|| listed["tasks"].as_array().map_or(0, Vec::len), Vec::len)
}

/// Repositories, and the command that would run their program.
const ATTACKS: [(&str, &str, &str, &[&str]); 9] = [
    (
        "the program of an agent",
        "[agents.claude]\nadapter = \"claude\"\nprogram = \"@ROOT@/evil\"\n",
        CODE,
        &["agents"],
    ),
    (
        "the command of a secret",
        "[secrets]\nX = { command = [\"@ROOT@/evil\"] }\n[agents.bot]\nadapter = \"scripted\"\nscript = \"script.toml\"\n\
         secrets = [\"X\"]\n",
        CODE,
        &["run", "Do it"],
    ),
    (
        "an agent that is a command",
        "sandbox = \"off\"\n[agents.bot]\nadapter = \"command\"\nrun = \"@ROOT@/evil\"\n",
        CODE,
        &["run", "Do it"],
    ),
    ("setup", "[setup]\nrun = \"@ROOT@/evil\"\n", CODE, &["run", "Do it"]),
    ("a gate of the project", "[gates.test]\nrun = \"@ROOT@/evil\"\n", "GATED", &["run", "Do it"]),
    (
        "a gate of a workflow",
        "",
        "[gates.test]\nrun = \"@ROOT@/evil\"\n[stages.code]\nmode = \"implement\"\ngates = [\"test\"]\non = { pr_ready = \"done\" }\n",
        &["run", "Do it"],
    ),
    ("a task that is only added", "[setup]\nrun = \"@ROOT@/evil\"\n", CODE, &["task", "add", "Do it"]),
    (
        "a schedule that is run",
        "[[schedule]]\nname = \"night\"\ncron = \"0 3 * * *\"\nworkflow = \"flow\"\n[setup]\nrun = \"@ROOT@/evil\"\n",
        CODE,
        &["schedule", "run", "night"],
    ),
    (
        "a daemon that looks once",
        "[[schedule]]\nname = \"night\"\ncron = \"0 3 * * *\"\nworkflow = \"flow\"\n[setup]\nrun = \"@ROOT@/evil\"\n",
        CODE,
        &["serve", "--once"],
    ),
];

#[test]
fn nothing_that_a_repository_names_is_used_before_it_is_trusted() {
    side_by_side(&ATTACKS, |&(what, config, workflow, command)| {
        let gated =
            "[stages.code]\nmode = \"implement\"\ngates = [\"project\"]\non = { pr_ready = \"done\" }\n";
        let workflow = if workflow == "GATED" { gated } else { workflow };
        let agent = if config.contains("[agents.bot]") { "agent = \"bot\"\n" } else { SCRIPTED };
        // Keys at the top stand before the first table.
        let config = if config.starts_with("sandbox") {
            config.replacen('\n', &format!("\n{agent}"), 1)
        } else {
            format!("{agent}{config}")
        };
        let sandbox = cloned(&config, workflow);
        let ran = sandbox.acquit(command).must(2);
        ran.said("you have not trusted it yet");
        ran.said("`acquit trust`");
        assert!(!fired(&sandbox), "{what}: it was run");
        assert_eq!(tasks(&sandbox), 0, "{what}: a task was made");
    });
}

#[test]
fn the_same_is_used_once_it_is_trusted() {
    let sandbox = cloned(
        "agent = \"bot\"\n[secrets]\nX = { command = [\"@ROOT@/evil\"] }\n[agents.bot]\nadapter = \"scripted\"\nscript = \
         \"script.toml\"\nsecrets = [\"X\"]\n",
        CODE,
    );
    let shown = sandbox.acquit(&["trust", "--yes"]).must(0);
    assert!(shown.out.contains("+X = { command = ["), "{}", shown.out);
    assert!(
        shown.out.contains(".acquit/ runs programs:") && shown.out.ends_with("trusted\n"),
        "{}",
        shown.out
    );
    assert!(!fired(&sandbox), "trusting runs nothing");
    sandbox.run_to(0);
    assert!(fired(&sandbox));
}

#[test]
fn what_only_reads_goes_on_and_runs_nothing() {
    let config = format!(
        "{SCRIPTED}[secrets]\nX = {{ command = [\"@ROOT@/evil\"] }}\n[agents.claude]\nadapter = \"claude\"\nprogram = \"@ROOT@/evil\"\n\
         [setup]\nrun = \"@ROOT@/evil\"\n[[schedule]]\nname = \"night\"\ncron = \"0 3 * * *\"\nworkflow = \"flow\"\n"
    );
    let sandbox = cloned(&config, CODE);
    for command in [
        &["task", "list"][..],
        &["inbox"],
        &["workflow", "list"],
        &["workflow", "check"],
        &["workflow", "graph", "flow"],
        &["config", "show"],
        &["prompt", "show", "Do it", "--workflow", "flow"],
        &["schedule", "list"],
        &["schedule", "next"],
        &["schedule", "pause", "night"],
        &["trust", "--revoke"],
    ] {
        sandbox.acquit(command).must(0);
        assert!(!fired(&sandbox), "{command:?}");
    }
    sandbox.acquit(&["trust", "--show"]).must(1);
    let doctor = sandbox.acquit(&["doctor"]);
    assert!(doctor.out.contains("trust in the project"), "{}", doctor.out);
    assert!(!fired(&sandbox));
}

#[test]
fn a_plan_of_work_alone_needs_no_trust() {
    let files = [
        (".acquit/acquit.toml", "workflow = \"flow\"\nagent = \"bot\"\n"),
        (".acquit/workflows/flow.toml", CODE),
        (".acquit/instructions.md", "Be short.\n"),
    ];
    let sandbox = Sandbox::of_files("plain", &files);
    let agent = format!(
        "[agents.bot]\nadapter = \"scripted\"\nscript = \"{}\"\n",
        sandbox.place("script.toml").display()
    );
    fs::write(sandbox.place("script.toml"), WORKS).unwrap();
    // The user's own agent, and no path that is trusted.
    acquit_testkit::repo::write(
        &sandbox.place("home/.config/acquit/config.toml"),
        &format!("{agent}[access]\nread = [\"{}\"]\n", sandbox.place("").display()),
    );
    sandbox.acquit(&["trust", "--show"]).must(0).said("asks for nothing that needs trust");
    sandbox.run_to(0);
}

#[test]
fn nobody_is_taken_to_have_agreed_who_was_not_asked() {
    let sandbox = cloned(&format!("{SCRIPTED}[setup]\nrun = \"true\"\n"), CODE);
    sandbox.acquit(&["trust"]).must(2).said("repeat with --yes");
    sandbox.acquit(&["trust", "--json"]).must(2);
    sandbox.acquit(&["run", "Do it"]).must(2);
    let shown = sandbox.acquit(&["trust", "--show", "--json"]).must(1).json();
    assert_eq!((&shown["trusted"], &shown["standing"]), (&false.into(), &"unknown".into()));
    let keys: Vec<&str> =
        shown["asks"].as_array().unwrap().iter().map(|ask| ask["key"].as_str().unwrap()).collect();
    assert!(keys.contains(&"setup.run") && keys.contains(&"agents.bot.script"), "{keys:?}");
    let yes = sandbox.acquit(&["trust", "--yes", "--json"]).must(0).json();
    assert_eq!((&yes["trusted"], &yes["standing"]), (&true.into(), &"trusted".into()));
    sandbox.acquit(&["trust", "--revoke"]).must(0);
    sandbox.acquit(&["run", "Do it"]).must(2).said("you have not trusted it yet");
}

#[test]
fn what_is_shown_does_not_act_on_the_terminal_and_hides_nothing() {
    let long = "x".repeat(4_000);
    let config = format!(
        "{SCRIPTED}# hidden \u{202e} backwards\n[setup]\nrun = \"true # \\u001b[2J {long} && evil\"\n"
    );
    let sandbox = cloned(&config, CODE);
    sandbox.repo.write(".acquit/instructions.md", "\u{1b}[2J\u{1b}[1;1H\u{1b}[8m\n");
    let shown = sandbox.acquit(&["trust", "--show", "--color", "never"]).must(1);
    assert!(!shown.out.contains(['\u{1b}', '\u{202e}']), "{}", shown.out);
    let summary = &shown.out[shown.out.find("runs programs:").unwrap()..];
    assert!(summary.contains("&& evil"), "the end of a long command is not shown");
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_a_harmless_one() {
    let sandbox = cloned(&format!("{SCRIPTED}[setup]\nrun = \"@ROOT@/evil\"\n"), CODE);
    let path = sandbox.repo.path().join(".acquit/acquit.toml");
    let mut text = fs::read(&path).unwrap();
    text.extend(b"# \x1b\xff\n");
    fs::write(&path, text).unwrap();
    sandbox.acquit(&["trust", "--show"]).must(1).said("is not TOML");
    sandbox.acquit(&["run", "Do it"]).must(2);
    assert!(!fired(&sandbox));
}

#[test]
fn a_repository_cannot_trust_itself() {
    let sandbox =
        cloned(&format!("trusted_paths = [\"/\"]\n{SCRIPTED}[setup]\nrun = \"@ROOT@/evil\"\n"), CODE);
    sandbox.acquit(&["run", "Do it"]).must(2).said("only your own configuration");
    assert!(!fired(&sandbox));
}

#[test]
fn init_trusts_what_it_wrote_and_nothing_that_was_there() {
    let sandbox = Sandbox::of_files("fresh", &[]).untrusted();
    sandbox.acquit(&["init", "--no-check"]).must(0);
    sandbox.acquit(&["trust", "--show"]).must(0);
    let planted =
        Sandbox::of_files("planted", &[(".acquit/workflows/evil.toml", "[gates.x]\nrun = \"evil\"\n")]);
    let planted = planted.untrusted();
    planted.acquit(&["init", "--no-check"]).must(0).said("`acquit trust`");
    planted.acquit(&["trust", "--show"]).must(1);
}

#[test]
fn the_users_own_settings_are_a_floor_under_a_trusted_repository() {
    let sandbox = cloned(
        &format!("sandbox = \"off\"\n{SCRIPTED}[network]\nagents = \"open\"\n[limits]\nprocesses = 4000\n"),
        CODE,
    );
    sandbox.user_config("sandbox = \"on\"\n[network]\nagents = \"model\"\n[limits]\nprocesses = 500\n");
    let shown = sandbox.acquit(&["config", "show", "--json"]).must(0).json();
    assert_eq!(shown["sandbox"]["value"], "on");
    assert_eq!(shown["network.agents"]["value"], "model");
    assert_eq!(shown["limits.processes"]["value"], 500);
}
