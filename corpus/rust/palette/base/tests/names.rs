use palette::names::{by_name, nearest};
use palette::Color;

#[test]
fn finds_names() {
    assert_eq!(by_name("navy"), Some(Color::new(0, 0, 128)));
}

#[test]
fn unknown_names() {
    assert_eq!(by_name("mauve"), None);
}

#[test]
fn nearest_name() {
    assert_eq!(nearest(Color::new(10, 0, 120)), "navy");
    assert_eq!(nearest(Color::new(250, 250, 240)), "white");
}
