//! `acquit init`: writes files that fit the repository and that acquit reads without mistakes.
//!
//! [`plan`] inspects and decides, [`write()`] writes; neither prints nor runs anything. The repository is hostile
//! input: only small regular files are read, never through a symlink. They select among hard-coded commands and can
//! name public servers to fetch from. Nothing else in them is copied to the output.
//!
//! Code is guilty until proven innocent: if nothing is detected, the written gate fails until a person says how to test
//! this repository.

use std::path::{Path, PathBuf};

use acquit_run::registry::{self, By, Server, User};
use acquit_run::runtime::Environment;

pub(crate) mod agents;
pub mod ci;
pub mod detect;
pub mod hooks;
mod look;
mod render;
mod write;

pub use look::Cloned;
pub use write::{Error, Overwrite, write};

/// The files to write, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Files by path relative to the repository, in the order of writing. The configuration comes last: without it, the
    /// repository counts as not initialized.
    pub files: Vec<(PathBuf, String)>,
    /// Descriptions of what was detected.
    pub seen: Vec<String>,
    /// Whether the build and test commands were detected.
    pub recognised: bool,
    /// Whether an agent is available for tasks.
    pub has_agent: bool,
    /// Next steps for the user.
    pub notes: Vec<String>,
}

/// The repository to inspect, and the user's environment.
pub struct Place<'a> {
    /// Top folder of the repository.
    pub top: &'a Path,
    /// Folder below the top to inspect, if not all of it: one package of a monorepo.
    pub folder: Option<&'a str>,
    /// Returns whether a fresh clone has a file.
    pub cloned: &'a Cloned<'a>,
    /// Environment in which to find agents and settings of package managers.
    pub environment: &'a Environment,
    /// Whether the user's own configuration has an agent.
    pub has_agent: bool,
    /// Resolves host names.
    pub resolve: &'a registry::Resolve<'a>,
}

/// Inspects the top folder of a repository and well-known folders in it, agents in `PATH`, and the registries of the
/// user's package managers.
pub fn plan(place: &Place<'_>) -> Plan {
    let mut notes = Vec::new();
    let found = detect::detect(place.top, place.folder, place.cloned, &mut notes);
    let agents = agents::installed(place.environment.get("PATH").unwrap_or_default());
    let servers = servers(place, &found, &mut notes);
    let mut seen: Vec<String> = found.iter().map(detect::Finding::words).collect();
    seen.extend(agents.iter().map(|agent| format!("the agent {} ({})", agent.product.name(), agent.program)));
    if agents.is_empty() && !place.has_agent {
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
    }
    notes.push("look through .acquit/ and commit it".to_owned());
    let has_agent = place.has_agent || !agents.is_empty();
    let files = render::files(&found, &agents, &servers);
    Plan { files, seen, recognised: !found.is_empty(), has_agent, notes }
}

/// Returns the servers that setup fetches from. Adds a note for a server that a file of the repository names, but that
/// is not accepted from a repository.
fn servers(place: &Place<'_>, found: &[detect::Finding], notes: &mut Vec<String>) -> Vec<Server> {
    let user = User::new(place.environment);
    let mut all: Vec<Server> = Vec::new();
    let mut unread = Vec::new();
    for finding in found {
        for manager in &finding.managers {
            let folder = match &finding.folder {
                Some(name) => look::Folder::below(place.top, name, place.cloned, &mut unread),
                None => Some(look::Folder::top(place.top, place.cloned, &mut unread)),
            };
            let Some(mut folder) = folder else { continue };
            let servers = registry::servers(*manager, &user, &mut |file| folder.text(file));
            for server in servers.list {
                if all.iter().any(|known| known.host == server.host) {
                    continue;
                }
                for host in registry::inside(&server, place.resolve) {
                    if all.iter().all(|known| known.host != host) {
                        let origin = format!("where {} leads in your network", server.host.name());
                        all.push(Server { host, origin, by: By::User });
                    }
                }
                all.push(server);
            }
            notes.extend(servers.refused.iter().map(|refused| {
                format!(
                    "{} names the server {}, which is not taken from a repository: if setup needs it, add it to `hosts` of \
                     [network]",
                    refused.origin, refused.host
                )
            }));
        }
    }
    all
}
