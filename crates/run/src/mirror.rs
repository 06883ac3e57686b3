//! The mirror of a repository that is known by its address, reached as its forge wants it: with the token that is found for it, with the
//! user's own key of SSH, or without a login.

use std::path::PathBuf;

use acquit_core::config::Config;
use acquit_core::config::forge::Kind;

use crate::forge::{self, Address, Located, Transport};
use crate::git::{Access, Error, PushWay};
use crate::world::World;

/// The folder of mirrors, below acquit's own.
const FOLDER: &str = "mirrors";

/// What SSH needs to find the user's keys.
const SSH: [&str; 4] = ["HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"];

/// The mirror of an address, made if there is none, and up to date.
pub fn refresh(world: &World, config: &Config, url: &str) -> Result<PathBuf, Error> {
    let settings = &config.forge;
    let address = Address::parse(url);
    let ca = settings.ca.as_deref().and_then(|ca| forge::file(world, ca));
    // A token that was named for one host is shown to no other.
    let meant = address.as_ref().filter(|address| {
        settings.token.is_none() || settings.host.as_ref().is_some_and(|host| *host == address.host)
    });
    let place = meant.and_then(|_| match forge::locate(settings, Some(url), Some(url)) {
        Ok(Located::At(place)) => Some(place),
        Ok(Located::Nowhere(_)) | Err(_) => None,
    });
    let token = place.as_ref().and_then(|place| forge::token::find(world, config, place).ok().flatten());
    let access = match (address.map(|address| address.transport), &place, &token) {
        (Some(Transport::Ssh), _, _) => Access::Ssh {
            command: world.environment.get("GIT_SSH_COMMAND").map(ToOwned::to_owned),
            variables: SSH
                .into_iter()
                .filter_map(|name| Some((name, world.environment.get(name)?.to_owned())))
                .collect(),
        },
        (Some(Transport::Https), Some(place), Some(token)) => {
            let user = match place.kind {
                Kind::GitLab => "oauth2",
                Kind::GitHub | Kind::None => "x-access-token",
            };
            Access::Token { user, token: &token.secret }
        }
        _ => Access::Open,
    };
    let way = PushWay { url, access, ca: ca.as_deref(), proxy: settings.proxy.as_deref() };
    world.git.mirror(&world.home.join(FOLDER), &way)
}
