//! Where notices and reports of the night go.

use std::collections::BTreeMap;

use super::channel::Target;
use crate::ids::Name;
use crate::schedule::Cron;

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
