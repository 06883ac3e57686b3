//! What follows from the way a leg ends, rule by rule.

use acquit_core::change::Change;
use acquit_core::decide::Input;
use acquit_core::human_request::Ask;
use acquit_core::leg::{Ending, Purpose, Report};
use acquit_core::task::{End, State};
use acquit_core::time::Span;
use acquit_core::workflow::{Mode, Target, Work};

use crate::kit::*;

#[test]
fn exactly_one_transition_is_taken_by_itself() {
    let flow = workflow(
        vec![
            stage("code", agent()).on("ready", &["test"]),
            stage("test", Work::Check).on("passed", &["done"]),
        ],
        &[],
    );
    let mut way = Way::begun(flow);
    assert_eq!(way.at(), "code");
    way.end(passed("ready"));
    assert_eq!(way.at(), "test");
    way.end(passed("passed"));
    assert_eq!(way.task.state, State::Ended { end: End::Done });
}

#[test]
fn no_transition_or_several_ask_a_person_and_stay() {
    let code = stage("code", agent()).on("none", &[]).on("two", &["code", "done"]);
    let flow = workflow(vec![code], &[]);
    for (outcome, ask) in [
        ("none", Ask::Stuck),
        ("unheard_of", Ask::Stuck),
        ("two", Ask::Choice { options: vec![target("code"), Target::Done] }),
    ] {
        let mut way = Way::begun(flow.clone());
        way.end(passed(outcome));
        assert_eq!((way.ask(), way.open().stage.as_str()), (&ask, "code"), "{outcome}");
        assert!(way.open().question.contains(outcome), "the outcome is shown: {}", way.open().question);
    }
}

#[test]
fn the_words_lead_where_they_say() {
    for (word, state) in [("done", "done"), ("failed", "failed"), ("person", "waiting"), ("back", "waiting")]
    {
        let mut way = Way::begun(workflow(vec![stage("code", agent()).on("ready", &[word])], &[]));
        way.end(passed("ready"));
        assert_eq!(way.word(), state, "{word}");
    }
}

#[test]
fn a_failed_task_says_what_its_stage_said() {
    let mut way = Way::begun(workflow(vec![stage("code", agent()).on("ready", &["failed"])], &[]));
    way.end(passed("ready"));
    assert_eq!(way.task.state, State::Ended { end: End::Failed { reason: "it is ready".to_owned() } });
}

#[test]
fn what_was_mended_after_a_review_is_reviewed_anew() {
    let mut review = agent();
    if let Work::Agent(work) = &mut review {
        work.mode = Mode::Review;
    }
    let flow = workflow(
        vec![
            stage("review", review).on("approved", &["done"]).fixed_by("mend"),
            stage("mend", agent()).on("fixed", &["back"]),
        ],
        &[("test", 2)],
    );
    let mut way = Way::begun(flow);
    way.end(rejected("approved", &["test"]));
    way.end(passed("fixed"));
    assert_eq!((way.at().as_str(), &way.entry().purpose), ("review", &Purpose::Work));
}

#[test]
fn a_fix_loop_goes_to_the_fix_stage_and_back_and_on_with_the_first_outcome() {
    let flow = workflow(
        vec![
            stage("code", agent()).on("ready", &["review"]).on("fixed", &["failed"]).fixed_by("mend"),
            stage("mend", agent()).on("fixed", &["back"]),
            stage("review", agent()).on("ok", &["done"]),
        ],
        &[("test", 2)],
    );
    let mut way = Way::begun(flow);
    way.end(rejected("ready", &["test"]));
    assert_eq!((way.at().as_str(), way.spent("test")), ("mend fixes code", 1));
    match &way.entry().purpose {
        Purpose::Fix { outcome, failures, .. } => {
            assert_eq!((outcome.name.as_str(), failures.as_slice()), ("ready", &[failure("test")][..]));
        }
        other => panic!("{other:?}"),
    }
    way.end(passed("fixed"));
    assert_eq!(way.at(), "code rechecks ready");
    way.end(rejected("ready", &["test"]));
    assert_eq!((way.at().as_str(), way.spent("test")), ("mend fixes code", 2));
    way.ends([passed("fixed"), passed("ready")]);
    assert_eq!(way.at(), "review");
}

#[test]
fn a_fix_that_is_rejected_itself_mends_on_for_the_same_stage() {
    let flow = workflow(
        vec![
            stage("code", agent()).on("ready", &["done"]).fixed_by("mend"),
            stage("mend", agent()).on("fixed", &["back"]).fixed_by("code"),
        ],
        &[("test", 1), ("lint", 1)],
    );
    let mut way = Way::begun(flow);
    way.ends([rejected("ready", &["test"]), rejected("fixed", &["lint"])]);
    assert_eq!(way.at(), "mend fixes code");
    way.end(passed("fixed"));
    assert_eq!(way.at(), "code rechecks ready");
}

#[test]
fn without_a_fix_stage_the_stage_itself_is_tried_again() {
    let mut way = Way::begun(workflow(vec![stage("code", agent()).on("ready", &["done"])], &[("lint", 1)]));
    way.end(rejected("ready", &["lint"]));
    assert_eq!(way.at(), "code");
}

#[test]
fn a_person_can_be_the_one_who_mends() {
    let flow = workflow(
        vec![
            stage("code", agent()).on("ready", &["done"]).fixed_by("mend"),
            stage("mend", human()).on("mended", &["back"]),
        ],
        &[("test", 1)],
    );
    let mut way = Way::begun(flow);
    way.end(rejected("ready", &["test"]));
    assert_eq!(way.ask(), &Ask::Stage { outcomes: vec![name("mended")] });
    way.answer(choose("mended")).unwrap();
    assert_eq!(way.at(), "code rechecks ready");
}

#[test]
fn each_kind_has_its_own_budget_and_an_empty_one_asks_a_person() {
    let flow = workflow(vec![stage("code", agent()).on("ready", &["done"])], &[("lint", 2), ("test", 1)]);
    let mut way = Way::begun(flow);
    way.ends([rejected("ready", &["lint"]), rejected("ready", &["test"]), rejected("ready", &["lint"])]);
    assert_eq!((way.spent("lint"), way.spent("test"), way.word()), (2, 1, "working"));
    way.end(rejected("ready", &["lint"]));
    assert_eq!(way.ask(), &Ask::Budget { budget: name("lint") });
}

#[test]
fn two_kinds_at_once_spend_both_or_neither() {
    let flow = workflow(vec![stage("code", agent()).on("ready", &["done"])], &[("lint", 2), ("test", 1)]);
    let mut way = Way::begun(flow);
    way.end(rejected("ready", &["test", "lint", "lint"]));
    assert_eq!((way.spent("lint"), way.spent("test")), (1, 1));
    way.end(rejected("ready", &["test", "lint"]));
    assert_eq!(way.ask(), &Ask::Budget { budget: name("test") });
    assert_eq!((way.spent("lint"), way.spent("test")), (1, 1), "nothing was tried, so nothing is spent");
}

#[test]
fn a_rejection_without_a_failure_is_not_free() {
    let mut way = Way::begun(workflow(vec![stage("code", agent()).on("ready", &["done"])], &[("gate", 1)]));
    way.end(rejected("ready", &[]));
    assert_eq!(way.spent("gate"), 1);
    way.end(rejected("ready", &[]));
    assert_eq!(way.ask(), &Ask::Budget { budget: name("gate") });
}

#[test]
fn a_failed_leg_is_tried_again_later_each_time_and_then_takes_the_failed_transition() {
    let flow = workflow(
        vec![stage("code", agent()).on("failed", &["help"]), stage("help", agent())],
        &[("agent", 2), ("limit", 1)],
    );
    let mut way = Way::begun(flow);
    let delays = [way.end(failed("agent")), way.end(failed("agent"))]
        .map(|changes| changes.iter().map(|change| change.delay().as_secs()).sum::<u64>());
    assert_eq!(delays, [2, 4]);
    way.end(Ending::TimedOut { reason: "too slow".to_owned() });
    assert_eq!((way.at().as_str(), way.spent("limit")), ("code", 1));
    way.end(failed("agent"));
    assert_eq!(way.at(), "help");
    way.end(failed("unknown_kind"));
    assert_eq!(way.ask(), &Ask::Budget { budget: name("unknown_kind") });
}

#[test]
fn work_that_is_rejected_too_often_takes_the_failed_transition_where_there_is_one() {
    let flow = workflow(
        vec![
            stage("code", agent()).on("ready", &["done"]).on("failed", &["next-variation"]).fixed_by("mend"),
            stage("mend", agent()).on("fixed", &["back"]),
        ],
        &[("test", 1)],
    );
    let mut way = Way::begun(varying(flow, &["tests", "docs"], 0));
    way.ends([rejected("ready", &["test"]), passed("fixed")]);
    assert_eq!((way.at().as_str(), way.spent("test")), ("code rechecks ready", 1));
    way.end(rejected("ready", &["test"]));
    assert_eq!((way.at().as_str(), way.spent("test")), ("code", 0), "the next value has budgets of its own");
    assert_eq!(way.task.tried[0].value, "tests");
    assert!(way.task.tried[0].reason.contains("rejected by"), "{:?}", way.task.tried);
}

#[test]
fn a_transition_can_spend_a_budget_of_its_own() {
    let flow = workflow(
        vec![
            stage("code", agent()).on("ready", &["review"]),
            stage("review", agent()).on("changes", &["code"]).spending("changes", "round"),
        ],
        &[("round", 1)],
    );
    let mut way = Way::begun(flow);
    way.ends([passed("ready"), passed("changes"), passed("ready"), passed("changes")]);
    assert_eq!(way.ask(), &Ask::Budget { budget: name("round") });
    way.answer(approve()).unwrap();
    assert_eq!((way.at().as_str(), way.spent("round")), ("code", 1), "once more, and on to where it led");
}

#[test]
fn a_fallback_is_named_after_what_was_tried_first() {
    let find = stage("find", agent()).on("nothing", &["next-variation"]).on("found", &["done"]);
    let mut way = Way::begun(varying(workflow(vec![find], &[]), &["tests", "refactoring", "docs"], 0));
    assert_eq!(way.task.fallback(), None);
    way.end(passed("nothing"));
    assert_eq!(way.task.fallback().as_deref(), Some("refactoring (fallback from tests)"));
    way.end(passed("nothing"));
    assert_eq!(way.task.fallback().as_deref(), Some("docs (fallback from tests)"));
    way.end(passed("nothing"));
    assert_eq!(way.task.fallback(), None, "nothing is left");
}

#[test]
fn variations_go_round_from_the_first_and_end_with_every_reason() {
    let find = stage("find", agent()).on("nothing", &["next-variation"]).on("found", &["done"]);
    let mut way = Way::begun(varying(workflow(vec![find], &[]), &["tests", "docs", "speed"], 1));
    let value = |way: &Way| way.task.variation_value(&way.workflow).unwrap();
    let mut seen = Vec::new();
    for number in 1..=3 {
        seen.push(value(&way));
        let leg = way.task.legs;
        let ending = Ending::Passed { outcome: outcome("nothing", &format!("reason {number}")) };
        let report = Report { tip: Some("work".to_owned()), ..Report::bare(ending) };
        way.give(Input::LegEnded { leg, report: Box::new(report) }).unwrap();
        assert_eq!(way.task.tip, "base", "each value starts from the base");
    }
    assert_eq!(seen, ["docs", "speed", "tests"]);
    assert_eq!(way.task.state, State::Ended { end: End::NoImprovement });
    let reasons: Vec<(&str, &str)> =
        way.task.tried.iter().map(|tried| (tried.value.as_str(), tried.reason.as_str())).collect();
    assert_eq!(reasons, [("docs", "reason 1"), ("speed", "reason 2"), ("tests", "reason 3")]);

    way.retry(None).unwrap();
    assert_eq!((value(&way).as_str(), way.task.tried.len()), ("docs", 0), "another try tries them all again");
}

#[test]
fn an_agent_that_broke_in_every_variation_has_failed() {
    let find = || stage("find", agent()).on("nothing", &["next-variation"]).on("failed", &["next-variation"]);
    let broken = || Ending::Failed { kind: name("agent"), reason: "exit 1".to_owned() };
    let none = [("agent", 0)];
    let mut way = Way::begun(varying(workflow(vec![find()], &none), &["tests", "docs"], 0));
    way.end(broken());
    way.end(broken());
    let reason = "tests: exit 1; docs: exit 1".to_owned();
    assert_eq!(way.task.state, State::Ended { end: End::Failed { reason } });
    way.retry(None).unwrap();
    let value = way.task.variation_value(&way.workflow);
    assert_eq!((value.as_deref(), way.task.tried.len()), (Some("tests"), 0), "all are tried again");

    let mut way = Way::begun(varying(workflow(vec![find()], &none), &["tests", "docs"], 0));
    way.end(broken());
    way.end(Ending::Passed { outcome: outcome("nothing", "all is tested") });
    assert_eq!(way.task.state, State::Ended { end: End::NoImprovement }, "somebody looked");
}

#[test]
fn a_plan_is_not_carried_over_to_the_next_variation() {
    let find = stage("find", agent()).on("nothing", &["next-variation"]);
    let mut way = Way::begun(varying(workflow(vec![find], &[]), &["tests", "docs"], 0));
    let mut report = Report::bare(passed("nothing"));
    report.artifacts.push(acquit_core::artifact::Artifact::Plan { text: "old".to_owned() });
    way.give(Input::LegEnded { leg: 1, report: Box::new(report) }).unwrap();
    assert_eq!(way.task.plan(), None);
}

#[test]
fn a_leg_that_the_provider_holds_is_tried_later_and_spends_no_retry() {
    let mut way = Way::begun(workflow(vec![stage("code", agent())], &[("usage", 2)]));
    let held = |wait: u64| Ending::Held {
        kind: name("usage"),
        wait: Span::from(wait),
        reason: "the limit resets at nine".to_owned(),
    };
    let changes = way.end(held(5_000));
    assert!(
        matches!(&changes[..], [Change::LegEnded { .. }, Change::BudgetSpent { .. },
        Change::LegReadied { leg: 2, delay, .. }] if *delay == Span::from(5_000)),
        "{changes:?}"
    );
    assert_eq!((way.at().as_str(), way.task.spent.len()), ("code", 1));
    way.end(held(1));
    way.end(held(1));
    assert!(matches!(way.task.state, State::Waiting { .. }), "not for ever");
}

#[test]
fn a_login_that_is_not_accepted_goes_to_a_person_at_once() {
    let stage = stage("code", agent()).on("failed", &["done"]);
    let mut way = Way::begun(workflow(vec![stage], &[]));
    way.end(Ending::Failed { kind: name("login"), reason: "claude: the login has expired".to_owned() });
    let State::Waiting { request } = &way.task.state else { panic!("{:?}", way.task.state) };
    assert_eq!((&request.ask, way.task.spent.len()), (&Ask::Stuck, 0));
    assert!(request.question.contains("the login has expired"), "{}", request.question);
}
