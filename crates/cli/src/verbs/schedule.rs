//! `acquit schedule …`: lists, pauses and resumes schedules, and runs one now.

use acquit_core::ids::Name;
use acquit_core::night::{Night, State, morning_report};
use acquit_core::schedule::Schedule;
use acquit_core::store::{Follow, Nights, Recorded, Standing, Store};
use acquit_core::time::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;

use crate::args::ScheduleVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{Look, table, text};
use acquit_app::Error;
use acquit_app::serve::{self, Home, Options, Stop, Until, repositories, zone};

/// Number of tasks of a night that run in parallel if it is started by hand.
const WORKERS: u32 = 4;

/// Runs one of the commands.
pub fn schedule(cli: &Cli, verb: ScheduleVerb) -> Result<Exit, Error> {
    // Only a run acts on the configuration, so only it requires trust.
    let home = match verb {
        ScheduleVerb::Run { .. } => Home::read(&cli.app)?.trusted()?,
        ScheduleVerb::List
        | ScheduleVerb::Next { .. }
        | ScheduleVerb::Pause { .. }
        | ScheduleVerb::Resume { .. } => Home::look(&cli.app)?,
    };
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    match verb {
        ScheduleVerb::List => list(cli, &home, store),
        ScheduleVerb::Next { name, count } => next(cli, &home, store, name.as_ref(), count as usize),
        ScheduleVerb::Run { name, category } => run(cli, &home, store, &name, category),
        ScheduleVerb::Pause { name } => {
            home.schedule(&name)?;
            store.follow(&home.project(), &name, Follow::No)?;
            say(
                cli,
                &name,
                "paused",
                &format!("`acquit schedule resume {name}` follows it again; what runs goes on"),
            );
            Ok(Exit::Done)
        }
        ScheduleVerb::Resume { name } => {
            let schedule = home.schedule(&name)?;
            store.follow(&home.project(), &name, Follow::Yes)?;
            let words = if schedule.paused {
                "but `paused = true` stands in its configuration: remove that".to_owned()
            } else {
                upcoming(schedule, store.now()?, 1)?
                    .first()
                    .map_or_else(String::new, |run| format!("next: {}", run.shown))
            };
            say(cli, &name, "resumed", &words);
            Ok(Exit::Done)
        }
    }
}

fn say(cli: &Cli, name: &Name, state: &str, words: &str) {
    if cli.printer.json {
        cli.printer.json(&json!({ "schedule": name, "state": state }));
        return;
    }
    cli.printer.data(&format!("{name} {state}"));
    if !words.is_empty() {
        cli.printer.say(words);
    }
}

/// A future run, and how to show it.
struct Run {
    at: Timestamp,
    category: Option<String>,
    shown: String,
    zoned: String,
}

fn upcoming(schedule: &Schedule, now: Timestamp, count: usize) -> Result<Vec<Run>, Error> {
    let zone = zone(schedule)?;
    let run = |(at, category): (Timestamp, Option<String>)| {
        let zoned = local_time(at, &zone);
        let shown = format!("{zoned} ({})", distance(at.since(now).as_secs()));
        Run { at, category, shown, zoned }
    };
    Ok(schedule.upcoming(now, &zone, count).into_iter().map(run).collect())
}

fn local_time(at: Timestamp, zone: &TimeZone) -> String {
    let zoned = jiff::Timestamp::from_millisecond(at.0).map(|moment| moment.to_zoned(zone.clone()));
    zoned.map(|zoned| zoned.strftime("%a %Y-%m-%d %H:%M %Z").to_string()).unwrap_or_default()
}

/// Formats the time until something, in the largest unit that is precise enough.
fn distance(seconds: u64) -> String {
    match seconds {
        0..60 => "in less than a minute".to_owned(),
        60..3_600 => format!("in {} min", seconds / 60),
        3_600..172_800 => format!("in {} h", seconds / 3_600),
        _ => format!("in {} days", seconds / 86_400),
    }
}

fn is_paused(schedule: &Schedule, standing: &Standing) -> bool {
    schedule.paused || standing.paused.is_some()
}

fn list(cli: &Cli, home: &Home, store: &mut dyn Store) -> Result<Exit, Error> {
    let printer = cli.printer;
    let now = store.now()?;
    let mut rows = Vec::new();
    let mut documents = Vec::new();
    for schedule in &home.config.schedules {
        let standing = store.schedule(&home.project(), &schedule.name)?;
        let last = store.nights(&Nights::Of(home.project(), schedule.name.clone()), 1)?.into_iter().next();
        let (next, state) = match upcoming(schedule, now, 1) {
            Ok(runs) => {
                let state = if is_paused(schedule, &standing) { "paused" } else { "on" };
                (runs.into_iter().next(), state)
            }
            Err(error) => {
                printer.warn(&error_line(&error));
                (None, "broken")
            }
        };
        if printer.json {
            documents.push(json!({
                "name": schedule.name, "cron": schedule.cron.to_string(), "zone": schedule.zone,
                "workflow": schedule.workflow, "repositories": repositories(schedule), "state": state,
                "next": next.as_ref().map(|run| json!({ "at": run.at.0, "time": run.zoned, "category": run.category })),
                "last": last,
            }));
            continue;
        }
        rows.push(vec![
            schedule.name.to_string(),
            schedule.cron.to_string(),
            schedule.workflow.to_string(),
            repositories(schedule).len().to_string(),
            state.to_owned(),
            next.map_or_else(String::new, |run| match state {
                "paused" => String::new(),
                _ => format!(
                    "{}{}",
                    run.shown,
                    run.category.map(|category| format!(" {category}")).unwrap_or_default()
                ),
            }),
            last.map_or_else(|| "never".to_owned(), |night| past(schedule, &night)),
        ]);
    }
    if printer.json {
        printer.json(&documents);
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        printer.say("no schedules; write one as [[schedule]] into acquit.toml: docs/nightshift.md shows how");
        return Ok(Exit::Done);
    }
    let headings = ["SCHEDULE", "CRON", "WORKFLOW", "REPOSITORIES", "STATE", "NEXT", "LAST"];
    let lines = table::lines(&headings, &rows, &[3]);
    for (number, line) in lines.iter().enumerate() {
        let look = if number == 0 { Look::Faint } else { Look::Plain };
        printer.data(&printer.paint(look, &text::visible(line)));
    }
    Ok(Exit::Done)
}

fn error_line(error: &Error) -> String {
    let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("failed to {error}{hint}")
}

fn past(schedule: &Schedule, night: &Night) -> String {
    let when = zone(schedule).map(|zone| local_time(night.nominal, &zone)).unwrap_or_default();
    match &night.state {
        State::Skipped { reason } => format!("{when} skipped: {reason}"),
        state => format!("{when} {}", state.word()),
    }
}

fn next(
    cli: &Cli,
    home: &Home,
    store: &mut dyn Store,
    name: Option<&Name>,
    count: usize,
) -> Result<Exit, Error> {
    let now = store.now()?;
    let chosen = match name {
        Some(name) => vec![home.schedule(name)?],
        None => home.config.schedules.iter().collect(),
    };
    let alone = chosen.len() == 1;
    let mut runs: Vec<(&Schedule, Run)> = Vec::new();
    for schedule in chosen {
        if is_paused(schedule, &store.schedule(&home.project(), &schedule.name)?) {
            cli.printer.say(&format!("{} is paused", schedule.name));
        } else {
            match upcoming(schedule, now, count) {
                Ok(coming) => runs.extend(coming.into_iter().map(|run| (schedule, run))),
                // There is nothing else to show.
                Err(error) if alone => return Err(error),
                Err(error) => cli.printer.warn(&error_line(&error)),
            }
        }
    }
    runs.sort_by_key(|(_, run)| run.at);
    runs.truncate(count);
    if cli.printer.json {
        let one = |(schedule, run): &(&Schedule, Run)| json!({ "schedule": schedule.name, "at": run.at.0, "time": run.zoned, "category": run.category });
        cli.printer.json(&runs.iter().map(one).collect::<Vec<_>>());
        return Ok(Exit::Done);
    }
    let row = |(schedule, run): &(&Schedule, Run)| {
        vec![schedule.name.to_string(), run.shown.clone(), run.category.clone().unwrap_or_default()]
    };
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    for line in table::lines(&["SCHEDULE", "WHEN", "CATEGORY"], &rows, &[]) {
        cli.printer.data(&text::visible(&line));
    }
    Ok(Exit::Done)
}

/// Records a night that starts now, and drives it until it ends. A running daemon helps; nothing starts twice.
fn run(
    cli: &Cli,
    home: &Home,
    store: &mut dyn Store,
    name: &Name,
    category: Option<String>,
) -> Result<Exit, Error> {
    let (night, recorded) = serve::begin_by_hand(store, home, name, category)?;
    let now = night.nominal;
    match recorded {
        Recorded::New => cli.printer.say(&format!("{name} begins now")),
        Recorded::Known => cli.printer.say(&format!("{name} began this very moment")),
    }
    let only = Some((name.clone(), now));
    let pass_on = cli.pass_on();
    serve::run(
        &cli.app,
        Options { until: Until::Done, stop: Stop::Leave, most: WORKERS, only, pass_on, dashboard: None },
    )?;
    let over = store
        .nights(&Nights::Of(home.project(), name.clone()), 9)?
        .into_iter()
        .find(|night| night.nominal == now);
    let results = match over {
        Some(night) => super::report::print(cli, home, store, &night)?,
        None => Vec::new(),
    };
    let failed = results.iter().any(|entry| matches!(entry.result, morning_report::Result::Failed { .. }));
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_distance_is_told_in_the_unit_that_people_think_in() {
        let shown = [5, 60, 3_599, 3_600, 11_000, 172_799, 172_800, 900_000].map(super::distance);
        let expected = [
            "in less than a minute",
            "in 1 min",
            "in 59 min",
            "in 1 h",
            "in 3 h",
            "in 47 h",
            "in 2 days",
            "in 10 days",
        ];
        assert_eq!(shown, expected);
    }
}
