//! From an agent to acquit's own git: what lies in the tree and in the agent's repository when its work is collected, judged, delivered and
//! looked at. Nothing of it is run outside of the sandbox, nothing is read through it, and nobody waits for it.

use std::fs;
use std::sync::Mutex;

use acquit_core::leg::Ending;

use crate::common::{Sandbox, read, side_by_side};
use crate::{SECRET, TWO, two, world};

/// An attack: its name, and what the agent leaves before its report. `@TRIP@` is a shell command that only something outside of the sandbox
/// could still run once the agent has ended.
type Attack = (&'static str, &'static str);

/// Programs that git knows, set in the agent's repository and named by the tree.
const PROGRAMS: [Attack; 9] = [
    (
        "filters of every kind",
        "for k in clean smudge process; do git config filter.x.$k '@TRIP@'; done; git config filter.x.required true
         git config diff.x.textconv '@TRIP@'; git config diff.x.command '@TRIP@'; git config merge.x.driver '@TRIP@'
         echo '* filter=x diff=x merge=x' > .gitattributes; cp .gitattributes .git/info/attributes",
    ),
    (
        "hooks of every kind",
        "for h in pre-commit post-commit commit-msg post-checkout post-merge reference-transaction post-index-change pre-push update \
             post-update pre-receive fsmonitor-watchman pre-auto-gc post-rewrite; do
             printf '#!/bin/sh\\n@TRIP@\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
         mkdir -p hooks; cp .git/hooks/* hooks/; printf '[core]\\n\\thooksPath = hooks\\n' >> .git/config",
    ),
    (
        "settings that name programs",
        "printf '[core]\\n\\tfsmonitor = @TRIP@\\n\\tsshCommand = @TRIP@\\n\\tpager = @TRIP@\\n\\teditor = @TRIP@\\n\\talternateRefsCommand = @TRIP@\\n\\tgitProxy = @TRIP@\\n\\
         [gpg]\\n\\tprogram = @TRIP@\\n[diff]\\n\\texternal = @TRIP@\\n[uploadpack]\\n\\tpackObjectsHook = @TRIP@\\n[credential]\\n\\thelper = !@TRIP@\\n\\
         [interactive]\\n\\tdiffFilter = @TRIP@\\n' >> .git/config",
    ),
    (
        "an included file of the tree",
        "printf '[core]\\n\\tfsmonitor = @TRIP@\\n' > evil.conf; printf '[include]\\n\\tpath = ../evil.conf\\n' >> .git/config",
    ),
    (
        "a submodule from a transport that runs a command",
        "printf '[submodule \"s\"]\\n\\tpath = s\\n\\turl = ext::sh -c @TRIP@\\n\\tupdate = !@TRIP@\\n' > .gitmodules
         mkdir s; printf 'gitdir: /nonexistent\\n' > s/.git; echo x > s/x",
    ),
    (
        "a repository inside with settings of its own",
        "mkdir -p inner; git init -q inner; printf '[core]\\n\\tfsmonitor = @TRIP@\\n\\tworktree = /\\n' >> inner/.git/config; echo x > inner/x",
    ),
    (
        "a bare repository in the tree",
        "git init -q --bare bare.git; printf '[core]\\n\\tfsmonitor = @TRIP@\\n\\tworktree = ..\\n' >> bare.git/config",
    ),
    ("another worktree in the settings", "printf '[core]\\n\\tworktree = @ROOT@/home\\n\\tbare = false\\n' >> .git/config"),
    (
        "settings by worktree",
        "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = @TRIP@\\n' > .git/config.worktree",
    ),
];

/// Things that are not what they seem to be.
const THINGS: [Attack; 26] = [
    ("a repository elsewhere", "rm -rf .git; echo 'gitdir: @REPO@/.git' > .git"),
    ("a repository through a link", "rm -rf .git; ln -s '@REPO@/.git' .git"),
    ("a head through a link", "rm .git/HEAD; ln -s /etc/passwd .git/HEAD"),
    ("objects through a link", "rm -rf .git/objects; ln -s '@REPO@/.git/objects' .git/objects"),
    ("borrowed objects", "mkdir -p .git/objects/info; echo '@REPO@/.git/objects' > .git/objects/info/alternates"),
    ("a pipe for an index", "rm -f .git/index; mkfifo .git/index"),
    ("a pipe for a ref", "mkfifo .git/refs/heads/pipe; mkfifo .git/packed-refs"),
    ("an index of noise", "head -c 3000000 /dev/urandom > .git/index"),
    (
        "refs that look like acquit's",
        "head=$(git rev-parse HEAD); mkdir -p .git/refs/acquit/attempts .git/refs/acquit/base .git/refs/heads/refs/heads
         for ref in acquit/attempts/T-1.1 acquit/base/T-1 acquit/publish acquit/start heads/HEAD heads/refs/heads/main tags/main tags/acquit; do
             mkdir -p .git/refs/$(dirname $ref); echo $head > .git/refs/$ref; done",
    ),
    (
        "another history in the place of the base",
        "git config user.name x; git config user.email x@x; b=$(git rev-parse HEAD); t=$(git mktree < /dev/null); n=$(git commit-tree $t -m gone)
         mkdir -p .git/refs/replace; echo $n > .git/refs/replace/$b; echo $b > .git/shallow; mkdir -p .git/info; echo \"$b $n\" > .git/info/grafts",
    ),
    (
        "another history in a list of refs",
        "git config user.name x; git config user.email x@x; b=$(git rev-parse HEAD); n=$(git commit-tree $(git mktree < /dev/null) -m gone)
         git replace -f $b $n; git pack-refs --all; test -z \"$(ls .git/refs/replace 2> /dev/null)\"",
    ),
    ("a tree with two files of one name", "@TREE@ '100644 tool.sh' 'true' '100644 tool.sh' 'false'"),
    ("a tree in another order", "@TREE@ '100644 z' 'true' '100644 a' 'true'"),
    ("a tree with git's own folder", "@TREE@ '100644 .git' 'gitdir: /' '100644 .gitattributes' '* filter=x'"),
    ("modes that no file has", "@TREE@ '100664 a' 'a' '100600 b' 'b' '107777 c' 'c' '120777 d' '/etc/passwd'"),
    (
        "a commit with headers of its own",
        "t=$(git write-tree); printf 'tree %s\\nparent %s\\nauthor \\033[31mx <x@x> 1 +0000\\ncommitter x <x@x> 1 +0000\\nencoding UTF-7\\n\
         gpgsig \\033]0;t\\007\\nmergetag x\\n\\nT-1: \\033[2J\\n' $t $(git rev-parse HEAD) > /tmp/commit
         git reset -q --soft $(git hash-object -t commit -w --literally /tmp/commit) || exit 9",
    ),
    (
        "history without the base",
        "git config user.name x; git config user.email x@x; git checkout -q --orphan lone; git commit -qm 'T-1: lone' || exit 9",
    ),
    (
        "commits of another age",
        "git config user.name x; git config user.email x@x
         for at in 0 99999999999 4611686018427387904; do echo x > at-$at; git add at-$at
             GIT_AUTHOR_DATE=\"@$at +1400\" GIT_COMMITTER_DATE=\"@$at -1200\" git commit -qm $at || exit 9; done",
    ),
    ("files that git is told to overlook", "git update-index --skip-worktree README.md; git sparse-checkout set nothing 2> /dev/null"),
    ("a pipe in the tree", "mkfifo pipe 'pipe with space'"),
    ("a socket in the tree", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'"),
    ("a folder that leads out", "rm -f README.md; ln -s /etc README.md; ln -s ../../../../.. up; ln -s loop loop"),
    (
        "names that nobody chose",
        "for name in '-rf' '--upload-pack=x' ' ' '..x' 'a\\\\b' ':(top)x' '$(x)' \"$(printf 'a\\nb')\" \"$(printf '\\033[31mred\\033]0;t\\007')\" \
             \"$(printf '\\377\\376')\" \"$(head -c 250 /dev/zero | tr '\\0' n)\"; do echo x > \"./$name\"; done",
    ),
    ("names of git's own", "mkdir -p .GIT/hooks .gIt; echo x > .GIT/config; echo x > .gIt/HEAD; echo x > 'git~1'"),
    ("many ignored files", "mkdir build; cd build; seq 6000 | xargs -n 1000 touch; truncate -s 20G sparse; cd .."),
    ("attributes without end", "i=0; while [ $i -lt 20000 ]; do echo \"f$i text=auto eol=crlf working-tree-encoding=UTF-16\"; i=$((i+1)); done > .gitattributes"),
];

/// What takes long to make.
const LARGE: [Attack; 1] = [(
    "a message without end",
    "git config user.name x; git config user.email x@x; { echo 'Task: T-1'; head -c 70000000 /dev/zero | tr '\\0' m; } > /tmp/message
     git reset -q --soft $(git commit-tree HEAD^{tree} -p HEAD -F /tmp/message) || exit 9",
)];

/// Makes a tree of these modes, names and contents, as they are, and the commit of it.
const TREE: &str = "git config user.name x; git config user.email x@x; python3 -c '
import subprocess, sys
def git(*words, given=b\"\"):
    return subprocess.run((\"git\",) + words, input=given, stdout=subprocess.PIPE).stdout.strip().decode()
def entry(name, text):
    return name.encode() + bytes(1) + bytes.fromhex(git(\"hash-object\", \"-w\", \"--stdin\", given=text.encode()))
parts = b\"\".join(entry(*pair) for pair in zip(sys.argv[1::2], sys.argv[2::2]))
tree = git(\"hash-object\", \"-t\", \"tree\", \"-w\", \"--literally\", \"--stdin\", given=parts)
git(\"reset\", \"-q\", \"--soft\", git(\"commit-tree\", tree, \"-p\", \"HEAD\", \"-m\", \"T-1: x\"))'";

/// Runs a task whose agent leaves this, and gives the sandbox, or what went wrong.
fn leave(plant: &str) -> Result<Sandbox, String> {
    let plant = plant.replace("@TREE@", TREE).replace("@TRIP@", "touch @ROOT@/seen/$$-trip");
    let sandbox = two(&plant, "true");
    let plant = read(&sandbox.repo.path().join(".acquit/agent.sh"));
    let plant = plant.replace("@REPO@", &sandbox.repo.path().to_string_lossy());
    // Whatever the agent's own git ran while it planted does not count.
    let plant = plant.replace("echo work > work.txt", "rm -f @ROOT@/seen/*-trip; echo work > work.txt");
    let plant = plant.replace("@ROOT@", &sandbox.place("").to_string_lossy());
    sandbox.repo.write(".acquit/agent.sh", &plant);
    sandbox.repo.commit("the agent");
    let before = sandbox.repo.git(&["for-each-ref", "refs/heads/main", "refs/tags"]);
    let settings = read(&sandbox.repo.path().join(".git/config"));
    let ran = sandbox.acquit(&["run", "Do it"]);
    sandbox.acquit(&["diff", "T-1"]);
    let shown = sandbox.acquit(&["task", "show", "T-1"]);
    sandbox.acquit(&["clean"]);
    // Done, or refused with a reason: never stuck, never a mistake of acquit's own.
    if !matches!(ran.code, Some(0 | 1 | 3)) {
        return Err(format!("it ended with {:?}: {}", ran.code, ran.err));
    }
    for ending in sandbox.endings() {
        if let Ending::Failed { kind, reason } = ending
            && kind.to_string() == "harness"
        {
            return Err(format!("the harness failed: {reason}"));
        }
    }
    let left: Vec<_> =
        fs::read_dir(sandbox.place("seen")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    if !left.is_empty() {
        return Err(format!("it was run outside: {left:?}"));
    }
    for text in [&ran.out, &ran.err, &shown.out, &shown.err] {
        if text.contains('\u{1b}') || text.contains('\u{7}') {
            return Err(format!("control characters reach the terminal: {text:?}"));
        }
    }
    if sandbox.repo.git(&["for-each-ref", "refs/heads/main", "refs/tags"]) != before
        || read(&sandbox.repo.path().join(".git/config")) != settings
        || !sandbox.repo.git(&["status", "--porcelain"]).is_empty()
    {
        return Err("the user's repository changed".to_owned());
    }
    if ran.code == Some(0) {
        let branch = sandbox.task().seed.branch;
        let work = sandbox.repo.git(&["show", &format!("refs/heads/{branch}:work.txt")]);
        if work != "work" {
            return Err(format!("the delivered work is {work:?}"));
        }
        // A link is delivered as one, and never as what it leads to.
        if acquit_testkit::repo::git_succeeds(
            sandbox.repo.path(),
            &["grep", "--quiet", "root:x:0", &format!("refs/heads/{branch}")],
        ) {
            return Err("a file of the machine was delivered".to_owned());
        }
    }
    Ok(sandbox)
}

fn all_are_held(attacks: &[Attack]) {
    let succeeded = Mutex::new(Vec::new());
    side_by_side(attacks, |(name, plant)| {
        if let Err(what) = leave(plant) {
            succeeded.lock().unwrap().push(format!("{name}: {what}"));
        }
    });
    assert_eq!(succeeded.into_inner().unwrap(), Vec::<String>::new());
}

#[test]
fn no_program_of_the_agents_is_run_by_acquits_git() {
    all_are_held(&PROGRAMS);
}

#[test]
fn nothing_that_is_not_what_it_seems_stops_or_misleads_the_collection() {
    all_are_held(&THINGS);
}

#[test]
fn soak_nothing_that_is_too_large_stops_the_collection() {
    all_are_held(&LARGE);
}

#[test]
fn a_report_that_is_not_a_file_is_no_report_and_nobody_waits_for_it() {
    let cases: [&str; 6] = [
        r#"rm -f "$ACQUIT_HANDOFF"; mkfifo "$ACQUIT_HANDOFF""#,
        r#"rm -f "$ACQUIT_HANDOFF"; mkdir -p "$ACQUIT_HANDOFF/x""#,
        r#"rm -f "$ACQUIT_HANDOFF"; ln -s /dev/zero "$ACQUIT_HANDOFF""#,
        r#"rm -f "$ACQUIT_HANDOFF"; ln -s /etc/passwd "$ACQUIT_HANDOFF"; ln -s /etc "$ACQUIT_OUTPUT/etc""#,
        r#"truncate -s 8G "$ACQUIT_HANDOFF"; truncate -s 8G "$ACQUIT_OUTPUT/large""#,
        r#"rmdir "$ACQUIT_OUTPUT" 2> /dev/null; mkfifo "$ACQUIT_OUTPUT/pipe"; ln -s / "$ACQUIT_OUTPUT/root"; python3 -c 'import os,socket; socket.socket(socket.AF_UNIX).bind(os.environ["ACQUIT_OUTPUT"]+"/s")'"#,
    ];
    side_by_side(&cases, |plant| {
        let agent = format!("{plant}\necho work > work.txt\n");
        let workflow =
            TWO.replace("on = { pr_ready = \"look\" }", "outputs = [\"*\"]\non = { pr_ready = \"deliver\" }");
        let workflow = workflow.replace(
            "[stages.look]\nmode = \"investigate\"\nsecrets = [\"LATER_KEY\"]\non = { found = \"deliver\" }\n",
            "",
        );
        let sandbox = world(crate::CONFIG, &workflow, &agent, &[]);
        let ran = sandbox.acquit(&["run", "Do it"]);
        assert!(matches!(ran.code, Some(0 | 1 | 3)), "{plant}: {ran}");
        let shown = sandbox.acquit(&["task", "show", "T-1", "--json"]).must(0).out;
        assert!(!shown.contains("root:x:0"), "{plant}: {shown}");
    });
}

#[test]
fn setup_of_a_changed_lock_file_runs_the_agents_code_without_secrets_and_in_a_home_of_its_own() {
    // A lock file can name a folder of the tree as a dependency (`path =`, `file:`, `-e ./x`), and then setup runs the agent's code.
    const CONFIG: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\nsecrets = [\"LATER_KEY\"]\n\
        [secrets]\nLATER_KEY = { env = \"LATER_KEY\" }\n[network]\nsetup = \"off\"\n[setup]\nrun = \"sh $(cat lock)\"\nlock_files = [\"lock\"]\n";
    const WORKFLOW: &str = "[gates.proof]\nrun = \"true\"\n[stages.code]\nmode = \"implement\"\ngates = [\"proof\"]\non = { pr_ready = \"done\" }\n";
    let agent = r#"
test "$LATER_KEY" || exit 1
echo "$LATER_KEY" > ~/note; echo "$LATER_KEY" > /tmp/note; echo "$LATER_KEY" > note.local
cat > evil.sh <<'END'
{ env; cat ~/note /tmp/note note.local ~/.netrc; cat /proc/*/environ | tr '\0' '\n'; } > '@ROOT@/seen/found' 2> /dev/null
cat /proc/net/route | wc -l > '@ROOT@/seen/routes'
END
echo ./evil.sh > lock
"#;
    let files = [("lock", "good.sh\n"), ("good.sh", "true\n"), (".gitignore", "*.local\n")];
    let sandbox = world(CONFIG, WORKFLOW, agent, &files).with("LATER_KEY", SECRET);
    fs::write(sandbox.place("home/.netrc"), format!("password {SECRET}\n")).unwrap();
    sandbox.run_to(0);
    let found = read(&sandbox.place("seen/found"));
    assert!(found.contains("PATH="), "setup did not run it: {found}");
    assert!(!found.contains(SECRET), "{found}");
    assert_eq!(read(&sandbox.place("seen/routes")).trim(), "1", "no route under `network.setup = \"off\"`");
}
