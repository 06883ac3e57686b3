//! A login that git is given for one call, and that nobody else gets to see.
//!
//! What stands in an argument everybody can read, and what stands in a variable whoever looks into `/proc` as the same user, in
//! git and in all that it starts. So the login lies in a file in memory, which has no name and which git inherits open. Git asks for
//! it with a helper of one line that names the descriptor and nothing else. The file is gone when the call is over.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use crate::process::{self, inherited};
use crate::secrets::Secret;

/// A name and a token, in the words in which git is told them.
#[derive(Clone)]
pub(super) struct Login(Arc<Secret>);

impl Login {
    pub(super) fn new(user: &str, token: &Secret) -> Self {
        let mut words = format!("username={user}\npassword=").into_bytes();
        words.extend_from_slice(token.bytes());
        words.push(b'\n');
        Self(Arc::new(Secret::new(token.name(), words)))
    }

    /// The setting that lets git find it, and the file, which must stay open as long as git runs.
    pub(super) fn hand_over(&self) -> Result<(OsString, File), process::Error> {
        let file = inherited(self.0.bytes())
            .map_err(|source| process::Error::Stdin { program: "git".into(), source })?;
        // Opened anew by its number, so that it is read from its beginning however often git asks.
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
