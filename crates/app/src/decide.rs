//! What a person or a program does to a task that exists.

use acquit_core::change::Change;
use acquit_core::decide::{Input, decide};
use acquit_core::ids::TaskId;
use acquit_core::store::{self, Commit, Store};
use acquit_core::task::Task;
use acquit_core::workflow::Workflow;
use acquit_run::harness::Began;

use crate::app::App;
use crate::error::Error;
use crate::reload::{self, Renewal};

/// A decision is tried again so often when somebody else changed the task in between.
const TRIES: u32 = 8;

impl App {
    /// Lets something happen to a task: reads it, decides, writes, and begins anew if somebody else was faster.
    pub fn decide(&self, store: &mut dyn Store, id: TaskId, input: &Input) -> Result<Task, Error> {
        let pinned = Renewal { pinned: true, ..Renewal::default() };
        self.decide_with(store, id, Some(input), &pinned)
    }

    /// The same with the configuration as it is now, or another one that a person wants. Without an input only that is changed.
    pub fn decide_with(
        &self,
        store: &mut dyn Store,
        id: TaskId,
        input: Option<&Input>,
        renewal: &Renewal,
    ) -> Result<Task, Error> {
        let definition = store.definition(id)?;
        for attempt in 1.. {
            let task = store.task(id)?;
            let decided = |workflow: &Workflow| match input {
                Some(input) => decide(&task, workflow, input.clone())
                    .map_err(|source| Error::Illegal { task: id, source }),
                None => Ok(Vec::new()),
            };
            // What cannot be is said before anything is said about the configuration.
            let mut changes = decided(&definition.workflow)?;
            if let Some(update) = reload::change(self, &task, &definition, renewal)? {
                if let Change::DefinitionUpdated { definition, .. } = &update {
                    changes = decided(&definition.workflow)?;
                }
                changes.insert(0, update);
            }
            if changes.is_empty() {
                return Ok(task);
            }
            let by = self.person();
            let commit = Commit { before: &task, changes: &changes, by: &by, hold: None, notes: &[] };
            match store.commit(commit) {
                Err(store::Error::Conflict(_)) if attempt < TRIES => {}
                done => return Ok(done?),
            }
        }
        unreachable!("the loop returns at its last try")
    }

    /// Asks for a task's end, and ends it here and now where no harness would.
    pub fn cancel(&self, store: &mut dyn Store, id: TaskId) -> Result<Task, Error> {
        self.decide(store, id, &Input::Cancel { by: self.person() })?;
        acquit_run::supervise::reap_lost(&self.runtime, store)?;
        let wanted = acquit_core::store::Wanted::Of(id);
        match acquit_run::harness::claim(&self.runtime, store, wanted) {
            Ok(Some(claim)) => Ok(acquit_run::harness::run(&self.runtime, store, claim, Began::now())?),
            // The machine that may run it ends it.
            Ok(None) | Err(acquit_run::harness::Error::Untrusted(_)) => Ok(store.task(id)?),
            Err(error) => Err(error.into()),
        }
    }
}
