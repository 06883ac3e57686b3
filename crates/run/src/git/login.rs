//! Credentials for one git call, invisible to everything else.
//!
//! Everyone can read arguments, and every process of the same user can read variables through `/proc`, in git and in
//! all that it starts. So the credentials are in an unnamed in-memory file that git inherits open. Git reads them with
//! a one-line credential helper that contains only the descriptor number. The file is gone when the call ends.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use crate::process::{self, inherited};
use crate::secrets::Secret;

/// User name and token, in git's credential format.
#[derive(Clone)]
pub(super) struct Login(Arc<Secret>);

impl Login {
    pub(super) fn new(user: &str, token: &Secret) -> Self {
        let mut words = format!("username={user}\npassword=").into_bytes();
        words.extend_from_slice(token.bytes());
        words.push(b'\n');
        Self(Arc::new(Secret::new(token.name(), words)))
    }

    /// Returns the setting that lets git find the credentials, and the file, which must stay open as long as git runs.
    pub(super) fn hand_over(&self) -> Result<(OsString, File), process::Error> {
        let file = inherited(self.0.bytes())
            .map_err(|source| process::Error::Stdin { program: "git".into(), source })?;
        // Reopened through its number, so that each read starts at the beginning however often git asks.
        let line = format!(
            "credential.helper=!f() {{ test \"$1\" = get && cat /proc/self/fd/{}; }}; f",
            file.as_raw_fd()
        );
        Ok((line.into(), file))
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login")
    }
}
