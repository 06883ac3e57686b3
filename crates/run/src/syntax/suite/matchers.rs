//! Assertions that are calls: `expect(x).toBe(y)`, `assertEquals(x, y)`, `assert_eq!(x, y)`, `require.NoError(t, err)`,
//! and those of other common libraries.
//!
//! The words in the name of a matcher show what it demands, because libraries agree on them. An unknown name counts as
//! an assertion of full strength: it only matters whether it still exists afterwards.

use acquit_core::check::outline::Strength;
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Node};
use super::facts::{Fact, Must, is_below, is_length, is_wide};
use super::scope::Scope;
use super::vocabulary::{
    FILLERS, GENERAL, PROPERTIES, ROOTS, asserts_by_name, essential, is_equality, is_identity, is_throwing,
    strength, without_message,
};

pub(super) struct Assertion {
    pub(super) facts: Vec<Fact>,
    /// What happens to assertions in the functions passed to it.
    pub(super) inner: Inner,
    /// Whether it takes effect only if it is awaited or returned.
    pub(super) promised: bool,
    /// Whether it demands that the code passed to it throws.
    pub(super) throws: bool,
}

/// What happens to assertions in the functions passed to an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    /// They take effect.
    Made,
    /// They are expected to fail.
    Inverted,
}

struct Link<'n> {
    name: &'n str,
    args: Option<&'n [Node]>,
}

/// Returns the call or name that a chain starts with, and its links.
fn chain(node: &Node) -> (&Node, Vec<Link<'_>>) {
    let (mut links, mut node) = (Vec::new(), node);
    loop {
        let next = match (&node.kind, node.kids.first()) {
            (Kind::Call, Some(callee)) => match (&callee.kind, callee.kids.first()) {
                (Kind::Member(name), Some(object)) => {
                    links.push(Link { name, args: Some(node.args()) });
                    object
                }
                _ => break,
            },
            (Kind::Member(name), Some(object)) => {
                links.push(Link { name, args: None });
                object
            }
            (Kind::Await | Kind::Statement, Some(inner)) => inner,
            _ => break,
        };
        node = next;
    }
    links.reverse();
    (node, links)
}

impl Scope<'_, '_> {
    /// Returns what a node asserts, if it is an assertion.
    pub(super) fn assertion(&self, node: &Node) -> Option<Assertion> {
        let (root, links) = chain(node);
        if root.kind == Kind::Call && (ROOTS.contains(&root.called()) || root.callee() == "expect.soft") {
            return self.fluent(root, &links);
        }
        // `expect.soft(x).toBe(y)`, `Assertions.assertThat(x).isEqualTo(y)`: the root call is a link of a name.
        if let Some(at) = links.iter().position(|link| {
            link.args.is_some() && (ROOTS.contains(&link.name) && link.name != "then" || link.name == "soft")
        }) && matches!(root.kind, Kind::Name(_))
        {
            return Some(self.matched(links[at].args.unwrap_or_default(), &links[at + 1..], links[at].name));
        }
        // `value.should.equal(3)`, `value.Should().Be(3)`.
        if let Some(at) = links.iter().position(|link| matches!(link.name, "should" | "Should"))
            && links.len() > at + 1
        {
            return Some(self.matched(std::slice::from_ref(root), &links[at + 1..], "should"));
        }
        let call = if node.kind == Kind::Call { node } else { return None };
        self.plain(call)
    }

    fn fluent(&self, root: &Node, links: &[Link<'_>]) -> Option<Assertion> {
        let word = root.called();
        if word == "then" && !links.iter().any(|link| link.name.starts_with("is") || link.name == "should") {
            return None;
        }
        if links.is_empty() && matches!(root.args(), [_, _, ..]) {
            return self.plain(root);
        }
        Some(self.matched(root.args(), links, word))
    }

    /// Judges `expect(subject)` and the links after it.
    fn matched(&self, args: &[Node], links: &[Link<'_>], root: &str) -> Assertion {
        let mut assertion =
            Assertion { facts: Vec::new(), inner: Inner::Made, promised: false, throws: false };
        let dead = |why: &str| Fact::Dead(why.to_owned());
        assertion.promised =
            links.iter().any(|link| matches!(link.name, "resolves" | "rejects" | "eventually"));
        let negated = links.iter().any(|link| matches!(link.name, "not" | "NotTo" | "ToNot"));
        let made = links.iter().filter(|link| {
            !FILLERS.contains(&link.name) && (link.args.is_some() || PROPERTIES.contains(&link.name))
                || (link.args.is_some_and(|args| !args.is_empty()) && matches!(link.name, "a" | "an" | "is"))
        });
        let mut any = false;
        for link in made {
            any = true;
            if matches!(
                link.name,
                "as" | "describedAs" | "extracting" | "withFailMessage" | "usingRecursiveComparison"
            ) {
                any = link.name != "as";
                continue;
            }
            let Some(subject) = args.first() else {
                assertion.facts.push(dead("nothing is asserted about"));
                continue;
            };
            let given = link.args.unwrap_or_default();
            // Gomega and hamcrest: the matcher is an argument.
            let (name, given) = match (link.name, given) {
                ("To" | "NotTo" | "ToNot" | "Should" | "ShouldNot", [matcher])
                    if matcher.kind == Kind::Call =>
                {
                    (matcher.called(), matcher.args())
                }
                (name, given) => (name, given),
            };
            let throws = essential(name).starts_with("throw") || root == "assertThatThrownBy";
            if throws {
                let general = given
                    .first()
                    .is_none_or(|error| GENERAL.contains(&error.text().trim_end_matches(".class")));
                if general && !negated {
                    assertion.inner = Inner::Inverted;
                }
                assertion.throws |= !negated;
                let strength = if general || negated { Strength::Shape } else { Strength::Exact };
                assertion.facts.push(self.thrown(subject, given.first(), strength));
                continue;
            }
            assertion.facts.extend(self.one_match(subject, name, given, negated));
        }
        if !any && assertion.facts.is_empty() {
            let why = if links.is_empty() { "it has no matcher" } else { "its matcher is not called" };
            assertion.facts.push(dead(why));
        }
        assertion
    }

    /// Judges one matcher on one subject.
    fn one_match(&self, subject: &Node, name: &str, given: &[Node], negated: bool) -> Vec<Fact> {
        let essence = essential(name);
        let truth = match essence.as_str() {
            "true" | "truthy" | "ok" => Some(Must::Hold),
            "false" | "falsy" => Some(Must::Fail),
            "" | "equal" | "strictequal" | "equalto" | "eql" => match given {
                [only] if only.text() == "true" => Some(Must::Hold),
                [only] if only.text() == "false" => Some(Must::Fail),
                _ => None,
            },
            _ => None,
        };
        if let Some(must) = truth {
            let must = match (must, negated) {
                (must, false) => must,
                (Must::Hold, true) => Must::Fail,
                (Must::Fail, true) => Must::Hold,
            };
            let lax = matches!(essence.as_str(), "truthy" | "falsy" | "ok");
            // Whether a comparison holds is exact; whether a value is truthy is not.
            let facts = self.facts(subject, must);
            let bare = matches!(subject.kind, Kind::Call | Kind::Name(_) | Kind::Member(_) | Kind::Await);
            return match facts.as_slice() {
                [Fact::Live { subject, about, expected, .. }] if lax && bare => vec![Fact::Live {
                    subject: subject.clone(),
                    about: about.clone(),
                    expected: expected.clone(),
                    strength: Strength::Shape,
                }],
                _ => facts,
            };
        }
        if essence.contains("greater") && is_length(subject) {
            let sign = if essence.contains("equal") { ">=" } else { ">" };
            if given.first().is_some_and(|limit| is_below(limit, sign)) {
                return vec![Fact::Dead("a length is never negative".to_owned())];
            }
        }
        let mut strength = strength(name, given.len());
        if let Some(expected) = given.first() {
            let inner = expected.called();
            let trivial = matches!(inner, "notNullValue" | "anything" | "not_none" | "instanceOf" | "any");
            if trivial {
                strength = Strength::Shape;
            } else if strength == Strength::Exact {
                let (same, fixed) = (
                    self.resolved(expected) == self.resolved(subject),
                    self.is_constant(expected) && self.is_constant(subject),
                );
                if !negated && (same || fixed) {
                    let why = if same { "it compares a value with itself" } else { "it compares constants" };
                    return vec![Fact::Dead(why.to_owned())];
                }
                let least = given.iter().map(Self::precision).min();
                strength = strength.min(least.unwrap_or(strength));
                if matches!(&subject.kind, Kind::Unary(sign) if sign == "typeof") {
                    strength = Strength::Shape;
                }
                let digits = essence.contains("close").then(|| given.get(1)).flatten();
                if digits.is_some_and(|digits| digits.text().parse::<f64>().is_ok_and(|digits| digits <= 0.0))
                {
                    strength = Strength::Partial;
                }
            }
        } else if self.is_constant(subject) {
            return vec![Fact::Dead("it is about a constant".to_owned())];
        }
        if negated && given.first().is_some_and(|other| Self::is_new(other, is_identity(&essence))) {
            return vec![Fact::Dead("nothing can be the same as a value that is made for it".to_owned())];
        }
        if negated {
            strength = match essence.as_str() {
                "null" | "undefined" | "none" | "nil" => Strength::Shape,
                _ => strength.min(Strength::Partial),
            };
        }
        vec![self.live(subject, given.first(), strength)]
    }

    /// Judges `assertEquals(a, b)` and the like.
    fn plain(&self, call: &Node) -> Option<Assertion> {
        let callee = call.kids.first()?;
        let path = callee.path();
        let own = self.file.asserting.get(path.first().copied().unwrap_or_default());
        let own = own.filter(|_| path.len() <= 2 && !self.is_defined(path[0]));
        let word = match own {
            Some(name) if path.len() == 1 => name.as_str(),
            _ => call.called(),
        };
        if matches!(word, "assertAll" | "assertions" | "hasAssertions" | "assertSoftly") {
            return None;
        }
        let holder = path.len() >= 2
            && path[..path.len() - 1].iter().any(|part| {
                matches!(
                    *part,
                    "assert"
                        | "require"
                        | "expect"
                        | "Assert"
                        | "Assertions"
                        | "assertions"
                        | "is"
                        | "qt"
                        | "chai"
                )
            })
            && !path.contains(&"()");
        let short = self.file.language == Language::Script
            && matches!(path.as_slice(), ["t" | "tap" | "ava", _])
            && matches!(
                word,
                "is" | "not"
                    | "deepEqual"
                    | "like"
                    | "true"
                    | "false"
                    | "truthy"
                    | "falsy"
                    | "throws"
                    | "throwsAsync"
                    | "notThrows"
                    | "regex"
                    | "snapshot"
                    | "fail"
                    | "equal"
                    | "equals"
                    | "same"
                    | "ok"
                    | "notOk"
                    | "notEqual"
                    | "strictEqual"
                    | "deepEquals"
                    | "strictSame"
                    | "match"
                    | "rejects"
            );
        if holder && self.file.language == Language::Rust {
            return None;
        }
        let raises = matches!(word, "raises" | "warns" | "deprecated_call")
            && matches!(path.first(), Some(&"pytest" | &"pt" | &"raises" | &"warns"))
            || word == "raises";
        let named = asserts_by_name(word) && !self.is_defined(word);
        if !(holder || own.is_some() || short || raises || named || word == "fail" && path.len() <= 2) {
            return None;
        }
        if holder
            && matches!(
                word,
                "assertions" | "hasAssertions" | "objectContaining" | "any" | "anything" | "extend"
            )
        {
            return None;
        }
        let mut args: Vec<&Node> = call.args().iter().collect();
        if self.file.language == Language::Go
            && args.first().is_some_and(|first| {
                matches!(
                    first.text().as_str(),
                    "t" | "b" | "tb" | "f" | "s.T()" | "c" | "suite.T()" | "GinkgoT()"
                )
            })
        {
            args.remove(0);
        }
        Some(self.judged(call, word, &args))
    }

    fn is_defined(&self, name: &str) -> bool {
        self.file.functions.contains_key(name)
    }

    fn judged(&self, call: &Node, word: &str, args: &[&Node]) -> Assertion {
        let essence = essential(word);
        let mut assertion =
            Assertion { facts: Vec::new(), inner: Inner::Made, promised: false, throws: false };
        let first = args.first().copied();
        let essence = if matches!(word, "assertThat" | "assert_that") { "that".to_owned() } else { essence };
        let facts = match (essence.as_str(), first) {
            (_, None) => vec![self.live(call, None, strength(word, 0))],
            ("fail", _) => vec![self.live(call, None, Strength::Partial)],
            ("" | "true" | "ok" | "truthy" | "satisfies", Some(first)) => self.facts(first, Must::Hold),
            ("false" | "notok" | "falsy", Some(first)) => self.facts(first, Must::Fail),
            ("not", Some(first)) if args.len() == 1 => self.facts(first, Must::Fail),
            (name, Some(first)) if is_throwing(name) => {
                let classes = args.iter().filter(|arg| arg.function().is_none());
                let class = classes.clone().find(|arg| {
                    !matches!(arg.kind, Kind::Pair(_) | Kind::Literal(_)) && !arg.text().contains("=>")
                });
                // `assert.throws(f, error => …)`: the second function checks the error.
                let script = self.file.language == Language::Script;
                // A function that does not use its parameter, such as `() => true`, accepts any error.
                let uses = |arg: &&&Node| {
                    let params =
                        arg.function().map(|function| function.params.as_slice()).unwrap_or_default();
                    arg.any(&|node| matches!(&node.kind, Kind::Name(name) if params.contains(name)))
                };
                let looks = args.iter().skip(1).filter(|arg| script && arg.function().is_some()).find(uses);
                let general = looks.is_none()
                    && class.is_none_or(|class| GENERAL.contains(&class.text().trim_end_matches(".class")));
                assertion.throws = !name.starts_with("warns");
                if general || class.is_some_and(|class| class.text().contains("Assertion")) {
                    assertion.inner = Inner::Inverted;
                }
                assertion.promised = name.contains("reject") && self.file.language == Language::Script;
                let says = call.args().iter().any(|arg| match &arg.kind {
                    Kind::Pair(key) => matches!(key.as_str(), "match" | "message" | "expected_regex"),
                    _ => false,
                }) || name.contains("regex")
                    || name.contains("message")
                    || looks.is_some_and(|looks| self.looks_at_error(looks))
                    || script
                        && class.is_some_and(|class| {
                            class.kind == Kind::List && !class.kids.is_empty() || class.raw().starts_with('/')
                        });
                let strength = match (general, says) {
                    (true, false) => Strength::Shape,
                    (false, false) => Strength::Partial,
                    (_, true) => Strength::Exact,
                };
                let code = args.iter().find(|arg| arg.function().is_some()).filter(|_| !script);
                let subject = code.copied().unwrap_or(first);
                vec![self.thrown(subject, class.copied(), strength)]
            }
            ("that", Some(first)) if args.len() >= 2 => {
                // Hamcrest: `assertThat(actual, is(3))`, possibly with a reason first.
                let (subject, matcher) = match args {
                    [_, subject, matcher] | [subject, matcher, ..] => (*subject, *matcher),
                    _ => (first, first),
                };
                self.hamcrest(subject, matcher)
            }
            ("that", Some(first)) => self.facts(first, Must::Hold),
            (name, Some(first)) => {
                let args = without_message(args);
                let level = strength(word, args.len().saturating_sub(1));
                match args {
                    [left, right, rest @ ..] if level == Strength::Exact && is_equality(name) => {
                        let most = if rest.iter().any(|arg| is_wide(arg)) {
                            Strength::Partial
                        } else if self.is_loose(call) {
                            Strength::Loose
                        } else {
                            Strength::Exact
                        };
                        vec![match self.equality(left, right) {
                            Fact::Live { subject, about, expected, strength } => {
                                Fact::Live { subject, about, expected, strength: strength.min(most) }
                            }
                            dead @ Fact::Dead(_) => dead,
                        }]
                    }
                    [left, right, ..] if level != Strength::Shape => {
                        let unlike = name.starts_with("not") || name.starts_with("ne") && name.len() <= 3;
                        let identity = matches!(name, "not" | "notsame" | "notstrictequal");
                        let fixed = self.is_constant(left) && self.is_constant(right);
                        if fixed && level == Strength::Exact {
                            // No library has such an assertion: a helper gets these as its inputs.
                            vec![self.live(call, None, Strength::Partial)]
                        } else if fixed {
                            vec![Fact::Dead("it compares constants".to_owned())]
                        } else if unlike && (Self::is_new(left, identity) || Self::is_new(right, identity)) {
                            let why = "nothing can be the same as a value that is made for it";
                            vec![Fact::Dead(why.to_owned())]
                        } else if name.contains("greater")
                            && is_length(left)
                            && is_below(right, if name.contains("equal") { ">=" } else { ">" })
                        {
                            vec![Fact::Dead("a length is never negative".to_owned())]
                        } else {
                            let (subject, expected) = self.sides(left, right);
                            vec![self.live(subject, Some(expected), level)]
                        }
                    }
                    _ if self.is_constant(first) && args.len() <= 1 => {
                        vec![Fact::Dead("it is about a constant".to_owned())]
                    }
                    _ => {
                        let subject = if level == Strength::Shape { first } else { call };
                        let mut fact = self.live(
                            if asserts_by_name(word) && args.len() != 1 { subject } else { first },
                            None,
                            level,
                        );
                        if let Fact::Live { about, .. } = &mut fact {
                            about.push(word.to_owned());
                        }
                        vec![fact]
                    }
                }
            }
        };
        assertion.facts = facts;
        assertion
    }

    /// Returns whether a statement is an assertion other than one about a thrown error.
    pub(super) fn asserts(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Assert => true,
            Kind::Call => self.assertion(node).is_some_and(|assertion| !assertion.throws),
            Kind::Statement | Kind::Await => node.kids.first().is_some_and(|inner| self.asserts(inner)),
            _ => false,
        }
    }

    /// Returns the functions in code that must throw. Other assertions in it don't count.
    pub(super) fn about_thrown(&self, code: &Node) -> Vec<String> {
        let body = code.function().and_then(|_| code.kids.first()).unwrap_or(code);
        if body.kind != Kind::Block || !body.kids.iter().any(|kid| !self.asserts(kid)) {
            return self.about(code);
        }
        let mut about: Vec<String> =
            body.kids.iter().filter(|kid| !self.asserts(kid)).flat_map(|kid| self.about(kid)).collect();
        about.sort();
        about.dedup();
        about
    }

    fn thrown(&self, code: &Node, expected: Option<&Node>, strength: Strength) -> Fact {
        let mut fact = self.live(code, expected, strength);
        if let Fact::Live { about, .. } = &mut fact {
            *about = self.about_thrown(code);
        }
        fact
    }

    /// Returns whether a function that gets an error checks anything about it.
    fn looks_at_error(&self, function: &Node) -> bool {
        let asserts = |node: &Node| node.kind == Kind::Call && self.assertion(node).is_some();
        let gives = |node: &Node| {
            node.kind == Kind::Return
                && node.kids.first().is_some_and(|value| self.truth(value) != Some(true))
        };
        function.any(&|node| asserts(node) || node.kind == Kind::Throw || gives(node))
    }

    /// Returns whether an equality converts both sides before comparing: `equal` of node's `assert`, but not
    /// `strictEqual`.
    fn is_loose(&self, call: &Node) -> bool {
        let path = call.kids.first().map(|callee| callee.path()).unwrap_or_default();
        self.file.language == Language::Script
            && matches!(call.called(), "equal" | "deepEqual")
            && path.first().is_some_and(|root| self.file.loose.contains(*root))
    }

    fn hamcrest(&self, subject: &Node, matcher: &Node) -> Vec<Fact> {
        match (matcher.called(), matcher.args()) {
            ("is" | "equalTo" | "equal_to", [inner])
                if inner.kind == Kind::Call && Self::value_matcher(inner) =>
            {
                self.hamcrest(subject, inner)
            }
            ("is" | "equalTo" | "equal_to" | "is_", [value]) => vec![self.equality(subject, value)],
            ("not" | "is_not", _) => vec![self.live(subject, matcher.args().first(), Strength::Partial)],
            ("notNullValue" | "not_none" | "anything" | "instanceOf" | "any" | "isA", _) => {
                vec![self.live(subject, None, Strength::Shape)]
            }
            ("", _) => self.facts(subject, Must::Hold),
            (name, given) => vec![self.live(subject, given.first(), strength(name, given.len()))],
        }
    }

    /// Returns whether a call is itself a matcher, as in `is(equalTo(3))`.
    fn value_matcher(call: &Node) -> bool {
        matches!(
            call.called(),
            "equalTo"
                | "equal_to"
                | "not"
                | "notNullValue"
                | "nullValue"
                | "instanceOf"
                | "greaterThan"
                | "lessThan"
                | "containsString"
                | "hasItem"
                | "hasItems"
                | "hasSize"
                | "anything"
                | "closeTo"
                | "empty"
                | "startsWith"
                | "endsWith"
                | "contains"
                | "any"
        )
    }
}
