//! Calls of system programs: `systemctl`, `loginctl`, `launchctl`. Each is limited, and a missing program is reported
//! clearly.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use acquit_core::agent::shorten;

use crate::process::{self, Call, Exit, Guard};
use crate::runtime::Runtime;

/// Timeout of a call. Starting a service waits for it.
const TIME_LIMIT: Duration = Duration::from_mins(2);
/// Maximum length of a program's output to keep.
const WORDS: usize = 4_000;

/// Result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// Exit code. `None` if it had none.
    pub code: Option<i32>,
    /// Output of both streams.
    pub text: String,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started.
    #[error("run {program}: is it installed, and does this system use it?")]
    Start {
        /// Program name.
        program: String,
        /// Cause.
        #[source]
        source: process::Error,
    },
    /// The program exited with an error.
    #[error("run {line}: {words}")]
    Refused {
        /// Full command line, to try by hand.
        line: String,
        /// Its output.
        words: String,
    },
}

/// Runs a program with the user's environment and returns its result.
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
    /// Returns the result, if the program succeeded.
    pub fn must(self, program: &str, args: &[&str]) -> Result<Self, Error> {
        if self.code == Some(0) {
            return Ok(self);
        }
        let line = std::iter::once(program).chain(args.iter().copied()).collect::<Vec<_>>().join(" ");
        let words = if self.text.is_empty() { "it failed without a word".to_owned() } else { self.text };
        Err(Error::Refused { line, words })
    }
}
