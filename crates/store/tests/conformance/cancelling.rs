use acquit_core::decide::Input;
use acquit_core::leg::Ending;
use acquit_core::store::{Error, Pulse};

use crate::fixture::{LEASE, Place, claim, create, end, input, lose, me};

pub fn a_running_leg_hears_of_its_cancellation(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "stop it", 0);
    let mut held = claim(&mut *store);
    assert_eq!(store.heartbeat(held.hold, LEASE).unwrap(), Pulse::Beating);
    let asked = input(&mut *place.open(), &held.task, Input::Cancel { by: me() }).unwrap();
    assert_eq!(asked.state.word(), "cancelling");
    for _ in 0..2 {
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
