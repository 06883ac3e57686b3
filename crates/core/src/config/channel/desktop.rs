//! `kind = "desktop"`: a notification on the desktop of the machine that `acquit serve` runs on.

use super::{Fields, Kind};

/// A notification on the desktop, by `notify-send`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Desktop {}

impl Kind for Desktop {
    const WORD: &'static str = "desktop";
    const KEYS: &'static [&'static str] = &[];

    fn read(_: &mut Fields<'_, '_, '_>) -> Option<Self> {
        Some(Self {})
    }
}
