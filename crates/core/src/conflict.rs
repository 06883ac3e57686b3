//! Conflicts between a task's work and its current base branch: both sides of each conflict, and a check that a
//! resolution lost nothing.
//!
//! A resolution is an agent's work, so nothing about it is trusted. git says line by line what each side changed. A
//! change is kept if the result has the lines it added, in order and as often as required, and the lines it removed are
//! gone. A change that is not kept must be named with a reason. No conflict marker may be left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::check::diff::{FileChange, Side as DiffSide};

/// Length of conflict markers. Longer than git's default, so that heading underlines and tests of merge tools are not
/// mistaken for markers.
pub const MARKER: usize = 24;

/// Maximum number of hunks to show to an agent. It finds the others by their markers.
pub const MOST_SHOWN: usize = 20;
/// Maximum size of each side in a shown hunk.
pub const SIDE_LIMIT: usize = 2 * 1024;

/// Key of a resolver's payload that lists the changes it dropped on purpose.
pub const SUPERSEDED: &str = "superseded";

/// Maximum size of a stored reason.
const REASON_LIMIT: usize = 300;

/// The side of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The base branch, since the task started.
    Branch,
    /// The task.
    Task,
}

impl Side {
    /// Returns the side's name as used in names of changes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Task => "task",
        }
    }
}

/// A place where both sides changed the same lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// Path of the file.
    pub path: String,
    /// Line of the first marker.
    pub line: u32,
    /// Original text.
    pub base: String,
    /// Text on the base branch.
    pub branch: String,
    /// Text of the task.
    pub task: String,
}

/// A change of one side in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Side that made it.
    pub side: Side,
    /// Path of the file.
    pub path: String,
    /// Line in that side's version; for a removal, the line in the base.
    pub line: u32,
    /// Removed lines.
    pub removed: Vec<String>,
    /// Added lines.
    pub added: Vec<String>,
}

impl Edit {
    /// Returns the name with which a resolver drops the change: `task:src/x.rs:12`.
    pub fn name(&self) -> String {
        format!("{}:{}:{}", self.side.name(), self.path, self.line)
    }
}

/// A file whose resolution must keep both sides.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Path of the file.
    pub path: String,
    /// Contents before both changes; empty if it did not exist.
    pub base: String,
    /// Changes of both sides.
    pub edits: Vec<Edit>,
}

/// A mistake in a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Path of the file.
    pub path: String,
    /// Line in the result, or in the side that was lost.
    pub line: u32,
    /// Description, with what to do.
    pub what: String,
}

/// Parses the conflict hunks of a file with markers.
pub fn hunks(path: &str, text: &str) -> Vec<Hunk> {
    let mark = |sign: char| sign.to_string().repeat(MARKER);
    let (open, middle, turn, close) = (mark('<'), mark('|'), mark('='), mark('>'));
    let is =
        |line: &str, mark: &str| line == mark || line.strip_prefix(mark).is_some_and(|r| r.starts_with(' '));
    let mut found = Vec::new();
    let mut hunk: Option<(Hunk, usize)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match &mut hunk {
            None if is(line, &open) => {
                let empty = String::new;
                let begun = Hunk {
                    path: path.to_owned(),
                    line: number,
                    base: empty(),
                    branch: empty(),
                    task: empty(),
                };
                hunk = Some((begun, 0));
            }
            None => {}
            Some((_, part @ 0)) if is(line, &middle) => *part = 1,
            Some((_, part @ (0 | 1))) if line == turn => *part = 2,
            Some((_, 2)) if is(line, &close) => found.extend(hunk.take().map(|(hunk, _)| hunk)),
            Some((hunk, part)) => {
                let side = match part {
                    0 => &mut hunk.branch,
                    1 => &mut hunk.base,
                    _ => &mut hunk.task,
                };
                side.push_str(line);
                side.push('\n');
            }
        }
    }
    found
}

/// Returns the hunks to show to an agent, bounded.
pub fn shown(all: Vec<Hunk>) -> Vec<Hunk> {
    let cut = |text: String| crate::agent::shorten(&text, SIDE_LIMIT);
    all.into_iter()
        .take(MOST_SHOWN)
        .map(|Hunk { path, line, base, branch, task }| Hunk {
            path,
            line,
            base: cut(base),
            branch: cut(branch),
            task: cut(task),
        })
        .collect()
}

/// Returns the edits of a file from git's diff without context.
pub fn edits(side: Side, change: &FileChange) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut last: Option<(DiffSide, u32)> = None;
    for line in &change.lines {
        let goes_on = last.is_some_and(|(before, number)| match (before, line.side) {
            (DiffSide::Added, DiffSide::Removed) => false,
            (DiffSide::Removed, DiffSide::Added) => true,
            _ => number + 1 == line.number,
        });
        if !goes_on {
            let path = change.path().to_owned();
            edits.push(Edit { side, path, line: line.number, removed: Vec::new(), added: Vec::new() });
        }
        if let Some(edit) = edits.last_mut() {
            match line.side {
                DiffSide::Added => {
                    if edit.added.is_empty() {
                        edit.line = line.number;
                    }
                    edit.added.push(line.text.clone());
                }
                DiffSide::Removed => edit.removed.push(line.text.clone()),
                DiffSide::Both => {}
            }
        }
        last = Some((line.side, line.number));
    }
    edits
}

/// Returns the names of the changes that a resolver dropped on purpose, each with its reason.
pub fn superseded(payload: &Value) -> Vec<(String, String)> {
    let list = payload.get(SUPERSEDED).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let one = |entry: &Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::trim);
        let (name, reason) = (text("change")?, text("reason")?);
        (!reason.is_empty()).then(|| (name.to_owned(), crate::agent::shorten(reason, REASON_LIMIT)))
    };
    list.iter().filter_map(one).collect()
}

/// Returns conflict markers left in a file, beyond those that were in it on either side before.
pub fn marks(path: &str, result: &str, sides: &[&str]) -> Vec<Wrong> {
    /// Shortest marker that a person or a tool may have made of ours.
    const SHORTEST: usize = 7;
    let is_mark = |line: &str| {
        let begins = |sign: char| line.chars().take_while(|c| *c == sign).count();
        let rest =
            |count: usize| line.get(count..).is_none_or(|rest| rest.is_empty() || rest.starts_with(' '));
        ['<', '>', '|'].into_iter().any(|sign| begins(sign) >= SHORTEST && rest(begins(sign)))
            || (begins('=') == MARKER && rest(MARKER))
    };
    let known = |line: &str| sides.iter().any(|side| side.lines().any(|known| known == line));
    (1..)
        .zip(result.lines())
        .filter(|(_, line)| is_mark(line) && !known(line))
        .map(|(line, _)| {
            let what =
                "a mark of the conflict is left: write what the file must be, without marks".to_owned();
            Wrong { path: path.to_owned(), line, what }
        })
        .collect()
}

/// Returns the changes that the result lost, except those dropped on purpose.
pub fn lost(file: &File, result: Option<&str>, given_up: &[(String, String)]) -> Vec<Wrong> {
    let result: Vec<&str> = result.unwrap_or_default().lines().collect();
    let count = |lines: &mut dyn Iterator<Item = &str>| {
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        lines.for_each(|line| *counts.entry(line.trim_end().to_owned()).or_default() += 1);
        counts
    };
    let base = count(&mut file.base.lines());
    let there = count(&mut result.iter().copied());
    let net = |side: Side| {
        let mut net: BTreeMap<String, i64> = BTreeMap::new();
        for edit in file.edits.iter().filter(|edit| edit.side == side) {
            edit.added.iter().for_each(|line| *net.entry(line.trim_end().to_owned()).or_default() += 1);
            edit.removed.iter().for_each(|line| *net.entry(line.trim_end().to_owned()).or_default() -= 1);
        }
        net
    };
    let (branch, task) = (net(Side::Branch), net(Side::Task));
    let of = |counts: &BTreeMap<String, i64>, line: &str| counts.get(line.trim_end()).copied().unwrap_or(0);
    let mut wrong = Vec::new();
    for edit in &file.edits {
        let (own, other) = match edit.side {
            Side::Branch => (&branch, &task),
            Side::Task => (&task, &branch),
        };
        let enough = |line: &String| {
            of(&there, line)
                >= (of(&base, line) + of(own, line) + of(other, line).min(0))
                    .max(i64::from(of(own, line) > 0))
        };
        let gone = |line: &String| {
            of(own, line) >= 0 || of(&there, line) <= of(&base, line) + of(own, line) + of(other, line).max(0)
        };
        let kept =
            in_order(&edit.added, &result) && edit.added.iter().all(enough) && edit.removed.iter().all(gone);
        if kept || given_up.iter().any(|(name, _)| *name == edit.name()) {
            continue;
        }
        let whose = match edit.side {
            Side::Branch => "the base branch",
            Side::Task => "this task",
        };
        let what = format!(
            "what {whose} changed here is lost: keep it, or name it in the payload of your outcome as \
             {{\"{SUPERSEDED}\": [{{\"change\": {:?}, \"reason\": \"…\"}}]}}\n{}",
            edit.name(),
            in_words(edit)
        );
        wrong.push(Wrong { path: edit.path.clone(), line: edit.line, what });
    }
    wrong
}

/// Returns whether the result contains the lines in this order, with anything in between.
fn in_order(wanted: &[String], result: &[&str]) -> bool {
    let mut rest = result.iter();
    wanted.iter().all(|line| rest.any(|there| there.trim_end() == line.trim_end()))
}

/// Formats a change as a short diff.
fn in_words(edit: &Edit) -> String {
    const LINES: usize = 12;
    let removed = edit.removed.iter().map(|line| format!("- {line}"));
    let added = edit.added.iter().map(|line| format!("+ {line}"));
    let lines: Vec<String> =
        removed.chain(added).take(LINES).map(|line| crate::agent::shorten(&line, 200)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(side: Side, line: u32, removed: &[&str], added: &[&str]) -> Edit {
        let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Edit { side, path: "f".to_owned(), line, removed: own(removed), added: own(added) }
    }

    fn both() -> File {
        File {
            path: "f".to_owned(),
            base: "a\nb\nc\n".to_owned(),
            edits: vec![edit(Side::Branch, 2, &["b"], &["b1"]), edit(Side::Task, 2, &["b"], &["b2", "b3"])],
        }
    }

    #[test]
    fn a_resolution_keeps_both_sides_or_names_what_it_gives_up() {
        let names = |wrong: Vec<Wrong>| wrong.into_iter().map(|wrong| wrong.line).collect::<Vec<_>>();
        let file = both();
        let table: [(&str, &[&str], usize); 9] = [
            ("a\nb1\nb2\nb3\nc\n", &[], 0),
            ("a\nb2\nb3\nb1\nc\n", &[], 0),
            ("a\nb2\nb3\nc\n", &[], 1),
            ("a\nb2\nb3\nc\n", &["branch:f:2"], 0),
            ("a\nb1\nc\n", &["branch:f:2"], 1),
            ("a\nb1\nb3\nb2\nc\n", &[], 1),
            ("a\nb\nb1\nb2\nb3\nc\n", &[], 2),
            ("a\nc\n", &[], 2),
            ("", &["branch:f:2", "task:f:2"], 0),
        ];
        for (result, given_up, expected) in table {
            let given_up: Vec<_> =
                given_up.iter().map(|name| ((*name).to_owned(), "why".to_owned())).collect();
            assert_eq!(
                names(lost(&file, Some(result), &given_up)).len(),
                expected,
                "{result:?} {given_up:?}"
            );
        }
        assert_eq!(lost(&file, None, &[]).len(), 2, "a file that is gone");
    }

    #[test]
    fn a_line_that_both_removed_may_be_gone_and_one_that_both_added_may_be_there_once() {
        let file = File {
            path: "f".to_owned(),
            base: "a\nb\n".to_owned(),
            edits: vec![edit(Side::Branch, 1, &["b"], &["x"]), edit(Side::Task, 1, &["b"], &["x", "y"])],
        };
        assert!(lost(&file, Some("a\nx\ny\n"), &[]).is_empty());
        assert_eq!(lost(&file, Some("a\ny\n"), &[]).len(), 2);
    }

    #[test]
    fn marks_are_found_at_the_beginning_of_lines_unless_a_side_had_them() {
        let open = "<".repeat(MARKER);
        let text = format!(
            "{open} main\nx\n  {open}\n<<<<<<< HEAD\nTitle\n=======\n||||||| b\n>>>>>>>\n<<<<<<<<x\n"
        );
        let lines = |sides: &[&str]| marks("f", &text, sides).iter().map(|it| it.line).collect::<Vec<_>>();
        assert_eq!(lines(&[]), [1, 4, 7, 8]);
        assert_eq!(lines(&["a\n<<<<<<< HEAD\n"]), [1, 7, 8]);
    }

    #[test]
    fn hunks_have_three_sides() {
        let mark = |sign: &str| sign.repeat(MARKER);
        let text = format!(
            "1\n{} main\n2a\n{} base\n2\n{}\n=======\n2b\n{} task\n3\n",
            mark("<"),
            mark("|"),
            mark("="),
            mark(">")
        );
        let found = hunks("f", &text);
        let hunk = |base: &str, branch: &str, task: &str| Hunk {
            path: "f".to_owned(),
            line: 2,
            base: base.to_owned(),
            branch: branch.to_owned(),
            task: task.to_owned(),
        };
        assert_eq!(found, [hunk("2\n", "2a\n", "=======\n2b\n")]);
    }

    #[test]
    fn only_what_has_a_reason_is_given_up() {
        let payload = serde_json::json!({ "superseded": [
            { "change": "task:f:2", "reason": "the branch does it better" },
            { "change": "task:f:9", "reason": " " },
            { "change": "task:f:9" },
            "task:f:9",
        ] });
        let names: Vec<String> = superseded(&payload).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["task:f:2"]);
    }
}
