//! Errors as RFC 9457 problem documents.

use acquit_app::{Error, Kind};
use acquit_core::store;
use acquit_run::forge;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::schema::{Property, Schema, Schemas};

/// Kinds of problems: last part of `type`, status, and title.
pub const KINDS: [(&str, u16, &str); 17] = [
    ("malformed", 400, "The request cannot be read"),
    ("invalid", 400, "The request does not fit its schema"),
    ("unauthorized", 401, "No valid token or session"),
    ("forbidden", 403, "The role of this token does not allow it"),
    ("foreign-origin", 403, "Another site sent this request"),
    ("not-found", 404, "There is no such thing"),
    ("method-not-allowed", 405, "This path has other methods"),
    ("timeout", 408, "The body did not arrive in time"),
    ("conflict", 409, "The task cannot do that now"),
    ("in-progress", 409, "A request with this idempotency key is still running"),
    ("too-large", 413, "The body is too large"),
    ("unsupported-media-type", 415, "The body must be JSON"),
    ("wrong-host", 421, "The request names another host"),
    ("unprocessable", 422, "The request cannot be done as it is"),
    ("too-many-requests", 429, "Too many requests"),
    ("internal", 500, "acquit failed"),
    ("forge-unavailable", 502, "The forge did not answer"),
];

/// An error with everything that is sent to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: &'static str,
    detail: String,
    hint: Option<String>,
    /// Headers of the response, such as `Allow`.
    headers: Vec<(&'static str, String)>,
    /// Whether the connection to the store is broken.
    breaks: bool,
}

impl crate::pool::Breaks for Problem {
    fn breaks(&self) -> bool {
        self.breaks
    }
}

impl Problem {
    /// Creates a problem of one of the [`KINDS`], with a description.
    pub fn new(kind: &'static str, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), hint: None, headers: Vec::new(), breaks: false }
    }

    /// Adds a hint for the caller.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        KINDS.iter().find(|(kind, ..)| *kind == self.kind).map_or(500, |(_, status, _)| *status)
    }

    /// Returns whether it is of this kind.
    pub fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// Returns the description.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the document.
    pub fn document(&self) -> Value {
        let title = KINDS.iter().find(|(kind, ..)| *kind == self.kind).map_or("", |(.., title)| title);
        json!({
            "type": format!("/api#{}", self.kind), "title": title, "status": self.status(),
            "detail": self.detail, "hint": self.hint,
        })
    }
}

impl Schema for Problem {
    fn schema(all: &mut Schemas) -> Value {
        let field = |name, about, schema| Property { name, about, schema, required: true };
        all.object("Problem", "What went wrong (RFC 9457).", |_| {
            vec![
                field(
                    "type",
                    "Which kind of problem: an address on the page /api.",
                    json!({ "type": "string" }),
                ),
                field("title", "The kind in words.", json!({ "type": "string" })),
                field("status", "The HTTP status.", json!({ "type": "integer" })),
                field("detail", "What happened.", json!({ "type": "string" })),
                field("hint", "What you can do about it.", json!({ "type": ["string", "null"] })),
            ]
        })
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        let mut response = (status, kind, self.document().to_string()).into_response();
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = match (&error, error.kind()) {
            (
                Error::NoTask(_)
                | Error::NoLeg { .. }
                | Error::NoSchedule { .. }
                | Error::Store(store::Error::NoTask(_)),
                _,
            ) => "not-found",
            (
                Error::Forge { source: forge::Error::Away { .. } | forge::Error::Busy { .. }, .. }
                | Error::Request { source: forge::Error::Away { .. } | forge::Error::Busy { .. }, .. },
                _,
            ) => "forge-unavailable",
            (
                Error::Illegal { .. }
                | Error::Answered { .. }
                | Error::WorkChanged { .. }
                | Error::NotDelivered { .. }
                | Error::NotQueued { .. }
                | Error::DirtyCheckout { .. }
                | Error::NoBaseBranch { .. }
                | Error::StageGone { .. }
                | Error::Untrusted { .. }
                | Error::Pinned(_)
                | Error::NotReady(_)
                | Error::NotInitialised(_)
                | Error::Stalled { .. }
                | Error::Workspace { .. }
                | Error::Forge { .. }
                | Error::Request { .. }
                | Error::Store(store::Error::Conflict(_)),
                _,
            ) => "conflict",
            (_, Kind::Usage) => "unprocessable",
            (_, Kind::Internal) => "internal",
        };
        let mut problem = Self::new(kind, format!("failed to {}", acquit_run::harness::chain(&error)));
        problem.breaks = crate::pool::Breaks::breaks(&error);
        match error.hint() {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::new("internal", error.to_string())
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        Error::from(error).into()
    }
}
