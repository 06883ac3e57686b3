//! Agents: how to start each one, and how to convert its output into common events.
//!
//! Each adapter is a file here. It provides a [`Launch`] for what is wanted, a [`Parser`] that converts lines of output
//! into [`AgentEvent`]s, and [`Facts`] for people. The harness starts, watches and ends every agent in the same way.
//!
//! The prompt comes on standard input or as a file, never as an argument. An agent's own sandbox and permission prompts
//! are disabled, because ours replaces them.

use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use acquit_core::agent::{AgentEvent, Session, Usage};
use acquit_core::config::{Adapter, Agent, Billing, Reporting};
use acquit_core::gate::Command;
use acquit_core::price::Prices;
use acquit_core::role::Tool;
use acquit_core::sandbox::Host;
use acquit_core::time::Timestamp;
use acquit_core::workflow::Mode;
use serde_json::Value;

use crate::runtime::Runtime;
use crate::turn_summary::Shown;

mod acp;
mod aider;
pub mod billing;
mod claude;
mod codex;
mod command;
mod cursor;
pub mod discovery;
mod gemini;
mod json;
pub mod limits;
mod opencode;
mod pi;
pub mod product;
pub mod script;
mod scripted;
mod spend;
pub mod tools;
pub mod trial;
pub mod user_settings;

pub use crate::mcp::Server;
pub(crate) use json::LINE_LIMIT;
pub use product::Facts;
pub(crate) use product::loads;
pub use scripted::VERB as SCRIPTED_VERB;

/// Input for starting an agent.
pub struct Wanted<'a> {
    /// The agent as configured.
    pub agent: &'a Agent,
    /// The runtime.
    pub runtime: &'a Runtime,
    /// Kind of the turn.
    pub mode: Mode,
    /// Tools that its definition allows. `None` for all.
    pub allowed: Option<&'a [Tool]>,
    /// Commands that it may run, by their first words. Any command if empty.
    pub commands: &'a [String],
    /// Model, with aliases resolved. `None` leaves the choice to the agent.
    pub model: Option<&'a str>,
    /// File with the prompt, which is also its standard input.
    pub prompt: &'a Path,
    /// Directory for the agent's files, outside of the workspace.
    pub output: &'a Path,
    /// Directory of the leg for files that the agent only reads.
    pub settings: &'a Path,
    /// Conversation to continue.
    pub session: Option<&'a Session>,
    /// UUID for the conversation, for agents that accept one.
    pub new_session: &'a str,
    /// Server of acquit's own tools.
    pub tools: Option<&'a Server>,
    /// JSON Schema of the final report.
    pub schema: Option<&'a Value>,
}

/// How to start an agent. Its prompt comes on standard input.
#[derive(Debug)]
pub struct Launch {
    /// Program.
    pub program: OsString,
    /// Arguments.
    pub args: Vec<OsString>,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    /// Files that the agent consists of. It must be able to read them.
    pub parts: Vec<PathBuf>,
    /// Files to write before the start, with their content, in the directory for settings.
    pub files: Vec<(PathBuf, String)>,
    /// Those of `files` that the agent looks for in its home: path relative to the home, and the file. They appear only
    /// in the home that the sandbox provides; the user's own home does not change.
    pub placed: Vec<(PathBuf, PathBuf)>,
    /// Hosts of its model.
    pub hosts: Vec<Host>,
    /// Hosts that it asks for and works without.
    pub spare_hosts: &'static [&'static str],
    /// Credential files that it can read.
    pub login: Vec<String>,
}

/// Whether a kind of agent reports how its turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// It reports the end. Without a report, it was interrupted.
    Its,
    /// It cannot report the end.
    Nothing,
}

/// Converts lines of output into events.
pub trait Parser {
    /// Returns whether the agent reports how its turn ended.
    fn tells(&self) -> Tells {
        Tells::Nothing
    }

    /// Returns how the output shows the agent's turns, for agents that have no limit of their own.
    fn turns(&self) -> Shown {
        Shown::Hidden
    }

    /// Parses one line, without its line ending. Never fails or panics, whatever the input.
    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>);

    /// Reports what follows from the end of the output.
    fn finish(&mut self, said: &mut Vec<AgentEvent>) {
        let _ = said;
    }
}

/// What a parser must know about the turn.
#[derive(Clone, Debug)]
pub struct Hearing {
    /// Usage of the conversation before this turn. Some agents report only totals.
    pub before: Usage,
    /// Requested model, for agents that do not name it.
    pub model: Option<String>,
    /// Whether the last message must be a structured report.
    pub structured: bool,
    /// Who pays, if configured.
    pub billing: Option<Billing>,
    /// The user's own prices.
    pub prices: Prices,
    /// The clock, for times that agents give without a date.
    pub now: fn() -> Timestamp,
}

/// Why an agent cannot be started as configured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A variable to pass to the agent is not set.
    #[error("give the agent ${0}: it is not set in the environment of acquit")]
    Unset(String),
    /// The command is empty.
    #[error("start the agent: its command is empty")]
    Empty,
    /// The agent does not support this kind of report.
    #[error("start the agent: {0} has no structured output; remove report = \"structured\" from acquit.toml")]
    Unstructured(&'static str),
}

/// Returns how an agent reports its outcome: as configured, if it supports that.
pub fn reports(agent: &Agent) -> Result<Reporting, Error> {
    let supports = match &agent.adapter {
        Adapter::Command { .. } => return Ok(Reporting::File),
        Adapter::Acp { .. } | Adapter::Scripted { .. } => return Ok(Reporting::Tools),
        Adapter::Product { product } => Facts::of(*product).supports,
    };
    match agent.report {
        Reporting::Tools if supports.tools == product::Support::No => Ok(Reporting::File),
        Reporting::Structured if supports.structured == product::Support::No => {
            Err(Error::Unstructured(agent.adapter.name()))
        }
        wanted @ (Reporting::Tools | Reporting::Structured | Reporting::File) => Ok(wanted),
    }
}

/// Returns how to start this agent, without what depends on the leg.
pub fn launch(wanted: &Wanted<'_>) -> Result<Launch, Error> {
    let Wanted { agent, runtime, .. } = *wanted;
    let mut launch = match &agent.adapter {
        Adapter::Command { run } => Launch::new(program(run)?),
        Adapter::Acp { run } => acp::launch(wanted, run)?,
        Adapter::Scripted { script } => {
            let script = PathBuf::from(script);
            let mut launch = Launch::new(scripted::program(&runtime.spawner.helper, &script, wanted.tools));
            launch.parts.push(script);
            launch
        }
        Adapter::Product { product } => product::launch(*product, wanted),
    };
    // The configuration comes last, so it takes precedence.
    let mut env = runtime.common_variables();
    env.append(&mut launch.env);
    for name in &agent.pass_env {
        let value = runtime.environment.get(name).ok_or_else(|| Error::Unset(name.clone()))?;
        env.push((name.into(), value.to_owned()));
    }
    env.extend(agent.env.iter().map(|(name, value)| (name.into(), value.into())));
    launch.env = env;
    if !agent.hosts.is_empty() {
        launch.hosts.clone_from(&agent.hosts);
    }
    if !agent.login.is_empty() {
        launch.login.clone_from(&agent.login);
    }
    launch.parts.extend(Some(PathBuf::from(&launch.program)).filter(|program| program.is_absolute()));
    Ok(launch)
}

/// Returns the parser for the output of this agent.
pub fn parser(adapter: &Adapter, hearing: Hearing) -> Box<dyn Parser> {
    match adapter {
        Adapter::Command { .. } => Box::new(command::PlainText),
        Adapter::Acp { .. } => Box::new(acp::Lines),
        Adapter::Scripted { .. } => Box::new(scripted::Lines),
        Adapter::Product { product } => (Facts::of(*product).parser)(hearing),
    }
}

impl Launch {
    fn new((program, args): (OsString, Vec<OsString>)) -> Self {
        Self {
            program,
            args,
            env: Vec::new(),
            parts: Vec::new(),
            files: Vec::new(),
            placed: Vec::new(),
            hosts: Vec::new(),
            spare_hosts: &[],
            login: Vec::new(),
        }
    }

    fn args<T: Into<OsString>>(&mut self, args: impl IntoIterator<Item = T>) {
        self.args.extend(args.into_iter().map(Into::into));
    }

    fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.push((name.into(), value.into()));
    }

    /// Adds a file for the agent to read, and returns its path.
    fn file(&mut self, wanted: &Wanted<'_>, name: &str, text: String) -> PathBuf {
        let path = wanted.settings.join(name);
        self.files.push((path.clone(), text));
        self.parts.push(path.clone());
        path
    }
}

/// Returns a conversation id in the format that agents expect: a version 4 UUID. It only needs to be unique.
pub fn new_session() -> String {
    let random = || RandomState::new().build_hasher().finish();
    let (high, low) = (random(), random());
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    let [time, middle, version] = [high >> 32, high >> 16 & 0xffff, high & 0xffff];
    format!("{time:08x}-{middle:04x}-{version:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

/// Splits a command into program and arguments.
pub(crate) fn program(command: &Command) -> Result<(OsString, Vec<OsString>), Error> {
    crate::process::program(command).ok_or(Error::Empty)
}
