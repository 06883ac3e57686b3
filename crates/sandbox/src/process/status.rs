//! The protocol between helper and harness: one pipe, passed to the helper as stdin.
//!
//! The helper writes how it contains the program, then starts it. If that fails, it writes a failure. The pipe closes
//! on `exec`, so end of file means that the program runs. A failed start can therefore never look like an exit code,
//! and the harness notices a helper that died without an answer.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use super::exit::{Containment, Refusal};
use super::walls::Missing;

/// The helper's step when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Parsing its arguments.
    Arguments,
    /// Checking that the harness is still alive.
    Parent,
    /// Opening stdin.
    Stdin,
    /// Creating a process, possibly with namespaces.
    Clone,
    /// Mapping users and groups into the namespace.
    IdMap,
    /// Reading the policy.
    Policy,
    /// Building the program's file system.
    View,
    /// Setting up its network.
    Network,
    /// Applying the last walls (Landlock, seccomp).
    Walls,
    /// Checking that every wall the policy requires is there.
    Promise,
    /// Creating a session for the program.
    Session,
    /// Closing inherited descriptors.
    Files,
    /// Changing to the working directory.
    Cwd,
    /// Executing the program.
    Exec,
    /// Executing the interpreter or loader of the program: the program exists, the interpreter does not.
    Interpreter,
}

const STEPS: [Step; 15] = [
    Step::Arguments,
    Step::Parent,
    Step::Stdin,
    Step::Clone,
    Step::IdMap,
    Step::Policy,
    Step::View,
    Step::Network,
    Step::Walls,
    Step::Promise,
    Step::Session,
    Step::Files,
    Step::Cwd,
    Step::Exec,
    Step::Interpreter,
];

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arguments => "read the helper's arguments",
            Self::Parent => "find the harness alive",
            Self::Stdin => "open the input",
            Self::Clone => "make a process in namespaces of its own",
            Self::IdMap => "map users and groups",
            Self::Policy => "read the sandbox policy",
            Self::View => "make its file system",
            Self::Network => "make its network",
            Self::Walls => "close the sandbox",
            Self::Promise => "build every wall of the sandbox",
            Self::Session => "make a session",
            Self::Files => "close inherited files",
            Self::Cwd => "enter the directory",
            Self::Exec => "execute the program",
            Self::Interpreter => "execute the interpreter that the program names",
        })
    }
}

/// A failed step and the kernel's error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) step: Step,
    pub(super) errno: i32,
}

impl Failure {
    pub(super) fn new(step: Step, errno: Errno) -> Self {
        Self { step, errno: errno.raw_os_error() }
    }
}

/// A tag, a step and an error number; small enough for an atomic write to a pipe.
const RECORD: usize = 6;

const NAMESPACE: u8 = b'N';
const NOT_WANTED: u8 = b'W';
const REFUSED: u8 = b'R';
const FAILED: u8 = b'F';
const MISSING: u8 = b'M';

/// Maximum length of the text sent with a failure: a path, or a few.
const DETAIL: usize = 400;

fn encode(tag: u8, failure: Option<Failure>) -> [u8; RECORD] {
    let mut record = [tag, 0, 0, 0, 0, 0];
    if let Some(Failure { step, errno }) = failure {
        record[1] = step as u8;
        record[2..].copy_from_slice(&errno.to_le_bytes());
    }
    record
}

fn decode(record: &[u8]) -> Option<(u8, Failure)> {
    let [tag, step, errno @ ..] = record else { return None };
    let step = *STEPS.get(usize::from(*step))?;
    Some((*tag, Failure { step, errno: i32::from_le_bytes(errno.try_into().ok()?) }))
}

/// Reports how the program is contained. Ignores write errors: a harness that no longer reads needs no answer.
pub(super) fn report_containment(pipe: impl AsFd, containment: Containment) {
    let record = match containment {
        Containment::PidNamespace => encode(NAMESPACE, None),
        Containment::Subreaper { why: Refusal::NotWanted } => encode(NOT_WANTED, None),
        Containment::Subreaper { why: Refusal::Refused { step, errno } } => {
            encode(REFUSED, Some(Failure { step, errno }))
        }
    };
    let _ = rustix::io::write(pipe, &record);
}

/// Reports that the program could not be started.
pub(super) fn report_failure(pipe: impl AsFd, failure: Failure) {
    report_detailed(pipe, failure, "");
}

/// Like [`report_failure`], with the object of the failure, such as a path.
pub(super) fn report_detailed(pipe: impl AsFd, failure: Failure, about: &str) {
    let mut record = encode(FAILED, Some(failure)).to_vec();
    record.extend(about.bytes().take(DETAIL));
    let _ = rustix::io::write(pipe, &record);
}

/// Reports which walls could not be built.
pub(super) fn report_missing(pipe: impl AsFd, missing: Missing) {
    if !missing.is_empty() {
        let bits = Failure { step: Step::Walls, errno: missing.to_bits() };
        let _ = rustix::io::write(pipe, &encode(MISSING, Some(bits)));
    }
}

/// The helper's answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Started(Containment, Missing),
    /// With the object of the failure.
    Failed(Failure, String),
    Silent,
    Late,
}

/// Reads until the helper closes the pipe or `deadline` passes.
pub(super) fn read(pipe: &OwnedFd, deadline: Instant) -> Result<Answer, Errno> {
    let mut heard = [0; 4 * RECORD + DETAIL];
    let mut length = 0;
    while length < heard.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        let mut fds = [PollFd::new(pipe, PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(0) => return Ok(Answer::Late),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno),
        }
        match rustix::io::read(pipe, &mut heard[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(understand(&heard[..length]))
}

fn understand(heard: &[u8]) -> Answer {
    let mut containment = None;
    let mut missing = Missing::default();
    for (number, record) in heard.chunks(RECORD).enumerate() {
        match decode(record) {
            Some((NAMESPACE, _)) => containment = Some(Containment::PidNamespace),
            Some((NOT_WANTED, _)) => containment = Some(Containment::Subreaper { why: Refusal::NotWanted }),
            Some((REFUSED, Failure { step, errno })) => {
                containment = Some(Containment::Subreaper { why: Refusal::Refused { step, errno } });
            }
            Some((MISSING, Failure { errno, .. })) => missing.join(Missing::from_bits(errno)),
            Some((FAILED, failure)) => {
                let about = heard.get((number + 1) * RECORD..).unwrap_or_default();
                let about = match (about, missing.is_empty()) {
                    (about, true) => String::from_utf8_lossy(about).into_owned(),
                    (_, false) if failure.step == Step::Promise && missing.breaks_a_promise() => {
                        missing.promised().to_string()
                    }
                    (_, false) => missing.to_string(),
                };
                return Answer::Failed(failure, about);
            }
            Some(_) | None => return Answer::Silent,
        }
    }
    containment.map_or(Answer::Silent, |containment| Answer::Started(containment, missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_survives_the_pipe() {
        for step in STEPS {
            let failure = Failure { step, errno: 13 };
            assert_eq!(understand(&encode(FAILED, Some(failure))), Answer::Failed(failure, String::new()));
        }
    }

    #[test]
    fn a_failure_outweighs_the_start_before_it() {
        let failure = Failure { step: Step::Exec, errno: 2 };
        let heard = [encode(NAMESPACE, None), encode(FAILED, Some(failure))].concat();
        assert_eq!(understand(&heard), Answer::Failed(failure, String::new()));
    }

    #[test]
    fn nothing_and_nonsense_are_silence() {
        assert_eq!(understand(b""), Answer::Silent);
        assert_eq!(understand(b"N"), Answer::Silent);
        assert_eq!(understand(b"??????"), Answer::Silent);
    }
}
