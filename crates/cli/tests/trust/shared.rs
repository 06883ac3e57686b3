//! A store that several people share: what one of them pinned to a task is not run on the machine of another who has not trusted it.

use std::path::Path;
use std::process::Output;

use acquit_testkit::postgres::database_or_skip;

use crate::common::{CODE, Sandbox};

const CONFIG: &str = "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"-c\", \"touch '@ROOT@/fired'; echo work > work.txt\"]\n\
    [secrets]\nX = { command = [\"touch\", \"@ROOT@/fired\"] }\n";

/// `acquit` of somebody else, who has a home of their own and sees the same repository at the same path.
fn other(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = sandbox.command(args);
    command.env("HOME", sandbox.place("their-home")).env("ACQUIT_HOME", sandbox.place("their-acquit"));
    command.env("USER", "other").output().unwrap()
}

fn said(ran: &Output) -> String {
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

#[test]
fn a_leg_is_taken_only_where_its_configuration_is_trusted() {
    let Some(database) = database_or_skip("a PostgreSQL that several people share") else { return };
    let sandbox = Sandbox::new(CONFIG, CODE, "").with("ACQUIT_STORE", database.url.clone());
    std::fs::create_dir_all(sandbox.place("their-home")).unwrap();
    let fired = || Path::new(&sandbox.place("fired")).exists();
    for title in ["One", "Two"] {
        sandbox.acquit(&["task", "add", title]).must(0);
    }
    // However they come to it.
    let named = other(&sandbox, &["leg", "--task", "T-1"]);
    assert!(
        !named.status.success() && said(&named).contains("you have not trusted it here"),
        "{}",
        said(&named)
    );
    assert!(other(&sandbox, &["leg"]).status.success(), "there is no leg for them");
    let run = other(&sandbox, &["run", "T-1"]);
    assert!(!run.status.success() && said(&run).contains("you have not trusted it"), "{}", said(&run));
    let serve = other(&sandbox, &["serve", "--once"]);
    assert!(said(&serve).contains("you have not trusted it"), "{}", said(&serve));
    other(&sandbox, &["feedback", "T-1"]);
    other(&sandbox, &["clean"]);
    assert!(!fired(), "it was run");
    // The one who made it runs it.
    sandbox.acquit(&["run", "T-1"]).must(0);
    assert!(fired());
    std::fs::remove_file(sandbox.place("fired")).unwrap();
    // And the other one, once they trust the files: by what the files say there.
    assert!(other(&sandbox, &["trust", "--yes"]).status.success());
    assert!(
        !other(&sandbox, &["leg", "--task", "T-2"]).status.success(),
        "trust is in files, not in what a store says"
    );
    assert!(!fired());
    let ran = other(&sandbox, &["run", "T-2"]);
    assert!(ran.status.success(), "{}", said(&ran));
    assert!(fired());
}

#[test]
fn git_looks_into_no_folder_that_another_writer_of_the_store_names() {
    let Some(database) = database_or_skip("a PostgreSQL that several people share") else { return };
    let sandbox = Sandbox::new(CONFIG, CODE, "").with("ACQUIT_STORE", database.url.clone());
    std::fs::create_dir_all(sandbox.place("their-home")).unwrap();
    sandbox.acquit(&["run", "One"]).must(0);
    sandbox.repo.write("README.md", "changed\n");
    // It says that of the own checkout, and looks at no other.
    let dirty = "first commit or stash your changes in";
    sandbox.acquit(&["show", "T-1"]).must(0).said(dirty);
    let shown = other(&sandbox, &["show", "T-1"]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(
        shown.status.success() && text.contains("T-1") && !text.contains(dirty),
        "{text}{}",
        said(&shown)
    );
}
