//! `acquit prompt show`: what would be sent, for people to read.

use crate::common::Sandbox;
use crate::{PROJECT, UNUSED, project};

#[test]
fn a_prompt_is_shown_without_a_task_with_role_step_and_outcomes_in_their_order() {
    let sandbox = project("");
    let args = ["prompt", "show", "--workflow", "nightshift", "--stage", "analyze", "Night shift", "--json"];
    let shown = sandbox.acquit(&args).must(0).json();
    let names: Vec<&str> =
        shown["sections"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["rules", "mode", "role", "tools", "step", "task", "outcomes", "report"]);
    let text = |name: &str| {
        let found = shown["sections"].as_array().unwrap().iter().find(|one| one["name"] == name);
        found.unwrap()["text"].as_str().unwrap().to_owned()
    };
    // The guidance of the category that is tried first, and of no other.
    assert!(text("step").contains("**tests**: behaviour that is not tested"));
    assert!(!text("step").contains("**docs**"));
    assert!(text("tools").contains("You may not: change files of the repository"));
    assert!(text("task").contains("This turn is about: tests"));
    sandbox.acquit(&["prompt", "show", "--stage", "merge", "x"]).must(2).said("has no agent");
    sandbox.acquit(&["prompt", "show", "--section", "nothing", "x"]).must(2).said("there are: rules, mode");
}

#[test]
fn a_tasks_prompt_is_what_its_leg_was_sent_with_secrets_absent() {
    let config = format!("{PROJECT}\n[secrets]\nTHE_KEY = {{ env = \"THE_KEY\" }}\n");
    let sandbox = Sandbox::new(&config, UNUSED, "").with("THE_KEY", "hunter2-hunter2-hunter2");
    let wish = "a wish with hunter2-hunter2-hunter2 in it";
    sandbox.acquit(&["task", "add", "Do it", "--description", wish]).must(0);
    let shown = sandbox.acquit(&["prompt", "show", "T-1"]).must(0);
    shown.said("# Your part: planner");
    shown.said("a wish with");
    assert!(!shown.out.contains("hunter2"), "{}", shown.out);
}

#[test]
fn a_variation_begins_where_it_is_told_and_only_there() {
    let sandbox = project("");
    let add = ["task", "add", "-w", "nightshift", "Night", "--var", "category=docs"];
    sandbox.acquit(&add).must(0);
    let shown = sandbox.acquit(&["prompt", "show", "T-1", "--section", "step"]).must(0);
    shown.said("Tonight's category is **docs**");
    sandbox
        .acquit(&["task", "add", "-w", "nightshift", "Night", "--var", "category=dreams"])
        .must(2)
        .said("tests, refactoring, docs, security, performance");
}
