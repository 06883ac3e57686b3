//! Reads one commit without git, from the loose object that git has just written in a repository of a workspace.
//!
//! A leg needs small facts about new commits: their tree, their message, whether one follows the other. Starting git
//! for each costs more than everything else about them. So this code reads the file itself, and trusts it for one
//! reason: **its content has the hash that it is named by**. So regardless of who wrote the file, it can only be that
//! commit. (Commits of agents went through git first, which rejects colliding objects.) It does not check that
//! everything the commit refers to exists.
//!
//! It supports one format: what git writes with `core.looseCompression` set to 0, as in the repositories that we
//! create. Nothing is decompressed, so nothing is larger than its file. For anything else (packed, compressed,
//! borrowed, signed, in another encoding, with an unexpected header or character) it returns `None`, and the caller
//! asks git, which supports all of it.

use std::path::{Path, PathBuf};

use ring::digest::{Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

use super::{CommitId, ObjectFormat};
use crate::untrusted;

/// Maximum file size. Messages of more than a few kilobytes are rare, and git reads those.
const LARGEST: u64 = 64 << 10;
/// Maximum number of commits to follow. An agent took so long for more that starting git does not matter.
const LONGEST: usize = 100;

/// Content of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Tree id.
    pub(crate) tree: String,
    pub(crate) parents: Vec<CommitId>,
    /// Author, as `Name <address>`.
    pub(crate) author: String,
    /// Commit date, in seconds since 1970.
    pub(crate) date: i64,
    /// Full message.
    pub(crate) message: String,
}

impl Commit {
    /// Reads a commit, if one of the repositories itself stores it and it is an ordinary one.
    pub(crate) fn read(repositories: &[PathBuf], id: &CommitId) -> Option<Self> {
        repositories.iter().find_map(|git_dir| Self::read_in(git_dir, id))
    }

    fn read_in(git_dir: &Path, id: &CommitId) -> Option<Self> {
        let (folder, file) = id.as_str().split_at(2);
        let bytes = untrusted::plain(git_dir, &format!("objects/{folder}/{file}"), LARGEST)?;
        let object = unwrapped(&bytes)?;
        if name(id.format(), &[&object]) != id.as_str() {
            return None;
        }
        let end = object.iter().position(|byte| *byte == 0)?;
        let (header, content) = (&object[..end], &object[end + 1..]);
        if header != format!("commit {}", content.len()).as_bytes() {
            return None;
        }
        Self::parse(std::str::from_utf8(content).ok()?, id.format())
    }

    /// Returns the commits from `tip` back to `start`, without `start`, newest first. This is exactly `start..tip`, if
    /// each commit has one parent and all of them can be read here.
    pub(crate) fn line(
        repositories: &[PathBuf],
        start: &CommitId,
        tip: &CommitId,
    ) -> Option<Vec<(CommitId, Self)>> {
        let mut line = Vec::new();
        let mut at = tip.clone();
        while at != *start {
            if line.len() == LONGEST {
                return None;
            }
            let commit = Self::read(repositories, &at)?;
            let [parent] = &commit.parents[..] else { return None };
            let parent = parent.clone();
            line.push((std::mem::replace(&mut at, parent), commit));
        }
        Some(line)
    }

    /// Returns the first paragraph of the message in one line, by the rules of git's `%s`.
    pub(crate) fn subject(&self) -> String {
        // Git treats fewer characters as white space than Rust does.
        let end = |line: &'_ str| line.trim_end_matches([' ', '\t', '\n', '\r']).len();
        let lines = self.message.split('\n').map(|line| &line[..end(line)]);
        let paragraph: Vec<&str> =
            lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
        paragraph.join(" ")
    }

    fn parse(text: &str, format: ObjectFormat) -> Option<Self> {
        let (headers, message) = text.split_once("\n\n")?;
        // For git, a message ends at a NUL.
        if message.contains('\0') {
            return None;
        }
        let id = |text: &str| text.parse::<CommitId>().ok().filter(|id| id.format() == format);
        let mut lines = headers.split('\n').peekable();
        let tree = id(lines.next()?.strip_prefix("tree ")?)?.to_string();
        let mut parents = Vec::new();
        while let Some(parent) = lines.peek().and_then(|line| line.strip_prefix("parent ")) {
            parents.push(id(parent)?);
            lines.next();
        }
        let (author, _) = person(lines.next()?.strip_prefix("author ")?)?;
        let (_, date) = person(lines.next()?.strip_prefix("committer ")?)?;
        let message = message.to_owned();
        lines.next().is_none().then(|| Self { tree, parents, author: author.to_owned(), date, message })
    }
}

/// Splits `Name <address> 1700000000 +0000` into `Name <address>` and the seconds. `None` if git might parse it
/// differently.
fn person(line: &str) -> Option<(&str, i64)> {
    let plain =
        |text: &str| text.trim() == text && !text.contains(|c: char| c.is_control() || "<>".contains(c));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (who, when) = line.rsplit_once("> ")?;
    let (name, address) = who.split_once(" <")?;
    let (seconds, zone) = when.split_once(' ')?;
    let zone_is_plain = zone.len() == 5 && zone.starts_with(['+', '-']) && digits(&zone[1..]);
    if name.is_empty() || !plain(name) || !plain(address) || !digits(seconds) || !zone_is_plain {
        return None;
    }
    Some((&line[..=who.len()], seconds.parse().ok()?))
}

/// Returns the object id that git gives a file with this content, if it stores it unchanged.
pub(crate) fn file_name(format: ObjectFormat, content: &[u8]) -> String {
    name(format, &[format!("blob {}\0", content.len()).as_bytes(), content])
}

/// Returns the object id of the concatenated parts.
fn name(format: ObjectFormat, parts: &[&[u8]]) -> String {
    hex(digest(format, parts).as_ref())
}

/// Returns the hash of the concatenated parts.
pub(super) fn digest(format: ObjectFormat, parts: &[&[u8]]) -> Digest {
    let algorithm = match format {
        ObjectFormat::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
        ObjectFormat::Sha256 => &SHA256,
    };
    let mut hash = Context::new(algorithm);
    parts.iter().for_each(|part| hash.update(part));
    hash.finish()
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the content of a zlib stream without compression (RFC 1950, and 3.2.4 of RFC 1951).
fn unwrapped(stream: &[u8]) -> Option<Vec<u8>> {
    const HEADER: &[u8] = &[0x78, 0x01];
    let mut rest = stream.strip_prefix(HEADER)?;
    let mut content = Vec::with_capacity(rest.len());
    loop {
        let (&[kind, a, b, c, d], after) = rest.split_first_chunk::<5>()?;
        let length = u16::from_le_bytes([a, b]);
        if kind > 1 || u16::from_le_bytes([c, d]) != !length {
            return None;
        }
        let (block, after) = after.split_at_checked(usize::from(length))?;
        content.extend_from_slice(block);
        rest = after;
        if kind == 1 {
            break;
        }
    }
    (rest == adler32(&content).to_be_bytes()).then_some(content)
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (a, b) = bytes.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (a + b) % MODULUS)
    });
    b << 16 | a
}

#[cfg(test)]
mod tests;
