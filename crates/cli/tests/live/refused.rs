//! Tools that an agent's own rules refuse: it is told so, goes on, and the refusal is seen by whoever looks on.

use acquit_testkit::model::{Scripts, Step};
use serde_json::json;

use crate::kit::{Agent, Live, More};
use crate::work::CODE;

/// The rule, in the words of the agent, and the call that it refuses. `None` where the agent has no rules.
fn rule(agent: Agent) -> Option<(More, Step, &'static str)> {
    let shell = || Step::bash("echo forbidden > forbidden.txt");
    match agent {
        Agent::Claude => {
            let command = "if grep -q forbidden; then echo not here >&2; exit 2; fi";
            let hook = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": command }] });
            let settings = json!({ "hooks": { "PreToolUse": [hook] } }).to_string();
            let args = vec!["--settings".to_owned(), settings];
            Some((More { args, ..More::default() }, shell(), "Bash was refused"))
        }
        Agent::Codex => {
            let rule = "mcp_servers.acquit.default_tools_approval_mode=\"prompt\"";
            let args = vec!["-c".to_owned(), rule.to_owned()];
            let call = Step::tool("report_progress", json!({ "text": "half" }));
            Some((More { args, ..More::default() }, call, "report_progress was refused"))
        }
        Agent::Opencode => {
            let rules = json!({ "bash": { "*": "allow", "echo forbidden*": "deny" } }).to_string();
            let env = vec![("OPENCODE_PERMISSION", rules)];
            Some((More { env, ..More::default() }, shell(), "bash was refused"))
        }
        Agent::Gemini => {
            let rules = json!({ "tools": { "exclude": ["run_shell_command(echo forbidden)"] } });
            let files = vec![(".gemini/settings.json", rules.to_string())];
            Some((More { files, ..More::default() }, shell(), "was refused"))
        }
        // Neither asks nor refuses: what it may do is what the sandbox lets it.
        Agent::Aider | Agent::Pi => None,
    }
}

/// The call is refused, the rest is done.
#[track_caller]
pub(crate) fn refused(agent: Agent) {
    let (more, call, words) = rule(agent).expect("an agent with rules");
    let steps = [call, Step::write("hello.txt", "hello\n"), Step::say("The rest is done.")];
    let Some(live) = Live::new(agent, CODE, Scripts::default().with("refused", steps), more) else { return };
    live.run("Say hello. [[refused]]", 0);
    live.sandbox.acquit(&["logs", "T-1", "--all"]).must(0).said(words);
    assert_eq!(live.delivered("hello.txt"), "hello");
    let branch = live.sandbox.task().seed.branch;
    let files = live.sandbox.repo.git(&["ls-tree", "--name-only", &branch]);
    assert!(!files.contains("forbidden.txt"), "the tool was used all the same");
}
