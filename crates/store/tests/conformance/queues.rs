//! Merge queues: who leads, who waits, and what is left when a head dies.

use acquit_core::delivery::queue::{Candidate, Entry, Place as Rank, Queue, Settled};
use acquit_core::ids::TaskId;
use acquit_core::store::{Claim, Error, Store};

use crate::fixture::{Place, claim, create, end, lose, passed};

fn queue(branch: &str) -> Queue {
    Queue { project: "/src/app".to_owned(), branch: branch.to_owned() }
}

fn candidate(digit: char) -> Candidate {
    Candidate { commit: digit.to_string().repeat(40), base: "b".repeat(40), proof: "p".to_owned() }
}

fn legs<const N: usize>(store: &mut dyn Store) -> [Claim; N] {
    std::array::from_fn(|number| {
        create(store, &format!("task {number}"), 0);
        claim(store)
    })
}

fn tasks(store: &mut dyn Store, branch: &str) -> Vec<TaskId> {
    store.queue(&queue(branch)).unwrap().iter().map(Entry::task).collect()
}

pub fn one_leg_leads_and_the_others_wait_until_it_ends(place: &Place) {
    let mut store = place.open();
    let store = store.as_mut();
    let [first, second] = legs(store);
    let main = queue("main");
    store.enter_queue(second.hold, &main, &candidate('2')).unwrap();
    store.enter_queue(first.hold, &main, &candidate('1')).unwrap();
    assert_eq!(store.lead_queue(first.hold, &main).unwrap(), Rank::Head);
    assert_eq!(store.lead_queue(second.hold, &main).unwrap(), Rank::Waits);
    assert_eq!(store.lead_queue(first.hold, &main).unwrap(), Rank::Head, "it stays the head");
    assert_eq!(store.lead_queue(second.hold, &queue("other")).unwrap(), Rank::Head, "of another branch");
    assert_eq!(tasks(store, "main"), [first.leg.id.task, second.leg.id.task], "in the order of their claims");
    assert!(tasks(store, "other").is_empty());

    end(store, &first, passed()).unwrap();
    assert_eq!(store.lead_queue(second.hold, &main).unwrap(), Rank::Head);
    assert_eq!(tasks(store, "main"), [second.leg.id.task], "only those whose legs run");
}

pub fn a_head_that_was_lost_can_write_no_more_and_what_it_planned_is_known(place: &Place) {
    let mut store = place.open();
    let store = store.as_mut();
    let [head, other] = legs(store);
    let main = queue("main");
    for (leg, digit) in [(&head, '1'), (&other, '2')] {
        store.enter_queue(leg.hold, &main, &candidate(digit)).unwrap();
    }
    store.lead_queue(head.hold, &main).unwrap();
    let planned = [(head.leg.id.task, "c".repeat(40)), (other.leg.id.task, "d".repeat(40))];
    store.plan_merges(head.hold, &main, &planned).unwrap();
    let outsider = store.plan_merges(other.hold, &main, &planned);
    assert!(matches!(outsider, Err(Error::Fenced(_))), "{outsider:?}");

    lose(store, &head);
    assert_eq!(store.lead_queue(other.hold, &main).unwrap(), Rank::Head);
    let late = store.settle_merges(head.hold, &main, &[(head.leg.id.task, Settled::Conflict)]);
    assert!(matches!(late, Err(Error::Fenced(_))), "{late:?}");
    let entry = store.queued(head.leg.id.task).unwrap().unwrap();
    assert_eq!((entry.planned, entry.settled), (Some("c".repeat(40)), None));
    assert_eq!(store.queued(other.leg.id.task).unwrap().unwrap().planned, Some("d".repeat(40)));
}

pub fn what_is_settled_is_found_by_its_task_until_it_leaves(place: &Place) {
    let mut store = place.open();
    let store = store.as_mut();
    let [head, other] = legs(store);
    let main = queue("main");
    for (leg, digit) in [(&head, '1'), (&other, '2')] {
        store.enter_queue(leg.hold, &main, &candidate(digit)).unwrap();
    }
    store.lead_queue(head.hold, &main).unwrap();
    let merged = Settled::Merged { commit: "e".repeat(40) };
    let settled = [(head.leg.id.task, merged.clone()), (other.leg.id.task, Settled::Conflict)];
    store.settle_merges(head.hold, &main, &settled).unwrap();
    assert_eq!(store.queued(head.leg.id.task).unwrap().unwrap().settled, Some(merged));
    assert_eq!(store.queued(other.leg.id.task).unwrap().unwrap().settled, Some(Settled::Conflict));

    store.leave_queue(head.hold, &main).unwrap();
    assert_eq!(store.queued(head.leg.id.task).unwrap(), None);
    assert_eq!(store.lead_queue(other.hold, &main).unwrap(), Rank::Head, "who leaves leads no more");
    store.enter_queue(other.hold, &main, &candidate('3')).unwrap();
    let again = store.queued(other.leg.id.task).unwrap().unwrap();
    assert_eq!((again.candidate, again.settled), (candidate('3'), None), "entering anew is a new beginning");
}
