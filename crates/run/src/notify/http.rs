//! One HTTP request with a JSON body, limited in time and size. The address is the user's own; the answer is untrusted.

use std::time::Duration;

use acquit_core::agent::shorten;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ureq::http::{Request, Response};

use super::Error;
use crate::client::Client;
use crate::secrets::Secret;

/// Timeout of a request. A server that is up answers in a second. A message can wait, but the daemon should not.
pub const TIME_LIMIT: Duration = Duration::from_secs(15);
/// Connection timeout.
const CONNECT: Duration = Duration::from_secs(5);
/// Maximum size of an answer: a wiki page with years of reports.
const LONGEST: u64 = 8 * 1024 * 1024;
/// Maximum length of a server's message to show.
const WORDS: usize = 200;

/// A value for `Authorization`. Has no `Debug`.
pub(super) struct Login(String);

/// Formats a token for the header.
pub(super) fn bearer(token: &Secret) -> Login {
    Login(format!("Bearer {}", String::from_utf8_lossy(token.bytes())))
}

/// Formats a user name and a token for the header.
pub(super) fn basic(user: &str, token: &Secret) -> Login {
    let mut both = format!("{user}:").into_bytes();
    both.extend_from_slice(token.bytes());
    Login(format!("Basic {}", STANDARD.encode(&both)))
}

pub(super) fn post(
    url: &str,
    headers: &[(&str, &str)],
    login: Option<&Login>,
    body: &str,
) -> Result<String, Error> {
    call("POST", url, headers, login, Some(body))
}

/// Sends JSON to a server that the user named, with headers of the user. Returns why that failed.
pub fn send_json(url: &str, headers: &[(&str, &str)], body: &str) -> Result<(), String> {
    post(url, headers, None, body).map(drop).map_err(|error| acquit_core::failure::chain(&error))
}

pub(super) fn put(url: &str, login: &Login, body: &str) -> Result<String, Error> {
    call("PUT", url, &[], Some(login), Some(body))
}

pub(super) fn get(url: &str, login: &Login) -> Result<String, Error> {
    call("GET", url, &[], Some(login), None)
}

fn call(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    login: Option<&Login>,
    body: Option<&str>,
) -> Result<String, Error> {
    let agent = Client { connect: CONNECT, call: TIME_LIMIT, proxy: None, roots: None }.open();
    let mut request = Request::builder().method(method).uri(url).header("Accept", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(Login(value)) = login {
        request = request.header("Authorization", value);
    }
    // Do not show what does not fit into a header: it may be the token.
    let malformed = |_| {
        Error::Away(
            "the address, or what is sent with it, has characters that HTTP does not allow".to_owned(),
        )
    };
    let answer = match body {
        Some(body) => {
            let request = request.header("Content-Type", "application/json").body(body.to_owned());
            agent.run(request.map_err(malformed)?)
        }
        None => agent.run(request.body(()).map_err(malformed)?),
    };
    read(answer.map_err(|error| Error::Away(error.to_string()))?)
}

fn read(mut answer: Response<ureq::Body>) -> Result<String, Error> {
    let status = answer.status().as_u16();
    let seconds = answer.headers().get("Retry-After").and_then(|value| value.to_str().ok()?.parse().ok());
    let text = answer.body_mut().with_config().limit(LONGEST).read_to_string();
    if (200..300).contains(&status) {
        return text.map_err(|error| Error::Away(error.to_string()));
    }
    let said = text.unwrap_or_default();
    let plain: String =
        said.chars().map(|c| if acquit_core::prompt::is_hidden(c) || c == '\n' { ' ' } else { c }).collect();
    let words = match plain.trim() {
        "" => String::new(),
        said => format!(": {}", shorten(said, WORDS)),
    };
    Err(Error::Refused { status, words, after: seconds.map(Duration::from_secs) })
}
