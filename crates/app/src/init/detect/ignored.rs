//! Whether git ignores what building and testing leave behind. What it does not ignore would count as the agents' work and
//! be delivered with it.

use std::path::Path;

use super::Finding;
use crate::init::look::{Cloned, Folder};

/// Notes what should be ignored and is not, as far as the plain `.gitignore` files tell.
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

/// Whether a line mentions the name. Rather too often than not often enough: the note is advice, and a false one is noise.
fn covers(line: &str, name: &str) -> bool {
    let line = line.trim();
    !line.starts_with(['#', '!']) && line.contains(name)
}
