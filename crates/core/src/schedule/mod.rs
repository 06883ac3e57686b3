//! Schedules: which workflow runs when, on which repositories, and what to do about a night that could not start in
//! time.
//!
//! Everything here is plain values. [`due`] computes the runs that follow from a schedule, the last known run and the
//! current time. Runs are recorded under their nominal time, so that each starts once, however many processes look.

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

/// Names of weekdays in the configuration.
pub const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A workflow that runs by the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Schedule name.
    pub name: Name,
    /// When to run.
    pub cron: Cron,
    /// IANA name of the time zone; `None` uses the machine's.
    pub zone: Option<String>,
    /// Workflow to run.
    pub workflow: Name,
    /// Base branch of its tasks; `None` uses the project's, or the default branch of the repository's remote.
    pub base: Option<String>,
    /// Title of its tasks; `None` uses the schedule's name.
    pub title: Option<String>,
    /// First value of the workflow's variation.
    pub category: Categories,
    /// Paths or addresses of repositories. Empty means the repository of this configuration.
    pub repositories: Vec<String>,
    /// Whether to work on repositories one by one or in parallel.
    pub order: Order,
    /// What to do with a run that was missed.
    pub catch_up: CatchUp,
    /// What to do with a run that is due while an earlier one has not ended.
    pub overlap: Overlap,
    /// Hours in which work on a repository may start; `None` means any.
    pub hours: Option<Hours>,
    /// Maximum cost of a night, in millionths of a dollar.
    pub budget: Option<u64>,
    /// Skip a repository with this many open pull requests of earlier nights.
    pub most_open: u32,
    /// Whether the schedule is paused.
    pub paused: bool,
}

/// The first value of the workflow's variation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Categories {
    /// The workflow decides.
    Unsaid,
    /// The same every time.
    Always(String),
    /// By weekday in the schedule's zone. Other days have no run.
    Weekdays(BTreeMap<&'static str, String>),
}

/// The order of work on repositories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One by one.
    #[default]
    InOrder,
    /// In parallel, as far as capacity allows.
    SideBySide,
}

impl Order {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 2] = [("in order", Self::InOrder), ("side by side", Self::SideBySide)];
}

/// What to do with a run that was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// Record it as missed.
    #[default]
    Skip,
    /// Catch up on the newest missed run.
    Once,
}

impl CatchUp {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 2] = [("skip", Self::Skip), ("once", Self::Once)];
}

/// What to do with a run that is due while an earlier one has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Record it as skipped.
    #[default]
    Skip,
    /// Start it when the earlier one ends.
    Queue,
}

impl Overlap {
    /// The names of the variants in the configuration.
    pub const ALL: [(&str, Self); 2] = [("skip", Self::Skip), ("queue", Self::Queue)];
}

/// Returns whether the address of a repository contains a password, or a user name that may be a token. It would end up
/// in the store, in arguments and in reports. Only in SSH addresses is the user name harmless.
pub fn has_login(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let named = scheme == "ssh" || scheme == "git+ssh" || scheme == "ssh+git";
    host.rsplit_once('@').is_some_and(|(user, _)| !named || user.contains(':'))
}

/// The name of a weekday on which a schedule has no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCategory(pub &'static str);

impl Schedule {
    /// Returns the category of the run with this nominal time.
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

    /// Returns the next runs with their categories, without days that have none.
    pub fn upcoming(
        &self,
        after: Timestamp,
        zone: &TimeZone,
        count: usize,
    ) -> Vec<(Timestamp, Option<String>)> {
        /// Limit of the search: a line may match many times on days without a category.
        const LOOKED_AT: usize = 3_000;
        let moments = std::iter::successors(self.cron.next(after, zone), |at| self.cron.next(*at, zone));
        let with = moments.take(LOOKED_AT).filter_map(|at| {
            let category = self.category(at, zone).ok()?;
            Some((at, category.map(str::to_owned)))
        });
        with.take(count).collect()
    }

    /// Returns whether work on repositories may start at this time.
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
