//! The dashboard of acquit: server-rendered pages, updated live with server-sent events.
//!
//! It calls the use cases in `acquit_app`, like the command line, and makes no decisions itself. Every page works as
//! plain HTML with links and forms; our own small script only fetches updates. Everything is in the binary.
//!
//! **A separate process.** `acquit serve` starts it next to the daemon, and restarts it if it dies. Neither a page
//! that panics nor a browser with too many requests affects the daemon.
//!
//! **Why axum and maud.** tokio is a dependency anyway (through `postgres`). axum adds hyper and a dozen small crates
//! without build scripts. A viewer of a live page is a task and not a thread, so five hundred of them are cheap. A
//! server of our own would have to handle HTTP/1.1 correctly against hostile clients. maud checks templates at compile
//! time and escapes every value, so a forgotten call cannot turn an agent's text into markup.
//!
//! **Access control.** See [`access`]: loopback only unless there is TLS or a named proxy, the owner's token, named
//! tokens with roles, cookies that no script can read, checks of `Host` and `Origin`, and a content security policy
//! that blocks injected scripts.
//!
//! **The API** for programs is in `api`: the same use cases with JSON, described by an OpenAPI document that is
//! generated from its types.

pub mod access;
mod actions;
mod agents;
mod answer_link;
mod api;
mod artifact;
mod background;
mod board;
mod costs;
mod diff;
mod diffs;
mod doctor;
mod flow;
mod inbox;
mod lines;
mod listen;
mod live;
mod login;
mod metrics;
mod new;
mod nights;
mod page;
mod pages;
mod path;
mod pool;
mod refresh;
mod request;
mod route;
mod server;
mod settings;
mod shared;
mod task;
mod transcript;
mod ways;
mod words;
mod workers;
mod workflows;

pub use server::{Options, check_address, link, open_browser, serve};
