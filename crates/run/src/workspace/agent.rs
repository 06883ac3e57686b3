//! The agent's own repository, `work/.git`: written anew by us, then read as somebody else's.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::files::{self, Found};
use super::snapshot::{Skip, Snapshot};
use super::{Error, Locked, Workspace};
use crate::git::{CommitId, Identity, ObjectFormat};

/// What an agent left at `work/.git`.
pub(super) enum AgentGit {
    /// Nothing, or something that is not a folder.
    Gone {
        /// In words.
        what: &'static str,
    },
    /// A folder.
    There {
        /// The listing of it.
        snapshot: Snapshot,
        /// Where the branch points, or why that cannot be told.
        tip: Result<CommitId, String>,
        /// Whether HEAD is elsewhere, or there are refs besides the branch.
        elsewhere: bool,
    },
}

/// The lines of an alternates file.
pub(super) fn alternates(folders: &[PathBuf]) -> Vec<u8> {
    let mut text = Vec::new();
    for folder in folders {
        let bytes = folder.as_os_str().as_bytes();
        if bytes.iter().any(|b| b.is_ascii_control() || *b == b'"') {
            text.push(b'"');
            for byte in bytes {
                match byte {
                    b'"' | b'\\' => text.extend_from_slice(&[b'\\', *byte]),
                    b if b.is_ascii_control() => text.extend_from_slice(format!("\\{b:03o}").as_bytes()),
                    b => text.push(*b),
                }
            }
            text.push(b'"');
        } else {
            text.extend_from_slice(bytes);
        }
        text.push(b'\n');
    }
    text
}

/// Which of the two kinds of repository a configuration is for.
pub(super) enum Role<'a> {
    /// The agent's, with the name it commits under.
    Agent(&'a Identity),
    /// The harness's: nothing in it may depend on a log.
    Harness,
}

/// The configuration of a repository that we write.
pub(super) fn config(format: ObjectFormat, role: &Role<'_>) -> String {
    let (version, extension) = match format {
        ObjectFormat::Sha1 => (0, ""),
        ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
    };
    let rest = match role {
        Role::Agent(who) => {
            let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
            format!(
                "\tlogallrefupdates = true\n[user]\n\tname = \"{}\"\n\temail = \"{}\"\n",
                quote(who.name()),
                quote(who.email())
            )
        }
        Role::Harness => "\tlogallrefupdates = false\n".to_owned(),
    };
    format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n{rest}[gc]\n\tauto = 0\n\
         [maintenance]\n\tauto = false\n{extension}"
    )
}

/// Writes the few files that make a repository.
pub(super) fn write_repository(
    at: &Path,
    head: &str,
    config: &str,
    borrowed: &[PathBuf],
) -> Result<(), Error> {
    let io = |e| Error::io("create", at, e);
    fs::create_dir_all(at.join("objects/info")).map_err(io)?;
    fs::create_dir_all(at.join("refs/heads")).map_err(io)?;
    fs::write(at.join("objects/info/alternates"), alternates(borrowed)).map_err(io)?;
    fs::write(at.join("config"), config).map_err(io)?;
    fs::write(at.join("HEAD"), head).map_err(io)
}

impl Workspace {
    pub(super) fn agent_dir(&self) -> PathBuf {
        self.tree().join(".git")
    }

    /// Whether objects come only from where we said: the alternates are ours, and no link leads out of the folder.
    pub(super) fn borrows_only_ours(&self, snapshot: &Snapshot) -> Result<(), String> {
        if let Some(link) = snapshot.links.iter().find(|l| l.starts_with("objects")) {
            return Err(format!("its repository has a symbolic link at {}", link.display()));
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

impl Locked {
    /// Puts a fresh repository at `work/.git`, on `branch` at `tip`, with the harness's index. The old one goes away:
    /// the caller has taken out of it what is worth keeping.
    pub(super) fn write_agent(&self, branch: &str, tip: &CommitId) -> Result<Snapshot, Error> {
        let (new, old, git) = (self.dir.join("agent.new"), self.dir.join("agent.old"), self.agent_dir());
        let io = |e| Error::io("create", &git, e);
        files::remove(&new)?;
        files::remove(&old)?;
        let head = format!("ref: refs/heads/{branch}\n");
        let config = config(self.format, &Role::Agent(&self.agent));
        write_repository(&new, &head, &config, &self.borrowed_objects())?;
        let reference = new.join("refs/heads").join(branch);
        if let Some(folder) = reference.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        fs::write(&reference, format!("{tip}\n")).map_err(io)?;
        fs::copy(self.git_dir().join("index"), new.join("index")).map_err(io)?;
        match fs::rename(&git, &old) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(io(e)),
        }
        fs::rename(&new, &git).map_err(io)?;
        files::remove(&old)?;
        Ok(Snapshot::take(&git, Skip::Nothing).map_err(io)?.settle(&self.dir))
    }

    /// Looks at what the agent left.
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
        let snapshot = Snapshot::take(&root, Skip::Nothing).map_err(|e| Error::io("read", &root, e))?;
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
        let on_branch = matches!(
            files::read_untrusted(&root, "HEAD", files::SMALL)?,
            Found::Content(bytes) if bytes.trim_ascii_end() == format!("ref: {name}").as_bytes()
        );
        let others = packed.is_err()
            || packed.is_ok_and(|text| packed_refs(&text).any(|(_, r)| r != name))
            || has_other_refs(&root.join("refs"), &root.join(&name), 0);
        Ok(AgentGit::There { snapshot, tip, elsewhere: !on_branch || others })
    }
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

/// Whether any file below `folder` is not `own`. Tags and remote refs count too: what they keep is kept.
fn has_other_refs(folder: &Path, own: &Path, depth: usize) -> bool {
    // Refs are a few folders deep; whatever is deeper was not made by git.
    const DEEPEST: usize = 16;
    let Ok(entries) = fs::read_dir(folder) else { return true };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => depth >= DEEPEST || has_other_refs(&entry.path(), own, depth + 1),
        _ => entry.path() != own,
    })
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
