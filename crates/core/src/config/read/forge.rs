//! Reads `[forge]`, and the same keys of a stage that publishes.

use super::super::forge::{Forge, Kind};
use super::{Whose, declare};
use crate::publishing;
use crate::toml_reader::{Table, quoted};

/// Reads `[forge]`. `known` are the names of secrets.
pub(super) fn forge(mut table: Table<'_, '_>, usual: Forge, known: &[&str], whose: Whose) -> Forge {
    let source = table.source;
    let kind = table.word("kind", &Kind::ALL).map(|kind| kind.value).or(usual.kind);
    let host = plain(&mut table, "host", "write it as in its address: \"git.example.org\"", |text| {
        let letter = |c: char| c.is_ascii_alphanumeric() || ".-:".contains(c);
        text.chars().all(letter)
    });
    let url = |text: &str| ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
    let api = plain(&mut table, "api", "write its address: \"https://git.example.org/api/v4\"", |text| {
        url(text) && !text.contains(['@', '?', '#'])
    });
    let project = plain(&mut table, "project", "write it as \"group/name\"", is_project);
    let remote_hint = "write the name of a remote, as `git remote` lists it";
    let is_remote = |text: &str| !text.starts_with('-') && !text.contains([':', '~', '^', '*', '\\']);
    let remote = plain(&mut table, "remote", remote_hint, is_remote);
    let push_remote = plain(&mut table, "push_remote", remote_hint, is_remote);
    let token = table.string("token").map(|name| {
        if !known.contains(&name.value.as_str()) {
            let what = format!("unknown secret {}", quoted(&name.value));
            let hint = format!("here stands the name of a secret, never its value; {}", declare(&name.value));
            source.report(name.place, what, Some(hint));
        }
        name.value
    });
    let ca = plain(&mut table, "ca", "write a path that begins with `/` or `~/`", |text| {
        text.starts_with('/') || text.starts_with("~/")
    });
    let proxy = plain(&mut table, "proxy", "write its address: \"http://proxy.example.org:3128\"", url);
    let cost = table.flag("cost").map(|flag| flag.value).or(usual.cost);
    let request = publishing::read(&mut table).over(&usual.request);
    table.finish();
    let named: Vec<String> = [host.clone(), api.as_deref().and_then(host_of)].into_iter().flatten().collect();
    // A token goes only to hosts named in the same file. A host that another file names later does not get
    // it.
    let token_hosts = match &token {
        Some(_) => named.iter().chain(&usual.own_hosts).cloned().collect(),
        None => usual.token_hosts,
    };
    let own_hosts = match whose {
        Whose::User => named,
        Whose::Project => usual.own_hosts,
    };
    Forge {
        kind,
        host: host.or(usual.host),
        api: api.or(usual.api),
        project: project.or(usual.project),
        remote: remote.or(usual.remote),
        push_remote: push_remote.or(usual.push_remote),
        token: token.or(usual.token),
        token_hosts,
        own_hosts,
        ca: ca.or(usual.ca),
        proxy: proxy.or(usual.proxy),
        cost,
        request,
    }
}

/// Reads a text of visible ASCII characters in the given form.
fn plain(
    table: &mut Table<'_, '_>,
    key: &'static str,
    hint: &str,
    fits: impl Fn(&str) -> bool,
) -> Option<String> {
    let text = table.string(key)?;
    let visible = !text.value.is_empty() && text.value.bytes().all(|byte| byte.is_ascii_graphic());
    if !visible || !fits(&text.value) {
        let what = format!("{} does not fit as {}", quoted(&text.value), quoted(key));
        table.source.report(text.place, what, Some(hint.to_owned()));
    }
    Some(text.value)
}

/// Returns host and port of an address.
fn host_of(url: &str) -> Option<String> {
    let authority = url.split_once("://")?.1.split('/').next()?;
    (!authority.is_empty()).then(|| authority.to_ascii_lowercase())
}

/// Returns whether the text is `group/name`, with any number of groups.
fn is_project(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~".contains(c))
    };
    text.contains('/') && text.split('/').all(part)
}
