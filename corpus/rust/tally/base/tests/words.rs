//! Words of a text, as a user of the crate sees them.

use tally::words::{camel, count, frequent, truncate};

#[test]
fn counts_words() {
    assert_eq!(count("one two three"), 3);
    assert_eq!(count("  one  ".trim()), 1);
}

#[test]
fn short_texts_stay() {
    assert_eq!(truncate("short", 10), "short");
}

#[test]
fn long_texts_are_cut() {
    assert_eq!(truncate("a long text", 6), "a long...");
}

#[test]
fn camel_case() {
    assert_eq!(camel("some words here"), "SomeWordsHere");
}

#[test]
fn frequent_words_first() {
    let words = frequent("a b B c c c", 2);
    assert_eq!(words, [("c".to_string(), 3), ("b".to_string(), 2)]);
}

#[test]
fn equally_frequent_words_by_name() {
    let words = frequent("pear apple", 5);
    assert_eq!(words[0].0, "apple");
}
