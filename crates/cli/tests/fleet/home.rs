//! What the user's own machine leaves to workers, and what it says meanwhile.

use acquit_testkit::postgres::database_or_skip;
use rustix::process::Signal;

use crate::common::{Sandbox, until, until_file};
use crate::{Machine, SLOW, WAITS, reaching, waits_at};

const KEYED: &str = r#"
[stages.code]
mode = "implement"
secrets = ["HF_TOKEN"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

#[test]
fn a_machine_without_a_secret_leaves_a_leg_to_a_worker_that_has_it() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n\
                  [secrets]\nHF_TOKEN = { env = \"HF_TOKEN\" }\n";
    let sandbox = Sandbox::shell_by(config, KEYED, WAITS).with("ACQUIT_STORE", database.url.clone());
    for title in ["One", "Two"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    let own = format!("{}[secrets]\nHF_TOKEN = {{ command = \"echo hf_1234567890\" }}\n", reaching(&sandbox));
    let one = Machine::new(&sandbox, &database, "one", &own);
    let worker = one.worker(&["--slots", "1"]);
    until_file(&sandbox.place("began"));
    // The second task waits for the only slot of the worker, and is not taken away to fail without the secret.
    sandbox.acquit(&["leg", "--once"]).must(0);
    let legs = |task: &str| sandbox.acquit(&["task", "show", task, "--json"]).must(0).json()["legs"].clone();
    assert_eq!(legs("T-2")[0]["state"], "ready", "{}", legs("T-2"));
    std::fs::write(sandbox.place("go"), "").unwrap();
    until("the worker does both", || {
        ["T-1", "T-2"].iter().all(|task| legs(task)[0]["state"] == "passed").then_some(())
    });
    let secret =
        "select count(*) from tasks where body like '%hf_1234567890%' or definition like '%hf_1234567890%'";
    assert_eq!(acquit_testkit::postgres::number(&database.url, secret).unwrap(), 0);
    worker.signal(Signal::TERM);
    worker.wait().must(0);
}

#[test]
fn a_task_that_waits_for_a_worker_says_why() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let flow = SLOW.replace("mode = \"implement\"", "mode = \"implement\"\nruns_on = [\"gpu\"]");
    let sandbox = Sandbox::shell(&flow, "echo work > work.txt\n").with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let run = sandbox.start(&["run", "T-1"]);
    let said = |words: &str| format!("{}{}", run.out(), run.err()).contains(words).then_some(());
    until("it says that there is none", || said("its leg waits for a worker: no worker runs"));
    let one = Machine::new(&sandbox, &database, "one", "");
    let other = one.worker(&["--labels", "cpu"]);
    until("it says what the worker lacks", || said("no worker has the label `gpu`"));
    other.signal(Signal::TERM);
    other.wait().must(0);
    let worker = one.worker(&["--labels", "gpu"]);
    run.wait().must(0).said("T-1 is done");
    worker.signal(Signal::TERM);
    worker.wait().must(0);
}

#[test]
fn a_daemon_without_workers_of_its_own_only_delivers() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, "echo work > work.txt\n");
    sandbox.acquit(&["serve", "--workers", "0", "--no-web"]).must(2).said("is a file");
    let sandbox = sandbox.with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let daemon = sandbox.start(&["serve", "--workers", "0", "--no-web"]);
    let late = std::time::Instant::now() + std::time::Duration::from_secs(4);
    until("some rounds of the daemon", || (std::time::Instant::now() > late).then_some(()));
    let one = Machine::new(&sandbox, &database, "one", "");
    assert_eq!(waits_at(&one).unwrap().0, "code");
    let worker = one.worker(&[]);
    until("the daemon has delivered", || (sandbox.task().state.word() == "done").then_some(()));
    let owners: Vec<_> =
        sandbox.legs().iter().map(|leg| leg.owner.as_ref().unwrap().worker.clone()).collect();
    assert_eq!(owners, [Some("one".to_owned()), None]);
    for started in [worker, daemon] {
        started.signal(Signal::TERM);
        started.wait().must(0);
    }
}

#[test]
fn a_worker_that_is_stuck_is_found_by_a_probe() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WAITS).with("ACQUIT_STORE", database.url.clone());
    let one = Machine::new(&sandbox, &database, "one", "");
    let healthy = || one.acquit(&["worker", "--healthy", "--name", "one"]);
    healthy().must(2).said("find a sign of life from the worker one");
    let worker = one.worker(&[]);
    until("the probe succeeds", || (healthy().code == Some(0)).then_some(()));
    let mode = std::os::unix::fs::MetadataExt::mode(&one.place("acquit/worker").metadata().unwrap());
    assert_eq!(mode & 0o077, 0, "others enter what the worker made: {mode:o}");
    // It has not written for longer than a look takes.
    worker.signal(Signal::STOP);
    let file = one.place("acquit/worker/worker-one.alive");
    let written: u64 = crate::common::read(&file).parse().unwrap();
    std::fs::write(&file, (written.saturating_sub(121)).to_string()).unwrap();
    healthy().must(2);
    worker.signal(Signal::CONT);
    until("it is well again", || (healthy().code == Some(0)).then_some(()));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
}

#[test]
fn a_worker_removes_copies_of_repositories_and_files_that_no_task_needs() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox =
        Sandbox::shell(SLOW, "echo work > work.txt; exit 3\n").with("ACQUIT_STORE", database.url.clone());
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let one = Machine::new(&sandbox, &database, "one", "[retention]\nunfinished = \"2s\"\n");
    let worker = one.worker(&[]);
    let stores = |folder: &str| {
        let stores = std::fs::read_dir(one.place(&format!("acquit/worker/{folder}"))).into_iter().flatten();
        stores.flatten().flat_map(|store| std::fs::read_dir(store.path()).unwrap()).flatten()
    };
    until("it has files of the task", || stores("tasks").next());
    let copy = stores("repositories").map(|one| one.path()).find(|path| path.is_dir()).unwrap();
    let old = |path: &std::path::Path| {
        let touched = sandbox.program("touch").args(["-d", "1 year ago"]).arg(path).status().unwrap();
        assert!(touched.success());
    };
    old(&copy.join("acquit-used"));
    let output = one.place("acquit/worker/obtain-1-T-9.log");
    std::fs::write(&output, "killed").unwrap();
    old(&output);
    until("the output of a killed process is removed", || (!output.exists()).then_some(()));
    assert!(copy.exists(), "a task uses it");
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    until("the files of the cancelled task are removed", || stores("tasks").next().is_none().then_some(()));
    old(&copy.join("acquit-used"));
    until("the copy is removed", || (!copy.exists()).then_some(()));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
}
