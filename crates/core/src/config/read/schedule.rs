//! Reads `[[schedule]]`.

use std::collections::BTreeMap;

use super::clock;
use super::layers::Layers;
use crate::schedule::{CatchUp, Categories, Cron, Order, Overlap, Schedule, WEEKDAYS};
use crate::toml_reader::{Table, Value, did_you_mean, quoted};

/// Default limit of open pull requests. It is low, because more than a person reviews in a week are noise.
const MOST_OPEN: u32 = 3;
/// Maximum number of schedules in a file, and of repositories in a schedule.
const MOST: usize = 100;

/// Reads all schedules.
pub(super) fn schedules(
    root: &mut Table<'_, '_>,
    mut known: Vec<Schedule>,
    layers: &Layers,
) -> Vec<Schedule> {
    let Some(list) = root.value("schedule").and_then(|value| value.items("a list of tables: [[schedule]]"))
    else {
        return known;
    };
    let mut own: Vec<Schedule> = Vec::new();
    for value in list.iter().take(MOST) {
        let Some(table) = value.table() else { continue };
        let inherited = layers.inherited(&["schedule", table.peek("name").unwrap_or_default()]);
        let Some(schedule) = table.over(&inherited, schedule) else { continue };
        if own.iter().any(|other| other.name == schedule.name) {
            let what = format!("there are two schedules `{}`", schedule.name);
            root.source.report(value.place, what, Some("give each a name of its own".to_owned()));
        }
        own.push(schedule);
    }
    known.retain(|other| own.iter().all(|schedule| schedule.name != other.name));
    known.extend(own);
    known
}

fn schedule(table: Table<'_, '_>) -> Option<Schedule> {
    let mut table = table.named("[[schedule]]".to_owned());
    let name = table.name("name");
    table.require("name", "give it one: name = \"night\"");
    let cron = table.string("cron").and_then(|line| match line.value.parse::<Cron>() {
        Ok(cron) => Some(cron),
        Err(error) => {
            let hint = "minute, hour, day, month, weekday: \"30 2 * * *\" is every night at half past two";
            table.source.report(line.place, error.to_string(), Some(hint.to_owned()));
            None
        }
    });
    table.require("cron", "say when: cron = \"30 2 * * *\"");
    let workflow = table.name("workflow");
    table.require("workflow", "say what is run: workflow = \"nightshift\"");
    let zone = clock::zone(&mut table);
    let category = table.value("category").map_or(Categories::Unsaid, |value| categories(&value));
    let repositories = table.strings("repositories").unwrap_or_default();
    for repository in &repositories {
        let bad = repository.value.trim().is_empty()
            || repository.value.starts_with('-')
            || repository.value.contains(char::is_control);
        if bad || crate::schedule::has_login(&repository.value) {
            let what = if bad { "is neither a path nor an address" } else { "has a login in it" };
            let hint = "a path, or https://host/team/app.git, or git@host:team/app.git; tokens belong into [secrets]";
            let shown = if bad { quoted(&repository.value) } else { "an address".to_owned() };
            table.source.report(repository.place, format!("{shown} {what}"), Some(hint.to_owned()));
        }
    }
    let repositories = repositories.into_iter().take(MOST).map(|repository| repository.value).collect();
    let order = table.word("order", &Order::ALL).map(|word| word.value).unwrap_or_default();
    let catch_up = table.word("catch_up", &CatchUp::ALL).map(|word| word.value).unwrap_or_default();
    let overlap = table.word("overlap", &Overlap::ALL).map(|word| word.value).unwrap_or_default();
    let hours = clock::hours(&mut table);
    let budget = table.value("budget").and_then(|value| value.dollars());
    let most_open = table.value("most_open").and_then(|value| value.count(1_000)).unwrap_or(MOST_OPEN);
    let base = table.string("base").map(|base| {
        super::check_ref(table.source, &base, &base.value);
        base.value
    });
    let title = table.string("title").map(|title| title.value);
    let paused = table.flag("paused").is_some_and(|flag| flag.value);
    table.finish();
    Some(Schedule {
        name: name?.value,
        cron: cron?,
        zone,
        workflow: workflow?.value,
        base,
        title,
        category,
        repositories,
        order,
        catch_up,
        overlap,
        hours,
        budget,
        most_open,
        paused,
    })
}

fn categories(value: &Value<'_, '_>) -> Categories {
    value.is_string_or_table();
    if value.is_string() {
        return value.string().map_or(Categories::Unsaid, |text| Categories::Always(text.value));
    }
    let Some(table) = value.table() else { return Categories::Unsaid };
    let source = table.source;
    let mut days = BTreeMap::new();
    for (key, value) in table.entries() {
        let Some(day) = WEEKDAYS.iter().find(|day| **day == key.value) else {
            let hint = did_you_mean(key.value, "weekdays are", WEEKDAYS);
            source.report(key.place, format!("{} is not a weekday", quoted(key.value)), hint);
            continue;
        };
        if let Some(category) = value.string() {
            days.insert(*day, category.value);
        }
    }
    Categories::Weekdays(days)
}
