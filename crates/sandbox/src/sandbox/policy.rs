//! The policy: what a program sees, may write, may reach and may use up. A value, apart from the mechanisms that enforce it.
//!
//! It is written to a file beside the output of the program that it held, so that a person can read it, and can stand
//! where the program stood: `acquit sandbox --policy <file> -- sh`.

use std::path::{Path, PathBuf};

use acquit_core::sandbox::{Host, Mode, Resources};
use serde::{Deserialize, Serialize};

/// The port, on the program's own loopback, where the proxy listens. It has that network for itself, so any number that nobody is
/// used to will do.
pub const PROXY_PORT: u16 = 47_128;

/// Everything that holds a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// What happens where the machine cannot enforce all of it.
    pub mode: Mode,
    /// The program's file system. Nothing else exists. Later entries lie over earlier ones.
    pub view: Vec<Entry>,
    /// Whom it may talk to.
    pub network: Reach,
    /// What it may use up.
    pub resources: Resources,
}

/// A place in the program's file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Where the program sees it. Absolute, without `..`.
    pub at: PathBuf,
    /// What it sees there.
    pub what: What,
}

/// What is at a place. A source that does not exist is left out, unless it must be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The file or folder of the same path, to be read and executed.
    Read,
    /// The file or folder of the same path, to be written.
    Write,
    /// Another folder of the machine, to be written.
    Bound {
        /// Which.
        source: PathBuf,
    },
    /// The folder of the same path, seen as it is; what is written goes to a folder aside, and the original stays.
    Overlaid {
        /// A folder around it, or itself, that is overlaid as a whole, though only this place of it is shown: one layer for
        /// many places costs as much as for one.
        whole: PathBuf,
        /// Keeps what is written, one for each `whole`. Beside it a folder of the same name with `.work` is needed by the
        /// kernel.
        upper: PathBuf,
    },
    /// Several folders of the machine, seen as one; what is written goes to another folder, and all of them stay as they are.
    Layered {
        /// The folders, the topmost first.
        lower: Vec<PathBuf>,
        /// The part of them that is shown, a relative path; empty for all.
        inside: PathBuf,
        /// Keeps what is written. The kernel needs a folder of the same name with `.work` beside it.
        upper: PathBuf,
    },
    /// An empty folder in memory, to be written.
    Scratch,
    /// A symbolic link, as the machine has one there.
    Link {
        /// Where it leads.
        to: PathBuf,
    },
    /// Nothing: an empty file or folder lies over what is there.
    Hidden,
}

/// Whom a program may talk to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Itself.
    Nobody,
    /// These hosts, through the proxy.
    Hosts {
        /// Which.
        hosts: Vec<Host>,
        /// The file to which every connection, granted or refused, is added as a line of JSON.
        log: PathBuf,
    },
    /// Everybody.
    Everybody,
}

impl Entry {
    /// A place of which the program sees what is there.
    pub fn read(at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), what: What::Read }
    }

    /// A place that the program may change.
    pub fn write(at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), what: What::Write }
    }

    /// A place where the program finds nothing.
    pub fn hidden(at: impl Into<PathBuf>) -> Self {
        Self { at: at.into(), what: What::Hidden }
    }

    /// The folder of the machine that is changed when the program writes here, if one is.
    pub fn written(&self) -> Option<&Path> {
        match &self.what {
            What::Write => Some(&self.at),
            What::Bound { source } => Some(source),
            What::Overlaid { upper, .. } | What::Layered { upper, .. } => Some(upper),
            What::Read | What::Scratch | What::Link { .. } | What::Hidden => None,
        }
    }
}
