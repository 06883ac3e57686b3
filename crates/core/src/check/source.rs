//! Source text in which each byte is classified as code, string or comment.
//!
//! The checks need no more knowledge of a language: an `#[ignore]` in a string skips nothing, and an assertion in a
//! comment asserts nothing. A lexing error stays local: an unterminated string ends with its line, unless the language
//! has multi-line strings.

use std::ops::Range;

/// A language whose tests acquit can find.
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
    /// Returns the language of a file by its name.
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

/// The class of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Code, including the quotes around strings.
    Code,
    /// The inside of a string.
    Text,
    /// A comment.
    Comment,
}

/// A file's text with the class of each byte.
#[derive(Clone, Debug)]
pub struct Source {
    /// The original text.
    pub text: String,
    /// Text of the same length, with blanks instead of strings and comments.
    pub bare: String,
    classes: Vec<Class>,
    starts: Vec<usize>,
    /// Closing brackets by their opening offset. Computed once, so that a text of nothing but opening brackets is not
    /// read again for each.
    pairs: Vec<(usize, usize)>,
}

impl Source {
    /// Classifies a text.
    pub fn new(language: Language, text: String) -> Self {
        let classes = Lexer { text: text.as_bytes(), at: 0, classes: Vec::new(), language }.run();
        let blank = |(byte, class): (u8, &Class)| match class {
            _ if byte == b'\n' => b'\n',
            Class::Code if byte.is_ascii() => byte,
            // No check needs letters beyond ASCII, and no character may be cut in half.
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

    /// Returns the class of the byte at an offset.
    pub fn class(&self, at: usize) -> Class {
        self.classes.get(at).copied().unwrap_or(Class::Code)
    }

    /// Returns the line number, from 1, of an offset.
    pub fn line_of(&self, at: usize) -> u32 {
        let line = self.starts.partition_point(|start| *start <= at);
        u32::try_from(line).unwrap_or(u32::MAX)
    }

    /// Returns the range of a line, without its end.
    pub fn line(&self, number: u32) -> Range<usize> {
        let index = (number as usize).saturating_sub(1);
        let start = self.starts.get(index).copied().unwrap_or(self.text.len());
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        start..end.max(start)
    }

    /// Returns the text of a line.
    pub fn line_text(&self, number: u32) -> &str {
        self.text.get(self.line(number)).unwrap_or_default()
    }

    /// Returns the range from an opening bracket to its closing one, inclusive, or to the end of the text.
    pub fn balanced(&self, open: usize) -> Range<usize> {
        let found = self.pairs.binary_search_by_key(&open, |(open, _)| *open);
        open..found.map_or(self.bare.len(), |index| self.pairs[index].1 + 1)
    }

    /// Returns code and strings of a range without comments and insignificant blanks. Equal results mean the same code.
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
        // Brace depths at which a template string continues.
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
            // Rust strings can span lines.
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

    /// Consumes one opening quote, then text up to and including `end`.
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

    /// Consumes `r"…"`, `br#"…"#`, `c"…"`. Returns whether there was one.
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

    /// Consumes a character literal or the tick of a lifetime.
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

    /// Consumes the text of a template string up to its end or to an expression in it. Returns whether it was an
    /// expression.
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

    /// Returns whether a slash begins a regular expression. After an operand it is a division.
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
