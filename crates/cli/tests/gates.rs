//! Gates that prove, on real repositories with real test runners: changes of known kinds, and the verdict on each.
//!
//! The languages share one table of kinds ([`kit::Kind`]); each says in its own file what such a change looks like. All cases
//! of a language are tasks of one repository, so that the base is run once for all of them, as it is for users.
//!
//! The ordinary run tries all kinds in JavaScript, whose runner starts fastest, and in each other language the kinds that show the language.
//! `cargo xtask soak` tries all kinds in all languages.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "gates/compared.rs"]
mod compared;
#[path = "gates/earlier.rs"]
mod earlier;
#[path = "gates/go.rs"]
mod go;
#[path = "gates/kit.rs"]
mod kit;
#[path = "gates/node.rs"]
mod node;
#[path = "gates/noticed.rs"]
mod noticed;
#[path = "gates/paths.rs"]
mod paths;
#[path = "gates/python.rs"]
mod python;
#[path = "gates/rust.rs"]
mod rust;

use std::collections::BTreeSet;

use kit::{Case, Kind, Tried};

#[test]
fn every_kind_of_change_is_tried_in_the_ordinary_run() {
    let kinds = |cases: &'static [Case], tried: Tried| {
        tried.of(cases).map(|case| case.kind).collect::<BTreeSet<Kind>>()
    };
    let all = [&go::CASES[..], &node::CASES, &python::CASES, &rust::CASES];
    let ordinary = [
        kinds(all[0], Tried::OfTheLanguage),
        kinds(all[1], Tried::All),
        kinds(all[2], Tried::OfTheLanguage),
        kinds(all[3], Tried::OfTheLanguage),
    ];
    let known: BTreeSet<Kind> = all.into_iter().flat_map(|cases| kinds(cases, Tried::All)).collect();
    assert_eq!(ordinary.into_iter().flatten().collect::<BTreeSet<Kind>>(), known);
}
