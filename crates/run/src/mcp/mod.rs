//! acquit's own tools for agents: a server of the Model Context Protocol that runs in the agent's sandbox as a child of it.
//!
//! With it an agent reports its outcome and learns of a mistake while it can still mend it, asks a person, says how far it is,
//! and reads again what it was told. It opens no door: the server reads one file that the harness wrote and writes two into the
//! output folder, where the agent may write anyway. What they say is believed no more than a handoff file, and checked again.
//!
//! The server is written by hand and synchronous. It needs a dozen messages of the protocol; the usual crate would bring an
//! asynchronous runtime and sixteen crates more, and reads lines of any length.

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

/// The hidden verb of the binary that serves the tools.
pub const VERB: &str = "mcp";

/// How an agent starts the server for a leg whose [`Brief`] is in this file. Everything is in the arguments, because agents start
/// servers with environments of their own choice.
pub fn server(helper: &Path, brief: &Path) -> Server {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Server { program: text(helper), args: vec![VERB.to_owned(), text(brief)], env: BTreeMap::new() }
}

/// What the server knows of its leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The outcomes of the stage, as far as they concern an agent.
    pub outcomes: BTreeMap<Name, Allowed>,
    /// What the agent was told.
    pub context: Vec<Section>,
    /// Where a report goes.
    pub report: PathBuf,
    /// Where words about progress go.
    pub progress: PathBuf,
    /// The lines that the findings of a review may name, where they are looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Lines>,
}

/// An outcome that may be reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allowed {
    /// What its payload must look like.
    pub schema: Option<serde_json::Value>,
    /// What it means.
    pub description: Option<String>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its file cannot be read.
    #[error("read what the tools are for from {path:?}")]
    Brief {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The agent went away in the middle of a word.
    #[error("talk to the agent")]
    Talk(#[source] io::Error),
}

impl Brief {
    /// What the server of this leg may say.
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

    /// Reads one that the harness wrote.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let read = || -> io::Result<Self> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
        read().map_err(|source| Error::Brief { path: path.to_owned(), source })
    }

    /// The outcomes in the form in which they are checked.
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

/// What an agent reported with its tools, for the harness: read as the hostile file that it may be.
pub(crate) fn reported(folder: &LegFolder) -> Result<Option<Outcome>, Wrong> {
    read_report(&folder.report())
}

/// Reads a file of the form of a report, if it is there.
fn read_report(path: &Path) -> Result<Option<Outcome>, Wrong> {
    const PLACE: &str = "report file";
    if let Some(what) = untrusted::not_a_file(path) {
        return Err(Wrong::Shape { place: PLACE, reason: format!("it was replaced by {what}") });
    }
    let text =
        untrusted::text(path, PAYLOAD_LIMIT as u64).map_err(|size| Wrong::TooLarge { place: PLACE, size })?;
    outcome::from_tool(&text.unwrap_or_default())
}
