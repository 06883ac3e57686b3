//! The action `publish`: the squashed commit is pushed with a lease, and one request at the forge is made or brought up to date.
//!
//! The leg's row is the outbox. A forge that is away or has no more calls for us ends the leg as held, and the next one does
//! everything again, which finds what is there and changes only the rest. What only a person can mend is asked of a
//! person at once. Without a forge the work ends on the local branch, and a notice says why.

use std::path::Path;
use std::time::Duration;

use acquit_core::artifact::{Artifact, Requested};
use acquit_core::config::Publishing;
use acquit_core::config::forge::{Kind, Otherwise};
use acquit_core::context::{self, Memory, Parts, Tools};
use acquit_core::delivery::{self, Account, Marker};
use acquit_core::event::{Body, Level};
use acquit_core::failure::kind;
use acquit_core::gate::Verdict;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::outcome;
use acquit_core::store::Pulse;
use acquit_core::template::Template;
use acquit_core::workflow::Commits;

use super::super::desk::Desk;
use super::super::work::{Done, Job, Moved, Proof, by_harness};
use super::super::{Trouble, guard, span};
use crate::forge::publish::{Invite, Made, Publication, Published, Turn, publish};
use crate::forge::{self, Located, Place, Readiness, Standing, Token, Transport, Wanted};
use crate::git::{self, Access, CommitId, PushWay};
use crate::workspace::{Locked, Sent};

/// How long after a first time that the forge was away; doubled with every further one.
const FIRST: Duration = Duration::from_secs(2);
/// The longest of these waits: a forge that came back is noticed soon enough.
const LONGEST: Duration = Duration::from_mins(10);
/// After the moment that a forge names: its clock is not ours.
const SLACK: Duration = Duration::from_secs(1);
/// How many events are read at once while looking for verdicts.
const PAGE: u32 = 500;
/// So many commits are remembered as pushed by the task.
const PUSHED: usize = 50;

/// Delivers the work as a request.
pub(super) fn perform(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    settings: &Publishing,
    commits: Commits,
    workspace: &Locked,
) -> Result<Done, Trouble> {
    let forge = &job.definition.config.forge;
    let settings = settings.over(&forge.request);
    let (job, delivered) = squashed(desk, job, commits, workspace)?;
    let job = &job;
    let (commit, branch) = match delivered {
        Delivered::As(commit, branch) => (commit, *branch),
        Delivered::Not(rejected) => return Ok(*rejected),
    };
    let place = match forge::of(desk.world, forge, &job.source)
        .map_err(|error| Trouble::failed(kind::DELIVERY, format!("failed to {error}")))?
    {
        Located::At(place) => *place,
        Located::Nowhere(why) => return Ok(on_branch(desk, job, Level::Info, &why, commit, branch)),
    };
    let lacking = |desk: &mut Desk<'_>, what: String| match settings.otherwise.unwrap_or(Otherwise::Ask) {
        Otherwise::Ask => Err(Trouble::failed(kind::DELIVERY, what)),
        Otherwise::Branch => Ok(on_branch(desk, job, Level::Warning, &what, commit.clone(), branch.clone())),
    };
    let Some(base) = &job.task.seed.base.branch else {
        let words = "the task began at a commit and not at a branch, so there is nothing to merge its work into; \
                     set `base` in acquit.toml, or take the branch from your repository";
        return lacking(desk, words.to_owned());
    };
    let token = forge::token::find(desk.world, &job.definition.config, &place)
        .map_err(|error| trouble(desk, job, &place, None, error))?;
    let Some(token) = token else { return lacking(desk, no_token(&place)) };
    desk.redactor = desk.redactor.with(std::slice::from_ref(&token.secret));
    let from = job.base();
    guard::before_publishing(desk, workspace, &from, &commit)?;

    let ca = forge.ca.as_deref().and_then(|ca| forge::file(desk.world, ca));
    let way = forge::open(desk.world, forge, &place, Some(&token), &ca)
        .map_err(|error| trouble(desk, job, &place, Some(&token), error))?;
    let known = match job.task.request().filter(|request| request.project == place.project) {
        None => None,
        Some(known) => match way.standing(known.number) {
            Ok(Standing::Open) => Some(known),
            // What comes after it needs a request of its own.
            Ok(Standing::Merged) => None,
            Ok(Standing::Closed) => return Err(Trouble::failed(kind::DELIVERY, closed(&known.url))),
            Err(error) => return Err(trouble(desk, job, &place, Some(&token), error)),
        },
    };
    beat(desk)?;
    let moved = push(desk, job, workspace, &place, &token, ca.as_deref(), &commit)?;
    beat(desk)?;
    let (title, labels) = title(desk, job, &settings)?;
    let marker = Marker::of(&job.task.seed);
    let verdicts = verdicts(desk)?;
    let account = Account {
        task: job.task,
        verdicts: &verdicts,
        commit: commit.as_str(),
        branch: &job.task.seed.branch,
        base: job.base.as_str(),
        moved: moved.as_ref().map(CommitId::as_str),
        marker: &marker,
    };
    let part = desk.redactor.text(&delivery::body(&account));
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
        // Only what the workflow now wants otherwise than before is changed: what a person made of it since stays.
        turn: match settings.draft {
            Some(draft) if known.is_none_or(|known| known.draft != Some(draft)) => {
                Turn::To(Readiness::wanted(draft))
            }
            Some(_) | None => Turn::Not,
        },
        // A request that is known was whole when it came to be known; whoever was asked then is not asked again.
        invite: if known.is_some() { Invite::Before } else { Invite::Now },
        auto_merge: settings.auto_merge.unwrap_or(false),
    };
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
            // Best effort: the work is published, whether or not everybody was told.
            match way.answer(known.number, thread, &forge::done(commit.as_str())) {
                Ok(()) => answered.push(origin.id.clone()),
                Err(error) => {
                    published.remarks.push(format!("a comment was not answered: failed to {error}"));
                }
            }
        }
    }
    drop(way);
    let published = published.map_err(|error| trouble(desk, job, &place, Some(&token), error))?;
    tell(desk, &place, &published);
    let mut artifacts = vec![
        branch,
        Artifact::Request(Requested {
            url: published.request.url,
            number: published.request.number,
            project: place.project.clone(),
            commit: commit.to_string(),
            draft: settings.draft.or(known_draft),
            answered,
        }),
    ];
    artifacts.append(&mut desk.left);
    Ok(done(job, commit, artifacts))
}

/// The end of work of which no request is made.
fn on_branch(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    level: Level,
    why: &str,
    commit: CommitId,
    branch: Artifact,
) -> Done {
    let words = format!("no request was made: {why}. The work is on the branch {}", job.task.seed.branch);
    desk.notice(level, words);
    done(job, commit, vec![branch])
}

fn done(job: &Job<'_>, commit: CommitId, artifacts: Vec<Artifact>) -> Done {
    let moved = Moved { tip: commit, base: job.base.clone(), proof: Proof::Given, artifacts };
    Done { moved: Some(moved), ..by_harness(outcome::DONE) }
}

/// Keeps the lease, and ends the leg if a person wants that.
fn beat(desk: &mut Desk<'_>) -> Result<(), Trouble> {
    match desk.pulse()? {
        Pulse::Beating => Ok(()),
        Pulse::Cancel => Err(Trouble::Leg(Ending::Cancelled)),
    }
}

/// What becomes of the work before it is sent anywhere.
enum Delivered {
    /// This commit, on the task's branch.
    As(CommitId, Box<Artifact>),
    /// Nothing: its gates said no where the base branch is now.
    Not(Box<Done>),
}

/// The commit that is delivered, on what the base branch is now and proven there, with the leg's job as that made it.
fn squashed<'j>(
    desk: &mut Desk<'_>,
    job: &Job<'j>,
    commits: Commits,
    workspace: &Locked,
) -> Result<(Job<'j>, Delivered), Trouble> {
    // A workspace that was made anew does not know that the branch is the task's own.
    for artifact in &job.task.artifacts {
        if let Artifact::Pushed { branch, commits, .. } = artifact {
            for commit in commits.iter().filter_map(|commit| commit.parse().ok()) {
                workspace.remember_own(branch, &commit)?;
            }
        }
    }
    let mut job = job.clone();
    let Done { moved, failures, .. } = super::squash::squash(desk, &job, commits, workspace)?;
    let nothing = || Trouble::failed(kind::NOTHING, "there is no work to deliver".to_owned());
    let moved = moved.ok_or_else(nothing)?;
    (job.start, job.base) = (moved.tip.clone(), moved.base.clone());
    if !failures.is_empty() {
        let rejected = super::squash::rejected(&job, failures);
        return Ok((job, Delivered::Not(Box::new(rejected))));
    }
    let branch = moved.artifacts.into_iter().find(|artifact| matches!(artifact, Artifact::Branch { .. }));
    Ok((job, Delivered::As(moved.tip, Box::new(branch.ok_or_else(nothing)?))))
}

/// Brings the branch to the remote, unless somebody else's work is there. Gives where the base branch is there, if it has moved on
/// from what the gates saw and the user's repository knows: that is said in the request, and followed once it is fetched.
fn push(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    workspace: &Locked,
    place: &Place,
    token: &Token,
    ca: Option<&Path>,
    commit: &CommitId,
) -> Result<Option<CommitId>, Trouble> {
    let branch = &job.task.seed.branch;
    let mut pushed = pushed_before(job, place, branch);
    let known: Vec<CommitId> = pushed.iter().filter_map(|commit| commit.parse().ok()).collect();
    let access = match (place.push.transport, place.kind) {
        (Transport::Ssh, _) => ssh(desk),
        (Transport::Https | Transport::Http, Kind::GitHub | Kind::None) => {
            Access::Token { user: "x-access-token", token: &token.secret }
        }
        (Transport::Https | Transport::Http, Kind::GitLab) => {
            Access::Token { user: "oauth2", token: &token.secret }
        }
    };
    let proxy = job.definition.config.forge.proxy.as_deref();
    let way = PushWay { url: &place.push.url, access, ca, proxy };
    crate::fault::point("forge", &desk.world.environment);
    let sent = workspace.send(&way, branch, commit, &known);
    crate::fault::point("forge", &desk.world.environment);
    let person = |words: String| Trouble::failed(kind::DELIVERY, words);
    match sent.map_err(|error| away(desk, job, place, token, error))? {
        Sent::There => {}
        Sent::Foreign { found } => {
            let at = found.map_or_else(|| "something else".to_owned(), |found| found.short().to_owned());
            return Err(person(format!(
                "somebody else moved the branch {branch} of {}: it is at {at}, which acquit did not push. Nothing was \
                 overwritten. Take what is there into account, or remove the branch at the forge, and let the task go on",
                place.push.url
            )));
        }
        Sent::Refused(words) => {
            return Err(person(format!(
                "the forge does not accept the branch {branch} at {}: {}. The token ({}) must be allowed to push it, and no \
                 rule of the project may protect it",
                place.push.url,
                desk.redactor.text(&words),
                token.origin
            )));
        }
    }
    pushed.retain(|known| *known != commit.to_string());
    pushed.push(commit.to_string());
    let surplus = pushed.len().saturating_sub(PUSHED);
    pushed.drain(..surplus);
    let remote = place.push.url.clone();
    desk.left = vec![Artifact::Pushed { remote, branch: branch.clone(), commits: pushed }];
    let Some(base) = job.task.seed.base.branch.as_ref().filter(|_| place.fork.is_none()) else {
        return Ok(None);
    };
    // Best effort: whoever merges sees it at the forge as well.
    let moved = workspace.moved_on(&way, base, &job.base).ok().flatten();
    if let Some(moved) = &moved {
        let words = format!(
            "{base} is at {} at the forge, which your repository does not have: the gates saw the work on {}",
            moved.short(),
            job.base.short()
        );
        desk.notice(Level::Warning, words);
    }
    Ok(moved)
}

/// The commits that the task has pushed to this branch before.
fn pushed_before(job: &Job<'_>, place: &Place, branch: &str) -> Vec<String> {
    let found = job.task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Pushed { remote, branch: to, commits } if *remote == place.push.url && to == branch => {
            Some(commits.clone())
        }
        _ => None,
    });
    found.unwrap_or_default()
}

/// The user's own SSH, as they have set it.
fn ssh(desk: &Desk<'_>) -> Access<'static> {
    let environment = &desk.world.environment;
    let variables = ["HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"];
    Access::Ssh {
        command: environment.get("GIT_SSH_COMMAND").map(ToOwned::to_owned),
        variables: variables
            .into_iter()
            .filter_map(|name| Some((name, environment.get(name)?.to_owned())))
            .collect(),
    }
}

/// The request's title, by the stage's template, and its labels, which may name variables too.
fn title(desk: &Desk<'_>, job: &Job<'_>, settings: &Publishing) -> Result<(String, Vec<String>), Trouble> {
    let parts = Parts {
        task: job.task,
        definition: job.definition,
        entry: job.entry,
        leg: desk.hold.leg,
        date: &super::super::turn::date((desk.world.now)().0),
        handoff_file: "",
        output_dir: "",
        memory: Memory::None,
        tools: Tools::Absent,
        change: None,
    };
    let variables = context::variables(&parts);
    let rendered = |what: &str, template: &Template| -> Result<String, Trouble> {
        let text = template.render(&variables);
        let text = text.map_err(|error| {
            Trouble::failed(kind::DELIVERY, format!("the {what} of the request: {error}"))
        })?;
        Ok(desk.redactor.text(&text))
    };
    let usual = Template::plain("{{ headline }}");
    let title = rendered("title", settings.title.as_ref().unwrap_or(&usual))?;
    let labels = settings.labels.as_deref().unwrap_or_default().iter();
    let labels: Result<Vec<String>, Trouble> =
        labels.map(|label| rendered("labels", &Template::plain(label))).collect();
    Ok((delivery::title(&title), labels?))
}

/// The last verdict of each gate, in the order in which they were given.
fn verdicts(desk: &mut Desk<'_>) -> Result<Vec<Verdict>, Trouble> {
    let mut all: Vec<Verdict> = Vec::new();
    let mut after = 0;
    loop {
        let events = desk.store.events(Some(desk.hold.leg.task), after, PAGE)?;
        let more = events.len() == PAGE as usize;
        for event in events {
            after = event.seq;
            if let Body::Gate { verdict } = event.body {
                all.retain(|known| known.gate != verdict.gate);
                all.push(*verdict);
            }
        }
        if !more {
            return Ok(all);
        }
    }
}

/// What people see of it.
fn tell(desk: &mut Desk<'_>, place: &Place, published: &Published) {
    let url = &published.request.url;
    let words = match published.made {
        Made::New => format!("{} has a new request: {url}", place.kind.name()),
        Made::Found => format!("the request {url} is up to date"),
    };
    desk.notice(Level::Info, words);
    for remark in &published.remarks {
        desk.notice(Level::Warning, remark.clone());
    }
}

/// How a leg ends because of the forge.
fn trouble(
    desk: &Desk<'_>,
    job: &Job<'_>,
    place: &Place,
    token: Option<&Token>,
    error: forge::Error,
) -> Trouble {
    use forge::Error;
    let words = desk.redactor.text(&format!("failed to {error}"));
    match error {
        Error::Busy { wait, .. } => held(job, wait.map(|wait| wait + SLACK), words),
        Error::Away { .. } | Error::Nonsense { .. } => held(job, None, words),
        Error::Denied { .. } => {
            let origin =
                token.map_or_else(String::new, |token| format!(" The token comes from {}.", token.origin));
            Trouble::failed(kind::DELIVERY, format!("{words}.{origin} {}", needs(place)))
        }
        Error::Refused { .. } | Error::Setting(_) => Trouble::failed(kind::DELIVERY, words),
    }
}

/// How a leg ends because git could not talk to the remote.
fn away(
    desk: &Desk<'_>,
    job: &Job<'_>,
    place: &Place,
    token: &Token,
    error: crate::workspace::Error,
) -> Trouble {
    let words = desk.redactor.text(&format!("failed to {}", super::super::chain(&error)));
    let crate::workspace::Error::Git { source, .. } = &error else { return error.into() };
    match source {
        git::Error::TimedOut { .. } => held(job, None, words),
        git::Error::Failed { stderr, .. } => match git::meaning(stderr) {
            git::Trouble::Away => held(job, None, words),
            trouble @ (git::Trouble::Certificate | git::Trouble::Redirected) => {
                let how = trouble.hint().unwrap_or_default();
                Trouble::failed(kind::DELIVERY, format!("{words}. {how}"))
            }
            git::Trouble::Login => {
                let how = match place.push.transport {
                    Transport::Ssh => {
                        "The key of SSH must be loaded, and be allowed to push; try `git push` in a terminal"
                            .to_owned()
                    }
                    Transport::Https | Transport::Http => {
                        format!("The token comes from {}. {}", token.origin, needs(place))
                    }
                };
                Trouble::failed(kind::DELIVERY, format!("{words}. {how}"))
            }
        },
        _ => error.into(),
    }
}

/// The leg waits, and does it again.
fn held(job: &Job<'_>, wait: Option<Duration>, reason: String) -> Trouble {
    let before = job.task.spent.get(kind::FORGE).copied().unwrap_or(0);
    let wait = wait.unwrap_or_else(|| (FIRST * 2u32.saturating_pow(before.min(16))).min(LONGEST));
    Trouble::Leg(Ending::Held { kind: Name::literal(kind::FORGE), wait: span(wait), reason })
}

/// What is asked of a person who closed the task's request: another one would be asking again for what they refused.
fn closed(url: &str) -> String {
    format!(
        "the request {url} was closed without being merged. Nothing was pushed, and no other request was made. Reopen it and let the \
         task go on, or cancel the task"
    )
}

/// What a token must be allowed.
fn needs(place: &Place) -> String {
    let project = &place.project;
    match place.kind {
        Kind::GitHub | Kind::None => format!(
            "It needs the scope `repo`, or for {project} the permissions \"Contents\" and \"Pull requests\" to read and write"
        ),
        Kind::GitLab => format!("It needs the scope `api`, and at least the role Developer in {project}"),
    }
}

fn no_token(place: &Place) -> String {
    let host = &place.host;
    let (variables, login) = match place.kind {
        Kind::GitHub if host == "github.com" => ("GH_TOKEN or GITHUB_TOKEN", "gh auth login"),
        Kind::GitHub | Kind::None => ("GH_ENTERPRISE_TOKEN", "gh auth login"),
        Kind::GitLab => ("GITLAB_TOKEN", "glab auth login"),
    };
    format!(
        "there is no token for {} at {host}: name a secret as `token` in [forge], set {variables} where acquit is started, run \
         `{login} --hostname {host}`, or let git's credential helper know one. {}",
        place.kind.name(),
        needs(place)
    )
}
