//! A bench for one test of bad input, and the tests by subject.
//!
//! Every command that a [`Bench`] finishes is held to the same: it ends in time, it does not panic, and it prints nothing
//! that a terminal would act on.

mod bulk;
mod deeds;
mod disks;
mod gates;
mod pipes;
mod places;
mod stores;
mod usage;
mod words;

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acquit_testkit::need;
use acquit_testkit::repo::{self, Repo};

use crate::common::Sandbox;
pub(crate) use crate::common::{Ran, until_file};

/// Far more than anything here takes on a busy machine; reached only by what hangs.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);
/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(10);

pub(crate) const ACQUIT: &str = env!("CARGO_BIN_EXE_acquit");

/// No budget at all, so that a failure is shown at once instead of being tried again.
const WORKFLOW: &str = r#"
[budgets]
agent = 0
outcome = 0
limit = 0
nothing = 0
harness = 0
lost = 0
gate = 0

[stages.code]
mode = "implement"
@STAGE@
on = { pr_ready = "deliver" }

[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// The agent's table comes last: what a test adds is most often a line of it.
const CONFIG: &str = "workflow = \"flow\"\n\n[access]\nwrite = [\"@ROOT@\"]\n\n\
    [agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"@ROOT@/agent.sh\"]\n";

/// What an agent does that has nothing else to do.
pub(crate) const WORKS: &str = "echo work > new.txt";

/// A sandbox whose agent is a shell script beside the repository.
pub(crate) struct Bench {
    sandbox: Sandbox,
}

impl Bench {
    /// One whose agent works.
    pub(crate) fn new() -> Self {
        Self::agent(WORKS)
    }

    /// One whose agent is this shell script.
    pub(crate) fn agent(script: &str) -> Self {
        Self::at("repo", script)
    }

    /// One whose repository has this name.
    pub(crate) fn at(name: &str, script: &str) -> Self {
        let flow = WORKFLOW.replace("@STAGE@", "");
        let files = [(".acquit/acquit.toml", CONFIG), (".acquit/workflows/flow.toml", flow.as_str())];
        let sandbox = Sandbox::of_files(name, &files).with("ACQUIT", ACQUIT);
        // `script` and `mount` may lie where only root looks.
        let bench = Self { sandbox: sandbox.with("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin") };
        bench.set_agent(script);
        bench
    }

    /// With more keys in the stage of the agent, and more tables after the stages.
    pub(crate) fn with_stage(self, keys: &str, tables: &str) -> Self {
        let text = format!("{}\n{tables}", WORKFLOW.replace("@STAGE@", keys));
        self.repo().write(".acquit/workflows/flow.toml", &text);
        self.repo().commit("another workflow");
        self
    }

    /// With more in the configuration.
    pub(crate) fn with_config(self, more: &str) -> Self {
        let text = format!("{}{more}", self.read(".acquit/acquit.toml"));
        self.repo().write(".acquit/acquit.toml", &text);
        self.repo().commit("another configuration");
        self
    }

    /// With the default budget for legs whose harness dies.
    pub(crate) fn tries_lost_legs_again(self) -> Self {
        let text = self.read(".acquit/workflows/flow.toml").replace("lost = 0\n", "");
        self.repo().write(".acquit/workflows/flow.toml", &text);
        self.repo().commit("another budget");
        self
    }

    /// From here on the agent is this shell script.
    pub(crate) fn set_agent(&self, script: &str) {
        repo::write(&self.place("agent.sh"), script);
    }

    pub(crate) fn repo(&self) -> &Repo {
        &self.sandbox.repo
    }

    /// A place beside the repository.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.sandbox.place(name)
    }

    /// A file of the repository.
    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.repo().path().join(file)).unwrap()
    }

    /// A program with the surroundings of this bench and nothing of the machine's.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        self.sandbox.program(program)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.sandbox.command(args)
    }

    /// Runs `acquit` to its end.
    #[track_caller]
    pub(crate) fn acquit(&self, args: &[&str]) -> Ran {
        finish(&mut self.command(args))
    }

    /// Runs a new task to its end, which must give this exit code.
    #[track_caller]
    pub(crate) fn run_to(&self, code: i32) -> Ran {
        self.acquit(&["run", "Do it"]).must(code)
    }

    /// Runs a shell script in user and mount namespaces of its own, where it may mount. `None` where there are none.
    #[track_caller]
    pub(crate) fn in_private_mounts(&self, script: &str) -> Option<Ran> {
        let try_out = Command::new("unshare").args(["-rm", "true"]).stderr(Stdio::null()).status();
        let works = try_out.is_ok_and(|status| status.success()).then_some(());
        need::or_skip(works, "`unshare -rm` (user namespaces)", "a disk that is full or read-only")?;
        Some(finish(self.program("unshare").args(["-rm", "sh", "-ec", script])))
    }

    /// The text with this bench's folder left out, for snapshots.
    pub(crate) fn mask(&self, text: &str) -> String {
        text.replace(&*self.place("").to_string_lossy(), "[ROOT]/")
    }

    /// What a branch or another ref has in a file.
    pub(crate) fn at_ref(&self, reference: &str, file: &str) -> String {
        self.repo().git(&["show", &format!("{reference}:{file}")])
    }

    /// The refs under which work was saved.
    pub(crate) fn saved(&self) -> Vec<String> {
        self.sandbox.refs("refs/acquit/attempts/")
    }
}

/// Holds a command to what is promised of every one.
#[track_caller]
fn sound(ran: Ran) -> Ran {
    assert!(!ran.err.contains("panicked at"), "a panic{ran}");
    for text in [&ran.out, &ran.err] {
        let acts = |c: &char| {
            c.is_control() && *c != '\n'
                || ('\u{202a}'..='\u{202e}').contains(c)
                || ('\u{2066}'..='\u{2069}').contains(c)
        };
        assert_eq!(text.chars().find(acts), None, "a character that a terminal acts on{ran}");
    }
    ran
}

/// Waits for the end of a command, and holds it to what is promised.
#[track_caller]
pub(crate) fn finish(command: &mut Command) -> Ran {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sound(wait(child))
}

/// Waits for the end of a command. What takes too long is killed and fails the test.
#[track_caller]
pub(crate) fn wait(mut child: Child) -> Ran {
    fn reader(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut from) = from {
                from.read_to_end(&mut bytes).unwrap();
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("no end after {PATIENCE:?}\n{}\n{}", out.join().unwrap(), err.join().unwrap());
        }
        std::thread::sleep(LOOK);
    };
    Ran { code: status.code(), out: out.join().unwrap(), err: err.join().unwrap() }
}
