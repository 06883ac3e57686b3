//! The same on PostgreSQL: SIGKILL after each step, and connections that break at the border of each transaction, right
//! before its commit or right after.
#![allow(clippy::disallowed_macros, reason = "a test that counts says what it counted")]

use acquit_core::event::Step;
use acquit_testkit::border::{Border, Moment};
use acquit_testkit::history::History;
use acquit_testkit::postgres::{Database, database_or_skip};

use crate::common::{Ran, Sandbox, read, side_by_side};
use crate::story::Story;
use crate::{sandbox, undisturbed};

/// A task in a database of its own, and what `acquit` says of it in the end. Somebody who is told that the store is
/// away asks again.
fn run(sandbox: &Sandbox) -> Ran {
    let mut ran = sandbox.acquit(&["run", "T-1"]);
    for _ in 0..3 {
        if ran.code == Some(0) {
            break;
        }
        ran = sandbox.acquit(&["run", "T-1"]);
    }
    ran.must(0)
}

/// Adds a task without trouble, then runs it with these variables.
fn story(database: &Database, store: &str, more: &[(&str, String)]) -> (Sandbox, Story) {
    let sandbox = sandbox().with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let mut sandbox = sandbox.with("ACQUIT_STORE", store);
    for (name, value) in more {
        sandbox = sandbox.with(name, value.clone());
    }
    let ran = run(&sandbox);
    let sandbox = sandbox.with("ACQUIT_STORE", database.url.clone());
    let story = Story::of(&sandbox, &ran);
    (sandbox, story)
}

/// What may differ is how often something was tried.
fn check(story: &Story, name: &str) {
    let (expected, _) = undisturbed();
    let expected = Story { lost: story.lost, agents: story.agents, gates: story.gates, ..expected.clone() };
    assert_eq!(*story, expected, "{name}");
}

/// Kills the harness once in a task of its own, after each of these steps.
fn killed(cases: &[(Step, u32)]) {
    side_by_side(cases, |&(step, which)| {
        let name = format!("{} number {which}", step.name());
        let database = acquit_testkit::postgres::database();
        let marker = tempfile::NamedTempFile::new().unwrap();
        let fault = format!("{}:{which}:{}", step.name(), marker.path().display());
        let (_, story) = story(&database, &database.url, &[("ACQUIT_FAULT", fault)]);
        assert!(read(marker.path()).len() >= which as usize, "{name}: nobody was killed");
        assert_eq!(story.lost, u32::from(step < Step::Handoff), "{name}");
        check(&story, &name);
    });
    println!("killed after {} steps", cases.len());
}

/// Breaks the connection at so many of the borders, spread over all of them.
fn broken(every: usize) {
    let Some(database) = database_or_skip("borders of transactions on PostgreSQL") else { return };
    let border = Border::new(&database.url, 0, Moment::Before);
    let (_, calm) = story(&database, &border.url(), &[]);
    check(&calm, "nothing breaks");
    assert_eq!(calm.lost, 0);
    let commits = border.commits();
    assert!(commits > 20, "a task of six legs takes more than {commits} commits");
    let all = (1..=commits).flat_map(|which| [(which, Moment::Before), (which, Moment::After)]);
    let cases: Vec<(u32, Moment)> = all.step_by(every).collect();
    let lost = std::sync::atomic::AtomicU32::new(0);
    side_by_side(&cases, |&(which, moment)| {
        let database = acquit_testkit::postgres::database();
        let border = Border::new(&database.url, which, moment);
        let history = tempfile::NamedTempFile::new().unwrap();
        let recorded = ("ACQUIT_HISTORY", history.path().display().to_string());
        let (_, story) = story(&database, &border.url(), &[recorded]);
        check(&story, &format!("{moment:?} commit {which} of {commits}"));
        // Only a leg whose claim was not answered is lost: nobody knows whose it is. What a leg has done never is.
        let history = read(history.path());
        let unanswered = history.lines().filter(|line| line.ends_with("\tunknown\t")).count();
        let words = format!("{moment:?} commit {which}: {} legs were lost", story.lost);
        assert!(story.lost as usize <= unanswered, "{words}\n{history}");
        History::read(&history).and_then(|history| history.check()).unwrap_or_else(|wrong| panic!("{wrong}"));
        lost.fetch_add(story.lost, std::sync::atomic::Ordering::SeqCst);
    });
    println!("connections broken at {} of {} borders: {lost:?} legs lost", cases.len(), 2 * commits);
}

#[test]
fn killed_after_any_step_on_postgresql_it_ends_as_it_would_have() {
    if acquit_testkit::postgres::url_or_skip("kills on PostgreSQL").is_none() {
        return;
    }
    // Each step once, in another leg each time; `soak_` has all of them.
    let cases: Vec<(Step, u32)> =
        Step::ALL.iter().zip((1..=4).cycle()).map(|((_, step), at)| (*step, at)).collect();
    killed(&cases);
}

#[test]
fn soak_killed_after_every_step_on_postgresql_it_ends_as_it_would_have() {
    if acquit_testkit::postgres::url_or_skip("kills on PostgreSQL").is_none() {
        return;
    }
    let (_, times) = undisturbed();
    let all = times.iter().flat_map(|(step, times)| (1..=*times).map(|which| (*step, which)));
    killed(&all.collect::<Vec<_>>());
}

#[test]
fn a_connection_that_breaks_at_the_border_of_a_transaction_changes_nothing() {
    // Odd, so that both sides of commits are tried.
    broken(9);
}

#[test]
fn soak_a_connection_that_breaks_at_any_border_of_a_transaction_changes_nothing() {
    broken(1);
}
