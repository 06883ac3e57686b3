//! Dependency graph of files.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the `changed` files and all files that need one of them, directly or through others.
pub(super) fn needing<'f>(
    changed: &[&'f str],
    needs: &BTreeMap<&'f str, BTreeSet<&'f str>>,
) -> BTreeSet<&'f str> {
    let mut needed_by: BTreeMap<&str, Vec<&'f str>> = BTreeMap::new();
    for (file, others) in needs {
        for other in others {
            needed_by.entry(other).or_default().push(file);
        }
    }
    let mut found: BTreeSet<&'f str> = changed.iter().copied().collect();
    let mut open: Vec<&'f str> = changed.to_vec();
    while let Some(file) = open.pop() {
        for next in needed_by.get(file).into_iter().flatten() {
            if found.insert(next) {
                open.push(next);
            }
        }
    }
    found
}
