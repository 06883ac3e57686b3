//! Adds reports to a Confluence page. There is no API to append: the whole page is read, the report is inserted at the
//! top, and the result is written as the next version. If someone else wrote in the meantime, the server reports a
//! conflict and the page is read again.

use acquit_core::config::notify::{Flavour, Page};
use serde_json::{Value, json};

use super::{Error, http};
use crate::secrets::Secret;

/// How often to retry after a conflict. Beyond that, the message is retried later.
const TRIES: u32 = 4;
/// Status for a page that has another version by now.
const CONFLICT: u16 = 409;

/// Inserts a report at the top of the page, unless it is there. `body` is our own XHTML, with everything else escaped.
pub(super) fn add(page: &Page, token: &Secret, key: &str, body: &str) -> Result<(), Error> {
    let login = match &page.user {
        Some(user) => http::basic(user, token),
        None => http::bearer(token),
    };
    // The editor removes comments, but not a line of text.
    let mark = format!("<p><em>acquit {}</em></p>", acquit_core::night::morning_report::xhtml(key));
    let mut attempt = 1;
    loop {
        let (version, title, old) = read(page, &login)?;
        if old.contains(&mark) {
            return Ok(());
        }
        match write(page, &login, version + 1, &title, &format!("{body}{mark}{old}")) {
            Err(Error::Refused { status: CONFLICT, .. }) if attempt < TRIES => attempt += 1,
            done => return done,
        }
    }
}

fn read(page: &Page, login: &http::Login) -> Result<(u64, String, String), Error> {
    let Page { url, id, .. } = page;
    let address = match page.flavour {
        Flavour::Cloud => format!("{url}/api/v2/pages/{id}?body-format=storage"),
        Flavour::DataCenter => format!("{url}/rest/api/content/{id}?expand=body.storage,version"),
    };
    let found: Value =
        serde_json::from_str(&http::get(&address, login)?).map_err(|_| Error::Nonsense("it is not JSON"))?;
    let text = |place: &str| found.pointer(place).and_then(Value::as_str).map(str::to_owned);
    let version = found.pointer("/version/number").and_then(Value::as_u64);
    match (version, text("/title"), text("/body/storage/value")) {
        (Some(version), Some(title), Some(body)) => Ok((version, title, body)),
        _ => Err(Error::Nonsense("a page without version, title or body")),
    }
}

fn write(page: &Page, login: &http::Login, version: u64, title: &str, body: &str) -> Result<(), Error> {
    let Page { url, id, .. } = page;
    let (address, content) = match page.flavour {
        Flavour::Cloud => (
            format!("{url}/api/v2/pages/{id}"),
            json!({ "id": id, "status": "current", "title": title,
                "body": { "representation": "storage", "value": body },
                "version": { "number": version, "message": "acquit" } }),
        ),
        Flavour::DataCenter => (
            format!("{url}/rest/api/content/{id}"),
            json!({ "id": id, "type": "page", "title": title,
                "body": { "storage": { "representation": "storage", "value": body } },
                "version": { "number": version, "message": "acquit" } }),
        ),
    };
    http::put(&address, login, &content.to_string()).map(drop)
}
