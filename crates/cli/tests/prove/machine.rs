//! A machine that cannot build the sandbox is named, with what to do, and only the user does without.

use crate::common;
use crate::kit::{HONEST, MENDED, package, prove, ran};
use crate::user;

/// Set for the runs below on machines without a wall.
const INSIDE: &str = "ACQUIT_TEST_WITHOUT_WALLS";

fn honest() -> common::Sandbox {
    let sandbox = package();
    sandbox.repo.write("sum.js", MENDED);
    sandbox.repo.write("test/new.test.js", HONEST);
    sandbox
}

#[test]
fn a_machine_without_a_wall_is_named_and_can_be_accepted() {
    let own = "machine::a_machine_without_a_wall_is_named_and_can_be_accepted";
    let Ok(mend) = std::env::var(INSIDE) else {
        let sandbox = honest();
        let whole = ran(&sandbox, &["--reduced"], 0);
        assert!(whole.err.contains("--reduced changes nothing here"), "{whole}");
        assert!(!whole.out.contains("the whole sandbox"), "{whole}");
        if user::can_become_one() {
            let acquit = common::binary();
            let programs = [("ACQUIT_TEST_BINARY", acquit.as_path())];
            // A setting of the kernel, which its owner can change; and a kernel that has namespaces and refuses them,
            // as in a container.
            let sysctl = "sysctl -w user.max_user_namespaces";
            user::run(user::Machine::WithoutUserNamespaces, &[own], &programs, &[(INSIDE, sysctl)]);
            let docker = "--security-opt seccomp=unconfined";
            user::run(user::Machine::InChangedRoot, &[own], &programs, &[(INSIDE, docker)]);
        }
        return;
    };
    let sandbox = honest();
    let refused = ran(&sandbox, &[], 5);
    for words in [
        "this machine cannot build the sandbox: no namespaces of its own",
        &mend,
        "acquit doctor",
        "acquit prove --reduced",
    ] {
        assert!(refused.out.contains(words), "no {words:?} in {refused}");
    }
    assert!(!refused.out.contains("setup") && !refused.out.contains("acquit init`:"), "{refused}");
    let markdown = ran(&sandbox, &["--format", "markdown"], 5);
    assert!(markdown.out.contains("acquit prove --reduced"), "{markdown}");
    let doctor = sandbox.acquit(&["doctor"]).must(1);
    assert!(doctor.out.contains(&mend) && doctor.out.contains("do not start here"), "{doctor}");

    let report = prove(&sandbox, &["--reduced"], 0);
    assert!(report["unchecked"].to_string().contains("no namespaces of its own"), "{report:#}");
}

#[test]
fn a_program_that_setup_lacks_is_named() {
    let sandbox = package();
    sandbox.repo.write("pnpm-lock.yaml", "lockfileVersion: '9.0'\n");
    sandbox.repo.commit("pnpm");
    sandbox.repo.write("sum.js", MENDED);
    let said = ran(&sandbox, &[], 5);
    assert!(said.out.contains("`pnpm` is not installed") && said.out.contains("install pnpm; or"), "{said}");
    assert!(!said.out.contains("setup fails"), "{said}");
    // A rehearsal asks nobody.
    let said = sandbox.acquit(&["init"]).must(1);
    assert!(said.err.contains("`pnpm` is not installed") && !said.err.contains("needs a person"), "{said}");
}
