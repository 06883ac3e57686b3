//! Hostile submodules: a `.gitmodules` and links to commits that would lead git somewhere else or run a program. They come with the
//! repository, are committed by an agent, or are left in its tree. The task ends as a refusal that a person can read, or is done; no
//! program runs, nothing outside is read or written, and the harness never fails.

use std::fs;
use std::sync::Mutex;

use acquit_core::leg::Ending;

use crate::common::{Sandbox, side_by_side};
use crate::world;

const CONFIG: &str =
    "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";

const FLOW: &str = r#"
[budgets]
outcome = 0
agent = 0
nothing = 0
harness = 0
[gates.look]
run = "git status --porcelain > /dev/null; true"
[stages.code]
mode = "implement"
gates = ["look"]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// An attack: how it comes in the ordinary run, its name, and what makes it in a working tree. `$NOWHERE` is a commit that does not exist, `$ELSEWHERE` one of another
/// repository of the user's.
const ATTACKS: [(By, &str, &str); 14] = [
    (By::Base, "a name that leads out", "module '../../../private/.git' s ./s; link s $ELSEWHERE"),
    (By::Base, "a path that leads out", "module s ../../seen/s ./s; link s $ELSEWHERE"),
    (By::Commit, "an absolute path", "module s \"$SEEN/s\" ./s; link s $ELSEWHERE"),
    (By::Tree, "an address that is an option", "module s s '--upload-pack=touch seen'; link s $NOWHERE"),
    (By::Base, "a relative address that is an option", "module s s './-u touch'; link s $NOWHERE"),
    (
        By::Commit,
        "an address that runs a program",
        "module s s \"ext::sh -c touch% $SEEN/trip\"; link s $NOWHERE",
    ),
    (By::Base, "an address with a new line", "module s s 'https://example.com/%0atouch'; link s $NOWHERE"),
    (
        By::Tree,
        "an update that runs a program",
        "module s s ./s \"update = !touch $SEEN/trip\"; link s $NOWHERE",
    ),
    (By::Commit, "a commit that exists nowhere", "module s s ./s; link s $NOWHERE"),
    (By::Commit, "a link for a file of submodules", "ln -s \"$SEEN/modules\" .gitmodules; link s $NOWHERE"),
    (By::Tree, "a path below a link", "ln -s \"$SEEN\" down; module s down/s ./s; link s $ELSEWHERE"),
    (
        By::Base,
        "a file that is no list",
        "printf '[submodule \"s\\n\\000\\377 path' > .gitmodules; link s $NOWHERE",
    ),
    (By::Tree, "a list below a folder", "mkdir -p d; module s s -x; mv .gitmodules d/; link d/s $NOWHERE"),
    (
        By::Tree,
        "names that nobody chose",
        "module \"$(printf 'a\\033[31m\\nb')\" -rf ./s; link -rf $NOWHERE; link \"$(printf 'x\\ny')\" $NOWHERE",
    ),
];

/// How an attack comes into a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// It is in the base.
    Base,
    /// An agent commits it.
    Commit,
    /// An agent leaves the files, and links in its index.
    Tree,
}

/// What attacks are written in.
const WORDS: &str = r#"
NOWHERE=1234567890123456789012345678901234567890 ELSEWHERE=@ELSEWHERE@ SEEN='@ROOT@/seen'
git config user.name x; git config user.email x@example.org
module() { printf '[submodule "%s"]\n\tpath = %s\n\turl = %s\n\t%s\n' "$1" "$2" "$3" "${4:-}" > .gitmodules; }
link() { mkdir -p -- "$(dirname -- "$1")"; git update-index --add --cacheinfo "160000,$2,$1"; }
"#;

/// Runs a task with the attack. Gives what went wrong.
fn attempt(plant: &str, by: By) -> Result<(), String> {
    let sandbox = world(CONFIG, FLOW, "", &[]);
    let private = sandbox.place("private");
    fs::create_dir_all(&private).unwrap();
    let shell = |at: &std::path::Path, script: &str| {
        let mut command = sandbox.program("sh");
        let ran = command.current_dir(at).args(["-ec", script]).output().unwrap();
        assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    let elsewhere = shell(
        &private,
        "git init -q -b main; echo canary-4711 > secret; git add -A
         git -c user.name=x -c user.email=x@example.org commit -qm x; git rev-parse HEAD",
    );
    let words = WORDS.replace("@ELSEWHERE@", &elsewhere);
    let words = words.replace("@ROOT@", &sandbox.place("").to_string_lossy());
    let commit = "git add .gitmodules d down 2> /dev/null || git add .gitmodules 2> /dev/null || true; git commit -qm plant";
    let agent = match by {
        By::Base => String::new(),
        By::Commit => format!("{words}{plant}\n{commit}"),
        By::Tree => format!("{words}{plant}"),
    };
    sandbox.repo.write(".acquit/agent.sh", &format!("{agent}\necho work > work.txt\n"));
    sandbox.repo.commit("the agent");
    // Where git would find the commit if it followed a name.
    shell(sandbox.repo.path(), "mkdir -p .git/modules");
    if by == By::Base {
        shell(sandbox.repo.path(), &format!("{words}{plant}\n{commit}\ngit config --unset user.name"));
    }
    let ran = sandbox.acquit(&["run", "Do it"]);
    if !matches!(ran.code, Some(0 | 1 | 3)) {
        return Err(format!("it ended with {:?}: {}", ran.code, ran.err));
    }
    let endings = sandbox.endings();
    let shown = sandbox.acquit(&["task", "show", "T-1"]);
    let inbox = sandbox.acquit(&["inbox"]);
    for ending in &endings {
        let Ending::Failed { kind, reason } = ending else { continue };
        if kind.as_str() == "harness" {
            return Err(format!("the harness failed: {reason}"));
        }
        if !reason.contains("gitmodules") && !reason.contains("submodule") {
            return Err(format!("the words do not say what it is about: {reason}"));
        }
        if by == By::Base && reason.contains("the agent did") {
            return Err(format!("the agent is blamed for the repository: {reason}"));
        }
        // A person is asked, in these words.
        let first = reason.lines().next().unwrap_or_default().get(..40).unwrap_or_default();
        if ran.code != Some(3) || !inbox.out.contains(first) {
            return Err(format!("nobody is asked: {:?} {}", ran.code, inbox.out));
        }
    }
    let left: Vec<_> =
        fs::read_dir(sandbox.place("seen")).unwrap().flatten().map(|it| it.file_name()).collect();
    if !left.is_empty() {
        return Err(format!("something outside was written: {left:?}"));
    }
    for text in [&ran.out, &ran.err, &shown.out, &inbox.out] {
        if text.contains('\u{1b}') || text.contains("canary-4711") {
            return Err(format!("control characters or a secret reach the terminal: {text:?}"));
        }
    }
    if acquit_testkit::repo::git_succeeds(sandbox.repo.path(), &["cat-file", "-e", &elsewhere]) {
        return Err("a commit of another repository came into this one".to_owned());
    }
    delivered(&sandbox, ran.code == Some(0))
}

fn delivered(sandbox: &Sandbox, done: bool) -> Result<(), String> {
    let branch = sandbox.task().seed.branch;
    let work = format!("refs/heads/{branch}:work.txt");
    if done && sandbox.repo.git(&["show", &work]) != "work" {
        return Err("the work was not delivered".to_owned());
    }
    Ok(())
}

fn all_are_held(attacks: &[(By, &str, &str)]) {
    let succeeded = Mutex::new(Vec::new());
    side_by_side(attacks, |(by, name, plant)| {
        if let Err(what) = attempt(plant, *by) {
            succeeded.lock().unwrap().push(format!("{name}, {by:?}: {what}"));
        }
    });
    assert_eq!(succeeded.into_inner().unwrap(), Vec::<String>::new());
}

#[test]
fn hostile_submodules_end_in_a_question_or_do_no_harm() {
    all_are_held(&ATTACKS);
}

#[test]
fn soak_hostile_submodules_of_every_origin_do_no_harm() {
    let ways = [By::Base, By::Commit, By::Tree];
    let all = ways.into_iter().flat_map(|by| ATTACKS.map(|(_, name, plant)| (by, name, plant)));
    all_are_held(&all.collect::<Vec<_>>());
}
