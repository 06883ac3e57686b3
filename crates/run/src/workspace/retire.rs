//! Retires the workspace of a task that ended without a branch: first saves everything in it to private refs of the
//! user's repository.

use super::{Error, LockedWorkspace, SavedAttempt};
use crate::git::{CommitId, Source};
use crate::secrets::Redactor;

impl LockedWorkspace {
    /// Saves the content as an attempt called `name`, except what contains a secret, and deletes the directory. If it
    /// is killed in between, it can be repeated: what is saved stays saved, and a half-removed workspace does not count
    /// as one. Calls `first` before the directory is deleted. Fails if something cannot become a commit.
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
            // If nothing was done, there is nothing to keep.
            if facts.head != facts.origin || !self.attempts()?.is_empty() {
                self.keep_in_source(source, name)?;
            }
        }
        self.remove_after(source, first)
    }

    /// Drops attempts that contain a secret: those of a lost leg were saved before any check. (The work of the task
    /// itself was checked when it was collected.)
    fn drop_leaks(&self, redactor: &Redactor, origin: &CommitId) -> Result<(), Error> {
        for (reference, commit) in self.attempts()? {
            if self.find_secret(redactor, origin, &commit)?.is_some() {
                self.drop_attempt(&SavedAttempt { reference, commit, kept: Vec::new() })?;
            }
        }
        Ok(())
    }
}
