//! Changes, made by real rules: a diff of two trees as git would show it with whole files.

use acquit_core::check::diff::{Diff, FileChange, Line, Origin, Side};

/// A file before and after; either may be missing.
pub(crate) type Edit<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// The change that these edits are.
pub(crate) fn change(edits: &[Edit<'_>]) -> Diff {
    Diff { files: edits.iter().map(|(path, before, after)| file(path, path, *before, *after)).collect() }
}

/// A file that has another name afterwards.
pub(crate) fn renamed(old: &str, new: &str, before: &str, after: &str) -> FileChange {
    let mut file = file(old, new, Some(before), Some(after));
    file.origin = Origin::Renamed;
    if before == after {
        file.lines.clear();
    }
    file
}

fn file(old: &str, new: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        old: before.map(|_| old.to_owned()),
        new: after.map(|_| new.to_owned()),
        lines: lines(before.unwrap_or_default(), after.unwrap_or_default()),
        ..FileChange::default()
    }
}

/// The longest common lines, by the table that every textbook has.
fn lines(before: &str, after: &str) -> Vec<Line> {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let mut common = vec![vec![0_u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] =
                if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    let mut push = |side, index: usize, text: &str| {
        all.push(Line { side, number: u32::try_from(index).unwrap() + 1, text: text.to_owned() });
    };
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            push(Side::Both, j, a[i]);
            (i, j) = (i + 1, j + 1);
        } else if i < a.len() && (j == b.len() || common[i + 1][j] >= common[i][j + 1]) {
            push(Side::Removed, i, a[i]);
            i += 1;
        } else {
            push(Side::Added, j, b[j]);
            j += 1;
        }
    }
    all
}
