//! Notification and report settings.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use super::channel::Target;
use crate::ids::Name;
use crate::level::Level;
use crate::schedule::{Cron, local};
use crate::time::Timestamp;

/// Levels with their names in the configuration.
pub const LEVELS: [(&str, Level); 3] =
    [("info", Level::Info), ("warning", Level::Warning), ("error", Level::Error)];

/// Notification settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// Channels by name.
    pub channels: BTreeMap<Name, Channel>,
    /// Other destinations of the morning report.
    pub report: Reports,
}

/// A notification channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Destination of messages.
    pub target: Target,
    /// Events to send.
    pub events: Vec<Told>,
    /// Short names of repositories to notify about; empty means all.
    pub projects: Vec<String>,
    /// Minimum level.
    pub level: Level,
    /// Hours in which to send. Messages at other times wait for these hours.
    pub hours: Option<Hours>,
    /// Whether messages about questions have links that answer without a login.
    pub answer_links: bool,
}

impl Channel {
    /// Returns whether the channel wants an event of a repository.
    pub fn wants(&self, told: Told, project: Option<&str>) -> bool {
        let named = |project: &str| self.projects.iter().any(|name| name == project);
        self.events.contains(&told)
            && told.level() >= self.level
            && (self.projects.is_empty() || project.is_some_and(named))
    }
}

/// Hours of the day, such as `08:00-20:00`; `22:00-06:00` spans midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    /// First minute, counted from midnight.
    pub from: u16,
    /// Minute after the last.
    pub to: u16,
}

impl Hours {
    /// Returns when to send a message that is created now; `None` means at once.
    pub fn later(self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let local = local(now, zone)?;
        let minute = u16::try_from(i32::from(local.hour()) * 60 + i32::from(local.minute())).ok()?;
        let inside = if self.from <= self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        };
        if inside {
            return None;
        }
        let line = format!("{} {} * * *", self.from % 60, self.from / 60);
        line.parse::<Cron>().ok()?.next(now, zone)
    }
}

impl std::str::FromStr for Hours {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let minute = |text: &str| {
            let (hours, minutes) = text.trim().split_once(':')?;
            let number = |text: &str, below: u16| {
                text.parse::<u16>().ok().filter(|number| text.len() == 2 && *number < below)
            };
            Some(number(hours, 24)? * 60 + number(minutes, 60)?)
        };
        let (from, to) = text.split_once('-').ok_or(())?;
        let (from, to) = (minute(from).ok_or(())?, minute(to).ok_or(())?);
        if from == to { Err(()) } else { Ok(Self { from, to }) }
    }
}

/// The events to notify about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// A task needs human input.
    NeedsPerson,
    /// A task is done.
    Done,
    /// A task failed.
    Failed,
    /// A night has ended.
    Report,
}

impl Told {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 4] = [
        ("needs_person", Self::NeedsPerson),
        ("done", Self::Done),
        ("failed", Self::Failed),
        ("report", Self::Report),
    ];

    /// Returns the level.
    pub fn level(self) -> Level {
        match self {
            Self::Done | Self::Report => Level::Info,
            Self::NeedsPerson => Level::Warning,
            Self::Failed => Level::Error,
        }
    }

    /// Returns the name.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, told)| *told == self).map_or("", |(word, _)| word)
    }
}

/// Destinations of the morning report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// File, relative to the repository or absolute; the newest report comes first.
    pub file: Option<String>,
    /// Confluence page.
    pub confluence: Option<Page>,
    /// Time of day before which no message about a night is sent; `None` sends it when the night ends.
    pub at: Option<Cron>,
}

/// A Confluence page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Address of the site, such as `https://team.atlassian.net/wiki`.
    pub url: String,
    /// Page id.
    pub id: String,
    /// User of a Confluence Cloud token. Without one, the token is a Data Center personal access token.
    pub user: Option<String>,
    /// Name of the secret with the token.
    pub token: String,
    /// API flavour.
    pub flavour: Flavour,
}

/// The two APIs of Confluence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// Confluence Cloud.
    #[default]
    Cloud,
    /// Confluence Data Center.
    DataCenter,
}

impl Flavour {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 2] = [("cloud", Self::Cloud), ("data center", Self::DataCenter)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_outside_of_the_hours_waits_for_them() {
        // Midnight of 1970 in UTC, and some hours later.
        let at = |hour: i64| Timestamp(hour * 3_600_000);
        let later = |hours: &str, hour: i64| hours.parse::<Hours>().unwrap().later(at(hour), &TimeZone::UTC);
        assert_eq!(later("08:00-20:00", 12), None);
        assert_eq!(later("08:00-20:00", 3), Some(at(8)));
        assert_eq!(later("08:00-20:00", 20), Some(at(32)));
        assert_eq!(later("22:00-06:00", 23), None);
        assert_eq!(later("22:00-06:00", 5), None);
        assert_eq!(later("22:00-06:00", 6), Some(at(22)));
        for bad in ["", "08:00", "8:00-9:00", "08:00-24:00", "08:00-08:00", "08:60-09:00", "a-b"] {
            assert!(bad.parse::<Hours>().is_err(), "{bad}");
        }
    }
}
