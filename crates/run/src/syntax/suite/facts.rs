//! What an asserted condition requires: how much, of what, or nothing at all.

use acquit_core::check::outline::Strength;

use super::super::ir::{Kind, Literal, Node};
use super::scope::Scope;

/// The requirement of one assertion.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    /// Something that can be false.
    Live { subject: String, about: Vec<String>, expected: Option<String>, strength: Strength },
    /// Nothing, with the reason.
    Dead(String),
}

/// Whether a condition must hold or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Must {
    Hold,
    Fail,
}

impl Must {
    fn other(self) -> Self {
        match self {
            Self::Hold => Self::Fail,
            Self::Fail => Self::Hold,
        }
    }
}

/// Calls that check a type, or that there is something.
const SHAPES: [&str; 24] = [
    "isinstance",
    "hasattr",
    "callable",
    "is_ok",
    "is_err",
    "is_some",
    "is_none",
    "isArray",
    "isFinite",
    "isNaN",
    "hasOwnProperty",
    "isPresent",
    "issubclass",
    "any_value",
    "isOk",
    "isErr",
    "is_null",
    "isInstance",
    "exists",
    "is_object",
    "is_string",
    "is_array",
    "isDefined",
    "isObject",
];
/// Calls that check a part.
const PARTS: [&str; 26] = [
    "contains",
    "includes",
    "startswith",
    "endswith",
    "startsWith",
    "endsWith",
    "starts_with",
    "ends_with",
    "any",
    "all",
    "test",
    "match",
    "search",
    "fullmatch",
    "issubset",
    "issuperset",
    "Contains",
    "HasPrefix",
    "HasSuffix",
    "some",
    "every",
    "contains_key",
    "containsKey",
    "matches",
    "MatchString",
    "anyMatch",
];
/// Calls that compare.
const EQUALS: [&str; 12] = [
    "equals",
    "eq",
    "DeepEqual",
    "isclose",
    "deepEqual",
    "isEqual",
    "array_equal",
    "allclose",
    "matches!",
    "equalsIgnoreCase",
    "Equal",
    "compare_digest",
];

impl Scope<'_, '_> {
    /// Returns the facts that follow from a condition being true or false.
    pub(super) fn facts(&self, node: &Node, must: Must) -> Vec<Fact> {
        let mut facts = Vec::new();
        self.add_facts(node, must, 8, &mut facts);
        facts
    }

    fn add_facts(&self, node: &Node, must: Must, left: usize, facts: &mut Vec<Fact>) {
        let Some(left) = left.checked_sub(1) else { return };
        if self.truth(node) == Some(must == Must::Hold) {
            let why = match (&node.kind, must) {
                (Kind::List, _) => "a list or tuple that is not empty is always true",
                (Kind::Binary(sign), _) if matches!(sign.as_str(), "or" | "||") => {
                    "one side of the `or` is always true"
                }
                (_, Must::Hold) => "it is always true",
                (_, Must::Fail) => "it is always false",
            };
            return facts.push(Fact::Dead(why.to_owned()));
        }
        match &node.kind {
            Kind::Unary(sign) if matches!(sign.as_str(), "!" | "not") => {
                if let Some(inner) = node.kids.first() {
                    self.add_facts(inner, must.other(), left, facts);
                }
            }
            Kind::Await => {
                if let Some(inner) = node.kids.first() {
                    self.add_facts(inner, must, left, facts);
                }
            }
            Kind::Binary(sign) if node.kids.len() == 2 => match (sign.as_str(), must) {
                ("and" | "&&", Must::Hold) | ("or" | "||", Must::Fail) => {
                    self.add_facts(&node.kids[0], must, left, facts);
                    self.add_facts(&node.kids[1], must, left, facts);
                }
                ("or" | "||", Must::Hold) if are_opposite(&node.kids[0], &node.kids[1]) => {
                    facts.push(Fact::Dead("one of both sides always holds".to_owned()));
                }
                ("or" | "||" | "and" | "&&", _) => facts.push(self.live(node, None, Strength::Partial)),
                (sign, _) => facts.push(self.comparison(sign, &node.kids[0], &node.kids[1], must)),
            },
            Kind::Call => facts.push(self.predicate(node, must)),
            // `ok := f(); if !ok`: the value behind the name says more, unless it is a plain value.
            Kind::Name(name) => match self.locals.get(name) {
                Some(value) if matches!(value.kind, Kind::Binary(_) | Kind::Unary(_)) => {
                    self.add_facts(value, must, left, facts);
                }
                _ => facts.push(self.live(node, None, Strength::Partial)),
            },
            _ => facts.push(self.live(node, None, Strength::Partial)),
        }
    }

    pub(super) fn live(&self, subject: &Node, expected: Option<&Node>, strength: Strength) -> Fact {
        Fact::Live {
            subject: self.resolved(subject),
            about: self.about(subject),
            expected: expected.map(|expected| self.resolved(expected)),
            strength,
        }
    }

    fn predicate(&self, call: &Node, must: Must) -> Fact {
        let word = call.called();
        let object = call.kids.first().and_then(|callee| callee.kids.first());
        if EQUALS.contains(&word) {
            let pair = match (call.args(), object) {
                ([pattern_of, pattern], _) => Some((pattern_of, pattern)),
                ([other], Some(object)) => Some((object, other)),
                _ => None,
            };
            if let Some((left, right)) = pair {
                if word == "matches!" && right.text() == "_" {
                    return Fact::Dead("`_` matches everything".to_owned());
                }
                return match must {
                    Must::Hold => self.equality(left, right),
                    Must::Fail => self.live(left, Some(right), Strength::Partial),
                };
            }
        }
        if word == "isinstance"
            && must == Must::Hold
            && call.args().get(1).is_some_and(|it| it.text() == "object")
        {
            return Fact::Dead("everything is an object".to_owned());
        }
        let strength = if SHAPES.contains(&word) { Strength::Shape } else { Strength::Partial };
        let subject = if SHAPES.contains(&word) || PARTS.contains(&word) {
            // `isinstance(x, T)`, but `x.contains(y)`.
            let own = object.filter(|_| !matches!(word, "isArray" | "isFinite" | "isNaN" | "isInstance"));
            own.or_else(|| call.args().first()).unwrap_or(call)
        } else {
            call
        };
        self.live(subject, None, strength)
    }

    /// Judges two values that must be equal.
    pub(super) fn equality(&self, left: &Node, right: &Node) -> Fact {
        if self.is_constant(left) && self.is_constant(right) {
            return Fact::Dead("it compares constants".to_owned());
        }
        let (a, b) = (self.resolved(left), self.resolved(right));
        if a == b || left.text() == right.text() {
            // Two values that are constructed alike: the code under test decides whether they are equal.
            let made = |node: &Node| is_made(node) && node.args().iter().all(|arg| self.is_constant(arg));
            if self.file.language != acquit_core::check::source::Language::Go && made(left) && made(right) {
                return self.live(left, None, Strength::Shape);
            }
            return Fact::Dead("it compares a value with itself".to_owned());
        }
        let (subject, expected) = self.sides(left, right);
        // `x == true` says as much as `x`.
        if let Kind::Literal(literal @ (Literal::True | Literal::False)) = expected.kind {
            let must = if literal == Literal::True { Must::Hold } else { Must::Fail };
            if let [fact] = self.facts(subject, must).as_slice() {
                return fact.clone();
            }
        }
        if matches!(&subject.kind, Kind::Unary(sign) if sign == "typeof") || subject.called() == "type" {
            return self.live(subject, Some(expected), Strength::Shape);
        }
        // The number of elements is only a part of the value, unless it is zero.
        let some = is_length(subject) && expected.text() != "0";
        let most = if some { Strength::Partial } else { Strength::Exact };
        self.live(subject, Some(expected), Self::precision(expected).min(most))
    }

    /// Decides which of two sides is the subject and which is the expected value.
    pub(super) fn sides<'n>(&self, left: &'n Node, right: &'n Node) -> (&'n Node, &'n Node) {
        use acquit_core::check::source::Language;
        // A name counts as the call whose result it holds.
        let calls = |node: &Node| {
            node.any(&|node| match &node.kind {
                Kind::Call => true,
                Kind::Name(name) => {
                    self.locals.get(name).is_some_and(|value| value.any(&|node| node.kind == Kind::Call))
                }
                _ => false,
            })
        };
        if self.is_constant(left) && !self.is_constant(right) {
            return (right, left);
        }
        let expected_first = self.file.language == Language::Java;
        let only_right = calls(right) && !calls(left) && !self.is_constant(right);
        if only_right || (expected_first && !self.is_constant(right)) { (right, left) } else { (left, right) }
    }

    /// Returns whether a value is created in place, so that nothing else can be identical to it or, without `identity`,
    /// equal to it.
    pub(super) fn is_new(node: &Node, identity: bool) -> bool {
        match &node.kind {
            Kind::Function(_) => true,
            Kind::Name(name) => name == "NaN",
            Kind::Member(name) => name == "NaN" && node.text().starts_with("Number"),
            Kind::List => identity,
            Kind::Call => {
                let word = node.called();
                matches!(word, "Symbol" | "object" | "new Object" | "uuid4" | "randomUUID")
                    || identity && word.starts_with("new ")
                    || word == "float"
                        && node.args().first().is_some_and(|arg| arg.raw().to_lowercase().contains("nan"))
            }
            _ => false,
        }
    }

    /// Returns how much an expected value says: one that matches anything says little.
    pub(super) fn precision(expected: &Node) -> Strength {
        let mut strength = Strength::Exact;
        let top = expected.callee();
        if top.ends_with("expect.anything") || top.ends_with("expect.any") || top.ends_with("mock.ANY") {
            return Strength::Shape;
        }
        for call in expected.all().into_iter().filter(|node| node.kind == Kind::Call) {
            match call.called() {
                "objectContaining" | "arrayContaining" | "stringContaining" | "stringMatching" => {
                    strength = strength.min(Strength::Partial);
                }
                "any" | "anything" if call.callee().starts_with("expect.") => {
                    strength = strength.min(Strength::Partial);
                }
                "approx" if call.args().iter().skip(1).any(is_wide) => strength = Strength::Partial,
                _ => {}
            }
        }
        if matches!(expected.text().as_str(), "ANY" | "mock.ANY") { Strength::Shape } else { strength }
    }

    fn comparison(&self, sign: &str, left: &Node, right: &Node, must: Must) -> Fact {
        let nothing = |node: &Node| matches!(node.kind, Kind::Literal(Literal::None)) || node.text() == "nil";
        match (sign, must) {
            ("==" | "===" | "is", Must::Hold) | ("!=" | "!==" | "is not", Must::Fail) => {
                // Go: `if err != nil { t.Fatal }` only says that nothing failed.
                let error = self.file.language == acquit_core::check::source::Language::Go
                    && nothing(right)
                    && left.text().to_lowercase().contains("err");
                if error { self.live(left, None, Strength::Shape) } else { self.equality(left, right) }
            }
            ("==" | "===" | "is" | "!=" | "!==" | "is not", _)
                if [left, right]
                    .iter()
                    .any(|side| Self::is_new(side, matches!(sign, "is" | "is not" | "===" | "!=="))) =>
            {
                Fact::Dead("nothing can be the same as a value that is made for it".to_owned())
            }
            ("==" | "===" | "is" | "!=" | "!==" | "is not", _) => {
                if nothing(left) || nothing(right) {
                    let subject = if nothing(right) { left } else { right };
                    return self.live(subject, None, Strength::Shape);
                }
                let (subject, expected) = self.sides(left, right);
                self.live(subject, Some(expected), Strength::Partial)
            }
            // A float is compared with a tolerance.
            ("<" | "<=", Must::Hold)
                if let Some((actual, expected)) = difference(left)
                    && is_narrow(right) =>
            {
                let (subject, expected) = self.sides(actual, expected);
                self.live(subject, Some(expected), Strength::Exact)
            }
            (">" | ">=", Must::Fail)
                if let Some((actual, expected)) = difference(left)
                    && is_narrow(right) =>
            {
                let (subject, expected) = self.sides(actual, expected);
                self.live(subject, Some(expected), Strength::Exact)
            }
            (">=" | ">", Must::Hold) if is_length(left) && is_below(right, sign) => {
                Fact::Dead("a length is never negative".to_owned())
            }
            ("<=" | "<", Must::Hold) if is_length(right) && is_below(left, sign) => {
                Fact::Dead("a length is never negative".to_owned())
            }
            ("<", Must::Fail) if is_length(left) && right.text() == "0" => {
                Fact::Dead("a length is never negative".to_owned())
            }
            ("in", Must::Hold)
                if right.kind == Kind::List && right.kids.iter().any(|kid| kid.text() == left.text()) =>
            {
                Fact::Dead("it compares a value with itself".to_owned())
            }
            ("in", Must::Hold) if right.kind == Kind::List && right.kids.len() == 1 => {
                self.equality(left, &right.kids[0])
            }
            ("in" | "not in", _) => {
                let (subject, expected) = if self.is_constant(left) { (right, left) } else { (left, right) };
                self.live(subject, Some(expected), Strength::Partial)
            }
            ("instanceof", _) => self.live(left, None, Strength::Shape),
            _ => {
                let (subject, expected) = self.sides(left, right);
                self.live(subject, Some(expected), Strength::Partial)
            }
        }
    }
}

/// Returns whether a tolerance accepts almost anything.
pub(super) fn is_wide(node: &Node) -> bool {
    let value = node.kids.first().filter(|_| matches!(node.kind, Kind::Pair(_))).unwrap_or(node);
    let number = value.raw().replace('_', "");
    let wide = number.parse::<f64>().is_ok_and(|number| number >= 0.5);
    match &node.kind {
        Kind::Pair(key) if matches!(key.as_str(), "places" | "decimal") => {
            number.parse::<f64>().is_ok_and(|number| number <= 0.0)
        }
        Kind::Pair(key) => {
            matches!(key.as_str(), "rel" | "abs" | "delta" | "rtol" | "atol" | "rel_tol" | "abs_tol") && wide
        }
        Kind::Literal(Literal::Number) => wide,
        _ => false,
    }
}

/// Returns the two sides of `(a - b).abs()`, `abs(a - b)`, `math.Abs(a - b)`.
fn difference(node: &Node) -> Option<(&Node, &Node)> {
    let call = Some(node).filter(|node| matches!(node.called(), "abs" | "Abs" | "fabs"))?;
    let object = call.kids.first().and_then(|callee| callee.kids.first());
    let inner = call.args().first().or(object)?;
    match (&inner.kind, inner.kids.as_slice()) {
        (Kind::Binary(sign), [left, right]) if sign == "-" => Some((left, right)),
        _ => None,
    }
}

/// Returns whether a tolerance covers only rounding errors of floats and no other result.
fn is_narrow(node: &Node) -> bool {
    let text = node.raw().replace('_', "");
    text.ends_with("EPSILON") || text.parse::<f64>().is_ok_and(|number| number <= 0.001)
}

/// Returns whether a value is created in place by a constructor.
fn is_made(node: &Node) -> bool {
    let path = node.kids.first().filter(|_| node.kind == Kind::Call).map(Node::path).unwrap_or_default();
    match path.as_slice() {
        [only] => only.starts_with("new ") || only.starts_with(char::is_uppercase),
        [.., class, "new" | "from" | "of" | "default"] => class.starts_with(char::is_uppercase),
        _ => false,
    }
}

pub(super) fn is_length(node: &Node) -> bool {
    match &node.kind {
        Kind::Call => matches!(node.called(), "len" | "length" | "size" | "count" | "Len"),
        Kind::Member(name) => matches!(name.as_str(), "length" | "size"),
        _ => false,
    }
}

/// Detects `a > 0` and `a <= 0`, `a` and `not a`, `a.is_ok()` and `a.is_err()`.
fn are_opposite(left: &Node, right: &Node) -> bool {
    const SIGNS: [(&str, &str); 5] =
        [("==", "!="), ("===", "!=="), (">", "<="), ("<", ">="), ("is", "is not")];
    const CALLS: [(&str, &str); 3] = [("is_ok", "is_err"), ("is_some", "is_none"), ("isPresent", "isEmpty")];
    let either = |pairs: &[(&str, &str)], a: &str, b: &str| {
        pairs.iter().any(|(one, other)| (*one, *other) == (a, b) || (*other, *one) == (a, b))
    };
    match (&left.kind, &right.kind) {
        (Kind::Binary(a), Kind::Binary(b)) => {
            let same = |at: usize| match (left.kids.get(at), right.kids.get(at)) {
                (Some(left), Some(right)) => left.text() == right.text(),
                _ => false,
            };
            either(&SIGNS, a, b) && same(0) && same(1)
        }
        (Kind::Unary(sign), _) if matches!(sign.as_str(), "!" | "not") => {
            left.kids.first().is_some_and(|inner| inner.text() == right.text())
        }
        (_, Kind::Unary(sign)) if matches!(sign.as_str(), "!" | "not") => {
            right.kids.first().is_some_and(|inner| inner.text() == left.text())
        }
        (Kind::Call, Kind::Call) => {
            let object = |call: &Node| call.kids.first()?.kids.first().map(Node::text);
            either(&CALLS, left.called(), right.called())
                && object(left).is_some()
                && object(left) == object(right)
        }
        _ => false,
    }
}

/// Detects `>= 0`, `> -1`.
pub(super) fn is_below(node: &Node, sign: &str) -> bool {
    let number = node.text().parse::<f64>();
    number.is_ok_and(|number| number < 0.0 || (number == 0.0 && sign.contains('=')))
}
