//! Forges: finished work becomes a pull request there, which people merge. A thin client of our own for two APIs.
//!
//! Guarantee: one pull request per task, however often it is retried. It is searched by its branch before it is
//! created, and recognized by a hidden marker ([`acquit_core::delivery::Marker`]). After an ambiguous answer it is
//! searched again. Every call can safely be repeated.
//!
//! [`remote`] detects the forge of an address, [`token`] finds its token, `audience` decides who may see it, `connect`
//! opens the connection and `http` makes the calls. `github` and `gitlab` are the two APIs. [`publish`] defines the
//! order of calls, and [`merge`] makes the forge merge. `draft` and `status` are states of a pull request,
//! `pull_request` reads those of others, and `feedback` and `checks` are what comes back.

mod audience;
mod checks;
mod connect;
mod draft;
mod error;
mod feedback;
mod github;
mod gitlab;
mod http;
pub mod merge;
pub mod publish;
mod pull_request;
pub mod remote;
mod status;
pub mod token;

use acquit_core::config::forge::{Forge as Settings, Kind};
use acquit_core::definition::Definition;
use acquit_core::delivery::Comment;
use acquit_core::task::Task;

pub(crate) use audience::{Audience, is_loopback};
pub use connect::{access, ca, open};
pub use draft::Readiness;
pub use error::Error;
pub use feedback::done;
pub use pull_request::{Seen, number};
pub(crate) use remote::web_host;
pub use remote::{Address, Located, Place, Transport, locate};
pub use status::{PullRequestStatus, Which, status};
pub use token::Token;

use crate::git::Source;
use crate::runtime::Runtime;

/// A pull request at a forge, with the fields that acquit uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Number in the project.
    pub number: u64,
    /// Address of its page.
    pub url: String,
    /// Title.
    pub title: String,
    /// Text.
    pub body: String,
    /// Status.
    pub standing: PullRequestStatus,
    /// Draft state.
    pub readiness: Readiness,
    /// Commit that its branch is at, if the forge reports it.
    pub head: Option<String>,
    /// Labels.
    pub labels: Vec<String>,
    /// GraphQL id. Empty if there is none.
    node: String,
    /// Whether auto-merge is already enabled.
    merges_itself: bool,
}

/// Wanted state of a pull request.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// Branch with the work, in the fork if there is one.
    pub branch: &'a str,
    /// Branch to merge into.
    pub base: &'a str,
    /// Title.
    pub title: &'a str,
    /// Draft state at creation.
    pub readiness: Readiness,
    /// Whether to squash when merging.
    pub squash: bool,
    /// Labels to add.
    pub labels: &'a [String],
    /// Reviewers to ask.
    pub reviewers: &'a [String],
    /// Assignees.
    pub assignees: &'a [String],
}

/// Result of enabling auto-merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Armed {
    /// The forge will merge as soon as its rules allow.
    Yes,
    /// Not enabled, for this reason.
    No(String),
}

/// Operations of a forge. Every call except [`Forge::create`] can safely be repeated.
pub trait Forge: merge::Merging {
    /// Returns the pull requests from a branch.
    fn find(&self, branch: &str, which: Which) -> Result<Vec<PullRequest>, Error>;

    /// Returns the status of a pull request.
    fn status(&self, number: u64) -> Result<PullRequestStatus, Error>;

    /// Returns a pull request of others, as it is now.
    fn look(&self, number: u64) -> Result<Seen, Error>;

    /// Creates a pull request.
    fn create(&self, wanted: &Wanted<'_>, body: &str) -> Result<PullRequest, Error>;

    /// Updates the text, and adds missing labels.
    fn update(&self, request: &PullRequest, wanted: &Wanted<'_>, body: &str) -> Result<(), Error>;

    /// Sets the draft state; does nothing if it already has it. Returns what the forge did not accept, as text.
    fn turn(&self, request: &PullRequest, to: Readiness) -> Result<Vec<String>, Error>;

    /// Asks reviewers and assigns people. Returns what the forge did not accept, as text.
    fn invite(&self, request: &PullRequest, wanted: &Wanted<'_>) -> Result<Vec<String>, Error>;

    /// Enables auto-merge, if the head is still `commit`.
    fn auto_merge(&self, request: &PullRequest, wanted: &Wanted<'_>, commit: &str) -> Result<Armed, Error>;

    /// Returns comments of people with write access on an open pull request, and its failed checks. Empty if it is not
    /// open.
    fn feedback(&self, number: u64) -> Result<Vec<Comment>, Error>;

    /// Posts a comment on a pull request, or updates the one that this token's user wrote and that starts with the line
    /// `mark`. Never changes comments of others, even if they start with it. Returns the address of the comment's page.
    fn comment(&self, number: u64, mark: &str, text: &str) -> Result<String, Error>;

    /// Answers a thread, unless it already has this answer.
    fn answer(&self, number: u64, thread: &str, text: &str) -> Result<(), Error>;
}

/// Detects the forge of a repository from its remotes and the configuration.
pub fn of(runtime: &Runtime, settings: &Settings, source: &Source) -> Result<Located, Error> {
    let home = runtime.environment.home();
    let url = |name: &str, direction| {
        let url = source.remote_url(&runtime.git, home, name, direction);
        url.map_err(|error| Error::Setting(acquit_core::failure::chain(&error)))
    };
    let (upstream, push) = remote::choose(settings, url)?;
    locate(settings, upstream.as_deref(), push.as_deref())
}

/// Returns the name of the remote whose branches work is based on: the one that pull requests target.
pub fn base_remote(runtime: &Runtime, settings: &Settings, source: &Source) -> Option<String> {
    let home = runtime.environment.home();
    let url =
        |name: &str, direction| Ok(source.remote_url(&runtime.git, home, name, direction).ok().flatten());
    remote::base_name(settings, url).ok().flatten().map(str::to_owned)
}

/// Returns the git server of a repository's remote, if its host is not known to be a forge. `None` if there is no such
/// host, if it is a forge, or if the configuration disables this.
pub fn server(runtime: &Runtime, settings: &Settings, source: &Source) -> Option<Address> {
    if settings.kind == Some(Kind::None)
        || matches!(of(runtime, settings, source), Ok(Located::At(_)) | Err(_))
    {
        return None;
    }
    let home = runtime.environment.home();
    let url =
        |name: &str, direction| Ok(source.remote_url(&runtime.git, home, name, direction).ok().flatten());
    let (upstream, _) = remote::choose(settings, url).ok()?;
    Address::of_server(upstream.as_deref()?)
}

/// Returns new feedback on a task's open pull request: comments of people with write access, and failed checks.
pub fn feedback(runtime: &Runtime, task: &Task, definition: &Definition) -> Result<Vec<Comment>, Error> {
    let Some(request) = task.request() else { return Ok(Vec::new()) };
    let settings = &definition.config.forge;
    let source = Source::of(definition).map_err(|error| Error::Setting(error.to_string()))?;
    let place = match of(runtime, settings, &source)? {
        Located::At(place) => *place,
        Located::Nowhere(why) => {
            return Err(Error::Setting(format!("find the forge of {}: {why}", request.url)));
        }
    };
    let token = token::find(runtime, &definition.config, &place)?;
    let mut comments = open(runtime, settings, &place, token.as_ref())?.feedback(request.number)?;
    let taken: Vec<&str> =
        task.conversation.iter().filter_map(|one| Some(one.origin.as_ref()?.id.as_str())).collect();
    comments.retain(|comment| !taken.contains(&comment.id.as_str()));
    comments.truncate(feedback::MOST);
    let redactor = token.as_ref().map(Token::redactor).unwrap_or_default();
    for comment in &mut comments {
        comment.text = redactor.text(&comment.text);
    }
    Ok(comments)
}

#[cfg(test)]
mod tests;
