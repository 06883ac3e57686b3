//! What `acquit init` writes: files that fit the repository, and that acquit reads back without a mistake.
//!
//! [`plan`] looks and decides, [`write()`] writes; neither prints nor runs anything. The repository is hostile input: of its
//! files only small regular ones are read, never through a link. They choose among the commands that are spelled out here, and
//! can name public servers to fetch from; nothing else that stands in them is copied into what is written.
//!
//! Code is guilty until proven innocent: where nothing is recognised, the gate that is written fails until a person says
//! how this repository is tested.

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

/// What would be written, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The files, by their paths relative to the repository, in the order in which they are written. The configuration
    /// is the last: while it is missing, the repository counts as not initialised.
    pub files: Vec<(PathBuf, String)>,
    /// What was recognised, in words.
    pub seen: Vec<String>,
    /// Whether it was recognised how the repository is built and tested.
    pub recognised: bool,
    /// Whether there is an agent that could take a task.
    pub has_agent: bool,
    /// What the user should do next.
    pub notes: Vec<String>,
}

/// A repository that is looked at, and the user who does.
pub struct Place<'a> {
    /// The repository's top folder.
    pub top: &'a Path,
    /// The folder below it that is looked at, if not all of it: one package of a monorepo.
    pub folder: Option<&'a str>,
    /// Which files a fresh clone has.
    pub cloned: &'a Cloned<'a>,
    /// Where agents and the settings of package managers are found.
    pub environment: &'a Environment,
    /// Whether the user's own configuration describes an agent.
    pub has_agent: bool,
    /// Looks up the names of servers.
    pub resolve: &'a registry::Resolve<'a>,
}

/// Looks at a repository's top folder, at well-known folders in it, for agents in `PATH`, and at the registries that the user's
/// package managers fetch from.
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

/// The servers that setup fetches from. What a project's file names and a stranger may not is noted.
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
