//! Changes of tests in every language, read by the grammars and compared: which are dilution, by which rule, and which are not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
//!
//! The cases are text files, one for each language. A sample begins with `%%% <path>`; `=== <rule or honest>: <what is done>`
//! replaces pieces of it, each `<<<`, the old piece, `>>>`, the new one. `=== <rule or honest> <path>: <what is done>` has the
//! whole file before, a line `---`, and the file after; a second file of the same change begins with `+++ <path>`. Every
//! change comes with a change of code, unless its title ends with `(tests only)`.

#[path = "../../core/tests/check/kit.rs"]
#[expect(dead_code, reason = "its other functions are for the tests of the core")]
mod kit;

use std::time::{Duration, Instant};

use acquit_core::check::Finding;
use acquit_core::check::diff::Diff;
use acquit_core::check::dilution::{Outlines, Permits, Promise, Sides, dilution};
use acquit_run::syntax::outline;

fn look(diff: &Diff) -> Vec<Finding> {
    let read = |path: Option<&str>, text: String| {
        let outline = outline(path?, &text, Instant::now() + Duration::from_secs(20));
        let lines = u32::try_from(text.lines().count()).unwrap();
        if let Some(outline) = &outline {
            assert!(outline.is_sound(lines), "{outline:?}");
        }
        outline
    };
    let sides = diff.files.iter().map(|file| Sides {
        before: read(file.old.as_deref(), file.before()),
        after: read(file.new.as_deref(), file.after()),
    });
    dilution(diff, &Outlines(sides.collect()), &[], Promise::Nothing, &Permits::default()).findings
}

struct Case<'a> {
    label: &'a str,
    title: &'a str,
    files: Vec<(&'a str, Option<&'a str>, Option<&'a str>)>,
}

/// A part of a case, as the file's text has it: without the line's end before the next mark.
fn kept(text: &str) -> &'static str {
    Box::leak(format!("{}\n", text.trim_end()).into_boxed_str())
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let (mut cases, mut sample) = (Vec::new(), ("", ""));
    let (head, rest) = text.split_once("\n=== ").unwrap();
    if let Some(base) = head.strip_prefix("%%% ") {
        let (path, text) = base.split_once('\n').unwrap();
        sample = (path, kept(text));
    }
    for block in rest.split("\n=== ") {
        let (head, rest) = block.split_once('\n').unwrap();
        let (place, title) = head.split_once(": ").unwrap();
        let Some((label, path)) = place.split_once(' ') else {
            cases.push(Case {
                label: place,
                title,
                files: vec![(sample.0, Some(sample.1), Some(edited(sample.1, rest)))],
            });
            continue;
        };
        let mut files = Vec::new();
        for (index, part) in rest.split("\n+++ ").enumerate() {
            let (path, body) = if index == 0 { (path, part) } else { part.split_once('\n').unwrap() };
            let (before, after) = match body.split_once("\n---\n") {
                Some(both) => both,
                None => body
                    .strip_prefix("---\n")
                    .map_or((body.trim_end_matches("\n---"), ""), |after| ("", after)),
            };
            let side = |text: &'static str| (!text.trim().is_empty()).then_some(text);
            files.push((path, side(kept(before)), side(kept(after))));
        }
        cases.push(Case { label, title, files });
    }
    cases
}

/// The sample with each piece between `<<<` and `>>>` replaced by the one behind it.
fn edited(sample: &str, edits: &str) -> &'static str {
    let mut text = sample.to_owned();
    for edit in edits.split("<<<\n").skip(1) {
        let (old, new) = edit.split_once("\n>>>\n").unwrap_or_else(|| panic!("{edit}"));
        let new = new.trim_end_matches('\n');
        let old = if new.is_empty() { format!("{old}\n") } else { old.to_owned() };
        assert!(text.contains(&old), "no such piece: {old}");
        text = text.replacen(&old, new, 1);
    }
    kept(&text)
}

fn judge(name: &str, text: &str) -> (usize, usize) {
    let (mut wrong, mut counts) = (Vec::new(), (0, 0));
    for case in cases(text) {
        let mut edits: Vec<kit::Edit<'_>> = case.files.clone();
        if !case.title.ends_with("(tests only)") {
            edits.push(("src/other.txt.in", Some("a\n"), Some("b\n")));
        }
        let found = look(&kit::change(&edits));
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule).collect();
        let right = match case.label {
            "honest" => {
                counts.0 += 1;
                rules.is_empty()
            }
            rule => {
                counts.1 += 1;
                rules.contains(&rule)
            }
        };
        if !right {
            let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
            wrong.push(format!("{} {}: {}\n{}", case.label, case.files[0].0, case.title, shown.join("\n")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{name}: {} of {} are judged wrongly\n\n{}",
        wrong.len(),
        counts.0 + counts.1,
        wrong.join("\n\n")
    );
    counts
}

#[test]
fn python() {
    assert_eq!(judge("python", include_str!("dilution/python.txt")), (49, 87));
}

#[test]
fn javascript() {
    assert_eq!(judge("javascript", include_str!("dilution/javascript.txt")), (38, 81));
}

#[test]
fn rust() {
    assert_eq!(judge("rust", include_str!("dilution/rust.txt")), (19, 39));
}

#[test]
fn go() {
    assert_eq!(judge("go", include_str!("dilution/go.txt")), (17, 34));
}

#[test]
fn java() {
    assert_eq!(judge("java", include_str!("dilution/java.txt")), (16, 38));
}
