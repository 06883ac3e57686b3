//! Cancelling is durable: whoever holds the leg hears of it, and whoever comes after a crash does too.

use acquit_core::decide::Input;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::{Error, Pulse};

use crate::fixture::{LEASE, Place, claim, create, end, input, lose, me, try_claim};

pub fn a_running_leg_hears_of_its_cancellation(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "stop it", 0);
    let mut held = claim(&mut *store);
    assert_eq!(store.heartbeat(held.hold, LEASE).unwrap(), Pulse::Beating);
    assert_eq!(store.pulse(held.hold).unwrap(), Pulse::Beating);
    let asked = input(&mut *place.open(), &held.task, Input::Cancel { by: me() }).unwrap();
    assert_eq!(asked.state.word(), "cancelling");
    for _ in 0..2 {
        assert_eq!(store.pulse(held.hold).unwrap(), Pulse::Cancel);
        assert_eq!(store.heartbeat(held.hold, LEASE).unwrap(), Pulse::Cancel);
    }
    assert!(
        matches!(end(&mut *store, &held, Ending::Cancelled), Err(Error::Conflict(_))),
        "it must read again"
    );
    held.task = store.task(held.leg.id.task).unwrap();
    assert_eq!(end(&mut *store, &held, Ending::Cancelled).unwrap().state.word(), "cancelled");
    assert!(matches!(store.heartbeat(held.hold, LEASE), Err(Error::Fenced(_))));
}

pub fn a_cancellation_outlives_the_harness(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "stop it", 0);
    let mut held = claim(&mut *store);
    held.task = input(&mut *store, &held.task, Input::Cancel { by: me() }).unwrap();
    drop(store);
    let mut supervisor = place.open();
    assert!(supervisor.running().unwrap()[0].0.cancel);
    let task = lose(&mut *supervisor, &held);
    assert_eq!(task.state.word(), "cancelled", "a lost leg of a cancelled task is not tried again");
}

pub fn a_delayed_leg_that_is_cancelled_can_be_claimed_at_once_to_end_it(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "later", 0);
    let first = claim(&mut *store);
    let failed = Ending::Failed { kind: Name::literal("agent"), reason: "busy".to_owned() };
    let task = end(&mut *store, &first, failed).unwrap();
    assert!(try_claim(&mut *store).is_none(), "it waits before it is tried again");
    input(&mut *store, &task, Input::Cancel { by: me() }).unwrap();
    let claimed = claim(&mut *store);
    assert!(claimed.leg.cancel);
    assert_eq!(end(&mut *store, &claimed, Ending::Cancelled).unwrap().state.word(), "cancelled");
}
