//! `check = "secrets"`: looks for credentials in every line that the commits of the change add.

use acquit_core::check::secrets::{Leak, MARKER, Marked, in_message, secrets};
use acquit_core::failure::{Location, kind};
use acquit_core::gate::check::Secrets;
use acquit_core::gate::{Evidence, Verdict, Weight};
use acquit_core::ids::Name;

use super::{Change, Look, Stopped};

impl Look for Secrets {
    fn look(&self, change: &mut Change<'_, '_>, evidence: &mut Evidence) -> Result<(), Stopped> {
        let changes = change.workspace.changes(&change.base, &change.head)?;
        evidence.figure("commits", changes.len());
        let mut leaks = secrets(&changes, &self.allow.compile());
        for commit in change.workspace.commits(&change.base, &change.head)? {
            leaks.extend(in_message(commit.id.as_str(), &commit.message));
        }
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
            // The code around a secret is the secret.
            failure.excerpt = None;
            // It stays in the history whatever an agent does about it, so a person is asked.
            failure.kind = Name::literal(kind::UNJUDGED);
        }
    }
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
