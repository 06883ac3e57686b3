//! Calls of the system's own programs: `systemctl`, `loginctl`, `launchctl`. Each is bounded, and said in words if it is not there.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::agent::shorten;

use crate::process::{self, Call, Exit, Guard};
use crate::runtime::Runtime;

/// How long such a call may take: starting a service waits for it.
const TIME_LIMIT: Duration = Duration::from_mins(2);
/// How much of what a program says is kept.
const WORDS: usize = 4_000;

/// What a program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// Its exit code; none if it had none.
    pub code: Option<i32>,
    /// What it printed, both streams.
    pub text: String,
}

/// Why a program of the system was of no use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there.
    #[error("run {program}: is it installed, and does this system use it?")]
    Start {
        /// Which.
        program: String,
        /// Why not.
        #[source]
        source: process::Error,
    },
    /// It said no.
    #[error("run {line}: {words}")]
    Refused {
        /// The whole line, to be tried by hand.
        line: String,
        /// What it said.
        words: String,
    },
}

/// Runs one of them with the user's environment, and gives what it said.
pub fn call(runtime: &Runtime, program: &str, args: &[&str]) -> Result<CallResult, Error> {
    let call = Call {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        cwd: PathBuf::from("/"),
        env: runtime.environment.all(),
        input: None,
        limit: TIME_LIMIT,
        guard: Guard::Trusted,
    };
    let captured = runtime
        .spawner
        .capture(&call)
        .map_err(|source| Error::Start { program: program.to_owned(), source })?;
    let mut text = String::from_utf8_lossy(&captured.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&captured.stderr));
    let code = match captured.exit {
        Exit::Code(code) => Some(code),
        _ => None,
    };
    Ok(CallResult { code, text: shorten(text.trim(), WORDS) })
}

impl CallResult {
    /// Itself, if the program was content.
    pub fn must(self, program: &str, args: &[&str]) -> Result<Self, Error> {
        if self.code == Some(0) {
            return Ok(self);
        }
        let line = std::iter::once(program).chain(args.iter().copied()).collect::<Vec<_>>().join(" ");
        let words = if self.text.is_empty() { "it failed without a word".to_owned() } else { self.text };
        Err(Error::Refused { line, words })
    }
}
