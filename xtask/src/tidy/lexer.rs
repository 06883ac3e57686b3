//! Tells code, string literals and comments of Rust source apart, so that rules about code ignore text.
//!
//! Knows just enough of the language for that: nested comments, raw strings, and that `'a` may be a lifetime.

/// The class of a byte of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Code,
    /// String and character literals, with their quotes.
    Literal,
    Comment,
}

/// Returns a class for each byte of `text`.
pub(super) fn classify(text: &str) -> Vec<Class> {
    let bytes = text.as_bytes();
    let mut classes = Vec::with_capacity(bytes.len());
    while classes.len() < bytes.len() {
        let at = classes.len();
        let (class, length) = next(bytes, at);
        let end = (at + length.max(1)).min(bytes.len());
        classes.resize(end, class);
    }
    classes
}

/// Returns class and length of the token at `at`.
fn next(bytes: &[u8], at: usize) -> (Class, usize) {
    let rest = &bytes[at..];
    let fresh_word = at == 0 || !is_word(bytes[at - 1]);
    if rest.starts_with(b"//") {
        return (Class::Comment, rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()));
    }
    if rest.starts_with(b"/*") {
        return (Class::Comment, block_comment(rest));
    }
    if rest[0] == b'"' {
        return (Class::Literal, string(rest));
    }
    if rest[0] == b'\'' {
        return character(rest).map_or((Class::Code, 1), |length| (Class::Literal, length));
    }
    if fresh_word && let Some(length) = raw_string(rest) {
        return (Class::Literal, length);
    }
    (Class::Code, 1)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns the length of a character literal, unless the quote starts a lifetime or a label.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let close = rest.iter().skip(3).position(|&byte| byte == b'\'')?;
        return Some(close + 4);
    }
    let text = std::str::from_utf8(&rest[1..rest.len().min(6)]).unwrap_or_else(|error| {
        // The window may cut a later character in two; what precedes the cut is valid.
        std::str::from_utf8(&rest[1..=error.valid_up_to()]).unwrap_or_default()
    });
    let first = text.chars().next()?.len_utf8();
    (rest.get(1 + first) == Some(&b'\'')).then_some(first + 2)
}

/// Returns the length of `r"…"` or `r#"…"#`, also with a `b` or `c` prefix.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let after_kind = usize::from(rest[0] == b'b' || rest[0] == b'c');
    if rest.get(after_kind) != Some(&b'r') {
        return None;
    }
    let hashes = rest[after_kind + 1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = after_kind + 1 + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let body = &rest[open + 1..];
    let end = body.windows(close.len()).position(|window| window == close);
    Some(end.map_or(rest.len(), |end| open + 1 + end + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let seen: String = classify(text)
            .into_iter()
            .map(|class| match class {
                Class::Code => 'c',
                Class::Literal => 's',
                Class::Comment => '/',
            })
            .collect();
        assert_eq!(seen, expected, "{text}");
    }

    #[test]
    fn code_literals_and_comments_are_told_apart() {
        check(r#"a("b\"c")d"#, "ccsssssscc");
        check("a // b\nc", "cc////cc");
        check("/* a /* b */ c */d", "/////////////////c");
        check("r#\"a\"b\"#c", "ssssssssc");
        check("br\"a\"c", "sssssc");
        check("bar\"a\"c", "cccsssc");
        check("'a'b", "sssc");
        check(r"'\''b", "ssssc");
        check(r"'\u{1b}'b", "ssssssssc");
        check("&'a str", "ccccccc");
        check("'é'b", "ssssc");
        check("\"open", "sssss");
    }
}
