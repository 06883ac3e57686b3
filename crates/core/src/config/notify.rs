//! Where notices and reports of the night go.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use super::channel::Target;
use crate::ids::Name;
use crate::level::Level;
use crate::schedule::{Cron, local};
use crate::time::Timestamp;

/// The words for levels in the configuration.
pub const LEVELS: [(&str, Level); 3] =
    [("info", Level::Info), ("warning", Level::Warning), ("error", Level::Error)];

/// What people are told of, and by which way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notices {
    /// The ways, by name.
    pub channels: BTreeMap<Name, Channel>,
    /// Where the morning report is written besides.
    pub report: Reports,
}

/// A way to tell people something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Where messages go.
    pub target: Target,
    /// What is told.
    pub events: Vec<Told>,
    /// Only about repositories with these short names; about all if there are none.
    pub projects: Vec<String>,
    /// Only what matters so much.
    pub level: Level,
    /// Only at these hours; what happens at others waits for them.
    pub hours: Option<Hours>,
}

impl Channel {
    /// Whether something about a repository is to be told here.
    pub fn wants(&self, told: Told, project: Option<&str>) -> bool {
        let named = |project: &str| self.projects.iter().any(|name| name == project);
        self.events.contains(&told)
            && told.level() >= self.level
            && (self.projects.is_empty() || project.is_some_and(named))
    }
}

/// Hours of the day, such as `08:00-20:00`; `22:00-06:00` goes over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    /// The first minute, since midnight.
    pub from: u16,
    /// The minute after the last.
    pub to: u16,
}

impl Hours {
    /// When a message may be sent that is made now; `None` if at once.
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

/// What people can be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// A task waits for a person.
    NeedsPerson,
    /// A task is done.
    Done,
    /// A task failed.
    Failed,
    /// A night is over.
    Report,
}

impl Told {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 4] = [
        ("needs_person", Self::NeedsPerson),
        ("done", Self::Done),
        ("failed", Self::Failed),
        ("report", Self::Report),
    ];

    /// How much it matters.
    pub fn level(self) -> Level {
        match self {
            Self::Done | Self::Report => Level::Info,
            Self::NeedsPerson => Level::Warning,
            Self::Failed => Level::Error,
        }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, told)| *told == self).map_or("", |(word, _)| word)
    }
}

/// Where the morning report is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// A file, relative to the repository or absolute; the newest report stands first.
    pub file: Option<String>,
    /// A page of Confluence.
    pub confluence: Option<Page>,
    /// The hour before which nobody is sent a message about a night; `None` to send it when the night is over.
    pub at: Option<Cron>,
}

/// A page of Confluence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The site, such as `https://team.atlassian.net/wiki`.
    pub url: String,
    /// The page's id.
    pub id: String,
    /// Who writes, for a token of the cloud; without one, the token is a personal one of a Data Center.
    pub user: Option<String>,
    /// The secret with the token.
    pub token: String,
    /// Which of the two interfaces it has.
    pub flavour: Flavour,
}

/// The two interfaces of Confluence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// The one of the cloud.
    #[default]
    Cloud,
    /// The one of an own server.
    DataCenter,
}

impl Flavour {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 2] = [("cloud", Self::Cloud), ("data center", Self::DataCenter)];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_outside_of_the_hours_waits_for_them() {
        // Midnight of 1970 in UTC, and some hours after it.
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
