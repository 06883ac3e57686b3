//! The agent's own repository, `work/.git`: written by us, then read as untrusted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::files::{self, Found};
use super::setup::EXCLUDE;
use super::snapshot::{Skip, Snapshot, too_deep};
use super::{Error, LockedWorkspace, Workspace};
use crate::git::{CommitId, Identity, ObjectFormat, alternates};

/// The kind of entry that an agent left at `work/.git`.
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum AgentGit {
    /// Nothing, or something that is not a directory.
    Gone {
        /// Description.
        what: &'static str,
    },
    /// A directory.
    There {
        snapshot: Snapshot,
        /// Tip of the branch, or why it cannot be read.
        tip: Result<CommitId, String>,
        /// Commits of other refs and of a detached HEAD. `None` if some cannot be read, or there are too many.
        others: Option<BTreeSet<CommitId>>,
        /// Existing branches and the one that HEAD is on, limited in number.
        branches: Vec<String>,
    },
}

/// File of a workspace that records the refs of the base branch as written into the agent's repository: a line with
/// commit and ref for each.
const BASE_REFS: &str = "base-ref";

/// Which of the two kinds of repository a configuration is for.
pub(super) enum Role<'a> {
    /// The agent's, with the identity for its commits.
    Agent(&'a Identity),
    /// The harness's: nothing in it may depend on a reflog.
    Harness,
}

/// Returns the configuration of a repository that we write. Objects are not compressed: the repository is short-lived,
/// and commits can then be read directly ([`crate::git::Commit`]).
pub(super) fn config(format: ObjectFormat, role: &Role<'_>) -> String {
    let (version, extension) = match format {
        ObjectFormat::Sha1 => (0, ""),
        ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
    };
    let rest = match role {
        Role::Agent(who) => {
            let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
            format!(
                "\tlogallrefupdates = true\n[user]\n\tname = \"{}\"\n\temail = \"{}\"\n{}",
                quote(who.name()),
                quote(who.email()),
                super::guardrails::REMOTE
            )
        }
        Role::Harness => "\tlogallrefupdates = false\n".to_owned(),
    };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\tloosecompression = 0\n{rest}\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n{extension}"
    )
}

/// Writes the few files that make up a repository.
pub(super) fn write_repository(
    at: &Path,
    head: &str,
    config: &str,
    borrowed: &[PathBuf],
    shallow: &[u8],
) -> Result<(), Error> {
    let io = |e| Error::io("create", at, e);
    fs::create_dir_all(at.join("objects/info")).map_err(io)?;
    fs::create_dir_all(at.join("refs/heads")).map_err(io)?;
    fs::write(at.join("objects/info/alternates"), alternates(borrowed)).map_err(io)?;
    if !shallow.is_empty() {
        fs::write(at.join("shallow"), shallow).map_err(io)?;
    }
    fs::write(at.join("config"), config).map_err(io)?;
    fs::write(at.join("HEAD"), head).map_err(io)
}

impl Workspace {
    pub(super) fn agent_dir(&self) -> PathBuf {
        self.tree().join(".git")
    }

    /// Checks that objects come only from the expected places: the alternates are ours, and no symlink leads out of the
    /// directory.
    pub(super) fn borrows_only_ours(&self, snapshot: &Snapshot) -> Result<(), String> {
        // A symlink leads elsewhere, and the sender would block forever on a pipe.
        if let Some((path, what)) = snapshot.odd.iter().find(|(path, _)| path.starts_with("objects")) {
            return Err(format!("its repository has {what} at {}", path.display()));
        }
        let expected = alternates(&self.borrowed_objects());
        let found = files::read_untrusted(&self.agent_dir(), "objects/info/alternates", files::LARGE);
        match found {
            Ok(Found::Content(bytes)) if bytes == expected => Ok(()),
            Ok(Found::Content(_) | Found::Absent | Found::Odd) | Err(_) => {
                Err("its repository borrows objects from somewhere else".into())
            }
        }
    }
}

impl LockedWorkspace {
    /// Creates a fresh repository at `work/.git`, on `branch` at `tip`, with the harness's index. Removes the old one;
    /// the caller has already saved what is worth keeping.
    pub(super) fn write_agent(&self, branch: &str, tip: &CommitId) -> Result<Snapshot, Error> {
        let (new, old, git) = (self.dir.join("agent.new"), self.dir.join("agent.old"), self.agent_dir());
        let io = |e| Error::io("create", &git, e);
        files::remove(&new)?;
        files::remove(&old)?;
        let head = format!("ref: refs/heads/{branch}\n");
        let config = config(self.format, &Role::Agent(&self.agent));
        write_repository(&new, &head, &config, &self.borrowed_objects(), &self.shallow)?;
        let reference = new.join("refs/heads").join(branch);
        if let Some(folder) = reference.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        fs::write(&reference, format!("{tip}\n")).map_err(io)?;
        fs::copy(self.git_dir().join("index"), new.join("index")).map_err(io)?;
        if let Some(ignored) = files::read(&self.git_dir().join(EXCLUDE), files::LARGE)? {
            fs::create_dir_all(new.join("info")).map_err(io)?;
            fs::write(new.join(EXCLUDE), ignored).map_err(io)?;
        }
        if let Some(rules) = &self.rules {
            rules.write_hooks(&new, branch)?;
            // Recorded, so that later readers need not know the rules.
            let mut written = String::new();
            for (name, commit) in rules.base_refs(branch) {
                let reference = new.join(&name);
                if let Some(folder) = reference.parent() {
                    fs::create_dir_all(folder).map_err(io)?;
                }
                fs::write(&reference, format!("{commit}\n")).map_err(io)?;
                written.push_str(&format!("{commit} {name}\n"));
            }
            files::write(&self.dir.join(BASE_REFS), written.as_bytes())?;
        }
        match fs::rename(&git, &old) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(io(e)),
        }
        fs::rename(&new, &git).map_err(io)?;
        files::remove(&old)?;
        Ok(Snapshot::take(&git, Skip::Nothing).map_err(io)?.settle(&self.dir))
    }

    /// Examines what the agent left.
    pub(super) fn read_agent(&self, branch: &str) -> Result<AgentGit, Error> {
        let root = self.agent_dir();
        match fs::symlink_metadata(&root) {
            Ok(meta) if meta.is_dir() => {}
            Ok(meta) if meta.is_symlink() => {
                return Ok(AgentGit::Gone { what: "replaced by a symbolic link" });
            }
            Ok(_) => return Ok(AgentGit::Gone { what: "replaced by a file" }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(AgentGit::Gone { what: "deleted" });
            }
            Err(e) => return Err(Error::io("read", &root, e)),
        }
        let snapshot = match Snapshot::take(&root, Skip::Nothing) {
            Ok(snapshot) => snapshot,
            Err(e) if too_deep(&e) => {
                return Ok(AgentGit::Gone { what: "filled with folders that are nested too deeply" });
            }
            Err(e) => return Err(Error::io("read", &root, e)),
        };
        let packed = match files::read_untrusted(&root, "packed-refs", files::LARGE)? {
            Found::Absent => Ok(String::new()),
            Found::Content(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Found::Odd => Err("its packed refs are not a plain file of a sensible size".to_owned()),
        };
        let name = format!("refs/heads/{branch}");
        let tip = match files::read_untrusted(&root, &name, files::SMALL)? {
            Found::Content(bytes) => read_tip(&bytes, branch),
            Found::Absent => packed.clone().and_then(|text| {
                let found = packed_refs(&text).filter(|(_, r)| *r == name).last();
                let id = found.ok_or_else(|| format!("the branch {branch} is gone"))?.0;
                id.parse().map_err(|_| format!("the branch {branch} holds no commit id"))
            }),
            Found::Odd => Err(format!("the branch {branch} is not a plain file")),
        };
        let head = match files::read_untrusted(&root, "HEAD", files::SMALL)? {
            Found::Content(bytes) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
            Found::Absent | Found::Odd => String::new(),
        };
        let on = head.strip_prefix("ref:").map(str::trim).unwrap_or_default();
        let mut names = loose_refs(&root);
        let odd = names.is_none() || packed.is_err();
        let names = names.get_or_insert_default();
        // A lock that a killed git left is not a ref: git does not allow names with this suffix.
        names.retain(|r| r.strip_suffix(".lock").is_none());
        // The base branch is not the agent's work, as long as it is what we wrote.
        let written = files::read(&self.dir.join(BASE_REFS), files::SMALL)?.unwrap_or_default();
        let written = String::from_utf8_lossy(&written).into_owned();
        let ours: Vec<(&str, &str)> = written.lines().filter_map(|line| line.split_once(' ')).collect();
        for (id, ours) in &ours {
            if let Found::Content(bytes) = files::read_untrusted(&root, ours, files::SMALL)?
                && String::from_utf8_lossy(&bytes).trim_end() == *id
            {
                names.retain(|r| r != ours);
            }
        }
        let packed_names = packed_refs(packed.as_deref().unwrap_or_default());
        names.extend(packed_names.filter(|packed| !ours.contains(packed)).map(|(_, r)| r.to_owned()));
        let others = if odd { None } else { other_commits(&root, names, &name, &head, packed.as_deref())? };
        let short = |r: &str| r.strip_prefix("refs/heads/").map(str::to_owned);
        let branches = names.iter().map(String::as_str).chain([on]).filter_map(short).collect();
        Ok(AgentGit::There { snapshot, tip, others, branches })
    }
}

/// Returns the commits of all refs but `own`, and of a detached HEAD. `None` if some cannot be read, or there are too many.
fn other_commits(
    root: &Path,
    names: &[String],
    own: &str,
    head: &str,
    packed: Result<&str, &String>,
) -> Result<Option<BTreeSet<CommitId>>, Error> {
    // Each is fetched alone. No honest agent leaves more.
    const MOST: usize = 16;
    let mut texts = Vec::new();
    for name in names.iter().filter(|name| *name != own) {
        texts.push(match files::read_untrusted(root, name, files::SMALL)? {
            Found::Content(bytes) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
            Found::Absent => {
                let found = packed_refs(packed.unwrap_or_default()).filter(|(_, r)| r == name).last();
                found.map(|(id, _)| id.to_owned()).unwrap_or_default()
            }
            Found::Odd => String::new(),
        });
    }
    texts.push(head.to_owned());
    // A symbolic ref has no commit of its own.
    let ids = texts.iter().filter(|text| !text.starts_with("ref:")).map(|text| text.parse().ok());
    let others: Option<BTreeSet<CommitId>> = ids.collect();
    Ok(others.filter(|others| others.len() <= MOST))
}

fn read_tip(bytes: &[u8], branch: &str) -> Result<CommitId, String> {
    let text = String::from_utf8_lossy(bytes);
    if text.starts_with("ref:") {
        return Err(format!("the branch {branch} points to another ref"));
    }
    text.trim_end().parse().map_err(|_| format!("the branch {branch} holds no commit id"))
}

fn packed_refs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter(|l| !l.starts_with(['#', '^'])).filter_map(|l| l.split_once(' '))
}

/// Returns the names of all refs that are files. Tags and remote refs count too, because what they refer to is kept.
/// `None` if there is something that git did not create.
fn loose_refs(root: &Path) -> Option<Vec<String>> {
    // Refs are a few directories deep. Git did not create anything deeper.
    const DEEPEST: usize = 16;
    // No one uses more, and reading them all would only take time.
    const MOST: usize = 100_000;
    let mut names = Vec::new();
    let mut folders = vec![("refs".to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let at = root.join(&folder);
        if depth > DEEPEST || names.len() > MOST || !fs::symlink_metadata(&at).is_ok_and(|m| m.is_dir()) {
            return None;
        }
        for entry in fs::read_dir(&at).ok()? {
            let entry = entry.ok()?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push((name, depth + 1));
            } else {
                names.push(name);
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_are_quoted_in_the_alternates_file() {
        let text = alternates(&["/a b/ü".into(), "/x\ny\"z".into()]);
        assert_eq!(String::from_utf8(text).unwrap(), "/a b/ü\n\"/x\\012y\\\"z\"\n");
    }
}
