//! What a place looks like, to show that nothing of it changed.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is not read.
const LARGE: u64 = 1024 * 1024;

/// Every path below some places with what could be changed of it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, String>);

impl Snapshot {
    /// Looks at the places, without the paths that `except` names.
    pub(crate) fn take(places: &[PathBuf], except: &dyn Fn(&Path) -> bool) -> Self {
        let mut found = BTreeMap::new();
        places.iter().for_each(|place| walk(place, except, &mut found));
        Self(found)
    }

    /// What is different now, in words.
    pub(crate) fn differences(&self, now: &Self) -> Vec<String> {
        let mut words = Vec::new();
        for (path, was) in &self.0 {
            match now.0.get(path) {
                None => words.push(format!("{} is gone", path.display())),
                Some(is) if is != was => words.push(format!("{} changed: {was} -> {is}", path.display())),
                Some(_) => {}
            }
        }
        words.extend(
            now.0
                .keys()
                .filter(|path| !self.0.contains_key(*path))
                .map(|path| format!("{} is new", path.display())),
        );
        words
    }
}

fn walk(path: &Path, except: &dyn Fn(&Path) -> bool, found: &mut BTreeMap<PathBuf, String>) {
    if except(path) {
        return;
    }
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    let mut content = DefaultHasher::new();
    // Of the attacker's own program in the checkout, time and size tell enough. What is in a folder is seen anyway, and on some
    // file systems its size changes with that.
    if !meta.is_dir() {
        meta.len().hash(&mut content);
    }
    if meta.is_file() && meta.len() < LARGE {
        fs::read(path).unwrap_or_default().hash(&mut content);
    } else if meta.is_symlink() {
        fs::read_link(path).unwrap_or_default().hash(&mut content);
    }
    // The time of a folder changes when something in it comes or goes, which is seen anyway.
    let time = if meta.is_dir() { 0 } else { meta.mtime() };
    let looks = format!("{:o} {}:{} {time} {:x}", meta.mode(), meta.uid(), meta.gid(), content.finish());
    found.insert(path.to_owned(), looks);
    if meta.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            walk(&entry.path(), except, found);
        }
    }
}
