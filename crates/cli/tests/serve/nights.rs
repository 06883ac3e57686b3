//! Nights: begun when they are due, once, with the day's category; budgets; several repositories; and a daemon that is killed.

use acquit_testkit::repo::Repo;
use rustix::process::Signal;

use crate::common::{Sandbox, read, until};
use crate::{FINDS, NOTHING, due, every_minute, held, nights, tasks};

#[test]
fn a_night_that_is_due_is_run_once_and_reported() {
    let config = every_minute("category = \"refactoring\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    let ran = sandbox.acquit(&["serve", "--once"]).must(0);
    ran.said("night: night");
    let night = &held(&sandbox)[0];
    assert_eq!(night["state"]["type"], "over");
    assert_eq!(night["category"], "refactoring");
    let report = read(&sandbox.place("night.md"));
    for line in
        ["- Category: refactoring\n", "- Result: BRANCH_CREATED, branch `", "- Cost: $1.51\n", "- Duration: "]
    {
        assert!(report.contains(line), "no {line:?} in {report}");
    }
    assert!(sandbox.task().tried.is_empty());
    // Asked again at once, nothing more is due than another minute would bring.
    let before = held(&sandbox).len();
    assert!(tasks(&sandbox) <= i64::try_from(before).unwrap());
}

/// SPEC §8 [N]: "Zero or one merge request per run. `NO_IMPROVEMENT` with a reason per category."
#[test]
fn a_night_without_an_improvement_gives_a_reason_for_each_category() {
    let config = every_minute("category = \"docs\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, NOTHING);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    // The day's category first, then the others in the order in which the workflow has them.
    let reasons = "- Result: NO_IMPROVEMENT\n  - docs: all is covered\n  - tests: all is simple\n  - refactoring: all is told\n";
    assert!(report.contains(reasons), "{report}");
    assert_eq!(sandbox.refs("refs/heads/acquit"), [""; 0]);
}

/// SPEC §2 [N]: "`refactoring (fallback from tests)` is how a fallback is named everywhere."
#[test]
fn a_fallback_is_named_with_what_it_falls_back_from() {
    let nothing = "[[analyze]]\nstep = [ { outcome = \"no_improvement\", payload = { summary = \"all is covered\" } } ]\n";
    let config = every_minute("category = \"tests\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, &format!("{nothing}{FINDS}"));
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("- Category: refactoring (fallback from tests)\n"), "{report}");
}

#[test]
fn a_category_that_the_workflow_does_not_know_is_a_reason_in_the_report() {
    let config = every_minute("category = \"colours\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(
        report.contains("begin `flow` with `colours`: it varies by: tests, refactoring, docs"),
        "{report}"
    );
}

/// SPEC §9: "`kill -9` of any process at any moment loses nothing and repeats no effect".
#[test]
fn a_daemon_that_is_killed_again_and_again_makes_each_night_once() {
    let sandbox = due(&every_minute("category = \"tests\""), FINDS);
    // Killed ever later, from before its first look to the middle of the work.
    for wait in [0, 20, 40, 60, 80, 120, 160, 200, 300, 400] {
        let daemon = sandbox.start(&["serve", "--once"]);
        std::thread::sleep(std::time::Duration::from_millis(wait));
        daemon.signal(Signal::KILL);
        drop(daemon);
    }
    sandbox.acquit(&["serve", "--once"]).must(0);
    let all = held(&sandbox);
    assert!(!all.is_empty() && all.iter().all(|night| night["state"]["type"] == "over"), "{all:?}");
    let made: usize = all
        .iter()
        .flat_map(|night| night["jobs"].as_array().unwrap())
        .filter(|job| job["progress"]["type"] == "task")
        .count();
    assert_eq!(tasks(&sandbox), i64::try_from(made).unwrap(), "a task for each, and none besides");
    assert_eq!(sandbox.task().state.word(), "done");
}

#[test]
fn two_daemons_make_one_night() {
    let sandbox = due(&every_minute("category = \"tests\""), FINDS);
    let both: Vec<_> = (0..3).map(|_| sandbox.start(&["serve", "--once"])).collect();
    for daemon in both {
        daemon.wait().must(0);
    }
    // A minute may have passed meanwhile, and brought the next one.
    let all = held(&sandbox);
    assert!(all.len() <= 2 && tasks(&sandbox) == i64::try_from(all.len()).unwrap(), "{all:?}");
}

#[test]
fn several_repositories_are_worked_on_and_one_that_cannot_be_is_told() {
    let other = Repo::at("another", &[]);
    let config = every_minute(
        "category = \"tests\"\nrepositories = [\".\", \"../nowhere\", \"@OTHER@\"]\norder = \"side by side\"",
    ) + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config.replace("@OTHER@", &other.path().to_string_lossy()), FINDS);
    for file in ["acquit.toml", "workflows/flow.toml", "script.toml"] {
        let text = read(&sandbox.repo.path().join(".acquit").join(file));
        other.write(&format!(".acquit/{file}"), &text);
    }
    other.commit("with acquit");
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert_eq!(report.matches("BRANCH_CREATED").count(), 2, "{report}");
    assert!(report.contains("### ../nowhere\n\n- Result: SKIPPED, failed to open "), "{report}");
    assert!(report.contains("Cost in all: $3.02"), "{report}");
}

#[test]
fn a_night_that_spent_its_budget_leaves_the_other_repositories_alone() {
    let config = every_minute("category = \"tests\"\nrepositories = [\".\", \".\"]\nbudget = 1.00")
        + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("SKIPPED, the night's budget is spent"), "{report}");
    assert_eq!(tasks(&sandbox), 1);
}

#[test]
fn what_was_slept_through_is_noted_and_not_run() {
    let sandbox = due(&every_minute(""), FINDS);
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    let cron = "[[schedule]]\nname = \"night\"\ncron = \"0 0 1 1 *\"\nworkflow = \"flow\"\nzone = \"UTC\"\n";
    let config = read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let rest = config.split("[[schedule]]").next().unwrap();
    sandbox.repo.write(".acquit/acquit.toml", &format!("{rest}\n{cron}"));
    // A year and a day ago it was first seen, and nobody was there on New Year's Eve, if that was within the last weeks; else
    // nothing is due at all. Either way nothing is run.
    store.execute("update schedules set since = since - 31622400000", []).unwrap();
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert!(nights(&sandbox).iter().all(|night| night["state"]["type"] == "skipped"));
    assert_eq!(tasks(&sandbox), 0);
}

#[test]
fn a_waiting_task_is_told_and_the_night_is_over() {
    let asks =
        "[[analyze]]\nstep = [ { outcome = \"needs_input\", payload = { question = \"Which one?\" } } ]\n";
    let config = every_minute("category = \"tests\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, asks);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = until("a report", || Some(read(&sandbox.place("night.md"))).filter(|text| !text.is_empty()));
    assert!(report.contains("- Result: NEEDS_YOU, Which one?"), "{report}");
}

#[test]
fn a_schedule_can_be_run_by_hand() {
    let sandbox = Sandbox::new(
        &format!("{}\n{}", crate::common::SCRIPTED, every_minute("").replace("* * * * *", "0 0 1 1 *")),
        crate::SHIFT,
        FINDS,
    );
    sandbox.acquit(&["schedule", "run", "night", "--category", "docs"]).must(0).said("night begins now");
    assert_eq!(held(&sandbox)[0]["category"], "docs");
    assert_eq!(sandbox.task().state.word(), "done");
    sandbox.acquit(&["schedule", "run", "nihgt"]).must(2).said("find the schedule `nihgt`; there are: night");
}
