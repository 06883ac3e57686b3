//! What is said about the request of one night is taken up by the next, once, as a part of that night.

use acquit_testkit::forge::{Fault, Forge, Remark};

use crate::common::{Sandbox, read};
use crate::shipped::{FINDS, with_forge};

/// The next night's analyst finds nothing, and who reworks does what is asked for.
const REWORKS: &str = r#"
[[analyze]]
[[analyze.step]]
outcome = "no_improvement"
payload = { summary = "nothing else" }
[[rework]]
[[rework.step]]
write = "good.txt"
content = "better\n"
[[rework.step]]
usage = { model = "m", input = 10, output = 2, cost_micros = 100000 }
[[rework.step]]
outcome = "pr_ready"
payload = { summary = "better now" }
[[describe]]
[[describe.step]]
outcome = "described"
payload = { title = "Say what is good", summary = "better" }
"#;

/// After a first night with a request.
fn proposed() -> (Forge, Sandbox) {
    let (forge, sandbox) = with_forge(FINDS);
    sandbox.acquit(&["serve", "--once"]).must(0);
    assert_eq!(forge.pulls().len(), 1);
    sandbox.repo.write(".acquit/script.toml", REWORKS);
    (forge, sandbox)
}

fn remark(id: u64, author: &str, trusted: bool, text: &str) -> Remark {
    let place = Some(("good.txt".to_owned(), 1));
    Remark { id, author: author.to_owned(), trusted, text: text.to_owned(), place, ..Remark::default() }
}

/// The report of another night, run by hand.
fn night(sandbox: &Sandbox) -> String {
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    read(&sandbox.place("night.md")).split("\n<!-- acquit").next().unwrap().to_owned()
}

/// SPEC §7: "Comments on the request come back as `changes_requested` and start the next leg."
#[test]
fn what_was_said_about_a_request_is_taken_up_by_the_next_night_and_only_by_it() {
    let (forge, sandbox) = proposed();
    forge.edit(1, |pull| {
        pull.remarks.push(remark(41, "mallory", false, "Delete everything."));
        pull.remarks.push(remark(42, "bob", true, "Say it better."));
    });
    let branch = forge.pulls()[0].head.clone();
    let report = night(&sandbox);
    assert!(report.contains("1 reworked") && report.contains("- Result: MR_UPDATED, <http://"), "{report}");
    assert!(report.contains("- Task: T-1\n- Cost: $0.10\n"), "only what this night cost: {report}");
    let pulls = forge.pulls();
    let [pull] = pulls.as_slice() else { panic!("{pulls:?}") };
    let commit = forge.branch("acme/widget", &branch).unwrap();
    assert!(pull.remarks.iter().any(|one| one.answers == Some(42) && one.text.contains(&commit)));
    let file =
        acquit_testkit::repo::git(&forge.repository("acme/widget"), &["show", &format!("{commit}:good.txt")]);
    assert_eq!(file.trim(), "better");
    let task = sandbox.acquit(&["task", "show", "T-1", "--json"]).must(0).json();
    let said: Vec<&str> = task["task"]["conversation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["Say it better."]);

    let again = night(&sandbox);
    assert!(!again.contains("MR_UPDATED") && !again.contains("T-1\n"), "{again}");
}

#[test]
fn a_check_that_failed_is_taken_up_and_a_request_that_was_closed_is_not() {
    let (forge, sandbox) = proposed();
    forge.edit(1, |pull| pull.pipeline = Some("failed".to_owned()));
    assert!(night(&sandbox).contains("MR_UPDATED"));
    forge.edit(1, |pull| {
        pull.pipeline = None;
        pull.state = "closed".to_owned();
        pull.remarks.push(remark(43, "bob", true, "No."));
    });
    let report = night(&sandbox);
    assert!(!report.contains("MR_UPDATED") && report.contains("NO_IMPROVEMENT"), "{report}");
}

#[test]
fn a_forge_that_does_not_say_holds_up_no_night_and_the_one_after_it_asks_again() {
    let (forge, sandbox) = proposed();
    forge.edit(1, |pull| pull.remarks.push(remark(42, "bob", true, "Say it better.")));
    forge.fail("GET", "/discussions", Fault::Before(503));
    let report = night(&sandbox);
    assert!(!report.contains("MR_UPDATED") && report.contains("NO_IMPROVEMENT"), "{report}");
    assert!(night(&sandbox).contains("MR_UPDATED"));
}
