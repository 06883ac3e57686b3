//! Compares test results with the base, one by one: every test that passed there must pass now or be accounted for.
//!
//! Test names are not stable: they contain parameters, times and numbers. So tests are compared by name first, and the
//! missing ones by family: the name without its variable parts. A family with as many passing cases as before lost
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::Ran;
use super::account::{Account, Fate, is_called};
use crate::gate::{Evidence, Weight, rule};
use crate::results::{Known, Merged, TestId};

/// What a task may do to tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Tests may be removed.
    pub removing: bool,
    /// Tests may be skipped.
    pub skipping: bool,
}

/// What is known about tests that no longer exist.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    /// From their source.
    pub source: Account,
    /// From the task.
    pub allowed: Allowed,
}

/// Adds the results of the comparison.
pub fn compare(base: &Merged, now: &Ran, accounts: &Accounts, evidence: &mut Evidence) {
    let (mut before, mut flaky) = (0_usize, 0_usize);
    for id in now.merged.results.tests.keys() {
        match (base.of(id), now.merged.of(id)) {
            (Known::Flaky, Known::Red(_)) | (_, Known::Flaky) => {
                flaky += 1;
                let (failed, runs) = now.merged.odds(id);
                let what = format!("{id} is flaky: it failed in {failed} of {runs} runs");
                evidence.find(Weight::Noted, "flaky", &what, None);
            }
            (Known::Red(_), Known::Red(_)) => {
                before += 1;
                let what = format!("{id} failed before the change, too");
                evidence.find(Weight::Noted, rule::BROKEN_BEFORE, &what, None);
            }
            (Known::Passed, Known::Red(case)) => {
                let what = format!("{id} passed before the change: {}", case.message);
                evidence.find(Weight::Fails, "new-failure", &what, case.location.clone());
            }
            (Known::Absent | Known::Skipped, Known::Red(case)) => {
                let what = format!("{id} is new and fails: {}", case.message);
                evidence.find(Weight::Fails, "new-failure", &what, case.location.clone());
            }
            (_, Known::Passed | Known::Skipped | Known::Absent) => {}
        }
    }
    let gone = missing(base, now, accounts, evidence);
    for (what, number) in [("failed before", before), ("flaky", flaky), ("gone", gone)] {
        if number > 0 {
            evidence.figure(what, number);
        }
    }
}

/// Returns whether a test that passed on the base now neither passes nor fails. If so, the base runs again before the
/// change is blamed.
pub fn misses(base: &Merged, now: &Merged) -> bool {
    let lost =
        |id: &TestId| base.of(id) == Known::Passed && matches!(now.of(id), Known::Absent | Known::Skipped);
    base.results.tests.keys().any(lost)
}

/// Adds tests that passed on the base and did not run. Returns how many of them exist under no other name.
fn missing(base: &Merged, now: &Ran, accounts: &Accounts, evidence: &mut Evidence) -> usize {
    let merged = &now.merged;
    let passed = |all: &Merged| -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for id in all.results.tests.keys().filter(|id| matches!(all.of(id), Known::Passed | Known::Flaky)) {
            *counts.entry(family(id)).or_default() += 1;
        }
        counts
    };
    let (had, has) = (passed(base), passed(merged));
    let mut absent: BTreeMap<(String, String), Vec<&TestId>> = BTreeMap::new();
    for id in base.results.tests.keys().filter(|id| base.of(id) == Known::Passed) {
        match merged.of(id) {
            Known::Absent => absent.entry(family(id)).or_default().push(id),
            Known::Skipped => skipped(id, merged, accounts, evidence),
            Known::Passed | Known::Red(_) | Known::Flaky => {}
        }
    }
    let mut fresh: Vec<&TestId> =
        merged.results.tests.keys().filter(|id| base.of(id) == Known::Absent).collect();
    fresh.retain(|id| matches!(merged.of(id), Known::Passed | Known::Flaky));
    let mut taken: BTreeSet<&TestId> = BTreeSet::new();
    let mut gone = 0;
    for (family, ids) in absent {
        let count = |all: &BTreeMap<(String, String), usize>| all.get(&family).copied().unwrap_or_default();
        let (had, has) = (count(&had), count(&has));
        let lost = had.saturating_sub(has).min(ids.len());
        for id in ids.into_iter().take(lost) {
            let same_name = |other: &&&TestId| {
                let moved = leaf(&other.name) == leaf(&id.name) && self::family(other) != family;
                moved && !taken.contains(**other)
            };
            let (weight, rule, what) = match accounts.source.fate(&id.name) {
                Some(Fate::Helper) => continue,
                Some(Fate::Moved(to)) if fresh.iter().any(|other| is_called(&other.name, to)) => continue,
                Some(Fate::Moved(to))
                    if merged.results.tests.keys().any(|other| is_called(&other.name, to)) =>
                {
                    continue;
                }
                Some(Fate::Moved(to)) => {
                    let what = format!(
                        "{id} passed on the base. Its content is in `{to}` now, which no runner runs"
                    );
                    (Weight::Fails, "vanished", what)
                }
                Some(Fate::Removed) if accounts.allowed.removing => {
                    (Weight::Noted, "removed", format!("{id} is removed, as the task allows"))
                }
                Some(Fate::Removed) => {
                    let what = format!(
                        "{id} passed on the base, and the change removes it. Restore it; only the task can allow its removal, by \
                         the tag `allow-dilution:test-removed`"
                    );
                    (Weight::Fails, "vanished", what)
                }
                // The source is unknown. A file that moved as a whole is found by the names in it.
                None => match fresh.iter().find(same_name) {
                    Some(other) => {
                        taken.insert(other);
                        continue;
                    }
                    None if accounts.allowed.removing => {
                        (Weight::Noted, "removed", format!("{id} is not run any more, as the task allows"))
                    }
                    None if has > 0 => {
                        let what = format!(
                            "{id} passed on the base and is not run any more: {had} cases of this test passed there, and {has} do now"
                        );
                        (Weight::Fails, "vanished", what)
                    }
                    None => {
                        let why = now.exit.as_ref().map(|exit| format!(" ({exit})")).unwrap_or_default();
                        let what = format!(
                            "{id} passed on the base and is not run any more{why}: it is deselected, not collected, or its file \
                             does not load. Make the runner run it again"
                        );
                        (Weight::Fails, "vanished", what)
                    }
                },
            };
            gone += 1;
            evidence.find(weight, rule, &what, None);
        }
    }
    gone
}

fn skipped(id: &TestId, now: &Merged, accounts: &Accounts, evidence: &mut Evidence) {
    let why = now.results.tests.get(id).map(|case| case.message.trim()).unwrap_or_default();
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    if accounts.allowed.skipping {
        evidence.find(Weight::Noted, "skipped", &format!("{id} is skipped, as the task allows{why}"), None);
    } else {
        let what = format!("{id} passed on the base and is skipped now{why}. Let it run, and make it pass");
        evidence.find(Weight::Fails, "now-skipped", &what, None);
    }
}

/// Returns the name without its variable parts: parameters, numbers, addresses, times.
pub(super) fn family(id: &TestId) -> (String, String) {
    let name = &id.name;
    let bare = name.split('[').next().filter(|bare| !bare.trim().is_empty()).unwrap_or(name);
    let bare = match bare.split_once('/') {
        // Subtests in Go. A path in a name looks like one too; then its first folder stands for the rest.
        Some((test, _)) if test.starts_with("Test") || test.starts_with("Example") => test,
        Some(_) | None => bare,
    };
    let bare = bare.split("::case_").next().unwrap_or(bare);
    // JUnit: `name()` and `name(int, int)` are the same test with and without parameters.
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
    let bare = match bare.trim_end().split_once('(') {
        Some((name, rest)) if rest.ends_with(')') && !name.is_empty() && is_name(name) => name,
        Some(_) | None => bare,
    };
    (varied(&id.suite), varied(bare))
}

/// Replaces digits, and hexadecimal words that contain a digit.
fn varied(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let number = word.contains(|c: char| c.is_ascii_digit());
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let hex = digits.len() >= 6 && digits.chars().all(|c| c.is_ascii_hexdigit());
        if number && hex {
            out.push('#');
        } else {
            let mut last = ' ';
            for c in word.chars() {
                let c = if c.is_ascii_digit() { '#' } else { c };
                if c != '#' || last != '#' {
                    out.push(c);
                }
                last = c;
            }
        }
        word.clear();
    };
    for c in text.chars() {
        if c.is_alphanumeric() {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}

fn leaf(name: &str) -> &str {
    let name = name.split('[').next().filter(|bare| !bare.trim().is_empty()).unwrap_or(name);
    let name = name.rsplit("::").next().unwrap_or(name);
    let name = name.rsplit(" > ").next().unwrap_or(name);
    name.rsplit(" - ").next().unwrap_or(name).trim()
}
