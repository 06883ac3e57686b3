//! Schedules: which workflow runs when, on which repositories, and what is done about a night that could not begin in time.
//!
//! All of it is values. [`due`] says which runs follow from a schedule, the last one that is known and the moment it is; whoever
//! keeps the record keeps it under the nominal time, so that a run is begun once however many look.

mod cron;
mod due;
mod hours;

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

pub use cron::{Cron, Error, letters, local};
pub use due::{Due, Earlier, LATE, Reason, Verdict, due};
pub use hours::Hours;

use crate::ids::Name;
use crate::time::Timestamp;

/// The days of a week as a configuration calls them.
pub const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A workflow that is begun by the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What it is called.
    pub name: Name,
    /// When.
    pub cron: Cron,
    /// Whose clocks, by the zone's IANA name; `None` for the machine's own.
    pub zone: Option<String>,
    /// What is run.
    pub workflow: Name,
    /// The branch that its tasks start from; `None` for the project's, or the default branch of the repository's remote.
    pub base: Option<String>,
    /// What its tasks are called; `None` for the schedule's name.
    pub title: Option<String>,
    /// The value that the workflow's variation begins with.
    pub category: Categories,
    /// Where: paths or addresses. Empty for the repository whose configuration it stands in.
    pub repositories: Vec<String>,
    /// One repository after the other, or all at once.
    pub order: Order,
    /// What becomes of a run whose time was slept through.
    pub catch_up: CatchUp,
    /// What becomes of a run whose time comes while an earlier one is not over.
    pub overlap: Overlap,
    /// The hours in which repositories are begun with; `None` for all.
    pub hours: Option<Hours>,
    /// What all of a night may cost, in millionths of a dollar.
    pub budget: Option<u64>,
    /// So many open requests of earlier nights in a repository, and it is left alone.
    pub most_open: u32,
    /// Whether it is written down but not followed.
    pub paused: bool,
}

/// What the workflow's variation begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Categories {
    /// Whatever the workflow says.
    Unsaid,
    /// The same every time.
    Always(String),
    /// By the weekday, in the schedule's zone; on the others nothing is run.
    Weekdays(BTreeMap<&'static str, String>),
}

/// In which order repositories are worked on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    #[default]
    InOrder,
    /// All at once, as far as there is room.
    SideBySide,
}

impl Order {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 2] = [("in order", Self::InOrder), ("side by side", Self::SideBySide)];
}

/// What becomes of a run whose time was slept through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// Nothing: it is noted as missed.
    #[default]
    Skip,
    /// The newest of them is made up for.
    Once,
}

impl CatchUp {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 2] = [("skip", Self::Skip), ("once", Self::Once)];
}

/// What becomes of a run whose time comes while an earlier one is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Nothing: it is noted as skipped.
    #[default]
    Skip,
    /// It begins when the earlier one is over.
    Queue,
}

impl Overlap {
    /// The words for them in the configuration.
    pub const ALL: [(&str, Self); 2] = [("skip", Self::Skip), ("queue", Self::Queue)];
}

/// Whether an address of a repository carries a password, or a name that may be a token: it would be in the store, in arguments and in
/// reports. Only for SSH the name is no more than that.
pub fn has_login(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let named = scheme == "ssh" || scheme == "git+ssh" || scheme == "ssh+git";
    host.rsplit_once('@').is_some_and(|(user, _)| !named || user.contains(':'))
}

/// The letters of a day on which a schedule has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCategory(pub &'static str);

impl Schedule {
    /// What a run begins with whose nominal time this is.
    pub fn category(&self, nominal: Timestamp, zone: &TimeZone) -> Result<Option<&str>, NoCategory> {
        match &self.category {
            Categories::Unsaid => Ok(None),
            Categories::Always(category) => Ok(Some(category)),
            Categories::Weekdays(days) => {
                let day = local(nominal, zone).map_or("", |local| letters(local.weekday()));
                days.get(day).map(|category| Some(category.as_str())).ok_or(NoCategory(day))
            }
        }
    }

    /// The next runs, with what each begins with; days without a category are left out.
    pub fn upcoming(
        &self,
        after: Timestamp,
        zone: &TimeZone,
        count: usize,
    ) -> Vec<(Timestamp, Option<String>)> {
        /// A line may name many moments of days that have no category; beyond this there is none to be shown.
        const LOOKED_AT: usize = 3_000;
        let moments = std::iter::successors(self.cron.next(after, zone), |at| self.cron.next(*at, zone));
        let with = moments.take(LOOKED_AT).filter_map(|at| {
            let category = self.category(at, zone).ok()?;
            Some((at, category.map(str::to_owned)))
        });
        with.take(count).collect()
    }

    /// Whether repositories may be begun with at this moment.
    pub fn is_open(&self, at: Timestamp, zone: &TimeZone) -> bool {
        let Some(hours) = self.hours else { return true };
        let minute = local(at, zone).map(|local| i32::from(local.hour()) * 60 + i32::from(local.minute()));
        minute.and_then(|minute| u16::try_from(minute).ok()).is_none_or(|minute| hours.until(minute) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::has_login;

    #[test]
    fn a_login_in_an_address_is_seen_and_a_name_for_ssh_is_none() {
        for url in ["https://a:b@h/x/y", "https://token@h/x/y", "ssh://git:b@h/x/y", "http://a@b@h:8080?x@y"]
        {
            assert!(has_login(url), "{url}");
        }
        for url in
            ["https://h/x/y@z", "ssh://git@h/x/y", "git@h:x/y", "file:///a@b/c", "https://h?a@b", "../a@b"]
        {
            assert!(!has_login(url), "{url}");
        }
    }
}
