//! Finds the files in which a command leaves its results: in the tree, never through a link, and only new ones.
//!
//! A report that existed before the command ran was written by something else, perhaps as part of the change, so it is
//! removed first. Nothing runs in the tree meanwhile.
//!
//! A path that begins with `$ACQUIT_REPORTS/` is in a folder with a new name in each tree, so that no change can know
//! in advance where the report will be.

use std::fs;
use std::path::{Path, PathBuf};

use acquit_core::gate::{Paths, Place, Report};
use acquit_core::results::LARGEST;

use crate::leg::{REPORTS, Ran, WorkingTree};
use crate::untrusted;
use crate::workspace::read_file;

/// Maximum number of reports to read: build tools write one per test class.
const MOST_REPORTS: usize = 20_000;

/// Maximum number of files to look at.
const MOST_LOOKED_AT: usize = 500_000;

/// Maximum folder depth.
const DEEPEST: usize = 64;

/// Removes existing files where the reports will be.
pub(super) fn clear(working_tree: &WorkingTree, report: &Report) {
    let Place::Files(paths) = &report.place else { return };
    let tree = &working_tree.written;
    for path in find(tree, &placed(paths, working_tree)) {
        // If it cannot be removed, it is read as it is, unless the command overwrites it.
        let _ = fs::remove_file(tree.join(path));
    }
}

/// Returns the patterns with the name of the tree's own folder filled in.
fn placed(paths: &Paths, working_tree: &WorkingTree) -> Vec<String> {
    let begin = format!("${REPORTS}/");
    let place = |pattern: &String| match pattern.strip_prefix(&begin) {
        Some(rest) => format!("{}/{rest}", working_tree.reports),
        None => pattern.clone(),
    };
    paths.as_slice().iter().map(place).collect()
}

/// Returns the texts of the reports; `None` if there is none, or if one is too large.
pub(super) fn read(working_tree: &WorkingTree, report: &Report, ran: &Ran) -> Option<Vec<String>> {
    match &report.place {
        Place::Output => untrusted::text(&ran.log, LARGEST).ok().flatten().map(|text| vec![text]),
        Place::Files(paths) => {
            let tree = &working_tree.written;
            let found = find(tree, &placed(paths, working_tree));
            let texts = found.iter().map(|path| {
                let bytes = read_file(tree, path, LARGEST)?;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            });
            texts.collect::<Option<Vec<String>>>().filter(|texts| !texts.is_empty())
        }
    }
}

/// Returns the matching files of the tree, sorted.
fn find(tree: &Path, patterns: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    for pattern in patterns {
        let one = Paths::literal(&[pattern]).compile();
        let special = |part: &&str| part.contains(['*', '?', '[', '{']);
        // Only search the folder that contains all matches.
        let fixed: PathBuf = if pattern.contains('/') {
            let parts: Vec<&str> = pattern.split('/').collect();
            let names = parts.iter().take(parts.len() - 1).take_while(|part| !special(part));
            names.collect()
        } else {
            PathBuf::new()
        };
        if !is_real_folder(tree, &fixed) {
            continue;
        }
        let mut folders = vec![(fixed, 0_usize)];
        while let Some((folder, depth)) = folders.pop() {
            let Ok(entries) = fs::read_dir(tree.join(&folder)) else { continue };
            for entry in entries.flatten() {
                looked_at += 1;
                if looked_at > MOST_LOOKED_AT || found.len() >= MOST_REPORTS {
                    return found;
                }
                let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
                let path = folder.join(&name);
                if kind.is_dir() && depth < DEEPEST && name != ".git" {
                    folders.push((path, depth + 1));
                } else if kind.is_file()
                    && one.is_match(&path)
                    && let Some(path) = path.to_str()
                {
                    found.push(path.to_owned());
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns whether every parent is a real folder in the tree.
fn is_real_folder(tree: &Path, relative: &Path) -> bool {
    let mut here = tree.to_owned();
    relative.components().all(|part| {
        here.push(part);
        fs::symlink_metadata(&here).is_ok_and(|meta| meta.is_dir())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_found_by_pattern_and_never_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("work");
        for name in ["a/target/r/TEST-1.xml", "a/target/r/TEST-2.xml", "a/target/r/x.txt", "junit.xml"] {
            let path = tree.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let outside = folder.path().join("outside");
        fs::create_dir_all(outside.join("r")).unwrap();
        fs::write(outside.join("r/TEST-3.xml"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, tree.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.join("r/TEST-3.xml"), tree.join("a/target/r/TEST-4.xml")).unwrap();
        let at = |pattern: &str| find(&tree, &[pattern.to_owned()]);
        assert_eq!(at("**/target/r/TEST-*.xml"), ["a/target/r/TEST-1.xml", "a/target/r/TEST-2.xml"]);
        assert_eq!((at("junit.xml").len(), at("link/r/*.xml").len(), at("**/TEST-3.xml").len()), (1, 0, 0));
    }
}
