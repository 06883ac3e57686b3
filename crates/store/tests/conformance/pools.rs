//! Turns and limits: projects take turns, legs keep to the limits of their pools, and one that finds a usage limit speaks for all.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::Duration;

use acquit_core::change::Change;
use acquit_core::definition::Definition;
use acquit_core::fleet::Pool;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::{Claim, Store, Wanted};
use acquit_core::task::Task;
use acquit_core::time::Timestamp;

use crate::fixture::{
    LEASE, Place, START, beginning, claim, definition, end, me, owner, passed, try_claim, wish,
};

/// A new task of a project, whose first leg is ready.
pub fn create_in(store: &mut dyn Store, project: &str, priority: i32, definition: &Definition) -> Task {
    let id = store.reserve().expect("an id");
    let mut changes = beginning(id, wish(project, priority));
    for change in &mut changes {
        if let Change::Created { seed } = change {
            project.clone_into(&mut seed.project.path);
        }
    }
    store.create(definition, &changes, &me()).expect("a task")
}

/// A definition with an agent that uses an account.
pub fn with_agent(mut definition: Definition, account: Option<&str>) -> Definition {
    let name = Name::literal("coder");
    let agent = serde_json::json!({
        "adapter": { "adapter": "product", "product": "claude" }, "env": {}, "pass_env": [], "account": account,
    });
    definition.config.agents.insert(name.clone(), serde_json::from_value(agent).expect("an agent"));
    definition.config.agent = Some(name);
    definition
}

fn projects(store: &mut dyn Store, count: usize) -> Vec<String> {
    (0..count).map(|_| claim(store).task.seed.project.path).collect()
}

pub fn a_long_queue_of_one_project_keeps_no_other_waiting(place: &Place) {
    let (mut store, usual) = (place.open(), definition());
    for _ in 0..20 {
        create_in(&mut *store, "/long", 0, &usual);
    }
    assert_eq!(projects(&mut *store, 3), ["/long"; 3]);
    for _ in 0..3 {
        create_in(&mut *store, "/late", 0, &usual);
    }
    create_in(&mut *store, "/later", 0, &usual);
    let order = projects(&mut *store, 7);
    let count = |project: &str| order.iter().filter(|path| *path == project).count();
    assert_eq!((count("/late"), count("/later")), (3, 1), "{order:?}");
    assert!(
        order[..3].contains(&"/late".to_owned()) && order[..3].contains(&"/later".to_owned()),
        "{order:?}"
    );
}

pub fn a_project_that_was_idle_has_saved_up_nothing(place: &Place) {
    let (mut store, usual) = (place.open(), definition());
    create_in(&mut *store, "/idle", 0, &usual);
    claim(&mut *store);
    for _ in 0..10 {
        create_in(&mut *store, "/busy", 0, &usual);
    }
    projects(&mut *store, 5);
    for _ in 0..5 {
        create_in(&mut *store, "/idle", 0, &usual);
    }
    let order = projects(&mut *store, 6);
    let idle = order.iter().filter(|path| *path == "/idle").count();
    assert!((2..=4).contains(&idle), "it takes every other turn: {order:?}");
}

pub fn a_leg_of_low_priority_that_waits_for_ever_gives_nobody_an_advantage(place: &Place) {
    let (mut store, usual) = (place.open(), definition());
    create_in(&mut *store, "/low", -5, &usual);
    for _ in 0..30 {
        create_in(&mut *store, "/first", 0, &usual);
    }
    projects(&mut *store, 20);
    for _ in 0..10 {
        create_in(&mut *store, "/second", 0, &usual);
    }
    let order = projects(&mut *store, 8);
    let first = order.iter().filter(|path| *path == "/first").count();
    assert!((3..=5).contains(&first), "{order:?}");
}

/// A definition with limits for the project and its only agent.
fn limited(project: Option<u32>, workflow: Option<u32>) -> Definition {
    let mut limited = definition();
    limited.config.at_once = project;
    limited.workflow.at_once = workflow;
    limited
}

pub fn no_more_legs_run_at_once_than_their_pools_allow(place: &Place) {
    let mut store = place.open();
    let two = limited(Some(2), None);
    for _ in 0..4 {
        create_in(&mut *store, "/a", 0, &two);
    }
    let one = limited(None, Some(1));
    for _ in 0..3 {
        create_in(&mut *store, "/b", 0, &one);
    }
    let claims: Vec<Claim> = std::iter::from_fn(|| try_claim(&mut *store)).collect();
    let mut running: BTreeMap<&str, usize> = BTreeMap::new();
    for claim in &claims {
        *running.entry(claim.task.seed.project.path.as_str()).or_default() += 1;
    }
    assert_eq!(running, BTreeMap::from([("/a", 2), ("/b", 1)]));
    // It is said what keeps the others waiting.
    let waiting = store.waiting(10).unwrap();
    let why: Vec<String> = waiting.iter().filter_map(|leg| Some(leg.full.as_ref()?.to_string())).collect();
    assert_eq!(why.len(), 4);
    assert!(why.contains(&"`at_once = 2` of the project".to_owned()), "{why:?}");
    assert!(why.contains(&"`at_once = 1` of the workflow `feature`".to_owned()), "{why:?}");
    // A harness that goes on keeps to them, and a person does not wait for them.
    let mut tasks = waiting.iter().map(|leg| leg.leg.task);
    let next = tasks.find(|task| store.task(*task).unwrap().seed.project.path == "/a").unwrap();
    assert!(store.claim(Wanted::Due(next), &owner(1), LEASE).unwrap().is_none());
    assert!(store.claim(Wanted::Of(next), &owner(1), LEASE).unwrap().is_some());
    // A leg that ends makes room.
    let of_b = claims.iter().find(|claim| claim.task.seed.project.path == "/b").unwrap();
    end(&mut *store, of_b, passed()).unwrap();
    assert_eq!(claim(&mut *store).task.seed.project.path, "/b");
    assert!(try_claim(&mut *store).is_none());
}

pub fn no_more_legs_of_an_agent_run_at_once_than_it_allows(place: &Place) {
    let mut store = place.open();
    let mut limited = with_agent(definition(), None);
    limited.config.agents.get_mut(&Name::literal("coder")).unwrap().at_once = Some(2);
    for _ in 0..4 {
        create_in(&mut *store, "/a", 0, &limited);
    }
    // The agent of another project with the same name has a limit of its own.
    create_in(&mut *store, "/b", 0, &limited);
    let claims: Vec<Claim> = std::iter::from_fn(|| try_claim(&mut *store)).collect();
    let of = |project: &str| claims.iter().filter(|claim| claim.task.seed.project.path == project).count();
    assert_eq!((of("/a"), of("/b")), (2, 1));
    let why: Vec<String> =
        store.waiting(9).unwrap().iter().filter_map(|leg| Some(leg.full.as_ref()?.to_string())).collect();
    assert_eq!(why, ["`at_once = 2` of the agent `coder`"; 2]);
    let ends = claims.iter().find(|claim| claim.task.seed.project.path == "/a").unwrap();
    end(&mut *store, ends, passed()).unwrap();
    assert!(try_claim(&mut *store).is_some(), "one that ends makes room");
    assert!(try_claim(&mut *store).is_none());
}

/// Whatever arrives and however long the queues of others are: a project that waits is served within two rounds.
pub fn no_project_that_waits_starves(place: &Place) {
    const PROJECTS: [&str; 6] = ["/a", "/b", "/c", "/d", "/e", "/f"];
    const STEPS: u32 = 400;
    let (mut store, usual) = (place.open(), definition());
    let mut waiting = BTreeMap::from(PROJECTS.map(|project| (project, 0_u32)));
    let mut since = waiting.clone();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % below as u64).unwrap()
    };
    let (mut claimed, mut longest) = (0, 0);
    for _ in 0..STEPS {
        // The first project adds as many as all others together.
        if next(2) == 0 {
            let project = if next(2) == 0 { PROJECTS[0] } else { PROJECTS[next(PROJECTS.len())] };
            create_in(&mut *store, project, 0, &usual);
            *waiting.get_mut(project).unwrap() += 1;
            continue;
        }
        let Some(claim) = try_claim(&mut *store) else { continue };
        claimed += 1;
        let served = claim.task.seed.project.path.as_str();
        *waiting.get_mut(served).unwrap() -= 1;
        for (project, passed_over) in &mut since {
            let waits = *project != served && waiting[project] > 0;
            *passed_over = if waits { *passed_over + 1 } else { 0 };
            longest = longest.max(*passed_over);
        }
    }
    assert!(claimed > STEPS / 4, "{claimed}");
    assert!(
        longest <= 2 * u32::try_from(PROJECTS.len()).unwrap(),
        "a project was passed over {longest} times"
    );
}

pub fn the_newest_leg_says_the_limit_of_its_pool(place: &Place) {
    let mut store = place.open();
    create_in(&mut *store, "/a", 0, &limited(Some(1), None));
    create_in(&mut *store, "/a", 0, &limited(Some(1), None));
    claim(&mut *store);
    assert!(try_claim(&mut *store).is_none());
    create_in(&mut *store, "/a", 0, &limited(Some(2), None));
    claim(&mut *store);
    assert!(try_claim(&mut *store).is_none());
    create_in(&mut *store, "/a", 0, &definition());
    projects(&mut *store, 2);
}

pub fn racing_claimers_keep_to_a_limit(place: &Place) {
    const CLAIMERS: usize = 8;
    let mut store = place.open();
    for _ in 0..40 {
        create_in(&mut *store, "/a", 0, &limited(Some(5), None));
    }
    let start = Barrier::new(CLAIMERS);
    let claims: usize = std::thread::scope(|scope| {
        let take = || {
            let mut store = place.open();
            start.wait();
            std::iter::from_fn(|| try_claim(&mut *store)).count()
        };
        let threads: Vec<_> = (0..CLAIMERS).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(claims, 5);
}

pub fn one_leg_finds_a_usage_limit_and_all_of_its_account_wait(place: &Place) {
    let mut store = place.open();
    let team = with_agent(definition(), Some("team"));
    for project in ["/a", "/b", "/b"] {
        create_in(&mut *store, project, 0, &team);
    }
    create_in(&mut *store, "/c", 0, &with_agent(definition(), None));
    let first = claim(&mut *store);
    let until = START.plus(Duration::from_hours(2));
    let account = Pool::Account("team".to_owned());
    store.pause(first.hold, &account, until).unwrap();
    // A shorter one does not end a longer one.
    store.pause(first.hold, &account, START.plus(Duration::from_mins(1))).unwrap();
    assert_eq!(claim(&mut *store).task.seed.project.path, "/c", "another account");
    assert!(try_claim(&mut *store).is_none());
    let waiting = store.waiting(9).unwrap();
    assert!(waiting.iter().all(|leg| leg.full.as_ref().is_some_and(|full| full.until == Some(until))));
    place.later(Duration::from_hours(2).saturating_sub(Duration::from_millis(1)));
    assert!(try_claim(&mut *store).is_none());
    place.later(Duration::from_millis(1));
    projects(&mut *store, 2);
    // Only a harness that holds its leg can say so.
    end(&mut *store, &first, Ending::Cancelled).unwrap();
    assert!(store.pause(first.hold, &account, Timestamp(i64::MAX)).is_err());
}
