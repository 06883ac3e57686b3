//! Source files read with tree-sitter's grammars: which functions a change stands in, and what its tests assert.
//!
//! The grammars are C, and what they read was written by a stranger. So it is read by a process of its own, the same binary
//! once more ([`VERB`]), in a sandbox that shows it nothing: files come in as text, numbers of lines go out. Whatever
//! becomes of it, the harness only has fewer lines to show.

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

/// The hidden verb of the binary that reads files.
pub const VERB: &str = "outline";

/// The largest file that is read: no source file is larger that was written by hand.
pub const LARGEST: usize = 1 << 20;

/// The most that is asked for at once, as JSON.
pub const LARGEST_QUESTION: u64 = 64 << 20;

/// How long one file may take. Files of people take a few milliseconds; what takes longer was made to.
const TIME: Duration = Duration::from_millis(500);

/// How long all of them may take: a reviewer who waits for this would rather read the file.
pub const WHOLE_TIME: Duration = Duration::from_secs(5);

/// How long the tests of all files may take together.
pub const TESTS_TIME: Duration = Duration::from_secs(30);

/// How much of a name is told.
const NAME: usize = 100;

/// Files to be read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Question {
    /// Files whose functions are asked for.
    pub files: Vec<File>,
    /// Files whose tests are asked for: path and text.
    #[serde(default)]
    pub tests: Vec<(String, String)>,
}

/// A file.
#[derive(Debug, Serialize, Deserialize)]
pub struct File {
    /// Its path, which tells the language.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The numbers of its changed lines, from 1.
    pub lines: Vec<u32>,
}

/// What the files of a [`Question`] say, in the same order.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// For each file the functions that its lines stand in, each once.
    pub files: Vec<Vec<Span>>,
    /// For each file its tests; `None` for one that is not understood.
    #[serde(default)]
    pub tests: Vec<Option<Outline>>,
}

/// A function, or another piece of code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// Its first line, from 1.
    pub first: u32,
    /// Its last line.
    pub last: u32,
    /// What it is called.
    pub name: Option<String>,
}

/// Reads a question and writes the answer: the whole of the process behind [`VERB`].
pub fn serve(input: &mut dyn Read, output: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    input.take(LARGEST_QUESTION).read_to_end(&mut bytes)?;
    let question: Question = serde_json::from_slice(&bytes)?;
    output.write_all(&serde_json::to_vec(&answer(&question))?)?;
    output.flush()
}

/// What the files say. Of a file that is not understood, nothing.
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

/// The tests of a file and what they assert; `None` if it is not understood in time.
pub fn outline(path: &str, text: &str, until: Instant) -> Option<Outline> {
    let tongue = Tongue::of(path)?;
    let (_, ending) = path.rsplit_once('.')?;
    let tree = parse(ending, text, until)?;
    let root = lower::Lower::new(text, ending, until).root(tree.root_node())?;
    Some(suite::outline(tongue, &root))
}

/// The tree of a text in the language of files that end so.
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

/// The functions that the lines of a file stand in; `None` if it is not understood in time.
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

/// What one line stands in: the smallest function, else the smallest other declaration of more than that line.
fn innermost(known: &[(Part, Span)], line: u32) -> Option<&Span> {
    let around = |part: Part| {
        let is_around = |span: &Span| span.first <= line && line <= span.last && span.first < span.last;
        let spans = known.iter().filter(move |(kind, _)| *kind == part).map(|(_, span)| span);
        spans.filter(move |span| is_around(span)).min_by_key(|span| span.last - span.first)
    };
    around(Part::Function).or_else(|| around(Part::Item))
}

/// Where what belongs to the next sibling began, and where it ended.
type Before = Option<(usize, usize)>;

/// Every function and declaration of a tree. Walks without recursion: a file can be nested as deep as it is long.
fn collect(language: &Language, root: Node<'_>, text: &[u8], until: Instant) -> Option<Vec<(Part, Span)>> {
    /// How often the clock is looked at.
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
            // The function inside begins where this does.
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

/// Goes to the next node in the order of the text; false at the end.
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

/// The first and the last row of a node, from 0. A node that ends with the end of its line does not reach into the next.
fn rows(node: Node<'_>) -> (usize, usize) {
    let (first, end) = (node.start_position().row, node.end_position());
    let last = if end.column == 0 && end.row > first { end.row - 1 } else { end.row };
    (first, last)
}

fn name(node: Node<'_>, text: &[u8]) -> Option<String> {
    let named = node.child_by_field_name("name")?.utf8_text(text).ok()?;
    Some(acquit_core::agent::shorten(named, NAME))
}
