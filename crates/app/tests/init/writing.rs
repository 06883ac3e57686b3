//! What is written is what was planned; what is there, or outside, or cannot be written, is left as it was.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use acquit_testkit::need;
use tempfile::TempDir;

use crate::plan;
use crate::repository;
use acquit_app::init::{Error, Overwrite, Plan, write};

fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                all.push(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    all.sort();
    all
}

#[test]
fn what_is_written_is_what_was_planned_and_no_more() {
    let folder = repository(&[]);
    let plan = plan(folder.path(), OsStr::new(""));
    write(folder.path(), &plan, Overwrite::Never).unwrap();
    let mut planned: Vec<PathBuf> = plan.files.iter().map(|(path, _)| path.clone()).collect();
    planned.sort();
    assert_eq!(tree(folder.path()), planned);
    for (path, text) in &plan.files {
        assert_eq!(&fs::read_to_string(folder.path().join(path)).unwrap(), text);
    }
}

#[test]
fn what_is_there_stays_unless_it_may_be_replaced() {
    let folder = repository(&[(".acquit/acquit.toml", "mine")]);
    let plan = plan(folder.path(), OsStr::new(""));
    let error = write(folder.path(), &plan, Overwrite::Never).unwrap_err();
    assert!(matches!(&error, Error::Exists(path) if path.ends_with(".acquit/acquit.toml")), "{error:?}");
    assert!(error.hint().unwrap().contains("--force"));
    assert_eq!(tree(folder.path()), [PathBuf::from(".acquit/acquit.toml")]);
    let kept = write(folder.path(), &plan, Overwrite::Allowed).unwrap();
    assert_eq!(kept, [(PathBuf::from(".acquit/acquit.toml.old"), "mine".to_owned())]);
    assert_eq!(tree(folder.path()).len(), plan.files.len() + 1);
    assert_eq!(fs::read_to_string(folder.path().join(".acquit/acquit.toml.old")).unwrap(), "mine");
    assert_ne!(fs::read_to_string(folder.path().join(".acquit/acquit.toml")).unwrap(), "mine");

    // Even a configuration that points nowhere is one; and instructions of one's own are kept.
    let folder = repository(&[(".acquit/instructions.md", "mine")]);
    assert!(matches!(write(folder.path(), &plan, Overwrite::Never), Err(Error::Exists(_))));
    let folder = repository(&[(".acquit/x", "")]);
    symlink("nowhere", folder.path().join(".acquit/acquit.toml")).unwrap();
    assert!(matches!(write(folder.path(), &plan, Overwrite::Never), Err(Error::Exists(_))));
}

#[test]
fn nothing_is_written_into_a_bare_repository() {
    let folder = TempDir::new().unwrap();
    let made = Command::new("git").args(["init", "--quiet", "--bare"]).current_dir(folder.path()).status();
    assert!(made.unwrap().success());
    let before = tree(folder.path());
    let error = write(folder.path(), &plan(folder.path(), OsStr::new("")), Overwrite::Allowed).unwrap_err();
    assert!(error.to_string().contains("run `acquit init` in the clone"), "{error}");
    assert_eq!(tree(folder.path()), before);
}

#[test]
fn an_interrupted_init_can_be_repeated() {
    let folder = repository(&[]);
    let plan = plan(folder.path(), OsStr::new(""));
    for files in 0..plan.files.len() {
        let part = Plan { files: plan.files[..files].to_vec(), ..plan.clone() };
        write(folder.path(), &part, Overwrite::Never).unwrap();
    }
    assert!(!folder.path().join(".acquit/acquit.toml").exists(), "the configuration comes last");
    write(folder.path(), &plan, Overwrite::Never).unwrap();
}

#[test]
fn nothing_is_written_through_a_link() {
    let mut plan = plan(Path::new("/nonexistent"), OsStr::new(""));
    plan.files.insert(0, (".acquit/workflows/feature.toml".into(), String::new()));
    let outside = repository(&[("victim", "untouched")]);
    for link in [".acquit", ".acquit/workflows"] {
        let folder = repository(&[]);
        let at = folder.path().join(link);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(outside.path(), &at).unwrap();
        let error = write(folder.path(), &plan, Overwrite::Allowed).unwrap_err();
        assert!(matches!(&error, Error::NotAFolder(path) if *path == at), "{error:?}");
        assert_eq!(tree(outside.path()), [PathBuf::from("victim")]);
    }
    let folder = repository(&[(".acquit/x", "")]);
    symlink(outside.path().join("victim"), folder.path().join(".acquit/acquit.toml")).unwrap();
    write(folder.path(), &plan, Overwrite::Allowed).unwrap();
    assert_eq!(fs::read_to_string(outside.path().join("victim")).unwrap(), "untouched");
    assert!(folder.path().join(".acquit/acquit.toml").symlink_metadata().unwrap().is_file());
    let escaping = Plan { files: vec![("../x".into(), String::new())], ..plan };
    assert!(matches!(write(folder.path(), &escaping, Overwrite::Allowed), Err(Error::NotAFolder(_))));
}

/// Where a test that was started again in a namespace of its own finds its file system.
const INSIDE: &str = "ACQUIT_INIT_TEST_FOLDER";

/// Runs the test of that name again, with a small file system of its own that is made by `prepare`. Gives the folder inside.
fn inside_own_file_system(test: &str, prepare: &str) -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(INSIDE) {
        return Some(folder.into());
    }
    let works = Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success());
    need::or_skip(
        works.then_some(()),
        "unprivileged `unshare -rm`",
        "a file system that refuses to be written",
    )?;
    let folder = TempDir::new().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=64k none \"$FOLDER\" && cd \"$FOLDER\" && {prepare} && exec \"$0\" \"$@\""
    );
    let output = Command::new("unshare")
        .args(["-rm", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("FOLDER", folder.path())
        .env(INSIDE, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    None
}

fn chain(error: &Error) -> String {
    let source = std::error::Error::source(error).map_or_else(String::new, ToString::to_string);
    format!("failed to {error}: {source}")
}

#[test]
fn a_read_only_repository_is_said_to_be_one() {
    let name = "writing::a_read_only_repository_is_said_to_be_one";
    let Some(folder) = inside_own_file_system(name, "mount -o remount,ro none \"$FOLDER\"") else { return };
    let error = write(&folder, &plan(&folder, OsStr::new("")), Overwrite::Never).unwrap_err();
    assert!(chain(&error).contains("Read-only file system"), "{}", chain(&error));
    assert!(chain(&error).contains(".acquit"), "{}", chain(&error));
    assert!(error.hint().is_some());
}

#[test]
fn a_full_disk_is_said_to_be_full_and_leaves_nothing_half_written() {
    let name = "writing::a_full_disk_is_said_to_be_full_and_leaves_nothing_half_written";
    let prepare = "mkdir -p .acquit/workflows && { head -c 100k /dev/zero > filler 2>/dev/null; true; }";
    let Some(folder) = inside_own_file_system(name, prepare) else { return };
    let error = write(&folder, &plan(&folder, OsStr::new("")), Overwrite::Never).unwrap_err();
    assert!(chain(&error).contains("No space left on device"), "{}", chain(&error));
    assert!(error.hint().unwrap().contains("free some space"));
    assert_eq!(tree(&folder), [PathBuf::from("filler")]);
    fs::remove_file(folder.join("filler")).unwrap();
    write(&folder, &plan(&folder, OsStr::new("")), Overwrite::Never).unwrap();
}
