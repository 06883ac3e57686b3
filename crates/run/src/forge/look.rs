//! One request as its forge tells of it: what it is called, and what it is to be merged into. Everything in it was written by
//! others.

use acquit_core::agent::shorten;
use acquit_core::config::forge::{Forge as Settings, Kind};

use super::error::Error;
use super::feedback::text;
use super::http::{CALL, Http, Scheme, Way, encoded};
use super::remote::Place;
use super::token::Token;
use super::{file, github};
use crate::world::World;

/// The longest title that is taken; forges allow 255 or so.
const LONGEST_TITLE: usize = 200;
/// The longest text: a few pages, as of a comment.
const LONGEST_TEXT: usize = 8 * 1024;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its title.
    pub title: String,
    /// What its author says about it.
    pub text: String,
    /// Its page.
    pub url: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// Where git finds its newest commit, in the project that it is made in.
    pub head: String,
}

/// Looks at the request of this number.
pub fn look(
    world: &World,
    settings: &Settings,
    place: &Place,
    token: Option<&Token>,
    number: u64,
) -> Result<Seen, Error> {
    let doing = "look at the request";
    let ca = settings.ca.as_deref().and_then(|ca| file(world, ca));
    let http = |scheme, headers| {
        Http::new(Way {
            base: place.api.clone(),
            token: token.map(|token| &token.secret),
            scheme,
            headers,
            ca: ca.as_deref(),
            proxy: settings.proxy.as_deref(),
            limit: CALL,
            now: world.now,
            environment: &world.environment,
        })
    };
    let (answer, [said, page, base], head) = match place.kind {
        Kind::GitHub => {
            let parts: Vec<String> = place.project.split('/').map(encoded).collect();
            let path = format!("/repos/{}/pulls/{number}", parts.join("/"));
            let answer = http(Scheme::Bearer, github::HEADERS)?.get(doing, &path)?.body;
            (answer, ["/body", "/html_url", "/base/ref"], format!("refs/pull/{number}/head"))
        }
        Kind::GitLab => {
            let path = format!("/projects/{}/merge_requests/{number}", encoded(&place.project));
            let answer = http(Scheme::Private, &[])?.get(doing, &path)?.body;
            let fields = ["/description", "/web_url", "/target_branch"];
            (answer, fields, format!("refs/merge-requests/{number}/head"))
        }
        Kind::None => return Err(Error::Setting("look at the request: there is no forge".to_owned())),
    };
    let base = text(&answer, base);
    if base.is_empty() {
        let words = "no branch that it is to be merged into".to_owned();
        return Err(Error::Nonsense { doing, words });
    }
    Ok(Seen {
        title: shorten(text(&answer, "/title").trim(), LONGEST_TITLE),
        text: shorten(text(&answer, said).trim(), LONGEST_TEXT),
        url: shorten(text(&answer, page), LONGEST_TITLE),
        base: base.to_owned(),
        head,
    })
}

/// The number in what a person calls a request by: `12`, `#12`, `!12`, or the address of its page.
pub fn number(words: &str) -> Option<u64> {
    let plain = words.strip_prefix(['#', '!']).unwrap_or(words);
    if let Ok(number) = plain.parse() {
        return Some(number);
    }
    let (_, path) = words.split_once("://")?;
    let mut parts = path.split('/').skip_while(|part| !matches!(*part, "pull" | "merge_requests"));
    parts.next()?;
    parts.next()?.split(['?', '#']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_called_by_number_or_page() {
        for (words, expected) in [
            ("12", Some(12)),
            ("#12", Some(12)),
            ("!12", Some(12)),
            ("https://github.com/acme/widget/pull/12", Some(12)),
            ("https://github.com/acme/widget/pull/12/files#diff", Some(12)),
            ("https://git.example.org/g/s/w/-/merge_requests/7?tab=x", Some(7)),
            ("https://github.com/acme/widget", None),
            ("my-branch", None),
            ("pull/12", None),
            ("-1", None),
        ] {
            assert_eq!(number(words), expected, "{words}");
        }
    }
}
