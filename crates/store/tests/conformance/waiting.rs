//! Waiting for others: woken by what they write, and never for longer than was asked.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use acquit_core::store::Store;
use acquit_store::Clock;

use crate::fixture::{Place, create};

/// Far longer than a wake-up takes, so that reaching it means that there was none.
const LONG: Duration = Duration::from_secs(30);

/// Waits until there is nothing left to hear of.
fn settle(store: &mut dyn Store) {
    for _ in 0..2 {
        store.wait(Duration::ZERO).unwrap();
    }
}

pub fn a_waiter_wakes_when_others_write(place: &Place) {
    let mut store = place.open();
    settle(&mut *store);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        let (ready, go) = mpsc::channel();
        scope.spawn(move || {
            let mut other = place.open();
            go.recv().unwrap();
            create(&mut *other, "news", 0);
        });
        ready.send(()).unwrap();
        store.wait(LONG).unwrap();
    });
    assert!(begin.elapsed() < LONG, "it was not woken");
    assert_eq!(store.events(None, 0, 9).unwrap().len(), 2, "what woke it can be read");
}

pub fn a_waiter_gives_up_after_its_time(place: &Place) {
    const SHORT: Duration = Duration::from_millis(60);
    let mut store = place.open();
    settle(&mut *store);
    create(&mut *store, "my own", 0);
    let begin = Instant::now();
    store.wait(SHORT).unwrap();
    let waited = begin.elapsed();
    assert!(waited >= SHORT, "its own writing woke it after {waited:?}");
    assert!(waited < LONG);
}

pub fn the_clock_is_close_to_the_machines(place: &Place) {
    let mut store = acquit_store::open(&place.location, Clock::System).unwrap();
    let here = Clock::System.now();
    let there = store.now().unwrap();
    assert!((there.0 - here.0).abs() < 5_000, "{here:?} {there:?}");
}
