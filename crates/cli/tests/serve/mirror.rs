//! A repository given by its address is cloned once, refreshed before each run, and brings no configuration of its own.

use std::fs;

use acquit_testkit::repo::Repo;

use crate::common::read;
use crate::{FINDS, due, tasks, today};

fn remote() -> Repo {
    let remote = Repo::at("remote", &[]);
    remote.write("README.md", "one\n");
    remote.commit("first");
    remote
}

/// SPEC §8 [N]: "repository by URL (SSH, HTTPS or path) cloned when absent".
#[test]
fn a_repository_by_address_is_cloned_when_absent_and_refreshed() {
    let remote = remote();
    let address = format!("file://{}", remote.path().display());
    let config = today(&format!("category = \"tests\"\nrepositories = [\"{address}\"]\nmost_open = 9"))
        + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("BRANCH_CREATED"), "{report}");
    let mirrors: Vec<_> = fs::read_dir(sandbox.place("acquit/mirrors"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(mirrors.len(), 1, "{mirrors:?}");
    // The user's remote is untouched: what was made stands in the mirror.
    assert_eq!(remote.git(&["branch", "--format=%(refname:short)"]).lines().count(), 1);

    remote.write("README.md", "two\n");
    remote.commit("second");
    let head = remote.git(&["rev-parse", "HEAD"]);
    sandbox.repo.write(".acquit/script.toml", &FINDS.replace("Test the parser", "Name the numbers"));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let shown = sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
    assert_eq!(shown["task"]["seed"]["base"]["commit"], head.trim());
    assert_eq!(shown["task"]["state"]["end"]["type"], "done", "{}", shown["task"]["past"]);
    // What the first night left is still there.
    let branches =
        acquit_testkit::repo::git(&mirrors[0], &["for-each-ref", "--format=%(refname)", "refs/heads/acquit"]);
    assert_eq!(branches.lines().count(), 2, "{branches}");
}

#[test]
fn the_configuration_of_a_cloned_repository_is_not_used() {
    let remote = remote();
    remote.write(
        ".acquit/acquit.toml",
        "sandbox = \"off\"\n[secrets]\nX = { command = [\"touch\", \"/tmp/acquit-owned\"] }\n",
    );
    remote.write(".acquit/workflows/flow.toml", "nonsense");
    remote.commit("hostile");
    let address = format!("file://{}", remote.path().display());
    let config = today(&format!("category = \"tests\"\nrepositories = [\"{address}\"]"));
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let shown = sandbox.acquit(&["task", "show", "T-1", "--json"]).must(0).json();
    assert_eq!(shown["task"]["state"]["end"]["type"], "done");
}

#[test]
fn an_address_that_leads_nowhere_is_a_reason_and_half_a_mirror_is_never_used() {
    let remote = remote();
    let address = format!("file://{}", remote.path().display());
    let gone = format!("{address}-gone");
    let config = today(&format!("category = \"tests\"\nrepositories = [\"{gone}\", \"{address}\"]"))
        + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    // What a process that was killed while it made one would leave.
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let mirrors = sandbox.place("acquit/mirrors");
    let made = fs::read_dir(&mirrors)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "git"))
        .unwrap();
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("SKIPPED, failed to fetch file://"), "{report}");
    let half = made.with_extension("new");
    fs::rename(&made, &half).unwrap();
    fs::write(half.join("HEAD"), "broken").unwrap();
    sandbox.repo.write(".acquit/script.toml", &FINDS.replace("Test the parser", "Name the numbers"));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    assert_eq!(tasks(&sandbox), 2);
    assert!(made.join("HEAD").exists() && !half.exists());
}
