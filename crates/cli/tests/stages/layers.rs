//! Setup layers: made once, shared by tasks, and never by what an agent wrote.

use std::fs;

use crate::common::{Sandbox, read};
use crate::world;

const WORKFLOW: &str = "[budgets]\nharness = 0\ntest = 0\n[gates.proof]\nrun = \"test -e deps/here && test ! -e deps/evil\"\nkind = \"test\"\n\
    [stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\non = { pr_ready = \"deliver\" }\n\
    [stages.deliver]\nkind = \"action\"\naction = \"squash\"\non = { done = \"done\" }\n";
const SETUP: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n[setup]\n\
    run = \"echo set >> '@ROOT@/seen/setups'; mkdir -p deps; touch deps/here; for hook in hooks.d/*; do sh $hook; done\"\nlock_files = [\"lock\"]\n";

fn sandbox(agent: &str) -> Sandbox {
    world(SETUP, WORKFLOW, agent, &[("lock", "1\n"), ("hooks.d/one", "true\n"), (".gitignore", "*.pyc\n")])
}

fn setups(sandbox: &Sandbox) -> usize {
    read(&sandbox.place("seen/setups")).lines().count()
}

#[test]
fn setup_runs_once_for_all_tasks_with_the_same_lock_file() {
    let sandbox = sandbox("echo work > work.txt\n");
    let first = sandbox.start(&["run", "One"]);
    let second = sandbox.start(&["run", "Two"]);
    first.wait().must(0);
    second.wait().must(0);
    sandbox.run_to(0);
    assert_eq!(setups(&sandbox), 1);
    sandbox.repo.write("lock", "2\n");
    sandbox.repo.commit("another lock file");
    sandbox.run_to(0);
    assert_eq!(setups(&sandbox), 2);
    // What setup left in the tree and git does not ignore is nobody's work.
    let branch = sandbox.task().seed.branch;
    assert!(!sandbox.repo.git(&["ls-tree", "-r", "--name-only", &branch]).contains("deps"));
    // Of a cache that was moved, other downloads are kept.
    let moved = sandbox.place("moved").to_string_lossy().into_owned();
    let sandbox = sandbox.with("CARGO_HOME", moved);
    sandbox.acquit(&["run", "Three"]).must(0);
    assert_eq!(setups(&sandbox), 3);
}

/// acquit's directory is below the home unless somebody moves it, and so is each layer of setup. The kernel refuses to lay
/// one directory over another that contains it.
#[test]
fn downloads_of_setup_are_beside_the_users_own_where_acquit_lives_in_the_home() {
    let downloads = "mkdir -p deps ~/.npm/_cacache ~/.cache/pip; \
        for cache in .npm/_cacache .cache/pip; do echo made > ~/$cache/made; done;";
    let setup = SETUP.replace("mkdir -p deps;", downloads);
    let sees = "cat ~/.npm/_cacache/known ~/.npm/_cacache/made ~/.cache/pip/made ~/.cargo/registry/known";
    let gate =
        format!("test \\\"$({sees} | tr -d '\\n')\\\" = knownmademadeknown && echo x > ~/.npm/_cacache/gate");
    let workflow = WORKFLOW.replace("test ! -e deps/evil", &gate);
    let files = [("lock", "1\n"), ("hooks.d/one", "true\n"), (".gitignore", "*.pyc\n")];
    let agent = format!("{sees} > work.txt && echo x > ~/.npm/_cacache/agent\n");
    let sandbox = world(&setup, &workflow, &agent, &files);
    let home = sandbox.place("home");
    for cache in [".npm/_cacache", ".cargo/registry"] {
        fs::create_dir_all(home.join(cache)).unwrap();
        fs::write(home.join(cache).join("known"), "known\n").unwrap();
    }
    let own = home.join(".local/share/acquit").to_string_lossy().into_owned();
    let sandbox = sandbox.with("ACQUIT_HOME", own);
    sandbox.acquit(&["run", "One"]).must(0);
    sandbox.acquit(&["run", "Two"]).must(0);
    assert_eq!(setups(&sandbox), 1);
    for name in [".npm/_cacache/made", ".npm/_cacache/gate", ".npm/_cacache/agent", ".cache/pip"] {
        assert!(!home.join(name).exists(), "{name} is in the user's home");
    }
}

#[test]
fn code_of_an_agent_makes_no_layer_that_others_see() {
    // A script that setup runs is changed, and no lock file: the work is judged over the layer of the base.
    let agent = "echo 'touch deps/evil' > hooks.d/evil\n";
    let first = sandbox(agent);
    first.run_to(0);
    assert_eq!(setups(&first), 1);
    // With a lock file the work gets a layer of its own, which the next task does not see.
    let second = sandbox(
        "if [ $ACQUIT_TASK = T-1 ]; then echo 'touch deps/evil' > hooks.d/evil; echo 2 > lock; else echo x > x; fi\n",
    );
    second.run_to(3);
    assert_eq!(setups(&second), 2);
    second.acquit(&["run", "Another"]).must(0);
    assert_eq!(setups(&second), 2);
}

/// What compiling leaves is where gates start from, so it is only done with the base, and without network.
#[test]
fn only_the_base_is_compiled_in_setup() {
    let compiles = SETUP.replace(
        "lock_files",
        "compile = \"echo compiled >> '@ROOT@/seen/compiled'; mkdir -p deps; cp lock deps/compiled; false\"\nlock_files",
    );
    let proof = "test \\\"$(cat deps/compiled 2>/dev/null)\\\" != 2";
    let workflow = WORKFLOW.replace("test ! -e deps/evil", proof);
    let files = [("lock", "1\n"), ("hooks.d/one", "true\n"), (".gitignore", "*.pyc\n")];
    let agent =
        "if [ $ACQUIT_TASK = T-1 ]; then echo 2 > lock; else test -e deps/compiled && echo x > x; fi\n";
    let sandbox = world(&compiles, &workflow, agent, &files);
    sandbox.run_to(0);
    sandbox.acquit(&["run", "Another"]).must(0);
    assert_eq!(setups(&sandbox), 2);
    assert_eq!(read(&sandbox.place("seen/compiled")).lines().count(), 1);
}

#[test]
fn a_base_that_an_agent_made_makes_no_layer_for_tasks_on_another() {
    let agent = "case $ACQUIT_TASK in\nT-1) echo 'touch deps/evil' > hooks.d/evil; echo 2 > lock ;;\n\
        *) echo work > work.txt; ls deps > '@ROOT@/seen/'$ACQUIT_TASK ;;\nesac\n";
    let flow = WORKFLOW.replace(" && test ! -e deps/evil", "");
    let files = [("lock", "1\n"), ("hooks.d/one", "true\n")];
    let sandbox = world(SETUP, &flow, agent, &files);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    // The same lock file comes to the base branch, from somebody else.
    sandbox.repo.write("lock", "2\n");
    sandbox.repo.commit("another lock file");
    sandbox.repo.git(&["checkout", "--quiet", &branch]);
    sandbox.acquit(&["run", "On its branch"]).must(0);
    sandbox.repo.git(&["checkout", "--quiet", "main"]);
    sandbox.acquit(&["run", "By name", "--base", &branch]).must(0);
    sandbox.acquit(&["run", "On the base branch"]).must(0);
    for (task, found) in [("T-2", "evil\nhere\n"), ("T-3", "evil\nhere\n"), ("T-4", "here\n")] {
        assert_eq!(read(&sandbox.place(&format!("seen/{task}"))), found, "{task}");
    }
    // One for the base of T-1, one for its work, one that T-2 and T-3 share, one for the new base.
    assert_eq!(setups(&sandbox), 4);
}

#[test]
fn a_setup_that_was_cut_short_leaves_no_layer() {
    let sandbox = sandbox("echo work > work.txt\n");
    sandbox.repo.write(
        "hooks.d/two",
        "test -e '@ROOT@/seen/mended'\n".replace("@ROOT@", &sandbox.place("").to_string_lossy()).as_str(),
    );
    sandbox.repo.commit("a script that fails");
    sandbox.run_to(3);
    fs::write(sandbox.place("seen/mended"), "").unwrap();
    sandbox.acquit(&["run", "Again"]).must(0);
    assert_eq!(setups(&sandbox), 2);
}

#[test]
fn an_agents_changes_to_a_layer_stay_with_its_stage() {
    let sandbox = sandbox("rm deps/here; echo x > deps/evil.pyc; echo work > work.txt\n");
    sandbox.repo.write("hooks.d/two", "test ! -e deps/evil.pyc\n");
    sandbox.repo.commit("another");
    sandbox.run_to(0);
    sandbox.acquit(&["run", "Another"]).must(0);
    assert_eq!(setups(&sandbox), 1);
}

#[test]
fn setup_for_a_changed_lock_file_is_shown_with_its_network_and_hosts() {
    // It asks for one host that is listed and for one that is not.
    let ask = |host: &str| {
        format!("python3 -c 'import urllib.request as u; u.urlopen(\"http://{host}/\")' 2> /dev/null || true")
    };
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listed = format!("127.0.0.1:{}", server.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for stream in server.incoming().flatten() {
            use std::io::Write;
            let _ = (&stream).write_all(b"HTTP/1.0 204 No Content\r\n\r\n");
        }
    });
    let config = SETUP.replace("run = \"echo set", "run = \"sh fetch.sh; echo set")
        + &format!("[network]\nhosts = [\"{listed}\", \"listed.example\"]\n");
    let fetch = format!("{}\n{}\n", ask(&listed), ask("evil.example"));
    let files = [("lock", "1\n"), ("hooks.d/one", "true\n"), ("fetch.sh", fetch.as_str())];
    let sandbox = world(&config, WORKFLOW, "echo 2 > lock\n", &files);
    let said = sandbox.run_to(0).err;
    let words = format!(
        "setup ran for changed lock: network model ({listed}, listed.example); reached {listed}; was refused evil.example:80"
    );
    assert!(
        said.contains("the work changed a lock file, so it gets a layer of its own; network model"),
        "{said}"
    );
    assert!(said.contains(&words), "{said}");
    let shown = sandbox.acquit(&["show", "T-1"]).must(0).out;
    assert!(shown.contains(words.trim_start_matches("setup ")), "{shown}");
    let json = sandbox.acquit(&["show", "T-1", "--json"]).must(0).json();
    assert_eq!(json["setups"][0]["refused"][0], "evil.example:80", "{json}");
    // Another task with the same files uses the layer, and says where it comes from.
    sandbox.acquit(&["run", "Again"]).must(0);
    let shown = sandbox.acquit(&["show", "T-2"]).must(0).out;
    assert!(shown.contains(&words.replace("setup ran for", "ran earlier for")), "{shown}");
    // So does a judgement, of which nothing else is left.
    let judged = config.clone() + "[gates.test]\nrun = \"test -e deps/here\"\nkind = \"test\"\n";
    let proved = world(&judged, WORKFLOW, "", &files);
    proved.repo.write("lock", "3\n");
    let report = proved.acquit(&["prove"]).must(0).out;
    assert!(report.contains(&words), "{report}");
    let report = proved.acquit(&["prove", "--fresh", "--format", "markdown"]).must(0).out;
    assert!(report.contains("Setup ran earlier for changed lock: network model"), "{report}");
    let report = proved.acquit(&["prove", "--fresh", "--json"]).must(0).json();
    assert_eq!(report["setups"][0]["reached"][0], listed.as_str(), "{report}");
    // Setup of the base is the user's own.
    let base = world(&config, WORKFLOW, "echo work > work.txt\n", &files);
    assert!(!base.run_to(0).err.contains("setup ran for changed"));
}

/// SPEC §3: "Project setup … with a configurable command and files to copy".
#[test]
fn files_that_git_does_not_track_are_copied_for_setup_agents_and_gates_and_delivered_by_nobody() {
    let config = SETUP.replace("run = \"", "copy = [\"local.cfg\", { from = \"env.test\", to = \"conf/.env\" }]\nrun = \"cat conf/.env > deps.txt; ");
    let workflow = WORKFLOW
        .replace("test -e deps/here", "grep -q 4711 conf/.env && test -e local.cfg && test -e deps/here");
    let agent = "grep -q PORT conf/.env && cat local.cfg > work.txt; echo changed > local.cfg\n";
    let files = [("lock", "1\n"), ("hooks.d/one", "true\n")];
    let sandbox = world(&config, &workflow, agent, &files);
    // Absent, it is for a person to say what is meant.
    sandbox.run_to(3).said("there is no such file");
    sandbox.repo.write("local.cfg", "colour = blue\n");
    sandbox.repo.write("env.test", "PORT=4711\n");
    sandbox.acquit(&["run", "Again"]).must(0).said("copying local.cfg, conf/.env; running setup");
    let tree = sandbox.repo.git(&["ls-tree", "-r", "--name-only", "acquit/again-T-2"]);
    assert!(tree.contains("work.txt") && !tree.contains("local.cfg") && !tree.contains(".env"), "{tree}");
    assert_eq!(
        read(&sandbox.repo.path().join("local.cfg")),
        "colour = blue\n",
        "the user's own is untouched"
    );
    assert_eq!(setups(&sandbox), 1);
    sandbox.acquit(&["run", "The same"]).must(0);
    assert_eq!(setups(&sandbox), 1);
    sandbox.repo.write("env.test", "PORT=4711\nMORE=1\n");
    sandbox.acquit(&["run", "Another content"]).must(0);
    assert_eq!(setups(&sandbox), 2);

    // What agents must not see is not copied, and a link leads nowhere.
    let refused = |words: &str| {
        let ran = sandbox.acquit(&["run", "Refused"]).must(3);
        ran.said(words);
        assert!(!format!("{}{}", ran.out, ran.err).contains("Qm9vT7xKpL2v"), "{}", ran.err);
    };
    sandbox.repo.write("env.test", "AWS_SECRET_ACCESS_KEY=Qm9vT7xKpL2vNc8RtYw4Zs6HdJfAeUgB1iO3kX5q\n");
    refused("looks like a secret");
    fs::remove_file(sandbox.repo.path().join("env.test")).unwrap();
    fs::write(sandbox.place("private"), "PORT=4711\n").unwrap();
    std::os::unix::fs::symlink(sandbox.place("private"), sandbox.repo.path().join("env.test")).unwrap();
    refused("is a link");
    for path in ["/etc/passwd", "../private", ".git/config", ".acquit/acquit.toml", "a//b"] {
        sandbox.repo.write(".acquit/acquit.toml", &config.replace("\"local.cfg\"", &format!("\"{path}\"")));
        sandbox.acquit(&["workflow", "check"]).must(2).said("is not a file that can be copied");
    }
}

#[test]
fn a_verdict_holds_only_for_the_files_that_setup_copied() {
    let config = SETUP.replace("run = \"", "copy = [{ from = \"env.test\", to = \"conf/.env\" }]\nrun = \"");
    let flow = "[budgets]\nharness = 0\ntest = 0\n[gates.proof]\nrun = \"grep -q 4711 conf/.env\"\nkind = \"test\"\n\
        [stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\non = { pr_ready = \"choose\" }\n\
        [stages.choose]\nkind = \"human\"\nquestion = \"Which?\"\non = { left = \"again\", right = \"failed\" }\n\
        [stages.again]\nkind = \"check\"\ngates = [\"proof\"]\non = { passed = \"done\" }\n";
    let files = [("lock", "1\n"), ("hooks.d/one", "true\n"), (".gitignore", "env.test\n")];
    for (port, code) in [("4711", 0), ("1", 3)] {
        let sandbox = world(&config, flow, "echo work > work.txt\n", &files);
        sandbox.repo.write("env.test", "PORT=4711\n");
        sandbox.run_to(3).said("Which?");
        sandbox.repo.write("env.test", &format!("PORT={port}\n"));
        sandbox.acquit(&["answer", "T-1", "left"]).must(0);
        sandbox.acquit(&["run", "T-1"]).must(code);
    }
}
