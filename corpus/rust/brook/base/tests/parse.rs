use brook::{parse, Error};

#[test]
fn sections_and_keys() {
    let settings = parse("a = 1\n[s]\nb = 2\n[ t ]\nb=3").unwrap();
    assert_eq!(settings.len(), 3);
    assert_eq!(settings.raw("a"), Some("1"));
    assert_eq!(settings.raw("s.b"), Some("2"));
    assert_eq!(settings.raw("t.b"), Some("3"));
    assert_eq!(settings.raw("b"), None);
}

#[test]
fn comments_and_empty_lines() {
    assert!(parse("").unwrap().is_empty());
    assert!(parse("# only\n\n   # comments\n").unwrap().is_empty());
    assert_eq!(parse("a = 1 # one").unwrap().raw("a"), Some("1"));
}

#[test]
fn quotes() {
    assert_eq!(parse("a = \" x \"").unwrap().raw("a"), Some(" x "));
}

#[test]
fn what_is_wrong() {
    let cases = [
        ("a", Error::Syntax { line: 1, text: "a".into() }),
        ("\n[s\n", Error::Syntax { line: 2, text: "[s".into() }),
        ("[s]\na = 1\na = 2", Error::Duplicate { line: 3, key: "s.a".into() }),
    ];
    for (text, error) in cases {
        assert_eq!(parse(text), Err(error), "{text:?}");
    }
}
