//! Settings of stages and of tasks, from the file or the command line to their effect.

use acquit_core::task::Task;

use crate::common::{CODE, Sandbox, read};

const SCRIPT: &str = r#"
[[code]]
step = [
    { run = "echo work > log.txt && git add -A && git commit -qm work" },
    { outcome = "pr_ready", payload = { summary = "the log is text" } },
]
"#;

#[test]
fn what_is_said_of_a_task_reaches_its_agent_and_finds_it_again() {
    let sandbox = Sandbox::scripted(CODE, SCRIPT);
    let said = ["--size", "small", "--complexity", "high", "--ticket", "ABC-1", "--meta", "team=core"];
    let run = [&["run", "Do it", "--tag", "ui", "--priority", "7"][..], &said].concat();
    sandbox.acquit(&run).must(0);
    let prompt = read(&sandbox.leg_file(1, "prompt.md"));
    for line in ["size: small", "complexity: high", "priority: 7", "tags: ui", "ticket: ABC-1", "team: core"]
    {
        assert!(prompt.contains(line), "no {line:?} in {prompt}");
    }
    let about = "priority 7, size small, complexity high, tags ui, ";
    let shown = sandbox.acquit(&["show", "T-1"]).must(0);
    for words in [about, "ticket ABC-1", "team core"] {
        shown.said(words);
    }
    let progress = read(&sandbox.place("acquit/tasks/T-1/progress.md"));
    assert!(progress.contains("the log is text"), "{progress}");

    sandbox.acquit(&["task", "add", "Another", "--tag", "api"]).must(0);
    let listed = |filter: &[&str]| {
        let list = sandbox.acquit(&[&["task", "list", "--json"], filter].concat()).must(0).json();
        list.as_array().unwrap().iter().map(|task| task["id"].clone()).collect::<Vec<_>>()
    };
    let name = sandbox.repo.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(listed(&["--tag", "ui"]), ["T-1"]);
    assert_eq!(listed(&["--tag", "ui", "--tag", "api"]).len(), 0);
    // What does not exist is no empty list.
    let refused = sandbox.acquit(&["task", "list", "--tag", "iu"]).must(2);
    refused.said("list tasks with the tag `iu`; there are: api, ui");
    let refused = sandbox.acquit(&["task", "add", "x", "--var", "nope=1"]).must(2);
    refused.said("set the variable `nope`; there are: none");
    assert_eq!(listed(&["--newer-than", "1h", "--tag", "api"]), ["T-2"]);
    assert_eq!(listed(&["--older-than", "1h"]).len(), 0);
    assert_eq!(listed(&["--project", name]).len(), 2);
    let refused = sandbox.acquit(&["task", "list", "--project", "another"]).must(2);
    refused.said(&format!("list tasks of the project `another`; there are: {name}"));

    sandbox.acquit(&["task", "add", "x", "--meta", "schedule=night"]).must(2).said("set by acquit itself");
    let events = sandbox.acquit(&["logs", "T-1", "--json", "--all"]).must(0);
    for line in events.out.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        for key in ["category", "kind", "level", "summary"] {
            assert!(event[key].is_string(), "no {key} in {line}");
        }
        assert!(event["data"]["event"].is_string() && event["at"].is_number(), "{line}");
        assert!(event["actor"]["type"].is_string(), "{line}");
    }
}

/// SPEC §3: "after each passed stage the harness appends what was learned (`progress.md` of the task), for the next leg".
#[test]
fn what_each_stage_learned_is_appended() {
    let workflow = CODE.replace(
        "[stages.code]",
        "[stages.look]\nmode = \"investigate\"\non = { found = \"code\" }\n[stages.code]",
    );
    let look = "[[look]]\nstep = [ { outcome = \"found\", payload = { summary = \"it is in the log\" } } ]\n";
    let sandbox = Sandbox::scripted(&workflow, &format!("{look}{SCRIPT}"));
    sandbox.run_to(0);
    let progress = read(&sandbox.place("acquit/tasks/T-1/progress.md"));
    let learned: Vec<&str> = progress.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(learned.len(), 2, "{progress}");
    assert!(learned[0].contains("it is in the log") && learned[1].contains("the log is text"), "{progress}");
    assert!(read(&sandbox.leg_file(2, "prompt.md")).contains("it is in the log"), "the next leg knows it");
}

/// A mode of the workflow's own with its gates, beside a stage and a gate that are switched off.
#[test]
fn a_run_with_modes_of_its_own_and_parts_that_are_switched_off() {
    let flow = r#"
[modes.document]
like = "implement"
instructions = "Write for readers who do not know the code."
gates = ["said", "off"]
[gates.said]
run = "grep -q work log.txt"
kind = "test"
[gates.off]
run = "false"
enabled = false
[stages.skipped]
mode = "plan"
enabled = false
on = { plan_complete = "code" }
[stages.code]
mode = "document"
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;
    let sandbox = Sandbox::scripted(flow, SCRIPT);
    sandbox.run_to(0);
    let stages: Vec<String> = sandbox.legs().iter().map(|leg| leg.entry.stage.to_string()).collect();
    assert_eq!(stages, ["code", "deliver"]);
    let prompt = read(&sandbox.leg_file(1, "prompt.md"));
    assert!(prompt.contains("Write for readers who do not know the code."), "{prompt}");
    let judged = |sandbox: &Sandbox| -> Vec<(String, bool)> {
        let events = sandbox.events().into_iter();
        let verdict = |event: acquit_core::event::Event| match event.body {
            acquit_core::event::Body::Gate { verdict } => Some((verdict.gate.to_string(), verdict.passed)),
            _ => None,
        };
        events.filter_map(verdict).collect()
    };
    assert_eq!(judged(&sandbox), [("said".to_owned(), true)]);
    // The gates of the mode judge: without the word, its work is rejected.
    let strict = Sandbox::scripted(
        &format!("budgets = {{ test = 0 }}\n{}", flow.replace("grep -q work", "grep -q words")),
        SCRIPT,
    );
    strict.run_to(3).said("said");
    assert_eq!(judged(&strict), [("said".to_owned(), false)]);
}

/// SPEC §7: artifacts are "collected best-effort: a failure there is an event, never a lost leg".
#[test]
fn artifacts_that_cannot_be_collected_are_told_and_lose_nothing() {
    let config = "sandbox = \"off\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";
    let sandbox = Sandbox::shell_by(config, CODE, "echo work > work.txt\nrm -rf \"$ACQUIT_OUTPUT\"\n");
    sandbox.run_to(0);
    let log = sandbox.acquit(&["logs", "T-1", "--json", "--all"]).must(0).out;
    assert!(log.contains("the stage's files were not collected"), "{log}");
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "work");
    assert_eq!(sandbox.legs().len(), 2, "no leg was lost");
}

#[test]
fn a_branch_has_the_prefix_that_the_project_or_the_workflow_wants() {
    let config = format!("branch_prefix = \"bots/\"\n{}", crate::common::SCRIPTED);
    for (flow, branch) in [
        (CODE.to_owned(), "refs/heads/bots/do-it-T-1"),
        (format!("branch_prefix = \"night/\"\n{CODE}"), "refs/heads/night/do-it-T-1"),
    ] {
        let sandbox = Sandbox::new(&config, &flow, SCRIPT);
        sandbox.run_to(0);
        assert!(
            sandbox.refs("refs/heads/").iter().any(|name| name == branch),
            "{:?}",
            sandbox.refs("refs/heads/")
        );
    }
}

#[test]
fn a_warning_rejects_where_the_stage_says_so() {
    let gates = "[gates.style]\nrun = \"false\"\nseverity = \"warning\"\nkind = \"lint\"\n";
    let workflow = CODE
        .replace("[budgets]", "[budgets]\nlint = 0")
        .replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"style\"]");
    let shown = Sandbox::scripted(&format!("{workflow}{gates}"), SCRIPT);
    shown.run_to(0);
    let strict = workflow.replace("mode = \"implement\"", "mode = \"implement\"\nfail_on_warning = true");
    let rejected = Sandbox::scripted(&format!("{strict}{gates}"), SCRIPT);
    rejected.run_to(3).said("style");
}

#[test]
fn an_agent_does_not_begin_without_its_inputs_and_sees_no_other_files() {
    let workflow = r#"
[stages.draft]
mode = "design"
on = { drafted = "code" }
[stages.code]
mode = "implement"
inputs = ["brief.md"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;
    let draft = |files: &str| {
        format!("[[draft]]\nstep = [\n{files}\n    {{ outcome = \"drafted\", payload = {{}} }},\n]\n{SCRIPT}")
    };
    let one = |name: &str| format!("    {{ output = \"{name}\", content = \"text\\n\" }},");
    let lacking = Sandbox::scripted(workflow, &draft(&one("notes.md")));
    lacking.run_to(3).said("needs the file `brief.md`");
    let sandbox = Sandbox::scripted(workflow, &draft(&format!("{}\n{}", one("notes.md"), one("brief.md"))));
    sandbox.run_to(0);
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    assert!(prompt.contains("brief.md") && !prompt.contains("notes.md"), "{prompt}");
}

/// Leaves two files at the first stage. At the second it reads the one that its prompt names, tries to change it, and looks for the
/// other beside it.
const READER: &str = r#"
prompt=$(cat)
if [ ! -e draft.txt ]; then
    out=$(printf '%s' "$prompt" | grep -o '/[^ `"]*/legs/[0-9]*/out' | head -n 1)
    echo "what the first stage found" > "$out/brief.md"
    echo "not for others" > "$out/notes.md"
    echo draft > draft.txt
else
    brief=$(printf '%s' "$prompt" | grep -o '/[^ `"]*brief\.md' | head -n 1)
    cat "$brief" > work.txt
    echo "changed" 2>/dev/null > "$brief" && echo "it could be written" >> work.txt
    cat "$(dirname "$brief")/notes.md" >> work.txt 2>/dev/null
    true
fi
"#;

#[test]
fn an_agent_reads_the_files_that_its_prompt_names_and_no_others() {
    let workflow = r#"
[stages.draft]
mode = "implement"
outputs = ["*.md"]
on = { pr_ready = "code" }
[stages.code]
mode = "implement"
inputs = ["brief.md"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;
    let sandbox = Sandbox::shell(workflow, READER);
    sandbox.run_to(0);
    let diff = sandbox.acquit(&["diff", "T-1"]).must(0).out;
    assert!(diff.contains("+what the first stage found"), "{diff}");
    assert!(!diff.contains("it could be written") && !diff.contains("not for others"), "{diff}");
}

#[test]
fn a_gate_may_print_so_much_and_its_report_is_an_artifact() {
    let gates = "[gates.loud]\nrun = \"head -c 3000000 /dev/zero | tr '\\\\0' x\"\noutput = \"1MiB\"\n\
                 [gates.quiet]\nrun = \"echo all is well\"\n";
    let workflow = CODE
        .replace("[budgets]", "[budgets]\ngate = 0")
        .replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"quiet\", \"loud\"]");
    let sandbox = Sandbox::scripted(&format!("{workflow}{gates}"), SCRIPT);
    sandbox.run_to(3).said("printed more than 1048576 bytes");
    let task = sandbox.acquit(&["task", "show", "T-1", "--json"]).must(0).json();
    let found: Vec<&serde_json::Value> = task["task"]["artifacts"]
        .as_array()
        .or_else(|| task["artifacts"].as_array())
        .unwrap()
        .iter()
        .filter(|artifact| artifact["type"] == "report")
        .collect();
    let [quiet, loud] = found.as_slice() else { panic!("{task}") };
    assert_eq!((&quiet["gate"], &quiet["passed"]), (&"quiet".into(), &true.into()));
    assert_eq!((&loud["gate"], &loud["passed"]), (&"loud".into(), &false.into()));
    assert_eq!(read(std::path::Path::new(quiet["path"].as_str().unwrap())), "all is well\n");
    sandbox.acquit(&["show", "T-1"]).must(0).said("(gate quiet at code)");
}

/// The night-shift seed: "run build + related tests (not full suite) before pushing".
#[test]
fn only_related_tests_are_run_where_the_project_says_how() {
    let config = format!(
        "{}[gates.test]\nrun = \"exit 7\"\nrelated = 'printf \"%s,\" \"$@\"'\n[gates.list]\nrun = \"exit 7\"\n\
         related = [\"printf\", \"%s;\"]\n[gates.rest]\nrun = \"echo the rest\"\n",
        crate::common::SCRIPTED
    );
    let workflow = CODE.replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"related\"]");
    let script = r#"
[[code]]
step = [
    { run = "echo x > ./--config=evil; echo x > 'a b.txt'; git rm -q README.md; git add -A; git commit -qm work" },
    { outcome = "pr_ready", payload = { summary = "done" } },
]
"#;
    let sandbox = Sandbox::new(&config, &workflow, script);
    sandbox.run_to(0);
    let log = |gate: &str| read(&sandbox.leg_file(1, &format!("check-{gate}.log")));
    // Every path is one argument, none is an option, and a file that is gone is not named.
    assert_eq!(log("test-related"), "./--config=evil,./a b.txt,");
    assert_eq!(log("list-related"), "./--config=evil;./a b.txt;");
    assert_eq!(log("rest"), "the rest\n");

    // A stage that names them as `project` runs them in full.
    let whole = Sandbox::new(&config, &workflow.replace("\"related\"", "\"project\""), script);
    whole.run_to(3).said("exit 7");
}

#[test]
fn a_task_that_has_not_ended_can_be_edited_and_its_next_leg_sees_it() {
    let sandbox = Sandbox::scripted(CODE, SCRIPT);
    sandbox
        .acquit(&["task", "add", "Do it", "--tag", "ui", "--meta", "team=core", "--size", "small"])
        .must(0);
    sandbox.acquit(&["task", "edit", "T-1"]).must(2);
    let edit = [
        "task",
        "edit",
        "T-1",
        "--priority",
        "-3",
        "--unset",
        "size",
        "--unset",
        "team",
        "--ticket",
        "ABC-2",
    ];
    let edited =
        sandbox.acquit(&[&edit[..], &["--complexity", "high", "--tag", "api", "--untag", "ui"]].concat());
    edited.must(0).says("priority -3, complexity high, tags api, ticket ABC-2");
    sandbox
        .acquit(&["task", "edit", "T-1", "--unset", "schedule"])
        .must(2)
        .said("acquit itself sets the metadata");
    sandbox.acquit(&["task", "list"]).must(0).said("PRIO");
    let listed = sandbox.acquit(&["task", "list", "--tag", "api", "--json"]).must(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["priority"]), (&"T-1".into(), &(-3).into()), "{listed}");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let prompt = read(&sandbox.leg_file(1, "prompt.md"));
    for line in ["complexity: high", "priority: -3", "tags: api", "ticket: ABC-2"] {
        assert!(prompt.contains(line), "no {line:?} in {prompt}");
    }
    assert!(!prompt.contains("size: small") && !prompt.contains("team: core"), "{prompt}");
    // Its history gives the task as it is.
    let changes = sandbox.changes();
    let replayed = Task::replay(&changes).unwrap();
    assert_eq!(replayed.seed.wish, sandbox.task().seed.wish);
    sandbox
        .acquit(&["task", "edit", "T-1", "--priority", "1"])
        .must(2)
        .said("it is done and cannot be edited");
}
