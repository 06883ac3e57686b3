//! Wrong results: values of the same type that differ from the right ones.
//!
//! Some values have no neighbour, such as an empty list or an object of the project. Then the broken code fails as
//! visibly as it can, so that every test which reaches it notices. Nothing is concluded about results that cannot be
//! broken quietly.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Edit, expression_end};
use crate::check::source::{Language, Source};
use crate::pattern::pattern;

/// How wrong a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    /// Next to the right one: `3` becomes `4`.
    Little,
    /// Different, and always the same, so that tests which only compare such values with each other notice too. A
    /// record loses one name and has the others in another order.
    Whole,
    /// Booleans are always this value. Other values stay as they are.
    Always(bool),
    /// The hash differs for each value, even for equal ones.
    OwnHash,
}

/// For every value of Python. A value without a neighbour becomes `None`.
const PYTHON: &str = "(lambda _f, _v: _f(_f, _v))(lambda _f, _v: not _v if type(_v) is bool else _v + 1 if hasattr(_v, \
                      'as_integer_ratio') else _v + '~' if type(_v) is str else _v + b'~' if type(_v) is bytes else _v + _v.resolution if \
                      hasattr(_v, 'resolution') else _v[:-1] if type(_v) in (list, tuple) and _v else {_k: _f(_f, _w) for _k, _w in \
                      _v.items()} if type(_v) is dict and _v else 1 if _v is None else None, (";
const PYTHON_WHOLE: &str = "(lambda _f, _v: _f(_f, _v))(lambda _f, _v: not _v if type(_v) is bool else -987654321 if type(_v) is int else \
                            float('nan') if type(_v) is float else type(_v)(-987654321) if hasattr(_v, 'as_integer_ratio') else '~\\n' if \
                            type(_v) is str else b'~\\n' if type(_v) is bytes else type(_v).min if hasattr(_v, 'resolution') else \
                            type(_v)([_f(_f, _w) for _w in _v]) if type(_v) in (list, tuple) and _v else {_k: _f(_f, _w) for _k, _w in \
                            list(_v.items())[:0:-1]} if type(_v) is dict and _v else 1 if _v is None else None, (";

/// The same for JavaScript; `{any}` is TypeScript's type.
const SCRIPT: &str = "(function _o(_v{any}, _d{any} = 0){any} { switch (typeof _v) { case 'boolean': return !_v; case 'number': return _v + \
                      1; case 'bigint': return _v + 1n; case 'string': return _v + '~'; } if (_v == null) return 1; if (typeof _v.then === \
                      'function') return _v.then((_w{any}) => _o(_w)); if (Array.isArray(_v) && _v.length) return _v.slice(0, -1); if (_v \
                      instanceof Date) return new Date(+_v + 86400000); if (_v.constructor === Object && _d < 3 && Object.keys(_v).length) \
                      return Object.fromEntries(Object.entries(_v).map(([_k, _w]{any}) => [_k, _o(_w, _d + 1)])); return undefined; })(";
const SCRIPT_WHOLE: &str = "(function _o(_v{any}, _d{any} = 0){any} { switch (typeof _v) { case 'boolean': return !_v; case 'number': return \
                            NaN; case 'bigint': return -987654321n; case 'string': return '~\\n'; } if (_v == null) return 1; if (typeof \
                            _v.then === 'function') return _v.then((_w{any}) => _o(_w)); if (Array.isArray(_v) && _v.length && _d < 3) \
                            return _v.map((_w{any}) => _o(_w, _d + 1)); if (_v instanceof Date) return new Date(0); if (_v.constructor === \
                            Object && _d < 3 && Object.keys(_v).length) return Object.fromEntries(Object.entries(_v).slice(1).reverse().map(([_k, \
                            _w]{any}) => [_k, _o(_w, _d + 1)])); return undefined; })(";

const ALWAYS: &str = "(function _o(_v{any}){any} { return typeof _v === 'boolean' ? {is} : _v && typeof _v.then === 'function' ? \
                      _v.then(_o) : _v; })(";

/// Returns the text to put before and after a value.
fn around(language: Language, path: &str, off: Off) -> (String, &'static str) {
    let typed = path.rsplit('.').next().is_some_and(|end| matches!(end, "ts" | "tsx" | "mts" | "cts"));
    let any = if typed { ": any" } else { "" };
    match (language, off) {
        (Language::Python, Off::Little) => (PYTHON.to_owned(), "))"),
        (Language::Python, Off::Whole) => (PYTHON_WHOLE.to_owned(), "))"),
        (Language::Python, Off::Always(is)) => {
            let is = if is { "True" } else { "False" };
            (format!("(lambda _v: {is} if type(_v) is bool else _v)(("), "))")
        }
        (Language::Python, Off::OwnHash) => ("(lambda _v: id(self))((".to_owned(), "))"),
        (_, Off::Little) => (SCRIPT.replace("{any}", any), ")"),
        (_, Off::Whole) => (SCRIPT_WHOLE.replace("{any}", any), ")"),
        (_, Off::Always(is)) => (ALWAYS.replace("{any}", any).replace("{is}", &is.to_string()), ")"),
        (_, Off::OwnHash) => (String::new(), ""),
    }
}

/// Replaces returned values on these lines by wrong ones.
pub(super) fn results(
    language: Language,
    path: &str,
    source: &Source,
    lines: &BTreeSet<u32>,
    off: Off,
) -> Vec<Edit> {
    match language {
        Language::Python => wrapped(language, source, lines, &around(language, path, off)),
        Language::Script => {
            let around = around(language, path, off);
            let mut edits = wrapped(language, source, lines, &around);
            edits.extend(arrows(source, lines, &around));
            edits
        }
        Language::Java => java(source, lines, off),
        Language::Rust | Language::Go => bodies(language, source, lines, off),
    }
}

/// Replaces values of object fields on these lines by wrong ones. Not for compiled languages, where their type is
/// unknown.
pub(super) fn fields(language: Language, path: &str, source: &Source, lines: &BTreeSet<u32>) -> Vec<Edit> {
    static FIELD: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?m)^[ \t]*(?:self|this)\.[\w.]+(?:\[[^\]\n]*\])?[ \t]*=[ \t]*"));
    if !matches!(language, Language::Python | Language::Script) {
        return Vec::new();
    }
    let (open, close) = around(language, path, Off::Whole);
    let mut edits = Vec::new();
    for found in FIELD.find_iter(&source.bare).filter(|it| lines.contains(&source.line_of(it.end()))) {
        let start = found.end();
        if source.bare.as_bytes().get(start).is_none_or(|byte| b"=>\n".contains(byte)) {
            continue;
        }
        if let Some(end) = expression_end(language, source, start).filter(|end| *end > start) {
            edits.push((start..start, open.clone()));
            edits.push((end..end, close.to_owned()));
        }
    }
    edits
}

/// Wraps returned or yielded values in a function call.
fn wrapped(
    language: Language,
    source: &Source,
    changed: &BTreeSet<u32>,
    (open, close): &(String, &str),
) -> Vec<Edit> {
    static RETURN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(return|yield)[ \t]+"));
    let mut edits = Vec::new();
    for found in RETURN.captures_iter(&source.bare) {
        let (Some(whole), Some(word)) = (found.get(0), found.get(1)) else { continue };
        let start = whole.end();
        let line = source.line_of(start);
        let Some(end) = expression_end(language, source, start) else { continue };
        let is_changed = (line..=source.line_of(end)).any(|line| changed.contains(&line));
        let head = source.text.get(source.line(line)).unwrap_or_default().trim_start();
        let text = source.bare.get(start..end).unwrap_or_default().trim_start();
        let begins =
            head.starts_with(word.as_str()) || language == Language::Script || head.contains(": return");
        if !is_changed || end <= start || !begins || text.starts_with("from ") || text.starts_with('*') {
            continue;
        }
        edits.push((start..start, open.clone()));
        edits.push((end..end, (*close).to_owned()));
    }
    edits
}

/// Wraps results of arrow functions without a block in a function call.
fn arrows(source: &Source, changed: &BTreeSet<u32>, (open, close): &(String, &str)) -> Vec<Edit> {
    static ARROW: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?m)^[ \t]*(?:export\s+)?(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:\([^()\n]*\)|\w+)\s*=>[ \t]*",
        )
    });
    let mut edits = Vec::new();
    for found in ARROW.find_iter(&source.bare) {
        let start = found.end();
        let next = source.bare.as_bytes().get(start);
        if next.is_none_or(|byte| b"{\n".contains(byte)) || !changed.contains(&source.line_of(start)) {
            continue;
        }
        if let Some(end) = expression_end(Language::Script, source, start).filter(|end| *end > start) {
            edits.push((start..start, open.clone()));
            edits.push((end..end, (*close).to_owned()));
        }
    }
    edits
}

/// Replaces results of Java methods, by the type in their head.
fn java(source: &Source, changed: &BTreeSet<u32>, off: Off) -> Vec<Edit> {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(boolean|int|long|double|float|String)\s+\w+\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?:throws\s+[\w.,\s]+)?\{",
        )
    });
    static RETURN: LazyLock<Regex> = LazyLock::new(|| pattern(r"\breturn\s+([^;{}]+);"));
    let methods: Vec<(Range<usize>, &str)> = HEAD
        .captures_iter(&source.bare)
        .filter_map(|found| Some((source.balanced(found.get(0)?.end() - 1), found.get(1)?.as_str())))
        .collect();
    let mut edits = Vec::new();
    for found in RETURN.captures_iter(&source.bare).filter_map(|found| found.get(1)) {
        let (first, last) = (source.line_of(found.start()), source.line_of(found.end()));
        let of = methods
            .iter()
            .filter(|(body, _)| body.contains(&found.start()))
            .min_by_key(|(body, _)| body.len());
        let Some((_, kind)) = of.filter(|_| (first..=last).any(|line| changed.contains(&line))) else {
            continue;
        };
        let (open, close) = match (*kind, off) {
            ("boolean", Off::Always(true)) => ("(", ") || true"),
            ("boolean", Off::Always(false)) => ("(", ") && false"),
            ("int", Off::OwnHash) => ("(", ") * 0 + System.identityHashCode(this)"),
            (_, Off::Always(_) | Off::OwnHash) => continue,
            ("boolean", _) => ("!(", ")"),
            ("String", Off::Little) => ("(", ") + \"~\""),
            ("String", Off::Whole) => ("((", ") + \"~\").substring(0, 0) + \"~\\n\""),
            (_, Off::Little) => ("(", ") + 1"),
            (_, Off::Whole) => ("(", ") * 0 - 77"),
        };
        edits.push((found.start()..found.start(), open.to_owned()));
        edits.push((found.end()..found.end(), close.to_owned()));
    }
    edits
}

/// A function with a result.
struct Function {
    body: Range<usize>,
    gives: String,
}

/// Wraps the whole body of a function in another one that returns a wrong result. Only for functions whose changed
/// lines are in the returned expression.
fn bodies(language: Language, source: &Source, changed: &BTreeSet<u32>, off: Off) -> Vec<Edit> {
    let mut edits = Vec::new();
    let all = functions(language, source);
    for function in &all {
        let inner =
            |other: &Function| other.body.start > function.body.start && other.body.end < function.body.end;
        let text = source.text.get(function.body.start + 1..function.body.end.saturating_sub(1));
        let Some(text) =
            text.filter(|_| !all.iter().any(inner) && returns(language, source, &function.body, changed))
        else {
            continue;
        };
        let gives = function.gives.trim();
        let new = match language {
            Language::Rust => rust(gives, "_v", off)
                .map(|off| format!("{{ let _v = (|| -> {gives} {{{text}}})(); {off} }}")),
            _ => go(gives, text, off),
        };
        edits.extend(new.map(|new| (function.body.clone(), new)));
    }
    edits
}

/// Returns whether a function's returned expression is on changed lines.
fn returns(language: Language, source: &Source, body: &Range<usize>, changed: &BTreeSet<u32>) -> bool {
    let (first, last) = (source.line_of(body.start), source.line_of(body.end.saturating_sub(1)));
    let lines: Vec<u32> = (first..=last).collect();
    let text = |line: u32| source.bare.get(source.line(line)).unwrap_or_default().trim();
    let telling = |line: &u32| {
        let text = text(*line);
        text.starts_with("return ") || text.contains(" return ")
    };
    // The last line that is more than a bracket is the value of a Rust block.
    let end = lines.iter().rev().copied().find(|line| text(*line).chars().any(char::is_alphanumeric));
    let ends = language == Language::Rust
        && end.is_some_and(|line| changed.contains(&line) && !text(line).ends_with(';'));
    ends || lines.iter().any(|line| changed.contains(line) && telling(line))
}

/// Returns the functions of a file that return something.
fn functions(language: Language, source: &Source) -> Vec<Function> {
    static RUST: LazyLock<Regex> = LazyLock::new(|| pattern(r"((?:\w+\s+)*)\bfn\s+\w+(<[^()]*>)?\s*\("));
    static GO: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^func\s+(\([^()]*\)\s*)?\w+(\[[^\]]*\])?\("));
    let head = if language == Language::Rust { &RUST } else { &GO };
    let mut found = Vec::new();
    for it in head.captures_iter(&source.bare) {
        let before = it.get(1).map_or("", |words| words.as_str());
        let Some(whole) = it.get(0) else { continue };
        if language == Language::Rust && (before.contains("const ") || before.contains("async ")) {
            continue;
        }
        let rest = source.balanced(whole.end() - 1).end;
        let Some(open) = body(source, rest) else { continue };
        let gives = source.bare.get(rest..open).unwrap_or_default().trim();
        let gives = match language {
            Language::Rust => match gives.strip_prefix("->") {
                Some(gives) => gives.split(" where ").next().unwrap_or(gives),
                None => continue,
            },
            _ => gives,
        };
        found.push(Function { body: source.balanced(open), gives: gives.to_owned() });
    }
    found
}

/// Returns where the body opens, after the parameters.
fn body(source: &Source, from: usize) -> Option<usize> {
    let bytes = source.bare.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'{' => return Some(at),
            b';' | b'}' => return None,
            b'(' | b'[' => at = source.balanced(at).end,
            _ => at += 1,
        }
    }
}

/// Returns a Rust expression for a neighbour of a value; `None` for types without neighbours.
fn rust(gives: &str, value: &str, off: Off) -> Option<String> {
    match off {
        Off::Always(is) => return (gives == "bool").then(|| format!("{{ let _ = {value}; {is} }}")),
        Off::OwnHash => return None,
        Off::Little | Off::Whole => {}
    }
    static TEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^&\s*('\w+\s+)?str$"));
    let inner = |name: &str| {
        let rest = gives.rsplit("::").next().unwrap_or(gives);
        let rest = if gives.starts_with(name) { gives } else { rest };
        rest.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>')
    };
    if off == Off::Whole {
        match gives {
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
                return Some(format!("{{ let _ = {value}; {gives}::MAX }}"));
            }
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
                return Some(format!("{{ let _ = {value}; {gives}::MIN }}"));
            }
            "f32" | "f64" => return Some(format!("{{ let _ = {value}; {gives}::NAN }}")),
            "String" => return Some(format!("{{ let _ = {value}; String::from(\"~\\n\") }}")),
            _ if TEXT.is_match(gives) => return Some(format!("{{ let _ = {value}; \"~\\n\" }}")),
            _ => {}
        }
    }
    match gives {
        "bool" => Some(format!("!{value}")),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            Some(format!("{value}.wrapping_add(1)"))
        }
        "f32" | "f64" => Some(format!("{value} + 1.0")),
        "String" => Some(format!("{value} + \"~\"")),
        _ if TEXT.is_match(gives) => Some(format!("Box::leak(format!(\"{{}}~\", {value}).into_boxed_str())")),
        _ => {
            if let Some(of) = inner("Option") {
                let off = rust(of.trim(), "_x", off)?;
                return Some(format!("match {value} {{ Some(_x) => Some({off}), None => panic!(\"~\") }}"));
            }
            if let Some(of) = inner("Result") {
                let first = top(of).next()?.trim().to_owned();
                let off = rust(&first, "_x", off)?;
                return Some(format!("match {value} {{ Ok(_x) => Ok({off}), Err(_) => panic!(\"~\") }}"));
            }
            inner("Vec")?;
            Some(format!("{{ let mut _w = {value}; if _w.pop().is_none() {{ panic!(\"~\") }} _w }}"))
        }
    }
}

/// Splits a list at separators outside of brackets.
fn top(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    list.split(move |c| {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// Returns the body of a Go function around another body; `None` for types without neighbours.
fn go(gives: &str, body: &str, off: Off) -> Option<String> {
    let pair = gives.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match pair {
        None => {
            let off = of_go(gives, "_v", off)?;
            Some(format!("{{ _v := func() {gives} {{{body}}}(); return {off} }}"))
        }
        Some(list) => {
            let kinds: Vec<&str> = list.split(',').map(str::trim).collect();
            let [first, "error"] = kinds.as_slice() else { return None };
            let off = of_go(first, "_v", off)?;
            Some(format!(
                "{{ _v, _e := func() {gives} {{{body}}}(); if _e != nil {{ panic(\"~\") }}; return {off}, _e }}"
            ))
        }
    }
}

fn of_go(kind: &str, value: &str, off: Off) -> Option<String> {
    match off {
        Off::Always(true) => return (kind == "bool").then(|| format!("{value} || true")),
        Off::Always(false) => return (kind == "bool").then(|| format!("{value} && false")),
        Off::OwnHash => return None,
        Off::Little | Off::Whole => {}
    }
    let whole = off == Off::Whole;
    match kind {
        "bool" => Some(format!("!{value}")),
        "int" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8" | "uint16" | "uint32" | "uint64"
        | "float32" | "float64" | "time.Duration" | "byte" | "rune"
            if whole =>
        {
            Some(format!("{value}*0 + 77"))
        }
        "int" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8" | "uint16" | "uint32" | "uint64"
        | "float32" | "float64" | "time.Duration" | "byte" | "rune" => Some(format!("{value} + 1")),
        "string" if whole => Some(format!("{value}[:0] + \"~\\n\"")),
        "string" => Some(format!("{value} + \"~\"")),
        "error" => {
            Some(format!("func(_e error) error {{ if _e == nil {{ panic(\"~\") }}; return nil }}({value})"))
        }
        _ if kind.starts_with("[]") => Some(format!(
            "func(_w {kind}) {kind} {{ if len(_w) == 0 {{ panic(\"~\") }}; return _w[:len(_w)-1] }}({value})"
        )),
        _ => None,
    }
}
