//! Why a worker cannot begin.

/// Why a worker cannot begin. Texts continue "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The store is a file.
    #[error("start a worker: the store {0} is a file, which other machines cannot use")]
    NotShared(String),
    /// Nobody said that what others wrote may run.
    #[error("start a worker: it would run what anybody who can write to the store asks for")]
    Untrusting,
    /// A living worker has the name.
    #[error("start a worker: another one is called {0}")]
    NameTaken(String),
    /// Something that is no label.
    #[error("use the label {0:?}")]
    Label(String),
    /// Something that is no name.
    #[error("use the name {0:?}")]
    Name(String),
}

impl Refused {
    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotShared(_) => {
                "name a PostgreSQL database with --store, or in ACQUIT_STORE (docs/fleet.md)"
            }
            Self::Untrusting => {
                "if you trust everybody who can, add --trust-store: programs run in the sandbox, with this machine's own configuration for secrets \
                 and safety (docs/fleet.md)"
            }
            Self::NameTaken(_) => {
                "choose another name with --name; the name of a worker that was killed is free after half a minute"
            }
            Self::Label(_) => "letters, digits and = . _ - / are possible, such as `gpu` or `os=linux`",
            Self::Name(_) => "a name has up to 64 letters, digits and = . _ - /",
        }
    }
}
