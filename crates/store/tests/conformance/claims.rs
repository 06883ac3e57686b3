//! Claims: each leg once, by priority, then age, not before its time, and with a lease that runs out.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::Duration;

use acquit_core::change::Change;
use acquit_core::decide::Input;
use acquit_core::ids::{LegId, Name};
use acquit_core::labels::Edit;
use acquit_core::leg::{Ending, State};
use acquit_core::store::{Claim, Commit, Filter, Lease, Pulse, Wanted};
use acquit_core::task::Actor;
use acquit_core::time::Span;

use crate::fixture::{
    LEASE, Place, START, claim, create, definition, end, input, lose, owner, passed, try_claim,
};

pub fn legs_are_claimed_by_priority_then_age(place: &Place) {
    let mut store = place.open();
    for (title, priority) in [("late", -1), ("first of two", 0), ("urgent", 9), ("second of two", 0)] {
        create(&mut *store, title, priority);
        place.later(Duration::from_millis(1));
    }
    let order: Vec<String> =
        std::iter::from_fn(|| try_claim(&mut *store)).map(|claim| claim.task.seed.wish.title).collect();
    assert_eq!(order, ["urgent", "first of two", "second of two", "late"]);
}

pub fn an_edited_priority_decides_which_leg_is_claimed_next(place: &Place) {
    let mut store = place.open();
    let tasks: Vec<_> = ["first", "second", "third"].map(|title| create(&mut *store, title, 0)).into();
    let edit = Edit { priority: Some(5), size: Some("small".to_owned()), ..Edit::default() };
    let edited = input(&mut *store, &tasks[2], Input::Edit { edit }).unwrap();
    assert_eq!(store.task(edited.id()).unwrap(), edited, "as it was decided");
    let listed = store.list(&Filter { limit: 10, ..Filter::default() }).unwrap();
    let listed: Vec<_> = listed.iter().map(|task| (task.title.as_str(), task.priority)).collect();
    assert_eq!(listed, [("third", 5), ("second", 0), ("first", 0)]);
    let running = claim(&mut *store);
    assert_eq!(running.task.seed.wish.labels(), edited.seed.wish.labels());
    // The leg that runs has no place in the queue any more; the task's next one has the priority that it was given meanwhile.
    let edit = Edit { priority: Some(-1), ..Edit::default() };
    let edited = input(&mut *store, &running.task, Input::Edit { edit }).unwrap();
    end(&mut *store, &Claim { task: edited, ..running }, passed()).unwrap();
    let order: Vec<String> =
        std::iter::from_fn(|| try_claim(&mut *store)).map(|claim| claim.task.seed.wish.title).collect();
    assert_eq!(order, ["first", "second", "third"]);
}

pub fn racing_claimers_get_each_leg_once(place: &Place) {
    const CLAIMERS: usize = 8;
    const LEGS: usize = 50;
    let mut store = place.open();
    for _ in 0..LEGS {
        create(&mut *store, "contested", 0);
    }
    let start = Barrier::new(CLAIMERS);
    let claims: Vec<_> = std::thread::scope(|scope| {
        let take = || {
            let mut store = place.open();
            start.wait();
            std::iter::from_fn(|| try_claim(&mut *store)).map(|claim| claim.hold).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..CLAIMERS).map(|_| scope.spawn(take)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(claims.len(), LEGS);
    assert_eq!(claims.iter().map(|hold| hold.leg).collect::<BTreeSet<LegId>>().len(), LEGS);
    assert_eq!(claims.iter().map(|hold| hold.fence).collect::<BTreeSet<_>>().len(), LEGS);
}

pub fn a_named_tasks_leg_can_be_claimed(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "first in line", 5);
    let wanted = create(&mut *store, "the one", 0);
    let claimed = store.claim(Wanted::Of(wanted.id()), &owner(7), LEASE).unwrap().expect("its leg");
    assert_eq!((claimed.leg.id.task, claimed.task), (wanted.id(), wanted.clone()));
    assert_eq!((claimed.definition, claimed.leg.owner), (definition(), Some(owner(7))));
    assert_eq!((claimed.leg.state, claimed.leg.started), (State::Running, Some(START)));
    assert!(store.claim(Wanted::Of(wanted.id()), &owner(8), LEASE).unwrap().is_none());
}

pub fn a_delayed_leg_is_not_claimed_before_its_time(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "again", 0);
    let first = claim(&mut *store);
    let failed = Ending::Failed { kind: Name::literal("agent"), reason: "busy".to_owned() };
    let task = end(&mut *store, &first, failed).unwrap();
    let due = store.legs(task.id()).unwrap()[1].not_before;
    assert!(due > START, "a failed leg is tried again after a while");
    place.later(due.since(START).saturating_sub(Duration::from_millis(1)));
    assert!(try_claim(&mut *store).is_none());
    assert!(store.claim(Wanted::Of(task.id()), &owner(1), LEASE).unwrap().is_none());
    place.later(Duration::from_millis(1));
    assert_eq!(claim(&mut *store).leg.id.number, 2);
}

pub fn a_leg_that_the_provider_held_is_followed_by_one_that_waits(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "limited", 0);
    let first = claim(&mut *store);
    let wait = Duration::from_hours(5);
    // Any budget that the workflow has.
    let kind = Name::literal("agent");
    let held = Ending::Held { kind, wait: Span::from(18_000_000), reason: "come back at nine".to_owned() };
    end(&mut *store, &first, held).unwrap();
    let legs = store.legs(first.leg.id.task).unwrap();
    assert_eq!((legs[0].state, legs[1].state), (State::Held, State::Ready));
    assert_eq!(legs[1].not_before, START.plus(wait));
    place.later(wait.saturating_sub(Duration::from_millis(1)));
    assert!(try_claim(&mut *store).is_none());
    place.later(Duration::from_millis(1));
    let second = claim(&mut *store);
    assert_eq!((second.leg.id.number, second.leg.entry), (2, first.leg.entry));
}

pub fn a_lease_is_renewed_by_heartbeats_and_runs_out_without(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "alive", 0);
    let held = claim(&mut *store);
    let mut lease =
        || store.running().unwrap().iter().map(|(leg, lease)| (leg.id, *lease)).collect::<Vec<_>>();
    assert_eq!(lease(), [(held.leg.id, Lease::Valid)]);
    place.later(LEASE);
    assert_eq!(lease(), [(held.leg.id, Lease::Valid)]);
    place.later(Duration::from_millis(1));
    assert_eq!(lease(), [(held.leg.id, Lease::Expired)]);
    assert_eq!(store.renewals().unwrap(), 0);
    // Late, but nobody has declared it lost.
    assert_eq!(store.heartbeat(held.hold, LEASE).unwrap(), Pulse::Beating);
    assert_eq!(store.renewals().unwrap(), 1);
    let (leg, lease) = store.running().unwrap().remove(0);
    assert_eq!((leg.fence, lease), (Some(held.hold.fence), Lease::Valid));

    place.later(LEASE * 2);
    lose(&mut *store, &held);
    assert!(store.running().unwrap().is_empty());
    assert_eq!(claim(&mut *store).leg.id.number, 2);
}

pub fn a_task_has_one_active_leg_whoever_writes(place: &Place) {
    let mut store = place.open();
    let task = create(&mut *store, "single", 0);
    let entry = store.legs(task.id()).unwrap().remove(0).entry;
    let changes = [Change::readied(2, entry)];
    let second = store.commit(Commit {
        before: &task,
        changes: &changes,
        by: &Actor::Supervisor,
        hold: None,
        notes: &[],
    });
    assert!(second.is_err(), "{second:?}");
    assert_eq!(store.task(task.id()).unwrap(), task);

    let raw = format!(
        "insert into legs (task, number, stage, state, entry, not_before, priority)
         values ({}, 2, 'plan', 'ready', '{{}}', 0, 0)",
        task.id().0
    );
    assert!(place.raw(&raw).is_err(), "two ready legs");
    let held = claim(&mut *store);
    assert!(place.raw(&raw).is_err(), "one running and one ready leg");
    end(&mut *store, &held, passed()).unwrap();
    for broken in [
        "update legs set state = 'ready', ended = null where number = 1",
        "update legs set state = 'running' where number = 2",
        "update legs set state = 'asleep' where number = 2",
        "update tasks set state = 'done'",
    ] {
        assert!(place.raw(broken).is_err(), "{broken}");
    }
}
