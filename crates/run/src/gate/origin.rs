//! Finds the origin of stack frames: the code under test, its tests, or neither.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acquit_core::failure::Location;
use acquit_core::gate::Paths;
use acquit_core::proof::{Tree, depends, inline};
use acquit_core::results::{Origin, Results, TestId};
use globset::GlobSet;

use crate::workspace::{Scratch, read_file};

/// Folders of third-party code, anywhere in a tree.
const FOREIGN: [&str; 12] = [
    "node_modules",
    "site-packages",
    "dist-packages",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "target",
    ".cargo",
    ".gradle",
    ".m2",
    ".git",
];

/// Maximum size of a source file to read.
const LARGEST: u64 = 4 << 20;

/// Marks the failures of a tree that were raised in the code under test. The scratch folder shows that tree.
pub(super) fn locate(ran: &mut Tree, scratch: &Scratch<'_>, tests: &Paths) {
    let Tree::Ran(ran) = ran else { return };
    let has_frames = ran.merged.results.red().any(|(_, case)| !case.frames.is_empty());
    if !has_frames {
        return;
    }
    // Without the list of files, only Java's frames are not found.
    let files = scratch.files().unwrap_or_default();
    let origins = Origins { scratch, tests: tests.compile(), files, inline: BTreeMap::new().into() };
    ran.merged.results.locate(|frame| origins.of(frame));
}

/// Returns the tests whose failed assertion uses only constants. The scratch folder shows the tree that ran.
pub(super) fn constant(ran: &Tree, scratch: &Scratch<'_>) -> BTreeSet<TestId> {
    let Tree::Ran(ran) = ran else { return BTreeSet::new() };
    let root = scratch.tree();
    let files = scratch.files().unwrap_or_default();
    let is_constant = |place: &Location| {
        let ends = |file: &&String| *file == &place.path || file.ends_with(&format!("/{}", place.path));
        let mut fitting = files.iter().filter(ends);
        let (Some(path), None) = (fitting.next(), fitting.next()) else { return false };
        let text = read_file(&root, path, LARGEST).and_then(|bytes| String::from_utf8(bytes).ok());
        text.is_some_and(|text| depends::is_constant(path, &text, place.line))
    };
    let red = ran.merged.results.red().filter(|(_, case)| {
        let places: Vec<&Location> = if case.frames.is_empty() {
            case.location.iter().collect()
        } else {
            case.frames.iter().collect()
        };
        case.raised.is_none() && places.into_iter().any(is_constant)
    });
    red.map(|(id, _)| id.clone()).collect()
}

/// Counts panics in tests inside code files as failed assertions. `committed` has the files that ran.
pub(super) fn assert_panics(results: &mut Results, committed: &Path) {
    let known: RefCell<BTreeMap<String, Vec<(u32, u32)>>> = RefCell::default();
    results.assert_panics(|place| {
        let mut known = known.borrow_mut();
        let ranges = known.entry(place.path.clone()).or_insert_with(|| inline_lines(committed, &place.path));
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&place.line))
    });
}

/// Returns the lines of a Rust file that are compiled only for tests.
fn inline_lines(root: &Path, path: &str) -> Vec<(u32, u32)> {
    if Path::new(path).extension().is_none_or(|ending| ending != "rs") {
        return Vec::new();
    }
    let bytes = read_file(root, path, LARGEST).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let number = |at: usize| u32::try_from(text[..at].matches('\n').count() + 1).unwrap_or(u32::MAX);
    inline::test_items(&text).into_iter().map(|item| (number(item.start), number(item.end))).collect()
}

struct Origins<'a> {
    scratch: &'a Scratch<'a>,
    tests: GlobSet,
    files: Vec<String>,
    /// Lines of each Rust file that are compiled only for tests.
    inline: RefCell<BTreeMap<String, Vec<(u32, u32)>>>,
}

impl Origins<'_> {
    /// Returns the origin of a frame, and its location in the repository.
    fn of(&self, frame: &Location) -> Option<(Origin, Location)> {
        let path = self.path(&frame.path)?;
        let is_foreign = path.split('/').any(|part| FOREIGN.contains(&part));
        if is_foreign {
            return None;
        }
        let is_test = self.tests.is_match(&path) || self.is_inline(&path, frame.line);
        let origin = if is_test { Origin::Test } else { Origin::Code };
        Some((origin, Location { path, line: frame.line }))
    }

    /// Returns the file that a frame names: relative to the root or, in Java and trimmed Go builds, to some folder
    /// below it.
    fn path(&self, named: &str) -> Option<String> {
        if named.starts_with('/') || named.contains("..") {
            return None;
        }
        if read_file(&self.scratch.tree(), named, LARGEST).is_some() {
            return Some(named.to_owned());
        }
        let ends = |file: &&String| file.strip_suffix(named).is_some_and(|rest| rest.ends_with('/'));
        // Go puts the module first, which is not a folder.
        let inside = named.split_once('/').map(|(_, inside)| inside);
        let below = || self.files.iter().find(|file| inside == Some(file.as_str()));
        self.files.iter().find(ends).or_else(below).cloned()
    }

    fn is_inline(&self, path: &str, line: u32) -> bool {
        let mut known = self.inline.borrow_mut();
        let ranges = known.entry(path.to_owned()).or_insert_with(|| inline_lines(&self.scratch.tree(), path));
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&line))
    }
}
