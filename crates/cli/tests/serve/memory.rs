//! What earlier nights proposed is told to the analyst, and held against what it proposes.

use acquit_testkit::forge::{Dialect, Forge, Rights};

use crate::common::read;
use crate::{FINDS, due, held, make_due, today};

/// An analyst that has the same idea again, in other words, and then no other.
const AGAIN: &str = r#"
[[analyze]]
step = [
    { output = "plan.md", content = "Tests of the parser.\n" },
    { outcome = "plan_complete", payload = { summary = "found", candidates = [ { files = ["src/parse.rs"], description = "Tests for the parser", rationale = "x" } ] } },
]
[[analyze]]
step = [ { outcome = "no_improvement", payload = { summary = "nothing new" } } ]
"#;

/// SPEC §4: "A nightly run does not try again what already failed the same way, nor open a second request for the same change."
#[test]
fn what_was_proposed_before_is_told_and_refused() {
    let config = today("category = \"tests\"") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    sandbox.repo.write(".acquit/script.toml", AGAIN);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let prompt = read(&sandbox.place("acquit/tasks/T-2/legs/1/prompt.md"));
    assert!(prompt.contains("Test the parser (src/parse.rs): proposed, not yet decided, T-1"), "{prompt}");
    let shown = sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
    let first = &shown["task"]["past"][0]["ending"];
    assert_eq!(first["type"], "failed");
    assert!(first["reason"].as_str().unwrap().contains("was proposed before (T-1"), "{first}");
    assert_eq!(shown["task"]["state"]["end"]["type"], "no_improvement");
}

#[test]
fn a_merged_proposal_can_have_a_successor_and_a_removed_branch_cannot() {
    let config = today("category = \"tests\"");
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let branch = sandbox.task().seed.branch;
    sandbox.repo.git(&["merge", "--quiet", "--ff-only", &branch]);
    sandbox.repo.write(".acquit/script.toml", &FINDS.replace("work.txt", "more.txt"));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let second = sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
    assert_eq!(second["task"]["state"]["end"]["type"], "done", "{}", second["task"]["past"]);
    let branch = second["task"]["seed"]["branch"].as_str().unwrap().to_owned();
    sandbox.repo.git(&["branch", "--quiet", "-D", &branch]);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let prompt = read(&sandbox.place("acquit/tasks/T-3/legs/1/prompt.md"));
    assert!(prompt.contains("closed without being merged, T-2"), "{prompt}");
}

#[test]
fn a_repository_with_enough_open_requests_is_left_alone() {
    let config = today("category = \"tests\"\nmost_open = 1") + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    make_due(&sandbox);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("SKIPPED, 1 requests of earlier nights are not yet decided"), "{report}");
    assert_eq!(held(&sandbox).len(), 2);
    assert_eq!(crate::tasks(&sandbox), 1);
}

/// SPEC §4: "… nor open a second request for the same change", and issue lines "not again what was closed", "a cap on open ones": by what the
/// forge says, because a squashed merge is in no history of the repository.
#[test]
fn what_became_of_a_request_is_asked_of_the_forge() {
    const TOKEN: &str = "glpat-0nlyTheForgeMayKnow12345";
    let forge = Forge::start(Dialect::GitLab);
    let config = today("category = \"tests\"\nmost_open = 1")
        + &format!(
            "[report]\nfile = \"../night.md\"\n[forge]\nkind = \"gitlab\"\nhost = \"{}\"\n",
            forge.host()
        );
    let sandbox = due(&config, FINDS).with("GITLAB_TOKEN", TOKEN).with("GITLAB_HOST", forge.host());
    sandbox.repo.write(".acquit/workflows/flow.toml", &crate::SHIFT.replace("squash", "publish"));
    sandbox.repo.git(&["remote", "add", "origin", &forge.url("acme/widget")]);
    forge.project("acme/widget", sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Write);
    let night = || {
        sandbox.acquit(&["schedule", "run", "night"]).must(0);
        let report = read(&sandbox.place("night.md"));
        report.split("\n<!-- acquit").next().unwrap().to_owned()
    };
    let first = night();
    assert!(first.contains("MR_CREATED"), "{first}");
    let full = night();
    assert!(full.contains("SKIPPED, 1 requests of earlier nights are not yet decided"), "{full}");
    // Closed without being merged: there is room again, and the same is refused.
    forge.edit(1, |pull| pull.state = "closed".to_owned());
    sandbox.repo.write(".acquit/script.toml", AGAIN);
    let refused = night();
    assert!(!refused.contains("MR_CREATED") && refused.contains("NO_IMPROVEMENT"), "{refused}");
    let prompt = read(&sandbox.place("acquit/tasks/T-2/legs/1/prompt.md"));
    assert!(prompt.contains("closed without being merged, T-1"), "{prompt}");
    // Merged as one commit: the same files may have a successor.
    forge.edit(1, |pull| pull.state = "merged".to_owned());
    sandbox.repo.write(".acquit/script.toml", FINDS);
    let again = night();
    assert!(again.contains("MR_CREATED"), "{again}");
    assert_eq!(forge.pulls().len(), 2);
}
