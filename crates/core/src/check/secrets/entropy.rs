//! Estimates whether a machine generated a value or a person wrote it.

/// A long value with fewer bits per character consists of words.
const RANDOM: f64 = 3.5;
/// The limit for passwords, which are short and made by people.
const PASSWORD: f64 = 2.7;
/// Returns whether a value that is assigned to a secret name could be a real secret.
pub(super) fn is_random(value: &str, is_password: bool) -> bool {
    let has = |test: fn(&char) -> bool| value.chars().any(|char| test(&char));
    let letters = has(char::is_ascii_alphabetic);
    let digits = has(char::is_ascii_digit);
    let symbols = value.chars().any(|char| !char.is_ascii_alphanumeric() && !"_-./:".contains(char));
    if is_id(value) || is_path(value) {
        return false;
    }
    if is_password {
        return value.len() >= 8
            && letters
            && (digits || symbols)
            && entropy(value) >= PASSWORD
            && !is_code(value);
    }
    value.len() >= 16
        && !value.starts_with("http")
        && letters
        && digits
        && entropy(value) >= RANDOM.min(limit(value))
        && !is_code(value)
}

/// Returns the limit for a value. Hexadecimal digits have at most four bits.
fn limit(value: &str) -> f64 {
    if value.bytes().all(|byte| byte.is_ascii_hexdigit()) { 3.0 } else { RANDOM }
}

/// Returns whether the value is a UUID, which is a name and not a secret.
fn is_id(value: &str) -> bool {
    let parts: Vec<usize> = value.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_path(value: &str) -> bool {
    let words = value.split(['/', '.']).filter(|word| !word.is_empty());
    let plain = |word: &str| word.chars().all(|char| char.is_ascii_lowercase() || "_-".contains(char));
    value.contains(['/', '.']) && words.clone().count() >= 2 && words.filter(|word| plain(word)).count() >= 2
}

/// Returns whether the value is an expression that reads a secret: `config.get("x")`, `process.env.TOKEN`,
/// `SomeType::new`.
fn is_code(value: &str) -> bool {
    value.contains("::")
        || value.contains('(')
        || value.contains("->")
        || value.contains("env.")
        || value.contains(['\\', '[', '^', '|', '*'])
        || is_name(value)
}

/// Returns whether the value consists of words and possibly a number, joined by punctuation.
fn is_name(value: &str) -> bool {
    let mut parts = value.split(['_', '-', '.']);
    parts.all(|part| {
        !part.is_empty() && (part.chars().all(char::is_alphabetic) || part.parse::<u16>().is_ok())
    })
}

/// Returns the entropy in bits per character.
#[expect(clippy::cast_precision_loss, reason = "counts of characters of a line")]
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_usize; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let all = value.len().max(1) as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = *count as f64 / all;
            -share * share.log2()
        })
        .sum()
}
