//! Who mends what and who waits for whom is in the store: found by whoever looks, in any order, also after everybody died.

use acquit_core::decide::{Input, decide, decide_among};
use acquit_core::definition::Definition;
use acquit_core::failure::Failure;
use acquit_core::fingerprint::Fingerprint;
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::{Ending, Report};
use acquit_core::store::{Claim, Commit, Filter, Store};
use acquit_core::task::{Actor, State, Task};

use crate::fixture::{Place, beginning, claim, definition, me, passed, try_claim, wish};

fn blocking() -> Definition {
    let mut definition = definition();
    for (budget, limit) in [("test", 1), ("blocked", 5)] {
        definition.workflow.budgets.insert(Name::literal(budget), limit);
    }
    definition
}

fn create(store: &mut dyn Store) -> Task {
    let id = store.reserve().unwrap();
    store.create(&blocking(), &beginning(id, wish("a task", 0)), &me()).unwrap()
}

fn failure(number: u64) -> Failure {
    Failure {
        gate: Name::literal("test"),
        kind: Name::literal("test"),
        message: format!("test number_{number} fails"),
        location: None,
        excerpt: None,
    }
}

fn end(store: &mut dyn Store, claim: &Claim, ending: Ending) -> Task {
    let root = match &ending {
        Ending::Rejected { failures, .. } => store.root("/src/app", &Fingerprint::of_all(failures)).unwrap(),
        _ => None,
    };
    let input = Input::LegEnded { leg: claim.leg.id.number, report: Box::new(Report::bare(ending)) };
    let changes = decide_among(&claim.task, &blocking().workflow, input, &|_| root).unwrap();
    let by = Actor::Harness(claim.leg.id);
    let commit =
        Commit { before: &claim.task, changes: &changes, by: &by, hold: Some(claim.hold), notes: &[] };
    store.commit(commit).unwrap()
}

fn rejected(number: u64) -> Ending {
    let Ending::Passed { outcome } = passed() else { unreachable!("it passed") };
    Ending::Rejected { outcome, failures: vec![failure(number)] }
}

/// What a supervisor does, for some of those that it finds.
fn release(store: &mut dyn Store, some: usize) {
    for id in store.released().unwrap().into_iter().take(some) {
        let task = store.task(id).unwrap();
        let changes = decide(&task, &blocking().workflow, Input::Release).unwrap();
        let by = Actor::Supervisor;
        store.commit(Commit { before: &task, changes: &changes, by: &by, hold: None, notes: &[] }).unwrap();
    }
}

pub fn a_task_waits_for_the_one_that_mends_its_failure(place: &Place) {
    let mut store = place.open();
    let (first, second) = (create(&mut *store), create(&mut *store));
    let one = claim(&mut *store);
    let two = claim(&mut *store);
    assert_eq!((one.task.id(), two.task.id()), (first.id(), second.id()));
    end(&mut *store, &one, rejected(1));
    let fingerprint = Fingerprint::of_all(&[failure(1)]);
    assert_eq!(store.root("/src/app", &fingerprint).unwrap(), Some(first.id()));
    assert_eq!(store.root("/src/other", &fingerprint).unwrap(), None, "another project, another failure");
    let blocked = end(&mut *store, &two, rejected(1));
    assert_eq!(blocked.state.word(), "blocked");
    assert_eq!(store.task(second.id()).unwrap(), blocked);
    let listed =
        store.list(&Filter { state: Some("blocked".to_owned()), limit: 9, ..Filter::default() }).unwrap();
    assert_eq!(listed.iter().map(|summary| summary.id).collect::<Vec<_>>(), [second.id()]);
    assert_eq!(store.released().unwrap(), []);
    // The first one passes its two stages and is over.
    for _ in 0..2 {
        let leg = claim(&mut *store);
        assert_eq!(leg.task.id(), first.id());
        assert_eq!(store.released().unwrap(), []);
        end(&mut *store, &leg, passed());
    }
    drop(store);
    // Everybody died here; whoever opens the store finds who waits for nobody.
    let mut store = place.open();
    assert_eq!(store.released().unwrap(), [second.id()]);
    assert_eq!(store.root("/src/app", &fingerprint).unwrap(), None);
    release(&mut *store, 1);
    assert_eq!(store.released().unwrap(), []);
    assert_eq!(claim(&mut *store).task.id(), second.id());
}

pub fn a_task_that_waits_can_be_ended_and_tried_again(place: &Place) {
    let mut store = place.open();
    create(&mut *store);
    create(&mut *store);
    let (one, two) = (claim(&mut *store), claim(&mut *store));
    end(&mut *store, &one, rejected(1));
    let blocked = end(&mut *store, &two, rejected(1));
    let retry = Input::Retry { by: me(), stage: None, note: None };
    let changes = decide(&blocked, &blocking().workflow, retry).unwrap();
    let by = me();
    let going = store
        .commit(Commit { before: &blocked, changes: &changes, by: &by, hold: None, notes: &[] })
        .unwrap();
    assert_eq!(going.state.word(), "working");
    assert_eq!(store.released().unwrap(), []);
}

/// Twenty failures, each met by ten tasks, ended in an order that looks like none.
pub fn two_hundred_tasks_on_twenty_roots_are_all_released(place: &Place) {
    const TASKS: u64 = 200;
    const ROOTS: u64 = 20;
    let mut store = place.open();
    let first = create(&mut *store).id().0;
    for _ in 1..TASKS {
        create(&mut *store);
    }
    let number = |task: &Task| (task.id().0 - first) % ROOTS;
    let mut claims: Vec<Claim> = std::iter::from_fn(|| try_claim(&mut *store)).collect();
    assert_eq!(claims.len() as u64, TASKS);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % below
    };
    while !claims.is_empty() {
        let claim = claims.swap_remove(next(claims.len()));
        end(&mut *store, &claim, rejected(number(&claim.task)));
    }
    let blocked = |store: &mut dyn Store| {
        let filter = Filter { state: Some("blocked".to_owned()), limit: 500, ..Filter::default() };
        store.list(&filter).unwrap().len() as u64
    };
    assert_eq!(blocked(&mut *store), TASKS - ROOTS);
    // The roots come back to their work, and end one after the other, in any order.
    let mut done: Vec<u64> = Vec::new();
    let mut roots: Vec<TaskId> = Vec::new();
    for id in first..first + TASKS {
        let task = store.task(TaskId(id)).unwrap();
        roots.extend(matches!(task.state, State::Working { .. }).then_some(task.id()));
    }
    assert_eq!(roots.len() as u64, ROOTS);
    while !roots.is_empty() || blocked(&mut *store) > 0 {
        if let Some(claim) = try_claim(&mut *store) {
            let over = end(&mut *store, &claim, passed());
            if matches!(over.state, State::Ended { .. }) && roots.contains(&over.id()) {
                roots.retain(|root| *root != over.id());
                done.push(number(&over));
            }
        }
        // Nobody is let go before its root is over.
        for id in store.released().unwrap() {
            let task = store.task(id).unwrap();
            assert!(done.contains(&number(&task)), "{id}");
        }
        if next(3) == 0 {
            release(&mut *store, 1 + next(5));
        }
        if next(40) == 0 {
            store = place.open();
        }
        release(&mut *store, usize::from(roots.is_empty()) * 500);
    }
    assert_eq!(store.released().unwrap(), []);
}
