//! What the harness does itself: the setup of a workspace, and the action stages.

use acquit_core::agent::shorten;
use acquit_core::artifact::Artifact;
use acquit_core::delivery::inert_line;
use acquit_core::event::Level;
use acquit_core::failure::kind;
use acquit_core::outcome;
use acquit_core::workflow::Action;

mod publish;

use super::desk::Desk;
use super::work::{Done, Job, by_harness};
use super::{Ground, Trouble, guard};
use crate::gate;
use crate::git::{CommitId, Identity};
use crate::workspace::{Locked, Scratch};

/// The longest first line of a commit that git's own tools show whole.
const SUBJECT: usize = 72;

/// Installs dependencies, once for each state of the lock files.
pub(super) fn setup(desk: &mut Desk<'_>, job: &Job<'_>, workspace: &Locked) -> Result<(), Trouble> {
    let Some(setup) = &job.definition.config.setup else { return Ok(()) };
    let lock_files: Vec<&str> = setup.lock_files.iter().map(String::as_str).collect();
    let key = workspace.lock_files_hash(&lock_files)?;
    if workspace.setup_done(&key)? {
        return Ok(());
    }
    desk.notice(Level::Info, format!("setting up the workspace: {}", setup.run));
    desk.flush()?;
    let ran = gate::command(
        desk,
        job,
        &Ground::of(workspace),
        &gate::Wanted {
            name: "setup",
            command: &setup.run,
            timeout: setup.timeout,
            network: job.definition.config.network.setup,
        },
    )?;
    if !ran.passed {
        let words = crate::untrusted::tail(&ran.log, 2_000);
        let reason = format!("the setup command `{}`: {}\n{words}", setup.run, ran.ended);
        return Err(Trouble::failed(kind::HARNESS, reason));
    }
    workspace.mark_setup_done(&key)?;
    Ok(())
}

/// Installs dependencies in a tree beside the workspace, which is new and therefore has none.
pub(crate) fn setup_aside(desk: &mut Desk<'_>, job: &Job<'_>, scratch: &Scratch<'_>) -> Result<(), Trouble> {
    let Some(setup) = &job.definition.config.setup else { return Ok(()) };
    if !scratch.needs_setup(&setup.lock_files) {
        return Ok(());
    }
    let network = job.definition.config.network.setup;
    let wanted = gate::Wanted { name: "setup-aside", command: &setup.run, timeout: setup.timeout, network };
    let ran = gate::command(desk, job, &scratch.ground(), &wanted)?;
    if ran.passed {
        return Ok(());
    }
    let words = crate::untrusted::tail(&ran.log, 2_000);
    let reason = format!("the setup command `{}` beside the workspace: {}\n{words}", setup.run, ran.ended);
    Err(Trouble::failed(kind::HARNESS, reason))
}

/// Performs an action stage. Each is idempotent: done again after a crash, it finds its effect and changes nothing.
pub(super) fn action(
    desk: &mut Desk<'_>,
    job: &Job<'_>,
    action: &Action,
    workspace: &Locked,
) -> Result<Done, Trouble> {
    match action {
        Action::Squash => squash(desk, job, workspace),
        Action::Publish(settings) => publish::perform(desk, job, settings, workspace),
    }
}

/// One commit of all the task's work, on its branch in the user's repository.
fn squash(desk: &mut Desk<'_>, job: &Job<'_>, workspace: &Locked) -> Result<Done, Trouble> {
    let seed = &job.task.seed;
    let base = seed.base.commit.parse::<CommitId>().map_err(|e| Trouble::harness(&e))?;
    if job.start == base {
        return Err(Trouble::failed(kind::NOTHING, "there is no work to deliver".to_owned()));
    }
    guard::before_publishing(desk, workspace, &base, &job.start)?;
    let author = &job.definition.author;
    let identity = Identity::new(&author.name, &author.email);
    let commit = workspace.squash(&base, &job.start, &desk.redactor.text(&message(job)), &identity)?;
    workspace.publish(&job.source, &seed.branch, &commit)?;
    desk.notice(Level::Info, format!("branch {} is at {}", seed.branch, commit.short()));
    let branch = Artifact::Branch { name: seed.branch.clone(), commit: commit.to_string(), published: true };
    Ok(Done { moved: Some((commit, vec![branch])), ..by_harness(outcome::DONE) })
}

/// The commit's message: what was wanted, what was done, and which task it was.
fn message(job: &Job<'_>) -> String {
    let (wish, headline) = (&job.task.seed.wish, job.task.headline());
    // A person's own words may close an issue; an agent's may not, and whoever pushes this branch would do it for them.
    let title = if headline == wish.title {
        visible(wish.title.lines().next().unwrap_or_default())
    } else {
        inert_line(headline)
    };
    let mut text = title.clone();
    if title.chars().count() > SUBJECT {
        text = title.chars().take(SUBJECT - 1).chain(['…']).collect();
    }
    if !job.task.learnings.is_empty() {
        text.push_str("\n\n");
        let lines =
            job.task.learnings.iter().map(|learning| format!("- {}\n", inert_line(&shorten(learning, 300))));
        text.extend(lines);
    }
    format!("{}\n\nTask: {}\n", text.trim_end(), job.task.seed.id)
}

/// Text of others, for the history: what would act on a terminal or hide on a page is written out.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if acquit_core::context::is_hidden(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}
