//! Streams events as they happen, for programs: `GET /api/v1/events` with `Accept: text/event-stream`.
//!
//! The id of each message is the event's number in the store. A client that was disconnected sends it as
//! `Last-Event-ID`, and receives everything it missed before new events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use acquit_core::event::Event as Stored;
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::problem::Problem;
use super::types::Event;
use crate::live::News;
use crate::shared::Shared;

/// Number of events to read at once.
const PAGE: u32 = 200;
/// Maximum number of messages that wait for a slow reader. Then no more are read for it.
const WAITING: usize = 64;
/// How often to check the store without a notification.
const BEAT: Duration = Duration::from_secs(15);

/// Returns whether the client wants a stream.
pub fn wanted(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepts.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// Returns the last event the client has seen.
pub fn last_event(headers: &HeaderMap) -> Option<i64> {
    headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok())
}

/// Streams events after `after`, or from now on.
pub async fn stream(shared: Arc<Shared>, after: Option<i64>) -> Response {
    let Some(place) = shared.live.place() else {
        return Problem::new("too-many-requests", "too many streams are open").into_response();
    };
    let mut news = shared.live.listen();
    let live = Arc::clone(&shared.live);
    let begin = shared.pool.run(move |_, store| match after {
        Some(after) => Ok::<_, Problem>(after.max(0)),
        None => Ok(live.newest(store)?),
    });
    let mut after = match begin.await {
        Some(Ok(after)) => after,
        Some(Err(problem)) => return problem.into_response(),
        None => return Problem::new("internal", "the stream could not begin").into_response(),
    };
    let (sender, receiver) = mpsc::channel::<Message>(WAITING);
    tokio::spawn(async move {
        let _held = place;
        let hello = Message::default().retry(Duration::from_secs(2)).comment("connected");
        if sender.send(hello).await.is_err() {
            return;
        }
        loop {
            let page = shared.pool.run(move |_, store| Ok::<_, Problem>(store.events(None, after, PAGE)?));
            let page: Vec<Stored> = match page.await {
                Some(Ok(page)) => page,
                // The store is temporarily unreachable; events are read later.
                Some(Err(_)) | None => Vec::new(),
            };
            let full = page.len() == PAGE as usize;
            for event in page {
                after = event.seq;
                let data = serde_json::to_string(&Event::from(&event)).unwrap_or_default();
                let message = Message::default().id(after.to_string()).event(event.body.kind()).data(data);
                if sender.send(message).await.is_err() {
                    return;
                }
            }
            if full {
                continue;
            }
            // Output of agents is no event.
            let event = async { while let Ok(News::Printed { .. } | News::All) = news.recv().await {} };
            tokio::select! {
                () = sender.closed() => return,
                () = event => {}
                () = tokio::time::sleep(BEAT) => {}
            }
        }
    });
    let messages = ReceiverStream::new(receiver).map(Ok::<_, Infallible>);
    Sse::new(messages).keep_alive(KeepAlive::new().interval(BEAT)).into_response()
}
