//! A request at a forge that others made, brought here to be looked at. Its commits come into private refs, its words are bounded;
//! both stay what they are: untrusted.

use acquit_core::config::Config;
use acquit_core::config::forge::Kind;

use crate::forge::{self, Error, Located, Seen, Transport};
use crate::git::{Access, Offer, PushWay, Source};
use crate::harness::chain;
use crate::secrets::Redactor;
use crate::world::World;

/// What SSH needs to find the user's keys.
const SSH: [&str; 4] = ["HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"];

/// A request, with its commits in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// As its forge tells of it.
    pub seen: Seen,
    /// Its commits.
    pub offer: Offer,
}

/// Looks at the request of this number and fetches it.
pub fn fetch(world: &World, config: &Config, source: &Source, number: u64) -> Result<Offered, Error> {
    let settings = &config.forge;
    let place = match forge::of(world, settings, source)? {
        Located::At(place) => *place,
        Located::Nowhere(why) => return Err(Error::Setting(format!("find the forge: {why}"))),
    };
    let token = forge::token::find(world, config, &place)?;
    let mut seen = forge::look(world, settings, &place, token.as_ref(), number)?;
    if let Some(token) = &token {
        let redactor = Redactor::default().with(std::slice::from_ref(&token.secret));
        seen.title = redactor.text(&seen.title);
        seen.text = redactor.text(&seen.text);
    }
    let git = |error: &crate::git::Error| Error::Setting(format!("fetch request {number}: {}", chain(error)));
    let address = &place.upstream;
    let access = match (address.transport, &token) {
        (Transport::Ssh, _) => Access::Ssh {
            command: world.environment.get("GIT_SSH_COMMAND").map(ToOwned::to_owned),
            variables: SSH
                .into_iter()
                .filter_map(|name| Some((name, world.environment.get(name)?.to_owned())))
                .collect(),
        },
        (Transport::Https | Transport::Http, None) => Access::Open,
        (Transport::Https | Transport::Http, Some(token)) => Access::Token {
            user: match place.kind {
                Kind::GitLab => "oauth2",
                Kind::GitHub | Kind::None => "x-access-token",
            },
            token: &token.secret,
        },
    };
    let ca = settings.ca.as_deref().and_then(|ca| forge::file(world, ca));
    let way = PushWay { url: &address.url, access, ca: ca.as_deref(), proxy: settings.proxy.as_deref() };
    let offer = source
        .fetch_request(&world.git, &way, number, &seen.head, &seen.base)
        .map_err(|error| git(&error))?;
    Ok(Offered { seen, offer })
}
