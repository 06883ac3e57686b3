//! Formats a judgement as workflow commands of GitHub Actions, which become annotations.

use acquit_app::prove::{Claim, Report, Status};
use acquit_core::failure::Location;
use acquit_core::gate::Weight;

use super::headline;

/// GitHub shows ten annotations of a kind per step.
const MOST: usize = 10;

/// Returns the commands, one per line.
pub fn github(report: &Report) -> String {
    let mut lines = Vec::new();
    for claim in report.claims.iter().filter(|claim| claim.status != Status::Holds) {
        lines.extend(of_claim(claim));
    }
    if let Some(stopped) = &report.stopped {
        lines.push(command("error", "acquit setup", &stopped.what, None));
    }
    lines.truncate(MOST);
    let verdict = format!("{}: {}", report.decision.word(), headline(report));
    lines.push(command("notice", "acquit prove", &verdict, None));
    lines.join("\n")
}

fn of_claim(claim: &Claim) -> Vec<String> {
    let level = match claim.status {
        Status::Broken => "error",
        Status::Warned | Status::Unjudged => "warning",
        Status::Holds | Status::Unshown | Status::BrokenBefore => "notice",
    };
    let title = format!("acquit {}: {}", claim.gate, claim.claim);
    let failing: Vec<_> = claim.evidence.findings.iter().filter(|it| it.weight != Weight::Noted).collect();
    if failing.is_empty() {
        let text = claim.problem.as_deref().unwrap_or("not shown");
        return vec![command(level, &title, text, claim.location.as_ref())];
    }
    failing.iter().map(|it| command(level, &title, &it.message, it.location.as_ref())).collect()
}

/// Formats a command. Escapes line breaks and property separators, so that no text can start another command.
fn command(level: &str, title: &str, text: &str, place: Option<&Location>) -> String {
    let place = place.map_or_else(String::new, |place| {
        format!("file={},line={},", property(&place.path), place.line.max(1))
    });
    format!("::{level} {place}title={}::{}", property(title), message(text))
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
