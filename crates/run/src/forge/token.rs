//! Finds the token of a forge: from the configuration, the environment, the logins of `gh` and `glab`, or git's
//! credential helper, in this order. The first one found is used.
//!
//! A token only goes to the hosts it is meant for (`audience.rs`). A variable is meant for the well-known host it is
//! made for, or for one that the user's own configuration or environment names. A login is meant for the host where it
//! was created. A secret that `token` in `[forge]` names is meant for the host named next to it. The address of a
//! remote, which someone else may have written, gets none of them.

use std::ffi::OsString;
use std::time::Duration;

use acquit_core::config::Config;
use acquit_core::config::forge::Kind;
use acquit_core::secret::Source;

use super::audience::Audience;
use super::error::Error;
use super::remote::{Place, Transport};
use crate::process::{Call, Exit, Guard};
use crate::runtime::{Environment, Runtime};
use crate::secrets::{LONGEST, Redactor, SHORTEST, Secret, Vault};

/// Timeout for `gh`, `glab` or a credential helper. They read a file or an unlocked keyring.
const LOOK: Duration = Duration::from_secs(30);

/// Name of tokens wherever they would be shown.
const NAME: &str = "FORGE_TOKEN";

/// A token and its origin.
pub struct Token {
    /// The token.
    pub secret: Secret,
    /// Where it was found, for people.
    pub origin: String,
}

impl Token {
    /// Returns a redactor for the token, because a recipient may repeat it.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::default().with(std::slice::from_ref(&self.secret))
    }
}

/// Finds the token of a forge. `None` if there is none that may be sent there.
pub fn find(runtime: &Runtime, config: &Config, place: &Place) -> Result<Option<Token>, Error> {
    let audience = Audience::of(place, &config.forge);
    if let Some(name) = &config.forge.token {
        return configured(runtime, config, name, &audience).map(Some);
    }
    if audience.overheard().is_some() {
        return Ok(None);
    }
    let own = &config.forge.own_hosts;
    let found = variables(&runtime.environment, place, own)
        .into_iter()
        .filter(|(_, hosts)| audience.fits(hosts))
        .find_map(|(name, _)| {
            let value = runtime.environment.get(name)?.to_str()?;
            token(value.as_bytes(), format!("${name}"))
        });
    if found.is_some() {
        return Ok(found);
    }
    // A login is meant for the host where it was created, and the user may have named others of the same forge.
    let hosts: Vec<String> = own.iter().cloned().chain([place.host.clone()]).collect();
    if !audience.fits(&hosts) {
        return Ok(None);
    }
    Ok(logged_in(runtime, config, place).or_else(|| helped(runtime, place)))
}

/// Returns the secret that the configuration names as the token, if it may go there.
fn configured(runtime: &Runtime, config: &Config, name: &str, audience: &Audience) -> Result<Token, Error> {
    if let Some(host) = audience.overheard() {
        return Err(Error::Setting(format!(
            "send the secret {name} to {host} without TLS, where others can read it: use an address that begins with https://"
        )));
    }
    let mut hosts = config.forge.token_hosts.clone();
    if let Some(Source::Env(variable)) = config.secrets.get(name) {
        hosts.extend(made_for(variable).map(str::to_owned));
    }
    if let Some(host) = audience.stranger(&hosts) {
        let host = if host.is_empty() { "the forge".to_owned() } else { host };
        return Err(Error::Setting(format!(
            "send the secret {name} to {host}: nobody named that host for it; if it is for that host, set `host = \"{host}\"` in \
             [forge], in the file that names the token or in your own configuration"
        )));
    }
    let secret = Vault::new(config, &runtime.environment, &runtime.spawner)
        .resolve(name)
        .map_err(|error| Error::Setting(acquit_core::failure::chain(&error)))?;
    match secret.text() {
        Some(_) => Ok(Token { secret, origin: format!("the secret {name}") }),
        None => Err(Error::Setting(format!(
            "use the secret {name} as token: it has blanks or other characters that no token has"
        ))),
    }
}

/// Returns the host that a variable is made for, whatever else is configured.
fn made_for(variable: &str) -> Option<&'static str> {
    match variable {
        "GH_TOKEN" | "GITHUB_TOKEN" => Some("github.com"),
        "GITLAB_TOKEN" => Some("gitlab.com"),
        _ => None,
    }
}

/// Returns a value as a token, if it can be one.
fn token(value: &[u8], origin: String) -> Option<Token> {
    let value = value.trim_ascii();
    let secret = Secret::new(NAME, value.to_vec());
    ((SHORTEST..=LONGEST).contains(&value.len()) && secret.text().is_some())
        .then_some(Token { secret, origin })
}

/// Returns the variables that may hold a token for this forge, each with its hosts. `own` are the hosts that the user's
/// own configuration names.
fn variables(environment: &Environment, place: &Place, own: &[String]) -> Vec<(&'static str, Vec<String>)> {
    let set = |variable: &str| environment.get(variable).and_then(|host| host.to_str()).map(str::to_owned);
    let known =
        |first: Option<String>| -> Vec<String> { first.into_iter().chain(own.iter().cloned()).collect() };
    match place.kind {
        Kind::GitHub if place.host == "github.com" || place.host.ends_with(".ghe.com") => {
            let hosts = vec![place.host.clone()];
            vec![("GH_TOKEN", hosts.clone()), ("GITHUB_TOKEN", hosts)]
        }
        Kind::GitHub => {
            let hosts = known(set("GH_HOST"));
            vec![("GH_ENTERPRISE_TOKEN", hosts.clone()), ("GITHUB_ENTERPRISE_TOKEN", hosts)]
        }
        Kind::GitLab => {
            vec![("GITLAB_TOKEN", known(set("GITLAB_HOST").or_else(|| Some("gitlab.com".to_owned()))))]
        }
        Kind::None => Vec::new(),
    }
}

/// Variables that `gh` and `glab` would return for any host. [`variables`] reads them instead, because it knows what
/// each is meant for.
const FOR_ANY_HOST: [&str; 8] = [
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GH_ENTERPRISE_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITLAB_TOKEN",
    "GITLAB_ACCESS_TOKEN",
    "OAUTH_TOKEN",
    "CI_JOB_TOKEN",
];

/// Returns the token of the forge's own command-line tool, if installed.
fn logged_in(runtime: &Runtime, config: &Config, place: &Place) -> Option<Token> {
    let host = place.host.as_str();
    let (program, args): (&str, Vec<&str>) = match place.kind {
        Kind::GitHub => ("gh", vec!["auth", "token", "--hostname", host]),
        Kind::GitLab => ("glab", vec!["config", "get", "token", "--host", host]),
        Kind::None => return None,
    };
    let is_secret = |name: &OsString| {
        FOR_ANY_HOST.iter().any(|known| name == known)
            || config
                .secrets
                .values()
                .any(|source| matches!(source, Source::Env(other) if name == other.as_str()))
    };
    let mut env: Vec<(OsString, OsString)> =
        runtime.environment.all().into_iter().filter(|(name, _)| !is_secret(name)).collect();
    // Disable prompts, because they cannot be answered.
    env.push(("GH_PROMPT_DISABLED".into(), "1".into()));
    env.push(("NO_PROMPT".into(), "1".into()));
    let call = Call {
        program: program.into(),
        args: args.into_iter().map(OsString::from).collect(),
        cwd: runtime.environment.home_or_root(),
        env,
        input: None,
        limit: LOOK,
        guard: Guard::Trusted,
    };
    let said = runtime.spawner.capture(&call).ok().filter(|said| said.exit == Exit::Code(0))?;
    token(&said.stdout, format!("`{program}`"))
}

/// Returns what git itself would use without a prompt.
fn helped(runtime: &Runtime, place: &Place) -> Option<Token> {
    let scheme = match place.push.transport {
        Transport::Http => "http",
        Transport::Https | Transport::Ssh => "https",
    };
    let pass =
        ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "USER", "LOGNAME", "DISPLAY", "WAYLAND_DISPLAY"];
    let variables: Vec<(&str, OsString)> =
        pass.iter().filter_map(|name| Some((*name, runtime.environment.get(name)?.to_owned()))).collect();
    let home = runtime.environment.home()?;
    let password =
        runtime.git.clone().with_time_limit(LOOK).credential(home, scheme, &place.host, &variables)?;
    token(&password, "git's credential helper".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::remote::{Located, locate};
    use super::*;
    use acquit_core::config::forge::Forge as Settings;

    #[test]
    fn a_token_of_the_environment_is_for_the_host_that_it_is_made_for_or_that_the_user_named() {
        let asked = |settings: &Settings, url: &str, set: &[(&str, &str)]| {
            let Ok(Located::At(place)) = locate(settings, Some(url), Some(url)) else { panic!("{url}") };
            let set = set.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            let audience = Audience::of(&place, settings);
            let known = variables(&Environment::new(set), &place, &settings.own_hosts);
            let fit = known.into_iter().filter(|(_, hosts)| audience.fits(hosts));
            fit.map(|(name, _)| name).collect::<Vec<_>>()
        };
        let usual = Settings::default();
        let kind = |kind| Settings { kind: Some(kind), ..Settings::default() };
        // A project's own file does not name hosts for the user's tokens.
        let project = |kind, host: &str| Settings {
            kind: Some(kind),
            host: Some(host.to_owned()),
            ..Settings::default()
        };
        let user = |kind, host: &str| Settings { own_hosts: vec![host.to_owned()], ..project(kind, host) };
        for (settings, url, set, expected) in [
            (&usual, "git@github.com:a/b", vec![], "GH_TOKEN GITHUB_TOKEN"),
            (&usual, "https://acme.ghe.com/a/b", vec![], "GH_TOKEN GITHUB_TOKEN"),
            (&usual, "http://github.com/a/b", vec![], ""),
            // Anyone can name their host like this.
            (&usual, "https://github.evil.example/a/b", vec![], ""),
            (&usual, "https://gitlab.evil.example/a/b", vec![], ""),
            (&usual, "https://notghe.com.github.evil.example/a/b", vec![("GH_HOST", "github.acme.org")], ""),
            (
                &usual,
                "https://github.acme.org/a/b",
                vec![("GH_HOST", "github.acme.org")],
                "GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN",
            ),
            (&usual, "https://gitlab.com/a/b", vec![], "GITLAB_TOKEN"),
            // Then it is meant for another host.
            (&usual, "https://gitlab.com/a/b", vec![("GITLAB_HOST", "git.acme.org")], ""),
            (&usual, "https://gitlab.acme.org/a/b", vec![("GITLAB_HOST", "gitlab.acme.org")], "GITLAB_TOKEN"),
            (&kind(Kind::GitLab), "https://git.acme.org/a/b", vec![], ""),
            (&kind(Kind::GitHub), "https://git.acme.org/a/b", vec![], ""),
            (&project(Kind::GitLab, "git.acme.org"), "https://git.acme.org/a/b", vec![], ""),
            (&user(Kind::GitLab, "git.acme.org"), "https://git.acme.org/a/b", vec![], "GITLAB_TOKEN"),
            (&user(Kind::GitLab, "git.acme.org"), "http://git.acme.org/a/b", vec![], ""),
            (
                &user(Kind::GitHub, "git.acme.org"),
                "https://git.acme.org/a/b",
                vec![],
                "GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN",
            ),
        ] {
            assert_eq!(asked(settings, url, &set).join(" "), expected, "{url} {set:?}");
        }
    }

    #[test]
    fn what_no_token_can_be_is_none() {
        let is_one = |value: &[u8]| token(value, "here".to_owned()).is_some();
        assert!(is_one(b" ghp_abcdef\n"));
        for value in [
            &b""[..],
            b"abc",
            b"two words",
            b"line\nline",
            b"\xff\xff\xff\xff\xff\xff",
            &vec![b'x'; LONGEST + 1],
        ] {
            assert!(!is_one(value), "{}", value.len());
        }
    }
}
