//! Package registries: the servers that a user's package managers download from, and the settings that package managers
//! need inside a sandbox, where the user's own client configuration is hidden.
//!
//! [`servers`] reads what determines the registry, in each client's own order: environment, the project's files, the
//! user's files, the machine's files, the client's default. It runs no package manager, because some of them run code
//! of the project when asked for their configuration. [`Clients`] holds what a sandbox shows of the user's settings,
//! without any credentials.
//!
//! A project's files are untrusted input. They can only name public hosts. An address, a port or a name of the local
//! network in them is reported as a [`Refused`] and never used.

use acquit_core::sandbox::Host;

mod address;
mod cargo;
mod clients;
mod go;
mod maven;
mod npm;
mod python;
mod user;

pub use clients::{Clients, certificates, variables};
pub use user::User;

/// A family of package managers that share registries and settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manager {
    /// npm, pnpm, bun and Yarn.
    Npm,
    /// Yarn, which has its own default registry.
    Yarn,
    /// pip, uv and Poetry.
    Python,
    /// Cargo.
    Cargo,
    /// Go modules.
    Go,
    /// Maven.
    Maven,
    /// Gradle.
    Gradle,
}

/// A server that packages come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Host.
    pub host: Host,
    /// Its source: `default of npm`, `~/.npmrc`, `PIP_INDEX_URL`.
    pub origin: String,
    /// Who names it.
    pub by: By,
}

/// Who names a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The user, or the package manager itself.
    User,
    /// A file of the project.
    Project,
}

/// A server that a project's file names but must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Host as written in the file.
    pub host: String,
    /// Name of the file.
    pub origin: String,
}

/// The servers of one family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// Servers to use.
    pub list: Vec<Server>,
    /// Servers that only a person can add.
    pub refused: Vec<Refused>,
}

/// Reads a file of the project by name. `None` if it does not exist or cannot be used.
pub type Project<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// Returns the servers that `manager` downloads from, for this user in this project.
pub fn servers(manager: Manager, user: &User<'_>, project: &mut Project<'_>) -> Servers {
    let mut servers = Servers::default();
    match manager {
        Manager::Npm => npm::servers(npm::Default::Npm, user, project, &mut servers),
        Manager::Yarn => npm::servers(npm::Default::Yarn, user, project, &mut servers),
        Manager::Python => python::servers(user, project, &mut servers),
        Manager::Cargo => cargo::servers(user, project, &mut servers),
        Manager::Go => go::servers(user, &mut servers),
        Manager::Maven => maven::maven(user, project, &mut servers),
        Manager::Gradle => maven::gradle(user, project, &mut servers),
    }
    servers
}

impl Servers {
    /// Adds the server of a URL that the user or the client itself names.
    fn add(&mut self, url: &str, origin: &str) {
        if let Some(host) = address::host(url) {
            self.push(host, origin, By::User);
        }
    }

    /// Adds the server of a URL that a file of the project names.
    fn add_of_project(&mut self, url: &str, file: &str) {
        let Some(host) = address::host(url) else { return };
        if address::is_public(&host) {
            self.push(host, file, By::Project);
        } else if !self.list.iter().any(|known| known.host == host) {
            let refused = Refused { host: host.to_string(), origin: file.to_owned() };
            if !self.refused.contains(&refused) {
                self.refused.push(refused);
            }
        }
    }

    fn push(&mut self, host: Host, origin: &str, by: By) {
        match self.list.iter_mut().find(|known| known.host == host) {
            None => self.list.push(Server { host, origin: origin.to_owned(), by }),
            // If the user names it too, it does not count as the project's.
            Some(known) if by == By::User && known.by == By::Project => {
                *known = Server { host, origin: origin.to_owned(), by };
            }
            Some(_) => {}
        }
    }
}

/// Resolves a server to addresses inside the user's own network, with `resolve`: a mirror with its own name or that of
/// the public registry. A sandbox blocks such addresses unless they are listed. Only for servers that the user names:
/// otherwise the owner of a project could choose which machine of the user's network is opened.
pub fn inside(server: &Server, resolve: &Resolve<'_>) -> Vec<Host> {
    if server.by == By::Project || server.host.address().is_some() {
        return Vec::new();
    }
    let found = resolve(server.host.name(), server.host.port()).into_iter();
    let found =
        found.filter(|address| crate::network::not_public(*address).is_some() && !address.is_loopback());
    let mut hosts: Vec<Host> = Vec::new();
    for address in found {
        let text = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
        let host = format!("{text}:{}", server.host.port()).parse::<Host>();
        hosts.extend(host.ok().filter(|host| !hosts.contains(host)));
    }
    hosts
}

/// Resolves a name, for a port.
pub type Resolve<'a> = dyn Fn(&str, u16) -> Vec<std::net::IpAddr> + 'a;

/// Resolves a name as the machine does.
pub fn system_resolve(name: &str, port: u16) -> Vec<std::net::IpAddr> {
    use std::net::ToSocketAddrs;
    (name, port).to_socket_addrs().into_iter().flatten().map(|address| address.ip()).collect()
}

#[cfg(test)]
mod tests;
