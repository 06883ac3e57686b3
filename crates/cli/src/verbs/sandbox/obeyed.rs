//! What the user's git, acquit and coding agents obey in the folders that a sandboxed program may write: repositories
//! with their hooks and settings, `.acquit`, settings from which agents start programs. A program that can change it
//! could run its own code outside of the sandbox, at the next commit.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use acquit_run::sandbox::Entry;
use acquit_run::workspace::agent_settings;
use rustix::fs::OFlags;

/// How many directories to search for checkouts, and how deep: enough for a workspace with many repositories, not a
/// whole disk.
const MOST_FOLDERS: usize = 4_000;
const DEEPEST: usize = 4;
/// Directories in which nobody keeps a checkout to commit in, and that have thousands of others.
const PACKAGES: [&str; 2] = ["node_modules", "target"];
/// Settings of agents that count in any folder, not only at the top of a checkout.
const ANYWHERE: &str = ".claude";
/// Maximum size of settings of git to read.
const LARGEST: u64 = 1 << 20;
/// Maximum number of files that settings of git include.
const MOST_INCLUDED: usize = 32;

/// What was found in a directory.
#[derive(Default)]
pub(super) struct Obeyed {
    /// Paths in that directory, without symlinks. A program may not change them.
    pub(super) inside: BTreeSet<PathBuf>,
    /// Repositories of checkouts elsewhere, which are shown so that git works.
    pub(super) elsewhere: BTreeSet<PathBuf>,
    /// Directories that git takes for a repository when it runs in them. They stay writable: tests make such.
    bare: BTreeSet<PathBuf>,
    /// Whether there were too many directories to look at all of them.
    pub(super) is_cut: bool,
}

impl Obeyed {
    /// Searches a directory. `home` has the user's own settings of git.
    pub(super) fn of(root: &Path, home: &Path) -> Self {
        let mut found = Self::default();
        let root = real(root);
        let mut users = Settings::default();
        for file in [".gitconfig", ".config/git/config"] {
            users.read(&home.join(file), home);
        }
        // The checkout that the directory is a part of.
        let above = root.ancestors().skip(1).map(|above| above.join(".git"));
        if let Some(git) = above.into_iter().find(|git| git.symlink_metadata().is_ok()) {
            found.repository(&root, &git, &users, home);
            found.elsewhere.clear();
        }
        let mut folders = VecDeque::from([(root.clone(), 0)]);
        let mut looked_at = 0;
        while let Some((folder, depth)) = folders.pop_front() {
            if looked_at == MOST_FOLDERS {
                found.is_cut = true;
                break;
            }
            looked_at += 1;
            let git = folder.join(".git");
            let is_checkout = git.symlink_metadata().is_ok();
            if is_checkout {
                found.repository(&root, &git, &users, home);
            }
            let names = agent_settings().filter(|name| is_checkout || depth == 0 || *name == ANYWHERE);
            for name in names.chain([".acquit"]) {
                found.add(&root, &folder.join(name));
            }
            if depth < DEEPEST {
                let entries: Vec<_> = std::fs::read_dir(&folder).into_iter().flatten().flatten().collect();
                let has = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
                if ["HEAD", "objects", "refs"].into_iter().all(has) {
                    found.bare.insert(folder);
                }
                let inside =
                    entries.into_iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                let skipped = |name: &str| [".git", ".acquit"].contains(&name) || PACKAGES.contains(&name);
                let inside = inside.filter(|entry| !entry.file_name().to_str().is_some_and(skipped));
                folders.extend(inside.map(|entry| (entry.path(), depth + 1)));
            }
        }
        found
    }

    /// Adds a path, where it leads to, if that exists in the directory.
    fn add(&mut self, root: &Path, place: &Path) {
        if let Ok(place) = std::fs::canonicalize(place)
            && place.starts_with(root)
            && place != root
        {
            self.inside.insert(place);
        }
    }

    /// Adds a repository with everything that it obeys.
    fn repository(&mut self, root: &Path, git: &Path, users: &Settings, home: &Path) {
        self.add(root, git);
        let mut repository = real(git);
        if repository.is_file() {
            let named = text(&repository);
            let Some(named) = named.strip_prefix("gitdir:") else { return };
            repository = real(&repository.parent().unwrap_or(root).join(named.trim()));
            self.add(root, &repository);
            self.elsewhere.extend(linked(git).into_iter().filter(|place| !place.starts_with(root)));
        }
        let common = text(&repository.join("commondir"));
        let common = real(&repository.join(common.trim()));
        self.add(root, &common);
        let mut settings = Settings::default();
        for file in [common.join("config"), repository.join("config.worktree")] {
            settings.read(&file, home);
        }
        for file in &settings.files {
            self.add(root, file);
        }
        let top = git.parent().unwrap_or(root);
        for hooks in settings.hooks.iter().chain(&users.hooks).map(|hooks| top.join(hooks)) {
            // The hooks that husky writes to `.husky/_` run those beside it.
            let is_husky = hooks.file_name().is_some_and(|name| name == "_");
            let above = hooks.parent().filter(|_| is_husky);
            self.add(root, above.unwrap_or(&hooks));
        }
    }

    /// Returns the entries that keep a program from changing what was found. A folder above it is an entry of its own,
    /// because it could be moved away otherwise, and another one put in its place.
    pub(super) fn entries(&self, root: &Path) -> Vec<Entry> {
        let root = real(root);
        let is_within = |place: &PathBuf| place.ancestors().skip(1).any(|above| self.inside.contains(above));
        let outermost: Vec<&PathBuf> = self.inside.iter().filter(|place| !is_within(place)).collect();
        let above = outermost.iter().flat_map(|place| place.ancestors().skip(1));
        let above: BTreeSet<&Path> =
            above.filter(|above| above.starts_with(&root) && *above != root).collect();
        let kept = above.into_iter().map(Entry::write);
        kept.chain(outermost.into_iter().chain(&self.elsewhere).map(Entry::read)).collect()
    }

    /// Returns the paths with what tells each from another one that took its place.
    pub(super) fn identities(&self) -> BTreeSet<(PathBuf, u64, u64)> {
        let identity = |place: &PathBuf| {
            let meta = std::fs::symlink_metadata(place).ok()?;
            Some((place.clone(), meta.dev(), meta.ino()))
        };
        self.inside.union(&self.bare).filter_map(identity).collect()
    }
}

/// Resolves a path as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Reads a file that a program may have put there: at most its beginning, and nothing that never ends. Empty if there
/// is none.
fn text(file: &Path) -> String {
    let open = || {
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(nonblocking).open(file)?;
        let mut bytes = Vec::new();
        if file.metadata()?.is_file() {
            file.take(LARGEST).read_to_end(&mut bytes)?;
        }
        std::io::Result::Ok(bytes)
    };
    String::from_utf8_lossy(&open().unwrap_or_default()).into_owned()
}

/// What settings of git name.
#[derive(Default)]
struct Settings {
    /// The files that they are in.
    files: Vec<PathBuf>,
    /// Values of `core.hooksPath`.
    hooks: Vec<PathBuf>,
}

impl Settings {
    /// Reads a file and the files that it includes, whatever their conditions.
    fn read(&mut self, file: &Path, home: &Path) {
        if self.files.len() >= MOST_INCLUDED || self.files.iter().any(|known| known == file) {
            return;
        }
        self.files.push(file.to_owned());
        let text = text(file);
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            let mut rest = line;
            if let Some(header) = line.strip_prefix('[') {
                let (name, after) = header.rsplit_once(']').unwrap_or((header, ""));
                section = name.split([' ', '"', '.']).next().unwrap_or_default().to_ascii_lowercase();
                rest = after.trim();
            }
            let Some((key, value)) = rest.split_once('=') else { continue };
            let value = value_of(value);
            let value =
                value.strip_prefix("~/").map_or_else(|| PathBuf::from(&value), |rest| home.join(rest));
            match (section.as_str(), key.trim().to_ascii_lowercase().as_str()) {
                ("core", "hookspath") => self.hooks.push(value),
                ("include" | "includeif", "path") => {
                    self.read(&file.parent().unwrap_or(file).join(value), home);
                }
                _ => {}
            }
        }
    }
}

/// Returns a value without quotes and comment.
fn value_of(text: &str) -> String {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut letters = text.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => value.extend(letters.next()),
            '#' | ';' if !is_quoted => break,
            _ => value.push(letter),
        }
    }
    value.trim_end().to_owned()
}

/// Returns the repository that the `.git` file of a linked worktree or a submodule names, if that repository names the
/// checkout as its own. A program could have written the file, with any other repository in it.
fn linked(file: &Path) -> Vec<PathBuf> {
    let named = text(file);
    let Some(named) = named.strip_prefix("gitdir:") else { return Vec::new() };
    let checkout = real(file.parent().unwrap_or(file));
    let folder = real(&checkout.join(named.trim()));
    if !folder.join("HEAD").is_file() {
        return Vec::new();
    }
    let back = text(&folder.join("gitdir"));
    if !back.is_empty() && real(&folder.join(back.trim())) == checkout.join(".git") {
        let common = Some(text(&folder.join("commondir"))).filter(|common| !common.is_empty());
        let common = common.map(|common| real(&folder.join(common.trim())));
        // The repository keeps what it knows of its worktrees itself.
        let own = |common: &PathBuf| folder.parent() == Some(&common.join("worktrees"));
        return match common.filter(own) {
            Some(common) => vec![folder, common],
            None => Vec::new(),
        };
    }
    let config = text(&folder.join("config"));
    let is_its_own = work_tree(&config).is_some_and(|tree| real(&folder.join(tree)) == checkout);
    if is_its_own { vec![folder] } else { Vec::new() }
}

/// Returns `core.worktree` of a repository, as git writes it for a submodule.
fn work_tree(config: &str) -> Option<&str> {
    let core = config.split("[core]").nth(1)?.split("\n[").next()?;
    let value =
        core.lines().find_map(|line| line.trim().strip_prefix("worktree")?.trim().strip_prefix('='))?;
    Some(value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_git_are_read_in_every_spelling() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::write(at("more"), "[Core] HooksPath = \"third # one\" ; x\n[include]\n path = config\n")
            .unwrap();
        let text = "[user]\n\thooksPath = no\n[core]\n\thookspath=first\n[includeIf \"gitdir:~/a]b/\"]\n\tpath = more # x\n\
                    [core]\n hooksPath = ~/second\n# hooksPath = no\n";
        std::fs::write(at("config"), text).unwrap();
        let mut settings = Settings::default();
        settings.read(&at("config"), Path::new("/nowhere/me"));
        assert_eq!(settings.hooks, ["first", "third # one", "/nowhere/me/second"].map(PathBuf::from));
        assert_eq!(settings.files, [at("config"), at("more")]);
    }
}
