//! The section of a review prompt that shows the change: the diff with line numbers, and the current functions around
//! each changed place.
//!
//! Both have a size limit. What is nearest to a changed line comes first: the far ends of a long function are cut
//! before a whole place is omitted. Omissions are listed, so that a change cannot hide by being large.

use std::collections::BTreeSet;

use crate::agent::shorten;
use crate::check::diff::{Diff, FileChange, Line, Side};
use crate::text;

/// Maximum size of the shown diff: some 1,500 lines, more than anyone reviews well at once.
const DIFF_LIMIT: usize = 64 * 1024;
/// Maximum size of one file's diff if not all files fit, so that no file crowds out the others.
const FILE_LIMIT: usize = DIFF_LIMIT / 4;
/// Maximum size of the surrounding code.
const AROUND_LIMIT: usize = 48 * 1024;
/// Maximum length of a line. Longer lines are not written by hand.
const LINE_LIMIT: usize = 400;
/// Space for the note about a cut.
const CUT_NOTE: usize = 80;
/// Maximum number of omissions to list individually.
const NAMED: usize = 40;
/// Maximum length of a path or name.
const NAME_LIMIT: usize = 200;
/// Distances from a changed line up to which surrounding code is shown. The first with which everything fits is used.
const MARGINS: [u32; 5] = [u32::MAX, 80, 30, 12, 5];

/// The change under review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Commit to compare with.
    pub base: String,
    /// Commit of the work.
    pub head: String,
    /// Diff between them with a few lines of context; `None` if it is too large.
    pub diff: Option<Diff>,
    /// Current code around changed places.
    pub around: Vec<Around>,
    /// What the words of the task suggest is missing. No run confirmed it.
    pub doubts: Vec<String>,
}

/// A part of a file with changed lines: a function, a method, or some lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// Path of the file.
    pub path: String,
    /// Name, if it has one.
    pub name: Option<String>,
    /// Number of its first line.
    pub first: u32,
    /// Its lines.
    pub lines: Vec<String>,
    /// Numbers of its changed lines.
    pub changed: Vec<u32>,
}

/// Formats the section.
pub(super) fn section(change: &Change) -> String {
    let range = format!("{}..{}", text::line(&change.base, NAME_LIMIT), text::line(&change.head, NAME_LIMIT));
    let mut out = "# The change\n\n".to_owned();
    let Some(diff) = &change.diff else {
        out += &format!(
            "It is too large to be shown here. Look at it with `git diff {range}`, piece by piece: all of it is yours to judge.\n"
        );
        return out + FINDINGS;
    };
    if diff.files.is_empty() {
        return out + &format!("Nothing differs between base and work (`git diff {range}`).\n");
    }
    out += &format!(
        "What differs between base and work (`git diff {range}`): {} files, {} lines. The numbers are those of the lines after the \
         change; with `-`, before it.\n\n",
        diff.files.len(),
        diff.changed_lines()
    );
    let (shown, missing) = files(diff);
    out += &text::fenced("untrusted: the change", &shown, usize::MAX);
    out += &left_out("Files of the change that are not shown in full", &missing);
    let (shown, missing) = around(diff, &change.around);
    if !shown.is_empty() {
        out += "\nThe functions around it, as they are now:\n\n";
        out += &text::fenced("untrusted: code around the change", &shown, usize::MAX);
    }
    out += &left_out("Not shown for want of room", &missing);
    out += &doubts(&change.doubts);
    out + FINDINGS
}

const FINDINGS: &str = "
Report what you find as `findings` in the payload, a list of objects: `severity` (`critical`, `suggestion` or `nit`), `file`, `line`,
`problem` (what goes wrong, and for which input) and, if you know one, `suggestion`. File and line must be ones that the diff
shows, changed or beside a change; for a line that is gone add `\"side\": \"before\"`. A critical finding sends the work back.
";

/// Formats what the words of the task suggest.
fn doubts(doubts: &[String]) -> String {
    if doubts.is_empty() {
        return String::new();
    }
    let all: Vec<String> =
        doubts.iter().take(NAMED).map(|doubt| format!("- {}", text::line(doubt, LINE_LIMIT))).collect();
    let mut out = "\nThe words of the task suggest that this is missing. No run has confirmed it, and it may be wrong: check each, and report \
                   what is true.\n\n"
        .to_owned();
    out += &text::fenced("untrusted: suspicions about the change", &all.join("\n"), usize::MAX);
    out
}

/// Formats the diff. Also returns what was omitted.
fn files(diff: &Diff) -> (String, Vec<String>) {
    let mut whole = String::new();
    let fits = diff.files.iter().all(|file| {
        let (text, left) = one(file, DIFF_LIMIT);
        whole += &text;
        left == 0 && whole.len() <= DIFF_LIMIT
    });
    if fits {
        return (whole, Vec::new());
    }
    let (mut out, mut missing) = (String::new(), Vec::new());
    for file in &diff.files {
        let room = FILE_LIMIT.min(DIFF_LIMIT.saturating_sub(out.len()));
        let (text, left) = one(file, room);
        if left > 0 || text.len() > room {
            missing.push(format!("{} ({} changed lines)", quoted(file.path()), changed(file)));
        }
        if text.len() <= room {
            out += &text;
        }
    }
    (out, missing)
}

/// Formats a file of the diff in about `room` bytes. Also returns how many lines were omitted.
fn one(file: &FileChange, room: usize) -> (String, usize) {
    let name = |path: &Option<String>| {
        path.as_ref().map_or_else(|| "/dev/null".to_owned(), |path| text::line(path, NAME_LIMIT))
    };
    let mut out = format!("--- {}\n+++ {}\n", name(&file.old), name(&file.new));
    if file.binary {
        out += "(no text)\n";
    }
    if let (Some(old), Some(new)) = (file.old_mode, file.new_mode)
        && old != new
    {
        out += &format!("(mode {old:o} became {new:o})\n");
    }
    let mut next = (None, None);
    for (index, line) in file.lines.iter().enumerate() {
        let mut text = String::new();
        if !follows(line, &mut next) {
            text += "@@\n";
        }
        text += &numbered(mark(line.side), line.number, &line.text);
        if out.len() + text.len() > room.saturating_sub(CUT_NOTE) {
            let left = file.lines.len() - index;
            return (out + &format!("[cut here by acquit: {left} more lines of this file]\n"), left);
        }
        out += &text;
    }
    (out, 0)
}

/// Returns whether a line directly follows the previous ones. `next` has the expected numbers after and before the
/// change.
fn follows(line: &Line, next: &mut (Option<u32>, Option<u32>)) -> bool {
    let after_it = Some(line.number.saturating_add(1));
    let (after, before) = *next;
    match line.side {
        Side::Removed => {
            next.1 = after_it;
            // The first removed line is next to one that is not removed.
            before.map_or(after.is_some(), |expected| expected == line.number)
        }
        Side::Added => {
            next.0 = after_it;
            after.map_or(before.is_some(), |expected| expected == line.number)
        }
        Side::Both => {
            let follows = after.map_or(before.is_some(), |expected| expected == line.number);
            *next = (after_it, before.filter(|_| follows).map(|number| number.saturating_add(1)));
            follows
        }
    }
}

fn mark(side: Side) -> char {
    match side {
        Side::Both => ' ',
        Side::Removed => '-',
        Side::Added => '+',
    }
}

fn numbered(mark: char, number: u32, line: &str) -> String {
    format!("{mark}{number:>6} {}\n", shorten(line.trim_end_matches('\r'), LINE_LIMIT))
}

fn changed(file: &FileChange) -> usize {
    file.added().count() + file.removed().count()
}

/// Formats the code around the change. Also returns what was omitted.
fn around(diff: &Diff, all: &[Around]) -> (String, Vec<String>) {
    let wanted: Vec<&Around> = all.iter().filter(|piece| !is_shown(diff, piece)).collect();
    let mut texts: Vec<String> = Vec::new();
    for margin in MARGINS {
        texts = wanted.iter().map(|piece| clipped(piece, margin)).collect();
        if texts.iter().map(String::len).sum::<usize>() <= AROUND_LIMIT {
            return (texts.concat(), Vec::new());
        }
    }
    let (mut out, mut missing) = (String::new(), Vec::new());
    for (piece, text) in wanted.iter().zip(&texts) {
        if out.len() + text.len() <= AROUND_LIMIT {
            out += text;
        } else {
            missing.push(format!("{} around line {}", quoted(&piece.path), piece.first));
        }
    }
    (out, missing)
}

/// Returns whether the diff already contains every line of the piece, as for a new function.
fn is_shown(diff: &Diff, piece: &Around) -> bool {
    let Some(file) = diff.files.iter().find(|file| file.new.as_deref() == Some(&*piece.path)) else {
        return false;
    };
    let there = file.lines.iter().filter(|line| line.side != Side::Removed).map(|line| line.number);
    let there: BTreeSet<u32> = there.collect();
    (piece.first..).zip(&piece.lines).all(|(number, _)| there.contains(&number))
}

/// Formats the lines of a piece that are within `margin` of a changed line.
fn clipped(piece: &Around, margin: u32) -> String {
    let name = piece.name.as_ref().map(|name| format!(", {}", text::line(name, NAME_LIMIT)));
    let mut out = format!("=== {}{}\n", text::line(&piece.path, NAME_LIMIT), name.unwrap_or_default());
    let changed: BTreeSet<u32> = piece.changed.iter().copied().collect();
    let mut gap = false;
    for (number, line) in (piece.first..).zip(&piece.lines) {
        let near = changed.range(number.saturating_sub(margin)..=number.saturating_add(margin));
        if near.clone().next().is_none() {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) {
            out += "…\n";
        }
        let mark = if changed.contains(&number) { '+' } else { ' ' };
        out += &numbered(mark, number, line);
    }
    if gap {
        out += "…\n";
    }
    out
}

fn quoted(path: &str) -> String {
    text::quoted(path, NAME_LIMIT)
}

fn left_out(title: &str, missing: &[String]) -> String {
    if missing.is_empty() {
        return String::new();
    }
    let mut lines: Vec<&str> = missing.iter().take(NAMED).map(String::as_str).collect();
    let more = missing.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    lines.extend(more.as_deref());
    format!("\n{title}; read them yourself:\n\n- {}\n", lines.join("\n- "))
}
