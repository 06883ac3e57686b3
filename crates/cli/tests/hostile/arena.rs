//! The world of an attack: a home full of secrets, another task, the user's repository, a process that listens; and acquit,
//! whose agent or gate is the attacker.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use acquit_core::leg::Ending;
use acquit_core::sandbox::Network;
use acquit_testkit::hostile::MARK;
use acquit_testkit::hostile::secrets::SECRETS;
use acquit_testkit::repo::{self, Repo};

use crate::common::processes::{self, marked};
use crate::common::{Ran, Sandbox, read, until_file};
use crate::snapshot::Snapshot;

/// Who attacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Agent,
    Gate,
}

/// Limits that bombs reach quickly, and that nothing else comes near to.
const LIMITS: &str = "[limits]\nprocesses = 64\nmemory = \"256MiB\"\ndisk = \"64MiB\"\n";

/// How long an attack's stage may take: less than the attacker gives itself, more than any attack needs.
const STAGE_LIMIT: u32 = 15;
/// The same for the one that does nothing.
const SPIN_LIMIT: u32 = 1;

/// A run that takes longer hangs: a stage has its limit, and nothing else takes long.
const HANG: Duration = Duration::from_mins(1);

/// How many times as long everything may take: more than once on a machine that is emulated.
fn patience() -> u32 {
    let said = std::env::var("ACQUIT_HOSTILE_PATIENCE").ok();
    said.map_or(1, |times| times.parse().expect("ACQUIT_HOSTILE_PATIENCE is a number"))
}

pub(crate) struct Arena {
    pub(crate) sandbox: Sandbox,
    pub(crate) role: Role,
    pub(crate) network: Network,
    /// What every canary of this world begins with.
    pub(crate) canary: String,
    /// Has what a private repository's only commit says.
    private: Repo,
    outside: Child,
    shared_memory: PathBuf,
    /// Paths of the user that acquit has no business with.
    before: Snapshot,
    tasks: u32,
}

/// A leg that an attacker ran in.
pub(crate) struct Leg {
    /// The command that ran it.
    pub(crate) ran: Ran,
    pub(crate) task: String,
    pub(crate) endings: Vec<Ending>,
    /// What was recorded of the attacker's output.
    pub(crate) said: String,
    /// The events and the task, as a person asks for them.
    pub(crate) shown: String,
}

/// The attacker. Whoever builds the whole workspace has it and says where (`cargo xtask test` does); else it is built beside the test,
/// which takes a minute where its dependencies have other features when it is built alone.
pub(crate) fn program() -> PathBuf {
    if let Some(built) = std::env::var_os("ACQUIT_TEST_HOSTILE") {
        return built.into();
    }
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).expect("target/<profile>/deps/<test>").to_owned();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--package", "acquit-testkit", "--bin", "hostile", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the attacker is built");
    target.join("debug/hostile")
}

impl Arena {
    /// A world in which these verbs can be run: by name, and all that share a leg as `shared`.
    pub(crate) fn new(role: Role, network: Network, shared: &[&str], own: &[&str]) -> Self {
        let sandbox = Sandbox::new(
            "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = \"true\"\n",
            WORKFLOW,
            "",
        );
        let mark = processes::mark();
        let canary = format!("{MARK}{mark}");
        let secret = |name: &str| format!("{canary}{name}");
        let program = program();

        for (verb, file) in SECRETS {
            repo::write(&sandbox.place("home").join(file), &format!("token = {}\n", secret(verb)));
        }
        for file in ["outside/file", "outside/second", "outside/full/file"] {
            repo::write(&sandbox.place(file), &format!("{}\n", secret("outside")));
        }
        fs::create_dir_all(sandbox.place("outside/empty")).unwrap();
        for file in ["workspace/work/secret.txt", "workspace/lock", "legs/1/prompt.md", "legs/1/output.log"] {
            repo::write(&sandbox.place("acquit/tasks/T-99").join(file), &format!("{}\n", secret("task")));
        }
        repo::write(&sandbox.place("acquit/canary"), &secret("store"));
        repo::write(&sandbox.place("tmp/of-another"), &secret("tmp"));
        let shared_memory = PathBuf::from(format!("/dev/shm/{mark}canary"));
        fs::write(&shared_memory, secret("shm")).unwrap();
        let private = Repo::sample();
        private.write("secret.txt", &secret("private"));
        let private_commit = private.commit("secret");

        // What is attacked is outside of everything that acquit knows.
        let doors = sandbox.place("d");
        fs::create_dir_all(&doors).unwrap();
        // Folders that every program is shown, with sockets of the host in them.
        let shown = [
            ("shown", sandbox.place("shown")),
            ("toolchain", sandbox.place("home/.rustup/toolchains")),
            ("cache", sandbox.place("home/.cache/pip")),
        ];
        for (_, folder) in &shown {
            fs::create_dir_all(folder).unwrap();
        }
        repo::write(&sandbox.place("shown/source"), &secret("renamed"));
        repo::write(&sandbox.place("shown/hidden"), &secret("renamed"));
        let folders: Vec<String> = shown.iter().map(|(_, folder)| folder.display().to_string()).collect();
        fs::write(doors.join("doors"), folders.join("\n")).unwrap();
        let outside = Command::new(&program)
            .arg("outside")
            .arg(&doors)
            .env_clear()
            .env("TOKEN_OF_ANOTHER", secret("process"))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        until_file(&doors.join("world"));
        let mut world = read(&doors.join("world"));
        let mut tell = |key: &str, value: &str| world.push_str(&format!("{key}={value}\n"));
        let place = |name: &str| sandbox.place(name).to_string_lossy().into_owned();
        tell("root", &place(""));
        tell("home", &place("home"));
        tell("outside", &place("outside"));
        tell("file", &place("outside/file"));
        tell("acquit", &place("acquit"));
        tell("other", &place("acquit/tasks/T-99/workspace/work"));
        tell("tmpfile", &place("tmp/of-another"));
        tell("repo", &sandbox.repo.path().to_string_lossy());
        tell("private", &private.path().to_string_lossy());
        tell("private-commit", &private_commit);
        for (key, folder) in &shown {
            tell(key, &folder.to_string_lossy());
        }
        tell("shm", &shared_memory.to_string_lossy());
        tell("victim", &outside.id().to_string());
        tell("marker", &mark);
        tell("patience", &patience().to_string());
        for kind in ["pid", "user", "mnt"] {
            let link = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
            tell(&format!("ns-{kind}"), &link.to_string_lossy());
        }

        let listed = world.lines().find_map(|line| line.strip_prefix("listed=")).unwrap().to_owned();
        let lists = std::iter::once(("shared", shared.join(" ")))
            .chain(own.iter().map(|verb| (*verb, (*verb).to_owned())));
        let mut config = config(role, network, &listed);
        let shown = sandbox.place("shown").to_string_lossy().into_owned();
        let [hidden, later, source] = ["hidden", "later", "source"].map(|name| format!("{shown}/{name}"));
        config
            .push_str(&format!("[access]\nread = [{shown:?}]\nhide = [{hidden:?}, {later:?}, {source:?}]\n"));
        for (name, verbs) in lists {
            let attack = |verbs: &str| format!("tools/hostile tools/world {verbs}");
            let (agent, gates) = match role {
                Role::Agent => (format!("{}; echo work > work.txt", attack(&verbs)), vec!["true".to_owned()]),
                Role::Gate => {
                    let verbs: Vec<&str> = verbs.split(' ').collect();
                    let gates = verbs.chunks(GATE_VERBS).map(|some| attack(&some.join(" "))).collect();
                    ("echo work > work.txt".to_owned(), gates)
                }
            };
            config.push_str(&format!("[agents.{name}]\nadapter = \"command\"\nrun = \"{agent}\"\n"));
            let limit = if name == "spin" { SPIN_LIMIT } else { STAGE_LIMIT };
            let limit = format!("{}s", limit * patience());
            let named = |number: usize| format!("attack-{number}");
            let list: Vec<String> = (0..gates.len()).map(|number| format!("{:?}", named(number))).collect();
            let gates: Vec<String> = gates
                .iter()
                .enumerate()
                .map(|(number, run)| GATE.replace("NAME", &named(number)).replace("RUN", run))
                .collect();
            let flow = WORKFLOW
                .replace("GATES", &gates.join(""))
                .replace("LIST", &list.join(", "))
                .replace("AGENT", name)
                .replace("LIMIT", &limit);
            sandbox.repo.write(&format!(".acquit/workflows/{name}.toml"), &flow);
        }
        sandbox.repo.write(".acquit/acquit.toml", &config);
        fs::remove_file(sandbox.repo.path().join(".acquit/workflows/flow.toml")).unwrap();
        sandbox.repo.write("tools/world", &world);
        sandbox.repo.write(".gitignore", ".env\n");
        fs::copy(&program, sandbox.repo.path().join("tools/hostile")).unwrap();
        sandbox.repo.commit("the attacker");
        sandbox.repo.git(&["branch", "kept"]);
        sandbox.repo.git(&[
            "remote",
            "add",
            "origin",
            &format!("https://user:{}@host.invalid/x.git", secret("remote")),
        ]);
        sandbox.repo.write(".env", &secret("env"));

        let sandbox = sandbox.with("TOKEN_OF_ANOTHER_STAGE", secret("stage"));
        let mut arena = Self {
            sandbox,
            role,
            network,
            canary,
            private,
            outside,
            shared_memory,
            before: Snapshot::take(&[], &|_| false),
            tasks: 0,
        };
        arena.before = arena.look();
        arena
    }

    /// Everything that must stay as it is.
    fn look(&self) -> Snapshot {
        let sandbox = &self.sandbox;
        let places = [
            sandbox.place("outside"),
            sandbox.place("home"),
            sandbox.place("acquit/tasks/T-99"),
            sandbox.place("acquit/canary"),
            sandbox.place("tmp/of-another"),
            sandbox.repo.path().to_owned(),
            self.private.path().to_owned(),
            self.shared_memory.clone(),
        ];
        let git = sandbox.repo.path().join(".git");
        let objects = git.join("objects");
        // What acquit itself adds when it delivers: objects, its own refs, and branches below its prefix.
        let own = |path: &Path| {
            [
                "refs/acquit",
                "refs/heads/acquit",
                "logs/refs/heads/acquit",
                "logs/refs/acquit",
                "gc.pid",
                "FETCH_HEAD",
            ]
            .iter()
            .any(|name| path.starts_with(git.join(name)))
                || (path.starts_with(&objects) && path != objects)
        };
        Snapshot::take(&places, &own)
    }

    /// Runs a task with this workflow to its end.
    pub(crate) fn run(&mut self, workflow: &str) -> Leg {
        let ran = self.to_its_end(&["run", &format!("Attack with {workflow}"), "--workflow", workflow]);
        self.tasks += 1;
        let task = format!("T-{}", self.tasks);
        let shown = self.sandbox.acquit(&["task", "show", &task, "--json"]);
        let past =
            if shown.code == Some(0) { shown.json()["task"]["past"].clone() } else { serde_json::json!([]) };
        let endings = past
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|leg| serde_json::from_value(leg["ending"].clone()).ok());
        let endings = endings.collect();
        let legs = self.sandbox.place(&format!("acquit/tasks/{task}/legs/1"));
        let said = match self.role {
            Role::Agent => read(&legs.join("output.log")),
            Role::Gate => {
                let logs = (0..).map(|number| legs.join(format!("check-attack-{number}.log")));
                logs.take_while(|log| log.exists()).map(|log| read(&log)).collect()
            }
        };
        let events = self.sandbox.acquit(&["logs", &task, "--all", "--json"]);
        let words = self.sandbox.acquit(&["logs", &task, "--all"]);
        let leg = self.sandbox.acquit(&["logs", &task, "--leg", "1"]);
        Leg { ran, task, endings, said, shown: events.out + &shown.out + &words.out + &leg.out }
    }

    /// Runs acquit. One that hangs is ended, with all that it started, and has no exit code: the next attack is run too.
    fn to_its_end(&self, args: &[&str]) -> Ran {
        let started = self.sandbox.start(args);
        let hang = HANG * patience();
        let deadline = Instant::now() + hang;
        while !processes::is_over(started.pid()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        if processes::is_over(started.pid()) {
            return started.wait();
        }
        let (out, err) = (started.out(), format!("it hung for {hang:?}\n{}", started.err()));
        drop(started);
        self.end_what_is_left();
        Ran { code: None, out, err }
    }

    /// Ends every process of this world but the one that is attacked, and tells which they were.
    fn end_what_is_left(&self) -> Vec<String> {
        let root = self.sandbox.place("").to_string_lossy().into_owned();
        let found = marked(&root).into_iter().chain(marked(self.canary.trim_start_matches(MARK)));
        let mut words = Vec::new();
        for (pid, arguments) in found.filter(|(pid, _)| *pid != self.outside.id()) {
            words.push(format!("{pid} {arguments}"));
            let pid = rustix::process::Pid::from_raw(pid.cast_signed());
            let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        }
        words
    }

    /// What is wrong with the world after a leg. What was found once is not found again.
    pub(crate) fn harm(&mut self, leg: &Leg) -> Vec<String> {
        let mut harm = Vec::new();
        let now = self.look();
        harm.extend(self.before.differences(&now));
        self.before = now;
        if let Ok(Some(status)) = self.outside.try_wait() {
            harm.push(format!("the process outside has ended: {status}"));
        }
        let visits = self.sandbox.place("d/visits");
        let open = self.network == Network::Open;
        let may = |who: &str| match who {
            "listed" => self.network != Network::Off,
            "tcp" | "tcp6" | "udp" | "udp6" => open,
            _ => false,
        };
        for line in read(&visits).lines().filter(|line| !may(line.split(':').next().unwrap_or_default())) {
            harm.push(format!("a visit: {line}"));
        }
        let _ = fs::remove_file(&visits);
        if leg.ran.code.is_none() {
            harm.push(leg.ran.err.clone());
        }
        let left = self.end_what_is_left();
        harm.extend(left.into_iter().map(|process| format!("a process is left: {process}")));
        let folder = self.sandbox.place(&format!("acquit/tasks/{}", leg.task));
        let mut leaks = Vec::new();
        self.search(&folder, &mut leaks);
        for name in ["acquit.db", "acquit.db-wal"] {
            self.search(&self.sandbox.place("acquit").join(name), &mut leaks);
        }
        if leg.shown.contains(&self.canary) {
            leaks.push("the events".to_owned());
        }
        harm.extend(leaks.into_iter().map(|place| format!("a canary was read: it is in {place}")));
        harm
    }

    /// Files below a place that have a canary in them. By grep, because a test that is not optimised takes a minute for it.
    fn search(&self, place: &Path, found: &mut Vec<String>) {
        let ran = Command::new("grep")
            .args([
                "--recursive",
                "--files-with-matches",
                "--text",
                "--fixed-strings",
                "--devices=skip",
                "--no-messages",
            ])
            .args(["-e", &self.canary, "--"])
            .arg(place)
            .stdin(Stdio::null())
            .output()
            .expect("grep is there");
        found.extend(String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned));
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let _ = self.outside.kill();
        let _ = self.outside.wait();
        let _ = fs::remove_file(&self.shared_memory);
        let _ = std::io::stdout().flush();
    }
}

/// So many attacks of a gate that the end of its output, which goes into the event log, has them all.
const GATE_VERBS: usize = 15;

const GATE: &str = r#"
[gates.NAME]
run = "RUN"
timeout = "LIMIT"
"#;

const WORKFLOW: &str = r#"
[budgets]
outcome = 0
agent = 0
limit = 0
nothing = 0
harness = 0
lost = 0
gate = 0
GATES
[stages.code]
mode = "implement"
agent = "AGENT"
timeout = "LIMIT"
output = "8MiB"
refused = "tell"
gates = [LIST]
on = { pr_ready = "deliver" }
[stages.deliver]
kind = "action"
action = "squash"
on = { done = "done" }
"#;

/// The configuration that an attacker works under: everything that holds him is named here and nowhere else.
fn config(role: Role, network: Network, listed: &str) -> String {
    let (agents, gates) = match role {
        Role::Agent => (network, Network::Off),
        Role::Gate => (Network::Off, network),
    };
    // Without walls, to see that every attack can succeed: how the suite itself is tested.
    let walls = std::env::var("ACQUIT_HOSTILE_SANDBOX").unwrap_or_else(|_| "on".to_owned());
    format!(
        "agent = \"shared\"\nsandbox = \"{walls}\"\nprotected = [\"main\", \"kept\"]\n\
         [network]\nagents = \"{agents}\"\ngates = \"{gates}\"\nhosts = [\"127.0.0.1:{listed}\"]\n{LIMITS}"
    )
}
