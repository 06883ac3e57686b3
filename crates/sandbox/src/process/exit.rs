//! How a run ended: closed enums, so that whoever decides what follows has to look at every way.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::status::Step;

/// Why a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited by itself.
    Code(i32),
    /// A signal ended it that was not the harness's.
    Signal(i32),
    /// It was stopped because it ran too long.
    TimedOut {
        /// The time that it had.
        limit: Duration,
    },
    /// It was stopped because it wrote nothing for too long.
    Idle {
        /// The silence that it was allowed.
        limit: Duration,
    },
    /// It was stopped because its watcher said so.
    Cancelled,
    /// It wrote more than it might; what is beyond the limit was not reported.
    OutputLimit {
        /// The bytes that it was allowed.
        limit: u64,
    },
    /// It was ended because its processes together used too much.
    Excess(Excess),
}

/// What the processes of a program used too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Excess {
    /// Memory.
    Memory {
        /// The bytes that they were allowed.
        limit: u64,
    },
    /// Processes and threads.
    Processes {
        /// How many they were allowed.
        limit: u32,
    },
    /// Room on a disk.
    Disk {
        /// The bytes that they were allowed.
        limit: u64,
    },
}

impl Excess {
    /// The key by which the configuration limits it.
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

/// What holds a program's processes together, so that all of them can be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// A pid namespace: the kernel ends everything in it, without exception.
    PidNamespace,
    /// Orphans are inherited by the helper, which looks for them and kills them. A process that forks faster than it
    /// is found can escape.
    Subreaper {
        /// Why it is not a namespace.
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
    /// Nobody wanted one.
    NotWanted,
    /// The machine refused.
    Refused {
        /// What it refused.
        step: Step,
        /// The error number that it gave.
        errno: i32,
    },
}

/// A run that is over: no process of it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Why.
    pub exit: Exit,
    /// How many processes the program left running, which were ended with it; counted in a pid namespace only.
    pub left: u32,
    /// The bytes of output that were reported to the watcher.
    pub output_bytes: u64,
    /// From before the start until the end was seen.
    pub duration: Duration,
    /// Processor time in user mode of the program, what it waited for, and the helper.
    pub user: Duration,
    /// Processor time in the kernel, likewise.
    pub system: Duration,
    /// How its processes were held together.
    pub containment: Containment,
}
