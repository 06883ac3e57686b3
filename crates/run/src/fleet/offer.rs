//! What a worker provides. Checked when a leg asks for it, so that no one has to list it.

use std::path::Path;

use acquit_core::config::{Config, Product};
use acquit_core::failure::chain;
use acquit_core::fleet::Need;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;

use super::repository;
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

/// Checks whether this machine has something that a leg of `task` needs. Labels are checked by the worker itself.
pub fn offer(
    runtime: &Runtime,
    store: &mut dyn Store,
    own: &Config,
    task: TaskId,
    need: &Need,
) -> Result<Offered, acquit_core::store::Error> {
    let no = |why: String| Ok(Offered::No(why));
    match need {
        Need::Label(_) => no("it does not have the label".to_owned()),
        Need::Home(_) => no("it is not the machine that the task was made on".to_owned()),
        Need::Agent(program) => {
            if has_program(runtime, program) {
                Ok(Offered::Yes)
            } else {
                no(format!("{program} is not installed"))
            }
        }
        Need::Secret(name) => {
            let vault = Vault::new(own, &runtime.environment, &runtime.spawner);
            match vault.resolve(name) {
                Ok(_) => Ok(Offered::Yes),
                Err(error) => no(format!("failed to {}", chain(&error))),
            }
        }
        Need::Repository(key) => match repository::clone(runtime, store, key, task) {
            Ok(_) => Ok(Offered::Yes),
            Err(super::Error::Store(error)) => Err(error),
            Err(error) => no(format!("failed to {}", chain(&error))),
        },
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
