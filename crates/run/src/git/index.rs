//! Reads an index that git wrote in a repository of ours, and changes its records about files on disk.
//!
//! Supports one format: version 2 without flags, as git writes it by default (`gitformat-index(5)`). For anything else
//! (another version, conflicts, sparse or split indexes, a wrong checksum) it returns `None`, and the caller lets git do
//! the work.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::ObjectFormat;
use super::object::{digest, hex};

/// Size of signature, version and number of entries.
const HEADER: usize = 12;
/// Size of times, device, inode, mode, owner and size of a file.
const FACTS: usize = 40;
/// Offset of the mode in them.
const MODE: usize = 24;
/// Offset of the modification time in them.
const MODIFIED: usize = 8;
/// Maximum size of an index to read: about two million files.
const LARGEST: u64 = 256 << 20;

/// An index.
pub(crate) struct Index {
    format: ObjectFormat,
    bytes: Vec<u8>,
    entries: Vec<Position>,
    /// Id of the tree that these entries make up, if git recorded it.
    tree: Option<String>,
}

/// Offsets of the parts of an entry.
struct Position {
    facts: usize,
    path: std::ops::Range<usize>,
}

/// A file of an index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry<'a> {
    /// Path of the file.
    pub(crate) path: &'a [u8],
    /// Type and permissions, as git stores them.
    pub(crate) mode: u32,
    id: &'a [u8],
}

impl IndexEntry<'_> {
    /// Returns whether git gives this content the id of the entry.
    pub(crate) fn is_content(&self, format: ObjectFormat, content: &[u8]) -> bool {
        let header = format!("blob {}\0", content.len());
        digest(format, &[header.as_bytes(), content]).as_ref() == self.id
    }
}

impl Index {
    /// Reads an index. `None` if it does not exist or has an unsupported format.
    pub(crate) fn read(file: &Path, format: ObjectFormat) -> Option<Self> {
        let about = std::fs::symlink_metadata(file).ok().filter(std::fs::Metadata::is_file)?;
        if about.len() > LARGEST {
            return None;
        }
        Self::parse(std::fs::read(file).ok()?, format)
    }

    fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Option<Self> {
        let id = format.empty_tree().len() / 2;
        let end = bytes.len().checked_sub(id)?;
        let (content, checksum) = bytes.split_at_checked(end)?;
        let count = word(content, HEADER - 4)?;
        if content.get(..8)? != b"DIRC\0\0\0\x02" || digest(format, &[content]).as_ref() != checksum {
            return None;
        }
        let mut entries = Vec::with_capacity(content.len() / 64);
        let mut at = HEADER;
        for _ in 0..count {
            let flags = at + FACTS + id;
            // Flags mark conflicts and files whose state git does not look at.
            if content.get(flags)? & 0xf0 != 0 {
                return None;
            }
            let begin = flags + 2;
            let length = content.get(begin..)?.iter().position(|byte| *byte == 0)?;
            entries.push(Position { facts: at, path: begin..begin + length });
            // Padded with one to eight zeros.
            at += (FACTS + id + 2 + length) / 8 * 8 + 8;
        }
        let mut tree = None;
        while at < end {
            let kind = content.get(at..at + 4)?;
            let length = usize::try_from(word(content, at + 4)?).ok()?;
            let data = content.get(at + 8..)?.get(..length)?;
            match kind {
                b"TREE" => tree = root_of(data, id),
                // A lower-case name marks an extension that a reader must understand.
                _ if !kind[0].is_ascii_uppercase() => return None,
                _ => {}
            }
            at += 8 + length;
        }
        (at == end).then_some(Self { format, bytes, entries, tree })
    }

    /// Returns the id of the tree of all entries, if git recorded it.
    pub(crate) fn tree(&self) -> Option<&str> {
        self.tree.as_deref()
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns an entry. Entries are sorted by path.
    pub(crate) fn entry(&self, number: usize) -> IndexEntry<'_> {
        let Position { facts, path } = &self.entries[number];
        IndexEntry {
            path: &self.bytes[path.clone()],
            mode: word(&self.bytes, facts + MODE).unwrap_or(0),
            id: &self.bytes[facts + FACTS..path.start - 2],
        }
    }

    /// Returns the number of the entry of a path.
    pub(crate) fn find(&self, path: &[u8]) -> Option<usize> {
        self.entries.binary_search_by(|entry| self.bytes[entry.path.clone()].cmp(path)).ok()
    }

    /// Returns the latest modification time that it records, in seconds since 1970.
    pub(crate) fn newest(&self) -> u32 {
        let modified = |entry: &Position| word(&self.bytes, entry.facts + MODIFIED).unwrap_or(0);
        self.entries.iter().map(modified).max().unwrap_or(0)
    }

    /// Returns whether it records this inode, size, mtime and ctime of a file.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "git stores the lower 32 bits"
    )]
    pub(crate) fn has(&self, number: usize, inode: u64, size: u64, times: [i64; 4]) -> bool {
        let at = self.entries[number].facts;
        let [modified, modified_nanos, changed, changed_nanos] = times.map(|time| time as u32);
        let facts = [(0, changed), (4, changed_nanos), (8, modified), (12, modified_nanos)];
        let facts = facts.into_iter().chain([(20, inode as u32), (36, size as u32)]);
        facts.into_iter().all(|(offset, value)| word(&self.bytes, at + offset) == Some(value))
    }

    /// Records an entry's file as it is on disk now.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "git stores the lower 32 bits"
    )]
    pub(crate) fn record(&mut self, number: usize, about: &std::fs::Metadata) {
        let mode = self.entry(number).mode;
        self.put(
            number,
            [
                about.ctime() as u32,
                about.ctime_nsec() as u32,
                about.mtime() as u32,
                about.mtime_nsec() as u32,
                about.dev() as u32,
                about.ino() as u32,
                mode,
                about.uid(),
                about.gid(),
                about.size() as u32,
            ],
        );
    }

    /// Copies what `other` records about a file.
    pub(crate) fn record_as(&mut self, number: usize, other: &Self, its: usize) {
        let (to, from) = (self.entries[number].facts, other.entries[its].facts);
        self.bytes[to..to + FACTS].copy_from_slice(&other.bytes[from..from + FACTS]);
    }

    /// Forgets everything about an entry's file on disk, so that git reads it.
    pub(crate) fn forget(&mut self, number: usize) {
        let mode = self.entry(number).mode;
        self.put(number, [0, 0, 0, 0, 0, 0, mode, 0, 0, 0]);
    }

    fn put(&mut self, number: usize, facts: [u32; FACTS / 4]) {
        let at = self.entries[number].facts;
        for (word, value) in self.bytes[at..at + FACTS].chunks_exact_mut(4).zip(facts) {
            word.copy_from_slice(&value.to_be_bytes());
        }
    }

    /// Returns the content of the file.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        let end = self.bytes.len() - self.format.empty_tree().len() / 2;
        let checksum = digest(self.format, &[&self.bytes[..end]]);
        self.bytes[end..].copy_from_slice(checksum.as_ref());
        self.bytes
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_be_bytes)
}

/// Returns the id of the root in the cached trees, unless it is marked as outdated.
fn root_of(trees: &[u8], id: usize) -> Option<String> {
    // An empty path, the number of entries, the number of subtrees.
    let rest = trees.strip_prefix(&[0])?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let is_current = rest.first().is_some_and(u8::is_ascii_digit);
    is_current.then(|| rest.get(end + 1..)?.get(..id).map(hex))?
}

#[cfg(test)]
mod tests;
