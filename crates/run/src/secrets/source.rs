//! Where secrets come from: acquit's environment, a private file, a command of the user's.
//!
//! No message says more about a value than its length.

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

/// How long a command may take: a person may have to unlock a password manager, but nobody sits at the screen all night.
const COMMAND_LIMIT: Duration = Duration::from_mins(1);

/// How much of a failed command's complaint is shown.
const COMPLAINT: usize = 300;

/// Permissions of everybody but the owner.
const OF_OTHERS: u32 = 0o077;

/// Why a secret cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody declared it.
    #[error("find the secret {0}: the configuration does not declare it; add it to [secrets] in acquit.toml")]
    Undeclared(String),
    /// Its variable is not set.
    #[error(
        "find the secret {secret}: ${variable} is not set where acquit was started; set it there, or name another source in [secrets]"
    )]
    Unset {
        /// The secret.
        secret: String,
        /// The variable.
        variable: String,
    },
    /// `~/` without a home.
    #[error("find the secret {0}: its file is in the home folder, and $HOME is not set")]
    NoHome(String),
    /// Its file cannot be read.
    #[error("read the secret {secret} from {}", path.display())]
    Read {
        /// The secret.
        secret: String,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Its file is something else.
    #[error("read the secret {secret}: {} is not a regular file", path.display())]
    NotAFile {
        /// The secret.
        secret: String,
        /// The file.
        path: PathBuf,
    },
    /// Its file can be read by others.
    #[error(
        "read the secret {secret}: others can read or change {} (mode {mode:03o}); run: chmod 600 {}",
        path.display(),
        path.display()
    )]
    Open {
        /// The secret.
        secret: String,
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Its command could not be run.
    #[error("run the command of the secret {secret}")]
    Command {
        /// The secret.
        secret: String,
        /// Why not.
        #[source]
        source: process::Error,
    },
    /// Its command failed.
    #[error(
        "get the secret {secret}: its command `{program}` ended with {ended}{words}; try it in a terminal"
    )]
    Failed {
        /// The secret.
        secret: String,
        /// The program.
        program: String,
        /// How it ended.
        ended: String,
        /// What it complained about.
        words: String,
    },
    /// Too short to be found again.
    #[error(
        "use the secret {secret}: its value has {length} bytes, and one of fewer than {SHORTEST} cannot be kept out of logs without taking other words apart"
    )]
    Short {
        /// The secret.
        secret: String,
        /// Its length.
        length: usize,
    },
    /// Too long to be one.
    #[error(
        "use the secret {secret}: its value has more than {LONGEST} bytes; give the agent a file instead"
    )]
    Long {
        /// The secret.
        secret: String,
    },
    /// No variable can hold it.
    #[error(
        "use the secret {secret}: its value has a zero byte in it, which no environment variable can hold"
    )]
    Zero {
        /// The secret.
        secret: String,
    },
}

/// Finds the values of a project's secrets, each time anew.
pub struct Vault<'a> {
    config: &'a Config,
    environment: &'a Environment,
    spawner: &'a Spawner,
}

/// Whether a source can be asked without starting a program.
pub(super) fn is_cheap(source: &Source) -> bool {
    match source {
        Source::Env(_) | Source::File(_) => true,
        Source::Command(_) => false,
    }
}

impl<'a> Vault<'a> {
    /// The secrets of a configuration, as they are found from here.
    pub fn new(config: &'a Config, environment: &'a Environment, spawner: &'a Spawner) -> Self {
        Self { config, environment, spawner }
    }

    /// Whether a secret can be resolved without starting a program. One that is not declared fails without one.
    pub fn is_cheap(&self, name: &str) -> bool {
        self.config.secrets.get(name).is_none_or(is_cheap)
    }

    /// The value of a declared secret.
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
        // Without waiting, because opening a pipe would.
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

    /// The environment of a secret's command: all of acquit's, because a password manager needs sockets and displays, but
    /// not the other secrets.
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

/// What a command complained about, without the value that it may have printed all the same.
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

/// The value without the end of its last line.
fn without_end(mut value: Vec<u8>) -> Vec<u8> {
    if value.last() == Some(&b'\n') {
        value.pop();
        if value.last() == Some(&b'\r') {
            value.pop();
        }
    }
    value
}
