//! `check = "scope"`: measures the change and the paths that it touches.

use acquit_core::check::scope::{is_sectioned, scope};
use acquit_core::gate::check::{Dependencies, Scope};
use acquit_core::gate::{Evidence, Weight};

use super::{Change, Look, Stopped, add, is_too_large};
use crate::workspace::Around;

impl Look for Scope {
    fn look(&self, change: &mut Change<'_, '_>, evidence: &mut Evidence) -> Result<(), Stopped> {
        let mut diff = change.workspace.change(&change.base, &change.head, Around::Nothing)?;
        if self.dependencies == Dependencies::Reject && diff.files.iter().any(is_sectioned) {
            // The surrounding lines of a manifest show the section of a line.
            match change.workspace.change(&change.base, &change.head, Around::Files) {
                Ok(whole) => {
                    for file in whole.files.into_iter().filter(is_sectioned) {
                        if let Some(short) = diff.files.iter_mut().find(|short| short.path() == file.path()) {
                            *short = file;
                        }
                    }
                }
                // Then every change of a manifest counts.
                Err(error) if is_too_large(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let recent = match self.recent {
            Some(count) => change.workspace.touched_lately(&change.base, count)?,
            None => Vec::new(),
        };
        evidence.figure("files", diff.files.len());
        evidence.figure("changed lines", diff.changed_lines());
        let wish = &change.job.task.seed.wish;
        let task = format!("{}\n{}", wish.title, wish.description);
        add(evidence, Weight::Fails, &scope(&diff, self, &recent, &task));
        Ok(())
    }
}
