//! Breaks code on purpose to see which tests notice: slightly wrong results, different texts, numbers and bounds.
//!
//! A blind test passes on broken code, whatever makes it blind: a matcher that accepts everything, an expected output
//! that the test writes itself, a value that the code under test computes. So this module need not know why.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::inline;
use crate::check::source::{Class, Language, Source};
use crate::pattern::pattern;

/// Maximum number of places to break in one file.
const MOST: usize = 2_000;

/// Ways to break code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Functions return slightly wrong values. Not possible in languages whose compiler checks types.
    Results,
    /// Texts get one more character.
    Texts,
    /// Numbers grow by one, and differences become sums.
    Numbers,
    /// Bounds move by one.
    Bounds,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 4] = [Self::Results, Self::Texts, Self::Numbers, Self::Bounds];

    /// Returns the name for file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Results => "results",
            Self::Texts => "texts",
            Self::Numbers => "numbers",
            Self::Bounds => "bounds",
        }
    }

    /// Returns the description.
    pub fn words(self) -> &'static str {
        match self {
            Self::Results => "what functions return is wrong",
            Self::Texts => "the texts in it are wrong",
            Self::Numbers => "the numbers in it are wrong",
            Self::Bounds => "the bounds in it are off by one",
        }
    }
}

pub(super) type Edit = (Range<usize>, String);

/// Breaks a source file in one way, except tests in it. Returns `None` if there is nothing to break.
pub fn broken(path: &str, text: &str, way: Way) -> Option<String> {
    let language = Language::of(path)?;
    let source = Source::new(language, text.to_owned());
    let tests = if language == Language::Rust { inline::test_items(text) } else { Vec::new() };
    let mut edits = match way {
        Way::Results => results(language, path, &source),
        Way::Texts | Way::Numbers | Way::Bounds => values(language, &source, way),
    };
    edits.retain(|(at, _)| !tests.iter().any(|test| test.start < at.end && at.start < test.end));
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    edits.dedup_by(|b, a| b.0.start < a.0.end);
    edits.truncate(MOST);
    if edits.is_empty() {
        return None;
    }
    let mut out = text.to_owned();
    for (at, new) in edits.into_iter().rev() {
        out.replace_range(at, &new);
    }
    Some(out)
}

/// Returns edits that change texts, numbers or bounds, one place each.
pub(super) fn values(language: Language, source: &Source, way: Way) -> Vec<Edit> {
    match way {
        Way::Results => Vec::new(),
        Way::Texts => texts(language, source),
        Way::Numbers => [numbers(source), signs(source)].concat(),
        Way::Bounds => bounds(source),
    }
}

/// Wraps returned values. Each wrapper is inline, because a separate function would have to be declared before all
/// other code.
fn results(language: Language, path: &str, source: &Source) -> Vec<Edit> {
    const PYTHON: &str = "(lambda _v: _v + 1 if type(_v) in (int, float) else _v + '~' if type(_v) is str else _v[:-1] if type(_v) in \
                          (list, tuple) else _v)(";
    const SCRIPT: &str = "((_v) => typeof _v === 'number' ? _v + 1 : typeof _v === 'string' ? _v + '~' : Array.isArray(_v) ? _v.slice(0, \
                          -1) : _v)(";
    const TYPED: &str = "((_v: any): any => typeof _v === 'number' ? _v + 1 : typeof _v === 'string' ? _v + '~' : Array.isArray(_v) ? \
                         _v.slice(0, -1) : _v)(";
    static RETURN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\breturn[ \t]+"));
    let typed = path.rsplit('.').next().is_some_and(|end| matches!(end, "ts" | "tsx" | "mts" | "cts"));
    let open = match language {
        Language::Python => PYTHON,
        Language::Script if typed => TYPED,
        Language::Script => SCRIPT,
        Language::Rust | Language::Go | Language::Java => return Vec::new(),
    };
    let mut edits = Vec::new();
    for found in RETURN.find_iter(&source.bare).take(MOST) {
        let start = found.end();
        let Some(end) = expression_end(language, source, start) else { continue };
        let expression = source.bare.get(start..end).unwrap_or_default();
        // A pair without brackets is not a single argument.
        if end <= start || expression.trim().is_empty() || has_comma(source, start..end) {
            continue;
        }
        edits.push((start..start, open.to_owned()));
        edits.push((end..end, ")".to_owned()));
    }
    edits
}

fn has_comma(source: &Source, range: Range<usize>) -> bool {
    let mut at = range.start;
    while at < range.end {
        match source.bare.as_bytes().get(at) {
            Some(b'(' | b'[' | b'{') => at = source.balanced(at).end,
            Some(b',') => return true,
            Some(_) => at += 1,
            None => return false,
        }
    }
    false
}

/// Returns the end of the expression that starts here; `None` if it is unclear.
pub(super) fn expression_end(language: Language, source: &Source, start: usize) -> Option<usize> {
    let bytes = source.bare.as_bytes();
    let mut at = start;
    loop {
        match bytes.get(at) {
            Some(b'(' | b'[' | b'{') => at = source.balanced(at).end,
            Some(b';' | b'}' | b')') if language == Language::Script => break,
            Some(b'\n') => {
                let before = source.bare.get(start..at)?.trim_end();
                let next = source.bare.get(at..)?.trim_start();
                let goes_on = match language {
                    Language::Python => before.ends_with('\\'),
                    _ => {
                        before.ends_with(['+', '-', '*', '/', '&', '|', '=', '?', ':', ',', '>', '<', '`'])
                            || next.starts_with(['.', '+', '-', '*', '/', '&', '|', '=', '?', ':', ',', '`'])
                    }
                };
                if goes_on {
                    return None;
                }
                break;
            }
            None => break,
            Some(_) => at += 1,
        }
    }
    // Multi-line texts and comments after the expression are blank here.
    let text = source.text.get(start..at)?;
    if text.contains('\n') && text.contains(['`']) {
        return None;
    }
    let code = |at: &usize| source.class(*at) != Class::Comment;
    let end = (start..at).rev().find(|at| code(at) && !source.text.as_bytes()[*at].is_ascii_whitespace())?;
    Some(end + 1)
}

/// Changes texts for readers: those with blanks or placeholders, and those in lines that return, raise or write
/// something.
fn texts(language: Language, source: &Source) -> Vec<Edit> {
    static SHOWN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(return|yield|raise|throw|panic!?|err|errors?\.new|\w*error|\w*exception|errorf|sprintf|fprint\w*|print\w*|format!?|write\w*!?|push\w*|append|join|expect|unwrap_or\w*)\b|=>|\+",
        )
    });
    static HIDDEN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)^\s*(import|from|use|package|#!?\[|extern|export \* from|@)|\brequire\(|regex|re\.(compile|match|search|sub|split|fullmatch)|\bopen\(|encoding|getattr|setattr|\binclude|\benv\b|environ|\bcfg\b|__name__|__all__|\bmode\b|typeof|instanceof|strptime|strftime|DateTimeFormatter",
        )
    });
    let bytes = source.text.as_bytes();
    let mut edits = Vec::new();
    let mut at = 0;
    while at < bytes.len() && edits.len() < MOST {
        if source.class(at) != Class::Text {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && source.class(at) == Class::Text {
            at += 1;
        }
        let quote = start.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let single = quote == b'\'' && !matches!(language, Language::Python | Language::Script);
        let raw = quote == b'`' && language == Language::Go;
        let regular = quote == b'/';
        let line = source.line_text(source.line_of(start));
        let Some(text) = source.text.get(start..at) else { continue };
        let telling = text.contains([' ', '{', '%', '$']) || SHOWN.is_match(line);
        let letters = text.chars().any(|c| !c.is_whitespace());
        if !single && !raw && !regular && letters && telling && !HIDDEN.is_match(line) {
            edits.push((start..start, "~".to_owned()));
        }
    }
    edits
}

/// Increases numbers from two on by one. Zero and one are in every loop.
fn numbers(source: &Source) -> Vec<Edit> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(^|[^\w.#\x22'])([2-9]|[1-9]\d{1,5})(\.\d+)?($|[^\w.\x22'])"));
    let mut edits = Vec::new();
    let mut at = 0;
    while let Some(found) = NUMBER.captures_at(&source.bare, at) {
        let Some(number) = found.get(2) else { break };
        at = number.end();
        let Ok(value) = number.as_str().parse::<u32>() else { continue };
        let edge = [127, 255, 32_767, 65_535].contains(&value);
        let line = source.bare.get(source.line(source.line_of(number.start()))).unwrap_or_default();
        // The size of an array is part of its type.
        let sized = line.contains("; ") && line.contains('[') && source.bare.contains("fn ");
        if source.class(number.start()) == Class::Code && !edge && !sized && edits.len() < MOST {
            edits.push((number.range(), (value + 1).to_string()));
        }
    }
    edits
}

/// Turns differences and products into sums.
fn signs(source: &Source) -> Vec<Edit> {
    static SIGN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w)\]] ([-*]) [\w(]"));
    operators(source, &SIGN, |_| "+")
}

/// Moves the bound of comparisons by one, except in loop heads.
fn bounds(source: &Source) -> Vec<Edit> {
    static BOUND: LazyLock<Regex> = LazyLock::new(|| pattern(r"[\w)\]] (<=?|>=?) [\w(\-]"));
    operators(source, &BOUND, |sign| match sign {
        "<" => "<=",
        "<=" => "<",
        ">" => ">=",
        _ => ">",
    })
}

fn operators(source: &Source, form: &Regex, other: impl Fn(&str) -> &'static str) -> Vec<Edit> {
    static LOOP: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\s*(\}\s*)?(for|while|loop|do)\b|\bwhile\b"));
    let mut edits = Vec::new();
    let mut at = 0;
    while let Some(found) = form.captures_at(&source.bare, at).and_then(|found| found.get(1)) {
        at = found.end();
        let line = source.bare.get(source.line(source.line_of(found.start()))).unwrap_or_default();
        if !LOOP.is_match(line) && edits.len() < MOST {
            edits.push((found.range(), other(found.as_str()).to_owned()));
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_returned_is_off_by_a_little() {
        let python = broken(
            "a.py",
            "def f(a):\n    return a * (1 +\n        2)  # why\n\ndef g():\n    return 1, 2\n",
            Way::Results,
        );
        let python = python.expect("broken");
        assert!(python.contains("else _v)(a * (1 +\n        2))  # why"), "{python}");
        assert!(python.contains("return 1, 2"), "{python}");
        let script = broken(
            "a.ts",
            "function f() {\n  return { a: [1] };\n}\nconst g = () => { return x }\n",
            Way::Results,
        );
        let script = script.expect("broken");
        assert!(script.contains("({ a: [1] });"), "{script}");
        assert!(script.contains("(x) }"), "{script}");
        assert_eq!(broken("a.js", "function f() {\n  return a\n    .map(b);\n}\n", Way::Results), None);
        assert_eq!(broken("a.go", "func f() int { return 1 }\n", Way::Results), None);
    }

    #[test]
    fn texts_numbers_and_bounds_are_others() {
        let go = "import \"a b\"\n\nfunc f() string {\n\tif n > 3 && c == 'x' {\n\t\treturn \"too many\"\n\t}\n\treturn `raw`\n}\n";
        assert_eq!(broken("a.go", go, Way::Texts), Some(go.replace("too many", "~too many")));
        assert_eq!(broken("a.go", go, Way::Numbers), Some(go.replace("> 3", "> 4")));
        assert_eq!(broken("a.go", go, Way::Bounds), Some(go.replace("> 3", ">= 3")));
        let sums = "int f(int a) { return a - b * 10; }\n";
        assert_eq!(
            broken("A.java", sums, Way::Numbers),
            Some("int f(int a) { return a + b + 11; }\n".to_owned())
        );
        assert_eq!(broken("a.py", "for i in range(10):\n    pass\n", Way::Bounds), None);
    }

    #[test]
    fn tests_inside_of_a_file_are_left_alone() {
        let rust = "fn f(n: u32) -> u32 {\n    n * 60\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() {\n        assert_eq!(f(2), 120);\n    }\n}\n";
        assert_eq!(broken("src/a.rs", rust, Way::Numbers), Some(rust.replace("n * 60", "n + 61")));
    }
}
