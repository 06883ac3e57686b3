//! Mirrors: one however many ask at once, up to date, and never half of one.

use std::fs;
use std::path::{Path, PathBuf};

use acquit_run::git::{Access, Error, PushWay, Source};
use acquit_testkit::repo::{self, Repo};

use crate::kit::git;

fn mirror(folder: &Path, url: &str) -> Result<PathBuf, Error> {
    git().mirror(folder, &PushWay { url, access: Access::Open, ca: None, proxy: None })
}

fn remote() -> (Repo, String) {
    let remote = Repo::sample();
    let url = format!("file://{}", remote.path().display());
    (remote, url)
}

#[test]
fn several_at_once_make_one_mirror() {
    let (remote, url) = remote();
    let folder = remote.beside("mirrors");
    let places: Vec<PathBuf> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(|| mirror(&folder, &url).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(places.iter().all(|place| *place == places[0]));
    let entries = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    assert_eq!(entries.filter(|path| path.is_dir()).count(), 1);
    let source = Source::discover(&git(), &places[0]).unwrap();
    assert!(source.is_bare());
    let base = source.base(&git(), None).unwrap();
    assert_eq!(base.branch, source.base(&git(), Some("main")).unwrap().branch);
    assert_eq!(base.commit.as_str(), remote.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn a_refresh_follows_the_remote_also_its_default_branch_and_leaves_our_own_branches() {
    let (remote, url) = remote();
    let folder = remote.beside("mirrors");
    let place = mirror(&folder, &url).unwrap();
    let first = remote.git(&["rev-parse", "HEAD"]);
    repo::git(&place, &["branch", "acquit/mine-T-1", first.trim()]);
    // History is rewritten, a branch is added and made the default, and somebody has a branch of our name.
    remote.git(&["checkout", "--quiet", "-b", "trunk"]);
    remote.write("README.md", "other\n");
    remote.git(&["commit", "--quiet", "--all", "--amend", "-m", "anew"]);
    remote.git(&["branch", "--force", "main", "trunk"]);
    remote.git(&["branch", "acquit/mine-T-1"]);
    let again = mirror(&folder, &url).unwrap();
    assert_eq!(again, place);
    let base = Source::discover(&git(), &place).unwrap().base(&git(), None).unwrap();
    assert_eq!(base.branch.as_deref(), Some("trunk"));
    assert_eq!(base.commit.as_str(), remote.git(&["rev-parse", "trunk"]).trim());
    assert_eq!(repo::git(&place, &["rev-parse", "acquit/mine-T-1"]).trim(), first.trim());
}

#[test]
fn a_remote_that_is_away_leaves_the_mirror_and_no_half_of_one() {
    let (remote, url) = remote();
    let folder = remote.beside("mirrors");
    let gone = format!("{url}-gone");
    assert!(mirror(&folder, &gone).is_err());
    assert!(
        fs::read_dir(&folder)
            .unwrap()
            .flatten()
            .all(|entry| entry.path().extension().is_none_or(|end| end != "git"))
    );
    let place = mirror(&folder, &url).unwrap();
    let away = remote.beside("away");
    fs::rename(remote.path(), &away).unwrap();
    assert!(mirror(&folder, &url).is_err());
    assert!(Source::discover(&git(), &place).unwrap().base(&git(), None).is_ok());
    fs::rename(&away, remote.path()).unwrap();
    mirror(&folder, &url).unwrap();
}

#[test]
fn an_address_is_no_option() {
    let (remote, _) = remote();
    for bad in ["--upload-pack=touch x", "file:///x\ny"] {
        assert!(mirror(&remote.beside("mirrors"), bad).is_err(), "{bad:?}");
    }
}

/// The names of a mirror's branches.
fn branches(place: &Path) -> Vec<String> {
    let listed = repo::git(place, &["for-each-ref", "--format=%(refname:short)", "refs/heads/"]);
    listed.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn what_the_remote_removed_is_removed_and_what_tasks_left_stays() {
    let (remote, url) = remote();
    let folder = remote.beside("mirrors");
    for name in ["a", "b/c", "old", "acquit"] {
        remote.git(&["branch", name]);
    }
    let place = mirror(&folder, &url).unwrap();
    assert_eq!(branches(&place), ["a", "b/c", "main", "old"]);
    let ours = ["acquit/x-T-1", "bot/y-T-2", "night-shift/z-T-3"];
    for name in ours {
        repo::git(&place, &["branch", name, "main"]);
    }
    // Names that stood in each other's way, as packed refs and as loose ones, and a task's branch that was published.
    repo::git(&place, &["pack-refs", "--all"]);
    remote.git(&["branch", "--delete", "a", "b/c", "old"]);
    for name in ["a/b", "b", "bot/y-T-2"] {
        remote.git(&["branch", name]);
    }
    mirror(&folder, &url).unwrap();
    assert_eq!(branches(&place), ["a/b", ours[0], "b", ours[1], "main", ours[2]]);
    // Its request was merged, and the forge removed the branch.
    remote.git(&["branch", "--delete", "bot/y-T-2", "b", "acquit"]);
    remote.git(&["branch", "b/d"]);
    mirror(&folder, &url).unwrap();
    assert_eq!(branches(&place), ["a/b", ours[0], "b/d", ours[1], "main", ours[2]]);
}

#[test]
fn a_default_branch_that_was_renamed_is_followed() {
    let (remote, url) = remote();
    let folder = remote.beside("mirrors");
    let place = mirror(&folder, &url).unwrap();
    remote.git(&["branch", "--move", "main", "main/now"]);
    mirror(&folder, &url).unwrap();
    assert_eq!(branches(&place), ["main/now"]);
    let base = Source::discover(&git(), &place).unwrap().base(&git(), None).unwrap();
    assert_eq!(base.branch.as_deref(), Some("main/now"));
}

#[test]
fn a_remote_that_lists_nothing_empties_no_mirror() {
    let (remote, url) = remote();
    let folder = remote.beside("mirrors");
    remote.git(&["branch", "other"]);
    let place = mirror(&folder, &url).unwrap();
    let away = remote.beside("away");
    fs::rename(remote.path(), &away).unwrap();
    fs::create_dir(remote.path()).unwrap();
    remote.git(&["init", "--quiet"]);
    let said = mirror(&folder, &url).unwrap_err().to_string();
    assert!(said.contains("no branches any more, and had 2"), "{said}");
    assert_eq!(branches(&place), ["main", "other"]);
    fs::remove_dir_all(remote.path()).unwrap();
    fs::rename(&away, remote.path()).unwrap();
    remote.git(&["branch", "--delete", "other"]);
    mirror(&folder, &url).unwrap();
    assert_eq!(branches(&place), ["main"]);
}
