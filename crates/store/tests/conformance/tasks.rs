//! Tasks: what is written is read back, all of a step or none of it, and lists follow.

use std::collections::BTreeSet;

use acquit_core::change::Change;
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::{Ending, Entry, Purpose, State};
use acquit_core::store::{Commit, Error, Filter, Wanted};
use acquit_core::task::{Actor, Remark, Wish};

use crate::fixture::{
    LEASE, Place, START, beginning, claim, create, definition, end, ending, me, owner, passed, wish,
};

pub fn a_created_task_is_read_back_whole(place: &Place) {
    let mut store = place.open();
    let task = create(&mut *store, "Add a --json flag", 3);
    assert_eq!((task.version, task.legs, task.state.word()), (1, 1, "working"));
    let mut other = place.open();
    assert_eq!(other.task(task.id()).unwrap(), task);
    assert_eq!(other.definition(task.id()).unwrap(), definition());
    let legs = other.legs(task.id()).unwrap();
    assert_eq!(legs.len(), 1);
    assert_eq!((legs[0].state, legs[0].not_before, legs[0].fence), (State::Ready, START, None));
    assert_eq!(legs[0].entry, Entry { stage: Name::literal("plan"), purpose: Purpose::Work });
}

pub fn an_unknown_task_is_an_error_of_its_own(place: &Place) {
    let mut store = place.open();
    let task = create(&mut *store, "here", 0);
    for id in [TaskId(99), TaskId(u64::MAX)] {
        assert!(matches!(store.task(id), Err(Error::NoTask(it)) if it == id));
        assert!(matches!(store.definition(id), Err(Error::NoTask(it)) if it == id));
        let mut before = task.clone();
        before.seed.id = id;
        let commit = Commit { before: &before, changes: &[], by: &me(), hold: None, notes: &[] };
        assert!(matches!(store.commit(commit), Err(Error::NoTask(it)) if it == id));
        assert!(store.legs(id).unwrap().is_empty());
    }
}

pub fn reserved_ids_are_unique_among_racing_writers(place: &Place) {
    place.open();
    let ids: Vec<TaskId> = std::thread::scope(|scope| {
        let reserve = || {
            let mut store = place.open();
            (0..25).map(|_| store.reserve().unwrap()).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(reserve)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 200);
    assert!(ids.iter().all(|id| id.0 > 0));
}

pub fn lists_show_what_the_filter_asks_for_newest_first(place: &Place) {
    let mut store = place.open();
    for title in ["one", "two", "three"] {
        create(&mut *store, title, 0);
    }
    let first = claim(&mut *store);
    let given_up = Ending::Failed { kind: Name::literal("unheard_of"), reason: "no budget".to_owned() };
    end(&mut *store, &first, given_up).unwrap();
    let plan = claim(&mut *store);
    end(&mut *store, &plan, passed()).unwrap();
    let next = Wanted::Of(plan.leg.id.task);
    let code = store.claim(next, &owner(1), LEASE).unwrap().expect("its next leg");
    assert_eq!(end(&mut *store, &code, passed()).unwrap().state.word(), "done");

    let all = Filter { ended: true, limit: 10, ..Filter::default() };
    let mut titles = |filter: &Filter| -> Vec<String> {
        store.list(filter).unwrap().into_iter().map(|summary| summary.title).collect()
    };
    assert_eq!(titles(&all), ["three", "two", "one"]);
    assert_eq!(titles(&Filter { limit: 2, ..all.clone() }), ["three", "two"]);
    assert_eq!(titles(&Filter { ended: false, ..all.clone() }), ["three", "one"]);
    assert_eq!(titles(&Filter { state: Some("waiting".to_owned()), ..all.clone() }), ["one"]);
    let done = Filter { state: Some("done".to_owned()), ended: false, ..all.clone() };
    assert_eq!(titles(&done), ["two"], "a state that is named is shown");
    let here = Filter { project: Some("/src/app".to_owned()), ended: false, ..all.clone() };
    assert_eq!(titles(&here), ["three", "one"]);
    let whole = Filter { ended: true, ..here };
    assert_eq!(titles(&whole), ["three", "two", "one"], "by age, whether they ended or not");
    assert_eq!(titles(&Filter { limit: 2, ..whole }), ["three", "two"]);
    let both =
        Filter { project: Some("/src/app".to_owned()), state: Some("working".to_owned()), ..all.clone() };
    assert_eq!(titles(&both), ["three"]);
    assert!(titles(&Filter { project: Some("/src/other".to_owned()), ..all.clone() }).is_empty());
}

pub fn a_list_has_the_tasks_with_all_tags_that_are_asked_for_and_no_others(place: &Place) {
    let mut store = place.open();
    let odd = "a \"b\" \\ ü\0";
    for (title, tags) in
        [("one", &["red"][..]), ("two", &["red", "big"]), ("red", &[]), ("three", &["redder", odd])]
    {
        let id = store.reserve().unwrap();
        let wish = Wish { tags: tags.iter().map(ToString::to_string).collect(), ..wish(title, 0) };
        store.create(&definition(), &beginning(id, wish), &me()).unwrap();
    }
    let mut titles = |tags: &[&str], limit: u32| -> Vec<String> {
        let tags = tags.iter().map(ToString::to_string).collect();
        let filter = Filter { tags, ended: true, limit, ..Filter::default() };
        store.list(&filter).unwrap().into_iter().map(|summary| summary.title).collect()
    };
    assert_eq!(titles(&["red"], 9), ["two", "one"]);
    assert_eq!(titles(&["red"], 1), ["two"], "a page of others is passed over");
    assert_eq!(titles(&["red", "big"], 9), ["two"]);
    assert_eq!(titles(&[odd], 9), ["three"]);
    assert!(titles(&["re"], 9).is_empty() && titles(&["%"], 9).is_empty() && titles(&["big"], 0).is_empty());
}

pub fn tasks_whose_leg_runs_are_told_from_those_that_wait_for_one(place: &Place) {
    let mut store = place.open();
    for title in ["one", "two", "three"] {
        create(&mut *store, title, 0);
    }
    let claim = claim(&mut *store);
    let mut titles = |running: bool| -> Vec<String> {
        let filter = Filter { running: Some(running), ended: true, limit: 9, ..Filter::default() };
        store.list(&filter).unwrap().into_iter().map(|summary| summary.title).collect()
    };
    assert_eq!(
        (titles(true), titles(false)),
        (vec!["one".to_owned()], vec!["three".to_owned(), "two".to_owned()])
    );
    end(&mut *store, &claim, passed()).unwrap();
    let idle = Filter { running: Some(true), ended: true, limit: 9, ..Filter::default() };
    assert!(store.list(&idle).unwrap().is_empty());
}

pub fn a_search_finds_titles_in_any_case_and_ids(place: &Place) {
    let mut store = place.open();
    let titles = ["Größe ändern", "GRÖSSE 100%", "100_percent", "a\\b", "nul\0nul", "Größ", "i İ"];
    for title in titles {
        create(&mut *store, title, 0);
    }
    let mut found = |text: &str, limit: u32| -> Vec<String> {
        let filter = Filter { search: Some(text.to_owned()), ended: true, limit, ..Filter::default() };
        store.list(&filter).unwrap().into_iter().map(|summary| summary.title).collect()
    };
    assert_eq!(found("gröss", 9), ["GRÖSSE 100%"]);
    assert_eq!(found("GRÖß", 9), ["Größ", "Größe ändern"]);
    assert_eq!(found("größe Ä", 9), ["Größe ändern"]);
    assert_eq!(found("größ", 1), ["Größ"], "newest first, as many as wanted");
    // The database alone would take any title with these letters.
    assert_eq!(found("Grüß", 1), Vec::<String>::new());
    assert_eq!(found("gr\u{f6}ße", 1), ["Größe ändern"], "a page of others is passed over");
    assert_eq!((found("100%", 9), found("0_p", 9)), (vec![titles[1].into()], vec![titles[2].into()]));
    assert_eq!((found("%", 9), found("_", 9)), (vec![titles[1].into()], vec![titles[2].into()]));
    assert_eq!((found("A\\B", 9), found("l\0N", 9).len()), (vec![titles[3].into()], 1));
    assert_eq!((found("T-3", 9), found("t-3", 9)), (vec![titles[2].into()], vec![titles[2].into()]));
    assert_eq!((found("#3", 9).len(), found("", 9).len()), (0, titles.len()));
    assert_eq!(found(&"%ü_".repeat(60_000), 9), Vec::<String>::new(), "no search is too long");
    let both = Filter {
        search: Some("größ".to_owned()),
        project: Some("/src/other".to_owned()),
        ended: true,
        limit: 9,
        ..Filter::default()
    };
    assert!(store.list(&both).unwrap().is_empty());
}

pub fn summaries_follow_the_task(place: &Place) {
    let mut store = place.open();
    let task = create(&mut *store, "watch me", -4);
    let filter = Filter { ended: true, limit: 1, ..Filter::default() };
    let summary = store.list(&filter).unwrap().remove(0);
    assert_eq!((summary.id, summary.priority, summary.created), (task.id(), -4, START));
    assert_eq!((summary.project.as_str(), summary.workflow.as_str()), ("app", "feature"));
    assert_eq!((summary.stage, summary.cost_micros), (Some(Name::literal("plan")), None));

    place.later(std::time::Duration::from_secs(9));
    let first = claim(&mut *store);
    end(&mut *store, &first, passed()).unwrap();
    let summary = store.list(&filter).unwrap().remove(0);
    assert_eq!((summary.stage, summary.legs), (Some(Name::literal("code")), 2));
    assert_eq!((summary.cost_micros, summary.updated.0 - START.0), (Some(1_500), 9_000));

    let second = claim(&mut *store);
    end(&mut *store, &second, passed()).unwrap();
    let summary = store.list(&filter).unwrap().remove(0);
    assert_eq!((summary.state.as_str(), summary.stage, summary.cost_micros), ("done", None, Some(3_000)));
}

pub fn any_text_can_be_stored(place: &Place) {
    let mut store = place.open();
    let odd = "NUL \0, ünïcödé 🦀, quote ' \" \\, control \u{1}\u{7f}, \u{202e}, line\nbreak, \u{ffff}";
    let id = store.reserve().unwrap();
    let mut changes = beginning(id, wish(odd, 0));
    if let Change::Created { seed } = &mut changes[0] {
        "/ö\0".clone_into(&mut seed.project.path);
        seed.wish.description = odd.repeat(1000);
    }
    let task = store.create(&definition(), &changes, &Actor::Person(odd.to_owned())).unwrap();
    let remark = Remark { by: me(), question: None, text: odd.repeat(5000), origin: None };
    let said = [Change::Remarked { remark }];
    let by = Actor::Person("\0".to_owned());
    let task =
        store.commit(Commit { before: &task, changes: &said, by: &by, hold: None, notes: &[] }).unwrap();
    assert_eq!(store.task(id).unwrap(), task);
    assert_eq!(task.seed.wish.title, odd);
    let filter = Filter { project: Some("/ö\0".to_owned()), limit: 5, ..Filter::default() };
    assert_eq!(store.list(&filter).unwrap()[0].title, odd.replace('\0', "\u{fffd}"));
    let events = store.events(Some(id), 0, 100).unwrap();
    assert_eq!(events.first().unwrap().actor, Actor::Person(odd.to_owned()));
    assert_eq!(events.last().unwrap().actor, by);
}

pub fn a_step_decided_on_an_older_version_is_refused(place: &Place) {
    let mut store = place.open();
    let old = create(&mut *store, "moving", 0);
    let remark = |text: &str| Remark { by: me(), question: None, text: text.to_owned(), origin: None };
    let first = [Change::Remarked { remark: remark("first") }];
    let second = [Change::Remarked { remark: remark("second") }];
    let new =
        store.commit(Commit { before: &old, changes: &first, by: &me(), hold: None, notes: &[] }).unwrap();
    assert_eq!(new.version, 2);
    let late = store.commit(Commit { before: &old, changes: &second, by: &me(), hold: None, notes: &[] });
    assert!(matches!(late, Err(Error::Conflict(id)) if id == old.id()), "{late:?}");
    assert_eq!(store.task(old.id()).unwrap(), new);
}

pub fn a_handoff_happens_whole_or_not_at_all(place: &Place) {
    let mut store = place.open();
    create(&mut *store, "whole", 0);
    let held = claim(&mut *store);
    let id = held.leg.id;
    let before =
        (store.task(id.task).unwrap(), store.legs(id.task).unwrap(), store.events(None, 0, 99).unwrap());
    // The next leg has the number of the one that ends: it cannot be inserted, after all else was written.
    let mut changes = ending(&held.task, id.number, passed());
    let again = Entry { stage: Name::literal("code"), purpose: Purpose::Work };
    *changes.last_mut().unwrap() = Change::readied(id.number, again);
    let by = Actor::Harness(id);
    let commit = Commit { before: &held.task, changes: &changes, by: &by, hold: Some(held.hold), notes: &[] };
    assert!(matches!(store.commit(commit), Err(Error::Database { .. })));
    let after =
        (store.task(id.task).unwrap(), store.legs(id.task).unwrap(), store.events(None, 0, 99).unwrap());
    assert_eq!(before, after);

    let task = end(&mut *store, &held, passed()).unwrap();
    let states: Vec<State> = store.legs(id.task).unwrap().iter().map(|leg| leg.state).collect();
    assert_eq!((task.version, states), (2, vec![State::Passed, State::Ready]));
}

pub fn one_of_two_racing_steps_wins(place: &Place) {
    const ROUNDS: usize = 10;
    let mut store = place.open();
    for _ in 0..ROUNDS {
        let task = create(&mut *store, "contested", 0);
        let results: Vec<_> = std::thread::scope(|scope| {
            let write = || {
                let mut store = place.open();
                let remark = Remark { by: me(), question: None, text: "mine".to_owned(), origin: None };
                let changes = [Change::Remarked { remark }];
                store.commit(Commit { before: &task, changes: &changes, by: &me(), hold: None, notes: &[] })
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(write)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        assert_eq!(results.iter().filter(|result| matches!(result, Err(Error::Conflict(_)))).count(), 3);
        assert_eq!(store.task(task.id()).unwrap().conversation.len(), 1);
    }
}
