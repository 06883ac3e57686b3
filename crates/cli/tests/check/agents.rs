//! `acquit check` and the agents of the default workflow: gates that hold are of no use to a task that cannot start.

use crate::common::Sandbox;

const GATE: &str = "[gates.test]\nrun = \"test -f README.md\"\nkind = \"test\"\n";

fn project(config: &str) -> Sandbox {
    Sandbox::of_files("project", &[(".acquit/acquit.toml", &format!("{config}{GATE}"))])
}

#[test]
fn check_does_not_hold_if_an_agent_of_the_default_workflow_cannot_start() {
    let bot = "workflow = \"feature\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\n";
    let sandbox = project(&format!("{bot}run = [\"no-such-agent\"]\n"));
    let found = sandbox.acquit(&["check", "--json"]).must(1).json();
    assert_eq!((&found["holds"], &found["gates"][0]["passed"]), (&false.into(), &true.into()), "{found}");
    assert_eq!(found["problems"][0]["place"], "agents", "{found}");
    let said = sandbox.acquit(&["check"]).must(1);
    assert!(said.out.contains("✓ test"), "{said}");
    said.said("the program `no-such-agent` of the agent bot is not installed");
    assert!(!said.err.contains("--fix"), "no edit mends it: {said}");

    let sandbox = project(&format!("{bot}run = [\"sh\", \"-c\", \"true\"]\npass_env = [\"NO_SUCH_KEY\"]\n"));
    sandbox.acquit(&["check"]).must(1).said("$NO_SUCH_KEY is in `pass_env` of [agents.bot]");
    sandbox.with("NO_SUCH_KEY", "x").acquit(&["check"]).must(0).said("tasks can run here");
}

#[test]
fn check_says_what_the_default_workflow_lacks() {
    let sandbox = project(
        "workflow = \"flow\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\"]\n",
    );
    let flow = "[stages.code]\nmode = \"implement\"\nagent = \"bto\"\non = { pr_ready = \"done\" }\n";
    sandbox.repo.write(".acquit/workflows/flow.toml", flow);
    let said = sandbox.acquit(&["check"]).must(1);
    said.said("unknown agent `bto`");
    said.said("did you mean `bot`?");
}

#[test]
fn without_an_agent_check_speaks_of_setup_and_gates_only() {
    let sandbox = project("workflow = \"feature\"\n");
    let said = sandbox.acquit(&["check"]).must(0);
    said.said("setup and gates hold; tasks can run here when .acquit/acquit.toml has an agent");
    assert!(!said.err.contains("everything holds"), "{said}");
}
