//! Hours of the day in which something may happen.

use serde::{Deserialize, Serialize};

/// Hours of the day, which may span midnight: `22:00-06:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours {
    /// First minute of the day that is inside.
    pub from: u16,
    /// First minute of the day that is outside again.
    pub to: u16,
}

/// Minutes of a day.
const DAY: u16 = 24 * 60;

impl Hours {
    /// Parses `22:00-06:00`. Returns `None` if it is invalid or empty.
    pub fn parse(text: &str) -> Option<Self> {
        let minute = |text: &str| {
            let (hour, minute) = text.trim().split_once(':')?;
            let two = |part: &str| {
                part.parse::<u16>()
                    .ok()
                    .filter(|_| part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit()))
            };
            let (hour, minute) = (two(hour)?, two(minute)?);
            (hour <= 24 && minute < 60 && (hour < 24 || minute == 0)).then_some(hour * 60 + minute)
        };
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute(from)? % DAY, minute(to)?);
        (from != to % DAY).then_some(Self { from, to })
    }

    /// Returns the number of minutes from a minute of the day until the hours start; zero inside.
    pub fn until(self, minute: u16) -> u16 {
        let inside = if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        };
        if inside { 0 } else { (self.from + DAY - minute) % DAY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_read_as_people_write_them() {
        assert_eq!(Hours::parse("22:00-06:00"), Some(Hours { from: 1320, to: 360 }));
        assert_eq!(Hours::parse("9:30 - 24:00"), Some(Hours { from: 570, to: 1440 }));
        for bad in ["", "22-6", "25:00-06:00", "22:60-06:00", "06:00-06:00", "0:00-24:00", "+9:00-10:00"] {
            assert_eq!(Hours::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn outside_of_its_hours_a_minute_waits_for_the_next_beginning() {
        let night = Hours { from: 1320, to: 360 };
        for minute in 0..DAY {
            let later = (minute + night.until(minute)) % DAY;
            assert!(!(360..1320).contains(&later), "{minute} leads to {later}");
        }
        assert_eq!([night.until(0), night.until(359), night.until(360), night.until(1319)], [0, 0, 960, 1]);
        assert_eq!(Hours { from: 540, to: 600 }.until(600), 1380);
    }
}
