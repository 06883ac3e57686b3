//! Parses git's diff output into files and lines.
//!
//! The parser trusts the counts of a hunk and none of its content, so no line of a change can pass for the header of
//! another file. Unknown output is an error; the parser never omits a file. A check that reads less than the whole
//! change could be bypassed.

use std::borrow::Cow;

/// Maximum number of lines to read: far more than a person would accept in one change, and little enough for the memory
/// of a harness.
const MOST_LINES: usize = 4_000_000;
/// Maximum number of files to read.
const MOST_FILES: usize = 100_000;

/// The difference between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Files, in git's order.
    pub files: Vec<FileChange>,
}

/// The changes of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitDiff {
    /// Full commit id.
    pub id: String,
    /// Its changes; for a merge, those that none of its parents has.
    pub diff: Diff,
}

/// The change to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChange {
    /// Path before; `None` if it is new.
    pub old: Option<String>,
    /// Path after; `None` if it was deleted.
    pub new: Option<String>,
    /// Whether git detected a rename or a copy.
    pub origin: Origin,
    /// Whether git treats it as binary, so that there are no lines.
    pub binary: bool,
    /// Mode before, if git reports it.
    pub old_mode: Option<u32>,
    /// Mode after, if git reports it.
    pub new_mode: Option<u32>,
    /// Lines of all hunks, in order; includes context lines if the diff has any.
    pub lines: Vec<Line>,
}

/// Origin of a file's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Not moved: changed in place, added or deleted.
    #[default]
    Same,
    /// Moved.
    Renamed,
    /// Copied; the other file still exists.
    Copied,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its side.
    pub side: Side,
    /// Line number on that side, from 1; for an unchanged line, the number after the change.
    pub number: u32,
    /// Text without line end, with invalid UTF-8 replaced.
    pub text: String,
}

/// The side of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Unchanged.
    Both,
    /// Removed.
    Removed,
    /// Added.
    Added,
}

/// Why a diff cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not in git's format.
    #[error("understand git's diff at line {line}: {what}")]
    Form {
        /// Line of the output, from 1.
        line: usize,
        /// Expected text.
        what: &'static str,
    },
    /// It exceeds a limit.
    #[error("look at the whole change: it has more than {limit} {what}")]
    TooLarge {
        /// Counted unit.
        what: &'static str,
        /// Maximum number.
        limit: usize,
    },
}

impl Diff {
    /// Parses the patch format of `git diff`, `git diff-tree` and similar, with the prefixes `a/` and `b/`.
    pub fn parse(output: &[u8]) -> Result<Self, Unreadable> {
        let mut reader = Reader::new(output);
        let diff = reader.files()?;
        match reader.peek() {
            None => Ok(diff),
            Some(_) => Err(reader.form("expected `diff`")),
        }
    }

    /// Parses `git log -p --format='commit %H'`.
    pub fn parse_log(output: &[u8]) -> Result<Vec<CommitDiff>, Unreadable> {
        let mut reader = Reader::new(output);
        let mut commits = Vec::new();
        while let Some(line) = reader.next() {
            match line.strip_prefix(b"commit ") {
                _ if line.is_empty() => {}
                Some(id) if !id.is_empty() && id.iter().all(u8::is_ascii_hexdigit) => {
                    let id = String::from_utf8_lossy(id).into_owned();
                    reader.skip_empty();
                    commits.push(CommitDiff { id, diff: reader.files()? });
                }
                Some(_) | None => return Err(reader.form("expected `commit` and its id")),
            }
        }
        Ok(commits)
    }

    /// Returns the diff with at most `around` unchanged lines before and after each changed line. A diff that was made
    /// with fewer stays as it is.
    #[must_use]
    pub fn narrowed(&self, around: usize) -> Self {
        let narrowed = |file: &FileChange| FileChange { lines: near(&file.lines, around), ..file.clone() };
        Self { files: self.files.iter().map(narrowed).collect() }
    }

    /// Returns the number of added and removed lines.
    pub fn changed_lines(&self) -> usize {
        self.files.iter().flat_map(|file| &file.lines).filter(|line| line.side != Side::Both).count()
    }
}

impl FileChange {
    /// Returns the path after the change, or the path before it if the file was deleted.
    pub fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }

    /// Returns the added lines.
    pub fn added(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.side == Side::Added)
    }

    /// Returns the removed lines.
    pub fn removed(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.side == Side::Removed)
    }

    /// Returns the file before the change, as far as the diff shows it: all of it, if the diff has enough context.
    pub fn before(&self) -> String {
        self.side(Side::Removed)
    }

    /// Returns the file after the change, likewise.
    pub fn after(&self) -> String {
        self.side(Side::Added)
    }

    fn side(&self, side: Side) -> String {
        let mut text = String::new();
        for line in self.lines.iter().filter(|line| line.side == Side::Both || line.side == side) {
            text.push_str(&line.text);
            text.push('\n');
        }
        text
    }
}

/// Returns the lines that are at most `around` lines away from a changed one.
fn near(lines: &[Line], around: usize) -> Vec<Line> {
    let mut keep = vec![false; lines.len()];
    for (index, _) in lines.iter().enumerate().filter(|(_, line)| line.side != Side::Both) {
        let last = (index + around).min(lines.len() - 1);
        keep[index.saturating_sub(around)..=last].fill(true);
    }
    lines.iter().zip(keep).filter(|(_, keep)| *keep).map(|(line, _)| line.clone()).collect()
}

/// Pieces between line ends.
type Pieces<'a> = std::slice::Split<'a, u8, fn(&u8) -> bool>;

struct Reader<'a> {
    lines: std::iter::Peekable<Pieces<'a>>,
    at: usize,
    read: usize,
}

impl<'a> Reader<'a> {
    fn new(output: &'a [u8]) -> Self {
        let output = output.strip_suffix(b"\n").unwrap_or(output);
        let ends: fn(&u8) -> bool = |byte| *byte == b'\n';
        let mut lines = output.split(ends).peekable();
        if output.is_empty() {
            lines.next();
        }
        Self { lines, at: 0, read: 0 }
    }

    fn peek(&mut self) -> Option<&'a [u8]> {
        self.lines.peek().copied()
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        self.at += 1;
        self.lines.next()
    }

    fn skip_empty(&mut self) {
        while self.peek().is_some_and(<[u8]>::is_empty) {
            self.next();
        }
    }

    fn form(&self, what: &'static str) -> Unreadable {
        Unreadable::Form { line: self.at, what }
    }

    fn files(&mut self) -> Result<Diff, Unreadable> {
        let mut files = Vec::new();
        while let Some(line) = self.peek() {
            let names = if let Some(names) = line.strip_prefix(b"diff --git ") {
                Names::Two(names)
            } else if let Some(name) =
                line.strip_prefix(b"diff --cc ").or_else(|| line.strip_prefix(b"diff --combined "))
            {
                Names::One(name)
            } else {
                break;
            };
            self.next();
            if files.len() == MOST_FILES {
                return Err(Unreadable::TooLarge { what: "files", limit: MOST_FILES });
            }
            files.push(self.file(names)?);
            self.skip_empty();
        }
        Ok(Diff { files })
    }

    fn file(&mut self, names: Names<'_>) -> Result<FileChange, Unreadable> {
        let name = names.common().ok_or_else(|| self.form("expected the file's names"));
        let mut file = FileChange::default();
        let (mut is_new, mut is_gone) = (false, false);
        let (mut from, mut to) = (None, None);
        while let Some(line) = self.peek() {
            if line.is_empty() || line.starts_with(b"diff ") || line.starts_with(b"commit ") {
                break;
            }
            if line.starts_with(b"@@") {
                self.next();
                self.hunk(line, &mut file)?;
                continue;
            }
            self.next();
            if let Some(mode) = line.strip_prefix(b"old mode ") {
                file.old_mode = mode_of(mode);
            } else if let Some(mode) = line.strip_prefix(b"new mode ") {
                file.new_mode = mode_of(mode);
            } else if let Some(mode) = line.strip_prefix(b"new file mode ") {
                (is_new, file.new_mode) = (true, mode_of(mode));
            } else if let Some(mode) = line.strip_prefix(b"deleted file mode ") {
                (is_gone, file.old_mode) = (true, mode_of(mode));
            } else if let Some(path) = line.strip_prefix(b"rename from ") {
                (from, file.origin) = (Some(unquote(path)), Origin::Renamed);
            } else if let Some(path) = line.strip_prefix(b"rename to ") {
                to = Some(unquote(path));
            } else if let Some(path) = line.strip_prefix(b"copy from ") {
                (from, file.origin) = (Some(unquote(path)), Origin::Copied);
            } else if let Some(path) = line.strip_prefix(b"copy to ") {
                to = Some(unquote(path));
            } else if line.starts_with(b"Binary files ") {
                file.binary = true;
            } else if !HEADERS.iter().any(|header| line.starts_with(header)) {
                return Err(self.form("expected a header of a file"));
            }
        }
        let (before, after) = if let (Some(from), Some(to)) = (from, to) {
            (from, to)
        } else {
            let name = name?;
            (name.clone(), name)
        };
        file.old = (!is_new).then_some(before);
        file.new = (!is_gone).then_some(after);
        Ok(file)
    }

    /// Reads exactly as many lines as the hunk's header counts.
    fn hunk(&mut self, header: &[u8], file: &mut FileChange) -> Result<(), Unreadable> {
        let (olds, mut new, mut news) = ranges(header).ok_or_else(|| self.form("expected the ranges"))?;
        let parents = olds.len();
        let (mut left, mut old) = (olds.iter().map(|(_, count)| *count).collect::<Vec<_>>(), olds[0].0);
        while news > 0 || left.iter().any(|count| *count > 0) {
            let line = self.next().ok_or_else(|| self.form("expected more lines of a hunk"))?;
            if line.first() == Some(&b'\\') {
                continue;
            }
            self.read += 1;
            if self.read > MOST_LINES {
                return Err(Unreadable::TooLarge { what: "lines", limit: MOST_LINES });
            }
            let (marks, text) =
                line.split_at_checked(parents).ok_or_else(|| self.form("expected a line of a hunk"))?;
            let short = |reader: &Self| reader.form("a hunk has more lines than its header says");
            let is_gone = marks.contains(&b'-');
            for (mark, left) in marks.iter().zip(&mut left) {
                // A parent has the line if it was removed from that parent, or if it exists and is not new to that
                // parent.
                let has = if is_gone { *mark == b'-' } else { *mark == b' ' };
                match (has, mark) {
                    (true, b' ' | b'-') => *left = left.checked_sub(1).ok_or_else(|| short(self))?,
                    (false, b' ' | b'+') => {}
                    (_, _) => return Err(self.form("expected a line of a hunk")),
                }
            }
            let (side, number) = if is_gone {
                old += 1;
                (Side::Removed, old - 1)
            } else {
                news = news.checked_sub(1).ok_or_else(|| short(self))?;
                new += 1;
                let is_new = marks.iter().all(|mark| *mark == b'+');
                if marks.first() == Some(&b' ') {
                    old += 1;
                }
                (if is_new { Side::Added } else { Side::Both }, new - 1)
            };
            // A line that a merge removed from one parent only was not in the other parent.
            if is_gone && !marks.iter().all(|mark| *mark == b'-') {
                continue;
            }
            file.lines.push(Line { side, number, text: String::from_utf8_lossy(text).into_owned() });
        }
        while self.peek().is_some_and(|line| line.starts_with(b"\\ ")) {
            self.next();
        }
        Ok(())
    }
}

/// Headers without new information. `---` and `+++` repeat the names in a form that does not show where they end.
const HEADERS: [&[u8]; 7] = [
    b"index ",
    b"similarity index ",
    b"dissimilarity index ",
    b"--- ",
    b"+++ ",
    b"mode ",
    b"GIT binary patch",
];

enum Names<'a> {
    /// `a/x b/x`.
    Two(&'a [u8]),
    /// `x`.
    One(&'a [u8]),
}

impl Names<'_> {
    /// Returns the name that appears twice. For a moved file, git writes both names elsewhere.
    fn common(&self) -> Option<String> {
        match self {
            Self::One(name) => Some(unquote(name)),
            Self::Two(names) => {
                // `a/` + name + ` b/` + name, or both in quotes.
                let half = names.len().checked_sub(1)? / 2;
                let (first, second) = (names.get(..half)?, names.get(half + 1..)?);
                let (first, second) = (unquote(first), unquote(second));
                (first.strip_prefix("a/")? == second.strip_prefix("b/")?).then(|| first[2..].to_owned())
            }
        }
    }
}

fn mode_of(text: &[u8]) -> Option<u32> {
    // For a merge, git prints one mode per parent; use the first.
    let text = std::str::from_utf8(text).ok()?;
    u32::from_str_radix(text.split([',', ' ', '.']).next()?, 8).ok()
}

type Ranges = (Vec<(u32, u32)>, u32, u32);

/// Parses `@@ -1,2 +3,4 @@ …` and, for a merge, `@@@ -1,2 -1,3 +3,4 @@@ …`.
fn ranges(header: &[u8]) -> Option<Ranges> {
    let text = String::from_utf8_lossy(header);
    let parents = text.bytes().take_while(|byte| *byte == b'@').count().checked_sub(1)?;
    let mut words = text.get(parents + 1..)?.split_ascii_whitespace();
    let mut olds = Vec::new();
    for _ in 0..parents {
        olds.push(range(words.next()?.strip_prefix('-')?)?);
    }
    let (new, news) = range(words.next()?.strip_prefix('+')?)?;
    (!olds.is_empty() && words.next()?.starts_with('@')).then_some((olds, new, news))
}

fn range(text: &str) -> Option<(u32, u32)> {
    let (first, count) = text.split_once(',').unwrap_or((text, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

/// Parses a path as git prints it: quoted and escaped if it has special characters.
fn unquote(path: &[u8]) -> String {
    let bytes: Cow<'_, [u8]> = match path {
        [b'"', inner @ .., b'"'] => Cow::Owned(unescape(inner)),
        plain => Cow::Borrowed(plain),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        match rest {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = tail;
            }
            [letter, tail @ ..] => {
                out.push(match letter {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    other => *other,
                });
                rest = tail;
            }
            [] => {}
        }
    }
    out
}
