//! Transcripts: appended once, read from any byte, without a gap.

use acquit_core::agent::{AgentEvent, Chunk, Item, Usage};
use acquit_core::event::{Body, Level};
use acquit_core::ids::{LegId, TaskId};
use acquit_core::store::{Note, Store, each_event};
use acquit_core::task::Task;
use acquit_core::time::Timestamp;

use crate::fixture::{Place, START, claim, create, end, passed};

fn chunk(from: u64, to: u64) -> Chunk {
    let said = AgentEvent::Text { text: format!("from {from}, NUL \0, 🦀") };
    Chunk { from, to, lines: 2, items: vec![Item { offset: from, said }], omitted: 3 }
}

pub fn a_transcript_is_read_back_from_any_byte_without_gaps(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "verbose", 0);
    create(&mut *store, "other", 0);
    let (held, other) = (claim(&mut *store), claim(&mut *store));
    let written: Vec<Chunk> = (0..20).map(|n| chunk(n * 100, (n + 1) * 100)).collect();
    for part in &written {
        store.transcribe(held.hold, part, &Usage::default(), &[]).unwrap();
    }
    store.transcribe(other.hold, &chunk(0, 5), &Usage::default(), &[]).unwrap();
    let leg = held.leg.id;
    let mut read = |from, limit| store.transcript(leg, from, limit).unwrap();
    assert_eq!(read(0, 100), written);
    assert_eq!(read(0, 3), written[..3]);
    assert_eq!(read(300, 2), written[3..5], "at a border");
    assert_eq!(read(399, 2), written[3..5], "within a chunk");
    assert!(read(2_000, 9).is_empty());
    assert!(read(u64::MAX, 9).is_empty());
    let mut next = 0;
    for part in read(0, 100) {
        assert_eq!(part.from, next, "a gap");
        next = part.to;
    }
}

pub fn repeating_a_chunk_changes_nothing(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "stutters", 0);
    let held = claim(&mut *store);
    let note = Note { at: START, body: Body::notice(Level::Info, "once") };
    let usage = Usage { output: 5, ..Usage::default() };
    for _ in 0..3 {
        store.transcribe(held.hold, &chunk(0, 50), &usage, std::slice::from_ref(&note)).unwrap();
    }
    let events = store.events(Some(held.leg.id.task), 0, 99).unwrap();
    assert_eq!(events.iter().filter(|event| event.body == note.body).count(), 1);
    let other = Chunk { to: 70, ..chunk(0, 50) };
    store.transcribe(held.hold, &other, &usage, &[]).unwrap();
    assert_eq!(store.transcript(held.leg.id, 0, 9).unwrap(), [chunk(0, 50)]);
}

pub fn usage_and_notes_arrive_with_their_chunk(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "counted", 0);
    let held = claim(&mut *store);
    let note = |text: &str| Note { at: START, body: Body::notice(Level::Info, text) };
    let usage =
        |output| Usage { model: Some("m".to_owned()), output, cost_micros: Some(7), ..Usage::default() };
    // Nothing printed, but something to tell: it must not stand in the way of what is printed next.
    store.transcribe(held.hold, &chunk(0, 0), &usage(1), &[note("quiet")]).unwrap();
    store.transcribe(held.hold, &chunk(0, 10), &usage(2), &[note("loud"), note("louder")]).unwrap();
    assert_eq!(store.transcript(held.leg.id, 0, 9).unwrap(), [chunk(0, 10)]);
    assert_eq!(store.legs(held.leg.id.task).unwrap()[0].usage, usage(2));
    let events = store.events(Some(held.leg.id.task), 0, 99).unwrap();
    let notices: Vec<String> =
        events.iter().filter(|e| e.body.kind() == "notice").map(|e| e.body.summary()).collect();
    assert_eq!(notices, ["quiet", "loud", "louder"]);
}

pub fn the_history_of_an_ended_task_is_folded_and_the_task_stays(place: &Place) {
    let mut store = place.open();
    let store = store.as_mut();
    for title in ["over", "runs"] {
        create(store, title, 0);
    }
    let mut held: Vec<_> = (0..2).map(|_| claim(store)).collect();
    let note = Note { at: START, body: Body::notice(Level::Info, "{\"event\":\"change\" it says") };
    let talk = |store: &mut dyn Store, hold| {
        store.transcribe(hold, &chunk(0, 50), &Usage::default(), std::slice::from_ref(&note)).unwrap();
    };
    held.iter().for_each(|claim| talk(store, claim.hold));
    let far = Timestamp(i64::MAX);
    assert_eq!(store.foldable(far, 9).unwrap(), [], "no task is over");
    assert!(!store.fold(&held[0].task).unwrap());
    end(store, &held.remove(0), passed()).unwrap();
    let second = claim(store);
    talk(store, second.hold);
    let over = end(store, &second, passed()).unwrap();
    assert_eq!(over.state.word(), "done");
    assert_eq!(store.foldable(START, 9).unwrap(), [], "it is too young");
    let listed = store.foldable(far, 9).unwrap();
    assert!(listed.len() == 1 && listed[0].0 == over.id() && listed[0].1 > 100, "{listed:?}");
    assert!(
        !store.fold(&Task { version: over.version - 1, ..over.clone() }).unwrap(),
        "it has changed since"
    );
    for _ in 0..2 {
        assert!(store.fold(&over).unwrap());
        assert_eq!(store.foldable(far, 9).unwrap(), []);
    }
    let history = |store: &mut dyn Store, task: TaskId| {
        let (mut changes, mut others) = (Vec::new(), 0);
        each_event(store, Some(task), |event| match event.body {
            Body::Change { change } => changes.push(change),
            _ => others += 1,
        })
        .unwrap();
        (Task::replay(&changes).unwrap(), others)
    };
    let (replayed, others) = history(store, over.id());
    assert_eq!((Task { version: over.version, ..replayed }, others), (over.clone(), 0));
    assert_eq!(store.transcript(LegId { task: over.id(), number: 1 }, 0, 9).unwrap(), []);
    assert_eq!(store.legs(over.id()).unwrap().len(), 2);
    // The other task has lost nothing.
    assert_eq!(store.transcript(held[0].leg.id, 0, 9).unwrap().len(), 1);
    assert_eq!(history(store, held[0].task.id()).1, 1);
}
