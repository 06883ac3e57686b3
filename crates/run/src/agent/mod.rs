//! Agents: how each is started, and what it prints turned into one language.
//!
//! An adapter is a file here: it makes a [`Launch`] of what is wanted, a [`Parser`] that turns a line of output into
//! [`AgentEvent`]s, and [`Facts`] that a person can look up. The harness starts, watches and ends every agent in the same way.
//!
//! The prompt comes on standard input or as a file, never as an argument. What an agent's own sandbox and questions would do
//! is left to ours: they are turned off.

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
pub use scripted::VERB as SCRIPTED_VERB;

/// What is wanted of an agent.
pub struct Wanted<'a> {
    /// The agent, as configured.
    pub agent: &'a Agent,
    /// Where it runs.
    pub runtime: &'a Runtime,
    /// What kind of turn it is.
    pub mode: Mode,
    /// What its definition lets it use; `None` for everything.
    pub allowed: Option<&'a [Tool]>,
    /// The only commands that it may run, by their first words; any if there are none.
    pub commands: &'a [String],
    /// The model, with aliases replaced; `None` leaves it to the agent.
    pub model: Option<&'a str>,
    /// The file with the prompt, which is also its standard input.
    pub prompt: &'a Path,
    /// The folder for the agent's files, outside of the workspace.
    pub output: &'a Path,
    /// A folder of the leg for files that the agent only reads.
    pub settings: &'a Path,
    /// The conversation to continue.
    pub session: Option<&'a Session>,
    /// A UUID for the conversation, where the agent lets others choose it.
    pub new_session: &'a str,
    /// The server of acquit's own tools.
    pub tools: Option<&'a Server>,
    /// The form of what it is to report at the end, as JSON Schema.
    pub schema: Option<&'a Value>,
}

/// How an agent is started. Its prompt comes on standard input.
#[derive(Debug)]
pub struct Launch {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Files that it consists of, wherever they are: it must be able to read them.
    pub parts: Vec<PathBuf>,
    /// Files with their texts that must be there before it starts, below the folder for settings.
    pub files: Vec<(PathBuf, String)>,
    /// Those of them that it looks for in its home: the name below the home, and the file. Only the home that the sandbox gives
    /// it has them; the user's own stays as it is.
    pub placed: Vec<(PathBuf, PathBuf)>,
    /// The hosts of its model.
    pub hosts: Vec<Host>,
    /// Files of its login, which it can read.
    pub login: Vec<String>,
}

/// Whether an agent of a kind says how its turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// It says so; its silence means that it was cut off.
    Its,
    /// It has no way to.
    Nothing,
}

/// Turns lines of output into what was said.
pub trait Parser {
    /// Whether it says how its turn ended.
    fn tells(&self) -> Tells {
        Tells::Nothing
    }

    /// Reads one line, without its end. Whatever it is, this neither fails nor panics.
    fn line(&mut self, line: &[u8], said: &mut Vec<AgentEvent>);

    /// The output is over: says what follows from that.
    fn finish(&mut self, said: &mut Vec<AgentEvent>) {
        let _ = said;
    }
}

/// What a parser must know of the turn.
#[derive(Clone, Debug)]
pub struct Hearing {
    /// What the conversation had used before: some agents only tell totals.
    pub before: Usage,
    /// The model that was asked for, for agents that do not name it.
    pub model: Option<String>,
    /// Whether the last message is to be a report in a given form.
    pub structured: bool,
    /// Who pays, as far as the configuration says.
    pub billing: Option<Billing>,
    /// Prices of the user's own.
    pub prices: Prices,
    /// The clock, for times that agents give without a date.
    pub now: fn() -> Timestamp,
}

/// Why an agent cannot be started as configured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A variable that the agent is to get is not set.
    #[error("give the agent ${0}: it is not set in the environment of acquit")]
    Unset(String),
    /// A command without a program.
    #[error("start the agent: its command is empty")]
    Empty,
    /// A form of report that it does not have.
    #[error("start the agent: {0} has no structured output; remove report = \"structured\" from acquit.toml")]
    Unstructured(&'static str),
}

/// How an agent reports first of all: as configured, as far as it can.
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

/// How this agent is started, before what belongs to the leg.
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
    // What the configuration says comes last, and so it counts.
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

/// Reads what this agent prints.
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
            login: Vec::new(),
        }
    }

    /// Adds arguments.
    fn args<T: Into<OsString>>(&mut self, args: impl IntoIterator<Item = T>) {
        self.args.extend(args.into_iter().map(Into::into));
    }

    /// Adds a variable.
    fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.push((name.into(), value.into()));
    }

    /// Adds a file for the agent to read, and says where it will be.
    fn file(&mut self, wanted: &Wanted<'_>, name: &str, text: String) -> PathBuf {
        let path = wanted.settings.join(name);
        self.files.push((path.clone(), text));
        self.parts.push(path.clone());
        path
    }
}

/// An id for a conversation, as agents want it: a UUID of version 4. That nobody else has it is all that it must be.
pub fn new_session() -> String {
    let random = || RandomState::new().build_hasher().finish();
    let (high, low) = (random(), random());
    let (high, low) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    let [time, middle, version] = [high >> 32, high >> 16 & 0xffff, high & 0xffff];
    format!("{time:08x}-{middle:04x}-{version:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

/// A command as a program with arguments.
pub(crate) fn program(command: &Command) -> Result<(OsString, Vec<OsString>), Error> {
    crate::process::program(command).ok_or(Error::Empty)
}
