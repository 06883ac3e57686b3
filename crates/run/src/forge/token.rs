//! The token of a forge: from the configuration, the environment, the logins of `gh` and `glab`, or git's credential helper,
//! in this order. The first that has one is taken.
//!
//! A token is shown to one host. Those of the environment are made for a well-known one, or for whatever the user named:
//! a remote's address alone, which somebody else may have written, never gets them.

use std::ffi::OsString;
use std::time::Duration;

use acquit_core::config::Config;
use acquit_core::config::forge::Kind;
use acquit_core::secret::Source;

use super::error::Error;
use super::remote::{Place, Transport};
use crate::process::{Call, Exit, Guard};
use crate::secrets::{LONGEST, Redactor, SHORTEST, Secret, Vault};
use crate::world::{Environment, World};

/// How long `gh`, `glab` or a credential helper may take: they look into a file or a keyring that is open.
const LOOK: Duration = Duration::from_secs(30);

/// What tokens are called wherever they would be shown.
const NAME: &str = "FORGE_TOKEN";

/// A token and where it was found.
pub struct Token {
    /// The token.
    pub secret: Secret,
    /// Where it was found, for people.
    pub origin: String,
}

impl Token {
    /// What takes it out of a text: whoever it was shown to may repeat it.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::default().with(std::slice::from_ref(&self.secret))
    }
}

/// Finds the token of a forge. `None` if nobody has one.
pub fn find(world: &World, config: &Config, place: &Place) -> Result<Option<Token>, Error> {
    if let Some(name) = &config.forge.token {
        let secret = Vault::new(config, world)
            .resolve(name)
            .map_err(|error| Error::Setting(crate::harness::chain(&error)))?;
        return match secret.text() {
            Some(_) => Ok(Some(Token { secret, origin: format!("the secret {name}") })),
            None => Err(Error::Setting(format!(
                "use the secret {name} as token: it has blanks or other characters that no token has"
            ))),
        };
    }
    let found = variables(&world.environment, place)
        .into_iter()
        .find_map(|name| {
            let value = world.environment.get(name)?.to_str()?;
            token(value.as_bytes(), format!("${name}"))
        })
        .or_else(|| logged_in(world, config, place))
        .or_else(|| helped(world, place));
    Ok(found)
}

/// A value that can be a token, as one.
fn token(value: &[u8], origin: String) -> Option<Token> {
    let value = value.trim_ascii();
    let secret = Secret::new(NAME, value.to_vec());
    ((SHORTEST..=LONGEST).contains(&value.len()) && secret.text().is_some())
        .then_some(Token { secret, origin })
}

/// The variables that may hold a token for this host.
fn variables(environment: &Environment, place: &Place) -> Vec<&'static str> {
    let host_is = |variable: &str| environment.get(variable).is_some_and(|host| host == place.host.as_str());
    let meant = |variable: &str, own: &str| {
        place.host == own && environment.get(variable).is_none() || host_is(variable) || place.named
    };
    match place.kind {
        Kind::GitHub if place.host == "github.com" || place.host.ends_with(".ghe.com") => {
            vec!["GH_TOKEN", "GITHUB_TOKEN"]
        }
        Kind::GitHub if place.named || host_is("GH_HOST") => {
            vec!["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]
        }
        Kind::GitLab if meant("GITLAB_HOST", "gitlab.com") => vec!["GITLAB_TOKEN"],
        Kind::GitHub | Kind::GitLab | Kind::None => Vec::new(),
    }
}

/// The login of the forge's own command line, where that is installed.
fn logged_in(world: &World, config: &Config, place: &Place) -> Option<Token> {
    let host = place.host.as_str();
    let (program, args): (&str, Vec<&str>) = match place.kind {
        Kind::GitHub => ("gh", vec!["auth", "token", "--hostname", host]),
        Kind::GitLab => ("glab", vec!["config", "get", "token", "--host", host]),
        Kind::None => return None,
    };
    let is_secret = |name: &OsString| {
        config.secrets.values().any(|source| matches!(source, Source::Env(other) if name == other.as_str()))
    };
    let mut env: Vec<(OsString, OsString)> =
        world.environment.all().into_iter().filter(|(name, _)| !is_secret(name)).collect();
    // Neither asks anything where nobody can answer.
    env.push(("GH_PROMPT_DISABLED".into(), "1".into()));
    env.push(("NO_PROMPT".into(), "1".into()));
    let call = Call {
        program: program.into(),
        args: args.into_iter().map(OsString::from).collect(),
        cwd: world.environment.home_or_root(),
        env,
        input: None,
        limit: LOOK,
        guard: Guard::Trusted,
    };
    let said = world.spawner.capture(&call).ok().filter(|said| said.exit == Exit::Code(0))?;
    token(&said.stdout, format!("`{program}`"))
}

/// What git itself would log in with, if it need not ask.
fn helped(world: &World, place: &Place) -> Option<Token> {
    let scheme = match place.push.transport {
        Transport::Http => "http",
        Transport::Https | Transport::Ssh => "https",
    };
    let pass =
        ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "USER", "LOGNAME", "DISPLAY", "WAYLAND_DISPLAY"];
    let variables: Vec<(&str, OsString)> =
        pass.iter().filter_map(|name| Some((*name, world.environment.get(name)?.to_owned()))).collect();
    let home = world.environment.home()?;
    let password =
        world.git.clone().with_time_limit(LOOK).credential(home, scheme, &place.host, &variables)?;
    token(&password, "git's credential helper".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::remote::{Located, locate};
    use super::*;
    use acquit_core::config::forge::Forge as Settings;

    #[test]
    fn a_token_of_the_environment_is_for_the_host_that_it_is_made_for_or_that_was_named() {
        let asked = |settings: &Settings, url: &str, set: &[(&str, &str)]| {
            let Ok(Located::At(place)) = locate(settings, Some(url), Some(url)) else { panic!("{url}") };
            let set = set.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            variables(&Environment::new(set), &place)
        };
        let usual = Settings::default();
        let named = |kind| Settings { kind: Some(kind), ..Settings::default() };
        for (settings, url, set, expected) in [
            (&usual, "git@github.com:a/b", vec![], "GH_TOKEN GITHUB_TOKEN"),
            (&usual, "https://acme.ghe.com/a/b", vec![], "GH_TOKEN GITHUB_TOKEN"),
            // Anybody can call their host so.
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
            // It is for another one then.
            (&usual, "https://gitlab.com/a/b", vec![("GITLAB_HOST", "git.acme.org")], ""),
            (&usual, "https://gitlab.acme.org/a/b", vec![("GITLAB_HOST", "gitlab.acme.org")], "GITLAB_TOKEN"),
            (&named(Kind::GitLab), "https://git.acme.org/a/b", vec![], "GITLAB_TOKEN"),
            (
                &named(Kind::GitHub),
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
