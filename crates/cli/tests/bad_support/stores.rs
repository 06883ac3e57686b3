//! Stores that cannot be opened: told without secrets, and left as they are.

use std::fs;

use super::{Bench, finish};

#[test]
fn a_store_that_cannot_be_opened_is_told() {
    let bench = Bench::new();
    fs::write(bench.place("garbage.db"), "garbage ".repeat(1_000)).unwrap();
    let before = fs::read(bench.place("garbage.db")).unwrap();
    let at = |name: &str| bench.place(name).to_string_lossy().into_owned();
    let cases = [
        ("a folder", at("home")),
        ("something else", at("garbage.db")),
        ("a place that cannot be", "/proc/nothing/here.db".to_owned()),
        ("a server that is not there", "postgres://me:hunter2@127.0.0.1:1/db".to_owned()),
        ("a broken address", "postgres://me:hunter2@[::1/db".to_owned()),
    ];
    let mut texts = String::new();
    for (what, store) in cases {
        for args in [&["task", "list"][..], &["run", "x"]] {
            let ran = finish(bench.command(args).env("ACQUIT_STORE", &store)).must(5);
            assert!(!ran.err.contains("hunter2"), "{ran}");
            if args.len() == 2 && args[0] == "task" {
                texts.push_str(&format!("## {what}\n{}\n\n", bench.mask(ran.err.trim_end())));
            }
        }
    }
    assert_eq!(fs::read(bench.place("garbage.db")).unwrap(), before, "a file of somebody else was changed");
    insta::with_settings!({ snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("stores", texts);
    });
}

#[test]
fn a_store_of_a_newer_acquit_is_refused() {
    let bench = Bench::new();
    bench.acquit(&["task", "add", "x"]).must(0);
    let file = rusqlite::Connection::open(bench.place("acquit/acquit.db")).unwrap();
    file.execute("update meta set version = 99", []).unwrap();
    drop(file);
    bench
        .acquit(&["task", "list"])
        .must(5)
        .says("the store has version 99, and this acquit knows only ")
        .says("hint: use the version of acquit that wrote it, or a newer one");
}

#[test]
fn a_store_name_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"/tmp/\xff.db");
    finish(bench.command(&["task", "list"]).env("ACQUIT_STORE", name))
        .must(2)
        .says("hint: set ACQUIT_STORE to a path");
}

#[test]
fn a_store_that_many_make_at_the_same_moment_is_made() {
    let bench = Bench::new();
    for round in 0..25 {
        let store = bench.place(&format!("round-{round}.db"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| finish(bench.command(&["task", "list"]).env("ACQUIT_STORE", &store)).must(0));
            }
        });
    }
}
