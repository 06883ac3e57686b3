//! What may be diluted: by the gate's settings, or by a task that is about it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use globset::{GlobBuilder, GlobMatcher};
use regex::Regex;

use super::rules::{ASSERTIONS_REMOVED, FEATURE_REMOVED, RULES, TEST_REMOVED};
use crate::pattern::pattern;

/// The tag, and the key of the metadata, by which a task allows dilution.
const WORD: &str = "allow-dilution";

/// What a task says about what the code does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Promise {
    /// Nothing that could be told from its words.
    #[default]
    Nothing,
    /// It stays the same: a refactoring, or a speed-up.
    Same,
    /// It is about when two values are equal.
    Equality,
}

impl Promise {
    /// As the words of a task say it.
    pub fn of(text: &str) -> Self {
        static SAME: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?i)\bsame (results?|behaviou?r|outputs?|values?|answers?|lines?|texts?|numbers?|totals?|order)\b|\b(results?|behaviou?r|output)s? (must |should |has to |have to )?(stays?|remains?|keeps?|be) (the )?(same|unchanged|identical|as)|\bnothing (visible |else )?changes?\b|\bno (visible|functional|behaviou?ral) changes?\b|\bno changes? (of|in|to) (the )?(behaviou?r|results?|output|what)|\bbehaviou?r (must|should|does|may|will) ?(not|n't) change|\b(does|must|should) not change (the |any |its )?(behaviou?r|results?|output)|\b(keep|keeps|keeping|preserve|preserves|preserving) (the |its |all )?(behaviou?r|results?|output)|^(rename|move|extract|inline|reorgani[sz]e|restructure|tidy|clean up)\b|\bwithout (changing|a change of|any change)\b|\brefactor|\bspeed(s|ing)? up\b|\bmake\b[^.]{0,40}\bfaster\b|^simplify [\w.:]+(\(\))?\s*([.;,]|$)|^(only |just )?(sort|re-?order|regroup|reformat) (the )?(tests?|test cases|cases|imports|fixtures)\b|\b(only|just) (sort|move|rename|re-?order|regroup|reformat|split)\b|\bpure(ly)? (cleanup|refactoring)\b",
            )
        });
        static EQUALITY: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?i)\b(un)?equal(s|ity)?\b|\bcompar(e|es|ed|ing|ison|able)\b|\bidentical\b|\bduplicates?\b|\bdedup|\bhash|\bdistinct\b|\bsame\b|__eq__|PartialEq",
            )
        });
        // "Count in one pass", "use a loop instead of reduce": how it is done, and nothing about what it does.
        static DOES: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?i)\b(must|should|shall|needs? to|has to|have to|may|can|cannot|crash\w*|wrong\w*|bugs?|fail\w*|fix\w*|mend\w*|support\w*|accept\w*|allow\w*|refuse\w*|reject\w*|adds?|adding|new|options?|prints?|shows?|returns?|raises?|throws?|gives?|ignor\w*|missing|forgets?|loses?|lost|reproduce|defect|broken|too|not|never|always|when|if|belongs?|overwrites?|becomes?|looks? (off|odd)|off by|incorrect\w*|inaccurate|expected|yields?)\b|→|->|=>",
            )
        });
        static HOW: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                r"(?i)^rewrite\b|\bin one pass\b|\binstead of (the|a|an|two|three|its|our|nested) |\binstead of reduce\b|\bcalls [\w.:]+(\(\))?\s|\bchain\w*|\bloops?\b|\bcomprehension|\bgenerators?\b|\biterators?\b|\brecursi\w+|\bone table\b|\btable of\b|\bstruct\b|\bwith(out)? a (helper|loop|map|table|regex|lambda|copy)\b|\bby counting\b|\bregular expression|\bone function\b|\bduplicat\w+|\bread(able|s better)\b|^write .* as\b|\b(let|use) [\w.:()`]+ (instead|use)\b",
            )
        });
        if SAME.is_match(text) || HOW.is_match(text) && !DOES.is_match(text) {
            Self::Same
        } else if EQUALITY.is_match(text) {
            Self::Equality
        } else {
            Self::Nothing
        }
    }
}

/// One thing that is allowed: `test-removed`, or `suppressed:src/generated/**`, or `all`.
#[derive(Clone, Debug)]
pub struct Permit {
    rule: Option<&'static str>,
    place: Option<GlobMatcher>,
}

/// Words that allow nothing that is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPermit {
    /// There is no such rule.
    #[error("find the rule `{word}`: there are {known}, and `all`")]
    Rule {
        /// As it is written.
        word: String,
        /// The rules that there are.
        known: String,
    },
    /// The paths cannot be understood.
    #[error("understand the paths `{glob}`: {why}")]
    Glob {
        /// As they are written.
        glob: String,
        /// What is wrong with them.
        why: String,
    },
}

impl std::str::FromStr for Permit {
    type Err = BadPermit;

    fn from_str(text: &str) -> Result<Self, BadPermit> {
        let (word, glob) = match text.split_once(':') {
            Some((word, glob)) => (word.trim(), Some(glob.trim())),
            None => (text.trim(), None),
        };
        let rule = match RULES.iter().find(|(name, _)| *name == word) {
            Some((name, _)) => Some(*name),
            None if word == "all" => None,
            None => {
                let known: Vec<String> = RULES.iter().map(|(name, _)| format!("`{name}`")).collect();
                return Err(BadPermit::Rule { word: word.to_owned(), known: known.join(", ") });
            }
        };
        let place = match glob {
            None => None,
            Some(glob) => {
                let built = GlobBuilder::new(glob).literal_separator(true).build();
                let why = |error: globset::Error| BadPermit::Glob {
                    glob: glob.to_owned(),
                    why: error.kind().to_string(),
                };
                Some(built.map_err(why)?.compile_matcher())
            }
        };
        Ok(Self { rule, place })
    }
}

/// All that is allowed.
#[derive(Clone, Debug, Default)]
pub struct Permits(Vec<Permit>);

impl Permits {
    /// What a gate's `allow = […]` says.
    pub fn read<S: AsRef<str>>(words: &[S]) -> Result<Self, BadPermit> {
        words.iter().map(|word| word.as_ref().parse()).collect::<Result<_, _>>().map(Self)
    }

    /// What a task allows in addition: by a tag `allow-dilution` (everything) or `allow-dilution:<rule>`, or by its metadata
    /// `allow-dilution = "<rule>, <rule>"`. A word that means nothing allows nothing.
    #[must_use]
    pub fn of_task(mut self, tags: &[String], metadata: &BTreeMap<String, String>) -> Self {
        let mut words: Vec<&str> = Vec::new();
        for tag in tags {
            match tag.strip_prefix(WORD) {
                Some("") => words.push("all"),
                Some(rest) => words.extend(rest.strip_prefix(':')),
                None => {}
            }
        }
        words.extend(metadata.get(WORD).into_iter().flat_map(|value| value.split(',')));
        self.0.extend(words.iter().filter_map(|word| word.parse().ok()));
        self
    }

    /// Whether something is allowed.
    pub fn allow(&self, rule: &str, file: Option<&str>) -> bool {
        self.0.iter().any(|permit| {
            // Whoever allows a test to go allows it to go with what it tests, and a part of it to go.
            let implied = [FEATURE_REMOVED, ASSERTIONS_REMOVED].contains(&rule);
            let covers = |allowed: &str| allowed == rule || (allowed == TEST_REMOVED && implied);
            permit.rule.is_none_or(covers)
                && match (&permit.place, file) {
                    (None, _) => true,
                    (Some(place), Some(file)) => place.is_match(file),
                    (Some(_), None) => false,
                }
        })
    }
}
