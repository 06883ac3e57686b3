//! Which functions changed lines stand in, for each language; and files that were made to break whoever reads them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::{Duration, Instant};

use acquit_run::syntax::{Answer, File, Question, Span, answer, serve};

/// Asks for the lines of a sample that have a `!` at their end.
fn spans(path: &str, text: &str) -> Vec<Span> {
    let marked = text.lines().zip(1..).filter(|(line, _)| line.ends_with('!')).map(|(_, number)| number);
    ask(path, text.to_owned(), marked.collect())
}

fn ask(path: &str, text: String, lines: Vec<u32>) -> Vec<Span> {
    let question =
        Question { files: vec![File { path: path.to_owned(), text, lines }], ..Question::default() };
    answer(&question).files.swap_remove(0)
}

/// Lines that are each indented one more, up to a width.
fn stairs(lines: usize, width: usize, text: &str) -> String {
    let line = |number: usize| " ".repeat(number % width) + text + "\n";
    (0..lines).map(line).collect()
}

/// The code of the functions, as a reviewer would see it.
fn shown(path: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for span in spans(path, text) {
        out += &format!("== {} {}-{}\n", span.name.as_deref().unwrap_or("?"), span.first, span.last);
        for number in span.first..=span.last {
            out += &format!("{}\n", lines[number as usize - 1]);
        }
    }
    out
}

#[test]
fn changed_lines_stand_in_the_innermost_function_or_member() {
    for (language, path, sample) in [
        ("rust", "src/lib.rs", include_str!("syntax/sample.rs.txt")),
        ("typescript", "src/a.ts", include_str!("syntax/sample.ts.txt")),
        ("javascript", "src/a.jsx", include_str!("syntax/sample.jsx.txt")),
        ("python", "a.py", include_str!("syntax/sample.py.txt")),
        ("go", "a.go", include_str!("syntax/sample.go.txt")),
        ("java", "A.java", include_str!("syntax/sample.java.txt")),
    ] {
        insta::assert_snapshot!(language, shown(path, sample));
    }
}

#[test]
fn what_is_not_understood_gives_nothing_and_what_is_broken_in_one_place_is_understood_in_others() {
    assert_eq!(spans("a.txt", "fn a() {\n x !\n}\n"), []);
    assert_eq!(spans("Makefile", "x !\n"), []);
    assert_eq!(ask("a.rs", String::new(), vec![1, 2, u32::MAX]), []);
    let broken = "fn first() {\n    a(); // !\n}\n\nfn ((( {{{\n";
    let found = ask("a.rs", broken.to_owned(), vec![2]);
    assert_eq!(found, [Span { first: 1, last: 3, name: Some("first".to_owned()) }]);
}

#[test]
fn files_that_were_made_to_break_a_reader_end_in_time() {
    const ALL: &[&str] = &["rs", "ts", "jsx", "py", "go", "java"];
    let deep = |open: &str, close: &str, count: usize| open.repeat(count) + &close.repeat(count);
    let hostile: Vec<(&[&str], String)> = vec![
        (ALL, deep("(", ")", 200_000)),
        (&["rs", "go"], deep("{", "}", 200_000)),
        (&["py", "ts"], "[".repeat(500_000)),
        (&["rs"], deep("fn a() { ", "}", 20_000)),
        (&["py"], stairs(20_000, 40, "if x:")),
        (&["py"], stairs(1_000, 1_000, "def f():")),
        (&["rs"], "r#".to_owned() + &"#".repeat(300_000) + "\""),
        (&["jsx"], "`${".repeat(200_000)),
        (ALL, "a".repeat(10 << 20)),
        (&["rs", "py", "java"], "\"\\\u{0}\u{feff}\u{202e}\u{10ffff}".repeat(10_000)),
        (&["go"], "\u{fffd}".repeat(300_000)),
        (&["ts", "java"], "a<".repeat(300_000)),
        (ALL, "\n".repeat(1 << 20)),
        (&["rs", "java"], "/*".repeat(400_000)),
    ];
    for (endings, text) in hostile {
        for ending in endings {
            let lines = (1..=3_000).collect();
            let began = Instant::now();
            let found = ask(&format!("x.{ending}"), text.clone(), lines);
            // A parser looks at the clock now and then; what matters is that no file holds it up.
            let limit = Duration::from_secs(8);
            assert!(began.elapsed() < limit, "{ending} {:?} {:?}", text.get(..12), began.elapsed());
            assert!(found.iter().all(|span| span.first >= 1 && span.first <= span.last), "{found:?}");
        }
    }
}

#[test]
fn a_question_that_makes_no_sense_is_an_error_and_no_answer() {
    let mut out = Vec::new();
    assert!(serve(&mut &b"{\"files\": [{"[..], &mut out).is_err());
    assert!(out.is_empty());
    let question = Question {
        files: vec![File { path: "a.go".to_owned(), text: "\0".to_owned(), lines: vec![1] }],
        ..Question::default()
    };
    serve(&mut &serde_json::to_vec(&question).unwrap()[..], &mut out).unwrap();
    assert_eq!(
        serde_json::from_slice::<Answer>(&out).unwrap(),
        Answer { files: vec![Vec::new()], ..Answer::default() }
    );
}
