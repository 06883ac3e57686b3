//! The system service that runs `acquit serve`: the files for systemd and launchd, and the calls that register it.
//!
//! The texts are functions of a [`Plan`]; writing them needs no other input. Stopping the service does not end its
//! legs: each is a separate process that continues, and the next daemon finds it.

mod calls;
mod text;

use std::path::PathBuf;

pub use calls::{CallResult, Error, call};
pub use text::{environment_file, folder_line, launchd, launchd_label, systemd};

/// Service manager of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    /// systemd, for one user.
    SystemdUser,
    /// systemd, for the machine.
    SystemdSystem,
    /// launchd, for one user.
    Launchd,
}

/// A service to install.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Name, without an extension.
    pub name: String,
    /// Path of this program.
    pub program: PathBuf,
    /// Working directory: the repository whose configuration has the schedules.
    pub folder: PathBuf,
    /// File with the variables of the service.
    pub environment: PathBuf,
    /// User it runs as, for a service of the machine.
    pub user: Option<String>,
    /// Log file for launchd.
    pub log: PathBuf,
    /// Variables in addition to those of the file.
    pub variables: Vec<(String, String)>,
}
