//! Compares two states of a few small files as a unified diff. Omits hunk numbers, because the files are short.

use std::collections::{BTreeMap, BTreeSet};

/// Number of context lines around a change.
const AROUND: usize = 3;
/// Maximum length of files to compare line by line. Longer ones are shown as removed and added.
const LINES: usize = 4_000;

/// Returns the diff; empty if there is no difference.
pub fn of(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut out = String::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        if old == new {
            continue;
        }
        let name = |side: Option<&String>, mark: &str| match side {
            Some(_) => format!("{mark}/.acquit/{path}"),
            None => "/dev/null".to_owned(),
        };
        out.push_str(&format!("--- {}\n+++ {}\n", name(old, "a"), name(new, "b")));
        let text = |side: Option<&String>| side.map(String::as_str).unwrap_or_default().to_owned();
        lines(&text(old), &text(new), &mut out);
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Same,
    Removed,
    Added,
}

fn lines(old: &str, new: &str, out: &mut String) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let marked = marked(&old, &new);
    let near = |at: usize| {
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(marked.len()));
        marked[from..to].iter().any(|(mark, _)| *mark != Mark::Same)
    };
    let mut left_out = false;
    for (at, (mark, line)) in marked.iter().enumerate() {
        if !near(at) {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) {
            out.push_str("@@\n");
        }
        let sign = match mark {
            Mark::Same => ' ',
            Mark::Removed => '-',
            Mark::Added => '+',
        };
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

/// Returns the lines of both sides, common ones once, by their longest common subsequence.
fn marked<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Mark, &'t str)> {
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (&old[front..], &new[front..]);
    let back = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&rest_old[..rest_old.len() - back], &rest_new[..rest_new.len() - back]);
    let mut out: Vec<(Mark, &str)> = old[..front].iter().map(|line| (Mark::Same, *line)).collect();
    if a.len() > LINES || b.len() > LINES {
        out.extend(a.iter().map(|line| (Mark::Removed, *line)));
        out.extend(b.iter().map(|line| (Mark::Added, *line)));
    } else {
        // `longest[i][j]` is the length of the longest common subsequence of `a[i..]` and `b[j..]`.
        let width = b.len() + 1;
        let mut longest = vec![0_u16; (a.len() + 1) * width];
        for i in (0..a.len()).rev() {
            for j in (0..b.len()).rev() {
                longest[i * width + j] = if a[i] == b[j] {
                    longest[(i + 1) * width + j + 1] + 1
                } else {
                    longest[(i + 1) * width + j].max(longest[i * width + j + 1])
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let removes =
                j == b.len() || i < a.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1];
            if i < a.len() && j < b.len() && a[i] == b[j] {
                out.push((Mark::Same, a[i]));
                (i, j) = (i + 1, j + 1);
            } else if i < a.len() && removes {
                out.push((Mark::Removed, a[i]));
                i += 1;
            } else {
                out.push((Mark::Added, b[j]));
                j += 1;
            }
        }
    }
    out.extend(old[old.len() - back..].iter().map(|line| (Mark::Same, *line)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(text: Option<&str>) -> BTreeMap<String, String> {
        text.map(|text| ("f".to_owned(), text.to_owned())).into_iter().collect()
    }

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        for (old, new, expected) in [
            (Some("a\n"), Some("a\n"), ""),
            (None, Some("a\nb\n"), "--- /dev/null\n+++ b/.acquit/f\n+a\n+b\n"),
            (Some("a\n"), None, "--- a/.acquit/f\n+++ /dev/null\n-a\n"),
            (Some("a\nb\nc\n"), Some("a\nx\nc\n"), "--- a/.acquit/f\n+++ b/.acquit/f\n a\n-b\n+x\n c\n"),
            (
                Some("a\nb\nc\nd\n"),
                Some("b\nd\ne\n"),
                "--- a/.acquit/f\n+++ b/.acquit/f\n-a\n b\n-c\n d\n+e\n",
            ),
            (
                Some("1\n2\n3\n4\n5\n6\n"),
                Some("1\n2\n3\n4\n5\n7\n"),
                "--- a/.acquit/f\n+++ b/.acquit/f\n@@\n 3\n 4\n 5\n-6\n+7\n",
            ),
        ] {
            assert_eq!(of(&files(old), &files(new)), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn every_line_of_both_sides_is_in_it_however_long_they_are() {
        let text = |step: usize| {
            let lines: Vec<String> = (0..LINES * 2).map(|n| (n * step).to_string()).collect();
            lines.join("\n")
        };
        let (old, new) = (text(1), text(3));
        let difference = of(&files(Some(&old)), &files(Some(&new)));
        let (known, shown): (BTreeSet<&str>, BTreeSet<&str>) =
            (old.lines().collect(), difference.lines().collect());
        let missing =
            new.lines().find(|line| !known.contains(line) && !shown.contains(format!("+{line}").as_str()));
        assert_eq!(missing, None);
    }
}
