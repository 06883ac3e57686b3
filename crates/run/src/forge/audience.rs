//! The audience of a token: the hosts that a forge's API calls and git's pushes and fetches go to.
//!
//! A token is used only if it is meant for every host of its audience, and if nothing on the way can read it: over
//! TLS, or on the loopback interface. The address of a remote never makes its host one that a token is meant for,
//! because others can write that address.

use std::net::IpAddr;

use acquit_core::config::forge::Forge as Settings;

use super::remote::{Address, Place, Transport};

/// A host that would see the token.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listener {
    host: String,
    port: Option<u16>,
    encrypted: bool,
}

/// All hosts that would see the token of a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Audience(Vec<Listener>);

impl Audience {
    /// Returns the audience of a forge's token. Includes a proxy if it could read the token.
    pub(crate) fn of(place: &Place, settings: &Settings) -> Self {
        let git = |address: &Address| match address.transport {
            Transport::Ssh => None,
            transport @ (Transport::Https | Transport::Http) => Some(Listener {
                host: address.host.clone(),
                port: address.port,
                encrypted: transport == Transport::Https,
            }),
        };
        // No token is meant for an API whose host is unknown.
        let unknown = || Listener { host: String::new(), port: None, encrypted: false };
        let mut all = vec![listener(&place.api).unwrap_or_else(unknown)];
        all.extend([&place.upstream, &place.push].into_iter().filter_map(git));
        if let Some(proxy) = &settings.proxy
            && all.iter().any(|one| !one.encrypted)
        {
            let proxy = listener(proxy).unwrap_or_else(unknown);
            if !is_loopback(&proxy.host) {
                all.push(Listener { encrypted: false, ..proxy });
            }
        }
        Self(all)
    }

    /// Returns the first host that would get the token without encryption, if any.
    pub(crate) fn overheard(&self) -> Option<&str> {
        let plain = |one: &&Listener| !one.encrypted && !is_loopback(&one.host);
        self.0.iter().find(plain).map(|one| one.host.as_str())
    }

    /// Returns the first host that is not in `known`, if any.
    pub(crate) fn stranger(&self, known: &[String]) -> Option<String> {
        let stranger = self.0.iter().find(|one| !known.iter().any(|name| one.is(name)))?;
        Some(stranger.port.map_or_else(|| stranger.host.clone(), |port| format!("{}:{port}", stranger.host)))
    }

    /// Returns whether a token for these hosts may be used.
    pub(crate) fn fits(&self, known: &[String]) -> bool {
        self.overheard().is_none() && self.stranger(known).is_none()
    }
}

impl Listener {
    /// Returns whether a host name, possibly with a port, means this host.
    fn is(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let Some(named) = listener(&format!("https://{name}")) else { return false };
        // A certificate covers all ports of a host. Without one, another port can belong to someone else.
        let same_port = self.encrypted || named.port == self.port;
        // The API of these has its own host, run by the same owner.
        let own_api = (named.host == "github.com" || named.host.ends_with(".ghe.com"))
            && self.host.strip_prefix("api.") == Some(named.host.as_str());
        same_port && (self.host == named.host || own_api)
    }
}

/// Parses the host of an address with a scheme.
fn listener(url: &str) -> Option<Listener> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !place.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (place, None),
    };
    let encrypted = scheme.eq_ignore_ascii_case("https");
    (!host.is_empty()).then(|| Listener { host: host.to_ascii_lowercase(), port, encrypted })
}

/// Returns whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::super::remote::{Located, locate};
    use super::*;
    use acquit_core::config::forge::Kind;

    fn audience(settings: &Settings, url: &str) -> Audience {
        let Ok(Located::At(place)) = locate(settings, Some(url), Some(url)) else { panic!("{url}") };
        Audience::of(&place, settings)
    }

    #[test]
    fn every_host_that_would_see_a_token_must_be_one_that_it_is_for() {
        let gitlab = Settings { kind: Some(Kind::GitLab), ..Settings::default() };
        let api = |api: &str| Settings { api: Some(api.to_owned()), ..gitlab.clone() };
        let github = Settings::default();
        for (settings, url, known, fits) in [
            (&github, "https://github.com/a/b", "github.com", true),
            (&github, "git@github.com:a/b", "github.com", true),
            (&github, "https://acme.ghe.com/a/b", "acme.ghe.com", true),
            (&github, "https://acme.ghe.com/a/b", "github.com", false),
            (&gitlab, "https://git.acme.org/a/b", "git.acme.org", true),
            (&gitlab, "https://git.acme.org/a/b", "GIT.ACME.ORG", true),
            (&gitlab, "https://git.acme.org:8443/a/b", "git.acme.org", true),
            (&gitlab, "https://git.acme.org.evil.example/a/b", "git.acme.org", false),
            (&gitlab, "https://evil.example/a/b", "git.acme.org", false),
            // SSH does not use the token, but the API of that host would.
            (&gitlab, "git@evil.example:a/b", "git.acme.org", false),
            (&api("https://evil.example/api/v4"), "https://gitlab.com/a/b", "gitlab.com", false),
            (&api("https://api.gitlab.com/v4"), "https://gitlab.com/a/b", "gitlab.com", false),
            (&api("https://gitlab.com@evil.example/v4"), "https://gitlab.com/a/b", "gitlab.com", false),
            // The token must be encrypted on the way.
            (&gitlab, "http://git.acme.org/a/b", "git.acme.org", false),
            (&api("http://gitlab.com/api/v4"), "https://gitlab.com/a/b", "gitlab.com", false),
            (&gitlab, "http://127.0.0.1.evil.example/a/b", "127.0.0.1.evil.example", false),
            // On this machine, another port can belong to someone else.
            (&gitlab, "http://127.0.0.1:8080/a/b", "127.0.0.1:8080", true),
            (&gitlab, "http://127.0.0.1:8080/a/b", "127.0.0.1:9090", false),
            (&gitlab, "http://127.0.0.1:8080/a/b", "127.0.0.1", false),
            (&gitlab, "http://[::1]:8080/a/b", "[::1]:8080", true),
        ] {
            let found = audience(settings, url).fits(&[known.to_owned()]);
            assert_eq!(found, fits, "{url} {:?} for {known}", settings.api);
        }
    }

    #[test]
    fn a_proxy_that_could_read_along_belongs_to_the_audience() {
        let proxied = |proxy: &str| Settings {
            kind: Some(Kind::GitLab),
            proxy: Some(proxy.to_owned()),
            ..Settings::default()
        };
        for (url, proxy, overheard) in [
            ("http://127.0.0.1:8080/a/b", "http://proxy.example.org:3128", true),
            ("http://127.0.0.1:8080/a/b", "http://127.0.0.1:3128", false),
            ("https://git.acme.org/a/b", "http://proxy.example.org:3128", false),
        ] {
            assert_eq!(audience(&proxied(proxy), url).overheard().is_some(), overheard, "{url} {proxy}");
        }
    }
}
