//! Secrets: resolved when a leg needs them, given to the agents that are granted them, and kept out of everything else.
//!
//! A [`Vault`] resolves what the configuration declares into [`Secret`]s. A [`Redactor`] knows the values in every form
//! in which programs print them, and removes them from everything that leaves a leg: events, transcripts, files,
//! reports, messages. Commits of an agent are searched in the same way (see `workspace::search`).
//!
//! Not covered: a value that was encrypted, compressed, reversed or split by someone who wants to leak it is not
//! recognized. The sandbox around the agent protects against that.

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

/// Minimum length. Shorter values cannot be found without damaging words that only look like them.
pub const SHORTEST: usize = 6;

/// Maximum length. A longer value is a document rather than a secret, and searching all of its forms would take more
/// memory than the rest of a leg.
pub const LONGEST: usize = 16 * 1024;

/// Minimum length of other variables passed to an agent that are redacted as well: keys are longer, settings are not.
const SHORTEST_PASSED: usize = 8;

/// A secret value: no `Debug`, no `Display`, not stored, overwritten on drop.
pub struct Secret {
    name: Arc<str>,
    value: SecretSlice<u8>,
}

impl Secret {
    /// Creates a secret from its value.
    pub fn new(name: &str, value: Vec<u8>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    /// Returns the name, which is also the name of the variable in which an agent gets it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the variable for an agent's environment.
    pub(crate) fn variable(&self) -> (OsString, OsString) {
        (self.name().into(), OsString::from_vec(self.bytes().to_vec()))
    }

    /// Returns the value as text, if it is one word of visible ASCII characters: a header can contain nothing else.
    pub(crate) fn text(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.bytes()).ok()?;
        text.bytes().all(|byte| byte.is_ascii_graphic()).then_some(text)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.value.expose_secret()
    }
}

/// Builds a redactor from the secrets that can be resolved without running a program: from the environment and from
/// files. One that cannot be resolved now is not an error until it is needed.
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

/// Returns the secrets that an agent gets at a stage: its own and the stage's.
pub(crate) fn granted(vault: &Vault<'_>, agent: &Agent, work: &AgentWork) -> Result<Vec<Secret>, Error> {
    let mut names: Vec<&String> = agent.secrets.iter().chain(&work.secrets).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|name| vault.resolve(name)).collect()
}
