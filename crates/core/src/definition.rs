//! What a task runs by, pinned when it is created: a later edit of a file, or an agent's edit of one, changes nothing
//! for a task that is under way, and any worker can run it without the user's checkout.

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::workflow::Workflow;

/// A workflow and the project's configuration as they were when the task was created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The form of this value; see [`Definition::FORM`].
    pub form: u32,
    /// The stages and what follows what.
    pub workflow: Workflow,
    /// Agents, setup, branch names.
    pub config: Config,
    /// The project's own instructions for agents.
    pub instructions: String,
    /// Who the work is committed as: the user, as git knows them.
    pub author: Author,
    /// The repository, in the form by which the harness finds it again without looking for it.
    pub source: serde_json::Value,
}

/// A name for commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The person's name.
    pub name: String,
    /// The person's address.
    pub email: String,
}

impl Definition {
    /// The form written today. A store that holds a newer one was written by a newer acquit.
    pub const FORM: u32 = 1;
}
