//! The store as a whole: saved, restored, moved, checked.

use crate::common::{CODE, Sandbox};

const SCRIPT: &str = r#"
[[code]]
step = [ { write = "work.txt", content = "w\n" }, { outcome = "pr_ready", payload = { summary = "x" } } ]
"#;

#[test]
fn a_store_is_saved_restored_moved_and_checked() {
    let sandbox = Sandbox::scripted(CODE, SCRIPT);
    sandbox.run_to(0);
    let text = |name: &str| sandbox.place(name).to_string_lossy().into_owned();
    let (saved, restored, moved) = (text("saved.db"), text("restored.db"), text("moved.db"));
    sandbox.acquit(&["backup", &saved]).must(0).said("1 task, ");
    sandbox.acquit(&["backup", &saved]).must(2).said("the file exists");
    sandbox.acquit(&["restore", &saved]).must(2).said("copy a store onto itself");
    sandbox.acquit(&["restore", &text("nothing.db")]).must(2).said("there is no such file");

    let events = sandbox.events();
    let sandbox = sandbox.with("ACQUIT_STORE", restored);
    sandbox.acquit(&["restore", &saved]).must(0).said("1 task, ");
    assert_eq!(sandbox.events(), events);
    sandbox.acquit(&["store", "check"]).must(0).said("no problems in 1 task");

    sandbox.acquit(&["store", "move", &moved]).must(0).said("set ACQUIT_STORE");
    sandbox.acquit(&["task", "list"]).must(2).said("it has moved to");
    let sandbox = sandbox.with("ACQUIT_STORE", moved.clone());
    assert_eq!(sandbox.events(), events);

    let store = rusqlite::Connection::open(&moved).unwrap();
    store.execute_batch("delete from events where seq = 1").unwrap();
    let checked = sandbox.acquit(&["store", "check", "--json"]).must(1).json();
    assert_eq!(checked["problems"][0]["task"], "T-1", "{checked}");
}
