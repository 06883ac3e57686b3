//! The JSON form of what acquit stores.
//!
//! serde generates code for each pair of a type and a format. For types as large as an event or a definition that is
//! a lot of code, so it is generated once, here, and not again in every crate that reads or writes them.

use std::collections::BTreeMap;

use serde_json::Result;

use crate::agent::{AgentEvent, Item, Usage};
use crate::definition::Definition;
use crate::delivery::queue::{Candidate, Settled};
use crate::event::Body;
use crate::fleet::{Need, Parcel, Share, Worker};
use crate::gate::Verdict;
use crate::ids::Name;
use crate::leg::{Entry, Owner, Report};
use crate::night::Night;
use crate::results::Results;
use crate::task::{Actor, Task};

/// A type with a JSON form.
pub trait Json: Sized {
    /// Parses the JSON form.
    fn from_json(text: &str) -> Result<Self>;
    /// Returns the JSON form.
    fn to_json(&self) -> Result<String>;
}

/// Implements [`Json`] for types that serde reads and writes.
#[macro_export]
macro_rules! json {
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::json::Json for $type {
            fn from_json(text: &str) -> serde_json::Result<Self> {
                serde_json::from_str(text)
            }

            fn to_json(&self) -> serde_json::Result<String> {
                serde_json::to_string(self)
            }
        })+
    };
}

json! {
    Actor, AgentEvent, Body, BTreeMap<Name, Vec<Need>>, BTreeMap<Name, Vec<Share>>, Candidate, Definition, Entry, Night, Owner, Parcel, Report, Results, Settled,
    Task, Usage, Vec<Item>, Vec<Need>, Vec<String>, Vec<Verdict>, Worker, serde_json::Value,
}
