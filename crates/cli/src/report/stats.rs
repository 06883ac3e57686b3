//! Tables of costs and success rates.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use acquit_core::time::Span;

use super::{Look, Printer, money, table, text};
use acquit_app::figures::{Bill, Dear, Rate};
use acquit_app::stats::{Contender, Stats};

/// Maximum width of a name.
const NAME: usize = 40;
/// Number of newest days to print.
const DAYS: usize = 14;
/// Number of newest weeks to print.
const WEEKS: usize = 6;

impl Printer {
    /// Prints the cost of tasks by project, workflow, agent, model and day, and the most expensive tasks.
    pub fn stats(self, stats: &Stats, limit: u32) {
        if stats.tasks == 0 {
            return self.say("no tasks yet; `acquit run \"…\"` makes one");
        }
        // The newest days; `--json` has all.
        let days =
            stats.days.iter().rev().take(DAYS).map(|(day, bill)| (day.clone(), bill.clone())).collect();
        let groups = [
            ("PROJECT", "TASKS", "DONE", &stats.projects),
            ("WORKFLOW", "TASKS", "DONE", &stats.workflows),
            ("AGENT", "LEGS", "PASSED", &stats.agents),
            ("MODEL", "LEGS", "PASSED", &stats.models),
            ("DAY", "LEGS", "PASSED", &days),
        ];
        for (name, count, good, groups) in groups {
            if groups.is_empty() {
                continue;
            }
            let headings = [name, count, good, "FAILED", "TIME", "TOKENS", "COST"];
            let rows = rows(groups);
            for line in table::fitted(&headings, &rows, &[1, 2, 3, 4, 5, 6], &[5, 4, 3], self.width()) {
                self.data(&line);
            }
            self.data("");
        }
        self.dearest(&stats.dearest);
        self.compared(&stats.compared);
        self.weeks(&stats.compared);
        let proven = match stats.proven_micros {
            0 => String::new(),
            proven => format!(", {} of it for completed tasks", money::cost(Some(proven))),
        };
        let total =
            format!("{}, {}{proven}", text::count(stats.tasks, "task"), money::cost(stats.cost_micros));
        self.data(&self.paint(Look::Strong, &total));
        for remark in money::remarks(&stats.usage) {
            self.say(&self.paint(Look::Faint, &remark));
        }
        if stats.more {
            let newest = if limit == 1 { "task".to_owned() } else { format!("{limit} tasks") };
            self.say(&format!("only the newest {newest}; --limit counts more"));
        }
    }
}

/// Formats a duration.
fn length(length: Duration) -> String {
    Span::from(u64::try_from(length.as_millis()).unwrap_or(u64::MAX)).to_string()
}

/// Formats a share with its number of cases.
fn rate(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{:.0}% of {}", rate.seen * 100.0, rate.cases))
}

impl Printer {
    /// Prints the most expensive tasks.
    fn dearest(self, all: &[Dear]) {
        if all.is_empty() {
            return;
        }
        let row = |one: &Dear| {
            vec![one.id.to_string(), money::usage_cost(&one.usage), text::line(&one.title, 2 * NAME)]
        };
        let rows: Vec<Vec<String>> = all.iter().map(row).collect();
        for line in table::fitted(&["DEAREST", "COST", "TITLE"], &rows, &[1], &[], self.width()) {
            self.data(&line);
        }
        self.data("");
    }

    /// Prints how much of the work of each agent was accepted, week by week.
    fn weeks(self, all: &[Contender]) {
        let weeks: BTreeSet<&String> = all.iter().flat_map(|one| one.weeks.keys()).collect();
        let weeks: Vec<&String> = weeks.into_iter().rev().take(WEEKS).collect();
        if weeks.len() < 2 {
            return;
        }
        let of = |one: &Contender, week: &String| {
            one.weeks
                .get(week)
                .map_or_else(|| "–".to_owned(), |week| format!("{} of {}", week.done, week.tasks))
        };
        let row = |one: &Contender| {
            let name = text::line(&format!("{} {}", one.agent, one.model), NAME);
            std::iter::once(name).chain(weeks.iter().map(|week| of(one, week))).collect()
        };
        let rows: Vec<Vec<String>> = all.iter().map(row).collect();
        let headings: Vec<&str> =
            std::iter::once("WEEK OF").chain(weeks.iter().map(|week| week.as_str())).collect();
        let columns: Vec<usize> = (1..headings.len()).collect();
        let oldest: Vec<usize> = columns.iter().rev().copied().collect();
        for line in table::fitted(&headings, &rows, &columns, &oldest, self.width()) {
            self.data(&line);
        }
        self.data("");
    }

    /// Prints how often the work of each agent was accepted, and its cost.
    fn compared(self, all: &[Contender]) {
        if all.is_empty() {
            return;
        }
        let row = |one: &Contender| {
            let results = &one.results;
            vec![
                text::line(&format!("{} {}", one.agent, one.model), NAME),
                rate(one.rate),
                rate(results.first_rate()),
                results.fixes.to_string(),
                results.median().map(length).unwrap_or_default(),
                results.cost_each().map(|cost| money::cost(Some(cost))).unwrap_or_default(),
            ]
        };
        let headings = ["COMPARED", "ACCEPTED", "FIRST TRY", "FIXES", "MEDIAN", "EACH"];
        let rows: Vec<Vec<String>> = all.iter().map(row).collect();
        for line in table::fitted(&headings, &rows, &[1, 2, 3, 4, 5], &[4, 3, 2], self.width()) {
            self.data(&line);
        }
        self.data("");
    }
}

fn rows(groups: &BTreeMap<String, Bill>) -> Vec<Vec<String>> {
    let row = |(name, group): (&String, &Bill)| {
        vec![
            text::line(name, NAME),
            group.count.to_string(),
            group.succeeded.to_string(),
            group.failed.to_string(),
            Span::from(group.ran_millis).to_string(),
            money::tokens(group.usage.tokens()),
            money::usage_cost(&group.usage),
        ]
    };
    groups.iter().map(row).collect()
}
