//! Words of a text.

/// How many words there are.
pub fn count(text: &str) -> usize {
    text.trim().split(' ').count()
}

/// Cuts a text at so many bytes and adds dots.
pub fn truncate(text: &str, max: usize) -> String {
    if text.len() <= max {
        text.to_string()
    } else {
        format!("{}...", &text[..max])
    }
}

/// `some words` as `SomeWords`.
pub fn camel(text: &str) -> String {
    text.split_whitespace()
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        })
        .collect()
}

/// The most frequent words, most frequent first, then by name.
pub fn frequent(text: &str, max: usize) -> Vec<(String, usize)> {
    let mut counts = std::collections::HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    all.truncate(max);
    all
}
