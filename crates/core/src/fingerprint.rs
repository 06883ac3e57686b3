//! Fingerprints: tell whether two failures are the same.
//!
//! A failure is normalized by removing everything that differs between two runs of the same mistake: line numbers,
//! durations, process and thread ids, ports, addresses, folders, the order of printed maps. What remains is the kind,
//! the file, the message and the functions on top of the stack. The normalized form is hashed. Equal fingerprints mean
//! the same failure, in any task and at any time.

use std::fmt;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::{Deserialize, Serialize};

use crate::agent::shorten;
use crate::failure::Failure;
use crate::pattern::pattern;

/// Number of stack frames that count. Deeper frames belong to the runner and change with its version.
const FRAMES: usize = 3;

/// Number of bytes of a line that count.
const LONGEST: usize = 2_000;

/// The identity of a failure: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Computes the fingerprint of one failure.
    pub fn of(failure: &Failure) -> Self {
        Self(format!("{:032x}", hash(normal(failure).as_bytes())))
    }

    /// Computes the fingerprint of several failures, in any order.
    pub fn of_all(failures: &[Failure]) -> Self {
        let mut all: Vec<String> = failures.iter().map(normal).collect();
        all.sort();
        all.dedup();
        Self(format!("{:032x}", hash(all.join("\u{0}").as_bytes())))
    }

    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Normalizes a failure. Not displayed; separate so that a test can show why two fingerprints differ.
pub fn normal(failure: &Failure) -> String {
    let mut lines = Vec::new();
    let mut frames = 0;
    for line in failure.message.lines() {
        let line = plain(&shorten(line, LONGEST));
        if NOISE.is_match(&line) {
            continue;
        }
        if FRAME.is_match(&line) {
            frames += 1;
            if frames > FRAMES {
                continue;
            }
        }
        let line = normal_line(&line);
        if !line.is_empty() {
            lines.push(line);
        }
    }
    // Tests that run in parallel fail in any order.
    lines.sort();
    lines.dedup();
    let file = failure.location.as_ref().map_or("", |location| location.path.as_str());
    format!("{}\u{1}{file}\u{1}{}", failure.kind, lines.join("\n"))
}

/// Removes colors and other terminal escapes.
fn plain(line: &str) -> String {
    static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
    });
    let line = ESCAPES.replace_all(line, "");
    line.chars().filter(|char| !char.is_control() || *char == '\t').collect()
}

fn normal_line(line: &str) -> String {
    // Paths first, because a folder name may match any other rule.
    let mut line = PATH.replace_all(line.trim(), short_path).into_owned();
    for (pattern, instead) in RULES.iter() {
        if pattern.is_match(&line) {
            line = pattern.replace_all(&line, *instead).into_owned();
        }
    }
    line = HASH.replace_all(&line, unless_a_word).into_owned();
    let words: Vec<&str> = line.split_whitespace().collect();
    sorted_maps(&words.join(" "))
}

/// Lines about the run, not about the failure.
static NOISE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^\s*(test result:|running \d+ tests?\b|test .* \.\.\. ok$|failures:$|compiling |finished |downloading |\u{2026} \(\d+ lines more\)",
        r"|note: run with|note: some details|stack backtrace|tests?:\s|test suites:|test files\s|snapshots:|time:|duration|ran \d+ tests?|summary\b|start at\b",
        r"|ok\s+\S+\s+[\d.]+s|exit status|collected \d+|platform |rootdir|plugins:|=+ .*\b(passed|failed|error|session starts|short test)|# (tests|pass|fail|suites|duration|cancelled|skipped|todo)\b",
        r"|\[(info|error)\] (total time|finished at|tests run:)|-+$|=+$|~+$|\^+$|\|$)"
    ))
});

/// A stack frame: where the failure came from, not what failed.
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^\s*(at \S|\d+:\s+(0x[0-9a-f]+ - )?[\w<]|File ".*", line \d+|\S+\.go:\d+ \+0x|\S+\(0x[0-9a-f, x.]*\)$|\x{276f} \S)"#,
    )
});

/// Patterns that differ from run to run, in the order in which they must be applied.
static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?(Z|[+-]\d\d:?\d\d)?\b", "<time>"),
        (r"\b\d{1,2}:\d\d:\d\d([.,]\d+)?\b", "<time>"),
        (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"(?i)\b0x[0-9a-f]+\b", "<address>"),
        (r"([\w$.]+)@[0-9a-f]{4,16}\b", "$1@<address>"),
        (r"::h[0-9a-f]{16}\b", ""),
        (r"((?:localhost|\b\d{1,3}(?:\.\d{1,3}){3}|\[::1?\])):\d+", "$1:<port>"),
        (r"(?i)\bport[ =:]+\d+", "port <n>"),
        (r"(\.[A-Za-z_]\w*):\d+(?::\d+)?", "$1:<line>"),
        (r":\d+:\d+\b", ":<line>"),
        (r"(\.[A-Za-z]{1,5})\((\d+)(?:,\d+)?\)", "$1:<line>"),
        (r"(?i)\b(line|lines|column|col|ln)[ :]+\d+(-\d+)?", "$1 <n>"),
        (r"^\s*>?\s*\d+\s*\|", "|"),
        (r"\bL\d+(:\d+)?\b", "L<n>"),
        (r"\bpool-\d+-thread-\d+\b", "pool-<n>"),
        (r"(thread '[^']*') \(\d+\)", "$1"),
        (r"(?i)\b(thread|threadid|goroutine|pid|tid|worker|process|fork|seed|attempt|job|session)([-_ =:(#\[]+)\d+", "$1$2<n>"),
        (r"(?i)\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|h|hours?)\b", "<time>"),
        (r"(?i)\b\d+(\.\d+)?\s?(bytes|[kmgt]i?b)\b", "<size>"),
    ]
    .into_iter()
    .map(|(text, instead)| (pattern(text), instead))
    .collect()
});

/// An absolute path.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:\b[a-z]+:/|\b[A-Za-z]:)?(?:/|\\)(?:[^\s"'`:;,()<>|\[\]{}]+(?:/|\\))+[^\s"'`:;,()<>|\[\]{}]*"#,
    )
});

/// Candidates for hashes and generated ids.
static HASH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b[A-Za-z0-9_-]{7,}\b"));

/// Reduces an absolute path to the file name, if it is a source file.
fn short_path(found: &Captures<'_>) -> String {
    static SOURCE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"^[\w.+-]*[A-Za-z][\w.+-]*\.(rs|[cm]?[jt]sx?|py|go|java|kt|rb|c|cc|cpp|h|cs|php|swift|scala|vue|toml|json|ya?ml)$",
        )
    });
    if found[0].contains("://") && !found[0].starts_with("file:") {
        return found[0].to_owned();
    }
    let name = found[0].rsplit(['/', '\\']).next().unwrap_or_default();
    if SOURCE.is_match(name) { name.to_owned() } else { "<path>".to_owned() }
}

/// Keeps words and names; replaces text that is hexadecimal or alternates letters and digits.
fn unless_a_word(found: &Captures<'_>) -> String {
    let text = &found[0];
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let turns =
        text.as_bytes().windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit()).count();
    let mixed = text.len() >= 16 && digits >= 3 && turns >= 6;
    if (hex && digits > 0 && digits < text.len()) || mixed { "<hash>".to_owned() } else { text.to_owned() }
}

/// Sorts the entries between braces and in Go's `map[…]`, because maps print in any order.
fn sorted_maps(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['{', '[']) {
        let is_map = rest[..at].ends_with("map");
        let (open, close) = if rest[at..].starts_with('{') { ('{', '}') } else { ('[', ']') };
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let end = matching(rest, open, close);
        let separator = match (open, is_map) {
            ('{', _) => ',',
            (_, true) => ' ',
            (_, false) => continue,
        };
        let Some(end) = end else { continue };
        let mut parts: Vec<String> = split(&rest[..end], separator).into_iter().map(sorted_maps).collect();
        parts.sort();
        out.push_str(&parts.join(if separator == ',' { ", " } else { " " }));
        rest = &rest[end..];
    }
    out + rest
}

fn matching(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, char) in text.char_indices() {
        if char == open {
            depth += 1;
        } else if char == close {
            if depth == 0 {
                return Some(at);
            }
            depth -= 1;
        }
    }
    None
}

/// Splits at separators outside of brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, char) in text.char_indices() {
        match char {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            _ if char == separator && depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + char.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[from..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// 128-bit FNV-1a: stable across machines and versions. It need not resist attacks, because equal fingerprints are of
/// no use to an attacker.
fn hash(bytes: &[u8]) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(START, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}
