//! Workers: each leg goes to one that offers what it needs, names are given once, and parcels arrive whole.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::decide::Input;
use acquit_core::definition::{Definition, Travel};
use acquit_core::fleet::{Content, Held, Need, Parcel, Parcels, Under, Worker, WorkerState};
use acquit_core::ids::{LegId, TaskId};
use acquit_core::leg::Ending;
use acquit_core::store::{Claim, Error, Store, Wanted};
use acquit_core::task::Task;
use acquit_core::time::Timestamp;

use crate::fixture::{
    LEASE, Place, beginning, claim, create, definition, end, input, lose, me, owner, passed, wish,
};

fn worker(name: &str, process: &str, offers: &[Need]) -> Worker {
    Worker {
        name: name.to_owned(),
        process: process.to_owned(),
        host: "there".to_owned(),
        version: "1".to_owned(),
        slots: 2,
        state: WorkerState::Working,
        offers: offers.to_vec(),
        lacks: BTreeMap::from([("label:tpu".to_owned(), "no such device".to_owned())]),
        idle: None,
    }
}

fn label(text: &str) -> Need {
    Need::Label(text.to_owned())
}

fn repository() -> Need {
    Need::Repository("https://host/app".to_owned())
}

/// A definition whose first stage needs a label and a repository.
fn travelling(labels: &[&str]) -> Definition {
    let mut definition = definition();
    definition.config.agents.clear();
    definition.travel = Travel { repository: Some("https://host/app".to_owned()), ..Travel::default() };
    for stage in &mut definition.workflow.stages {
        stage.runs_on = labels.iter().map(|label| (*label).to_owned()).collect();
    }
    definition
}

fn create_with(store: &mut dyn Store, definition: &Definition, title: &str) -> Task {
    let id = store.reserve().unwrap();
    store.create(definition, &beginning(id, wish(title, 0)), &me()).unwrap()
}

pub fn a_worker_takes_only_legs_that_it_offers_everything_for(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "its repository is not in the store", 9);
    create_with(&mut *store, &travelling(&["gpu"]), "needs a label");
    let plain = create_with(&mut *store, &travelling(&[]), "needs none");
    let by = |store: &mut dyn Store, name: &str| {
        store.claim(Wanted::By(name, None), &owner(1), LEASE).unwrap().map(|claim| claim.task.seed.wish.title)
    };
    assert_eq!(by(&mut *store, "nobody"), None, "a worker that did not report");
    assert!(store.report_worker(&worker("bare", "1", &[])).unwrap());
    assert_eq!(by(&mut *store, "bare"), None, "it has no repository");
    assert!(store.report_worker(&worker("plain", "2", &[repository()])).unwrap());
    let other = Wanted::By("plain", Some(acquit_core::ids::TaskId(plain.id().0 - 1)));
    assert!(store.claim(other, &owner(1), LEASE).unwrap().is_none(), "of a task that it cannot run");
    assert_eq!(by(&mut *store, "plain").as_deref(), Some("needs none"));
    assert_eq!(by(&mut *store, "plain"), None);
    assert!(store.report_worker(&worker("gpu", "3", &[repository(), label("gpu"), label("x")])).unwrap());
    assert_eq!(by(&mut *store, "gpu").as_deref(), Some("needs a label"));
    assert_eq!(by(&mut *store, "gpu"), None);
    assert_eq!(claim(&mut *store).task.seed.wish.title, "its repository is not in the store");
}

pub fn the_next_leg_needs_what_its_stage_does(place: &Place) {
    let mut store = place.open();
    let mut definition = travelling(&[]);
    definition.workflow.stages[1].runs_on = vec!["gpu".to_owned()];
    create_with(&mut *store, &definition, "two stages");
    store.report_worker(&worker("plain", "1", &[repository()])).unwrap();
    store.report_worker(&worker("gpu", "2", &[repository(), label("gpu")])).unwrap();
    let first = store.claim(Wanted::By("plain", None), &owner(1), LEASE).unwrap().unwrap();
    end(&mut *store, &first, passed()).unwrap();
    let waiting = store.waiting(9).unwrap();
    assert_eq!((waiting.len(), &waiting[0].needs), (1, &vec![label("gpu"), repository()]));
    assert_eq!(store.waiting_of(first.task.id()).unwrap().as_ref(), waiting.first());
    assert!(store.claim(Wanted::By("plain", None), &owner(1), LEASE).unwrap().is_none());
    assert!(store.claim(Wanted::By("gpu", None), &owner(1), LEASE).unwrap().is_some());
    assert_eq!(store.waiting(9).unwrap(), []);
    assert_eq!(store.waiting_of(first.task.id()).unwrap(), None);
}

pub fn a_name_belongs_to_one_living_worker(place: &Place) {
    let mut store = place.open();
    let (one, other) = (worker("w", "1", &[label("a")]), worker("w", "2", &[label("b")]));
    assert!(store.report_worker(&one).unwrap());
    assert!(!store.report_worker(&other).unwrap(), "the name is taken");
    place.later(Worker::SILENCE);
    assert!(store.report_worker(&one).unwrap(), "it was silent, and goes on");
    place.later(Worker::SILENCE + Duration::from_millis(1));
    assert!(store.report_worker(&other).unwrap(), "silent for too long");
    assert!(!store.report_worker(&one).unwrap(), "replaced");
    store.remove_worker(&one).unwrap();
    let seen = store.workers().unwrap();
    assert_eq!(seen.iter().map(|seen| &seen.worker).collect::<Vec<_>>(), [&other]);
    assert_eq!(seen[0].seen, store.now().unwrap());
    store.remove_worker(&other).unwrap();
    assert_eq!(store.workers().unwrap(), []);
}

pub fn a_parcel_arrives_whole_and_only_from_the_holder(place: &Place) {
    let mut store = place.open();
    let task = create(&mut *store, "sent", 0);
    let held = claim(&mut *store);
    let leg = held.leg.id;
    let objects = |leg: Option<LegId>, tip: &str| Parcel {
        repository: "r".to_owned(),
        leg,
        content: Content::Objects { tips: vec![tip.to_owned()], format: "sha1".to_owned() },
    };
    let file = Parcel {
        repository: "r".to_owned(),
        leg: Some(leg),
        content: Content::File { path: "out/ü.md".to_owned() },
    };
    let large: Vec<u8> = (0..2_500_000_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    store.send(&objects(None, "base"), Under::Base(None), &large).unwrap();
    store.send(&objects(Some(leg), "tip"), Under::Leg(held.hold), b"pack").unwrap();
    store.send(&file, Under::Leg(held.hold), b"first").unwrap();
    store.send(&file, Under::Leg(held.hold), b"again").unwrap();
    let found = store.parcels(&Parcels::Objects("r".to_owned(), task.id())).unwrap();
    let sizes: Vec<_> = found.iter().map(|found| (found.parcel.leg, found.bytes)).collect();
    assert_eq!(sizes, [(None, 2_500_000), (Some(leg), 4)]);
    let whole = |store: &mut dyn Store, id: i64| {
        (0..).map_while(|part| store.receive(id, part).unwrap()).flatten().collect::<Vec<u8>>()
    };
    assert!(whole(&mut *store, found[0].id) == large);
    let files = store.parcels(&Parcels::Files(task.id())).unwrap();
    assert_eq!((files.len(), &files[0].parcel), (1, &file));
    assert_eq!(whole(&mut *store, files[0].id), b"first");
    lose(&mut *store, &held);
    let late = store.send(&objects(Some(leg), "late"), Under::Leg(held.hold), b"late");
    assert!(matches!(late, Err(Error::Fenced(_))), "{late:?}");
    let of_nobody = store.parcels(&Parcels::Objects("other".to_owned(), task.id())).unwrap();
    assert_eq!(of_nobody, []);
    assert_eq!(store.parcels(&Parcels::Objects("r".to_owned(), task.id())).unwrap().len(), 2);
}

const REPOSITORY: &str = "https://host/app";

fn base(tip: &str) -> Parcel {
    let content = Content::Objects { tips: vec![tip.to_owned()], format: "sha1".to_owned() };
    Parcel { repository: REPOSITORY.to_owned(), leg: None, content }
}

/// A task whose repository is in the store, and whose first leg has left a file there.
fn with_parcels(store: &mut dyn Store, title: &str) -> Claim {
    store.send(&base(title), Under::Base(None), b"pack").unwrap();
    let task = create_with(store, &travelling(&[]), title);
    let held = store.claim(Wanted::Of(task.id()), &owner(1), LEASE).unwrap().unwrap();
    let content = Content::File { path: "output.log".to_owned() };
    let file = Parcel { repository: REPOSITORY.to_owned(), leg: Some(held.leg.id), content };
    store.send(&file, Under::Leg(held.hold), b"words").unwrap();
    held
}

fn finish(store: &mut dyn Store, first: &Claim) -> Task {
    end(store, first, passed()).unwrap();
    let second = store.claim(Wanted::Of(first.task.id()), &owner(1), LEASE).unwrap().unwrap();
    end(store, &second, passed()).unwrap()
}

/// What the store has, as tasks, numbers of parcels and sizes.
fn held(store: &mut dyn Store) -> Vec<(Option<u64>, u64, u64)> {
    let all = store.held().unwrap().into_iter();
    let mut all: Vec<_> = all
        .map(|Held { repository, task, parcels, bytes }| {
            assert_eq!(repository, REPOSITORY);
            (task.map(|task| task.0), parcels, bytes)
        })
        .collect();
    all.sort_unstable();
    all
}

pub fn what_an_ended_task_left_is_removed_and_nothing_of_one_that_goes_on(place: &Place) {
    let mut store = place.open();
    let one = with_parcels(&mut *store, "over");
    let two = with_parcels(&mut *store, "goes on");
    assert_eq!(held(&mut *store), [(None, 2, 8), (Some(1), 1, 5), (Some(2), 1, 5)]);
    assert!(!store.discard_work(&one.task).unwrap(), "it is not over");
    let over = finish(&mut *store, &one);
    assert!(!store.discard_work(&one.task).unwrap(), "it was read before it was over");
    let lie = Task { state: over.state.clone(), ..two.task.clone() };
    assert!(!store.discard_work(&Task { version: lie.version + 1, ..lie }).unwrap());
    assert!(store.discard_work(&over).unwrap());
    assert!(store.discard_work(&over).unwrap(), "again, after a crash");
    assert_eq!(held(&mut *store), [(None, 2, 8), (Some(2), 1, 5)]);
    let files = store.parcels(&Parcels::Files(two.task.id())).unwrap();
    assert_eq!(store.receive(files[0].id, 0).unwrap().as_deref(), Some(&b"words"[..]));
}

pub fn a_repository_is_removed_when_no_task_needs_it_any_more(place: &Place) {
    let mut store = place.open();
    let one = with_parcels(&mut *store, "over");
    let now = store.now().unwrap();
    let discard = |store: &mut dyn Store, since| store.discard_repository(REPOSITORY, since).unwrap();
    assert!(store.is_needed(REPOSITORY, now).unwrap() && !discard(&mut *store, now), "a task runs");
    let over = finish(&mut *store, &one);
    assert!(!store.is_needed(REPOSITORY, now).unwrap());
    assert!(!discard(&mut *store, now), "what a leg left builds on it");
    store.discard_work(&over).unwrap();
    // One that failed may be tried again, for a while.
    let failed = create_with(&mut *store, &travelling(&[]), "fails");
    let failed = input(&mut *store, &failed, Input::Cancel { by: me() }).unwrap();
    let claimed = store.claim(Wanted::Of(failed.id()), &owner(1), LEASE).unwrap().unwrap();
    end(&mut *store, &claimed, Ending::Cancelled).unwrap();
    let before = Timestamp(now.0 - 1);
    assert!(store.is_needed(REPOSITORY, before).unwrap() && !discard(&mut *store, before));
    assert!(!store.discard_repository("https://host/ap", now).unwrap(), "there is none");
    assert!(!store.is_needed("https://host/ap", before).unwrap(), "a part of a name is another name");
    assert!(discard(&mut *store, now));
    assert_eq!(held(&mut *store), []);
    assert!(!discard(&mut *store, now), "there is nothing left");
}

pub fn a_task_is_not_made_on_a_repository_that_was_removed_meanwhile(place: &Place) {
    let mut store = place.open();
    store.send(&base("old"), Under::Base(None), b"pack").unwrap();
    let which = Parcels::Objects(REPOSITORY.to_owned(), TaskId(1));
    let old = store.parcels(&which).unwrap()[0].id;
    let now = store.now().unwrap();
    assert!(store.discard_repository(REPOSITORY, now).unwrap());
    let removed = |result: Option<Error>| matches!(result, Some(Error::Removed(name)) if name == REPOSITORY);
    assert!(removed(store.send(&base("on it"), Under::Base(Some(old)), b"more").err()));
    let mut definition = travelling(&[]);
    definition.travel.parcel = Some(old);
    let id = store.reserve().unwrap();
    let new = beginning(id, wish("late", 0));
    assert!(removed(store.create(&definition, &new, &me()).err()));
    assert!(matches!(store.task(id), Err(Error::NoTask(_))) && held(&mut *store).is_empty());
    store.send(&base("new"), Under::Base(None), b"pack").unwrap();
    definition.travel.parcel = Some(store.parcels(&which).unwrap()[0].id);
    store.create(&definition, &new, &me()).unwrap();
}

/// Tasks are made while others clean up. Each task that is there finds the parcel that it was made with.
pub fn racing_cleanups_take_no_repository_from_a_new_task(place: &Place) {
    drop(place.open());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = place.open();
                for _ in 0..CLEANUPS {
                    let now = store.now().unwrap();
                    store.discard_repository(REPOSITORY, now).unwrap();
                }
            });
            scope.spawn(|| {
                let mut store = place.open();
                for _ in 0..ROUNDS {
                    let task = make_one(&mut *store);
                    let which = Parcels::Objects(REPOSITORY.to_owned(), task.id());
                    let there = store.parcels(&which).unwrap();
                    let parcel = store.definition(task.id()).unwrap().travel.parcel;
                    assert!(there.iter().any(|stored| Some(stored.id) == parcel), "{parcel:?} {there:?}");
                    let task = input(&mut *store, &task, Input::Cancel { by: me() }).unwrap();
                    let claimed = store.claim(Wanted::Of(task.id()), &owner(1), LEASE).unwrap().unwrap();
                    end(&mut *store, &claimed, Ending::Cancelled).unwrap();
                }
            });
        }
    });
}

/// How many tasks each thread makes, and how often others clean up meanwhile.
const ROUNDS: u32 = 25;
const CLEANUPS: u32 = 200;

/// Makes a task on what is there, or on what it sends.
fn make_one(store: &mut dyn Store) -> Task {
    loop {
        let id = store.reserve().unwrap();
        let which = Parcels::Objects(REPOSITORY.to_owned(), id);
        let found = store.parcels(&which).unwrap().first().map(|stored| stored.id);
        if found.is_none() {
            store.send(&base("tip"), Under::Base(None), b"pack").unwrap();
            continue;
        }
        let mut definition = travelling(&[]);
        definition.travel.parcel = found;
        match store.create(&definition, &beginning(id, wish("raced", 0)), &me()) {
            Ok(task) => return task,
            Err(Error::Removed(_)) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}
