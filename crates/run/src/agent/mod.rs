//! Agents: how each is started, and what it prints turned into one language.
//!
//! An adapter is a file here: it makes a [`Launch`] of the configuration, and a [`Parser`] that turns a line of output
//! into [`Said`]s. The harness starts, watches and ends every agent in the same way.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use acquit_core::agent::{Said, Session};
use acquit_core::config::{Adapter, Agent};
use acquit_core::gate::Command;
use acquit_core::workflow::Mode;

use crate::acp::Settings;
use crate::world::World;

mod acp;
mod command;
pub mod script;
mod scripted;

pub use scripted::VERB as SCRIPTED_VERB;

/// What is wanted of an agent.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The agent, as configured.
    pub agent: &'a Agent,
    /// Where it runs.
    pub world: &'a World,
    /// What kind of turn it is.
    pub mode: Mode,
    /// The conversation to continue.
    pub session: Option<&'a Session>,
    /// The server of acquit's own tools.
    pub tools: Option<&'a Server>,
}

/// A server of tools, which the agent starts and talks to by MCP over its standard input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What it gets beside the agent's own environment. Nothing secret: some agents are told by arguments.
    pub env: BTreeMap<String, String>,
}

impl Server {
    /// Its name towards the agents, which becomes part of the names of its tools.
    pub const NAME: &'static str = "acquit";
}

/// How an agent is started. Its prompt comes on standard input.
pub struct Launch {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Files that it consists of, wherever they are: it must be able to read them.
    pub parts: Vec<PathBuf>,
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
    fn line(&mut self, line: &[u8], said: &mut Vec<Said>);
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
}

/// Whether the agent can be given acquit's own tools.
pub fn takes_tools(adapter: &Adapter) -> bool {
    match adapter {
        Adapter::Command { .. } => false,
        Adapter::Acp { .. } | Adapter::Scripted { .. } => true,
    }
}

/// How this agent is started, before what belongs to the leg.
pub fn launch(wanted: &Wanted<'_>) -> Result<Launch, Error> {
    let Wanted { agent, world, mode, session, tools } = *wanted;
    let mut env = world.environment.common();
    for name in &agent.pass_env {
        let value = world.environment.get(name).ok_or_else(|| Error::Unset(name.clone()))?;
        env.push((name.into(), value.to_owned()));
    }
    env.extend(agent.env.iter().map(|(name, value)| (name.into(), value.into())));
    let (program, args) = match &agent.adapter {
        Adapter::Command { run } => program(run)?,
        Adapter::Acp { run } => {
            acp::command(&world.spawner.helper, run, &Settings::new(mode, session, tools))?
        }
        Adapter::Scripted { script } => {
            scripted::program(&world.spawner.helper, &PathBuf::from(script), tools)
        }
    };
    let mut parts = match &agent.adapter {
        Adapter::Command { .. } => Vec::new(),
        Adapter::Acp { run } => {
            let (agent, _) = self::program(run)?;
            Some(PathBuf::from(agent)).filter(|agent| agent.is_absolute()).into_iter().collect()
        }
        Adapter::Scripted { script } => vec![PathBuf::from(script)],
    };
    parts.extend(Some(PathBuf::from(&program)).filter(|program| program.is_absolute()));
    Ok(Launch { program, args, env, parts })
}

/// Reads what this agent prints.
pub fn parser(adapter: &Adapter) -> Box<dyn Parser> {
    match adapter {
        Adapter::Command { .. } => Box::new(command::PlainText),
        Adapter::Acp { .. } => Box::new(acp::Lines),
        Adapter::Scripted { .. } => Box::new(scripted::Lines),
    }
}

/// A command as a program with arguments.
pub(crate) fn program(command: &Command) -> Result<(OsString, Vec<OsString>), Error> {
    match command {
        Command::Shell(line) => Ok(("sh".into(), vec!["-c".into(), line.into()])),
        Command::Program(words) => {
            let (program, args) = words.split_first().ok_or(Error::Empty)?;
            Ok((program.into(), args.iter().map(OsString::from).collect()))
        }
    }
}
