use spanset::{Span, SpanSet};

fn set(text: &str) -> SpanSet {
    text.parse().unwrap()
}

#[test]
fn overlapping_spans_become_one() {
    let mut set = SpanSet::new();
    set.insert(Span::new(1, 4));
    set.insert(Span::new(8, 10));
    set.insert(Span::new(3, 9));
    assert_eq!(set.spans(), [Span::new(1, 10)]);
}

#[test]
fn an_empty_span_changes_nothing() {
    let mut set = set("1-3");
    set.insert(Span::new(7, 7));
    set.remove(Span::new(2, 2));
    assert_eq!(set.to_string(), "1-3");
}

#[test]
fn remove_splits_a_span() {
    let mut set = set("1-9");
    set.remove(Span::new(4, 6));
    assert_eq!(set.to_string(), "1-3,6-9");
    set.remove(Span::new(0, 4));
    assert_eq!(set.to_string(), "6-9");
}

#[test]
fn union_and_intersection() {
    let (a, b) = (set("1-5,10-15"), set("4-11,20"));
    assert_eq!(a.union(&b), set("1-15,20"));
    assert_eq!(a.intersection(&b), set("4-5,10-11"));
    assert!(a.intersection(&SpanSet::new()).is_empty());
}

#[test]
fn length_is_the_count_of_numbers() {
    assert_eq!(set("1-5,8").len(), 6);
    assert_eq!(SpanSet::new().len(), 0);
}
