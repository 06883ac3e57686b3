//! Sources of secrets: acquit's environment, a private file, or a command of the user.
//!
//! No message reveals more about a value than its length.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::agent::shorten;
use acquit_core::config::Config;
use acquit_core::secret::Source;
use rustix::fs::{Mode, OFlags};

use super::redact::{Known, Redactor};
use super::{LONGEST, SHORTEST, Secret};
use crate::process::{self, Call, Exit, Guard, Spawner};
use acquit_sandbox::environment::Environment;

/// Timeout of a command. A person may have to unlock a password manager, but at night there is no one to do it.
const COMMAND_LIMIT: Duration = Duration::from_mins(1);

/// Maximum length of a failed command's message to show.
const COMPLAINT: usize = 300;

/// Permissions of everyone but the owner.
const OF_OTHERS: u32 = 0o077;

/// Why a secret cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The secret is not declared.
    #[error("find the secret {0}: the configuration does not declare it; add it to [secrets] in acquit.toml")]
    Undeclared(String),
    /// Its variable is not set.
    #[error(
        "find the secret {secret}: ${variable} is not set where acquit was started; set it there, or name another source in [secrets]"
    )]
    Unset {
        /// Name of the secret.
        secret: String,
        /// Name of the variable.
        variable: String,
    },
    /// The path starts with `~/`, but there is no home.
    #[error("find the secret {0}: its file is in the home folder, and $HOME is not set")]
    NoHome(String),
    /// Its file cannot be read.
    #[error("read the secret {secret} from {}", path.display())]
    Read {
        /// Name of the secret.
        secret: String,
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// Its path is not a regular file.
    #[error("read the secret {secret}: {} is not a regular file", path.display())]
    NotAFile {
        /// Name of the secret.
        secret: String,
        /// Path of the file.
        path: PathBuf,
    },
    /// Others can read or change its file.
    #[error(
        "read the secret {secret}: others can read or change {} (mode {mode:03o}); run: chmod 600 {}",
        path.display(),
        path.display()
    )]
    Open {
        /// Name of the secret.
        secret: String,
        /// Path of the file.
        path: PathBuf,
        /// Permissions of the file.
        mode: u32,
    },
    /// Its command could not be run.
    #[error("run the command of the secret {secret}")]
    Command {
        /// Name of the secret.
        secret: String,
        /// Cause.
        #[source]
        source: process::Error,
    },
    /// Its command failed.
    #[error(
        "get the secret {secret}: its command `{program}` ended with {ended}{words}; try it in a terminal"
    )]
    Failed {
        /// Name of the secret.
        secret: String,
        /// Program name.
        program: String,
        /// How it ended.
        ended: String,
        /// Its error message.
        words: String,
    },
    /// The value is too short to be found again.
    #[error(
        "use the secret {secret}: its value has {length} bytes, and one of fewer than {SHORTEST} cannot be kept out of logs without taking other words apart"
    )]
    Short {
        /// Name of the secret.
        secret: String,
        /// Length of the value.
        length: usize,
    },
    /// The value is too long for a secret.
    #[error(
        "use the secret {secret}: its value has more than {LONGEST} bytes; give the agent a file instead"
    )]
    Long {
        /// Name of the secret.
        secret: String,
    },
    /// The value contains a NUL byte, which no variable can hold.
    #[error(
        "use the secret {secret}: its value has a zero byte in it, which no environment variable can hold"
    )]
    Zero {
        /// Name of the secret.
        secret: String,
    },
}

/// Resolves the values of a project's secrets, each time again.
pub struct Vault<'a> {
    config: &'a Config,
    environment: &'a Environment,
    spawner: &'a Spawner,
}

/// Returns whether a source needs no program.
pub(super) fn is_cheap(source: &Source) -> bool {
    match source {
        Source::Env(_) | Source::File(_) => true,
        Source::Command(_) => false,
    }
}

impl<'a> Vault<'a> {
    /// Creates a vault for the secrets of a configuration.
    pub fn new(config: &'a Config, environment: &'a Environment, spawner: &'a Spawner) -> Self {
        Self { config, environment, spawner }
    }

    /// Returns whether a secret can be resolved without running a program. An undeclared one fails without running any.
    pub fn is_cheap(&self, name: &str) -> bool {
        self.config.secrets.get(name).is_none_or(is_cheap)
    }

    /// Returns the value of a declared secret.
    pub fn resolve(&self, name: &str) -> Result<Secret, Error> {
        let secret = || name.to_owned();
        let source = self.config.secrets.get(name).ok_or_else(|| Error::Undeclared(secret()))?;
        let value = match source {
            Source::Env(variable) => {
                let unset = || Error::Unset { secret: secret(), variable: variable.clone() };
                let value = self.environment.get(variable).filter(|value| !value.is_empty());
                value.ok_or_else(unset)?.as_bytes().to_vec()
            }
            Source::File(path) => self.file(name, path)?,
            Source::Command(command) => self.command(name, command)?,
        };
        match value.len() {
            0..SHORTEST => Err(Error::Short { secret: secret(), length: value.len() }),
            SHORTEST..=LONGEST if value.contains(&0) => Err(Error::Zero { secret: secret() }),
            SHORTEST..=LONGEST => Ok(Secret::new(name, value)),
            _ => Err(Error::Long { secret: secret() }),
        }
    }

    fn file(&self, name: &str, written: &str) -> Result<Vec<u8>, Error> {
        let secret = || name.to_owned();
        let path = self.environment.expand(written).ok_or_else(|| Error::NoHome(secret()))?;
        let read = |source| Error::Read { secret: secret(), path: path.clone(), source };
        // Without blocking, because opening a pipe would block.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| read(error.into()))?;
        let file = File::from(file);
        let meta = file.metadata().map_err(read)?;
        if !meta.is_file() {
            return Err(Error::NotAFile { secret: secret(), path });
        }
        let mode = meta.permissions().mode() & 0o777;
        if mode & OF_OTHERS != 0 {
            return Err(Error::Open { secret: secret(), path, mode });
        }
        let mut value = Vec::new();
        file.take(LONGEST as u64 + 2).read_to_end(&mut value).map_err(read)?;
        Ok(without_end(value))
    }

    fn command(&self, name: &str, command: &acquit_core::gate::Command) -> Result<Vec<u8>, Error> {
        let secret = || name.to_owned();
        let failed = |program: String, ended: String, words: String| Error::Failed {
            secret: secret(),
            program,
            ended,
            words,
        };
        let (program, args) = crate::process::program(command)
            .ok_or_else(|| failed(command.to_string(), "its command is empty".to_owned(), String::new()))?;
        let shown = program.to_string_lossy().into_owned();
        let call = Call {
            program,
            args,
            cwd: self.environment.home_or_root(),
            env: self.surroundings(),
            input: None,
            limit: COMMAND_LIMIT,
            guard: Guard::Trusted,
        };
        let said =
            self.spawner.capture(&call).map_err(|source| Error::Command { secret: secret(), source })?;
        let value = without_end(said.stdout);
        if said.exit != Exit::Code(0) {
            let words = complaint(name, value, &said.stderr);
            return Err(failed(shown, said.exit.to_string(), words));
        }
        Ok(value)
    }

    /// Returns the environment of a secret's command: all of acquit's, because a password manager needs sockets and
    /// displays, but without the other secrets.
    fn surroundings(&self) -> Vec<(OsString, OsString)> {
        let is_secret = |name: &OsString| {
            self.config
                .secrets
                .values()
                .any(|source| matches!(source, Source::Env(other) if name == other.as_str()))
        };
        self.environment.all().into_iter().filter(|(name, _)| !is_secret(name)).collect()
    }
}

/// Returns a command's error message, without the value that it may have printed anyway.
fn complaint(name: &str, value: Vec<u8>, stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(&stderr[..stderr.len().min(LONGEST)]).into_owned();
    let known = (SHORTEST..=LONGEST).contains(&value.len());
    let redactor = if known {
        Redactor::new(&[(Secret::new(name, value), Known::Declared)])
    } else {
        Redactor::default()
    };
    let text = redactor.text(&text);
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!(": {}", shorten(line, COMPLAINT)),
        None => String::new(),
    }
}

/// Strips the line end of the value.
fn without_end(mut value: Vec<u8>) -> Vec<u8> {
    if value.last() == Some(&b'\n') {
        value.pop();
        if value.last() == Some(&b'\r') {
            value.pop();
        }
    }
    value
}
