//! Nights: begun when they are due, once, with the day's category; budgets; several repositories; and a daemon that is killed.

use acquit_testkit::repo::Repo;
use rustix::process::Signal;

use crate::common::{Sandbox, read, until};
use crate::{FINDS, NOTHING, due, held, nights, tasks, today};

#[test]
fn a_night_that_is_due_is_run_once_and_reported() {
    let config = today("category = \"refactoring\"") + "[report]\nfile = \"../night.md\"\n";
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
    assert_eq!(sandbox.refs("refs/heads/acquit").len(), 1, "one change, and no second one");
    // Asked again, nothing more is due.
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert_eq!((held(&sandbox).len(), tasks(&sandbox)), (1, 1));
}

/// SPEC §8 [N]: "Zero or one merge request per run. `NO_IMPROVEMENT` with a reason per category."
#[test]
fn a_night_without_an_improvement_gives_a_reason_for_each_category() {
    let config = today("category = \"docs\"") + "[report]\nfile = \"../night.md\"\n";
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
    let config = today("category = \"tests\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, &format!("{nothing}{FINDS}"));
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("- Category: refactoring (fallback from tests)\n"), "{report}");
}

#[test]
fn a_category_that_the_workflow_does_not_know_is_a_reason_in_the_report() {
    let config = today("category = \"colours\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(
        report.contains("begin with category = `colours`; it can be: tests, refactoring, docs"),
        "{report}"
    );
}

/// SPEC §9: "`kill -9` of any process at any moment loses nothing and repeats no effect".
#[test]
fn a_daemon_that_is_killed_again_and_again_makes_each_night_once() {
    let sandbox = due(&today("category = \"tests\""), FINDS);
    // Killed ever later, from before its first look to the middle of the work.
    for wait in [0, 20, 40, 60, 80, 120, 160, 200, 300, 400] {
        let daemon = sandbox.start(&["serve", "--once"]);
        std::thread::sleep(std::time::Duration::from_millis(wait));
        daemon.signal(Signal::KILL);
        drop(daemon);
    }
    sandbox.acquit(&["serve", "--once"]).must(0);
    let all = held(&sandbox);
    assert!(all.len() == 1 && all[0]["state"]["type"] == "over", "{all:?}");
    assert_eq!(tasks(&sandbox), 1);
    assert_eq!(sandbox.task().state.word(), "done");
}

#[test]
fn a_night_whose_schedule_is_gone_ends_though_one_of_its_tasks_was_never_made() {
    let sandbox = due(&today("category = \"tests\""), FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    // As after a kill between the two: the id is written, the task is not. Then somebody renames the schedule.
    let mut night = held(&sandbox)[0].clone();
    night["state"] = serde_json::json!({ "type": "running" });
    night["ended"] = serde_json::Value::Null;
    night["jobs"][0]["progress"] = serde_json::json!({ "type": "task", "task": "T-77" });
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute("update nights set state = 'running', body = ?1", [night.to_string()]).unwrap();
    drop(store);
    let path = sandbox.repo.path().join(".acquit/acquit.toml");
    let text = read(&path).replace("name = \"night\"", "name = \"shift\"\npaused = true");
    sandbox.repo.write(".acquit/acquit.toml", &(text + "[report]\nfile = \"../night.md\"\n"));
    sandbox.acquit(&["serve", "--once"]).must(0);
    let all = nights(&sandbox);
    assert!(all.len() == 1 && all[0]["state"]["type"] == "over", "{all:?}");
    assert!(read(&sandbox.place("night.md")).contains("never begun"));
}

#[test]
fn two_daemons_make_one_night() {
    let sandbox = due(&today("category = \"tests\""), FINDS);
    let both: Vec<_> = (0..3).map(|_| sandbox.start(&["serve", "--once"])).collect();
    for daemon in both {
        daemon.wait().must(0);
    }
    assert_eq!((held(&sandbox).len(), tasks(&sandbox)), (1, 1));
}

#[test]
fn processes_that_create_the_task_of_a_night_at_once_say_nothing_of_each_other() {
    let sandbox = due(&today("category = \"tests\""), FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    // As after a kill between the two: the id is written, the task is not.
    let mut night = held(&sandbox)[0].clone();
    night["state"] = serde_json::json!({ "type": "running" });
    night["jobs"][0]["progress"] = serde_json::json!({ "type": "task", "task": "T-77" });
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute("update nights set state = 'running', body = ?1", [night.to_string()]).unwrap();
    drop(store);
    let nominal = night["nominal"].to_string();
    let parent = std::process::id().to_string();
    let words = ["begin", "--schedule", "night", "--nominal", &nominal, "--job", "0", "--parent", &parent];
    let all: Vec<_> = (0..4).map(|_| sandbox.start(&words)).collect();
    for one in all {
        let ended = one.wait().must(0);
        assert!(ended.err.is_empty(), "{}", ended.err);
    }
    assert_eq!(tasks(&sandbox), 2, "T-1 and T-77");
}

#[test]
fn several_repositories_are_worked_on_and_one_that_cannot_be_is_told() {
    let other = Repo::at("another", &[]);
    let config = today(
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
    let config = today("category = \"tests\"\nrepositories = [\".\", \".\"]\nbudget = 1.00")
        + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("SKIPPED, the night's budget is spent"), "{report}");
    assert_eq!(tasks(&sandbox), 1);
}

#[test]
fn a_task_that_costs_too_much_is_ended_and_the_report_says_why() {
    let waits = FINDS.replace(
        "    { outcome = \"plan_complete\"",
        "    { usage = { model = \"m\", input = 10, cost_micros = 2000000 } },\n    { run = \"sleep 100\" },\n    { outcome = \"plan_complete\"",
    );
    let config = today("category = \"tests\"\nbudget = 1.00") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, &waits);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("- Result: CANCELLED, by acquit: the night's budget was spent\n"), "{report}");
}

#[test]
fn a_run_by_hand_takes_no_run_of_the_clock_away() {
    let config = today("category = \"tests\"\nmost_open = 9");
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    sandbox.repo.write(".acquit/script.toml", &FINDS.replace("Test the parser", "Name the numbers"));
    sandbox.acquit(&["serve", "--once"]).must(0);
    let all = held(&sandbox);
    let causes: Vec<&str> = all.iter().map(|night| night["cause"].as_str().unwrap()).collect();
    assert_eq!(causes, ["clock", "hand"], "by their nominal time: {all:?}");
    assert_eq!(tasks(&sandbox), 2);
}

#[test]
fn what_was_slept_through_is_noted_and_not_run() {
    // Every hour, known since yesterday: 24 were due, and the newest of them counts only if it is not late.
    let hourly = today("").replace(crate::minute(), &format!("{} * * * *", &crate::minute()[..2]));
    let sandbox = due(&hourly, FINDS);
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute("update schedules set since = since - 86400000", []).unwrap();
    sandbox.acquit(&["serve", "--once"]).must(0);
    let (all, run) = (nights(&sandbox), held(&sandbox));
    assert!(all.len() >= 24 && run.len() == 1, "{} of {}", run.len(), all.len());
    assert_eq!(all[0]["state"]["reason"], "its time was slept through");
    assert_eq!(run[0], *all.last().unwrap());
    assert_eq!(tasks(&sandbox), 1);
}

#[test]
fn a_waiting_task_is_told_and_the_night_is_over() {
    let asks =
        "[[analyze]]\nstep = [ { outcome = \"needs_input\", payload = { question = \"Which one?\" } } ]\n";
    let config = today("category = \"tests\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, asks);
    sandbox.acquit(&["serve", "--once"]).must(0);
    let report = until("a report", || Some(read(&sandbox.place("night.md"))).filter(|text| !text.is_empty()));
    assert!(report.contains("- Result: NEEDS_YOU, Which one?"), "{report}");
    let command = report.split('`').find(|part| part.starts_with("acquit ")).unwrap();
    assert_eq!(command, "acquit answer T-1 \"…\"", "{report}");
    crate::common::suggestions::follow_to(&sandbox, command, &[0]);
}

#[test]
fn a_schedule_can_be_run_by_hand() {
    let sandbox = Sandbox::new(
        &format!("{}\n{}", crate::common::SCRIPTED, today("").replace(crate::minute(), crate::SOME_DAY)),
        crate::SHIFT,
        FINDS,
    );
    sandbox.acquit(&["schedule", "run", "night", "--category", "docs"]).must(0).said("night begins now");
    assert_eq!(held(&sandbox)[0]["category"], "docs");
    assert_eq!(sandbox.task().state.word(), "done");
    sandbox.acquit(&["schedule", "run", "nihgt"]).must(2).said("find the schedule `nihgt`; there are: night");
}

#[test]
fn a_night_is_the_same_on_postgresql() {
    let Some(database) = acquit_testkit::postgres::database_or_skip("a night on PostgreSQL") else { return };
    let config = today("category = \"tests\"") + "[report]\nfile = \"../night.md\"\n";
    let config = format!("{}\n{config}", crate::common::SCRIPTED);
    let sandbox = Sandbox::new(&config, crate::SHIFT, FINDS).with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let listed = sandbox.acquit(&["schedule", "list", "--json"]).must(0).json();
    assert_eq!(listed[0]["last"]["state"]["type"], "over", "{listed}");
    assert!(read(&sandbox.place("night.md")).contains("BRANCH_CREATED"));
    sandbox.acquit(&["schedule", "pause", "night"]).must(0);
    sandbox.acquit(&["schedule", "list"]).must(0).said("paused");
}

/// One bad zone does not stop the others.
#[test]
fn a_schedule_with_an_unknown_zone_stops_no_other() {
    let bad = "[[schedule]]\nname = \"broken\"\ncron = \"0 1 * * *\"\nzone = \"Europe/Nowhere\"\nworkflow = \"flow\"\n";
    let sandbox = due(&format!("{bad}{}", today("category = \"tests\"")), FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0).said("Europe/Nowhere");
    let nights = held(&sandbox);
    let [night] = nights.as_slice() else { panic!("{nights:?}") };
    assert_eq!((&night["schedule"], &night["state"]["type"]), (&"night".into(), &"over".into()));
}

/// The seed's `CodeAgentRunResult`: "outcome", "mrUrl", "categoryUsed", "isFallback", "totalCostUsd", "totalDurationMs".
#[test]
fn a_run_prints_its_report_and_keeps_it() {
    let nothing = "[[analyze]]\nstep = [ { outcome = \"no_improvement\", payload = { summary = \"all is covered\" } } ]\n";
    let sandbox = due(&today("category = \"tests\""), &format!("{nothing}{FINDS}"));
    sandbox.acquit(&["report"]).must(1).said("no night has run yet");
    let ran = sandbox.acquit(&["schedule", "run", "night"]).must(0);
    assert!(ran.out.contains("- Category: refactoring (fallback from tests)\n"), "{}", ran.out);
    // acquit's own notes about the task are not its author's words.
    sandbox.acquit(&["show", "T-1"]).must(0).says("about     tags night\n");
    // It is kept as it was, whatever becomes of the task.
    let kept = sandbox.acquit(&["report"]).must(0).out;
    assert_eq!(kept, ran.out);
    let store = rusqlite::Connection::open(sandbox.place("acquit/acquit.db")).unwrap();
    store.execute_batch("pragma foreign_keys = off; delete from tasks").unwrap();
    assert_eq!(sandbox.acquit(&["report", "night"]).must(0).out, ran.out);

    let document = sandbox.acquit(&["report", "--json"]).must(0).json();
    let result = &document["results"][0];
    assert_eq!(result["outcome"], "BRANCH_CREATED");
    assert!(result["branch"].as_str().unwrap().starts_with("acquit/"), "{result}");
    assert_eq!(result["category"], "refactoring (fallback from tests)");
    assert_eq!((&result["fallback"], &result["fallback_from"]), (&true.into(), &"tests".into()));
    assert_eq!(result["cost_micros"], 1_510_000);
    assert!(result["duration_ms"].as_u64().unwrap() > 0, "{result}");
    assert_eq!(result["url"], serde_json::Value::Null);

    let date = document["date"].as_str().unwrap();
    sandbox.acquit(&["report", date]).must(0).said("BRANCH_CREATED");
    sandbox
        .acquit(&["report", "1999-12-31"])
        .must(1)
        .said(&format!("no such night; the newest are of: {date}"));
    sandbox.acquit(&["report", "nihgt"]).must(2).said("find the schedule `nihgt`");
}

#[test]
fn a_run_with_json_ends_with_its_result_and_every_reason() {
    let sandbox = due(&today("category = \"docs\""), NOTHING);
    let ran = sandbox.acquit(&["schedule", "run", "night", "--json"]).must(0);
    let document: serde_json::Value = serde_json::from_str(&ran.out[ran.out.find("{\n").unwrap()..]).unwrap();
    let result = &document["results"][0];
    assert_eq!((&result["outcome"], &result["category"]), (&"NO_IMPROVEMENT".into(), &"docs".into()));
    assert_eq!(result["fallback"], false);
    assert_eq!(
        result["reason"],
        "all categories exhausted; docs: all is covered; tests: all is simple; refactoring: all is told"
    );
    assert_eq!(result["reasons"][1]["category"], "tests");
}
