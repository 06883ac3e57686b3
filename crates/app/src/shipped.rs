//! Files shipped with the program: workflows, agent definitions and their texts, by path below `.acquit/`. A project's
//! file with the same path overrides them. They change with the version of the program.

/// All files, ordered by path.
pub const FILES: [(&str, &str); 42] = [
    ("agents/analyst.md", include_str!("../shipped/agents/analyst.md")),
    ("agents/architect.md", include_str!("../shipped/agents/architect.md")),
    ("agents/auditor.md", include_str!("../shipped/agents/auditor.md")),
    ("agents/coder.md", include_str!("../shipped/agents/coder.md")),
    ("agents/fixer.md", include_str!("../shipped/agents/fixer.md")),
    ("agents/investigator.md", include_str!("../shipped/agents/investigator.md")),
    ("agents/merge-writer.md", include_str!("../shipped/agents/merge-writer.md")),
    ("agents/planner.md", include_str!("../shipped/agents/planner.md")),
    ("agents/qa.md", include_str!("../shipped/agents/qa.md")),
    ("agents/researcher.md", include_str!("../shipped/agents/researcher.md")),
    ("agents/resolver.md", include_str!("../shipped/agents/resolver.md")),
    ("agents/reviewer.md", include_str!("../shipped/agents/reviewer.md")),
    ("agents/router.md", include_str!("../shipped/agents/router.md")),
    ("agents/story-writer.md", include_str!("../shipped/agents/story-writer.md")),
    ("agents/tester.md", include_str!("../shipped/agents/tester.md")),
    ("prompts/bugfix/investigate.md", include_str!("../shipped/prompts/bugfix/investigate.md")),
    ("prompts/bugfix/repair.md", include_str!("../shipped/prompts/bugfix/repair.md")),
    ("prompts/bugfix/reproduce.md", include_str!("../shipped/prompts/bugfix/reproduce.md")),
    ("prompts/data.md", include_str!("../shipped/prompts/data.md")),
    ("prompts/describe.md", include_str!("../shipped/prompts/describe.md")),
    ("prompts/findings.md", include_str!("../shipped/prompts/findings.md")),
    ("prompts/nightshift/analyze.md", include_str!("../shipped/prompts/nightshift/analyze.md")),
    ("prompts/nightshift/guidance/docs.md", include_str!("../shipped/prompts/nightshift/guidance/docs.md")),
    (
        "prompts/nightshift/guidance/performance.md",
        include_str!("../shipped/prompts/nightshift/guidance/performance.md"),
    ),
    (
        "prompts/nightshift/guidance/refactoring.md",
        include_str!("../shipped/prompts/nightshift/guidance/refactoring.md"),
    ),
    (
        "prompts/nightshift/guidance/security.md",
        include_str!("../shipped/prompts/nightshift/guidance/security.md"),
    ),
    ("prompts/nightshift/guidance/tests.md", include_str!("../shipped/prompts/nightshift/guidance/tests.md")),
    ("prompts/nightshift/implement.md", include_str!("../shipped/prompts/nightshift/implement.md")),
    ("prompts/nightshift/rework.md", include_str!("../shipped/prompts/nightshift/rework.md")),
    ("prompts/pipeline/architecture.md", include_str!("../shipped/prompts/pipeline/architecture.md")),
    ("prompts/pipeline/implement.md", include_str!("../shipped/prompts/pipeline/implement.md")),
    ("prompts/pipeline/qa.md", include_str!("../shipped/prompts/pipeline/qa.md")),
    ("prompts/pipeline/requirements.md", include_str!("../shipped/prompts/pipeline/requirements.md")),
    ("prompts/pipeline/research.md", include_str!("../shipped/prompts/pipeline/research.md")),
    ("prompts/pipeline/router.md", include_str!("../shipped/prompts/pipeline/router.md")),
    ("prompts/pipeline/stories.md", include_str!("../shipped/prompts/pipeline/stories.md")),
    ("prompts/review/branch.md", include_str!("../shipped/prompts/review/branch.md")),
    ("workflows/bugfix.toml", include_str!("../shipped/workflows/bugfix.toml")),
    ("workflows/feature.toml", include_str!("../shipped/workflows/feature.toml")),
    ("workflows/nightshift.toml", include_str!("../shipped/workflows/nightshift.toml")),
    ("workflows/pipeline.toml", include_str!("../shipped/workflows/pipeline.toml")),
    ("workflows/review.toml", include_str!("../shipped/workflows/review.toml")),
];

/// Returns the text of a file.
pub fn text(path: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

/// Returns the names of the workflows.
pub fn workflows() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(path, _)| path.strip_prefix("workflows/")?.strip_suffix(".toml"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn below(folder: &Path, top: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                below(&path, top, found);
            } else {
                let name = path.strip_prefix(top).expect("below it");
                found.insert(name.to_string_lossy().into_owned());
            }
        }
    }

    #[test]
    fn every_file_that_lies_there_is_shipped() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("shipped");
        let mut found = BTreeSet::new();
        below(&top, &top, &mut found);
        let listed: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, found);
    }
}
