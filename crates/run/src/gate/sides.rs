//! Reads from git what a change does to tests and to what runs them: files before and after.

use acquit_core::check::dilution::Permits;
use acquit_core::check::source::Language;
use acquit_core::gate::Gate;
use acquit_core::proof::account::{Account, Sides};
use acquit_core::proof::{Accounts, Allowed, judge};

use super::too_large::is_too_large;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort};
use crate::workspace::{Become, Changed, LockedWorkspace};

/// Maximum number of changed files to read.
const MOST_FILES: usize = 2_000;

/// What the comparison with the base must know about a change.
#[derive(Default)]
pub(super) struct Doings {
    /// What happened to removed tests.
    pub(super) accounts: Accounts,
    /// Files that decide how tests run, as on the base.
    pub(super) judges: Vec<(String, Become)>,
}

impl Doings {
    /// Reads the change between two commits.
    pub(super) fn of(
        job: &Job<'_>,
        gate: &Gate,
        workspace: &LockedWorkspace,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<Self, LegAbort> {
        let changed = match workspace.changed(base, head) {
            Ok(changed) => changed,
            // Checks that need the whole change report that it is too large; here no removed test is
            // accounted for.
            Err(error) if is_too_large(&error) => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        };
        let mut named = commands(gate);
        let mut sides = Vec::new();
        for file in changed.into_iter().take(MOST_FILES) {
            let known = Language::of(&file.path).is_some() || judge::names_files(&file.path);
            let script =
                file.path.rsplit('/').next().is_some_and(|name| !name.contains('.') || name.ends_with("sh"));
            let read = |stored: &Option<_>| match stored {
                Some(stored) if known || script => workspace.text(stored),
                Some(_) | None => Ok(None),
            };
            let (old, new) = (read(&file.old)?, read(&file.new)?);
            if judge::names_files(&file.path) {
                named.extend(old.iter().chain(&new).cloned());
            }
            sides.push((file, old, new));
        }
        let mut doings = Self::default();
        for (file, old, new) in &sides {
            if judge::judges(&file.path, old.as_deref(), new.as_deref(), &named) {
                doings.judges.push((file.path.clone(), before(file)));
            }
        }
        let sides = sides.into_iter().map(|(file, old, new)| Sides { path: file.path, old, new });
        let wish = &job.task.seed.wish;
        let permits = Permits::default().of_task(&wish.tags, &wish.metadata);
        let allowed = Allowed {
            removing: permits.allow("test-removed", None),
            skipping: permits.allow("test-skipped", None),
        };
        doings.accounts = Accounts { source: Account::of(&sides.collect::<Vec<_>>()), allowed };
        Ok(doings)
    }

    /// Returns the paths of the files that decide how tests run.
    pub(super) fn judges(&self) -> Vec<String> {
        self.judges.iter().map(|(path, _)| path.clone()).collect()
    }
}

fn before(file: &Changed) -> Become {
    file.old.clone().map_or(Become::Gone, Become::Stored)
}

/// Returns the commands of a gate, which may name scripts of the repository.
fn commands(gate: &Gate) -> Vec<String> {
    gate.check.command().into_iter().chain(gate.check.build()).map(ToString::to_string).collect()
}
