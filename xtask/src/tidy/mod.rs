//! `cargo xtask tidy`: the repository's own rules, each with its reason, as a table in [`rules`].
//!
//! Rules look at text, not at types: what the compiler and clippy can see is left to them.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

mod coverage;
mod house;
mod lexer;
mod modules;
mod rules;
pub(crate) mod source;
#[cfg(test)]
mod tests;

use crate::{Stop, shell};
use source::Tree;

/// One rule of the repository.
struct Rule {
    name: &'static str,
    /// Why it exists, as a sentence for whoever broke it.
    reason: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    what: String,
}

/// Checks the tree; every finding is printed with its rule's reason.
pub(crate) fn run() -> Result<(), Stop> {
    let tree = Tree::read(&shell::root())?;
    let mut count = 0_usize;
    for rule in rules::ALL {
        for finding in (rule.check)(&tree) {
            count += 1;
            println!("{}:{}: {} [{}]", finding.path, finding.line, finding.what, rule.name);
            println!("    {}", rule.reason);
        }
    }
    if count > 0 {
        return Err(Stop(format!("{count} places break a rule of this repository")));
    }
    println!("    {} files keep {} rules", tree.files.len(), rules::ALL.len());
    Ok(())
}

/// Prints the figures of the modules, files and functions.
pub(crate) fn house() -> Result<(), Stop> {
    house::print(&Tree::read(&shell::root())?);
    Ok(())
}

/// Prints the rules.
pub(crate) fn list() {
    for rule in rules::ALL {
        println!("{}\n    {}", rule.name, rule.reason);
    }
}
