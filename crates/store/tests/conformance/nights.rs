//! What the daemon relies on: a night is recorded once, a message is sent by one at a time, and nothing of it is in anybody's memory.

use std::sync::Barrier;
use std::time::Duration;

use acquit_core::ids::{Name, TaskId};
use acquit_core::night::{Night, Progress, State};
use acquit_core::store::{Delivery, Follow, Mark, Message, Nights, Post, Recorded};
use acquit_core::time::Timestamp;
use serde_json::json;

use crate::fixture::{Place, START, claim, create};

const LEASE: Duration = Duration::from_mins(2);

fn name() -> Name {
    Name::literal("night")
}

fn night(nominal: i64) -> Night {
    let repositories = ["/src/app".to_owned(), "/src/lib".to_owned()];
    Night::new(name(), Timestamp(nominal), State::Running, Some("tests".to_owned()), &repositories).of(MINE)
}

/// The project whose daemon asks.
const MINE: &str = "/src/mine";
/// Another one that shares the store.
const THEIRS: &str = "/src/theirs";
/// How far its daemon has read.
const EVENTS: Mark<'static> = Mark { project: MINE, name: "events" };

fn message(key: &str) -> Message {
    Message {
        project: MINE.to_owned(),
        key: key.to_owned(),
        channel: "phone".to_owned(),
        payload: json!({"title": "hm\u{0}m"}),
        not_before: None,
    }
}

pub fn a_night_is_recorded_once_however_many_try(place: &Place) {
    const DAEMONS: usize = 8;
    let start = Barrier::new(DAEMONS);
    let new: usize = std::thread::scope(|scope| {
        let record = || {
            // A thread that panicked here would leave the others at the barrier for ever.
            let store = place.try_open();
            start.wait();
            let mut store = store.expect("the store opens");
            (0..20).filter(|at| store.record(&night(*at)).unwrap() == Recorded::New).count()
        };
        let threads: Vec<_> = (0..DAEMONS).map(|_| scope.spawn(record)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(new, 20);
    let mut store = place.open();
    let newest = store.nights(&Nights::Of(MINE.to_owned(), name()), 3).unwrap();
    assert_eq!(newest.iter().map(|night| night.nominal.0).collect::<Vec<_>>(), [19, 18, 17]);
    assert!(store.nights(&Nights::Of(MINE.to_owned(), Name::literal("other")), 3).unwrap().is_empty());
}

pub fn a_night_is_written_by_one_at_a_time_with_its_messages(place: &Place) {
    let mut store = place.open();
    store.record(&night(1)).unwrap();
    let read = store.nights(&Nights::Open(MINE.to_owned()), 9).unwrap().remove(0);
    assert_eq!(read, night(1));
    let mut mine = read.clone();
    mine.jobs[0].progress = Progress::Task { task: TaskId(3) };
    let written = store.keep(&mine, &[message("a")]).unwrap().expect("nobody else wrote");
    assert_eq!(written.version, read.version + 1);
    // Who read before that writes nothing, messages included.
    assert_eq!(store.keep(&read, &[message("b")]).unwrap(), None);
    assert_eq!(store.nights(&Nights::Open(MINE.to_owned()), 9).unwrap(), std::slice::from_ref(&written));
    assert_eq!(store.letters(9).unwrap().len(), 1);
    let over = Night { state: State::Over, ..written };
    store.keep(&over, &[]).unwrap().unwrap();
    drop(store);
    let mut store = place.open();
    assert!(store.nights(&Nights::Open(MINE.to_owned()), 9).unwrap().is_empty());
    assert_eq!(store.nights(&Nights::Of(MINE.to_owned(), name()), 9).unwrap()[0].state, State::Over);
}

pub fn a_schedule_is_paused_and_resumed_for_everybody(place: &Place) {
    let mut store = place.open();
    assert_eq!(store.schedule(MINE, &name()).unwrap().since, START);
    place.later(Duration::from_secs(5));
    let known = store.schedule(MINE, &name()).unwrap();
    assert_eq!((known.since, known.paused), (START, None), "it is known from when it was first seen");
    store.follow(MINE, &name(), Follow::No).unwrap();
    place.later(Duration::from_secs(5));
    store.follow(MINE, &name(), Follow::No).unwrap();
    let paused = place.open().schedule(MINE, &name()).unwrap();
    assert_eq!(paused.paused, Some(START.plus(Duration::from_secs(5))), "paused twice is paused since then");
    store.follow(MINE, &name(), Follow::Yes).unwrap();
    let resumed = place.open().schedule(MINE, &name()).unwrap();
    assert_eq!((resumed.since, resumed.paused), (START.plus(Duration::from_secs(10)), None));
    // Resuming what is not paused forgets nothing.
    place.later(Duration::from_secs(5));
    store.follow(MINE, &name(), Follow::Yes).unwrap();
    assert_eq!(store.schedule(MINE, &name()).unwrap(), resumed);
}

pub fn a_message_is_taken_once_and_sent_once(place: &Place) {
    let mut store = place.open();
    store.post(&[message("a"), message("a"), message("b")], Some((EVENTS, 7))).unwrap();
    store.post(&[message("b")], Some((EVENTS, 5))).unwrap();
    assert_eq!(store.mark(EVENTS).unwrap(), Some(7), "what was read is not read again");
    assert_eq!(store.mark(Mark { name: "others", ..EVENTS }).unwrap(), None);
    let first = store.take(MINE, LEASE).unwrap().unwrap();
    assert_eq!((first.message.clone(), first.attempts), (message("a"), 1));
    let second = place.open().take(MINE, LEASE).unwrap().unwrap();
    assert_eq!(second.message.key, "b");
    assert_eq!(store.take(MINE, LEASE).unwrap(), None);
    store.delivered(&first, &Delivery::Done).unwrap();
    let never = Delivery::Never { error: "gone".to_owned() };
    store.delivered(&second, &never).unwrap();
    place.later(LEASE * 9);
    assert_eq!(store.take(MINE, LEASE).unwrap(), None);
    let states: Vec<_> =
        store.letters(9).unwrap().into_iter().map(|letter| (letter.state, letter.error)).collect();
    assert_eq!(states, [(Post::GivenUp, Some("gone".to_owned())), (Post::Sent, None)]);
    assert_eq!(store.next_letter(MINE).unwrap(), None);
}

pub fn a_message_for_later_is_not_taken_before_its_time(place: &Place) {
    let mut store = place.open();
    let moment = START.plus(Duration::from_hours(4));
    let later = Message { not_before: Some(moment), ..message("later") };
    let past = Message { not_before: Some(Timestamp(7)), ..message("past") };
    store.post(&[later, past], None).unwrap();
    let first = store.take(MINE, LEASE).unwrap().unwrap();
    assert_eq!((first.message.key.as_str(), first.due), ("past", START));
    store.delivered(&first, &Delivery::Done).unwrap();
    assert_eq!((store.take(MINE, LEASE).unwrap(), store.next_letter(MINE).unwrap()), (None, Some(moment)));
    place.later(Duration::from_hours(4));
    assert_eq!(store.take(MINE, LEASE).unwrap().unwrap().message.key, "later");
}

pub fn a_message_whose_sender_died_is_sent_by_another_and_the_dead_one_changes_nothing(place: &Place) {
    let mut store = place.open();
    store.post(&[message("a")], None).unwrap();
    let dead = store.take(MINE, LEASE).unwrap().unwrap();
    assert_eq!(store.next_letter(MINE).unwrap(), Some(START.plus(LEASE)));
    place.later(LEASE);
    assert_eq!(store.take(MINE, LEASE).unwrap(), None);
    place.later(Duration::from_millis(1));
    let other = store.take(MINE, LEASE).unwrap().unwrap();
    assert_eq!(other.attempts, 2);
    assert!(other.fence > dead.fence);
    let again = Delivery::Again { error: "busy".to_owned(), after: Duration::from_secs(30) };
    store.delivered(&other, &again).unwrap();
    store.delivered(&dead, &Delivery::Done).unwrap();
    let letter = store.letters(1).unwrap().remove(0);
    assert_eq!((letter.state, letter.error.as_deref()), (Post::Waiting, Some("busy")));
    assert_eq!(store.take(MINE, LEASE).unwrap(), None, "not before its time");
    place.later(Duration::from_secs(30));
    let last = store.take(MINE, LEASE).unwrap().unwrap();
    assert_eq!((last.attempts, last.message), (3, message("a")));
}

pub fn racing_senders_take_each_message_once(place: &Place) {
    const SENDERS: usize = 6;
    let keys: Vec<Message> = (0..30).map(|number| message(&number.to_string())).collect();
    place.open().post(&keys, None).unwrap();
    let start = Barrier::new(SENDERS);
    let mut taken: Vec<String> = std::thread::scope(|scope| {
        let take = || {
            let store = place.try_open();
            start.wait();
            let mut store = store.expect("the store opens");
            std::iter::from_fn(|| store.take(MINE, LEASE).unwrap())
                .map(|letter| letter.message.key)
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..SENDERS).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    taken.sort();
    let count = taken.len();
    taken.dedup();
    assert_eq!((count, taken.len()), (30, 30));
}

pub fn legs_that_wait_are_told_in_the_order_of_their_claims(place: &Place) {
    let mut store = place.open();
    let (late, urgent) = (create(&mut *store, "late", 0), create(&mut *store, "urgent", 5));
    let tasks = |store: &mut dyn acquit_core::store::Store| -> Vec<TaskId> {
        store.waiting(9).unwrap().into_iter().map(|waiting| waiting.leg.task).collect()
    };
    assert_eq!(tasks(&mut *store), [urgent.id(), late.id()]);
    assert_eq!(store.waiting(1).unwrap()[0].not_before, START);
    claim(&mut *store);
    assert_eq!(tasks(&mut *store), [late.id()]);
}

pub fn what_is_no_night_and_no_message_is_refused_by_the_schema(place: &Place) {
    let mut store = place.open();
    store.record(&night(1)).unwrap();
    store.post(&[message("a")], None).unwrap();
    for broken in [
        "insert into nights (project, schedule, nominal, state, version, body) values ('/src/mine', 'night', 1, 'running', 1, '{}')",
        "update nights set state = 'asleep'",
        "insert into outbox (project, key, channel, payload, state, due) values ('/src/mine', 'a', 'x', '{}', 'waiting', 0)",
        "update outbox set state = 'lost'",
    ] {
        assert!(place.raw(broken).is_err(), "{broken}");
    }
}

pub fn projects_that_share_a_store_share_no_schedule_night_mark_or_message(place: &Place) {
    let mut store = place.open();
    let theirs = Message { project: THEIRS.to_owned(), ..message("a") };
    store.post(&[message("a"), theirs.clone()], Some((EVENTS, 7))).unwrap();
    assert_eq!(store.mark(Mark { project: THEIRS, ..EVENTS }).unwrap(), None);
    let mine = store.take(MINE, LEASE).unwrap().unwrap();
    assert_eq!(mine.message, message("a"));
    assert_eq!(store.take(MINE, LEASE).unwrap(), None, "the other one is theirs");
    assert_eq!(store.next_letter("").unwrap(), None, "the user's own is a project of its own");
    assert_eq!(store.next_letter(THEIRS).unwrap(), Some(START));
    store.delivered(&mine, &Delivery::Done).unwrap();
    assert_eq!(store.take(THEIRS, LEASE).unwrap().unwrap().message, theirs);

    assert_eq!(store.record(&night(1)).unwrap(), Recorded::New);
    assert_eq!(store.record(&night(1).of(THEIRS)).unwrap(), Recorded::New, "the same schedule and time");
    let of = |project: &str| Nights::Of(project.to_owned(), name());
    let open = |project: &str| Nights::Open(project.to_owned());
    let over = Night { state: State::Over, ..night(1) };
    store.keep(&over, &[]).unwrap().unwrap();
    for (project, state) in [(MINE, State::Over), (THEIRS, State::Running)] {
        let nights = store.nights(&of(project), 9).unwrap();
        assert_eq!(
            nights.iter().map(|night| (night.project.as_str(), night.state.clone())).collect::<Vec<_>>(),
            [(project, state)]
        );
    }
    assert_eq!(store.nights(&open(MINE), 9).unwrap(), []);
    assert_eq!(store.nights(&open(THEIRS), 9).unwrap(), [night(1).of(THEIRS)]);

    store.follow(MINE, &name(), Follow::No).unwrap();
    assert!(store.schedule(MINE, &name()).unwrap().paused.is_some());
    assert_eq!(store.schedule(THEIRS, &name()).unwrap().paused, None);
}
