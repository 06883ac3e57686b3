//! `check = "commits"`: reads the messages and authors of the change's commits.

use acquit_core::check::commits::{Commit, commits};
use acquit_core::gate::check::Commits;
use acquit_core::gate::{Evidence, Weight};

use super::{Change, Look, Stopped, add};

impl Look for Commits {
    fn look(&self, change: &mut Change<'_, '_>, evidence: &mut Evidence) -> Result<(), Stopped> {
        let texts = change.workspace.commits(&change.base, &change.head)?;
        evidence.figure("commits", texts.len());
        // acquit committed what an agent left uncommitted, and writes a new message for the delivered commit.
        let own = change.workspace.own_commits(&texts)?;
        let list: Vec<Commit> = texts
            .into_iter()
            .filter(|text| !own.contains(&text.id))
            .map(|text| Commit { id: text.id.short().to_owned(), author: text.author, message: text.message })
            .collect();
        add(evidence, Weight::Fails, &commits(&list, self, change.job.task.id()));
        Ok(())
    }
}
