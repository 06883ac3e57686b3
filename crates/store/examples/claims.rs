//! Claims legs as fast as it can, for `cargo xtask bench claims`: `claims <store> fill <legs>` makes tasks,
//! `claims <store> take <legs> <clients>` claims so many legs and prints how long that took, and
//! `claims <store> look <times>` looks at the queue as a worker does.
//!
//! Prints one JSON object.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "a program of the benchmark")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark that cannot go on ends")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use acquit_core::change::Change;
use acquit_core::decide::{Input, decide};
use acquit_core::definition::Definition;
use acquit_core::ids::Name;
use acquit_core::leg::Owner;
use acquit_core::store::{Store, Wanted};
use acquit_core::task::{Actor, Base, Project, Seed, Task, Wish};
use acquit_core::time::Timestamp;
use acquit_store::{Clock, Location};

const LEASE: Duration = Duration::from_mins(5);
/// How many legs a worker looks at.
const LOOKED_AT: u32 = 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let report = match words[..] {
        [store, "fill", legs] => fill(store, number(legs)),
        [store, "take", legs, clients] => take(store, number(legs), number(clients)),
        [store, "look", times] => look(store, number(times)),
        _ => panic!("claims <store> fill <legs> | take <legs> <clients> | look <times>"),
    };
    println!("{report}");
}

fn open(store: &str) -> Box<dyn Store> {
    acquit_store::open(&Location::parse(store), Clock::System).expect("the store opens")
}

fn fill(store: &str, legs: u32) -> serde_json::Value {
    let definition: Definition =
        serde_json::from_str(include_str!("../tests/forms/definition-1.json")).expect("a definition");
    let mut store = open(store);
    let begun = Instant::now();
    for _ in 0..legs {
        let id = store.reserve().expect("an id");
        let seed = Seed {
            id,
            wish: Wish::titled("Do it"),
            project: Project { name: "app".to_owned(), path: "/src/app".to_owned() },
            workflow: Name::literal("feature"),
            base: Base { branch: Some("main".to_owned()), commit: "b".repeat(40), work: None },
            branch: format!("acquit/x-{id}"),
            created: Timestamp(1_700_000_000_000),
        };
        let mut changes = vec![Change::Created { seed: Box::new(seed.clone()) }];
        let task = Task::new(seed);
        changes.extend(decide(&task, &definition.workflow, Input::Begin).expect("a task can begin"));
        store.create(&definition, &changes, &Actor::Person("me".to_owned())).expect("a task");
    }
    serde_json::json!({ "legs": legs, "seconds": begun.elapsed().as_secs_f64() })
}

/// Claims legs with so many connections. Returns the whole time and the median of a claim.
fn take(store: &str, legs: u32, clients: u32) -> serde_json::Value {
    let left = AtomicI64::new(i64::from(legs));
    let owner = Owner { host: "here".to_owned(), boot: "today".to_owned(), pid: 1, started: 7, worker: None };
    let barrier = std::sync::Barrier::new(clients as usize + 1);
    let (mut times, seconds): (Vec<Duration>, f64) = std::thread::scope(|scope| {
        let claim = || {
            let mut store = open(store);
            let mut times = Vec::new();
            barrier.wait();
            while left.fetch_sub(1, Ordering::Relaxed) > 0 {
                let asked = Instant::now();
                let claim = store.claim(Wanted::Any, &owner, LEASE).expect("a claim");
                assert!(claim.is_some(), "nothing is left to claim");
                times.push(asked.elapsed());
            }
            times
        };
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(claim)).collect();
        barrier.wait();
        let begun = Instant::now();
        let times = threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
        (times, begun.elapsed().as_secs_f64())
    });
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    serde_json::json!({ "legs": times.len(), "seconds": seconds, "median": median.as_secs_f64() })
}

/// Reads what a worker reads before it starts a harness.
fn look(store: &str, times: u32) -> serde_json::Value {
    let mut store = open(store);
    let begun = Instant::now();
    let (mut waiting, mut running) = (0, 0);
    for _ in 0..times {
        store.now().expect("the time");
        waiting = store.waiting(LOOKED_AT).expect("the queue").len();
        running = store.running().expect("running legs").len();
    }
    let seconds = begun.elapsed().as_secs_f64() / f64::from(times);
    serde_json::json!({ "waiting": waiting, "running": running, "seconds": seconds })
}
