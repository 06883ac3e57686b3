//! Where there is a forge: finished work is offered there as a request, and requests of others are reviewed by their number.

use acquit_testkit::forge::{Dialect, Forge, Rights};
use acquit_testkit::repo;

use crate::UNUSED;
use crate::common::{SCRIPTED, Sandbox, read};
use crate::live::{CHECK, GATE, script};

const TOKEN: &str = "ghp_0nlyTheForgeMayKnow1234567890";
const PROJECT: &str = "acme/widget";

/// A project at a forge, whose agent plays the story of all workflows.
fn at_forge(dialect: Dialect, token: &str) -> (Forge, Sandbox) {
    let forge = Forge::start(dialect);
    let kind = match dialect {
        Dialect::GitHub => "github",
        Dialect::GitLab => "gitlab",
    };
    let config = format!(
        "{SCRIPTED}{GATE}[secrets]\nTHE_TOKEN = {{ env = \"THE_TOKEN\" }}\n[forge]\nkind = \"{kind}\"\nhost = \"{}\"\n{token}",
        forge.host()
    );
    let sandbox = Sandbox::new(&config, UNUSED, &script()).with("THE_TOKEN", TOKEN);
    sandbox.repo.write("check.sh", CHECK);
    sandbox.repo.commit("the gate");
    forge.project(PROJECT, sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Write);
    sandbox.repo.git(&["remote", "add", "origin", &forge.url(PROJECT)]);
    (forge, sandbox)
}

#[test]
fn a_feature_becomes_a_request_and_a_request_is_reviewed_by_its_number() {
    for (dialect, head) in
        [(Dialect::GitHub, "refs/pull/1/head"), (Dialect::GitLab, "refs/merge-requests/1/head")]
    {
        let (forge, sandbox) = at_forge(dialect, "token = \"THE_TOKEN\"\n");
        sandbox.acquit(&["run", "-w", "feature", "Make it good"]).must(0);
        let [pull] = forge.pulls().try_into().unwrap();
        assert_eq!(pull.title, "Say what is good");

        // Forges keep such a ref of every request.
        let branch = sandbox.task().seed.branch;
        let commit = forge.branch(PROJECT, &branch).unwrap();
        repo::git(&forge.repository(PROJECT), &["update-ref", head, &commit]);
        let (heads, asked) = (sandbox.refs("refs/heads"), forge.calls().len());
        let named = if dialect == Dialect::GitHub { "1" } else { "!1" };
        sandbox.acquit(&["review", named]).must(0).said("Review request 1: Say what is good");
        assert_eq!(sandbox.repo.git(&["rev-parse", "refs/acquit/requests/1/head"]), commit);
        assert_eq!(sandbox.refs("refs/heads"), heads, "a branch came or went");
        let calls = forge.calls().split_off(asked);
        assert!(calls.iter().all(|call| call.method == "GET"), "{calls:?}");
        let elsewhere = "https://elsewhere.example.org/acme/other/pull/1";
        sandbox
            .acquit(&["review", elsewhere])
            .must(2)
            .said("the forge of this repository has http://127.0.0.1");
        // Both reviewers are shown the change itself, and the words of its author as what they are.
        for leg in [1, 2] {
            let told = read(&sandbox.place(&format!("acquit/tasks/T-2/legs/{leg}/prompt.md")));
            for part in ["# Your part: ", "good.txt", "+     1 good", "untrusted"] {
                assert!(told.contains(part), "leg {leg}: no {part:?} in {told}");
            }
        }
    }
}

#[test]
fn a_night_is_offered_with_its_category_labels_and_reviewer() {
    let (forge, sandbox) = at_forge(Dialect::GitLab, "token = \"THE_TOKEN\"\nreviewers = [\"bob\"]\n");
    forge.user("bob");
    sandbox.acquit(&["run", "-w", "nightshift", "--var", "category=docs", "Night shift"]).must(0);
    let [pull] = forge.pulls().try_into().unwrap();
    assert_eq!(pull.title, "[night-shift/docs] Say what is good");
    assert_eq!(
        (pull.labels, pull.reviewers),
        (vec!["night-shift".to_owned(), "docs".to_owned()], vec!["bob".to_owned()])
    );
    let task = sandbox.task();
    let request = task.request().unwrap();
    assert!(request.url.ends_with("/merge_requests/1"), "{}", request.url);
    assert!(task.seed.branch.starts_with("night-shift/"));
}

#[test]
fn a_request_that_is_not_there_is_said_so_and_no_task_is_made() {
    let (_forge, sandbox) = at_forge(Dialect::GitHub, "token = \"THE_TOKEN\"\n");
    let ran = sandbox.acquit(&["review", "7"]);
    assert_ne!(ran.code, Some(0));
    ran.said("bring request 7 here");
    sandbox.acquit(&["task", "show", "T-1"]).must(2);
}

#[test]
fn a_branch_is_reviewed_from_where_it_left_its_base() {
    let (_forge, sandbox) = at_forge(Dialect::GitHub, "");
    let repo = &sandbox.repo;
    repo.git(&["checkout", "-q", "-b", "theirs"]);
    repo.write("theirs.txt", "of the branch\n");
    repo.commit("of the branch");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("later.txt", "of main\n");
    repo.commit("main goes on");
    sandbox.acquit(&["review", "main"]).must(2).said("no commit that its base does not have");
    sandbox.acquit(&["review", "theirs"]).must(0);
    let told = read(&sandbox.leg_file(1, "prompt.md"));
    assert!(told.contains("+     1 of the branch") && !told.contains("of main"), "{told}");
}

#[test]
fn without_a_token_a_feature_ends_on_its_branch() {
    let (forge, sandbox) = at_forge(Dialect::GitHub, "");
    sandbox.acquit(&["run", "-w", "feature", "Make it good"]).must(0).said("there is no token");
    assert_eq!(forge.pulls().len(), 0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:good.txt")]).trim(), "good");
}
