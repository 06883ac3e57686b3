//! Settings of stages and of tasks, from the file or the command line to their effect.

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
    for line in ["size: small", "complexity: high", "tags: ui", "ticket: ABC-1", "team: core"] {
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
    assert_eq!(listed(&["--project", "another"]).len(), 0);

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
