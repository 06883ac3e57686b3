//! Formats a judgement as Markdown, for a pull request comment or a job summary.

use acquit_app::prove::{Decision, Report, Status};
use acquit_core::delivery::inert_line;

use super::{evidence, headline};

/// Marks our comment, so that the next run can find and update it.
pub const MARKER: &str = "<!-- acquit prove -->";

/// Creates the document. Makes repository text inert, so that the forge acts on nothing in it.
pub fn markdown(report: &Report) -> String {
    let sign = match report.decision {
        Decision::Acquitted => "✅",
        Decision::Guilty => "❌",
        Decision::Unjudged => "⚠️",
    };
    let mut out = format!(
        "{MARKER}\n### {sign} acquit: {}\n\n{}\n\n| | claim | gate | time |\n|---|---|---|---|\n",
        report.decision.word(),
        inert_line(&headline(report))
    );
    for claim in &report.claims {
        let mark = match claim.status {
            Status::Holds => "✅",
            Status::Broken => "❌",
            Status::Warned | Status::Unjudged => "⚠️",
            Status::Unshown | Status::BrokenBefore => "➖",
        };
        let cached = if claim.reused { " (cached)" } else { "" };
        out.push_str(&format!(
            "| {mark} | {} | `{}` | {}{cached} |\n",
            cell(&claim.claim),
            claim.gate,
            claim.took
        ));
    }
    for claim in report.claims.iter().filter(|claim| claim.status != Status::Holds) {
        out.push_str(&format!("\n**{}** (`{}`)\n\n", inert_line(&claim.claim), claim.gate));
        for line in evidence(claim) {
            out.push_str(&format!("- {}\n", inert_line(&line)));
        }
        if let Some(advice) = &claim.advice {
            out.push_str(&format!("- **To do:** {}\n", inert_line(advice)));
        }
    }
    if let Some(stopped) = &report.stopped {
        out.push_str(&format!("\n**{}**\n\n", inert_line(&stopped.what)));
        for line in &stopped.said {
            out.push_str(&format!("- {}\n", inert_line(line)));
        }
        if let Some(advice) = &stopped.advice {
            out.push_str(&format!("\n{}\n", inert_line(advice)));
        }
    }
    let shown: Vec<_> = report
        .claims
        .iter()
        .filter(|claim| claim.status == Status::Holds)
        .filter(|claim| !claim.evidence.red.is_empty() || !claim.evidence.findings.is_empty())
        .collect();
    if !shown.is_empty() {
        out.push_str("\n<details><summary>Evidence</summary>\n\n");
        for claim in shown {
            out.push_str(&format!("**{}** (`{}`)\n\n", inert_line(&claim.claim), claim.gate));
            for line in evidence(claim) {
                out.push_str(&format!("- {}\n", inert_line(&line)));
            }
            out.push('\n');
        }
        out.push_str("</details>\n");
    }
    for setup in &report.setups {
        out.push_str(&format!("\nSetup {}\n", inert_line(&setup.summary())));
    }
    if !report.unchecked.is_empty() {
        out.push_str("\nNot checked:\n\n");
        for one in &report.unchecked {
            out.push_str(&format!("- {}: {}\n", inert_line(&one.what), inert_line(&one.why)));
        }
    }
    out
}

/// Formats a table cell.
fn cell(text: &str) -> String {
    inert_line(text).replace('|', "\\|")
}
