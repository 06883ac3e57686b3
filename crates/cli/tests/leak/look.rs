//! Where secrets are looked for, and how.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::types::ValueRef;

use crate::common::Sandbox;
use crate::forms::forms;

/// A secret that no other text has.
pub(crate) struct Canary {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    forms: Vec<Vec<u8>>,
}

impl Canary {
    pub(crate) fn new(name: &'static str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let value = format!(
            "{}-{}+{number}/\"Canary?~{}",
            name.replace('_', "%"),
            std::process::id(),
            "zQ7".repeat(9)
        );
        Self { name, forms: forms(&value), value }
    }

    /// Whether it is in these bytes in any form.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.forms.iter().any(|form| bytes.windows(form.len()).any(|part| part == form))
    }
}

/// Fails if a canary is anywhere that acquit or its agents have written to and left.
#[track_caller]
pub(crate) fn nowhere(sandbox: &Sandbox, canaries: &[Canary]) {
    let mut found = Vec::new();
    let mut look = |place: &str, bytes: &[u8]| {
        let here = canaries.iter().filter(|canary| canary.is_in(bytes));
        found.extend(here.map(|canary| format!("{} in {place}", canary.name)));
    };
    for root in ["acquit", "said", "tmp"] {
        for path in all_files(&sandbox.place(root)) {
            look(&format!("the name {}", path.display()), path.as_os_str().as_bytes());
            look(&path.to_string_lossy(), &fs::read(&path).unwrap_or_default());
        }
    }
    for path in all_files(sandbox.repo.path()) {
        look(&path.to_string_lossy(), &fs::read(&path).unwrap_or_default());
    }
    // Objects are compressed, and a database breaks long texts into pages.
    let mut repositories = vec![sandbox.repo.path().join(".git")];
    let stores = fs::read_dir(sandbox.place("acquit/tasks")).into_iter().flatten().flatten();
    let tasks = stores.flat_map(|store| fs::read_dir(store.path()).into_iter().flatten().flatten());
    for workspace in tasks.map(|task| task.path().join("workspace")) {
        repositories.extend([workspace.join("git"), workspace.join("work/.git")]);
    }
    for repository in repositories.iter().filter(|repository| repository.exists()) {
        look(&format!("objects of {}", repository.display()), &objects(repository));
    }
    look("the store", &dump(&sandbox.place("acquit/acquit.db")));
    for args in [
        ["logs", "T-1", "--json", "--all"].as_slice(),
        &["task", "show", "T-1", "--json"],
        &["task", "show", "T-1"],
    ] {
        let ran = sandbox.acquit(args);
        look(&format!("{args:?}"), format!("{}{}", ran.out, ran.err).as_bytes());
    }
    assert!(found.is_empty(), "{found:#?}");
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            files.extend(all_files(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files
}

#[allow(clippy::disallowed_methods, reason = "a test looks with a git of its own")]
fn objects(repository: &Path) -> Vec<u8> {
    let output = Command::new("git")
        .arg(format!("--git-dir={}", repository.display()))
        .args(["cat-file", "--batch-all-objects", "--batch"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Every value of every table.
fn dump(path: &Path) -> Vec<u8> {
    let store = rusqlite::Connection::open(path).unwrap();
    let mut names = store.prepare("select name from sqlite_master where type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut out = Vec::new();
    for name in names {
        let mut all = store.prepare(&format!("select * from \"{name}\"")).unwrap();
        let columns = all.column_count();
        let mut rows = all.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                match row.get_ref(column).unwrap() {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => out.extend_from_slice(bytes),
                    ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {}
                }
                out.push(b'\n');
            }
        }
    }
    assert!(out.len() > 1_000, "the store is empty");
    out
}
