//! Formats a judgement as a GitLab Code Quality report, which merge requests show at the changed lines.

use acquit_app::prove::{Report, Status};
use acquit_core::gate::Weight;
use acquit_core::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::report::text;

/// Maximum length of a description.
const WIDTH: usize = 500;

/// Creates the report. GitLab shows only findings with a location, so others go to the first line of the first
/// changed file.
pub fn gitlab(report: &Report) -> String {
    let somewhere = report.change.paths.first().map_or("README.md", String::as_str);
    let mut all: Vec<Value> = Vec::new();
    for claim in &report.claims {
        if !matches!(claim.status, Status::Broken | Status::Warned) {
            continue;
        }
        let severity = if claim.status == Status::Broken { "major" } else { "minor" };
        let findings = claim.evidence.findings.iter().filter(|finding| finding.weight != Weight::Noted);
        let mut told: Vec<(String, String, &str, u32)> = findings
            .map(|finding| {
                let place = finding.location.as_ref();
                let (path, line) = place.map_or((somewhere, 1), |place| (place.path.as_str(), place.line));
                (format!("{}/{}", claim.check, finding.rule), finding.message.clone(), path, line)
            })
            .collect();
        if told.is_empty() {
            let place = claim.location.as_ref();
            let (path, line) = place.map_or((somewhere, 1), |place| (place.path.as_str(), place.line));
            let problem = claim.problem.clone().unwrap_or_else(|| claim.ended.clone());
            told.push((format!("{}/{}", claim.check, claim.gate), problem, path, line));
        }
        for (rule, message, path, line) in told {
            let words = format!("{}: {}", claim.claim, text::visible(&text::line(&message, WIDTH)));
            let mark = Sha256::digest(format!("{rule}\0{path}\0{line}\0{words}").as_bytes());
            all.push(json!({
                "description": words,
                "check_name": rule,
                "fingerprint": hex::encode(&mark),
                "severity": severity,
                "location": { "path": path, "lines": { "begin": line.max(1) } },
            }));
        }
    }
    serde_json::to_string_pretty(&all).unwrap_or_default()
}
