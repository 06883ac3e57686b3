//! The commands that acquit offers: each is run right after it was printed, in the place where it was printed.

use crate::common::suggestions::{follow, in_one_world, named, offered};
use crate::common::{Ran, SCRIPTED, Sandbox};
use crate::{CODE, GOOD};

const PLAN: &str = "[stages.plan]\nmode = \"plan\"\non = { plan_complete = \"done\" }\n";
const PLANS: &str = "[[plan]]\nstep = [{ output = \"plan.md\", content = \"1. do it\\n\" }, { outcome = \"plan_complete\", payload = { summary = \"planned\" } }]\n";
const UNDELIVERED: &str = "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";
const APPROVAL: &str = "[stages.code]\nmode = \"implement\"\napproval = true\non = { pr_ready = \"deliver\" }\n[stages.deliver]\nkind = \"action\"\naction = \"squash\"\non = { done = \"done\" }\n";
const HUMAN: &str = "[stages.choose]\nkind = \"human\"\nquestion = \"Which?\"\non = { left = \"done\", right = \"failed\" }\n";

/// Makes a situation, and runs each command that is offered in it, each in a situation of its own.
#[track_caller]
fn all_work(least: usize, situation: impl Fn() -> (Sandbox, Ran)) {
    let commands = |ran: &Ran| [offered(ran), named(ran)].concat();
    let (_, first) = situation();
    let count = commands(&first).len();
    assert!(count >= least, "{count} commands offered in\n{}", first.out);
    for index in 0..count {
        let (sandbox, ran) = situation();
        follow(&sandbox, &commands(&ran)[index]);
    }
}

fn ran(sandbox: Sandbox, code: i32) -> (Sandbox, Ran) {
    let ran = sandbox.run_to(code);
    (sandbox, ran)
}

#[test]
fn after_work_that_was_delivered() {
    all_work(2, || ran(Sandbox::scripted(CODE, GOOD), 0));
}

#[test]
fn after_a_plan_and_after_work_that_was_not_delivered() {
    all_work(1, || ran(Sandbox::scripted(PLAN, PLANS), 0));
    all_work(1, || ran(Sandbox::scripted(UNDELIVERED, GOOD), 0));
}

#[test]
fn after_a_review() {
    let review =
        "[stages.review]\nmode = \"review\"\non = { approved = \"done\", changes_requested = \"done\" }\n";
    let says =
        "[[review]]\nstep = [{ outcome = \"approved\", payload = { summary = \"fine\", findings = [] } }]\n";
    all_work(1, || {
        let sandbox = Sandbox::scripted(review, says);
        sandbox.repo.git(&["checkout", "--quiet", "-b", "other"]);
        sandbox.repo.write("new.txt", "new\n");
        sandbox.repo.commit("more");
        let ran = sandbox.acquit(&["review", "other", "--base", "main", "--workflow", "flow"]).must(0);
        (sandbox, ran)
    });
}

#[test]
fn after_tasks_are_added_answered_retried_and_detached() {
    all_work(1, || {
        let sandbox = Sandbox::scripted(CODE, GOOD);
        let ran = sandbox.acquit(&["task", "add", "Something"]).must(0);
        (sandbox, ran)
    });
    for again in [&["task", "retry", "T-1"][..], &["approve", "T-1"], &["answer", "T-1", "try it"]] {
        all_work(1, || {
            let sandbox = Sandbox::shell(CODE, "exit 1\n");
            sandbox.run_to(3);
            let ran = sandbox.acquit(again).must(0);
            (sandbox, ran)
        });
    }
    all_work(2, || {
        let sandbox = Sandbox::shell(CODE, "exit 1\n");
        sandbox.run_to(3);
        let ran = sandbox.acquit(&["show", "T-1"]).must(0);
        (sandbox, ran)
    });
    all_work(1, || {
        let sandbox = Sandbox::shell(CODE, "exit 1\n");
        sandbox.run_to(3);
        let ran = sandbox.acquit(&["inbox"]).must(0);
        (sandbox, ran)
    });
}

#[test]
fn after_an_error_the_hint_can_be_followed() {
    for args in
        [&["run", "x", "--workflow", "none"][..], &["show", "T-9"], &["diff", "T-1"], &["merge", "T-1"]]
    {
        all_work(0, || {
            let sandbox = Sandbox::scripted(CODE, GOOD);
            sandbox.acquit(&["task", "add", "Something"]).must(0);
            let ran = sandbox.acquit(args).must(2);
            (sandbox, ran)
        });
    }
}

#[test]
fn after_commands_about_a_project_without_tasks() {
    // Without an agent, nothing is offered that needs one.
    all_work(2, || {
        let sandbox = Sandbox::of_files("project", &[("Makefile", "test:\n\ttest -f README.md\n")]);
        let ran = sandbox.acquit(&["init"]).must(0);
        assert!(!named(&ran).iter().any(|command| command.starts_with("acquit run")), "{}", ran.err);
        (sandbox, ran)
    });
    let looks: [&[&str]; 6] = [
        &["task", "list"],
        &["inbox"],
        &["stats"],
        &["workflow", "list"],
        &["schedule", "list"],
        &["clean", "--dry-run"],
    ];
    for args in looks {
        all_work(0, || {
            let sandbox = Sandbox::scripted(CODE, GOOD);
            let ran = sandbox.acquit(args);
            (sandbox, ran)
        });
    }
}

#[test]
fn after_a_failure_and_a_question() {
    all_work(3, || ran(Sandbox::shell(CODE, "exit 1\n"), 3));
    all_work(3, || ran(Sandbox::scripted(APPROVAL, GOOD), 3));
    all_work(2, || ran(Sandbox::scripted(HUMAN, ""), 3));
}

#[test]
fn after_a_cancelled_and_a_rejected_task() {
    all_work(2, || {
        let sandbox = Sandbox::shell(CODE, "exit 1\n");
        sandbox.run_to(3);
        sandbox.acquit(&["reject", "T-1", "no"]).must(0);
        let ran = sandbox.acquit(&["run", "T-1"]).must(1);
        (sandbox, ran)
    });
    all_work(2, || {
        let sandbox = Sandbox::shell(CODE, "exit 1\n");
        sandbox.acquit(&["task", "add", "Something"]).must(0);
        sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
        let ran = sandbox.acquit(&["run", "T-1"]).must(4);
        (sandbox, ran)
    });
}

#[test]
fn after_the_demo_nothing_is_offered_that_acts_on_the_users_own_store() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    for (args, place) in [(&["demo"][..], "acquit demo "), (&["demo", "--keep"], "ACQUIT_HOME=")] {
        let demo = sandbox.acquit(args).must(0);
        let commands = offered(&demo);
        assert!(commands.len() >= 6, "{}", demo.out);
        for command in &commands {
            assert!(command.contains(place), "{command}");
            follow(&sandbox, command);
        }
    }
    // A sentence names the store as well, and programs get their JSON.
    let added = sandbox.acquit(&["demo", "task", "add", "Another"]).must(0);
    assert!(added.err.contains("`acquit demo run T-"), "{added}");
    assert_eq!(
        sandbox.acquit(&["demo", "show", "T-1", "--json"]).must(0).json()["task"]["seed"]["id"],
        "T-1"
    );
    sandbox.acquit(&["demo", "no-such-command"]).must(2);
    assert!(!sandbox.place("acquit/acquit.db").exists(), "a command used the user's own store");
}

#[test]
fn lists_work_anywhere_and_say_what_they_leave_out() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    for title in ["One", "Two", "Three"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    let list = sandbox.acquit(&["task", "list", "--limit", "2"]).must(0);
    list.said("only the newest 2");
    // Programs are told as well, beside the list.
    let list = sandbox.acquit(&["task", "list", "--limit", "2", "--json"]).must(0);
    assert_eq!(list.json().as_array().unwrap().len(), 2);
    list.said("only the newest 2; --limit shows more");
    let all = sandbox.acquit(&["task", "list", "--json"]).must(0);
    assert!(!all.err.contains("only the newest"), "{}", all.err);
    assert!(list.out.contains("ready") && !list.out.contains("working"), "nobody works: {}", list.out);
    assert_eq!(
        sandbox
            .acquit(&["task", "list", "--state", "ready", "--json"])
            .must(0)
            .json()
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        sandbox
            .acquit(&["task", "list", "--state", "working", "--json"])
            .must(0)
            .json()
            .as_array()
            .unwrap()
            .len(),
        0
    );
    sandbox.acquit(&["task", "list", "--state", "redy"]).must(2).said("there are: ready");
    for verb in [&["task", "list"][..], &["inbox"], &["logs", "T-1"]] {
        let mut command = sandbox.command(verb);
        let output = command.current_dir("/").output().unwrap();
        assert!(output.status.success(), "{verb:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    for (args, code) in
        [(&["show", "T-9", "--json"][..], 2), (&["no-such-verb", "--json"], 2), (&["diff", "--json"], 2)]
    {
        let ran = sandbox.acquit(args).must(code);
        let error: serde_json::Value = serde_json::from_str(ran.err.trim()).expect(&ran.err);
        assert!(error["error"].is_string() && error["exit"] == code, "{error}");
    }
}

#[test]
fn a_broken_workflow_does_not_stop_the_others() {
    let sandbox = Sandbox::new(&format!("workflow = \"flow\"\n{SCRIPTED}"), CODE, GOOD);
    sandbox.repo.write(".acquit/workflows/broken.toml", "[stages");
    sandbox.run_to(0);
    sandbox.acquit(&["run", "Something", "--workflow", "broken"]).must(2).said("broken.toml");
    sandbox.acquit(&["workflow", "check"]).must(2).said("broken.toml");
}

#[test]
fn the_tree_of_a_task_can_be_opened_in_its_sandbox() {
    // Unlike in other tests, the configuration shows nothing of what lies beside the repository.
    let config = "workflow = \"flow\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\n\
                  run = [\"sh\", \"-c\", \"echo half > half.txt; exit 1\"]\n";
    let files = [(".acquit/acquit.toml", config), (".acquit/workflows/flow.toml", CODE)];
    let sandbox = Sandbox::of_files("project", &files);
    sandbox.run_to(3);
    // Files of the user: in the home, among acquit's own, and beside the repository.
    for name in ["home/.ssh/id_test", "acquit/planted", "planted"] {
        let file = sandbox.place(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "planted words\n").unwrap();
        let ran = sandbox.acquit(&["open", "T-1", "--", "cat", &file.to_string_lossy()]).must(1);
        assert!(!ran.out.contains("planted words"), "{name}: {}", ran.out);
        ran.said("No such file or directory");
    }
    let outside = sandbox.place("written");
    let shell = format!(
        "cat half.txt; cat ~/.ssh/id_test; echo changed > half.txt; echo out > '{}'",
        outside.display()
    );
    let ran = sandbox.acquit(&["open", "T-1", "--", "sh", "-c", &shell]);
    assert!(ran.out.contains("half") && !ran.out.contains("planted words"), "{}{}", ran.out, ran.err);
    assert!(!outside.exists(), "it wrote outside");
    // It can write the tree.
    let ran = sandbox.acquit(&["open", "T-1", "--", "cat", "half.txt"]).must(0);
    assert_eq!(ran.out, "changed\n");
    // What its agent wrote beside the tree is gone when it has ended, and the tree can still be opened.
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    let shell = "cat half.txt; echo x > /tmp/x && echo x > ~/x && echo written";
    let ran = sandbox.acquit(&["open", "T-1", "--", "sh", "-c", shell]).must(0);
    assert_eq!(ran.out, "changed\nwritten\n");
    sandbox.acquit(&["task", "add", "Another"]).must(0);
    sandbox.acquit(&["open", "T-2"]).must(2).said("its workspace does not exist");
}

#[test]
fn logs_show_results_of_tools_folded() {
    let script = "[[code]]\nstep = [{ run = \"seq 1 9\" }, { write = \"work.txt\", content = \"w\" }, { outcome = \"pr_ready\", payload = { summary = \"x\" } }]\n";
    let sandbox = Sandbox::scripted(CODE, script);
    sandbox.run_to(0);
    let logs = sandbox.acquit(&["logs", "T-1"]).must(0);
    assert!(logs.out.contains("⎿ 1") && logs.out.contains("… 6 more lines"), "{}", logs.out);
    let all = sandbox.acquit(&["logs", "T-1", "--all"]).must(0);
    assert!(all.out.contains(" 9"), "{}", all.out);
    let raw = sandbox.acquit(&["logs", "T-1", "--raw"]).must(0);
    assert_eq!(raw.out, crate::common::read(&sandbox.leg_file(1, "output.log")));
}

/// Removing a large workspace takes a while. Here it never begins: the process is killed first.
#[test]
fn the_summary_appears_before_anything_is_cleaned_up() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    let marker = sandbox.place("marker");
    let sandbox = sandbox.with("ACQUIT_FAULT", format!("finished:1:{}", marker.display()));
    let ran = sandbox.acquit(&["run", "Do it"]);
    assert_eq!(ran.code, None, "it was killed where cleaning up begins: {}", ran.err);
    assert!(ran.out.contains("T-1 is done") && ran.out.contains("acquit merge T-1"), "{}", ran.out);
    assert!(sandbox.place("acquit/tasks/T-1/workspace").exists());
}

/// With `cargo xtask test --follow`, every test follows what its last command suggested, in the same world.
#[test]
fn alternatives_are_not_followed_one_after_the_other() {
    let commands = [
        "acquit approve T-1",
        "acquit answer T-1 \"…\"",
        "acquit task retry T-1",
        "env ACQUIT_HOME=/x acquit show T-1",
        "acquit logs T-1 -f",
        "acquit serve",
        "acquit diff T-1",
        "acquit diff T-1",
    ];
    let followed = in_one_world(commands.map(str::to_owned).to_vec());
    assert_eq!(followed, ["acquit diff T-1", "env ACQUIT_HOME=/x acquit show T-1", "acquit approve T-1"]);
}
