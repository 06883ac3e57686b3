//! Applies an action of a person or a program to an existing task.

use acquit_core::change::Change;
use acquit_core::decide::{Illegal, Input, decide};
use acquit_core::ids::TaskId;
use acquit_core::store::{self, Commit, Store};
use acquit_core::task::{State, Task};
use acquit_core::workflow::Workflow;
use acquit_run::harness::Began;

use crate::app::App;
use crate::error::Error;
use crate::reload::{self, Renewal};
use crate::tasks;

/// Maximum number of retries of a decision when the task changed in between.
const TRIES: u32 = 8;

impl App {
    /// Applies an input to a task: reads the task, decides and writes. Starts over if another process changed the task
    /// meanwhile.
    pub fn decide(&self, store: &mut dyn Store, id: TaskId, input: &Input) -> Result<Task, Error> {
        let pinned = Renewal { pinned: true, ..Renewal::default() };
        self.decide_with(store, id, Some(input), &pinned)
    }

    /// Like [`App::decide`], with the current configuration or the one the person asks for. Without an input, only
    /// updates the configuration.
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
                Some(input) => decide(&task, workflow, input.clone()),
                None => Ok(Vec::new()),
            };
            // Report an illegal input before any problem of the configuration.
            let mut changes = match decided(&definition.workflow) {
                Ok(changes) => changes,
                Err(source) => return Err(illegal(store, &task, source)?),
            };
            if let Some(update) = reload::change(self, &task, &definition, renewal)? {
                if let Change::DefinitionUpdated { definition, .. } = &update {
                    changes = match decided(&definition.workflow) {
                        Ok(changes) => changes,
                        Err(source) => return Err(illegal(store, &task, source)?),
                    };
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
                done => {
                    let (was_over, task) = (is_over(&task), done?);
                    acquit_run::ended::clean_up(&self.runtime, store, &task)?;
                    if was_over && !is_over(&task) {
                        self.send_again(store, &task)?;
                    }
                    return Ok(task);
                }
            }
        }
        unreachable!("the loop returns at its last try")
    }

    /// Sends what workers need for a task that continues after a cleanup. If this fails, the next cleanup tries again.
    fn send_again(&self, store: &mut dyn Store, task: &Task) -> Result<(), Error> {
        let definition = store.definition(task.id())?;
        if let Err(error) = acquit_run::fleet::send_again(&self.runtime, store, task, &definition) {
            let words = acquit_run::harness::chain(&error);
            self.warn(format!("workers cannot take {}: failed to {words}", task.id()));
        }
        Ok(())
    }

    /// Cancels a task. Ends it right here if no harness would.
    pub fn cancel(&self, store: &mut dyn Store, id: TaskId) -> Result<Task, Error> {
        self.decide(store, id, &Input::Cancel { by: self.person() })?;
        acquit_run::supervise::reap_lost(&self.runtime, store)?;
        let wanted = acquit_core::store::Wanted::Of(id);
        match acquit_run::harness::claim(&self.runtime, store, wanted) {
            Ok(Some(claim)) => Ok(acquit_run::harness::run(&self.runtime, store, claim, Began::now())?),
            // A machine that may run the task ends it.
            Ok(None) | Err(acquit_run::harness::Error::Untrusted(_)) => Ok(store.task(id)?),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_over(task: &Task) -> bool {
    matches!(task.state, State::Ended { .. })
}

/// Returns the error of an input that a task does not accept, with the state as lists show it: a task that no harness
/// works on is ready, not working. The core cannot tell, because it does not know what runs.
fn illegal(store: &mut dyn Store, task: &Task, source: Illegal) -> Result<Error, Error> {
    let source = match source {
        Illegal::NoStage(name) => {
            let workflow = store.definition(task.id())?.workflow;
            return Ok(Error::no_stage(&workflow, &name));
        }
        Illegal::State { what, .. } if matches!(task.state, State::Working { .. }) => {
            Illegal::State { what, state: tasks::word(store, task)? }
        }
        other => other,
    };
    Ok(Error::Illegal { task: task.id(), source })
}
