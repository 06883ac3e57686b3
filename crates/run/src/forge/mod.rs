//! Forges: where finished work becomes a request that people merge. A thin client of our own, for two dialects.
//!
//! What it promises: one request for a task, however often it is tried. It is looked for before it is made, by its branch, and
//! recognised by a hidden mark ([`acquit_core::delivery::Marker`]); after an answer that leaves open whether anything
//! happened it is looked for again. Whatever a call does is harmless to do twice.
//!
//! [`remote`] tells the forge from an address, [`token`] finds its token, `audience` says who would see that, `way` leads there, `http` makes the calls, `github` and
//! `gitlab` are the dialects, [`publish`] is the order of calls, [`merge`] has the forge merge. `draft` and `standing` are what a
//! request can be, `pull_request` what one of others is, `feedback` and `checks` what comes back.

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

pub(crate) use audience::Audience;
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

/// A request at a forge, as far as acquit looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the project.
    pub number: u64,
    /// Its page.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// What became of it.
    pub standing: PullRequestStatus,
    /// Whether it may be merged as it is.
    pub readiness: Readiness,
    /// The commit that its branch is at, if the forge says.
    pub head: Option<String>,
    /// The labels that it has.
    pub labels: Vec<String>,
    /// The name by which GraphQL calls it; empty where there is none.
    node: String,
    /// Whether the forge merges it by itself already.
    merges_itself: bool,
}

/// What a request is to be.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The branch with the work, in the fork if there is one.
    pub branch: &'a str,
    /// The branch that it is to be merged into.
    pub base: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Whether it is a draft when it is made.
    pub readiness: Readiness,
    /// Whether it is merged as one commit.
    pub squash: bool,
    /// Labels that it is to have.
    pub labels: &'a [String],
    /// Who is asked to review.
    pub reviewers: &'a [String],
    /// Whom it belongs to.
    pub assignees: &'a [String],
}

/// Whether a forge will merge by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Armed {
    /// It will, as soon as its rules allow.
    Yes,
    /// It will not, for this reason.
    No(String),
}

/// What acquit needs of a forge. Each call is harmless to do twice, but for [`Forge::create`].
pub trait Forge: merge::Merging {
    /// The requests from a branch.
    fn find(&self, branch: &str, which: Which) -> Result<Vec<PullRequest>, Error>;

    /// What became of a request.
    fn status(&self, number: u64) -> Result<PullRequestStatus, Error>;

    /// A request of others, as it is now.
    fn look(&self, number: u64) -> Result<Seen, Error>;

    /// Makes one.
    fn create(&self, wanted: &Wanted<'_>, body: &str) -> Result<PullRequest, Error>;

    /// Gives it another text, and the labels that it lacks.
    fn update(&self, request: &PullRequest, wanted: &Wanted<'_>, body: &str) -> Result<(), Error>;

    /// Makes it a draft, or no draft any more; nothing happens if it is that. Gives what the forge did not accept, in words.
    fn turn(&self, request: &PullRequest, to: Readiness) -> Result<Vec<String>, Error>;

    /// Asks reviewers and assigns people. Gives what the forge did not accept, in words.
    fn invite(&self, request: &PullRequest, wanted: &Wanted<'_>) -> Result<Vec<String>, Error>;

    /// Lets the forge merge it by itself, if its head is still `commit`.
    fn auto_merge(&self, request: &PullRequest, wanted: &Wanted<'_>, commit: &str) -> Result<Armed, Error>;

    /// What people who may write said about an open request, and which of its checks failed. Nothing if it is not open.
    fn feedback(&self, number: u64) -> Result<Vec<Comment>, Error>;

    /// Posts a comment on a request, or updates the one that this token's user wrote and that begins with the line `mark`. Comments
    /// of others are left alone, whatever they begin with. Returns the comment's page.
    fn comment(&self, number: u64, mark: &str, text: &str) -> Result<String, Error>;

    /// Answers a thread, unless it has this answer already.
    fn answer(&self, number: u64, thread: &str, text: &str) -> Result<(), Error>;
}

/// The forge of a repository, told from its remotes and the configuration.
pub fn of(runtime: &Runtime, settings: &Settings, source: &Source) -> Result<Located, Error> {
    let home = runtime.environment.home();
    let url = |name: &str, direction| {
        let url = source.remote_url(&runtime.git, home, name, direction);
        url.map_err(|error| Error::Setting(acquit_core::failure::chain(&error)))
    };
    let (upstream, push) = remote::choose(settings, url)?;
    locate(settings, upstream.as_deref(), push.as_deref())
}

/// The name of the remote whose branches are what work is based on: the one that requests are made against.
pub fn base_remote(runtime: &Runtime, settings: &Settings, source: &Source) -> Option<String> {
    let home = runtime.environment.home();
    let url =
        |name: &str, direction| Ok(source.remote_url(&runtime.git, home, name, direction).ok().flatten());
    remote::base_name(settings, url).ok().flatten().map(str::to_owned)
}

/// The git server of a repository's remote, at a host of which it cannot be told what forge it is. `None` if there is no such host, if it
/// is a forge's, and if the configuration says that nobody is to be asked.
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

/// What is new about a task's open request: said by people who may write to the project, and checks that failed.
pub fn feedback(runtime: &Runtime, task: &Task, definition: &Definition) -> Result<Vec<Comment>, Error> {
    let Some(request) = task.request() else { return Ok(Vec::new()) };
    let settings = &definition.config.forge;
    let source = Source::of(definition)
        .map_err(|error| Error::Setting(format!("read where the repository is: {error}")))?;
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
