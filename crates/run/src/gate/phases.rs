//! The first commits of a change, with its tests and the stubs that they need.

use acquit_core::failure::Location;
use acquit_core::gate::check::{Phases, Tdd};
use acquit_core::gate::{Evidence, Weight};
use acquit_core::proof::phases::{Belongs, How, Unlocked, last_of_first, only_adds, unlocked};

use crate::git::CommitId;
use crate::leg::LegAbort;
use crate::workspace::{Changed, LockedWorkspace};

/// Message for a change without such commits.
pub(super) const MISSING: &str = "no commit at the beginning of the change says `Phase: test`: commit the tests and the stubs that they need \
                                  first, with that line in the message, and the implementation after it";

/// Returns the last of the first commits, if they count.
pub(super) fn first(
    workspace: &LockedWorkspace,
    tdd: &Tdd,
    base: &CommitId,
    head: &CommitId,
) -> Result<Option<CommitId>, LegAbort> {
    match tdd.phases {
        Phases::Ignore => Ok(None),
        Phases::Allow | Phases::Require => {
            let commits = workspace.commits(base, head)?;
            // Git lists the newest first.
            Ok(last_of_first(commits.iter().rev().map(|commit| (commit.id.clone(), commit.message.as_str()))))
        }
    }
}

/// Checks that those commits only add to the code, and that their tests are unchanged at the end.
pub(super) fn look(
    workspace: &LockedWorkspace,
    tdd: &Tdd,
    base: &CommitId,
    first: &CommitId,
    head: &CommitId,
    evidence: &mut Evidence,
) -> Result<(), LegAbort> {
    let (tests, exempt) = (tdd.tests.compile(), tdd.exempt.compile());
    for file in workspace.changed(base, first)? {
        if tests.is_match(&file.path) || exempt.is_match(&file.path) {
            continue;
        }
        let (old, new) = texts(workspace, &file)?;
        let fine = match (&file.old, old) {
            (None, _) => true,
            (Some(_), Some(old)) => only_adds(&file.path, &old, new.as_deref()),
            // For a binary file, it is impossible to see whether it only grew.
            (Some(_), None) => false,
        };
        if !fine {
            let what = format!(
                "the tests are committed together with a change of what was in {} before: only stubs are added first",
                file.path
            );
            evidence.find(Weight::Fails, "phase-changes-code", &what, Some(at(&file.path, 1)));
        }
    }
    for file in workspace.changed(first, head)? {
        let belongs = if tests.is_match(&file.path) { Belongs::Whole } else { Belongs::InPart };
        let (then, now) = texts(workspace, &file)?;
        let Some(then) = then else { continue };
        for Unlocked { name, line, how } in unlocked(&file.path, &then, now.as_deref(), belongs) {
            let name = name.unwrap_or_else(|| file.path.clone());
            let how = match how {
                How::Changed => "is not what it was when it was red",
                How::Gone => "was there when it was red, and is gone",
            };
            evidence.find(
                Weight::Fails,
                "test-changed",
                &format!("{name} {how}"),
                Some(at(&file.path, line)),
            );
        }
    }
    Ok(())
}

fn at(path: &str, line: u32) -> Location {
    Location { path: path.to_owned(), line }
}

/// Returns a file before and after, if it is text.
fn texts(workspace: &LockedWorkspace, file: &Changed) -> Result<(Option<String>, Option<String>), LegAbort> {
    let text = |stored: &Option<_>| stored.as_ref().map_or(Ok(None), |stored| workspace.text(stored));
    Ok((text(&file.old)?, text(&file.new)?))
}
