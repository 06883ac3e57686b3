//! A whole world for one test of the binary: a repository, `.acquit/`, a home, and nothing of the machine's settings.
#![allow(dead_code, reason = "every test binary uses its own part of this")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start the real binary, and look again until a condition holds or a deadline passes"
)]

pub(crate) mod processes;
mod ran;
pub(crate) mod suggestions;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use acquit_core::change::Change;
use acquit_core::event::{Body, Event};
use acquit_core::leg::{Ending, Leg};
use acquit_core::task::Task;
use acquit_testkit::repo::Repo;

pub(crate) use ran::{Ran, Started};

/// Far more than anything here takes on a busy machine; reached only by what hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How many cases of a test are tried at a time: each of them waits for most of its time, and other tests run beside them.
const BESIDE: usize = 3;

/// One stage that writes, and then the delivery. Nothing is tried twice.
pub(crate) const CODE: &str = r#"
[budgets]
outcome = 0
agent = 0
limit = 0
nothing = 0
harness = 0
[stages.code]
mode = "implement"
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// One agent, which plays `script.toml`.
pub(crate) const SCRIPTED: &str = r#"
agent = "bot"
[agents.bot]
adapter = "scripted"
script = "script.toml"
"#;

/// A repository with `.acquit/`, and the places that acquit uses.
pub(crate) struct Sandbox {
    pub(crate) repo: Repo,
    started: AtomicU32,
    variables: Vec<(String, String)>,
    /// The last command that ran to its end, if its suggestions are to be followed.
    last: Mutex<Option<Ran>>,
}

/// The binary under test: the one that cargo built, or a copy of it that other users can reach.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("ACQUIT_TEST_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_acquit").into()).into()
}

impl Sandbox {
    /// A repository with one commit, in which `.acquit/` has this configuration, this workflow and this script.
    pub(crate) fn new(config: &str, workflow: &str, script: &str) -> Self {
        // Scripted agents and gates talk to the tests through files that lie beside the repository.
        let config = format!("{config}\n[access]\nwrite = [\"@ROOT@\"]\n");
        let files = [
            (".acquit/acquit.toml", config.as_str()),
            (".acquit/workflows/flow.toml", workflow),
            (".acquit/script.toml", script),
        ];
        Self::of_files("ein Ordner, größer", &files)
    }

    /// One whose repository has this name, and these files in its one commit.
    pub(crate) fn of_files(name: &str, files: &[(&str, &str)]) -> Self {
        let sandbox = Self {
            repo: Repo::at(name, &[]),
            started: AtomicU32::new(0),
            variables: Vec::new(),
            last: Mutex::new(None),
        };
        sandbox.repo.write("README.md", "sample\n");
        for (file, text) in files {
            sandbox.repo.write(file, &sandbox.fill(text));
        }
        sandbox.repo.commit("first");
        for folder in ["home", "tmp", "said", "acquit"] {
            fs::create_dir_all(sandbox.place(folder)).expect("a folder");
        }
        sandbox.user_config("");
        sandbox
    }

    /// One whose only agent plays a script.
    pub(crate) fn scripted(workflow: &str, script: &str) -> Self {
        Self::new(SCRIPTED, workflow, script)
    }

    /// One whose only agent is this shell script. It has the prompt on its standard input.
    pub(crate) fn shell(workflow: &str, shell: &str) -> Self {
        let config =
            "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";
        Self::shell_by(config, workflow, shell)
    }

    /// The same with a configuration that says how `.acquit/agent.sh` is run.
    pub(crate) fn shell_by(config: &str, workflow: &str, shell: &str) -> Self {
        let sandbox = Self::new(config, workflow, "");
        sandbox.repo.write(".acquit/agent.sh", &sandbox.fill(shell));
        sandbox.repo.commit("the agent");
        sandbox
    }

    /// Sets a variable for every command from here on.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Writes the user's own configuration. It trusts everything of this test, as `trusted_paths` of a user does.
    pub(crate) fn user_config(&self, text: &str) {
        // The folder of all worlds: a test may have several.
        let all = self.place("").parent().map(Path::to_owned).unwrap_or_default();
        let text = self.fill(&format!("trusted_paths = [\"{}\"]\n{text}", all.display()));
        acquit_testkit::repo::write(&self.place("home/.config/acquit/config.toml"), &text);
    }

    /// Takes the user's own configuration away, and with it the trust in everything of this test.
    pub(crate) fn untrusted(self) -> Self {
        fs::remove_file(self.place("home/.config/acquit/config.toml")).expect("it was there");
        self
    }

    /// `@ROOT@` in a text is the folder that everything of this test is in.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("@ROOT@", &self.place("").to_string_lossy())
    }

    /// A place beside the repository. Folders of tasks lie below that of their store, which a test need not know:
    /// `acquit/tasks/T-1` is the task of the store whose tasks these are.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        match name.strip_prefix("acquit/tasks/T-") {
            Some(task) => self.store_folder().join(format!("T-{task}")),
            None => self.repo.beside(name),
        }
    }

    /// The folder of all tasks of the one store that there is; of the default one, which is made if need be, as long as there is no task.
    fn store_folder(&self) -> PathBuf {
        let tasks = self.repo.beside("acquit/tasks");
        if let Some(found) = fs::read_dir(&tasks).into_iter().flatten().flatten().next() {
            return found.path();
        }
        let file = self.repo.beside("acquit/acquit.db");
        if !file.exists() {
            self.acquit(&["task", "list"]).must(0);
        }
        let store = rusqlite::Connection::open(file).expect("the store opens");
        tasks.join(store.query_row("select id from meta", [], |row| row.get::<_, String>(0)).expect("its id"))
    }

    /// A file of a leg of the first task.
    pub(crate) fn leg_file(&self, leg: u32, name: &str) -> PathBuf {
        self.place(&format!("acquit/tasks/T-1/legs/{leg}/{name}"))
    }

    /// `acquit` with these arguments, in the repository and in surroundings of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(binary());
        command.args(args);
        command
    }

    /// Any program there.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.repo.path()).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("USER", "tester").env("LANG", "C.UTF-8");
        command.env("HOME", self.place("home")).env("TMPDIR", self.place("tmp"));
        command.env("ACQUIT_HOME", self.place("acquit"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts `acquit`.
    pub(crate) fn start(&self, args: &[&str]) -> Started {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let (out, err) =
            (self.place(&format!("said/{number}.out")), self.place(&format!("said/{number}.err")));
        Started::new(&mut self.command(args), out, err)
    }

    /// Runs `acquit` to its end.
    pub(crate) fn acquit(&self, args: &[&str]) -> Ran {
        let ran = self.start(args).wait();
        // Completions and schemas quote texts of the help and the reference, which suggest nothing.
        let quotes = matches!(args.first(), Some(&("completions" | "schema")));
        if suggestions::is_wanted() && !args.contains(&"--json") && !quotes {
            *self.last.lock().expect("no test panicked here") = Some(ran.clone());
        }
        ran
    }

    /// Runs a new task to its end, which must give this exit code.
    #[track_caller]
    pub(crate) fn run_to(&self, code: i32) -> Ran {
        self.acquit(&["run", "Do it"]).must(code)
    }

    /// The same without the look at what its agents need: as the daemon runs a task, or one whose machine has changed since.
    #[track_caller]
    pub(crate) fn run_unchecked_to(&self, code: i32) -> Ran {
        self.acquit(&["task", "add", "Do it"]).must(0);
        self.acquit(&["leg", "--task", "T-1"]);
        self.acquit(&["attach", "T-1"]).must(code)
    }

    /// The first task, as `acquit task show` has it.
    pub(crate) fn task(&self) -> Task {
        serde_json::from_value(self.shown()["task"].clone()).expect("a task")
    }

    /// Its legs.
    pub(crate) fn legs(&self) -> Vec<Leg> {
        serde_json::from_value(self.shown()["legs"].clone()).expect("legs")
    }

    /// Its legs, if there is such a task yet.
    pub(crate) fn shown_legs(&self) -> Option<Vec<Leg>> {
        let shown = self.acquit(&["task", "show", "T-1", "--json"]);
        (shown.code == Some(0)).then(|| serde_json::from_value(shown.json()["legs"].clone()).expect("legs"))
    }

    fn shown(&self) -> serde_json::Value {
        self.acquit(&["task", "show", "T-1", "--json"]).must(0).json()
    }

    /// All its events.
    pub(crate) fn events(&self) -> Vec<Event> {
        let log = self.acquit(&["logs", "T-1", "--json", "--all"]).must(0);
        log.out.lines().map(|line| serde_json::from_str(line).expect("an event on each line")).collect()
    }

    /// All its changes.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let change = |event: Event| match event.body {
            Body::Change { change } => Some(change),
            _ => None,
        };
        self.events().into_iter().filter_map(change).collect()
    }

    /// How its legs ended.
    pub(crate) fn endings(&self) -> Vec<Ending> {
        self.task().past.into_iter().map(|past| past.ending).collect()
    }

    /// How this leg failed: of its kind and for its reason.
    #[track_caller]
    pub(crate) fn failed(&self, leg: usize) -> (String, String) {
        match &self.endings()[leg] {
            Ending::Failed { kind, reason } => (kind.to_string(), reason.clone()),
            other => panic!("{other:?}"),
        }
    }

    /// Names below a prefix of refs of the user's repository.
    pub(crate) fn refs(&self, prefix: &str) -> Vec<String> {
        let listed = self.repo.git(&["for-each-ref", "--format=%(refname)", prefix]);
        listed.lines().map(str::to_owned).collect()
    }
}

impl Drop for Sandbox {
    /// What a test that failed halfway leaves running must not run on: everything that has our folder in its name.
    fn drop(&mut self) {
        if std::thread::panicking() {
            processes::end(&self.place("").to_string_lossy());
        } else if let Some(ran) = self.last.lock().ok().and_then(|mut last| last.take()) {
            suggestions::follow_all(self, &ran);
        }
    }
}

/// Looks until the condition holds.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(LOOK);
    }
}

/// Looks until the file is there.
#[track_caller]
pub(crate) fn until_file(path: &Path) {
    until(&format!("{} exists", path.display()), || path.exists().then_some(()));
}

/// A file's text; empty if there is none.
pub(crate) fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// Tries every case, some of them at a time. Each needs a world of its own; one that fails fails the test.
pub(crate) fn side_by_side<T: Sync>(cases: &[T], case: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..BESIDE.min(cases.len()) {
            scope.spawn(|| {
                while let Some(one) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    case(one);
                }
            });
        }
    });
}
