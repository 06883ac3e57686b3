//! Finds the functions of a file and their parameters in its text.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::check::source::{Language, Source};
use crate::pattern::pattern;

/// Maximum number of functions to read in a file, because each may be as long as the file.
const MOST: usize = 500;

/// A function with a body.
pub(crate) struct Function {
    pub(crate) name: String,
    /// Offset of its name.
    pub(crate) at: usize,
    /// Names of its parameters, if they are plain names.
    pub(crate) parameters: Vec<String>,
    pub(crate) body: Range<usize>,
}

/// Returns all functions of a file, in order.
pub(crate) fn functions(language: Language, source: &Source) -> Vec<Function> {
    static PYTHON: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)\("));
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\bfunction\s*\*?\s*(\w+)\s*\(|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?\(|(?m:^)[ \t]+(?:(?:async|static|public|private|get|set)\s+)*(\w+)\(",
        )
    });
    static GO: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^func\s+(?:\([^()]*\)\s*)?(\w+)(?:\[[^\]]*\])?\("));
    static RUST: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bfn\s+(\w+)(?:<[^()]*>)?\s*\("));
    static JAVA: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^[ \t]+(?:[\w<>\[\],.?@]+[ \t]+)+(\w+)\("));
    let head: &Regex = match language {
        Language::Python => &PYTHON,
        Language::Script => &SCRIPT,
        Language::Go => &GO,
        Language::Rust => &RUST,
        Language::Java => &JAVA,
    };
    let mut found = Vec::new();
    for it in head.captures_iter(&source.bare).take(MOST) {
        let (Some(whole), Some(name)) = (it.get(0), it.iter().skip(1).flatten().next()) else { continue };
        let keyword =
            ["if", "for", "while", "switch", "catch", "return", "new", "else", "throw", "super", "await"];
        if keyword.contains(&name.as_str())
            || source
                .bare
                .get(whole.range())
                .is_some_and(|text| text.contains("return ") || text.contains("new "))
        {
            continue;
        }
        let list = source.balanced(whole.end() - 1);
        let Some(body) = body(language, source, list.end) else { continue };
        let inside = source.bare.get(list.start + 1..list.end.saturating_sub(1)).unwrap_or_default();
        found.push(Function {
            name: name.as_str().to_owned(),
            at: name.start(),
            parameters: parameters(language, inside),
            body,
        });
    }
    found
}

fn body(language: Language, source: &Source, from: usize) -> Option<Range<usize>> {
    let bytes = source.bare.as_bytes();
    let mut at = from;
    if language == Language::Python {
        while *bytes.get(at)? != b':' {
            at = if matches!(bytes[at], b'(' | b'[' | b'{') { source.balanced(at).end } else { at + 1 };
        }
        return Some(at + 1..block_end(source, from));
    }
    loop {
        match bytes.get(at)? {
            b'{' => return Some(source.balanced(at)),
            b';' | b'}' | b')' | b',' => return None,
            b'(' | b'[' => at = source.balanced(at).end,
            b'=' if language == Language::Script && bytes.get(at + 1) != Some(&b'>') => return None,
            // An arrow function with an expression body ends with its line.
            b'>' if language == Language::Script && at > 0 && bytes[at - 1] == b'=' => {
                let rest = source.bare.get(at + 1..)?;
                let next = rest.trim_start();
                if next.starts_with('{') {
                    return Some(source.balanced(at + 1 + (rest.len() - next.len())));
                }
                let end = rest.find('\n').map_or(source.bare.len(), |end| at + 1 + end);
                return Some(at + 1..end);
            }
            _ => at += 1,
        }
    }
}

/// Returns the end of the Python block whose head has this offset.
fn block_end(source: &Source, head: usize) -> usize {
    let first = source.line_of(head);
    // The head may have several lines; the first begins with `def`.
    let mut top = first;
    let indent = loop {
        let text = source.bare.get(source.line(top)).unwrap_or_default();
        let trimmed = text.trim_start();
        if trimmed.starts_with("def ") || trimmed.starts_with("async def ") || top <= 1 {
            break text.len() - trimmed.len();
        }
        top -= 1;
    };
    let mut line = first + 1;
    loop {
        let range = source.line(line);
        if range.start >= source.bare.len() {
            return source.bare.len();
        }
        let text = source.bare.get(range.clone()).unwrap_or_default();
        if !text.trim().is_empty() && text.len() - text.trim_start().len() <= indent {
            return range.start;
        }
        line += 1;
    }
}

fn parameters(language: Language, list: &str) -> Vec<String> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\w+$"));
    let mut depth = 0_i32;
    let parts = list.split(move |c| {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    let name = |part: &str| -> Option<String> {
        let part = part.trim();
        let name = match language {
            Language::Python => part.trim_start_matches('*').split([':', '=']).next()?,
            Language::Script => part.trim_start_matches('.').split([':', '=', '?']).next()?,
            Language::Rust => part.split_once(':')?.0.trim().trim_start_matches("mut "),
            Language::Go => part.split_whitespace().next()?,
            Language::Java => part.split_whitespace().last()?,
        };
        let name = name.trim();
        (NAME.is_match(name) && !["self", "cls", "this", "_"].contains(&name)).then(|| name.to_owned())
    };
    parts.filter_map(name).collect()
}
