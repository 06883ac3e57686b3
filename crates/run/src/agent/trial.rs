//! Tries an agent in the sandbox of a stage without asking a model: whether its program starts there, and whether it
//! has its credentials, its key and its own settings. Every finding comes with the lines to add to the configuration.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::config::{Adapter, Agent, Config};
use acquit_core::ids::Name;
use acquit_core::sandbox::Mode;
use acquit_core::workflow;

use super::product::{Facts, Login};
use super::user_settings;
use super::{Launch, Wanted};
use crate::process::{Call, Exit, Guard};
use crate::registry;
use crate::runtime::Runtime;
use crate::sandbox::{PROXY_PORT, default_policy};
use crate::secrets::{Secret, Vault};

/// Timeout for printing the version. Some programs load a whole runtime first.
const LIMIT: Duration = Duration::from_secs(30);

/// Maximum length of its message to show.
const COMPLAINT: usize = 300;

/// Result of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Version it prints in the sandbox, or why it does not start there. Empty if it was not asked.
    pub started: Result<String, String>,
    /// Credentials that a stage has.
    pub login: Login,
    /// Problems.
    pub findings: Vec<Finding>,
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Description.
    pub what: String,
    /// Lines of `acquit.toml` that fix it. Empty if the configuration cannot.
    pub add: Vec<String>,
}

/// Tries an agent of a configuration. `folder` is a private directory for the trial; the caller removes it.
pub fn try_agent(
    runtime: &Runtime,
    config: &Config,
    name: &Name,
    agent: &Agent,
    folder: &Path,
) -> io::Result<Trial> {
    let mut findings = Vec::new();
    let ready = prepare(runtime, config, name, agent, folder, &mut findings)?;
    let Some(launch) = ready else {
        return Ok(Trial {
            started: Err("it is not configured".to_owned()),
            login: Login::Unknown,
            findings,
        });
    };
    let started = start(runtime, config, agent, &launch, folder, How::Version)?;
    let started = started.map_err(|why| acquit_core::failure::chain(&why));
    let mut login = Login::Unknown;
    if let Adapter::Product { product } = agent.adapter {
        let facts = Facts::of(product);
        login = of_stage(runtime, facts, &launch);
        if login == Login::Missing {
            findings.push(not_logged_in(runtime, facts, name));
        }
        findings.extend(settings(runtime, facts, name, agent, &launch));
    }
    Ok(Trial { started, login, findings })
}

/// Finds what keeps an agent from starting at all, without running it: a missing variable or secret, a program that
/// does not exist or is hidden, a sandbox that this machine cannot build. Secrets that need a command are left to the
/// leg.
pub fn blockers(
    runtime: &Runtime,
    config: &Config,
    name: &Name,
    agent: &Agent,
    secrets: &[String],
    folder: &Path,
) -> io::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let vault = Vault::new(config, &runtime.environment, &runtime.spawner);
    for secret in agent.secrets.iter().chain(secrets).filter(|secret| vault.is_cheap(secret)) {
        if let Err(error) = vault.resolve(secret) {
            findings.push(Finding {
                what: format!("cannot {}", acquit_core::failure::chain(&error)),
                add: Vec::new(),
            });
        }
    }
    let agent = Agent { secrets: Vec::new(), billing: None, ..agent.clone() };
    let Some(launch) = prepare(runtime, config, name, &agent, folder, &mut findings)? else {
        return Ok(findings);
    };
    let program = program_of(&agent, &launch);
    if let Err(why) = start(runtime, config, &agent, &launch, folder, How::Find)? {
        findings.push(match why {
            Unstarted::Missing => not_found(runtime, name, &program),
            Unstarted::Failed(_) | Unstarted::Process(_) => {
                Finding { what: format!("cannot {}", acquit_core::failure::chain(&why)), add: Vec::new() }
            }
        });
    }
    Ok(findings)
}

/// Reports a program that the sandbox does not have, and whether it exists on the machine.
fn not_found(runtime: &Runtime, name: &Name, program: &OsStr) -> Finding {
    let called = program.to_string_lossy();
    let path = runtime.environment.get("PATH").unwrap_or_default();
    let outside = if called.contains('/') {
        Some(PathBuf::from(program)).filter(|file| crate::process::is_executable(file))
    } else {
        crate::process::in_path(path, &called)
    };
    match outside {
        None => Finding {
            what: format!(
                "the program `{called}` of the agent {name} is not installed: install it in a folder of PATH, or name it as \
                 `program` of [agents.{name}]"
            ),
            add: Vec::new(),
        },
        Some(file) => {
            let file = file.canonicalize().unwrap_or(file);
            let folder = file.parent().unwrap_or(&file).display().to_string();
            Finding {
                what: format!(
                    "the program `{called}` of the agent {name} is in {folder}, which the sandbox does not show"
                ),
                add: vec!["[access]".to_owned(), format!("read = [\"{folder}\"]")],
            }
        }
    }
}

/// How to try a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Print its version, if it has an argument for that.
    Version,
    /// Only look for it.
    Find,
}

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
enum Unstarted {
    /// The sandbox does not have it.
    #[error("find the program in the sandbox")]
    Missing,
    /// It exited with an error.
    #[error("{0}")]
    Failed(String),
    /// The sandbox could not be built.
    #[error(transparent)]
    Process(crate::process::Error),
}

/// Prepares the start of the agent in a stage, with its secrets. Reports what prevents it as a finding.
fn prepare(
    runtime: &Runtime,
    config: &Config,
    name: &Name,
    agent: &Agent,
    folder: &Path,
    findings: &mut Vec<Finding>,
) -> io::Result<Option<Launch>> {
    let (prompt, output, own) = (folder.join("prompt.md"), folder.join("out"), folder.join("settings"));
    for place in [&output, &own] {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(place)?;
    }
    fs::write(&prompt, "")?;
    let wanted = Wanted {
        agent,
        runtime,
        mode: workflow::Mode::Implement,
        allowed: None,
        commands: &[],
        model: agent.model.as_deref().map(|name| config.model(name)),
        prompt: &prompt,
        output: &output,
        settings: &own,
        session: None,
        new_session: &super::new_session(),
        tools: None,
        schema: None,
    };
    let mut launch = match super::launch(&wanted) {
        Ok(launch) => launch,
        Err(super::Error::Unset(variable)) => {
            findings.push(Finding {
                what: format!(
                    "${variable} is in `pass_env` of [agents.{name}], and is not set where acquit was started"
                ),
                add: Vec::new(),
            });
            return Ok(None);
        }
        Err(error) => {
            findings.push(Finding { what: error.to_string(), add: Vec::new() });
            return Ok(None);
        }
    };
    for (path, text) in &launch.files {
        fs::write(path, text)?;
    }
    let vault = Vault::new(config, &runtime.environment, &runtime.spawner);
    for secret in &agent.secrets {
        match vault.resolve(secret) {
            Ok(secret) => launch.env.push(Secret::variable(&secret)),
            Err(error) => findings.push(Finding {
                what: format!("cannot {}", acquit_core::failure::chain(&error)),
                add: Vec::new(),
            }),
        }
    }
    if let Err(error) = super::billing::check(agent, &launch.env) {
        findings.push(Finding { what: error.to_string(), add: Vec::new() });
    }
    Ok(Some(launch))
}

/// Starts the program in the sandbox to print its version, or only looks for it there.
fn start(
    runtime: &Runtime,
    config: &Config,
    agent: &Agent,
    launch: &Launch,
    folder: &Path,
    how: How,
) -> io::Result<Result<String, Unstarted>> {
    /// Exit code of a shell that did not find a command.
    const NOT_FOUND: i32 = 127;
    let named = program_of(agent, launch);
    let (program, args): (OsString, Vec<OsString>) = match agent.adapter {
        Adapter::Product { product } if how == How::Version => {
            let version = Facts::of(product).version.iter().map(OsString::from).collect();
            (named, version)
        }
        Adapter::Product { .. } | Adapter::Command { .. } | Adapter::Acp { .. } => {
            // A path relative to the tree, which is not known yet.
            if Path::new(&named).is_relative() && named.to_string_lossy().contains('/') {
                return Ok(Ok(String::new()));
            }
            ("sh".into(), vec!["-c".into(), "command -v -- \"$0\" >/dev/null || exit 127".into(), named])
        }
        Adapter::Scripted { .. } => return Ok(Ok(String::new())),
    };
    let mut env = launch.env.clone();
    let policy = policy(runtime, config, launch, folder, &mut env)?;
    let cwd = folder.join("out");
    let call = Call { program, args, cwd, env, input: None, limit: LIMIT, guard: Guard::Contained };
    let captured = match &policy {
        Some(policy) => runtime.spawner.capture_in(&call, policy),
        None => runtime.spawner.capture(&call),
    };
    let captured = match captured {
        Err(crate::process::Error::ProgramMissing { .. }) => return Ok(Err(Unstarted::Missing)),
        Err(error) => return Ok(Err(Unstarted::Process(error))),
        Ok(captured) => captured,
    };
    let line = |bytes: &[u8]| {
        let said = String::from_utf8_lossy(bytes);
        let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        acquit_core::agent::shorten(line, COMPLAINT)
    };
    Ok(match captured.exit {
        Exit::Code(0) => Ok(line(&captured.stdout)),
        Exit::Code(NOT_FOUND) if how == How::Find => Err(Unstarted::Missing),
        exit => {
            let said = line(&captured.stderr);
            Err(Unstarted::Failed(if said.is_empty() {
                exit.to_string()
            } else {
                format!("{exit} ({said})")
            }))
        }
    })
}

/// Returns the program name of an agent, as people know it.
pub(crate) fn program_of(agent: &Agent, launch: &Launch) -> OsString {
    match &agent.adapter {
        Adapter::Acp { run } => {
            super::program(run).map_or_else(|_| launch.program.clone(), |(program, _)| program)
        }
        Adapter::Command { .. } | Adapter::Product { .. } | Adapter::Scripted { .. } => {
            launch.program.clone()
        }
    }
}

/// Writes the policy of a stage and sets its variables. `None` without a sandbox.
fn policy(
    runtime: &Runtime,
    config: &Config,
    launch: &Launch,
    folder: &Path,
    env: &mut Vec<(OsString, OsString)>,
) -> io::Result<Option<PathBuf>> {
    if config.sandbox == Mode::Off {
        return Ok(None);
    }
    let home = runtime.environment.home().unwrap_or(Path::new("/nonexistent"));
    let mut read = vec![folder.join("prompt.md")];
    read.extend(launch.parts.iter().cloned());
    read.extend(registry::certificates(&runtime.environment));
    let mut placed = launch.placed.clone();
    placed.extend(registry::Clients::of(&runtime.environment).write(&folder.join("clients"))?);
    let policy = default_policy::policy(default_policy::Surroundings {
        config,
        home,
        environment: &runtime.environment,
        own: &runtime.home,
        repository: None,
        aside: &folder.join("home"),
        write: &[folder.join("out")],
        read: &read,
        login: &launch.login,
        placed: &placed,
        setup: None,
        mounts: &[],
        reach: default_policy::reach(
            config.network.agents,
            config,
            &launch.hosts,
            folder.join("network.jsonl"),
        ),
    })?;
    env.push(("TMPDIR".into(), "/tmp".into()));
    let proxy = crate::network::variables(PROXY_PORT);
    env.extend(proxy.into_iter().map(|(name, value)| (name.into(), value.into())));
    let file = folder.join("policy.json");
    fs::write(&file, serde_json::to_vec(&policy)?)?;
    Ok(Some(file))
}

/// Returns the credentials that a stage has: in a variable that it gets, or a file that the sandbox shows.
fn of_stage(runtime: &Runtime, facts: &Facts, launch: &Launch) -> Login {
    let is_set = |name: &&&'static str| {
        launch.env.iter().any(|(key, value)| key == OsStr::new(name) && !value.is_empty())
    };
    if let Some(name) = facts.login_variables.iter().chain(facts.keys).find(is_set) {
        return Login::Variable(name);
    }
    let settings_only = |file: &&String| facts.settings.contains(&file.as_str());
    let files = launch.login.iter().filter(|file| !settings_only(file));
    let mut files = files.filter_map(|file| runtime.environment.expand(file));
    if let Some(file) = files.find(|file| file.is_file()) {
        return Login::File(file);
    }
    // A key can be in its settings, or on macOS in the keychain.
    let shown = launch.login.iter().filter(settings_only).filter_map(|file| runtime.environment.expand(file));
    let by_settings = shown.into_iter().any(|file| file.is_file());
    if by_settings || facts.login.is_empty() || cfg!(target_os = "macos") {
        Login::Unknown
    } else {
        Login::Missing
    }
}

fn not_logged_in(runtime: &Runtime, facts: &Facts, name: &Name) -> Finding {
    let set = |name: &&&'static str| runtime.environment.get(name).is_some_and(|value| !value.is_empty());
    if let Some(variable) = facts.login_variables.iter().chain(facts.keys).find(set) {
        return Finding {
            what: format!("${variable} is set, but the agent does not get it"),
            add: secret(name, variable),
        };
    }
    let key = facts.keys.first().copied().unwrap_or_default();
    let what = match facts.log_in {
        "" => format!("not logged in: set {key}, or the key of another provider, and grant it"),
        log_in => format!("not logged in: run `{log_in}`, or set {key} and grant it"),
    };
    Finding { what, add: secret(name, key) }
}

fn secret(name: &Name, variable: &str) -> Vec<String> {
    vec![
        "[secrets]".to_owned(),
        format!("{variable} = {{ env = \"{variable}\" }}"),
        format!("[agents.{name}]"),
        format!("secrets = [\"{variable}\"]"),
    ]
}

/// Returns which of the agent's own settings a stage does not have.
fn settings(
    runtime: &Runtime,
    facts: &Facts,
    name: &Name,
    agent: &Agent,
    launch: &Launch,
) -> Option<Finding> {
    let gets = |variable: &str| launch.env.iter().any(|(key, _)| key == OsStr::new(variable));
    let missing = user_settings::missing(facts, &runtime.environment, &launch.login, gets, &launch.hosts);
    if missing == user_settings::Missing::default() {
        return None;
    }
    let list =
        |words: Vec<String>| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let mut what = Vec::new();
    let mut add = vec![format!("[agents.{name}]")];
    if !missing.files.is_empty() {
        what.push(format!("{} is not shown in the sandbox", missing.files.join(", ")));
        let mut files = launch.login.clone();
        files.extend(missing.files.iter().cloned());
        add.push(format!("login = [{}]", list(files)));
    }
    if !missing.variables.is_empty() {
        what.push(format!("${} is set, but the agent does not get it", missing.variables.join(", $")));
        let mut passed = agent.pass_env.clone();
        passed.extend(missing.variables.iter().map(|&name| name.to_owned()));
        add.push(format!("pass_env = [{}]", list(passed)));
    }
    if !missing.hosts.is_empty() {
        let named: Vec<String> = missing.hosts.iter().map(ToString::to_string).collect();
        what.push(format!(
            "its settings name {}, which is not on the list of allowed hosts",
            named.join(", ")
        ));
        // A user who names a separate server does not need the default ones.
        let mut hosts: Vec<String> = agent.hosts.iter().map(ToString::to_string).collect();
        hosts.extend(named);
        add.push(format!("hosts = [{}]", list(hosts)));
    }
    Some(Finding { what: what.join("; "), add })
}
