//! Failed checks of a pull request: their names, their messages, and the lines they refer to.
//!
//! Programs that ran on the change produce these messages, so they are size-limited and stay untrusted. Details that
//! cannot be read are left out: the failure itself is worth reporting.

use acquit_core::agent::shorten;
use acquit_core::delivery::Comment;
use serde_json::Value;

use super::error::Error;
use super::feedback::{comment, text};
use super::http::{Http, encoded};

/// Maximum number of failed checks to report. Fixing these fixes most of the rest.
const MOST: usize = 10;
/// Maximum number of lines per check.
const LINES: usize = 10;
/// Maximum length of the message for a line.
const COMPLAINT: usize = 500;
/// Maximum length of the name of a check or a job.
const NAME: usize = 100;
/// Conclusions of failed checks at GitHub. A cancelled or skipped check says nothing about the work.
const FAILED: [&str; 3] = ["failure", "timed_out", "startup_failure"];

/// Returns the failed checks of a commit at GitHub, and the failed commit statuses that older programs report.
pub(super) fn at_github(
    http: &Http<'_>,
    doing: &'static str,
    project: &str,
    head: &str,
) -> Result<Vec<Comment>, Error> {
    let commit = format!("{project}/commits/{}", encoded(head));
    let checks = http.get(doing, &format!("{commit}/check-runs?filter=latest&per_page=100"))?.body;
    let failed = entries(&checks, "check_runs").filter(|check| FAILED.contains(&text(check, "/conclusion")));
    let mut all = Vec::new();
    for check in failed.take(MOST) {
        let mut words = format!(
            "the check {} failed: {} {}",
            name(check, "/name"),
            text(check, "/output/title"),
            text(check, "/output/summary")
        );
        let mut place = None;
        for line in complaints(http, doing, project, check)? {
            let at = line.get("start_line").and_then(Value::as_u64).unwrap_or(1);
            let path = text(&line, "/path").to_owned();
            let message = shorten(text(&line, "/message").trim(), COMPLAINT);
            words.push_str(&format!("\n{}:{at}: {message}", shorten(&path, COMPLAINT)));
            place.get_or_insert((path, at));
        }
        let place = place.as_ref().map(|(path, line)| (path.as_str(), *line));
        all.extend(comment(format!("check {} {head}", check["id"]), "a check", &words, place, None));
    }
    let states = http.get(doing, &format!("{commit}/status?per_page=100"))?.body;
    let failed =
        entries(&states, "statuses").filter(|one| ["failure", "error"].contains(&text(one, "/state")));
    for one in failed.take(MOST) {
        let words = format!(
            "the check {} failed: {} {}",
            name(one, "/context"),
            text(one, "/description"),
            text(one, "/target_url")
        );
        all.extend(comment(format!("status {} {head}", one["id"]), "a check", &words, None, None));
    }
    Ok(all)
}

/// Returns the annotations of a GitHub check.
fn complaints(
    http: &Http<'_>,
    doing: &'static str,
    project: &str,
    check: &Value,
) -> Result<Vec<Value>, Error> {
    let count = check.pointer("/output/annotations_count").and_then(Value::as_u64).unwrap_or(0);
    let (Some(id), true) = (check.get("id").and_then(Value::as_u64), count > 0) else {
        return Ok(Vec::new());
    };
    let found = detail(http, doing, &format!("{project}/check-runs/{id}/annotations?per_page=100"))?;
    let found = found.as_array().cloned().unwrap_or_default();
    Ok(found.into_iter().filter(|line| text(line, "/annotation_level") == "failure").take(LINES).collect())
}

/// Returns the failed pipeline of a merge request at GitLab, with its failed jobs.
pub(super) fn at_gitlab(
    http: &Http<'_>,
    doing: &'static str,
    request: &Value,
) -> Result<Option<Comment>, Error> {
    let Some(pipeline) = request.get("head_pipeline").filter(|one| text(one, "/status") == "failed") else {
        return Ok(None);
    };
    let mut words = format!("the pipeline failed: {}", text(pipeline, "/web_url"));
    let number = |key: &str| pipeline.get(key).and_then(Value::as_u64);
    // For a fork, the pipeline belongs to the fork.
    let project = number("project_id").or_else(|| request.get("source_project_id").and_then(Value::as_u64));
    if let (Some(project), Some(id)) = (project, number("id")) {
        let path = format!("/projects/{project}/pipelines/{id}/jobs?scope%5B%5D=failed&per_page=100");
        let jobs = detail(http, doing, &path)?;
        for job in jobs.as_array().into_iter().flatten().take(MOST) {
            words.push_str(&format!(
                "\nthe job {} of the stage {} failed: {} {}",
                name(job, "/name"),
                name(job, "/stage"),
                text(job, "/failure_reason"),
                text(job, "/web_url")
            ));
        }
    }
    let id = format!("pipeline {}", pipeline.get("id").unwrap_or(&Value::Null));
    Ok(comment(id, "a pipeline", &words, None, None))
}

/// Gets details that may be missing or hidden from this token.
fn detail(http: &Http<'_>, doing: &'static str, path: &str) -> Result<Value, Error> {
    match http.get(doing, path) {
        Ok(answer) => Ok(answer.body),
        Err(Error::Denied { .. } | Error::Refused { .. } | Error::Nonsense { .. }) => Ok(Value::Null),
        Err(error @ (Error::Busy { .. } | Error::Away { .. } | Error::Setting(_))) => Err(error),
    }
}

fn entries<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn name(value: &Value, pointer: &str) -> String {
    shorten(text(value, pointer), NAME)
}
