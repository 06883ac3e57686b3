//! Classifies failures between an agent and its model from the messages and codes that agents use.

use std::sync::LazyLock;

use acquit_core::agent::{AgentEvent, Fault};
use acquit_core::time::Timestamp;
use aho_corasick::{AhoCorasick, AhoCorasickKind};

pub(crate) mod reset;

/// Amount of a message to examine. Its beginning says what it is about.
const LOOKED_AT: usize = 4 * 1024;

/// Classification of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelFailure {
    /// The provider rejects more work for now.
    Limit,
    /// Anything else.
    Fault(Fault),
}

/// Classifies by HTTP status, if it is specific enough.
pub(crate) fn by_status(status: u16) -> Option<ModelFailure> {
    Some(ModelFailure::Fault(match status {
        401 | 403 => Fault::Login,
        402 => Fault::Billing,
        404 => Fault::Model,
        408 => Fault::Network,
        413 => Fault::TooLong,
        429 => return Some(ModelFailure::Limit),
        503 | 529 => Fault::Overloaded,
        500..=599 => Fault::Server,
        _ => return None,
    }))
}

/// Telltale words in search order: an exhausted quota also comes as a 429, and a prompt that is too long as a 400. All
/// in lower case.
const WORDS: [(&str, ModelFailure); 49] = [
    ("credit balance", ModelFailure::Fault(Fault::Billing)),
    ("insufficient_quota", ModelFailure::Fault(Fault::Billing)),
    ("insufficient credits", ModelFailure::Fault(Fault::Billing)),
    ("quota exceeded. check your plan", ModelFailure::Fault(Fault::Billing)),
    ("billing_error", ModelFailure::Fault(Fault::Billing)),
    ("payment required", ModelFailure::Fault(Fault::Billing)),
    ("prompt is too long", ModelFailure::Fault(Fault::TooLong)),
    ("context length", ModelFailure::Fault(Fault::TooLong)),
    ("context_length", ModelFailure::Fault(Fault::TooLong)),
    ("context window", ModelFailure::Fault(Fault::TooLong)),
    ("contextwindowexceeded", ModelFailure::Fault(Fault::TooLong)),
    ("maximum context", ModelFailure::Fault(Fault::TooLong)),
    ("token limit", ModelFailure::Fault(Fault::TooLong)),
    ("not logged in", ModelFailure::Fault(Fault::Login)),
    ("/login", ModelFailure::Fault(Fault::Login)),
    ("invalid api key", ModelFailure::Fault(Fault::Login)),
    ("invalid x-api-key", ModelFailure::Fault(Fault::Login)),
    ("authentication", ModelFailure::Fault(Fault::Login)),
    ("unauthorized", ModelFailure::Fault(Fault::Login)),
    ("unauthenticated", ModelFailure::Fault(Fault::Login)),
    ("missing environment variable", ModelFailure::Fault(Fault::Login)),
    ("no api key", ModelFailure::Fault(Fault::Login)),
    ("token expired", ModelFailure::Fault(Fault::Login)),
    ("usage limit", ModelFailure::Limit),
    ("rate limit", ModelFailure::Limit),
    ("rate_limit", ModelFailure::Limit),
    ("ratelimit", ModelFailure::Limit),
    ("too many requests", ModelFailure::Limit),
    ("resource_exhausted", ModelFailure::Limit),
    ("hit your", ModelFailure::Limit),
    ("overloaded", ModelFailure::Fault(Fault::Overloaded)),
    ("high demand", ModelFailure::Fault(Fault::Overloaded)),
    ("can't help with this", ModelFailure::Fault(Fault::Refused)),
    ("refused to complete", ModelFailure::Fault(Fault::Refused)),
    ("refusal", ModelFailure::Fault(Fault::Refused)),
    ("content_filter", ModelFailure::Fault(Fault::Refused)),
    ("model not found", ModelFailure::Fault(Fault::Model)),
    ("model_not_found", ModelFailure::Fault(Fault::Model)),
    ("does not exist or you do not have access", ModelFailure::Fault(Fault::Model)),
    ("unable to connect", ModelFailure::Fault(Fault::Network)),
    ("cannot connect", ModelFailure::Fault(Fault::Network)),
    ("connection", ModelFailure::Fault(Fault::Network)),
    ("network", ModelFailure::Fault(Fault::Network)),
    ("fetch failed", ModelFailure::Fault(Fault::Network)),
    ("timed out", ModelFailure::Fault(Fault::Network)),
    ("stream disconnected", ModelFailure::Fault(Fault::Network)),
    ("stream ended", ModelFailure::Fault(Fault::Network)),
    ("server error", ModelFailure::Fault(Fault::Server)),
    ("max session turns", ModelFailure::Fault(Fault::Turns)),
];

/// From this index on the words are vague, and an HTTP status says more.
const VAGUE: usize = 30;

/// Classifies a message by its clear words, the status in it, or its vague words, in this order.
pub(crate) fn in_text(text: &str) -> ModelFailure {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let first = words()
        .and_then(|words| words.find_overlapping_iter(text).map(|found| found.pattern().as_usize()).min());
    let by_words = first.and_then(|first| WORDS.get(first)).map(|(_, trouble)| *trouble);
    let clear = by_words.filter(|_| first.is_some_and(|first| first < VAGUE));
    clear
        .or_else(|| status(text).and_then(by_status))
        .or(by_words)
        .unwrap_or(ModelFailure::Fault(Fault::Other))
}

/// Finds a fault that only a person can fix in the error output of an agent that reported nothing else. Returns the
/// line that says so.
pub(crate) fn in_errors(errors: &str) -> Option<(Fault, &str)> {
    errors.lines().find_map(|line| match in_text(line) {
        ModelFailure::Fault(fault @ (Fault::Login | Fault::Billing | Fault::Model)) => {
            Some((fault, line.trim()))
        }
        _ => None,
    })
}

/// Returns a case-insensitive search for all words. It always exists: a test uses it.
fn words() -> Option<&'static AhoCorasick> {
    static SEARCH: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let words = WORDS.iter().map(|(word, _)| word);
        // Use a DFA: there are few words, and a failing agent repeats them over and over.
        let kind = Some(AhoCorasickKind::DFA);
        AhoCorasick::builder().ascii_case_insensitive(true).kind(kind).build(words).ok()
    });
    SEARCH.as_ref()
}

/// Finds an HTTP status in a message: `status 401`, `(429)`, `API Error: 500`, `429 {…`, `"code":401`.
fn status(text: &str) -> Option<u16> {
    const BEFORE: [&str; 7] = ["status ", "status: ", "status code ", "error: ", "error ", "(", "\"code\":"];
    let ends_with = |text: &str, end: &str| {
        let from = text.len().checked_sub(end.len());
        from.and_then(|from| text.get(from..)).is_some_and(|text| text.eq_ignore_ascii_case(end))
    };
    let bytes = text.as_bytes();
    (0..bytes.len().saturating_sub(2)).find_map(|at| {
        let digits = bytes.get(at..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        let ends = bytes.get(at + 3).is_none_or(|next| !next.is_ascii_alphanumeric());
        let begins = at == 0 || BEFORE.iter().any(|before| ends_with(&text[..at], before));
        let number = digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
        (ends && begins && (400..600).contains(&number)).then_some(number)
    })
}

/// Whether the agent continues on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It reports that it retries.
    Again,
    /// It gives up.
    Ends,
}

/// Converts a failure into an event. `now` is the time of the message, for times that only name an hour.
pub(crate) fn said(trouble: ModelFailure, text: &str, then: Then, now: Timestamp) -> AgentEvent {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    match (trouble, then) {
        (ModelFailure::Limit, Then::Ends) => {
            AgentEvent::Limit { until: reset::in_text(text, now), text: text.to_owned() }
        }
        // A limit that the agent itself waits for holds up no one else.
        (ModelFailure::Limit, Then::Again) => {
            AgentEvent::Fault { fault: Fault::Overloaded, text: text.to_owned(), again: true }
        }
        (ModelFailure::Fault(fault), then) => {
            AgentEvent::Fault { fault, text: text.to_owned(), again: then == Then::Again }
        }
    }
}

/// Returns the events for a turn that ends with a failure: the failure, and the end.
pub(crate) fn end(trouble: ModelFailure, text: String, now: Timestamp) -> [AgentEvent; 2] {
    [said(trouble, &text, Then::Ends, now), AgentEvent::End { ok: false, text }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_real_agents_are_told_apart() {
        use Fault::{Billing, Login, Model, Network, Other, Overloaded, Refused, Server, TooLong, Turns};
        let expected: [(&str, ModelFailure); 27] = [
            ("Invalid API key · Fix external API key", ModelFailure::Fault(Login)),
            ("Not logged in · Please run /login", ModelFailure::Fault(Login)),
            (
                "unexpected status 401 Unauthorized: x, url: http://h/v1, request id: r",
                ModelFailure::Fault(Login),
            ),
            (
                "unexpected status 403 Forbidden: forbidden, url: http://h/v1/responses",
                ModelFailure::Fault(Login),
            ),
            ("Missing environment variable: `FAKE_API_KEY`.", ModelFailure::Fault(Login)),
            ("unexpected status 404 Not Found: model: nope, url: http://h/v1", ModelFailure::Fault(Model)),
            ("API Error: Request rejected (429) · Rate limited", ModelFailure::Limit),
            ("exceeded retry limit, last status: 429 Too Many Requests, request id: r", ModelFailure::Limit),
            ("429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}", ModelFailure::Limit),
            ("You've hit your 5-hour limit · resets 8:33pm (UTC)", ModelFailure::Limit),
            ("You've hit your usage limit. Try again in 3 days 1 hour.", ModelFailure::Limit),
            (
                "[API Error: Rate limited]\nTo increase your limits, request a quota increase",
                ModelFailure::Limit,
            ),
            ("Quota exceeded. Check your plan and billing details.", ModelFailure::Fault(Billing)),
            ("Credit balance is too low", ModelFailure::Fault(Billing)),
            ("Prompt is too long · the request is ~250000 tokens", ModelFailure::Fault(TooLong)),
            (
                "API Error: 500 Internal server error. This is a server-side issue",
                ModelFailure::Fault(Server),
            ),
            (
                "API Error: 529 Overloaded (scripted). This is a server-side issue",
                ModelFailure::Fault(Overloaded),
            ),
            (
                "We’re currently experiencing high demand, which may cause errors.",
                ModelFailure::Fault(Overloaded),
            ),
            ("API Error: Connection refused — a proxy may be blocking it", ModelFailure::Fault(Network)),
            ("stream disconnected before completion: Transport error", ModelFailure::Fault(Network)),
            ("Model stream ended without a finish reason.", ModelFailure::Fault(Network)),
            ("API Error: Sonnet 4.5 can't help with this. Start a new session", ModelFailure::Fault(Refused)),
            ("The model refused to complete the request", ModelFailure::Fault(Refused)),
            ("[API Error: {\"error\":{\"code\":401,\"message\":\"x\"}}]", ModelFailure::Fault(Login)),
            (
                "[API Error: {\"error\":{\"code\":400,\"message\":\"bad request\"}}]",
                ModelFailure::Fault(Other),
            ),
            (
                "Reached max session turns for this session. Increase the number of turns by specifying it",
                ModelFailure::Fault(Turns),
            ),
            ("", ModelFailure::Fault(Other)),
        ];
        for (text, trouble) in expected {
            assert_eq!(in_text(text), trouble, "{text}");
        }
    }

    #[test]
    fn a_number_alone_is_no_status() {
        assert_eq!(status("line 404 of the file"), None);
        assert_eq!(status("error: 4291 things"), None);
        assert_eq!(status("ä 500"), None);
        assert_eq!(status("(503)"), Some(503));
    }
}
