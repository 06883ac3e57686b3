//! Contrast of two colours, after WCAG 2.

use crate::Color;

fn linear(channel: u8) -> f64 {
    let c = f64::from(channel) / 255.0;
    if c <= 0.03928 {
        c / 12.92
    } else {
        ((c + 0.055) / 1.055).powf(2.4)
    }
}

/// The relative luminance, from 0 to 1.
pub fn luminance(color: Color) -> f64 {
    0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)
}

/// The contrast of a text on a background, from 1 to 21.
pub fn contrast(text: Color, background: Color) -> f64 {
    (luminance(text) + 0.05) / (luminance(background) + 0.05)
}

/// Whether a text of normal size can be read on a background.
pub fn is_readable(text: Color, background: Color) -> bool {
    contrast(text, background) > 4.5
}
