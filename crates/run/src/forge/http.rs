//! API calls of a forge: JSON over HTTP, limited in time and size, to exactly one host.
//!
//! The token only goes where the configuration says: redirects are not followed, pages of a list are fetched only from
//! the same address, and a proxy comes from the configuration, never from the environment. Answers are untrusted input.

use std::path::Path;
use std::time::Duration;

use acquit_core::agent::shorten;
use acquit_core::time::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use ureq::http::{HeaderMap, Method, Request};
use ureq::tls::{PemItem, RootCerts, parse_pem};

use super::error::Error;
use crate::client::Client;
use crate::fault;
use crate::runtime::Environment;
use crate::secrets::{Redactor, Secret};

/// Connection timeout. A forge that is up answers sooner.
const CONNECT: Duration = Duration::from_secs(15);
/// Timeout of a call. Forges close their side after ten to thirty seconds, and all calls of a leg together stay within
/// its lease.
pub(super) const CALL: Duration = Duration::from_secs(30);
/// Maximum size of an answer: a hundred pull requests with the longest possible text.
const LONGEST: u64 = 16 * 1024 * 1024;
/// Maximum size of a file of certificates.
const LARGEST_CA: u64 = 4 * 1024 * 1024;
/// Maximum number of pages of a list, a hundred entries each. A review with more than a thousand comments is
/// unrealistic.
const PAGES: usize = 10;
/// Maximum length of a forge's message to show.
const WORDS: usize = 400;
/// Maximum wait in seconds that a forge may request: a day. A longer one is ignored as implausible.
const LONGEST_WAIT: u64 = 24 * 60 * 60;

/// How to send the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// `Authorization: Bearer`.
    Bearer,
    /// `PRIVATE-TOKEN`.
    Private,
}

/// Client for one API.
pub(super) struct Http<'w> {
    agent: ureq::Agent,
    base: String,
    token: Option<&'w Secret>,
    /// Redacts the token from answers before anything is truncated, because half a token would not be recognized.
    redactor: Redactor,
    scheme: Scheme,
    headers: &'static [(&'static str, &'static str)],
    now: fn() -> Timestamp,
    environment: &'w Environment,
}

/// Settings for creating a client. Those with the lifetime `'c` are not needed afterwards.
pub(super) struct Way<'w, 'c> {
    pub(super) base: String,
    pub(super) token: Option<&'w Secret>,
    pub(super) scheme: Scheme,
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) ca: Option<&'c Path>,
    pub(super) proxy: Option<&'c str>,
    /// Timeout of a call.
    pub(super) limit: Duration,
    pub(super) now: fn() -> Timestamp,
    pub(super) environment: &'w Environment,
}

/// A successful answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) body: Value,
    next: Option<String>,
}

impl<'w> Http<'w> {
    pub(super) fn new(way: Way<'w, '_>) -> Result<Self, Error> {
        let setting = |what: &str, error: &dyn std::fmt::Display| Error::Setting(format!("{what}: {error}"));
        let proxy = way
            .proxy
            .map(|proxy| ureq::Proxy::new(proxy).map_err(|e| setting("use `proxy` of [forge]", &e)))
            .transpose()?;
        let certificates =
            way.ca.map(certificates).transpose().map_err(|e| setting("use `ca` of [forge]", &e))?;
        let roots = certificates.map(|certificates| RootCerts::new_with_certs(&certificates));
        Ok(Self {
            agent: Client { connect: CONNECT, call: way.limit, proxy, roots }.open(),
            base: way.base.trim_end_matches('/').to_owned(),
            token: way.token,
            redactor: way
                .token
                .map(|token| Redactor::default().with(std::slice::from_ref(token)))
                .unwrap_or_default(),
            scheme: way.scheme,
            headers: way.headers,
            now: way.now,
            environment: way.environment,
        })
    }

    /// Sends a GET request.
    pub(super) fn get(&self, doing: &'static str, path: &str) -> Result<Answer, Error> {
        self.call(doing, Method::GET, &format!("{}{path}", self.base), None)
    }

    /// Sends a request that changes something. Tests can end the process before and after it.
    pub(super) fn send(
        &self,
        doing: &'static str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        self.send_to(doing, method, &format!("{}{path}", self.base), body)
    }

    /// Does the same at another path of the same host, because GraphQL is not below the REST path.
    pub(super) fn send_to(
        &self,
        doing: &'static str,
        method: Method,
        url: &str,
        body: &Value,
    ) -> Result<Value, Error> {
        fault::point("forge", self.environment);
        let answer = self.call(doing, method, url, Some(body));
        fault::point("forge", self.environment);
        Ok(answer?.body)
    }

    /// Sends a query with a body, for GraphQL.
    pub(super) fn ask(&self, doing: &'static str, url: &str, body: &Value) -> Result<Value, Error> {
        Ok(self.call(doing, Method::POST, url, Some(body))?.body)
    }

    /// Returns all entries of a list, page by page, up to the limit. `path` has a query.
    pub(super) fn list(&self, doing: &'static str, path: &str) -> Result<Vec<Value>, Error> {
        let joint = if path.ends_with('?') { "" } else { "&" };
        let mut url = format!("{}{path}{joint}per_page=100", self.base);
        let mut all = Vec::new();
        for _ in 0..PAGES {
            let answer = self.call(doing, Method::GET, &url, None)?;
            match answer.body {
                Value::Array(page) => all.extend(page),
                _ => return Err(Error::Nonsense { doing, words: "no list".to_owned() }),
            }
            match answer.next {
                Some(next) if origin(&next) == origin(&self.base) => url = next,
                Some(_) | None => break,
            }
        }
        Ok(all)
    }

    fn call(
        &self,
        doing: &'static str,
        method: Method,
        url: &str,
        body: Option<&Value>,
    ) -> Result<Answer, Error> {
        let away = |words: String| Error::Away { doing, words };
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in self.headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = self.token {
            let token = token.text().ok_or_else(|| {
                Error::Setting("use the token of the forge: it has characters that no token has".to_owned())
            })?;
            request = match self.scheme {
                Scheme::Bearer => request.header("authorization", format!("Bearer {token}")),
                Scheme::Private => request.header("private-token", token),
            };
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        // Only a setting can make an invalid request: addresses and names are checked or encoded.
        let request = request
            .body(bytes)
            .map_err(|_| Error::Setting(format!("{doing}: the forge's address is not one")))?;
        let mut answer = self.agent.run(request).map_err(|error| unreached(doing, &error))?;
        let status = answer.status().as_u16();
        let next = next_page(answer.headers(), url);
        let seen = Seen::of(status, answer.headers());
        let bytes = answer
            .body_mut()
            .with_config()
            .limit(LONGEST)
            .read_to_vec()
            .map_err(|error| away(shown(&error.to_string())))?;
        let body: Value = serde_json::from_slice(&self.redactor.bytes(&bytes)).unwrap_or(Value::Null);
        match seen.trouble(doing, &body, (self.now)()) {
            Some(error) => Err(error),
            None => Ok(Answer { body, next }),
        }
    }
}

/// Classifies a missing answer. A forge with an invalid certificate will not have a valid one later either.
fn unreached(doing: &'static str, error: &ureq::Error) -> Error {
    let words = shown(&error.to_string());
    if words.to_lowercase().contains("certificate") {
        let words = format!(
            "its certificate is not trusted ({words}); if it has an authority of its own, name the file of that as `ca` in [forge]"
        );
        return Error::Denied { doing, words };
    }
    Error::Away { doing, words }
}

/// The parts of the response head that matter for errors.
struct Seen {
    status: u16,
    retry_after: Option<u64>,
    remaining: Option<u64>,
    reset: Option<u64>,
    location: bool,
}

impl Seen {
    fn of(status: u16, headers: &HeaderMap) -> Self {
        let number = |names: &[&str]| {
            names.iter().find_map(|name| headers.get(*name)?.to_str().ok()?.trim().parse().ok())
        };
        Self {
            status,
            retry_after: number(&["retry-after"]),
            remaining: number(&["x-ratelimit-remaining", "ratelimit-remaining"]),
            reset: number(&["x-ratelimit-reset", "ratelimit-reset"]),
            location: headers.contains_key("location"),
        }
    }

    /// Returns the error, if there is one.
    fn trouble(&self, doing: &'static str, body: &Value, now: Timestamp) -> Option<Error> {
        let words = message(body);
        let lower = words.to_lowercase();
        let limited = self.status == 429
            || (self.status == 403
                && (self.retry_after.is_some()
                    || self.remaining == Some(0)
                    || lower.contains("rate limit")
                    || lower.contains("abuse detection")));
        Some(match self.status {
            200..=299 => return None,
            _ if limited => {
                let wait = self.retry_after.or_else(|| {
                    let now = u64::try_from(now.0 / 1000).ok()?;
                    self.reset.filter(|_| self.remaining.is_none_or(|left| left == 0))?.checked_sub(now)
                });
                let wait = wait.map(|seconds| Duration::from_secs(seconds.min(LONGEST_WAIT)));
                Error::Busy { doing, wait, words }
            }
            300..=399 => {
                let moved =
                    if self.location { "the project has moved" } else { "it answered with a redirect" };
                let words =
                    format!("{moved}, and a token is not sent after it; set `project` or `api` in [forge]");
                Error::Denied { doing, words }
            }
            401 => Error::Denied {
                doing,
                words: format!("the token is not accepted ({words}); log in anew, or set another one"),
            },
            403 => Error::Denied { doing, words: format!("the token may not do this: {words}") },
            404 => Error::Denied {
                doing,
                words: format!(
                    "the forge says there is no such thing ({words}), which is also what it says of what the token may not see"
                ),
            },
            408 | 425 | 500..=599 => Error::Away { doing, words: format!("status {}: {words}", self.status) },
            status => Error::Refused { doing, status, words },
        })
    }
}

/// Collects the forge's message and those of its errors.
fn message(body: &Value) -> String {
    let mut words = Vec::new();
    for key in ["message", "error", "error_description"] {
        gather(body.get(key).unwrap_or(&Value::Null), &mut words);
    }
    for error in body.get("errors").and_then(Value::as_array).into_iter().flatten() {
        gather(error.get("message").unwrap_or(error), &mut words);
    }
    words.dedup();
    if words.is_empty() { "no reason given".to_owned() } else { shown(&words.join("; ")) }
}

fn gather(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::String(text) => words.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| gather(value, words)),
        Value::Object(map) => {
            for (key, value) in map {
                let mut inner = Vec::new();
                gather(value, &mut inner);
                words.extend(inner.into_iter().map(|text| format!("{key}: {text}")));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Formats a forge's message as one line.
pub(super) fn shown(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    let visible: String =
        line.join(" ").chars().map(|c| if acquit_core::prompt::is_hidden(c) { '?' } else { c }).collect();
    shorten(&visible, WORDS)
}

/// Returns the next page of a list: GitHub names it in `Link`, GitLab by its number.
fn next_page(headers: &HeaderMap, url: &str) -> Option<String> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::to_owned);
    if let Some(link) = text("link") {
        let is_next =
            |part: &&str| part.split(';').skip(1).any(|p| p.trim().trim_matches('"') == "rel=\"next");
        let next = link.split(',').find(is_next)?;
        let address = next.split(';').next()?.trim();
        return Some(address.strip_prefix('<')?.strip_suffix('>')?.to_owned());
    }
    let number: u32 = text("x-next-page")?.trim().parse().ok()?;
    let (path, query) = url.split_once('?')?;
    let others = query.split('&').filter(|part| !part.starts_with("page="));
    Some(format!("{path}?{}&page={number}", others.collect::<Vec<_>>().join("&")))
}

/// Returns scheme, host and port of an address.
fn origin(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    url[start..].find('/').map_or(url, |end| &url[..start + end])
}

/// Characters to percent-encode: all but the unreserved ones.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Encodes one segment of a path.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

fn certificates(path: &Path) -> Result<Vec<ureq::tls::Certificate<'static>>, String> {
    let size = std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    if size > LARGEST_CA {
        return Err(format!("{} has {size} bytes", path.display()));
    }
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let certificates: Vec<_> = parse_pem(&text)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(format!("{} has no certificate in it", path.display()));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests;
