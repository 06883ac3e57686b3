//! A small tree that all languages are lowered to, so that what a test asserts is judged once and not five times.
//!
//! Only what decides whether an assertion can fail has a kind of its own: blocks, conditions, loops, handlers, functions,
//! calls, comparisons and literals. Everything else is [`Kind::Other`] with its children, so nothing is lost on the way.

use std::ops::Range;
use std::rc::Rc;

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Its first line, from 1.
    pub(super) line: u32,
    /// Its last line.
    pub(super) last: u32,
    source: Rc<str>,
    range: Range<usize>,
    pub(super) kids: Vec<Node>,
    /// Decorators, annotations and attributes of a function or a class.
    pub(super) marks: Vec<Node>,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Statements in order.
    Block,
    /// Condition, then, and perhaps else.
    If,
    /// A choice between arms.
    Match,
    /// What is looped over, or the condition; then the body.
    Loop,
    /// The body, then handlers.
    Try,
    /// The body; what is caught is the text.
    Handler(String),
    /// `with`: the items, and the body as the last kid.
    With,
    /// The body.
    Function(Function),
    /// The body; its name and its bases.
    Class(String, String),
    /// With a value or without.
    Return,
    /// A raised error.
    Throw,
    /// `break`, `continue`.
    Jump,
    /// `assert condition, message`.
    Assert,
    /// The value that is given to this name.
    Assign(String),
    /// A name that comes from elsewhere: what it is called here, and what there.
    Import(String, String),
    /// The callee, then the arguments.
    Call,
    /// The object.
    Member(String),
    Name(String),
    Literal(Literal),
    /// An array, a tuple, a map.
    List,
    /// A named argument or an entry of a map.
    Pair(String),
    Binary(String),
    Unary(String),
    Await,
    /// An expression whose value is dropped.
    Statement,
    Comment,
    Other,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) params: Vec<String>,
    pub(super) is_async: bool,
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Literal {
    True,
    False,
    Number,
    Text,
    None,
}

impl Node {
    pub(super) fn new(kind: Kind, lines: (u32, u32), source: &Rc<str>, range: Range<usize>) -> Self {
        let (line, last) = lines;
        Self { kind, line, last, source: Rc::clone(source), range, kids: Vec::new(), marks: Vec::new() }
    }

    /// The text as it stands.
    pub(super) fn raw(&self) -> &str {
        self.source.get(self.range.clone()).unwrap_or_default()
    }

    /// The text without blanks that say nothing.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for word in self.raw().split_whitespace() {
            let tight = |char: char| !char.is_alphanumeric() && char != '_';
            if !out.is_empty() && !out.ends_with(tight) && !word.starts_with(tight) {
                out.push(' ');
            }
            out.push_str(word);
        }
        // A comma before a closing bracket is a matter of style, and so are quotes.
        out.replace(",)", ")").replace(",]", "]").replace(",}", "}").replace('\'', "\"")
    }

    /// This node and all below it, in the order of the text.
    pub(super) fn all(&self) -> Vec<&Node> {
        let (mut found, mut open) = (Vec::new(), vec![self]);
        while let Some(node) = open.pop() {
            found.push(node);
            open.extend(node.kids.iter().rev());
            open.extend(node.marks.iter().rev());
        }
        found
    }

    /// Whether something below it, or it itself, is so.
    pub(super) fn any(&self, test: &dyn Fn(&Node) -> bool) -> bool {
        self.all().into_iter().any(test)
    }

    /// `a.b().c` as words: `a`, `b`, `()`, `c`.
    pub(super) fn path(&self) -> Vec<&str> {
        let mut words = Vec::new();
        let mut node = self;
        loop {
            match &node.kind {
                Kind::Name(name) => {
                    words.push(name.as_str());
                    break;
                }
                Kind::Member(name) => words.push(name.as_str()),
                Kind::Call => words.push("()"),
                Kind::Await | Kind::Statement => {}
                _ => {
                    words.push("?");
                    break;
                }
            }
            match node.kids.first() {
                Some(first) => node = first,
                None => break,
            }
        }
        words.reverse();
        words
    }

    /// The path of a call's callee, joined.
    pub(super) fn callee(&self) -> String {
        match (&self.kind, self.kids.first()) {
            (Kind::Call, Some(callee)) => callee.path().join("."),
            _ => String::new(),
        }
    }

    /// The last word of a call's callee.
    pub(super) fn called(&self) -> &str {
        match (&self.kind, self.kids.first()) {
            (Kind::Call, Some(callee)) => callee.path().last().copied().unwrap_or_default(),
            _ => "",
        }
    }

    /// The arguments of a call.
    pub(super) fn args(&self) -> &[Node] {
        if self.kind == Kind::Call { self.kids.get(1..).unwrap_or_default() } else { &[] }
    }

    /// The function that this is, if it is one.
    pub(super) fn function(&self) -> Option<&Function> {
        match &self.kind {
            Kind::Function(function) => Some(function),
            _ => None,
        }
    }
}
