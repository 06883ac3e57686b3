//! Git's diffs, read.

use acquit_core::check::diff::{Diff, FileChange, Origin, Side, Unreadable};

fn one(text: &str) -> FileChange {
    let mut diff = Diff::parse(text.as_bytes()).unwrap();
    assert_eq!(diff.files.len(), 1, "{diff:?}");
    diff.files.remove(0)
}

fn lines(file: &FileChange) -> Vec<(char, u32, &str)> {
    let mark = |side| match side {
        Side::Both => ' ',
        Side::Removed => '-',
        Side::Added => '+',
    };
    file.lines.iter().map(|line| (mark(line.side), line.number, line.text.as_str())).collect()
}

#[test]
fn lines_carry_their_numbers_on_their_own_side() {
    let file = one("diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
                    @@ -3,3 +3,4 @@ fn x() {\n same\n-old\n+new\n+more\n same too\n@@ -20 +21,0 @@\n-gone\n");
    assert_eq!((file.old.as_deref(), file.new.as_deref()), (Some("src/a.rs"), Some("src/a.rs")));
    let expected = [
        (' ', 3, "same"),
        ('-', 4, "old"),
        ('+', 4, "new"),
        ('+', 5, "more"),
        (' ', 6, "same too"),
        ('-', 20, "gone"),
    ];
    assert_eq!(lines(&file), expected);
    assert_eq!(file.before(), "same\nold\nsame too\ngone\n");
    assert_eq!(file.after(), "same\nnew\nmore\nsame too\n");
}

#[test]
fn a_line_that_looks_like_a_header_stays_a_line() {
    let file = one(
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-diff --git a/z b/z\n\
                    +++ b/y\n+@@ -1 +1 @@\n\\ No newline at end of file\n",
    );
    let expected =
        [('-', 1, "-- a/y"), ('-', 2, "diff --git a/z b/z"), ('+', 1, "++ b/y"), ('+', 2, "@@ -1 +1 @@")];
    assert_eq!(lines(&file), expected);
}

#[test]
fn files_without_hunks_have_their_names() {
    let mode = one("diff --git a/run it.sh b/run it.sh\nold mode 100644\nnew mode 100755\n");
    assert_eq!((mode.path(), mode.old_mode, mode.new_mode), ("run it.sh", Some(0o100_644), Some(0o100_755)));
    let empty = one("diff --git a/a b/c d b/a b/c d\nnew file mode 100644\nindex 0000000..e69de29\n");
    assert_eq!((empty.old, empty.new.as_deref()), (None, Some("a b/c d")));
    let binary = one(
        "diff --git a/p.png b/p.png\ndeleted file mode 100644\nindex 1..0\nBinary files a/p.png and /dev/null differ\n",
    );
    assert!(binary.binary && binary.new.is_none() && binary.old.as_deref() == Some("p.png"));
    let moved =
        one("diff --git a/old.rs b/new.rs\nsimilarity index 100%\nrename from old.rs\nrename to new.rs\n");
    assert_eq!(
        (moved.origin, moved.old.as_deref(), moved.path()),
        (Origin::Renamed, Some("old.rs"), "new.rs")
    );
}

#[test]
fn quoted_names_are_read_as_the_bytes_that_they_are() {
    let file = one(
        "diff --git \"a/tab\\there\\303\\274\\\"\" \"b/tab\\there\\303\\274\\\"\"\nindex 1..2 100644\n\
                    --- \"a/tab\\there\\303\\274\\\"\"\n+++ \"b/tab\\there\\303\\274\\\"\"\n@@ -1 +1 @@\n-a\n+b\n",
    );
    assert_eq!(file.path(), "tab\there\u{fc}\"");
}

#[test]
fn of_a_merge_only_what_no_parent_has_is_new() {
    let log = "commit aa11\n\ndiff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,2 -1,3 +1,4 @@@\n  same\n- mine\n -theirs\n\
               ++both\n++planted\n+ from theirs\n\ncommit bb22\ncommit cc33\n\ndiff --git a/g b/g\nindex 1..2 100644\n\
               --- a/g\n+++ b/g\n@@ -0,0 +1 @@\n+x\n";
    let commits = Diff::parse_log(log.as_bytes()).unwrap();
    let ids: Vec<&str> = commits.iter().map(|commit| commit.id.as_str()).collect();
    assert_eq!(ids, ["aa11", "bb22", "cc33"]);
    let added: Vec<_> =
        commits[0].diff.files[0].added().map(|line| (line.number, line.text.as_str())).collect();
    assert_eq!(added, [(2, "both"), (3, "planted")]);
    assert_eq!(commits[2].diff.files[0].path(), "g");
}

#[test]
fn what_is_not_understood_is_never_left_out() {
    for (text, line) in [
        ("diff --git a/x b/y\nindex 1..2\n", 1),
        ("diff --git a/x b/x\nwhatever\n", 2),
        ("diff --git a/x b/x\n@@ -1,2 +1 @@\n-a\n", 4),
        ("diff --git a/x b/x\n@@ -1 +1,2 @@\n-a\n-b\n", 4),
        ("diff --git a/x b/x\n@@ -1 @@\n-a\n", 2),
        ("hello\n", 0),
    ] {
        match Diff::parse(text.as_bytes()) {
            Err(Unreadable::Form { line: at, .. }) => assert_eq!(at, line, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(Diff::parse_log(b"commit zz\n").is_err());
    assert_eq!(Diff::parse(b"").unwrap(), Diff::default());
}
