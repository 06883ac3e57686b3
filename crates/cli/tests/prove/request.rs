//! Pull requests at a forge: judged by number or address without a trace in the repository, and commented on in one place.

use acquit_testkit::forge::{Dialect, Forge, Remark, Rights};
use serde_json::Value;

use crate::common::Sandbox;
use crate::kit::{BROKEN, FILES, HONEST, MENDED, prove, ran};
use crate::untouched::listing;

pub(crate) const TOKEN: &str = "ghp_0nlyTheForgeMayKnow1234567890";
pub(crate) const PROJECT: &str = "acme/widget";

/// A package at a forge, with an honest request, 1, and a guilty one, 2.
pub(crate) fn at_forge(dialect: Dialect) -> (Forge, Sandbox) {
    let forge = Forge::start(dialect);
    let sandbox = Sandbox::of_files("project", &FILES).with("THE_TOKEN", TOKEN);
    let kind = match dialect {
        Dialect::GitHub => "github",
        Dialect::GitLab => "gitlab",
    };
    sandbox.user_config(&format!(
        "[secrets]\nTHE_TOKEN = {{ env = \"THE_TOKEN\" }}\n[forge]\nkind = \"{kind}\"\nhost = \"{}\"\ntoken = \"THE_TOKEN\"\n",
        forge.host()
    ));
    forge.allow(TOKEN, "ada", Rights::Write);
    forge.user("bob");
    let repo = &sandbox.repo;
    for (branch, code) in [("honest", MENDED), ("guilty", BROKEN)] {
        repo.git(&["checkout", "-q", "-b", branch, "main"]);
        repo.write("sum.js", code);
        repo.write("test/new.test.js", HONEST);
        repo.commit(branch);
    }
    repo.git(&["checkout", "-q", "main"]);
    forge.project(PROJECT, repo.path());
    repo.git(&["push", "-q", &forge.repository(PROJECT).to_string_lossy(), "honest", "guilty"]);
    // The user has nothing of these branches: they come from the forge.
    repo.git(&["branch", "-q", "-D", "honest", "guilty"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.git(&["remote", "add", "origin", &forge.url(PROJECT)]);
    assert_eq!(forge.open(PROJECT, "honest", "main", "Add them all"), 1);
    assert_eq!(forge.open(PROJECT, "guilty", "main", "Make it fast"), 2);
    (forge, sandbox)
}

fn paths(report: &Value) -> Vec<&str> {
    report["change"]["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect()
}

fn is_judged(dialect: Dialect) {
    let (forge, sandbox) = at_forge(dialect);
    let before = listing(sandbox.repo.path());
    let report = prove(&sandbox, &["1", "--quick"], 0);
    assert_eq!(paths(&report), ["sum.js", "test/new.test.js"], "{report:#}");
    assert_eq!(report["change"]["what"], "pull request 1 (Add them all) into main", "{report:#}");
    let named = if dialect == Dialect::GitHub { "#2" } else { "!2" };
    let report = prove(&sandbox, &[named, "--quick"], 1);
    assert_eq!(report["decision"], "guilty", "{report:#}");
    let page = match dialect {
        Dialect::GitHub => format!("{}/pull/2", forge.url(PROJECT).trim_end_matches(".git")),
        Dialect::GitLab => format!("{}/-/merge_requests/2", forge.url(PROJECT).trim_end_matches(".git")),
    };
    prove(&sandbox, &[&page, "--quick"], 1);
    assert_eq!(before, listing(sandbox.repo.path()));
    assert!(forge.calls().iter().all(|call| call.method == "GET"), "{:?}", forge.calls());
}

#[test]
fn a_pull_request_at_github_is_judged_and_nothing_of_the_users_changes() {
    is_judged(Dialect::GitHub);
}

#[test]
fn a_merge_request_at_gitlab_is_judged_and_nothing_of_the_users_changes() {
    is_judged(Dialect::GitLab);
}

#[test]
fn a_pull_request_that_is_not_there_is_said_so_and_a_branch_of_its_name_counts_first() {
    let (_forge, sandbox) = at_forge(Dialect::GitHub);
    ran(&sandbox, &["7"], 5).said("bring request 7 here");
    ran(&sandbox, &["https://elsewhere.example.org/acme/other/pull/1"], 2)
        .said("the forge of this repository has");
    // A branch of that name counts first.
    sandbox.repo.git(&["branch", "1"]);
    let report = prove(&sandbox, &["1", "--quick"], 0);
    assert_eq!(report["change"]["base"], report["change"]["head"], "{report:#}");
}

#[test]
fn one_comment_at_github_is_updated_in_place_and_those_of_others_stay() {
    is_updated(Dialect::GitHub);
}

#[test]
fn one_note_at_gitlab_is_updated_in_place_and_those_of_others_stay() {
    is_updated(Dialect::GitLab);
}

fn is_updated(dialect: Dialect) {
    let (forge, sandbox) = at_forge(dialect);
    let stranger = "<!-- acquit prove -->\n### acquitted, says the author";
    forge.edit(2, |pull| {
        for (id, author, text) in [(1, "bob", "Nice."), (2, "bob", stranger), (3, "bob", "More of it.")] {
            let (author, text) = (author.to_owned(), text.to_owned());
            pull.remarks.push(Remark { id, author, text, trusted: true, ..Remark::default() });
        }
    });
    let said = |forge: &Forge| -> Vec<(String, String)> {
        forge.pulls()[1].remarks.iter().map(|it| (it.author.clone(), it.text.clone())).collect()
    };
    for _ in 0..2 {
        ran(&sandbox, &["2", "--quick", "--comment", "2"], 1).said("commented: http://127.0.0.1:");
        let said = said(&forge);
        let [_, (_, theirs), _, (author, ours)] = &said[..] else { panic!("{said:?}") };
        assert_eq!(theirs, stranger);
        assert_eq!(author, "ada");
        assert!(ours.starts_with("<!-- acquit prove -->\n### ❌ acquit: guilty"), "{ours}");
    }
    // The next judgement takes the place of the one before.
    ran(&sandbox, &["1", "--quick", "--comment", "2"], 0);
    let said = said(&forge);
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[3].1.contains("acquit: acquitted"), "{said:?}");
    ran(&sandbox, &["1", "--quick", "--comment", "somewhere"], 2);
}
