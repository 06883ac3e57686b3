//! The sandbox of a program of a leg: its policy, as a file of the leg, and the variables that the program needs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use acquit_core::config::Config;
use acquit_core::event::{About, Body, Level};
use acquit_core::sandbox::{Host, Mode, Network};
use acquit_sandbox::environment::Environment;

use super::{Job, LegAbort, LegContext, WorkingTree, private, stage_home};
use crate::process::{Missing, in_path};
use crate::sandbox::{Commands, PROXY_PORT, Policy, Reach, default_policy};
use crate::{network, registry};

/// The program to sandbox.
pub(crate) enum Who<'a> {
    /// An agent. Its home is kept for later legs of its stage, with the sessions that it continues.
    Agent {
        /// Its credential files.
        login: &'a [String],
        /// Hosts of its model.
        hosts: &'a [Host],
        /// The program and the script that it consists of, if they are not part of the system.
        parts: &'a [PathBuf],
        /// Files to place in its home: path relative to the home, and the file.
        placed: &'a [(PathBuf, PathBuf)],
        /// The commands it may run, if its stage lists any.
        commands: Option<Commands>,
    },
    /// A gate or setup. Its home is new each time, because files that an agent left there could influence the verdict.
    Check,
}

pub(crate) struct ProgramSandbox {
    /// Policy file. `None` without a sandbox.
    pub(crate) policy: Option<PathBuf>,
    /// Name of the program.
    name: String,
    network: Network,
    log: PathBuf,
    /// Directory to remove when the program has ended.
    passing: Option<PathBuf>,
}

impl ProgramSandbox {
    /// Creates the sandbox for the program `name` of this leg.
    pub(crate) fn new(
        ctx: &LegContext<'_>,
        job: &Job<'_>,
        working_tree: &WorkingTree,
        name: &str,
        network: Network,
        who: &Who<'_>,
    ) -> Result<Self, LegAbort> {
        let config = &job.definition.config;
        let folder = ctx.runtime.leg_folder(ctx.hold.leg);
        let log = folder.path().join(format!("network-{name}.jsonl"));
        if config.sandbox == Mode::Off {
            return Ok(Self { policy: None, name: name.to_owned(), network, log, passing: None });
        }
        let at =
            |error: std::io::Error| LegAbort::file("write the sandbox policy into", folder.path(), &error);
        let home = ctx.runtime.environment.home().unwrap_or(Path::new("/nonexistent")).to_owned();
        let mut read = working_tree.objects.clone();
        read.extend(registry::certificates(&ctx.runtime.environment));
        let mut write = Vec::new();
        let (aside, passing) = match who {
            Who::Agent { parts, .. } => {
                read.push(folder.prompt());
                read.extend(parts.iter().cloned());
                write.push(folder.output_dir());
                let homes = ctx.runtime.agent_homes(ctx.hold.leg.task);
                (homes.join(stage_home::of(job.definition, job.entry)), None)
            }
            Who::Check if working_tree.aside.is_some() => {
                (working_tree.aside.clone().unwrap_or_default(), None)
            }
            Who::Check => {
                let aside = folder.path().join(format!("home-{name}"));
                remove(&aside);
                (aside.clone(), Some(aside))
            }
        };
        let (login, hosts, placed) = match who {
            Who::Agent { login, hosts, placed, .. } => (*login, *hosts, *placed),
            Who::Check => (&[][..], &[][..], &[][..]),
        };
        let (caches, mounts) = (working_tree.setup_home(), working_tree.mounts().map_err(at)?);
        let mut placed = placed.to_vec();
        let clients = registry::Clients::of(&ctx.runtime.environment);
        placed.extend(clients.write(&aside.join("clients")).map_err(at)?);
        let mut policy = default_policy::policy(default_policy::Surroundings {
            config,
            home: &home,
            environment: &ctx.runtime.environment,
            own: &ctx.runtime.home,
            repository: Some(job.source.owner().git_dir()),
            aside: &aside,
            write: &write,
            read: &read,
            login,
            placed: &placed,
            setup: caches.as_deref(),
            mounts: &mounts,
            reach: default_policy::reach(network, config, hosts, log.clone()),
        })
        .map_err(at)?;
        if let Who::Agent { commands, .. } = who {
            policy.commands.clone_from(commands);
        }
        let file = folder.path().join(format!("policy-{name}.json"));
        write_policy(&file, &policy).map_err(at)?;
        Ok(Self { policy: Some(file), name: name.to_owned(), network, log, passing })
    }

    /// Returns the variables that the program needs: for its temporary files and the proxy.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        if self.policy.is_none() {
            return Vec::new();
        }
        let mut list = vec![("TMPDIR".into(), "/tmp".into())];
        if self.network == Network::Model {
            let proxy = network::variables(PROXY_PORT);
            list.extend(proxy.into_iter().map(|(name, value)| (name.into(), value.into())));
        }
        list
    }

    /// Returns the connections that the program requested so far.
    pub(crate) fn connections(&self) -> Vec<network::Connection> {
        network::read_log(&self.log)
    }

    /// Returns the path of the connection log.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Describes the sandbox for the event log.
    pub(crate) fn words(&self, missing: Missing) -> String {
        match &self.policy {
            None => "NO SANDBOX: everything that the user may do, it may do".to_owned(),
            Some(_) if missing.is_empty() => format!("sandbox, network {}", self.network),
            Some(_) => format!("sandbox without {missing}; network {}", self.network),
        }
    }

    /// Notifies people of what is missing before the program runs.
    pub(crate) fn announce(&self, ctx: &mut LegContext<'_>, name: &str, missing: Missing) {
        if self.policy.is_none() {
            ctx.notice(
                Level::Warning,
                format!("{name} runs without a sandbox: sandbox = \"off\" in acquit.toml"),
            );
        } else if !missing.is_empty() {
            ctx.notice(Level::Warning, format!("the sandbox of {name} lacks {missing}: see `acquit doctor`"));
        }
    }

    /// Reports the program's connections after its end, and removes what was created for it.
    pub(crate) fn end(&self, ctx: &mut LegContext<'_>, name: &str) {
        for line in network::summary(&network::read_log(&self.log)) {
            let program = self.name.clone();
            ctx.note(Body::Notice {
                level: Level::Info,
                text: format!("{name}: {}", line.text),
                about: line.to_allow.map(|host| About::RefusedHost { program, host }),
            });
        }
        if let Some(passing) = &self.passing {
            remove(passing);
        }
    }
}

/// Returns the command that sends the agent's commits to the harness. It reads what an agent wrote, and git can follow
/// pointers from there to other places. So it sees only that and the borrowed objects.
pub(crate) fn sender(ctx: &LegContext<'_>, job: &Job<'_>) -> Result<OsString, LegAbort> {
    const PLAIN: &str = "env GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git upload-pack";
    let config = &job.definition.config;
    if config.sandbox == Mode::Off {
        return Ok(PLAIN.into());
    }
    let task = ctx.hold.leg.task;
    let (folder, workspace) = (ctx.runtime.task_folder(task), ctx.runtime.workspace_folder(task));
    let file = folder.join("policy-sender.json");
    // A process that was killed while writing the file leaves an incomplete one.
    let whole = std::fs::read(&file).is_ok_and(|text| serde_json::from_slice::<Policy>(&text).is_ok());
    if !whole {
        let mut read = job.source.all_objects();
        read.extend(["view", "work/.git/objects", "git/objects"].map(|place| workspace.join(place)));
        seclude(ctx, job, &file, &folder.join("sender"), &read)?;
    }
    let mut command = quoted(&ctx.runtime.spawner.helper);
    command.push(" sandbox --policy ");
    command.push(quoted(&file));
    command.push(" -- ");
    command.push(PLAIN);
    Ok(command)
}

/// Writes the policy of a program that reads untrusted content: it sees the system's libraries, git and what is
/// listed, but no toolchain and no other program of the user. It keeps nothing and has no network.
pub(crate) fn seclude(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    file: &Path,
    aside: &Path,
    read: &[PathBuf],
) -> Result<(), LegAbort> {
    let path = ctx.runtime.environment.get("PATH");
    let git = path.and_then(|path| in_path(path, "git")).and_then(|git| Some(git.parent()?.into()));
    let made = default_policy::policy(default_policy::Surroundings {
        config: &Config { sandbox: job.definition.config.sandbox, ..Config::default() },
        home: Path::new("/nonexistent"),
        environment: &Environment::new(git.map(|folder: OsString| ("PATH".into(), folder))),
        own: &ctx.runtime.home,
        repository: Some(job.source.owner().git_dir()),
        aside,
        write: &[],
        read,
        login: &[],
        placed: &[],
        setup: None,
        mounts: &[],
        reach: Reach::Nobody,
    });
    let written = made.and_then(|policy| write_policy(file, &policy));
    written.map_err(|error| LegAbort::file("write the sandbox policy", file, &error))
}

/// Quotes a path as one word for a shell.
fn quoted(path: &Path) -> OsString {
    let mut word = OsString::from("'");
    for (number, part) in path.as_os_str().as_bytes().split(|byte| *byte == b'\'').enumerate() {
        if number > 0 {
            word.push("'\\''");
        }
        word.push(OsStr::from_bytes(part));
    }
    word.push("'");
    word
}

pub(crate) fn write_policy(file: &Path, policy: &Policy) -> std::io::Result<()> {
    private(file, &serde_json::to_vec_pretty(policy)?)
}

/// Removes a directory of ours that programs wrote to. If that fails, the directory does no harm.
fn remove(folder: &Path) {
    let _ = crate::workspace::remove_folder(folder);
}
