//! Stack traces in the text of a failure: which source lines were active when it was raised, innermost first.
//!
//! Each runtime prints them in its own form and order. A trace is text that the failing code could have printed, so it only
//! tells kinds of failures apart; it never turns a failure into a success.

use std::sync::LazyLock;

use regex::Regex;

use crate::failure::Location;
use crate::pattern::pattern;

/// Deep recursion prints thousands of equal frames.
const MOST: usize = 60;

/// Lines longer than this hold data, not a frame.
const LONGEST_LINE: usize = 1_000;

/// Python: `  File "a/b.py", line 3, in f`.
static PYTHON: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^\s*File "([^"]+)", line (\d+)"#));
/// pytest: `a/b.py:3: in f`, `a/b.py:3: KeyError`.
static PYTEST: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(\S+\.py):(\d+):(?: |$)"));
/// V8 and Rust backtraces: `at f (/a/b.js:3:4)`, `at file:///a/b.js:3:4`, `at ./src/lib.rs:3:4`; vitest: `❯ f a/b.ts:3:4`.
static AT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*(?:at|❯)\s(?:.*[\s(])?((?:file://)?[^\s()]+\.\w+):(\d+)(?::\d+)?\)?$"));
/// Java: `at com.example.Add.divide(Add.java:5)`, with or without a module in front.
static JAVA: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*at (?:[\w.@-]+/)*([\w.$]+)\.[\w$<>]+\((\w+\.(?:java|kt|groovy|scala)):(\d+)\)")
});
/// Go: a tab, the file and the line below each function.
static GO: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\t(\S+\.go):(\d+)"));
/// Rust: `thread 'x' panicked at src/lib.rs:3:4:`, and before 1.73 the message in quotes first.
static PANIC: LazyLock<Regex> = LazyLock::new(|| pattern(r" panicked at (?:'.*', )?(\S+\.rs):(\d+):\d+"));

/// The frames of a failure, innermost first.
pub(super) fn frames(text: &str) -> Vec<Location> {
    let (mut inner_first, mut outer_first) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|line| line.len() < LONGEST_LINE) {
        if inner_first.len() >= MOST || outer_first.len() >= MOST {
            break;
        }
        if let Some(found) = PYTHON.captures(line).or_else(|| PYTEST.captures(line)) {
            outer_first.extend(place(&found[1], &found[2]));
        } else if let Some(found) = JAVA.captures(line) {
            let package = found[1].rsplit_once('.').map_or("", |(package, _)| package);
            let folder = package.replace('.', "/");
            let path =
                if folder.is_empty() { found[2].to_owned() } else { format!("{folder}/{}", &found[2]) };
            inner_first.extend(place(&path, &found[3]));
        } else if let Some(found) = [&AT, &GO, &PANIC].iter().find_map(|form| form.captures(line)) {
            inner_first.extend(place(&found[1], &found[2]));
        }
    }
    outer_first.reverse();
    inner_first.extend(outer_first);
    inner_first.truncate(MOST);
    inner_first
}

fn place(path: &str, line: &str) -> Option<Location> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path);
    let line = line.parse().ok().filter(|line| *line > 0)?;
    (!path.starts_with("node:")).then(|| Location { path: path.to_owned(), line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        frames(text).iter().map(|frame| format!("{}:{}", frame.path, frame.line)).collect()
    }

    #[test]
    fn the_traces_of_each_runtime_are_read_innermost_first() {
        let pytest = "def test_nothing():\n>       total([])\n\ntests/test_a.py:5: \n_ _ _\n\nE       IndexError: list index\n\nsums.py:2: IndexError";
        assert_eq!(shown(pytest), ["sums.py:2", "tests/test_a.py:5"]);
        let native = "Traceback (most recent call last):\n  File \"tests/test_a.py\", line 5, in test\n    total([])\n  File \"sums.py\", line 2, in total\nIndexError";
        assert_eq!(shown(native), ["sums.py:2", "tests/test_a.py:5"]);
        let node = "TypeError: x\n    at total (file://src/a.mjs:3:4)\n    at async TestContext.<anonymous> (/w/a.test.mjs:2:2)\n    at node:internal/x:1:1";
        assert_eq!(shown(node), ["src/a.mjs:3", "/w/a.test.mjs:2"]);
        assert_eq!(
            shown("TypeError\n ❯ total src/a.ts:3:4\n ❯ a.test.ts:2:2"),
            ["src/a.ts:3", "a.test.ts:2"]
        );
        let java = "java.lang.ArithmeticException: / by zero\n\tat com.example.Add.divide(Add.java:5)\n\tat com.example.AddTest$In.t(AddTest.java:9)\n\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1511)";
        assert_eq!(
            shown(java),
            ["com/example/Add.java:5", "com/example/AddTest.java:9", "java/util/ArrayList.java:1511"]
        );
        let go = "panic: index out of range [recovered]\n\tpanic: x\n\ngoroutine 6 [running]:\nex.Total(...)\n\tsums.go:4\nex.TestA(0x1)\n\tsums_test.go:6 +0x1d\n    sums_test.go:9: said";
        assert_eq!(shown(go), ["sums.go:4", "sums_test.go:6"]);
        let rust = "thread 'a' panicked at src/lib.rs:9:42:\nindex out of bounds\nstack backtrace:\n   3: ex::total\n             at ./src/lib.rs:9:42\n   4: a::a\n             at ./tests/a.rs:3:5";
        assert_eq!(shown(rust), ["src/lib.rs:9", "src/lib.rs:9", "tests/a.rs:3"]);
        assert_eq!(shown("thread 'a' panicked at 'index out', src/lib.rs:9:42"), ["src/lib.rs:9"]);
    }
}
