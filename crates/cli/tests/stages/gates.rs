//! From an agent to gates and setup: what is judged is what is committed, over what setup made.

use crate::common::{Sandbox, read};
use crate::world;

/// One stage whose work a gate judges.
fn judged(config: &str, gate: &str, agent: &str, files: &[(&str, &str)]) -> Sandbox {
    let config = format!(
        "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n{config}"
    );
    let workflow = format!(
        "[budgets]\noutcome = 0\nagent = 0\nnothing = 0\nharness = 0\ntest = 0\n[gates.proof]\nrun = {}\nkind = \"test\"\n\
         [stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\non = {{ pr_ready = \"done\" }}\n",
        toml_string(gate)
    );
    let mut all = vec![(".gitignore", ".venv\ndeps\nbuild\n*.local\n")];
    all.extend_from_slice(files);
    world(&config, &workflow, agent, &all)
}

fn toml_string(text: &str) -> String {
    format!("'''{text}'''")
}

const SETUP: &str = "[setup]\nrun = \"mkdir -p .venv/bin && cp check.sh .venv/bin/check && chmod +x .venv/bin/check\"\nlock_files = [\"lock\"]\n";
const CHECK: [(&str, &str); 2] = [("check.sh", "#!/bin/sh\ntest ! -e bad\n"), ("lock", "1\n")];

#[test]
fn a_program_that_setup_installed_is_not_the_agents_to_replace() {
    let agent = "printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/check; echo bad > bad\n";
    judged(SETUP, ".venv/bin/check", agent, &CHECK).run_to(3);
    // And it is there for work that is good.
    judged(SETUP, ".venv/bin/check", "echo good > good\n", &CHECK).run_to(0);
}

/// What is published, and what `acquit prove` judges, is judged over what setup made as well.
#[test]
fn a_replaced_program_has_no_say_before_publishing_and_in_prove() {
    let flow = "[budgets]\noutcome = 0\nnothing = 0\nharness = 0\ntest = 0\n[gates.proof]\nrun = \".venv/bin/check\"\nkind = \"test\"\n\
        [stages.code]\nmode = \"implement\"\non = { pr_ready = \"publish\" }\n\
        [stages.publish]\nkind = \"action\"\naction = \"ACTION\"\ngates = [\"proof\"]\non = { done = \"done\" }\n";
    let agent = "printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/check; git add -f .venv; git commit -qm x; echo bad > bad\n";
    for action in ["publish", "merge"] {
        let config = format!("{}{SETUP}", crate::CONFIG);
        let files = [(".gitignore", ".venv\n"), CHECK[0], CHECK[1]];
        let sandbox = world(&config, &flow.replace("ACTION", action), agent, &files);
        let remote = sandbox.place("remote.git");
        let remote = remote.to_str().unwrap();
        sandbox.repo.git(&["init", "--quiet", "--bare", "-b", "main", remote]);
        sandbox.repo.git(&["remote", "add", "origin", remote]);
        sandbox.repo.git(&["push", "--quiet", "-u", "origin", "main"]);
        let ran = sandbox.run_to(3);
        let failed = sandbox.endings().iter().any(|end| format!("{end:?}").contains("proof"));
        assert!(failed, "{action}: {:?} {ran}", sandbox.endings());
        assert_eq!(sandbox.repo.git(&["ls-remote", "--heads", remote]).lines().count(), 1, "{action}: {ran}");
    }
    let config =
        format!("{}{SETUP}[gates.proof]\nrun = \".venv/bin/check\"\nkind = \"test\"\n", crate::CONFIG);
    let files = [(".gitignore", ".venv\n"), CHECK[0], CHECK[1]];
    let sandbox = world(&config, crate::TWO, "", &files);
    sandbox.repo.write(".venv/bin/check", "#!/bin/sh\nexit 0\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.repo.path().join(".venv/bin/check"), mode).unwrap();
    sandbox.repo.write("bad", "bad\n");
    assert_ne!(sandbox.acquit(&["prove"]).code, Some(0));
    std::fs::remove_file(sandbox.repo.path().join("bad")).unwrap();
    sandbox.repo.write("good", "good\n");
    sandbox.acquit(&["prove"]).must(0);
}

#[test]
fn ignored_files_and_the_agents_repository_have_no_say() {
    for (plant, gate) in [
        ("echo x > left.local; mkdir build; mkfifo build/p", "test ! -e left.local && test ! -e build"),
        (
            "git config core.fsmonitor 'touch @ROOT@/seen/stolen;'",
            "git status && test ! -e '@ROOT@/seen/stolen'",
        ),
        ("git config alias.st '!touch @ROOT@/seen/stolen'", "git st; test ! -e '@ROOT@/seen/stolen'"),
        (
            "git update-index --assume-unchanged README.md; echo x > README.md",
            "git diff --quiet && test \"$(cat README.md)\" = x",
        ),
        ("printf x > .git/left", "test ! -e .git/left"),
        ("echo x > ~/left; echo x > /tmp/left", "test ! -e ~/left && test ! -e /tmp/left"),
    ] {
        let sandbox = judged("", gate, &format!("{plant}\necho work > work.txt\n"), &[]);
        sandbox.run_to(0);
    }
}

/// A gate does not take results of setup for newer than the change, or another content for that of the base.
#[test]
fn neither_old_times_nor_false_objects_hide_a_change_from_a_gate() {
    const BUILT: &str = "[setup]\nrun = \"make -s\"\nlock_files = [\"lock\"]\n";
    const FILES: [(&str, &str); 3] = [
        ("Makefile", "build/tool: src\n\tmkdir -p build; cp src build/tool\n"),
        ("src", "true\n"),
        ("lock", "1\n"),
    ];
    /// The object of the gate's own script, with another content.
    const FALSE: &str = "id=$(git rev-parse HEAD:check.sh); object=.git/objects/$(echo $id | sed 's,..,&/,'); mkdir -p $(dirname $object); \
        python3 -c 'import sys, zlib; open(sys.argv[1], \"wb\").write(zlib.compress(b\"blob 5\" + bytes(1) + b\"true\\n\"))' $object; \
        test \"$(git cat-file -p $id)\" = true || exit 9; echo bad > bad\n";
    let build = "make -s && sh build/tool";
    let old = "echo false > src; touch -d 1990-01-01 src";
    for (config, gate, agent) in [
        (BUILT, build, format!("{old}\n")),
        (BUILT, build, format!("echo false > src; git commit -qam 'T-1: x'; {old}\n")),
        ("", "sh check.sh", FALSE.to_owned()),
        ("", "sh check.sh", format!("{FALSE}git add bad; git commit -qm 'T-1: x'\n")),
    ] {
        let ran = judged(config, gate, &agent, &[FILES.as_slice(), &CHECK[..1]].concat()).run_to(3);
        assert!(ran.err.contains("rejected by proof"), "{agent}: {ran}");
    }
    judged(BUILT, build, "echo 'true # changed' > src\n", &FILES).run_to(0);
}

#[test]
fn a_gate_changes_nothing_for_the_next() {
    let workflow = "[gates.a]\nrun = \"test ! -e left && echo x > left && echo changed > README.md && git config x.y z\"\n\
        [gates.b]\nrun = \"test ! -e left && test $(cat README.md) = sample && ! git config x.y && echo x > left\"\n\
        [stages.code]\nmode = \"implement\"\ngates = [\"a\", \"b\"]\non = { pr_ready = \"done\" }\n";
    let sandbox = Sandbox::shell(workflow, "echo work > work.txt\n");
    sandbox.run_to(0);
    assert!(!sandbox.place("acquit/tasks/T-1/workspace/work/left").exists());
}

/// Gates that run in parallel see the user's registries in files of their own.
#[test]
fn a_gate_beside_another_does_not_write_its_settings() {
    let files = ".npmrc .config/pip/pip.conf .config/go/env";
    let turn = "i=0; while [ $i -lt 20 ]; do i=$((i+1)); sleep 0.05";
    let flow = format!(
        "[budgets]\ntest = 0\n[gates.evil]\nparallel = true\nrun = \"touch '@ROOT@/seen/evil'; while ! [ -e '@ROOT@/seen/good' ]; do sleep 0.05; done; {turn}; \
         for file in {files}; do echo evil=1 >> ~/$file; done; done; grep -q evil ~/.npmrc\"\n\
         [gates.good]\nparallel = true\nrun = \"touch '@ROOT@/seen/good'; while ! [ -e '@ROOT@/seen/evil' ]; do sleep 0.05; done; {turn}; \
         for file in {files}; do grep -q https: ~/$file || exit 2; ! grep -q evil ~/$file || exit 3; done; done\"\n\
         [stages.code]\nmode = \"implement\"\ngates = [\"evil\", \"good\"]\non = {{ pr_ready = \"done\" }}\n"
    );
    let config =
        "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";
    // An agent that takes the permissions of its own keeps no gate from starting.
    let sandbox = world(config, &flow, "chmod 0 ~/.npmrc; echo work > work.txt\n", &[]);
    for (name, text) in [
        (".npmrc", "registry=https://npm.example.com/\n"),
        (".config/pip/pip.conf", "[global]\nindex-url = https://pypi.example.com/\n"),
        (".config/go/env", "GOPROXY=https://go.example.com\n"),
    ] {
        acquit_testkit::repo::write(&sandbox.place("home").join(name), text);
    }
    sandbox.run_to(0);
}

#[test]
fn setup_sees_committed_files_only() {
    // It has a network of its own, so it must have nothing to send. The second stage begins with another lock file.
    const WORKFLOW: &str = "[gates.proof]\nrun = \"test -d deps\"\n[stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\n\
        on = { pr_ready = \"more\" }\n[stages.more]\nmode = \"implement\"\ngates = [\"proof\"]\non = { pr_ready = \"done\" }\n";
    const CONFIG: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n[setup]\n\
        run = \"cat left.local .git/left ~/left /tmp/left >> '@ROOT@/seen/stolen'; mkdir -p deps\"\nlock_files = [\"lock\"]\n";
    let agent = "for at in left.local .git/left ~/left /tmp/left; do echo secret > $at; done; echo $ACQUIT_STAGE > lock\n";
    let files = [("lock", "1\n"), (".gitignore", "*.local\ndeps\n")];
    let sandbox = world(CONFIG, WORKFLOW, agent, &files);
    sandbox.run_to(0);
    assert_eq!(read(&sandbox.place("seen/stolen")), "");
}

#[test]
fn gates_see_what_a_changed_lock_file_brings() {
    let config = "[setup]\nrun = \"mkdir -p deps ~/.cargo/registry ~/.cargo/bin && cp lock deps/ && cp lock ~/.cargo/registry/ && cp lock ~/.cargo/bin/\"\nlock_files = [\"lock\"]\n";
    let gate =
        "test $(cat deps/lock) = 2 && test $(cat ~/.cargo/registry/lock) = 2 && test ! -e ~/.cargo/bin/lock";
    for host in [false, true] {
        let sandbox =
            judged(config, gate, "test $(cat deps/lock) = 1 && echo 2 > lock\n", &[("lock", "1\n")]);
        if host {
            std::fs::create_dir_all(sandbox.place("home/.cargo")).unwrap();
        }
        sandbox.run_to(0);
    }
}

#[test]
fn without_overlays_gates_judge_a_checkout_of_their_own() {
    // `sandbox = "off"` is such a machine: nothing can be mounted.
    const CONFIG: &str = "sandbox = \"off\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n[setup]\n\
        run = \"mkdir -p deps && cp lock deps/\"\nlock_files = [\"lock\"]\n";
    const WORKFLOW: &str = "[gates.a]\nrun = \"test $(cat deps/lock) = 2 && test ! -e left.local && echo x > left.local\"\n\
        [gates.b]\nrun = \"test $(cat deps/lock) = 2 && test ! -e left.local && test $(git log --format=%s -1 | wc -l) = 1\"\n\
        [stages.code]\nmode = \"implement\"\ngates = [\"a\", \"b\"]\non = { pr_ready = \"done\" }\n";
    let agent = "test $(cat deps/lock) = 1 && echo 3 > deps/lock && echo x > left.local && echo 2 > lock\n";
    let sandbox = world(CONFIG, WORKFLOW, agent, &[("lock", "1\n"), (".gitignore", "*.local\ndeps\n")]);
    sandbox.run_to(0);
}

/// Without overlays, setup runs in the workspace itself.
#[test]
fn setup_in_the_agents_tree_finds_no_file_that_an_earlier_leg_left() {
    let config = format!(
        "sandbox = \"off\"\n{}\n[setup]\nrun = \"cat note.local .venv/note >> '@ROOT@/seen/stolen'; touch .venv; true\"\n\
         lock_files = [\"lock\"]\n",
        crate::CONFIG
    );
    let flow = "[budgets]\ntest = 1\nharness = 0\n[gates.second]\nrun = \"test -e second\"\nkind = \"test\"\n[stages.code]\n\
        mode = \"implement\"\nsecrets = [\"LATER_KEY\"]\ngates = [\"second\"]\non = { pr_ready = \"done\" }\n";
    let agent = "if [ -e first ]; then echo x > second; else echo x > first; mkdir .venv; echo $LATER_KEY | tee .venv/note > note.local\n\
        echo 2 > lock; fi\n";
    let files = [("lock", "1\n"), (".gitignore", "*.local\n.venv\n")];
    let sandbox = crate::world(&config, flow, agent, &files).with("LATER_KEY", crate::SECRET);
    sandbox.run_to(0);
    assert_eq!(crate::common::read(&sandbox.place("seen/stolen")), "");
}

/// A runner that says which tool setup installed, and runs the project's code.
const RUNNER: &str = r#"
cat deps/tool >> '@ROOT@/seen/tools'
. ./code.sh
code=0
echo '<testsuite name="checks">' > results.xml
for file in checks/*; do
    case "$(cat $file)" in
    any | $answer) echo "<testcase name='$file'/>" ;;
    *) echo "<testcase name='$file'><failure message='$answer'/></testcase>"; code=1 ;;
    esac >> results.xml
done
echo '</testsuite>' >> results.xml
exit $code
"#;

#[test]
fn code_of_the_change_does_not_prepare_the_tree_in_which_it_is_judged_again() {
    let config = format!(
        "{}\n[setup]\nrun = \"mkdir deps; echo sound > deps/tool\"\nlock_files = [\"lock\"]\n",
        crate::CONFIG
    );
    let flow = "[budgets]\ntest = 0\nharness = 0\n[gates.proof]\ncheck = \"tdd\"\nrun = \"sh run.sh\"\nreport = { junit = \"results.xml\" }\n\
        tests = [\"checks/*\"]\nruns = 1\n[stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\non = { pr_ready = \"done\" }\n";
    // How the tests are run changes as well, so they run with the base's version of that once more.
    let agent = "printf 'answer=new; rm -rf deps; mkdir deps; echo evil > deps/tool\\n' > code.sh; echo new > checks/new; echo '# x' >> run.sh\n";
    let files = [
        ("lock", "1\n"),
        (".gitignore", "deps\nresults.xml\n"),
        ("run.sh", RUNNER),
        ("code.sh", "answer=old\n"),
        ("checks/old", "any\n"),
    ];
    let sandbox = crate::world(&config, flow, agent, &files);
    sandbox.run_to(0);
    let tools = crate::common::read(&sandbox.place("seen/tools"));
    assert!(tools.lines().count() >= 5 && tools.lines().all(|tool| tool == "sound"), "{tools}");
}
