//! Merge queues: who leads, who waits, and what is left when a head dies.

use acquit_core::delivery::queue::{Candidate, Entry, Place as Rank, Queue, Settled};
use acquit_core::failure::kind;
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::Ending;
use acquit_core::store::{Claim, Error, Store};
use acquit_core::time::Span;

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

/// As a leg ends whose turn is not soon.
fn held() -> Ending {
    // A kind for which the workflow of these tests has a budget.
    let (kind, wait) = (Name::literal(kind::LIMIT), Span::mins(5));
    Ending::Held { kind, wait, reason: "others come first".to_owned() }
}

fn is_delayed(store: &mut dyn Store, task: TaskId) -> bool {
    let now = store.now().unwrap();
    store.legs(task).unwrap().last().is_some_and(|leg| leg.not_before > now)
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

pub fn a_leg_that_was_handed_back_keeps_its_place_and_comes_again_when_the_queue_moves(place: &Place) {
    let mut store = place.open();
    let store = store.as_mut();
    let [head, away, last] = legs(store);
    let main = queue("main");
    for (leg, digit) in [(&head, '1'), (&away, '2'), (&last, '3')] {
        store.enter_queue(leg.hold, &main, &candidate(digit)).unwrap();
    }
    store.lead_queue(head.hold, &main).unwrap();
    end(store, &away, held()).unwrap();
    let task = away.leg.id.task;
    assert!(is_delayed(store, task), "it waits as a row");
    assert_eq!(tasks(store, "main"), [head.leg.id.task, task, last.leg.id.task], "and is still in the queue");
    let merged = Settled::Merged { commit: "e".repeat(40) };
    store.settle_merges(head.hold, &main, &[(head.leg.id.task, merged)]).unwrap();
    assert!(!is_delayed(store, task), "the first of those who wait comes again");

    let again = claim(store);
    assert_eq!(again.leg.id.task, task);
    store.enter_queue(again.hold, &main, &candidate('4')).unwrap();
    end(store, &head, passed()).unwrap();
    assert_eq!(tasks(store, "main"), [task, last.leg.id.task], "where it stood before");
}

pub fn whoever_is_settled_while_away_comes_again_and_who_waits_for_something_else_does_not(place: &Place) {
    let mut store = place.open();
    let store = store.as_mut();
    let [head, away, elsewhere] = legs(store);
    let main = queue("main");
    for (leg, digit) in [(&head, '1'), (&away, '2')] {
        store.enter_queue(leg.hold, &main, &candidate(digit)).unwrap();
    }
    store.lead_queue(head.hold, &main).unwrap();
    end(store, &away, held()).unwrap();
    end(store, &elsewhere, held()).unwrap();
    store.settle_merges(head.hold, &main, &[(away.leg.id.task, Settled::Conflict)]).unwrap();
    assert!(!is_delayed(store, away.leg.id.task));
    assert!(is_delayed(store, elsewhere.leg.id.task), "it is in no queue");
    assert_eq!(store.queued(away.leg.id.task).unwrap().unwrap().settled, Some(Settled::Conflict));
}
