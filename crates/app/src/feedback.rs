//! Feedback on a task's pull request at its forge.

use acquit_core::decide::Input;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::Task;

use crate::{App, Error};

impl App {
    /// Fetches review comments and failed checks of the task's open pull request, and continues the task if there are
    /// new ones. Returns the task and the number of new ones.
    pub fn feedback(&self, store: &mut dyn Store, id: TaskId) -> Result<(Task, usize), Error> {
        let before = store.task(id)?;
        let definition = store.definition(id)?;
        acquit_run::trusted_definitions::check(&self.runtime, id, &definition)?;
        let comments = acquit_run::forge::feedback(&self.runtime, &before, &definition)
            .map_err(|source| Error::Forge { task: id, source })?;
        let task = self.decide(store, id, &Input::Feedback { comments })?;
        let new = task.conversation.len().saturating_sub(before.conversation.len());
        Ok((task, new))
    }
}
