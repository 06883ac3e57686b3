//! A judgement of `acquit prove`, for people and for programs. Each form is made from the same report.
//!
//! Names of tests, messages and paths come from the repository. Each form escapes them in its own way.

mod github;
mod junit;
mod markdown;
mod sarif;

use acquit_app::prove::{Claim, Decision, Report, Status};
use acquit_core::gate::Weight;

use super::{Look, Printer, text};

pub use github::github;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;

/// How many findings of a claim are shown to people. The JSON has all.
const MOST_SHOWN: usize = 8;

/// How many lines of what a command printed are shown where nothing better is known.
const TAIL_LINES: usize = 8;

/// How many tests are named that turned from red to green.
const MOST_RED: usize = 5;

/// How long a line of evidence may be.
const WIDTH: usize = 160;

/// Prints it for people: a line for each claim with what it rests on, what was not checked, and the judgement.
pub fn people(printer: Printer, report: &Report) {
    let detected = &report.detected;
    if !detected.is_empty() {
        printer.data(&printer.paint(
            Look::Faint,
            &format!("no .acquit/ here: judged by what `acquit init` would write ({})", detected.join(", ")),
        ));
    }
    for claim in &report.claims {
        let (mark, look) = mark(claim.status);
        let beside =
            format!("{} · {}{}", claim.gate, claim.took, if claim.reused { " · cached" } else { "" });
        printer.data(&format!(
            "{} {}  {}",
            printer.paint(look, mark),
            claim.claim,
            printer.paint(Look::Faint, &beside)
        ));
        for line in evidence(claim) {
            printer.data(
                &printer.paint(Look::Faint, &format!("    {}", text::visible(&text::line(&line, WIDTH)))),
            );
        }
        if let Some(advice) = &claim.advice {
            printer.data(&format!("    → {advice}"));
        }
    }
    if let Some(stopped) = &report.stopped {
        printer.data(&format!("{} {}", printer.paint(Look::Bad, "✗"), stopped.what));
        for said in &stopped.said {
            printer.data(
                &printer.paint(Look::Faint, &format!("    {}", text::visible(&text::line(said, WIDTH)))),
            );
        }
        if let Some(advice) = &stopped.advice {
            printer.data(&format!("    → {advice}"));
        }
    }
    for setup in &report.setups {
        printer.data(&format!("setup {}", text::visible(&setup.summary())));
    }
    if !report.unchecked.is_empty() {
        printer.data("not checked:");
        for one in &report.unchecked {
            printer.data(&format!("  - {}: {}", one.what, text::visible(&text::line(&one.why, WIDTH))));
        }
    }
    let look = match report.decision {
        Decision::Acquitted => Look::Good,
        Decision::Guilty => Look::Bad,
        Decision::Unjudged => Look::Notable,
    };
    printer.data(&format!("{}: {}", printer.paint(look, report.decision.word()), headline(report)));
}

/// The rest of the last line: how many claims hold, and what was judged.
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

/// What a claim rests on, in lines.
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
    lines.extend(findings.iter().take(MOST_SHOWN).map(|finding| first_lines(&finding.to_string())));
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

/// A text as one line: a message of several is joined.
fn first_lines(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect::<Vec<_>>().join(" ⏎ ")
}
