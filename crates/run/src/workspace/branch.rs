//! Branch name of a task.

use acquit_core::branch::slug;

use crate::git::is_ref_name;

/// Returns `<prefix>/<slug of the title>-<task>`, always a name that git accepts. The slug is short and plain ASCII. If
/// the title has no usable letter, only the task id remains. A prefix that git would reject is replaced by `acquit`.
pub fn branch_name(prefix: &str, title: &str, task: &str) -> String {
    let prefix = prefix.trim_matches('/');
    let prefix = if is_ref_name(prefix) { prefix } else { "acquit" };
    let slug = slug(title);
    let task: String = task.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let task = task.trim_matches('-');
    let last = match (slug.as_str(), task) {
        ("", "") => "task".to_owned(),
        ("", task) => task.to_owned(),
        (slug, "") => slug.to_owned(),
        (slug, task) => format!("{slug}-{task}"),
    };
    format!("{prefix}/{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable_and_always_valid() {
        for (prefix, title, task, expected) in [
            ("acquit", "Add a --json flag", "T-1", "acquit/add-a-json-flag-T-1"),
            ("acquit/", "  ", "T-2", "acquit/T-2"),
            ("night shift", "x.lock", "T-3", "acquit/x-lock-T-3"),
            ("night-shift", "Größe ändern", "T-4", "night-shift/gr-e-ndern-T-4"),
            ("a..b", "日本語", "../..", "acquit/task"),
            ("team/acquit", "HEAD^{tree}", "T-5", "team/acquit/head-tree-T-5"),
        ] {
            let name = branch_name(prefix, title, task);
            assert_eq!(name, expected);
            assert!(is_ref_name(&name), "{name}");
        }
        let long = branch_name("acquit", &"word ".repeat(100), "T-6");
        assert!(long.len() < 70 && is_ref_name(&long), "{long}");
        let one = branch_name("acquit", &"w".repeat(1000), "T-7");
        assert!(one.len() < 70 && is_ref_name(&one), "{one}");
    }
}
