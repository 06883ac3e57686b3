//! Formats a judgement of `acquit prove` for people and programs, always from the same report.
//!
//! Test names, messages and paths come from the repository, so each format escapes them in its own way.

mod github;
mod gitlab;
mod junit;
mod markdown;
mod sarif;

use acquit_app::prove::{Claim, Decision, Report, Status};
use acquit_core::gate::{Finding, Weight};

use super::{Look, Printer, text};

pub use github::github;
pub use gitlab::gitlab;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;

/// Maximum number of findings per claim to show to people. The JSON has all.
const MOST_SHOWN: usize = 8;

/// Number of lines of a command's output to show if there is nothing better.
const TAIL_LINES: usize = 8;

/// Maximum number of named tests that turned from red to green.
const MOST_RED: usize = 5;

/// Maximum width of a line of evidence.
const WIDTH: usize = 160;

/// Prints a report for people.
pub fn people(printer: Printer, report: &Report) {
    for line in lines(report, &|look, text| printer.paint(look, text)) {
        printer.data(&line);
    }
}

/// Returns the text for people, without colours.
pub fn plain(report: &Report) -> String {
    lines(report, &|_, text| text.to_owned()).join("\n")
}

/// Returns a line for each claim with its evidence, then what was not checked, then the judgement.
fn lines(report: &Report, paint: &dyn Fn(Look, &str) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    let faint = |line: &str| paint(Look::Faint, &format!("    {}", text::visible(&text::line(line, WIDTH))));
    let detected = &report.detected;
    if !detected.is_empty() {
        lines.push(paint(
            Look::Faint,
            &format!("no .acquit/ here: judged by what `acquit init` would write ({})", detected.join(", ")),
        ));
    }
    for claim in &report.claims {
        let (mark, look) = mark(claim.status);
        let beside =
            format!("{} · {}{}", claim.gate, claim.took, if claim.reused { " · cached" } else { "" });
        lines.push(format!("{} {}  {}", paint(look, mark), claim.claim, paint(Look::Faint, &beside)));
        lines.extend(evidence(claim).iter().map(|line| faint(line)));
        lines.extend(claim.advice.iter().map(|advice| format!("    → {advice}")));
    }
    if let Some(stopped) = &report.stopped {
        lines.push(format!("{} {}", paint(Look::Bad, "✗"), stopped.what));
        lines.extend(stopped.said.iter().map(|line| faint(line)));
        lines.extend(stopped.advice.iter().map(|advice| format!("    → {advice}")));
    }
    lines.extend(report.setups.iter().map(|setup| format!("setup {}", text::visible(&setup.summary()))));
    if !report.unchecked.is_empty() {
        lines.push("not checked:".to_owned());
        let one = |it: &acquit_app::prove::Unchecked| {
            format!("  - {}: {}", it.what, text::visible(&text::line(&it.why, WIDTH)))
        };
        lines.extend(report.unchecked.iter().map(one));
    }
    let look = match report.decision {
        Decision::Acquitted => Look::Good,
        Decision::Guilty => Look::Bad,
        Decision::Unjudged => Look::Notable,
    };
    lines.push(format!("{}: {}", paint(look, report.decision.word()), headline(report)));
    lines
}

/// Returns the rest of the last line: the number of claims that hold, and the subject of the judgement.
pub fn headline(report: &Report) -> String {
    let holds = report.claims.iter().filter(|claim| claim.status == Status::Holds).count();
    let broken = report.claims.iter().filter(|claim| claim.status == Status::Broken).count();
    let claims = match (broken, report.decision) {
        _ if report.cancelled => "cancelled".to_owned(),
        (0, Decision::Unjudged) => {
            format!("{holds} of {} claims hold, and that is not enough", report.claims.len())
        }
        (0, _) => format!("{holds} of {} claims hold", report.claims.len()),
        (1, _) => "1 claim does not hold".to_owned(),
        (number, _) => format!("{number} claims do not hold"),
    };
    let files = match report.change.paths.len() {
        0 if report.change.base == report.change.head => "nothing changed".to_owned(),
        1 => "1 file changed".to_owned(),
        number => format!("{number} files changed"),
    };
    let uncommitted = if report.change.uncommitted { ", with uncommitted work" } else { "" };
    let what = text::visible(&text::line(&report.change.what, WIDTH));
    format!("{claims} · {what}: {files}{uncommitted} · {}", report.took)
}

fn mark(status: Status) -> (&'static str, Look) {
    match status {
        Status::Holds => ("✓", Look::Good),
        Status::Broken => ("✗", Look::Bad),
        Status::Warned => ("!", Look::Notable),
        Status::Unshown | Status::BrokenBefore | Status::Unjudged => ("?", Look::Notable),
    }
}

/// Returns the evidence for a claim, in lines.
pub(super) fn evidence(claim: &Claim) -> Vec<String> {
    let mut lines = Vec::new();
    let evidence = &claim.evidence;
    let figures: Vec<String> =
        evidence.figures.iter().map(|it| format!("{} {}", it.what, it.value)).collect();
    if !figures.is_empty() {
        lines.push(figures.join(" · "));
    }
    for test in evidence.red.iter().take(MOST_RED) {
        lines.push(format!("red on the base, green on the change: {test}"));
    }
    if evidence.red.len() > MOST_RED {
        lines.push(format!("… and {} tests more", evidence.red.len() - MOST_RED));
    }
    let mut findings: Vec<_> = evidence.findings.iter().collect();
    findings.sort_by_key(|finding| finding.weight == Weight::Noted);
    lines.extend(findings.iter().take(MOST_SHOWN).map(|finding| in_a_line(finding)));
    let more = findings.len().saturating_sub(MOST_SHOWN) + evidence.more as usize;
    if more > 0 {
        lines.push(format!("… and {more} findings more; --json has them"));
    }
    if claim.status != Status::Holds && evidence.findings.is_empty() {
        lines.push(format!("$ {}  ({})", claim.command, claim.ended));
        let tail: Vec<&str> = claim.tail.lines().filter(|line| !line.trim().is_empty()).collect();
        let skip = tail.len().saturating_sub(TAIL_LINES);
        lines.extend(tail[skip..].iter().map(|line| format!("│ {line}")));
    }
    if claim.status == Status::BrokenBefore {
        lines.push("it fails on the base as well, so it is not held against the change".to_owned());
    }
    lines
}

/// Formats a finding as one line. Shortens its message, so that its rule, which `--allow` takes, is always there.
fn in_a_line(finding: &Finding) -> String {
    let rule = format!(" [{}]", finding.rule);
    let text = first_lines(finding.to_string().trim_end_matches(&rule));
    format!("{}{rule}", text::line(&text, WIDTH.saturating_sub(rule.chars().count())))
}

/// Joins the first lines of a text.
fn first_lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect::<Vec<_>>().join(" ⏎ ")
}
