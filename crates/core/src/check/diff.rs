//! Git's own diff output, read into files and lines.
//!
//! The reader trusts the counts of a hunk and nothing that stands in it, so no line of a change can pass for the header of
//! another file. What it does not understand is an error and never a file that is left out: a check that looks at less
//! than the whole change would be a way around it.

use std::borrow::Cow;

/// The most lines that are read: far more than a person would accept in one change, little enough for the memory of a harness.
const MOST_LINES: usize = 4_000_000;
/// The most files that are read.
const MOST_FILES: usize = 100_000;

/// What two trees differ in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The files, in git's order.
    pub files: Vec<FileChange>,
}

/// What a commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitDiff {
    /// The commit's full id.
    pub id: String,
    /// What it changed; of a merge, what none of its parents has.
    pub diff: Diff,
}

/// What happened to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileChange {
    /// Its path before; `None` if it is new.
    pub old: Option<String>,
    /// Its path after; `None` if it is gone.
    pub new: Option<String>,
    /// Whether git knows it for the same file under another name, or for a copy.
    pub origin: Origin,
    /// Whether git took it for something else than text, so that there are no lines.
    pub binary: bool,
    /// The mode before, where git tells it.
    pub old_mode: Option<u32>,
    /// The mode after, where git tells it.
    pub new_mode: Option<u32>,
    /// The lines of all hunks, in order: also unchanged ones, if the diff was made with any.
    pub lines: Vec<Line>,
}

/// Where the content of a file came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// It stayed where it was, or is new, or is gone.
    #[default]
    Same,
    /// It was moved.
    Renamed,
    /// It was copied; the other file is still there.
    Copied,
}

/// A line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What happened to it.
    pub side: Side,
    /// Its number in the file of that side, from 1; of an unchanged line, its number after.
    pub number: u32,
    /// The line without its end, with invalid UTF-8 replaced.
    pub text: String,
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It is there before and after.
    Both,
    /// It is gone.
    Removed,
    /// It is new.
    Added,
}

/// Why a diff cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not what git prints.
    #[error("understand git's diff at line {line}: {what}")]
    Form {
        /// The line of the output, from 1.
        line: usize,
        /// What was expected.
        what: &'static str,
    },
    /// It is larger than anybody looks at.
    #[error("look at the whole change: it has more than {limit} {what}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
}

impl Diff {
    /// Reads the patch form of `git diff`, `git diff-tree` and the like, made with the prefixes `a/` and `b/`.
    pub fn parse(output: &[u8]) -> Result<Self, Unreadable> {
        let mut reader = Reader::new(output);
        let diff = reader.files()?;
        match reader.peek() {
            None => Ok(diff),
            Some(_) => Err(reader.form("expected `diff`")),
        }
    }

    /// Reads `git log -p --format='commit %H'`.
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

    /// The same with no more than `around` unchanged lines before and after each changed one. A diff that was made with less
    /// stays as it is.
    #[must_use]
    pub fn narrowed(&self, around: usize) -> Self {
        let narrowed = |file: &FileChange| FileChange { lines: near(&file.lines, around), ..file.clone() };
        Self { files: self.files.iter().map(narrowed).collect() }
    }

    /// How many lines were added and removed, in all.
    pub fn changed_lines(&self) -> usize {
        self.files.iter().flat_map(|file| &file.lines).filter(|line| line.side != Side::Both).count()
    }
}

impl FileChange {
    /// The path by which people know it: after the change, or before it if the file is gone.
    pub fn path(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }

    /// The lines that are new.
    pub fn added(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.side == Side::Added)
    }

    /// The lines that are gone.
    pub fn removed(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.side == Side::Removed)
    }

    /// The file before, as far as the diff shows it: all of it, if the diff was made with enough context.
    pub fn before(&self) -> String {
        self.side(Side::Removed)
    }

    /// The file after, likewise.
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

/// The lines that are at most so many away from a changed one.
fn near(lines: &[Line], around: usize) -> Vec<Line> {
    let mut keep = vec![false; lines.len()];
    for (index, _) in lines.iter().enumerate().filter(|(_, line)| line.side != Side::Both) {
        let last = (index + around).min(lines.len() - 1);
        keep[index.saturating_sub(around)..=last].fill(true);
    }
    lines.iter().zip(keep).filter(|(_, keep)| *keep).map(|(line, _)| line.clone()).collect()
}

/// The pieces between the ends of lines.
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

    /// Reads the lines that a hunk's header counts, and no more.
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
                // A parent has the line if it is gone from that parent, or if it is there and not new to it.
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
            // What a merge took out of one parent is not something that its other parent had.
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

/// Headers that say nothing which is not known from others. `---` and `+++` repeat the names in a form that leaves open
/// where they end.
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
    /// The one name that stands there twice; of a file that was moved, git writes both names elsewhere.
    fn common(&self) -> Option<String> {
        match self {
            Self::One(name) => Some(unquote(name)),
            Self::Two(names) => {
                // `a/` + name + ` b/` + name, or both of them in quotes.
                let half = names.len().checked_sub(1)? / 2;
                let (first, second) = (names.get(..half)?, names.get(half + 1..)?);
                let (first, second) = (unquote(first), unquote(second));
                (first.strip_prefix("a/")? == second.strip_prefix("b/")?).then(|| first[2..].to_owned())
            }
        }
    }
}

fn mode_of(text: &[u8]) -> Option<u32> {
    // Of a merge git prints one mode for each parent: the first will do.
    let text = std::str::from_utf8(text).ok()?;
    u32::from_str_radix(text.split([',', ' ', '.']).next()?, 8).ok()
}

type Ranges = (Vec<(u32, u32)>, u32, u32);

/// `@@ -1,2 +3,4 @@ …` and, of a merge, `@@@ -1,2 -1,3 +3,4 @@@ …`.
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

/// A path as git prints it: in quotes, with escapes, if it has characters that would confuse.
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
