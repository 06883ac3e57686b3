//! Figures over many tasks: cost by project, agent, model and day, and a comparison of agents.

use std::collections::BTreeMap;
use std::time::Duration;

use acquit_core::agent::Usage;
use acquit_core::ids::TaskId;
use acquit_core::leg;
use acquit_core::time::Timestamp;
use serde::Serialize;

use crate::index::{self, GroupKey, IndexedLeg, IndexedTask, Reason, Standing, TaskIndex, Word};

/// Cost and results of a group of tasks or legs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bill {
    /// Number of tasks or legs.
    pub count: u64,
    /// Number that succeeded: completed tasks, or legs that passed their gates.
    pub succeeded: u64,
    /// Number that ended otherwise, without cancelled ones.
    pub failed: u64,
    /// Total run time of the legs in milliseconds.
    pub ran_millis: u64,
    /// Total usage of the legs.
    pub usage: Usage,
    /// Total known cost in millionths of a dollar; `None` if no price is known.
    pub cost_micros: Option<u64>,
    /// Part of the cost that went into completed tasks.
    pub proven_micros: u64,
}

/// Cost and results of tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Total.
    pub all: Bill,
    /// Number of finished tasks, without cancelled ones.
    pub over: u64,
    /// By project. Each task counts once.
    pub projects: BTreeMap<String, Bill>,
    /// By workflow. Each task counts once.
    pub workflows: BTreeMap<String, Bill>,
    /// By agent. Each of its legs counts.
    pub agents: BTreeMap<String, Bill>,
    /// By model. Each of its legs counts.
    pub models: BTreeMap<String, Bill>,
    /// By day: the midnight before it. Each leg counts on the day it started.
    pub days: BTreeMap<Timestamp, Bill>,
    /// The most expensive tasks.
    pub dearest: Vec<Dear>,
}

/// One of the most expensive tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dear {
    /// Task id.
    pub id: TaskId,
    /// Title. Untrusted text.
    pub title: String,
    /// Usage of its legs.
    pub usage: Usage,
    /// Cost limit, if it has one.
    pub limit: Option<u64>,
}

/// Number of most expensive tasks to list.
const DEAREST: usize = 10;

/// A sum over tasks that can be summed up in parts.
pub trait Figures: Default {
    /// Counts a task.
    fn count(&mut self, task: &IndexedTask, now: Timestamp);
    /// Adds what another part counted.
    fn merge(&mut self, other: &Self);
}

/// Selects tasks to sum up.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'s> {
    /// Tasks created at or after this time.
    pub since: Timestamp,
    /// Only of this repository, by short name; empty for all.
    pub project: &'s str,
    /// Only of this workflow; empty for all.
    pub workflow: &'s str,
    /// Whether open tasks count however old they are.
    pub all_open: bool,
}

/// Sums of groups of tasks. Each is computed once, and again after a task of the group has changed.
pub struct Folded<F>(BTreeMap<GroupKey, (u64, F)>);

impl<F> Default for Folded<F> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<F: Figures> Folded<F> {
    /// Sums up tasks of the index.
    pub fn sum(&mut self, index: &TaskIndex, selected: Selection<'_>, now: Timestamp) -> F {
        let mut sum = F::default();
        let is = |wanted: &str, held: &str| wanted.is_empty() || wanted == held;
        let fits =
            |project: &str, workflow: &str| is(selected.project, project) && is(selected.workflow, workflow);
        let first = index::day(selected.since);
        let none = Word::from("");
        let from = GroupKey { day: first, project: Word::clone(&none), workflow: none };
        for (key, group) in index.groups().range(from..) {
            if !fits(&key.project, &key.workflow) {
                continue;
            }
            let tasks = || group.tasks.iter().filter_map(|id| index.get(*id));
            // The selection starts within this day.
            if key.day == first {
                let late = |task: &&IndexedTask| task.created >= selected.since;
                let mut part = F::default();
                tasks().filter(late).for_each(|task| part.count(task, now));
                sum.merge(&part);
                continue;
            }
            if let Some((version, known)) = self.0.get(key)
                && *version == group.version
            {
                sum.merge(known);
                continue;
            }
            let mut part = F::default();
            tasks().for_each(|task| part.count(task, now));
            sum.merge(&part);
            // The time of a running leg grows without an event.
            if tasks().any(|task| task.legs().any(|leg| leg.runs())) {
                self.0.remove(key);
            } else {
                self.0.insert(key.clone(), (group.version, part));
            }
        }
        if selected.all_open {
            let older = index
                .open()
                .filter(|task| task.created < selected.since && fits(&task.project, &task.workflow));
            let mut part = F::default();
            older.for_each(|task| part.count(task, now));
            sum.merge(&part);
        }
        sum
    }
}

/// Returns the midnight before a time, in the machine's time zone.
pub fn midnight(at: Timestamp) -> Timestamp {
    let day = jiff::Timestamp::from_millisecond(at.0)
        .and_then(|at| at.to_zoned(jiff::tz::TimeZone::system()).start_of_day());
    day.map_or(at, |day| Timestamp(day.timestamp().as_millisecond()))
}

/// Returns the day of a time in the machine's time zone, such as `2026-11-19`.
pub fn date(at: Timestamp) -> String {
    let zoned = jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|_| String::new(), |zoned| zoned.strftime("%Y-%m-%d").to_string())
}

impl Bill {
    /// Returns the known cost in millionths of a dollar.
    pub fn cost(&self) -> u64 {
        self.cost_micros.unwrap_or(0)
    }

    fn add(&mut self, task: &IndexedTask, leg: &IndexedLeg<'_>, now: Timestamp) {
        if let Some(usage) = &leg.usage {
            self.usage.add(usage);
            self.cost_micros = self.usage.paid();
            if task.standing == Standing::Done {
                self.proven_micros = self.proven_micros.saturating_add(usage.paid().unwrap_or(0));
            }
        }
        let ran = u64::try_from(leg.took(now).as_millis()).unwrap_or(u64::MAX);
        self.ran_millis = self.ran_millis.saturating_add(ran);
    }

    fn count_task(&mut self, standing: Standing) {
        self.count += 1;
        self.succeeded += u64::from(standing == Standing::Done);
        self.failed += u64::from(is_judged(standing) && standing != Standing::Done);
    }

    fn count_leg(&mut self, state: leg::State) {
        self.count += 1;
        match state {
            leg::State::Passed => self.succeeded += 1,
            leg::State::Rejected | leg::State::Failed | leg::State::TimedOut | leg::State::Lost => {
                self.failed += 1;
            }
            // A held leg says nothing about the agent: the provider had no capacity. Nor does one that a person ended.
            leg::State::Ready | leg::State::Running | leg::State::Held | leg::State::Cancelled => {}
        }
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.ran_millis = self.ran_millis.saturating_add(other.ran_millis);
        self.usage.add(&other.usage);
        self.cost_micros = self.usage.paid();
        self.proven_micros = self.proven_micros.saturating_add(other.proven_micros);
    }
}

impl Costs {
    fn keep_dearest(&mut self) {
        self.dearest.sort_by_key(|task| (std::cmp::Reverse(task.usage.paid()), task.id));
        self.dearest.truncate(DEAREST);
    }
}

impl Figures for Costs {
    fn count(&mut self, task: &IndexedTask, now: Timestamp) {
        self.over += u64::from(is_judged(task.standing));
        let project = self.projects.entry(task.project.to_string()).or_default();
        let workflow = self.workflows.entry(task.workflow.to_string()).or_default();
        for bill in [&mut self.all, project, workflow] {
            bill.count_task(task.standing);
            task.legs().for_each(|leg| bill.add(task, &leg, now));
        }
        for leg in task.legs() {
            let agent = leg.agent.as_ref().map(|name| self.agents.entry(name.to_string()).or_default());
            let model = leg.model.as_ref().map(|name| self.models.entry(name.to_string()).or_default());
            let day = leg.started.map(|started| self.days.entry(midnight(started)).or_default());
            for bill in [agent, model, day].into_iter().flatten() {
                bill.count_leg(leg.state);
                bill.add(task, &leg, now);
            }
        }
        if task.cost().is_some_and(|cost| cost > 0) {
            let mut usage = Usage::default();
            task.legs().filter_map(|leg| leg.usage).for_each(|used| usage.add(&used));
            let title = task.title.to_string();
            self.dearest.push(Dear { id: task.id, title, usage, limit: task.max_cost });
            if self.dearest.len() >= 10 * DEAREST {
                self.keep_dearest();
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.all.merge(&other.all);
        self.over += other.over;
        let pairs = [
            (&mut self.projects, &other.projects),
            (&mut self.workflows, &other.workflows),
            (&mut self.agents, &other.agents),
            (&mut self.models, &other.models),
        ];
        for (mine, theirs) in pairs {
            theirs.iter().for_each(|(name, bill)| match mine.get_mut(name) {
                Some(mine) => mine.merge(bill),
                None => drop(mine.insert(name.clone(), bill.clone())),
            });
        }
        for (day, bill) in &other.days {
            self.days.entry(*day).or_default().merge(bill);
        }
        self.dearest.extend_from_slice(&other.dearest);
        self.keep_dearest();
    }
}

/// Sums up tasks that are not in groups.
pub fn sum<'t, F: Figures>(tasks: impl IntoIterator<Item = &'t IndexedTask>, now: Timestamp) -> F {
    let mut part = F::default();
    tasks.into_iter().for_each(|task| part.count(task, now));
    let mut sum = F::default();
    sum.merge(&part);
    sum
}

/// Returns whether the result of a task says something about its agent.
fn is_judged(standing: Standing) -> bool {
    matches!(standing, Standing::Done | Standing::Failed | Standing::NoImprovement)
}

/// Results of one agent with one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Performance {
    /// Finished tasks, without cancelled ones. All task rates are based on these.
    pub tasks: u64,
    /// Completed tasks among them.
    pub done: u64,
    /// First attempts at gated stages.
    pub first_tries: u64,
    /// First attempts that passed their gates.
    pub first_passed: u64,
    /// Legs that fixed what gates rejected.
    pub fixes: u64,
    /// Total known cost in millionths of a dollar, including failed work; `None` if no price is known.
    pub cost: Option<u64>,
    /// Run time of each of these tasks in milliseconds.
    #[serde(skip)]
    pub lengths: Vec<u64>,
}

/// Returns the median of some durations in milliseconds.
pub fn median(lengths: &[u64]) -> Option<Duration> {
    let mut all = lengths.to_vec();
    let middle = all.len() / 2;
    (!all.is_empty()).then(|| Duration::from_millis(*all.select_nth_unstable(middle).1))
}

impl Performance {
    /// Returns the cost per completed task, including failed work.
    pub fn cost_each(&self) -> Option<u64> {
        self.cost?.checked_div(self.done)
    }

    /// Returns the median run time.
    pub fn median(&self) -> Option<Duration> {
        median(&self.lengths)
    }

    /// Returns the share of completed tasks.
    pub fn rate(&self) -> Option<Rate> {
        Rate::of(self.done, self.tasks)
    }

    /// Returns the share of first attempts that passed their gates.
    pub fn first_rate(&self) -> Option<Rate> {
        Rate::of(self.first_passed, self.first_tries)
    }
}

/// A share with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Observed share, between 0 and 1.
    pub seen: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Number of cases.
    pub cases: u64,
}

impl Rate {
    /// Computes the Wilson score interval, which is valid for few cases and for shares near 0 and 1.
    pub fn of(hits: u64, cases: u64) -> Option<Self> {
        /// Quantile for 95 %.
        const Z: f64 = 1.96;
        if cases == 0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss, reason = "numbers of tasks are far below 2^52")]
        let (hits, number) = (hits as f64, cases as f64);
        let seen = hits / number;
        let below = 1.0 + Z * Z / number;
        let middle = (seen + Z * Z / (2.0 * number)) / below;
        let half = Z * (seen * (1.0 - seen) / number + Z * Z / (4.0 * number * number)).sqrt() / below;
        Some(Self { seen, low: (middle - half).max(0.0), high: (middle + half).min(1.0), cases })
    }
}

/// Returns the author of a task: agent and model of the first leg that wrote the change, or of the first leg with an
/// agent.
fn author(task: &IndexedTask) -> Option<(Word, Word)> {
    let writes = |leg: &IndexedLeg<'_>| {
        task.stages.iter().any(|stage| stage.name == leg.stage && stage.writes) && leg.agent.is_some()
    };
    let leg = task.legs().find(writes).or_else(|| task.legs().find(|leg| leg.agent.is_some()))?;
    let model = leg.model.clone().unwrap_or_else(|| Word::from("model not told"));
    Some((leg.agent.clone()?, model))
}

/// Agents compared, with the weeks in which their tasks were created.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// By agent and model.
    pub agents: BTreeMap<(String, String), Performance>,
    /// Completed tasks and finished ones by agent, model and week: weeks since 1970, in UTC, from Monday on.
    pub weeks: BTreeMap<(String, String), BTreeMap<i64, (u64, u64)>>,
}

/// Returns the Monday with which a week begins, such as `2026-11-16`.
pub fn monday(week: i64) -> String {
    let days = i32::try_from(week * 7 - 3).unwrap_or(0);
    let day = jiff::civil::date(1970, 1, 1).checked_add(jiff::Span::new().days(days));
    day.map_or_else(|_| String::new(), |day| day.to_string())
}

/// Returns the week of a time: weeks since Monday, 29 December 1969.
pub fn week(at: Timestamp) -> i64 {
    // 1 January 1970 was a Thursday.
    (index::day(at) + 3).div_euclid(7)
}

impl Figures for Compared {
    fn count(&mut self, task: &IndexedTask, now: Timestamp) {
        if !is_judged(task.standing) {
            return;
        }
        let Some((agent, model)) = author(task) else { return };
        let name = (agent.to_string(), model.to_string());
        let done = u64::from(task.standing == Standing::Done);
        let (of_week, all) =
            self.weeks.entry(name.clone()).or_default().entry(week(task.created)).or_default();
        *of_week += done;
        *all += 1;
        let one = self.agents.entry(name).or_default();
        one.tasks += 1;
        one.done += done;
        one.cost = one.cost.into_iter().chain(task.cost()).reduce(u64::saturating_add);
        one.lengths.push(u64::try_from(task.took(now).as_millis()).unwrap_or(u64::MAX));
        one.fixes += task.legs().filter(|leg| leg.reason == Reason::Fix).count() as u64;
        for stage in task.stages.iter().filter(|stage| stage.gated && !stage.repairs) {
            let first = task.legs().find(|leg| {
                leg.stage == stage.name
                    && leg.reason == Reason::Work
                    && matches!(leg.state, leg::State::Passed | leg::State::Rejected)
            });
            one.first_tries += u64::from(first.is_some());
            one.first_passed += u64::from(first.is_some_and(|leg| leg.state == leg::State::Passed));
        }
    }

    fn merge(&mut self, other: &Self) {
        for (name, theirs) in &other.agents {
            let mine = self.agents.entry(name.clone()).or_default();
            mine.tasks += theirs.tasks;
            mine.done += theirs.done;
            mine.first_tries += theirs.first_tries;
            mine.first_passed += theirs.first_passed;
            mine.fixes += theirs.fixes;
            mine.cost = mine.cost.into_iter().chain(theirs.cost).reduce(u64::saturating_add);
            mine.lengths.extend_from_slice(&theirs.lengths);
        }
        for (name, weeks) in &other.weeks {
            let mine = self.weeks.entry(name.clone()).or_default();
            for (week, (done, all)) in weeks {
                let held = mine.entry(*week).or_default();
                held.0 += done;
                held.1 += all;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::index::{LegShape, Legs, TaskShape};

    #[test]
    fn few_cases_say_little() {
        let wide = Rate::of(3, 4).unwrap();
        let narrow = Rate::of(300, 400).unwrap();
        assert!(wide.high - wide.low > 0.5 && narrow.high - narrow.low < 0.1, "{wide:?} {narrow:?}");
        assert!(wide.low < 0.75 && 0.75 < wide.high && wide.high <= 1.0);
        let all = Rate::of(5, 5).unwrap();
        assert!(all.low < 0.6 && (all.high - 1.0).abs() < 1e-9, "{all:?}");
        assert_eq!(Rate::of(0, 0), None);
    }

    /// A task whose time, project, state and cost follow from a number.
    fn task(id: i64, seed: i64) -> IndexedTask {
        let word = |text: &str| Word::from(text);
        let created = Timestamp(1_790_000_000_000 + id * 3_600_000 * 7);
        let standing = [Standing::Done, Standing::Failed, Standing::Working, Standing::Cancelled]
            [usize::try_from(seed % 4).unwrap()];
        let usage = Usage { input: 10, cost_micros: Some(u64::try_from(seed).unwrap()), ..Usage::default() };
        let shape = LegShape {
            stage: word("code"),
            reason: Reason::Work,
            subject: word("code"),
            state: if seed % 3 == 0 { leg::State::Rejected } else { leg::State::Passed },
            outcome: Some(word("pr_ready")),
            rejected_by: Vec::new(),
            agent: Some(word(["a", "b"][usize::try_from(seed % 2).unwrap()])),
            model: Some(word("m")),
        };
        let leg = IndexedLeg {
            number: 1,
            shape: &shape,
            usage: Some(usage),
            not_before: created,
            started: Some(created),
            ended: (seed % 5 != 0).then_some(Timestamp(created.0 + 1_000 * seed)),
        };
        let legs = one(leg);
        let shape = TaskShape {
            project: word(["p", "q"][usize::try_from(id % 2).unwrap()]),
            place: word("/p"),
            workflow: word(["f", "g", "h"][usize::try_from(id % 3).unwrap()]),
            agent: None,
            tags: Vec::new(),
            standing,
            stage: None,
            stages: Arc::from([]),
            max_cost: None,
        };
        IndexedTask {
            id: format!("T-{id}").parse().unwrap(),
            title: format!("task {id}").into(),
            shape: Arc::new(shape),
            legs,
            requests: 0,
            created,
            updated: created,
        }
    }

    fn one(leg: IndexedLeg<'_>) -> Legs {
        Legs::new(Arc::from([Arc::new(leg.shape.clone())]), std::iter::once(leg))
    }

    #[test]
    fn sums_of_groups_are_those_of_their_tasks_whatever_changes() {
        let (mut index, mut costs, mut agents) =
            (TaskIndex::default(), Folded::<Costs>::default(), Folded::<Compared>::default());
        let now = Timestamp(1_800_000_000_000);
        // Starts within a day, and not at its beginning.
        let since = Timestamp(1_790_000_000_000 + 3_600_000 * 7 * 33 + 1);
        for round in 0..6 {
            // First all tasks, then some again: changed, and one gone.
            let step = usize::try_from(round * 7 + 1).unwrap();
            for id in (1..=120).step_by(step) {
                let new = task(id, (id * 31 + round * 17) % 97);
                index.replace(new.id, (round != 3 || id != 1).then_some(new));
            }
            for (project, workflow) in [("", ""), ("p", ""), ("q", "g"), ("", "none")] {
                for all_open in [false, true] {
                    let selected = Selection { since, project, workflow, all_open };
                    let wanted = |task: &&IndexedTask| {
                        (task.created >= since || (all_open && !task.standing.is_over()))
                            && (project.is_empty() || *task.project == *project)
                            && (workflow.is_empty() || *task.workflow == *workflow)
                    };
                    let tasks = || index.all().filter(wanted);
                    assert_eq!(costs.sum(&index, selected, now), sum::<Costs>(tasks(), now), "{selected:?}");
                    let mut folded = agents.sum(&index, selected, now);
                    let mut whole: Compared = sum(tasks(), now);
                    for one in folded.agents.values_mut().chain(whole.agents.values_mut()) {
                        one.lengths.sort_unstable();
                    }
                    assert_eq!(folded, whole, "{selected:?}");
                }
            }
        }
        assert!(costs.0.len() > 20, "sums are kept: {}", costs.0.len());
    }

    #[test]
    fn what_a_person_cancelled_did_not_fail_and_what_has_no_price_is_not_free() {
        let cancelled = task(1, 3);
        let leg = cancelled.legs().next().unwrap();
        let shape = LegShape { state: leg::State::Cancelled, ..leg.shape.clone() };
        let legs = one(IndexedLeg { shape: &shape, ..leg });
        let cancelled = IndexedTask { legs, ..cancelled.clone() };
        let unpriced = task(2, 4);
        let usage = Some(Usage { input: 10, ..Usage::default() });
        let legs = one(IndexedLeg { usage, ..unpriced.legs().next().unwrap() });
        let unpriced = IndexedTask { legs, ..unpriced.clone() };
        let now = Timestamp(1_800_000_000_000);
        let costs: Costs = sum([&cancelled, &unpriced], now);
        assert_eq!((costs.all.count, costs.all.succeeded, costs.all.failed), (2, 1, 0));
        assert_eq!((costs.agents["b"].failed, costs.agents["a"].failed), (0, 0));
        let compared: Compared = sum([&unpriced], now);
        let results = &compared.agents[&("a".to_owned(), "m".to_owned())];
        assert_eq!((results.done, results.cost, results.cost_each()), (1, None, None));
        let priced: Compared = sum([&unpriced, &task(6, 4)], now);
        assert_eq!(priced.agents[&("a".to_owned(), "m".to_owned())].cost_each(), Some(2));
    }
}
