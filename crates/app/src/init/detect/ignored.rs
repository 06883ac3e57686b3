//! Checks whether git ignores the files that building and testing leave behind. Otherwise they would count as the
//! agents' work and be delivered with it.

use std::path::Path;

use super::Finding;
use crate::init::look::{Cloned, Folder};

/// Adds a note for each path that should be ignored and is not, as far as plain `.gitignore` files tell.
pub(super) fn check(repository: &Path, found: &[Finding], cloned: &Cloned<'_>, notes: &mut Vec<String>) {
    let mut unread = Vec::new();
    let top = Folder::top(repository, cloned, &mut unread).text(".gitignore").unwrap_or_default();
    for finding in found {
        let below =
            finding.folder.as_ref().and_then(|name| Folder::below(repository, name, cloned, &mut unread));
        let below = below.and_then(|mut folder| folder.text(".gitignore")).unwrap_or_default();
        let ignored = |name: &str| top.lines().chain(below.lines()).any(|line| covers(line, name));
        let missing: Vec<&str> = finding.leaves.iter().copied().filter(|name| !ignored(name)).collect();
        if !missing.is_empty() {
            notes.push(format!(
                "add {} to .gitignore: what git does not ignore is delivered with the work ({})",
                missing.join(", "),
                finding.words()
            ));
        }
    }
    notes.extend(unread);
}

/// Returns whether a line mentions the name. Matches generously: the note is only advice, and a false one is noise.
fn covers(line: &str, name: &str) -> bool {
    let line = line.trim();
    !line.starts_with(['#', '!']) && line.contains(name)
}
