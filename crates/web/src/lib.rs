//! The dashboard of acquit: pages that a server renders, live by server-sent events.
//!
//! It is a second caller of the use cases in `acquit_app`, beside the command line, and decides nothing itself. Every page works as plain HTML
//! with links and forms; our own small script only brings what is new. All of it is in the binary.
//!
//! **One process beside the daemon.** `acquit serve` starts it and starts it again if it dies. Neither a page that panics nor a browser
//! that asks too much reaches the daemon.
//!
//! **Why axum and maud.** tokio is in the tree anyway (by `postgres`), axum on top of it adds hyper and a dozen small crates without a
//! build step of their own; a viewer of a live page is a task and not a thread, so five hundred of them are cheap. A server of our own would have to get HTTP/1.1
//! right against hostile clients. maud checks templates when they are compiled and escapes every value, so a forgotten call
//! cannot make an agent's text into markup.
//!
//! **Who may look.** See [`access`]: loopback only unless there is TLS or a named proxy, the owner's token, named tokens with roles, cookies that
//! no script reads, checks of `Host` and `Origin`, and a content security policy under which an injected script would not run.
//!
//! **The API** for programs is in `api`: the same use cases with JSON, described by an OpenAPI document that is made from its types.

pub mod access;
mod actions;
mod agents;
mod api;
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
mod new;
mod nights;
mod page;
mod pages;
mod path;
mod pool;
mod request;
mod route;
mod server;
mod settings;
mod shared;
mod task;
mod transcript;
mod words;
mod workers;
mod workflows;

pub use server::{Options, check_address, link, open_browser, serve};
