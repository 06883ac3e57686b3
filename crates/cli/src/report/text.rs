//! Text from agents and repositories, made safe to show: no escape sequences, nothing hidden.

/// Shows control and hidden characters as escapes. Line breaks and tabs stay.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if acquit_core::context::is_hidden(char) {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
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
