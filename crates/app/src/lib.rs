//! The use cases of acquit: what a person or a program can ask for, without a terminal, a page or a protocol.
//!
//! [`App`] is where every use case begins: it knows the surroundings, the store and the runtime of the harness. Requests and answers are types;
//! an [`Error`] carries its [`Kind`] and a hint. What happens meanwhile and concerns a person comes as a [`Notice`].
//!
//! The command line is one caller: arguments in, words out. Nothing here prints, reads standard input, or ends the process.

pub mod answer;
mod app;
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
mod task;
pub mod tasks;
pub mod transcript;
pub mod trust;
pub mod worker;
pub mod workers;

pub use app::App;
pub use environment::Surroundings;
pub use error::{Error, Kind};
pub use notice::{Notice, Notices};
pub use options::{Limits, Means};
pub use reload::Renewal;
pub use task::{NewTask, Origin};
