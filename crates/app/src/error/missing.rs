//! Describes what a configuration lacks, as lines of an error.

/// Describes what is missing, and the lines to add.
pub(super) fn finding(finding: &acquit_run::agent::trial::Finding) -> String {
    let mut text = format!("  {}", finding.what);
    if !finding.add.is_empty() {
        text.push_str("; add to .acquit/acquit.toml:");
        finding.add.iter().for_each(|line| text.push_str(&format!("\n    {line}")));
    }
    text
}

/// Returns a line for each missing thing, with all stages that lack it.
pub(super) fn lines(missing: &[acquit_core::config::Lacking]) -> String {
    let mut rest: Vec<_> = missing.iter().collect();
    let mut lines = Vec::new();
    while let Some(first) = rest.first().copied() {
        let is_same = |other: &&&acquit_core::config::Lacking| {
            other.workflow == first.workflow && other.what == first.what
        };
        let stages: Vec<String> = rest.iter().filter(is_same).map(|it| format!("`{}`", it.stage)).collect();
        let word = if stages.len() == 1 { "stage" } else { "stages" };
        lines.push(format!("  workflow `{}`, {word} {}: {}", first.workflow, stages.join(", "), first.what));
        rest.retain(|other| !is_same(&other));
    }
    lines.join("\n")
}
