//! What `acquit init` writes: files that fit the repository, and that acquit reads back without a mistake.
//!
//! [`plan`] looks and decides, [`write()`] writes; neither prints nor runs anything. The repository is hostile input: of its
//! files only small regular ones are read, never through a link, and nothing that stands in them is copied into what is
//! written; they only choose among the commands that are spelled out here.
//!
//! Code is guilty until proven innocent: where nothing is recognised, the gate that is written fails until a person says
//! how this repository is tested.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

mod agents;
mod detect;
mod look;
mod render;
mod write;

pub use write::{Error, Overwrite, write};

/// What would be written, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The files, by their paths relative to the repository, in the order in which they are written. The configuration
    /// is the last: while it is missing, the repository counts as not initialised.
    pub files: Vec<(PathBuf, String)>,
    /// What was recognised, in words.
    pub seen: Vec<String>,
    /// What the user should do next.
    pub notes: Vec<String>,
}

/// Looks at a repository's top folder, at well-known folders in it, and for agents in `path_variable` (`PATH`).
pub fn plan(repository: &Path, path_variable: &OsStr) -> Plan {
    let mut notes = Vec::new();
    let found = detect::detect(repository, &mut notes);
    let agents = agents::installed(path_variable);
    let mut seen: Vec<String> = found.iter().map(detect::Finding::words).collect();
    seen.extend(agents.iter().map(|agent| format!("the agent {} ({})", agent.product.name(), agent.program)));
    if agents.is_empty() {
        let known: Vec<&str> = agents::known().map(|agent| agent.program).collect();
        notes.push(format!(
            "no agent was found in PATH (looked for {}): install one, or describe yours in {}",
            known.join(", "),
            render::CONFIG
        ));
    }
    if found.is_empty() {
        notes.push(format!(
            "how this repository is tested was not recognised: write it into the gate `test` of {}, which fails until \
             then",
            render::CONFIG
        ));
    } else {
        notes.push(
            "run the gates once by hand: what fails today, single tests aside, will be held against every task"
                .to_owned(),
        );
    }
    notes.push("look through .acquit/ and commit it".to_owned());
    Plan { files: render::files(&found, &agents), seen, notes }
}
