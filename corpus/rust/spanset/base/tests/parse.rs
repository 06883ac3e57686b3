use spanset::{ParseError, Problem, SpanSet};

#[test]
fn text_is_brought_into_order() {
    let set: SpanSet = "8, 1-5 ,3 - 6".parse().unwrap();
    assert_eq!(set.to_string(), "1-6,8");
}

#[test]
fn empty_text_is_the_empty_set() {
    assert_eq!("  ".parse(), Ok(SpanSet::new()));
}

#[test]
fn the_wrong_part_is_named() {
    let error = "1-5,x-9".parse::<SpanSet>().unwrap_err();
    assert_eq!(
        error,
        ParseError {
            part: "x-9".to_string(),
            problem: Problem::NotANumber
        }
    );
    assert_eq!(error.to_string(), "not a number in 'x-9'");
}

#[test]
fn a_part_must_not_be_empty() {
    let error = "1,,2".parse::<SpanSet>().unwrap_err();
    assert_eq!(error.problem, Problem::Empty);
}
