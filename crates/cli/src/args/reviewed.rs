//! What `acquit review` looks at.

use acquit_core::ids::Name;

use super::model;

/// What is to be reviewed.
#[derive(clap::Args, Debug)]
pub struct Reviewed {
    /// A request at the forge of this repository, by number or address; or a branch or commit.
    pub what: String,
    /// Of a branch: what it is to be merged into, instead of what is checked out.
    #[arg(short, long)]
    pub base: Option<String>,
    /// Another workflow than `review`.
    #[arg(short, long)]
    pub workflow: Option<Name>,
    /// The agent that takes every stage of it.
    #[arg(long)]
    pub agent: Option<Name>,
    /// The model that is asked at every stage, or an alias of `[models]`.
    #[arg(long, value_parser = model)]
    pub model: Option<String>,
}
