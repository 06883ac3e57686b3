//! Finds packages of a repository that are independent: a change of one needs no gates of the other.
//!
//! A package depends on another if one of its manifests mentions the other's folder or name, anywhere and for any
//! reason. A false mention only costs a run of gates, but a missed one would leave a change unproven. Files outside all
//! packages affect every package.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Finding;
use crate::init::look::{Cloned, Folder};

/// Files that contain a package's name and dependencies.
const MANIFESTS: [&str; 12] = [
    "package.json",
    "tsconfig.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Makefile",
];

/// Returns for each folder with a finding the patterns of the folders that it does not depend on.
pub(super) fn apart(
    repository: &Path,
    found: &[Finding],
    cloned: &Cloned<'_>,
) -> BTreeMap<String, Vec<String>> {
    let folders: BTreeSet<&str> = found.iter().filter_map(|it| it.folder.as_deref()).collect();
    let mut notes = Vec::new();
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for name in &folders {
        if let Some(mut folder) = Folder::below(repository, name, cloned, &mut notes) {
            texts.insert(name, MANIFESTS.iter().filter_map(|file| folder.text(file)).collect());
        }
    }
    let mentions = |one: &str, other: &str| {
        let Some(text) = texts.get(one) else { return true };
        let last = other.rsplit('/').next().unwrap_or(other);
        let named = texts.get(other).and_then(|text| package_name(text));
        text.contains(last) || named.is_some_and(|name| text.contains(&name))
    };
    let mut result = BTreeMap::new();
    for folder in &folders {
        let mut near: BTreeSet<&str> = BTreeSet::from([*folder]);
        loop {
            let more: Vec<&str> = folders
                .iter()
                .copied()
                .filter(|other| !near.contains(other) && near.iter().any(|one| mentions(one, other)))
                .collect();
            if more.is_empty() {
                break;
            }
            near.extend(more);
        }
        let others: Vec<&str> = folders.iter().copied().filter(|other| !near.contains(other)).collect();
        result.insert((*folder).to_owned(), patterns(&others));
    }
    result
}

/// Returns the package name in a manifest: the first value of a `name` key.
fn package_name(text: &str) -> Option<String> {
    let line = text
        .lines()
        .map(str::trim)
        .find_map(|line| ["\"name\":", "name =", "module "].iter().find_map(|key| line.strip_prefix(key)))?;
    let name = line.trim().trim_end_matches(',').trim_matches(['"', '\'']);
    (name.len() > 2).then(|| name.to_owned())
}

/// Returns patterns that exclude folders, siblings in one pattern. Does not exclude names with special characters of
/// patterns.
fn patterns(folders: &[&str]) -> Vec<String> {
    let is_plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "._-/".contains(c));
    let mut by_parent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for folder in folders.iter().filter(|folder| is_plain(folder)) {
        let (parent, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        by_parent.entry(parent).or_default().push(name);
    }
    let pattern = |(parent, names): (&str, Vec<&str>)| {
        let slash = if parent.is_empty() { "" } else { "/" };
        match names.as_slice() {
            [only] => format!("!{parent}{slash}{only}/**"),
            several => format!("!{parent}{slash}{{{}}}/**", several.join(",")),
        }
    };
    by_parent.into_iter().map(pattern).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_beside_each_other_share_a_pattern() {
        assert_eq!(patterns(&["packages/a", "packages/b", "web"]), ["!web/**", "!packages/{a,b}/**"]);
        assert_eq!(patterns(&["packages/a*"]), Vec::<String>::new());
    }

    #[test]
    fn a_manifest_says_what_its_package_is_called() {
        assert_eq!(package_name("{\n  \"name\": \"@x/core\",\n"), Some("@x/core".to_owned()));
        assert_eq!(package_name("[project]\nname = \"core-lib\"\n"), Some("core-lib".to_owned()));
        assert_eq!(package_name("module example.org/core\n"), Some("example.org/core".to_owned()));
    }
}
