//! Formats a judgement as `JUnit` XML: a test case for each claim.

use acquit_app::prove::{Claim, Report, Status};

use super::{evidence, headline};

/// Creates the document.
pub fn junit(report: &Report) -> String {
    let count = |statuses: &[Status]| report.claims.iter().filter(|it| statuses.contains(&it.status)).count();
    let stopped = usize::from(report.stopped.is_some());
    let head = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\"",
        report.claims.len() + stopped,
        count(&[Status::Broken]),
        count(&[Status::Unjudged]) + stopped,
        count(&[Status::Unshown, Status::BrokenBefore]),
        seconds(report.took)
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"acquit\" {head}>\n  <testsuite name=\"prove\" {head}>\n    \
         <properties>\n      <property name=\"decision\" value=\"{}\"/>\n      <property name=\"summary\" value=\"{}\"/>\n    </properties>\n",
        escaped(report.decision.word()),
        escaped(&headline(report))
    );
    for claim in &report.claims {
        out.push_str(&of_claim(claim));
    }
    if let Some(stopped) = &report.stopped {
        out.push_str(&format!(
            "    <testcase classname=\"acquit.setup\" name=\"setup\">\n      <error message=\"{}\">{}</error>\n    </testcase>\n",
            escaped(&stopped.what),
            escaped(&stopped.said.join("\n"))
        ));
    }
    out.push_str("  </testsuite>\n</testsuites>");
    out
}

fn of_claim(claim: &Claim) -> String {
    let open = format!(
        "    <testcase classname=\"acquit.{}\" name=\"{}: {}\" time=\"{}\"",
        escaped(claim.check),
        escaped(claim.gate.as_str()),
        escaped(&claim.claim),
        seconds(claim.took)
    );
    let lines = evidence(claim).join("\n");
    let first = claim.problem.as_deref().and_then(|text| text.lines().next()).unwrap_or(&claim.ended);
    let inside = |tag: &str| format!("<{tag} message=\"{}\">{}</{tag}>", escaped(first), escaped(&lines));
    let body = match claim.status {
        Status::Holds if lines.is_empty() => return format!("{open}/>\n"),
        Status::Holds | Status::Warned => format!("<system-out>{}</system-out>", escaped(&lines)),
        Status::Broken => inside("failure"),
        Status::Unjudged => inside("error"),
        Status::Unshown => "<skipped message=\"the change has no test that could show it\"/>".to_owned(),
        Status::BrokenBefore => "<skipped message=\"it fails on the base as well\"/>".to_owned(),
    };
    format!("{open}>\n      {body}\n    </testcase>\n")
}

fn seconds(span: acquit_core::time::Span) -> String {
    format!("{:.3}", span.duration().as_secs_f64())
}

/// Escapes text for XML. Drops characters that XML does not allow.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out
}
