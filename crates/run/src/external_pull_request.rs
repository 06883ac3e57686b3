//! A request at a forge that others made, brought here to be looked at. Its commits come into private refs, its words are bounded;
//! both stay what they are: untrusted.

use acquit_core::config::Config;

use crate::forge::{self, Error, Located, Seen, Token};
use crate::git::{Offer, PushWay, Source};
use crate::leg::chain;
use crate::runtime::Runtime;

/// A request, with its commits in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// As its forge tells of it.
    pub seen: Seen,
    /// Its commits.
    pub offer: Offer,
}

/// Looks at the request of this number and fetches it.
pub fn fetch(runtime: &Runtime, config: &Config, source: &Source, number: u64) -> Result<Offered, Error> {
    let settings = &config.forge;
    let place = match forge::of(runtime, settings, source)? {
        Located::At(place) => *place,
        Located::Nowhere(why) => return Err(Error::Setting(format!("find the forge: {why}"))),
    };
    let token = forge::token::find(runtime, config, &place)?;
    let mut seen = forge::open(runtime, settings, &place, token.as_ref())?.look(number)?;
    let redactor = token.as_ref().map(Token::redactor).unwrap_or_default();
    seen.title = redactor.text(&seen.title);
    seen.text = redactor.text(&seen.text);
    let git = |error: &crate::git::Error| Error::Setting(format!("fetch request {number}: {}", chain(error)));
    let address = &place.upstream;
    let access = forge::access(runtime, place.kind, address.transport, token.as_ref());
    let ca = forge::ca(runtime, settings);
    let way = PushWay { url: &address.url, access, ca: ca.as_deref(), proxy: settings.proxy.as_deref() };
    let offer = source
        .fetch_request(&runtime.git, &way, number, &seen.head, &seen.base)
        .map_err(|error| git(&error))?;
    Ok(Offered { seen, offer })
}
