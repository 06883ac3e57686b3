//! Parses when a provider will accept work again from the messages of agents. If it is uncertain, the time counts as
//! unknown.

use std::time::Duration;

use acquit_core::time::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

/// Returns the time that a message names: `…limit reached|1794774780`, `resets 8:33pm (UTC)`,
/// `resets Nov 20, 3pm (UTC)`, `try again in 2 days 3 hours`, `try again at 3:15 PM`, `retry in 12.5s`. An hour without
/// a day is the next one after `now`.
pub(super) fn in_text(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.to_ascii_lowercase();
    after(&text, "|")
        .and_then(|rest| epoch(digits(rest).0))
        .or_else(|| {
            ["try again in ", "retry in ", "retry after "]
                .iter()
                .find_map(|word| Some(now.plus(length(after(&text, word)?)?)))
        })
        .or_else(|| clock(after(&text, "resets ").or_else(|| after(&text, "try again at "))?, now))
}

/// Parses seconds since 1970, if the time is in this century.
pub(crate) fn epoch(seconds: &str) -> Option<Timestamp> {
    let seconds: i64 = seconds.parse().ok()?;
    (946_684_800..4_102_444_800).contains(&seconds).then_some(Timestamp(seconds * 1_000))
}

fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.split_once(word).map(|(_, rest)| rest)
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// Parses `2 days 3 hours 5 minutes`, `1h30m`, `12.5s`, up to the first word that is not part of a duration.
fn length(text: &str) -> Option<Duration> {
    /// No provider rejects work for longer, so it is not a duration then.
    const LONGEST: u64 = 40 * 86_400;
    let mut total = None;
    let mut rest = text;
    loop {
        let (number, tail) = digits(rest);
        let tail = tail.strip_prefix('.').map_or(tail, |fraction| digits(fraction).1);
        let tail = tail.trim_start_matches(' ');
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let seconds = match unit {
            "d" | "day" | "days" => 86_400,
            "h" | "hr" | "hour" | "hours" => 3_600,
            "m" | "min" | "minute" | "minutes" => 60,
            // Add a second for the fraction that was cut off.
            "s" | "sec" | "second" | "seconds" => 1,
            _ => break,
        };
        let Ok(number) = number.parse::<u64>() else { break };
        let part = number.checked_mul(seconds).filter(|part| *part <= LONGEST)?;
        total = Some(total.unwrap_or(0) + part + u64::from(seconds == 1));
        rest = tail.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    total.filter(|total| *total <= LONGEST).map(Duration::from_secs)
}

/// Parses `8:33pm (utc)`, `nov 20, 3pm (europe/paris)` or, without a zone, in that of this machine, where the agent
/// runs too.
fn clock(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.split(['\n', '.']).next()?;
    let (text, zone) = match text.split_once('(') {
        Some((text, zone)) => (
            text,
            match zone.split_once(')')?.0 {
                "utc" => TimeZone::UTC,
                name => TimeZone::get(name).ok()?,
            },
        ),
        None => (text, TimeZone::system()),
    };
    let now = jiff::Timestamp::from_millisecond(now.0).ok()?.to_zoned(zone.clone());
    let (date, time) = match text.rsplit_once(',') {
        Some((date, time)) => (Some(date.trim()), time.trim()),
        None => (None, text.trim()),
    };
    let (year, time) = match time.split_once(' ') {
        // Not `6:35 am`, which has the same length.
        Some((year, rest)) if year.len() == 4 && digits(year).1.is_empty() => {
            (year.parse::<i16>().ok(), rest.trim())
        }
        _ => (None, time),
    };
    let (hour, rest) = digits(time.strip_prefix("at ").unwrap_or(time));
    let (minute, rest) = rest.strip_prefix(':').map_or(("0", rest), digits);
    let hour: i8 = hour.parse().ok().filter(|hour| (0..24).contains(hour))?;
    let hour = match rest.trim() {
        "am" => hour % 12,
        "pm" => hour % 12 + 12,
        "" => hour,
        _ => return None,
    };
    let time = Time::new(hour, minute.parse().ok()?, 0, 0).ok()?;
    let on = |date: Date| date.to_datetime(time).to_zoned(zone.clone()).ok();
    let at = match date {
        None => {
            let today = on(now.date())?;
            if today > now { today } else { on(now.date().tomorrow().ok()?)? }
        }
        Some(date) => {
            let (month, day) = month_and_day(date)?;
            let of_year = |year| Date::new(year, month, day).ok().and_then(on);
            match year {
                Some(year) => of_year(year)?,
                None => of_year(now.year()).filter(|at| *at > now).or_else(|| of_year(now.year() + 1))?,
            }
        }
    };
    Some(Timestamp(at.timestamp().as_millisecond()))
}

/// Parses `nov 20`, `november 5th`.
fn month_and_day(text: &str) -> Option<(i8, i8)> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (month, day) = text.split_once(' ')?;
    let month = MONTHS.iter().zip(1..).find(|(name, _)| month.starts_with(*name))?.1;
    Some((month, digits(day).0.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-15 20:00:00 UTC.
    const NOW: Timestamp = Timestamp(1_794_772_800_000);
    const MINUTE: i64 = 60_000;

    fn minutes(text: &str) -> Option<i64> {
        in_text(text, NOW).map(|at| (at.0 - NOW.0) / MINUTE)
    }

    #[test]
    fn times_in_words_are_found() {
        assert_eq!(minutes("You've hit your 5-hour limit · resets 8:33pm (UTC)"), Some(33));
        assert_eq!(minutes("resets 7:30pm (UTC)"), Some(23 * 60 + 30));
        assert_eq!(minutes("resets 12am (UTC)"), Some(4 * 60));
        assert_eq!(minutes("limit · resets Nov 17, 3pm (UTC)"), Some(43 * 60));
        assert_eq!(minutes("resets Jan 2, 12pm (UTC)"), Some((47 * 24 + 16) * 60));
        assert_eq!(minutes("resets Nov 17th, 2026 3:00 PM (UTC)"), Some(43 * 60));
        assert_eq!(minutes("or try again at 9:35 PM (UTC)."), Some(95));
        assert_eq!(minutes("usage limit reached|1794774780"), Some(33));
        assert_eq!(minutes("Try again in 2 days 3 hours 5 minutes."), Some((51 * 60) + 5));
        assert_eq!(minutes("please retry in 119.2s."), Some(2));
        assert_eq!(minutes("try again in 1h30m"), Some(90));
    }

    #[test]
    fn what_is_not_certain_is_not_guessed() {
        for text in [
            "resets 3pm (Nowhere/Town)",
            "resets 3pm (utc",
            "try again in a moment",
            "resets 25:00 (UTC)",
            "resets Foo 3, 3pm (UTC)",
            "resets Feb 31, 3pm (UTC)",
            "limit|99999999999999999999",
            "limit|12",
            "try again in 99999999999999999999 days",
            "try again in 9999999 days",
            "resets (utc)",
            "",
        ] {
            assert_eq!(in_text(text, NOW), None, "{text}");
        }
    }
}
