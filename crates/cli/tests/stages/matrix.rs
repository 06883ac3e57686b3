//! The stage matrix: what each of agent, reviewer, gate, setup and merge of one task can read that another of them wrote.
//!
//! `docs/sandbox.md` has the table that this prints. With `UPDATE_TABLES=1` it is written again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

/// The agent works twice, with the reviewer in between.
const WORKFLOW: &str = r#"
[budgets]
round = 1
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
on = { failed = { to = "code", budget = "round" }, found = "deliver" }
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
say() { printf '{"outcome": "%s", "payload": {"summary": "x"}}' $1 > "$ACQUIT_HANDOFF"; }
case $ACQUIT_STAGE-$ACQUIT_ATTEMPT in
code-1) sh probe.sh agent; echo work > work.txt ;;
look-1) sh probe.sh reviewer; say failed ;;
code-*) sh probe.sh again; echo more > work.txt ;;
look-*) cat work.txt > '@ROOT@/seen/read'; say found ;;
esac
"#;

/// The roles, as the probe and the table call them.
const ROLES: [(&str, &str); 6] = [
    ("agent", "agent"),
    ("again", "agent, next leg of the same stage"),
    ("reviewer", "agent of another stage"),
    ("gate", "gate"),
    ("merge", "gate of a merge"),
    ("setup", "setup"),
];

/// The places, as the probe and the table call them.
const PLACES: [(&str, &str); 8] = [
    ("tree", "ignored files"),
    ("git", "`.git`"),
    ("home", "home"),
    ("tmp", "`/tmp`"),
    ("shm", "`/dev/shm`"),
    ("registry", "downloads"),
    ("programs", "programs of caches"),
    ("output", "output folder"),
];

/// What may be read: what setup installed and downloaded, and by the next leg of a stage its own home, `/tmp` and downloads. Commits are
/// the one other way, by design.
const EXPECTED: [&str; 13] = [
    "again reads home of agent",
    "again reads registry of agent",
    "again reads registry of setup",
    "again reads tmp of agent",
    "again reads tree of setup",
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
    for (role, _) in ROLES {
        assert!(came.lines().any(|line| line == role), "{role} did not come: {came}");
    }
    assert_eq!(read(&sandbox.place("seen/read")), "more\n", "commits are handed on");
    let matrix = read(&sandbox.place("seen/matrix"));
    // A gate comes twice, and does not find what it left itself.
    let found: BTreeSet<&str> = matrix.lines().collect();
    println!("{}", table(&found));
    document(&table(&found));
    assert_eq!(found.into_iter().collect::<Vec<_>>(), EXPECTED);
}

/// The table: a row for each role that wrote, a column for each that read.
fn table(found: &BTreeSet<&str>) -> String {
    let readers: Vec<_> = ROLES.iter().filter(|(role, _)| *role != "agent").collect();
    let names: Vec<&str> = readers.iter().map(|(_, name)| *name).collect();
    let mut lines = vec![
        format!("| written by ↓, read by → | {} |", names.join(" | ")),
        format!("|---|{}", "---|".repeat(names.len())),
    ];
    for (writer, name) in ROLES.iter().filter(|(role, _)| *role != "again") {
        let cells: Vec<String> = readers
            .iter()
            .map(|(reader, _)| {
                let read = |(place, _): &&(&str, &str)| {
                    found.contains(format!("{reader} reads {place} of {writer}").as_str())
                };
                let places: Vec<&str> = PLACES.iter().filter(read).map(|(_, name)| *name).collect();
                if places.is_empty() { "nothing".to_owned() } else { places.join(", ") }
            })
            .collect();
        lines.push(format!("| **{name}** | {} |", cells.join(" | ")));
    }
    lines.join("\n")
}

/// Compares the table with the one in the documentation, or writes it there.
fn document(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    // Another user who runs this has no checkout.
    let Ok(text) = fs::read_to_string(&path) else { return };
    if text.contains(table) {
        return;
    }
    assert!(std::env::var_os("UPDATE_TABLES").is_some(), "docs/sandbox.md has another table than\n{table}");
    let (before, rest) = text.split_once("| written by ↓").expect("the table");
    let after = rest.split_once("\n\n").expect("an end of the table").1;
    fs::write(&path, format!("{before}{table}\n\n{after}")).unwrap();
}
