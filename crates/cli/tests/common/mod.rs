//! A whole world for one test of the binary: a repository, `.acquit/`, a home, and nothing of the machine's settings.
#![allow(dead_code, reason = "every test binary uses its own part of this")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start the real binary, and look again until a condition holds or a deadline passes"
)]

pub(crate) mod processes;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use acquit_core::change::Change;
use acquit_core::event::{Body, Event};
use acquit_core::leg::{Ending, Leg};
use acquit_core::task::Task;
use acquit_testkit::repo::Repo;

/// Far more than anything here takes on a busy machine; reached only by what hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(10);

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
}

/// The binary under test: the one that cargo built, or a copy of it that other users can reach.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("ACQUIT_TEST_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_acquit").into()).into()
}

/// A command that has ended.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A command that runs.
pub(crate) struct Started {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Sandbox {
    /// A repository with one commit, in which `.acquit/` has this configuration, this workflow and this script.
    pub(crate) fn new(config: &str, workflow: &str, script: &str) -> Self {
        let sandbox = Self {
            repo: Repo::at("ein Ordner, größer", &[]),
            started: AtomicU32::new(0),
            variables: Vec::new(),
        };
        sandbox.repo.write("README.md", "sample\n");
        // Scripted agents and gates talk to the tests through files that lie beside the repository.
        let config = format!("{config}\n[access]\nwrite = [\"@ROOT@\"]\n");
        sandbox.repo.write(".acquit/acquit.toml", &sandbox.fill(&config));
        sandbox.repo.write(".acquit/workflows/flow.toml", &sandbox.fill(workflow));
        sandbox.repo.write(".acquit/script.toml", &sandbox.fill(script));
        sandbox.repo.commit("first");
        for folder in ["home", "tmp", "said", "acquit"] {
            fs::create_dir_all(sandbox.place(folder)).expect("a folder");
        }
        sandbox
    }

    /// One whose only agent plays a script.
    pub(crate) fn scripted(workflow: &str, script: &str) -> Self {
        Self::new(SCRIPTED, workflow, script)
    }

    /// One with a single agent stage, whose agent is this shell script. It has the prompt on its standard input.
    pub(crate) fn shell(stage: &str, shell: &str) -> Self {
        let config =
            "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \".acquit/agent.sh\"]\n";
        let sandbox = Self::new(config, stage, "");
        sandbox.repo.write(".acquit/agent.sh", &sandbox.fill(shell));
        sandbox.repo.commit("the agent");
        sandbox
    }

    /// Sets a variable for every command from here on.
    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// `@ROOT@` in a text is the folder that everything of this test is in.
    fn fill(&self, text: &str) -> String {
        text.replace("@ROOT@", &self.place("").to_string_lossy())
    }

    /// A place beside the repository.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.repo.beside(name)
    }

    /// A file of a leg of the first task.
    pub(crate) fn leg_file(&self, leg: u32, name: &str) -> PathBuf {
        self.place(&format!("acquit/tasks/T-1/legs/{leg}/{name}"))
    }

    /// `acquit` with these arguments, in the repository and in surroundings of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).current_dir(self.repo.path()).env_clear();
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
        let mut command = self.command(args);
        command.stdin(Stdio::null());
        command.stdout(File::create(&out).expect("a file")).stderr(File::create(&err).expect("a file"));
        Started { child: command.spawn().expect("the binary starts"), out, err }
    }

    /// Runs `acquit` to its end.
    pub(crate) fn acquit(&self, args: &[&str]) -> Ran {
        self.start(args).wait()
    }

    /// Runs a new task to its end, which must give this exit code.
    #[track_caller]
    pub(crate) fn run_to(&self, code: i32) -> Ran {
        self.acquit(&["run", "Do it"]).must(code)
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
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Started {
    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far beside its data.
    pub(crate) fn err(&self) -> String {
        read(&self.err)
    }

    /// What it has printed so far.
    pub(crate) fn out(&self) -> String {
        read(&self.out)
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        processes::signal(self.pid(), signal);
    }

    /// Waits for its end; what takes longer than [`PATIENCE`] is killed and fails the test.
    #[track_caller]
    pub(crate) fn wait(self) -> Ran {
        self.wait_within(PATIENCE)
    }

    /// The same with a patience of its own.
    #[track_caller]
    pub(crate) fn wait_within(mut self, patience: Duration) -> Ran {
        let deadline = Instant::now() + patience;
        let status: ExitStatus = loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                break status;
            }
            let late = Instant::now() > deadline;
            assert!(!late, "no end after {patience:?}\n--- out\n{}\n--- err\n{}", self.out(), self.err());
            std::thread::sleep(LOOK);
        };
        Ran { code: status.code(), out: self.out(), err: self.err() }
    }
}

impl Ran {
    /// Gives itself, if it ended with this code.
    #[track_caller]
    pub(crate) fn must(self, code: i32) -> Self {
        let Self { code: found, out, err } = &self;
        assert_eq!(*found, Some(code), "\n--- out\n{out}\n--- err\n{err}");
        self
    }

    /// Its output as one document.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// Fails the test if it did not say this.
    #[track_caller]
    pub(crate) fn said(&self, what: &str) {
        let Self { out, err, .. } = self;
        assert!(out.contains(what) || err.contains(what), "no {what:?} in\n--- out\n{out}\n--- err\n{err}");
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
