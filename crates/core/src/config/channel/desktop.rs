//! `kind = "desktop"`: a desktop notification on the machine that runs `acquit serve`.

use super::{Fields, Kind};

/// A desktop notification through `notify-send`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desktop {}

impl Kind for Desktop {
    const WORD: &'static str = "desktop";
    const KEYS: &'static [&'static str] = &[];

    fn read(_: &mut Fields<'_, '_, '_>) -> Option<Self> {
        Some(Self {})
    }
}
