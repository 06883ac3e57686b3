use spanset::Span;

#[test]
fn the_end_is_excluded() {
    let span = Span::new(3, 6);
    assert!(span.contains(3));
    assert!(span.contains(5));
    assert!(!span.contains(6));
    assert_eq!(span.len(), 3);
}

#[test]
#[should_panic(expected = "span ends before it starts: 6..3")]
fn the_end_must_not_be_before_the_start() {
    Span::new(6, 3);
}

#[test]
fn intersection_of_spans() {
    assert_eq!(Span::new(0, 5).intersection(Span::new(3, 9)), Span::new(3, 5));
    assert!(Span::new(0, 3).intersection(Span::new(5, 9)).is_empty());
}
