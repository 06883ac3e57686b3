//! A small syntax tree that all languages are lowered to, so that assertions are judged by one implementation and not
//! by five.
//!
//! Only what decides whether an assertion can fail has its own kind: blocks, conditions, loops, handlers, functions,
//! calls, comparisons and literals. Everything else is [`Kind::Other`] with its children, so nothing is lost.

use std::ops::Range;
use std::rc::Rc;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// First line, from 1.
    pub(super) line: u32,
    /// Last line.
    pub(super) last: u32,
    source: Rc<str>,
    range: Range<usize>,
    pub(super) kids: Vec<Node>,
    /// Decorators, annotations and attributes of a function or a class.
    pub(super) marks: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Statements in order.
    Block,
    /// Condition, then, and optionally else.
    If,
    /// A choice between arms.
    Match,
    /// The iterated value or the condition; then the body.
    Loop,
    /// The body, then handlers.
    Try,
    /// The body; the string is the caught type.
    Handler(String),
    /// `with`: the items, and the body as the last child.
    With,
    /// The body.
    Function(Function),
    /// The body; its name and its bases.
    Class(String, String),
    /// With or without a value.
    Return,
    /// A raised error.
    Throw,
    /// `break`, `continue`.
    Jump,
    /// `assert condition, message`.
    Assert,
    /// The value that is assigned to this name.
    Assign(String),
    /// An imported name: the local name, and the original one.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) params: Vec<String>,
    pub(super) is_async: bool,
}

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

    /// Returns the source text.
    pub(super) fn raw(&self) -> &str {
        self.source.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns the source text without insignificant white space.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for word in self.raw().split_whitespace() {
            let tight = |char: char| !char.is_alphanumeric() && char != '_';
            if !out.is_empty() && !out.ends_with(tight) && !word.starts_with(tight) {
                out.push(' ');
            }
            out.push_str(word);
        }
        // A trailing comma is a matter of style, and so are quotes.
        out.replace(",)", ")").replace(",]", "]").replace(",}", "}").replace('\'', "\"")
    }

    /// Returns this node and all its descendants, in source order.
    pub(super) fn all(&self) -> Vec<&Node> {
        let (mut found, mut open) = (Vec::new(), vec![self]);
        while let Some(node) = open.pop() {
            found.push(node);
            open.extend(node.kids.iter().rev());
            open.extend(node.marks.iter().rev());
        }
        found
    }

    /// Returns whether this node or a descendant satisfies `test`.
    pub(super) fn any(&self, test: &dyn Fn(&Node) -> bool) -> bool {
        self.all().into_iter().any(test)
    }

    /// Splits `a.b().c` into `a`, `b`, `()`, `c`.
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

    /// Returns the path of a call's callee, joined.
    pub(super) fn callee(&self) -> String {
        match (&self.kind, self.kids.first()) {
            (Kind::Call, Some(callee)) => callee.path().join("."),
            _ => String::new(),
        }
    }

    /// Returns the last word of a call's callee.
    pub(super) fn called(&self) -> &str {
        match (&self.kind, self.kids.first()) {
            (Kind::Call, Some(callee)) => callee.path().last().copied().unwrap_or_default(),
            _ => "",
        }
    }

    /// Returns the arguments of a call.
    pub(super) fn args(&self) -> &[Node] {
        if self.kind == Kind::Call { self.kids.get(1..).unwrap_or_default() } else { &[] }
    }

    /// Returns the function, if this node is one.
    pub(super) fn function(&self) -> Option<&Function> {
        match &self.kind {
            Kind::Function(function) => Some(function),
            _ => None,
        }
    }
}
