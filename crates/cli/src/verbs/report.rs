//! `acquit report`: prints the report of a night, as it was stored when the night ended.

use acquit_core::night::morning_report::{self, Entry};
use acquit_core::night::{Night, Record, State};
use acquit_core::store::{Nights, Store};
use serde_json::json;

use acquit_app::Error;
use acquit_app::serve::{self, Home};

use crate::args::WhichNight;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::text;

/// Maximum number of nights of a schedule to search.
const NIGHTS: u32 = 400;
/// Maximum number of dates to suggest if the requested one has no night.
const NAMED: usize = 7;

/// Prints the report of the newest night, of a date, or of a schedule.
pub fn report(cli: &Cli, which: Option<&WhichNight>) -> Result<Exit, Error> {
    let home = Home::look(&cli.app)?;
    let mut store = cli.app.store()?;
    let schedules = match which {
        Some(WhichNight::Schedule(name)) => vec![home.schedule(name)?],
        Some(WhichNight::Date(_)) | None => home.config.schedules.iter().collect(),
    };
    let mut nights: Vec<Night> = Vec::new();
    for schedule in schedules {
        let held = store.nights(&Nights::Of(home.project(), schedule.name.clone()), NIGHTS)?;
        nights.extend(held.into_iter().filter(|night| !matches!(night.state, State::Skipped { .. })));
    }
    nights.sort_by_key(|night| std::cmp::Reverse(night.nominal));
    let mut dates: Vec<String> = nights.iter().map(|night| serve::date_of(&home, night)).collect();
    let found = match which {
        Some(WhichNight::Schedule(_)) | None => nights.first(),
        Some(WhichNight::Date(date)) => {
            dates.iter().position(|held| held == date).and_then(|index| nights.get(index))
        }
    };
    if let Some(night) = found {
        print(cli, &home, store.as_mut(), night)?;
        return Ok(Exit::Done);
    }
    dates.dedup();
    dates.truncate(NAMED);
    if cli.printer.json {
        cli.printer.json(&json!({ "night": null, "results": [], "dates": dates }));
    } else if dates.is_empty() {
        cli.printer.say("no night has run yet; `acquit schedule run` runs one now");
    } else {
        cli.printer.say(&format!("no such night; the newest are of: {}", dates.join(", ")));
    }
    Ok(Exit::Failed)
}

/// Prints the report of one night, and returns its results.
pub fn print(cli: &Cli, home: &Home, store: &mut dyn Store, night: &Night) -> Result<Vec<Entry>, Error> {
    let entries = serve::report(store, home, night)?;
    let date = serve::date_of(home, night);
    if cli.printer.json {
        let results: Vec<Record<'_>> = entries.iter().map(Record::from).collect();
        let night = Night { entries: Vec::new(), ..night.clone() };
        cli.printer.json(&json!({ "night": night, "date": date, "results": results }));
        return Ok(entries);
    }
    for line in morning_report::markdown(night, &date, &entries).lines() {
        cli.printer.data(&text::visible(line));
    }
    Ok(entries)
}
