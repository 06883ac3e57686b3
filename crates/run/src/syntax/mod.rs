//! Parses source files with tree-sitter grammars: which functions contain a change, and what its tests assert.
//!
//! The grammars are C, and their input is untrusted. So a separate process parses it: this same binary ([`VERB`]) in a
//! sandbox that shows it nothing. Files go in as text, line numbers come out. If it fails, the harness only has fewer
//! lines to show.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

mod ir;
mod language;
mod lower;
mod suite;

use acquit_core::check::outline::Outline;
use acquit_core::check::source::Language as Tongue;

use language::{Language, Part};

/// Hidden subcommand of the binary that parses files.
pub const VERB: &str = "outline";

/// Maximum size of a file. No hand-written source file is larger.
pub const LARGEST: usize = 1 << 20;

/// Maximum size of a question as JSON.
pub const LARGEST_QUESTION: u64 = 64 << 20;

/// Time limit per file. Normal files take a few milliseconds; a file that takes longer was made for that.
const TIME: Duration = Duration::from_millis(500);

/// Time limit for all files together. A reviewer who waits longer would rather read the file.
pub const WHOLE_TIME: Duration = Duration::from_secs(5);

/// Time limit for the tests of all files together.
pub const TESTS_TIME: Duration = Duration::from_secs(30);

/// Maximum length of a reported name.
const NAME: usize = 100;

/// Files to parse.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Question {
    /// Files whose functions are wanted.
    pub files: Vec<File>,
    /// Files whose tests are wanted: path and text.
    #[serde(default)]
    pub tests: Vec<(String, String)>,
}

/// A file.
#[derive(Debug, Serialize, Deserialize)]
pub struct File {
    /// Path, which determines the language.
    pub path: String,
    /// Text.
    pub text: String,
    /// Numbers of the changed lines, from 1.
    pub lines: Vec<u32>,
}

/// Results for the files of a [`Question`], in the same order.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// For each file, the functions that contain its changed lines, each once.
    pub files: Vec<Vec<Span>>,
    /// For each file, its tests. `None` if it cannot be parsed.
    #[serde(default)]
    pub tests: Vec<Option<Outline>>,
}

/// A function, or another piece of code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// First line, from 1.
    pub first: u32,
    /// Last line.
    pub last: u32,
    /// Name.
    pub name: Option<String>,
}

/// Reads a question and writes the answer: the whole program behind [`VERB`].
pub fn serve(input: &mut dyn Read, output: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    input.take(LARGEST_QUESTION).read_to_end(&mut bytes)?;
    let question: Question = serde_json::from_slice(&bytes)?;
    output.write_all(&serde_json::to_vec(&answer(&question))?)?;
    output.flush()
}

/// Answers a question. The result for a file that cannot be parsed is empty.
pub fn answer(question: &Question) -> Answer {
    let whole = Instant::now() + WHOLE_TIME;
    let spans = |file: &File| {
        let until = whole.min(Instant::now() + TIME);
        spans(file, until).unwrap_or_default()
    };
    let files = question.files.iter().map(spans).collect();
    let whole = Instant::now() + TESTS_TIME;
    let tests = |(path, text): &(String, String)| outline(path, text, whole.min(Instant::now() + 2 * TIME));
    Answer { files, tests: question.tests.iter().map(tests).collect() }
}

/// Returns the tests of a file and what they assert. `None` if it cannot be parsed in time.
pub fn outline(path: &str, text: &str, until: Instant) -> Option<Outline> {
    let tongue = Tongue::of(path)?;
    let (_, ending) = path.rsplit_once('.')?;
    let tree = parse(ending, text, until)?;
    let root = lower::Lower::new(text, ending, until).root(tree.root_node())?;
    Some(suite::outline(tongue, &root))
}

/// Parses a text in the language of a file extension.
fn parse(ending: &str, text: &str, until: Instant) -> Option<tree_sitter::Tree> {
    let language = Language::of_ending(ending).filter(|_| text.len() <= LARGEST)?;
    let mut parser = Parser::new();
    parser.set_language(&language.grammar).ok()?;
    let mut late = |_: &tree_sitter::ParseState| {
        if Instant::now() >= until { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let bytes = text.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut late);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// Returns the functions that contain the changed lines of a file. `None` if it cannot be parsed in time.
fn spans(file: &File, until: Instant) -> Option<Vec<Span>> {
    let language = Language::of(&file.path)?;
    let (_, ending) = file.path.rsplit_once('.')?;
    let text = file.text.as_bytes();
    let tree = parse(ending, &file.text, until)?;
    let known = collect(&language, tree.root_node(), text, until)?;
    let mut found: Vec<Span> = Vec::new();
    for line in &file.lines {
        if Instant::now() >= until {
            return None;
        }
        let span = innermost(&known, *line);
        if span.is_some() && span != found.last() {
            found.extend(span.cloned());
        }
    }
    found.sort();
    found.dedup();
    Some(found)
}

/// Returns what contains a line: the smallest function, otherwise the smallest other declaration of more than that
/// line.
fn innermost(known: &[(Part, Span)], line: u32) -> Option<&Span> {
    let around = |part: Part| {
        let is_around = |span: &Span| span.first <= line && line <= span.last && span.first < span.last;
        let spans = known.iter().filter(move |(kind, _)| *kind == part).map(|(_, span)| span);
        spans.filter(move |span| is_around(span)).min_by_key(|span| span.last - span.first)
    };
    around(Part::Function).or_else(|| around(Part::Item))
}

/// First and last row of the prefix of the next sibling.
type Before = Option<(usize, usize)>;

/// Collects every function and declaration of a tree. Walks without recursion: a file can be nested as deeply as it is
/// long.
fn collect(language: &Language, root: Node<'_>, text: &[u8], until: Instant) -> Option<Vec<(Part, Span)>> {
    /// How often to check the clock.
    const STEPS: usize = 4096;
    let mut found = Vec::new();
    let mut cursor = root.walk();
    let mut before: Vec<Before> = vec![None];
    for step in 1_usize.. {
        if step.is_multiple_of(STEPS) && Instant::now() >= until {
            return None;
        }
        let node = cursor.node();
        if !node.is_named() {
            if !advance(&mut cursor, &mut before, None) {
                return Some(found);
            }
            continue;
        }
        let level = before.last_mut()?;
        let (mut first, last) = rows(node);
        let part = language.part(node.kind());
        if let Some((began, ended)) = *level
            && ended + 1 >= first
        {
            first = began;
        }
        let inside = match part {
            Part::Prefix => {
                *level = Some((first, last));
                None
            }
            Part::Function | Part::Item => {
                let line = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
                found.push((part, Span { first: line(first), last: line(last), name: name(node, text) }));
                *level = None;
                None
            }
            // The function inside starts where this node does.
            Part::Wrapper => {
                *level = None;
                Some((first, rows(node).0))
            }
            Part::Other => {
                *level = None;
                None
            }
        };
        if !advance(&mut cursor, &mut before, inside) {
            return Some(found);
        }
    }
    None
}

/// Moves to the next node in source order. False at the end.
fn advance(cursor: &mut TreeCursor<'_>, before: &mut Vec<Before>, inside: Before) -> bool {
    if cursor.goto_first_child() {
        before.push(inside);
        return true;
    }
    loop {
        if cursor.goto_next_sibling() {
            return true;
        }
        if !cursor.goto_parent() {
            return false;
        }
        before.pop();
    }
}

/// Returns the first and the last row of a node, from 0. A node that ends with a line end does not extend into the next
/// line.
fn rows(node: Node<'_>) -> (usize, usize) {
    let (first, end) = (node.start_position().row, node.end_position());
    let last = if end.column == 0 && end.row > first { end.row - 1 } else { end.row };
    (first, last)
}

fn name(node: Node<'_>, text: &[u8]) -> Option<String> {
    let named = node.child_by_field_name("name")?.utf8_text(text).ok()?;
    Some(acquit_core::agent::shorten(named, NAME))
}
