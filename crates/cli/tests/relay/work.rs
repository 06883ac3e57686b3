//! What becomes of the work: setup, uncommitted changes, attempts that did not count, files, variations.

use acquit_core::artifact::Artifact;
use acquit_core::leg::Ending;

use crate::common::{SCRIPTED, Sandbox, read};
use crate::{CODE, GOOD};

#[test]
fn the_workspace_is_set_up_once_for_each_state_of_the_lock_files() {
    let config = format!(
        "{SCRIPTED}[setup]\nrun = \"echo set >> @ROOT@/setups && mkdir -p deps\"\nlock_files = [\"deps.lock\"]\n"
    );
    let workflow = "[stages.one]\nmode = \"implement\"\non = { pr_ready = \"two\" }\n\
        [stages.two]\nmode = \"implement\"\non = { pr_ready = \"three\" }\n\
        [stages.three]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";
    // The second changes the lock file, so the third has a setup of its own.
    let script = r#"
[[one]]
step = [ { write = "one.txt", content = "1\n" } ]
[[two]]
step = [ { write = "deps.lock", content = "2\n" } ]
[[three]]
step = [ { write = "three.txt", content = "3\n" } ]
"#;
    let sandbox = Sandbox::new(&config, workflow, script);
    sandbox.run_to(0);
    assert_eq!(read(&sandbox.place("setups")), "set\nset\n");
}

#[test]
fn a_setup_that_fails_is_a_reason_with_its_words() {
    let config = format!("{SCRIPTED}[setup]\nrun = \"echo no network; exit 4\"\n");
    let sandbox = Sandbox::new(&config, CODE, GOOD);
    sandbox.run_to(3);
    let (kind, reason) = sandbox.failed(0);
    assert_eq!(kind, "config");
    assert!(
        reason.starts_with("the setup command `echo no network; exit 4`: exit 4\nno network\n"),
        "{reason}"
    );
}

#[test]
fn work_that_the_agent_did_not_commit_is_kept() {
    let sandbox = Sandbox::shell(CODE, "echo work > work.txt\necho more >> README.md\n");
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "work");
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:README.md")]), "sample\nmore");
}

#[test]
fn a_rejected_attempt_is_mended_on_and_a_failed_one_is_saved() {
    // The first attempt crashes with work in the tree; the second starts from the base, and its work is what counts.
    let script = r#"
[[code]]
step = [ { write = "lost.txt", content = "precious\n" }, { exit = 9 } ]
[[code]]
step = [ { write = "work.txt", content = "work\n" } ]
"#;
    let sandbox = Sandbox::scripted(&CODE.replace("agent = 0", "agent = 1"), script);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["diff", "--name-only", &format!("main...{branch}")]), "work.txt");
    let attempts = sandbox.refs("refs/acquit/attempts/");
    let [attempt] = attempts.as_slice() else { panic!("{attempts:?}") };
    assert_eq!(sandbox.repo.git(&["show", &format!("{attempt}:lost.txt")]), "precious");
    let saved = sandbox.events().iter().filter(|event| event.body.kind() == "work_saved").count();
    assert_eq!(saved, 1);
}

#[test]
fn work_whose_report_was_wrong_is_saved() {
    for commit in ["true", "git add -A && git commit -qm half"] {
        let script = r#"
[[code]]
step = [ { write = "lost.txt", content = "precious\n" }, { run = "COMMIT" }, { outcome = "no_such_outcome" } ]
[[code]]
step = [ { write = "work.txt", content = "work\n" } ]
"#;
        let sandbox =
            Sandbox::scripted(&CODE.replace("outcome = 0", "outcome = 1"), &script.replace("COMMIT", commit));
        sandbox.run_to(0);
        let branch = sandbox.task().seed.branch;
        assert_eq!(sandbox.repo.git(&["diff", "--name-only", &format!("main...{branch}")]), "work.txt");
        let attempts = sandbox.refs("refs/acquit/attempts/");
        let [attempt] = attempts.as_slice() else { panic!("{commit}: {attempts:?}") };
        assert_eq!(sandbox.repo.git(&["show", &format!("{attempt}:lost.txt")]), "precious");
    }
}

#[test]
fn what_a_stage_that_only_looks_changes_is_saved_but_does_not_count() {
    let workflow = CODE.replace(
        "[stages.code]",
        "[stages.review]\nmode = \"review\"\non = { approved = \"code\", changes_requested = \"person\" }\n[stages.code]",
    );
    let script = format!(
        "[[review]]\nstep = [ {{ write = \"sneaked.txt\", content = \"x\\n\" }}, {{ outcome = \"approved\" }} ]\n{GOOD}"
    );
    let sandbox = Sandbox::scripted(&workflow, &script);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["diff", "--name-only", &format!("main...{branch}")]), "work.txt");
    let attempts = sandbox.refs("refs/acquit/attempts/");
    assert_eq!(attempts.len(), 1);
    assert_eq!(sandbox.repo.git(&["show", &format!("{}:sneaked.txt", attempts[0])]), "x");
}

#[test]
fn files_of_the_stages_patterns_become_artifacts_and_others_do_not() {
    let workflow =
        CODE.replace("mode = \"implement\"", "mode = \"implement\"\noutputs = [\"*.md\", \"data.bin\"]");
    let agent = "echo work > work.txt\ncd $ACQUIT_OUTPUT\necho r > report.md\necho b > data.bin\necho n > notes.txt\n\
        ln -s /etc/passwd link.md\nmkdir folder.md\nmkfifo pipe.md\n";
    let sandbox = Sandbox::shell(&workflow, agent);
    sandbox.run_to(0);
    let mut names = Vec::new();
    for artifact in sandbox.task().artifacts {
        if let Artifact::File { name, path, bytes, .. } = artifact {
            assert_eq!(std::fs::metadata(path).unwrap().len(), bytes);
            names.push(name);
        }
    }
    assert_eq!(names, ["data.bin", "report.md"]);
}

#[test]
fn a_plan_reaches_the_stage_that_follows_it() {
    let workflow = CODE.replace(
        "[stages.code]",
        "[stages.plan]\nmode = \"plan\"\non = { plan_complete = \"code\" }\n[stages.code]",
    );
    let script = format!(
        "[[plan]]\nstep = [ {{ output = \"plan.md\", content = \"begin with the roof\\n\" }} ]\n{GOOD}"
    );
    let sandbox = Sandbox::scripted(&workflow, &script);
    sandbox.run_to(0);
    assert!(read(&sandbox.leg_file(2, "prompt.md")).contains("begin with the roof"));
}

#[test]
fn a_warning_is_shown_and_rejects_nothing() {
    let workflow = CODE.replace(
        "[stages.code]",
        "[gates.style]\nrun = \"echo ugly; exit 1\"\nseverity = \"warning\"\n[stages.code]",
    );
    let workflow = workflow.replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"style\"]");
    let sandbox = Sandbox::scripted(&workflow, GOOD);
    let ran = sandbox.run_to(0);
    ran.said("! gate style");
    ran.said("ugly");
}

#[test]
fn what_a_gate_leaves_in_the_tree_is_neither_the_works_nor_the_next_gates() {
    let gates = "[gates.messy]\nrun = \"echo mess > mess.txt; echo mess >> work.txt\"\n\
        [gates.strict]\nrun = \"test ! -e mess.txt && grep -qx work work.txt && ! grep -q mess work.txt\"\n";
    let workflow = CODE.replace("[stages.code]", &format!("{gates}[stages.code]"));
    let workflow =
        workflow.replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"messy\", \"strict\"]");
    let sandbox = Sandbox::scripted(&workflow, GOOD);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["diff", "--name-only", &format!("main...{branch}")]), "work.txt");
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "work");
}

#[test]
fn a_fix_leg_gets_the_distilled_failure_and_the_lines_around_it() {
    let workflow = CODE.replace("[stages.code]", "[gates.test]\nrun = \"grep -n bad work.txt /dev/null && exit 1; exit 0\"\nkind = \"test\"\n[stages.fix]\nmode = \"fix\"\non = { fixed = \"back\" }\n[stages.code]");
    let workflow = workflow
        .replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"test\"]\nfix = \"fix\"")
        .replace("[budgets]", "start = \"code\"\n[budgets]");
    let script = r#"
[[code]]
step = [ { write = "work.txt", content = "good\nbad line\nlast\n" } ]
[[fix]]
step = [ { write = "work.txt", content = "good\nfine line\nlast\n" } ]
"#;
    let sandbox = Sandbox::scripted(&workflow, script);
    sandbox.run_to(0);
    let endings = sandbox.endings();
    assert!(matches!(endings[0], Ending::Rejected { .. }), "{endings:?}");
    assert_eq!(endings.len(), 4, "code, fix, gates again, deliver");
    let prompt = read(&sandbox.leg_file(2, "prompt.md"));
    for line in ["work.txt:2:bad line", ">     2 | bad line", "3 | last"] {
        assert!(prompt.contains(line), "no {line:?} in\n{prompt}");
    }
}

#[test]
fn when_every_variation_led_nowhere_the_task_ends_with_all_the_reasons() {
    let workflow = r#"
[variation]
variable = "category"
values = ["tests", "docs", "speed"]
first = "docs"
[stages.look]
mode = "investigate"
instructions = "Look for {{ category }}."
on = { found = "done", nothing_found = "next-variation" }
"#;
    let agent = "found=$(grep -o 'Look for [a-z]*' | head -n 1)\n\
        printf '{\"outcome\": \"nothing_found\", \"payload\": {\"summary\": \"%s: nothing\"}}' \"$found\" > $ACQUIT_HANDOFF\n";
    let sandbox = Sandbox::shell(workflow, agent);
    sandbox.run_to(1).said("no improvement found");
    let task = sandbox.task();
    assert_eq!(task.state.word(), "no_improvement");
    let tried: Vec<(String, String)> =
        task.tried.into_iter().map(|tried| (tried.value, tried.reason)).collect();
    let expected =
        ["docs", "speed", "tests"].map(|word| (word.to_owned(), format!("Look for {word}: nothing")));
    assert_eq!(tried, expected);
}

#[test]
fn the_work_of_a_variation_that_led_nowhere_is_saved_and_not_built_upon() {
    let workflow = CODE.replace(
        "[stages.code]",
        "[variation]\nvariable = \"category\"\nvalues = [\"tests\", \"docs\"]\n[stages.code]",
    );
    let workflow =
        workflow.replace("pr_ready = \"deliver\"", "pr_ready = \"deliver\", vain = \"next-variation\"");
    let script = r#"
[[code]]
step = [ { write = "vain.txt", content = "in vain\n" }, { outcome = "vain" } ]
[[code]]
step = [ { write = "work.txt", content = "work\n" }, { outcome = "pr_ready" } ]
"#;
    let sandbox = Sandbox::scripted(&workflow, script);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["diff", "--name-only", &format!("main...{branch}")]), "work.txt");
    let attempts = sandbox.refs("refs/acquit/attempts/");
    let [attempt] = attempts.as_slice() else { panic!("{attempts:?}") };
    assert_eq!(sandbox.repo.git(&["show", &format!("{attempt}:vain.txt")]), "in vain");
}

#[test]
fn an_agent_sees_only_what_it_was_given() {
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = \"env > $ACQUIT_OUTPUT/env.txt; echo work > work.txt\"\n\
        pass_env = [\"GIVEN_TOKEN\"]\nenv = { SET = \"here\" }\n";
    let sandbox = Sandbox::new(config, CODE, "").with("OTHER_TOKEN", "hidden").with("GIVEN_TOKEN", "given");
    sandbox.run_to(0);
    let seen = read(&sandbox.leg_file(1, "out/env.txt"));
    for line in ["GIVEN_TOKEN=given", "SET=here", "ACQUIT_STAGE=code", "ACQUIT_LEG=T-1.1", "TERM=dumb"] {
        assert!(seen.lines().any(|known| known == line), "no {line} in\n{seen}");
    }
    for name in ["OTHER_TOKEN", "ACQUIT_HOME", "ACQUIT_STORE"] {
        assert!(!seen.contains(name), "{name} in\n{seen}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(sandbox.leg_file(1, "prompt.md")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o077, 0, "a prompt is its owner's alone");

    let without = Sandbox::new(config, CODE, "");
    without.run_to(2).said("GIVEN_TOKEN");
}

#[test]
fn the_relay_runs_on_postgresql_as_it_does_on_sqlite() {
    let reason = "the whole relay on a PostgreSQL store";
    let Some(database) = acquit_testkit::postgres::database_or_skip(reason) else { return };
    let sandbox = Sandbox::scripted(CODE, GOOD).with("ACQUIT_STORE", &database.url);
    sandbox.run_to(0).said("T-1 is done");
    assert!(!sandbox.place("acquit/acquit.db").exists(), "it used a store of its own");
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "work");
    let replayed = acquit_core::task::Task::replay(&sandbox.changes()).unwrap();
    assert_eq!(replayed.state, sandbox.task().state);
}

#[test]
fn tasks_of_one_repository_are_delivered_side_by_side() {
    let sandbox = Sandbox::scripted(CODE, GOOD);
    let runs: Vec<_> =
        (0..4).map(|number| sandbox.start(&["run", &format!("Task number {number}")])).collect();
    for run in runs {
        run.wait().must(0);
    }
    let branches = sandbox.repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads/acquit"]);
    assert_eq!(branches.lines().count(), 4, "{branches}");
    assert_eq!(sandbox.repo.git(&["for-each-ref", "refs/acquit/incoming", "refs/acquit/base"]), "");
}
