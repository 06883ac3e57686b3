//! Parses SARIF, the format of static analysis tools: findings with a rule, a level and a location.

use serde_json::Value;

use crate::agent::shorten;
use crate::failure::Location;

/// Maximum number of findings.
const MOST: usize = 10_000;

/// Maximum length of a message.
const LONGEST: usize = 600;

/// A finding of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The tool's name of the rule.
    pub rule: String,
    /// The tool's message.
    pub message: String,
    /// Level.
    pub level: Level,
    /// Location, as in the report.
    pub location: Option<Location>,
}

/// The level of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Worth knowing.
    Note,
    /// Probably wrong.
    Warning,
    /// Wrong.
    Error,
}

/// Parses a report. Returns `None` if it is not SARIF. Skips findings that are suppressed in the source.
pub fn read(text: &str) -> Option<Vec<Finding>> {
    let root: Value = serde_json::from_str(text).ok()?;
    let runs = root.get("runs")?.as_array()?;
    let results = runs.iter().filter_map(|run| run.get("results")?.as_array()).flatten();
    Some(results.filter(|result| !is_suppressed(result)).filter_map(finding).take(MOST).collect())
}

fn is_suppressed(result: &Value) -> bool {
    result["suppressions"].as_array().is_some_and(|list| !list.is_empty())
}

fn finding(result: &Value) -> Option<Finding> {
    let level = match result["level"].as_str() {
        Some("error") => Level::Error,
        Some("note" | "none") => Level::Note,
        // The default of the format.
        Some(_) | None => Level::Warning,
    };
    let rule = result["ruleId"].as_str().or_else(|| result["rule"]["id"].as_str()).unwrap_or("unnamed");
    let message = result["message"]["text"].as_str().or_else(|| result["message"]["markdown"].as_str())?;
    let place = &result["locations"][0]["physicalLocation"];
    let path = place["artifactLocation"]["uri"].as_str();
    let line = place["region"]["startLine"].as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(1);
    let location = path.map(|path| Location {
        path: shorten(path.strip_prefix("file://").unwrap_or(path), LONGEST),
        line: line.max(1),
    });
    Some(Finding { rule: shorten(rule, LONGEST), message: shorten(message, LONGEST), level, location })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_read_with_rule_level_and_place() {
        let text = r#"{"version":"2.1.0","runs":[{"tool":{},"results":[
            {"ruleId":"no-eval","level":"error","message":{"text":"eval"},
             "locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///w/a.js"},"region":{"startLine":3}}}]},
            {"message":{"text":"odd"}},
            {"ruleId":"x","message":{"text":"hidden"},"suppressions":[{"kind":"inSource"}]}]},{}]}"#;
        let found = read(text).unwrap();
        let [eval, odd] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((eval.rule.as_str(), eval.level), ("no-eval", Level::Error));
        assert_eq!(eval.location, Some(Location { path: "/w/a.js".to_owned(), line: 3 }));
        assert_eq!((odd.rule.as_str(), odd.level, &odd.location), ("unnamed", Level::Warning, &None));
        assert_eq!((read("{}"), read("x"), read("[]")), (None, None, None));
    }
}
