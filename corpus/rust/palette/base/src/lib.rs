//! Colours, mixes and contrast.

pub mod color;
pub mod contrast;
pub mod mix;
pub mod names;

pub use color::{Color, ParseColorError};
pub use contrast::{contrast, is_readable};
pub use mix::{mix, ramp};
