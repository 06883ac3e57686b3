//! Finds calls with which a test skips itself at run time.

use acquit_core::agent::shorten;
use acquit_core::check::outline::{Skip, TEXT};
use acquit_core::check::source::Language;

use super::super::super::ir::Node;
use super::{Walk, Way};

impl Walk<'_, '_, '_> {
    pub(super) fn is_skip(&self, call: &Node) -> bool {
        let Some(callee) = call.kids.first() else { return false };
        let path = callee.path();
        let (root, word) = (path.first().copied().unwrap_or_default(), call.called());
        let origin = self.scope.file.imports.get(root).copied().unwrap_or(root);
        match self.scope.file.language {
            Language::Python => {
                matches!(word, "skipTest" | "importorskip")
                    || matches!(word, "skip" | "xfail" | "SkipTest")
                        && (origin == "pytest" || path.len() == 1 || origin.ends_with("pytest"))
                    || path.len() == 1 && matches!(origin, "skip" | "xfail" | "importorskip" | "pytest.skip")
            }
            Language::Script => {
                matches!(word, "skip" | "todo" | "fixme" | "pending")
                    && (matches!(
                        root,
                        "this" | "t" | "ctx" | "context" | "test" | "testInfo" | "it" | "task"
                    ) || path.len() == 1 && word == "pending")
            }
            Language::Go => matches!(word, "Skip" | "Skipf" | "SkipNow") && path.len() <= 4,
            Language::Java => matches!(
                word,
                "assumeTrue"
                    | "assumeFalse"
                    | "assumeThat"
                    | "abort"
                    | "assumeNoException"
                    | "assumingThat"
                    | "assumeNotNull"
            ),
            Language::Rust => false,
        }
    }

    pub(super) fn skip(&mut self, node: &Node, way: &Way) {
        if way.dead.is_some() {
            return;
        }
        let conditional = way.only_if.is_some() || node.called() == "importorskip";
        let skip = Skip { line: node.line, text: shorten(&node.text(), TEXT), conditional };
        match &self.found.skip {
            Some(known) if !known.conditional || conditional => {}
            _ => self.found.skip = Some(skip),
        }
    }
}
