//! `acquit schedule`: what it lists, and that a pause holds for everybody.

use crate::common::{SCRIPTED, Sandbox};
use crate::{FINDS, SHIFT, due, held, today};

fn nightly() -> Sandbox {
    let schedule = "[[schedule]]\nname = \"night\"\ncron = \"30 2 * * *\"\nzone = \"Europe/Berlin\"\nworkflow = \"flow\"\n\
        category = { mon = \"tests\", tue = \"refactoring\", wed = \"docs\" }\n";
    Sandbox::new(&format!("{SCRIPTED}\n{schedule}"), SHIFT, FINDS)
}

#[test]
fn next_runs_are_shown_with_zone_distance_and_category() {
    let sandbox = nightly();
    let ran = sandbox.acquit(&["schedule", "next", "-n", "6"]).must(0);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 7);
    for line in &lines[1..] {
        assert!(line.contains("02:30 CE"), "{line}");
        let category = [("Mon", "tests"), ("Tue", "refactoring"), ("Wed", "docs")];
        assert!(
            category.iter().any(|(day, category)| line.contains(day) && line.ends_with(category)),
            "{line}"
        );
        assert!(line.contains("(in "), "{line}");
    }
    let json = sandbox.acquit(&["schedule", "list", "--json"]).must(0).json();
    assert_eq!((&json[0]["name"], &json[0]["state"]), (&"night".into(), &"on".into()));
    assert!(json[0]["next"]["at"].is_i64());
}

#[test]
fn a_paused_schedule_is_not_followed_until_it_is_resumed() {
    let sandbox = due(&today("category = \"tests\""), FINDS);
    sandbox.acquit(&["schedule", "pause", "night"]).must(0).said("night paused");
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert!(held(&sandbox).is_empty());
    sandbox.acquit(&["schedule", "list"]).must(0).said("paused");
    sandbox.acquit(&["schedule", "resume", "night"]).must(0).said("night resumed");
    crate::make_due(&sandbox);
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert_eq!(held(&sandbox).len(), 1);
}

#[test]
fn mistakes_in_a_schedule_are_told_with_their_place() {
    let bad = "[[schedule]]\nname = \"night\"\ncron = \"61 2 * * *\"\nworkflow = \"flow\"\ncategory = { monday = \"tests\" }\n\
        order = \"beside\"\nhours = \"late\"\nrepositories = [\"https://me:word@host/a.git\"]\n[[schedule]]\nname = \"other\"\n";
    let sandbox = Sandbox::new(&format!("{SCRIPTED}\n{bad}"), SHIFT, FINDS);
    let ran = sandbox.acquit(&["workflow", "check"]).must(2);
    for words in [
        "`61` is not a minute from 0 to 59",
        "`monday` is not a weekday",
        "unknown order `beside`",
        "`late` are not hours of the day",
        "an address has a login in it",
        "[[schedule]] has no `cron`",
        "[[schedule]] has no `workflow`",
    ] {
        ran.said(words);
    }
    assert!(!ran.err.contains("me:word") || ran.err.contains("  | "), "only the user's own line shows it");
}

#[test]
fn a_zone_that_nobody_knows_is_told() {
    let sandbox =
        Sandbox::new(&format!("{SCRIPTED}\n{}", today("").replace("UTC", "Europe/Berlim")), SHIFT, FINDS);
    sandbox
        .acquit(&["schedule", "next"])
        .must(2)
        .said("find the time zone `Europe/Berlim` of the schedule `night`");
}

#[test]
fn a_schedule_that_names_what_is_not_there_is_a_mistake() {
    let bad = "[[schedule]]\nname = \"night\"\ncron = \"30 2 * * *\"\nzone = \"Europe/Berln\"\nworkflow = \"flow\"\n\
        category = { mon = \"tests\", tue = \"typos\" }\n[[schedule]]\nname = \"day\"\ncron = \"0 9 * * *\"\nworkflow = \"flwo\"\n";
    let sandbox = Sandbox::new(&format!("{SCRIPTED}\n{bad}"), SHIFT, FINDS);
    let ran = sandbox.acquit(&["workflow", "check"]).must(2);
    for words in [
        "schedule `night`: unknown time zone `Europe/Berln`",
        "did you mean `Europe/Berlin`?",
        "schedule `night`: workflow `flow` has no category `typos`",
        "schedule `day`: unknown workflow `flwo`",
        "zone = \"Europe/Berln\"",
    ] {
        ran.said(words);
    }
}

#[test]
fn one_bad_time_zone_does_not_hide_the_other_schedules() {
    let two = "[[schedule]]\nname = \"bad\"\ncron = \"30 2 * * *\"\nzone = \"Mars/Base\"\nworkflow = \"flow\"\n\
        [[schedule]]\nname = \"good\"\ncron = \"30 2 * * *\"\nworkflow = \"flow\"\n";
    let sandbox = Sandbox::new(&format!("{SCRIPTED}\n{two}"), SHIFT, FINDS);
    for verb in ["list", "next"] {
        let ran = sandbox.acquit(&["schedule", verb]).must(0);
        ran.said("good");
        ran.said("Mars/Base");
    }
    sandbox.acquit(&["schedule", "next", "bad"]).must(2).said("Mars/Base");
}

#[test]
fn running_a_schedule_by_hand_never_takes_a_category_that_nobody_named() {
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let all: Vec<String> = days.iter().map(|day| format!("{day} = \"tests\"")).collect();
    let schedule = |category: &str| {
        format!(
            "{SCRIPTED}\n[[schedule]]\nname = \"night\"\ncron = \"30 2 * * *\"\nzone = \"UTC\"\nworkflow = \"flow\"\ncategory = {category}\n"
        )
    };
    // Whatever day it is, the schedule names only the day after tomorrow.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let other = days[usize::try_from((now + 3 + 2) % 7).unwrap()];
    let sandbox = Sandbox::new(&schedule(&format!("{{ {other} = \"tests\" }}")), SHIFT, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(2).said("no category for today");
    sandbox.acquit(&["schedule", "run", "night", "--category", "nonsense"]).must(2).said("its categories:");
    assert!(held(&sandbox).is_empty());
    let sandbox = Sandbox::new(&schedule(&format!("{{ {} }}", all.join(", "))), SHIFT, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    assert_eq!(held(&sandbox).len(), 1);
}
