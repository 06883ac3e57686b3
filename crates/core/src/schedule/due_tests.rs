//! A year of nights in simulated time, and the handling of missed runs.

use std::collections::BTreeMap;

use jiff::civil::Date;
use proptest::prelude::*;

use super::*;
use crate::ids::Name;
use crate::schedule::Hours;
use crate::schedule::{Categories, Order, local};

/// Zones with clock changes: two in the north, on different days, and one in the south.
const ZONES: [(&str, &str); 3] = [
    ("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("Australia/Sydney", "AEST-10AEDT,M10.1.0,M4.1.0/3"),
];

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn nightly(cron: &str) -> Schedule {
    let days = [
        ("mon", "tests"),
        ("tue", "refactoring"),
        ("wed", "docs"),
        ("thu", "security"),
        ("fri", "performance"),
        ("sat", "tests"),
        ("sun", "docs"),
    ];
    let days = days.into_iter().map(|(day, category)| (day, category.to_owned()));
    Schedule {
        base: None,
        name: Name::literal("night"),
        cron: cron.parse().unwrap(),
        zone: None,
        workflow: Name::literal("nightshift"),
        title: None,
        category: Categories::Weekdays(days.collect()),
        repositories: Vec::new(),
        order: Order::InOrder,
        catch_up: CatchUp::Skip,
        overlap: Overlap::Skip,
        hours: None,
        budget: None,
        most_open: 3,
        paused: false,
    }
}

fn at(text: &str, zone: &TimeZone) -> Timestamp {
    let local: jiff::civil::DateTime = text.parse().unwrap();
    Timestamp(local.to_zoned(zone.clone()).unwrap().timestamp().as_millisecond())
}

/// The store: runs by nominal time. Only this outlives a daemon.
#[derive(Default)]
struct Record {
    runs: BTreeMap<Timestamp, (Option<String>, Progress)>,
    /// Effects in the order in which they happened. None may occur twice.
    begun: Vec<Timestamp>,
}

#[derive(Clone, Copy, PartialEq)]
enum Progress {
    Recorded,
    Begun,
    Over,
    Skipped,
}

/// A daemon that is killed after `fuel` steps.
fn look(
    record: &mut Record,
    schedule: &Schedule,
    zone: &TimeZone,
    since: Timestamp,
    now: Timestamp,
    fuel: &mut u32,
) -> Option<()> {
    let burn = |fuel: &mut u32| {
        *fuel = fuel.checked_sub(1)?;
        Some(())
    };
    burn(fuel)?;
    let open = |run: &(Option<String>, Progress)| matches!(run.1, Progress::Recorded | Progress::Begun);
    let last = record.runs.keys().next_back().copied().unwrap_or(since);
    let earlier = if record.runs.values().any(open) { Earlier::Running } else { Earlier::Over };
    for one in due(schedule, zone, last, now, earlier) {
        burn(fuel)?;
        let progress = match one.verdict {
            Verdict::Run | Verdict::Queue => Progress::Recorded,
            Verdict::Skip(_) => Progress::Skipped,
        };
        // The key is unique: the second writer changes nothing.
        record.runs.entry(one.nominal).or_insert((one.category, progress));
    }
    let unfinished: Vec<Timestamp> =
        record.runs.iter().filter(|(_, run)| open(run)).map(|(nominal, _)| *nominal).collect();
    for nominal in unfinished {
        burn(fuel)?;
        let run = record.runs.get_mut(&nominal).unwrap();
        if run.1 == Progress::Recorded {
            // The task's id was reserved with the record, so this happens only once, as in the daemon.
            run.1 = Progress::Begun;
            record.begun.push(nominal);
        }
        burn(fuel)?;
        run.1 = Progress::Over;
    }
    Some(())
}

/// Every local date of a year, with the category of its weekday.
fn calendar(begin: Date) -> BTreeMap<Date, &'static str> {
    let category = |date: Date| match letters(date) {
        "mon" | "sat" => "tests",
        "tue" => "refactoring",
        "wed" | "sun" => "docs",
        "thu" => "security",
        _ => "performance",
    };
    std::iter::successors(Some(begin), |date| date.tomorrow().ok())
        .take(365)
        .map(|date| (date, category(date)))
        .collect()
}

fn letters(date: Date) -> &'static str {
    crate::schedule::letters(date.weekday())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// SPEC §8 "cron with time zone, … category by weekday": the right category each night, none missed, none doubled.
    #[test]
    fn a_year_of_nights_has_the_right_category_each_and_none_is_missed_or_doubled(
        zone in 0..ZONES.len(),
        // Include the hour that is skipped and the one that occurs twice.
        hour in prop_oneof![Just("30 2"), Just("0 3"), Just("30 1"), Just("59 23"), Just("0 0")],
        mut random in any::<u64>(),
    ) {
        let posix = TimeZone::posix(ZONES[zone].1).unwrap();
        let schedule = nightly(&format!("{hour} * * *"));
        let begin: Date = "2026-01-01".parse().unwrap();
        let since = Timestamp(at("2026-01-01T00:00", &posix).0 - 1);
        let end = Timestamp(at("2027-01-01T00:00", &posix).0 - 1);
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut record = Record::default();
        let mut now = since;
        while now < end {
            // Never away longer than the grace period when a run is due; looks in between change nothing.
            let until = schedule.cron.next(now, &posix).unwrap().0 - now.0;
            let step = if until > 30 * MINUTE && next(4) > 0 { until - 5 * MINUTE } else { 4 * MINUTE };
            let step = i64::try_from(next(u64::try_from(step).unwrap())).unwrap();
            now = Timestamp((now.0 + 1 + step).min(end.0));
            let mut fuel = if next(3) == 0 { u32::try_from(next(5)).unwrap() } else { u32::MAX };
            let killed = look(&mut record, &schedule, &posix, since, now, &mut fuel).is_none();
            if killed {
                // Another daemon starts soon after.
                now = Timestamp((now.0 + i64::try_from(next(3 * 60_000)).unwrap()).min(end.0));
                let mut enough = u32::MAX;
                look(&mut record, &schedule, &posix, since, now, &mut enough);
            }
        }
        let expected = calendar(begin);
        let mut found = BTreeMap::new();
        for nominal in &record.begun {
            let date = local(*nominal, &posix).unwrap().date();
            let category = record.runs[nominal].0.clone().unwrap();
            prop_assert!(found.insert(date, category).is_none(), "{date} twice");
        }
        prop_assert_eq!(found.len(), 365);
        for (date, category) in expected {
            prop_assert_eq!(found.get(&date).map(String::as_str), Some(category), "{}", date);
        }
    }
}

#[test]
fn real_zones_give_the_same_year_as_their_rules() {
    for (name, posix) in ZONES {
        let (Ok(real), rules) = (TimeZone::get(name), TimeZone::posix(posix).unwrap()) else { continue };
        let schedule = nightly("30 2 * * *");
        let begin = at("2026-01-01T00:00", &rules);
        let year = |zone: &TimeZone| schedule.upcoming(begin, zone, 365);
        assert_eq!(year(&real), year(&rules), "{name}");
    }
}

#[test]
fn what_was_slept_through_is_skipped_or_made_up_for_once() {
    let zone = TimeZone::posix(ZONES[0].1).unwrap();
    let mut schedule = nightly("30 2 * * *");
    let (last, now) = (at("2026-06-01T02:30", &zone), at("2026-06-04T09:00", &zone));
    let verdicts = |schedule: &Schedule, now| -> Vec<Verdict> {
        due(schedule, &zone, last, now, Earlier::Over).into_iter().map(|due| due.verdict).collect()
    };
    let missed = Verdict::Skip(Reason::Missed);
    assert_eq!(verdicts(&schedule, now), [missed.clone(), missed.clone(), missed.clone()]);
    schedule.catch_up = CatchUp::Once;
    assert_eq!(verdicts(&schedule, now), [missed.clone(), missed.clone(), Verdict::Run]);
    // It is caught up only within its hours.
    schedule.hours = Hours::parse("22:00-06:00");
    assert_eq!(verdicts(&schedule, now), [missed.clone(), missed.clone(), Verdict::Skip(Reason::Hours)]);
    let soon = at("2026-06-04T05:00", &zone);
    assert_eq!(verdicts(&schedule, soon), [missed.clone(), missed, Verdict::Run]);
}

#[test]
fn a_run_within_a_few_minutes_of_its_time_was_not_slept_through() {
    let zone = TimeZone::UTC;
    let schedule = nightly("30 2 * * *");
    let last = at("2026-06-01T02:30", &zone);
    let verdict =
        |now: &str| due(&schedule, &zone, last, at(now, &zone), Earlier::Over).pop().unwrap().verdict;
    assert_eq!(verdict("2026-06-02T02:30"), Verdict::Run);
    assert_eq!(verdict("2026-06-02T02:40"), Verdict::Run);
    assert_eq!(verdict("2026-06-02T02:41"), Verdict::Skip(Reason::Missed));
    assert!(due(&schedule, &zone, last, at("2026-06-02T02:29", &zone), Earlier::Over).is_empty());
}

#[test]
fn a_run_whose_time_comes_while_another_goes_on_is_skipped_or_waits() {
    let zone = TimeZone::UTC;
    let mut schedule = nightly("30 2 * * *");
    let (last, now) = (at("2026-06-01T02:30", &zone), at("2026-06-02T02:31", &zone));
    let verdict =
        |schedule: &Schedule| due(schedule, &zone, last, now, Earlier::Running).pop().unwrap().verdict;
    assert_eq!(verdict(&schedule), Verdict::Skip(Reason::Overlap));
    schedule.overlap = Overlap::Queue;
    assert_eq!(verdict(&schedule), Verdict::Queue);
}

#[test]
fn on_a_day_without_a_category_nothing_is_run_and_the_day_before_is_made_up_for() {
    let zone = TimeZone::UTC;
    let mut schedule = nightly("30 2 * * *");
    schedule.category =
        Categories::Weekdays([("fri", "tests")].map(|(day, category)| (day, category.to_owned())).into());
    schedule.catch_up = CatchUp::Once;
    // 5 June 2026 is a Friday.
    let all =
        due(&schedule, &zone, at("2026-06-04T12:00", &zone), at("2026-06-07T12:00", &zone), Earlier::Over);
    let verdicts: Vec<Verdict> = all.into_iter().map(|due| due.verdict).collect();
    assert_eq!(
        verdicts,
        [Verdict::Run, Verdict::Skip(Reason::NoCategory("sat")), Verdict::Skip(Reason::NoCategory("sun"))]
    );
    let upcoming = schedule.upcoming(at("2026-06-06T00:00", &zone), &zone, 2);
    let dates: Vec<i64> = upcoming.iter().map(|(moment, _)| moment.0).collect();
    assert_eq!(dates, [at("2026-06-12T02:30", &zone).0, at("2026-06-19T02:30", &zone).0]);
}

#[test]
fn a_long_absence_fills_no_record() {
    let schedule = Schedule { category: Categories::Unsaid, ..nightly("* * * * *") };
    let zone = TimeZone::UTC;
    let all = due(&schedule, &zone, Timestamp(0), Timestamp(400 * DAY), Earlier::Over);
    assert_eq!(all.len(), MOST);
    assert_eq!(all.last().unwrap().verdict, Verdict::Run);
    assert_eq!(all.last().unwrap().nominal, Timestamp(400 * DAY));
}

#[test]
fn a_clock_that_was_wrong_for_a_while_keeps_no_later_night_from_being_run() {
    let zone = TimeZone::posix(ZONES[0].1).unwrap();
    let schedule = nightly("30 2 * * *");
    // A night was recorded in a future year; the clock has been corrected since.
    let last = at("2031-01-01T02:30", &zone);
    let now = at("2026-06-02T02:31", &zone);
    let runs = due(&schedule, &zone, last, now, Earlier::Over);
    let nominal = at("2026-06-02T02:30", &zone);
    assert_eq!(
        runs.iter().map(|run| (run.nominal, run.verdict.clone())).collect::<Vec<_>>(),
        [(nominal, Verdict::Run)]
    );
    let later = at("2026-06-02T12:00", &zone);
    assert_eq!(due(&schedule, &zone, last, later, Earlier::Over), [], "what nobody knows of is not missed");
}
