//! Colours with names.

use crate::Color;

const NAMES: [(&str, Color); 4] = [
    ("black", Color::BLACK),
    ("white", Color::WHITE),
    ("red", Color::new(255, 0, 0)),
    ("navy", Color::new(0, 0, 128)),
];

/// The colour of a name.
pub fn by_name(name: &str) -> Option<Color> {
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, color)| *color)
}

/// The name that is nearest to a colour.
pub fn nearest(color: Color) -> &'static str {
    let distance = |other: Color| {
        let d = |a: u8, b: u8| u32::from(a.abs_diff(b));
        d(color.r, other.r) + d(color.g, other.g) + d(color.b, other.b)
    };
    NAMES
        .iter()
        .min_by_key(|(_, other)| distance(*other))
        .map_or("", |(name, _)| name)
}
