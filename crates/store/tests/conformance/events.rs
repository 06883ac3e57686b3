//! The history: appended whole, in order, and read by a tail that misses nothing while others write.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use acquit_core::change::Change;
use acquit_core::decide::Input;
use acquit_core::event::{Body, Event, Level, Step};
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::{Commit, Note};
use acquit_core::task::{Actor, Task};
use acquit_core::time::{Span, Timestamp};

use crate::fixture::{LEASE, Place, START, claim, create, end, ending, input, lose, me, passed};

fn notice(text: impl Into<String>) -> Note {
    Note { at: Timestamp(START.0 + 5), body: Body::notice(Level::Warning, text) }
}

pub fn replaying_a_tasks_events_gives_the_task(place: &Place) {
    let mut store = place.open();
    let id = create(&mut *store, "a long way", 0).id();
    create(&mut *store, "somebody else's", -1);
    let first = claim(&mut *store);
    store.note(first.hold, &[notice("on the way")]).unwrap();
    lose(&mut *store, &first);
    let again = claim(&mut *store);
    end(&mut *store, &again, passed()).unwrap();
    let code = claim(&mut *store);
    let broken = Ending::Failed { kind: Name::literal("unheard_of"), reason: "broken".to_owned() };
    let waiting = end(&mut *store, &code, broken).unwrap();
    let retry = Input::Retry { by: me(), stage: None, note: Some("once more".to_owned()) };
    let task = input(&mut *store, &waiting, retry).unwrap();

    let events = store.events(Some(id), 0, 1000).unwrap();
    let changes: Vec<&Change> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Change { change } => Some(change),
            _ => None,
        })
        .collect();
    let mut replayed = Task::replay(changes).expect("a history");
    replayed.version = task.version;
    assert_eq!(replayed, task);
    assert_eq!(store.task(id).unwrap(), task);
    assert_eq!(task.version, 5, "one for the creation and one for each step");
}

pub fn events_are_read_in_order_from_any_place(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "talkative", 0);
    create(&mut *store, "silent", -1);
    let held = claim(&mut *store);
    for number in 0..10 {
        store.note(held.hold, &[notice(format!("{number}")), notice(format!("{number} again"))]).unwrap();
    }
    let all = store.events(None, 0, 1000).unwrap();
    assert_eq!(all.len(), 2 + 2 + 20);
    assert!(all.is_sorted_by(|one, next| one.seq < next.seq));
    let mine: Vec<Event> = all.iter().filter(|event| event.task == held.leg.id.task).cloned().collect();
    assert_eq!(store.events(Some(held.leg.id.task), 0, 1000).unwrap(), mine);
    let pages: Vec<Event> = std::iter::successors(Some(store.events(None, 0, 7).unwrap()), |page| {
        let page = store.events(None, page.last()?.seq, 7).unwrap();
        (!page.is_empty()).then_some(page)
    })
    .flatten()
    .collect();
    assert_eq!(pages, all);
    let last = all.last().unwrap();
    assert_eq!(
        (last.leg, last.at, &last.actor),
        (Some(1), Timestamp(START.0 + 5), &Actor::Harness(held.leg.id))
    );
    assert_eq!(last.body, notice("9 again").body);
}

pub fn notes_come_before_the_changes_of_their_step(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "noted", 0);
    let held = claim(&mut *store);
    let seen = store.events(None, 0, 99).unwrap().last().unwrap().seq;
    let step = |step, ms| Note { at: START, body: Body::Step { step, took: Span::from(ms) } };
    let notes = [step(Step::Gates, 3), step(Step::Artifacts, 1)];
    let changes = ending(&held.task, 1, passed());
    let by = Actor::Harness(held.leg.id);
    let commit =
        Commit { before: &held.task, changes: &changes, by: &by, hold: Some(held.hold), notes: &notes };
    store.commit(commit).unwrap();
    let kinds: Vec<&str> =
        store.events(None, seen, 99).unwrap().iter().map(|event| event.body.kind()).collect();
    assert_eq!(kinds, ["step", "step", "leg_ended", "leg_readied"]);
}

pub fn a_tail_sees_every_event_once_and_in_order(place: &Place) {
    const WRITERS: usize = 6;
    const NOTES: usize = 40;
    /// Longer than any machine needs for this.
    const PATIENCE: Duration = Duration::from_mins(1);
    let mut store = place.open();
    let holds: Vec<_> = (0..WRITERS)
        .map(|_| {
            create(&mut *store, "noisy", 0);
            claim(&mut *store).hold
        })
        .collect();
    let before = store.events(None, 0, 1000).unwrap().last().unwrap().seq;
    let writing = AtomicUsize::new(WRITERS);
    let seen = std::thread::scope(|scope| {
        for hold in holds {
            let writing = &writing;
            scope.spawn(move || {
                let mut store = place.open();
                for number in 0..NOTES {
                    store.note(hold, &[notice(format!("{number}")), notice(format!("{number}+"))]).unwrap();
                    store.heartbeat(hold, LEASE).unwrap();
                }
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let begin = Instant::now();
        let mut seen: Vec<Event> = Vec::new();
        loop {
            let done = writing.load(Ordering::SeqCst) == 0;
            let after = seen.last().map_or(before, |event| event.seq);
            let new = store.events(None, after, 5).unwrap();
            if new.is_empty() && done {
                return seen;
            }
            seen.extend(new);
            assert!(begin.elapsed() < PATIENCE, "the writers do not come to an end");
        }
    });
    assert_eq!(seen.len(), WRITERS * NOTES * 2, "none is missed");
    assert!(seen.is_sorted_by(|one, next| one.seq < next.seq));
    let all: Vec<i64> = store.events(None, before, 10_000).unwrap().iter().map(|event| event.seq).collect();
    assert_eq!(seen.iter().map(|event| event.seq).collect::<Vec<_>>(), all);
    // What one transaction wrote stands together.
    for pair in seen.chunks(2) {
        assert_eq!((pair[0].task, pair[0].seq + 1), (pair[1].task, pair[1].seq));
    }
}
