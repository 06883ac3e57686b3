//! The message of a delivered commit: a subject in the repository's style, the changes, and the task.
//!
//! All of it is foreign text (of the task's author and agents), so hidden characters are made visible, and no line of
//! it can pass as one of acquit's trailers: those are the last paragraph, and the text before is never a lone `Key:
//! value` line.

use std::collections::BTreeMap;

use super::style::Style;
use super::{Commit, CommitStyle};
use super::{inert, inert_line};
use crate::agent::shorten;
use crate::task::Task;
use crate::template;
use crate::text::visible;

/// The variables of a message template.
pub const VARIABLES: [&str; 5] = ["subject", "title", "changes", "task", "branch"];

/// Maximum length of a line about a change.
const CHANGE: usize = 300;
/// Maximum number of such lines: a body is read, not searched.
const CHANGES: usize = 12;
/// Line width of a body, as git's own tools expect.
const WIDTH: usize = 72;

/// The inputs of a message.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The task.
    pub task: &'a Task,
    /// Commit settings of the project.
    pub settings: &'a Commit,
    /// Detected style of the log, if the project does not set one.
    pub seen: &'a Style,
    /// Changes, one line each.
    pub changes: &'a [String],
    /// Stage of this commit, if there is one commit per stage.
    pub phase: Option<&'a str>,
}

/// Formats the whole message with trailers.
pub fn message(parts: &Parts<'_>) -> Result<String, template::Error> {
    let Parts { task, settings, seen, .. } = *parts;
    let wish = &task.seed.wish;
    let headline = task.headline();
    // A person's own words may close an issue. An agent's may not: the person who pushes this branch would close it
    // for the agent.
    let title = if headline == wish.title {
        visible(wish.title.lines().next().unwrap_or_default())
    } else {
        inert_line(headline)
    };
    let style = match settings.style {
        CommitStyle::Auto => seen.clone(),
        CommitStyle::Plain => Style::usual(),
        CommitStyle::Conventional => Style::conventional(),
    };
    let ticket = wish.metadata.get("ticket").map(|ticket| visible(ticket));
    let phase = parts.phase.map(|phase| format!(" ({phase})")).unwrap_or_default();
    let style = Style { limit: style.limit.saturating_sub(phase.len()), ..style };
    let subject = format!("{}{phase}", style.subject(&title, ticket.as_deref()));
    let changes: Vec<String> = parts
        .changes
        .iter()
        .take(CHANGES)
        // Make inert again after wrapping, because other words are now first in their lines.
        .map(|change| inert(&wrapped(&format!("- {}", inert_line(&shorten(change, CHANGE))))))
        .collect();
    let changes = changes.join("\n");
    let text = match &settings.template {
        None if changes.is_empty() => subject,
        None => format!("{subject}\n\n{changes}"),
        Some(template) => {
            let values = [subject, title, changes, task.id().to_string(), task.seed.branch.clone()];
            let variables: BTreeMap<String, String> =
                VARIABLES.map(str::to_owned).into_iter().zip(values).collect();
            template::Template::plain(template).render(&variables)?
        }
    };
    let named = (!settings.trailer.is_empty()).then(|| format!("{}: {}\n", settings.trailer, task.id()));
    let helpers = settings.co_authors.iter().map(|author| format!("Co-authored-by: {author}\n"));
    let trailers: String = named.into_iter().chain(helpers).collect();
    let blank = if trailers.is_empty() { "" } else { "\n" };
    Ok(format!("{}\n{blank}{trailers}", text.trim_end()))
}

/// Wraps a list item.
fn wrapped(point: &str) -> String {
    let (mut out, mut length) = (String::new(), 0);
    for word in point.split_whitespace() {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > WIDTH {
            out.push_str("\n  ");
            length = 2;
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += size;
    }
    out
}
