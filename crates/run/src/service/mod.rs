//! The service of the system that runs `acquit serve`: what is written for systemd and for launchd, and the calls that make it known.
//!
//! The texts are functions of a [`Plan`]; nothing is guessed while they are written. A service stops without ending its legs: each is a
//! process of its own that goes on, and the next daemon finds it.

mod calls;
mod text;

use std::path::PathBuf;

pub use calls::{CallResult, Error, call};
pub use text::{environment_file, folder_line, launchd, launchd_label, systemd};

/// Which program of the system keeps services running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// systemd, for one user.
    SystemdUser,
    /// systemd, for the machine.
    SystemdSystem,
    /// launchd, for one user.
    Launchd,
}

/// A service to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its name, without an ending.
    pub name: String,
    /// This program.
    pub program: PathBuf,
    /// Where it runs: the repository whose configuration has the schedules.
    pub folder: PathBuf,
    /// The file with the variables that it gets.
    pub environment: PathBuf,
    /// The user it runs as, for a service of the machine.
    pub user: Option<String>,
    /// Where launchd puts what it says.
    pub log: PathBuf,
    /// Variables that it gets beside those of the file.
    pub variables: Vec<(String, String)>,
}
