//! Prepares untrusted text for a prompt: bounded, without hidden characters, and in a fence that it cannot close. The
//! prompt can then tell the agent what is data.

/// Minimum fence length. Markdown needs three; one more stands out among the code blocks in such texts.
const FENCE_MIN: usize = 4;
const FENCE: char = '~';

/// Wraps a text in a labelled fence, truncated to `limit` bytes with a visible note.
pub(crate) fn fenced(label: &str, text: &str, limit: usize) -> String {
    let shown = shown(text, limit);
    let fence: String = std::iter::repeat_n(FENCE, FENCE_MIN.max(longest_run(&shown) + 1)).collect();
    let end = if shown.ends_with('\n') { "" } else { "\n" };
    format!("{fence} {label}\n{shown}{end}{fence}\n")
}

/// Returns a bounded text without a fence and without hidden characters.
pub(crate) fn shown(text: &str, limit: usize) -> String {
    reveal(&cut(text, limit))
}

/// Returns a text as one bounded line without hidden characters.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    reveal(&crate::agent::shorten(&words.join(" "), limit))
}

/// Quotes untrusted text for use within a line. The text cannot close the quotes.
pub(crate) fn quoted(text: &str, limit: usize) -> String {
    format!("`{}`", line(text, limit).replace('`', "'"))
}

/// Truncates a text to `limit` bytes and notes the cut. Keeps the beginning, which shows the subject of the text.
fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(limit);
    format!("{}\n[cut here by acquit: {} more bytes]", &text[..end], text.len() - end)
}

/// Makes hidden characters visible: those that change text direction, have no width or control a terminal become
/// escapes such as `\u{202e}`. Newlines and tabs stay; CRLF becomes LF.
pub(crate) fn reveal(text: &str) -> String {
    visible(&text.replace("\r\n", "\n"))
}

/// Makes hidden characters visible without changing line endings, for text that is shown as is or stored in the
/// history.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Characters, in addition to control characters, that can hide a message from a reader.
const HIDDEN: [std::ops::RangeInclusive<char>; 17] = [
    // Soft hyphen, combining grapheme joiner, Arabic letter mark.
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    // Hangul and Khmer fillers, Mongolian separators.
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{3164}'..='\u{3164}',
    '\u{ffa0}'..='\u{ffa0}',
    // Zero-width and directional marks.
    '\u{200b}'..='\u{200f}',
    // Line and paragraph separators, directional embeddings and overrides.
    '\u{2028}'..='\u{202e}',
    // Invisible operators, isolates, deprecated controls.
    '\u{2060}'..='\u{206f}',
    // Variation selectors, which can encode bytes. They include the emoji selector; showing it does no harm.
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{fff0}'..='\u{fffb}',
    // Format controls for shorthand and musical notation.
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    // Tags, and the variation selectors supplement.
    '\u{e0000}'..='\u{e0fff}',
];

/// Returns whether a character is invisible or controls a terminal. Newlines and tabs are not hidden.
pub fn is_hidden(c: char) -> bool {
    let plain = matches!(c, '\n' | '\t');
    !plain && (c.is_control() || HIDDEN.iter().any(|range| range.contains(&c)))
}

/// Returns the length of the longest run of the fence character.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != FENCE).map(str::len).max().unwrap_or(0)
}

/// Returns the first line with hidden characters made visible, at most `width` characters.
pub fn first_line(text: &str, width: usize) -> String {
    let first = text.trim().lines().next().unwrap_or_default();
    let shown = visible(first).replace('\t', " ");
    if shown.chars().count() <= width {
        return shown;
    }
    let mut cut: String = shown.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_close_its_fence() {
        let text = fenced("x", "a\n~~~~~~\nb", 100);
        assert_eq!(text, "~~~~~~~ x\na\n~~~~~~\nb\n~~~~~~~\n");
    }

    #[test]
    fn hidden_characters_are_shown_and_letters_stay() {
        assert_eq!(
            reveal("a\u{202e}b\u{200b}\u{e0041}\u{1b}[0m\r\n\tä🦀"),
            "a\\u{202e}b\\u{200b}\\u{e0041}\\u{1b}[0m\n\tä🦀"
        );
        assert_eq!(reveal("a\rb\0"), "a\\u{d}b\\u{0}");
    }

    #[test]
    fn nothing_that_carries_words_unseen_passes() {
        let tags = '\u{e0000}'..='\u{e007f}';
        let bidi = ('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}')
            .chain(['\u{200e}', '\u{200f}', '\u{61c}']);
        let zero = ('\u{2060}'..='\u{206f}')
            .chain(['\u{feff}', '\u{180e}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{ad}']);
        let selectors = ('\u{fe00}'..='\u{fe0f}').chain('\u{e0100}'..='\u{e01ef}');
        for c in tags.chain(bidi).chain(zero).chain(selectors) {
            assert_eq!(reveal(&format!("a{c}{c}b")), format!("a{0}{0}b", c.escape_unicode()));
        }
    }

    #[test]
    fn a_cut_is_made_between_characters_and_said() {
        assert_eq!(cut("äää", 3), "ä\n[cut here by acquit: 4 more bytes]");
        assert_eq!(cut("äää", 6), "äää");
    }

    #[test]
    fn a_quoted_text_stays_in_its_line_and_quotes() {
        assert_eq!(quoted("a`\n# b\r\n", 100), "`a' # b`");
    }
}
