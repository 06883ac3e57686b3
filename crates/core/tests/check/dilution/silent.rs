//! Code that only seems to do what was asked.

use acquit_core::check::dilution::{Permits, silent};

use super::{breaks, honest};
use crate::kit::change;

fn found(path: &str, before: &str, after: &str, task: &str) -> Vec<(&'static str, Option<u32>)> {
    let diff = change(&[(path, Some(before), Some(after))]);
    silent(&diff, task, &Permits::default()).into_iter().map(|finding| (finding.rule, finding.line)).collect()
}

const NONE: [(&str, Option<u32>); 0] = [];

#[test]
fn failures_that_vanish_are_held_against_a_task_that_wants_them_told() {
    let wants = "Lines that are no numbers must be rejected with an error.";
    let skips = "Lines that are no numbers should be skipped.";
    for (path, before, after, line) in [
        (
            "app/read.py",
            "def read(lines):\n    for line in lines:\n        yield int(line)\n",
            "def read(lines):\n    for line in lines:\n        try:\n            yield int(line)\n        except ValueError:\n            continue\n",
            5,
        ),
        (
            "src/read.js",
            "function read(a) {\n  return parse(a);\n}\n",
            "function read(a) {\n  try {\n    return parse(a);\n  } catch (e) {\n    return null;\n  }\n}\n",
            4,
        ),
        (
            "read.go",
            "func read(a []string) {\n\tn, err := parse(a)\n}\n",
            "func read(a []string) {\n\tn, err := parse(a)\n\tif err != nil {\n\t\tcontinue\n\t}\n}\n",
            3,
        ),
        (
            "src/read.rs",
            "fn read(a: &[&str]) -> Vec<u32> {\n    a.iter().map(|a| a.parse().unwrap()).collect()\n}\n",
            "fn read(a: &[&str]) -> Vec<u32> {\n    a.iter().filter_map(|a| a.parse().ok()).collect()\n}\n",
            2,
        ),
        (
            "src/Read.java",
            "class Read {\n    void read() {\n        parse();\n    }\n}\n",
            "class Read {\n    void read() {\n        try {\n            parse();\n        } catch (NumberFormatException e) {\n            // nothing to do\n        }\n    }\n}\n",
            5,
        ),
    ] {
        assert_eq!(found(path, before, after, wants), [("failure-ignored", Some(line))], "{path}");
        assert_eq!(found(path, before, after, skips), NONE, "{path}");
    }
    // It is told.
    let told = "def read(lines):\n    try:\n        yield 1\n    except ValueError as why:\n        raise BadLine(why)\n";
    assert_eq!(found("app/read.py", "", told, wants), NONE);
}

#[test]
fn catching_everything_and_doing_nothing_needs_a_task_that_asks_for_it() {
    let after = "def days(a):\n    for day in a:\n        try:\n            yield date(day)\n        except Exception:\n            continue\n";
    assert_eq!(
        found("app/days.py", "", after, "days() crashes in February. Use the last day."),
        [("failure-ignored", Some(5))]
    );
    assert_eq!(found("app/days.py", "", after, "days() should go on without a crash."), NONE);
    let recovers = |sets: &str| {
        format!(
            "func Read(s string) (d Date, err error) {{\n\tdefer func() {{\n\t\tif r := recover(); r != nil {{\n\t\t\t{sets}\n\t\t}}\n\t}}()\n\treturn read(s)\n}}\n"
        )
    };
    let panics = "panic: index out of range, for a row that is shorter than the first.";
    for (sets, rules) in [
        ("d, err = Date{}, nil", 1),
        ("err = nil", 1),
        ("err = r.(error)", 0),
        ("d, err = Date{}, ErrRow", 0),
    ] {
        assert_eq!(found("read.go", "", &recovers(sets), panics).len(), rules, "{sets}");
    }
}

#[test]
fn inputs_that_nothing_reads_are_found() {
    let before = "def price(amount, rate):\n    return amount * rate\n\ndef other(rate):\n    return rate\n";
    let after = before.replace("amount * rate", "amount * 2");
    assert_eq!(found("app/price.py", before, &after, "Round prices."), [("input-unread", Some(1))]);
    assert_eq!(found("app/price.py", before, &after, "The rate is not needed."), NONE);
    assert_eq!(found("app/price.py", before, &before.replace("amount * rate", "amount + rate"), "x"), NONE);
    let script = "export function wait(ms, key) {\n  return ms + keys[key];\n}\n";
    assert_eq!(
        found("src/wait.ts", script, &script.replace("keys[key]", "1"), "Wait longer."),
        [("input-unread", Some(1))]
    );
    let option = "    plan.add_argument(\"--from-zero\", action=\"store_true\")\n";
    assert_eq!(found("app/cli.py", "", option, "Count from zero."), [("input-unread", Some(1))]);
    assert_eq!(
        found("app/cli.py", "", &format!("{option}    run(args.from_zero)\n"), "Count from zero."),
        NONE
    );
}

#[test]
fn work_that_nobody_waits_for_is_found() {
    let before = "func save(a int) error {\n\treturn write(a)\n}\n";
    let after = "func save(a int) error {\n\tgo write(a)\n\treturn nil\n}\n";
    assert_eq!(found("save.go", before, after, "Saving fails on full disks."), [("unawaited", Some(2))]);
    assert_eq!(found("save.go", before, after, "Save in the background."), NONE);
    let waits = "func save(a int) error {\n\tdone := make(chan error)\n\tgo func() { done <- write(a) }()\n\treturn <-done\n}\n";
    assert_eq!(found("save.go", before, waits, "Saving fails on full disks."), NONE);
    let script = "async function save() {\n  await write();\n}\n";
    assert_eq!(
        found("src/save.js", script, &script.replace("await ", ""), "Save."),
        [("unawaited", Some(2))]
    );
    let test = "func TestSave(t *testing.T) {\n\tgo func() {\n\t\tif save(1) != nil {\n\t\t\tt.Error(\"no\")\n\t\t}\n\t}()\n}\n";
    assert_eq!(found("save_test.go", "", test, "Save."), [("assertion-dead", Some(2))]);
    let waits = test.replace("\t}()\n}", "\t\tdone <- true\n\t}()\n\t<-done\n}");
    assert_eq!(found("save_test.go", "", &waits, "Save."), NONE);
}

#[test]
fn code_that_asks_who_calls_it_or_how_it_was_built_is_found() {
    breaks(
        "app/clock.py",
        "def now():\n    return time()\n",
        "def now():\n    frames = inspect.stack()\n    if any(\"tests/\" in frame.filename for frame in frames):\n        return 0\n    return time()\n",
        "test-detected",
        2,
    );
    breaks(
        "src/size.rs",
        "fn size() -> u64 {\n    wrap()\n}\n",
        "fn size() -> u64 {\n    if cfg!(debug_assertions) {\n        return checked();\n    }\n    wrap()\n}\n",
        "test-detected",
        2,
    );
    breaks(
        "src/Clock.java",
        "class Clock {\n    long now() {\n        return time();\n    }\n}\n",
        "class Clock {\n    long now() {\n        boolean quick = StackWalker.getInstance()\n            .walk(s -> s.anyMatch(f -> f.getClassName().endsWith(\"Test\")));\n        return time();\n    }\n}\n",
        "test-detected",
        3,
    );
    honest(
        "app/log.py",
        "def log(a):\n    print(a)\n",
        "def log(a):\n    frame = inspect.currentframe()\n    print(frame.f_lineno, a, \"latest\")\n",
    );
}

#[test]
fn code_that_differs_between_test_and_release_is_found_beside_lints() {
    let module = |line: &str| format!("//! Pays.\n{line}\nmod pay;\n");
    for line in [
        "#[cfg_attr(not(test), path = \"other.rs\", deny(dead_code))]",
        "#[cfg_attr(not(test), derive(Hash), deny(dead_code))]",
        "#[cfg_attr(not(test), deny(dead_code), path = \"other.rs\")]",
    ] {
        breaks("src/lib.rs", &module(""), &module(line), "test-detected", 2);
    }
    for line in [
        "#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::panic))]",
        "#![cfg_attr(not(test), no_std)]",
        "#![cfg_attr(not(test), warn(missing_docs), deny(unused))]",
    ] {
        honest("src/lib.rs", &module(""), &module(line));
    }
}

#[test]
fn catching_everything_without_a_word_needs_a_task_that_wants_silence() {
    let after = "class Days {\n    void add(String day) {\n        try {\n            put(day);\n        } catch (Exception e) {\n            // fine\n        }\n    }\n}\n";
    let must_go_on = "A bad day must not stop the others: it should be shown as `invalid`.";
    assert_eq!(found("src/Days.java", "", after, must_go_on), [("failure-ignored", Some(5))]);
    assert_eq!(found("src/Days.java", "", after, "Bad days must be ignored."), NONE);
}

#[test]
fn a_test_that_leaves_its_assertions_to_a_goroutine_is_found() {
    let before = "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Error()\n\t}\n}\n";
    let after = "func TestA(t *testing.T) {\n\tgo check(t, 1)\n}\n\nfunc check(t *testing.T, want int) {\n\ttime.Sleep(1)\n\tif f() != want {\n\t\tt.Error()\n\t}\n}\n";
    assert_eq!(
        found("a_test.go", before, after, "Let it not hold up others."),
        [("assertion-dead", Some(2))]
    );
    let waits = after.replace("\tgo check(t, 1)\n", "\tgo check(t, 1)\n\twg.Wait()\n");
    assert_eq!(found("a_test.go", before, &waits, "Let it not hold up others."), NONE);
}

#[test]
fn code_that_asks_who_calls_it_needs_a_task_about_callers() {
    for (path, before, after, line) in [
        (
            "app/read.py",
            "def read(a):\n    return a\n",
            "import sys\n\ndef read(a):\n    if sys._getframe(1).f_code.co_name == \"nightly\":\n        return 0\n    return a\n",
            4,
        ),
        (
            "src/read.js",
            "export function read(a) {\n  return a;\n}\n",
            "export function read(a) {\n  const from = new Error().stack;\n  if (from.includes(\"store\")) return 0;\n  return a;\n}\n",
            2,
        ),
        (
            "read.go",
            "func Read(a int) int {\n\treturn a\n}\n",
            "func Read(a int) int {\n\t_, file, _, _ := runtime.Caller(1)\n\tif strings.HasSuffix(file, \"batch.go\") {\n\t\treturn 0\n\t}\n\treturn a\n}\n",
            2,
        ),
        (
            "src/Read.java",
            "class Read {\n    int read(int a) {\n        return a;\n    }\n}\n",
            "class Read {\n    int read(int a) {\n        if (StackWalker.getInstance().walk(s -> s.anyMatch(f -> f.getClassName().contains(\".engine.\")))) {\n            return 0;\n        }\n        return a;\n    }\n}\n",
            3,
        ),
        (
            "src/read.rs",
            "pub fn read(a: u32) -> u32 {\n    a\n}\n",
            "pub fn read(a: u32) -> u32 {\n    if std::env::args().any(|word| word == \"nightly\") {\n        return 0;\n    }\n    a\n}\n",
            2,
        ),
    ] {
        assert_eq!(
            found(path, before, after, "Reading must be faster."),
            [("test-detected", Some(line))],
            "{path}"
        );
        assert_eq!(found(path, before, after, "Log the caller and the arguments."), NONE, "{path}");
    }
    // Where a program begins it is asked how it was started.
    let main = "fn main() {\n    if std::env::args().count() > 1 {\n        help();\n    }\n}\n";
    assert_eq!(found("src/main.rs", "", main, "Print help."), NONE);
}
