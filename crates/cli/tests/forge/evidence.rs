//! The request names the tests that were red before the change and are green with it.

use acquit_testkit::forge::Dialect;
use acquit_testkit::runner;

use crate::world::World;

const WORKFLOW: &str = r#"
[gates.proof]
check = "tdd"
run = "sh run.sh"
report = { junit = "results.xml" }
tests = ["checks/**"]

[stages.code]
mode = "implement"
gates = ["proof"]
on = { pr_ready = "publish" }

[stages.publish]
kind = "action"
action = "publish"
on = { done = "done" }
"#;

/// Twenty-three new tests, one of which is called after somebody.
const SCRIPT: &str = r#"
[[code]]
step = [
    { run = "for n in $(seq 10 31); do echo word$n > checks/n$n; echo word$n >> code; done; echo ping > checks/@ada-#1; echo ping >> code; git add -A && git commit -qm work" },
    { outcome = "pr_ready", payload = { summary = "written" } },
]
"#;

#[test]
fn tests_that_were_red_and_are_green_are_named_in_the_request() {
    let world = World::new(Dialect::GitHub, WORKFLOW);
    let repo = &world.sandbox.repo;
    for (file, text) in
        [("run.sh", runner::WORDS), (".gitignore", "results.xml\n"), ("code", "one\n"), ("checks/old", "one")]
    {
        repo.write(file, text);
    }
    repo.write(".acquit/script.toml", SCRIPT);
    repo.commit("a runner");
    let there = world.forge.repository("acme/widget");
    repo.git(&["push", "--quiet", &there.to_string_lossy(), "HEAD:refs/heads/main"]);
    world.sandbox.run_to(0).said("red before, green now: ");
    let body = world.forge.pulls().remove(0).body;
    for words in [
        "**Red before, green now:** of 23 tests of this change, 23 failed by an assertion on the old code",
        "\n> - checks › checks/@\u{200b}ada-#\u{200b}1\n> - checks › checks/n10\n> - checks › checks/n11\n",
        "> - checks › checks/n28\n\nand 3 more.\n",
    ] {
        assert!(body.contains(words), "{words:?} is not in\n{body}");
    }
    assert!(!body.contains("checks/old"), "it was green before\n{body}");
}
