//! Commands that look at tasks from outside: figures, completions, and work that is not finished.

use crate::common::{Sandbox, binary, until, until_file};
use crate::{CODE, GOOD};

/// An agent of the adapter for Claude, which says what it used, writes a file, and passes or fails.
const PRICED: &str = r#"
echo '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5"}'
echo '{"type":"assistant","message":{"id":"m1","model":"claude-sonnet-4-5","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":1000,"output_tokens":100}}}'
echo work > work.txt
@LINE@
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"done","total_cost_usd":0.25,"usage":{"input_tokens":1000,"output_tokens":100}}'
"#;

fn priced() -> Sandbox {
    priced_by(CODE, "test -e @ROOT@/fails && exit 1")
}

/// The same in another workflow, and with another line before its end.
fn priced_by(workflow: &str, line: &str) -> Sandbox {
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"claude\"\nprogram = \"@ROOT@/agent\"\n";
    let sandbox = Sandbox::new(config, workflow, "");
    let script = PRICED.replace("@LINE@", line).replace("@ROOT@", &sandbox.place("").to_string_lossy());
    acquit_testkit::repo::write(&sandbox.place("agent"), &format!("#!/bin/sh{script}"));
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.place("agent"), mode).unwrap();
    sandbox
}

/// SPEC §3: "a model without a price says so instead of costing 0".
#[test]
fn a_model_without_a_price_says_so_instead_of_costing_nothing() {
    let script = crate::GOOD.replace(
        "model = \"m\", input = 1000, output = 20, cost_micros = 12345",
        "model = \"unheard-of\", input = 1000, output = 20",
    );
    let sandbox = Sandbox::scripted(CODE, &script);
    sandbox.run_to(0);
    let shown = sandbox.acquit(&["show", "T-1"]).must(0);
    shown.said("no price");
    assert!(!shown.out.contains("$0"), "{}", shown.out);
    let listed = sandbox.acquit(&["task", "list", "--json"]).must(0).json();
    assert_eq!(listed[0]["cost_micros"], serde_json::Value::Null, "{listed}");
}

#[test]
fn stats_count_every_leg_of_every_task_anywhere() {
    let sandbox = priced();
    sandbox.acquit(&["stats"]).must(0).said("no tasks yet");
    sandbox.run_to(0);
    std::fs::write(sandbox.place("fails"), "").unwrap();
    sandbox.acquit(&["run", "Another"]).must(3);
    let stats = sandbox.acquit(&["stats", "--json"]).must(0).json();
    let legs: u64 = ["T-1", "T-2"]
        .iter()
        .flat_map(|task| {
            let shown = sandbox.acquit(&["show", task, "--json"]).must(0).json();
            shown["legs"].as_array().unwrap().clone()
        })
        .map(|leg| leg["usage"]["input"].as_u64().unwrap_or(0))
        .sum();
    assert_eq!(stats["usage"]["input"], legs, "{stats}");
    assert_eq!(
        (&stats["tasks"], &stats["workflows"]["flow"]["succeeded"]),
        (&2.into(), &1.into()),
        "{stats}"
    );
    let name = sandbox.repo.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(stats["projects"][name]["count"], 2, "{stats}");
    let listed = sandbox.acquit(&["task", "list", "--json"]).must(0).json();
    assert!(
        listed.as_array().unwrap().iter().all(|task| task["cost_micros"].as_u64().unwrap() > 0),
        "{listed}"
    );
    assert_eq!(stats["agents"]["bot"]["count"], stats["models"]["claude-sonnet-4-5"]["count"], "{stats}");
    assert!(
        stats["cost_micros"].as_u64().unwrap() > 250_000,
        "the leg that failed cost something too: {stats}"
    );
    let days = stats["days"].as_object().unwrap();
    let by_day: u64 = days.values().map(|day| day["cost_micros"].as_u64().unwrap()).sum();
    assert_eq!(stats["cost_micros"], by_day, "{stats}");
    let dearest: Vec<&str> =
        stats["dearest"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(dearest.len(), 2, "{stats}");
    let weeks = stats["compared"][0]["weeks"].as_object().unwrap();
    assert_eq!(weeks.values().map(|week| week["tasks"].as_u64().unwrap()).sum::<u64>(), 1, "{stats}");
    assert!(stats["proven_micros"].as_u64().unwrap() < by_day, "{stats}");
    let mut elsewhere = sandbox.command(&["stats"]);
    let output = elsewhere.current_dir("/").output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    for word in [
        "PROJECT",
        "WORKFLOW",
        "flow",
        "AGENT",
        "bot",
        "MODEL",
        "claude-sonnet-4-5",
        "DAY",
        "DEAREST",
        "2 tasks, $0.",
        "of it for completed tasks",
    ] {
        assert!(words.contains(word), "no {word} in\n{words}");
    }
    sandbox.acquit(&["stats", "--limit", "1"]).must(0).said("only the newest task; --limit counts more");
    sandbox.acquit(&["stats", "--since", "soon"]).must(2);
}

/// What the legs of the first task cost, by their own records.
fn of_legs(sandbox: &Sandbox) -> u64 {
    sandbox.legs().iter().filter_map(|leg| leg.usage.paid()).sum()
}

#[test]
fn a_task_costs_what_its_legs_cost_however_they_ended() {
    let waits = "test -e @ROOT@/fails && sleep 60";
    for how in ["cancelled", "timed out", "killed"] {
        let workflow = if how == "timed out" {
            CODE.replace("mode =", "timeout = \"2s\"\nmode =")
        } else {
            CODE.to_owned()
        };
        let sandbox = priced_by(&workflow, waits);
        std::fs::write(sandbox.place("fails"), "").unwrap();
        let run = sandbox.start(&["run", "Do it"]);
        until("the agent has told what it used", || {
            let told = sandbox.shown_legs()?.first()?.usage.input > 0;
            told.then_some(())
        });
        match how {
            "cancelled" => drop(sandbox.acquit(&["task", "cancel", "T-1"]).must(0)),
            "killed" => {
                // Its harness is missed, and the next leg ends well.
                std::fs::remove_file(sandbox.place("fails")).unwrap();
                let owner = sandbox.legs()[0].owner.clone().unwrap();
                crate::common::processes::signal(owner.pid, rustix::process::Signal::KILL);
            }
            _ => {}
        }
        run.wait();
        let first = of_legs(&sandbox);
        assert!(first > 0, "{how}: the leg's record has its cost");
        if how != "killed" {
            // The task goes on, to a leg that ends well.
            std::fs::remove_file(sandbox.place("fails")).unwrap();
            sandbox.acquit(&["task", "retry", "T-1"]).must(0);
            sandbox.acquit(&["run", "T-1"]).must(0);
            assert!(of_legs(&sandbox) > first, "{how}: {:?}", sandbox.legs());
        }
        let all = of_legs(&sandbox);
        let stats = sandbox.acquit(&["stats", "--json"]).must(0).json();
        assert_eq!(stats["cost_micros"], all, "{how}: {stats}");
        let past: u64 = sandbox.task().past.iter().filter_map(|past| past.usage.paid()).sum();
        assert_eq!(past, all, "{how}: what limits count");
        let list = sandbox.acquit(&["task", "list", "--json"]).must(0).json();
        assert_eq!(list[0]["cost_micros"], all, "{how}: {list}");
    }
}

#[test]
fn completions_know_tasks_agents_and_workflows() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    sandbox.acquit(&["task", "add", "Paint it: petrol"]).must(0);
    let complete = |words: &[&str]| {
        let words: Vec<&str> = ["complete", "--"].iter().chain(words).copied().collect();
        sandbox.acquit(&words).must(0).out
    };
    assert_eq!(complete(&["show", ""]), "T-1\tPaint it: petrol\n");
    assert_eq!(complete(&["run", "x", "--agent", ""]), "bot\tscripted\n");
    let agents = complete(&["agents", "--ask", ""]);
    assert!(agents.starts_with("bot\tscripted\n") && agents.contains("claude\tClaude Code\n"), "{agents}");
    assert!(complete(&["run", "x", "-w", "f"]).contains("flow\tproject\n"));
    assert!(complete(&["task", "list", "--state", ""]).starts_with("ready\n"));
    assert_eq!(complete(&["show", "T-1", ""]), "");

    // A real shell, with the script as it is printed.
    let script = sandbox.place("completion.bash");
    std::fs::write(&script, sandbox.acquit(&["completions", "bash"]).must(0).out).unwrap();
    let shell = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let asked = format!(
            "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _acquit_words acquit '{}' '{}'; echo \"${{COMPREPLY[*]}}\"",
            script.display(),
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary().parent().unwrap().display());
        let output =
            sandbox.program("bash").args(["--norc", "-c", &asked]).env("PATH", path).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(shell("acquit show "), "T-1");
    assert_eq!(shell("acquit run x --agent b"), "bot");
    assert_eq!(shell("acquit dem"), "demo", "what clap knows is still completed");
}

#[test]
fn work_that_is_not_finished_can_be_looked_at() {
    let failed = Sandbox::shell(CODE, "echo half > half.txt\necho changed > README.md\nexit 1\n");
    failed.run_to(3);
    let diff = failed.acquit(&["diff", "T-1"]).must(0);
    assert!(
        diff.out.contains("+half") && diff.out.contains("+changed") && diff.out.contains("-sample"),
        "{}",
        diff.out
    );
    diff.said("partial work");
    let json = failed.acquit(&["diff", "T-1", "--json"]).must(0).json();
    assert_eq!((&json["partial"], json["files"].as_array().unwrap().len()), (&true.into(), 2), "{json}");
    failed.acquit(&["diff", "T-1", "--stat"]).must(0).said("2 files changed");

    let running = Sandbox::shell(
        CODE,
        "echo half > half.txt\nwhile ! test -e @ROOT@/go; do sleep 0.05; done\nexit 1\n",
    );
    let run = running.start(&["run", "Do it"]);
    until("the work is seen while the agent works", || {
        running.acquit(&["diff", "T-1"]).out.contains("+half").then_some(())
    });
    std::fs::write(running.place("go"), "").unwrap();
    run.wait().must(3);

    let none = Sandbox::shell(CODE, "exit 1\n");
    none.run_to(3);
    none.acquit(&["diff", "T-1"]).must(2).said("it has no work yet");
}

#[test]
fn an_agent_cannot_make_diff_run_something_outside_of_its_sandbox() {
    let agent = "echo half > half.txt\nprintf '#!/bin/sh\\nreadlink /proc/self/ns/pid >> @ROOT@/ran\\ncat\\n' > evil\nchmod +x evil\n\
        git config diff.external \"$PWD/evil\"; git config core.fsmonitor \"$PWD/evil\"; git config core.pager \"$PWD/evil\"\n\
        git config filter.x.clean \"$PWD/evil\"; echo '* filter=x diff=x' > .gitattributes; git config diff.x.textconv \"$PWD/evil\"\n\
        rm -f @ROOT@/ran\ntouch @ROOT@/armed\nwhile ! test -e @ROOT@/go; do sleep 0.05; done\nexit 1\n";
    let sandbox = Sandbox::shell(CODE, agent);
    let run = sandbox.start(&["run", "Do it"]);
    until_file(&sandbox.place("armed"));
    // While the agent works, its repository is as it made it.
    sandbox.acquit(&["diff", "T-1"]);
    std::fs::write(sandbox.place("go"), "").unwrap();
    run.wait().must(3);
    sandbox.acquit(&["diff", "T-1"]);
    let ours = std::fs::read_link("/proc/self/ns/pid").unwrap().to_string_lossy().into_owned();
    let ran = crate::common::read(&sandbox.place("ran"));
    assert!(!ran.is_empty(), "the agent's programs are tried, in its sandbox");
    assert!(ran.lines().all(|place| place != ours), "a program of the agent ran outside: {ran}");
}

#[test]
fn a_task_of_a_linked_worktree_belongs_to_the_project_of_its_repository() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    let linked = sandbox.place("linked");
    sandbox.repo.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let there = |args: &[&str]| {
        let output = sandbox.command(args).current_dir(&linked).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    there(&["task", "add", "From the linked worktree"]);
    sandbox.acquit(&["task", "add", "From the main checkout"]).must(0);
    let main = sandbox.acquit(&["task", "list"]).must(0).out;
    for list in [main, there(&["task", "list"]), there(&["task", "list", "--project", "."])] {
        assert!(list.contains("From the linked") && list.contains("From the main"), "{list}");
    }
    // It starts from the branch of its worktree all the same.
    let task = sandbox.acquit(&["task", "show", "T-1", "--json"]).must(0).json();
    assert_eq!(task["task"]["seed"]["base"]["branch"], "side", "{task}");
    there(&["run", "T-1"]);
    sandbox.acquit(&["merge", "T-1"]).must(0);
}
