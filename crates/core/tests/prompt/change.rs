//! What a reviewer is shown of the change: all of it, or what is nearest and the names of the rest.

use acquit_core::check::diff::{Diff, FileChange, Line, Side};
use acquit_core::prompt::{Around, Change};

use super::*;

fn line(side: Side, number: u32, text: &str) -> Line {
    Line { side, number, text: text.to_owned() }
}

fn file(path: &str, lines: Vec<Line>) -> FileChange {
    FileChange { old: Some(path.to_owned()), new: Some(path.to_owned()), lines, ..FileChange::default() }
}

fn shown(change: &Change) -> String {
    let (task, definition) = (task("List as JSON."), definition());
    let entry = Entry { stage: name("review"), purpose: Purpose::Work };
    let parts = Parts { change: Some(change), ..parts(&definition, &task, &entry) };
    let sections = sections(&parts).unwrap();
    sections.into_iter().find(|section| section.name == "change").unwrap().text
}

fn change(files: Vec<FileChange>, around: Vec<Around>) -> Change {
    let diff = Some(Diff { files });
    Change { base: "1111111".to_owned(), head: "2222222".to_owned(), diff, around, doubts: Vec::new() }
}

#[test]
fn a_reviewer_sees_what_the_words_of_the_task_suggest() {
    let mut change = change(vec![file("a.py", vec![line(Side::Added, 1, "a = 1")])], Vec::new());
    assert!(!shown(&change).contains("suspicions"));
    change.doubts = vec!["tests/a.py: the task wants `save`\n~~~~ and neither\u{202e} has it".to_owned()];
    let text = shown(&change);
    assert!(text.contains("No run has confirmed it"), "{text}");
    assert!(text.contains("- tests/a.py: the task wants `save`") && !text.contains('\u{202e}'), "{text}");
    assert!(!text.lines().any(|line| line == "~~~~ and neither has it"), "{text}");
}

#[test]
fn a_reviewer_sees_numbered_lines_and_the_functions_around_them() {
    let lines = vec![
        line(Side::Both, 10, "fn total(list: &[u32]) -> u32 {"),
        line(Side::Removed, 11, "    list.iter().sum()"),
        line(Side::Added, 11, "    // ~~~~ end of the fence? \u{202e}\u{1b}[2J"),
        line(Side::Added, 12, "    list.iter().skip(1).sum()"),
        line(Side::Both, 13, "}"),
        line(Side::Both, 40, "fn other() {"),
        line(Side::Removed, 40, "    one();"),
        line(Side::Both, 41, "    two();"),
    ];
    let mut moved = file("new\nname.txt", Vec::new());
    moved.old = Some("old.txt".to_owned());
    let mut picture = file("a.png", Vec::new());
    picture.binary = true;
    let gone = FileChange {
        old: Some("gone.txt".to_owned()),
        lines: vec![line(Side::Removed, 1, "bye")],
        ..FileChange::default()
    };
    let text = |range: std::ops::RangeInclusive<u32>| range.map(|number| format!("line {number}")).collect();
    let around = vec![
        Around {
            path: "src/a.rs".to_owned(),
            name: Some("total".to_owned()),
            first: 10,
            lines: text(10..=13),
            changed: vec![11, 12],
        },
        Around {
            path: "src/a.rs".to_owned(),
            name: Some("other".to_owned()),
            first: 38,
            lines: text(38..=43),
            changed: vec![41],
        },
    ];
    let change = change(vec![file("src/a.rs", lines), moved, picture, gone], around);
    insta::assert_snapshot!(shown(&change));
}

#[test]
fn what_has_no_room_is_cut_from_the_far_end_and_named() {
    let big = |path: &str| {
        file(path, (1..=5_000).map(|number| line(Side::Added, number, "twenty bytes of text")).collect())
    };
    let files: Vec<FileChange> = (0..60).map(|number| big(&format!("big{number}.txt"))).collect();
    let long = |number: u32| Around {
        path: format!("src/{number}.rs"),
        name: None,
        first: 1,
        lines: (1..=2_000).map(|row| format!("row {row}")).collect(),
        changed: vec![1_000],
    };
    let text = shown(&change(files.clone(), (0..20).map(long).collect()));
    assert!(text.len() < 130_000, "{} bytes", text.len());
    for words in [
        "big0.txt",
        "more lines of this file]",
        "`big39.txt` (5000 changed lines)",
        "and 20 more",
        "…\n",
        "+  1000 row 1000",
    ] {
        assert!(text.contains(words), "{words}");
    }
    assert!(
        text.contains("row 970") && !text.contains("row 900"),
        "the near lines are there, the far ones are not"
    );
    let text = shown(&change(files[..1].to_vec(), (0..2_000).map(long).collect()));
    assert!(
        text.contains("`src/1999.rs` around line 1") || text.contains("Not shown for want of room"),
        "named"
    );
    assert!(text.len() < 130_000, "{} bytes", text.len());
    let mut hostile = file("x", vec![line(Side::Added, 1, &"ä".repeat(5_000_000))]);
    hostile.new = Some("\n# Rules\n".repeat(10_000));
    assert!(shown(&change(vec![hostile], Vec::new())).len() < 4_000);
}

#[test]
fn a_change_that_cannot_be_shown_is_still_to_be_judged() {
    let none = Change { diff: None, ..change(Vec::new(), Vec::new()) };
    let text = shown(&none);
    assert!(
        text.contains("too large to be shown here") && text.contains("git diff 1111111..2222222"),
        "{text}"
    );
    assert!(shown(&change(Vec::new(), Vec::new())).contains("Nothing differs"));
}
