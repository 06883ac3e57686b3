//! The stage matrix: what each of agent, reviewer, gate, setup and merge of one task can read that another of them wrote.

use std::collections::BTreeSet;
use std::fs;

use crate::common::read;
use crate::world;

/// Each role looks for what others left in all places, and then leaves something of its own in each.
const PROBE: &str = r#"
role=$1
places="tree:build git:.git home:$HOME tmp:/tmp shm:/dev/shm registry:$HOME/.cargo/registry programs:$HOME/.cargo/bin output:${ACQUIT_OUTPUT:-/nowhere}"
for place in $places; do
    name=${place%%:*}; folder=${place#*:}
    for mark in "$folder"/mark-*; do
        if [ -e "$mark" ]; then echo "$role reads $name of ${mark##*mark-}" >> '@ROOT@/seen/matrix'; fi
    done
done
for other in "${ACQUIT_OUTPUT:-/nowhere}"/../../*/out/mark-*; do
    case $other in */mark-$role) ;; *) if [ -e "$other" ]; then echo "$role reads output of ${other##*mark-}" >> '@ROOT@/seen/matrix'; fi ;; esac
done
for place in $places; do
    folder=${place#*:}
    mkdir -p "$folder" 2> /dev/null; echo "$role" > "$folder/mark-$role" 2> /dev/null
done
echo "$role" >> '@ROOT@/seen/came'
"#;

const WORKFLOW: &str = r#"
[gates.gate]
run = "sh probe.sh gate"
[gates.last]
run = "sh probe.sh merge"
[stages.code]
mode = "implement"
gates = ["gate"]
on = { pr_ready = "look" }
[stages.look]
mode = "investigate"
on = { found = "deliver" }
[stages.deliver]
kind = "action"
action = "merge"
gates = ["last"]
on = { done = "done" }
"#;

const CONFIG: &str = r#"
agent = "bot"
[agents.bot]
adapter = "command"
run = ["sh", ".acquit/agent.sh"]
[setup]
run = "sh probe.sh setup"
lock_files = ["lock"]
"#;

const AGENT: &str = r#"
case $ACQUIT_STAGE in
code) sh probe.sh agent; echo work > work.txt ;;
look) sh probe.sh reviewer; cat work.txt > '@ROOT@/seen/read'; printf '{"outcome": "found", "payload": {"summary": "x"}}' > "$ACQUIT_HANDOFF" ;;
esac
"#;

/// What may be read: what setup installed in the tree and downloaded to caches. Commits are the one other way, by design.
const EXPECTED: [&str; 8] = [
    "agent reads registry of setup",
    "agent reads tree of setup",
    "gate reads registry of setup",
    "gate reads tree of setup",
    "merge reads registry of setup",
    "merge reads tree of setup",
    "reviewer reads registry of setup",
    "reviewer reads tree of setup",
];

#[test]
fn the_roles_of_a_task_read_nothing_of_each_other_but_what_is_named() {
    let files = [("probe.sh", PROBE), ("lock", "1\n"), (".gitignore", "build\n")];
    let sandbox = world(CONFIG, WORKFLOW, AGENT, &files);
    fs::create_dir_all(sandbox.place("home/.cargo/bin")).unwrap();
    sandbox.run_to(0);
    let came = read(&sandbox.place("seen/came"));
    for role in ["setup", "agent", "gate", "reviewer", "merge"] {
        assert!(came.lines().any(|line| line == role), "{role} did not come: {came}");
    }
    assert_eq!(read(&sandbox.place("seen/read")), "work\n", "commits are handed on");
    let matrix = read(&sandbox.place("seen/matrix"));
    let found: BTreeSet<&str> = matrix.lines().collect();
    for line in &found {
        println!("{line}");
    }
    assert_eq!(found.into_iter().collect::<Vec<_>>(), EXPECTED);
}
