//! Workers in trouble: full disks, a full database, and a store that a newer acquit migrated. What they cannot do waits.

use acquit_core::leg::State;
use acquit_testkit::postgres::{database_or_skip, number};
use rustix::process::Signal;

use crate::common::{Sandbox, read, until, until_file};
use crate::{Machine, SLOW, WAITS, reaching, waits_at};

#[test]
fn a_worker_with_a_full_disk_takes_no_leg_and_says_so() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, "echo work > work.txt\n").with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    // More than any disk has.
    let full = Machine::new(&sandbox, &database, "full", "[retention]\nkeep_free = \"1000000GiB\"\n");
    let first = full.worker(&[]);
    let why = until("it is said why nobody takes the leg", || {
        waits_at(&full)?.1.into_iter().find(|why| why.contains("no worker takes legs"))
    });
    assert!(why.contains("full takes none: the disk of") && why.contains("`keep_free`"), "{why}");
    let listed = full.acquit(&["workers"]).must(0).out;
    assert!(listed.lines().any(|line| line.split_whitespace().nth(1) == Some("full")), "{listed}");
    let roomy = Machine::new(&sandbox, &database, "roomy", "");
    let second = roomy.worker(&[]);
    until("the other does the leg", || waits_at(&roomy).filter(|(stage, _)| stage == "deliver"));
    let legs = sandbox.legs();
    assert_eq!(legs[0].owner.as_ref().unwrap().worker.as_deref(), Some("roomy"));
    assert_eq!(first.err().matches("takes no leg").count(), 1, "{}", first.err());
    for worker in [first, second] {
        worker.signal(Signal::TERM);
        worker.wait().must(0);
    }
}

#[test]
fn a_full_disk_of_the_database_loses_no_leg() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WAITS).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let one = Machine::new(&sandbox, &database, "one", &reaching(&sandbox));
    let worker = one.worker(&[]);
    until_file(&sandbox.place("began"));
    // What a server without room answers to whoever writes.
    let refuses = "create function full_disk() returns trigger language plpgsql as $$ begin \
                   raise exception 'No space left on device' using errcode = 'disk_full'; end $$";
    database.execute(refuses);
    for table in ["events", "legs", "transcripts", "parcels", "workers"] {
        let on = format!("before insert or update on {table} for each statement");
        database.execute(&format!("create trigger full_disk {on} execute function full_disk()"));
    }
    std::fs::write(sandbox.place("go"), "").unwrap();
    let until_then = std::time::Instant::now() + std::time::Duration::from_secs(8);
    until("everybody has met the full disk", || (std::time::Instant::now() > until_then).then_some(()));
    assert_eq!(sandbox.legs()[0].state, State::Running);
    database.execute("drop function full_disk cascade");
    until("the leg ends as if nothing had been", || waits_at(&one).filter(|(stage, _)| stage == "deliver"));
    let states: Vec<State> = sandbox.legs().iter().map(|leg| leg.state).collect();
    assert_eq!(states, [State::Passed, State::Ready]);
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    sandbox.acquit(&["run", "T-1"]).must(0).said("T-1 is done");
}

#[test]
fn a_worker_that_is_older_than_the_store_ends_its_leg_and_takes_no_other() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WAITS).with("ACQUIT_STORE", database.url.clone());
    for title in ["One", "Two"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    let one = Machine::new(&sandbox, &database, "one", &reaching(&sandbox));
    let worker = one.worker(&["--slots", "1"]);
    until_file(&sandbox.place("began"));
    assert_eq!(database.execute("update meta set version = version + 1"), 1);
    let count = |sql: &str| number(&database.url, sql).unwrap();
    until("it says that it is outdated", || {
        (count("select count(*) from workers where body like '%\"outdated\"%'") == 1).then_some(())
    });
    std::fs::write(sandbox.place("go"), "").unwrap();
    let err = worker.wait().must(5).err;
    assert!(err.contains("its acquit is older than the store"), "{err}");
    let log = read(&one.place("acquit/worker/worker-one.log"));
    assert_eq!(count("select count(*) from legs where state = 'passed'"), 1, "{log}");
    assert_eq!(count("select count(*) from legs where state = 'ready'"), 2, "{log}");
    assert_eq!(count("select count(*) from legs"), 3, "{log}");
    assert_eq!(count("select count(*) from workers"), 0);
    sandbox.acquit(&["run", "T-2"]).must(5).said("this acquit knows only");
}
