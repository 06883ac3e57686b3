//! An agent, and the tests of a change, that mean harm: every attack of `acquit_testkit::hostile`, as an agent and as a
//! gate, under every network policy, with what must be seen of it from outside.
//!
//! A new attack is a line in the table of the program (`crates/testkit/src/hostile/`) and a line in `hostile/expected.rs`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the test starts what is attacked, builds the attacker, and shows what it said"
)]

#[path = "hostile/arena.rs"]
mod arena;
mod common;
#[path = "hostile/expected.rs"]
mod expected;
#[path = "hostile/judge.rs"]
mod judge;
#[path = "hostile/snapshot.rs"]
mod snapshot;
#[path = "common/user.rs"]
mod user;

use std::collections::BTreeSet;

use acquit_core::sandbox::Network;

use arena::Role;
use expected::Part;

#[test]
fn every_attack_has_a_line_that_says_what_must_be_seen_of_it() {
    let listed: Vec<&str> = expected::all().into_iter().map(|(verb, _)| verb).collect();
    let tried: Vec<&str> = acquit_testkit::hostile::attacks().into_iter().map(|(verb, ..)| verb).collect();
    let (a, b): (BTreeSet<_>, BTreeSet<_>) = (listed.iter().collect(), tried.iter().collect());
    assert_eq!(a.symmetric_difference(&b).collect::<Vec<_>>(), Vec::<&&&str>::new());
    assert_eq!(a.len(), listed.len(), "a verb twice in the test's table");
    assert_eq!(b.len(), tried.len(), "a verb twice in the program's table");
    assert!(tried.len() >= 80, "{}", tried.len());
}

/// Runs tests of this file as an ordinary user.
fn as_a_user(machine: user::Machine, tests: &[&str], variables: &[(&str, &str)]) -> Option<String> {
    let (acquit, attacker) = (common::binary(), arena::program());
    let programs = [("ACQUIT_TEST_BINARY", acquit.as_path()), ("ACQUIT_TEST_HOSTILE", &attacker)];
    user::can_become_one().then(|| user::run(machine, tests, &programs, variables))
}

/// Root may do more when walls are built, and has more to lose; a user has neither. Run by a user, the other tests show the
/// same.
#[test]
fn an_ordinary_user_is_held_as_well() {
    as_a_user(
        user::Machine::Whole,
        &["an_agent_with_its_model_is_held", "a_gate_without_network_is_held"],
        &[],
    );
}

/// The limits that depend most on who asks for them.
#[test]
fn heavy_an_ordinary_user_is_limited_as_well() {
    let verbs = "memory-bomb-shared,memory-bomb-in-flight,memory-bomb-backlog,inotify-bomb,disk-bomb-mapped";
    let only = [("ACQUIT_HOSTILE_ONLY", verbs)];
    as_a_user(user::Machine::Whole, &["heavy_an_agent_with_its_model_is_limited"], &only);
}

#[test]
fn soak_heavy_an_ordinary_user_is_held_in_every_way() {
    let tests = [
        "an_agent_with_an_open_network_is_held",
        "what_an_agent_leaves_with_its_model_does_no_harm",
        "what_a_gate_leaves_without_network_does_no_harm",
        "heavy_an_agent_with_its_model_is_limited",
        "soak_heavy_a_gate_without_network_is_limited_in_every_way",
    ];
    as_a_user(user::Machine::Whole, &tests, &[]);
}

/// Runs a test of this file again where there are no user namespaces, under `sandbox = "reduced"`: exactly those attacks get through
/// that docs/sandbox.md says are not held.
fn reduced(machine: user::Machine, own: &str, not_held: &[&str]) {
    const REDUCED: (&str, &str) = ("ACQUIT_HOSTILE_SANDBOX", "reduced");
    if std::env::var(REDUCED.0).as_deref() == Ok(REDUCED.1) {
        return judge::reduced(not_held);
    }
    if let Some(said) = as_a_user(machine, &[own], &[REDUCED]) {
        assert!(said.contains("not held without user namespaces: "), "{said}");
    }
}

#[test]
fn without_user_namespaces_exactly_what_is_said_is_not_held() {
    let own = "without_user_namespaces_exactly_what_is_said_is_not_held";
    reduced(user::Machine::WithoutUserNamespaces, own, expected::NOT_REDUCED);
}

#[test]
fn of_root_without_user_namespaces_exactly_what_is_said_is_not_held() {
    let own = "of_root_without_user_namespaces_exactly_what_is_said_is_not_held";
    let not_held: Vec<&str> =
        expected::NOT_REDUCED.iter().chain(expected::NOT_REDUCED_ROOT).copied().collect();
    reduced(user::Machine::OfRootWithoutUserNamespaces, own, &not_held);
}

/// One test for each role, network and part: what can share a leg, what needs one of its own, what uses things up. What
/// is left behind and what is used up do not depend on the network, so the ordinary run tries them once for each role. Limits are set in
/// the same way for agents and gates: an agent tries every way to use something up, a gate one for each limit.
macro_rules! held {
    ($($name:ident: $role:ident, $network:ident, $part:ident;)*) => {
        $(#[test]
        fn $name() {
            judge::held(Role::$role, Network::$network, Part::$part);
        })*
    };
}

held! {
    an_agent_without_network_is_held: Agent, Off, Shared;
    an_agent_with_its_model_is_held: Agent, Model, Shared;
    an_agent_with_an_open_network_is_held: Agent, Open, Shared;
    a_gate_without_network_is_held: Gate, Off, Shared;
    a_gate_with_the_listed_hosts_is_held: Gate, Model, Shared;
    a_gate_with_an_open_network_is_held: Gate, Open, Shared;
    soak_what_an_agent_leaves_without_network_does_no_harm: Agent, Off, Own;
    what_an_agent_leaves_with_its_model_does_no_harm: Agent, Model, Own;
    soak_what_an_agent_leaves_with_an_open_network_does_no_harm: Agent, Open, Own;
    what_a_gate_leaves_without_network_does_no_harm: Gate, Off, Own;
    soak_what_a_gate_leaves_with_the_listed_hosts_does_no_harm: Gate, Model, Own;
    soak_what_a_gate_leaves_with_an_open_network_does_no_harm: Gate, Open, Own;
    soak_heavy_an_agent_without_network_is_limited: Agent, Off, Bomb;
    heavy_an_agent_with_its_model_is_limited: Agent, Model, Bomb;
    soak_heavy_an_agent_with_an_open_network_is_limited: Agent, Open, Bomb;
    heavy_a_gate_without_network_is_limited: Gate, Off, BombOfEachLimit;
    soak_heavy_a_gate_without_network_is_limited_in_every_way: Gate, Off, Bomb;
    soak_heavy_a_gate_with_the_listed_hosts_is_limited: Gate, Model, Bomb;
    soak_heavy_a_gate_with_an_open_network_is_limited: Gate, Open, Bomb;
}
