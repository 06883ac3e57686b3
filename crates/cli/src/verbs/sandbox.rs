//! `acquit sandbox`: runs a program in the sandbox of agents and gates.

mod obeyed;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use acquit_core::config::Config;
use acquit_core::sandbox::{Host, Mode, Network};
use acquit_core::text;
use acquit_run::process::{Attached, Exit as Ended};
use acquit_run::sandbox::secrets::SECRETS;
use acquit_run::sandbox::{Entry, PROXY_PORT, Policy, Reach, What, default_policy};

use self::obeyed::{Obeyed, real};
use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;
use acquit_app::scratch_dir::Folder;

/// Maximum number of new repositories and settings to name.
const MOST_NAMED: usize = 20;

/// Options of the command.
pub struct Wanted {
    /// A policy file.
    pub policy: Option<PathBuf>,
    /// Network access of the program.
    pub network: Network,
    /// Allowed hosts.
    pub hosts: Vec<Host>,
    /// Paths that it may read.
    pub read: Vec<PathBuf>,
    /// Paths that it may write.
    pub write: Vec<PathBuf>,
    /// What to do if the machine cannot enforce everything.
    pub mode: Mode,
    /// Working directory under a policy, if visible there. Without it, the current directory.
    pub start: Option<PathBuf>,
    /// The program and its arguments; empty to print the policy.
    pub command: Vec<OsString>,
}

/// Runs the program, or prints the policy.
pub fn sandbox(cli: &Cli, wanted: &Wanted) -> Result<Exit, Error> {
    if wanted.policy.is_none() && wanted.network != Network::Model && !wanted.hosts.is_empty() {
        return Err(Error::NoEffect { flag: "--host", with: "without --network model".to_owned() });
    }
    let here = &cli.app.surroundings.here;
    // Removed when the program has ended.
    let folder;
    let (file, policy, cwd) = if let Some(path) = &wanted.policy {
        let policy = read(path)?;
        let cwd = start(&policy, wanted.start.as_ref().unwrap_or(here));
        (here.join(path), policy, cwd)
    } else {
        folder = Folder::new(&cli.app.runtime.home.join("sandboxes"))?;
        let policy = make(cli, wanted, &folder.path)?;
        (folder.path.join("policy.json"), policy, here.clone())
    };
    let json = serde_json::to_string_pretty(&policy).unwrap_or_default();
    let Some((program, args)) = wanted.command.split_first() else {
        cli.printer.data(&json);
        return Ok(Exit::Done);
    };
    if wanted.policy.is_none() {
        let write = std::fs::write(&file, json);
        write.map_err(|source| Error::File { doing: "write", path: file.clone(), source })?;
    }
    let mut env = cli.app.runtime.common_variables();
    env.retain(|(name, _)| name != "TERM" && name != "TMPDIR");
    env.extend(cli.app.runtime.environment.get("TERM").map(|term| ("TERM".into(), term.to_owned())));
    env.push(("TMPDIR".into(), "/tmp".into()));
    if matches!(policy.network, Reach::Hosts { .. }) {
        let proxy = acquit_run::network::variables(PROXY_PORT);
        env.extend(proxy.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    let stop = signals()?;
    let attached = Attached {
        program: program.clone(),
        args: args.to_vec(),
        cwd: &cwd,
        env,
        policy: Some(&file),
        stop: Some(stop.as_fd()),
    };
    let home = cli.app.surroundings.user_home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let before = planted(&policy, &home);
    let ended = cli.app.runtime.spawner.attach(&attached, |missing| {
        if !missing.is_empty() {
            cli.printer.warn(&format!("this sandbox lacks {missing}: `acquit doctor` says what follows"));
        }
    })?;
    let after = planted(&policy, &home);
    let mut made = after.difference(&before).map(|(place, ..)| text::visible(&place.to_string_lossy()));
    for place in made.by_ref().take(MOST_NAMED) {
        let place = place.replace('\n', " ");
        cli.printer.warn(&format!(
            "the program made {place}: look into it before you run git, acquit or a coding agent there"
        ));
    }
    if let more @ 1.. = made.count() {
        cli.printer.warn(&format!("the program made {more} more of these"));
    }
    Ok(match ended {
        Ended::Code(code) => Exit::Program(u8::try_from(code).unwrap_or(1)),
        Ended::Signal(signal) => Exit::Program(u8::try_from(128 + signal).unwrap_or(1)),
        Ended::Excess(_)
        | Ended::TimedOut { .. }
        | Ended::Idle { .. }
        | Ended::Cancelled
        | Ended::OutputLimit { .. } => {
            cli.printer.warn(&format!("{}: {ended}", program.to_string_lossy()));
            Exit::Failed
        }
    })
}

/// Returns a stream that becomes readable when this process receives a stop signal.
fn signals() -> Result<UnixStream, Error> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let (heard, told) = UnixStream::pair().map_err(Error::Signals)?;
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let told = told.try_clone().map_err(Error::Signals)?;
        signal_hook::low_level::pipe::register(signal, told).map_err(Error::Signals)?;
    }
    Ok(heard)
}

/// Returns what git, acquit and coding agents obey in the directories that a program may write.
fn planted(policy: &Policy, home: &Path) -> BTreeSet<(PathBuf, u64, u64)> {
    let written: BTreeSet<&Path> = policy
        .view
        .iter()
        .filter(|entry| entry.what == What::Write)
        .map(|entry| entry.at.as_path())
        .collect();
    let outermost =
        written.iter().filter(|place| !place.ancestors().skip(1).any(|above| written.contains(above)));
    outermost.flat_map(|place| Obeyed::of(place, home).identities()).collect()
}

/// Returns the working directory under a policy: the current one if visible, else the first writable directory.
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

fn make(cli: &Cli, wanted: &Wanted, aside: &Path) -> Result<Policy, Error> {
    let here = &cli.app.surroundings.here;
    let absolute = |path: &PathBuf| here.join(path);
    let config = Config { sandbox: wanted.mode, ..Config::default() };
    let mut write = vec![here.clone()];
    write.extend(wanted.write.iter().map(absolute));
    let read: Vec<PathBuf> = wanted.read.iter().map(absolute).collect();
    let home = cli.app.surroundings.user_home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let (real_here, real_home) = (real(here), real(&home));
    if real_home.starts_with(&real_here) {
        return Err(Error::SandboxOfHome { here: here.clone() });
    }
    let private = SECRETS.iter().map(|name| home.join(name)).chain([cli.app.runtime.home.clone()]);
    if private.map(|place| real(&place)).any(|place| real_here.starts_with(&place)) {
        return Err(Error::SandboxOfSecrets { here: here.clone() });
    }
    let mut policy = default_policy::policy(default_policy::Surroundings {
        config: &config,
        home: &home,
        environment: &cli.app.runtime.environment,
        own: &cli.app.runtime.home,
        repository: None,
        aside,
        write: &write,
        read: &read,
        login: &[],
        placed: &[],
        setup: None,
        mounts: &[],
        reach: default_policy::reach(wanted.network, &config, &wanted.hosts, aside.join("network.jsonl")),
    })
    .map_err(|source| Error::File { doing: "make the sandbox in", path: aside.to_owned(), source })?;
    for folder in &write {
        let obeyed = Obeyed::of(folder, &home);
        if obeyed.is_cut {
            let folder = folder.display();
            cli.printer.warn(&format!(
                "{folder} has too many folders to look for repositories in all of them: the program may change the hooks of some"
            ));
        }
        policy.view.extend(obeyed.entries(folder));
    }
    Ok(policy)
}
