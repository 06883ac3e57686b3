//! Text on pages. Text from agents, repositories and people is truncated and made visible here, and escaped by maud.

use std::time::Duration;

use acquit_core::agent::{Usage, shorten};
use acquit_core::artifact::Artifact;
use acquit_core::failure::kind;
use acquit_core::leg::{Entry, Leg, Purpose};
use acquit_core::price::dollars;
use acquit_core::prompt::visible;
use acquit_core::task::Task;
use acquit_core::time::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

/// Maximum length of a text that is shown in full.
const TEXT: usize = 64 * 1024;

/// Returns a text with its lines. Characters that are invisible or reorder text are shown as codes.
pub fn text(text: &str) -> String {
    visible(&shorten(text, TEXT))
}

/// Returns a text as one line of at most `most` characters.
pub fn line(text: &str, most: usize) -> String {
    let mut words = String::new();
    let mut count = 0;
    for (index, word) in text.split_whitespace().enumerate() {
        if index > 0 {
            words.push(' ');
            count += 1;
        }
        for letter in word.chars() {
            if count >= most {
                words.push('…');
                return visible(&words);
            }
            words.push(letter);
            count += 1;
        }
    }
    visible(&words)
}

/// Returns the content of a text field that is shown again. A browser drops a line break at its beginning.
pub fn kept(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    if text.starts_with('\n') { format!("\n{text}") } else { text }
}

/// Returns a sentence that all tries of a kind are used up.
pub fn spent(kind: &str) -> String {
    let known = match kind {
        kind::AGENT => "The agent failed too often.",
        kind::OUTCOME => "The agent told no outcome of the stage.",
        kind::LIMIT => "The agent reached a limit too often.",
        kind::NOTHING => "The agent ended without doing anything.",
        kind::GUARDRAIL => "The agent tried something that it must not do.",
        kind::HARNESS | kind::LOST => "The harness failed too often.",
        kind::DISK => "The disk was full too often.",
        kind::LOGIN => "The agent is not logged in.",
        kind::CONFIG => "The configuration or the machine lacks something.",
        kind::LOOP => "The agent repeated the same steps.",
        kind::SPENT => "The limit of money or time is used up.",
        other => return format!("All tries for {} are used up.", line(other, 60)),
    };
    known.to_owned()
}

/// Renders a text whose commands are between backticks.
pub fn commands(text: &str) -> Markup {
    let text = self::text(text);
    let parts: Vec<&str> = text.split('`').collect();
    // A single backtick is one.
    if parts.len().is_multiple_of(2) {
        return html! { (text) };
    }
    html! { @for (at, part) in parts.iter().enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } } }
}

/// Returns a path with `~` for the home folder of the user.
pub fn path(path: &str, home: Option<&std::path::Path>) -> String {
    let below = home.and_then(|home| std::path::Path::new(path).strip_prefix(home).ok());
    let short = below.map(|rest| format!("~/{}", rest.display()));
    line(short.as_deref().unwrap_or(path).trim_end_matches('/'), 300)
}

/// Renders the address of a pull request: as a link if it is at the server that the task pushed to, else as text.
pub fn forge_link(task: &Task, url: &str) -> Markup {
    let pushed = task.artifacts.iter().filter_map(|artifact| match artifact {
        Artifact::Pushed { remote, .. } => host(remote),
        _ => None,
    });
    let own = is_address(url) && host(url).is_some_and(|host| pushed.into_iter().any(|known| known == host));
    html! { @if own { a href=(url) rel="noreferrer noopener" { (line(url, 300)) } } @else { (line(url, 300)) } }
}

/// Returns whether a text is a plain address of a page.
fn is_address(url: &str) -> bool {
    let web = url.starts_with("https://") || url.starts_with("http://");
    web && url.bytes().all(|byte| byte.is_ascii_graphic()) && !url.contains(['\\', '@'])
}

/// Returns the host in an address of a repository or a page, without its port.
fn host(address: &str) -> Option<&str> {
    let authority = match address.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?', '#']).next()?,
        // As in `git@host:group/name`.
        None => address.split_once(':').filter(|(host, _)| host.contains('@'))?.0,
    };
    let host = authority.rsplit('@').next()?;
    Some(host.split(':').next()?).filter(|host| !host.is_empty())
}

/// Returns an abbreviated commit id.
pub fn short(commit: &str) -> String {
    visible(commit.get(..10).unwrap_or(commit))
}

/// Formats a duration: `12 m 40 s`.
pub fn length(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0 => format!("{} ms", length.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Formats a time in the machine's time zone.
pub fn moment(at: Timestamp, form: &str) -> String {
    let zoned = jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_zoned(TimeZone::system()));
    zoned.map(|zoned| zoned.strftime(form).to_string()).unwrap_or_default()
}

/// Formats a time for `<time datetime>`.
pub fn datetime(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map(|at| at.to_string()).unwrap_or_default()
}

/// Formats an amount of money; a dash if it is unknown.
pub fn cost(micros: Option<u64>) -> String {
    match micros {
        None => "–".to_owned(),
        Some(micros) if micros > 0 && micros < 10_000 => {
            format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
        }
        Some(micros) => dollars(micros),
    }
}

/// Formats a cost; with `≈` if a part of it is estimated from the price list.
pub fn usage_cost(usage: &Usage) -> String {
    let sign = if usage.estimated() > 0 { "≈" } else { "" };
    if usage.is_empty() { "–".to_owned() } else { format!("{sign}{}", cost(usage.paid())) }
}

/// Formats a number of bytes.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => count(usize::try_from(bytes).unwrap_or(0), "byte"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Formats a place in a row: `1st`, `2nd`, `11th`.
pub fn place(number: usize) -> String {
    let end = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

/// Formats a number of tokens.
pub fn tokens(count: u64) -> String {
    match count {
        0 => "–".to_owned(),
        1..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Formats a number for a drawing, where four digits have no room: `3.4k`.
pub fn rounded(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// Encodes a value for a URL.
pub fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}

/// Renders a bar that shows how much is used up.
pub fn meter(part: u64, whole: u64) -> Markup {
    let share = (part.saturating_mul(100)).checked_div(whole).unwrap_or(0).min(100);
    html! { svg.meter width="100%" height="6" aria-hidden="true" { rect.track width="100%" height="6" rx="3" {} rect.fill width={ (share) "%" } height="6" rx="3" {} } }
}

/// Returns the heading of a leg.
pub fn heading(entry: &Entry) -> String {
    match &entry.purpose {
        Purpose::Work => entry.stage.to_string(),
        Purpose::Fix { of, failures, .. } => {
            let gates: Vec<&str> = failures.iter().map(|failure| failure.gate.as_str()).collect();
            format!("{} for {of} ({})", entry.stage, gates.join(", "))
        }
        Purpose::Recheck { .. } => format!("{}, gates again", entry.stage),
        Purpose::Merge => format!("{}, merge", entry.stage),
        Purpose::Resolve { of, .. } => format!("{}, conflict before {}", entry.stage, of.stage),
    }
}

/// Returns the run time of a leg; until now if it is still running.
pub fn took(leg: &Leg, now: Timestamp) -> Duration {
    leg.started.map_or(Duration::ZERO, |started| leg.ended.unwrap_or(now).since(started))
}

/// Formats a count: `1 task`, `2 tasks`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_drawings_have_at_most_four_signs() {
        let shown = [0, 999, 1_000, 3_499, 9_999, 10_000, 999_999, 1_000_000].map(rounded);
        assert_eq!(shown, ["0", "999", "1.0k", "3.4k", "9.9k", "10k", "999k", "1M"]);
    }

    #[test]
    fn sizes_places_and_paths_are_short() {
        assert_eq!([1, 999, 1_440, 5_000_000].map(size), ["1 byte", "999 bytes", "1.4 kB", "5.0 MB"]);
        assert_eq!(
            [1, 2, 3, 4, 11, 21, 112].map(place),
            ["1st", "2nd", "3rd", "4th", "11th", "21st", "112th"]
        );
        let home = Some(std::path::Path::new("/srv/ann"));
        let shown = ["/srv/ann/src/x", "/srv/ann", "/srv/annabel/x"].map(|it| path(it, home));
        assert_eq!(shown, ["~/src/x", "~", "/srv/annabel/x"]);
    }

    #[test]
    fn commands_in_a_text_are_set_apart() {
        let shown = |text| commands(text).into_string();
        assert_eq!(shown("`a <b>` lists"), "<code>a &lt;b&gt;</code> lists");
        assert_eq!(shown("one ` alone"), "one ` alone");
    }

    #[test]
    fn hidden_letters_are_seen_and_long_texts_end() {
        assert_eq!(text("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(line("a\u{200b} \n b", 10), "a\\u{200b} b");
        assert_eq!(line(&"x".repeat(99), 5), "xxxxx…");
        assert!(text(&"x".repeat(TEXT * 2)).len() < TEXT + 100);
    }

    #[test]
    fn used_up_tries_and_kept_texts_read_well() {
        assert_eq!(spent("nothing"), "The agent ended without doing anything.");
        assert_eq!(spent("rework"), "All tries for rework are used up.");
        assert_eq!([kept("a\r\nb"), kept("\nb")], ["a\nb", "\n\nb"]);
    }

    #[test]
    fn lengths_are_read_at_a_glance() {
        let shown = |seconds| length(Duration::from_secs(seconds));
        assert_eq!(
            [shown(5), shown(760), shown(4_920), shown(90_000)],
            ["5 s", "12 m 40 s", "1 h 22 m", "1 d 1 h"]
        );
    }
}
