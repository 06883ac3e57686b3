mod common;

use brook::{parse, Error};
use common::Rng;

#[test]
fn references() {
    let settings = parse("a = x\nb = ${a}${a}\nc = <${b}>").unwrap();
    assert_eq!(settings.get("c").unwrap(), "<xx>");
    assert_eq!(settings.raw("c"), Some("<${b}>"));
}

#[test]
fn missing() {
    let settings = parse("a = ${b}").unwrap();
    assert_eq!(settings.get("a"), Err(Error::Missing("b".into())));
    assert_eq!(settings.get("z"), Err(Error::Missing("z".into())));
}

#[test]
fn cycles() {
    let settings = parse("a = ${b}\nb = ${a}").unwrap();
    assert!(matches!(settings.get("a"), Err(Error::Cycle(_))));
}

#[test]
fn chains_of_any_order() {
    let mut rng = Rng(42);
    for _ in 0..50 {
        let length = 1 + rng.below(20);
        let mut lines: Vec<String> = (0..length).map(|i| format!("k{i} = ${{k{}}}{i}", i + 1)).collect();
        lines.push(format!("k{length} = end"));
        let at = rng.below(length) as usize;
        lines.rotate_left(at);
        let expected: String = "end".to_string() + &(0..length).rev().map(|i| i.to_string()).collect::<String>();
        assert_eq!(parse(&lines.join("\n")).unwrap().get("k0").unwrap(), expected);
    }
}
