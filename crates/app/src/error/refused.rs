//! Why a worker, or a daemon that leaves legs to workers, cannot start.

/// Why it cannot start. Messages continue "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The store is a file.
    #[error("start a worker: the store {0} is a file, which other machines cannot use")]
    NotShared(String),
    /// The daemon is to leave all legs to workers, and the store is a file.
    #[error("leave all legs to workers: the store {0} is a file, which no other machine can use")]
    NoWorkers(String),
    /// The user has not agreed to run what others wrote to the store.
    #[error("start a worker: it would run what anybody who can write to the store asks for")]
    Untrusting,
    /// A running worker has this name.
    #[error("start a worker: another one is called {0}")]
    NameTaken(String),
    /// The worker has not shown for a while that it runs.
    #[error("find a sign of life from the worker {0}")]
    Stuck(String),
    /// Not a valid label.
    #[error("use the label {0:?}")]
    Label(String),
    /// Not a valid name.
    #[error("use the name {0:?}")]
    Name(String),
}

impl Refused {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotShared(_) | Self::NoWorkers(_) => {
                "name a PostgreSQL database with --store, or in ACQUIT_STORE (docs/fleet.md)"
            }
            Self::Untrusting => {
                "if you trust everybody who can, add --trust-store: programs run in the sandbox, with this machine's own configuration for secrets \
                 and safety (docs/fleet.md)"
            }
            Self::NameTaken(_) => {
                "choose another name with --name; the name of a worker that was killed is free after half a minute"
            }
            Self::Stuck(_) => {
                "it is stuck, or does not run on this machine with this ACQUIT_HOME; `acquit workers` shows all of them"
            }
            Self::Label(_) => "letters, digits and = . _ - / are possible, such as `gpu` or `os=linux`",
            Self::Name(_) => "a name has up to 64 letters, digits and = . _ - /",
        }
    }
}
