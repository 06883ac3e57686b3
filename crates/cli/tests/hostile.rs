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

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

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

/// Root may do more when walls are built, and has more to lose; a user has neither. Run by a user, the other tests show the
/// same.
#[test]
fn an_ordinary_user_is_held_as_well() {
    const NOBODY: &str = "12345";
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let copy = |from: &std::path::Path, name: &str| {
        let to = place.path().join(name);
        std::fs::copy(from, &to).unwrap();
        to
    };
    let acquit = copy(&common::binary(), "acquit");
    let attacker = copy(&arena::program(), "hostile");
    let test = copy(&std::env::current_exe().unwrap(), "test");
    let tests = ["an_agent_with_its_model_is_held", "a_gate_without_network_is_held"];
    let ran = std::process::Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"])
        .arg(test)
        .args(tests.into_iter().chain(["--exact"]))
        .current_dir(place.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", place.path())
        .env("TMPDIR", place.path())
        .env("ACQUIT_TEST_BINARY", acquit)
        .env("ACQUIT_TEST_HOSTILE", attacker)
        .output()
        .expect("setpriv is there");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && out.contains("2 passed"), "{out}\n{err}");
}

/// One test for each role, network and part: what can share a leg, what needs one of its own, what uses things up. Limits do not
/// depend on the network, so the ordinary run tries them once for each role.
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
    what_an_agent_leaves_without_network_does_no_harm: Agent, Off, Own;
    what_an_agent_leaves_with_its_model_does_no_harm: Agent, Model, Own;
    what_an_agent_leaves_with_an_open_network_does_no_harm: Agent, Open, Own;
    what_a_gate_leaves_without_network_does_no_harm: Gate, Off, Own;
    what_a_gate_leaves_with_the_listed_hosts_does_no_harm: Gate, Model, Own;
    what_a_gate_leaves_with_an_open_network_does_no_harm: Gate, Open, Own;
    soak_heavy_an_agent_without_network_is_limited: Agent, Off, Bomb;
    heavy_an_agent_with_its_model_is_limited: Agent, Model, Bomb;
    soak_heavy_an_agent_with_an_open_network_is_limited: Agent, Open, Bomb;
    heavy_a_gate_without_network_is_limited: Gate, Off, Bomb;
    soak_heavy_a_gate_with_the_listed_hosts_is_limited: Gate, Model, Bomb;
    soak_heavy_a_gate_with_an_open_network_is_limited: Gate, Open, Bomb;
}
