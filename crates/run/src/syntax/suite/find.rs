//! Finds the tests of a file.

use acquit_core::check::outline::{Deed, MANY, Skip};
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Node};
use super::scope::{File, Names, Scope};
use super::skips::{attributes, decorators};
use super::{Case, Fails, Suite, mark, script, skipped};

/// Context of a test from the nodes around it.
#[derive(Clone, Default)]
pub(super) struct Around {
    pub(super) path: Vec<String>,
    pub(super) skip: Option<Skip>,
    pub(super) rows: Option<u32>,
}

impl Around {
    pub(super) fn inside(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Self { path, ..self.clone() }
    }

    pub(super) fn skipped(&self, skip: Option<Skip>) -> Self {
        let worse = |old: &Skip, new: &Skip| old.conditional && !new.conditional;
        let skip = match (&self.skip, skip) {
            (Some(old), Some(new)) if worse(old, &new) => Some(new),
            (Some(old), _) => Some(old.clone()),
            (None, new) => new,
        };
        Self { skip, ..self.clone() }
    }

    pub(super) fn rows(&self, rows: u32) -> Self {
        Self { rows: Some(self.rows.unwrap_or(1).saturating_mul(rows)), ..self.clone() }
    }
}

/// Returns the tests of a file.
pub(super) fn suite<'a>(file: &File<'a>, root: &'a Node) -> Suite<'a> {
    let mut suite = Suite::default();
    let around = Around { skip: build_tag(file, root), ..Around::default() };
    descend(file, root, &around, &mut suite, 0);
    replaced(file, root, &mut suite);
    suite
}

/// Go: a file with a build constraint is compiled only where the constraint holds.
fn build_tag(file: &File<'_>, root: &Node) -> Option<Skip> {
    if file.language != Language::Go {
        return None;
    }
    let tag = root.kids.iter().take_while(|kid| kid.kind == Kind::Comment).find(|comment| {
        let text = comment.raw();
        text.starts_with("//go:build") || text.starts_with("// +build")
    })?;
    let never =
        ["ignore", "never", "skip"].iter().any(|word| tag.raw().split_whitespace().any(|part| part == *word));
    Some(skipped(tag, !never))
}

pub(super) fn descend<'a>(
    file: &File<'a>,
    node: &'a Node,
    around: &Around,
    suite: &mut Suite<'a>,
    depth: usize,
) {
    if depth > 300 {
        return;
    }
    let deeper = |nodes: &'a [Node], around: &Around, suite: &mut Suite<'a>| {
        for node in nodes {
            descend(file, node, around, suite, depth + 1);
        }
    };
    match &node.kind {
        Kind::Class(name, bases) => {
            let inner = class(file, node, around, suite).inside(name);
            let inner = Around { rows: None, ..inner };
            // In such a class, methods are tests by their name alone.
            let inner = if bases.contains("TestCase") { Around { path: inner.path, ..inner } } else { inner };
            deeper(&node.kids, &inner, suite);
        }
        Kind::Function(function)
            if function.name == "f" && file.language == Language::Rust && node.marks.is_empty() =>
        {
            deeper(&node.kids, around, suite);
        }
        Kind::Function(_) => test(file, node, around, suite),
        Kind::Call if file.language == Language::Script => script::call(file, node, around, suite, depth),
        Kind::If => {
            let scope = Scope::new(file, node);
            let truth = node.kids.first().and_then(|condition| scope.truth(condition));
            for (index, branch) in node.kids.iter().enumerate().skip(1) {
                let skip = match truth {
                    Some(truth) if truth == (index == 1) => None,
                    // `if __name__ == "__main__"` and the like: not for tests.
                    Some(_) => Some(skipped(&node.kids[0], false)),
                    None => Some(skipped(&node.kids[0], true)),
                };
                descend(file, branch, &around.skipped(skip), suite, depth + 1);
            }
        }
        Kind::Loop => {
            let scope = Scope::new(file, node);
            let count = node.kids.first().and_then(|over| scope.entries(over));
            let inner = match count {
                Some(0) => around.skipped(Some(skipped(node.kids.first().unwrap_or(node), false))),
                Some(count) => around.rows(count),
                None => around.rows(MANY),
            };
            for body in node.kids.iter().skip(1) {
                descend(file, body, &inner, suite, depth + 1);
            }
        }
        Kind::Block => {
            let mut inner = around.clone();
            for kid in &node.kids {
                descend(file, kid, &inner, suite, depth + 1);
                if kid.kind == Kind::Return {
                    inner = inner.skipped(Some(skipped(kid, false)));
                }
            }
        }
        _ => deeper(&node.kids, around, suite),
    }
}

/// Reads the properties of a class or module that apply to all tests in it.
fn class<'a>(file: &File<'a>, node: &'a Node, around: &Around, suite: &mut Suite<'a>) -> Around {
    let skip = match file.language {
        Language::Python => {
            let names = Names::below(node);
            let off = names.get("__test__").filter(|value| value.text() == "False");
            let hidden = off.map(|value| skipped(value, false));
            hidden.or_else(|| decorators(file, node, suite).0)
        }
        Language::Rust => {
            let found = attributes(node);
            let tests =
                node.marks.iter().any(|mark| mark.text().contains("cfg(") && mark.text().contains("test"));
            if tests {
                suite.spans.push((node.line, node.last));
            }
            found.skip
        }
        Language::Java => java_class(file, node, around),
        Language::Script | Language::Go => None,
    };
    around.skipped(skip)
}

fn java_class(file: &File<'_>, node: &Node, around: &Around) -> Option<Skip> {
    let marks = super::skips::annotations(node);
    let words = node.marks.first().filter(|mark| mark.kind == Kind::Other);
    let word =
        |wanted: &str| words.is_some_and(|words| words.raw().split_whitespace().any(|word| word == wanted));
    let is_nested = node.marks.iter().any(|mark| mark.raw().starts_with("@Nested"));
    let jupiter = file.imports.keys().any(|name| name.contains("jupiter"));
    if word("abstract") {
        return marks.skip.or_else(|| Some(skipped(words.unwrap_or(node), true)));
    }
    if !around.path.is_empty() && jupiter && !is_nested && !word("static") {
        return marks.skip.or_else(|| {
            Some(Skip {
                line: node.line,
                text: "an inner class without @Nested".to_owned(),
                conditional: false,
            })
        });
    }
    marks.skip
}

/// Adds a function that may be a test.
fn test<'a>(file: &File<'a>, node: &'a Node, around: &Around, suite: &mut Suite<'a>) {
    let Some(function) = node.function() else { return };
    let name = function.name.as_str();
    let mut case = Case {
        name: name.to_owned(),
        path: around.path.clone(),
        line: node.line,
        last: node.last,
        function: Some(node),
        skip: around.skip.clone(),
        rows: around.rows.unwrap_or(1),
        fails: None,
    };
    let add =
        |skip: Option<Skip>| Around { skip: around.skip.clone(), ..Around::default() }.skipped(skip).skip;
    match file.language {
        Language::Python => {
            if !name.starts_with("test") {
                return;
            }
            let (skip, rows) = decorators(file, node, suite);
            case.skip = add(skip);
            case.rows = case.rows.saturating_mul(rows);
        }
        Language::Rust => {
            let found = attributes(node);
            if !found.is_test {
                return;
            }
            case.skip = add(found.skip);
            case.rows = case.rows.saturating_mul(found.rows);
            case.fails = found.fails;
        }
        Language::Go => {
            let kind =
                ["Test", "Fuzz", "Example", "Benchmark"].iter().find_map(|prefix| name.strip_prefix(prefix));
            let Some(rest) = kind.filter(|rest| !rest.starts_with(char::is_lowercase)) else { return };
            let head = node.raw().split('{').next().unwrap_or_default();
            let method = head.trim_start().starts_with("func (");
            if name == "TestMain" {
                let runs = node.any(&|node| node.kind == Kind::Call && node.called() == "Run");
                let exits = node.any(&|node| {
                    node.kind == Kind::Call
                        && node.called() == "Exit"
                        && node.args().first().is_some_and(|code| code.text() == "0")
                });
                if !runs || exits {
                    suite.marks.push(mark(node, Deed::Skips));
                }
                return;
            }
            let _ = rest;
            if !method && !head.contains("testing.") && !name.starts_with("Example") && !head.contains(".C)")
            {
                return;
            }
        }
        Language::Java => {
            let found = super::skips::annotations(node);
            let by_name = name.starts_with("test")
                && node.raw().contains("void")
                && file.imports.keys().any(|import| import.contains("junit.framework"));
            if !found.is_test && !by_name {
                return;
            }
            let words = node.marks.first().filter(|mark| mark.kind == Kind::Other);
            let private = words.filter(|words| words.raw().split_whitespace().any(|word| word == "private"));
            case.skip = add(found.skip.or_else(|| private.map(|words| skipped(words, false))));
            case.rows = case.rows.saturating_mul(found.rows);
            case.fails = found.fails;
        }
        Language::Script => return,
    }
    if case.rows == 0 {
        case.skip =
            Some(Skip { line: node.line, text: "its table has no rows".to_owned(), conditional: false });
    }
    suite.cases.push(case);
}

/// Python: a name that is reassigned later is no longer a test.
fn replaced<'a>(file: &File<'a>, root: &'a Node, suite: &mut Suite<'a>) {
    if file.language != Language::Python {
        return;
    }
    let assigned: Vec<(&str, &Node)> = root
        .kids
        .iter()
        .filter_map(|node| match &node.kind {
            Kind::Assign(name) => Some((name.as_str(), node)),
            _ => None,
        })
        .collect();
    for case in &mut suite.cases {
        let later = assigned
            .iter()
            .find(|(name, node)| *name == case.name && node.line > case.line && case.path.is_empty());
        if let Some((_, node)) = later {
            case.skip = Some(skipped(node, false));
        }
    }
    let mut index = 0;
    while index < suite.cases.len() {
        let (name, path) = (suite.cases[index].name.clone(), suite.cases[index].path.clone());
        let hidden = suite.cases[index + 1..].iter().any(|other| other.name == name && other.path == path);
        if hidden {
            let case = suite.cases.remove(index);
            suite.marks.extend(case.function.map(|function| mark(function, Deed::Skips)));
        } else {
            index += 1;
        }
    }
}

impl Fails {
    /// Classifies the error with which a test must end, as written.
    pub(super) fn by(error: &str) -> Self {
        let general = ["AssertionError", "Throwable", "AssertionFailedError"];
        if general.iter().any(|name| error.contains(name)) || error.trim() == "Error.class" {
            Self::Anyhow
        } else {
            Self::Specific
        }
    }
}
