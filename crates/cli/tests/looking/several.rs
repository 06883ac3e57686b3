//! Several gates of a stage: in which order, at once, when no more, and not again on the same work.

use std::fs;

use acquit_core::event::{Body, Event};
use acquit_core::gate::Verdict;

use crate::common::{Sandbox, processes, read, until, until_file};

const AGENT: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"@ROOT@/deed\"]\n";

/// A sandbox with these gates and more of a workflow, whose agent writes a file.
fn sandbox(gates: &str, stages: &str) -> Sandbox {
    let workflow = format!("[budgets]\ngate = 2\nnothing = 1\n{gates}\n{stages}\n");
    let sandbox = Sandbox::new(AGENT, &workflow, "");
    fs::write(sandbox.place("deed"), "echo \"$ACQUIT_STAGE\" > work.txt\n").unwrap();
    sandbox
}

const CODE: &str =
    "[stages.code]\nmode = \"implement\"\ngates = [\"one\", \"two\"]\non = { pr_ready = \"done\" }\n";

fn verdicts(events: Vec<Event>) -> Vec<Verdict> {
    let verdict = |event: Event| match event.body {
        Body::Gate { verdict } => Some(*verdict),
        _ => None,
    };
    events.into_iter().filter_map(verdict).collect()
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    verdicts(sandbox.events()).iter().map(|verdict| verdict.gate.to_string()).collect()
}

/// A gate that says that it runs and waits until the other does, both in files beside the repository.
fn meets(name: &str, other: &str) -> String {
    format!(
        "[gates.{name}]\nparallel = true\ntimeout = \"20s\"\nrun = \"touch '@ROOT@/{name}'; while ! [ -e '@ROOT@/{other}' ]; do sleep 0.05; done; test -f work.txt; echo x > {name}.txt; echo *.txt\"\n"
    )
}

#[test]
fn gates_that_may_run_at_once_do_each_in_a_tree_of_its_own() {
    let sandbox = sandbox(&(meets("one", "two") + &meets("two", "one")), CODE);
    sandbox.run_to(0);
    let given = verdicts(sandbox.events());
    assert!(given.len() == 2 && given.iter().all(|verdict| verdict.passed), "{given:?}");
    for (verdict, other) in [(&given[0], &given[1]), (&given[1], &given[0])] {
        assert!(
            verdict.tail.contains("work.txt") && !verdict.tail.contains(other.gate.as_str()),
            "{given:?}"
        );
    }
    assert!(
        !sandbox.place("acquit/tasks/T-1/workspace/beside").exists() || {
            fs::read_dir(sandbox.place("acquit/tasks/T-1/workspace/beside")).unwrap().next().is_none()
        }
    );
}

#[test]
fn cancelling_ends_all_of_them() {
    let waits = |name: &str| {
        format!(
            "[gates.{name}]\nparallel = true\nrun = \"touch '@ROOT@/{name}'; trap '' TERM; sleep 777 & sleep 778\"\n"
        )
    };
    let sandbox = sandbox(&(waits("one") + &waits("two")), CODE);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("one"));
    until_file(&sandbox.place("two"));
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    run.wait();
    let root = sandbox.place("").to_string_lossy().into_owned();
    until("nothing runs any more", || processes::marked(&root).is_empty().then_some(()));
}

#[test]
fn no_more_gates_after_one_that_rejects_if_the_stage_says_so() {
    let gates = "[gates.one]\nrun = \"false\"\n[gates.two]\nrun = \"touch '@ROOT@/two'\"\n[gates.slow]\nparallel = true\nrun = \"touch '@ROOT@/slow'; sleep 60\"\n\
                 [gates.bad]\nparallel = true\nrun = \"while ! [ -e '@ROOT@/slow' ]; do sleep 0.05; done; false\"\n";
    let stage = CODE.replace("gates =", "stop = \"first\"\ngates =").replace("\"done\"", "\"more\"");
    let flow = format!(
        "{stage}[stages.more]\nkind = \"check\"\nstop = \"first\"\ngates = [\"slow\", \"bad\"]\non = {{ passed = \"done\" }}\n"
    );
    let first = sandbox(gates, &flow);
    first.run_to(3);
    assert!(names(&first).iter().all(|name| name == "one") && !first.place("two").exists());
    first.acquit(&["logs", "T-1"]).must(0).said("not run, because the work is rejected already: two");
    let second = sandbox(&gates.replace("run = \"false\"", "run = \"true\""), &flow);
    let begun = std::time::Instant::now();
    second.run_to(3);
    assert!(begun.elapsed().as_secs() < 50, "the slow one was stopped");
    let given = names(&second);
    assert!(given.contains(&"bad".to_owned()) && !given.contains(&"slow".to_owned()), "{given:?}");
}

#[test]
fn what_looks_comes_first_and_then_the_cheapest() {
    let gates =
        "[gates.slow]\nrun = \"sleep 0.5\"\n[gates.quick]\nrun = \"true\"\n[gates.look]\ncheck = \"scope\"\n";
    let stage = "[stages.code]\nmode = \"implement\"\ngates = [\"slow\", \"quick\", \"look\"]\non = { pr_ready = \"done\" }\n";
    let sandbox = sandbox(gates, stage);
    sandbox.run_to(0);
    assert_eq!(names(&sandbox), ["look", "slow", "quick"], "nothing is known of them yet");
    sandbox.run_to(0);
    let log = sandbox.acquit(&["logs", "T-2", "--json", "--all"]).must(0);
    let events = log.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let order: Vec<String> = verdicts(events).iter().map(|verdict| verdict.gate.to_string()).collect();
    assert_eq!(order, ["look", "quick", "slow"]);
}

/// How often a gate ran that leaves a line each time.
fn runs(sandbox: &Sandbox, name: &str) -> usize {
    read(&sandbox.place(name)).lines().count()
}

#[test]
fn a_gate_is_not_run_again_on_the_same_work() {
    let counts = |name: &str| format!("[gates.{name}]\nrun = \"echo x >> '@ROOT@/{name}'\"\n");
    // The third is the same command under another definition.
    let gates = counts("one")
        + &counts("two")
        + "cache = false\n[gates.three]\ntimeout = \"5m\"\nrun = \"echo x >> '@ROOT@/one'\"\n";
    let flow = "[stages.code]\nmode = \"implement\"\ngates = [\"one\", \"two\"]\non = { pr_ready = \"again\" }\n\
                [stages.again]\nkind = \"check\"\ngates = [\"one\", \"two\", \"three\"]\non = { passed = \"done\" }\n";
    let sandbox = sandbox(&gates, flow);
    sandbox.run_to(0);
    assert_eq!((runs(&sandbox, "one"), runs(&sandbox, "two")), (2, 2), "one: by itself and as three");
    let given = verdicts(sandbox.events());
    let reused: Vec<(&str, Option<u32>)> =
        given.iter().map(|verdict| (verdict.gate.as_str(), verdict.reused)).collect();
    assert_eq!(reused[..2], [("one", None), ("two", None)]);
    assert!(reused[2..].contains(&("one", Some(1))), "{reused:?}");
    assert!(reused[2..].contains(&("two", None)) && reused[2..].contains(&("three", None)), "{reused:?}");
    sandbox.acquit(&["logs", "T-1"]).must(0).said("the work is that of leg 1, and so is this verdict");
}

#[test]
fn a_verdict_that_is_used_again_rejects_again_and_one_that_was_cut_short_is_not_used() {
    let gates = "[gates.one]\nrun = \"echo x >> '@ROOT@/one'; false\"\n[gates.two]\ntimeout = \"300ms\"\nrun = \"echo x >> '@ROOT@/two'; sleep 30\"\n";
    let flow = "[stages.code]\nmode = \"implement\"\nfix = \"mend\"\ngates = [\"one\", \"two\"]\non = { pr_ready = \"done\" }\n\
                [stages.mend]\nmode = \"fix\"\non = { fixed = \"back\", unneeded = \"back\" }\n";
    let sandbox = sandbox(gates, flow);
    // Whoever is to mend it says that there is nothing to mend, and changes nothing.
    fs::write(
        sandbox.place("deed"),
        "[ $ACQUIT_STAGE = mend ] && echo '{\"outcome\": \"unneeded\", \"payload\": {}}' > $ACQUIT_HANDOFF || echo work > work.txt\n",
    )
    .unwrap();
    sandbox.run_to(3);
    let given = verdicts(sandbox.events());
    let ones: Vec<&Verdict> = given.iter().filter(|verdict| verdict.gate == *"one").collect();
    assert!(ones.len() >= 2 && ones.iter().all(|verdict| verdict.rejects()), "{ones:?}");
    assert_eq!(runs(&sandbox, "one"), 1, "it ran once");
    assert_eq!(ones[1].reused, Some(1));
    assert_eq!(runs(&sandbox, "two"), ones.len(), "what timed out is tried again");
}

#[test]
fn other_work_is_judged_anew() {
    let gates = "[gates.one]\nrun = \"echo x >> '@ROOT@/one'; grep -q mend work.txt\"\n";
    let flow = "[stages.code]\nmode = \"implement\"\nfix = \"mend\"\ngates = [\"one\"]\non = { pr_ready = \"done\" }\n\
                [stages.mend]\nmode = \"fix\"\non = { fixed = \"back\" }\n";
    let sandbox = sandbox(gates, flow);
    sandbox.run_to(0);
    assert_eq!(runs(&sandbox, "one"), 2);
    assert!(verdicts(sandbox.events()).iter().all(|verdict| verdict.reused.is_none()));
}

#[test]
fn no_gate_reaches_the_verdicts_that_are_kept() {
    let gates = "[gates.one]\nrun = \"true\"\n\
                 [gates.peek]\nrun = \"ls '@ROOT@'/acquit/tasks/*/T-1/verdicts/ && exit 1; ls '@ROOT@/acquit/durations/' && exit 1; for place in '@ROOT@'/acquit/tasks/*/T-1/verdicts; do touch $place/x && exit 1; done; exit 0\"\n";
    let flow = "[stages.code]\nmode = \"implement\"\ngates = [\"one\"]\non = { pr_ready = \"again\" }\n\
                [stages.again]\nkind = \"check\"\ngates = [\"peek\"]\non = { passed = \"done\" }\n";
    let sandbox = sandbox(gates, flow);
    sandbox.run_to(0);
    let kept = fs::read_dir(sandbox.place("acquit/tasks/T-1/verdicts")).unwrap();
    let names: Vec<String> =
        kept.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(names.len() == 2 && !names.contains(&"x".to_owned()), "{names:?}");
}
