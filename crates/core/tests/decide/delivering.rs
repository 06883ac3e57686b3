//! From green work to the base branch: conflicts, gates that speak again, merging by a person, and consent.

use acquit_core::change::Change;
use acquit_core::decide::{Illegal, Input};
use acquit_core::human_request::{Answer, Ask};
use acquit_core::leg::{Ending, Report};
use acquit_core::task::Task;
use acquit_core::workflow::{Action, Commits, Target, Work, Workflow};

use crate::kit::{Build, Way, action, agent, name, passed, rejected, stage, workflow};

fn conflict() -> Ending {
    let reason = "main has moved, and the work conflicts with it in f".to_owned();
    Ending::Conflict { onto: "moved".to_owned(), hunks: Vec::new(), reason }
}

fn flow(work: Work) -> Workflow {
    let mut code = stage("code", agent()).on("ready", &["deliver"]).fixed_by("mend");
    code.gates = vec![name("test")];
    let stages = vec![
        code,
        stage("mend", agent()).on("fixed", &["back"]),
        stage("unite", agent()).on("resolved", &["back"]),
        stage("deliver", work).on("done", &["done"]),
    ];
    Workflow { conflict: Some(name("unite")), ..workflow(stages, &[("conflict", 2), ("test", 2)]) }
}

#[test]
fn a_conflict_goes_to_its_stage_and_back_to_the_stage_that_met_it() {
    let mut way = Way::begun(flow(action()));
    way.ends([passed("ready"), conflict()]);
    assert_eq!((way.at().as_str(), way.spent("conflict")), ("unite resolves for deliver", 1));
    way.end(rejected("resolved", &["conflict"]));
    assert_eq!((way.at().as_str(), way.spent("conflict")), ("unite resolves for deliver", 2));
    way.end(passed("resolved"));
    assert_eq!(way.at(), "deliver");
    way.end(conflict());
    assert_eq!(way.ask(), &Ask::Budget { budget: name("conflict") }, "it cannot go on for ever");
}

#[test]
fn without_a_stage_for_conflicts_a_person_is_asked_and_nothing_is_spent() {
    let mut way = Way::begun(Workflow { conflict: None, ..flow(action()) });
    way.ends([passed("ready"), conflict()]);
    assert_eq!((way.ask(), way.spent("conflict")), (&Ask::Stuck, 0));
    way.answer(Answer::Approve).unwrap();
    assert_eq!(way.at(), "deliver");
}

#[test]
fn what_stands_against_a_delivery_is_mended_by_whoever_mends_the_gated_stage() {
    let mut way = Way::begun(flow(action()));
    way.ends([passed("ready"), rejected("done", &["test"])]);
    assert_eq!(way.at(), "mend fixes deliver");
    way.end(passed("fixed"));
    assert_eq!(way.at(), "deliver rechecks done");
}

#[test]
fn a_base_that_moved_is_part_of_the_history_and_proof_counts_only_if_the_leg_passed() {
    let mut way = Way::begun(flow(action()));
    let moved = |ending| Report {
        base: Some("moved".to_owned()),
        proven: Some("moved".to_owned()),
        ..Report::bare(ending)
    };
    let report = Box::new(moved(rejected("ready", &["test"])));
    way.give(Input::LegEnded { leg: 1, report }).unwrap();
    assert_eq!((way.task.base(), way.task.proven.as_deref()), ("moved", None));
    way.end(passed("fixed"));
    let report = Box::new(moved(passed("ready")));
    way.give(Input::LegEnded { leg: 3, report }).unwrap();
    assert_eq!(way.task.proven.as_deref(), Some("moved"));
    assert_eq!(Task::replay(&way.changes).unwrap(), way.task);
}

#[test]
fn a_person_merges_what_is_done_and_only_that() {
    let mut way = Way::begun(flow(action()));
    assert!(matches!(way.give(Input::Merge), Err(Illegal::State { .. })));
    way.ends([passed("ready"), passed("done")]);
    let changes = way.give(Input::Merge).unwrap();
    assert!(matches!(changes.last(), Some(Change::LegReadied { .. })));
    assert_eq!(way.at(), "deliver merges");
    way.end(conflict());
    assert_eq!(way.ask(), &Ask::Stuck, "an agent that resolves it is paid, so the person is asked first");
    way.answer(Answer::Approve).unwrap();
    assert_eq!(way.at(), "unite resolves for deliver");
    way.end(passed("resolved"));
    assert_eq!(way.at(), "deliver merges", "it is still to be merged");
    way.end(passed("done"));
    assert_eq!(way.word(), "done");
}

#[test]
fn a_bound_task_asks_before_it_merges_and_once() {
    let merge = Work::Action { action: Action::Merge, commits: Commits::One };
    for (tag, asks) in [("irreversible", true), ("approval", true), ("docs", false)] {
        let mut way = Way::new(flow(merge.clone()));
        way.task.seed.wish.tags.push(tag.to_owned());
        way.give(Input::Begin).unwrap();
        way.end(passed("ready"));
        if asks {
            assert_eq!(way.ask(), &Ask::Approval { to: Target::Stage(name("deliver")) }, "{tag}");
            way.answer(Answer::Approve).unwrap();
        }
        assert_eq!(way.at(), "deliver", "{tag}");
    }
}
