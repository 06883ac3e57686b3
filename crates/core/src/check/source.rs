//! Source text, with a mark on every byte that says whether it is code, a string or a comment.
//!
//! That is all the checks need to know of a language: an `#[ignore]` in a string skips nothing, and an assertion in a comment
//! asserts nothing. The lexers err on no side for long: every string without an end stops at the end of its line, unless the
//! language lets it go on.

use std::ops::Range;

/// A language whose tests are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust.
    Rust,
    /// JavaScript and TypeScript.
    Script,
    /// Python.
    Python,
    /// Go.
    Go,
    /// Java.
    Java,
}

impl Language {
    /// The language of a file, by its name.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.')?.1 {
            "rs" => Some(Self::Rust),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Some(Self::Script),
            "py" => Some(Self::Python),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            _ => None,
        }
    }
}

/// What a byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Code, including the quotes around strings.
    Code,
    /// What stands in a string.
    Text,
    /// A comment.
    Comment,
}

/// A file's text and what its bytes are.
#[derive(Clone, Debug)]
pub struct Source {
    /// The text as it is.
    pub text: String,
    /// The same number of bytes, with blanks in place of strings and comments.
    pub bare: String,
    classes: Vec<Class>,
    starts: Vec<usize>,
    /// Brackets that are closed, by where they open. Found once: a text of nothing but opening ones must not be read again for each.
    pairs: Vec<(usize, usize)>,
}

impl Source {
    /// Reads a text.
    pub fn new(language: Language, text: String) -> Self {
        let classes = Lexer { text: text.as_bytes(), at: 0, classes: Vec::new(), language }.run();
        let blank = |(byte, class): (u8, &Class)| match class {
            _ if byte == b'\n' => b'\n',
            Class::Code if byte.is_ascii() => byte,
            // Letters beyond ASCII have no meaning for any check, and must not be cut in half.
            Class::Code => b'_',
            Class::Text | Class::Comment => b' ',
        };
        let bare: Vec<u8> = text.bytes().zip(&classes).map(blank).collect();
        let bare = String::from_utf8_lossy(&bare).into_owned();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        let pairs = pairs(bare.as_bytes());
        Self { text, bare, classes, starts, pairs }
    }

    /// What the byte at an offset is.
    pub fn class(&self, at: usize) -> Class {
        self.classes.get(at).copied().unwrap_or(Class::Code)
    }

    /// The line, from 1, in which an offset lies.
    pub fn line_of(&self, at: usize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= at);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// The bytes of a line, without its end.
    pub fn line(&self, number: u32) -> Range<usize> {
        let index = (number as usize).saturating_sub(1);
        let start = self.starts.get(index).copied().unwrap_or(self.text.len());
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        start..end.max(start)
    }

    /// The text of a line.
    pub fn line_text(&self, number: u32) -> &str {
        self.text.get(self.line(number)).unwrap_or_default()
    }

    /// From an opening bracket to behind the one that closes it, or to the end of the text.
    pub fn balanced(&self, open: usize) -> Range<usize> {
        let found = self.pairs.binary_search_by_key(&open, |(open, _)| *open);
        open..found.map_or(self.bare.len(), |index| self.pairs[index].1 + 1)
    }

    /// Code and strings of a range without comments and without blanks that say nothing: equal for two that do the same.
    pub fn essence(&self, range: Range<usize>) -> String {
        let mut out = String::new();
        let mut gap = false;
        for (at, char) in self.text.get(range.clone()).unwrap_or_default().char_indices() {
            match self.class(range.start + at) {
                Class::Comment => gap = true,
                Class::Code | Class::Text if char.is_whitespace() => gap = true,
                Class::Code | Class::Text => {
                    if std::mem::take(&mut gap) && !out.is_empty() {
                        out.push(' ');
                    }
                    out.push(char);
                }
            }
        }
        out
    }
}

fn pairs(bare: &[u8]) -> Vec<(usize, usize)> {
    let (mut open, mut pairs) = (Vec::new(), Vec::new());
    for (at, byte) in bare.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => open.push(at),
            b')' | b']' | b'}' => pairs.extend(open.pop().map(|open| (open, at))),
            _ => {}
        }
    }
    pairs.sort_unstable();
    pairs
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    classes: Vec<Class>,
    language: Language,
}

impl Lexer<'_> {
    fn run(mut self) -> Vec<Class> {
        // Depths of braces at which a template string goes on.
        let mut templates: Vec<usize> = Vec::new();
        let mut depth = 0_usize;
        while self.at < self.text.len() {
            let slashes = self.language != Language::Python;
            let byte = self.text[self.at];
            match byte {
                b'/' if slashes && self.follows(b"//") => self.rest_of_line(Class::Comment),
                b'/' if slashes && self.follows(b"/*") => self.block_comment(),
                b'/' if self.language == Language::Script && self.begins_pattern() => self.pattern(),
                b'#' if self.language == Language::Python => self.rest_of_line(Class::Comment),
                b'r' | b'b' | b'c' if self.language == Language::Rust && self.raw_string() => {}
                b'\'' if self.language == Language::Rust => self.rust_quote(),
                quote @ (b'"' | b'\'') => self.string(quote),
                b'`' if self.language == Language::Go => self.until(b"`", Escapes::No),
                b'`' if self.language == Language::Script => {
                    self.push(1, Class::Code);
                    if self.template() {
                        templates.push(depth);
                        depth += 1;
                    }
                }
                b'{' => {
                    depth += 1;
                    self.push(1, Class::Code);
                }
                b'}' => {
                    depth = depth.saturating_sub(1);
                    self.push(1, Class::Code);
                    if templates.last() == Some(&depth) {
                        templates.pop();
                        if self.template() {
                            templates.push(depth);
                            depth += 1;
                        }
                    }
                }
                _ => self.push(1, Class::Code),
            }
        }
        self.classes.truncate(self.text.len());
        self.classes
    }

    fn follows(&self, what: &[u8]) -> bool {
        self.text[self.at..].starts_with(what)
    }

    fn push(&mut self, count: usize, class: Class) {
        let count = count.min(self.text.len() - self.at);
        self.classes.resize(self.classes.len() + count, class);
        self.at += count;
    }

    fn rest_of_line(&mut self, class: Class) {
        let rest = &self.text[self.at..];
        self.push(rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()), class);
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.text.len() {
            if self.follows(b"/*") && (depth == 0 || self.language == Language::Rust) {
                depth += 1;
                self.push(2, Class::Comment);
            } else if self.follows(b"*/") {
                depth -= 1;
                self.push(2, Class::Comment);
                if depth == 0 {
                    return;
                }
            } else {
                self.push(1, Class::Comment);
            }
        }
    }

    fn string(&mut self, quote: u8) {
        let triple = [quote; 3];
        let long = match self.language {
            Language::Python => true,
            Language::Java => quote == b'"',
            Language::Rust | Language::Script | Language::Go => false,
        };
        if long && self.follows(&triple) {
            self.push(2, Class::Code);
            return self.until(&triple, Escapes::Yes);
        }
        if self.language == Language::Rust {
            // A string of Rust goes over lines.
            return self.until(&[quote], Escapes::Yes);
        }
        self.push(1, Class::Code);
        while self.at < self.text.len() && self.text[self.at] != b'\n' {
            match self.text[self.at] {
                b'\\' => self.push(2, Class::Text),
                byte if byte == quote => return self.push(1, Class::Code),
                _ => self.push(1, Class::Text),
            }
        }
    }

    /// One opening quote, then text up to `end` and with it.
    fn until(&mut self, end: &[u8], escapes: Escapes) {
        self.push(1, Class::Code);
        while self.at < self.text.len() {
            if self.text[self.at] == b'\\' && escapes == Escapes::Yes {
                self.push(2, Class::Text);
            } else if self.follows(end) {
                return self.push(end.len(), Class::Code);
            } else {
                self.push(1, Class::Text);
            }
        }
    }

    /// `r"…"`, `br#"…"#`, `c"…"`; says whether there was one.
    fn raw_string(&mut self) -> bool {
        let before = self.at.checked_sub(1).map_or(b' ', |at| self.text[at]);
        if before.is_ascii_alphanumeric() || before == b'_' {
            return false;
        }
        let rest = &self.text[self.at..];
        let letters = rest.iter().take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
        let raw = rest[..letters].contains(&b'r');
        let hashes = rest[letters..].iter().take_while(|byte| **byte == b'#').count();
        if letters > 2 || rest.get(letters + hashes) != Some(&b'"') || (hashes > 0 && !raw) {
            return false;
        }
        self.push(letters + hashes, Class::Code);
        let mut end = vec![b'"'];
        end.resize(1 + hashes, b'#');
        self.until(&end, if raw { Escapes::No } else { Escapes::Yes });
        true
    }

    /// A character, or the tick of a lifetime.
    fn rust_quote(&mut self) {
        let rest = &self.text[self.at + 1..];
        let length = match rest.first() {
            Some(b'\\') => rest.iter().skip(2).take(12).position(|byte| *byte == b'\'').map(|end| end + 2),
            Some(_) => rest.iter().take(5).position(|byte| *byte == b'\'').filter(|end| {
                let inner = &rest[..*end];
                std::str::from_utf8(inner).is_ok_and(|text| text.chars().count() == 1)
            }),
            None => None,
        };
        self.push(1, Class::Code);
        if let Some(length) = length {
            self.push(length, Class::Text);
            self.push(1, Class::Code);
        }
    }

    /// The text of a template string up to its end, or to an expression in it; says whether it was an expression.
    fn template(&mut self) -> bool {
        while self.at < self.text.len() {
            if self.text[self.at] == b'\\' {
                self.push(2, Class::Text);
            } else if self.follows(b"${") {
                self.push(2, Class::Code);
                return true;
            } else if self.follows(b"`") {
                self.push(1, Class::Code);
                return false;
            } else {
                self.push(1, Class::Text);
            }
        }
        false
    }

    /// Whether a slash begins a regular expression: it does not after something that can be divided.
    fn begins_pattern(&self) -> bool {
        let code = |at: &usize| self.classes[*at] == Class::Code && !self.text[*at].is_ascii_whitespace();
        let Some(last) = (0..self.at).rev().take(200).find(code) else { return true };
        match self.text[last] {
            b')' | b']' | b'}' | b'"' | b'\'' | b'`' => false,
            byte if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' => {
                let word = |at: &usize| self.text[*at].is_ascii_alphanumeric() || self.text[*at] == b'_';
                let first = (0..=last).rev().take_while(word).last().unwrap_or(last);
                matches!(&self.text[first..=last], b"return" | b"typeof" | b"case" | b"in" | b"of" | b"await")
            }
            _ => true,
        }
    }

    fn pattern(&mut self) {
        self.push(1, Class::Code);
        let mut in_class = false;
        while self.at < self.text.len() && self.text[self.at] != b'\n' {
            match self.text[self.at] {
                b'\\' => self.push(2, Class::Text),
                b'/' if !in_class => return self.push(1, Class::Code),
                byte => {
                    in_class = (in_class || byte == b'[') && byte != b']';
                    self.push(1, Class::Text);
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    Yes,
    No,
}
