//! Agent definitions, step files and their includes, from the project or shipped with the program. A file of the
//! project overrides the shipped file with the same path.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use acquit_core::template::{Found, Texts};

use super::{Snapshot, shown};
use crate::shipped;
use crate::snapshot::Content;

/// Prefix of shipped files in messages.
const SHIPPED: &str = "shipped:";

/// Returns the name of a shipped file for messages.
pub(super) fn shipped(path: &str) -> String {
    format!("{SHIPPED}{path}")
}

/// Returns whether a mistake is in a shipped file.
pub(super) fn is_shipped(file: &str) -> bool {
    file.starts_with(SHIPPED)
}

/// The texts of a project.
pub struct Library {
    files: Rc<Snapshot>,
}

impl Library {
    pub(super) fn new(files: Rc<Snapshot>) -> Self {
        Self { files }
    }

    /// Returns whether the project has its own file at this path.
    pub fn has_own(&self, path: &str) -> bool {
        self.files.get(path).is_some()
    }

    /// Returns the project's own file, if there is one.
    fn own(&self, path: &str) -> Option<Found> {
        Some(match self.files.get(path)? {
            Content::Refused(refusal) => Found::Refused(refusal.words().to_owned()),
            Content::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Found::Text { shown: shown(path), text: text.to_owned() },
                Err(error) => Found::Refused(error.to_string()),
            },
        })
    }
}

impl Texts for Library {
    fn text(&self, path: &str) -> Found {
        self.own(path).unwrap_or_else(|| {
            shipped::text(path)
                .map_or(Found::Absent, |text| Found::Text { shown: shipped(path), text: text.to_owned() })
        })
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let own = self.files.names(folder).into_iter().map(str::to_owned);
        let theirs = shipped::FILES.iter().map(|(path, _)| (*path).to_owned());
        let theirs = theirs.filter(|path| path.rsplit_once('/').is_some_and(|(within, _)| within == folder));
        let all: BTreeSet<String> = own.chain(theirs).collect();
        all.into_iter().collect()
    }
}

/// The shipped texts. Records each requested path, to know what a workflow uses.
#[derive(Default)]
pub struct Asked {
    paths: RefCell<BTreeSet<String>>,
}

impl Asked {
    /// Returns the requested paths that exist.
    pub fn paths(self) -> BTreeSet<String> {
        self.paths.into_inner()
    }
}

impl Texts for Asked {
    fn text(&self, path: &str) -> Found {
        let Some(text) = shipped::text(path) else { return Found::Absent };
        self.paths.borrow_mut().insert(path.to_owned());
        Found::Text { shown: shipped(path), text: text.to_owned() }
    }

    fn names(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
}
