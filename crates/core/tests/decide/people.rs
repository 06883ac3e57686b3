//! What follows from what people say: answers, approvals, another try.

use acquit_core::decide::{Illegal, Input};
use acquit_core::human_request::{Ask, Choice, Kind, Question};
use acquit_core::task::{End, State};
use acquit_core::workflow::{Consent, Stage, Target};

use crate::kit::*;

fn code() -> Stage {
    stage("code", agent()).on("ready", &["merge"])
}

fn merge() -> Stage {
    stage("merge", action()).on("done", &["done"])
}

fn asked(text: &str) -> Ask {
    Ask::Question {
        questions: vec![Question {
            question: text.to_owned(),
            kind: Kind::Text,
            options: Vec::new(),
            recommended: None,
            context: String::new(),
        }],
    }
}

#[test]
fn a_question_with_options_takes_one_of_them_or_words() {
    let payload = serde_json::json!({
        "question": "which colour?", "kind": "choice", "recommended": "red", "context": "for the door",
        "options": ["red", { "name": "blue", "trade_offs": "fades" }, 7, { "colour": "green" }],
    });
    for (answer, heard) in [(choose("blue"), "blue"), (say("green, after all"), "green, after all")] {
        let mut way = Way::begun(workflow(vec![code(), merge()], &[]));
        let mut asking = outcome("needs_input", "");
        asking.payload = payload.clone();
        way.end(acquit_core::leg::Ending::Passed { outcome: asking });
        let Ask::Question { questions } = way.ask() else { panic!("{:?}", way.ask()) };
        let choice = |name: &str, about: &str| Choice { name: name.to_owned(), trade_offs: about.to_owned() };
        assert_eq!(questions[0].options, [choice("red", ""), choice("blue", "fades")]);
        assert_eq!((questions[0].kind, questions[0].recommended.as_deref()), (Kind::Choice, Some("red")));
        let takes = "words, or one of red, blue".to_owned();
        assert_eq!(way.answer(choose("green")), Err(Illegal::Answer { takes }));
        way.answer(answer).unwrap();
        assert_eq!((way.at(), way.task.conversation[0].text.as_str()), ("code".to_owned(), heard));
    }
}

#[test]
fn several_questions_are_asked_at_once_and_answered_in_words() {
    let mut way = Way::begun(workflow(vec![code(), merge()], &[]));
    let mut asking = outcome("needs_input", "");
    let many: Vec<_> = (0..99).map(|n| serde_json::json!({ "question": format!("q{n}") })).collect();
    asking.payload = serde_json::json!({ "questions": many });
    way.end(acquit_core::leg::Ending::Passed { outcome: asking });
    assert!(way.open().question.starts_with("1. q0\n2. q1\n"), "{}", way.open().question);
    assert!(way.open().question.ends_with("10. q9"), "bounded: {}", way.open().question);
    assert!(way.answer(choose("q0")).is_err());
    way.answer(say("so and so")).unwrap();
}

#[test]
fn a_question_waits_for_words_and_the_same_leg_is_tried_with_them() {
    let mut way = Way::begun(workflow(vec![code(), merge()], &[]));
    let mut asking = outcome("needs_input", "");
    asking.payload = serde_json::json!({ "question": "which one?" });
    way.end(acquit_core::leg::Ending::Passed { outcome: asking });
    assert_eq!((way.ask(), way.open().question.as_str()), (&asked("which one?"), "which one?"));
    for wrong in [approve(), choose("code")] {
        assert_eq!(way.answer(wrong), Err(Illegal::Answer { takes: "an answer in words".to_owned() }));
    }
    way.answer(say("the blue one")).unwrap();
    assert_eq!(way.at(), "code");
    let remark = &way.task.conversation[0];
    assert_eq!((remark.question.as_deref(), remark.text.as_str()), (Some("which one?"), "the blue one"));
}

#[test]
fn a_question_after_a_recheck_goes_on_with_the_stages_own_work() {
    let flow = workflow(
        vec![code().fixed_by("mend"), merge(), stage("mend", agent()).on("fixed", &["back"])],
        &[("test", 1)],
    );
    let mut way = Way::begun(flow);
    way.ends([rejected("needs_input", &["test"]), passed("fixed"), passed("needs_input")]);
    way.answer(say("so")).unwrap();
    assert_eq!(way.at(), "code", "the gates once more would only ask again");
}

#[test]
fn approval_after_a_stage_is_asked_before_the_task_moves_on() {
    let mut way = Way::begun(workflow(vec![code().consent(Consent::AfterIt), merge()], &[]));
    way.end(passed("ready"));
    assert_eq!(way.ask(), &Ask::Approval { to: target("merge") });
    for wrong in [say("hm"), choose("merge")] {
        assert_eq!(way.answer(wrong), Err(Illegal::Answer { takes: "approve or reject".to_owned() }));
    }
    way.answer(approve()).unwrap();
    assert_eq!(way.at(), "merge");
}

#[test]
fn an_irreversible_stage_begins_only_with_a_persons_word_also_after_another_approval() {
    let flow = workflow(vec![code().consent(Consent::AfterIt), merge().consent(Consent::BeforeIt)], &[]);
    let mut way = Way::begun(flow);
    way.end(passed("ready"));
    way.answer(approve()).unwrap();
    assert_eq!((way.ask(), way.open().stage.as_str()), (&Ask::Approval { to: target("merge") }, "merge"));
    way.answer(approve()).unwrap();
    assert_eq!(way.at(), "merge");
    way.end(failed("unknown_kind"));
    way.retry(None).unwrap();
    assert_eq!(way.ask(), &Ask::Approval { to: target("merge") }, "another try is another deed");
}

#[test]
fn approving_a_way_back_to_the_same_stage_is_new_work_not_the_old_entry() {
    let flow = workflow(
        vec![
            stage("code", agent()).on("again", &["code"]).fixed_by("mend").consent(Consent::AfterIt),
            stage("mend", agent()).on("fixed", &["back"]),
        ],
        &[("test", 1)],
    );
    let mut way = Way::begun(flow);
    way.ends([rejected("again", &["test"]), passed("fixed"), passed("again")]);
    way.answer(approve()).unwrap();
    assert_eq!(way.at(), "code");

    let ask = stage("ask", human()).on("again", &["ask"]).consent(Consent::AfterIt);
    let mut way = Way::begun(workflow(vec![ask], &[]));
    way.answer(choose("again")).unwrap();
    way.answer(approve()).unwrap();
    assert_eq!(way.ask(), &Ask::Stage { outcomes: vec![name("again")] }, "no leg for a human stage");
}

#[test]
fn the_reason_for_an_approved_end_is_the_stages_own() {
    let find = stage("find", agent()).on("nothing", &["next-variation"]).consent(Consent::AfterIt);
    let mut way = Way::begun(varying(workflow(vec![find], &[]), &["tests"], 0));
    way.end(passed("nothing"));
    way.answer(approve()).unwrap();
    assert_eq!(way.task.tried[0].reason, "it is nothing");
}

#[test]
fn a_human_stage_takes_its_own_outcomes_and_nothing_else() {
    let sign = stage("sign", human()).on("approved", &["merge"]).on("later", &["failed"]);
    let flow = workflow(vec![sign, merge()], &[]);
    let takes = Err(Illegal::Answer { takes: "one of approved, later".to_owned() });
    let mut way = Way::begun(flow.clone());
    assert_eq!(way.task.legs, 0);
    for wrong in [reject(), say("hm"), choose("merge")] {
        assert_eq!(way.answer(wrong), takes);
    }
    way.answer(approve()).unwrap();
    assert_eq!(way.at(), "merge");
    let mut way = Way::begun(flow);
    way.answer(choose("later")).unwrap();
    assert_eq!(way.word(), "failed");
}

#[test]
fn a_choice_takes_one_of_its_options() {
    let flow = workflow(vec![stage("code", agent()).on("ready", &["merge", "done"]), merge()], &[]);
    for (option, word) in [("merge", "working"), ("done", "done")] {
        let mut way = Way::begun(flow.clone());
        way.end(passed("ready"));
        for wrong in [approve(), say("merge"), choose("code")] {
            assert_eq!(way.answer(wrong), Err(Illegal::Answer { takes: "one of merge, done".to_owned() }));
        }
        way.answer(choose(option)).unwrap();
        assert_eq!(way.word(), word);
    }
}

#[test]
fn a_task_out_of_tries_goes_on_once_more_and_then_asks_again() {
    for answer in [approve(), say("try harder")] {
        let mut way = Way::begun(workflow(vec![code(), merge()], &[("test", 1), ("lint", 2)]));
        way.ends([rejected("ready", &["lint"]), rejected("ready", &["test"]), rejected("ready", &["test"])]);
        assert!(way.answer(choose("code")).is_err());
        way.answer(answer).unwrap();
        assert_eq!((way.at().as_str(), way.spent("test"), way.spent("lint")), ("code", 1, 1));
        way.end(rejected("ready", &["test"]));
        assert_eq!(way.ask(), &Ask::Budget { budget: name("test") }, "one try, and not a whole budget");
        way.retry(None).unwrap();
        assert_eq!((way.spent("test"), way.spent("lint")), (0, 0), "a retry begins anew");
    }
}

#[test]
fn approving_renews_money_only_where_money_was_spent() {
    let spent = |way: &Way| (way.task.paid_for, way.spent("agent"));
    let mut way = Way::begun(workflow(vec![code(), merge()], &[("agent", 1)]));
    way.ends([failed("agent"), failed("spent")]);
    way.answer(approve()).unwrap();
    assert_eq!(spent(&way), (2, 1), "what was asked for is granted, and nothing else");
    way.end(failed("login"));
    way.answer(approve()).unwrap();
    assert_eq!(spent(&way), (2, 1), "nobody asked for money");
}

#[test]
fn a_rejected_plan_goes_back_to_its_stage_with_the_persons_words() {
    let mut way = Way::begun(workflow(vec![code().consent(Consent::AfterIt), merge()], &[]));
    way.end(passed("ready"));
    assert!(way.open().question.contains("sends it back to code"), "{}", way.open().question);
    let reason = "needs detail".to_owned();
    way.answer(acquit_core::human_request::Answer::Reject { reason }).unwrap();
    assert_eq!(way.at(), "code");
    assert_eq!(way.task.conversation[0].text, "rejected: needs detail");
    let merge = merge().consent(Consent::BeforeIt);
    let mut way = Way::begun(workflow(vec![code(), merge], &[]));
    way.end(passed("ready"));
    assert!(way.open().question.ends_with("Rejecting ends the task"), "{}", way.open().question);
    way.answer(reject()).unwrap();
    assert_eq!(way.word(), "failed");
}

#[test]
fn each_question_has_its_own_answer_and_later_prompts_show_the_options() {
    let mut way = Way::begun(workflow(vec![code(), merge()], &[]));
    let mut asking = outcome("needs_input", "");
    asking.payload = serde_json::json!({ "questions": [
        { "question": "which colour?", "options": ["red", { "name": "blue", "trade_offs": "fades" }] },
        { "question": "how many?" },
    ]});
    way.end(acquit_core::leg::Ending::Passed { outcome: asking });
    let each = |answers: &[&str]| acquit_core::human_request::Answer::Each {
        answers: answers.iter().map(ToString::to_string).collect(),
    };
    let takes = "2 answers, one for each question".to_owned();
    for wrong in [each(&["red"]), each(&["red", " "]), each(&["a", "b", "c"])] {
        assert_eq!(way.answer(wrong), Err(Illegal::Answer { takes: takes.clone() }));
    }
    way.answer(each(&["blue", "four"])).unwrap();
    let said: Vec<_> =
        way.task.conversation.iter().map(|one| (one.question.clone(), one.text.as_str())).collect();
    let first = "which colour?\n\nOptions:\n- red\n- blue: fades".to_owned();
    assert_eq!(said, [(Some(first), "blue"), (Some("how many?".to_owned()), "four")]);
}

#[test]
fn a_no_to_anything_but_a_stage_that_can_do_it_again_ends_the_task() {
    let two = stage("code", agent()).on("two", &["code", "done"]).on("ready", &["done"]);
    let flow = workflow(vec![two.consent(Consent::AfterIt)], &[]);
    for ending in [passed("two"), passed("needs_input"), passed("what"), failed("agent")] {
        let mut way = Way::begun(flow.clone());
        way.end(ending);
        way.answer(reject()).unwrap();
        let end = End::Failed { reason: "rejected: no".to_owned() };
        assert_eq!(way.task.state, State::Ended { end });
    }
}

#[test]
fn only_the_open_request_can_be_answered() {
    let mut way = Way::begun(workflow(vec![code()], &[]));
    let answer = |request| Input::Answer { request, by: ann(), answer: approve() };
    assert!(matches!(way.give(answer(0)), Err(Illegal::State { .. })));
    way.end(passed("nowhere"));
    assert_eq!(way.give(answer(2)), Err(Illegal::NotOpen(2)));
    way.give(answer(1)).unwrap();
    assert_eq!(way.at(), "code");
}

#[test]
fn another_try_is_possible_while_waiting_and_after_a_bad_end_but_not_after_a_good_one() {
    let flow = workflow(vec![code().on("bad", &["failed"]), merge()], &[]);
    let begun = || Way::begun(flow.clone());
    let mut waiting = begun();
    waiting.end(passed("what"));
    let mut failed_end = begun();
    failed_end.end(passed("bad"));
    let mut cancelled = begun();
    cancelled.give(Input::Cancel { by: ann() }).unwrap();
    cancelled.end(passed("ready"));
    for mut way in [waiting, failed_end, cancelled] {
        assert_eq!(way.retry(Some("nowhere")), Err(Illegal::NoStage(name("nowhere"))));
        way.retry(None).unwrap();
        assert_eq!(way.at(), "code");
        assert!(matches!(way.retry(None), Err(Illegal::State { .. })), "not while it works");
    }
    let mut done = begun();
    done.ends([passed("ready"), passed("done")]);
    assert_eq!(done.word(), "done");
    assert!(matches!(done.retry(None), Err(Illegal::State { state: "done", .. })));
    assert!(matches!(done.retry(Some("code")), Err(Illegal::State { .. })));
}

#[test]
fn another_try_can_name_a_stage_and_carry_words() {
    let mut way = Way::begun(workflow(vec![code(), merge()], &[]));
    way.end(passed("what"));
    let note = Some("skip it".to_owned());
    way.give(Input::Retry { by: ann(), stage: Some(name("merge")), note }).unwrap();
    assert_eq!((way.at().as_str(), way.task.conversation[0].text.as_str()), ("merge", "skip it"));
}

#[test]
fn a_target_is_shown_as_people_choose_it() {
    for (word, value) in Target::WORDS {
        assert_eq!(value.to_string(), word);
    }
}
