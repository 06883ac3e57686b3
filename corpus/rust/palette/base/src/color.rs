//! A colour and its text form.

use std::fmt;
use std::str::FromStr;

/// A colour with eight bits for each channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Color {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
}

/// The text is not a colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseColorError(pub String);

impl fmt::Display for ParseColorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a colour: {}", self.0)
    }
}

impl std::error::Error for ParseColorError {}

impl Color {
    /// Black.
    pub const BLACK: Color = Color::new(0, 0, 0);
    /// White.
    pub const WHITE: Color = Color::new(255, 255, 255);

    /// A colour of its channels.
    pub const fn new(r: u8, g: u8, b: u8) -> Self {
        Color { r, g, b }
    }

    /// The colour without its hue.
    pub fn gray(self) -> Self {
        let y = (u32::from(self.r) + u32::from(self.g) + u32::from(self.b)) / 3;
        Color::new(y as u8, y as u8, y as u8)
    }

    /// Each channel made brighter by an amount.
    pub fn lighten(self, amount: u8) -> Self {
        Color::new(self.r + amount, self.g + amount, self.b + amount)
    }
}

impl FromStr for Color {
    type Err = ParseColorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseColorError(text.to_string());
        let hex = text.strip_prefix('#').ok_or_else(error)?;
        if hex.len() != 6 {
            return Err(error());
        }
        let channel = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).map_err(|_| error());
        Ok(Color::new(channel(0)?, channel(2)?, channel(4)?))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:x}{:x}{:x}", self.r, self.g, self.b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grays() {
        assert_eq!(Color::new(30, 60, 90).gray(), Color::new(60, 60, 60));
    }

    #[test]
    fn lightens() {
        assert_eq!(Color::new(10, 20, 30).lighten(5), Color::new(15, 25, 35));
    }
}
