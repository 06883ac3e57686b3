//! The end of a workspace whose task ended without a branch: everything in it is saved to private refs of the user's repository first.

use super::{Error, Locked};
use crate::git::Source;

impl Locked {
    /// Saves what is in here as an attempt called `name`, and deletes the folder. Killed in between, it can be done again: what is
    /// saved is saved, and what is half removed is no workspace any more. Refuses if something cannot become a commit.
    pub fn retire(self, source: &Source, name: &str) -> Result<(), Error> {
        if self.is_made() {
            if let Some(state) = self.load()? {
                let (head, branch) = (state.facts.head.clone(), state.facts.branch.clone());
                self.prepare(name, &head, &branch)?;
            }
            let facts = self.known()?.facts;
            // Where nobody did anything, there is nothing to keep a name for.
            if facts.head != facts.origin || !self.attempts()?.is_empty() {
                self.keep_in_source(source, name)?;
            }
        }
        self.remove(source)
    }
}
