//! Fills in the files of submodules from the repositories that the user's git keeps in `.git/modules`.
//!
//! Nothing is fetched, and no git runs in a submodule: the harness's own repository reads the objects and writes the
//! files. So no setting, hook or filter of a submodule takes effect. The directories have no `.git`. Their files can be
//! read and built, but changes to them are not part of the work. The commit of a submodule is the one that the
//! superproject's commit records.
//!
//! `.gitmodules` and the paths in it are untrusted. A name only resolves to a directory inside `.git/modules`, and a
//! path is filled only if every parent is a real directory.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::{Error, LockedWorkspace, files};

/// Maximum depth of nested submodules to fill.
const DEEPEST: usize = 5;

/// Maximum number of submodules; more than any project has.
const MOST: usize = 500;

const DOING: &str = "fill in the submodules";

/// Name of the list of filled submodules. It is next to a tree that no one else writes to.
const RECORD: &str = "submodules";

/// Who may have written to a tree since it was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tree {
    /// Only git: submodules at the right commit are kept.
    Ours,
    /// An agent: everything is filled again.
    Agents,
}

/// A submodule of a commit.
struct Link {
    path: PathBuf,
    commit: String,
}

impl LockedWorkspace {
    /// Fills the submodules of a commit or tree in `tree`, which already has its other files. Returns those that are
    /// not in the user's clone.
    pub(super) fn fill_submodules(&self, of: &str, tree: &Path, whose: Tree) -> Result<Vec<String>, Error> {
        let record = tree.parent().unwrap_or(tree).join(RECORD);
        let filled = if whose == Tree::Ours { read_record(&record)? } else { BTreeMap::new() };
        let has_some = tree.join(".gitmodules").symlink_metadata().is_ok_and(|meta| meta.is_file());
        if !has_some && filled.is_empty() {
            return Ok(Vec::new());
        }
        files::remove(&record)?;
        let mut fill = Fill { of: self, tree, now: BTreeMap::new(), before: filled, missing: Vec::new() };
        if has_some {
            fill.all(of, Path::new(""), &self.modules, None, 0)?;
        }
        // Remove directories that are no longer submodules. Otherwise they would remain among the files.
        let gone: Vec<&PathBuf> = fill.before.keys().filter(|path| !fill.now.contains_key(*path)).collect();
        for path in gone {
            if is_plain(tree, path) && !self.is_tracked(of, path)? {
                files::remove(&tree.join(path))?;
            }
        }
        let Fill { now, missing, .. } = fill;
        if whose == Tree::Ours {
            let lines: Vec<Vec<u8>> = now
                .iter()
                .map(|(path, commit)| [commit.as_bytes(), b" ", path.as_os_str().as_bytes(), b"\0"].concat())
                .collect();
            files::write(&record, &lines.concat())?;
        }
        Ok(missing)
    }

    /// Returns the paths of the submodules of a commit.
    pub(super) fn submodule_paths(&self, commit: &str) -> Result<Vec<PathBuf>, Error> {
        Ok(self.links(commit, None)?.into_iter().map(|link| link.path).collect())
    }

    fn is_tracked(&self, of: &str, path: &Path) -> Result<bool, Error> {
        let call = self.call("ls-tree").args(["-z", "--full-tree", of, "--"]).arg(path);
        Ok(!call.run().map_err(Error::git(DOING))?.stdout.is_empty())
    }

    fn links(&self, of: &str, objects: Option<&Path>) -> Result<Vec<Link>, Error> {
        let mut call = self.call("ls-tree").args(["-r", "-z", "--full-tree", of]);
        if let Some(objects) = objects {
            call = call.with_objects(objects);
        }
        let output = call.run().map_err(Error::git(DOING))?;
        let rows = output.stdout.split(|b| *b == 0).filter_map(|row| row.strip_prefix(b"160000 commit "));
        let link = |row: &[u8]| {
            let tab = row.iter().position(|b| *b == b'\t')?;
            let commit = std::str::from_utf8(&row[..tab]).ok()?.to_owned();
            Some(Link { path: PathBuf::from(OsStr::from_bytes(&row[tab + 1..])), commit })
        };
        Ok(rows.filter_map(link).take(MOST).collect())
    }

    /// Returns the names of submodules by path, from the `.gitmodules` of a commit.
    fn names(&self, of: &str, objects: Option<&Path>) -> Result<BTreeMap<PathBuf, String>, Error> {
        let mut call = self.call("config").args(["-z", "--blob", &format!("{of}:.gitmodules")]);
        if let Some(objects) = objects {
            call = call.with_objects(objects);
        }
        let output = call.args(["--get-regexp", r"^submodule\..*\.path$"]).run_any();
        let output = output.map_err(Error::git(DOING))?;
        let rows = output.stdout.split(|b| *b == 0).filter_map(|row| {
            let at = row.iter().position(|b| *b == b'\n')?;
            let key = std::str::from_utf8(&row[..at]).ok()?;
            let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
            Some((PathBuf::from(OsStr::from_bytes(&row[at + 1..])), name.to_owned()))
        });
        Ok(rows.take(MOST).collect())
    }
}

/// State while filling one tree.
struct Fill<'a> {
    of: &'a LockedWorkspace,
    tree: &'a Path,
    before: BTreeMap<PathBuf, String>,
    now: BTreeMap<PathBuf, String>,
    missing: Vec<String>,
}

impl Fill<'_> {
    fn all(
        &mut self,
        of: &str,
        below: &Path,
        roots: &[PathBuf],
        objects: Option<&Path>,
        depth: usize,
    ) -> Result<(), Error> {
        let links = self.of.links(of, objects)?;
        if links.is_empty() {
            return Ok(());
        }
        let names = self.of.names(of, objects)?;
        for Link { path, commit } in links {
            let place = below.join(&path);
            let repository = names.get(&path).and_then(|name| repository(roots, name));
            let Some(repository) = repository.filter(|_| is_plain(self.tree, &place)) else {
                self.missing.push(place.to_string_lossy().into_owned());
                continue;
            };
            let objects = repository.join("objects");
            let is_there = self.before.get(&place) == Some(&commit);
            if !is_there && !self.checkout(&commit, &place, &objects)? {
                self.missing.push(place.to_string_lossy().into_owned());
                continue;
            }
            self.now.insert(place.clone(), commit.clone());
            let inner = self.tree.join(&place).join(".gitmodules");
            if depth < DEEPEST && inner.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                self.all(&commit, &place, &[repository.join("modules")], Some(&objects), depth + 1)?;
            }
        }
        Ok(())
    }

    /// Checks out a submodule. Returns whether its files are there now; otherwise the directory is empty.
    fn checkout(&self, commit: &str, place: &Path, objects: &Path) -> Result<bool, Error> {
        let folder = self.tree.join(place);
        let index = self.of.dir.join("submodule-index");
        files::remove(&index)?;
        files::remove(&folder)?;
        std::fs::create_dir(&folder).map_err(|e| Error::io("create", &folder, e))?;
        let call = self.of.call("read-tree").with_objects(objects).index(&index).work_tree(&folder);
        let output = call.args(["--reset", "-u", commit]).run_any().map_err(Error::git(DOING))?;
        files::remove(&index)?;
        let done = output.code == Some(0);
        if !done {
            files::remove(&folder)?;
            std::fs::create_dir(&folder).map_err(|e| Error::io("create", &folder, e))?;
        }
        Ok(done)
    }
}

/// Returns the user's repository of a submodule by name.
fn repository(roots: &[PathBuf], name: &str) -> Option<PathBuf> {
    let sound = !name.is_empty() && Path::new(name).components().all(|it| matches!(it, Component::Normal(_)));
    let found = |root: &PathBuf| Some(root.join(name)).filter(|path| path.join("objects").is_dir());
    roots.iter().filter(|_| sound).find_map(found)
}

/// Returns whether a path stays below `tree` and all its parents are real directories.
pub(super) fn is_plain(tree: &Path, below: &Path) -> bool {
    let mut path = tree.to_owned();
    let names = below.components().all(|part| matches!(part, Component::Normal(_)));
    names
        && below.parent().is_some_and(|parent| {
            parent.components().all(|part| {
                path.push(part);
                path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
            })
        })
}

fn read_record(path: &Path) -> Result<BTreeMap<PathBuf, String>, Error> {
    let text = files::read(path, files::LARGE)?.unwrap_or_default();
    let rows = text.split(|b| *b == 0).filter_map(|row| {
        let at = row.iter().position(|b| *b == b' ')?;
        let commit = std::str::from_utf8(&row[..at]).ok()?.to_owned();
        Some((PathBuf::from(OsStr::from_bytes(&row[at + 1..])), commit))
    });
    Ok(rows.collect())
}
