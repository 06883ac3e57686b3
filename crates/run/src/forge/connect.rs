//! Connection settings for a forge: credentials, CA certificates, proxy. [`open`] connects to its API, and git connects
//! to its repositories with [`access`]. The same configuration applies to both.

use std::path::PathBuf;

use acquit_core::config::forge::{Forge as Settings, Kind};

use super::error::Error;
use super::remote::{Place, Transport};
use super::token::Token;
use super::{Forge, github, gitlab, http};
use crate::git::Access;
use crate::runtime::Runtime;

/// Variables that SSH needs to find the user's keys and agents.
const SSH: [&str; 4] = ["HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"];

/// Opens a forge's API.
pub fn open<'w>(
    runtime: &'w Runtime,
    settings: &Settings,
    place: &'w Place,
    token: Option<&'w Token>,
) -> Result<Box<dyn Forge + 'w>, Error> {
    let ca = ca(runtime, settings);
    let http = |scheme, headers| {
        http::Http::new(http::Way {
            base: place.api.clone(),
            token: token.map(|token| &token.secret),
            scheme,
            headers,
            ca: ca.as_deref(),
            proxy: settings.proxy.as_deref(),
            limit: http::CALL,
            now: runtime.now,
            environment: &runtime.environment,
        })
    };
    Ok(match place.kind {
        Kind::GitHub => Box::new(github::GitHub::new(http(http::Scheme::Bearer, github::HEADERS)?, place)),
        Kind::GitLab => Box::new(gitlab::GitLab::new(http(http::Scheme::Private, &[])?, place)),
        Kind::None => return Err(Error::Setting("there is no forge".to_owned())),
    })
}

/// Returns how git authenticates at an address: with the user's own SSH setup, with the token if there is one, or
/// without credentials.
pub fn access<'t>(
    runtime: &Runtime,
    kind: Kind,
    transport: Transport,
    token: Option<&'t Token>,
) -> Access<'t> {
    match (transport, token) {
        (Transport::Ssh, _) => {
            let variable = |name: &'static str| Some((name, runtime.environment.get(name)?.to_owned()));
            Access::Ssh {
                command: runtime.environment.get("GIT_SSH_COMMAND").map(ToOwned::to_owned),
                variables: SSH.into_iter().filter_map(variable).collect(),
            }
        }
        (Transport::Https | Transport::Http, None) => Access::Open,
        (Transport::Https | Transport::Http, Some(token)) => {
            let user = match kind {
                Kind::GitHub | Kind::None => "x-access-token",
                Kind::GitLab => "oauth2",
            };
            Access::Token { user, token: &token.secret }
        }
    }
}

/// Returns the configured file of CA certificates, if any. Its path may start with `~/`.
pub fn ca(runtime: &Runtime, settings: &Settings) -> Option<PathBuf> {
    runtime.environment.expand(settings.ca.as_deref()?)
}
