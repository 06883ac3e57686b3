use inifile::{Document, Error};

const SAMPLE: &str = "\
name = demo

; the server
[Server]
host = example.org
port = 8080

[paths]
root = /srv/${Server:host}
logs = ${root}/logs

[server]
debug = no
";

fn sample() -> Document {
    SAMPLE.parse().unwrap()
}

#[test]
fn sections_keep_their_order() {
    assert_eq!(sample().names().collect::<Vec<_>>(), ["", "Server", "paths"]);
}

#[test]
fn a_section_that_occurs_again_continues_the_first() {
    let doc = sample();
    let keys: Vec<_> = doc.section("SERVER").unwrap().keys().collect();
    assert_eq!(keys, ["host", "port", "debug"]);
}

#[test]
fn names_ignore_case() {
    let doc = sample();
    assert_eq!(doc.section("server").unwrap().get("PORT"), Some("8080"));
}

#[test]
fn keys_before_a_section() {
    assert_eq!(sample().section("").unwrap().get("name"), Some("demo"));
}

#[test]
fn missing_sections() {
    assert_eq!(sample().section("client").err(), Some(Error::NoSection("client".into())));
}

#[test]
fn duplicate_keys_name_the_second_line() {
    let result = "[a]\nx = 1\nX = 2\n".parse::<Document>();
    assert_eq!(result, Err(Error::Duplicate(3, "X".into())));
}

#[test]
fn wrong_lines() {
    for (text, line) in [("[a\n", 1), ("\nnonsense\n", 2), ("[a]\n= 1\n", 2), ("x = \"a\n", 1)] {
        match text.parse::<Document>() {
            Err(Error::Syntax(number, _)) => assert_eq!(number, line, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn messages() {
    let error = "[a]\noops\n".parse::<Document>().unwrap_err();
    assert_eq!(error.to_string(), "line 2: cannot read \"oops\"");
    assert_eq!(Error::Cycle("a".into()).to_string(), "\"a\" refers to itself");
}

#[test]
fn references_are_resolved() {
    assert_eq!(sample().resolve("paths", "logs").unwrap(), "/srv/example.org/logs");
}

#[test]
fn a_cycle_is_an_error() {
    let doc: Document = "a = ${b}\nb = ${a}\n".parse().unwrap();
    assert!(matches!(doc.resolve("", "a"), Err(Error::Cycle(_))));
}

#[test]
fn references_to_nothing() {
    let doc: Document = "a = ${b}\nc = ${x:y}\nd = ${open\n".parse().unwrap();
    assert_eq!(doc.resolve("", "a"), Err(Error::NoKey("b".into())));
    assert_eq!(doc.resolve("", "c"), Err(Error::NoSection("x".into())));
    assert_eq!(doc.resolve("", "d").unwrap(), "${open");
}
