//! Reads `[notify.…]` and `[report]`.

use super::super::channel::{Fields, Target};
use super::super::notify::{Channel, Flavour, LEVELS, Notices, Page, Reports, Told};
use super::layers::Layers;
use crate::level::Level;
use crate::schedule::Cron;
use crate::toml_reader::{Table, did_you_mean, quoted};

/// Default events: what needs a person, and what happened at night.
const USUAL: [Told; 3] = [Told::NeedsPerson, Told::Failed, Told::Report];

/// Reads both sections on top of another file's settings. `secrets` are the declared names.
pub(super) fn notices(
    root: &mut Table<'_, '_>,
    mut under: Notices,
    secrets: &[&str],
    layers: &Layers,
) -> Notices {
    for (name, value) in root.table("notify").map(Table::named_entries).unwrap_or_default() {
        let table = value.table().map(|table| table.named(format!("[notify.{}]", name.value)));
        let inherited = layers.inherited(&["notify", name.value.as_str()]);
        let channel = table.and_then(|table| table.over(&inherited, |table| channel(table, secrets)));
        if let Some(channel) = channel {
            under.channels.insert(name.value, channel);
        }
    }
    if let Some(table) = root.table("report") {
        under.report = report(table, under.report, secrets, layers);
    }
    under
}

fn channel(mut table: Table<'_, '_>, secrets: &[&str]) -> Option<Channel> {
    let target = Target::read(&mut table, secrets);
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
    let projects = table.strings("projects").unwrap_or_default();
    let projects = projects.into_iter().map(|name| name.value).collect();
    let level = table.word("level", &LEVELS).map_or(Level::Info, |level| level.value);
    let hours = table.string("hours").and_then(|text| {
        let hours = text.value.parse().ok();
        if hours.is_none() {
            let what = format!("{} are not hours of the day", quoted(&text.value));
            table.source.report(text.place, what, Some("write them as \"08:00-20:00\"".to_owned()));
        }
        hours
    });
    let answer_links = table.flag("answer_links").is_some_and(|flag| flag.value);
    if target.is_ok() {
        // With an unknown kind, any key may be valid.
        table.finish();
    }
    Some(Channel { target: target.ok()??, events, projects, level, hours, answer_links })
}

fn report(mut table: Table<'_, '_>, under: Reports, secrets: &[&str], layers: &Layers) -> Reports {
    let file = table.string("file").map(|file| file.value).or(under.file);
    let page = match table.table("confluence") {
        Some(table) => {
            let inherited = layers.inherited(&["report", "confluence"]);
            let table = table.named("[report.confluence]".to_owned());
            table.over(&inherited, |table| page(table, secrets))
        }
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

/// Converts `07:00` to a cron line.
fn hour(text: &str) -> Option<Cron> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| (text.len() == 2).then(|| text.parse::<u8>().ok()).flatten();
    format!("{} {} * * *", number(minutes)?, number(hours)?).parse().ok()
}

fn page(mut table: Table<'_, '_>, secrets: &[&str]) -> Option<Page> {
    let url = Fields { table: &mut table, secrets }.url();
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
    let token = Fields { table: &mut table, secrets }.secret("token");
    table.require("token", "name a secret: token = \"CONFLUENCE_TOKEN\", declared in [secrets]");
    if let Some(url) = &url {
        Fields { table: &mut table, secrets }.encrypted(url);
    }
    let flavour = table.word("flavour", &Flavour::ALL).map(|word| word.value).unwrap_or_default();
    table.finish();
    Some(Page { url: url?, id: id?.value, user, token: token?, flavour })
}
