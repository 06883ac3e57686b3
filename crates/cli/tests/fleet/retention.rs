//! What tasks leave in the store for other machines goes when nobody needs it, and never what is nowhere else.

use acquit_core::store::Store;
use acquit_store::{Clock, Location};
use acquit_testkit::postgres::{Database, Role, database_or_skip};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Sandbox, until};
use crate::{Machine, waits_at};

/// Nothing is delivered: what the worker made is in the store alone.
const KEPT: &str = r#"
[stages.code]
mode = "implement"
runs_on = ["a"]
outputs = ["*.md"]
on = { pr_ready = "done" }
"#;

const MAKES: &str = r#"
prompt=$(cat)
out=$(printf '%s' "$prompt" | grep -o '/[^ `"]*/legs/[0-9]*/out' | head -n 1)
echo "what was found" > "$out/notes.md"
echo work > work.txt
"#;

const CONFIG: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n\
                      [retention]\nunfinished = \"1s\"\n";

/// How many kills a cleanup may need: more than it has points.
const KILLS: u32 = 20;

fn store(database: &Database) -> Box<dyn Store> {
    acquit_store::open(&Location::parse(&database.url), Clock::System).unwrap()
}

/// What `acquit clean` says about the store: task, word and reason of each.
fn told(listed: &Value) -> Vec<(String, String, String)> {
    let all = listed.as_array().unwrap().iter().filter(|one| one.get("store").is_some());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.map(|one| (text(&one["task"]), text(&one["store"]), text(&one["why"]))).collect()
}

#[test]
fn what_a_task_left_in_the_store_comes_home_before_it_is_removed_from_there() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell_by(CONFIG, KEPT, MAKES).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let role = Role::new(&database);
    sandbox.acquit(&["store", "grant", &role.name]).must(0);
    let mut one = Machine::new(&sandbox, &database, "one", "");
    one.store = role.url.clone();
    let looked = sandbox.acquit(&["clean", "--dry-run", "--json"]).must(0).json();
    assert_eq!(told(&looked), [(String::new(), "stays".to_owned(), "tasks need it".to_owned())]);
    let worker = one.worker(&["--labels", "a"]);
    until("the task is over", || (sandbox.task().state.word() == "done").then_some(()));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    let tip = sandbox.task().tip;
    let here = acquit_testkit::repo::git_succeeds(sandbox.repo.path(), &["cat-file", "-e", &tip]);
    assert!(!here, "the work is in the store alone");

    // Another machine leaves it alone, as does one with the role of a worker.
    let third = Machine::new(&sandbox, &database, "third", "");
    for other in [&third, &one] {
        let all = told(&other.acquit(&["clean", "--json"]).must(0).json());
        assert!(all.iter().all(|(_, word, _)| word == "stays"), "{all:?}");
        assert!(all.iter().any(|(task, _, why)| task == "T-1" && why.contains("--others")), "{all:?}");
    }
    let looked = told(&sandbox.acquit(&["clean", "--dry-run", "--json"]).must(0).json());
    assert_eq!(looked.iter().filter(|(_, word, _)| word == "would go").count(), 2, "{looked:?}");

    let held = || store(&database).held().unwrap().iter().filter(|held| held.task.is_some()).count();
    let mut killed = 0;
    for number in 1..=KILLS {
        let marker = sandbox.place(&format!("marker-{number}"));
        let mut clean = sandbox.command(&["clean"]);
        clean.env("ACQUIT_FAULT", format!("parcels:{number}:{}", marker.display()));
        let done = clean.output().unwrap().status.success();
        let at_home = !sandbox.refs("refs/acquit/attempts").is_empty();
        assert!(held() > 0 || at_home, "after kill {number} it is nowhere");
        if done {
            break;
        }
        killed += 1;
    }
    assert!((2..KILLS).contains(&killed), "{killed}");
    assert_eq!(store(&database).held().unwrap(), [], "the repository went too");
    let kept = sandbox.refs("refs/acquit/attempts");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(sandbox.repo.git(&["rev-parse", &kept[0]]), tip);
    let notes = std::fs::read_to_string(sandbox.leg_file(1, "out/notes.md")).unwrap();
    assert_eq!(notes, "what was found\n");
    assert!(sandbox.acquit(&["diff", "T-1"]).must(0).out.contains("+work"));
}

#[test]
fn a_task_that_is_tried_again_after_a_cleanup_is_sent_again() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell_by(CONFIG, KEPT, MAKES).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    until("its time is over, and the repository goes", || {
        sandbox.acquit(&["clean"]).must(0);
        store(&database).held().unwrap().is_empty().then_some(())
    });
    sandbox.acquit(&["task", "retry", "T-1"]).must(0);
    assert_eq!(store(&database).held().unwrap().len(), 1);
    // Killed before it could send: the next cleanup does.
    assert_eq!(database.execute("delete from parcels"), 1);
    let one = Machine::new(&sandbox, &database, "one", "");
    let worker = one.worker(&["--labels", "a"]);
    let lacks = until("it is said what is missing", || {
        waits_at(&one)?.1.into_iter().find(|why| why.contains("the store does not have it"))
    });
    assert!(lacks.contains("no worker has the repository"), "{lacks}");
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    sandbox.acquit(&["clean"]).must(0);
    let worker = one.worker(&["--labels", "a"]);
    until("the task is over", || (sandbox.task().state.word() == "done").then_some(()));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
}

#[test]
fn what_workers_left_comes_home_also_after_the_store_was_moved_to_one_machine() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell_by(CONFIG, KEPT, MAKES).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let one = Machine::new(&sandbox, &database, "one", "");
    let worker = one.worker(&["--labels", "a"]);
    until("the task is over", || (sandbox.task().state.word() == "done").then_some(()));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    let moved = sandbox.place("moved.db").to_string_lossy().into_owned();
    sandbox.acquit(&["store", "move", &moved]).must(0);
    let sandbox = sandbox.with("ACQUIT_STORE", moved.clone());
    sandbox.acquit(&["clean"]).must(0);
    let left = acquit_store::open(&Location::parse(&moved), Clock::System).unwrap().held().unwrap();
    assert_eq!(left, []);
    let notes = std::fs::read_to_string(sandbox.leg_file(1, "out/notes.md")).unwrap();
    assert_eq!(notes, "what was found\n");
    assert!(sandbox.leg_file(1, "output.log").is_file());
}

#[test]
fn a_task_that_a_newer_acquit_wrote_keeps_no_other_from_being_cleaned_up() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell_by(CONFIG, KEPT, MAKES).with("ACQUIT_STORE", database.url.clone());
    for title in ["One", "Two", "Three"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    let one = Machine::new(&sandbox, &database, "one", "");
    let worker = one.worker(&["--labels", "a"]);
    until("the tasks are over", || {
        let done = "select count(*) from tasks where state = 'done'";
        (acquit_testkit::postgres::number(&database.url, done).unwrap() == 3).then_some(())
    });
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    sandbox.acquit(&["task", "add", "Four"]).must(0);
    let newer = "update tasks set definition = regexp_replace(definition, '\"form\":[0-9]+', '\"form\":99') \
                 where id in (1, 4)";
    assert_eq!(database.execute(newer), 2);
    let all = told(&sandbox.acquit(&["clean", "--json"]).must(0).json());
    let word = |task: &str| all.iter().find(|one| one.0 == task).unwrap().1.clone();
    assert_eq!([word("T-1"), word("T-2"), word("T-3")], ["stays", "removed", "removed"], "{all:?}");
}
