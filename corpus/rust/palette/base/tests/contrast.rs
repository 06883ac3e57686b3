use palette::contrast::luminance;
use palette::{contrast, is_readable, Color};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.005
}

#[test]
fn luminance_of_the_ends() {
    assert!(close(luminance(Color::BLACK), 0.0));
    assert!(close(luminance(Color::WHITE), 1.0));
}

#[test]
fn white_on_black() {
    assert!(close(contrast(Color::WHITE, Color::BLACK), 21.0));
}

#[test]
fn white_on_blue() {
    let blue = Color::new(0x33, 0x66, 0xcc);
    assert!(close(contrast(Color::WHITE, blue), 5.37));
}

#[test]
fn white_on_blue_is_readable() {
    assert!(is_readable(Color::WHITE, Color::new(0x33, 0x66, 0xcc)));
}

#[test]
fn white_on_yellow_is_not() {
    assert!(!is_readable(Color::WHITE, Color::new(0xff, 0xee, 0x00)));
}
