//! Colours between colours.

use crate::Color;

fn between(a: u8, b: u8, part: f64) -> u8 {
    (f64::from(a) + (f64::from(b) - f64::from(a)) * part) as u8
}

/// A colour between two: 0 is the first, 1 the second.
pub fn mix(a: Color, b: Color, part: f64) -> Color {
    Color::new(
        between(a.r, b.r, part),
        between(a.g, b.g, part),
        between(a.b, b.b, part),
    )
}

/// So many colours from the first to the last, both included.
pub fn ramp(first: Color, last: Color, count: usize) -> Vec<Color> {
    (0..count)
        .map(|i| mix(first, last, i as f64 / (count - 1) as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_a_mix() {
        let a = Color::new(10, 20, 30);
        assert_eq!(mix(a, Color::WHITE, 0.0), a);
        assert_eq!(mix(a, Color::WHITE, 1.0), Color::WHITE);
    }

    #[test]
    fn half_of_a_mix() {
        let half = mix(Color::BLACK, Color::new(100, 200, 50), 0.5);
        assert_eq!(half, Color::new(50, 100, 25));
    }

    #[test]
    fn ramp_has_both_ends() {
        let ramp = ramp(Color::BLACK, Color::new(100, 100, 100), 5);
        assert_eq!(ramp.len(), 5);
        assert_eq!(ramp[0], Color::BLACK);
        assert_eq!(ramp[1], Color::new(25, 25, 25));
        assert_eq!(ramp[4], Color::new(100, 100, 100));
    }
}
