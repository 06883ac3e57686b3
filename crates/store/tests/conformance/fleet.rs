//! Workers: each leg goes to one that offers what it needs, names are given once, and parcels arrive whole.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::definition::{Definition, Travel};
use acquit_core::fleet::{Content, Need, Parcel, Parcels, Worker, WorkerState};
use acquit_core::ids::LegId;
use acquit_core::store::{Error, Store, Wanted};
use acquit_core::task::Task;

use crate::fixture::{
    LEASE, Place, beginning, claim, create, definition, end, lose, me, owner, passed, wish,
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
    definition.travel = Travel { repository: Some("https://host/app".to_owned()), stays: None };
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
    assert!(store.claim(Wanted::By("plain", None), &owner(1), LEASE).unwrap().is_none());
    assert!(store.claim(Wanted::By("gpu", None), &owner(1), LEASE).unwrap().is_some());
    assert_eq!(store.waiting(9).unwrap(), []);
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
    store.send(&objects(None, "base"), None, &large).unwrap();
    store.send(&objects(Some(leg), "tip"), Some(held.hold), b"pack").unwrap();
    store.send(&file, Some(held.hold), b"first").unwrap();
    store.send(&file, Some(held.hold), b"again").unwrap();
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
    let late = store.send(&objects(Some(leg), "late"), Some(held.hold), b"late");
    assert!(matches!(late, Err(Error::Fenced(_))), "{late:?}");
    let of_nobody = store.parcels(&Parcels::Objects("other".to_owned(), task.id())).unwrap();
    assert_eq!(of_nobody, []);
    assert_eq!(store.parcels(&Parcels::Objects("r".to_owned(), task.id())).unwrap().len(), 2);
}
