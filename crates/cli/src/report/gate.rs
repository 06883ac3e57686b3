//! Formats gate verdicts for people: one line, figures, findings, and what to fix.

use acquit_core::gate::{Verdict, Weight};

use super::follow::{FAILURE_LINES, WIDTH};
use super::{Look, Printer, text};

impl Printer {
    /// Formats a verdict for a leg's list of events.
    pub fn gate(self, verdict: &Verdict) -> Vec<String> {
        let (mark, look) = match (verdict.passed, verdict.rejects()) {
            (true, _) => ("✓", Look::Good),
            (false, true) => ("✗", Look::Bad),
            (false, false) => ("!", Look::Notable),
        };
        let again =
            verdict.reused.map(|leg| format!(" · the work is that of leg {leg}, and so is this verdict"));
        let detail = format!("{} · {}{}", verdict.ended, verdict.took, again.unwrap_or_default());
        let detail = self.paint(Look::Faint, &detail);
        let mut lines = vec![format!("  {} gate {} {detail}", self.paint(look, mark), verdict.gate)];
        let mut faint = |line: &str| {
            let shown = format!(
                "      {}",
                text::visible(&text::line(line, self.width().saturating_sub(6).min(WIDTH)))
            );
            lines.push(self.paint(Look::Faint, &shown));
        };
        let evidence = &verdict.evidence;
        if !evidence.figures.is_empty() {
            let figures = evidence.figures.iter().map(|it| format!("{} {}", it.what, it.value));
            faint(&figures.collect::<Vec<_>>().join(" · "));
        }
        if !evidence.red.is_empty() {
            faint(&format!("red before, green now: {}", evidence.red.join(", ")));
        }
        for finding in evidence.findings.iter().filter(|finding| finding.weight == Weight::Noted) {
            faint(&finding.to_string());
        }
        if let Some(failure) = &verdict.failure {
            failure.message.lines().take(FAILURE_LINES).for_each(&mut faint);
            if let Some(place) = &failure.location {
                faint(&format!("at {}:{}", place.path, place.line));
            }
        }
        lines
    }
}
