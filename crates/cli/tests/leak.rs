//! Nothing gets out: secrets that no other text has go through whole workflows with agents that spread them in every form, and
//! are then looked for wherever acquit writes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "leak/forms.rs"]
mod forms;
#[path = "leak/look.rs"]
mod look;
#[path = "leak/rejected.rs"]
mod rejected;
#[path = "leak/sample.rs"]
mod sample;
#[path = "leak/sources.rs"]
mod sources;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_core::leg::Ending;
use common::Sandbox;
use look::Canary;

/// Spreads what its stage was granted, in every form and to every place that an agent has.
const AGENT: &str = r#"
hex() { printf %s "$1" | od -An -v -tx1 | tr -d ' \n'; }
forms() {
    printf 'plain %s\n' "$1"
    printf 'apart %s\n' "$1$1"
    printf %s "$1" | base64
    printf 'x%s' "$1" | base64
    printf 'xy%s' "$1" | base64 -w 0; echo
    printf %s "$1" | base64 -w 0 | tr '+/' '-_' | tr -d '='; echo
    hex "$1"; echo
    hex "$1" | tr a-f A-F; echo
    hex "$1" | sed 's/../%&/g'; echo
    hex "$1" | tr a-f A-F | sed 's/../%&/g'; echo
    hex "$1" | sed 's/../\\u00&/g'; echo
    printf '{"key": "%s"}\n' "$(printf %s "$1" | sed 's/["\\]/\\&/g')"
}
pieces() { printf %s "$1" | cut -c1-9 | tr -d '\n'; sleep 0.05; printf '%s\n' "$1" | cut -c10-; }
everything() {
    for secret in "$A_KEY" "$B_KEY" "$C_KEY"; do
        if [ -n "$secret" ]; then forms "$secret"; fi
    done
}
while [ ! -e "$ACQUIT_OUTPUT/seen" ]; do sleep 0.01; done
everything
everything >&2
for secret in "$A_KEY" "$B_KEY" "$C_KEY"; do
    if [ -n "$secret" ]; then pieces "$secret"; fi
done
everything > "$ACQUIT_OUTPUT/report.md"
mkdir "$ACQUIT_OUTPUT/deep"
everything > "$ACQUIT_OUTPUT/deep/data.bin"
said=$(printf %s "$A_KEY$B_KEY" | sed 's/["\\]/\\&/g')
outcome() { printf '{"outcome": "%s", "payload": {"summary": "%s", "%s": ["%s"]}}' "$1" "$said" "$said" "$(hex "$A_KEY$B_KEY")" > "$ACQUIT_HANDOFF"; }
case "$ACQUIT_STAGE-$ACQUIT_ATTEMPT" in
    write-1)
        echo '*.cache' > .gitignore; everything > spread.cache; echo work > work.txt
        git add -A; git commit -qm 'Write it'; outcome pr_ready ;;
    write-2) rm spread.cache; echo again >> work.txt; outcome pr_ready ;;
    look-1) outcome approved ;;
    again-1)
        everything > kept.txt; git add -A; git commit -qm "with $A_KEY"
        git rm -q kept.txt; echo more > more.txt; git add -A; git commit -qm without; outcome pr_ready ;;
    crash-1) everything > left.txt; printf 'died of %s\n' "$C_KEY" >&2; exit 9 ;;
    crash-2) echo last > last.txt; outcome pr_ready ;;
esac
"#;

const CONFIG: &str = r#"
agent = "bot"
[agents.bot]
adapter = "command"
run = ["sh", ".acquit/agent.sh"]
[secrets]
A_KEY = { env = "A_SOURCE" }
B_KEY = { file = "~/b-token" }
C_KEY = { command = ["cat", "@ROOT@/vault/c-token"] }
N_KEY = { env = "N_SOURCE" }
"#;

const WORKFLOW: &str = r#"
[budgets]
agent = 1
gate = 1
[gates.tell]
run = "test ! -e spread.cache || { cat spread.cache; echo 'spread.cache:1:1: error: told'; exit 1; }"
[stages.write]
mode = "implement"
secrets = ["A_KEY", "C_KEY"]
gates = ["tell"]
on = { pr_ready = "look" }
[stages.look]
mode = "review"
secrets = ["B_KEY"]
on = { approved = "again", changes_requested = "person" }
[stages.again]
mode = "implement"
secrets = ["A_KEY"]
on = { pr_ready = "person", failed = "crash" }
[stages.crash]
mode = "implement"
secrets = ["C_KEY"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// The secrets, each of which no other text has.
fn canaries() -> [Canary; 4] {
    ["A_KEY", "B_KEY", "C_KEY", "N_KEY"].map(Canary::new)
}

/// A file that only its owner reads.
fn private(path: &std::path::Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn sandbox(config: &str, workflow: &str, agent: &str, canaries: &[Canary; 4]) -> Sandbox {
    let [a, b, c, n] = canaries;
    let sandbox = Sandbox::shell_by(config, workflow, agent);
    private(&sandbox.place("home/b-token"), &format!("{}\n", b.value));
    fs::create_dir(sandbox.place("vault")).unwrap();
    private(&sandbox.place("vault/c-token"), &format!("{}\n", c.value));
    sandbox.with("A_SOURCE", &a.value).with("N_SOURCE", &n.value)
}

#[test]
fn secrets_are_in_the_environment_of_their_stages_agent_and_nowhere_else() {
    let canaries = canaries();
    let sandbox = sandbox(CONFIG, WORKFLOW, AGENT, &canaries);
    let run = sandbox.start(&["run", "Do it"]);
    let sampled = sample::until_over(&sandbox, &canaries, || common::processes::is_over(run.pid()));
    let ran = run.wait().must(0);
    ran.said("T-1 is done");

    let endings = sandbox.endings();
    let failed: Vec<String> = endings
        .iter()
        .filter_map(|ending| match ending {
            Ending::Failed { kind, reason } => Some(format!("{kind}: {reason}")),
            _ => None,
        })
        .collect();
    assert_eq!(failed.len(), 2, "{endings:#?}");
    assert!(failed[0].starts_with("guardrail: the work has the secret A_KEY in it ("), "{failed:?}");
    assert!(failed[1].contains("died of [secret C_KEY]"), "{failed:?}");
    assert!(
        ran.out.contains("plain [secret A_KEY]") || ran.err.contains("plain [secret A_KEY]"),
        "{}",
        ran.out
    );
    for stage in ["write A_KEY", "write C_KEY", "look B_KEY", "again A_KEY", "crash C_KEY"] {
        assert!(sampled.had.contains(stage), "{stage} was never seen: {:?}", sampled.had);
    }
    assert_eq!(sampled.wrong, Vec::<String>::new());

    assert!(
        matches!(endings[0], Ending::Passed { .. }),
        "a gate saw what an agent left beside its commits: {endings:#?}"
    );
    let saved = sandbox.events().iter().filter(|event| event.body.kind() == "work_saved").count();
    assert_eq!(saved, 0, "an attempt with a secret in it was kept");
    look::nowhere(&sandbox, &canaries);
    let branch = sandbox.task().seed.branch;
    let changed = sandbox.repo.git(&["diff", "--name-only", &format!("main...{branch}")]);
    assert_eq!(changed, ".gitignore\nlast.txt\nwork.txt");
}
