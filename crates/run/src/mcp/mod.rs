//! Acquit's own tools for agents: a server of the Model Context Protocol that runs in the agent's sandbox as its child.
//!
//! With it an agent reports its outcome and learns of a mistake while it can still fix it, asks a person, reports
//! progress, and reads its instructions again. It grants no access: the server reads one file that the harness wrote
//! and writes two into the output directory, where the agent may write anyway. The harness trusts them no more than a
//! handoff file, and validates them again.
//!
//! The server is hand-written and synchronous. It needs a dozen messages of the protocol; the usual crate would add an
//! async runtime and sixteen more crates, and reads lines of any length.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use acquit_core::check::review::Lines;
use acquit_core::ids::Name;
use acquit_core::outcome::{self, Outcome, PAYLOAD_LIMIT, Wrong};
use acquit_core::prompt::Section;
use acquit_core::workflow::Transition;
use serde::{Deserialize, Serialize};

use crate::runtime::LegFolder;
use crate::untrusted;

mod ask;
mod progress;
mod serve;
mod server;
mod tools;

pub(crate) use progress::Progress;
pub use serve::{hello, serve};
pub use server::Server;
pub use tools::NAMES as TOOLS;

/// Hidden subcommand of the binary that serves the tools.
pub const VERB: &str = "mcp";

/// Returns how an agent starts the server for a leg whose [`Brief`] is in this file. Everything is in the arguments,
/// because agents choose the environment of their servers.
pub fn server(helper: &Path, brief: &Path) -> Server {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Server { program: text(helper), args: vec![VERB.to_owned(), text(brief)], env: BTreeMap::new() }
}

/// What the server knows about its leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// Outcomes of the stage that an agent can report.
    pub outcomes: BTreeMap<Name, Allowed>,
    /// Sections of the agent's prompt.
    pub context: Vec<Section>,
    /// File for the report.
    pub report: PathBuf,
    /// File for progress.
    pub progress: PathBuf,
    /// Lines that the findings of a review may name, if they are checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Lines>,
}

/// An outcome that may be reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allowed {
    /// Schema of its payload.
    pub schema: Option<serde_json::Value>,
    /// Meaning.
    pub description: Option<String>,
}

/// Why the server failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its file cannot be read.
    #[error("read what the tools are for from {path:?}")]
    Brief {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The connection to the agent failed.
    #[error("talk to the agent")]
    Talk(#[source] io::Error),
}

impl Brief {
    /// Creates the brief of a leg.
    pub fn new(on: &BTreeMap<Name, Transition>, context: Vec<Section>, folder: &LegFolder) -> Self {
        let allowed = |transition: &Transition| Allowed {
            schema: transition.schema.clone(),
            description: transition.description.clone(),
        };
        Self {
            outcomes: on.iter().map(|(name, transition)| (name.clone(), allowed(transition))).collect(),
            context,
            report: folder.report(),
            progress: folder.progress(),
            review: None,
        }
    }

    /// Reads a brief that the harness wrote.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let read = || -> io::Result<Self> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
        read().map_err(|source| Error::Brief { path: path.to_owned(), source })
    }

    /// Returns the outcomes in the form that validation needs.
    fn transitions(&self) -> BTreeMap<Name, Transition> {
        let transition = |allowed: &Allowed| Transition {
            to: Vec::new(),
            budget: None,
            schema: allowed.schema.clone(),
            description: allowed.description.clone(),
        };
        self.outcomes.iter().map(|(name, allowed)| (name.clone(), transition(allowed))).collect()
    }
}

/// Returns what an agent reported with its tools, for the harness. The file is untrusted.
pub(crate) fn reported(folder: &LegFolder) -> Result<Option<Outcome>, Wrong> {
    read_report(&folder.report())
}

/// Reads a report file, if it exists.
fn read_report(path: &Path) -> Result<Option<Outcome>, Wrong> {
    const PLACE: &str = "report file";
    if let Some(what) = untrusted::not_a_file(path) {
        return Err(Wrong::Shape { place: PLACE, reason: format!("it was replaced by {what}") });
    }
    let text =
        untrusted::text(path, PAYLOAD_LIMIT as u64).map_err(|size| Wrong::TooLarge { place: PLACE, size })?;
    outcome::from_tool(&text.unwrap_or_default())
}
