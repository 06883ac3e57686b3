//! The end of a workspace whose task ended without a branch: everything in it is saved to private refs of the user's repository first.

use super::{Error, LockedWorkspace, SavedAttempt};
use crate::git::{CommitId, Source};
use crate::secrets::Redactor;

impl LockedWorkspace {
    /// Saves what is in here as an attempt called `name`, except what has a secret in it, and deletes the folder. Killed in between, it
    /// can be done again: what is saved is saved, and what is half removed is no workspace any more. `first` is done before the folder is
    /// deleted. Refuses if something cannot become a commit.
    pub(crate) fn retire(
        self,
        source: &Source,
        name: &str,
        redactor: &Redactor,
        first: impl FnOnce() -> Result<(), crate::git::Error>,
    ) -> Result<(), Error> {
        if self.is_made() {
            if let Some(state) = self.load()? {
                let (head, branch) = (state.facts.head.clone(), state.facts.branch.clone());
                self.prepare(name, &head, &branch)?;
            }
            let facts = self.known()?.facts;
            self.drop_leaks(redactor, &facts.origin)?;
            // Where nobody did anything, there is nothing to keep a name for.
            if facts.head != facts.origin || !self.attempts()?.is_empty() {
                self.keep_in_source(source, name)?;
            }
        }
        self.remove_after(source, first)
    }

    /// Forgets attempts that have a secret in them: those of a leg that was lost were saved before anybody looked. (What the task
    /// stands on was looked at when it was collected.)
    fn drop_leaks(&self, redactor: &Redactor, origin: &CommitId) -> Result<(), Error> {
        for (reference, commit) in self.attempts()? {
            if self.find_secret(redactor, origin, &commit)?.is_some() {
                self.drop_attempt(&SavedAttempt { reference, commit, kept: Vec::new() })?;
            }
        }
        Ok(())
    }
}
