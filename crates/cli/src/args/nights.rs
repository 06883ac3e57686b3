//! Arguments of `acquit schedule`, `acquit service` and `acquit report`.

use clap::Subcommand;

use acquit_core::ids::Name;

/// Subcommands of `acquit schedule`.
#[derive(Subcommand, Debug)]
pub enum ScheduleVerb {
    /// List schedules with their next run and last result.
    List,
    /// Show when a schedule runs next.
    Next {
        /// The schedule [default: all]
        name: Option<Name>,
        /// Show this many runs.
        #[arg(short = 'n', long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
        count: u32,
    },
    /// Run a schedule now and wait until it ends.
    Run {
        /// The name.
        name: Name,
        /// Start with this category instead of today's.
        #[arg(long)]
        category: Option<String>,
    },
    /// Pause a schedule. A run in progress continues.
    Pause {
        /// The name.
        name: Name,
    },
    /// Resume a paused schedule.
    Resume {
        /// The name.
        name: Name,
    },
}

/// A night, as the user names it.
#[derive(Clone, Debug)]
pub enum WhichNight {
    /// By date, such as `2026-06-01`.
    Date(String),
    /// The newest night of a schedule.
    Schedule(Name),
}

/// Parses a date or the name of a schedule.
pub fn night(text: &str) -> Result<WhichNight, String> {
    if text.parse::<jiff::civil::Date>().is_ok() {
        return Ok(WhichNight::Date(text.to_owned()));
    }
    let name = text.parse().map(WhichNight::Schedule);
    name.map_err(|_| "name a date such as 2026-06-01, or a schedule".to_owned())
}

/// Subcommands of `acquit service`.
#[derive(Subcommand, Debug)]
pub enum ServiceVerb {
    /// Install and start the service for this repository.
    Install {
        /// The service name, if this machine runs several repositories.
        #[arg(long, default_value = "acquit", value_parser = service_name)]
        name: String,
        /// Install for the machine instead of your login. Runs as the calling user; needs root.
        #[arg(long)]
        system: bool,
        /// Print what would be written and run; change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Show whether the service is installed and running.
    Status {
        /// The service name, if this machine runs several repositories.
        #[arg(long, default_value = "acquit", value_parser = service_name)]
        name: String,
        /// Use the machine's service.
        #[arg(long)]
        system: bool,
    },
    /// Stop and remove the service. Tasks and their work stay.
    Uninstall {
        /// The service name, if this machine runs several repositories.
        #[arg(long, default_value = "acquit", value_parser = service_name)]
        name: String,
        /// Use the machine's service.
        #[arg(long)]
        system: bool,
        /// Print what would be removed and run; change nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

/// Parses a name that systemd and launchd accept unchanged, and that is no path.
fn service_name(text: &str) -> Result<String, String> {
    const LONGEST: usize = 64;
    let letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let good = text.starts_with(|first: char| first.is_ascii_lowercase()) && text.chars().all(letter);
    if good && text.len() <= LONGEST {
        return Ok(text.to_owned());
    }
    Err(format!("use up to {LONGEST} lower-case letters, digits and dashes, such as acquit-web"))
}
