//! What became of a branch: merged in any of the ways that people merge, open, or gone.

use acquit_run::git::{CommitId, Source, Stands};
use acquit_testkit::repo::Repo;

use crate::kit::git;

/// A repository with a change on a branch, and the commit of it.
fn with_branch() -> (Repo, CommitId) {
    let repo = Repo::sample();
    repo.git(&["checkout", "--quiet", "-b", "night-shift/x"]);
    repo.write("a [file]*.txt", "new\n");
    repo.commit("the change");
    let commit = repo.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("other.txt", "meanwhile\n");
    repo.commit("meanwhile");
    (repo, commit)
}

fn stands(repo: &Repo, commit: &CommitId) -> Stands {
    let source = Source::discover(&git(), repo.path()).unwrap();
    source.stands(&git(), "night-shift/x", commit, Some("main")).unwrap()
}

#[test]
fn a_branch_is_merged_however_it_was_merged() {
    for way in [
        vec!["merge", "--quiet", "--no-ff", "-m", "m", "night-shift/x"],
        vec!["cherry-pick", "night-shift/x"],
        vec!["merge", "--quiet", "--squash", "night-shift/x"],
    ] {
        let (repo, commit) = with_branch();
        assert_eq!(stands(&repo, &commit), Stands::Open);
        repo.git(&way);
        if way.contains(&"--squash") {
            repo.git(&["commit", "--quiet", "-m", "squashed"]);
        }
        assert_eq!(stands(&repo, &commit), Stands::Merged, "{way:?}");
        repo.git(&["branch", "--quiet", "-D", "night-shift/x"]);
        assert_eq!(stands(&repo, &commit), Stands::Merged, "{way:?}, and removed");
    }
}

#[test]
fn a_branch_that_was_removed_is_gone_and_a_part_of_its_change_is_not_all_of_it() {
    let (repo, commit) = with_branch();
    repo.write("a [file]*.txt", "another\n");
    repo.commit("something else in the same file");
    assert_eq!(stands(&repo, &commit), Stands::Open);
    repo.git(&["branch", "--quiet", "-D", "night-shift/x"]);
    assert_eq!(stands(&repo, &commit), Stands::Gone);
}

#[test]
fn a_branch_of_several_commits_is_merged_when_all_of_them_are() {
    let (repo, _) = with_branch();
    repo.git(&["checkout", "--quiet", "night-shift/x"]);
    repo.write("second.txt", "second\n");
    repo.commit("the second part");
    let commit: CommitId = repo.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    repo.git(&["checkout", "--quiet", "main"]);
    repo.git(&["cherry-pick", "night-shift/x"]);
    assert_eq!(stands(&repo, &commit), Stands::Open, "its last commit alone");
    repo.git(&["cherry-pick", "night-shift/x~1"]);
    assert_eq!(stands(&repo, &commit), Stands::Merged);
}
