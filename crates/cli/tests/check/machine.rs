//! `check` and `init` on a machine that cannot build the sandbox.

use crate::common::{self, Sandbox, read};
use crate::user;

const INSIDE: (&str, &str) = ("ACQUIT_TEST_WITHOUT_NAMESPACES", "1");

#[test]
fn a_machine_without_a_wall_is_named_instead_of_setup() {
    let own = "machine::a_machine_without_a_wall_is_named_instead_of_setup";
    if std::env::var(INSIDE.0).as_deref() != Ok(INSIDE.1) {
        if user::can_become_one() {
            let acquit = common::binary();
            let programs = [("ACQUIT_TEST_BINARY", acquit.as_path())];
            user::run(user::Machine::WithoutUserNamespaces, &[own], &programs, &[INSIDE]);
        }
        return;
    }
    let sandbox = Sandbox::of_files("project", &[("Makefile", "test:\n\ttest -f README.md\n")]).untrusted();
    for args in [&["init"][..], &["check"], &["check", "--fix"]] {
        let said = sandbox.acquit(args).must(1);
        for words in ["namespaces of its own", "sudo sysctl", "acquit doctor", "sandbox = \"reduced\""] {
            assert!(said.err.contains(words), "no {words:?} in {said}");
        }
        assert!(!said.err.contains("setup fails") && !said.err.contains("--fix` makes"), "{said}");
    }
    let file = sandbox.repo.path().join(".acquit/acquit.toml");
    sandbox.repo.write(".acquit/acquit.toml", &format!("sandbox = \"reduced\"\n{}", read(&file)));
    sandbox.acquit(&["trust", "--yes"]).must(0);
    sandbox.acquit(&["check"]).must(0).said("setup and gates hold");
}
