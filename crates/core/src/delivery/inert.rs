//! Makes foreign text inert, so that a forge does not act on it.
//!
//! Forges parse the text of a pull request: `@name` notifies a person, `fixes #12` closes an issue, a line `/merge`
//! merges, an image tells its host who looks. The text may also become the message of a merge commit, where Markdown's
//! code blocks protect nothing. So this breaks up the *characters*: it inserts a zero-width space after each character
//! that starts such a construct. It is invisible, and no pattern of a forge matches across it. The text reads as
//! before.

use crate::text::reveal;

/// The inserted zero-width space.
pub(super) const BREAK: char = '\u{200b}';

/// Makes foreign text inert, with hidden characters visible. The caller bounds it. Idempotent.
pub fn inert(text: &str) -> String {
    // Remove our own breaks first, or they would be shown as escapes the second time.
    let text: Vec<char> = reveal(&text.replace(BREAK, "")).chars().collect();
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut line = Line::Begins;
    for (at, &c) in text.iter().enumerate() {
        out.push(c);
        let rest = &text[at + 1..];
        if acts(c, &text[..at], rest, line) {
            out.push(BREAK);
        }
        line = line.after(c);
    }
    out
}

/// Makes foreign text inert, as one line.
pub fn inert_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    inert(&words.join(" "))
}

/// The position of a character in its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Preceded only by what Markdown strips: blanks, quote and list markers.
    Begins,
    /// Preceded by text.
    GoesOn,
}

impl Line {
    fn after(self, c: char) -> Self {
        match c {
            '\n' => Self::Begins,
            ' ' | '\t' | '>' | '*' | '-' | '+' | '.' | ')' | '0'..='9' => self,
            _ => Self::GoesOn,
        }
    }
}

/// Returns whether something that a forge acts on could start at `c` or depend on it.
fn acts(c: char, before: &[char], rest: &[char], line: Line) -> bool {
    let next = rest.first().copied();
    match c {
        // A person, a team, everyone; an email address.
        '@' => next.is_some(),
        // An issue, also of another project.
        '#' => next.is_some_and(|next| !next.is_whitespace() && next != '#'),
        // A GitLab merge request, an image.
        '!' => next.is_some_and(|next| next == '[' || next.is_ascii_digit()),
        // A character reference, which becomes its character only later; GitLab epics.
        '&' => next.is_some_and(|next| next == '#' || next.is_ascii_alphanumeric()),
        // Comments, which could be a marker; elements; autolinks.
        '<' => next.is_some_and(|next| !next.is_whitespace()),
        // Links, link definitions, footnotes.
        ']' => matches!(next, Some('(' | ':' | '[')),
        // Task items, footnotes, references such as `[issue:12]`.
        '[' => match next {
            Some('^' | ' ' | 'x' | 'X') => true,
            Some(_) => {
                let name = rest.iter().take_while(|c| c.is_ascii_alphabetic() || **c == '_').count();
                name > 0 && rest.get(name) == Some(&':')
            }
            None => false,
        },
        // Addresses become links, and those of issues can close them.
        ':' => rest.starts_with(&['/', '/']),
        '.' => ends_with_www(before),
        // GitLab's quick actions at the start of a line.
        '/' => line == Line::Begins && next.is_some_and(|next| !next.is_whitespace()),
        // `GH-12`, and keys of other trackers.
        '-' => next.is_some_and(|next| next.is_ascii_digit()) && ends_with_key(before),
        _ => false,
    }
}

fn ends_with_www(before: &[char]) -> bool {
    let last = before.len().saturating_sub(3);
    before[last..].iter().map(char::to_ascii_lowercase).eq("www".chars())
}

/// Returns whether the text before a dash ends like a project key: at least two uppercase letters, digits or `_`, with
/// at least one letter. `gh` counts in any case.
fn ends_with_key(before: &[char]) -> bool {
    let key: Vec<char> =
        before.iter().rev().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').copied().collect();
    let upper = |c: &char| c.is_ascii_uppercase() || c.is_ascii_digit() || *c == '_';
    let gh = key.len() == 2 && key[0].eq_ignore_ascii_case(&'h') && key[1].eq_ignore_ascii_case(&'g');
    gh || (key.len() >= 2 && key.iter().all(upper) && key.iter().any(char::is_ascii_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::Regex;

    /// What forges look for, written independently of the code above.
    const ALIVE: [(&str, &str); 15] = [
        ("mention", r"@[\w-]"),
        ("issue", r"#[0-9]"),
        ("merge request", r"![0-9]"),
        ("image", r"!\["),
        ("key of a tracker", r"\b(?:[Gg][Hh]|[A-Z][A-Z0-9_]+)-[0-9]"),
        ("entity", r"&#?[0-9A-Za-z]"),
        ("element or comment", r"<[A-Za-z/!?]"),
        ("address", r"[A-Za-z]://"),
        ("address without a scheme", r"(?i)www\.\w"),
        ("link", r"\]\("),
        ("link by reference", r"\]\["),
        ("definition", r"\]:"),
        ("command", r"(?m)^[\s>*+-]*/[A-Za-z]"),
        ("typed reference", r"\[[a-z_]+:[0-9]"),
        ("hidden", r"[\u{200c}-\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{ad}\u{feff}\r]"),
    ];

    fn alive(text: &str) -> Option<&'static str> {
        ALIVE.iter().find(|(_, pattern)| Regex::new(pattern).unwrap().is_match(text)).map(|(name, _)| *name)
    }

    #[test]
    fn what_forges_act_on_is_known_to_this_test() {
        for text in [
            "@ada",
            "cc @org/team",
            "a#1",
            "GH-7",
            "gh-7",
            "ABC_D-12",
            "!3",
            "![x](y)",
            "&#64;ada",
            "&commat;ada",
            "<!-- x -->",
            "<img src=x>",
            "https://a",
            "WWW.a",
            "[a](b)",
            "[a][b]",
            "[a]: b",
            "/merge",
            "  > /close",
            "[issue:12]",
            "a\rb",
        ] {
            assert!(alive(text).is_some(), "{text:?}");
            assert_eq!(alive(&inert(text)), None, "{text:?} became {:?}", inert(text));
        }
    }

    #[test]
    fn what_is_harmless_stays_as_it_is() {
        for text in [
            "# Title",
            "C# and F#",
            "a & b < c",
            "x86-64, T-12, half-1",
            "a/b/c: see src/main.rs",
            "1. one\n- two",
        ] {
            assert_eq!(inert(text), text);
        }
    }

    #[test]
    fn to_a_person_it_reads_as_before() {
        let text = "Fixes #12 for @ada, see https://x.org/a?b=c&d=e and ![i](u)\n/merge\n";
        assert_eq!(inert(text).replace(BREAK, ""), text);
    }

    fn pieces() -> impl Strategy<Value = String> {
        let dangerous = prop::sample::select(vec![
            "@", "#", "!", "&", "<", "[", "]", "(", ")", ":", "/", "//", "-", "12", "GH", "gh", "www", ".",
            "closes ", "fixes", "\n", " ", "\t", ">", "*", "\\", "`", "```", "<!--", "-->", "acquit:", "ada",
            "org/x", "\u{200b}", "\u{feff}", "\r\n", "\r", "http", "s://", "issue", "64;", "commat;",
            "/merge", "\u{ff20}", "_", "~~~", "PROJ",
        ]);
        let piece =
            prop_oneof![8 => dangerous.prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_text_has_anything_alive_in_it(text in pieces()) {
            let cleaned = inert(&text);
            prop_assert_eq!(alive(&cleaned), None, "{:?} became {:?}", text, cleaned);
            let line = inert_line(&text);
            prop_assert_eq!(alive(&line), None, "{:?} became {:?}", text, line);
        }

        #[test]
        fn once_is_enough(text in pieces()) {
            let once = inert(&text);
            prop_assert_eq!(inert(&once), once);
        }
    }
}
