//! The use cases of acquit: everything a person or a program can request, independent of terminal, page or protocol.
//!
//! [`App`] is the entry point of every use case: it holds the surroundings, the store and the runtime of the harness.
//! Requests and results are types. An [`Error`] has a [`Kind`] and a hint. Information for people during the work is
//! sent as a [`Notice`].
//!
//! The command line is one caller: it parses arguments and prints text. Nothing here prints, reads standard input, or
//! ends the process.

pub mod answer;
pub mod answer_link;
mod app;
pub mod artifact;
pub mod ask;
pub mod board;
pub mod check;
mod decide;
pub mod diff;
pub mod doctor;
pub mod drive;
pub mod environment;
mod error;
mod feedback;
pub mod figures;
pub mod flow;
pub mod history;
pub mod index;
pub mod init;
pub mod merge;
mod notice;
mod options;
pub mod places;
pub mod pre_push;
pub mod preflight;
pub mod project;
pub mod prove;
pub mod reload;
pub mod review;
pub mod schedules;
pub mod scratch_dir;
pub mod serve;
pub mod settings;
pub mod shipped;
pub mod size;
pub mod snapshot;
pub mod stats;
pub mod store_admin;
pub mod suggest;
mod systemd;
mod task;
pub mod tasks;
pub mod transcript;
pub mod trust;
mod walls;
pub mod worker;
pub mod workers;

pub use app::App;
pub use environment::Surroundings;
pub use error::{Error, Kind};
pub use notice::{Notice, Notices};
pub use options::{Limits, Means};
pub use reload::Renewal;
pub use task::{NewTask, Origin};
