//! The offers of a worker. Checked when a leg needs them, so that no one has to list them.

use std::path::Path;

use acquit_core::config::{Config, Product};
use acquit_core::failure::chain;
use acquit_core::fleet::Need;

use crate::agent::discovery;
use crate::process;
use crate::runtime::Runtime;
use crate::secrets::Vault;

/// Whether a need is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The need is met.
    Yes,
    /// The need is not met, for this reason.
    No(String),
}

/// Checks whether this machine has something that a leg needs. The worker itself checks labels, and gets repositories.
pub fn offer(runtime: &Runtime, own: &Config, need: &Need) -> Offered {
    let no = |why: String| Offered::No(why);
    match need {
        Need::Label(_) => no("it does not have the label".to_owned()),
        Need::Home(_) => no("it is not the machine that the task was made on".to_owned()),
        Need::Repository(_) => no("it does not have the repository".to_owned()),
        Need::Agent(program) => {
            if has_program(runtime, program) {
                Offered::Yes
            } else {
                no(format!("{program} is not installed"))
            }
        }
        Need::Secret(name) => {
            let vault = Vault::new(own, &runtime.environment, &runtime.spawner);
            match vault.resolve(name) {
                Ok(_) => Offered::Yes,
                Err(error) => no(format!("failed to {}", chain(&error))),
            }
        }
    }
}

/// Returns whether the program of an agent is installed here.
pub(crate) fn has_program(runtime: &Runtime, program: &str) -> bool {
    if let Some(product) = Product::ALL.iter().find(|product| product.name() == program) {
        return discovery::find(runtime, *product, None).is_some();
    }
    if program.contains('/') {
        // The script of a scripted agent is read, not run.
        return Path::new(program).is_file();
    }
    let path = runtime.environment.get("PATH");
    path.is_some_and(|path| process::in_path(path, program).is_some())
}
