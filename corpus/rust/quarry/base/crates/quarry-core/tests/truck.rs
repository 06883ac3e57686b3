//! Trucks, as a user of the crate sees them.

use quarry_core::{pack, Overload, Truck};

fn loaded() -> Truck {
    let mut truck = Truck::new(5_000);
    truck.add(2_000).expect("room");
    truck
}

#[test]
fn knows_its_weight() {
    let truck = loaded();
    assert_eq!(truck.weight(), 2_000);
    assert_eq!(truck.free(), 3_000);
}

#[test]
fn refuses_too_much() {
    assert_eq!(loaded().add(3_001), Err(Overload(1)));
}

#[test]
fn takes_a_load_off() {
    let mut truck = loaded();
    assert_eq!(truck.unload(), Some(2_000));
    assert_eq!(truck.unload(), None);
}

#[test]
fn packs_into_the_first_with_room() {
    assert_eq!(pack(&[3, 3, 2, 1], 5), [vec![3, 2], vec![3, 1]]);
}
