//! Walks through a test: which of its assertions are reached and can fail the test, how often, and under which
//! condition.
//!
//! Calls of functions in the same file are followed, so that an assertion counts wherever it was extracted to.

use std::collections::{BTreeMap, HashMap};

use acquit_core::agent::shorten;
use acquit_core::check::outline::{Check, Dead, MOST, Skip, Strength, TEXT};
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Node};

mod caught;
mod given;
mod left_out;

use super::facts::{Fact, Must};
use super::matchers::Inner;
use super::scope::Scope;
use caught::{fails_for_sure, is_plain_failure, is_sure_failure};
use given::Given;

/// Maximum number of nodes to visit per test, including everything that it calls.
const STEPS: usize = 100_000;
/// Maximum depth of calls to follow.
const CALLS: usize = 6;

/// The assertions of a function.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) checks: Vec<Check>,
    pub(super) dead: Vec<Dead>,
    pub(super) skip: Option<Skip>,
    pub(super) calls: BTreeMap<String, u32>,
}

/// How a node is reached.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Why it is not reached, or has no effect.
    pub(super) dead: Option<String>,
    pub(super) times: u32,
    pub(super) only_if: Option<String>,
    /// Whether the code under test decides that condition.
    pub(super) by_result: bool,
    /// Whether it is in a function that something else must call.
    pub(super) called_back: bool,
    /// Whether a promise created here is awaited.
    pub(super) awaited: bool,
}

impl Way {
    pub(super) fn open() -> Self {
        Self { dead: None, times: 1, only_if: None, by_result: false, called_back: false, awaited: false }
    }

    fn dead(&self, why: &str) -> Self {
        Self { dead: Some(self.dead.clone().unwrap_or_else(|| why.to_owned())), ..self.clone() }
    }

    fn only_if(&self, condition: &Node, by_result: bool) -> Self {
        let only_if = self.only_if.clone().unwrap_or_else(|| shorten(&condition.text(), 80));
        Self { only_if: Some(only_if), by_result: self.by_result || by_result, ..self.clone() }
    }

    fn times(&self, count: u32) -> Self {
        Self { times: self.times.saturating_mul(count.max(1)).min(10_000), ..self.clone() }
    }

    fn awaited(&self, awaited: bool) -> Self {
        Self { awaited, ..self.clone() }
    }
}

/// Go: detects a panic that is recovered and ignored.
fn drops_panic(node: &Node) -> bool {
    let recovers = |kid: &Node| kid.called() == "recover";
    let dropped = match &node.kind {
        Kind::Statement => true,
        Kind::Assign(name) => name == "_",
        _ => false,
    };
    dropped && node.kids.first().is_some_and(recovers)
}

/// Detects `expect.assertions(2)`, `t.plan(2)`: with these, a test with fewer assertions fails.
pub(super) fn counts_assertions(node: &Node) -> bool {
    let path = node.kids.first().filter(|_| node.kind == Kind::Call).map(Node::path).unwrap_or_default();
    let none = node.args().first().is_some_and(|count| count.text() == "0");
    match path.as_slice() {
        ["expect", "assertions"] | [_, "plan"] => !none,
        ["expect", "hasAssertions"] => true,
        _ => false,
    }
}

/// The effects of a node on the flow.
#[derive(Default)]
struct Flow {
    /// Nothing.
    ends: bool,
    /// Nothing, if this holds; and whether the code under test decides it.
    leaves_if: Option<(String, bool)>,
}

pub(super) struct Walk<'s, 'f, 'a> {
    scope: &'s Scope<'f, 'a>,
    pub(super) found: Found,
    /// Functions inside the test, and whether they were called.
    inside: HashMap<&'a str, (&'a Node, bool)>,
    stack: Vec<*const Node>,
    steps: usize,
    /// Arguments of the current functions' parameters, innermost last.
    given: Vec<HashMap<String, Given>>,
    /// Whether the test waits for callbacks: it has a parameter that it calls when it is done.
    waits: bool,
    /// Whether the test fails in the statements after the current one if that completes.
    fails_behind: bool,
}

impl<'s, 'f, 'a> Walk<'s, 'f, 'a> {
    /// Walks through the body of a function.
    pub(super) fn through(scope: &'s Scope<'f, 'a>, function: &'a Node, way: &Way) -> Found {
        let mut inside: HashMap<&'a str, (&'a Node, bool)> = HashMap::new();
        for kid in &function.kids {
            for node in kid.all() {
                match &node.kind {
                    Kind::Function(inner) if !inner.name.is_empty() => {
                        inside.insert(&inner.name, (node, false));
                    }
                    Kind::Assign(name) => {
                        if let Some(value) = node.kids.first().filter(|value| value.function().is_some()) {
                            inside.insert(name, (value, false));
                        }
                    }
                    _ => {}
                }
            }
        }
        let params = function.function().map(|function| function.params.clone()).unwrap_or_default();
        let text = function.raw();
        let calls_done =
            params.iter().any(|param| text.contains(&format!("{param}(")) || text.contains("done"));
        let waits = scope.file.language == Language::Script && calls_done;
        let mut walk = Walk {
            scope,
            found: Found::default(),
            inside,
            stack: vec![std::ptr::from_ref(function)],
            steps: STEPS,
            given: Vec::new(),
            waits,
            fails_behind: false,
        };
        for kid in &function.kids {
            walk.visit(kid, way);
        }
        walk.never_called(way);
        if function.any(&counts_assertions) {
            for check in &mut walk.found.checks {
                (check.only_if, check.by_result) = (None, false);
            }
        }
        if scope.file.language == Language::Go && function.any(&drops_panic) {
            for check in &mut walk.found.checks {
                check.only_if.get_or_insert_with(|| "nothing panics".to_owned());
            }
        }
        walk.found
    }

    /// Visits the functions inside the test that nothing calls.
    fn never_called(&mut self, way: &Way) {
        let left: Vec<&'a Node> =
            self.inside.values().filter(|(_, called)| !called).map(|(function, _)| *function).collect();
        let way = way.dead("the function around it is never called");
        for function in left {
            for kid in &function.kids {
                self.visit(kid, &way);
            }
        }
    }

    fn visit(&mut self, node: &'a Node, way: &Way) -> Flow {
        let Some(left) = self.steps.checked_sub(1) else { return Flow::default() };
        self.steps = left;
        match &node.kind {
            Kind::Block => return self.block(&node.kids, way),
            Kind::If => return self.condition(node, way),
            Kind::Loop => self.repeat(node, way),
            Kind::Match => self.choice(node, way),
            Kind::Try => return self.attempt(node, way),
            Kind::With => self.with(node, way),
            Kind::Return => {
                self.each(&node.kids, &way.awaited(true));
                return Flow { ends: true, leaves_if: None };
            }
            Kind::Throw => {
                if node.raw().contains("SkipTest")
                    || node.raw().contains("SkipException")
                    || node.raw().contains("AssumptionViolated")
                    || node.raw().contains("TestAborted")
                {
                    self.skip(node, way);
                }
                self.each(&node.kids, way);
                return Flow { ends: true, leaves_if: None };
            }
            Kind::Jump => return Flow { ends: true, leaves_if: None },
            Kind::Assert => {
                if let Some(condition) = node.kids.first() {
                    let facts = self.scope.facts(condition, Must::Hold);
                    self.record(node, facts, way);
                    self.each(&node.kids, way);
                }
            }
            // Visited when they are called.
            Kind::Function(_) | Kind::Class(..) | Kind::Comment => {}
            Kind::Assign(_) => {
                if let Some(value) = node.kids.first().filter(|value| value.function().is_none()) {
                    self.visit(value, &way.awaited(true));
                }
                // Rust: `let Some(x) = y else { panic!() };`.
                if self.scope.file.language == Language::Rust
                    && node.raw().contains("else")
                    && node.raw().contains("panic!")
                {
                    let fact = self.scope.live(node.kids.first().unwrap_or(node), None, Strength::Partial);
                    self.record(node, vec![fact], way);
                }
            }
            Kind::Statement => {
                let Some(inner) = node.kids.first() else { return Flow::default() };
                if matches!(inner.kind, Kind::Member(_))
                    && let Some(assertion) = self.scope.assertion(inner)
                {
                    self.record(inner, assertion.facts, way);
                } else {
                    return self.visit(inner, &way.awaited(false));
                }
            }
            Kind::Await => self.each(&node.kids, &way.awaited(true)),
            Kind::Call => return self.call(node, way),
            Kind::Binary(sign)
                if matches!(sign.as_str(), "&&" | "and" | "||" | "or") && node.kids.len() == 2 =>
            {
                self.visit(&node.kids[0], way);
                let needed = matches!(sign.as_str(), "&&" | "and");
                let right = match self.scope.truth(&node.kids[0]) {
                    Some(truth) if truth != needed => way.dead("its condition never holds"),
                    Some(_) => way.clone(),
                    None => way.only_if(&node.kids[0], self.scope.is_result(&node.kids[0])),
                };
                self.visit(&node.kids[1], &right);
            }
            _ => self.each(&node.kids, way),
        }
        Flow::default()
    }

    fn each(&mut self, nodes: &'a [Node], way: &Way) {
        for node in nodes {
            if node.function().is_some() {
                self.inline(node, way);
            } else {
                self.visit(node, way);
            }
        }
    }

    fn block(&mut self, nodes: &'a [Node], way: &Way) -> Flow {
        let (mut way, mut flow) = (way.clone(), Flow::default());
        for (index, node) in nodes.iter().enumerate() {
            self.fails_behind = nodes.iter().skip(index + 1).any(is_sure_failure);
            let next = self.visit(node, &way);
            if next.ends && !flow.ends {
                flow.ends = true;
                way = way.dead("it is never reached");
            }
            if let Some((condition, by_result)) = next.leaves_if {
                way.only_if = Some(way.only_if.take().unwrap_or_else(|| condition.clone()));
                way.by_result |= by_result;
                flow.leaves_if = flow.leaves_if.or(Some((condition, by_result)));
            }
        }
        flow
    }

    fn condition(&mut self, node: &'a Node, way: &Way) -> Flow {
        let Some(condition) = node.kids.first() else { return Flow::default() };
        let (then, otherwise) = (node.kids.get(1), node.kids.get(2));
        let asserts = condition.any(&|node| node.kind == Kind::Call && self.scope.assertion(node).is_some());
        if asserts {
            self.visit(condition, way);
        } else if then.is_some_and(|then| self.fails(then)) {
            let facts = match self.scope.truth(condition) {
                Some(false) => vec![Fact::Dead("its condition never holds".to_owned())],
                _ => self.scope.facts(condition, Must::Fail),
            };
            self.record(node, facts, way);
            return otherwise.map(|otherwise| self.visit(otherwise, way)).unwrap_or_default();
        } else if otherwise.is_some_and(|otherwise| self.fails(otherwise)) {
            let facts = self.scope.facts(condition, Must::Hold);
            self.record(node, facts, way);
            return then.map(|then| self.visit(then, way)).unwrap_or_default();
        } else {
            self.visit(condition, way);
        }
        let truth = self.scope.truth(condition);
        let branch = |wanted: bool| match truth {
            Some(truth) if truth != wanted => way.dead("its condition never holds"),
            Some(_) => way.clone(),
            None if asserts => way.clone(),
            None => way.only_if(condition, self.scope.is_result(condition)),
        };
        let began = self.found.checks.len();
        let first = then.map(|then| self.visit(then, &branch(true))).unwrap_or_default();
        let between = self.found.checks.len();
        let second = otherwise.map(|other| self.visit(other, &branch(false)));
        let ended = self.found.checks.len();
        // One of the two branches always runs: if both assert, something is asserted.
        if began < between && between < ended {
            for check in &mut self.found.checks[began..ended] {
                check.only_if.clone_from(&way.only_if);
                check.by_result = way.by_result;
            }
        }
        let second_ends = second.as_ref().is_some_and(|second| second.ends);
        let taken = match truth {
            Some(true) => first.ends,
            Some(false) => second_ends,
            None => first.ends && second_ends,
        };
        let leaves = truth.is_none() && first.ends && !taken && !asserts && began == between;
        let leaves_if = leaves
            .then(|| (format!("not ({})", shorten(&condition.text(), 70)), self.scope.is_result(condition)));
        Flow { ends: taken, leaves_if }
    }

    fn repeat(&mut self, node: &'a Node, way: &Way) {
        let over = node.kids.first();
        if let Some(over) = over {
            self.visit(over, way);
        }
        let entries = over.and_then(|over| self.scope.entries(over));
        let never = entries == Some(0)
            || over.is_some_and(|over| {
                matches!(over.kind, Kind::Literal(_) | Kind::Binary(_) | Kind::Unary(_))
                    && self.scope.truth(over) == Some(false)
            });
        let inner = if never {
            way.dead("the loop around it has nothing to loop over")
        } else {
            way.times(entries.unwrap_or(1))
        };
        for body in node.kids.iter().skip(1) {
            self.visit(body, &inner);
        }
    }

    /// Visits arms, one of which runs.
    fn choice(&mut self, node: &'a Node, way: &Way) {
        let began = self.found.checks.len();
        let (mut idle, mut failing, mut asserting) = (false, false, false);
        for arm in &node.kids {
            let before = self.found.checks.len();
            if self.fails(arm) {
                failing = true;
                continue;
            }
            self.visit(arm, way);
            if self.found.checks.len() > before { asserting = true } else { idle = true }
        }
        let head = shorten(node.raw().lines().next().unwrap_or_default().trim(), 80);
        if idle && asserting && !failing {
            for check in &mut self.found.checks[began..] {
                check.only_if.get_or_insert_with(|| head.clone());
                check.by_result |= head.contains('(');
            }
        }
        if failing {
            let fact = Fact::Live {
                subject: head,
                about: self.scope.about(node),
                expected: None,
                strength: Strength::Exact,
            };
            self.record(node, vec![fact], way);
        }
    }

    fn call(&mut self, node: &'a Node, way: &Way) -> Flow {
        if self.is_skip(node) {
            let holds = node.args().first().and_then(|arg| self.scope.truth(arg));
            let assumes = node.called().starts_with("assume");
            let conditional = match (node.called(), holds) {
                ("assumeTrue" | "assumeThat", Some(true)) | ("assumeFalse", Some(false)) => {
                    return Flow::default();
                }
                (_, Some(_)) => false,
                (_, None) => assumes,
            };
            let way = if conditional { way.only_if(node, false) } else { way.clone() };
            let goes_on = conditional || node.called() == "importorskip";
            self.skip(node, &way);
            return Flow { ends: !goes_on && way.only_if.is_none() && way.dead.is_none(), leaves_if: None };
        }
        if let Some(assertion) = self.scope.assertion(node) {
            let lost = assertion.promised && !way.awaited && !self.waits;
            let inner = match assertion.inner {
                Inner::Made => way.clone(),
                Inner::Inverted => way.dead("it is expected to fail"),
            };
            let outer =
                if lost { way.dead("its promise is neither awaited nor returned") } else { way.clone() };
            self.record(node, assertion.facts, &outer);
            for arg in node.all().into_iter().skip(1).filter(|node| node.function().is_some()) {
                if self.is_validator(node, arg) {
                    self.inline(arg, &outer);
                } else if assertion.throws {
                    self.inline_until_thrown(arg, &inner);
                } else {
                    self.inline(arg, &inner);
                }
            }
            return Flow::default();
        }
        if is_plain_failure(node) {
            let fact = self.scope.live(node, None, Strength::Partial);
            self.record(node, vec![fact], way);
            return Flow::default();
        }
        let called = node.called();
        let promise = matches!(called, "then" | "catch" | "finally");
        let later =
            matches!(called, "setTimeout" | "setImmediate" | "setInterval" | "nextTick" | "queueMicrotask");
        let caught = called == "catch_unwind";
        let inner = if (promise || later) && !way.awaited && !self.waits {
            way.dead("nothing waits for it")
        } else if called == "catch" && !node.kids.first().is_some_and(|callee| callee.any(&fails_for_sure)) {
            way.only_if(node, true)
        } else if caught {
            way.dead("a failure of it is caught and dropped")
        } else if matches!(called, "forEach" | "map" | "for_each" | "each") {
            let object = node.kids.first().and_then(|callee| callee.kids.first());
            match object.and_then(|object| self.scope.entries(object)) {
                Some(0) => way.dead("the loop around it has nothing to loop over"),
                Some(count) => way.times(count),
                None => way.clone(),
            }
        } else {
            Way { called_back: true, ..way.clone() }
        };
        if let Some(callee) = node.kids.first() {
            if let Some(function) = callee.function() {
                let lost = function.is_async && !way.awaited && self.scope.file.language == Language::Script;
                let inner =
                    if lost { way.dead("nothing awaits the async function around it") } else { way.clone() };
                self.inline(callee, &inner);
            } else if !matches!(callee.kind, Kind::Name(_)) {
                self.visit(callee, way);
            }
        }
        for arg in node.args() {
            match &arg.kind {
                Kind::Function(_) => self.inline(arg, &inner),
                Kind::Name(name) => {
                    if let Some(function) = self.known(name) {
                        self.inline(function, &inner);
                    }
                }
                _ => {
                    self.visit(arg, &inner);
                }
            }
        }
        let path = node.kids.first().map(|callee| callee.path()).unwrap_or_default();
        let own = path.len() == 1
            || matches!(path.first(), Some(&"self" | &"this" | &"cls" | &"Self" | &"s" | &"suite"));
        if own && path.len() <= 2 {
            match self.known(called) {
                Some(function) => {
                    let needs = function.function().is_some_and(|function| function.is_async)
                        && matches!(self.scope.file.language, Language::Script | Language::Python);
                    let given = self.given(function, node.args());
                    self.given.push(given);
                    if needs && !way.awaited {
                        self.inline(function, &way.dead("nothing awaits the async function around it"));
                    } else {
                        self.inline(function, way);
                    }
                    self.given.pop();
                }
                None if self.found.calls.len() < 500 && way.dead.is_none() => {
                    *self.found.calls.entry(called.to_owned()).or_default() += way.times;
                }
                None => {}
            }
        }
        Flow::default()
    }

    /// Returns the function with this name, in the test or in its file.
    fn known(&mut self, name: &str) -> Option<&'a Node> {
        if let Some((function, called)) = self.inside.get_mut(name) {
            *called = true;
            return Some(function);
        }
        self.scope.file.functions.get(name).copied()
    }

    /// Walks through a function where it is called.
    fn inline(&mut self, function: &'a Node, way: &Way) {
        let at = std::ptr::from_ref(function);
        if self.stack.len() > CALLS || self.stack.contains(&at) {
            return;
        }
        self.stack.push(at);
        // Returning a promise from a function does not mean that it is awaited.
        for kid in &function.kids {
            self.visit(kid, way);
        }
        self.stack.pop();
    }

    /// Returns whether a branch does nothing but fail the test.
    fn fails(&self, branch: &Node) -> bool {
        let failing = |node: &Node| {
            let inner = if node.kind == Kind::Statement { node.kids.first().unwrap_or(node) } else { node };
            is_plain_failure(inner)
                || inner.kind == Kind::Throw && !inner.raw().contains("Skip")
                || matches!(inner.kind, Kind::Assert)
                    && inner.kids.first().is_some_and(|condition| self.scope.truth(condition) == Some(false))
                || inner.kind == Kind::Call
                    && inner.called().starts_with("assert")
                    && inner.args().first().is_some_and(|arg| arg.text() == "false" || arg.text() == "False")
                    && inner.args().len() <= 2
                || inner.kind == Kind::Return && inner.raw().contains("Err(")
        };
        match branch.kind {
            // Go has the statements of a block in a separate list.
            Kind::Block => {
                branch.kids.iter().any(|kid| failing(kid) || kid.kind == Kind::Block && self.fails(kid))
            }
            _ => failing(branch),
        }
    }

    fn record(&mut self, node: &Node, facts: Vec<Fact>, way: &Way) {
        if self.found.checks.len() + self.found.dead.len() > MOST {
            return;
        }
        let text = shorten(&node.text(), TEXT);
        for fact in facts {
            match (self.filled_in(fact), &way.dead) {
                (Fact::Live { subject, about, expected, strength }, None) => self.found.checks.push(Check {
                    line: node.line,
                    text: text.clone(),
                    subject: shorten(&subject, TEXT),
                    about,
                    expected: expected.map(|expected| shorten(&expected, TEXT)),
                    strength,
                    times: way.times,
                    only_if: way.only_if.clone(),
                    by_result: way.by_result,
                    called_back: way.called_back,
                }),
                (Fact::Live { .. }, Some(why)) => {
                    self.found.dead.push(Dead { line: node.line, text: text.clone(), why: why.clone() });
                }
                (Fact::Dead(why), _) => {
                    self.found.dead.push(Dead { line: node.line, text: text.clone(), why });
                }
            }
        }
    }
}
