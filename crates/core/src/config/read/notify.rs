//! The parts of the configuration that say whom to tell: `[notify.…]` and `[report]`.

use super::super::notify::{Channel, Flavour, Notices, Page, Reports, Told, Way};
use super::super::toml::{At, Table, did_you_mean, quoted};
use super::declare;
use crate::schedule::Cron;

/// Where ntfy is if nobody says otherwise.
const NTFY: &str = "https://ntfy.sh";
/// What is told if nobody says otherwise: what needs somebody, and what was done at night.
const USUAL: [Told; 3] = [Told::NeedsPerson, Told::Failed, Told::Report];

#[derive(Clone, Copy)]
enum Kind {
    Ntfy,
    Webhook,
}

/// Reads both, over what another file says. `secrets` are the names that are declared.
pub(super) fn notices(root: &mut Table<'_, '_>, mut under: Notices, secrets: &[&str]) -> Notices {
    for (name, value) in root.table("notify").map(Table::named_entries).unwrap_or_default() {
        let table = value.table().map(|table| table.named(format!("[notify.{}]", name.value)));
        if let Some(channel) = table.and_then(|table| channel(table, secrets)) {
            under.channels.insert(name.value, channel);
        }
    }
    if let Some(table) = root.table("report") {
        under.report = report(table, under.report, secrets);
    }
    under
}

fn channel(mut table: Table<'_, '_>, secrets: &[&str]) -> Option<Channel> {
    let kind = table.word("kind", &[("ntfy", Kind::Ntfy), ("webhook", Kind::Webhook)]);
    table.require("kind", "it can be ntfy or webhook");
    let url = table.string("url").map(|url| checked_url(&table, url));
    let mut events: Vec<Told> = Vec::new();
    let listed = table.strings("events");
    for word in listed.iter().flatten() {
        let known = Told::ALL.iter().find(|(known, _)| *known == word.value);
        if known.is_none() {
            let hint = did_you_mean(&word.value, "events are", Told::ALL.map(|(known, _)| known));
            table.source.report(word.place, format!("unknown event {}", quoted(&word.value)), hint);
        }
        events.extend(known.map(|(_, told)| *told));
    }
    if listed.is_none() {
        events = USUAL.to_vec();
    }
    let way = match kind?.value {
        Kind::Ntfy => {
            let topic = table.string("topic");
            table.require("topic", "name one that is hard to guess: whoever knows it can read it");
            let token = table.string("token").map(|token| declared(&table, token, secrets));
            table.refuse(&["secret"], "ntfy takes a `token`");
            if let (Some(url), Some(_)) = (&url, &token) {
                encrypted(&mut table, url);
            }
            topic.map(|topic| {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                if topic.value.is_empty() || topic.value.len() > 64 || !topic.value.chars().all(plain) {
                    let what = format!("{} is not a topic", quoted(&topic.value));
                    let hint = "letters, digits, `_` and `-`, at most 64 of them".to_owned();
                    table.source.report(topic.place, what, Some(hint));
                }
                Way::Ntfy { url: url.unwrap_or_else(|| NTFY.to_owned()), topic: topic.value, token }
            })
        }
        Kind::Webhook => {
            table.require("url", "say where: url = \"https://ci.example.com/acquit\"");
            let secret = table.string("secret").map(|secret| declared(&table, secret, secrets));
            table.require(
                "secret",
                "requests are signed with it: secret = \"HOOK_KEY\", declared in [secrets]",
            );
            table.refuse(&["topic", "token"], "only ntfy has one");
            url.zip(secret).map(|(url, secret)| Way::Webhook { url, secret })
        }
    };
    table.finish();
    Some(Channel { way: way?, events })
}

fn report(mut table: Table<'_, '_>, under: Reports, secrets: &[&str]) -> Reports {
    let file = table.string("file").map(|file| file.value).or(under.file);
    let page = match table.table("confluence") {
        Some(table) => page(table.named("[report.confluence]".to_owned()), secrets),
        None => under.confluence,
    };
    let at = table.string("at").map_or(under.at, |text| {
        let at = hour(&text.value);
        if at.is_none() {
            let what = format!("{} is not an hour of the day", quoted(&text.value));
            table.source.report(text.place, what, Some("write it as \"07:00\"".to_owned()));
        }
        at
    });
    table.finish();
    Reports { file, confluence: page, at }
}

/// `07:00`, as the line of cron that names it.
fn hour(text: &str) -> Option<Cron> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| (text.len() == 2).then(|| text.parse::<u8>().ok()).flatten();
    format!("{} {} * * *", number(minutes)?, number(hours)?).parse().ok()
}

fn page(mut table: Table<'_, '_>, secrets: &[&str]) -> Option<Page> {
    let url = table.string("url").map(|url| checked_url(&table, url));
    table.require("url", "say where: url = \"https://team.atlassian.net/wiki\"");
    let id = table.string("page");
    table.require("page", "the number in the page's address: page = \"123456\"");
    if let Some(id) = &id
        && (id.value.is_empty() || id.value.len() > 30 || !id.value.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let what = format!("{} is not the number of a page", quoted(&id.value));
        table.source.report(id.place, what, Some("it stands in the page's address".to_owned()));
    }
    let user = table.string("user").map(|user| user.value);
    let token = table.string("token").map(|token| declared(&table, token, secrets));
    table.require("token", "name a secret: token = \"CONFLUENCE_TOKEN\", declared in [secrets]");
    if let Some(url) = &url {
        encrypted(&mut table, url);
    }
    let flavour = table.word("flavour", &Flavour::ALL).map(|word| word.value).unwrap_or_default();
    table.finish();
    Some(Page { url: url?, id: id?.value, user, token: token?, flavour })
}

/// An address to send to, without the slash at its end.
fn checked_url(table: &Table<'_, '_>, url: At<String>) -> String {
    let rest = url.value.strip_prefix("https://").or_else(|| url.value.strip_prefix("http://"));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let odd = |c: char| c.is_control() || c.is_whitespace();
    if host.is_none_or(|host| host.is_empty() || host.contains('@')) || url.value.contains(odd) {
        let what = "this is no address that a message can be sent to".to_owned();
        let hint = "https://host/path, without a name or a password in it".to_owned();
        table.source.report(url.place, what, Some(hint));
    }
    url.value.trim_end_matches('/').to_owned()
}

/// Notes an address that a token would go to in the clear. On the loopback interface nobody reads along.
fn encrypted(table: &mut Table<'_, '_>, url: &str) {
    let Some(rest) = url.strip_prefix("http://") else { return };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<core::net::IpAddr>();
    if host != "localhost" && !address.is_ok_and(|address| address.is_loopback()) {
        let Some(written) = table.value("url") else { return };
        let what = "a token would go there without TLS, where others can read it".to_owned();
        table.source.report(written.place, what, Some("use an address that begins with https://".to_owned()));
    }
}

/// The name of a secret, which must be declared.
fn declared(table: &Table<'_, '_>, name: At<String>, secrets: &[&str]) -> String {
    if !secrets.contains(&name.value.as_str()) {
        let hint = did_you_mean(&name.value, "secrets are", secrets.iter().copied());
        let hint = hint.unwrap_or_else(|| declare(&name.value));
        table.source.report(name.place, format!("unknown secret {}", quoted(&name.value)), Some(hint));
    }
    name.value
}
