//! From an agent to gates and setup: what is judged is what is committed, over what setup made.

use crate::common::{Sandbox, read};
use crate::world;

/// One stage whose work a gate judges.
fn judged(config: &str, gate: &str, agent: &str, files: &[(&str, &str)]) -> Sandbox {
    let config = format!(
        "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n{config}"
    );
    let workflow = format!(
        "[budgets]\noutcome = 0\nagent = 0\nnothing = 0\nharness = 0\ntest = 0\n[gates.proof]\nrun = {}\nkind = \"test\"\n\
         [stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\non = {{ pr_ready = \"done\" }}\n",
        toml_string(gate)
    );
    let mut all = vec![(".gitignore", ".venv\ndeps\nbuild\n*.local\n")];
    all.extend_from_slice(files);
    world(&config, &workflow, agent, &all)
}

fn toml_string(text: &str) -> String {
    format!("'''{text}'''")
}

const SETUP: &str = "[setup]\nrun = \"mkdir -p .venv/bin && cp check.sh .venv/bin/check && chmod +x .venv/bin/check\"\nlock_files = [\"lock\"]\n";
const CHECK: [(&str, &str); 2] = [("check.sh", "#!/bin/sh\ntest ! -e bad\n"), ("lock", "1\n")];

#[test]
fn a_program_that_setup_installed_is_not_the_agents_to_replace() {
    let agent = "printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/check; echo bad > bad\n";
    judged(SETUP, ".venv/bin/check", agent, &CHECK).run_to(3);
    // And it is there for work that is good.
    judged(SETUP, ".venv/bin/check", "echo good > good\n", &CHECK).run_to(0);
}

#[test]
fn ignored_files_and_the_agents_repository_have_no_say() {
    for (plant, gate) in [
        ("echo x > left.local; mkdir build; mkfifo build/p", "test ! -e left.local && test ! -e build"),
        (
            "git config core.fsmonitor 'touch @ROOT@/seen/stolen;'",
            "git status && test ! -e '@ROOT@/seen/stolen'",
        ),
        ("git config alias.st '!touch @ROOT@/seen/stolen'", "git st; test ! -e '@ROOT@/seen/stolen'"),
        (
            "git update-index --assume-unchanged README.md; echo x > README.md",
            "git diff --quiet && test \"$(cat README.md)\" = x",
        ),
        ("printf x > .git/left", "test ! -e .git/left"),
        ("echo x > ~/left; echo x > /tmp/left", "test ! -e ~/left && test ! -e /tmp/left"),
    ] {
        let sandbox = judged("", gate, &format!("{plant}\necho work > work.txt\n"), &[]);
        sandbox.run_to(0);
    }
}

#[test]
fn a_gate_changes_nothing_for_the_next() {
    let workflow = "[gates.a]\nrun = \"test ! -e left && echo x > left && echo changed > README.md && git config x.y z\"\n\
        [gates.b]\nrun = \"test ! -e left && test $(cat README.md) = sample && ! git config x.y && echo x > left\"\n\
        [stages.code]\nmode = \"implement\"\ngates = [\"a\", \"b\"]\non = { pr_ready = \"done\" }\n";
    let sandbox = Sandbox::shell(workflow, "echo work > work.txt\n");
    sandbox.run_to(0);
    assert!(!sandbox.place("acquit/tasks/T-1/workspace/work/left").exists());
}

#[test]
fn setup_sees_committed_files_only() {
    // It has a network of its own, so it must have nothing to send. The second stage begins with another lock file.
    const WORKFLOW: &str = "[gates.proof]\nrun = \"test -d deps\"\n[stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\n\
        on = { pr_ready = \"more\" }\n[stages.more]\nmode = \"implement\"\ngates = [\"proof\"]\non = { pr_ready = \"done\" }\n";
    const CONFIG: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n[setup]\n\
        run = \"cat left.local .git/left ~/left /tmp/left >> '@ROOT@/seen/stolen'; mkdir -p deps\"\nlock_files = [\"lock\"]\n";
    let agent = "for at in left.local .git/left ~/left /tmp/left; do echo secret > $at; done; echo $ACQUIT_STAGE > lock\n";
    let files = [("lock", "1\n"), (".gitignore", "*.local\ndeps\n")];
    let sandbox = world(CONFIG, WORKFLOW, agent, &files);
    sandbox.run_to(0);
    assert_eq!(read(&sandbox.place("seen/stolen")), "");
}

#[test]
fn gates_see_what_a_changed_lock_file_brings() {
    let config = "[setup]\nrun = \"mkdir -p deps ~/.cargo/registry ~/.cargo/bin && cp lock deps/ && cp lock ~/.cargo/registry/ && cp lock ~/.cargo/bin/\"\nlock_files = [\"lock\"]\n";
    let gate =
        "test $(cat deps/lock) = 2 && test $(cat ~/.cargo/registry/lock) = 2 && test ! -e ~/.cargo/bin/lock";
    for host in [false, true] {
        let sandbox =
            judged(config, gate, "test $(cat deps/lock) = 1 && echo 2 > lock\n", &[("lock", "1\n")]);
        if host {
            std::fs::create_dir_all(sandbox.place("home/.cargo")).unwrap();
        }
        sandbox.run_to(0);
    }
}

#[test]
fn without_overlays_gates_judge_a_checkout_of_their_own() {
    // `sandbox = "off"` is such a machine: nothing can be mounted.
    const CONFIG: &str = "sandbox = \"off\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n[setup]\n\
        run = \"mkdir -p deps && cp lock deps/\"\nlock_files = [\"lock\"]\n";
    const WORKFLOW: &str = "[gates.a]\nrun = \"test $(cat deps/lock) = 2 && test ! -e left.local && echo x > left.local\"\n\
        [gates.b]\nrun = \"test $(cat deps/lock) = 2 && test ! -e left.local && test $(git log --format=%s -1 | wc -l) = 1\"\n\
        [stages.code]\nmode = \"implement\"\ngates = [\"a\", \"b\"]\non = { pr_ready = \"done\" }\n";
    let agent = "test $(cat deps/lock) = 1 && echo 3 > deps/lock && echo x > left.local && echo 2 > lock\n";
    let sandbox = world(CONFIG, WORKFLOW, agent, &[("lock", "1\n"), (".gitignore", "*.local\ndeps\n")]);
    sandbox.run_to(0);
}
