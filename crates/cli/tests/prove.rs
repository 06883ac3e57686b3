//! `acquit prove` judges a change, says on what that rests, and leaves everything of the user's as it was.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests run real programs, and print tables to be read"
)]

#[path = "prove/agents.rs"]
mod agents;
#[path = "prove/change.rs"]
mod change;
#[path = "prove/ci.rs"]
mod ci;
mod common;
#[path = "prove/evidence.rs"]
mod evidence;
#[path = "prove/formats.rs"]
mod formats;
#[path = "prove/gates.rs"]
mod gates;
#[path = "prove/kit.rs"]
mod kit;
#[path = "prove/lies.rs"]
mod lies;
#[path = "prove/machine.rs"]
mod machine;
#[path = "prove/packages.rs"]
mod packages;
#[path = "prove/push.rs"]
mod push;
#[path = "prove/quick.rs"]
mod quick;
#[path = "prove/request.rs"]
mod request;
#[path = "prove/schemas.rs"]
mod schemas;
#[path = "prove/signed.rs"]
mod signed;
#[path = "prove/spent.rs"]
mod spent;
#[path = "prove/tool.rs"]
mod tool;
#[path = "prove/untouched.rs"]
mod untouched;
#[path = "common/user.rs"]
mod user;
#[path = "prove/verdict.rs"]
mod verdict;
