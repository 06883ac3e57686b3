//! How a run ended. These enums are closed, so that the compiler makes callers handle every case.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::status::Step;

/// Why a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal killed it that the harness did not send.
    Signal(i32),
    /// It was stopped because it ran too long.
    TimedOut {
        /// The timeout.
        limit: Duration,
    },
    /// It was stopped because it wrote no output for too long.
    Idle {
        /// The idle timeout.
        limit: Duration,
    },
    /// The watcher asked to stop it.
    Cancelled,
    /// It was stopped because it wrote too much. Output beyond the limit was not reported.
    OutputLimit {
        /// The limit, in bytes.
        limit: u64,
    },
    /// It was killed because its processes together exceeded a resource limit.
    Excess(Excess),
}

/// The resource that a program's processes used too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Excess {
    /// Memory.
    Memory {
        /// The limit, in bytes.
        limit: u64,
    },
    /// Processes and threads.
    Processes {
        /// The limit.
        limit: u32,
    },
    /// Disk space.
    Disk {
        /// The limit, in bytes.
        limit: u64,
    },
}

impl Excess {
    /// Returns the configuration key of this limit.
    pub fn key(self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::Processes { .. } => "processes",
            Self::Disk { .. } => "disk",
        }
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { limit } => write!(f, "used more than {limit} bytes of memory"),
            Self::Processes { limit } => write!(f, "had {limit} processes, which is the limit"),
            Self::Disk { limit } => write!(f, "wrote more than {limit} bytes to disk"),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::TimedOut { limit } => write!(f, "timed out after {limit:?}"),
            Self::Idle { limit } => write!(f, "silent for {limit:?}"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::OutputLimit { limit } => write!(f, "printed more than {limit} bytes"),
            Self::Excess(excess) => excess.fmt(f),
        }
    }
}

/// How a program's process tree is tracked, so that all of it can be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// A pid namespace: the kernel kills every process in it, without exception.
    PidNamespace,
    /// The helper is the subreaper of orphans, and finds and kills them. A process that forks faster than the helper
    /// finds it can escape.
    Subreaper {
        /// Why there is no pid namespace.
        why: Refusal,
    },
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PidNamespace => f.write_str("pid namespace"),
            Self::Subreaper { why: Refusal::NotWanted } => f.write_str("subreaper, as asked for"),
            Self::Subreaper { why: Refusal::Refused { step, errno } } => {
                write!(f, "subreaper, because the machine refused a pid namespace ({step}: error {errno})")
            }
        }
    }
}

/// Why there is no pid namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The caller asked for the subreaper.
    NotWanted,
    /// The machine refused.
    Refused {
        /// The step it refused.
        step: Step,
        /// The error number.
        errno: i32,
    },
}

/// The result of a finished run. None of its processes is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Why it ended.
    pub exit: Exit,
    /// Number of processes that the program left running. They were killed; counted in a pid namespace only.
    pub left: u32,
    /// Bytes of output reported to the watcher.
    pub output_bytes: u64,
    /// Time from before the start until the end was seen.
    pub duration: Duration,
    /// User CPU time of the program, of descendants that were waited for, and of the helper.
    pub user: Duration,
    /// System CPU time, of the same processes.
    pub system: Duration,
    /// How the process tree was tracked.
    pub containment: Containment,
}
