//! Cron lines with five fields, and the times they match in a time zone.
//!
//! A cron line matches local times. On a day with a clock change, some local times don't exist or occur twice. Each
//! still maps to one point in time: a skipped time to the first moment after the gap, a repeated time to its first
//! occurrence. So a nightly line matches exactly once every night of the year, in every zone.
//!
//! Supported are lists (`1,15`), ranges (`1-5`), steps (`*/15`, `10-50/20`), names of months and weekdays (`jan`,
//! `mon-fri`) and `7` for Sunday. If both day of month and weekday are restricted, a day needs to match only one, as in
//! traditional cron.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone};

use crate::time::Timestamp;

/// How far to search for a match: the longest gap between two 29ths of February, and a little more.
const HORIZON_DAYS: u32 = 366 * 9;

/// Maximum length of a cron line.
const LONGEST: usize = 200;

/// A parsed cron line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both kinds of days are restricted, so that one match is enough.
    either: bool,
    text: String,
}

/// Why a text is not a cron line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Too few or too many fields.
    #[error("a cron line has five fields (minute, hour, day, month, weekday), and this one has {0}")]
    Fields(usize),
    /// An invalid field.
    #[error("`{}` is not {what}", text.escape_debug())]
    Field {
        /// The text, bounded.
        text: String,
        /// What is expected.
        what: &'static str,
    },
    /// It never matches any day.
    #[error("there is no such day in any year")]
    Never,
}

/// The valid values of a field.
struct Kind {
    what: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const KINDS: [Kind; 5] = [
    Kind { what: "a minute from 0 to 59", least: 0, most: 59, names: &[] },
    Kind { what: "an hour from 0 to 23", least: 0, most: 23, names: &[] },
    Kind { what: "a day of the month from 1 to 31", least: 1, most: 31, names: &[] },
    Kind { what: "a month from 1 to 12, or its first three letters", least: 1, most: 12, names: &MONTHS },
    Kind {
        what: "a weekday from 0 (Sunday) to 7, or its first three letters",
        least: 0,
        most: 7,
        names: &WEEKDAYS,
    },
];

impl FromStr for Cron {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else {
            return Err(Error::Fields(fields.len()));
        };
        if text.len() > LONGEST {
            return Err(Error::Field { text: crate::agent::shorten(text, 40), what: "short enough" });
        }
        let [minute, hour, day, month, weekday] = &KINDS;
        let mut week = field(weekdays, weekday)?;
        // Sunday is 0 and 7.
        if week & 1 << 7 != 0 {
            week = (week | 1) & !(1 << 7);
        }
        let cron = Self {
            minutes: field(minutes, minute)?,
            hours: field(hours, hour)?,
            days: field(days, day)?,
            months: field(months, month)?,
            weekdays: week,
            either: !days.starts_with('*') && !weekdays.starts_with('*'),
            text: fields.join(" "),
        };
        if cron.can_happen() { Ok(cron) } else { Err(Error::Never) }
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Parses a field into a bit set of numbers.
fn field(text: &str, kind: &Kind) -> Result<u64, Error> {
    let bad = || Error::Field { text: crate::agent::shorten(text, 40), what: kind.what };
    let number = |word: &str| -> Option<u32> {
        let named = kind.names.iter().position(|name| name.eq_ignore_ascii_case(word));
        let found = match named {
            // Months start at 1, weekdays at 0.
            Some(position) => u32::try_from(position).ok()? + kind.least,
            None if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok()?,
            None => return None,
        };
        (kind.least..=kind.most).contains(&found).then_some(found)
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                let step: usize = step.parse().ok().filter(|step| (1..=59).contains(step)).ok_or_else(bad)?;
                (range, Some(step))
            }
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (kind.least, kind.most),
            Some((from, to)) => (number(from).ok_or_else(bad)?, number(to).ok_or_else(bad)?),
            None => {
                let from = number(range).ok_or_else(bad)?;
                (from, if step.is_some() { kind.most } else { from })
            }
        };
        if from > to {
            return Err(bad());
        }
        // `*` must not include Sunday twice.
        let to = if range == "*" && kind.most == 7 { 6 } else { to };
        bits |= (from..=to).step_by(step.unwrap_or(1)).fold(0, |bits, number| bits | 1 << number);
    }
    Ok(bits)
}

impl Cron {
    /// Returns the first match after `after` in the zone. `None` only at the end of the calendar.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // A later local time is never an earlier moment, so only later local times can be later moments.
        let floor = local(after, zone)?;
        let mut date = floor.date();
        for _ in 0..HORIZON_DAYS {
            if self.names_day(date) {
                let hour = if date == floor.date() { floor.hour() } else { 0 };
                for time in self.times(date, hour).filter(|time| *time > floor) {
                    let at = moment(time, zone)?;
                    if at > after {
                        return Some(at);
                    }
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    fn names_day(&self, date: Date) -> bool {
        let day = self.days >> date.day() & 1 == 1;
        let weekday = self.weekdays >> date.weekday().to_sunday_zero_offset() & 1 == 1;
        let month = self.months >> date.month() & 1 == 1;
        month && if self.either { day || weekday } else { day && weekday }
    }

    /// Returns the matching local times of a day in order, starting at an hour.
    fn times(&self, date: Date, from: i8) -> impl Iterator<Item = DateTime> + '_ {
        let hours = (from..24).filter(|hour| self.hours >> hour & 1 == 1);
        hours.flat_map(move |hour| {
            let minutes = (0..60_i8).filter(|minute| self.minutes >> minute & 1 == 1);
            minutes.map(move |minute| date.at(hour, minute, 0, 0))
        })
    }

    /// Returns whether any matching month has a matching day.
    fn can_happen(&self) -> bool {
        const LENGTHS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let first = self.days.trailing_zeros();
        self.either
            || LENGTHS.iter().zip(1..).any(|(days, month)| self.months >> month & 1 == 1 && first <= *days)
    }
}

/// Converts a local time to a timestamp, even if it does not exist or occurs twice.
fn moment(local: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let at = match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
            offset.to_timestamp(local).ok()?
        }
        AmbiguousOffset::Gap { after, .. } => {
            // With the later offset it lies before the clock change, which is the first moment after the gap.
            let before = after.to_timestamp(local).ok()?;
            zone.following(before).next()?.timestamp()
        }
    };
    Some(Timestamp(at.as_millisecond()))
}

/// Returns the local date and time of a timestamp.
pub fn local(at: Timestamp, zone: &TimeZone) -> Option<DateTime> {
    Some(zone.to_datetime(jiff::Timestamp::from_millisecond(at.0).ok()?))
}

/// Returns the three-letter name of a weekday.
pub fn letters(weekday: Weekday) -> &'static str {
    let index = usize::try_from(weekday.to_sunday_zero_offset()).unwrap_or(0);
    WEEKDAYS[index % WEEKDAYS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

    fn zone(posix: &str) -> TimeZone {
        TimeZone::posix(posix).unwrap()
    }

    /// Returns the matches after a local time, as text in the zone.
    fn after(line: &str, posix: &str, from: &str, count: usize) -> Vec<String> {
        let (cron, zone): (Cron, TimeZone) = (line.parse().unwrap(), zone(posix));
        let from: DateTime = from.parse().unwrap();
        let mut at = Timestamp(from.to_zoned(zone.clone()).unwrap().timestamp().as_millisecond());
        let mut all = Vec::new();
        for _ in 0..count {
            at = cron.next(at, &zone).unwrap();
            let shown = jiff::Timestamp::from_millisecond(at.0).unwrap().to_zoned(zone.clone());
            all.push(shown.strftime("%a %Y-%m-%d %H:%M %z").to_string());
        }
        all
    }

    #[test]
    fn lines_name_the_moments_that_people_expect() {
        let table = [
            (
                "30 2 * * *",
                "2026-06-01T02:30",
                vec!["Tue 2026-06-02 02:30 +0200", "Wed 2026-06-03 02:30 +0200"],
            ),
            (
                "*/20 8-9 * * 1-5",
                "2026-06-05T09:20",
                vec!["Fri 2026-06-05 09:40 +0200", "Mon 2026-06-08 08:00 +0200"],
            ),
            (
                "0 0 1,15 * *",
                "2026-06-02T00:00",
                vec!["Mon 2026-06-15 00:00 +0200", "Wed 2026-07-01 00:00 +0200"],
            ),
            (
                "0 3 * * sun",
                "2026-06-01T00:00",
                vec!["Sun 2026-06-07 03:00 +0200", "Sun 2026-06-14 03:00 +0200"],
            ),
            ("0 3 * * 7", "2026-06-01T00:00", vec!["Sun 2026-06-07 03:00 +0200"]),
            (
                "0 3 * * fri-7",
                "2026-06-01T00:00",
                vec![
                    "Fri 2026-06-05 03:00 +0200",
                    "Sat 2026-06-06 03:00 +0200",
                    "Sun 2026-06-07 03:00 +0200",
                ],
            ),
            (
                "15/20 1 * JAN *",
                "2026-06-01T00:00",
                vec![
                    "Fri 2027-01-01 01:15 +0100",
                    "Fri 2027-01-01 01:35 +0100",
                    "Fri 2027-01-01 01:55 +0100",
                ],
            ),
            (
                "0 12 29 2 *",
                "2026-06-01T00:00",
                vec!["Tue 2028-02-29 12:00 +0100", "Sun 2032-02-29 12:00 +0100"],
            ),
            // Either the thirteenth or a Friday.
            (
                "0 0 13 * 5",
                "2026-06-06T00:00",
                vec!["Fri 2026-06-12 00:00 +0200", "Sat 2026-06-13 00:00 +0200"],
            ),
        ];
        for (line, from, expected) in table {
            assert_eq!(after(line, BERLIN, from, expected.len()), expected, "{line}");
        }
    }

    #[test]
    fn a_local_time_that_is_skipped_is_the_first_moment_after_the_gap() {
        let nights = after("30 2 * * *", BERLIN, "2026-03-27T12:00", 3);
        assert_eq!(
            nights,
            ["Sat 2026-03-28 02:30 +0100", "Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:30 +0200"]
        );
        // Four skipped quarters, and the full hour after them, are one moment.
        let quarters = after("*/15 * * * *", BERLIN, "2026-03-29T01:30", 3);
        assert_eq!(
            quarters,
            ["Sun 2026-03-29 01:45 +0100", "Sun 2026-03-29 03:00 +0200", "Sun 2026-03-29 03:15 +0200"]
        );
        // If clocks go forward at midnight, the day starts at one.
        let beirut = after("0 0 * * *", "EET-2EEST,M3.5.0/0,M10.5.0/0", "2026-03-28T12:00", 2);
        assert_eq!(beirut, ["Sun 2026-03-29 01:00 +0300", "Mon 2026-03-30 00:00 +0300"]);
    }

    #[test]
    fn a_local_time_that_comes_twice_is_the_first_of_the_two() {
        let nights = after("30 2 * * *", BERLIN, "2026-10-24T12:00", 2);
        assert_eq!(nights, ["Sun 2026-10-25 02:30 +0200", "Mon 2026-10-26 02:30 +0100"]);
        let southern = after("30 2 * * *", "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T12:00", 2);
        assert_eq!(southern, ["Sun 2026-04-05 02:30 +1100", "Mon 2026-04-06 02:30 +1000"]);
        // If clocks go back to the previous evening, that evening does not match twice either.
        let evening = after("30 23 * * *", "EET-2EEST,M3.5.0/0,M10.5.0/0", "2026-10-23T12:00", 3);
        assert_eq!(
            evening,
            ["Fri 2026-10-23 23:30 +0300", "Sat 2026-10-24 23:30 +0300", "Sun 2026-10-25 23:30 +0200"]
        );
    }

    #[test]
    fn what_is_no_cron_line_says_which_field_is_wrong() {
        let table = [
            (
                "0 2 * *",
                "a cron line has five fields (minute, hour, day, month, weekday), and this one has 4",
            ),
            ("60 2 * * *", "`60` is not a minute from 0 to 59"),
            ("0 24 * * *", "`24` is not an hour from 0 to 23"),
            ("0 2 0 * *", "`0` is not a day of the month from 1 to 31"),
            ("0 2 * foo *", "`foo` is not a month from 1 to 12, or its first three letters"),
            ("0 2 * * 8", "`8` is not a weekday from 0 (Sunday) to 7, or its first three letters"),
            ("*/0 * * * *", "`*/0` is not a minute from 0 to 59"),
            ("5-1 * * * *", "`5-1` is not a minute from 0 to 59"),
            ("+5 * * * *", "`+5` is not a minute from 0 to 59"),
            ("1,, * * * *", "`1,,` is not a minute from 0 to 59"),
            ("0 0 30 2 *", "there is no such day in any year"),
        ];
        for (line, words) in table {
            assert_eq!(line.parse::<Cron>().unwrap_err().to_string(), words, "{line}");
        }
    }
}
