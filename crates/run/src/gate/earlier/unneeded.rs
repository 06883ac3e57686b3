//! Finds pieces of a change that break an old test and that no test needs: reverts each one alone and runs the tests on
//! the rest.
//!
//! If the new code fails a test in its old form, the task may require a new form. Then the new form fails without the
//! piece of code that it is about. If all tests pass without a piece, including the old form, the task did not ask for
//! that piece.

use std::collections::BTreeMap;

use acquit_core::failure::Location;
use acquit_core::gate::{Evidence, Weight};
use acquit_core::proof::earlier::Runs;
use acquit_core::proof::hunks::without_each;

use super::{Beside, Run, Suite};
use crate::git::CommitId;
use crate::leg::LegAbort;
use crate::workspace::Become;

/// Rule of the finding.
pub(super) const UNNEEDED: &str = "expectation-changed";

/// Maximum number of pieces to revert.
const MOST_PIECES: usize = 8;

/// Time limit of all runs, in milliseconds.
const MOST_TIME: u64 = 60 * 1000;

/// Reverts each piece of the code alone.
pub(super) fn look(
    run: &mut Run<'_, '_, '_>,
    suite: &Suite<'_>,
    beside: &Beside,
    runs: &Runs<'_>,
    (base, took): (&CommitId, u64),
    evidence: &mut Evidence,
) -> Result<(), LegAbort> {
    let new = run.sources()?;
    let mut pieces = Vec::new();
    let old: BTreeMap<String, String> =
        run.sources_of(base)?.into_iter().map(|(path, _, text)| (path, text)).collect();
    for (path, stored, text) in new {
        let Some(before) = old.get(&path).filter(|before| **before != text) else { continue };
        pieces.extend(
            without_each(&path, before, &text).into_iter().map(|piece| (path.clone(), stored.clone(), piece)),
        );
    }
    // A single piece is the whole change.
    if !(2..=MOST_PIECES).contains(&pieces.len()) {
        return Ok(());
    }
    let began = run.spent.took;
    for (number, (path, stored, piece)) in pieces.into_iter().enumerate() {
        if run.spent.took - began + 2 * took > MOST_TIME {
            break;
        }
        let files = vec![(path.clone(), Become::Text(stored, piece.text))];
        let Some(now) = run.once(suite, &files, &format!("without-{number}"))? else { continue };
        if !runs.all_pass(&now.merged) {
            continue;
        }
        let mut earlier = beside.files(run.workspace, &files)?;
        earlier.extend(beside.data.iter().cloned());
        let Some(earlier) = run.once(suite, &earlier, &format!("without-{number}-earlier"))? else {
            continue;
        };
        if let Some(id) = runs.mended(&earlier.merged) {
            let what = format!(
                "{id} as it was before the change fails with it because of {path}:{}; without that piece all tests pass, as they were and \
                 as they are: take it back",
                piece.line
            );
            evidence.find(Weight::Fails, UNNEEDED, &what, Some(Location { path, line: piece.line }));
            break;
        }
    }
    Ok(())
}
