//! Serves one connection: reads the request, chooses the step, and answers or fails as the step says.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::choose::{self, Asked, Chosen};
use super::http::{self, Chunked, Raw};
use super::script::{Answer, Fault, Refusal, Step};
use super::tools::{self, Reply};
use super::{PATIENCE, Request, SIDE, Shared, anthropic, chat, gemini, responses};

/// The answer after the end of a script.
const BEYOND: &str = "The script has no further step.";
/// The start of an answer that then fails.
const PIECE: &str = "This is the beginning of an answer that does not come to its end.";

/// An answer as a stream.
pub(super) struct Spoken {
    /// Events as sent.
    pub(super) events: Vec<String>,
    /// Number of events that are only part of an answer.
    pub(super) half: usize,
}

/// Formats an event.
pub(super) fn event(name: Option<&str>, data: &Value) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

/// Splits a text in two, so that nothing mistakes the first delta for the whole.
pub(super) fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}

/// Returns the text of a message's content: a string, or a list of parts of which some are text.
pub(super) fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dialect {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// How to send the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Stream,
    Whole,
}

impl Dialect {
    /// Parses a request that asks a model for an answer.
    fn of(raw: &Raw, body: &Value) -> Option<(Self, Delivery, Asked)> {
        let place = raw.place();
        let wanted = if body["stream"] == true { Delivery::Stream } else { Delivery::Whole };
        if place.ends_with("/messages") {
            Some((Self::Anthropic, wanted, anthropic::read(body)))
        } else if place.ends_with("/responses") {
            Some((Self::Responses, wanted, responses::read(body)))
        } else if place.ends_with("/chat/completions") {
            Some((Self::Chat, wanted, chat::read(body)))
        } else {
            let (model, verb) = place.rsplit('/').next()?.split_once(':')?;
            let wanted = match verb {
                "streamGenerateContent" => Delivery::Stream,
                "generateContent" => Delivery::Whole,
                _ => return None,
            };
            Some((Self::Gemini, wanted, gemini::read(body, model)))
        }
    }

    fn stream(self, reply: &Reply) -> Spoken {
        match self {
            Self::Anthropic => anthropic::stream(reply),
            Self::Responses => responses::stream(reply),
            Self::Chat => chat::stream(reply),
            Self::Gemini => gemini::stream(reply),
        }
    }

    fn whole(self, reply: &Reply) -> Value {
        match self {
            Self::Anthropic => anthropic::message(reply),
            Self::Responses => responses::whole(reply),
            Self::Chat => chat::whole(reply),
            Self::Gemini => gemini::whole(reply),
        }
    }

    fn error(self, status: u16, kind: Option<&str>, message: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status, kind, message),
            Self::Responses | Self::Chat => chat::error(status, kind, message),
            Self::Gemini => gemini::error(status, kind, message),
        }
    }

    /// Formats an error in the middle of a stream.
    fn broken(self) -> String {
        let message = "the model broke off, as the script says";
        match self {
            Self::Anthropic => event(Some("error"), &anthropic::error(529, None, message)),
            Self::Responses => responses::failed(message),
            Self::Chat => event(None, &chat::error(500, None, message)),
            Self::Gemini => event(None, &gemini::error(500, None, message)),
        }
    }
}

/// Serves one request.
pub(super) fn connection(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let raw = http::read(&stream)?;
    let body: Value = serde_json::from_slice(&raw.body).unwrap_or_default();
    let asked = if raw.method == "POST" { Dialect::of(&raw, &body) } else { None };
    let chosen = asked.as_ref().and_then(|(_, _, asked)| choose::choose(asked, &shared.scripts));
    let step = chosen.as_ref().map(|chosen| (chosen.script.to_owned(), chosen.index));
    let before = shared.keep(without_credentials(&raw, body, step));
    match asked {
        Some((dialect, delivery, asked)) => {
            Exchange { stream: &stream, shared, dialect, delivery, asked }.answer(chosen, before)
        }
        None => aside(&stream, &raw),
    }
}

/// Answers requests that don't ask a model.
fn aside(stream: &TcpStream, raw: &Raw) -> io::Result<()> {
    let place = raw.place();
    if raw.wants_upgrade() {
        // Codex first tries a WebSocket, and on this status falls back to HTTP at once.
        return http::whole(stream, 426, &[], &json!({"error": {"message": "no WebSockets here"}}));
    }
    let answer = match (raw.method.as_str(), place) {
        (_, "/") => json!({}),
        ("POST", _) if place.ends_with("/count_tokens") => json!({"input_tokens": 1000}),
        ("POST", _) if place.ends_with(":countTokens") => json!({"totalTokens": 1000}),
        ("GET", _) if place.ends_with("/models") => json!({"object": "list", "data": [], "models": []}),
        _ => {
            let message = format!("the scripted model has nothing at {place}");
            return http::whole(stream, 404, &[], &json!({"error": {"message": message}}));
        }
    };
    http::whole(stream, 200, &[], &answer)
}

/// A request, and where to send its answer.
struct Exchange<'a> {
    stream: &'a TcpStream,
    shared: &'a Shared,
    dialect: Dialect,
    delivery: Delivery,
    asked: Asked,
}

impl Exchange<'_> {
    fn answer(&self, chosen: Option<Chosen<'_>>, before: usize) -> io::Result<()> {
        let Some(chosen) = chosen else { return self.say(SIDE) };
        let Some(step) = chosen.step else { return self.say(BEYOND) };
        match step.after(before) {
            Step::Answer(_) if choose::edits_in_text(&self.asked) => {
                let steps = self.shared.scripts.0.get(chosen.script).map(Vec::as_slice).unwrap_or_default();
                let rest = steps.get(chosen.index..).unwrap_or_default();
                self.deliver(&self.reply(&choose::as_text(rest)))
            }
            Step::Answer(answer) => self.deliver(&self.reply(answer)),
            Step::Fault(fault) => self.fail(fault),
            // `after` resolves these.
            Step::First(..) => self.say(BEYOND),
        }
    }

    fn reply(&self, answer: &Answer) -> Reply {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Also unique across processes, because a session of another process may be resumed here.
        let number = u64::from(std::process::id()) * 1_000_000 + NEXT.fetch_add(1, Ordering::Relaxed);
        tools::reply(answer, &self.asked, number)
    }

    fn say(&self, text: &str) -> io::Result<()> {
        self.deliver(&self.reply(&Answer { text: text.to_owned(), ..Answer::default() }))
    }

    fn deliver(&self, reply: &Reply) -> io::Result<()> {
        match self.delivery {
            Delivery::Whole => http::whole(self.stream, 200, &[], &self.dialect.whole(reply)),
            Delivery::Stream => {
                let mut to = Chunked::begin(self.stream)?;
                for event in self.dialect.stream(reply).events {
                    to.send(&event)?;
                }
                to.end()
            }
        }
    }

    fn fail(&self, fault: &Fault) -> io::Result<()> {
        match fault {
            Fault::Status(refusal) => self.refuse(refusal),
            Fault::SseError => match self.delivery {
                // Without a stream, the same error is a status.
                Delivery::Whole => self.refuse(&Refusal { status: 500, ..Refusal::default() }),
                Delivery::Stream => {
                    let mut to = self.piece()?;
                    to.send(&self.dialect.broken())?;
                    to.end()
                }
            },
            // Dropping the socket closes the connection, and the client sees that the last chunk is missing.
            Fault::Drop => Ok(()),
            Fault::Cut => self.piece().map(drop),
            Fault::Hang(seconds) => {
                self.shared.wait(Duration::from_secs(*seconds));
                Ok(())
            }
            Fault::Stall(seconds) => {
                let _open = self.piece()?;
                self.shared.wait(Duration::from_secs(*seconds));
                Ok(())
            }
        }
    }

    /// Sends the start of an answer.
    fn piece(&self) -> io::Result<Chunked<'_>> {
        let mut to = Chunked::begin(self.stream)?;
        let reply = self.reply(&Answer { text: PIECE.to_owned(), ..Answer::default() });
        match self.delivery {
            Delivery::Whole => to.send("{")?,
            Delivery::Stream => {
                let spoken = self.dialect.stream(&reply);
                for event in spoken.events.iter().take(spoken.half) {
                    to.send(event)?;
                }
            }
        }
        Ok(to)
    }

    fn refuse(&self, refusal: &Refusal) -> io::Result<()> {
        let message = refusal.message.clone().unwrap_or_else(|| format!("scripted error {}", refusal.status));
        let usual = || self.dialect.error(refusal.status, refusal.kind.as_deref(), &message);
        let body = refusal.body.clone().unwrap_or_else(usual);
        http::whole(self.stream, refusal.status, &refusal.headers, &body)
    }
}

/// Returns a request to record: with the kind of a credential, never with the credential.
fn without_credentials(raw: &Raw, body: Value, step: Option<(String, usize)>) -> Request {
    const WITHHELD: &str = "(withheld)";
    let headers = raw.headers.iter().map(|(name, value)| {
        let value = match name.as_str() {
            "authorization" => format!("{} {WITHHELD}", value.split(' ').next().unwrap_or_default()),
            "x-api-key" | "api-key" | "x-goog-api-key" | "cookie" | "proxy-authorization" => {
                WITHHELD.to_owned()
            }
            _ => value.clone(),
        };
        (name.clone(), value)
    });
    let (place, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
    let query: Vec<_> = query
        .split('&')
        .map(|pair| if pair.starts_with("key=") { format!("key={WITHHELD}") } else { pair.to_owned() })
        .collect();
    let path = if raw.path.contains('?') { format!("{place}?{}", query.join("&")) } else { place.to_owned() };
    Request { method: raw.method.clone(), path, headers: headers.collect(), body, step }
}
