//! Agent definitions, step files and what they include: the project's, and under them those that come with the program. A file of
//! the project counts before the program's of the same path, one by one.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use acquit_core::template::{Found, Texts};

use super::shown;
use crate::shipped;

/// What the program's files are called in messages.
const SHIPPED: &str = "shipped:";

/// The largest text: a hundred times what anybody writes for an agent.
const LARGEST: u64 = 256 * 1024;

/// How a file of the program is called in messages.
pub(super) fn shipped(path: &str) -> String {
    format!("{SHIPPED}{path}")
}

/// Whether a mistake stands in a file of the program.
pub(super) fn is_shipped(file: &str) -> bool {
    file.starts_with(SHIPPED)
}

/// The texts of a project.
pub struct Library {
    folder: PathBuf,
}

impl Library {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Whether the project has a file of its own at this path.
    pub fn has_own(&self, path: &str) -> bool {
        self.folder.join(path).symlink_metadata().is_ok()
    }

    /// The project's own file, if there is one. A repository that somebody else made may have links in it that lead to what
    /// no prompt should show; only regular files inside of the folder are read.
    fn own(&self, path: &str) -> Option<Found> {
        let file = self.folder.join(path);
        file.symlink_metadata().ok()?;
        let refused = |why: &str| Some(Found::Refused(why.to_owned()));
        let (Ok(real), Ok(folder)) = (file.canonicalize(), self.folder.canonicalize()) else {
            return refused("it is a link that leads nowhere");
        };
        if !real.starts_with(&folder) {
            return refused("it is a link that leads out of .acquit/");
        }
        match real.metadata() {
            Ok(meta) if !meta.is_file() => return refused("it is not a regular file"),
            Ok(meta) if meta.len() > LARGEST => return refused("it is larger than 256 KiB"),
            Ok(_) => {}
            Err(error) => return Some(Found::Refused(error.to_string())),
        }
        Some(match std::fs::read_to_string(&real) {
            Ok(text) => Found::Text { shown: shown(path), text },
            Err(error) => Found::Refused(error.to_string()),
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
        let own = std::fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let own = own.filter_map(|entry| Some(format!("{folder}/{}", entry.file_name().to_str()?)));
        let theirs = shipped::FILES.iter().map(|(path, _)| (*path).to_owned());
        let theirs = theirs.filter(|path| path.rsplit_once('/').is_some_and(|(within, _)| within == folder));
        let all: BTreeSet<String> = own.chain(theirs).collect();
        all.into_iter().collect()
    }
}

/// The program's own texts, and a note of each that was asked for: what a workflow uses.
#[derive(Default)]
pub struct Asked {
    paths: RefCell<BTreeSet<String>>,
}

impl Asked {
    /// The paths that were asked for and are there.
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
