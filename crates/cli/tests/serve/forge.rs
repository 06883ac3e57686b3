//! What a forge says of the requests of earlier nights is what the next night is told.

use acquit_testkit::forge::{Dialect, Fault, Forge, Rights};

use crate::common::{SCRIPTED, Sandbox, read, side_by_side};
use crate::{FINDS, NOTHING, SHIFT, today};

const TOKEN: &str = "ghp_0nlyTheForgeMayKnow1234567890";

/// A sandbox whose nights end with a request, and the forge.
fn with_forge(dialect: Dialect) -> (Forge, Sandbox) {
    let forge = Forge::start(dialect);
    let kind = match dialect {
        Dialect::GitHub => "github",
        Dialect::GitLab => "gitlab",
    };
    let config = today("category = \"tests\"\nmost_open = 9")
        + &format!(
            "[secrets]\nTHE_TOKEN = {{ env = \"THE_TOKEN\" }}\n[forge]\nkind = \"{kind}\"\ntoken = \"THE_TOKEN\"\nhost = \"{}\"\n",
            forge.host()
        );
    let shift = SHIFT.replace("action = \"squash\"", "action = \"publish\"");
    let sandbox = Sandbox::new(&format!("{SCRIPTED}\n{config}"), &shift, FINDS).with("THE_TOKEN", TOKEN);
    forge.project("acme/widget", sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Write);
    sandbox.repo.git(&["remote", "add", "origin", &forge.url("acme/widget")]);
    (forge, sandbox)
}

/// What the second night is told of the first.
fn told(dialect: Dialect, meanwhile: impl FnOnce(&Forge, &Sandbox)) -> String {
    let (forge, sandbox) = with_forge(dialect);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    assert_eq!(forge.pulls().len(), 1);
    meanwhile(&forge, &sandbox);
    sandbox.repo.write(".acquit/script.toml", NOTHING);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let prompt = read(&sandbox.place("acquit/tasks/T-2/legs/1/prompt.md"));
    let line = prompt.lines().find(|line| line.ends_with(", T-1"));
    line.unwrap_or_else(|| panic!("{prompt}")).to_owned()
}

#[test]
fn a_request_is_known_to_be_open_merged_or_closed() {
    side_by_side(&[Dialect::GitHub, Dialect::GitLab], |&dialect| {
        for (state, words) in
            [("open", "not yet decided"), ("merged", ": merged"), ("closed", "closed without being merged")]
        {
            // Merged as another commit, which this repository has never seen.
            let line = told(dialect, |forge, _| forge.edit(1, |pull| pull.state = state.to_owned()));
            assert!(line.contains(words), "{dialect:?} {state}: {line}");
        }
    });
}

#[test]
fn a_branch_that_was_removed_after_its_merge_counts_as_merged() {
    let line = told(Dialect::GitHub, |forge, sandbox| {
        forge.edit(1, |pull| pull.state = "merged".to_owned());
        sandbox.repo.git(&["branch", "--quiet", "-D", &sandbox.task().seed.branch]);
    });
    assert!(line.contains(": merged"), "{line}");
}

#[test]
fn a_forge_that_does_not_answer_leaves_it_undecided() {
    let line = told(Dialect::GitLab, |forge, _| {
        forge.fail("GET", "/merge_requests/1", Fault::Before(503));
    });
    assert!(line.contains("not yet decided"), "{line}");
}

#[test]
fn a_forge_that_is_away_is_asked_once() {
    let (forge, sandbox) = with_forge(Dialect::GitHub);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let another = FINDS.replace("work.txt", "more.txt").replace("Test the parser", "Document the lexer");
    sandbox.repo.write(".acquit/script.toml", &another.replace("src/parse.rs", "src/lex.rs"));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    assert_eq!(forge.pulls().len(), 2);
    sandbox.repo.write(".acquit/script.toml", NOTHING);
    let before = forge.calls().len();
    forge.fail("GET", "/pulls/", Fault::Before(503));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    assert_eq!(forge.calls().len() - before, 1, "{:?}", forge.calls());
}

#[test]
fn a_night_starts_from_the_branch_of_the_remote_and_pushes_nothing_of_the_users() {
    for (schedule, base) in [("", "main"), ("base = \"develop\"\n", "develop")] {
        let (forge, sandbox) = with_forge(Dialect::GitHub);
        let bare = forge.repository("acme/widget");
        acquit_testkit::repo::git(&bare, &["branch", "develop", "main"]);
        sandbox.repo.git(&["branch", "develop", "main"]);
        let config = read(&sandbox.repo.path().join(".acquit/acquit.toml"));
        let config = config.replace("zone = \"UTC\"\n", &format!("zone = \"UTC\"\n{schedule}"));
        sandbox.repo.write(".acquit/acquit.toml", &config);
        sandbox.repo.git(&["checkout", "--quiet", "-b", "wip"]);
        sandbox.repo.write("half-done.txt", "not for others\n");
        let wip = sandbox.repo.commit("wip");
        sandbox.acquit(&["schedule", "run", "night"]).must(0);
        let pulls = forge.pulls();
        assert_eq!((pulls.len(), pulls[0].base.as_str()), (1, base), "{pulls:?}");
        let pushed = acquit_testkit::repo::git_succeeds(&bare, &["cat-file", "-e", wip.trim()]);
        assert!(!pushed, "the user's own commit was pushed");
    }
}
