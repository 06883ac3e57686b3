//! Text from agents and repositories, made safe to show: no escape sequences, nothing hidden.

pub use acquit_core::context::visible;

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
