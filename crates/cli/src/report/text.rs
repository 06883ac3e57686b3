//! Text from agents and repositories, made safe to show: no escape sequences, nothing hidden.

pub use acquit_core::context::visible;

/// A line of our own within a width.
pub fn line_from(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A text in lines of at most `width`, broken between words; a word that is longer stays whole. Every line but the first is indented.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        let own = paragraph.len() - paragraph.trim_start().len();
        let mut line = " ".repeat(own);
        let mut begun = false;
        for word in paragraph.split_whitespace() {
            if begun && line.chars().count() + 1 + word.chars().count() + indent > width {
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

/// The first line, visible, at most `width` characters.
pub fn line(text: &str, width: usize) -> String {
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
    #[test]
    fn words_stay_whole() {
        assert_eq!(super::wrap("one two three", 8, 0), "one two\nthree");
        assert_eq!(super::wrap("one two three", 9, 2), "one two\n  three");
        assert_eq!(super::wrap("incomprehensibilities a", 8, 0), "incomprehensibilities\na");
        assert_eq!(super::wrap("a\n\n[b]\n  c d", 40, 0), "a\n\n[b]\n  c d");
    }
}
