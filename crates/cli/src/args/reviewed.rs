//! What `acquit review` looks at.

use super::Means;

/// What is to be reviewed.
#[derive(clap::Args, Debug)]
#[command(mut_arg("workflow", |arg| arg.help("Another workflow than `review`")))]
pub struct Reviewed {
    /// A request at the forge of this repository, by number or address; or a branch or commit.
    pub what: String,
    /// Of a branch: what it is to be merged into, instead of what is checked out.
    #[arg(short, long)]
    pub base: Option<String>,
    #[command(flatten)]
    pub means: Means,
}
