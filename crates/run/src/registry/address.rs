//! Addresses of registries, as client configurations write them.

use acquit_core::sandbox::{DEFAULT_PORT, Host};

/// Returns the host of a URL, with its port if that is not 443. `None` if it is not the URL of a server.
pub(super) fn host(url: &str) -> Option<Host> {
    let (scheme, rest) = url.trim().split_once("://")?;
    // `sparse+https`, `git+https`, `registry+https`.
    let port = match scheme.rsplit('+').next()? {
        "https" => 443,
        "http" => 80,
        "ssh" | "git" => 22,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '"', '\'', ' ']).next()?;
    let place = authority.rsplit('@').next()?;
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let text = if has_port || port == DEFAULT_PORT { place.to_owned() } else { format!("{place}:{port}") };
    text.parse().ok()
}

/// Returns whether an untrusted file may name this host: a host name of the public internet, at the HTTPS port.
pub(super) fn is_public(host: &Host) -> bool {
    const LOCAL: [&str; 6] = ["local", "localhost", "internal", "lan", "home", "arpa"];
    let name = host.name();
    let last = name.rsplit('.').next().unwrap_or(name);
    host.address().is_none()
        && host.port() == DEFAULT_PORT
        && name.contains('.')
        && !LOCAL.contains(&last)
        && last.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Removes the credentials from every URL in a text: `https://user:token@host/` becomes `https://host/`.
pub(super) fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        out.push_str(before);
        let end =
            after.find(['/', '?', '#', '"', '\'', ' ', '\t', '\n', '\r', ',', '<']).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        out.push_str(authority.rsplit('@').next().unwrap_or(authority));
        rest = tail;
    }
    out + rest
}
