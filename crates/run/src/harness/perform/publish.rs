//! The action `publish`: pushes the squashed commit with a lease, then creates or updates one pull request at the
//! forge.
//!
//! The leg's row is the outbox. If the forge is down or rate-limits us, the leg ends as held. The next one repeats
//! everything, finds what exists and changes only the rest. What only a person can fix becomes a question at once.
//! Without a forge the work ends on the local branch, and a notice says why.

use std::time::Duration;

use acquit_core::artifact::{Artifact, Requested};
use acquit_core::config::Otherwise;
use acquit_core::config::Publishing;
use acquit_core::config::forge::{Forge as Settings, Kind};
use acquit_core::delivery::{self, Account, Marker};
use acquit_core::event::{Body, Level};
use acquit_core::failure::kind;
use acquit_core::gate::Verdict;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::outcome;
use acquit_core::store::each_event;
use acquit_core::template::Template;
use acquit_core::time::backoff;
use acquit_core::workflow::Commits;

use super::super::work::{Done, Moved, Proof, by_harness};
use super::outgoing::{
    Delivered, Destination, ROUNDS, Stands, UNNAMED, beat, destination, overtaken, push, squashed, stand,
    unnamed,
};
use crate::forge::publish::{Invite, Made, Publication, Published, Turn, publish};
use crate::forge::{self, Audience, Located, Place, PullRequestStatus, Readiness, Token, Transport, Wanted};
use crate::git::{self, CommitId};
use crate::leg::{Job, LegAbort, LegContext, span};
use crate::workspace::LockedWorkspace;

/// Wait after the first time the forge was down. Doubles each time.
const FIRST: Duration = Duration::from_secs(2);
/// Maximum of these waits. Short enough to notice soon that the forge is back.
const LONGEST: Duration = Duration::from_mins(10);
/// Extra time after the moment a forge names, because its clock differs from ours.
const SLACK: Duration = Duration::from_secs(1);

/// Delivers the work as a pull request.
///
/// The gates passed on the forge's current base branch before the push. If that branch moved while they ran, they run
/// again.
pub(super) fn perform(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    settings: &Publishing,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<Done, LegAbort> {
    let settings = settings.over(&job.definition.config.forge.request);
    let Some(upstream) = job.upstream.clone() else {
        return locally(ctx, job, &settings, commits, workspace);
    };
    let Some(to) = destination(ctx, job, &upstream)? else {
        return match squashed(ctx, job, commits, workspace)? {
            (_, Delivered::Not(rejected)) => Ok(*rejected),
            (job, Delivered::As(commit, branch)) => {
                lacking(ctx, &job, &settings, no_token(&upstream.place), commit, *branch)
            }
        };
    };
    let known = known(ctx, job, &to)?;
    for _ in 0..ROUNDS {
        match stand(ctx, job, &to, commits, workspace)? {
            Stands::Proven { job, commit, branch } => {
                let moved = push(ctx, &job, workspace, &to, &commit)?;
                beat(ctx)?;
                return request(ctx, &job, &settings, &to, *branch, known, moved.as_ref());
            }
            Stands::Rejected(done) => return Ok(*done),
            Stands::Stale => {}
        }
    }
    Err(overtaken(job))
}

/// Returns the open pull request of the task, if any. If people closed it, only they may reopen it.
pub(super) fn known<'j>(
    ctx: &LegContext<'_>,
    job: &Job<'j>,
    to: &Destination<'_>,
) -> Result<Option<&'j Requested>, LegAbort> {
    let Some(known) = job.task.request().filter(|request| request.project == to.place.project) else {
        return Ok(None);
    };
    let standing = to.open(ctx, job)?.status(known.number);
    match standing.map_err(|error| to.trouble(ctx, job, error))? {
        PullRequestStatus::Open => Ok(Some(known)),
        // Work after a merge needs a new pull request.
        PullRequestStatus::Merged => Ok(None),
        PullRequestStatus::Closed => Err(LegAbort::failed(kind::DELIVERY, closed(&known.url))),
    }
}

/// Without a forge, leaves the work on its branch.
fn locally(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    settings: &Publishing,
    commits: Commits,
    workspace: &LockedWorkspace,
) -> Result<Done, LegAbort> {
    let (job, delivered) = squashed(ctx, job, commits, workspace)?;
    let (commit, branch) = match delivered {
        Delivered::As(commit, branch) => (commit, *branch),
        Delivered::Not(rejected) => return Ok(*rejected),
    };
    let found = forge::of(ctx.runtime, &job.definition.config.forge, &job.source);
    match found.map_err(|error| LegAbort::failed(kind::DELIVERY, format!("failed to {error}")))? {
        Located::At(_) => lacking(ctx, &job, settings, UNNAMED.to_owned(), commit, branch),
        Located::Nowhere(why) => Ok(on_branch(ctx, &job, Level::Info, &why, commit, branch)),
    }
}

/// Handles a forge for which something is missing: asks a person, or creates no pull request.
fn lacking(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    settings: &Publishing,
    what: String,
    commit: CommitId,
    branch: Artifact,
) -> Result<Done, LegAbort> {
    match settings.otherwise.unwrap_or(Otherwise::Ask) {
        Otherwise::Ask => Err(LegAbort::failed(kind::DELIVERY, what)),
        Otherwise::Branch => Ok(on_branch(ctx, job, Level::Warning, &what, commit, branch)),
    }
}

/// Creates or updates the pull request of what was pushed.
pub(super) fn request(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    settings: &Publishing,
    to: &Destination<'_>,
    branch: Artifact,
    known: Option<&Requested>,
    moved: Option<&CommitId>,
) -> Result<Done, LegAbort> {
    let Artifact::Branch { commit, .. } = &branch else { return Err(unnamed()) };
    let commit = commit.parse::<CommitId>().map_err(|error| LegAbort::harness(&error))?;
    let Some(base) = &job.task.seed.base.branch else { return Err(unnamed()) };
    let place = to.place;
    let (title, labels) = title(ctx, job, settings)?;
    let marker = Marker::of(&job.task.seed);
    // Redact before building the text: shortening and escaping would make secrets unrecognizable.
    let (task, verdicts) = (ctx.clean(job.task)?, verdicts(ctx)?);
    let verdicts = ctx.clean(&verdicts)?;
    let account = Account {
        task: &task,
        verdicts: &verdicts,
        commit: commit.as_str(),
        branch: &job.task.seed.branch,
        base: job.base.as_str(),
        moved: moved.map(CommitId::as_str),
        cost: job.definition.config.forge.cost.unwrap_or(true),
        marker: &marker,
    };
    let part = ctx.redactor.text(&delivery::body(&account));
    let publication = Publication {
        wanted: Wanted {
            branch: &job.task.seed.branch,
            base,
            title: &title,
            readiness: Readiness::wanted(settings.draft.unwrap_or(false)),
            squash: settings.squash.unwrap_or(true),
            labels: &labels,
            reviewers: settings.reviewers.as_deref().unwrap_or_default(),
            assignees: settings.assignees.as_deref().unwrap_or_default(),
        },
        part: &part,
        marker: &marker,
        commit: commit.as_str(),
        // Change the draft state only if the workflow wants another one than before, so that a person's change stays.
        turn: match settings.draft {
            Some(draft) if known.is_none_or(|known| known.draft != Some(draft)) => {
                Turn::To(Readiness::wanted(draft))
            }
            Some(_) | None => Turn::Not,
        },
        // A known pull request was complete when it was recorded. Do not ask its reviewers again.
        invite: if known.is_some() { Invite::Before } else { Invite::Now },
        auto_merge: settings.auto_merge.unwrap_or(false),
    };
    let way = to.open(ctx, job)?;
    let mut published = publish(way.as_ref(), &publication);
    let known_draft = known.and_then(|request| request.draft);
    let mut answered = known.map(|request| request.answered.clone()).unwrap_or_default();
    if let (Ok(published), Some(known)) = (&mut published, known)
        && known.commit != commit.as_str()
    {
        for origin in job.task.conversation.iter().filter_map(|remark| remark.origin.as_ref()) {
            let Some(thread) = origin.thread.as_ref().filter(|_| !answered.contains(&origin.id)) else {
                continue;
            };
            // Best effort: the work is published, whether or not every comment was answered.
            match way.answer(known.number, thread, &forge::done(commit.as_str())) {
                Ok(()) => answered.push(origin.id.clone()),
                Err(error) => {
                    published.remarks.push(format!("a comment was not answered: failed to {error}"));
                    // Do not wait once per comment for a forge that is down.
                    if !matches!(error, forge::Error::Refused { .. }) {
                        break;
                    }
                }
            }
        }
    }
    drop(way);
    let published = published.map_err(|error| to.trouble(ctx, job, error))?;
    tell(ctx, place, &published);
    let mut artifacts = vec![
        branch,
        Artifact::PullRequest(Requested {
            url: published.request.url,
            number: published.request.number,
            project: place.project.clone(),
            commit: commit.to_string(),
            draft: settings.draft.or(known_draft),
            answered,
        }),
    ];
    artifacts.append(&mut ctx.left);
    Ok(done(job, commit, artifacts))
}

/// Ends work for which no pull request is created.
fn on_branch(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    level: Level,
    why: &str,
    commit: CommitId,
    branch: Artifact,
) -> Done {
    let words = format!("no request was made: {why}. The work is on the branch {}", job.task.seed.branch);
    ctx.notice(level, words);
    done(job, commit, vec![branch])
}

fn done(job: &Job<'_>, commit: CommitId, artifacts: Vec<Artifact>) -> Done {
    let moved = Moved { tip: commit, base: job.base.clone(), proof: Proof::Given, artifacts };
    Done { moved: Some(moved), ..by_harness(outcome::DONE) }
}

/// Renders the title and the labels of the pull request. Labels may use variables too.
fn title(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    settings: &Publishing,
) -> Result<(String, Vec<String>), LegAbort> {
    let rendered = |what: &str, template: &Template| {
        super::rendered(ctx, job, &format!("the {what} of the request"), template)
    };
    let usual = Template::plain("{{ headline }}");
    let title = rendered("title", settings.title.as_ref().unwrap_or(&usual))?;
    let labels = settings.labels.as_deref().unwrap_or_default().iter();
    let labels: Result<Vec<String>, LegAbort> =
        labels.map(|label| rendered("labels", &Template::plain(label))).collect();
    Ok((delivery::title(&title), labels?))
}

/// Returns the last verdict of each gate, in the order in which they were given.
fn verdicts(ctx: &mut LegContext<'_>) -> Result<Vec<Verdict>, LegAbort> {
    let mut all: Vec<Verdict> = Vec::new();
    each_event(ctx.store, Some(ctx.hold.leg.task), |event| {
        if let Body::Gate { verdict } = event.body {
            all.retain(|known| known.gate != verdict.gate);
            all.push(*verdict);
        }
    })?;
    Ok(all)
}

/// Reports the result to people.
fn tell(ctx: &mut LegContext<'_>, place: &Place, published: &Published) {
    let url = &published.request.url;
    let words = match published.made {
        Made::New => format!("{} has a new request: {url}", place.kind.name()),
        Made::Found => format!("the request {url} is up to date"),
    };
    ctx.notice(Level::Info, words);
    for remark in &published.remarks {
        ctx.notice(Level::Warning, remark.clone());
    }
}

/// Converts a forge error into the end of the leg.
pub(super) fn trouble(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    place: &Place,
    token: Option<&Token>,
    error: forge::Error,
) -> LegAbort {
    use forge::Error;
    let words = ctx.redactor.text(&format!("failed to {error}"));
    match error {
        Error::Busy { wait, .. } => held(job, wait.map(|wait| wait + SLACK), words),
        Error::Away { .. } | Error::Nonsense { .. } => held(job, None, words),
        Error::Denied { .. } => {
            let origin =
                token.map_or_else(String::new, |token| format!(" The token comes from {}.", token.origin));
            LegAbort::failed(kind::DELIVERY, format!("{words}.{origin} {}", needs(place)))
        }
        Error::Refused { .. } | Error::Setting(_) => LegAbort::failed(kind::DELIVERY, words),
    }
}

/// Converts a failure of git to reach the remote into the end of the leg.
pub(super) fn away(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    place: &Place,
    token: &Token,
    error: crate::workspace::Error,
) -> LegAbort {
    let words = ctx.redactor.text(&format!("failed to {}", super::super::chain(&error)));
    let crate::workspace::Error::Git { source, .. } = &error else { return error.into() };
    match source {
        git::Error::TimedOut { .. } => held(job, None, words),
        git::Error::Failed { stderr, .. } => match git::meaning(stderr) {
            git::PushFailure::Away => held(job, None, words),
            trouble @ (git::PushFailure::Certificate | git::PushFailure::Redirected) => {
                let how = trouble.hint().unwrap_or_default();
                LegAbort::failed(kind::DELIVERY, format!("{words}. {how}"))
            }
            git::PushFailure::Login => {
                let how = match place.push.transport {
                    Transport::Ssh => {
                        "The key of SSH must be loaded, and be allowed to push; try `git push` in a terminal"
                            .to_owned()
                    }
                    Transport::Https | Transport::Http => {
                        format!("The token comes from {}. {}", token.origin, needs(place))
                    }
                };
                LegAbort::failed(kind::DELIVERY, format!("{words}. {how}"))
            }
        },
        _ => error.into(),
    }
}

/// Holds the leg, so that it is retried later.
pub(super) fn held(job: &Job<'_>, wait: Option<Duration>, reason: String) -> LegAbort {
    let before = job.task.spent.get(kind::FORGE).copied().unwrap_or(0);
    let wait = wait.unwrap_or_else(|| backoff(FIRST, before, LONGEST));
    LegAbort::Leg(Ending::Held { kind: Name::literal(kind::FORGE), wait: span(wait), reason })
}

/// Question to a person who closed the task's pull request. Creating another one would ask again for what they
/// rejected.
fn closed(url: &str) -> String {
    format!(
        "the request {url} was closed without being merged. Nothing was pushed, and no other request was made. Reopen it and let the \
         task go on, or cancel the task"
    )
}

/// Describes the permissions that a token needs.
fn needs(place: &Place) -> String {
    let project = &place.project;
    match place.kind {
        Kind::GitHub | Kind::None => format!(
            "It needs the scope `repo`, or for {project} the permissions \"Contents\" and \"Pull requests\" to read and write"
        ),
        Kind::GitLab => format!("It needs the scope `api`, and at least the role Developer in {project}"),
    }
}

pub(super) fn no_token(place: &Place) -> String {
    let host = &place.host;
    if let Some(host) = Audience::of(place, &Settings::default()).overheard() {
        return format!(
            "no token is sent to {host} without TLS, where others can read it: give the remote an address that begins with https://"
        );
    }
    let (variables, login) = match place.kind {
        Kind::GitHub if host == "github.com" => ("GH_TOKEN or GITHUB_TOKEN", "gh auth login"),
        Kind::GitHub | Kind::None => ("GH_ENTERPRISE_TOKEN", "gh auth login"),
        Kind::GitLab => ("GITLAB_TOKEN", "glab auth login"),
    };
    format!(
        "there is no token for {} at {host}: name a secret as `token` in [forge], set {variables} where acquit is started (for a host of your own, \
         name that as `host` in [forge] of your own configuration), run `{login} --hostname {host}`, or let git's credential helper know one. {}",
        place.kind.name(),
        needs(place)
    )
}
