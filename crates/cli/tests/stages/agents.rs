//! From one agent to the next.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use crate::common::{side_by_side, until};
use crate::{SECRET, two, world};

/// An attack: its name, what the first stage leaves, and what an honest agent of the second does.
type Attack = (&'static str, &'static str, &'static str);

const ATTACKS: [Attack; 22] = [
    (
        "settings of git in the home",
        r#"printf '[core]\n\tfsmonitor = "echo \\"$LATER_KEY\\" > \\"$steal\\";"\n' > ~/.gitconfig"#,
        "git status > /dev/null",
    ),
    (
        "settings of git below .config",
        r#"mkdir -p ~/.config/git; printf '[alias]\n\tst = !echo $LATER_KEY > "$steal"\n' > ~/.config/git/config"#,
        "git st > /dev/null 2>&1 || true",
    ),
    (
        "fsmonitor in the agent's repository",
        r#"git config core.fsmonitor 'echo $LATER_KEY > "$steal";'"#,
        "git status > /dev/null",
    ),
    (
        "a hook in the agent's repository",
        r#"printf '#!/bin/sh\necho $LATER_KEY > "$steal"\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout"#,
        "git checkout -q -- . ; git checkout -q HEAD",
    ),
    (
        "a filter in the agent's attributes",
        r#"git config filter.x.clean 'tee "$steal"'; echo '* filter=x' > .git/info/attributes"#,
        "touch README.md; git add README.md; git status > /dev/null",
    ),
    ("a profile", r#"echo 'echo $LATER_KEY > "$steal"' > ~/.profile"#, "sh -lc true"),
    (
        "a profile of bash",
        r#"echo 'echo $LATER_KEY > "$steal"' | tee ~/.bashrc > ~/.bash_profile"#,
        "bash -lc true; bash -ic true",
    ),
    (
        "a program in node_modules",
        r#"mkdir -p node_modules/.bin; printf '#!/bin/sh\necho $LATER_KEY > "$steal"\n' > node_modules/.bin/jest; chmod +x node_modules/.bin/jest"#,
        "PATH=node_modules/.bin:$PATH; jest || true",
    ),
    (
        "a virtual environment",
        r#"mkdir -p .venv/bin; echo 'echo $LATER_KEY > "$steal"' > .venv/bin/activate"#,
        "if [ -e .venv/bin/activate ]; then . .venv/bin/activate; fi",
    ),
    (
        "a shadow of a program in a cache that is on the PATH",
        r#"printf '#!/bin/sh\necho $LATER_KEY > "$steal"\n' > ~/.cargo/bin/tool; chmod +x ~/.cargo/bin/tool"#,
        "tool",
    ),
    (
        "settings of cargo",
        r"printf '[alias]\n' > ~/.cargo/config.toml",
        r#"if [ -s ~/.cargo/config.toml ]; then echo found > "$steal"; fi"#,
    ),
    (
        "settings of npm",
        "echo script-shell=evil > ~/.npmrc",
        r#"if [ -s ~/.npmrc ]; then echo found > "$steal"; fi"#,
    ),
    (
        "settings of pip",
        "mkdir -p ~/.config/pip; echo '[global]' > ~/.config/pip/pip.conf",
        r#"if [ -s ~/.config/pip/pip.conf ]; then echo found > "$steal"; fi"#,
    ),
    (
        "a module that python loads by itself",
        r#"d=$(python3 -m site --user-site); mkdir -p "$d"; echo 'import os; open(os.environ["steal"], "w").write("found")' > "$d/usercustomize.py""#,
        "python3 -c pass",
    ),
    (
        "a script in /tmp",
        r#"echo 'echo $LATER_KEY > "$steal"' > /tmp/lib.sh"#,
        "if [ -e /tmp/lib.sh ]; then . /tmp/lib.sh; fi",
    ),
    ("shared memory", "echo x > /dev/shm/left", r#"if [ -e /dev/shm/left ]; then echo found > "$steal"; fi"#),
    (
        "a pipe in an ignored folder",
        "mkdir build; mkfifo build/pipe",
        r#"if [ -p build/pipe ] || [ -d build ]; then echo found > "$steal"; fi"#,
    ),
    (
        "a socket in an ignored folder",
        "mkdir build; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"build/s\")'",
        r#"if [ -S build/s ] || [ -d build ]; then echo found > "$steal"; fi"#,
    ),
    (
        "a link that leads elsewhere",
        "ln -s /tmp/x env.local",
        r#"if [ -L env.local ]; then echo found > "$steal"; fi"#,
    ),
    (
        "a folder that nobody may read",
        "mkdir -p build/deep; echo x > build/deep/x; chmod 000 build/deep build",
        r#"if [ -e build ]; then echo found > "$steal"; fi"#,
    ),
    (
        "a process that stays",
        r#"setsid sh -c 'sleep 1; cat /proc/*/environ | tr "\0" "\n" | grep LATER_KEY > "$steal"' > /dev/null 2>&1 &"#,
        "sleep 2",
    ),
    (
        "the output folders of other legs",
        r#"echo x > "$ACQUIT_OUTPUT/left"; ln -s / "$ACQUIT_OUTPUT/root""#,
        r#"for out in "$ACQUIT_OUTPUT"/../../*/out; do if [ -e "$out/left" ]; then echo found > "$steal"; fi; done"#,
    ),
];

/// What git does not show, and what only looks as if it were made from the commit.
const UNSEEN: [Attack; 13] = [
    (
        "an attribute of a tracked file",
        "python3 -c 'import os; os.setxattr(\"README.md\", \"user.left\", b\"x\")'",
        "python3 -c 'import os; os.getxattr(\"README.md\", \"user.left\")' 2> /dev/null && echo found > \"$steal\"; true",
    ),
    (
        "an attribute of the tree itself",
        "python3 -c 'import os; os.setxattr(\".\", \"user.left\", b\"x\")'",
        "python3 -c 'import os; os.getxattr(\".\", \"user.left\")' 2> /dev/null && echo found > \"$steal\"; true",
    ),
    (
        "rights for whatever is made in a folder",
        "python3 -c 'import os, struct; e = lambda t, p: struct.pack(\"<HHI\", t, p, 2**32-1)
os.setxattr(\".\", \"system.posix_acl_default\", struct.pack(\"<I\", 2) + e(1, 7) + e(4, 7) + e(32, 7))'",
        "python3 -c 'import os; os.getxattr(\".\", \"system.posix_acl_default\")' 2> /dev/null && echo found > \"$steal\"; true",
    ),
    ("an empty folder", "mkdir -p empty/deep", r#"if [ -d empty ]; then echo found > "$steal"; fi"#),
    (
        "poisoned bytecode of a module that is fine",
        r#"echo 'import os; open(os.environ["steal"], "w").write("found")' > lib.py
python3 -c 'import py_compile as p; p.compile("lib.py", invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)'
echo pass > lib.py"#,
        "python3 -c 'import lib'",
    ),
    (
        "a build that looks up to date",
        r#"printf 'build/tool: README.md\n\tmkdir -p build; echo true > build/tool\n' > Makefile
mkdir -p build; echo 'echo $LATER_KEY > "$steal"' > build/tool; touch -d 2100-01-01 build/tool"#,
        "make -s; sh build/tool",
    ),
    (
        "refs of the agent's repository",
        "git tag left; git update-ref refs/notes/commits HEAD; git update-ref refs/stash HEAD; git branch other",
        r#"if [ -n "$(git for-each-ref refs/tags refs/notes refs/stash refs/heads/other)" ]; then echo found > "$steal"; fi"#,
    ),
    (
        "an object that nothing refers to",
        "echo left | git hash-object -w --stdin",
        r#"if git cat-file -e "$(echo left | git hash-object --stdin)" 2> /dev/null; then echo found > "$steal"; fi"#,
    ),
    (
        "an index that overlooks changes",
        "git update-index --assume-unchanged README.md; git update-index --skip-worktree .gitignore",
        r#"if git ls-files -v | grep -q '^[a-zS]'; then echo found > "$steal"; fi"#,
    ),
    (
        "rules that hide new files from git",
        "echo '*' > .git/info/exclude; git config core.excludesFile /tmp/all",
        r#"touch new; if ! git status --porcelain | grep -q new; then echo found > "$steal"; fi; rm new"#,
    ),
    (
        "a shadow of git in the user's folder of programs",
        r#"mkdir -p ~/.local/bin ~/bin; printf '#!/bin/sh\necho $LATER_KEY > "$steal"\n' | tee ~/bin/git > ~/.local/bin/git; chmod +x ~/bin/git ~/.local/bin/git"#,
        "PATH=~/.local/bin:~/bin:$PATH git status > /dev/null",
    ),
    (
        "downloads in caches",
        "for cache in .cargo/registry .npm/_cacache .cache/pip go/pkg/mod .m2/repository; do mkdir -p ~/$cache; echo x > ~/$cache/left; done",
        r#"for cache in .cargo/registry .npm/_cacache .cache/pip go/pkg/mod .m2/repository; do if [ -e ~/$cache/left ]; then echo found > "$steal"; fi; done"#,
    ),
    (
        "files for the time being that outlive a restart",
        "echo x > /var/tmp/left; mkdir -p /run/user/$(id -u) 2> /dev/null && echo x > /run/user/$(id -u)/left || true",
        r#"if [ -e /var/tmp/left ] || [ -e /run/user/$(id -u)/left ]; then echo found > "$steal"; fi"#,
    ),
];

/// What stays in the kernel when a process ends, by a call of the C library, which the first stage makes to leave something and the second
/// to find it.
const KERNEL: [Attack; 7] = [
    (
        "files in shared memory",
        "echo x > /dev/shm/@MARK@",
        r#"if [ -e /dev/shm/@MARK@ ]; then echo found > "$steal"; fi"#,
    ),
    (
        "a segment of System V",
        "@CALL@ 'c.shmget(@KEY@, 4096, 0o1600)'",
        r#"@CALL@ 'c.shmctl(c.shmget(@KEY@, 0, 0), 0, None)' && echo found > "$steal"; true"#,
    ),
    (
        "a queue of System V",
        "@CALL@ 'c.msgget(@KEY@, 0o1600)'",
        r#"@CALL@ 'c.msgctl(c.msgget(@KEY@, 0), 0, None)' && echo found > "$steal"; true"#,
    ),
    (
        "semaphores of System V",
        "@CALL@ 'c.semget(@KEY@, 1, 0o1600)'",
        r#"@CALL@ 'c.semctl(c.semget(@KEY@, 0, 0), 0, 0)' && echo found > "$steal"; true"#,
    ),
    (
        "a queue of POSIX",
        "@CALL@ 'c.mq_open(b\"/@MARK@\", 0o102, 0o600, None)'",
        r#"@CALL@ 'c.mq_unlink(b"/@MARK@")' && echo found > "$steal"; true"#,
    ),
    (
        "a key in a ring of the user",
        "@CALL@ 'c.syscall(248, b\"user\", b\"@MARK@\", b\"x\", 1, -4)'",
        r#"@CALL@ 'c.syscall(250, 10, -4, b"user", b"@MARK@", 0)' && echo found > "$steal"; true"#,
    ),
    (
        "a flag of a tracked file",
        "python3 -c 'import fcntl; fcntl.ioctl(open(\"README.md\"), 0x40086602, (0x40).to_bytes(8, \"little\"))'",
        r#"python3 -c 'import fcntl; raise SystemExit(0 if fcntl.ioctl(open("README.md"), 0x80086601, bytes(8))[0] & 0x40 else 1)' \
             && echo found > "$steal"; true"#,
    ),
];

#[test]
fn nothing_that_the_kernel_keeps_is_found_by_the_next_stage() {
    /// Fails if the call does.
    const CALL: &str = "python3 -c 'import ctypes, sys; c = ctypes.CDLL(None); raise SystemExit(0 if eval(sys.argv[1]) >= 0 else 1)'";
    let process = std::process::id();
    let filled = |text: &str| {
        let text = text.replace("@CALL@", CALL).replace("@KEY@", &(0x4711_0000 + process).to_string());
        text.replace("@MARK@", &format!("acquit-left-{process}"))
    };
    let filled = KERNEL.map(|(name, plant, honest)| (name, filled(plant), filled(honest)));
    let attacks: Vec<_> =
        filled.iter().map(|(name, plant, honest)| (*name, plant.as_str(), honest.as_str())).collect();
    none_succeeds(&attacks);
}

#[test]
fn nothing_that_one_stage_leaves_is_found_by_the_next() {
    none_succeeds(&ATTACKS);
}

#[test]
fn nothing_that_git_does_not_show_is_found_by_the_next_stage() {
    none_succeeds(&UNSEEN);
}

fn none_succeeds(attacks: &[(&str, &str, &str)]) {
    let succeeded = Mutex::new(Vec::new());
    side_by_side(attacks, |(name, plant, honest)| {
        let sandbox = two(plant, honest);
        let bin = sandbox.place("home/.cargo/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(bin.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
        let sandbox = sandbox.with("PATH", path);
        sandbox.run_to(0);
        if sandbox.place("seen/stolen").exists() {
            succeeded.lock().unwrap().push(*name);
        }
    });
    assert_eq!(succeeded.into_inner().unwrap(), Vec::<&str>::new());
}

#[test]
fn a_stage_that_goes_on_keeps_its_own_home_and_its_ignored_files() {
    const AGAIN: &str = r#"
[budgets]
round = 3
[stages.code]
mode = "implement"
on = { pr_ready = "again" }
[stages.again]
mode = "investigate"
on = { found = { to = "code", budget = "round" }, failed = "done" }
"#;
    // The second time, the first stage finds what it left itself, and not what the other one left.
    let agent = r#"
case $ACQUIT_STAGE-$ACQUIT_ATTEMPT in
code-1) echo own > ~/kept; echo own > kept.local; echo 1 > work.txt ;;
code-*) cat ~/kept kept.local ~/other other.local > '@ROOT@/seen/found' 2> /dev/null; echo 2 > work.txt ;;
again-1) echo other > ~/other; echo other > other.local
    printf '{"outcome": "found", "payload": {"summary": "x"}}' > "$ACQUIT_HANDOFF" ;;
again-*) printf '{"outcome": "failed", "payload": {"summary": "x"}}' > "$ACQUIT_HANDOFF" ;;
esac
"#;
    let sandbox = world(crate::CONFIG, AGAIN, agent, &[(".gitignore", "*.local\n")]);
    sandbox.run_to(0);
    // Its tree was another stage's in between, so what it left there is gone; its home is its own.
    assert_eq!(crate::common::read(&sandbox.place("seen/found")), "own\n");
}

#[test]
fn a_leg_cannot_keep_the_next_from_starting() {
    let plant = r#"for n in 1 2 3 4; do mkdir -p "$ACQUIT_OUTPUT/../../$n/prompt.md" "$ACQUIT_OUTPUT/../../$n/out/handoff.json"; done 2> /dev/null"#;
    let sandbox = two(plant, "true");
    // As if it had reached them.
    fs::create_dir_all(sandbox.place("acquit/tasks/T-1/legs/2/prompt.md/x")).unwrap();
    std::os::unix::fs::symlink("/etc", sandbox.place("acquit/tasks/T-1/legs/3")).unwrap();
    sandbox.run_to(0);
}

#[test]
fn a_set_gid_file_is_refused_and_loses_its_bit() {
    let sandbox = two("cp /bin/true tool; chmod 2755 tool", "true");
    sandbox.run_to(3);
    let (kind, reason) = sandbox.failed(0);
    assert_eq!(kind, "guardrail", "{reason}");
    assert!(reason.contains("set-uid") && reason.contains("tool"), "{reason}");
    let tool = sandbox.place("acquit/tasks/T-1/workspace/work/tool");
    let left = fs::metadata(&tool).map(|meta| meta.permissions().mode() & 0o6000);
    assert!(left.is_err() || left.unwrap() == 0);
}

#[test]
fn a_set_uid_file_cannot_be_made() {
    let sandbox = two(
        "cp /bin/true tool; chmod 4755 tool && exit 1; install -m 6755 /bin/true other && exit 1; true",
        "true",
    );
    sandbox.run_to(0);
}

#[test]
fn nobody_else_enters_the_folder_of_acquit() {
    let sandbox = two("true", "true");
    fs::set_permissions(sandbox.place("acquit"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.run_to(0);
    for place in [
        "acquit",
        "acquit/tasks",
        "acquit/tasks/T-1/..",
        "acquit/tasks/T-1",
        "acquit/tasks/T-1/legs",
        "acquit/tasks/T-1/legs/1",
    ] {
        let mode = fs::metadata(sandbox.place(place)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{place}: {mode:o}");
    }
}

#[test]
fn what_legs_leave_on_the_disk_has_no_secret_when_the_task_ends() {
    let honest = r#"echo "$LATER_KEY" | tee ~/note /tmp/note > note.local
mkdir -p "$ACQUIT_OUTPUT/closed"; echo "$LATER_KEY" > "$ACQUIT_OUTPUT/closed/note"; chmod 000 "$ACQUIT_OUTPUT/closed/note" "$ACQUIT_OUTPUT/closed""#;
    let sandbox = two("true", honest);
    sandbox.run_to(0);
    // The harness cleans up after its last handoff, which is when the command ends.
    until("no secret on the disk", || {
        let found =
            sandbox.program("grep").args(["-rl", SECRET]).arg(sandbox.place("acquit")).output().unwrap();
        found.stdout.is_empty().then_some(())
    });
}

/// What an agent with a secret leaves in every place that outlives its leg.
const LEAVES: &str = r#"echo "$LATER_KEY" | tee ~/note /tmp/note > "$ACQUIT_OUTPUT/note""#;

/// Files below acquit's folder with the secret, but for the workspace, which stays until it is removed.
fn with_secret(sandbox: &crate::common::Sandbox) -> Vec<String> {
    let found = sandbox.program("grep").args(["-rl", SECRET]).arg(sandbox.place("acquit")).output().unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    found.lines().filter(|path| !path.contains("/workspace/")).map(str::to_owned).collect()
}

fn cleaned(sandbox: &crate::common::Sandbox) {
    until("no secret on the disk", || with_secret(sandbox).is_empty().then_some(()));
}

#[test]
fn a_task_that_a_person_ends_leaves_no_secret() {
    // Its last leg failed, and it waits for a person; another waits for an answer.
    let failed = two("true", &format!("{LEAVES}; exit 1"));
    failed.run_to(3);
    assert!(!with_secret(&failed).is_empty(), "a task that waits keeps the home of its agent");
    failed.acquit(&["task", "cancel", "T-1"]).must(0);
    cleaned(&failed);
    let asks = two("true", LEAVES);
    let flow = crate::TWO.replace("found = \"deliver\"", "found = \"choose\"")
        + "[stages.choose]\nkind = \"human\"\nquestion = \"Which?\"\non = { left = \"deliver\", right = \"failed\" }\n";
    asks.repo.write(".acquit/workflows/flow.toml", &flow);
    asks.repo.commit("a stage that asks");
    asks.run_to(3);
    assert!(!with_secret(&asks).is_empty(), "{:?}", asks.task().state);
    asks.acquit(&["answer", "T-1", "right"]).must(0);
    cleaned(&asks);
    // Whoever ends it does not know the secret any more, so nothing is kept that may hold it.
    let forgotten = two("true", &format!("{LEAVES}; exit 1"));
    forgotten.run_to(3);
    let mut command = forgotten.command(&["task", "cancel", "T-1"]);
    assert!(command.env_remove("LATER_KEY").status().unwrap().success());
    cleaned(&forgotten);
}

#[test]
fn a_task_that_ends_with_a_lost_leg_leaves_no_secret() {
    let sandbox = two("true", &format!("{LEAVES}; echo there > '@ROOT@/seen/there'; sleep 600"));
    let started = sandbox.start(&["run", "Do it"]);
    crate::common::until_file(&sandbox.place("seen/there"));
    let owner = sandbox.legs().into_iter().find_map(|leg| leg.owner.filter(|_| leg.id.number == 2));
    let pid = owner.expect("a harness at work").pid;
    started.signal(rustix::process::Signal::KILL);
    crate::common::processes::signal(pid, rustix::process::Signal::KILL);
    until("the harness is gone", || crate::common::processes::is_over(pid).then_some(()));
    assert!(!with_secret(&sandbox).is_empty());
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    cleaned(&sandbox);
    drop(started);
}
