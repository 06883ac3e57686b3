//! Backup, restore and move: what arrives is what was there, and goes on from there.

use acquit_core::event::{Body, Level};
use acquit_core::store::{Filter, Note, Store};
use acquit_core::time::Timestamp;
use acquit_store::{Clock, CopyError, Location, OpenError};

use crate::fixture::{Place, START, claim, create, end, passed};

/// A store with tasks that wait, run and are over, and more events than one batch.
fn filled(place: &Place) -> Box<dyn Store> {
    let mut store = place.open();
    create(&mut *store, "tabs\tand \\ backslashes\r\nand lines, ü, \u{1F600} and \\N", 0);
    let first = claim(&mut *store);
    for number in 0..600 {
        let body = Body::notice(Level::Info, format!("line {number}\t\\."));
        store.note(first.hold, &[Note { at: Timestamp(START.0 + number), body }]).unwrap();
    }
    end(&mut *store, &first, passed()).unwrap();
    create(&mut *store, "waits", 3);
    store
}

fn everything(store: &mut dyn Store) -> String {
    let mut all = format!("{:?}\n", store.id().unwrap());
    let filter = Filter { ended: true, limit: 100, ..Filter::default() };
    for summary in store.list(&filter).unwrap() {
        let (task, legs) = (store.task(summary.id).unwrap(), store.legs(summary.id).unwrap());
        all.push_str(&format!("{task:?}\n{legs:?}\n{:?}\n", store.definition(summary.id).unwrap()));
    }
    all + &format!("{:?}", store.events(None, 0, 10_000).unwrap())
}

/// An empty store on the other database, or on the same where there is no server.
fn elsewhere(place: &Place) -> Place {
    match place.location {
        Location::Sqlite(_) => {
            Place::postgres_or_skip("copies between databases").unwrap_or_else(Place::sqlite)
        }
        Location::Postgres(_) => Place::sqlite(),
    }
}

pub fn a_backup_is_restored_on_either_database_and_goes_on(place: &Place) {
    let mut store = filled(place);
    let running = claim(&mut *store);
    let before = everything(&mut *store);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    // While the store is open and a leg runs.
    let copied = acquit_store::backup(&place.location, &file).unwrap();
    assert_eq!(copied.tasks, 2);
    assert!(copied.events > 600, "{copied:?}");
    assert!(matches!(acquit_store::backup(&place.location, &file), Err(CopyError::Exists { .. })));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside the backup");

    let other = elsewhere(place);
    assert_eq!(acquit_store::restore(&file, &other.location).unwrap(), copied);
    let mut restored = other.open();
    assert_eq!(everything(&mut *restored), before);
    // Numbers go on where they were, so nothing that was written down elsewhere means something else now.
    let last = restored.events(None, 0, 10_000).unwrap().last().unwrap().seq;
    let task = create(&mut *restored, "new", 9);
    assert_eq!(task.id().0, 3);
    assert!(restored.events(None, last, 10).unwrap().iter().all(|event| event.seq > last));
    assert!(claim(&mut *restored).hold.fence > running.hold.fence);

    let full = acquit_store::restore(&file, &other.location);
    assert!(matches!(full, Err(CopyError::NotEmpty { tasks: 3, .. })), "{full:?}");
}

pub fn a_moved_store_refuses_to_be_used(place: &Place) {
    let mut store = filled(place);
    let before = everything(&mut *store);
    let other = elsewhere(place);
    let held = claim(&mut *store);
    let busy = acquit_store::move_to(&place.location, &other.location);
    assert!(matches!(busy, Err(CopyError::Running { legs: 1 })), "{busy:?}");
    end(&mut *store, &held, passed()).unwrap();
    let after = everything(&mut *store);
    assert_ne!(before, after);

    let copied = acquit_store::move_to(&place.location, &other.location).unwrap();
    assert_eq!(copied.tasks, 2);
    assert_eq!(everything(&mut *other.open()), after);
    // Also for those who had it open.
    assert!(
        store.reserve().is_err()
            || store.create(&crate::fixture::definition(), &[], &crate::fixture::me()).is_err()
    );
    let refused =
        store.claim(acquit_core::store::Wanted::Any, &crate::fixture::owner(1), crate::fixture::LEASE);
    assert!(refused.is_err(), "a leg of the old store could be claimed");
    assert!(matches!(place.try_open(), Err(OpenError::Moved { .. })));
}

pub fn a_move_that_died_before_the_mark_is_finished_by_the_next(place: &Place) {
    let mut store = filled(place);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    acquit_store::backup(&place.location, &file).unwrap();
    let other = elsewhere(place);
    // What a move has done when it dies before it marks the old store.
    acquit_store::restore(&file, &other.location).unwrap();
    let copied = acquit_store::move_to(&place.location, &other.location).unwrap();
    assert_eq!(copied.tasks, 2);
    assert!(matches!(place.try_open(), Err(OpenError::Moved { .. })));
    drop(store.events(None, 0, 1));
    assert!(acquit_store::open(&other.location, Clock::System).is_ok());
}
