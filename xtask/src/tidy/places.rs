//! The places that an addition touches, counted by adding a dummy of each kind: a gate kind, an agent, a channel, a
//! verb and a column.
//!
//! Each dummy is a list of new files and of edits to existing files. `cargo xtask house` checks that the edits still
//! apply, and prints their number; `cargo xtask house --try` applies all of them to a copy of the repository and
//! compiles it. CONTRIBUTING.md lists the same places, and a test compares the two.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

use std::path::Path;

use super::source::Tree;
use crate::{Stop, shell};

/// An addition to the code.
pub(super) struct Dummy {
    pub(super) kind: &'static str,
    /// New files: path and content.
    new: &'static [(&'static str, &'static str)],
    edits: &'static [Edit],
}

/// A line of an existing file to add or change.
struct Edit {
    path: &'static str,
    /// Text that occurs once.
    from: &'static str,
    to: &'static str,
}

pub(super) const DUMMIES: &[Dummy] = &[
    Dummy {
        kind: "gate kind",
        new: &[
            (
                "crates/core/src/gate/check/dummy.rs",
                r#"//! A dummy.

use serde::{Deserialize, Serialize};

use super::{Kind, runs_nothing};
use crate::toml_reader::Table;

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dummy {}

impl Kind for Dummy {
    const WORD: &'static str = "dummy";
    const DEMAND: &'static str = "nothing";
    const CLAIM: &'static str = "nothing";

    fn read(table: &mut Table<'_, '_>) -> Option<Self> {
        runs_nothing(table);
        Some(Self {})
    }
}
"#,
            ),
            (
                "crates/run/src/gate/dummy.rs",
                r"//! A dummy.

use acquit_core::gate::check::Dummy;
use acquit_core::gate::{Evidence, Verdict};

use super::suite::Spent;
use super::{Case, Judge, conclude};
use crate::leg::{LegAbort, WorkingTree};

impl Judge for Dummy {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
        let here = WorkingTree::of(case.workspace);
        Ok(conclude(case.gate, &Spent::default(), Evidence::default(), &here))
    }
}
",
            ),
        ],
        edits: &[
            Edit {
                path: "crates/core/src/gate/check.rs",
                from: "\nmod plain;\n",
                to: "\nmod dummy;\nmod plain;\n",
            },
            Edit {
                path: "crates/core/src/gate/check.rs",
                from: "pub use plain::Plain;\n",
                to: "pub use dummy::Dummy;\npub use plain::Plain;\n",
            },
            Edit {
                path: "crates/core/src/gate/check.rs",
                from: "    Review(Review),\n",
                to: "    Review(Review),\n    /// A dummy.\n    Dummy(Dummy),\n",
            },
            Edit {
                path: "crates/run/src/gate/mod.rs",
                from: "mod earlier;\n",
                to: "mod dummy;\nmod earlier;\n",
            },
        ],
    },
    Dummy {
        kind: "agent",
        new: &[(
            "crates/run/src/agent/dummy.rs",
            r#"//! A dummy.

use acquit_core::agent::AgentEvent;
use acquit_core::config::Product;

use super::Parser;
use super::product::{Facts, Holds, Support, Supports, Version};
use super::tools::Hold;

pub(super) const FACTS: Facts = Facts {
    product: Product::Dummy,
    title: "Dummy",
    program: "dummy",
    version: &["--version"],
    log_in: "",
    tried: Version(0, 0, 0),
    bad: &[],
    hosts: &[],
    login: &[],
    settings: &[],
    servers: &[],
    login_variables: &[],
    keys: &[],
    quiet: &[],
    spare_hosts: &[],
    supports: Supports {
        sessions: Support::No,
        structured: Support::No,
        tools: Support::No,
        tool_events: Support::No,
        usage: Support::No,
        cost: Support::No,
        turns: Support::No,
        limits: Support::No,
        ending: Support::No,
    },
    holds: Holds { edit: Hold::Told, run: Hold::Told, web: Hold::Told, commands: Hold::Told },
    reads_agents_md: false,
    reads_env: false,
    launch: |_, launch, extra| launch.args(extra),
    parser: |_| Box::new(Lines),
};

struct Lines;

impl Parser for Lines {
    fn line(&mut self, _: &[u8], _: &mut Vec<AgentEvent>) {}
}
"#,
        )],
        edits: &[
            Edit {
                path: "crates/core/src/config/mod.rs",
                from: "    Pi = \"pi\",\n",
                to: "    Pi = \"pi\",\n    /// A dummy.\n    Dummy = \"dummy\",\n",
            },
            Edit {
                path: "crates/run/src/agent/mod.rs",
                from: "mod gemini;\n",
                to: "mod dummy;\nmod gemini;\n",
            },
            Edit {
                path: "crates/run/src/agent/product.rs",
                from: "            Product::Pi => &pi::FACTS,\n",
                to: "            Product::Pi => &pi::FACTS,\n            Product::Dummy => &super::dummy::FACTS,\n",
            },
        ],
    },
    Dummy {
        kind: "channel",
        new: &[
            (
                "crates/core/src/config/channel/dummy.rs",
                r#"//! A dummy.

use super::{Fields, Kind};

/// A dummy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dummy {}

impl Kind for Dummy {
    const WORD: &'static str = "dummy";
    const KEYS: &'static [&'static str] = &[];

    fn read(_: &mut Fields<'_, '_, '_>) -> Option<Self> {
        Some(Self {})
    }
}
"#,
            ),
            (
                "crates/run/src/notify/dummy.rs",
                r"//! A dummy.

use acquit_core::config::channel::Dummy;

use super::{Envelope, Error, Secrets, Send};

impl Send for Dummy {
    fn send(&self, _: &Envelope<'_>, _: &Secrets<'_>) -> Result<(), Error> {
        Ok(())
    }
}
",
            ),
        ],
        edits: &[
            Edit {
                path: "crates/core/src/config/channel.rs",
                from: "\nmod email;\n",
                to: "\nmod dummy;\nmod email;\n",
            },
            Edit {
                path: "crates/core/src/config/channel.rs",
                from: "pub use email::",
                to: "pub use dummy::Dummy;\npub use email::",
            },
            Edit {
                path: "crates/core/src/config/channel.rs",
                from: "    Email,\n}",
                to: "    Email,\n    /// A dummy.\n    Dummy,\n}",
            },
            Edit {
                path: "crates/run/src/notify/mod.rs",
                from: "mod email;\n",
                to: "mod dummy;\nmod email;\n",
            },
        ],
    },
    Dummy {
        kind: "verb",
        new: &[(
            "crates/cli/src/verbs/dummy.rs",
            r#"//! A dummy.

use crate::cli::Cli;
use crate::exit::Exit;

/// Says a word.
pub fn dummy(cli: &Cli) -> Exit {
    cli.printer.say("dummy");
    Exit::Done
}
"#,
        )],
        edits: &[
            Edit {
                path: "crates/cli/src/args.rs",
                from: "    Doctor,\n",
                to: "    Doctor,\n    /// Do nothing.\n    Dummy,\n",
            },
            Edit {
                path: "crates/cli/src/main.rs",
                from: "        Verb::Doctor => ",
                to: "        Verb::Dummy => Ok(verbs::dummy::dummy(&cli)),\n        Verb::Doctor => ",
            },
            Edit {
                path: "crates/cli/src/verbs/mod.rs",
                from: "pub mod feedback;\n",
                to: "pub mod dummy;\npub mod feedback;\n",
            },
        ],
    },
    Dummy {
        kind: "column",
        new: &[
            ("crates/store/src/sqlite/schema-dummy.sql", "alter table tasks add column dummy integer;\n"),
            ("crates/store/src/postgres/schema-dummy.sql", "alter table tasks add column dummy bigint;\n"),
        ],
        edits: &[
            Edit {
                path: "crates/store/src/sqlite/file.rs",
                from: "include_str!(\"schema-1.sql\"),",
                to: "include_str!(\"schema-1.sql\"), include_str!(\"schema-dummy.sql\"),",
            },
            Edit {
                path: "crates/store/src/postgres/connect.rs",
                from: "include_str!(\"schema-1.sql\"),",
                to: "include_str!(\"schema-1.sql\"), include_str!(\"schema-dummy.sql\"),",
            },
            Edit {
                path: "crates/store/src/record.rs",
                from: "            cost: Option<i64>,\n            updated: i64,\n",
                to: "            cost: Option<i64>,\n            dummy: Option<i64>,\n            updated: i64,\n",
            },
            Edit {
                path: "crates/store/src/record.rs",
                from: "            cost: task.usage().paid().map(number),\n            created: seed",
                to: "            cost: task.usage().paid().map(number),\n            dummy: None,\n            created: seed",
            },
            Edit {
                path: "crates/store/src/copy.rs",
                from: "            (\"cost\", Int),\n            (\"created\", Int),\n",
                to: "            (\"cost\", Int),\n            (\"dummy\", Int),\n            (\"created\", Int),\n",
            },
        ],
    },
];

impl Dummy {
    /// Returns the existing files that it touches, each with the number of lines, in order.
    pub(super) fn touched(&self) -> Vec<(&'static str, usize)> {
        let mut files: Vec<(&str, usize)> = Vec::new();
        for edit in self.edits {
            match files.iter_mut().find(|(path, _)| *path == edit.path) {
                Some((_, count)) => *count += 1,
                None => files.push((edit.path, 1)),
            }
        }
        files
    }

    /// Returns the edits that no longer apply.
    pub(super) fn stale(&self, tree: &Tree) -> Vec<String> {
        let text = |path: &str| tree.files.iter().find(|file| file.path == path).map(|file| &file.text);
        let once = |edit: &&Edit| text(edit.path).is_some_and(|text| text.matches(edit.from).count() == 1);
        let stale = self.edits.iter().filter(|edit| !once(edit));
        stale.map(|edit| format!("{}: {:?} does not occur once", edit.path, edit.from)).collect()
    }

    fn apply(&self, root: &Path) -> Result<(), Stop> {
        let failed = |path: &'static str| Stop::doing::<std::io::Error>(path);
        for (path, text) in self.new {
            std::fs::write(root.join(path), text).map_err(failed(path))?;
        }
        for edit in self.edits {
            let place = root.join(edit.path);
            let text = std::fs::read_to_string(&place).map_err(failed(edit.path))?;
            std::fs::write(place, text.replacen(edit.from, edit.to, 1)).map_err(failed(edit.path))?;
        }
        Ok(())
    }
}

/// Prints the number of places that each dummy touches.
pub(super) fn print(tree: &Tree) {
    println!("\nplaces that an addition touches (`cargo xtask house --try` compiles all of them)");
    for dummy in DUMMIES {
        let touched = dummy.touched();
        let lines: usize = touched.iter().map(|(_, count)| count).sum();
        let files: Vec<String> = touched
            .iter()
            .map(|(path, count)| format!("{} ({count})", path.trim_start_matches("crates/")))
            .collect();
        println!(
            "  {:<10} {} new files, {lines} lines in {} files: {}",
            dummy.kind,
            dummy.new.len(),
            files.len(),
            files.join(", ")
        );
        for stale in dummy.stale(tree) {
            println!("    stale: {stale}");
        }
    }
}

/// Adds all dummies to a copy of the committed files below `target/`, and compiles it with its tests.
pub(super) fn attempt() -> Result<(), Stop> {
    let root = shell::root();
    let copy = root.join("target/house");
    let _ = std::fs::remove_dir_all(&copy);
    std::fs::create_dir_all(&copy).map_err(Stop::doing("create a copy"))?;
    let listed = shell::program("git")
        .args([
            "ls-files",
            "-z",
            "--",
            "Cargo.toml",
            "Cargo.lock",
            "clippy.toml",
            "crates",
            "xtask",
            "docs",
            "corpus",
        ])
        .current_dir(&root)
        .output()
        .map_err(Stop::doing("list the files"))?;
    for path in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|path| !path.is_empty()) {
        let (from, to) = (root.join(path), copy.join(path));
        let made = to.parent().map_or(Ok(()), std::fs::create_dir_all);
        let copied = made.and_then(|()| std::fs::copy(&from, &to).map(drop));
        // A listed file may have been removed since.
        if from.exists() {
            copied.map_err(Stop::doing(path))?;
        }
    }
    for dummy in DUMMIES {
        dummy.apply(&copy)?;
    }
    let mut cargo = shell::cargo(&["check", "--workspace", "--all-targets"]);
    cargo.current_dir(&copy).env("CARGO_TARGET_DIR", root.join("target/house-build"));
    if shell::succeeds(&mut cargo)? {
        println!("    a dummy of each kind compiles with these edits and no others");
        Ok(())
    } else {
        Err(Stop(format!("a dummy needs more places than listed; see {}", copy.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_contributing_are_those_of_the_dummies() {
        let tree = Tree::read(&shell::root()).unwrap();
        let stale: Vec<String> = DUMMIES.iter().flat_map(|dummy| dummy.stale(&tree)).collect();
        assert!(stale.is_empty(), "{stale:#?}");
        let listed = std::fs::read_to_string(shell::root().join("CONTRIBUTING.md")).unwrap();
        for dummy in DUMMIES {
            let name = match dummy.kind {
                "gate kind" => "a kind of gate",
                "agent" => "a coding agent",
                "channel" => "a notification channel",
                "verb" => "a verb",
                _ => "a column",
            };
            let row = listed.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
            let lines: usize = dummy.touched().iter().map(|(_, count)| count).sum();
            assert!(row.ends_with(&format!("| {} | {lines} |", dummy.new.len())), "{row}");
            for (path, _) in dummy.touched() {
                let short = path.trim_start_matches("crates/").rsplit('/').next().unwrap();
                assert!(row.contains(short), "{name}: {path} is missing");
            }
        }
    }
}
