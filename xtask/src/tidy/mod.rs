//! `cargo xtask tidy`: checks the repository's own rules, a table with reasons in [`rules`].
//!
//! Rules check text, not types. The compiler and clippy check the rest.
#![allow(clippy::disallowed_macros, reason = "xtask reports to the terminal it was started from")]

mod coverage;
mod house;
mod lexer;
mod map;
mod modules;
mod places;
mod rules;
pub(crate) mod source;
#[cfg(test)]
mod tests;

use crate::{Stop, shell};
use source::Tree;

/// A rule of the repository.
struct Rule {
    name: &'static str,
    /// Why it exists, as a sentence for the person who broke it.
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

/// Checks the tree. Prints every finding with the reason of its rule.
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

/// Prints metrics of modules, files and functions.
pub(crate) fn house() -> Result<(), Stop> {
    house::print(&Tree::read(&shell::root())?);
    Ok(())
}

/// Compiles a copy of the repository with a dummy of each kind that can be added.
pub(crate) fn try_additions() -> Result<(), Stop> {
    places::attempt()
}

/// Prints the rules.
pub(crate) fn list() {
    for rule in rules::ALL {
        println!("{}\n    {}", rule.name, rule.reason);
    }
}
