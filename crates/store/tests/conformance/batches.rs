//! Steps of many tasks in one transaction: each is done or refused by itself, as it would be alone.

use std::sync::Barrier;

use acquit_core::agent::Usage;
use acquit_core::change::Change;
use acquit_core::decide::Input;
use acquit_core::ids::Fence;
use acquit_core::leg::{Ending, Hold, State};
use acquit_core::store::{Claim, Commit, Error, Store};
use acquit_core::task::{Actor, Task};

use crate::fixture::{Place, claim, create, definition, end, ending, input, lose, me, passed};
use crate::pools::create_in;

/// The step that declares a claimed leg lost.
struct Loss {
    hold: Hold,
    before: Task,
    changes: Vec<Change>,
}

impl Loss {
    fn of(claim: &Claim) -> Self {
        let changes = ending(&claim.task, claim.leg.id.number, Ending::Lost { why: "silent".to_owned() });
        Self { hold: claim.hold, before: claim.task.clone(), changes }
    }

    fn commit(&self) -> Commit<'_> {
        let Self { hold, before, changes } = self;
        Commit { before, changes, by: &Actor::Supervisor, hold: Some(*hold), notes: &[] }
    }
}

fn commit_all(store: &mut dyn Store, losses: &[Loss]) -> Vec<Result<Task, Error>> {
    let commits: Vec<Commit<'_>> = losses.iter().map(Loss::commit).collect();
    store.commit_all(&commits).expect("the steps are taken or refused")
}

pub fn many_steps_are_done_as_each_would_be_alone(place: &Place) {
    let mut store = place.open();
    let (alone, together) = (["alone"; 3], ["together"; 3]);
    for title in alone.iter().chain(&together) {
        create(&mut *store, title, 0);
    }
    let claims: Vec<Claim> = (0..6).map(|_| claim(&mut *store)).collect();
    for claim in &claims[..3] {
        lose(&mut *store, claim);
    }
    let losses: Vec<Loss> = claims[3..].iter().map(Loss::of).collect();
    let answers = commit_all(&mut *store, &losses);
    for (number, answer) in answers.iter().enumerate() {
        let task = answer.as_ref().expect("nothing speaks against it");
        assert_eq!(*task, store.task(task.id()).unwrap());
        // The same as one that was lost alone, apart from its id.
        let (one, other) = (claims[number].task.id(), claims[number + 3].task.id());
        assert_eq!(task.id(), other);
        let legs = |store: &mut dyn Store, id| -> Vec<_> {
            let legs = store.legs(id).unwrap();
            legs.into_iter().map(|leg| (leg.id.number, leg.state, leg.entry, leg.ended, leg.usage)).collect()
        };
        assert_eq!(legs(&mut *store, one), legs(&mut *store, other));
        assert_eq!(legs(&mut *store, other)[0].1, State::Lost);
        assert_eq!(
            legs(&mut *store, other)[0].4,
            Usage { input: 10, cost_micros: Some(1_500), ..Usage::default() }
        );
        let events = |store: &mut dyn Store, id| -> Vec<_> {
            let events = store.events(Some(id), 0, 99).unwrap();
            events.into_iter().skip(1).map(|event| (event.leg, event.at, event.actor, event.body)).collect()
        };
        assert_eq!(events(&mut *store, one), events(&mut *store, other));
    }
    assert!(store.running().unwrap().is_empty());
    // All six go on.
    let mut again: Vec<_> = (0..6).map(|_| claim(&mut *store).leg.id.task).collect();
    again.sort();
    assert_eq!(again, claims.iter().map(|claim| claim.task.id()).collect::<Vec<_>>());
}

pub fn a_step_that_is_refused_writes_nothing_and_hinders_no_other(place: &Place) {
    let mut store = place.open();
    for title in ["handed over", "lost before", "cancelled", "forged", "good", "twice"] {
        create(&mut *store, title, 0);
    }
    let claims: Vec<Claim> = (0..6).map(|_| claim(&mut *store)).collect();
    let mut losses: Vec<Loss> = claims.iter().map(Loss::of).collect();
    losses.push(Loss::of(&claims[5]));
    losses[3].hold.fence = Fence(claims[3].hold.fence.0 + 1_000);
    end(&mut *store, &claims[0], passed()).expect("its harness is alive");
    lose(&mut *store, &claims[1]);
    input(&mut *store, &claims[2].task, Input::Cancel { by: me() }).expect("a person cancels");
    let before: Vec<Task> = claims[..4].iter().map(|claim| store.task(claim.task.id()).unwrap()).collect();
    let answers = commit_all(&mut *place.open(), &losses);
    let words: Vec<&str> = answers
        .iter()
        .map(|answer| match answer {
            Ok(_) => "done",
            Err(Error::Fenced(_)) => "fenced",
            Err(Error::Conflict(_)) => "conflict",
            Err(other) => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(words, ["fenced", "fenced", "conflict", "fenced", "done", "done", "conflict"]);
    let after: Vec<Task> = claims[..4].iter().map(|claim| store.task(claim.task.id()).unwrap()).collect();
    assert_eq!(before, after);
    // The cancelled and the forged one still run.
    let running: Vec<_> = store.running().unwrap().into_iter().map(|(leg, _)| leg.id).collect();
    assert_eq!(running, [claims[2].leg.id, claims[3].leg.id]);
    for claim in &claims {
        let ended = store.legs(claim.task.id()).unwrap().iter().filter(|leg| leg.ended.is_some()).count();
        assert!(ended <= 1, "{} ended twice", claim.task.id());
    }
}

pub fn two_that_declare_the_same_legs_lost_share_them(place: &Place) {
    const LEGS: usize = 60;
    let mut store = place.open();
    for _ in 0..LEGS {
        create(&mut *store, "lost", 0);
    }
    let losses: Vec<Loss> = (0..LEGS).map(|_| Loss::of(&claim(&mut *store))).collect();
    let (start, chunks) = (Barrier::new(2), [7, 11]);
    let done: usize = std::thread::scope(|scope| {
        let threads = chunks.map(|size| {
            let (losses, start) = (&losses, &start);
            scope.spawn(move || {
                let mut store = place.open();
                start.wait();
                losses.chunks(size).flat_map(|some| commit_all(&mut *store, some)).flatten().count()
            })
        });
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(done, LEGS);
    let ready = (0..LEGS).map(|_| claim(&mut *store).leg.id.number).collect::<Vec<_>>();
    assert_eq!(ready, [2; LEGS]);
}

pub fn legs_that_become_ready_together_take_turns_by_project(place: &Place) {
    let (mut store, usual) = (place.open(), definition());
    for project in ["/long", "/long", "/long", "/long", "/late"] {
        create_in(&mut *store, project, 0, &usual);
    }
    let losses: Vec<Loss> = (0..5).map(|_| Loss::of(&claim(&mut *store))).collect();
    let answers = commit_all(&mut *store, &losses);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let order: Vec<String> = (0..5).map(|_| claim(&mut *store).task.seed.project.path).collect();
    assert!(order[..2].iter().any(|path| path == "/late"), "{order:?}");
}

pub fn tasks_are_read_together_and_one_that_is_damaged_keeps_no_other(place: &Place) {
    let mut store = place.open();
    let tasks: Vec<Task> = (0..3).map(|_| create(&mut *store, "read", 0)).collect();
    let mut other = definition();
    other.instructions = "Be brief.".to_owned();
    let fourth = create_in(&mut *store, "/other", 0, &other);
    place.raw(&format!("update tasks set body = '{{' where id = {}", tasks[1].id().0)).expect("a change");
    let unknown = acquit_core::ids::TaskId(9_999);
    let ids = [tasks[0].id(), unknown, tasks[1].id(), tasks[2].id(), fourth.id()];
    let read = store.tasks(&ids).unwrap();
    let [Ok(first), Err(Error::Corrupt { .. }), Ok(third), Ok(last)] = &read[..] else { panic!("{read:?}") };
    assert_eq!((&first.0, &*first.1), (&tasks[0], &definition()));
    assert_eq!((&third.0, &*third.1), (&tasks[2], &definition()));
    assert_eq!((&last.0, &*last.1), (&fourth, &other));
}
