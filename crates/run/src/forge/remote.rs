//! Detects the forge of a remote from its address and the configuration.

use acquit_core::config::forge::{Forge as Settings, Kind};

use super::error::Error;
use crate::git::Direction;

/// The remote that a repository was cloned from.
pub(super) const ORIGIN: &str = "origin";
/// By convention, the remote that a fork comes from.
const UPSTREAM: &str = "upstream";

/// Returns the addresses of the remotes that pull requests target and that branches are pushed to. If the settings name
/// none, and a remote `upstream` is at the same host as `origin`, `origin` is a fork of it.
pub(super) fn choose(
    settings: &Settings,
    mut url: impl FnMut(&str, Direction) -> Result<Option<String>, Error>,
) -> Result<(Option<String>, Option<String>), Error> {
    let Some(base) = base_name(settings, &mut url)? else {
        // Then there is no forge, wherever branches are pushed to.
        return Ok((None, None));
    };
    let own = settings.remote.as_deref().unwrap_or(ORIGIN);
    let push = settings.push_remote.as_deref().unwrap_or(own);
    Ok((url(base, Direction::Fetch)?, url(push, Direction::Push)?))
}

/// Returns the name of the remote that pull requests target, if there is one.
pub(super) fn base_name(
    settings: &Settings,
    mut url: impl FnMut(&str, Direction) -> Result<Option<String>, Error>,
) -> Result<Option<&str>, Error> {
    let host = |url: &Option<String>| Some(Address::parse(url.as_deref()?)?.host);
    let own = settings.remote.as_deref().unwrap_or(ORIGIN);
    let from = url(own, Direction::Fetch)?;
    if from.is_none() {
        return Ok(None);
    }
    if settings.remote.is_none()
        && host(&from).is_some()
        && host(&url(UPSTREAM, Direction::Fetch)?) == host(&from)
    {
        return Ok(Some(UPSTREAM));
    }
    Ok(Some(own))
}

/// How a remote is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTPS, with a token.
    Https,
    /// HTTP without encryption, with a token.
    Http,
    /// SSH, with the user's own key.
    Ssh,
}

/// Which conventions apply to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Custom {
    /// Those of a forge.
    Forge,
    /// Those of any server.
    Server,
}

impl Custom {
    /// Returns the project that a path names.
    fn project(self, path: &str) -> Option<String> {
        match self {
            Self::Forge => project(path),
            Self::Server => (!path.trim_matches('/').is_empty()).then(|| path.to_owned()),
        }
    }

    /// Returns the SSH user for an address that names none. `None` leaves the choice to the user's SSH settings.
    fn user(self) -> Option<&'static str> {
        match self {
            Self::Forge => Some("git"),
            Self::Server => None,
        }
    }
}

/// A parsed address of a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Transport.
    pub transport: Transport,
    /// Host, in lower case.
    pub host: String,
    /// Port, if it is not the default.
    pub port: Option<u16>,
    /// `group/name`, without `.git`.
    pub project: String,
    /// Address for git, without credentials.
    pub url: String,
}

impl Address {
    /// Parses an address. `None` for local paths, other addresses without a host, and those that name no project of a
    /// forge.
    pub fn parse(url: &str) -> Option<Self> {
        Self::taken_apart(url, Custom::Forge)
    }

    /// Parses an address of a server that is not a forge, where a repository can have any path.
    pub fn of_server(url: &str) -> Option<Self> {
        Self::taken_apart(url, Custom::Server)
    }

    fn taken_apart(url: &str, custom: Custom) -> Option<Self> {
        if url.chars().any(|c| c.is_whitespace() || c.is_control()) || url.starts_with('-') {
            return None;
        }
        let (transport, rest) = match url.split_once("://") {
            Some(("https", rest)) => (Transport::Https, rest),
            Some(("http", rest)) => (Transport::Http, rest),
            Some(("ssh" | "git+ssh" | "ssh+git", rest)) => (Transport::Ssh, rest),
            Some(_) => return None,
            None => return Self::of_scp(url, custom),
        };
        let (authority, path) = rest.split_once('/')?;
        let (login, place) = authority.rsplit_once('@').map_or((None, authority), |(l, p)| (Some(l), p));
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !place.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (place, None),
        };
        let host = host.to_ascii_lowercase();
        let project = custom.project(path)?;
        let with_port = port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let url = match transport {
            Transport::Https => format!("https://{with_port}/{path}"),
            Transport::Http => format!("http://{with_port}/{path}"),
            // The user name is not a secret; a password after a colon is.
            Transport::Ssh => {
                let user = login.and_then(|login| login.split(':').next()).or(custom.user());
                format!("ssh://{}{with_port}/{path}", user.map(|user| format!("{user}@")).unwrap_or_default())
            }
        };
        is_host(&host).then_some(Self { transport, host, port, project, url })
    }

    /// Parses `git@host:group/name.git`. With a slash before the colon, it is a path.
    fn of_scp(url: &str, custom: Custom) -> Option<Self> {
        let (front, path) = url.split_once(':')?;
        // `::` introduces a remote helper.
        if front.contains('/') || path.starts_with(':') {
            return None;
        }
        let host = front.rsplit_once('@').map_or(front, |(_, host)| host).to_ascii_lowercase();
        let project = custom.project(path.trim_start_matches('/'))?;
        is_host(&host).then(|| Self {
            transport: Transport::Ssh,
            host,
            port: None,
            project,
            url: url.to_owned(),
        })
    }
}

fn is_host(host: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || ".-_[]:".contains(c);
    !host.is_empty() && !host.starts_with('-') && host.chars().all(letter)
}

/// Returns the project in a path: at least a group and a name, without segments that lead elsewhere.
fn project(path: &str) -> Option<String> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let sound = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.starts_with('~');
    (path.contains('/') && path.split('/').all(sound)).then(|| path.to_owned())
}

/// Location of a project at a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Kind of the forge.
    pub kind: Kind,
    /// Host for which credentials are stored, with the port if it is not the default.
    pub host: String,
    /// Base address of its API, without a trailing slash.
    pub api: String,
    /// Project that pull requests target.
    pub project: String,
    /// Project that the branch is pushed to, if that is a fork.
    pub fork: Option<String>,
    /// Address to fetch the base branch from: the repository that pull requests target.
    pub upstream: Address,
    /// Address to push to.
    pub push: Address,
}

/// Result of detecting the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    /// A forge.
    At(Box<Place>),
    /// None, for this reason.
    Nowhere(String),
}

/// Detects the forge of a remote. `upstream` is the address of the remote that pull requests target, `push` of the one
/// that branches are pushed to.
pub fn locate(settings: &Settings, upstream: Option<&str>, push: Option<&str>) -> Result<Located, Error> {
    if settings.kind == Some(Kind::None) {
        return Ok(Located::Nowhere("acquit.toml says kind = \"none\" in [forge]".to_owned()));
    }
    let (Some(upstream), Some(push)) = (upstream, push) else {
        let which = if upstream.is_none() {
            settings.remote.as_deref().unwrap_or(ORIGIN)
        } else {
            settings.push_remote.as_deref().unwrap_or(ORIGIN)
        };
        return Ok(Located::Nowhere(format!("the repository has no remote `{which}`")));
    };
    let (Some(upstream), Some(push)) = (Address::parse(upstream), Address::parse(push)) else {
        return Ok(Located::Nowhere("the remote is not at a host".to_owned()));
    };
    let host = settings.host.clone().unwrap_or_else(|| web_host(&upstream));
    let Some(kind) = settings.kind.or_else(|| told_by(&host)) else {
        let words = format!("it cannot be told which forge is at {host}; set `kind` in [forge]");
        return Ok(Located::Nowhere(words));
    };
    let scheme = if upstream.transport == Transport::Http { "http" } else { "https" };
    let api = match (&settings.api, kind) {
        (Some(api), _) => api.trim_end_matches('/').to_owned(),
        (None, Kind::GitHub) if host == "github.com" => "https://api.github.com".to_owned(),
        (None, Kind::GitHub) if host.ends_with(".ghe.com") => format!("https://api.{host}"),
        (None, Kind::GitHub) => format!("{scheme}://{host}/api/v3"),
        (None, Kind::GitLab | Kind::None) => format!("{scheme}://{host}/api/v4"),
    };
    // The token is sent to one host, and not at all over SSH. A user setting applies to every repository, wherever it
    // comes from.
    let is_there = |address: &Address| {
        address.transport == Transport::Ssh
            || web_host(address) == host
            || address.host == without_port(&host)
    };
    if !is_there(&upstream) {
        return Err(Error::Setting(format!(
            "use the remote {}: the forge is at {host}, and its token is shown to nobody else; set `host` in [forge] of this \
             project's acquit.toml",
            upstream.url
        )));
    }
    if !is_there(&push) {
        return Err(Error::Setting(format!(
            "push to {}: the forge is at {host}, and a fork must be at the same forge; see `push_remote` in [forge]",
            push.url
        )));
    }
    let project = settings.project.clone().unwrap_or_else(|| upstream.project.clone());
    if kind == Kind::GitHub && project.matches('/').count() != 1 {
        return Err(Error::Setting(format!(
            "tell the project at GitHub: {project} is not `owner/name`; set `project` in [forge]"
        )));
    }
    let fork = (push.project != project).then(|| push.project.clone());
    Ok(Located::At(Box::new(Place { kind, host, api, project, fork, upstream, push })))
}

/// Strips the port of a host.
fn without_port(host: &str) -> &str {
    host.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(host, |(name, _)| name)
}

/// Returns the host of a forge's web pages, which may differ from the host for git.
pub(crate) fn web_host(address: &Address) -> String {
    match (address.host.as_str(), address.transport) {
        ("ssh.github.com", _) => "github.com".to_owned(),
        ("altssh.gitlab.com", _) => "gitlab.com".to_owned(),
        // An SSH port says nothing about where web pages are.
        (host, Transport::Ssh) => host.to_owned(),
        (host, Transport::Https | Transport::Http) => {
            address.port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
        }
    }
}

/// Detects the forge from the name of its host.
fn told_by(host: &str) -> Option<Kind> {
    let is = |name: &str| host.split(['.', ':']).any(|label| label == name);
    if is("github") || host.ends_with(".ghe.com") {
        Some(Kind::GitHub)
    } else if is("gitlab") {
        Some(Kind::GitLab)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(settings: &Settings, url: &str) -> Place {
        match locate(settings, Some(url), Some(url)).unwrap() {
            Located::At(place) => *place,
            Located::Nowhere(why) => panic!("{url}: {why}"),
        }
    }

    #[test]
    fn a_forge_is_told_from_every_form_of_address() {
        let usual = Settings::default();
        for (url, kind, api, project) in [
            ("git@github.com:acme/widget.git", Kind::GitHub, "https://api.github.com", "acme/widget"),
            ("https://github.com/acme/widget", Kind::GitHub, "https://api.github.com", "acme/widget"),
            (
                "https://ada:ghp_x@GitHub.com/acme/widget.git/",
                Kind::GitHub,
                "https://api.github.com",
                "acme/widget",
            ),
            (
                "ssh://git@ssh.github.com:443/acme/widget.git",
                Kind::GitHub,
                "https://api.github.com",
                "acme/widget",
            ),
            ("git@acme.ghe.com:acme/widget.git", Kind::GitHub, "https://api.acme.ghe.com", "acme/widget"),
            (
                "git@github.acme.org:acme/widget",
                Kind::GitHub,
                "https://github.acme.org/api/v3",
                "acme/widget",
            ),
            (
                "git@gitlab.com:acme/team/sub/widget.git",
                Kind::GitLab,
                "https://gitlab.com/api/v4",
                "acme/team/sub/widget",
            ),
            (
                "https://gitlab.acme.org:8443/a/b.git",
                Kind::GitLab,
                "https://gitlab.acme.org:8443/api/v4",
                "a/b",
            ),
            ("ssh://git@gitlab.acme.org:2222/a/b.git", Kind::GitLab, "https://gitlab.acme.org/api/v4", "a/b"),
        ] {
            let place = place(&usual, url);
            assert_eq!(
                (place.kind, place.api.as_str(), place.project.as_str()),
                (kind, api, project),
                "{url}"
            );
            assert!(!place.push.url.contains("ghp_x"), "{url}: a login stays");
            assert_eq!(place.fork, None, "{url}");
        }
    }

    #[test]
    fn what_is_no_forge_is_said_to_be_none() {
        let usual = Settings::default();
        for url in [
            "/srv/git/widget.git",
            "file:///srv/git/widget.git",
            "../widget",
            "./a:b/c",
            "git@example.org:acme/widget.git",
            "https://example.org/acme/widget",
            "git@github.com:widget.git",
            "https://github.com/../widget",
            "ext::sh -c evil",
            "-oProxyCommand=evil:a/b",
            "ssh://-oProxyCommand=evil/a/b",
            "git@-oProxyCommand=github:a/b",
            "https://github.com/a/b\nc",
            "",
        ] {
            assert!(matches!(locate(&usual, Some(url), Some(url)), Ok(Located::Nowhere(_))), "{url}");
        }
        assert!(matches!(locate(&usual, None, None), Ok(Located::Nowhere(why)) if why.contains("`origin`")));
        let none = Settings { kind: Some(Kind::None), ..usual.clone() };
        let url = Some("git@github.com:a/b");
        assert!(matches!(locate(&none, url, url), Ok(Located::Nowhere(_))));
        let deep = Some("https://github.com/a/b/c");
        assert!(locate(&usual, deep, deep).is_err(), "three parts are no project of GitHub");
    }

    #[test]
    fn a_server_can_have_any_path_and_still_no_address_is_an_option_or_a_path() {
        for (written, url) in [
            ("git@example.org:widget.git", "git@example.org:widget.git"),
            ("ssh://example.org:2222/~ada/widget", "ssh://example.org:2222/~ada/widget"),
            ("https://ada:secret@Example.org/widget.git", "https://example.org/widget.git"),
        ] {
            assert_eq!(Address::of_server(written).unwrap().url, url);
        }
        for other in
            ["/srv/widget.git", "file:///srv/widget.git", "../a", "-oProxyCommand=x:y", "ext::sh", "h:"]
        {
            assert_eq!(Address::of_server(other), None, "{other}");
        }
    }

    #[test]
    fn no_host_is_taken_for_an_option() {
        for url in ["ssh://-x.github.com/a/b", "git@-x.github.com:a/b", "https://-x.github.com/a/b"] {
            assert_eq!(Address::parse(url), None, "{url}");
        }
    }

    #[test]
    fn a_password_is_no_part_of_an_address() {
        for url in [
            "ssh://ada:hunter2@github.com/a/b",
            "https://ada:hunter2@github.com/a/b",
            "https://hunter2@github.com/a/b",
        ] {
            assert!(!Address::parse(url).unwrap().url.contains("hunter2"), "{url}");
        }
        assert_eq!(Address::parse("ssh://ada@github.com:22/a/b").unwrap().url, "ssh://ada@github.com:22/a/b");
    }

    #[test]
    fn a_fork_is_told_from_a_remote_of_that_name_at_the_same_host() {
        let chosen = |settings: &Settings, upstream: Option<&str>| {
            choose(settings, |name, _| {
                Ok(match name {
                    ORIGIN => Some("git@github.com:ada/widget.git".to_owned()),
                    UPSTREAM => upstream.map(str::to_owned),
                    other => Some(other.to_owned()),
                })
            })
            .map(|(from, to)| (from.unwrap_or_default(), to.unwrap_or_default()))
            .unwrap()
        };
        let origin = "git@github.com:ada/widget.git".to_owned();
        let above = "https://github.com/acme/widget".to_owned();
        let usual = Settings::default();
        assert_eq!(chosen(&usual, Some(&above)), (above.clone(), origin.clone()));
        assert_eq!(chosen(&usual, None), (origin.clone(), origin.clone()));
        for elsewhere in ["https://example.org/acme/widget", "/srv/git/widget.git"] {
            assert_eq!(chosen(&usual, Some(elsewhere)), (origin.clone(), origin.clone()), "{elsewhere}");
        }
        let said = Settings { remote: Some(ORIGIN.to_owned()), ..usual.clone() };
        assert_eq!(chosen(&said, Some(&above)), (origin.clone(), origin.clone()), "what is written counts");
        let other = Settings { push_remote: Some("fork".to_owned()), ..usual };
        assert_eq!(chosen(&other, Some(&above)), (above, "fork".to_owned()));
    }

    #[test]
    fn a_token_for_one_forge_is_not_pushed_with_to_another() {
        let usual = Settings::default();
        let (here, there) = ("https://github.com/acme/widget", "https://evil.example/ada/widget");
        assert!(locate(&usual, Some(here), Some(there)).is_err());
        assert!(locate(&usual, Some(here), Some("fork:ada/widget")).is_ok(), "SSH has no token");
    }

    #[test]
    fn a_token_for_the_forge_that_is_named_goes_to_no_other_host() {
        let named = Settings {
            kind: Some(Kind::GitLab),
            host: Some("git.acme.org".to_owned()),
            ..Settings::default()
        };
        // A user setting applies to every repository, including one cloned from somewhere else.
        for elsewhere in
            ["https://evil.example/a/b", "https://git.acme.org.evil.example/a/b", "http://evil.example/a/b"]
        {
            let error = locate(&named, Some(elsewhere), Some(elsewhere)).unwrap_err().to_string();
            assert!(error.contains("git.acme.org") && error.contains("`host`"), "{error}");
        }
        for same in [
            "https://git.acme.org/a/b",
            "https://git.acme.org:8443/a/b",
            "work:a/b",
            "ssh://git@evil.example/a/b",
        ] {
            assert!(locate(&named, Some(same), Some(same)).is_ok(), "{same}");
        }
    }

    #[test]
    fn settings_say_what_an_address_does_not() {
        let own = Settings {
            kind: Some(Kind::GitLab),
            host: Some("git.acme.org".to_owned()),
            project: Some("up/stream".to_owned()),
            ..Settings::default()
        };
        let found = locate(&own, Some("work:up/stream.git"), Some("work:ada/stream.git")).unwrap();
        let Located::At(place) = found else { panic!("{found:?}") };
        assert_eq!(place.api, "https://git.acme.org/api/v4");
        assert_eq!((place.project.as_str(), place.fork.as_deref()), ("up/stream", Some("ada/stream")));
        assert_eq!(place.push.url, "work:ada/stream.git");
    }
}
