//! Detects the style of a repository's commit messages from its newest commits, and writes subjects in that style.
//!
//! It detects what a reader of the log would notice first: conventional commit types, leading tickets, the case of the
//! first letter, a final period, and the length of the line. A habit counts if most commits have it. With too few
//! commits, git's usual rules apply.

use crate::agent::shorten;

/// Number of newest commits to look at: habits change, and the newest count.
pub const LOOKED_AT: usize = 50;
/// Minimum number of subjects to detect a habit.
const ENOUGH: usize = 3;
/// Maximum length of a subject that git's own tools show in full.
const SUBJECT: usize = 72;
/// The strict limit.
const SHORT_SUBJECT: usize = 50;

/// Conventional commit types, each with the verbs in a title that indicate it.
const TYPES: [(&str, &[&str]); 10] = [
    ("fix", &["fix", "repair", "mend", "correct", "prevent", "avoid", "handle"]),
    ("docs", &["document", "describe", "explain", "docs"]),
    ("test", &["test", "cover"]),
    ("refactor", &["refactor", "rename", "extract", "simplify", "move", "split", "inline", "restructure"]),
    ("perf", &["optimise", "optimize", "speed"]),
    ("style", &["format", "reformat"]),
    ("build", &["bump", "upgrade"]),
    ("ci", &["ci"]),
    ("chore", &["update", "remove", "delete", "clean"]),
    ("feat", &["add", "implement", "support", "allow", "introduce", "let"]),
];

/// Types that are recognized in a log but never chosen.
const MORE_TYPES: [&str; 3] = ["feature", "revert", "security"];

/// Forms of common verbs, by their imperative.
const VERBS: [(&str, &[&str]); 14] = [
    ("add", &["adds", "added", "adding"]),
    ("fix", &["fixes", "fixed", "fixing"]),
    ("remove", &["removes", "removed", "removing"]),
    ("update", &["updates", "updated", "updating"]),
    ("change", &["changes", "changed", "changing"]),
    ("rename", &["renames", "renamed", "renaming"]),
    ("refactor", &["refactors", "refactored", "refactoring"]),
    ("implement", &["implements", "implemented", "implementing"]),
    ("support", &["supports", "supported", "supporting"]),
    ("handle", &["handles", "handled", "handling"]),
    ("improve", &["improves", "improved", "improving"]),
    ("document", &["documents", "documented", "documenting"]),
    ("allow", &["allows", "allowed", "allowing"]),
    ("introduce", &["introduces", "introduced", "introducing"]),
];

/// The style of commit messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Prefix of the subject.
    pub prefix: Prefix,
    /// Case of the first letter.
    pub case: Case,
    /// Whether verbs are imperative ("add", not "added").
    pub mood: Mood,
    /// Whether the subject ends with a period.
    pub stop: Stop,
    /// Maximum length of the subject, in characters.
    pub limit: usize,
}

/// The prefix of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// None.
    None,
    /// `feat: …` or `feat(scope): …`.
    Conventional,
    /// `ABC-12: …`.
    Ticket,
    /// `[ABC-12] …`.
    BracketedTicket,
    /// `ABC-12 …`.
    BareTicket,
}

/// The case of the first letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Unchanged.
    AsWritten,
    /// Uppercase.
    Upper,
    /// Lowercase.
    Lower,
}

/// The form of the first verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Unchanged.
    AsWritten,
    /// Imperative.
    Imperative,
}

/// The end of the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// No period.
    Absent,
    /// A period.
    Present,
}

impl Style {
    /// Returns the default style: git's own habits.
    pub fn usual() -> Self {
        Self {
            prefix: Prefix::None,
            case: Case::AsWritten,
            mood: Mood::Imperative,
            stop: Stop::Absent,
            limit: SUBJECT,
        }
    }

    /// Returns the conventional commits style, regardless of the log.
    pub fn conventional() -> Self {
        Self { prefix: Prefix::Conventional, case: Case::Lower, ..Self::usual() }
    }

    /// Detects the style of subjects, newest first.
    pub fn of<'a>(subjects: impl IntoIterator<Item = &'a str>) -> Self {
        let told: Vec<(Prefix, &str)> = subjects
            .into_iter()
            .filter(|subject| !subject.starts_with("Merge ") && !subject.starts_with("Revert "))
            .take(LOOKED_AT)
            .map(split)
            .filter(|(_, words)| !words.is_empty())
            .collect();
        if told.len() < ENOUGH {
            return Self::usual();
        }
        let most = |count: usize| count * 2 > told.len();
        let having = |holds: &dyn Fn(&(Prefix, &str)) -> bool| told.iter().filter(|one| holds(one)).count();
        let prefixes = [Prefix::Conventional, Prefix::Ticket, Prefix::BracketedTicket, Prefix::BareTicket];
        let prefix = prefixes.into_iter().find(|wanted| most(having(&|(prefix, _)| prefix == wanted)));
        let first = |words: &str, test: fn(char) -> bool| words.chars().next().is_some_and(test);
        let upper = having(&|(_, words)| first(words, char::is_uppercase));
        let lower = having(&|(_, words)| first(words, char::is_lowercase));
        let order = having(&|(_, words)| !is_told(words));
        let stops = having(&|(_, words)| words.ends_with('.'));
        let short = told.iter().all(|(_, words)| words.chars().count() <= SHORT_SUBJECT);
        Self {
            prefix: prefix.unwrap_or(Prefix::None),
            case: match (most(upper), most(lower)) {
                (true, _) => Case::Upper,
                (_, true) => Case::Lower,
                (false, false) => Case::AsWritten,
            },
            mood: if most(order) { Mood::Imperative } else { Mood::AsWritten },
            stop: if most(stops) { Stop::Present } else { Stop::Absent },
            // A few short lines prove no rule; a long log does.
            limit: if short && told.len() >= 20 { SHORT_SUBJECT } else { SUBJECT },
        }
    }

    /// Formats a title as a subject in this style. `ticket` is the task's key in an issue tracker, if any.
    pub fn subject(&self, title: &str, ticket: Option<&str>) -> String {
        let line = title.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let (written, words) = split(&line);
        let before = &line[..line.len() - words.len()];
        let prefix = match (written, self.prefix) {
            (Prefix::None, Prefix::Conventional) => format!("{}: ", kind_of(words)),
            (Prefix::None, wanted) => ticket.map_or_else(String::new, |ticket| ticketed(wanted, ticket)),
            // Keep a prefix that the author of the title wrote on purpose.
            (Prefix::Conventional, _) | (_, Prefix::Conventional | Prefix::None) => before.to_owned(),
            (_, wanted) => ticketed(wanted, first_ticket(before).unwrap_or_default()),
        };
        let mut words = words.trim_end_matches(['.', ' ']).to_owned();
        if self.mood == Mood::Imperative {
            words = ordered(&words);
        }
        words = cased(&words, self.case);
        let stop = if self.stop == Stop::Present { "." } else { "" };
        let room = self.limit.saturating_sub(prefix.chars().count() + stop.len()).max(20);
        format!("{prefix}{}{stop}", cut(&words, room))
    }
}

/// Splits a subject into its prefix and the rest.
fn split(subject: &str) -> (Prefix, &str) {
    let subject = subject.trim();
    if let Some((before, words)) = subject.split_once(": ") {
        if is_conventional(before) {
            return (Prefix::Conventional, words.trim_start());
        }
        if is_ticket(before) {
            return (Prefix::Ticket, words.trim_start());
        }
    }
    if let Some((inside, words)) = subject.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && is_ticket(inside)
    {
        return (Prefix::BracketedTicket, words.trim_start_matches([':', ' ']));
    }
    match subject.split_once(' ') {
        Some((before, words)) if is_ticket(before) => (Prefix::BareTicket, words.trim_start()),
        Some(_) | None => (Prefix::None, subject),
    }
}

/// `feat`, `fix(parser)`, `refactor!`.
fn is_conventional(before: &str) -> bool {
    let before = before.strip_suffix('!').unwrap_or(before);
    let (kind, scope) = match before.split_once('(') {
        Some((kind, rest)) => (kind, rest.strip_suffix(')')),
        None => (before, Some("none")),
    };
    let plain = |c: char| c.is_alphanumeric() || "-_/., ".contains(c);
    let known = TYPES.iter().any(|(name, _)| *name == kind) || MORE_TYPES.contains(&kind);
    known && scope.is_some_and(|scope| !scope.is_empty() && scope.chars().all(plain))
}

/// `ABC-12`, `#12`.
fn is_ticket(text: &str) -> bool {
    let number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if let Some(digits) = text.strip_prefix('#') {
        return number(digits);
    }
    let letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    text.rsplit_once('-').is_some_and(|(project, digits)| {
        project.len() >= 2
            && project.starts_with(|c: char| c.is_ascii_uppercase())
            && project.chars().all(letter)
            && number(digits)
    })
}

fn first_ticket(text: &str) -> Option<&str> {
    text.split(['[', ']', ' ', ':']).find(|word| is_ticket(word))
}

fn ticketed(form: Prefix, ticket: &str) -> String {
    match form {
        Prefix::None | Prefix::Conventional => String::new(),
        Prefix::Ticket => format!("{ticket}: "),
        Prefix::BracketedTicket => format!("[{ticket}] "),
        Prefix::BareTicket => format!("{ticket} "),
    }
}

fn first_word(words: &str) -> String {
    let end = words.find(|c: char| !c.is_alphanumeric()).unwrap_or(words.len());
    ordered(&words[..end].to_lowercase())
}

/// Returns the conventional commit type that fits a title.
fn kind_of(words: &str) -> &'static str {
    let verb = first_word(words);
    let by_verb = TYPES.iter().find(|(_, verbs)| verbs.contains(&verb.as_str()));
    by_verb.map_or("feat", |(name, _)| name)
}

/// Returns whether the first verb is not imperative, such as "added".
fn is_told(words: &str) -> bool {
    let end = words.find(' ').unwrap_or(words.len());
    let first = words[..end].to_lowercase();
    VERBS.iter().any(|(_, forms)| forms.contains(&first.as_str()))
}

/// Makes the first verb imperative.
fn ordered(words: &str) -> String {
    let end = words.find(' ').unwrap_or(words.len());
    let (first, rest) = words.split_at(end);
    let lower = first.to_lowercase();
    let Some((order, _)) = VERBS.iter().find(|(_, forms)| forms.contains(&lower.as_str())) else {
        return words.to_owned();
    };
    let case = if first.starts_with(char::is_uppercase) { Case::Upper } else { Case::AsWritten };
    format!("{}{rest}", cased(order, case))
}

/// Sets the case of the first letter. Names such as `JSON` or `iOS` stay as they are.
fn cased(words: &str, case: Case) -> String {
    let end = words.find(' ').unwrap_or(words.len());
    let is_name = words[..end].chars().skip(1).any(|c| c.is_uppercase() || "_.:/(`".contains(c));
    let mut rest = words.chars();
    match (case, rest.next()) {
        (Case::Upper, Some(first)) if !is_name => first.to_uppercase().chain(rest).collect(),
        (Case::Lower, Some(first)) if !is_name => first.to_lowercase().chain(rest).collect(),
        (Case::AsWritten | Case::Upper | Case::Lower, _) => words.to_owned(),
    }
}

/// Truncates to `room` characters between words, with a visible mark.
fn cut(words: &str, room: usize) -> String {
    if words.chars().count() <= room {
        return words.to_owned();
    }
    let kept: String = words.chars().take(room.saturating_sub(1)).collect();
    let whole = kept.rfind(' ').filter(|at| *at > kept.len() / 2).map_or(kept.as_str(), |at| &kept[..at]);
    shorten(&format!("{}…", whole.trim_end_matches([' ', ',', ':'])), room * 4)
}

#[cfg(test)]
mod tests;
