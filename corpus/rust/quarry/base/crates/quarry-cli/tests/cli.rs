//! The command as a whole.

mod common;

use common::quarry;

#[test]
fn total() {
    let out = quarry(&["total", "3t", "500kg"]);
    assert_eq!((out.code, out.stdout.as_str()), (0, "3.5t\n"));
}

#[test]
fn packs() {
    let out = quarry(&["pack", "5t", "3t", "4t", "2t"]);
    assert_eq!(out.code, 0);
    assert_eq!(out.stdout, include_str!("data/pack.txt"));
}

#[test]
fn unknown_command() {
    let out = quarry(&["weigh"]);
    assert_eq!(out.code, 2);
    assert_eq!(out.stderr, "quarry: unknown command \"weigh\"\n");
    assert_eq!(out.stdout, "");
}

#[test]
fn bad_weight() {
    let out = quarry(&["total", "3t", "many"]);
    assert_eq!(out.code, 2);
    assert!(out.stderr.contains("no unit in \"many\""));
}
