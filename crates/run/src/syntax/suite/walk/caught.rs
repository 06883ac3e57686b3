//! What happens to a failure: caught and dropped, expected, or left to fail the test.

use acquit_core::agent::shorten;
use acquit_core::check::outline::TEXT;
use acquit_core::check::source::Language;

use super::super::super::ir::{Kind, Node};
use super::super::facts::Fact;
use super::super::matchers::Inner;
use super::super::vocabulary::{asserts_by_name, essential, is_throwing};
use super::{Flow, Walk, Way};

impl<'a> Walk<'_, '_, 'a> {
    pub(super) fn attempt(&mut self, node: &'a Node, way: &Way) -> Flow {
        let drops =
            node.kids.iter().any(|kid| matches!(&kid.kind, Kind::Handler(what) if self.drops(what, kid)));
        let body = if drops { way.dead("a failure of it is caught and dropped") } else { way.clone() };
        let mut flow = Flow::default();
        // `try { f(); fail() } catch`, `try: f() except E: … else: fail()`: assertions about the error are always
        // executed.
        let is_handler = |kid: &&Node| matches!(kid.kind, Kind::Handler(_));
        let mut tried = node.kids.iter().filter(|kid| !is_handler(kid));
        // `try { f() } catch (e) { …; return } fail()`: the same, unless what is tried returns.
        let behind =
            self.fails_behind && !tried.clone().any(|kid| kid.any(&|node| node.kind == Kind::Return));
        let surely = behind || tried.any(|kid| kid.any(&fails_for_sure));
        for (index, kid) in node.kids.iter().enumerate() {
            match &kid.kind {
                Kind::Handler(_) => {
                    let inner =
                        if surely { way.clone() } else { way.only_if(kid.kids.first().unwrap_or(kid), true) };
                    self.each(&kid.kids, &inner);
                }
                _ if index == 0 || kid.kind == Kind::Block => {
                    let inner = if index == 0 { &body } else { way };
                    let next = self.visit(kid, inner);
                    // A handler continues after it.
                    flow.ends |= next.ends && node.kids.len() == 1;
                    flow.leaves_if = flow.leaves_if.or(next.leaves_if);
                }
                _ => {
                    self.visit(kid, way);
                }
            }
        }
        flow
    }

    /// Returns whether a handler catches a failed assertion and does nothing with it.
    pub(super) fn drops(&self, what: &str, handler: &Node) -> bool {
        let word =
            |wanted: &str| what.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == wanted);
        let catches = match self.scope.file.language {
            Language::Python => {
                what.trim() == "except"
                    || ["Exception", "BaseException", "AssertionError"].iter().any(|name| word(name))
            }
            Language::Script => true,
            Language::Java => {
                ["AssertionError", "Throwable", "Error", "AssertionFailedError"].iter().any(|name| word(name))
            }
            Language::Rust | Language::Go => false,
        };
        let reacts = |node: &Node| match &node.kind {
            Kind::Throw | Kind::Assert => true,
            Kind::Call => {
                let called = node.called();
                asserts_by_name(called)
                    || matches!(called, "fail" | "done" | "reject" | "next" | "exit")
                    || self.scope.assertion(node).is_some()
            }
            _ => false,
        };
        catches && !handler.any(&reacts)
    }

    pub(super) fn with(&mut self, node: &'a Node, way: &Way) {
        let Some((body, items)) = node.kids.split_last() else { return };
        let (mut inner, mut throws) = (way.clone(), false);
        for item in items {
            for call in item.all().into_iter().filter(|node| node.kind == Kind::Call) {
                let general = |arg: &Node| {
                    matches!(arg.text().as_str(), "Exception" | "BaseException" | "AssertionError")
                };
                if call.called() == "suppress" && call.args().iter().any(general) {
                    inner = inner.dead("a failure of it is caught and dropped");
                } else if let Some(assertion) = self.scope.assertion(call) {
                    let about = self.scope.about_thrown(body);
                    let facts = assertion.facts.into_iter().map(|fact| match fact {
                        Fact::Live { expected, strength, .. } => Fact::Live {
                            subject: shorten(&body.text(), TEXT),
                            about: about.clone(),
                            expected,
                            strength,
                        },
                        dead @ Fact::Dead(_) => dead,
                    });
                    self.record(call, facts.collect(), way);
                    throws |= assertion.throws;
                    if assertion.inner == Inner::Inverted {
                        inner = inner.dead("it is expected to fail");
                    }
                } else if self.is_skip(call) {
                    self.skip(call, way);
                }
            }
        }
        if throws {
            self.until_thrown(body, &inner);
        } else {
            self.visit(body, &inner);
        }
    }

    /// Walks through code that must throw. Its last statement never completes, so an assertion at its end never
    /// takes effect: it is not reached, or the values that it compares throw.
    fn until_thrown(&mut self, body: &'a Node, way: &Way) {
        if body.kind != Kind::Block {
            self.visit(body, way);
            return;
        }
        let counts = |kid: &Node| kid.kind != Kind::Comment;
        let last = body.kids.iter().rposition(|kid| counts(kid) && !self.scope.asserts(kid));
        let first_dead = last.map_or_else(|| body.kids.len().saturating_sub(1), |last| last + 1);
        let (made, dead) = body.kids.split_at(first_dead.min(body.kids.len()));
        self.block(made, way);
        self.block(dead, &way.dead("it stands behind what must throw"));
    }

    pub(super) fn inline_until_thrown(&mut self, function: &'a Node, way: &Way) {
        for kid in &function.kids {
            self.until_thrown(kid, way);
        }
    }

    /// Returns whether a function passed to an assertion checks the thrown error: `assert.throws(f, error => …)`.
    pub(super) fn is_validator(&self, assertion: &Node, function: &Node) -> bool {
        self.scope.file.language == Language::Script
            && is_throwing(&essential(assertion.called()))
            && assertion.args().iter().skip(1).any(|arg| std::ptr::eq(arg, function))
    }
}

/// Returns whether a statement or call always fails the test when reached.
pub(super) fn fails_for_sure(node: &Node) -> bool {
    is_plain_failure(node)
        || node.kind == Kind::Throw
        || node.kind == Kind::Assert
            && node.kids.first().is_some_and(|condition| {
                matches!(condition.kind, Kind::Literal(super::super::super::ir::Literal::False))
            })
}

/// Returns whether a statement of a block does nothing but fail the test.
pub(super) fn is_sure_failure(node: &Node) -> bool {
    let inner = if node.kind == Kind::Statement { node.kids.first().unwrap_or(node) } else { node };
    fails_for_sure(inner)
}

/// Returns whether a call always fails the test when reached.
pub(super) fn is_plain_failure(node: &Node) -> bool {
    if node.kind != Kind::Call {
        return false;
    }
    let path = node.kids.first().map(|callee| callee.path()).unwrap_or_default();
    match path.as_slice() {
        ["panic!" | "unreachable!" | "fail" | "todo!" | "bail!"] => true,
        ["t" | "b" | "tb" | "f" | "c" | "s" | "suite", word] | ["s" | "suite", "T", "()", word] => {
            matches!(*word, "Error" | "Errorf" | "Fatal" | "Fatalf" | "Fail" | "FailNow" | "fail")
        }
        [.., "fail" | "unreachable"] => path.len() <= 3,
        ["process" | "sys" | "os", "exit" | "Exit"] => {
            node.args().first().is_some_and(|code| code.text() != "0")
        }
        _ => false,
    }
}
