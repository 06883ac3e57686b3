//! Tables of costs and success rates.

use std::collections::BTreeMap;

use acquit_core::time::Span;

use super::{Look, Printer, money, table, text};
use acquit_app::stats::{Group, Stats};

/// Maximum width of a name.
const NAME: usize = 40;

impl Printer {
    /// Prints what tasks cost, by project, workflow, agent and model.
    pub fn stats(self, stats: &Stats, limit: u32) {
        if stats.tasks == 0 {
            return self.say("no tasks yet; `acquit run \"…\"` makes one");
        }
        let groups = [
            ("PROJECT", "TASKS", "DONE", &stats.projects),
            ("WORKFLOW", "TASKS", "DONE", &stats.workflows),
            ("AGENT", "LEGS", "PASSED", &stats.agents),
            ("MODEL", "LEGS", "PASSED", &stats.models),
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
        let total = format!("{} tasks, {}", stats.tasks, money::cost(stats.cost_micros));
        self.data(&self.paint(Look::Strong, &total));
        for remark in money::remarks(&stats.usage) {
            self.say(&self.paint(Look::Faint, &remark));
        }
        if stats.more {
            self.say(&format!("only the newest {limit} tasks; --limit counts more"));
        }
    }
}

fn rows(groups: &BTreeMap<String, Group>) -> Vec<Vec<String>> {
    let row = |(name, group): (&String, &Group)| {
        let usage = &group.usage;
        let read = [usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h];
        let tokens = read.iter().fold(usage.output, |sum, count| sum.saturating_add(*count));
        vec![
            text::line(name, NAME),
            group.count.to_string(),
            group.succeeded.to_string(),
            group.failed.to_string(),
            Span::from(group.ran_millis).to_string(),
            money::tokens(tokens),
            money::usage_cost(usage),
        ]
    };
    groups.iter().map(row).collect()
}
