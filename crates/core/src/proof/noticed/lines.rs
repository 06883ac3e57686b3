//! Finds the lines that a change adds or edits in a file.

use std::collections::{BTreeSet, HashMap};

/// Maximum number of pairs of lines to compare one by one.
const MOST_COMPARED: usize = 4_000_000;

/// Returns the numbers, from 1, of lines of `new` that `old` does not have in the same order. Omits blank lines.
pub fn changed(old: &str, new: &str) -> BTreeSet<u32> {
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let head = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (was, is) = (&before[head..before.len() - tail], &after[head..after.len() - tail]);
    let kept =
        if was.len().saturating_mul(is.len()) <= MOST_COMPARED { common(was, is).1 } else { known(was, is) };
    let number = |index: usize| u32::try_from(head + index + 1).unwrap_or(u32::MAX);
    (0..is.len()).filter(|index| !kept[*index] && !is[*index].trim().is_empty()).map(number).collect()
}

/// Marks the lines of each side that belong to the longest common subsequence. Marks none if there are too many lines
/// to compare.
pub(in crate::proof) fn kept(before: &[&str], after: &[&str]) -> (Vec<bool>, Vec<bool>) {
    if before.len().saturating_mul(after.len()) <= MOST_COMPARED {
        common(before, after)
    } else {
        (vec![false; before.len()], vec![false; after.len()])
    }
}

/// The same for few lines.
fn common(was: &[&str], is: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let width = is.len() + 1;
    let mut longest = vec![0_u32; (was.len() + 1) * width];
    for (i, a) in was.iter().enumerate().rev() {
        for (j, b) in is.iter().enumerate().rev() {
            longest[i * width + j] = if a == b {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut left, mut kept) = (vec![false; was.len()], vec![false; is.len()]);
    let (mut i, mut j) = (0, 0);
    while i < was.len() && j < is.len() {
        if was[i] == is[j] {
            (left[i], kept[j]) = (true, true);
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    (left, kept)
}

/// Marks the lines of `is` that are also in `was`, in any order.
fn known(was: &[&str], is: &[&str]) -> Vec<bool> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for line in was {
        *left.entry(line).or_default() += 1;
    }
    let mut kept = Vec::with_capacity(is.len());
    for line in is {
        let count = left.get_mut(*line).filter(|count| **count > 0);
        kept.push(count.is_some());
        if let Some(count) = count {
            *count -= 1;
        }
    }
    kept
}
