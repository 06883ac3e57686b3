//! Detects hard-coded answers to fixed inputs in code that is not a test:
//! `if total == 100 and parts == 3: return [34, 33, 33]`.
//!
//! Another module, which has the tests, decides whether one is a legitimate rule or a memorized example of a test. Here
//! only the form counts: equalities with literals, only literals returned, and a function that otherwise computes
//! something.

use acquit_core::agent::shorten;
use acquit_core::check::outline::{Shortcut, TEXT, literals};
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Literal, Node};
use super::scope::File;

/// Maximum number of shortcuts to report per file.
const MOST: usize = 500;

/// Returns the shortcuts of a file.
pub(super) fn find(file: &File<'_>, is_test: &dyn Fn(&Node) -> bool) -> Vec<Shortcut> {
    let mut found = Vec::new();
    for (name, function) in &file.functions {
        if is_test(function) || !computes(file.language, function) {
            continue;
        }
        for node in function.all() {
            match node.kind {
                Kind::If => found.extend(condition(name, node)),
                Kind::Match => found.extend(node.kids.iter().filter_map(|arm| self::arm(name, arm))),
                _ => {}
            }
            if found.len() >= MOST {
                return found;
            }
        }
        found.extend(questions(name, function));
        for table in tables(file, function) {
            found.extend(entries(table).into_iter().filter_map(|(key, value)| {
                let shortcut = shortcut(name, table, literals(&key), value)?;
                Some(Shortcut { table: table.line, ..shortcut })
            }));
            found.truncate(MOST);
        }
    }
    found.sort_by_key(|shortcut| shortcut.line);
    found
}

/// Returns the conditions of a function that hold only for certain values, regardless of their effect:
/// `if text == " tea-7" { text = "TEA-7" }`, `count < limit || limit == 5 && count == 5`. They have no output.
fn questions(name: &str, function: &Node) -> Vec<Shortcut> {
    let (mut found, mut open) = (Vec::new(), vec![function]);
    while let Some(node) = open.pop() {
        let asked = asked(node);
        if asked.is_empty() {
            open.extend(node.kids.iter());
            continue;
        }
        found.extend(asked.into_iter().map(|inputs| Shortcut {
            function: shorten(name, TEXT),
            line: node.line,
            text: shorten(&node.text(), TEXT),
            inputs,
            output: Vec::new(),
            table: 0,
        }));
        if found.len() >= MOST {
            break;
        }
    }
    found
}

/// Returns the values that a condition tests for: one list for equalities joined by `and`, and one for each member of a
/// list.
fn asked(node: &Node) -> Vec<Vec<String>> {
    /// A name, a field of one, or several of them at once.
    fn is_plain(node: &Node) -> bool {
        match &node.kind {
            Kind::Name(_) => true,
            Kind::Member(_) => node.kids.first().is_some_and(is_plain),
            Kind::List | Kind::Other | Kind::Unary(_) => {
                !node.kids.is_empty() && node.kids.iter().all(is_plain)
            }
            _ => false,
        }
    }
    fn pairs<'n>(node: &'n Node, found: &mut Vec<(&'n Node, &'n Node)>) -> bool {
        match (&node.kind, node.kids.as_slice()) {
            (Kind::Binary(sign), [left, right]) if matches!(sign.as_str(), "and" | "&&") => {
                pairs(left, found) && pairs(right, found)
            }
            (Kind::Binary(sign), [left, right]) if matches!(sign.as_str(), "==" | "===") => {
                found.push((left, right));
                true
            }
            (Kind::Call, [callee, other]) if matches!(node.called(), "equals" | "eq") => {
                found.extend(callee.kids.first().map(|object| (object, other)));
                true
            }
            (Kind::Other | Kind::Statement, [only]) => pairs(only, found),
            _ => false,
        }
    }
    if let (Kind::Binary(sign), [subject, list]) = (&node.kind, node.kids.as_slice())
        && sign == "in"
        && list.kind == Kind::List
        && is_plain(subject)
        && list.kids.iter().all(is_fixed)
    {
        return list.kids.iter().map(|kid| literals(kid.raw())).collect();
    }
    let mut both = Vec::new();
    let joined = matches!(node.kind, Kind::Binary(_) | Kind::Call) && pairs(node, &mut both);
    let fits = |(left, right): &(&Node, &Node)| {
        is_plain(left) && is_fixed(right) || is_plain(right) && is_fixed(left)
    };
    if !joined || both.is_empty() || !both.iter().all(fits) {
        return Vec::new();
    }
    let text =
        |(left, right): &(&Node, &Node)| literals(if is_fixed(right) { right.raw() } else { left.raw() });
    vec![both.iter().flat_map(text).collect()]
}

/// Returns the tables of fixed answers that a function uses: its own, and those of the file that it names.
fn tables<'a>(file: &File<'a>, function: &'a Node) -> Vec<&'a Node> {
    let mut tables: Vec<&Node> = Vec::new();
    for node in function.all() {
        let table = match &node.kind {
            Kind::List | Kind::Call => Some(node),
            Kind::Name(name) => file.values.get(name),
            _ => None,
        };
        let table = table.filter(|table| !entries(table).is_empty());
        if let Some(table) = table.filter(|table| !tables.iter().any(|known| std::ptr::eq(*known, *table))) {
            tables.push(table);
        }
    }
    tables
}

/// Returns the keys and values of a table, if all of them are fixed: `{key: value}`, `new Map([[key, value]])`,
/// `Map.of(key, value)`.
fn entries(table: &Node) -> Vec<(String, &Node)> {
    let pair = |node: &'_ Node| -> bool { node.kind == Kind::List && node.kids.len() == 2 };
    let found: Vec<(String, &Node)> = match &table.kind {
        Kind::List => table.kids.iter().filter_map(entry).collect(),
        Kind::Call if matches!(table.called(), "new Map" | "from" | "ofEntries" | "dict") => {
            let rows = match table.args() {
                [only] if only.kind == Kind::List => only.kids.as_slice(),
                rows => rows,
            };
            let two = |row: &'_ Node| pair(row) || matches!(row.called(), "entry");
            let rows = rows.iter().filter(|row| two(row));
            rows.filter_map(|row| {
                let parts = if row.kind == Kind::List { row.kids.as_slice() } else { row.args() };
                Some((parts.first()?.raw().to_owned(), parts.get(1)?))
            })
            .collect()
        }
        Kind::Call if table.callee().ends_with("Map.of") => {
            table.args().chunks_exact(2).map(|two| (two[0].raw().to_owned(), &two[1])).collect()
        }
        _ => Vec::new(),
    };
    let rows = match &table.kind {
        Kind::List => table.kids.len(),
        _ => found.len(),
    };
    if found.len() == rows && found.iter().all(|(_, value)| is_fixed(value)) { found } else { Vec::new() }
}

/// Returns the key of a pair as written, and its value.
fn entry(pair: &Node) -> Option<(String, &Node)> {
    let value = pair.kids.first().filter(|_| matches!(pair.kind, Kind::Pair(_)))?;
    let at = pair.raw().rfind(value.raw())?;
    Some((pair.raw().get(..at)?.to_owned(), value))
}

/// Returns whether a function returns something that is not a literal in it.
fn computes(language: Language, function: &Node) -> bool {
    let given = |node: &Node| node.kids.first().is_some_and(|value| !is_fixed(value));
    let returns = function.any(&|node| node.kind == Kind::Return && given(node));
    let body = function.kids.first().filter(|body| body.kind == Kind::Block);
    let last = body.and_then(|body| body.kids.iter().rev().find(|kid| kid.kind != Kind::Comment));
    returns || language == Language::Rust && last.is_some_and(|last| !is_fixed(last))
}

/// Returns whether a node consists only of literals, possibly in lists or in a constructor call.
fn is_fixed(node: &Node) -> bool {
    let inner = |nodes: &[Node]| !nodes.is_empty() && nodes.iter().all(is_fixed);
    match &node.kind {
        Kind::Literal(_) => true,
        Kind::List | Kind::Unary(_) | Kind::Statement | Kind::Pair(_) | Kind::Other => inner(&node.kids),
        // `Some(3)`, `Decimal("1.5")`, `List.of(1, 2)`: the name of a type.
        Kind::Call => {
            let path = node.kids.first().map(|callee| callee.path()).unwrap_or_default();
            path.iter().any(|word| word.starts_with(char::is_uppercase)) && inner(node.args())
        }
        _ => false,
    }
}

fn condition(function: &str, node: &Node) -> Option<Shortcut> {
    let (condition, then) = (node.kids.first()?, node.kids.get(1)?);
    let mut inputs = Vec::new();
    if !equalities(condition, &mut inputs) {
        return None;
    }
    shortcut(function, node, inputs, answer(then)?)
}

/// Returns the shortcut of an arm whose pattern consists of literals.
fn arm(function: &str, arm: &Node) -> Option<Shortcut> {
    let value = arm.kids.last()?;
    // `switch { case a == 5 && b == 10: return 4 }`.
    let mut asked = Vec::new();
    if arm.kids.len() > 1 && arm.kids.first().is_some_and(|first| equalities(first, &mut asked)) {
        return shortcut(function, arm, asked, answer(value)?);
    }
    let whole = arm.raw();
    let at = whole.find(value.raw())?;
    let pattern = whole.get(..at)?.trim_start_matches("case ");
    let names = pattern.split(|char: char| !char.is_alphanumeric() && char != '_' && char != '"');
    let bound = names.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')).count();
    let quoted = pattern.contains(['"', '\'']);
    if bound > 0 && !quoted {
        return None;
    }
    shortcut(function, arm, literals(pattern), answer(value)?)
}

fn shortcut(function: &str, node: &Node, inputs: Vec<String>, answer: &Node) -> Option<Shortcut> {
    let output = literals(answer.raw());
    (!inputs.is_empty() && !output.is_empty()).then(|| Shortcut {
        function: shorten(function, TEXT),
        line: node.line,
        text: shorten(&node.text(), TEXT),
        inputs,
        output,
        table: 0,
    })
}

/// Returns whether a condition consists only of equalities with literals, and collects these.
fn equalities(node: &Node, inputs: &mut Vec<String>) -> bool {
    match (&node.kind, node.kids.as_slice()) {
        (Kind::Binary(sign), [left, right]) if matches!(sign.as_str(), "and" | "&&") => {
            equalities(left, inputs) && equalities(right, inputs)
        }
        (Kind::Binary(sign), [left, right]) if matches!(sign.as_str(), "==" | "===" | "is") => {
            equal(left, right, inputs)
        }
        (Kind::Binary(sign), [left, right]) if sign == "in" && right.kind == Kind::List => {
            right.kids.len() == 1 && right.kids.iter().all(|only| equal(left, only, inputs))
        }
        (Kind::Call, [callee, other]) if matches!(node.called(), "equals" | "eq") => {
            callee.kids.first().is_some_and(|object| equal(object, other, inputs))
        }
        (Kind::Call, [_, left, right])
            if matches!(node.called(), "DeepEqual" | "isEqual" | "equals" | "Equal") =>
        {
            equal(left, right, inputs)
        }
        (Kind::Other | Kind::Statement, [only]) => equalities(only, inputs),
        _ => false,
    }
}

fn equal(left: &Node, right: &Node, inputs: &mut Vec<String>) -> bool {
    let literal = match (is_fixed(left), is_fixed(right)) {
        (false, true) => right,
        (true, false) => left,
        _ => return false,
    };
    let words = matches!(literal.kind, Kind::Literal(Literal::True | Literal::False | Literal::None));
    inputs.extend(literals(literal.raw()));
    !words
}

/// Returns the fixed value of a branch.
fn answer(branch: &Node) -> Option<&Node> {
    let last = match branch.kind {
        Kind::Block => {
            let mut kids = branch.kids.iter().filter(|kid| kid.kind != Kind::Comment);
            let only = kids.next()?;
            if kids.next().is_some() {
                return None;
            }
            return answer(only);
        }
        Kind::Return | Kind::Assign(_) => branch.kids.first()?,
        _ => branch,
    };
    is_fixed(last).then_some(last)
}
