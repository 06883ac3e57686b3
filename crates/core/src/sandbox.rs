//! What a program of a leg may reach: words of the configuration, without a machine.
//!
//! How they are enforced, and which paths of a machine they come to, is the business of the crate that runs legs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How much is asked of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every wall, or nothing starts.
    #[default]
    // Older stores have this word for it.
    #[serde(alias = "strict")]
    On,
    /// The walls that the machine can build. Has to be written out; what is missing is said with every program.
    Reduced,
    /// No walls. Has to be written out, and is shown wherever a task is.
    Off,
}

impl Mode {
    /// All of them with their names, as configurations and stores write them.
    pub const ALL: [(&str, Self); 3] = [("on", Self::On), ("reduced", Self::Reduced), ("off", Self::Off)];

    /// The mode's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }

    /// The mode of that name.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode)
    }
}

/// Whom a program may talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nobody but itself.
    Off,
    /// The hosts of its agent and those that the project lists, through acquit's proxy.
    Model,
    /// Everybody.
    Open,
}

impl Network {
    /// All of them with their names, as configurations and the command line write them.
    pub const ALL: [(&str, Self); 3] = [("off", Self::Off), ("model", Self::Model), ("open", Self::Open)];

    /// The network of that name.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == text).map(|(_, network)| *network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(_, network)| network == self).map_or("", |(name, _)| name))
    }
}

/// The network of the parts of a leg, where stage and gate say nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Networks {
    /// Of agents.
    pub agents: Network,
    /// Of gates.
    pub gates: Network,
    /// Of the setup command, which may have to fetch dependencies.
    pub setup: Network,
    /// Hosts beside those of the agents that [`Network::Model`] lets through: package registries, for example.
    pub hosts: Vec<Host>,
}

impl Default for Networks {
    fn default() -> Self {
        Self { agents: Network::Model, gates: Network::Off, setup: Network::Model, hosts: Vec::new() }
    }
}

/// Paths of the user's machine beyond the usual ones. They begin with `/` or `~/`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Can be read: tools in unusual places.
    pub read: Vec<String>,
    /// Can be written: caches that are shared on purpose.
    pub write: Vec<String>,
    /// Cannot be seen, whatever the other lists say.
    pub hide: Vec<String>,
}

/// What all processes of a program together may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Processes and threads at a time.
    pub processes: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// Bytes by which its folders may grow.
    pub disk: u64,
}

impl Default for Resources {
    /// More than a large build uses, less than what brings a machine to its knees.
    fn default() -> Self {
        const GIB: u64 = 1024 * 1024 * 1024;
        Self { processes: 4096, memory: 16 * GIB, disk: 20 * GIB }
    }
}

/// The port that a host is reached at when none is written: that of HTTPS.
pub const DEFAULT_PORT: u16 = 443;

/// A host that may be reached: `api.example.com`, `*.example.com`, `127.0.0.1:8080`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host {
    /// In lower case, without a final dot; an IPv6 address without brackets. After `*.` for a wildcard.
    name: String,
    wildcard: Wildcard,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wildcard {
    /// The host itself.
    Exact,
    /// Every host below it, and not it.
    Below,
}

impl Host {
    /// The name or address, without `*.`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, if it is one and not a name.
    pub fn address(&self) -> Option<core::net::IpAddr> {
        self.name.parse().ok()
    }

    /// Whether a program that asks for this name and port means this host.
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

/// Why a text is not a host.
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
