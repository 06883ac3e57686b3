//! What a role's `tools` leave out is not offered to the model by agents that can be kept from it, and `acquit workflow check` names
//! the others. Commands that a stage does not list are refused by the agent itself or by the sandbox.

use acquit_testkit::model::{Scripts, Step};

use crate::kit::{Agent, Live, More};
use crate::project;

/// Two stages alike, but for what their roles may use.
const FLOW: &str = r#"
[stages.free]
role = "free"
instructions = "[[free]]"
on = { drawn = "held" }
[stages.held]
role = "held"
instructions = "[[held]]"
on = { drawn = "done" }
"#;

/// The tools that the model was offered at a stage.
fn offered(live: &Live, stage: &str) -> String {
    let asked = live.model.scripted();
    let found = asked.iter().find(|one| one.step.as_ref().is_some_and(|(script, _)| script == stage));
    found.expect("a request of that stage").body["tools"].to_string()
}

/// Of these tools the agent offers each where it may use everything, and none where it may only read.
#[track_caller]
fn held(agent: Agent, tools: &[&str]) {
    let done = || vec![Step::say("Seen. <<<OUTCOME:drawn>>> {\"summary\": \"seen\"} <<<END_PAYLOAD>>>")];
    let scripts = Scripts::default().with("free", done()).with("held", done());
    let Some(live) = Live::new(agent, FLOW, scripts, More::default()) else { return };
    let role = |tools: &str| format!("+++\nmode = \"design\"\n{tools}+++\nYou look.\n");
    live.sandbox.repo.write(".acquit/agents/free.md", &role(""));
    live.sandbox.repo.write(".acquit/agents/held.md", &role("tools = [\"read\"]\n"));
    live.sandbox.repo.commit("roles");
    live.run("Look", 0);
    let (free, held) = (offered(&live, "free"), offered(&live, "held"));
    for tool in tools {
        let tool = format!("\"{tool}\"");
        assert!(free.contains(&tool), "{tool} is never offered: {free}");
        assert!(!held.contains(&tool), "{tool} is offered: {held}");
    }
}

/// A stage that lists its commands, and then waits, so that the tree can be looked at.
const LISTED: &str = r#"
[stages.code]
mode = "implement"
instructions = "[[code]]"
commands = ["git", "printf ok"]
on = { pr_ready = ["done", "failed"] }
"#;

/// What the stage does not list is refused: by the agent itself, or by the sandbox.
#[track_caller]
fn runs_only_what_is_listed(agent: Agent) {
    let report = serde_json::json!({ "outcome": "pr_ready", "payload": { "summary": "by acquit's tool" } });
    let scripts = Scripts::default().with(
        "code",
        vec![
            Step::bash("touch refused.txt"),
            Step::bash("git status && touch behind.txt"),
            Step::bash("git log $(touch inside.txt)"),
            Step::bash("git mv README.md MOVED.md"),
            Step::tool("report_outcome", report),
            Step::say("Done."),
        ],
    );
    let Some(live) = Live::new(agent, LISTED, scripts, More::default()) else { return };
    live.run("Try it", 3).said("pr_ready: by acquit's tool");
    let tree = live.sandbox.place("acquit/tasks/T-1/workspace/work");
    for name in ["refused.txt", "behind.txt", "inside.txt"] {
        assert!(!tree.join(name).exists(), "{name}: {}", live.told());
    }
    assert!(tree.join("MOVED.md").exists(), "nothing was run at all: {}", live.told());
}

#[test]
fn claude_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Claude);
}

/// Where its commands are listed, all its other tools are still there: to write files, and to report in a form.
#[test]
fn claude_writes_and_reports_where_its_commands_are_listed() {
    let report = serde_json::json!({ "outcome": "pr_ready", "payload": { "summary": "in a form" } });
    let steps =
        [Step::write("hello.txt", "hello\n"), Step::structured(report), Step::say("I have reported.")];
    let more = More { lines: "report = \"structured\"", ..More::default() };
    let scripts = Scripts::default().with("code", steps);
    let Some(live) = Live::new(Agent::Claude, LISTED, scripts, more) else { return };
    live.run("Try it", 3).said("pr_ready: in a form");
    assert!(live.sandbox.place("acquit/tasks/T-1/workspace/work/hello.txt").exists(), "{}", live.told());
}

#[test]
fn gemini_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Gemini);
}

#[test]
fn opencode_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Opencode);
}

/// `any_agent_runs_only_the_commands_that_its_stage_lists` shows the rule.
#[test]
fn soak_codex_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Codex);
}

#[test]
fn soak_pi_runs_only_the_commands_that_its_stage_lists() {
    runs_only_what_is_listed(Agent::Pi);
}

/// An agent that knows nothing of a list, and tries what a model could ask for.
const TRIES: &str = r#"
agent() { bash -c "$1" 2>&1 | cat >>"@ROOT@/said.txt"; }
mkdir -p bin && cp "$(command -v touch)" git && cp "$(command -v touch)" bash
agent 'touch refused.txt'
agent 'git status && touch behind.txt'
agent 'git log $(touch inside.txt)'
agent 'exec touch exec.txt'
agent '/usr/bin/touch path.txt'
agent 'env touch env.txt'
agent 'sh -c "touch nested.txt"'
agent '(read -t 1 < <(:); touch later.txt) & :'
agent 'shopt -s execfail; exec git "$(printf "%0200000d" 0)"; touch failed.txt'
agent 'exec /proc/thread-self/exe -c "exec touch thread.txt"'
agent 'exec -a x sh -c "exec touch named.txt"'
ln -s /proc/self/exe self && agent './self sandbox touch link.txt'
agent './git disguised.txt'
agent './bash shell.txt'
agent 'PATH=.:$PATH; hash -r; git path.txt'
agent 'cp README.md COPY.md'
agent 'printf "touch %s" script.txt > script.sh; sh script.sh; chmod +x script.sh; ./script.sh'
agent '/lib64/ld-linux-x86-64.so.2 /usr/bin/touch loader.txt'
agent 'git -c alias.x="!sleep 0.1" x; git commit --allow-empty -qm "T-1: listed"; git mv README.md MOVED.md'
agent 'echo by the shell > shell-did.txt'
rm -f git bash self
"#;

/// The sandbox refuses what a stage does not list to an agent that does not do so itself.
#[test]
fn any_agent_runs_only_the_commands_that_its_stage_lists() {
    let sandbox = crate::common::Sandbox::shell(LISTED, TRIES);
    sandbox.acquit(&["run", "Try it"]).must(3);
    let said = crate::common::read(&sandbox.place("said.txt"));
    let tree = sandbox.place("acquit/tasks/T-1/workspace/work");
    let made: Vec<String> = std::fs::read_dir(&tree)
        .expect("the tree")
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "txt" || kind == "md"))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let made: std::collections::BTreeSet<&str> = made.iter().map(String::as_str).collect();
    assert_eq!(made, ["MOVED.md", "shell-did.txt"].into(), "{said}");
    assert!(
        said.contains("acquit: this stage may not run `touch refused.txt`. It may run: `git`, `printf ok`"),
        "{said}"
    );
}

/// A record of refused commands that cannot be written holds nobody up.
#[test]
fn a_pipe_in_place_of_the_record_of_refused_commands_holds_nobody_up() {
    let flow = LISTED.replace("mode =", "refused = \"halt\"\nmode =");
    let flow = flow.replace("commands = [\"git\"", "commands = [\"mkfifo\", \"git\"");
    let tries = "bash -c 'mkfifo .git/acquit-refused; touch x.txt'\nbash -c 'echo went on > end.txt'\n";
    let sandbox = crate::common::Sandbox::shell(&flow, tries);
    sandbox.acquit(&["run", "Try it"]).must(3);
    let tree = sandbox.place("acquit/tasks/T-1/workspace/work");
    assert!(tree.join("end.txt").exists() && !tree.join("x.txt").exists());
}

/// A stage that halts at the first refused command ends there.
#[test]
fn a_command_that_is_not_listed_ends_the_leg_where_the_stage_says_so() {
    let flow = LISTED.replace("mode =", "refused = \"halt\"\nmode =");
    let sandbox = crate::common::Sandbox::shell(&flow, "bash -c 'touch x.txt'\nsleep 60\n");
    sandbox.acquit(&["run", "Try it"]).must(3).said("`touch x.txt`, which is not among the commands");
}

/// Where nothing refuses other commands, the log of the leg says so.
#[test]
fn a_list_of_commands_that_nothing_holds_is_told_in_the_log() {
    let unheld = "the agent can run other commands than the stage's `commands`";
    for (sandbox, told) in [("off", true), ("on", false)] {
        let config =
            format!("sandbox = \"{sandbox}\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\n");
        let config = config + "run = [\"sh\", \".acquit/agent.sh\"]\n";
        let sandbox = crate::common::Sandbox::shell_by(&config, LISTED, "echo work > work.txt\n");
        sandbox.acquit(&["run", "Try it"]).must(3);
        let log = sandbox.acquit(&["logs", "T-1", "--all"]).must(0);
        assert_eq!(log.out.contains(unheld), told, "{log}");
    }
}

#[test]
fn the_check_of_a_workflow_warns_where_commands_are_not_held() {
    let sandbox = crate::common::Sandbox::new(crate::PROJECT, LISTED, "");
    let commands =
        "stage `code`: without a sandbox, the agent `bot` can run other commands than its `commands`";
    let held = sandbox.acquit(&["workflow", "check", "flow"]).must(0);
    assert!(!held.err.contains(commands) && !held.out.contains(commands), "{held}");
    let config = crate::common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    sandbox.repo.write(".acquit/acquit.toml", &format!("sandbox = \"off\"\n{config}"));
    sandbox.acquit(&["workflow", "check", "flow"]).must(0).said(commands);
    let claude = config.replace("adapter = \"scripted\"\nscript = \"script.toml\"", "adapter = \"claude\"");
    sandbox.repo.write(".acquit/acquit.toml", &claude);
    let json = sandbox.acquit(&["workflow", "check", "flow", "--json"]).must(0).json();
    assert_eq!(json["warnings"], serde_json::json!([]));
}

#[test]
fn claude_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Claude, &["Bash", "Edit", "WebFetch", "WebSearch"]);
}

#[test]
fn codex_is_kept_from_the_web() {
    held(Agent::Codex, &["web_search"]);
}

#[test]
fn gemini_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Gemini, &["run_shell_command", "replace", "web_fetch", "google_web_search"]);
}

#[test]
fn opencode_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Opencode, &["bash", "webfetch"]);
}

#[test]
fn pi_is_kept_from_what_its_role_leaves_out() {
    held(Agent::Pi, &["bash", "edit"]);
}

#[test]
fn the_check_of_a_workflow_warns_where_a_role_is_only_told() {
    let sandbox = project("");
    let told = "workflow `review`, stage `audit`: its role leaves out web, and the agent `bot` cannot be kept from that";
    sandbox.acquit(&["workflow", "check", "review"]).must(0).said(told);
    let json = sandbox.acquit(&["workflow", "check", "pipeline", "--json"]).must(0).json();
    let warnings = json["warnings"].to_string();
    assert!(warnings.contains("stage `stories`: its role leaves out run and web"), "{warnings}");
    assert!(!warnings.contains("edit"), "what documents' stages change is put aside: {warnings}");
    let config = crate::common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let claude = config.replace("adapter = \"scripted\"\nscript = \"script.toml\"", "adapter = \"claude\"");
    sandbox.repo.write(".acquit/acquit.toml", &claude);
    let json = sandbox.acquit(&["workflow", "check", "pipeline", "--json"]).must(0).json();
    assert_eq!(json["warnings"], serde_json::json!([]));
}
