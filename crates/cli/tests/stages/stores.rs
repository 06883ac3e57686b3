//! Two stores over one home and one repository: both have a `T-1`, and neither finds anything of the other's.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::{Sandbox, read};
use crate::world;

const CONFIG: &str = "agent = \"bot\"\n[retention]\nunfinished = \"1ms\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";

const WORKFLOW: &str = r#"
[budgets]
outcome = 0
agent = 0
nothing = 0
harness = 0
test = 0
[stages.code]
mode = "implement"
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// Work that is like no other, begun when two are at it. The second task fails with something in its tree.
const AGENT: &str = r#"
own=$(od -An -N8 -tx1 /dev/urandom | tr -d ' ')
mkdir -p "@ROOT@/seen/$ACQUIT_TASK"
touch "@ROOT@/seen/$ACQUIT_TASK/$own"
while [ $(ls "@ROOT@/seen/$ACQUIT_TASK" | wc -l) -lt 2 ]; do sleep 0.05; done
echo $own > work.txt
if [ $ACQUIT_TASK = T-2 ]; then exit 1; fi
"#;

/// The two stores.
const STORES: [&str; 2] = ["one", "other"];

/// `acquit` with one of the stores. Gives its exit code and what it printed.
fn acquit(sandbox: &Sandbox, store: &str, args: &[&str]) -> (i32, String) {
    let file = sandbox.place(&format!("stores/{store}.db"));
    let ran = sandbox.command(args).env("ACQUIT_STORE", file).output().unwrap();
    (ran.status.code().unwrap(), String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// The same with both at the same time, which must give this exit code.
fn both(sandbox: &Sandbox, args: &[&str], code: i32) {
    std::thread::scope(|scope| {
        for store in STORES {
            scope.spawn(move || assert_eq!(acquit(sandbox, store, args).0, code, "{store}: {args:?}"));
        }
    });
}

fn task(sandbox: &Sandbox, store: &str, task: &str) -> serde_json::Value {
    let (code, out) = acquit(sandbox, store, &["task", "show", task, "--json"]);
    assert_eq!(code, 0, "{out}");
    serde_json::from_str::<serde_json::Value>(&out).unwrap()["task"].take()
}

fn id(sandbox: &Sandbox, store: &str) -> String {
    let file = rusqlite::Connection::open(sandbox.place(&format!("stores/{store}.db"))).unwrap();
    file.query_row("select id from meta", [], |row| row.get(0)).unwrap()
}

#[test]
fn two_stores_over_one_home_and_one_repository_never_meet() {
    let sandbox = world(CONFIG, WORKFLOW, AGENT, &[]);
    both(&sandbox, &["run", "Do it"], 0);
    // Both are done, each with its own work on its own branch.
    let mut seen = BTreeSet::new();
    for store in STORES {
        let task = task(&sandbox, store, "T-1");
        let branch = task["seed"]["branch"].as_str().unwrap().to_owned();
        let work = sandbox.repo.git(&["show", &format!("{branch}:work.txt")]);
        let history = format!("refs/acquit/tasks/{}/T-1", id(&sandbox, store));
        let [kept]: [String; 1] = sandbox.refs(&history).try_into().unwrap();
        assert_eq!(sandbox.repo.git(&["show", &format!("{kept}:work.txt")]), work, "{store}");
        assert!(seen.insert(branch) && seen.insert(work), "{store}: {seen:?}");
    }

    // Of two that failed, one is cleaned up; the other stays as it was, and can be cleaned up by itself.
    both(&sandbox, &["run", "Fail"], 3);
    both(&sandbox, &["reject", "T-2", "no"], 0);
    let tree = |store: &str| -> PathBuf {
        sandbox.place(&format!("acquit/tasks/{}/T-2/workspace/work/work.txt", id(&sandbox, store)))
    };
    let left = STORES.map(|store| read(&tree(store)));
    assert!(!left[0].is_empty() && !left[1].is_empty() && left[0] != left[1], "{left:?}");
    let attempts = |store: &str| {
        let refs = sandbox.refs(&format!("refs/acquit/attempts/{}", id(&sandbox, store)));
        // A leg that ended before it wrote anything leaves an attempt without the file.
        let listed = |name: &String| sandbox.repo.git(&["ls-tree", "--name-only", name]);
        let has_work = |name: &&String| listed(name).lines().any(|file| file == "work.txt");
        let work = |name: &String| sandbox.repo.git(&["show", &format!("{name}:work.txt")]);
        refs.iter().filter(has_work).map(work).collect::<BTreeSet<String>>()
    };
    assert_eq!(acquit(&sandbox, "one", &["clean"]).0, 0);
    assert!(!tree("one").exists(), "it went");
    assert_eq!(read(&tree("other")), left[1], "it is not the other's to remove");
    assert_eq!(attempts("one"), BTreeSet::from([left[0].trim().to_owned()]));
    assert!(attempts("other").is_empty());
    assert_eq!(acquit(&sandbox, "other", &["clean"]).0, 0);
    assert_eq!(attempts("other"), BTreeSet::from([left[1].trim().to_owned()]));
    assert_eq!(attempts("one").len(), 1);
}

#[test]
fn a_branch_that_somebody_has_already_is_not_taken() {
    let agent = "echo work > work.txt\n";
    let sandbox = world(CONFIG, WORKFLOW, agent, &[]);
    sandbox.repo.git(&["branch", "acquit/do-it-T-1"]);
    let before = sandbox.repo.git(&["rev-parse", "acquit/do-it-T-1"]);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert!(branch.starts_with("acquit/do-it-T-1-"), "{branch}");
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "work");
    assert_eq!(sandbox.repo.git(&["rev-parse", "acquit/do-it-T-1"]), before);
}
