//! A harness that was replaced writes nothing any more, in any way.

use acquit_core::agent::{Chunk, Usage};
use acquit_core::decide::Input;
use acquit_core::event::{Body, Level};
use acquit_core::ids::{Fence, LegId};
use acquit_core::leg::{Ending, Hold, State};
use acquit_core::store::{Claim, Commit, Error, Note, Store};
use acquit_core::task::Actor;

use crate::fixture::{LEASE, Place, START, claim, create, end, ending, input, lose, me, passed};

/// Every way in which a harness writes.
fn all_writes_are_refused(store: &mut dyn Store, stale: &Claim) {
    let id = stale.leg.id;
    let refused = |what: &str, error: Option<Error>| match error {
        Some(Error::Fenced(leg)) => assert_eq!(leg, id, "{what}"),
        other => panic!("{what}: {other:?}"),
    };
    let chunk = Chunk { from: 0, to: 9, lines: 1, ..Chunk::default() };
    let body = Body::notice(Level::Info, "still here");
    let notes = [Note { at: START, body }];
    let before =
        (store.task(id.task).unwrap(), store.legs(id.task).unwrap(), store.events(None, 0, 99).unwrap());
    refused("pulse", store.pulse(stale.hold).err());
    refused("heartbeat", store.heartbeat(stale.hold, LEASE).err());
    refused("note", store.note(stale.hold, &notes).err());
    refused("an empty note", store.note(stale.hold, &[]).err());
    refused("transcribe", store.transcribe(stale.hold, &chunk, &Usage::default(), &notes).err());
    refused("handoff", end(store, stale, passed()).err());
    let by = Actor::Harness(id);
    let commit =
        |changes| Commit { before: &stale.task, changes, by: &by, hold: Some(stale.hold), notes: &notes };
    refused("notes alone", store.commit(commit(&[])).err());
    let after =
        (store.task(id.task).unwrap(), store.legs(id.task).unwrap(), store.events(None, 0, 99).unwrap());
    assert_eq!(before, after);
    assert!(store.transcript(id, 0, 9).unwrap().is_empty());
}

pub fn stale_writer_is_refused(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "taken over", 0);
    let stale = claim(&mut *store);
    place.later(LEASE * 2);
    lose(&mut *place.open(), &stale);
    all_writes_are_refused(&mut *store, &stale);
    let new = claim(&mut *place.open());
    assert!(new.hold.fence > stale.hold.fence);
    all_writes_are_refused(&mut *store, &stale);
    end(&mut *place.open(), &new, passed()).expect("who holds it now may write");
}

pub fn a_hold_is_good_for_its_own_leg_only(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "mine", 0);
    create(&mut *store, "other", 0);
    let (mine, other) = (claim(&mut *store), claim(&mut *store));
    let forged = [
        Hold { leg: other.leg.id, fence: mine.hold.fence },
        Hold { leg: mine.leg.id, fence: Fence(mine.hold.fence.0 + 1_000) },
        Hold { leg: LegId { number: 2, ..mine.leg.id }, fence: mine.hold.fence },
    ];
    for hold in forged {
        assert!(matches!(store.heartbeat(hold, LEASE), Err(Error::Fenced(leg)) if leg == hold.leg));
    }
    let changes = ending(&other.task, 1, passed());
    let stolen =
        Commit { before: &other.task, changes: &changes, by: &me(), hold: Some(mine.hold), notes: &[] };
    assert!(matches!(store.commit(stolen), Err(Error::Fenced(_))));
    assert_eq!(store.running().unwrap().len(), 2);
}

pub fn a_running_leg_ends_only_by_its_holder(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "busy", 0);
    let held = claim(&mut *store);
    let changes = ending(&held.task, 1, Ending::Cancelled);
    let commit = Commit { before: &held.task, changes: &changes, by: &me(), hold: None, notes: &[] };
    assert!(matches!(store.commit(commit), Err(Error::Fenced(leg)) if leg == held.leg.id));
    end(&mut *store, &held, passed()).expect("it was left alone");
}

pub fn an_unclaimed_leg_can_be_ended_without_a_hold(place: &Place) {
    let mut store = place.open();
    let task = create(&mut *store, "never mind", 0);
    let task = input(&mut *store, &task, Input::Cancel { by: me() }).unwrap();
    let changes = ending(&task, 1, Ending::Cancelled);
    let over = store
        .commit(Commit { before: &task, changes: &changes, by: &Actor::Supervisor, hold: None, notes: &[] })
        .unwrap();
    assert_eq!(over.state.word(), "cancelled");
    let leg = store.legs(task.id()).unwrap().remove(0);
    assert_eq!((leg.state, leg.ended, leg.cancel), (State::Cancelled, Some(START), true));
}
