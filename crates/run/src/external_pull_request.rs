//! Pull requests of others: fetches them for review, and comments on them. Commits go into private refs and texts are
//! size-limited; both stay untrusted.

use acquit_core::config::Config;

use crate::forge::{self, Error, Located, Place, Seen, Token};
use crate::git::{Offer, PushWay, Source};
use crate::leg::chain;
use crate::runtime::Runtime;

/// A pull request with its commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Description by its forge.
    pub seen: Seen,
    /// Its commits.
    pub offer: Offer,
}

/// Looks up pull request `number` at the forge of `source` and fetches its commits into `into`: the same repository, or
/// one that borrows its objects.
pub fn fetch(
    runtime: &Runtime,
    config: &Config,
    source: &Source,
    into: &Source,
    number: u64,
) -> Result<Offered, Error> {
    let settings = &config.forge;
    let place = locate(runtime, config, source)?;
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
    let offer = into
        .fetch_request(&runtime.git, &way, number, &seen.head, &seen.base)
        .map_err(|error| git(&error))?;
    Ok(Offered { seen, offer })
}

/// Posts a comment on pull request `number`, or updates our own that starts with the line `mark`. Returns its address.
pub fn comment(
    runtime: &Runtime,
    config: &Config,
    source: &Source,
    number: u64,
    mark: &str,
    text: &str,
) -> Result<String, Error> {
    let place = locate(runtime, config, source)?;
    let Some(token) = forge::token::find(runtime, config, &place)? else {
        let words = format!("comment on request {number}: there is no token for {}", place.host);
        return Err(Error::Setting(words));
    };
    let text = token.redactor().text(text);
    forge::open(runtime, &config.forge, &place, Some(&token))?.comment(number, mark, &text)
}

fn locate(runtime: &Runtime, config: &Config, source: &Source) -> Result<Place, Error> {
    match forge::of(runtime, &config.forge, source)? {
        Located::At(place) => Ok(*place),
        Located::Nowhere(why) => Err(Error::Setting(format!("find the forge: {why}"))),
    }
}
