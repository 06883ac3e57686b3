//! What passes between the stages of a task: an agent leaves something for whoever comes next, in every place that it can write to,
//! and a later stage with a secret, a gate or setup does what honest programs do. None of it may be found.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_macros, reason = "the matrix is printed, to be read")]

#[path = "stages/agents.rs"]
mod agents;
#[path = "stages/collect.rs"]
mod collect;
mod common;
#[path = "stages/gates.rs"]
mod gates;
#[path = "stages/layers.rs"]
mod layers;
#[path = "stages/matrix.rs"]
mod matrix;
#[path = "stages/stores.rs"]
mod stores;

use common::Sandbox;

/// One agent for all stages, a secret that only the second stage is granted.
const CONFIG: &str = r#"
agent = "bot"
[agents.bot]
adapter = "command"
run = ["sh", ".acquit/agent.sh"]
[secrets]
LATER_KEY = { env = "LATER_KEY" }
"#;

/// A stage that writes, one that looks at the work with a secret of its own, and the delivery.
const TWO: &str = r#"
[budgets]
outcome = 0
agent = 0
limit = 0
nothing = 0
harness = 0
guardrail = 0
test = 0
[stages.code]
mode = "implement"
on = { pr_ready = "look" }
[stages.look]
mode = "investigate"
secrets = ["LATER_KEY"]
on = { found = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// What the secret is.
const SECRET: &str = "later-key-4711-4711";

/// A repository with these files. What programs tell the test goes to `@ROOT@/seen`, the only place that they share.
fn world(config: &str, workflow: &str, agent: &str, files: &[(&str, &str)]) -> Sandbox {
    let config = format!("{config}\n[access]\nwrite = [\"@ROOT@/seen\"]\n");
    let mut all = vec![
        (".acquit/acquit.toml", config.as_str()),
        (".acquit/workflows/flow.toml", workflow),
        (".acquit/agent.sh", agent),
    ];
    all.extend_from_slice(files);
    let sandbox = Sandbox::of_files("stages", &all);
    std::fs::create_dir_all(sandbox.place("seen")).unwrap();
    sandbox
}

/// A task in which the first stage runs `plant` and the second `honest`.
fn two(plant: &str, honest: &str) -> Sandbox {
    let agent = format!(
        "steal='@ROOT@/seen/stolen'; export steal\ncase $ACQUIT_STAGE in\ncode)\n{plant}\necho work > work.txt\n;;\nlook)\n{honest}\n\
         printf '{{\"outcome\": \"found\", \"payload\": {{\"summary\": \"looked\"}}}}' > \"$ACQUIT_HANDOFF\"\n;;\nesac\n"
    );
    world(CONFIG, TWO, &agent, &[(".gitignore", "node_modules\n.venv\nbuild\n*.local\n")])
        .with("LATER_KEY", SECRET)
}
