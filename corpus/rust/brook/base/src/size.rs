//! Sizes such as `64k`.

/// Bytes in `text`: a number, with `k`, `m` or `g` for powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1 << 10),
        'm' | 'M' => (&text[..text.len() - 1], 1 << 20),
        'g' | 'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok().map(|n| n.wrapping_mul(factor))
}

/// The largest unit that divides `bytes`.
pub fn format_size(bytes: u64) -> String {
    for (factor, unit) in [(1u64 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")] {
        if bytes >= factor && bytes % factor == 0 {
            return format!("{}{unit}", bytes / factor);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(parse_size(" 64k "), Some(65_536));
        assert_eq!(parse_size("2M"), Some(2 << 20));
        assert_eq!(parse_size("1g"), Some(1 << 30));
    }

    #[test]
    fn rejects_nonsense() {
        for text in ["", "k", "x", "12q", "-1k"] {
            assert_eq!(parse_size(text), None, "{text:?}");
        }
    }

    #[test]
    fn writes_what_it_reads() {
        for bytes in [0, 1, 1023, 1024, 1536, 1 << 20, 3 << 30] {
            assert_eq!(parse_size(&format_size(bytes)), Some(bytes));
        }
    }
}
