//! Work that begins by itself, on the command line: schedules, and the service that follows them.

use clap::Subcommand;

use acquit_core::ids::Name;

/// What can be done with schedules.
#[derive(Subcommand, Debug)]
pub enum ScheduleVerb {
    /// List the schedules with their next runs and what became of the last.
    List,
    /// Show when a schedule runs next.
    Next {
        /// Which; all if none is named.
        name: Option<Name>,
        /// How many runs.
        #[arg(short = 'n', long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
        count: u32,
    },
    /// Run a schedule now, whatever the time, and wait for its end.
    Run {
        /// Which.
        name: Name,
        /// Begin with this category instead of the day's.
        #[arg(long)]
        category: Option<String>,
    },
    /// Do not follow a schedule until it is resumed. What runs goes on.
    Pause {
        /// Which.
        name: Name,
    },
    /// Follow a schedule again, from now on.
    Resume {
        /// Which.
        name: Name,
    },
}

/// A night, as people name it.
#[derive(Clone, Debug)]
pub enum WhichNight {
    /// By its date, such as `2026-06-01`.
    Date(String),
    /// The newest of a schedule.
    Schedule(Name),
}

/// Reads a date or the name of a schedule.
pub fn night(text: &str) -> Result<WhichNight, String> {
    if text.parse::<jiff::civil::Date>().is_ok() {
        return Ok(WhichNight::Date(text.to_owned()));
    }
    let name = text.parse().map(WhichNight::Schedule);
    name.map_err(|_| "name a date such as 2026-06-01, or a schedule".to_owned())
}

/// What can be done with the service.
#[derive(Subcommand, Debug)]
pub enum ServiceVerb {
    /// Write the service for this repository and start it.
    Install {
        /// The service's name, where one machine runs several repositories.
        #[arg(long, default_value = "acquit", value_parser = service_name)]
        name: String,
        /// For the machine instead of your login: runs as the user who calls, and needs root.
        #[arg(long)]
        system: bool,
        /// Print what would be written and called, and do nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Say whether it is installed and runs.
    Status {
        /// The service's name, where one machine runs several repositories.
        #[arg(long, default_value = "acquit", value_parser = service_name)]
        name: String,
        /// That of the machine.
        #[arg(long)]
        system: bool,
    },
    /// Stop it and remove what was written. Tasks and their work stay.
    Uninstall {
        /// The service's name, where one machine runs several repositories.
        #[arg(long, default_value = "acquit", value_parser = service_name)]
        name: String,
        /// That of the machine.
        #[arg(long)]
        system: bool,
        /// Print what would be removed and called, and do nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

/// A name that systemd and launchd take as it is, and that is no path.
fn service_name(text: &str) -> Result<String, String> {
    const LONGEST: usize = 64;
    let letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let good = text.starts_with(|first: char| first.is_ascii_lowercase()) && text.chars().all(letter);
    if good && text.len() <= LONGEST {
        return Ok(text.to_owned());
    }
    Err(format!("use up to {LONGEST} lower-case letters, digits and dashes, such as acquit-web"))
}
