//! Lines of a transcript: text, dimmed thinking, collapsed tool calls, colored diffs, highlighted search terms, and an
//! anchor for each line.

use acquit_core::agent::{AgentEvent, Item};
use acquit_core::ids::LegId;
use maud::{Markup, html};
use serde_json::Value;

use crate::page::Sign;
use crate::words;

/// Maximum number of lines of a diff. The rest is cut.
const DIFF_LINES: usize = 400;

/// Renders items in order. Numbers them from `first` on; without it, each shows a mark instead.
pub fn lines(items: &[Item], leg: LegId, first: Option<u64>, find: &str) -> Markup {
    let shown = items.iter().filter(|item| is_shown(&item.said));
    html! {
        ol.lines id={ "lines-" (leg.number) } data-live data-list {
            @for (index, item) in shown.enumerate() { (line(item, leg, first.map(|first| first + index as u64), find)) }
        }
    }
}

/// Returns whether people read this kind of item.
pub fn is_shown(said: &AgentEvent) -> bool {
    !matches!(said, AgentEvent::Usage(_) | AgentEvent::Session { .. } | AgentEvent::Unknown { .. })
}

/// Renders one line, with an anchor to link to it.
pub fn line(item: &Item, leg: LegId, number: Option<u64>, find: &str) -> Markup {
    let id = format!("l{}-{}", leg.number, item.offset);
    html! {
        li id=(id) {
            a.ln href={ "/tasks/" (leg.task) "/legs/" (leg.number) "?from=" (item.offset) @if let Some(number) = number { "&line=" (number) } "#" (id) } aria-label={ "Link to line " @match number { Some(number) => (number), None => { "at byte " (item.offset) } } } {
                @match number { Some(number) => (number), None => "¶" }
            }
            div { (one(&item.said, find)) }
        }
    }
}

fn one(said: &AgentEvent, find: &str) -> Markup {
    match said {
        AgentEvent::Text { text } => html! { p.says { (marked(text, find)) } },
        AgentEvent::Raw { text } => html! { p.raw { (marked(text, find)) } },
        AgentEvent::Thinking { text } => html! { p.thinks { (marked(text, find)) } },
        AgentEvent::ToolUse { name, input } => tool_use(name, input, find),
        AgentEvent::ToolResult { ok, text } => html! {
            details.tool open[has(text, find)] {
                summary { @if *ok { span.dim { "result " } } @else { (Sign::Rejected.named()) } code { (words::line(text, 120)) } }
                @if is_diff(text) { (diff(text.lines())) } @else { pre { (marked(text, find)) } }
            }
        },
        AgentEvent::Denied { tool, text } => {
            html! { p { (Sign::Rejected.bare()) b { (words::line(tool, 60)) } " was denied: " (marked(text, find)) } }
        }
        AgentEvent::Limit { text, .. } => {
            html! { p { (Sign::Waits.bare()) "usage limit: " (marked(text, find)) } }
        }
        AgentEvent::Fault { text, .. } => html! { p { (Sign::Noted.bare()) (marked(text, find)) } },
        AgentEvent::End { ok, text } => {
            html! { p.dim { @if *ok { "The agent ended its turn" } @else { "The agent ended with an error" } @if text.trim().is_empty() { "." } @else { ": " (marked(text, find)) } } }
        }
        AgentEvent::Report { value } => {
            html! { details.tool { summary { b { "report" } } pre { (words::text(&serde_json::to_string_pretty(value).unwrap_or_default())) } } }
        }
        AgentEvent::Usage(_) | AgentEvent::Session { .. } | AgentEvent::Unknown { .. } => html! {},
    }
}

/// Renders a tool call: edits are open and show their diff, everything else is collapsed.
fn tool_use(name: &str, input: &str, find: &str) -> Markup {
    let arguments: Option<Value> = serde_json::from_str(input).ok();
    let text = |key: &str| arguments.as_ref()?.get(key)?.as_str();
    let edit = ["old_string", "oldText", "old_str"]
        .iter()
        .find_map(|key| text(key))
        .zip(["new_string", "newText", "new_str"].iter().find_map(|key| text(key)));
    html! {
        details.tool open[edit.is_some() || has(input, find)] {
            summary { b { (words::line(name, 60)) } " " code { (words::line(short(input).as_deref().unwrap_or(input), 120)) } }
            @if let Some((old, new)) = edit {
                (diff(old.lines().map(|line| format!("-{line}")).chain(new.lines().map(|line| format!("+{line}")))))
            } @else if is_diff(input) { (diff(input.lines())) }
            @else { pre { (marked(&pretty(arguments.as_ref(), input), find)) } }
        }
    }
}

/// Returns the most informative argument of a tool call.
pub fn short(input: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(input).ok()?;
    let named = ["file_path", "path", "command", "pattern", "query", "url"];
    named.iter().find_map(|key| arguments.get(key)?.as_str().map(str::to_owned))
}

/// Formats arguments one per line, with their line breaks. Returns text that is not JSON unchanged.
fn pretty(arguments: Option<&Value>, input: &str) -> String {
    let Some(Value::Object(map)) = arguments else { return input.to_owned() };
    let one = |(key, value): (&String, &Value)| match value {
        Value::String(text) if text.contains('\n') => format!("{key}:\n{text}"),
        Value::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    };
    map.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Returns whether a text is a patch.
fn is_diff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@ ")) && text.lines().any(|line| line.starts_with(['+', '-']))
}

fn diff(lines: impl Iterator<Item = impl AsRef<str>>) -> Markup {
    let lines: Vec<_> = lines.take(DIFF_LINES).collect();
    html! {
        div.patch { @for line in &lines {
            @let line = line.as_ref();
            pre class=(match line.as_bytes().first() { Some(b'+') => "add", Some(b'-') => "del", Some(b'@') => "hunk", _ => "same" }) { (words::text(line)) @if line.is_empty() { " " } }
        } }
    }
}

fn has(text: &str, find: &str) -> bool {
    !find.is_empty() && text.to_lowercase().contains(&find.to_lowercase())
}

/// Renders a text with the search term highlighted.
fn marked(text: &str, find: &str) -> Markup {
    let shown = words::text(text);
    if find.is_empty() {
        return html! { (shown) };
    }
    let (low, wanted) = (shown.to_lowercase(), find.to_lowercase());
    // If lowercasing changes the length of a letter, offsets would not match.
    if low.len() != shown.len() {
        return html! { (shown) };
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for (start, found) in low.match_indices(&wanted) {
        let (Some(before), Some(hit)) = (shown.get(at..start), shown.get(start..start + found.len())) else {
            return html! { (shown) };
        };
        parts.push((before, hit));
        at = start + found.len();
    }
    html! { @for (before, hit) in &parts { (before) mark { (hit) } } (shown.get(at..).unwrap_or_default()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_searched_for_is_marked_and_stays_text() {
        assert_eq!(
            marked("a <B> c <b>", "<b>").into_string(),
            "a <mark>&lt;B&gt;</mark> c <mark>&lt;b&gt;</mark>"
        );
        assert_eq!(marked("İstanbul", "stan").into_string(), "İstanbul");
    }

    #[test]
    fn an_edit_is_shown_as_a_change() {
        let input = r#"{"file_path":"a.rs","old_string":"one\ntwo","new_string":"three"}"#;
        let shown = tool_use("Edit", input, "").into_string();
        assert!(shown.contains("<pre class=\"del\">-two</pre><pre class=\"add\">+three</pre>"), "{shown}");
        assert!(shown.contains("<details class=\"tool\" open>"), "{shown}");
        let folded = tool_use("Bash", r#"{"command":"ls"}"#, "").into_string();
        assert!(
            folded.contains("<details class=\"tool\">") && folded.contains("<code>ls</code>"),
            "{folded}"
        );
    }
}
