//! An in-memory index of all tasks, for pages that show many of them: boards, costs, comparisons, drawings of
//! workflows.
//!
//! It is built once and then follows the store's events, so a page costs the same with ten tasks or ten thousand. It
//! contains the data for lists and figures, but no agent output, and shares properties that tasks have in common: some
//! hundred bytes per task. The usage of running legs changes without an event, so it is read on each visit.
//!
//! **Building takes time** with many tasks, so it is done in parts: open tasks first, then ended ones, newest first. A
//! board is complete after the first part; [`TaskIndex::unread`] returns how many tasks the figures still lack.
//!
//! **Figures are not folded on each visit.** Tasks are grouped by creation day, repository and workflow. A group has a
//! version that changes with its tasks, so a sum over a group stays valid until then (see `figures`).
//!
//! A task that cannot be read is left out and reported with the reason, so that one damaged row does not hide the other
//! tasks.

mod entry;
mod legs;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use acquit_core::ids::TaskId;
use acquit_core::store::{self, Filter, Store};
use acquit_core::time::Timestamp;

use crate::Error;

pub use entry::{IndexedTask, repairs};
pub use legs::{IndexedLeg, Legs};
pub use shape::{LegShape, Reason, StageShape, Standing, TaskShape, Word};

/// Maximum number of indexed tasks, newest first.
const MOST: u32 = 50_000;
/// Number of events to read at once.
const PAGE: u32 = 500;
/// If there are more new events than this many pages, rebuild the index: that is faster than following them.
const FOLLOWED: usize = 40;
/// Number of tasks to read at once while the index is built. A page that waits for them waits for milliseconds.
pub const PART: usize = 25;

/// All tasks.
#[derive(Default)]
pub struct TaskIndex {
    /// Boxed, because half of the places in a tree are empty.
    tasks: BTreeMap<TaskId, Box<IndexedTask>>,
    unreadable: BTreeMap<TaskId, String>,
    seen: Option<i64>,
    words: entry::Words,
    /// Tasks that are not read yet; the next one is last.
    unread: Vec<Unread>,
    /// Time of the last change of tasks that were read from a list.
    stored: BTreeMap<TaskId, Timestamp>,
    open: BTreeSet<TaskId>,
    ended: BTreeSet<(Timestamp, TaskId)>,
    groups: BTreeMap<GroupKey, Group>,
    /// Number of tasks per name.
    names: BTreeMap<(Named, Word), usize>,
    changes: u64,
}

/// A task that is not read yet.
struct Unread {
    id: TaskId,
    /// Time of its last change.
    updated: Timestamp,
    /// Whether it has not ended.
    open: bool,
}

/// Properties that tasks share when they are summed up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupKey {
    /// Day of creation: days since 1970, in UTC.
    pub day: i64,
    /// Short name of the repository.
    pub project: Word,
    /// Workflow name.
    pub workflow: Word,
}

/// Tasks that are summed up together.
#[derive(Debug, Default)]
pub struct Group {
    /// The tasks.
    pub tasks: BTreeSet<TaskId>,
    /// Changes whenever one of the tasks does. No two states of the index share a version.
    pub version: u64,
}

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// Short name of a repository.
    Project,
    /// Path of a repository.
    Place,
    /// A workflow.
    Workflow,
    /// An agent.
    Agent,
    /// A tag.
    Tag,
}

/// Returns the day of a time, as [`GroupKey`] counts them.
pub fn day(at: Timestamp) -> i64 {
    at.0.div_euclid(86_400_000)
}

impl TaskIndex {
    /// Reads these tasks, and no others.
    pub fn of(store: &mut dyn Store, tasks: impl Iterator<Item = TaskId>) -> Result<Self, Error> {
        let mut index = Self::default();
        for id in tasks {
            index.read(store, id)?;
        }
        Ok(index)
    }

    /// Updates the index. The first call reads the first part of the tasks; [`TaskIndex::read_more`] reads the others.
    pub fn refresh(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        let Some(mut after) = self.seen else { return self.begin(store) };
        let mut changed = BTreeSet::new();
        for page in 0.. {
            if page == FOLLOWED {
                return self.begin(store);
            }
            let events = match store.events(None, after, PAGE) {
                // There is no way to tell which task an unreadable event belongs to.
                Err(store::Error::Corrupt { .. }) => return self.begin(store),
                events => events?,
            };
            after = events.last().map_or(after, |event| event.seq);
            let full = events.len() == PAGE as usize;
            changed.extend(events.into_iter().map(|event| event.task));
            if !full {
                break;
            }
        }
        for id in changed {
            self.stored.remove(&id);
            self.read(store, id)?;
        }
        self.seen = Some(after);
        self.follow_usage(store)
    }

    /// Reads the current usage of running legs. It grows without an event. Groups with a running leg are summed up on
    /// each visit, so their version stays.
    fn follow_usage(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        for (leg, _) in store.running()? {
            if let Some(task) = self.tasks.get_mut(&leg.id.task) {
                task.legs.set_usage(leg.id.number, entry::used(&leg.usage).as_ref());
            }
        }
        Ok(())
    }

    /// Lists the tasks that have changed, and reads the first part of them.
    fn begin(&mut self, store: &mut dyn Store) -> Result<(), Error> {
        // Read this before the tasks, so that changes during the build are read again.
        let seen = newest_event(store, self.seen.unwrap_or(0))?;
        let mut listed = store.list(&Filter { ended: true, limit: MOST, ..Filter::default() })?;
        listed.retain(|summary| self.stored.get(&summary.id) != Some(&summary.updated));
        let unread = listed.into_iter().rev().map(|summary| Unread {
            id: summary.id,
            updated: summary.updated,
            open: summary.stage.is_some(),
        });
        self.unread = unread.collect();
        self.unread.sort_by_key(|task| task.open);
        self.seen = Some(seen);
        self.read_more(store, PART)
    }

    /// Reads at most `most` of the tasks that are not read yet.
    pub fn read_more(&mut self, store: &mut dyn Store, most: usize) -> Result<(), Error> {
        for _ in 0..most {
            let Some(next) = self.unread.last() else { break };
            let (id, updated) = (next.id, next.updated);
            // Keep it in the list until it is read: the store may not answer.
            self.read(store, id)?;
            self.unread.pop();
            self.stored.insert(id, updated);
        }
        if self.unread.is_empty() {
            self.unread.shrink_to_fit();
        }
        Ok(())
    }

    /// Reads open tasks, and those that changed at or after a time.
    pub fn read_since(&mut self, store: &mut dyn Store, moment: Timestamp) -> Result<(), Error> {
        let wanted = |task: &Unread| task.open || task.updated >= moment;
        self.unread.sort_by_key(wanted);
        let count = self.unread.iter().rev().take_while(|task| wanted(task)).count();
        self.read_more(store, count)
    }

    /// Returns the number of tasks that are not read yet.
    pub fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Reads a task again.
    fn read(&mut self, store: &mut dyn Store, id: TaskId) -> Result<(), Error> {
        let mut read = || Ok((store.task(id)?, store.legs(id)?, store.definition(id)?));
        match read() {
            Ok((task, legs, definition)) => {
                let entry = self.words.entry(&task, &legs, &definition);
                self.replace(id, Some(entry));
                self.unreadable.remove(&id);
            }
            Err(error @ store::Error::Corrupt { .. }) => {
                self.replace(id, None);
                self.unreadable.insert(id, acquit_run::harness::chain(&error));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Replaces the entry of a task, in all lists.
    pub(crate) fn replace(&mut self, id: TaskId, new: Option<IndexedTask>) {
        self.changes += 1;
        if let Some(old) = self.tasks.remove(&id) {
            self.open.remove(&id);
            self.ended.remove(&(old.updated, id));
            if let Some(group) = self.groups.get_mut(&old.group()) {
                group.tasks.remove(&id);
                group.version = self.changes;
            }
            self.count_names(&old, |count| count.saturating_sub(1));
        }
        let Some(new) = new else { return };
        if new.standing.is_over() {
            self.ended.insert((new.updated, id));
        } else {
            self.open.insert(id);
        }
        let group = self.groups.entry(new.group()).or_default();
        group.tasks.insert(id);
        group.version = self.changes;
        self.count_names(&new, |count| count + 1);
        self.tasks.insert(id, Box::new(new));
    }

    fn count_names(&mut self, task: &IndexedTask, count: impl Fn(usize) -> usize) {
        let always =
            [(Named::Project, &task.project), (Named::Place, &task.place), (Named::Workflow, &task.workflow)];
        let agent = task.agent.iter().map(|agent| (Named::Agent, agent));
        let tags = task.tags.iter().map(|tag| (Named::Tag, tag));
        for (named, word) in always.into_iter().chain(agent).chain(tags) {
            let held = self.names.entry((named, Word::clone(word))).or_default();
            *held = count(*held);
        }
    }

    /// Returns the tasks that cannot be read, with the reason.
    pub fn unreadable(&self) -> &BTreeMap<TaskId, String> {
        &self.unreadable
    }

    /// Returns all tasks, newest first.
    pub fn all(&self) -> impl Iterator<Item = &IndexedTask> + Clone {
        self.tasks.values().rev().map(Box::as_ref)
    }

    /// Returns the tasks that have not ended, newest first.
    pub fn open(&self) -> impl Iterator<Item = &IndexedTask> {
        self.open.iter().rev().filter_map(|id| self.get(*id))
    }

    /// Returns the tasks that have ended, the last change first.
    pub fn ended(&self) -> impl Iterator<Item = &IndexedTask> {
        self.ended.iter().rev().filter_map(|(_, id)| self.get(*id))
    }

    /// Returns the ended tasks whose last change is not older, the last change first.
    pub fn ended_since(&self, moment: Timestamp) -> impl Iterator<Item = &IndexedTask> {
        self.ended().take_while(move |task| task.updated >= moment)
    }

    /// Returns a task.
    pub fn get(&self, id: TaskId) -> Option<&IndexedTask> {
        self.tasks.get(&id).map(Box::as_ref)
    }

    /// Returns the groups of tasks, oldest day first.
    pub fn groups(&self) -> &BTreeMap<GroupKey, Group> {
        &self.groups
    }

    /// Returns the names that tasks have, with the number of tasks, in order.
    pub fn names(&self, named: Named) -> impl Iterator<Item = (&str, usize)> {
        let all = self.names.iter().filter(move |((kind, _), count)| *kind == named && **count > 0);
        all.map(|((_, name), count)| (&**name, *count))
    }
}

impl IndexedTask {
    fn group(&self) -> GroupKey {
        GroupKey {
            day: day(self.created),
            project: Word::clone(&self.project),
            workflow: Word::clone(&self.workflow),
        }
    }
}

/// Returns the number of the newest event. `known` is an existing number, or 0. Costs one query if `known` is the
/// newest.
pub fn newest_event(store: &mut dyn Store, mut known: i64) -> Result<i64, Error> {
    // Returns the next event after a number, if there is one. An unreadable event counts as well.
    let mut after = |number: i64| match store.events(None, number, 1) {
        Ok(events) => Ok(events.first().map(|event| event.seq)),
        Err(store::Error::Corrupt { .. }) => Ok(Some(number.saturating_add(1))),
        Err(error) => Err(error),
    };
    // Numbers may be missing, so find the end by doubling and halving the step.
    let mut step = 1_i64;
    while let Some(next) = after(known.saturating_add(step - 1))? {
        known = next;
        step = step.saturating_mul(2);
    }
    while step > 1 {
        step /= 2;
        known = after(known.saturating_add(step - 1))?.unwrap_or(known);
    }
    Ok(known)
}
