//! Prints tasks: as a list, in full, and their cost.

use std::path::Path;

use acquit_core::artifact::Artifact;
use acquit_core::leg::Leg;
use acquit_core::night::key;
use acquit_core::sandbox::Mode;
use acquit_core::task::{End, State, Summary, Task, Wish};
use acquit_core::time::{Span, Timestamp};

use acquit_app::merge::can_merge;
use acquit_app::tasks::{Details, Listed};

use super::follow::heading;
use super::request::asked;
use super::{Look, Offers, Printer, money, table, text};

/// Maximum width of a title in lists.
const TITLE: usize = 60;

impl Printer {
    /// Prints a list of tasks.
    pub fn tasks(self, Listed { tasks, more }: &Listed) {
        if self.json {
            self.json(&tasks);
            if *more {
                self.cut(tasks.len());
            }
            return;
        }
        if tasks.is_empty() {
            return self.say("no tasks yet; `acquit run \"…\"` makes one");
        }
        let mut rows: Vec<Vec<String>> = tasks.iter().map(row).collect();
        let mut headings = vec!["TASK", "STATE", "STAGE", "LEGS", "COST", "UPDATED", "TITLE"];
        // With little space, drop the least important columns first.
        let (mut right, mut least) = (vec![3, 4], vec![3, 5, 2, 4]);
        if tasks.iter().any(|task| task.priority != 0) {
            let column = headings.len() - 1;
            headings.insert(column, "PRIO");
            for (row, task) in rows.iter_mut().zip(tasks) {
                row.insert(column, task.priority.to_string());
            }
            right.push(column);
            least.push(column);
        }
        let lines = table::fitted(&headings, &rows, &right, &least, self.width());
        for (index, line) in lines.iter().enumerate() {
            let line = self.paint(if index == 0 { Look::Faint } else { Look::Plain }, line);
            let open = index > 0 && tasks[index - 1].sandbox == Mode::Off;
            let mark =
                if open { format!("  {}", self.paint(Look::Bad, "SANDBOX OFF")) } else { String::new() };
            self.data(&format!("{line}{mark}"));
        }
        if *more {
            self.cut(tasks.len());
        }
    }

    /// Prints one task in full.
    /// `dirty` is a checkout with changes that prevent a merge.
    pub fn task(self, details: &Details, dirty: Option<&Path>) {
        if self.json {
            return self.json(details);
        }
        let Details { task, legs, sandbox, gates, setups, .. } = details;
        let sandbox = *sandbox;
        let seed = &task.seed;
        self.data(&format!(
            "{} {}",
            self.paint(Look::Strong, &seed.id.to_string()),
            text::visible(&seed.wish.title)
        ));
        if !seed.wish.description.is_empty() {
            self.data(&text::visible(&seed.wish.description));
        }
        let base = seed.base.branch.as_deref().unwrap_or("a commit");
        self.data("");
        self.field("state", &self.state(&task.state, details.state));
        self.field("workflow", seed.workflow.as_str());
        if let Some(fallback) = task.fallback() {
            self.field("category", &text::visible(&fallback));
        }
        if task.headline() != seed.wish.title {
            self.field("work", &text::line(task.headline(), 200));
        }
        if let Some(about) = about(&seed.wish) {
            self.field("about", &text::visible(&about));
        }
        self.field("project", &text::visible(&seed.project.path));
        self.field("base", &format!("{base} at {}", short(task.base())));
        self.field("branch", &text::visible(&seed.branch));
        self.field("sandbox", &self.sandbox(sandbox));
        self.artifacts(task);
        for setup in setups {
            self.field("setup", &text::visible(&setup.summary()));
        }
        for verdict in gates {
            self.gate(verdict).iter().for_each(|line| self.data(line));
        }
        if let State::Waiting { request } = &task.state {
            self.data("");
            self.data(&self.paint(Look::Notable, &asked(request)));
            self.request(task, request);
        }
        self.bill(task, legs);
        self.next(task, dirty);
    }

    /// Prints what to do next with finished work.
    fn next(self, task: &Task, dirty: Option<&Path>) {
        let merged = task.artifacts.iter().any(|artifact| matches!(artifact, Artifact::Merged { .. }));
        let done = task.state == (State::Ended { end: End::Done });
        if !done || merged || !acquit_app::diff::is_published(task) {
            return;
        }
        self.data("");
        self.suggest_for(task, dirty);
    }

    /// Prints commands that are useful now.
    pub fn suggest(self, task: &Task) {
        self.suggest_for(task, None);
    }

    fn suggest_for(self, task: &Task, dirty: Option<&Path>) {
        let prefix = match self.offers {
            Offers::Here => "acquit",
            Offers::At(place) => place,
        };
        let all = acquit_app::suggest::of(task, dirty);
        let widest = all.iter().map(|one| one.what.len()).max().unwrap_or(0);
        for one in all {
            let what = format!("{}:", one.what);
            self.data(&format!("  {what:<width$}  {prefix} {}", one.command, width = widest + 1));
        }
        if let Some(at) = dirty.filter(|_| can_merge(task)) {
            let at = text::visible(&at.display().to_string());
            self.data(
                &self.wrapped(&format!("  to merge it, first commit or stash your changes in {at}"), 2),
            );
        }
    }

    /// Describes the sandbox of a task; in red if it is off.
    pub fn sandbox(self, sandbox: Mode) -> String {
        match sandbox {
            Mode::On => "on".to_owned(),
            Mode::Reduced => self.paint(
                Look::Notable,
                "reduced: walls that this machine lacks are left out (sandbox = \"reduced\" in acquit.toml)",
            ),
            Mode::Off => self.paint(
                Look::Bad,
                "OFF: agents and gates may do all that you may (sandbox = \"off\" in acquit.toml)",
            ),
        }
    }

    fn field(self, name: &str, value: &str) {
        self.data(&format!("{} {value}", self.paint(Look::Faint, &format!("{name:<9}"))));
    }

    /// Describes a state. `word` is the one that lists show.
    fn state(self, state: &State, word: &str) -> String {
        match state {
            State::Ended { end: End::Done } => self.paint(Look::Good, "done"),
            State::Ended { end: End::Failed { reason } } => {
                self.paint(Look::Bad, &format!("failed: {}", text::line(reason, 200)))
            }
            State::Ended { end: End::Cancelled { by } } => {
                self.paint(Look::Notable, &format!("cancelled by {by}"))
            }
            State::Ended { end: End::NoImprovement } => self.paint(Look::Notable, "no improvement found"),
            State::Working { entry, .. } => format!("{word} at {}", heading(entry)),
            State::Waiting { request } if request.is_irreversible() => {
                let words = format!("blocked: {} cannot be undone and waits for a person", request.stage);
                self.paint(Look::Notable, &words)
            }
            State::Waiting { request } => {
                self.paint(Look::Notable, &format!("waits for a person at {}", request.stage))
            }
            State::Blocked { root, resume } => {
                let words =
                    format!("waits at {} for {}, which mends the same failure", resume.stage, root.task);
                self.paint(Look::Notable, &words)
            }
            State::New => word.to_owned(),
        }
    }

    fn artifacts(self, task: &Task) {
        for artifact in &task.artifacts {
            match artifact {
                Artifact::Plan { text } => {
                    self.field("plan", &text::count(text.lines().count(), "line"));
                }
                Artifact::Branch { commit, published, .. } => {
                    let place = if *published { "in your repository" } else { "in the workspace" };
                    self.field("work", &format!("{} {place}", short(commit)));
                }
                Artifact::Commits { leg, commits } => {
                    self.field("commits", &format!("{} by leg {leg}", commits.len()));
                }
                Artifact::Merged { branch, commit } => {
                    self.field("merged", &format!("into {} as {}", text::visible(branch), short(commit)));
                }
                Artifact::Diff(stats) => {
                    let files = text::count(stats.files, "file");
                    self.field("diff", &format!("{files}, +{} −{}", stats.insertions, stats.deletions));
                }
                Artifact::Pushed { .. } => {}
                Artifact::Report { stage, gate, path, .. } => {
                    self.field("report", &format!("{} (gate {gate} at {stage})", text::visible(path)));
                }
                Artifact::PullRequest(request) => self.field("request", &text::visible(&request.url)),
                Artifact::File { stage, path, bytes, .. } => {
                    self.field("file", &format!("{} ({bytes} bytes, from {stage})", text::visible(path)));
                }
            }
        }
    }

    /// Prints the legs of a task and their cost.
    pub fn bill(self, task: &Task, legs: &[Leg]) {
        let mut rows: Vec<Vec<String>> = legs.iter().map(|leg| leg_row(task, leg)).collect();
        let total = task.usage();
        let time: Span = legs.iter().map(|leg| u64::from(took(leg))).sum::<u64>().into();
        rows.push(vec![
            String::new(),
            "total".to_owned(),
            String::new(),
            time.to_string(),
            money::tokens(total.tokens() - total.output),
            money::tokens(total.output),
            money::usage_cost(&total),
        ]);
        self.data("");
        let headings = ["LEG", "STAGE", "RESULT", "TIME", "TOKENS IN", "OUT", "COST"];
        let lines = table::fitted(&headings, &rows, &[0, 3, 4, 5, 6], &[5, 4, 3, 2], self.width());
        let last = lines.len() - 1;
        for (index, line) in lines.iter().enumerate() {
            let look = match index {
                0 => Look::Faint,
                index if index == last => Look::Strong,
                _ => Look::Plain,
            };
            self.data(&self.paint(look, line));
        }
        for remark in money::remarks(&total) {
            self.data(&self.paint(Look::Faint, &self.wrapped(&remark, 0)));
        }
    }

    /// Prints the result of `acquit run`. `dirty` is a checkout with changes that prevent a merge.
    pub fn verdict(self, task: &Task, legs: &[Leg], dirty: Option<&Path>) {
        if self.json {
            return self.json_line(&serde_json::json!({ "task": task }));
        }
        self.bill(task, legs);
        self.data("");
        let id = task.id();
        match &task.state {
            State::Ended { end: End::Done } => {
                let branch = text::visible(&task.seed.branch);
                let mark = self.paint(Look::Good, "✓");
                let merged = task.artifacts.iter().find_map(|artifact| match artifact {
                    Artifact::Merged { branch, .. } => Some(text::visible(branch)),
                    _ => None,
                });
                if let Some(base) = merged {
                    self.data(&format!("{mark} {id} is done: merged into {base}"));
                } else if acquit_app::diff::is_published(task) {
                    self.data(&format!("{mark} {id} is done: branch {branch}"));
                } else {
                    self.data(&format!("{mark} {id} is done"));
                }
                self.suggest_for(task, dirty);
            }
            State::Waiting { request } => {
                let mark = self.paint(Look::Notable, "?");
                let words = format!("{id} needs your input: {}", asked(request));
                self.data(&format!("{mark} {}", self.wrapped(&words, 2)));
                self.request(task, request);
            }
            state @ State::Blocked { .. } => {
                self.data(&format!(
                    "{} {id} {}",
                    self.paint(Look::Notable, "?"),
                    self.state(state, state.word())
                ));
                self.suggest(task);
            }
            State::Working { cancel: None, .. } => {
                self.data(&format!("{} {id} continues by itself", self.paint(Look::Notable, "…")));
                self.suggest(task);
            }
            state @ (State::Ended { .. } | State::Working { .. } | State::New) => {
                self.data(&format!(
                    "{} {id} {}",
                    self.paint(Look::Bad, "✗"),
                    self.state(state, state.word())
                ));
                self.suggest(task);
            }
        }
    }
}

/// Formats a task's properties other than title and description.
fn about(wish: &Wish) -> Option<String> {
    let named = |name: &str, value: Option<String>| value.map(|value| format!("{name} {value}"));
    let own = [
        named("priority", (wish.priority != 0).then(|| wish.priority.to_string())),
        named("size", wish.size.clone()),
        named("complexity", wish.complexity.clone()),
        named("tags", (!wish.tags.is_empty()).then(|| wish.tags.join(" "))),
    ];
    let others = wish.metadata.iter().filter(|(name, _)| !key::ALL.contains(&name.as_str()));
    let others = others.map(|(name, value)| format!("{name} {value}"));
    let all: Vec<String> = own.into_iter().flatten().chain(others).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn row(task: &Summary) -> Vec<String> {
    vec![
        task.id.to_string(),
        task.state.clone(),
        task.stage.as_ref().map(ToString::to_string).unwrap_or_default(),
        task.legs.to_string(),
        task.cost_micros.map(|cost| money::cost(Some(cost))).unwrap_or_default(),
        when(task.updated),
        text::line(&task.title, TITLE),
    ]
}

fn leg_row(task: &Task, leg: &Leg) -> Vec<String> {
    let past = task.past.iter().find(|past| past.number == leg.id.number);
    let result = match past.map(|past| &past.ending) {
        Some(acquit_core::leg::Ending::Passed { outcome }) => outcome.name.to_string(),
        Some(ending) => text::line(&ending.trouble().unwrap_or_default(), 40),
        None => leg.state.name().to_owned(),
    };
    let usage = &leg.usage;
    vec![
        leg.id.number.to_string(),
        heading(&leg.entry),
        result,
        took(leg).to_string(),
        money::tokens(usage.tokens() - usage.output),
        money::tokens(usage.output),
        money::usage_cost(usage),
    ]
}

fn took(leg: &Leg) -> Span {
    let length = leg.started.zip(leg.ended).map_or(std::time::Duration::ZERO, |(from, to)| to.since(from));
    Span::from(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Formats a time in the user's time zone.
pub fn when(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default()
}
