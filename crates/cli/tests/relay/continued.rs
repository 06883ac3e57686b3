//! Continuing a task: with the configuration as it is now, with what the command line says, and within limits.

use acquit_core::change::Change;
use acquit_core::human_request::Ask;
use acquit_core::leg::Ending;
use acquit_core::task::State;

use crate::CODE;
use crate::common::Sandbox;

const MISSING: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"./no-such-agent\"]\n";
const WORKS: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"-c\", \"echo work > work.txt\"]\n";

/// The kind and words with which the first leg failed, after which a person was asked at once.
fn asked_at_once(sandbox: &Sandbox) -> (String, String) {
    let task = sandbox.task();
    let State::Waiting { request } = &task.state else { panic!("{:?}", task.state) };
    assert!(matches!(request.ask, Ask::Stuck), "{request:?}");
    assert_eq!(task.spent.len(), 0, "something was tried again: {:?}", task.spent);
    match &task.past.last().unwrap().ending {
        Ending::Failed { kind, .. } => (kind.to_string(), request.question.clone()),
        other => panic!("{other:?}"),
    }
}

fn updates(sandbox: &Sandbox) -> Vec<Vec<String>> {
    let update = |change| match change {
        Change::DefinitionUpdated { difference, .. } => Some(difference),
        _ => None,
    };
    sandbox.changes().into_iter().filter_map(update).collect()
}

#[test]
fn a_corrected_configuration_helps_the_task_that_waits() {
    for again in [&["approve", "T-1"][..], &["task", "retry", "T-1"]] {
        let sandbox = Sandbox::new(MISSING, CODE, "");
        sandbox.run_to(3).said("no such program");
        assert_eq!(asked_at_once(&sandbox).0, "config");
        sandbox.repo.write(".acquit/acquit.toml", WORKS);
        sandbox.acquit(again).must(0).said("configuration updated");
        sandbox.acquit(&["run", "T-1"]).must(0);
        let updates = updates(&sandbox);
        assert_eq!(updates.len(), 1, "{updates:?}");
        assert!(updates[0].iter().any(|line| line.starts_with("acquit.toml.agents.bot")), "{updates:?}");
        sandbox.acquit(&["logs", "T-1"]).must(0).said("no-such-agent");
    }
}

#[test]
fn a_task_can_keep_the_configuration_it_has() {
    let sandbox = Sandbox::new(MISSING, CODE, "");
    sandbox.run_to(3);
    sandbox.repo.write(".acquit/acquit.toml", WORKS);
    sandbox.acquit(&["approve", "T-1", "--pinned"]).must(0);
    sandbox.acquit(&["run", "T-1", "--pinned"]).must(3).said("no such program");
    assert_eq!(updates(&sandbox).len(), 0);
}

#[test]
fn a_configuration_that_cannot_be_read_changes_nothing() {
    let sandbox = Sandbox::new(MISSING, CODE, "");
    sandbox.run_to(3);
    sandbox.repo.write(".acquit/acquit.toml", "agent = [");
    sandbox.acquit(&["approve", "T-1"]).must(0).said("keeps the configuration");
    assert_eq!(updates(&sandbox).len(), 0);
}

#[test]
fn what_an_agent_writes_into_its_tree_is_no_configuration() {
    let agent = "mkdir -p .acquit && printf 'agent = \"evil\"\\n' > .acquit/acquit.toml; echo work > work.txt; exit 1\n";
    let sandbox = Sandbox::shell(CODE, agent);
    sandbox.run_to(3);
    sandbox.acquit(&["approve", "T-1"]).must(0);
    assert_eq!(updates(&sandbox).len(), 0);
}

#[test]
fn flags_for_a_task_that_exists_are_applied_or_refused() {
    let sandbox = Sandbox::new(WORKS, CODE, "");
    sandbox.acquit(&["task", "add", "Something"]).must(0);
    let refused = sandbox.acquit(&["run", "T-1", "--base", "main", "--tag", "x", "--priority", "0"]).must(2);
    refused.said("--base, --priority, --tag");
    sandbox.acquit(&["run", "T-1", "--agent", "nobody"]).must(2).said("nobody");
    // A command takes no model; the agents that acquit knows do.
    let product = "agent = \"bot\"\n[agents.bot]\nadapter = \"claude\"\nprogram = \"@ROOT@/agent.sh\"\n[access]\nwrite = [\"@ROOT@\"]\n";
    sandbox.repo.write(".acquit/acquit.toml", &sandbox.fill(product));
    let agent = sandbox.place("agent.sh");
    let done = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    std::fs::write(&agent, format!("#!/bin/sh\necho work > work.txt\necho '{done}'\n")).unwrap();
    std::fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    sandbox.acquit(&["run", "T-1", "--model", "large"]).must(0).said("configuration updated");
    let updates = updates(&sandbox);
    assert!(updates[0].contains(&"command line.model: not set -> \"large\"".to_owned()), "{updates:?}");
}

#[test]
fn a_setup_that_fails_asks_at_once() {
    let config = format!("{WORKS}[setup]\nrun = \"echo broken; exit 3\"\n");
    let sandbox = Sandbox::new(&config, CODE, "");
    sandbox.run_to(3).said("broken");
    let (kind, question) = asked_at_once(&sandbox);
    assert_eq!(kind, "config");
    assert!(question.contains("`run` of [setup]"), "{question}");
}

#[test]
fn a_host_that_setup_needs_is_named_with_the_line_to_add() {
    let fetch = "python3 -c 'import urllib.request as u; u.urlopen(\\\"http://registry.example:8080/x\\\")'";
    let config = format!("{WORKS}[network]\nhosts = [\"a.example\"]\n[setup]\nrun = \"{fetch}\"\n");
    let sandbox = Sandbox::new(&config, CODE, "");
    sandbox.run_to(3);
    let (kind, question) = asked_at_once(&sandbox);
    assert_eq!(kind, "config", "{question}");
    let line = "[network]\nhosts = [\"a.example\", \"registry.example:8080\"]";
    assert!(question.contains(line), "{question}");
}

#[test]
fn a_host_that_an_agent_needs_is_named_with_the_line_to_add() {
    let agent = "python3 -c 'import urllib.request as u; u.urlopen(\"http://model.example/v1\")' || exit 1\n";
    let sandbox = Sandbox::shell(CODE, agent);
    sandbox.run_to(3);
    let (kind, question) = asked_at_once(&sandbox);
    assert_eq!(kind, "config", "{question}");
    assert!(question.contains("[agents.bot]\nhosts = [\"model.example:80\"]"), "{question}");
}

#[test]
fn a_missing_secret_asks_at_once() {
    let config =
        format!("{WORKS}secrets = [\"TOKEN\"]\n[secrets]\nTOKEN = {{ env = \"NOT_SET_ANYWHERE\" }}\n");
    let sandbox = Sandbox::new(&config, CODE, "");
    sandbox.run_unchecked_to(3);
    let (kind, question) = asked_at_once(&sandbox);
    assert_eq!(kind, "config", "{question}");
    assert!(question.contains("NOT_SET_ANYWHERE"), "{question}");
}

/// The same checks, by whichever command a harness would be started.
#[test]
fn what_an_agent_lacks_is_refused_before_a_task_continues() {
    let config =
        format!("{WORKS}secrets = [\"TOKEN\"]\n[secrets]\nTOKEN = {{ env = \"NOT_SET_ANYWHERE\" }}\n");
    let sandbox = Sandbox::new(&config, CODE, "");
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    for verb in ["attach", "run"] {
        let said = sandbox.acquit(&[verb, "T-1"]);
        assert!(said.code != Some(0) && said.err.contains("NOT_SET_ANYWHERE"), "{verb}: {said}");
        assert!(sandbox.endings().is_empty(), "{verb} started a leg");
    }
}

#[test]
fn a_git_that_is_too_old_is_refused_before_a_task_is_made() {
    let sandbox = Sandbox::scripted(CODE, "");
    let program = sandbox.place("old/git");
    let script = "#!/bin/sh\ncase \" $* \" in *version*) echo git version 2.30.2 ;; *) exec /usr/bin/git \"$@\" ;; esac\n";
    acquit_testkit::repo::write(&program, script);
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", sandbox.place("old").display());
    let sandbox = sandbox.with("PATH", path);
    let refused = sandbox.acquit(&["run", "Do it"]).must(2);
    assert!(refused.err.contains("2.30.2") && refused.err.contains("2.34"), "{refused}");
    sandbox.acquit(&["task", "list"]).must(0).said("no tasks yet");
}

#[test]
fn an_agent_that_repeats_itself_is_told_and_stopped() {
    let step = "[[code.step]]\nrun = \"echo the same\"\n";
    let script = format!("[[code]]\n{}", step.repeat(400));
    let sandbox = Sandbox::scripted(CODE, &script);
    sandbox.run_to(3);
    let kinds: Vec<_> = sandbox.endings().iter().map(|ending| ending.trouble().unwrap_or_default()).collect();
    assert_eq!(kinds.len(), 2, "it has one more try: {kinds:?}");
    assert!(kinds[0].contains("repeated 30 times") && kinds[0].contains("echo the same"), "{kinds:?}");
    let told = crate::common::read(&sandbox.leg_file(2, "prompt.md"));
    assert!(told.contains("repeated 30 times"), "the second try is not told: {told}");
    let uses = crate::common::read(&sandbox.leg_file(1, "output.log")).matches("echo the same").count();
    assert!(uses < 200, "{uses}");
}

/// An agent that says what it uses, a cent at a time.
fn spender() -> String {
    let step = "[[code.step]]\nusage = { model = \"m\", input = 100, output = 10, cost_micros = 10000 }\n\
                [[code.step]]\npause = \"100ms\"\n";
    format!("[[code]]\n{}[[code.step]]\nrun = \"echo work > work.txt\"\n", step.repeat(60))
}

#[test]
fn a_limit_on_money_stops_the_agent_while_it_works() {
    let sandbox = Sandbox::scripted(CODE, &spender());
    sandbox.acquit(&["run", "Spend", "--max-cost", "0.05"]).must(3).said("--max-cost");
    let (kind, question) = asked_at_once(&sandbox);
    assert_eq!(kind, "spent", "{question}");
    let paid = sandbox.task().usage().paid().unwrap();
    assert!((50_000..400_000).contains(&paid), "stopped at {paid}");
    // Approving allows as much again, and no more.
    sandbox.acquit(&["approve", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1"]).must(3).said("--max-cost");
    sandbox.acquit(&["approve", "T-1"]).must(0);
    sandbox.acquit(&["run", "T-1", "--max-cost", "100"]).must(0);
}

#[test]
fn stages_and_tasks_have_limits_on_money_too() {
    let workflow = CODE.replace("mode = \"implement\"", "mode = \"implement\"\nmax_cost = 0.05");
    let sandbox = Sandbox::scripted(&workflow, &spender());
    sandbox.run_to(3).said("`max_cost` of stage code");
    let config = format!("max_cost = 0.05\n{}", crate::common::SCRIPTED);
    let sandbox = Sandbox::new(&config, CODE, &spender());
    sandbox.run_to(3).said("`max_cost` in .acquit/acquit.toml");
}

#[test]
fn a_limit_on_time_stops_the_agent() {
    let sandbox = Sandbox::shell(CODE, "echo begun; exec sleep 60\n");
    sandbox.acquit(&["run", "Wait", "--max-time", "2s"]).must(3).said("--max-time");
    assert_eq!(asked_at_once(&sandbox).0, "spent");
}
