//! The policy: the paths that a program sees and may write, the hosts it reaches, and its resource limits. A plain
//! value, separate from the mechanisms that enforce it.
//!
//! It is written to a file next to the program's output, so that a person can read it, and can run a shell in the
//! same sandbox: `acquit sandbox --policy <file> -- sh`.

use std::path::{Path, PathBuf};

use acquit_core::sandbox::{Host, Mode, Resources};
use serde::{Deserialize, Serialize};

/// The proxy's port on the program's loopback. The program has this network to itself, so any uncommon port works.
pub const PROXY_PORT: u16 = 47_128;

/// The rights of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// What to do if the machine cannot enforce all of it.
    pub mode: Mode,
    /// The program's file system. Nothing else exists. Later entries cover earlier ones.
    pub view: Vec<Entry>,
    /// The hosts it may reach.
    pub network: Reach,
    /// Its resource limits.
    pub resources: Resources,
    /// The commands it may run. `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Commands>,
}

/// The commands that a program may run. Programs started by a command are not restricted, and neither are a shell's
/// builtins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    /// Programs, or programs with their first arguments: `git`, `cargo test`.
    pub listed: Vec<String>,
    /// Files of the program itself and directories with its helper programs.
    pub own: Vec<PathBuf>,
    /// A file inside the sandbox that gets a line for each refused command.
    pub noted: Option<PathBuf>,
}

/// A path in the program's file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Path in the sandbox. Absolute, without `..`.
    pub at: PathBuf,
    /// Content of the path.
    pub what: What,
}

/// The content of a path. A missing source is skipped, unless it must be writable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The file or directory at the same path, readable and executable.
    Read,
    /// The file or directory at the same path, writable.
    Write,
    /// Another directory of the machine, writable.
    Bound {
        /// The directory.
        source: PathBuf,
    },
    /// The directory at the same path. Writes go to a separate directory, and the original does not change.
    Overlaid {
        /// The directory to overlay: this one or a parent. Only this path of it is shown. One overlay for many paths
        /// costs as much as for one.
        whole: PathBuf,
        /// Receives the writes; one for each `whole`. The kernel needs a directory next to it with the same name plus
        /// `.work`.
        upper: PathBuf,
    },
    /// Several directories of the machine, merged. Writes go to another directory, and none of them changes.
    Layered {
        /// The directories, topmost first.
        lower: Vec<PathBuf>,
        /// The part of them to show, as a relative path; empty for all.
        inside: PathBuf,
        /// Receives the writes. The kernel needs a directory next to it with the same name plus `.work`.
        upper: PathBuf,
    },
    /// An empty, writable directory in memory.
    Scratch,
    /// A symlink, as on the machine.
    Link {
        /// Its target.
        to: PathBuf,
    },
    /// Nothing: an empty file or directory covers what is there.
    Hidden,
}

/// Which hosts a program may reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// None but itself.
    Nobody,
    /// These hosts, through the proxy.
    Hosts {
        /// The hosts.
        hosts: Vec<Host>,
        /// The file that gets a line of JSON for every connection, granted or refused.
        log: PathBuf,
    },
    /// All.
    Everybody,
}

impl Entry {
    /// Creates an entry that the program can read.
    pub fn read(at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), what: What::Read }
    }

    /// Creates an entry that the program can write.
    pub fn write(at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), what: What::Write }
    }

    /// Creates an entry that hides a path.
    pub fn hidden(at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), what: What::Hidden }
    }

    /// Returns the directory of the machine that changes when the program writes here, if any.
    pub fn written(&self) -> Option<&Path> {
        match &self.what {
            What::Write => Some(&self.at),
            What::Bound { source } => Some(source),
            What::Overlaid { upper, .. } | What::Layered { upper, .. } => Some(upper),
            What::Read | What::Scratch | What::Link { .. } | What::Hidden => None,
        }
    }
}
