//! Secrets: found when a leg needs them, given to the agents that are granted them, and kept out of everything else.
//!
//! A [`Vault`] turns what the configuration declares into [`Secret`]s. A [`Redactor`] knows the values in every form in which
//! programs print them, and takes them out of whatever leaves a leg: events, transcripts, files, reports, messages. What an
//! agent commits is searched with the same eyes (see `workspace::search`).
//!
//! What is not promised: a value that was encrypted, compressed, spelled backwards or cut into pieces by somebody who wants it
//! out is not recognised. That is what the walls around the agent are for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use acquit_core::config::{Agent, Config};
use acquit_core::workflow::AgentWork;
use secrecy::{ExposeSecret, SecretSlice};

use acquit_sandbox::environment::Environment;

mod files;
mod forms;
mod redact;
mod source;
mod stream;

pub use redact::{Known, Redactor};
pub use source::{Error, Vault};
pub use stream::Stream;

/// Shorter values cannot be found without taking words apart that only look like them.
pub const SHORTEST: usize = 6;

/// Longer ones are no secret but a document, and finding each of its forms would cost more memory than the rest of a leg.
pub const LONGEST: usize = 16 * 1024;

/// What else an agent gets from acquit's environment is taken out as well if it is as long as this: keys are, settings are not.
const SHORTEST_PASSED: usize = 8;

/// A value that nobody is shown: no `Debug`, no `Display`, not stored; overwritten when it is dropped.
pub struct Secret {
    name: Arc<str>,
    value: SecretSlice<u8>,
}

impl Secret {
    /// A value that was found.
    pub fn new(name: &str, value: Vec<u8>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    /// Its name, which is that of the variable in which an agent gets it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The variable for an agent's environment.
    pub(crate) fn variable(&self) -> (OsString, OsString) {
        (self.name().into(), OsString::from_vec(self.bytes().to_vec()))
    }

    /// It as text, if it is one word of visible letters: nothing else can stand in a header.
    pub(crate) fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.bytes()).ok()?;
        text.bytes().all(|byte| byte.is_ascii_graphic()).then_some(text)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.value.expose_secret()
    }
}

/// What can be known of a project's secrets without asking a program: values of the environment and of files. One that
/// cannot be found now is no trouble before somebody needs it.
pub(crate) fn known(vault: &Vault<'_>, config: &Config, environment: &Environment) -> Redactor {
    if config.secrets.is_empty() && config.agents.values().all(|agent| agent.pass_env.is_empty()) {
        return Redactor::default();
    }
    let mut secrets: Vec<(Secret, Known)> = Vec::new();
    for (name, source) in &config.secrets {
        if source::is_cheap(source)
            && let Ok(secret) = vault.resolve(name)
        {
            secrets.push((secret, Known::Declared));
        }
    }
    for name in config.agents.values().flat_map(|agent| &agent.pass_env) {
        let value = environment.get(name).map(|value| value.to_owned().into_vec()).unwrap_or_default();
        let path = value.starts_with(b"/") || value.starts_with(b"~");
        if (SHORTEST_PASSED..=LONGEST).contains(&value.len()) && !path && !config.secrets.contains_key(name) {
            secrets.push((Secret::new(name, value), Known::Passed));
        }
    }
    Redactor::new(&secrets)
}

/// The secrets that an agent gets at a stage: its own and the stage's.
pub(crate) fn granted(vault: &Vault<'_>, agent: &Agent, work: &AgentWork) -> Result<Vec<Secret>, Error> {
    let mut names: Vec<&String> = agent.secrets.iter().chain(&work.secrets).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| vault.resolve(name)).collect()
}
