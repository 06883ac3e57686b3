//! Decides whether a client may reach a host: the name or address must be listed. The proxy connects to an address
//! that was checked, and never resolves the name a second time.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use acquit_core::sandbox::Host;

use super::address::not_public;
use super::log::{Cause, Why};
use super::request::Malformed;

/// A host and a port, as the client named them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: Named,
    /// The port.
    pub port: u16,
}

/// A name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// An address, which needs no DNS.
    Address(IpAddr),
    /// A name in lower case, without a final dot.
    Name(String),
}

impl Target {
    /// Parses `host:port`, or `host` if there is a default port.
    pub fn authority(text: &str, default: Option<u16>) -> Result<Self, Malformed> {
        if text.contains('@') {
            return Err("a name and password in its address");
        }
        let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(Some((inside, rest))) => {
                let address: Ipv6Addr = inside.parse().map_err(|_| "an IPv6 address that is none")?;
                let port = if rest.is_empty() {
                    None
                } else {
                    Some(rest.strip_prefix(':').ok_or("no port after its address")?)
                };
                (Named::Address(IpAddr::V6(address)), port)
            }
            Some(None) => return Err("an IPv6 address that is none"),
            None => match text.split_once(':') {
                Some((host, port)) => (Named::read(host)?, Some(port)),
                None => (Named::read(text)?, None),
            },
        };
        let port = match port {
            // `http://example.com:/` is valid and means the default port.
            None | Some("") => default.ok_or("no port")?,
            Some(port) if port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                port.parse().ok().filter(|port| *port != 0).ok_or("a port that is none")?
            }
            Some(_) => return Err("a port that is none"),
        };
        Ok(Self { host, port })
    }

    /// Returns the target of a listed host.
    pub fn of(host: &Host) -> Self {
        let named = host.address().map_or_else(|| Named::Name(host.name().to_owned()), Named::Address);
        Self { host: named, port: host.port() }
    }
}

impl Named {
    fn read(text: &str) -> Result<Self, Malformed> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(IpAddr::V4(address)));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if name.len() > 253 || !name.split('.').all(label) {
            return Err("a host that is neither a name nor an address");
        }
        // The system's resolver parses `127.1`, `0x7f000001` and `2130706433` as addresses. No registry has such
        // names.
        let last = name.rsplit('.').next().unwrap_or_default();
        let hexadecimal =
            last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
        if hexadecimal || last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("an address in an unusual form");
        }
        Ok(Self::Name(name))
    }

    /// Formats the host for messages and the log, without brackets.
    pub fn text(&self) -> String {
        match self {
            Self::Address(address) => address.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Named::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            Named::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Named::Name(name) => f.write_str(name)?,
        }
        write!(f, ":{}", self.port)
    }
}

/// Addresses of a granted target.
pub enum Leads {
    /// These addresses are allowed.
    To(Vec<IpAddr>),
    /// The name must be resolved, and the result checked with [`Hosts::public`].
    Unknown(String),
}

/// The allowlist.
pub struct Hosts(Vec<Host>);

impl Hosts {
    /// Creates an allowlist.
    pub fn new(hosts: &[Host]) -> Self {
        Self(hosts.to_vec())
    }

    /// Checks whether a target is listed. Returns its addresses as far as they are known, or the reason for a
    /// refusal.
    pub fn grant(&self, target: &Target) -> Result<Leads, Cause> {
        match &target.host {
            Named::Address(address) if self.has(*address, target.port) => Ok(Leads::To(vec![*address])),
            Named::Name(name) if self.0.iter().any(|host| host.covers(name, target.port)) => {
                // The name of the machine itself: don't ask DNS for it.
                if name == "localhost" {
                    return Ok(Leads::To(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]));
                }
                Ok(Leads::Unknown(name.clone()))
            }
            Named::Address(_) | Named::Name(_) => {
                Err(Cause { why: Why::NotListed, words: "it is not listed".to_owned() })
            }
        }
    }

    /// Filters the addresses of a listed name: keeps public ones, and those that are listed themselves.
    pub fn public(&self, found: Vec<IpAddr>, port: u16) -> Result<Vec<IpAddr>, Cause> {
        let mut cause = None;
        let mut kept = Vec::new();
        for address in found {
            match not_public(address) {
                Some(why) if !self.has(address, port) => {
                    let words = format!("its name leads to {address}, which is {why}");
                    cause = Some(Cause { why: Why::NotPublic(address), words });
                }
                Some(_) | None => kept.push(address),
            }
        }
        match cause {
            Some(cause) if kept.is_empty() => Err(cause),
            Some(_) | None => Ok(kept),
        }
    }

    fn has(&self, address: IpAddr, port: u16) -> bool {
        self.0.iter().any(|host| host.address() == Some(address) && host.port() == port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &[&str]) -> Hosts {
        Hosts(list.iter().map(|text| text.parse().expect("a host")).collect())
    }

    fn addresses(list: &[&str]) -> Vec<IpAddr> {
        list.iter().map(|text| text.parse().expect("an address")).collect()
    }

    #[test]
    fn a_name_leads_to_its_public_addresses_and_to_those_that_are_listed_with_that_port() {
        let hosts = hosts(&["api.example.com", "10.0.0.1:443", "10.0.0.2:80"]);
        let found = ["127.0.0.1", "1.1.1.1", "10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1", "2606:4700::1"];
        let kept = hosts.public(addresses(&found), 443);
        assert_eq!(kept, Ok(addresses(&["1.1.1.1", "10.0.0.1", "2606:4700::1"])));
        let kept = hosts.public(addresses(&["10.0.0.2"]), 443);
        assert_eq!(
            kept,
            Err(Cause {
                why: Why::NotPublic(addresses(&["10.0.0.2"])[0]),
                words: "its name leads to 10.0.0.2, which is private".to_owned()
            })
        );
    }

    #[test]
    fn an_address_is_listed_in_any_writing_of_it_and_in_no_clothes() {
        let hosts = hosts(&["[0:0::1]:80", "127.0.0.1:80", "*.example.com:80"]);
        let granted = |text| hosts.grant(&Target::authority(text, None).expect("a target")).is_ok();
        assert!(granted("[::1]:80") && granted("[0:0:0:0:0:0:0:1]:80") && granted("127.0.0.1:80"));
        assert!(granted("a.EXAMPLE.com.:80"));
        for text in
            ["[::1]:81", "127.0.0.2:80", "[::ffff:127.0.0.1]:80", "[::127.0.0.1]:80", "example.com:80"]
        {
            assert!(!granted(text), "{text}");
        }
    }
}
