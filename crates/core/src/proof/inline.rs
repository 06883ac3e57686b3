//! Tests in Rust source files: separates the items below `#[cfg(test)]` or `#[test]` from the rest, so that the tests
//! of the new file can be added to the code of the old one.

use std::ops::Range;

/// Returns the old code with the new tests; `None` if the tests are the same.
pub fn graft(old: &str, new: &str) -> Option<String> {
    let (old_items, new_items) = (test_items(old), test_items(new));
    let texts = |text: &str, items: &[Range<usize>]| -> String {
        items.iter().map(|item| text[item.clone()].trim()).collect::<Vec<_>>().join("\n\n")
    };
    let tests = texts(new, &new_items);
    if tests == texts(old, &old_items) {
        return None;
    }
    let place = old_items.first().map_or(old.len(), |item| item.start);
    let mut out = String::with_capacity(old.len() + tests.len());
    let mut at = 0;
    for item in &old_items {
        out.push_str(&old[at..item.start]);
        if item.start == place {
            out.push_str(&tests);
        }
        at = item.end;
    }
    out.push_str(&old[at..]);
    if old_items.is_empty() {
        out.push_str("\n\n");
        out.push_str(&tests);
        out.push('\n');
    }
    Some(out)
}

/// Returns only the code.
pub fn without_tests(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for item in test_items(text) {
        out.push_str(&text[at..item.start]);
        at = item.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Returns whether a file contains tests.
pub fn has_tests(text: &str) -> bool {
    !test_items(text).is_empty()
}

/// Returns the ranges of items that are compiled only for tests.
pub fn test_items(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut items = Vec::new();
    let (mut at, mut depth) = (0, 0_usize);
    // Start of the current item's attributes, and whether one of them is for tests.
    let mut begun: Option<usize> = None;
    let mut is_test = false;
    while at < bytes.len() {
        let next = skip(bytes, at);
        if next > at {
            at = next;
            continue;
        }
        match bytes[at] {
            b'#' if depth == 0 => {
                let end = attribute_end(bytes, at);
                let inner = bytes.get(at + 1) == Some(&b'!');
                if !inner {
                    begun.get_or_insert(at);
                    is_test |= is_for_tests(&text[at..end]);
                }
                at = end;
                continue;
            }
            b'{' => depth += 1,
            b'}' | b';' => {
                if bytes[at] == b'}' {
                    depth = depth.saturating_sub(1);
                }
                if depth == 0 {
                    if let (Some(start), true) = (begun, is_test) {
                        items.push(start..at + 1);
                    }
                    (begun, is_test) = (None, false);
                }
            }
            _ => {}
        }
        at += 1;
    }
    items
}

/// Returns the offset after a comment or literal that starts here, else the same offset.
fn skip(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let find = |from: usize, what: &[u8]| {
        rest[from..]
            .windows(what.len())
            .position(|it| it == what)
            .map_or(rest.len(), |it| from + it + what.len())
    };
    if rest.starts_with(b"//") {
        return at + find(2, b"\n");
    }
    if rest.starts_with(b"/*") {
        return at + block_comment(rest);
    }
    let word_before = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    if rest[0] == b'r' && !word_before || rest.starts_with(b"br") || rest.starts_with(b"cr") {
        let from = if rest[0] == b'r' { 1 } else { 2 };
        let hashes = rest[from..].iter().take_while(|byte| **byte == b'#').count();
        if rest.get(from + hashes) == Some(&b'"') {
            let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
            return at + find(from + hashes + 1, &end);
        }
    }
    match rest[0] {
        b'"' => at + quoted(rest, b'"'),
        // A character literal or a lifetime.
        b'\'' if rest.get(1) == Some(&b'\\') => at + quoted(rest, b'\''),
        b'\'' => {
            let longest = 6; // A quote, a character of four bytes, a quote.
            let closing = rest.iter().take(longest).skip(2).position(|byte| *byte == b'\'');
            let word = rest.get(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            match closing {
                Some(0) => at + 3,
                Some(more) if !word => at + 3 + more,
                Some(_) | None => at,
            }
        }
        _ => at,
    }
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns the length of a block comment. These can be nested.
fn block_comment(rest: &[u8]) -> usize {
    let (mut at, mut depth) = (2, 1_usize);
    while at < rest.len() && depth > 0 {
        if rest[at..].starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if rest[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
        } else {
            at += 1;
        }
    }
    at.min(rest.len())
}

fn attribute_end(bytes: &[u8], at: usize) -> usize {
    let (mut end, mut depth) = (at + 1, 0_usize);
    while end < bytes.len() {
        let next = skip(bytes, end);
        if next > end {
            end = next;
            continue;
        }
        match bytes[end] {
            b'[' => depth += 1,
            b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return end + 1;
                }
            }
            _ => {}
        }
        end += 1;
    }
    bytes.len()
}

/// Returns whether an attribute makes an item test-only: `#[cfg(test)]`, or `#[test]` itself, which needs no
/// `cfg(test)` around it. `#[tokio::test]` and others of that name count too.
fn is_for_tests(attribute: &str) -> bool {
    const NAMES: [&str; 5] = ["test", "rstest", "test_case", "bench", "wasm_bindgen_test"];
    let plain: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    let path = plain.trim_start_matches("#[").split(['(', ']', '=']).next().unwrap_or_default();
    NAMES.contains(&path.rsplit("::").next().unwrap_or_default())
        || plain == "#[cfg(test)]"
        || plain.starts_with("#[cfg(all(test,")
        || plain.starts_with("#[cfg(any(test,")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str =
        "fn a() -> u8 { 1 }\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn old() {}\n}\n\nfn z() {}\n";

    #[test]
    fn the_new_tests_stand_on_the_old_code() {
        let new = "fn a() -> u8 { 2 }\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn new() { let s = \"}\"; }\n}\n";
        let out = graft(OLD, new).unwrap();
        assert!(
            out.contains("fn a() -> u8 { 1 }") && out.contains("fn z()") && out.contains("fn new()"),
            "{out}"
        );
        assert!(!out.contains("fn old()") && !out.contains("{ 2 }"), "{out}");
        let first = graft("fn a() {}\n", new).unwrap();
        assert!(first.starts_with("fn a() {}") && first.contains("fn new()"), "{first}");
        assert_eq!(graft(OLD, &OLD.replace("{ 1 }", "{ 3 }")), None);
    }

    #[test]
    fn braces_in_literals_and_comments_are_none() {
        let code = "fn f<'a>(x: &'a str) -> char { /* { /* { */ */ let _ = ('{', '\\'', '\\u{7b}', b'}', 'ä'); // }\n\
                    let _ = (\"}\\\"\", r#\"\"}\"#, br\"{\"); 'x: loop { break 'x } '}' }\n\
                    #[doc = \"]\"] #[cfg( all(test, unix) )] pub mod t { }\n#[cfg(test)] mod u;\n#[cfg(not(test))] fn g() {}\n";
        let items: Vec<&str> = test_items(code).into_iter().map(|item| &code[item]).collect();
        assert_eq!(items, ["#[doc = \"]\"] #[cfg( all(test, unix) )] pub mod t { }", "#[cfg(test)] mod u;"]);
    }

    #[test]
    fn tests_need_no_module_around_them() {
        let old = "fn a() -> u8 { 1 }\n#[test]\nfn t() { assert_eq!(a(), 1); }\n";
        let new = "fn a() -> u8 { 2 }\n#[tokio::test(flavor = \"multi_thread\")]\nasync fn t() { assert!(a() > 0); }\n";
        assert_eq!(without_tests(new).trim(), "fn a() -> u8 { 2 }");
        let out = graft(old, new).unwrap();
        assert!(out.contains("{ 1 }") && out.contains("a() > 0") && !out.contains("assert_eq"), "{out}");
        assert!(!has_tests(
            "#[must_use]\nfn test() {}\n#[doc(test(attr(allow(x))))]\nmod m {}\n#[inline] fn f() {}\n"
        ));
    }

    #[test]
    fn no_text_breaks_the_scanner() {
        for text in [
            "#",
            "#[",
            "#[cfg(test)]",
            "'",
            "'\\",
            "\"",
            "r#\"",
            "/*",
            "}}}",
            "#[cfg(test)] mod a {",
            "é'é'",
            "'é",
        ] {
            let items = test_items(text);
            assert!(items.iter().all(|item| text.get(item.clone()).is_some()), "{text}");
            graft(text, OLD);
            graft(OLD, text);
        }
    }
}
