//! Formats a judgement as SARIF 2.1.0: a rule for each kind of finding, a result for each finding.

use acquit_app::prove::{Claim, Decision, Report, Status};
use acquit_core::failure::Location;
use acquit_core::gate::Weight;
use serde_json::{Value, json};

/// URL of the schema of this version.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Creates the document.
pub fn sarif(report: &Report) -> String {
    let results: Vec<Value> = report.claims.iter().flat_map(of_claim).collect();
    let mut rules: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<Value> = rules
        .into_iter()
        .map(|id| json!({ "id": id, "shortDescription": { "text": id.replace(['-', '/'], " ") } }))
        .collect();
    let notifications: Vec<Value> = report
        .unchecked
        .iter()
        .map(|one| json!({ "level": "note", "message": { "text": format!("not checked: {}: {}", one.what, one.why) } }))
        .collect();
    let run = json!({
        "tool": { "driver": { "name": "acquit", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
        "automationDetails": { "id": "acquit/prove/" },
        "invocations": [{
            "executionSuccessful": report.decision != Decision::Unjudged,
            "toolExecutionNotifications": notifications,
        }],
        "properties": { "decision": report.decision, "base": report.change.base.as_str(), "tree": report.change.tree },
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    let document = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] });
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

/// Returns the results of one claim.
fn of_claim(claim: &Claim) -> Vec<Value> {
    if claim.status == Status::Holds {
        // For a claim that holds, report only notes with a location.
        let noted = claim.evidence.findings.iter().filter(|finding| finding.location.is_some());
        return noted
            .map(|it| result(&rule(claim, &it.rule), "note", &it.message, it.location.as_ref()))
            .collect();
    }
    let level = match claim.status {
        Status::Broken => "error",
        Status::Warned | Status::Unjudged => "warning",
        Status::Holds | Status::Unshown | Status::BrokenBefore => "note",
    };
    if claim.evidence.findings.is_empty() {
        let text = claim.problem.clone().unwrap_or_else(|| format!("not shown: {}", claim.claim));
        return vec![result(&rule(claim, claim.gate.as_str()), level, &text, claim.location.as_ref())];
    }
    let each = claim.evidence.findings.iter().map(|finding| {
        let level = if finding.weight == Weight::Noted { "note" } else { level };
        result(&rule(claim, &finding.rule), level, &finding.message, finding.location.as_ref())
    });
    each.collect()
}

fn rule(claim: &Claim, rule: &str) -> String {
    format!("{}/{rule}", claim.check)
}

fn result(rule: &str, level: &str, text: &str, location: Option<&Location>) -> Value {
    let mut result = json!({ "ruleId": rule, "level": level, "message": { "text": text } });
    if let Some(place) = location {
        let region = json!({ "startLine": place.line.max(1) });
        let artifact = json!({ "uri": uri(&place.path), "uriBaseId": "%SRCROOT%" });
        result["locations"] =
            json!([{ "physicalLocation": { "artifactLocation": artifact, "region": region } }]);
    }
    result
}

/// Turns a repository path into a relative URI reference. Escapes everything but plain characters.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    // A colon in the first segment would look like a scheme; it is escaped already. Two leading slashes would name a
    // host.
    out.trim_start_matches('/').to_owned()
}
