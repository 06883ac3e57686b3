//! `acquit sandbox`: the sandbox of agents and gates, for people.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use acquit_core::config::Config;
use acquit_core::sandbox::{Host, Mode, Network};
use acquit_run::process::{Attached, Exit as Ended};
use acquit_run::sandbox::{Entry, PROXY_PORT, Policy, Reach, What, usual};

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;

/// What was asked for.
pub struct Wanted {
    /// A policy as a file.
    pub policy: Option<PathBuf>,
    /// Whom the program may talk to.
    pub network: Network,
    /// Hosts that are let through.
    pub hosts: Vec<Host>,
    /// Paths that it may read.
    pub read: Vec<PathBuf>,
    /// Paths that it may write.
    pub write: Vec<PathBuf>,
    /// How much the machine must have.
    pub mode: Mode,
    /// The program and its arguments; none to print the policy.
    pub command: Vec<OsString>,
}

/// Runs the program, or prints the policy.
pub fn sandbox(desk: &Desk, wanted: &Wanted) -> Result<Exit, Error> {
    let here = &desk.surroundings.here;
    // Gone when the program is.
    let folder;
    let (file, policy, cwd) = if let Some(path) = &wanted.policy {
        let policy = read(path)?;
        let cwd = start(&policy, here);
        (here.join(path), policy, cwd)
    } else {
        folder = Folder::new(desk)?;
        let policy = make(desk, wanted, &folder.0)?;
        (folder.0.join("policy.json"), policy, here.clone())
    };
    let text = serde_json::to_string_pretty(&policy).unwrap_or_default();
    let Some((program, args)) = wanted.command.split_first() else {
        desk.printer.data(&text);
        return Ok(Exit::Done);
    };
    if wanted.policy.is_none() {
        let write = std::fs::write(&file, text);
        write.map_err(|source| Error::File { doing: "write", path: file.clone(), source })?;
    }
    let mut env = desk.world.environment.common();
    env.retain(|(name, _)| name != "TERM" && name != "TMPDIR");
    env.extend(desk.world.environment.get("TERM").map(|term| ("TERM".into(), term.to_owned())));
    env.push(("TMPDIR".into(), "/tmp".into()));
    if matches!(policy.network, Reach::Hosts { .. }) {
        let proxy = acquit_run::network::variables(PROXY_PORT);
        env.extend(proxy.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    let attached =
        Attached { program: program.clone(), args: args.to_vec(), cwd: &cwd, env, policy: Some(&file) };
    let ended = desk.world.spawner.attach(&attached, |missing| {
        if !missing.is_empty() {
            desk.printer.warn(&format!("this sandbox lacks {missing}: `acquit doctor` says what follows"));
        }
    })?;
    Ok(match ended {
        Ended::Code(code) => Exit::Program(u8::try_from(code).unwrap_or(1)),
        Ended::Signal(signal) => Exit::Program(u8::try_from(128 + signal).unwrap_or(1)),
        Ended::Excess(_)
        | Ended::TimedOut { .. }
        | Ended::Idle { .. }
        | Ended::Cancelled
        | Ended::OutputLimit { .. } => {
            desk.printer.warn(&format!("{}: {ended}", program.to_string_lossy()));
            Exit::Failed
        }
    })
}

/// A folder for one sandbox; gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(desk: &Desk) -> Result<Self, Error> {
        let path = desk.world.home.join("sandboxes").join(std::process::id().to_string());
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| Error::File { doing: "create", path: path.clone(), source })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where a program of a policy starts: here if it can see that, and otherwise in the first folder that it may change.
fn start(policy: &Policy, here: &Path) -> PathBuf {
    let can_see = |entry: &&Entry| !matches!(entry.what, What::Hidden | What::Link { .. });
    if policy.view.iter().rfind(|entry| here.starts_with(&entry.at)).as_ref().is_some_and(can_see) {
        return here.to_owned();
    }
    let work = policy.view.iter().find(|entry| entry.what == What::Write && entry.at.is_dir());
    work.map_or_else(|| PathBuf::from("/"), |entry| entry.at.clone())
}

fn read(path: &Path) -> Result<Policy, Error> {
    let file = |source| Error::File { doing: "read the policy", path: path.to_owned(), source };
    let text = std::fs::read(path).map_err(file)?;
    serde_json::from_slice(&text).map_err(|error| file(error.into()))
}

fn make(desk: &Desk, wanted: &Wanted, aside: &Path) -> Result<Policy, Error> {
    let here = &desk.surroundings.here;
    let absolute = |path: &PathBuf| here.join(path);
    let config = Config { sandbox: wanted.mode, ..Config::default() };
    let mut write = vec![here.clone()];
    write.extend(wanted.write.iter().map(absolute));
    let read: Vec<PathBuf> = wanted.read.iter().map(absolute).collect();
    let home = desk.surroundings.user_home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    if home.starts_with(here) {
        return Err(Error::SandboxOfHome { here: here.clone() });
    }
    usual::policy(usual::Ground {
        config: &config,
        home: &home,
        path: desk.world.environment.get("PATH"),
        own: &desk.world.home,
        repository: None,
        aside,
        write: &write,
        read: &read,
        login: &[],
        placed: &[],
        reach: usual::reach(wanted.network, &config, &wanted.hosts, aside.join("network.jsonl")),
    })
    .map_err(|source| Error::File { doing: "make the sandbox in", path: aside.to_owned(), source })
}
