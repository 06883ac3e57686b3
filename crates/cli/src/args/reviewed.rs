//! Arguments of `acquit review`.

use super::Means;

/// What to review.
#[derive(clap::Args, Debug)]
#[command(mut_arg("workflow", |arg| arg.help("Another workflow than `review`")))]
pub struct Reviewed {
    /// A pull request of this repository's forge, by number or URL; or a branch or commit.
    pub what: String,
    /// The branch to compare with [default: the current branch]
    #[arg(short, long)]
    pub base: Option<String>,
    #[command(flatten)]
    pub means: Means,
}
