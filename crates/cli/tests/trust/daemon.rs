//! The daemon goes by files that may change while it runs, and begins nothing by those that are not trusted.

use crate::common::{CODE, SCRIPTED, until};
use crate::{cloned, fired};

/// A schedule that is due every minute.
const NIGHT: &str =
    "[[schedule]]\nname = \"night\"\ncron = \"* * * * *\"\nzone = \"UTC\"\nworkflow = \"flow\"\n";

#[test]
fn a_daemon_waits_for_trust_says_so_and_goes_on_when_it_is_given() {
    let sandbox = cloned(&format!("{SCRIPTED}[setup]\nrun = \"@ROOT@/evil\"\n{NIGHT}"), CODE);
    sandbox.acquit(&["schedule", "list"]).must(0);
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute("update schedules set since = since - 900000", []).unwrap();
    let nights = || -> i64 { store.query_row("select count(*) from nights", [], |row| row.get(0)).unwrap() };
    let daemon = sandbox.start(&["serve"]);
    let log = || daemon.err();
    until("the daemon says that it waits", || {
        log().contains("schedules and messages wait for `acquit trust`").then_some(())
    });
    assert_eq!(nights(), 0, "a night was begun");
    assert!(!fired(&sandbox));
    sandbox.acquit(&["trust", "--yes"]).must(0);
    until("schedules go on", || log().contains("the configuration is trusted").then_some(()));
    until("a night begins", || (nights() > 0).then_some(()));
    drop(store);
    daemon.signal(rustix::process::Signal::TERM);
    daemon.wait();
}
