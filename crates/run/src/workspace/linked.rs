//! Targets of symlinks in the settings of coding agents, such as `.claude/skills -> ../shared/skills`. Agents start
//! programs from these as well, so they are guarded like the settings.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::snapshot::Snapshot;
use super::{LockedWorkspace, Rules};

/// How many links to follow in a row.
const MOST_LINKS: usize = 8;

impl LockedWorkspace {
    /// Returns the rules of the task, including the targets of guarded links in this tree.
    pub(super) fn rules_in(&self, tree: &Snapshot) -> Option<Rules> {
        let mut rules = self.rules.clone()?;
        for _ in 0..MOST_LINKS {
            let known = rules.linked.len();
            for (path, _) in &tree.odd {
                let leads = |path: &PathBuf| inside(path, &std::fs::read_link(self.tree().join(path)).ok()?);
                if rules.guarded(path.as_os_str().as_bytes()).is_some()
                    && let Some(target) = leads(path)
                    && !rules.linked.contains(&target)
                {
                    rules.linked.push(target);
                }
            }
            if rules.linked.len() == known {
                break;
            }
        }
        Some(rules)
    }
}

/// Returns the target of a relative link in the tree, if it stays in the tree.
fn inside(link: &Path, target: &Path) -> Option<Vec<u8>> {
    let mut path = link.parent()?.to_owned();
    for part in target.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if path.pop() => {}
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!path.as_os_str().is_empty()).then(|| path.into_os_string().into_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_path_of_the_tree_or_to_none() {
        let leads = |link: &str, target: &str| {
            inside(Path::new(link), Path::new(target)).map(|path| String::from_utf8(path).unwrap())
        };
        assert_eq!(leads(".claude/skills", "../shared/./skills").as_deref(), Some("shared/skills"));
        assert_eq!(leads(".mcp.json", "a/../b.json").as_deref(), Some("b.json"));
        for outside in ["../../x", "/etc", "..", "../../../.claude"] {
            assert_eq!(leads(".claude/skills", outside), None, "{outside}");
        }
    }
}
