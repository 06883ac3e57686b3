//! Assertions before and after, weighed against each other.
//!
//! Nothing here asks in which test an assertion stands, only whether what was asserted is asserted still: by the same words,
//! about the same thing, or by another assertion that says as much. So a test may be split, merged, turned into a table or
//! have its assertions moved into a helper, and what is lost is lost wherever it stood.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;

use crate::check::outline::{Check, MANY, Strength, literals};
use crate::pattern::pattern;

/// Pairs of assertions that are compared one by one: far more than tests of people have.
const MOST_COMPARED: usize = 2_000_000;

/// An assertion that is still to be accounted for, and how often it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open<'a> {
    pub(super) check: &'a Check,
    pub(super) left: u32,
    /// What is there in its place, if that says less.
    pub(super) weaker: Option<&'a Check>,
}

/// An assertion that is made only under a condition, and was made always.
pub(super) struct Conditional<'a> {
    pub(super) before: &'a Check,
    pub(super) after: &'a Check,
}

/// What came out of a comparison.
#[derive(Default)]
pub(super) struct Balance<'a> {
    /// Assertions before that nothing stands for.
    pub(super) lost: Vec<Open<'a>>,
    /// Assertions after that stand for nothing yet.
    pub(super) spare: Vec<Open<'a>>,
    /// Assertions that became conditional.
    pub(super) conditional: Vec<Conditional<'a>>,
    /// Assertions about the same that expect something else.
    pub(super) other_value: Vec<(&'a Check, &'a Check)>,
}

/// How two assertions belong together, the closest first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bond {
    Text,
    Value,
    Subject,
    About,
}

impl Bond {
    const ALL: [Self; 4] = [Self::Text, Self::Value, Self::Subject, Self::About];

    fn holds(self, before: &Check, after: &Check) -> bool {
        match self {
            Self::Text => before.text == after.text,
            Self::Value => before.subject == after.subject && before.expected == after.expected,
            Self::Subject => before.subject == after.subject,
            Self::About => is_about_same(before, after),
        }
    }
}

/// The words of an expected value, counted. Names that only a notation has do not count, so that a literal and an inline
/// snapshot of it have the same.
fn values(expected: &str) -> HashMap<String, usize> {
    let mut words = super::words::bag(expected);
    words.retain(|word, _| !matches!(word.as_str(), "Object" | "Array"));
    words
}

/// Whether an assertion demands all that another did, and more of which only the type is known: a new field with
/// `expect.any(String)`.
fn has_more(old: &Check, new: &Check) -> bool {
    let (Some(was), Some(is)) = (&old.expected, &new.expected) else { return false };
    let typed = is.contains("expect.any") && !is.contains("Containing(") && !is.contains("Matching(");
    let (was, is) = (values(was), values(is));
    typed
        && old.subject == new.subject
        && was.iter().all(|(word, count)| is.get(word).is_some_and(|n| n >= count))
}

/// Whether two assertions differ only in a tolerance, and the new one is wider.
fn is_laxer(old: &str, new: &str) -> bool {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d[\d_]*(?:\.\d+)?(?:[eE]-?\d+)?"));
    static MOST: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)(\babs\b.*<=?|\b(abs|rel|delta|eps|epsilon|r?tol\w*|atol|abs_tol|rel_tol|max_relative|max_ulps|within)\s*[=:(])\s*$",
        )
    });
    static DIGITS: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)\b(places|decimals?|digits|precision|num_?digits)\s*[=:]\s*$|(tobecloseto|almostequals?)\(.*,\s*$",
        )
    });
    static DELTA: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"(?i)(indelta|inepsilon|closeto|isclose|offset|within|approx\w*)\(.*,\s*$")
    });
    if NUMBER.replace_all(old, "#") != NUMBER.replace_all(new, "#") {
        return false;
    }
    let numbers = |text: &str| -> Vec<(usize, f64)> {
        let all = NUMBER.find_iter(text);
        all.filter_map(|found| Some((found.start(), found.as_str().replace('_', "").parse().ok()?))).collect()
    };
    let (before, after) = (numbers(old), numbers(new));
    before.iter().zip(&after).any(|((at, was), (_, is))| {
        let head = old.get(..*at).unwrap_or_default();
        let digits = DIGITS.is_match(head);
        (MOST.is_match(head) || DELTA.is_match(head) && !digits) && is > was || digits && is < was
    })
}

/// Whether an assertion compares with a pattern that fits every text: `match=".*"`, `toThrow(/^|x/)`.
fn fits_anything(text: &str) -> bool {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r#"(?:match|regex|pattern|expected_regex)\s*=\s*[rbf]*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')|(?:Regexp?|RegExp|matches|MatchString|MustCompile|compile|Regex::new)\(\s*[rbf]*#*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')|[(,]\s*/((?:[^/\\\n]|\\.)+)/[a-z]*\s*[,)]|Regex\([^"'/]*,\s*[rbf]*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')"#,
        )
    });
    PATTERN.captures_iter(text).any(|found| {
        let form = found.iter().skip(1).flatten().next().map_or("", |form| form.as_str());
        // A pattern that cannot be read here may say anything.
        Regex::new(&form.replace("[^]", r"[\s\S]")).is_ok_and(|form| form.is_match("") || form.is_match("~"))
    })
}

/// Whether a new assertion is weaker than an old one in a way that code which is broken on purpose does not show.
pub(super) fn is_blunt(old: &str, new: &str) -> bool {
    is_laxer(old, new) || fits_anything(new) && !fits_anything(old)
}

/// Whether two assertions are about what the same functions gave.
pub(super) fn is_about_same(a: &Check, b: &Check) -> bool {
    a.about.iter().any(|name| b.about.contains(name))
}

fn open(checks: &[Check]) -> Vec<Open<'_>> {
    checks.iter().map(|check| Open { check, left: check.times.max(1), weaker: None }).collect()
}

/// Weighs the assertions of one test before and after.
pub(super) fn weigh<'a>(before: &'a [Check], after: &'a [Check]) -> Balance<'a> {
    let (mut lost, mut spare) = (open(before), open(after));
    // What could not be counted before cannot be less now.
    lost.iter_mut().filter(|open| open.left >= MANY).for_each(|open| open.left = 1);
    let mut balance = Balance::default();
    same_text(&mut lost, &mut spare);
    lost.retain(|open| open.left > 0);
    // Those that stand as they stood may stand under a condition now.
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for old in before {
        let nth = seen.entry(old.text.as_str()).or_default();
        let new = after.iter().filter(|new| new.text == old.text).nth(*nth);
        *nth += 1;
        if let Some(new) = new.filter(|new| old.only_if.is_none() && new.only_if.is_some()) {
            balance.conditional.push(Conditional { before: old, after: new });
        }
    }
    if lost.len().saturating_mul(after.len()) > MOST_COMPARED {
        balance.lost = lost;
        return balance;
    }
    for bond in Bond::ALL.into_iter().skip(1) {
        pair(
            &mut lost,
            &mut spare,
            |old, new| {
                bond.holds(old, new)
                    && (new.strength >= old.strength || has_more(old, new))
                    && !is_laxer(&old.text, &new.text)
                    && (!fits_anything(&new.text) || fits_anything(&old.text))
            },
            |old, new| {
                if old.only_if.is_none() && new.only_if.is_some() && bond != Bond::About {
                    balance.conditional.push(Conditional { before: old, after: new });
                }
                if bond == Bond::Subject
                    && let (Some(was), Some(is)) = (&old.expected, &new.expected)
                    && values(was) != values(is)
                    // What a helper compares with is given by those who call it, and is not known here.
                    && (literals(was).is_empty() || !literals(is).is_empty())
                {
                    balance.other_value.push((old, new));
                }
            },
        );
    }
    // What says less about the same takes the place of what it was, before anything else can.
    let mut weaker: Vec<(&'a Check, &'a Check)> = Vec::new();
    let mut kept = lost.clone();
    pair(
        &mut lost,
        &mut spare,
        |old, new| old.subject == new.subject || is_about_same(old, new),
        |old, new| {
            weaker.push((old, new));
        },
    );
    for (old, new) in weaker {
        for open in kept.iter_mut().filter(|open| std::ptr::eq(open.check, old)) {
            open.weaker = Some(new);
        }
    }
    let (mut replaced, mut others): (Vec<Open<'a>>, Vec<Open<'a>>) =
        kept.drain(..).partition(|open| open.weaker.is_some());
    pair(&mut others, &mut spare, |old, new| new.strength >= old.strength, |_, _| {});
    replaced.append(&mut others);
    balance.lost = replaced.into_iter().filter(|open| open.left > 0).collect();
    // What stood beside it before does not stand in its place.
    let fresh: Vec<&Check> = after.iter().filter(|check| !seen.contains_key(check.text.as_str())).collect();
    balance.lost.retain(|open| !is_implied(open.check, &fresh));
    balance.spare = spare.into_iter().filter(|open| open.left > 0).collect();
    balance
}

/// Takes from both sides what is the same, word by word.
fn same_text(lost: &mut [Open<'_>], spare: &mut [Open<'_>]) {
    let mut by_text: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, open) in spare.iter().enumerate().rev() {
        by_text.entry(open.check.text.as_str()).or_default().push(index);
    }
    for old in lost {
        let Some(places) = by_text.get_mut(old.check.text.as_str()) else { continue };
        while old.left > 0
            && let Some(place) = places.last()
        {
            let new = &mut spare[*place];
            if new.check.strength < old.check.strength {
                break;
            }
            let taken = old.left.min(new.left);
            old.left -= taken;
            new.left -= taken;
            if new.left == 0 {
                places.pop();
            }
        }
    }
}

/// Takes from both sides what belongs together.
pub(super) fn pair<'a>(
    lost: &mut [Open<'a>],
    spare: &mut [Open<'a>],
    fits: impl Fn(&Check, &Check) -> bool,
    mut found: impl FnMut(&'a Check, &'a Check),
) {
    for old in lost.iter_mut() {
        for new in spare.iter_mut() {
            if old.left == 0 {
                break;
            }
            if new.left > 0 && fits(old.check, new.check) {
                let taken = old.left.min(new.left);
                old.left -= taken;
                new.left -= taken;
                found(old.check, new.check);
            }
        }
    }
}

/// Whether one of these says what a lost assertion said, and more.
pub(super) fn is_implied(lost: &Check, after: &[&Check]) -> bool {
    after.iter().any(|check| {
        let same = is_about_same(lost, check) || lost.subject == check.subject;
        let more = check.strength > lost.strength;
        // Three fields one by one, then all three at once.
        let within = match (&lost.expected, &check.expected) {
            (Some(lost), Some(whole)) => {
                whole.len() > lost.len()
                    && whole.contains(lost.trim_matches('"'))
                    && check.strength == Strength::Exact
            }
            _ => false,
        };
        same && (more || within)
    })
}

/// Looks for what was lost in one test among what others have to spare. `renamed` are functions that are there no more: what
/// was asserted about them may be asserted about anything in the same file.
pub(super) fn settle<'a>(
    lost: &mut Vec<(usize, Open<'a>)>,
    spare: &mut [(usize, Open<'a>)],
    renamed: &BTreeSet<String>,
) {
    if lost.len().saturating_mul(spare.len()) > MOST_COMPARED {
        return;
    }
    for bond in Bond::ALL {
        for (_, old) in lost.iter_mut() {
            let in_place = old.weaker.is_some_and(|weaker| weaker.subject == old.check.subject);
            for (_, new) in spare.iter_mut() {
                // What was made weaker where it stands is not made good by something else about the same function.
                let elsewhere = |a: &Check, b: &Check| {
                    !in_place || bond != Bond::About || a.expected.is_some() && a.expected == b.expected
                };
                take(old, new, |a, b| bond.holds(a, b) && b.strength >= a.strength && elsewhere(a, b));
            }
        }
    }
    for (file, old) in lost.iter_mut() {
        if !old.check.about.iter().any(|name| renamed.contains(name)) {
            continue;
        }
        for (other, new) in spare.iter_mut() {
            if file == other {
                take(old, new, |a, b| b.strength >= a.strength);
            }
        }
    }
    lost.retain(|(_, open)| open.left > 0);
}

fn take(old: &mut Open<'_>, new: &mut Open<'_>, fits: impl Fn(&Check, &Check) -> bool) {
    if old.left > 0 && new.left > 0 && fits(old.check, new.check) {
        let taken = old.left.min(new.left);
        old.left -= taken;
        new.left -= taken;
    }
}

#[cfg(test)]
mod tests {
    use super::fits_anything;

    #[test]
    fn patterns_that_fit_every_text_are_known_in_each_notation() {
        for text in [
            r#"pytest.raises(ValueError, match=r".*")"#,
            r#"pytest.raises(ValueError, match=r"^|kg")"#,
            r#"self.assertRaisesRegex(ValueError, "")"#,
            "expect(f).toThrow(/.*/)",
            "expect(text).toMatch(/[^]*|x/i)",
            r#"assertTrue(text.matches(".*"))"#,
            r#"regexp.MustCompile(".").MatchString(got)"#,
        ] {
            assert!(fits_anything(text), "{text}");
        }
        for text in [
            r#"pytest.raises(ValueError, match="not a quantity")"#,
            "expect(f).toThrow(/too (many|few)/)",
            "assert.equal(a / b, c / d)",
            r#"assertTrue(text.matches("\\d+"))"#,
        ] {
            assert!(!fits_anything(text), "{text}");
        }
    }
}
