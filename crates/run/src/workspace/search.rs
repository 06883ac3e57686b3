//! Searches for secrets in what an agent committed or left, before any of it leaves the workspace.
//!
//! Everything that a commit adds is searched: file contents, including files that a later commit removed, their names,
//! messages and authors. Secrets that the start already had in the same place were put there by the user and do not
//! count.

use std::collections::HashMap;
use std::path::Path;

use super::state::Resetting;
use super::{Error, LockedWorkspace, SavedAttempt, files};
use crate::git::CommitId;
use crate::secrets::{Redactor, Stream};

/// Size of the objects to read in one call: half of a call's maximum output, so that none is truncated.
const BATCH: u64 = 32 << 20;

/// Maximum number of objects per call, regardless of their sizes.
const BATCH_OBJECTS: usize = 10_000;

/// A secret that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// Name of the secret.
    pub secret: String,
    /// Description of the place.
    pub place: String,
}

struct Object {
    id: String,
    kind: String,
    size: u64,
}

impl LockedWorkspace {
    /// Returns the first declared secret in what `tip` has and `start` does not.
    pub fn find_secret(
        &self,
        redactor: &Redactor,
        start: &CommitId,
        tip: &CommitId,
    ) -> Result<Option<Leak>, Error> {
        if redactor.knows_none() || start == tip {
            return Ok(None);
        }
        let listed = self
            .call("rev-list")
            .args(["--objects", &format!("{start}..{tip}"), "--"])
            .run()
            .map_err(Error::git(DOING))?;
        let mut paths: HashMap<String, Vec<u8>> = HashMap::new();
        for row in listed.stdout.split(|byte| *byte == b'\n').filter(|row| !row.is_empty()) {
            let end = row.iter().position(|byte| *byte == b' ').unwrap_or(row.len());
            let path = row.get(end + 1..).unwrap_or_default().to_vec();
            paths.insert(String::from_utf8_lossy(&row[..end]).into_owned(), path);
        }
        let ids: Vec<&str> = paths.keys().map(String::as_str).collect();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for object in self.sizes(&ids)? {
            if object.size > BATCH {
                if let Some(secret) = self.in_large(redactor, &object)?
                    && let Some(leak) = self.leak(redactor, start, secret, &object, &paths)?
                {
                    return Ok(Some(leak));
                }
                continue;
            }
            bytes += object.size;
            batch.push(object);
            if bytes > BATCH || batch.len() >= BATCH_OBJECTS {
                if let Some(leak) = self.in_batch(redactor, start, &batch, &paths)? {
                    return Ok(Some(leak));
                }
                (batch, bytes) = (Vec::new(), 0);
            }
        }
        self.in_batch(redactor, start, &batch, &paths)
    }

    fn sizes(&self, ids: &[&str]) -> Result<Vec<Object>, Error> {
        let mut objects = Vec::with_capacity(ids.len());
        for some in ids.chunks(BATCH_OBJECTS) {
            let output = self
                .call("cat-file")
                .args(["--batch-check=%(objectname) %(objecttype) %(objectsize)"])
                .input(some.join("\n") + "\n")
                .run()
                .map_err(Error::git(DOING))?;
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let mut words = line.split(' ');
                let (Some(id), Some(kind), Some(Ok(size)), None) =
                    (words.next(), words.next(), words.next().map(str::parse), words.next())
                else {
                    return Err(unexpected());
                };
                objects.push(Object { id: id.to_owned(), kind: kind.to_owned(), size });
            }
        }
        Ok(objects)
    }

    fn in_batch(
        &self,
        redactor: &Redactor,
        start: &CommitId,
        objects: &[Object],
        paths: &HashMap<String, Vec<u8>>,
    ) -> Result<Option<Leak>, Error> {
        if objects.is_empty() {
            return Ok(None);
        }
        let ids: Vec<&str> = objects.iter().map(|object| object.id.as_str()).collect();
        let output = self
            .call("cat-file")
            .arg("--batch")
            .input(ids.join("\n") + "\n")
            .run()
            .map_err(Error::git(DOING))?;
        let mut rest = output.stdout.as_slice();
        for object in objects {
            let head = rest.iter().position(|byte| *byte == b'\n').ok_or_else(unexpected)? + 1;
            let size = usize::try_from(object.size).map_err(|_| unexpected())?;
            let content = rest.get(head..head + size).ok_or_else(unexpected)?;
            if !rest.starts_with(object.id.as_bytes()) {
                return Err(unexpected());
            }
            if let Some(secret) = redactor.declared(content).map(str::to_owned)
                && let Some(leak) = self.leak(redactor, start, secret, object, paths)?
            {
                return Ok(Some(leak));
            }
            rest = rest.get(head + size + 1..).unwrap_or_default();
        }
        Ok(None)
    }

    /// Searches an object that is too large for memory, through a file.
    fn in_large(&self, redactor: &Redactor, object: &Object) -> Result<Option<String>, Error> {
        if object.kind != "blob" {
            // Git never makes trees and commits of this size.
            return Err(Error::guardrail(format!("it made a {} of {} bytes", object.kind, object.size)));
        }
        let folder = self.dir.join("search");
        files::remove(&folder)?;
        std::fs::create_dir(&folder).map_err(|e| Error::io("create", &folder, e))?;
        let found = || -> Result<Option<String>, Error> {
            let name = self
                .call("unpack-file")
                .work_tree(&folder)
                .arg(&object.id)
                .run()
                .map_err(Error::git(DOING))?
                .line();
            let path = folder.join(&name);
            declared_in_file(redactor, &path).map_err(|e| Error::io("read", &path, e))
        };
        let found = found();
        files::remove(&folder)?;
        found
    }

    /// Returns the leak, unless the start has the same secret in the same place.
    fn leak(
        &self,
        redactor: &Redactor,
        start: &CommitId,
        secret: String,
        object: &Object,
        paths: &HashMap<String, Vec<u8>>,
    ) -> Result<Option<Leak>, Error> {
        if object.kind == "commit" {
            let place =
                format!("the message or the author of commit {}", object.id.get(..12).unwrap_or(&object.id));
            return Ok(Some(Leak { secret, place }));
        }
        let path = paths.get(&object.id).map(Vec::as_slice).unwrap_or_default();
        let shown = redactor.text(&String::from_utf8_lossy(path));
        if object.size <= BATCH && !path.contains(&b'\n') {
            let mut before = format!("{start}:").into_bytes();
            before.extend_from_slice(path);
            before.push(b'\n');
            let output =
                self.call("cat-file").arg("--batch").input(before).run_any().map_err(Error::git(DOING))?;
            if output.code == Some(0) && redactor.declared(&output.stdout) == Some(secret.as_str()) {
                return Ok(None);
            }
        }
        let place = match (object.kind.as_str(), shown.as_str()) {
            ("tree", "") => "the name of a file".to_owned(),
            ("tree", folder) => format!("the name of a file in {folder}"),
            (_, path) => path.to_owned(),
        };
        Ok(Some(Leak { secret, place }))
    }

    /// Removes an attempt that must not be kept: its ref, the files moved aside with it, and its objects.
    pub(crate) fn drop_attempt(&self, attempt: &SavedAttempt) -> Result<(), Error> {
        files::remove(&self.git_dir().join(&attempt.reference))?;
        for path in &attempt.kept {
            files::remove(path)?;
        }
        self.forget_objects()
    }

    /// Resets the workspace to the start of `leg` and removes everything its agent made: commits, files including
    /// ignored ones, and objects. For work that contains secrets.
    pub fn purge(&self, leg: &str) -> Result<(), Error> {
        let not_prepared = || Error::NotPrepared { path: self.dir.clone() };
        let mut state = self.load()?.ok_or_else(not_prepared)?;
        let (start, branch) = (state.facts.start.clone(), state.facts.branch.clone());
        self.clear_stale_locks()?;
        for kept in ["legs", "tips", "others"] {
            files::remove(&self.git_dir().join(format!("refs/acquit/{kept}/{leg}")))?;
        }
        let of_leg =
            |name: &str| name.strip_prefix(leg).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        for (name, _) in self.attempts()? {
            if name.rsplit('/').next().is_some_and(of_leg) {
                files::remove(&self.git_dir().join(name))?;
            }
        }
        for entry in std::fs::read_dir(self.kept_dir()).into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(of_leg) {
                files::remove(&entry.path())?;
            }
        }
        // Record it, so that a successor completes the reset. Setup must run again, because its output is removed too.
        files::remove(&self.dir.join("setup"))?;
        state.facts.collected = None;
        state.facts.resetting = Some(Resetting { leg: leg.to_owned(), saved: None });
        self.store(&mut state)?;
        // Remove the whole tree without looking at its content.
        files::remove(&self.tree())?;
        self.start_empty()?;
        self.checkout(&start)?;
        state.saw_agent(self.write_agent(&branch, &start)?);
        if let Some(tree) = self.look_at_tree()? {
            state.saw_tree(tree.settle(&self.dir));
        }
        state.facts.head = start.clone();
        state.facts.agent_tip = start;
        state.facts.resetting = None;
        self.store(&mut state)?;
        self.forget_objects()
    }

    /// Removes the objects that no ref of the harness's repository keeps.
    fn forget_objects(&self) -> Result<(), Error> {
        self.call("repack").args(["-a", "-d", "-l", "-q"]).run().map_err(Error::git(PURGING))?;
        self.call("prune").args(["--expire=now"]).run().map_err(Error::git(PURGING))?;
        Ok(())
    }
}

const DOING: &str = "look for secrets in the work";
const PURGING: &str = "take away work that has a secret in it";

fn unexpected() -> Error {
    Error::git(DOING)(crate::git::Error::Unexpected { verb: "cat-file".into() })
}

fn declared_in_file(redactor: &Redactor, path: &Path) -> std::io::Result<Option<String>> {
    let mut file = std::fs::File::open(path)?;
    Stream::new(redactor.clone()).pass(&mut file, |stream, _| Ok(stream.declared().map(str::to_owned)))
}
