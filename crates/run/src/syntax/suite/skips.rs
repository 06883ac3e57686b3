//! Detects how tests are skipped: Python decorators, Rust attributes, Java annotations, and code outside of tests.

use acquit_core::check::outline::{Deed, MANY, Skip};
use acquit_core::check::source::Language;

use super::super::ir::{Kind, Node};
use super::scope::{File, Scope};
use super::walk::{Walk, Way};
use super::{Fails, Suite, mark, skipped};

/// Words with which a decorator skips.
const SKIPS: [&str; 9] =
    ["skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "SkipTest", "skip_if", "skipTest"];

/// Returns the skip and the number of rows that Python's decorators give a test or a class.
pub(super) fn decorators(file: &File<'_>, node: &Node, suite: &mut Suite<'_>) -> (Option<Skip>, u32) {
    let (mut skip, mut rows) = (None, 1_u32);
    for decorator in &node.marks {
        let words = words(file, decorator);
        let has = |word: &str| words.iter().any(|other| other == word);
        if let Some(found) = SKIPS.iter().find(|word| has(word)) {
            let scope = Scope::new(file, decorator);
            let condition = decorator.args().iter().find(|arg| !matches!(arg.kind, Kind::Pair(_)));
            let conditional = matches!(*found, "skipif" | "skipIf" | "skipUnless" | "skip_if")
                || (*found == "xfail" && condition.is_some());
            let truth = condition.and_then(|condition| scope.truth(condition));
            let off = conditional && truth == Some(*found == "skipUnless");
            if !off {
                skip = Some(skipped(decorator, conditional && truth.is_none()));
            }
        } else if has("flaky") || has("retry") || has("repeat") {
            suite.marks.push(mark(decorator, Deed::Retries));
        } else if has("parametrize") || has("expand") || has("data") || has("parameters") {
            let scope = Scope::new(file, decorator);
            let mut lists =
                decorator.args().iter().filter(|arg| !matches!(arg.kind, Kind::Literal(_) | Kind::Pair(_)));
            let values = decorator.args().iter().find_map(|arg| match &arg.kind {
                Kind::Pair(key) if key == "argvalues" => arg.kids.first(),
                _ => None,
            });
            let last = lists.next_back().or(values);
            if let Some(count) = last.and_then(|list| scope.entries(list)) {
                // `pytest.param(…, marks=pytest.mark.skip)` removes a row.
                let list = last.and_then(|list| match &list.kind {
                    Kind::Name(name) => scope.value(name),
                    _ => Some(list),
                });
                let off = list.map_or(0, |list| {
                    let param = |row: &&Node| {
                        row.called() == "param" && SKIPS.iter().any(|word| row.raw().contains(word))
                    };
                    list.kids.iter().filter(param).count()
                });
                rows = rows.saturating_mul(count.saturating_sub(u32::try_from(off).unwrap_or(0)));
            } else if last.is_some() {
                rows = MANY;
            }
        } else if drops(file, decorator) {
            skip = Some(skipped(decorator, false));
        }
    }
    (skip, rows)
}

/// Returns the words of a decorator's path, with names resolved.
fn words(file: &File<'_>, decorator: &Node) -> Vec<String> {
    let path = |node: &Node| -> Vec<String> {
        let node = if node.kind == Kind::Call { node.kids.first().unwrap_or(node) } else { node };
        node.path().into_iter().map(str::to_owned).collect()
    };
    let mut all = path(decorator);
    if let Some(root) = all.first().cloned() {
        if let Some(value) = file.values.get(&root) {
            all.extend(path(value));
        }
        if let Some(there) = file.imports.get(root.as_str()) {
            all.extend(there.split('.').map(str::to_owned));
        }
    }
    all
}

/// Detects a decorator of the same file that never calls the decorated function.
fn drops(file: &File<'_>, decorator: &Node) -> bool {
    let Kind::Name(name) = &decorator.kind else { return false };
    let Some(function) = file.functions.get(name.as_str()) else { return false };
    let Some([param]) = function.function().map(|function| function.params.as_slice()) else { return false };
    let text = function.raw();
    let body = text.split_once(':').map_or("", |(_, body)| body);
    !body.contains(&format!("{param}("))
        && !body.contains(&format!("return {param}"))
        && !body.contains(&format!("({param})"))
}

/// The properties of a test that its attributes or annotations declare.
#[derive(Default)]
pub(super) struct Markers {
    pub(super) is_test: bool,
    pub(super) skip: Option<Skip>,
    pub(super) rows: u32,
    pub(super) fails: Option<Fails>,
}

/// Reads Rust's attributes.
pub(super) fn attributes(node: &Node) -> Markers {
    let mut said = Markers { rows: 1, ..Markers::default() };
    let mut rows = 0;
    for mark in &node.marks {
        let text = mark.text();
        let inner = text.trim_start_matches("#[").trim_end_matches(']').trim();
        let path = inner.split(['(', '=']).next().unwrap_or_default().trim();
        let word = path.rsplit("::").next().unwrap_or_default().trim();
        match word {
            "test" | "rstest" | "proptest" | "quickcheck" | "wasm_bindgen_test" | "test_matrix"
            | "googletest" => said.is_test = true,
            "test_case" | "case" => {
                said.is_test |= word == "test_case";
                let off =
                    text.contains("=> ignore") || text.contains("ignore[") || text.contains("inconclusive");
                rows += u32::from(!off);
            }
            "ignore" => said.skip = Some(skipped(mark, false)),
            "cfg" => {
                let what =
                    inner.split_once('(').map_or("", |(_, what)| what).trim_end_matches(')').replace(' ', "");
                let never = what.contains("any()")
                    || what.contains("any(") && !what.contains('=')
                    || what == "FALSE"
                    || what == "false"
                    || what.contains("not(test");
                if what != "test" && !(what == "all(test" || what == "all(test)") {
                    let fine =
                        what.starts_with("any(") && what.contains("test") && !what.contains("not(test");
                    if !fine {
                        said.skip = Some(skipped(mark, !never));
                    }
                }
            }
            "cfg_attr" if inner.contains("ignore") => {
                let always =
                    inner.contains("all()") || inner.contains("(test,") || inner.contains("not(any())");
                said.skip = Some(skipped(mark, !always));
            }
            "should_panic" => {
                said.fails = Some(if inner.contains("expected") { Fails::Specific } else { Fails::Anyhow });
            }
            _ => {}
        }
    }
    if rows > 0 {
        said.rows = rows;
    }
    said
}

/// Reads Java's annotations.
pub(super) fn annotations(node: &Node) -> Markers {
    let mut said = Markers { rows: 1, ..Markers::default() };
    for mark in &node.marks {
        let Kind::Pair(text) = &mark.kind else { continue };
        let name: String = text
            .trim_start_matches('@')
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '.' || *c == '_')
            .collect();
        let name = name.rsplit('.').next().unwrap_or_default();
        match name {
            "Test" | "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "TestTemplate" | "Property"
            | "Theory" => {
                said.is_test = true;
                let compact: String = text.split_whitespace().collect();
                if compact.contains("enabled=false") {
                    said.skip = Some(skipped(mark, false));
                }
                if let Some((_, error)) =
                    compact.split_once("expected=").or_else(|| compact.split_once("expectedExceptions="))
                {
                    said.fails = Some(Fails::by(error.split([',', ')']).next().unwrap_or_default()));
                }
            }
            "Disabled" | "Ignore" => said.skip = Some(skipped(mark, false)),
            name if name.starts_with("Disabled") || name.starts_with("Enabled") || name == "Ignored" => {
                said.skip = said.skip.or_else(|| Some(skipped(mark, true)));
            }
            "ValueSource" | "CsvSource" => {
                let lists = mark.all().into_iter().find(|node| node.kind == Kind::List);
                if let Some(list) = lists {
                    said.rows = said.rows.saturating_mul(u32::try_from(list.kids.len()).unwrap_or(1));
                } else if text.contains("textBlock") {
                    said.rows = MANY;
                }
            }
            "MethodSource" | "FieldSource" | "CsvFileSource" | "EnumSource" | "ArgumentsSource" => {
                said.rows = MANY;
            }
            _ => {}
        }
    }
    said
}

/// Names of functions that run before tests.
const BEFORE: [&str; 14] = [
    "setUp",
    "setUpClass",
    "setUpModule",
    "setup_method",
    "setup_class",
    "setup_module",
    "setup_function",
    "setup",
    "pytest_runtest_setup",
    "SetupTest",
    "SetupSuite",
    "asyncSetUp",
    "before_each",
    "pytest_configure",
];
/// pytest hooks that select what runs, or report how it went.
const HOOKS: [&str; 6] = [
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "pytest_runtest_makereport",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
    "pytest_sessionfinish",
];

/// Finds code outside of tests that keeps them from running.
pub(super) fn outside<'a>(file: &File<'a>, root: &'a Node, suite: &mut Suite<'a>) {
    for (name, function) in &file.functions {
        let before = BEFORE.contains(name)
            || function.marks.iter().any(|mark| {
                let text = mark.raw();
                text.contains("fixture") || text.starts_with("@Before")
            });
        if before {
            let scope = Scope::new(file, function);
            if let Some(skip) = Walk::through(&scope, function, &Way::open()).skip {
                let text = skip.text;
                suite.marks.push(acquit_core::check::outline::Mark {
                    line: skip.line,
                    text,
                    deed: Deed::Skips,
                });
            }
        }
        if HOOKS.contains(name) {
            suite.marks.push(mark(function, Deed::Skips));
        }
    }
    for node in root.all() {
        match &node.kind {
            Kind::Assign(name) if file.language == Language::Python => {
                let value = node.kids.first().map(Node::text).unwrap_or_default();
                let skips = name == "pytestmark" && ["skip", "xfail"].iter().any(|word| value.contains(word));
                let leaves =
                    matches!(name.as_str(), "collect_ignore" | "collect_ignore_glob") && value != "[]";
                if skips || leaves {
                    suite.marks.push(mark(node, Deed::Skips));
                }
            }
            Kind::Other if file.language == Language::Rust => {
                let text = node.raw();
                if text.starts_with("#![") && text.contains("cfg(") && !text.contains("cfg(test)") {
                    suite.marks.push(mark(node, Deed::Skips));
                }
            }
            Kind::Call
                if matches!(node.called(), "retryTimes" | "retries")
                    && node.args().first().is_some_and(|count| count.text() != "0") =>
            {
                suite.marks.push(mark(node, Deed::Retries));
            }
            Kind::Pair(key)
                if matches!(key.as_str(), "retry" | "retries" | "retryAnalyzer")
                    && file.language != Language::Go =>
            {
                let off =
                    node.kids.first().is_some_and(|value| matches!(value.text().as_str(), "0" | "false"));
                if !off && !suite.cases.is_empty() {
                    suite.marks.push(mark(node, Deed::Retries));
                }
            }
            _ => {}
        }
    }
    for node in &root.kids {
        let call = if node.kind == Kind::Statement { node.kids.first().unwrap_or(node) } else { node };
        let path = call.callee();
        let leaves = match file.language {
            Language::Python => {
                matches!(
                    path.as_str(),
                    "pytest.skip" | "pytest.importorskip" | "sys.exit" | "os._exit" | "exit" | "quit"
                ) || node.kind == Kind::Throw
                    && (node.raw().contains("SkipTest") || node.raw().contains("SystemExit"))
            }
            Language::Script => path == "process.exit",
            Language::Rust | Language::Go | Language::Java => false,
        };
        if leaves {
            suite.marks.push(mark(call, Deed::Skips));
        }
    }
}
