//! Module proxies and checksum databases of Go.

use super::{Servers, User};

pub(super) fn servers(user: &User<'_>, servers: &mut Servers) {
    let file = settings(user);
    let setting = |name: &str| {
        user.variable(&[name]).map(|(name, value)| (name.to_owned(), value)).or_else(|| {
            let (shown, text) = file.as_ref()?;
            let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
            Some((shown.clone(), line.to_owned()))
        })
    };
    match setting("GOPROXY") {
        Some((origin, list)) => list.split([',', '|']).for_each(|url| servers.add(url, &origin)),
        None => servers.add("https://proxy.golang.org/", "default of Go"),
    }
    match setting("GOSUMDB") {
        Some((_, value)) if value == "off" => {}
        Some((origin, value)) => {
            // `name+key url`, or a bare name.
            let url = value.split_whitespace().nth(1).map_or_else(
                || format!("https://{}/", value.split('+').next().unwrap_or(&value)),
                str::to_owned,
            );
            servers.add(&url, &origin);
        }
        None => servers.add("https://sum.golang.org/", "default of Go"),
    }
}

/// Returns what `go env -w` wrote.
fn settings(user: &User<'_>) -> Option<(String, String)> {
    let named = user.variable(&["GOENV"]).map(|(_, path)| path.into());
    user.files([named.or_else(|| user.config("go/env"))]).into_iter().next()
}
