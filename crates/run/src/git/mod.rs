//! The only module that runs git, always in the same hardened way.
//!
//! A repository is untrusted input: someone may have written its configuration, hooks, attributes and file names in
//! order to run code. So every call starts from an empty environment, overrides each setting that names a program,
//! cannot prompt, and is bounded in time and output. A call can read the named repository and none of the user's own
//! settings, except for calls that exist to read them, such as [`Source::identity`].

mod branch_status;
mod call;
mod consolidate;
mod diff;
mod error;
mod fetch;
mod hooks;
mod identity;
mod index;
mod login;
mod mirror;
mod object;
mod push;
mod ref_check;
mod sign;
mod signature;
mod source;
mod tracking_ref;
mod uncommitted;
pub mod version;

pub use acquit_core::repository::{CommitId, InvalidCommitId, ObjectFormat};
pub use branch_status::Stands;
pub use call::{Call, Git, Output};
pub(crate) use consolidate::Arrived;
pub use diff::Form;
pub(crate) use diff::pending;
pub use error::Error;
pub use fetch::Offer;
pub use hooks::Hooks;
pub use identity::Identity;
pub(crate) use index::Index;
pub use mirror::is_address;
pub(crate) use object::{Commit, file_name};
pub use push::{Access, Direction, PushFailure, Pushed, Way as PushWay, meaning};
pub use sign::{Signing, User};
pub use signature::{Programs, Signed};
use source::global_config;
pub use source::{Base, Source, Unplaced};
pub(crate) use source::{is_partial, is_ref_component, is_ref_name};
pub use tracking_ref::Fetched;
pub(crate) use tracking_ref::tracking_ref;
pub(crate) use uncommitted::alternates;
pub use uncommitted::{Taken, Uncommitted};
