//! The message of a delivered commit: a subject in the repository's style, what was done, and which task it was.
//!
//! All of it is text of others (the task's author, agents), so nothing hidden in it reaches the history, and no line of it can be
//! taken for a trailer of ours: ours are the last paragraph, and what comes before is never one line of `Key: value` alone.

use std::collections::BTreeMap;

use super::style::Style;
use super::{Commit, CommitStyle};
use super::{inert, inert_line};
use crate::agent::shorten;
use crate::task::Task;
use crate::template;
use crate::text::visible;

/// The variables of a template for messages.
pub const VARIABLES: [&str; 5] = ["subject", "title", "changes", "task", "branch"];

/// The longest line about what was done.
const CHANGE: usize = 300;
/// How many such lines: a body is read, not searched.
const CHANGES: usize = 12;
/// Where lines of a body are broken, as git's own tools expect.
const WIDTH: usize = 72;

/// What a message is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The task.
    pub task: &'a Task,
    /// What the project says about its commits.
    pub settings: &'a Commit,
    /// The style of the log, where the project does not say.
    pub seen: &'a Style,
    /// What was done, one line each.
    pub changes: &'a [String],
    /// The stage that this commit is of, where there is one for each.
    pub phase: Option<&'a str>,
}

/// The whole message, with its trailers.
pub fn message(parts: &Parts<'_>) -> Result<String, template::Error> {
    let Parts { task, settings, seen, .. } = *parts;
    let wish = &task.seed.wish;
    let headline = task.headline();
    // A person's own words may close an issue; an agent's may not, and whoever pushes this branch would do it for them.
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
        // Once more when it is broken into lines: another word is the first of each then.
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

/// A point of a list, broken into lines.
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
