//! Detects a makefile with a test target, if no language's own tools apply.

use super::{Finding, Gate, Language};
use crate::init::look::Folder;

pub(super) fn look(folder: &mut Folder<'_>) -> Option<Finding> {
    // In the order in which make searches.
    let found =
        ["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(|file| Some((file, folder.text(file)?)));
    let (file, text) = found?;
    let has = |target: &str| text.lines().any(|line| declares(line, target));
    if !has("test") {
        let shown = folder.shown(file);
        folder.note(format!("{shown} has no target `test`, so it was not used"));
        return None;
    }
    let gates = ["build", "lint", "test"].into_iter().filter(|target| has(target));
    Some(Finding {
        language: Language::Make,
        folder: folder.name().map(str::to_owned),
        by: file.to_owned(),
        gates: gates.map(|target| Gate::new(target, format!("make {target}"))).collect(),
        managers: Vec::new(),
        setup: None,
        leaves: Vec::new(),
    })
}

/// Returns whether a line of a makefile starts a rule for this target.
fn declares(line: &str, target: &str) -> bool {
    // A recipe line starts with a tab; `:=`, `::=` and `:::=` are assignments.
    let Some((names, rest)) = line.split_once(':') else { return false };
    let assigns = rest.trim_start_matches(':').starts_with('=');
    !line.starts_with(['\t', '#']) && !assigns && names.split_whitespace().any(|name| name == target)
}

#[cfg(test)]
mod tests {
    use super::declares;

    #[test]
    fn a_rule_is_told_from_everything_that_looks_like_one() {
        for line in ["test:", "test : build", "test::", "lint test: x", "test: # words"] {
            assert!(declares(line, "test"), "{line}");
        }
        for line in [
            "test := 1",
            "test:=1",
            "test ::= 1",
            "\ttest: x",
            "# test: x",
            "tests:",
            ".PHONY: test",
            "test",
            "",
        ] {
            assert!(!declares(line, "test"), "{line}");
        }
    }
}
