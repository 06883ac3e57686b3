//! Sandbox settings in the configuration, independent of a machine.
//!
//! The crate that runs legs enforces them and maps them to paths of a machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How much of the sandbox the machine must provide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All of it, or nothing starts.
    #[default]
    // Older stores use this name.
    #[serde(alias = "strict")]
    On,
    /// As much as the machine can provide. Must be set explicitly; every program reports what is missing.
    Reduced,
    /// No sandbox. Must be set explicitly, and is shown wherever the task is.
    Off,
}

impl Mode {
    /// All modes with their names in configuration and stores.
    pub const ALL: [(&str, Self); 3] = [("on", Self::On), ("reduced", Self::Reduced), ("off", Self::Off)];

    /// Returns the name of the mode.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }

    /// Returns the mode with this name.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode)
    }
}

/// The network access of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Loopback only.
    Off,
    /// The hosts of its agent and those the project lists, through acquit's proxy.
    Model,
    /// Unrestricted.
    Open,
}

impl Network {
    /// All variants with their names in configuration and on the command line.
    pub const ALL: [(&str, Self); 3] = [("off", Self::Off), ("model", Self::Model), ("open", Self::Open)];

    /// Returns the variant with this name.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, network)| *network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(_, network)| network == self).map_or("", |(name, _)| name))
    }
}

/// Default network access of the parts of a leg.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Networks {
    /// For agents.
    pub agents: Network,
    /// For gates.
    pub gates: Network,
    /// For the setup command, which may have to download dependencies.
    pub setup: Network,
    /// Hosts that [`Network::Model`] allows in addition to those of the agents, such as package registries.
    pub hosts: Vec<Host>,
}

impl Default for Networks {
    fn default() -> Self {
        Self { agents: Network::Model, gates: Network::Off, setup: Network::Model, hosts: Vec::new() }
    }
}

/// Additional paths of the user's machine. They start with `/` or `~/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Readable: tools in unusual places.
    pub read: Vec<String>,
    /// Writable: caches that are shared on purpose.
    pub write: Vec<String>,
    /// Hidden, overriding the other lists.
    pub hide: Vec<String>,
}

/// Resource limits for all processes of a program together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Maximum number of processes and threads.
    pub processes: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// Maximum growth of its folders in bytes.
    pub disk: u64,
}

impl Default for Resources {
    /// More than a large build uses, less than what overloads a machine.
    fn default() -> Self {
        const GIB: u64 = 1024 * 1024 * 1024;
        Self { processes: 4096, memory: 16 * GIB, disk: 20 * GIB }
    }
}

/// Default port of a host: HTTPS.
pub const DEFAULT_PORT: u16 = 443;

/// An allowed host: `api.example.com`, `*.example.com`, `127.0.0.1:8080`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host {
    /// Lowercase, without a trailing dot or `*.`; an IPv6 address without brackets.
    name: String,
    wildcard: Wildcard,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wildcard {
    /// The host itself.
    Exact,
    /// Every subdomain, but not the host itself.
    Below,
}

impl Host {
    /// Returns the name or address, without `*.`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the IP address, if it is not a name.
    pub fn address(&self) -> Option<core::net::IpAddr> {
        self.name.parse().ok()
    }

    /// Returns whether a connection to this name and port is to this host.
    pub fn covers(&self, name: &str, port: u16) -> bool {
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let fits = match self.wildcard {
            Wildcard::Exact => name == self.name,
            Wildcard::Below => name
                .strip_suffix(self.name.as_str())
                .is_some_and(|front| front.len() > 1 && front.ends_with('.')),
        };
        fits && port == self.port
    }
}

/// An error for a text that is not a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a host: write a name such as api.example.com, *.example.com, or an address with a port such as 127.0.0.1:8080"
)]
pub struct NotAHost(String);

impl FromStr for Host {
    type Err = NotAHost;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || NotAHost(text.chars().filter(|c| !c.is_control()).take(100).collect());
        let (wildcard, rest) = match text.strip_prefix("*.") {
            Some(rest) => (Wildcard::Below, rest),
            None => (Wildcard::Exact, text),
        };
        let (name, port) = match rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, Some(port.strip_prefix(':').ok_or_else(wrong)?)),
            None => rest.split_once(':').map_or((rest, None), |(name, port)| (name, Some(port))),
        };
        let port = match port {
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?,
            None => DEFAULT_PORT,
        };
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        let is_address = name.parse::<core::net::IpAddr>().is_ok();
        let is_name = name.len() <= 253 && name.split('.').all(label);
        let whole_zone = wildcard == Wildcard::Below && (is_address || !name.contains('.'));
        if !(is_address || is_name) || whole_zone {
            return Err(wrong());
        }
        Ok(Self { name, wildcard, port })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = match self.wildcard {
            Wildcard::Exact => "",
            Wildcard::Below => "*.",
        };
        let (open, close) = if self.name.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{star}{open}{}{close}", self.name)?;
        if self.port == DEFAULT_PORT { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        text.parse().expect("a host")
    }

    #[test]
    fn hosts_are_read_as_people_write_them_and_shown_in_one_form() {
        for text in ["api.example.com", "*.example.com", "127.0.0.1:8080", "[::1]:11434", "localhost:80"] {
            assert_eq!(host(text).to_string(), text);
        }
        assert_eq!(host("API.Example.com.:443").to_string(), "api.example.com");
        for text in [
            "",
            "*",
            "*.com",
            "https://example.com",
            "a b",
            "example.com:0",
            "x:99999",
            "*.127.0.0.1",
            "a..b",
        ] {
            assert!(text.parse::<Host>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_covers_itself_and_nothing_that_looks_like_it() {
        let exact = host("example.com");
        assert!(exact.covers("EXAMPLE.com.", 443));
        for (name, port) in [
            ("example.com", 80),
            ("a.example.com", 443),
            ("example.com.evil.org", 443),
            ("evilexample.com", 443),
        ] {
            assert!(!exact.covers(name, port), "{name}:{port}");
        }
        let below = host("*.example.com");
        assert!(below.covers("a.b.example.com", 443));
        assert!(
            !below.covers("example.com", 443)
                && !below.covers(".example.com", 443)
                && !below.covers("evilexample.com", 443)
        );
        assert!(host("[::1]:80").covers("[::1]", 80));
    }
}
