//! Stores of older forms are read, newer ones are refused, and making one twice does no harm.

use std::time::Duration;

use acquit_core::definition::Definition;
use acquit_core::event::Body;
use acquit_core::fleet::Parcels;
use acquit_core::ids::{Fence, LegId, Name, TaskId};
use acquit_core::leg::Hold;
use acquit_core::store::{Error, Filter, Mark, Nights, Post, Pulse, Wanted, each_event};
use acquit_core::task::Task;
use acquit_core::time::Timestamp;
use acquit_store::OpenError;

use crate::fixture::{LEASE, Place, START, claim, create, end, owner, passed};

pub fn opening_at_once_makes_one_store(place: &Place) {
    let ids: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| create(&mut *place.open(), "raced", 0).id())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut store = place.open();
    for id in ids {
        store.task(id).unwrap();
    }
}

pub fn a_newer_store_is_left_alone(place: &Place) {
    let id = create(&mut *place.open(), "from the future", 0).id();
    place.raw("update meta set version = 999").unwrap();
    let mut newest = 0;
    for _ in 0..2 {
        match place.try_open().err() {
            Some(OpenError::Store(Error::Newer { found: 999, known })) => newest = known,
            other => panic!("{other:?}"),
        }
    }
    assert!((1..999).contains(&newest));
    place.raw(&format!("update meta set version = {newest}")).unwrap();
    place.open().task(id).unwrap();
}

/// The files under `forms` were written by the version that introduced the form. They are never written again.
pub fn a_definition_of_form_1_is_still_read(place: &Place) {
    let (task, definition) =
        (include_str!("../forms/task-1.json"), include_str!("../forms/definition-1.json"));
    let mut store = place.open();
    let id = create(&mut *store, "old", 0).id();
    let quoted = |text: &str| text.trim().replace('\'', "''");
    place
        .raw(&format!("update tasks set body = '{}', definition = '{}'", quoted(task), quoted(definition)))
        .unwrap();
    assert_eq!(store.task(id).unwrap(), serde_json::from_str::<Task>(task).unwrap());
    let read = store.definition(id).unwrap();
    assert_eq!(read, serde_json::from_str::<Definition>(definition).unwrap());
    assert_eq!(read.form, 1);
}

pub fn a_definition_of_a_newer_form_says_so(place: &Place) {
    let mut store = place.open();
    let id = create(&mut *store, "old", 0).id();
    place.raw(r#"update tasks set definition = '{"form": 77, "stages": "elsewhere"}'"#).unwrap();
    match store.definition(id) {
        Err(Error::Corrupt { what, source }) => {
            assert!(what.contains(&id.to_string()), "{what}");
            assert!(source.to_string().contains("form 77"), "{source}");
        }
        other => panic!("{other:?}"),
    }
}

pub fn a_damaged_task_is_named(place: &Place) {
    let mut store = place.open();
    let id = create(&mut *store, "broken", 0).id();
    place.raw("update tasks set body = '{\"seed\": 1'").unwrap();
    match store.task(id) {
        Err(Error::Corrupt { what, .. }) => assert!(what.contains(&id.to_string()), "{what}"),
        other => panic!("{other:?}"),
    }
}

pub fn a_store_has_an_id_of_its_own_and_keeps_it(place: &Place) {
    let id = place.open().id().unwrap();
    assert_eq!(place.open().id().unwrap(), id);
    assert_ne!(Place::sqlite().open().id().unwrap(), id);
    // A server may be somebody else's, and ids become paths.
    for bad in ["", "../../..", "T-1"] {
        place.raw(&format!("update meta set id = '{bad}'")).unwrap();
        match place.open().id() {
            Err(Error::Corrupt { what, .. }) => assert_eq!(what, "id of the store"),
            other => panic!("{other:?}"),
        }
    }
}

/// The files `store-1.*.sql` are stores of schema 1 with what a daemon left in them. They are never changed.
pub fn a_store_of_schema_1_goes_on(place: &Place) {
    place.make_of_schema(1);
    let mut store = place.open();
    store.id().unwrap();
    let app = "/src/app";
    let name = |text: &'static str| Name::literal(text);
    // A schedule goes on after its last night, whichever project it is in; one that was paused stays so.
    let nightly = store.schedule(app, &name("nightly")).unwrap();
    assert_eq!((nightly.since, nightly.paused), (Timestamp(1_700_000_500_000), None));
    let weekly = store.schedule("", &name("weekly")).unwrap();
    assert_eq!(
        (weekly.since, weekly.paused),
        (Timestamp(1_700_000_000_000), Some(Timestamp(1_700_000_200_000)))
    );
    assert_eq!(store.schedule(app, &name("new")).unwrap().since, START);
    // Nobody knows whose these are.
    assert_eq!(store.nights(&Nights::Open(app.to_owned()), 9).unwrap(), []);
    assert_eq!(store.take(app, Duration::from_mins(1)).unwrap(), None);
    let letters = store.letters(9).unwrap();
    let states: Vec<_> = letters.iter().map(|letter| (letter.message.key.as_str(), letter.state)).collect();
    assert_eq!(states, [("event/9/phone", Post::GivenUp), ("event/7/phone", Post::Sent)]);
    // Events are read on from where they were.
    let mark = Mark { project: app, name: "notify" };
    assert_eq!(store.mark(mark).unwrap(), Some(9));
    store.post(&[], Some((mark, 12))).unwrap();
    assert_eq!(store.mark(mark).unwrap(), Some(12));
    assert_eq!(store.mark(Mark { project: "/src/other", ..mark }).unwrap(), Some(9));
}

pub fn a_store_of_schema_2_goes_on(place: &Place) {
    goes_on(place, 2);
}

pub fn a_store_of_schema_3_goes_on(place: &Place) {
    goes_on(place, 3);
}

pub fn a_store_of_schema_4_goes_on(place: &Place) {
    goes_on(place, 4);
}

pub fn a_store_of_schema_5_goes_on(place: &Place) {
    goes_on(place, 5);
}

/// The rule for machines that are upgraded one after another: what runs is finished, and nothing begins.
pub fn a_store_that_a_newer_acquit_migrated_lets_legs_end_and_none_begin(place: &Place) {
    let mut store = place.open();
    let store = store.as_mut();
    create(store, "runs", 0);
    let claimed = claim(store);
    store.check_version().unwrap();
    place.raw("update meta set version = version + 1").unwrap();
    assert!(matches!(store.check_version(), Err(Error::Newer { .. })));
    assert!(matches!(place.try_open().err(), Some(OpenError::Store(Error::Newer { .. }))));
    assert_eq!(store.heartbeat(claimed.hold, LEASE).unwrap(), Pulse::Beating);
    end(store, &claimed, passed()).unwrap();
}

/// The files `store-<n>.*.sql` are stores of that schema, with a task that waits, one that runs and one that is over, and
/// with what a daemon, workers and limits left. They are never changed: a new schema gets files of its own.
fn goes_on(place: &Place, schema: usize) {
    place.make_of_schema(schema);
    let mut store = place.open();
    let store = store.as_mut();
    assert_eq!(store.id().unwrap().to_string(), "5f3a09c1");
    let all = store.list(&Filter { ended: true, limit: 9, ..Filter::default() }).unwrap();
    assert_eq!(all.iter().map(|task| task.title.as_str()).collect::<Vec<_>>(), ["is over", "runs", "waits"]);
    assert_eq!(store.reserve().unwrap(), TaskId(4), "no id is given twice");
    for id in [1, 2] {
        let mut changes = Vec::new();
        each_event(store, Some(TaskId(id)), |event| match event.body {
            Body::Change { change } => changes.push(change),
            other => panic!("{other:?}"),
        })
        .unwrap();
        let replayed = Task { version: 1, ..Task::replay(&changes).unwrap() };
        assert_eq!(store.task(TaskId(id)).unwrap(), replayed);
    }
    let over = store.task(TaskId(3)).unwrap();
    assert_eq!((over.state.word(), store.legs(TaskId(3)).unwrap().len()), ("done", 2));
    assert_eq!(store.transcript(LegId { task: TaskId(3), number: 1 }, 0, 9).unwrap().len(), 1);

    // Who holds a leg goes on, and the next claim has a higher fence.
    let running = Hold { leg: LegId { task: TaskId(2), number: 1 }, fence: Fence(3) };
    assert_eq!(store.heartbeat(running, LEASE).unwrap(), Pulse::Beating);
    let wanted = if schema >= 3 { Wanted::By("forge", None) } else { Wanted::Any };
    let claimed = store.claim(wanted, &owner(1), LEASE).unwrap().expect("the leg that waits");
    assert_eq!((claimed.task.id(), claimed.hold.fence > running.fence), (TaskId(1), true));
    end(store, &claimed, passed()).unwrap();
    assert_eq!(store.waiting(9).unwrap()[0].stage, "code");
    let new = create(store, "new", 0);
    assert_eq!(claim(store).task.id(), TaskId(1), "in turns, the older first");
    assert_eq!(new.id(), TaskId(5));

    let app = "/src/app";
    assert_eq!(store.nights(&Nights::Open(app.to_owned()), 9).unwrap().len(), 1);
    let name = Name::literal("weekly");
    assert_eq!(store.schedule("", &name).unwrap().paused, Some(Timestamp(1_700_000_200_000)));
    let letter = store.take(app, Duration::from_mins(1)).unwrap().expect("the message that waits");
    assert_eq!(letter.message.key, "event/9/phone");
    assert_eq!(store.mark(Mark { project: app, name: "notify" }).unwrap(), Some(9));

    if schema >= 3 {
        let which = Parcels::Objects("https://host/app".to_owned(), TaskId(3));
        let base = store.parcels(&which).unwrap();
        let data: Vec<_> =
            (0..).map_while(|part| store.receive(base[0].id, part).unwrap()).flatten().collect();
        assert_eq!((base.len(), data.as_slice()), (1, &b"PACKmore"[..]));
        assert!(store.discard_work(&over).unwrap());
        assert_eq!(store.parcels(&Parcels::Files(TaskId(3))).unwrap(), []);
        assert!(!store.discard_repository("https://host/app", Timestamp(0)).unwrap(), "a task needs it");
    }
}
