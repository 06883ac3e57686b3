//! `check = "secrets"`: searches every line that the commits of the change add for credentials.

use acquit_core::check::archive::unpack;
use acquit_core::check::diff::CommitDiff;
use acquit_core::check::secrets::{Leak, MARKER, Marked, in_archive, in_message, is_archive, secrets};
use acquit_core::failure::{Location, kind};
use acquit_core::gate::check::Secrets;
use acquit_core::gate::{Evidence, Verdict, Weight};
use acquit_core::ids::Name;

use super::{Change, Look, Stopped};
use crate::workspace::{Error, LockedWorkspace};

/// Maximum number of archives of a change to read. A change with more should be seen by a person.
const MOST_ARCHIVES: usize = 100;

impl Look for Secrets {
    fn look(&self, change: &mut Change<'_, '_>, evidence: &mut Evidence) -> Result<(), Stopped> {
        let changes = change.workspace.changes(&change.base, &change.head)?;
        evidence.figure("commits", changes.len());
        let mut leaks = secrets(&changes, &self.allow.compile());
        for commit in change.workspace.commits(&change.base, &change.head)? {
            leaks.extend(in_message(commit.id.as_str(), &commit.message));
        }
        leaks.extend(look_into_archives(self, change.workspace, &changes, evidence)?);
        for leak in &leaks {
            let weight = match leak.marked {
                Marked::No => Weight::Fails,
                Marked::Yes => Weight::Noted,
            };
            let place = leak.file.as_ref().map(|file| Location { path: file.clone(), line: leak.line });
            evidence.find(weight, "secret", &words(leak), place);
        }
        Ok(())
    }

    fn amend(&self, verdict: &mut Verdict) {
        if let Some(failure) = &mut verdict.failure {
            // The code around a secret contains the secret.
            failure.excerpt = None;
            // It stays in the history whatever an agent does, so a person is asked.
            failure.kind = Name::literal(kind::UNJUDGED);
        }
    }
}

/// Searches the archives that the commits add.
fn look_into_archives(
    settings: &Secrets,
    workspace: &LockedWorkspace,
    changes: &[CommitDiff],
    evidence: &mut Evidence,
) -> Result<Vec<Leak>, Error> {
    let allowed = settings.allow.compile();
    let mut leaks = Vec::new();
    let files = changes.iter().flat_map(|commit| commit.diff.files.iter().map(move |file| (commit, file)));
    let archives = files.filter(|(_, file)| is_archive(file) && !allowed.is_match(file.path()));
    for (number, (commit, file)) in archives.enumerate() {
        let path = file.path();
        let place = Some(Location { path: path.to_owned(), line: 1 });
        let bytes = if number < MOST_ARCHIVES { workspace.bytes_of(&commit.id, path)? } else { None };
        let unpacked = bytes.map(|bytes| unpack(&bytes));
        if let Some(unpacked) = &unpacked {
            leaks.extend(in_archive(&commit.id, path, unpacked));
        }
        if unpacked.as_ref().is_none_or(|unpacked| unpacked.cut) {
            let what = "this archive is too large to be looked into for secrets, or has too many others in it: a person must look, or \
                        `allow` its path";
            evidence.find(Weight::Person, "archive", what, place);
        } else if unpacked.is_some_and(|unpacked| unpacked.closed) {
            let what = "parts of this archive are encrypted or compressed in a way that is not known, and were not looked at";
            evidence.find(Weight::Noted, "archive", what, place);
        }
    }
    Ok(leaks)
}

fn words(leak: &Leak) -> String {
    let commit = leak.commit.get(..12).unwrap_or(&leak.commit);
    let place = if leak.file.is_some() { "added by" } else { "in the message of" };
    let what = format!("{} ({}), {place} commit {commit}", leak.kind, leak.shown);
    match leak.marked {
        Marked::No => format!(
            "{what}. Taking it out again leaves it in the history: a person must revoke it and begin the task anew"
        ),
        Marked::Yes => format!("{what}; the line says `{MARKER}`"),
    }
}
