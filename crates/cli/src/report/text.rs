//! Makes text of agents and repositories safe to print: no escape sequences, nothing hidden.

pub use acquit_core::prompt::{first_line as line, visible};

/// Cuts a trusted line to a width.
pub fn line_from(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Formats a number of things.
pub fn count(number: impl std::fmt::Display, thing: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {thing}{ending}")
}

/// Returns the columns a text takes, not counting colour codes.
pub fn shown_width(text: &str) -> usize {
    let mut colour = false;
    let takes = |char: &char| {
        let counts = !colour && *char != '\u{1b}';
        colour = if colour { *char != 'm' } else { *char == '\u{1b}' };
        counts
    };
    text.chars().filter(takes).count()
}

/// Wraps a text at `width` between words; longer words stay whole. Indents every line but the first.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        // A colour code may precede the indentation.
        let coloured = paragraph.strip_prefix('\u{1b}').and_then(|rest| rest.split_once('m'));
        let (colour, words) =
            coloured.map_or((String::new(), paragraph), |(code, rest)| (format!("\u{1b}{code}m"), rest));
        let own = words.len() - words.trim_start().len();
        let mut line = format!("{colour}{}", " ".repeat(own));
        let mut begun = false;
        for word in words.split_whitespace() {
            if begun && shown_width(&line) + 1 + shown_width(word) + indent > width {
                lines.push(std::mem::replace(&mut line, " ".repeat(own)));
                begun = false;
            }
            if begun {
                line.push(' ');
            }
            line.push_str(word);
            begun = true;
        }
        lines.push(line);
    }
    lines.join(&format!("\n{pad}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_stay_whole() {
        assert_eq!(super::wrap("one two three", 8, 0), "one two\nthree");
        assert_eq!(
            super::wrap("\u{1b}[31mone\u{1b}[0m two", 7, 0),
            "\u{1b}[31mone\u{1b}[0m two",
            "colours take no room"
        );
        assert_eq!(super::wrap("one two three", 9, 2), "one two\n  three");
        assert_eq!(super::wrap("incomprehensibilities a", 8, 0), "incomprehensibilities\na");
        assert_eq!(super::wrap("a\n\n[b]\n  c d", 40, 0), "a\n\n[b]\n  c d");
    }
}
