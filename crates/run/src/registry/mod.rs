//! Package registries: the servers that a user's package managers fetch from, and what package managers must be told inside a
//! sandbox, where the user's own client configuration is not visible.
//!
//! [`servers`] reads what decides about the registry, in each client's own order: environment, the project's files, the user's
//! files, the machine's files, the client's default. It runs no package manager: some of them run code of the project when they
//! are asked for their configuration. [`Clients`] has what a sandbox shows of the user's side of it, with every credential left
//! out.
//!
//! A project's files are hostile input. They can name public hosts only; an address, a port or a name of the local network that
//! stands in them is reported as a [`Refused`] and never used.

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
    /// Yarn, whose default registry has a name of its own.
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
    /// Its host.
    pub host: Host,
    /// What names it: `default of npm`, `~/.npmrc`, `PIP_INDEX_URL`.
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

/// A server that a project's file names and that is not taken from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As the file has it.
    pub host: String,
    /// The file.
    pub origin: String,
}

/// The servers of one family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// Those that are used.
    pub list: Vec<Server>,
    /// Those that only a person can add.
    pub refused: Vec<Refused>,
}

/// How a file of the project is read: by its name, `None` if it is not there or is of no use.
pub type Project<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// The servers that `manager` fetches from, for this user in this project.
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
            // What the user names too is not the project's alone.
            Some(known) if by == By::User && known.by == By::Project => {
                *known = Server { host, origin: origin.to_owned(), by };
            }
            Some(_) => {}
        }
    }
}

/// Where the name of a server leads inside the user's own network, by `resolve`: a mirror behind a name of its own or of the
/// public registry. A sandbox refuses such addresses unless they are listed. Only for servers that the user names: with one of
/// a project's, its owner would choose which machine of the user's network is opened.
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

/// Looks up a name, for a port.
pub type Resolve<'a> = dyn Fn(&str, u16) -> Vec<std::net::IpAddr> + 'a;

/// Looks up a name as the machine does.
pub fn system_resolve(name: &str, port: u16) -> Vec<std::net::IpAddr> {
    use std::net::ToSocketAddrs;
    (name, port).to_socket_addrs().into_iter().flatten().map(|address| address.ip()).collect()
}

#[cfg(test)]
mod tests;
