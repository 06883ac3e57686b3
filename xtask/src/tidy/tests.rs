//! For every rule, a tree that breaks it, the location, and a similar tree that does not.

use super::rules::ALL;
use super::source::{File, Tree};

/// A rule, a file that breaks it, the lines, and a similar file that does not.
struct Example {
    rule: &'static str,
    broken: (&'static str, &'static str),
    lines: &'static [usize],
    kept: (&'static str, &'static str),
}

const EXAMPLES: &[Example] = &[
    Example {
        rule: "module-map",
        broken: ("docs/modules.md", "# Modules\n## `crates/run`\n- `leg`: a leg. `leg/gone.rs`: nothing.\n"),
        lines: &[3],
        kept: ("docs/modules.md", "# Modules, `x.rs`\n## `crates/run`\n- `leg`: a leg.\n"),
    },
    Example {
        rule: "module-docs",
        broken: ("crates/run/src/a.rs", "use std::io;\n//! late"),
        lines: &[1],
        kept: ("crates/run/src/a.rs", "//! Says what it is.\nuse std::io;"),
    },
    Example {
        rule: "module-docs",
        broken: ("crates/corpus/src/a.rs", "use std::io;\n"),
        lines: &[1],
        kept: ("corpus/rust/sample/base/src/a.rs", "use std::io;\n"),
    },
    Example {
        rule: "unfinished",
        broken: (
            "crates/run/src/a.rs",
            "//! A.\nfn a() { todo!() }\nfn b() { unimplemented!() }\n#[ignore = \"slow\"]",
        ),
        lines: &[2, 3, 4],
        kept: ("crates/run/src/a.rs", "//! No todo!() is left.\nconst A: &str = \"#[ignore]\";"),
    },
    Example {
        rule: "notes-to-self",
        broken: ("crates/run/src/a.rs", "//! A.\n// TODO: later\nfn a() {} /* FIXME */"),
        lines: &[2, 3],
        kept: ("crates/run/src/a.rs", "//! Counts TODOs.\nconst A: &str = \"TODO\";"),
    },
    Example {
        rule: "machine-paths",
        broken: ("docs/a.md", "see `/home/ada/x`\n\n(/root/.cargo) and /work/tree\n"),
        lines: &[1, 3, 3],
        kept: (
            "docs/a.md",
            "https://example.org/home/ada, ~/work/x, $DIR/work/x, `/home` and /home/<name>\n",
        ),
    },
    Example {
        rule: "one-spawner",
        broken: (
            "crates/run/src/gate.rs",
            "//! G.\nfn a() { Command::new(\"sh\"); }\n#[cfg(test)]\nmod tests { fn b() { Command::new(\"sh\"); } }",
        ),
        lines: &[2],
        kept: ("crates/sandbox/src/process/spawn.rs", "//! P.\nfn a() { Command::new(\"sh\"); }"),
    },
    Example {
        rule: "one-spawner",
        broken: (
            "crates/sandbox/src/processes.rs",
            "//! P.\n#[cfg(test)]\nmod tests;\nfn a() { Command::new(\"sh\"); }",
        ),
        lines: &[4],
        kept: ("xtask/src/a.rs", "//! X.\nfn a() { Command::new(\"sh\"); }"),
    },
    Example {
        rule: "one-git",
        broken: ("crates/run/src/workspace.rs", "//! Uses \"git\".\nfn a() { program(\"git\"); }"),
        lines: &[2],
        kept: ("crates/run/src/git/mod.rs", "//! G.\nfn a() { program(\"git\"); }"),
    },
    Example {
        rule: "one-git",
        broken: ("crates/cli/src/a.rs", "//! A.\nconst PROGRAM: &str = \"git\";"),
        lines: &[2],
        kept: ("crates/cli/tests/a.rs", "//! A.\nfn a() { Command::new(\"git\"); }"),
    },
    Example {
        rule: "one-git",
        broken: ("crates/store/src/a.rs", "//! A.\nfn a() { Command::new(\"git\"); }"),
        lines: &[2],
        kept: ("crates/run/src/workspace.rs", "//! A folder.\nfn a(dir: &Path) { dir.join(\"git\"); }"),
    },
    Example {
        rule: "pure-core",
        broken: (
            "crates/core/src/a.rs",
            "//! A.\nuse std::fs;\nuse std::{collections::HashMap, env};\nuse std::time::{Duration, Instant};\nasync fn a() {}",
        ),
        lines: &[2, 3, 4, 5],
        kept: (
            "crates/core/src/a.rs",
            "//! No std::fs here, no Instant.\nuse std::time::Duration;\nuse std::{fmt, collections::BTreeMap};\n#[cfg(test)]\nmod tests { use std::fs; }",
        ),
    },
    Example {
        rule: "pure-core",
        broken: (
            "crates/core/src/a.rs",
            "//! A.\nfn a() -> std::time::SystemTime { std::process::exit(std::net::x) }",
        ),
        lines: &[2, 2, 2],
        kept: ("crates/run/src/a.rs", "//! A.\nfn a() -> std::time::SystemTime { std::process::exit(1) }"),
    },
    Example {
        rule: "one-printer",
        broken: (
            "crates/cli/src/verbs.rs",
            "//! V.\nfn a() { println!(); }\nfn b() { eprintln!(); print!(); }",
        ),
        lines: &[2, 3, 3],
        kept: ("crates/cli/src/report.rs", "//! R.\nfn a() { println!(); }"),
    },
    Example {
        rule: "crate-directions",
        broken: (
            "crates/run/Cargo.toml",
            "[dependencies]\nacquit-core.workspace = true\nacquit-store.workspace = true\n",
        ),
        lines: &[3],
        kept: (
            "crates/run/Cargo.toml",
            "[dependencies]\nacquit-core.workspace = true\n[dev-dependencies]\nacquit-testkit.workspace = true\n",
        ),
    },
    Example {
        rule: "crate-directions",
        broken: (
            "crates/store/Cargo.toml",
            "[target.'cfg(unix)'.dependencies]\nr = { package = \"acquit-run\", path = \"../run\" }\n",
        ),
        lines: &[2],
        kept: ("crates/web/Cargo.toml", "[dependencies]\nacquit-store.workspace = true\n"),
    },
    Example {
        rule: "crate-directions",
        broken: ("crates/cli/Cargo.toml", "[dependencies]\nacquit-testkit.workspace = true\n"),
        lines: &[2],
        kept: (
            "crates/cli/Cargo.toml",
            "[dependencies]\nacquit-run.workspace = true\nacquit-store.workspace = true\n",
        ),
    },
    Example {
        rule: "crate-directions",
        broken: ("crates/sandbox/Cargo.toml", "[dependencies]\nacquit-run.workspace = true\n"),
        lines: &[2],
        kept: ("crates/run/Cargo.toml", "[dependencies]\nacquit-sandbox.workspace = true\n"),
    },
    Example {
        rule: "crate-directions",
        broken: ("crates/core/Cargo.toml", "[dev-dependencies]\nacquit-store.workspace = true\n"),
        lines: &[2],
        kept: ("crates/core/Cargo.toml", "[dependencies]\nserde.workspace = true\n"),
    },
    Example {
        rule: "one-test-command",
        broken: (".ci/run", "#!/usr/bin/env bash\nset -euo pipefail\nnpm ci\nexec cargo xtask test\n"),
        lines: &[3],
        kept: (
            ".ci/run",
            "#!/usr/bin/env bash\n# Why.\nset -euo pipefail\ncd \"$(dirname \"$0\")/..\"\nexec cargo xtask test\n",
        ),
    },
    Example {
        rule: "one-test-command",
        broken: (".ci/run", "set -euo pipefail\n"),
        lines: &[1],
        kept: (".ci/run", "exec cargo xtask test\n"),
    },
    Example {
        rule: "coverage",
        broken: (
            "docs/coverage.md",
            "| | Promise | Test |\n|---|---|---|\n| 1.1 | A | |\n| 1.2 | B | `cli/relay::gone` |\n| 1.2a | C | |\n",
        ),
        lines: &[3, 4, 5],
        kept: ("docs/coverage.md", "| | Promise | Test |\n|---|---|---|\n| 1.1 | A | missing: all of it |\n"),
    },
    Example {
        rule: "coverage",
        broken: ("docs/coverage.md", "| 1.1 | A | missing |\n| 1.2 | B | missing |\n| 1.1 | C | missing |\n"),
        lines: &[3],
        kept: ("docs/coverage.md", "| 1.1 | A | missing |\n| 1.1a | B | missing |\n"),
    },
    Example {
        rule: "reasoned-exceptions",
        broken: (
            "crates/run/src/a.rs",
            "//! A.\n#![allow(clippy::disallowed_methods)]\n#[expect(\n    clippy::disallowed_macros,\n)]\nfn a() {}",
        ),
        lines: &[2, 4],
        kept: (
            "crates/run/src/a.rs",
            "//! A.\n#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = \"the one place\")]",
        ),
    },
];

fn lines(rule: &str, (path, text): (&str, &str)) -> Vec<usize> {
    let rule = ALL.iter().find(|it| it.name == rule).expect("a rule of that name");
    let tree = Tree { files: vec![File::new(path.to_owned(), text.to_owned())] };
    let mut lines: Vec<usize> = (rule.check)(&tree)
        .into_iter()
        .filter(|finding| finding.path == path)
        .map(|finding| finding.line)
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn what_breaks_a_rule_is_found_in_its_line_and_what_looks_alike_is_not() {
    for example in EXAMPLES {
        assert_eq!(
            lines(example.rule, example.broken),
            example.lines,
            "{}: {:?}",
            example.rule,
            example.broken
        );
        assert_eq!(lines(example.rule, example.kept), [0; 0], "{}: {:?}", example.rule, example.kept);
    }
}

#[test]
fn a_file_over_the_limit_is_found() {
    let text = |lines: usize| "//! Long.\n".to_owned() + &"\n".repeat(lines - 1);
    assert_eq!(lines("file-length", ("crates/run/src/a.rs", &text(601))), [601]);
    assert_eq!(lines("file-length", ("crates/run/src/a.rs", &text(600))), [0; 0]);
}

#[test]
fn a_test_is_found_in_the_file_that_its_row_names() {
    let row = "| 1.1 | A | `cli/relay/work::kept`, `cli/relay/work::made`, `cli/relay/work::agents`, `cli/relay/work::listed`, \
               `cli/relay/work::told`, `cli/relay/work::quoted`, `core/src/time::x`, `cli/relay/work::helps`, \
               `store/all/claims::first`, `store/all/claims::unlisted` |\n"
        .to_owned();
    let work = "#[test]\n#[ignore]\nfn kept() {}\n\nfn helps() {}\ncases! {\n    made: Run,\n    listed = other;\n}\nmod agents {}\n// fn told() {}\n\
                const NAMES: &str = \"fn quoted()\";\n";
    let file = |path: &str, text: &str| File::new(path.to_owned(), text.to_owned());
    let tree = Tree {
        files: vec![
            File::new("docs/coverage.md".to_owned(), row),
            file("crates/cli/tests/relay/work.rs", work),
            file("crates/core/src/time/mod.rs", "#[test]\nfn xy() {}"),
            file("crates/store/tests/all/main.rs", "suite! {\n    claims:\n        first;\n}\n"),
            file("crates/store/tests/all/claims.rs", "pub fn first() {}\npub fn unlisted() {}\n"),
        ],
    };
    let rule = ALL.iter().find(|it| it.name == "coverage").expect("the rule");
    let found: Vec<_> = (rule.check)(&tree).into_iter().map(|finding| finding.what).collect();
    let gone = [
        "cli/relay/work::told",
        "cli/relay/work::quoted",
        "core/src/time::x",
        "cli/relay/work::helps",
        "store/all/claims::unlisted",
    ];
    assert_eq!(found, gone.map(|test| format!("no test `{test}`")));
}

#[test]
fn a_quoted_part_needs_a_verdict_and_its_rows_must_exist() {
    let file = |path: &str, text: &str| File::new(path.to_owned(), text.to_owned());
    let quoted = "> one\n\nRows: 1.1, 1.3b\n\n> two\n\nShown by: by nobody\n\n> else\n\nOtherwise: not so\n\n\
                  > kept\n\nOtherwise: not so. No test: nothing to run\n\n> three\n";
    let tree = Tree {
        files: vec![
            file("docs/coverage.md", "| 1.1 | A | missing |\n| 1.3a | B | missing |\n"),
            file("docs/specification.md", quoted),
        ],
    };
    let rule = ALL.iter().find(|it| it.name == "coverage").expect("the rule");
    let found: Vec<_> = (rule.check)(&tree).into_iter().map(|finding| finding.what).collect();
    assert_eq!(found[..3], ["docs/coverage.md has no row 1.3b", "no test", "no test"]);
    assert!(found[3].starts_with("a part without a verdict"), "{found:?}");
    assert!(found[4].starts_with("5 lines are quoted"), "the document was changed: {found:?}");
}

#[test]
fn a_missing_ci_script_is_found() {
    let tree = Tree { files: Vec::new() };
    let rule = ALL.iter().find(|it| it.name == "one-test-command").expect("the rule");
    assert_eq!((rule.check)(&tree).len(), 1);
}

#[test]
fn every_rule_has_an_example_that_breaks_it() {
    for rule in ALL.iter().filter(|rule| !["file-length", "module-cycles"].contains(&rule.name)) {
        assert!(EXAMPLES.iter().any(|example| example.rule == rule.name), "{}", rule.name);
    }
}
