//! Commands of a test: one that runs, and one that has ended.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{LOOK, PATIENCE, processes, read};

/// How many characters of what a command said a test that fails shows.
const SHOWN: usize = 20_000;

/// A command that has ended.
#[derive(Clone)]
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

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Started {
    /// Starts it, with what it says in these files.
    pub(crate) fn new(command: &mut Command, out: PathBuf, err: PathBuf) -> Self {
        command.stdin(Stdio::null());
        command.stdout(File::create(&out).expect("a file")).stderr(File::create(&err).expect("a file"));
        Self { child: command.spawn().expect("the binary starts"), out, err }
    }

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
        assert_eq!(self.code, Some(code), "{self}");
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
        assert!(self.out.contains(what) || self.err.contains(what), "no {what:?} in{self}");
    }

    /// Gives itself, if it said this.
    #[track_caller]
    pub(crate) fn says(self, what: &str) -> Self {
        self.said(what);
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |text: &str| text.chars().take(SHOWN).collect::<String>();
        write!(f, "\n--- exit {:?}\n--- out\n{}\n--- err\n{}", self.code, show(&self.out), show(&self.err))
    }
}
