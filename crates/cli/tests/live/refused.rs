//! Tools that an agent's own rules refuse: the model is told so, the turn goes on, and whoever looks on sees it.

use acquit_testkit::model::{Scripts, Step};
use serde_json::json;

use crate::common::CODE;
use crate::kit::{Agent, Live, More};

/// A rule, in the agent's own language.
struct Rule {
    more: More,
    /// What it refuses.
    call: Step,
    /// What the model is told.
    answer: &'static str,
    /// What whoever looks on is told, if the agent tells it.
    shown: Option<&'static str>,
}

/// `None` where the agent has no rules.
fn rule(agent: Agent) -> Option<Rule> {
    let shell = || Step::bash("echo forbidden > forbidden.txt");
    match agent {
        Agent::Claude => {
            let command = "if grep -q forbidden; then echo not here >&2; exit 2; fi";
            let hook = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": command }] });
            let settings = json!({ "hooks": { "PreToolUse": [hook] } }).to_string();
            let args = vec!["--settings".to_owned(), settings];
            let more = More { args, ..More::default() };
            Some(Rule { more, call: shell(), answer: "not here", shown: Some("Bash was refused") })
        }
        Agent::Codex => {
            let rules = "prefix_rule(pattern = [\"touch\", \"forbidden.txt\"], decision = \"forbidden\")\n";
            let files = vec![("~/.codex/rules/default.rules", rules.to_owned())];
            let more = More { files, ..More::default() };
            // Its lines of JSON have nothing of a command that was not run.
            let call = Step::bash("touch forbidden.txt");
            Some(Rule { more, call, answer: "policy forbids commands", shown: None })
        }
        Agent::Opencode => {
            let rules = json!({ "bash": { "*": "allow", "echo forbidden*": "deny" } }).to_string();
            let env = vec![("OPENCODE_PERMISSION", rules)];
            let more = More { env, ..More::default() };
            Some(Rule { more, call: shell(), answer: "prevents you", shown: Some("bash was refused") })
        }
        Agent::Gemini => {
            let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"echo forbidden\"\n\
                decision = \"deny\"\npriority = 900\n";
            let files = vec![("~/.gemini/policies/rules.toml", rule.to_owned())];
            let more = More { files, ..More::default() };
            Some(Rule { more, call: shell(), answer: "denied by policy", shown: Some("was refused") })
        }
        // Neither asks nor refuses: what it may do is what the sandbox lets it.
        Agent::Aider | Agent::Pi => None,
    }
}

/// The call is refused, the rest is done.
#[track_caller]
pub(crate) fn refused(agent: Agent) {
    let Rule { more, call, answer, shown } = rule(agent).expect("an agent with rules");
    let steps = [call, Step::write("hello.txt", "hello\n"), Step::say("The rest is done.")];
    let Some(live) = Live::new(agent, CODE, Scripts::default().with("refused", steps), more) else { return };
    live.run("Say hello. [[refused]]", 0);
    let told = live.model.scripted()[1].body.to_string();
    assert!(told.contains(answer), "the model was not told {answer:?}: {told}");
    if let Some(words) = shown {
        live.sandbox.acquit(&["logs", "T-1", "--all"]).must(0).said(words);
    }
    assert_eq!(live.delivered("hello.txt"), "hello");
    let branch = live.sandbox.task().seed.branch;
    let files = live.sandbox.repo.git(&["ls-tree", "--name-only", &branch]);
    assert!(!files.contains("forbidden.txt"), "the tool was used all the same");
}
