//! Nothing of the user's is changed: every file of the checkout and of its repository is listed before and after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::common::Sandbox;
use crate::kit::{HONEST, MENDED, package, prove};

/// Every path below a folder with its mode and content, and the time of its last change where that means something. Git
/// freshens the time of a pack or object that it finds again; its content says whether it changed.
pub(crate) fn listing(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_symlink() {
                fs::read_link(&path).unwrap().to_string_lossy().into_owned()
            } else if meta.is_dir() {
                open.push(path.clone());
                String::new()
            } else if meta.is_file() {
                format!("{:?}", fs::read(&path).unwrap())
            } else {
                "special".to_owned()
            };
            let time =
                if name.starts_with(".git/objects") { (0, 0) } else { (meta.mtime(), meta.mtime_nsec()) };
            all.insert(name, format!("{:o} {time:?} {content}", meta.permissions().mode()));
        }
    }
    all
}

#[track_caller]
fn unchanged(sandbox: &Sandbox, args: &[&str], code: i32) {
    let before = listing(sandbox.repo.path());
    prove(sandbox, args, code);
    let after = listing(sandbox.repo.path());
    let differs: Vec<&String> =
        before.keys().chain(after.keys()).filter(|name| before.get(*name) != after.get(*name)).collect();
    assert!(differs.is_empty(), "changed by {args:?}: {differs:?}");
}

#[test]
fn checkout_index_refs_and_objects_stay_as_they_were() {
    let sandbox = package();
    let repo = &sandbox.repo;
    repo.git(&["branch", "other"]);
    repo.write("sum.js", MENDED);
    repo.git(&["add", "sum.js"]);
    repo.write("test/new.test.js", HONEST);
    repo.write("ignored/big.txt", "ignored\n");
    repo.write("package.json", &crate::kit::MANIFEST.replace("sample", "renamed"));
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("link")).unwrap();
    unchanged(&sandbox, &[], 0);
    unchanged(&sandbox, &["--staged"], 0);
    unchanged(&sandbox, &["--working-tree"], 0);
    unchanged(&sandbox, &["other"], 0);
}
