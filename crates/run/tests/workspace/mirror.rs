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
