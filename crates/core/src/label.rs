//! Labels of workers, which stages can require.

/// Maximum length of a label.
const LABEL_LIMIT: usize = 64;

/// Returns whether a text is a valid label: `gpu`, `os=linux`.
pub fn is_label(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=._-/".contains(c);
    !text.is_empty() && text.len() <= LABEL_LIMIT && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_plain_words() {
        for good in ["gpu", "os=linux", "zone/eu-1", "v1.2_x"] {
            assert!(is_label(good), "{good}");
        }
        for bad in ["", "a b", "a,b", "ü", "a:b", &"x".repeat(65)] {
            assert!(!is_label(bad), "{bad}");
        }
    }
}
