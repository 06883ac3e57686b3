//! Figures of many values, as a user of the crate sees them.

use tally::stats::{histogram, mean, median};

#[test]
fn mean_of_nothing() {
    assert_eq!(mean(&[]), None);
}

#[test]
fn mean_of_some() {
    let mean = mean(&[1.0, 2.0, 6.0]).expect("a mean");
    assert!((mean - 3.0).abs() < 1e-9);
}

#[test]
fn median_of_odd() {
    assert_eq!(median(&[9, 1, 5]), 5.0);
}

#[test]
fn classes() {
    assert_eq!(histogram(&[1, 2, 11, 25], 10), [(0, 2), (10, 1), (20, 1)]);
}
