//! The work of a leg: the workspace, the agent's turn, its outcome, the gates, and the artifacts.

use std::path::Path;
use std::time::Duration;

use acquit_core::definition::Definition;
use acquit_core::event::{Body, Level, Step};
use acquit_core::failure::{Failure, kind};
use acquit_core::ids::Name;
use acquit_core::leg::{Ending, Entry, Purpose, Report};
use acquit_core::night;
use acquit_core::outcome::{self, Left, Outcome, Source as Reported, Wrong};
use acquit_core::prompt::Files;
use acquit_core::task::Task;
use acquit_core::workflow::{Action, AgentWork, Mode, Work};

use super::{artifacts, guard, perform, review, sync, turn};
use crate::fleet;
use crate::gate::{self, Judged};
use crate::git::{CommitId, Identity, Source};
use crate::leg::git_server::Server;
use crate::leg::upstream::Upstream;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree, program_sandbox, stage_home, working_tree};
use crate::runtime::LegFolder;
use crate::workspace::{Leftovers, LockedWorkspace, Rules, SavedAttempt, Work as Collected, Workspace};
use crate::{mcp, untrusted};

/// How long a leg waits for processes that an earlier harness left running in the workspace: a git process that
/// outlived its harness ends on its own, and only a very large checkout takes longer than this.
const PATIENCE: Duration = Duration::from_mins(1);

/// Result of a stage's work, before its gates run.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    /// The changes, if an agent worked.
    pub(super) collected: Option<Collected>,
    /// New position of the work, if the leg moved it by other means.
    pub(super) moved: Option<Moved>,
    /// Failures found before the stage's own gates.
    pub(super) failures: Vec<Failure>,
}

/// Work that acquit itself moved.
pub(super) struct Moved {
    /// Commit that it is at.
    pub(super) tip: CommitId,
    /// Base-branch commit that it is based on.
    pub(super) base: CommitId,
    /// Whether the gates passed there.
    pub(super) proof: Proof,
    /// Artifacts of the move.
    pub(super) artifacts: Vec<acquit_core::artifact::Artifact>,
}

/// Whether the gates passed on the current base of the work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// They passed, or there are none.
    Given,
    /// They did not run.
    Missing,
}

/// Does the work of a stage and reports how it ended.
pub(super) fn stage(
    ctx: &mut LegContext<'_>,
    task: &Task,
    definition: &Definition,
    entry: &Entry,
) -> Result<Report, LegAbort> {
    let missing = || LegAbort::failed(kind::HARNESS, format!("the workflow has no stage `{}`", entry.stage));
    let stage = definition.workflow.stage(entry.stage.as_str()).ok_or_else(missing)?;
    let source = Source::of(definition).map_err(|e| LegAbort::harness(&e))?;
    let start = task.start_of(entry, &definition.workflow);
    let start = start.parse::<CommitId>().map_err(|e| LegAbort::harness(&e))?;
    let base = task.base().parse::<CommitId>().map_err(|e| LegAbort::harness(&e))?;
    let local;
    let task = if definition.travel.repository.is_some() {
        receive(ctx, task, definition, entry, &source, &[&start, &base])?;
        local = fleet::local_task(ctx.runtime, task);
        &local
    } else {
        task
    };
    let mut job = Job { task, definition, entry, stage, source, start, base, upstream: None, server: None };
    job.upstream = Upstream::of(ctx, &job);
    job.server = Server::of(ctx, &job);

    let folder = ctx.runtime.leg_folder(ctx.hold.leg);
    ctx.runtime
        .open_leg_folder(ctx.hold.leg)
        .map_err(|error| LegAbort::file("make the folder", folder.path(), &error))?;
    guard::remember(ctx, &job);
    guard::clean_lost(ctx, task);
    let (workspace, saved) = prepare(ctx, &mut job)?;
    ctx.step(Step::Workspace);
    if !super::has_agent(&entry.purpose, &stage.work) {
        ctx.under_way = Step::Gates;
    }
    let done = match (&entry.purpose, &stage.work) {
        (Purpose::Merge, Work::Action { commits, .. }) => {
            perform::action(ctx, &job, &Action::Merge, *commits, &workspace)?
        }
        (_, Work::Action { action, commits }) => perform::action(ctx, &job, action, *commits, &workspace)?,
        (Purpose::Recheck { outcome }, Work::Agent(_) | Work::Check) => {
            Done { outcome: outcome.clone(), ..by_harness(outcome::PASSED) }
        }
        (_, Work::Agent(agent)) => {
            let turn = agent_turn(ctx, &job, agent, &workspace, saved.as_ref());
            // However it ended: a user who looks at the tree must not run what the agent wrote into its repository.
            let disarmed = workspace.disarm();
            let done = turn?;
            disarmed?;
            done
        }
        (_, Work::Check) => by_harness(outcome::PASSED),
        (_, Work::Human { .. }) => {
            return Err(LegAbort::failed(
                kind::HARNESS,
                "a human stage has no work for a harness".to_owned(),
            ));
        }
    };
    // A question does not claim that something is done. The gates run when the work continues after its answer.
    let asks = done.outcome.name == *outcome::NEEDS_INPUT;
    let mut failures = done.failures.clone();
    // An action runs its gates before it does anything.
    let gated = !asks && !matches!(stage.work, Work::Action { .. });
    let judged = if gated {
        gate::run_all(ctx, &job, &stage.gates, &workspace, &done.outcome)?
    } else {
        Judged::default()
    };
    let done = overrule(ctx, judged.instead.as_ref(), done);
    failures.extend(judged.failures);
    let proof = if gated && !stage.gates.is_empty() { Proof::Given } else { Proof::Missing };
    ctx.step(Step::Gates);
    let artifacts = artifacts::collect(ctx, &job, &done, &workspace);
    ctx.step(Step::Artifacts);
    Ok(report(ctx, &job, done, failures, artifacts, proof))
}

/// Fetches what other machines left for this leg.
fn receive(
    ctx: &mut LegContext<'_>,
    task: &Task,
    definition: &Definition,
    entry: &Entry,
    source: &Source,
    commits: &[&CommitId],
) -> Result<(), LegAbort> {
    let Some(key) = &definition.travel.repository else { return Ok(()) };
    let resolves = match &entry.purpose {
        Purpose::Resolve { onto, side, .. } => {
            let sides = side.iter().flat_map(|side| [&side.base, &side.tip]);
            std::iter::once(onto).chain(sides).filter_map(|text| text.parse().ok()).collect()
        }
        Purpose::Work | Purpose::Fix { .. } | Purpose::Recheck { .. } | Purpose::Merge => Vec::new(),
    };
    let commits: Vec<&CommitId> = commits.iter().copied().chain(&resolves).collect();
    let aborts = |error: fleet::Error| match error {
        fleet::Error::Store(error) => LegAbort::Store(error),
        error => LegAbort::harness(&error),
    };
    fleet::receive(ctx.runtime, ctx.store, source, key, task.id(), &commits).map_err(aborts)?;
    // Pin it, so that the user's own git does not prune it before the work is delivered.
    let tip = commits.first().copied();
    let pinned = tip.map(|tip| source.pin(&ctx.runtime.git, ctx.runtime.store(), task.id(), tip));
    pinned.transpose().map_err(|error| LegAbort::harness(&error))?;
    fleet::fetch_files(ctx.runtime, ctx.store, task.id()).map_err(aborts)
}

pub(super) fn by_harness(name: &'static str) -> Done {
    let outcome =
        Outcome { name: Name::literal(name), payload: serde_json::json!({}), source: Reported::Harness };
    Done { outcome, collected: None, moved: None, failures: Vec::new() }
}

/// Prepares the workspace for the leg. Also returns what an earlier leg left there.
fn prepare(
    ctx: &mut LegContext<'_>,
    job: &mut Job<'_>,
) -> Result<(LockedWorkspace, Option<SavedAttempt>), LegAbort> {
    let leg = ctx.hold.leg;
    let author = &job.definition.author;
    let overlays = working_tree::overlays(ctx, job.definition.config.sandbox)?;
    let (runtime, folder) = (ctx.runtime, ctx.runtime.workspace_folder(leg.task));
    let workspace = Workspace::open(&folder, &job.source, runtime.git.clone(), runtime.store())?
        .with_agent_identity(Identity::new(&author.name, &author.email))
        .with_overlays(overlays)
        .with_upload_pack(program_sandbox::sender(ctx, job)?)
        .with_rules(Rules {
            task_id: leg.task.to_string(),
            base: job.task.seed.base.branch.clone(),
            base_commit: Some(job.base()),
            protected: job.definition.config.protected.clone(),
            loaded: loaded(job.definition),
            linked: Vec::new(),
        })
        .lock_within(&format!("acquit leg {leg}"), PATIENCE)?;
    sync::before_leg(ctx, job, &workspace)?;
    let prepared = workspace.prepare(&leg.to_string(), &job.start, &job.task.seed.branch)?;
    let saved = guard::saved(ctx, job, &workspace, prepared.saved)?;
    if let Some(saved) = &saved {
        ctx.note(Body::WorkSaved { reference: saved.reference.clone(), commit: saved.commit.to_string() });
    }
    for note in prepared.notes {
        ctx.notice(Level::Info, note);
    }
    if super::has_agent(&job.entry.purpose, &job.stage.work) {
        workspace.give_to(&stage_home::of(job.definition, job.entry))?;
        if job.task.seed.base.work.is_some() || job.definition.travel.repository.is_some() {
            withhold_settings(ctx, job, &workspace)?;
        }
    }
    Ok((workspace, saved))
}

/// Keeps the agent from starting programs that others configured in work that no agent of this machine made: the start
/// of the task, such as a pull request, and data that a worker sent. A worker may have checked nothing. A read-only
/// agent gets the base's settings. A writing agent would deliver the others' settings as its own work, so a person
/// decides.
fn withhold_settings(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
) -> Result<(), LegAbort> {
    let base = base_of_settings(ctx, job).map_err(|error| LegAbort::harness(&error))?;
    let paths = workspace.guarded_between(&base, &job.start)?;
    let Some(first) = paths.first() else { return Ok(()) };
    let more = match paths.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = format!("{:?}{more}", String::from_utf8_lossy(first));
    if matches!(&job.stage.work, Work::Agent(agent) if agent.mode.writes()) {
        let words = format!(
            "the work changes {named}, from which coding agents start programs; look at it, bring it into the base branch \
             yourself or take it out of the work, and begin a new task"
        );
        return Err(LegAbort::failed(kind::CONFIG, words));
    }
    workspace.show_from_base(&base, &paths)?;
    let words = format!(
        "the work changes {named}, from which coding agents start programs: the agent finds the version of the base there, and \
         the change in the diff"
    );
    ctx.notice(Level::Warning, words);
    Ok(())
}

/// Returns the commit whose settings agents use. In a shared store, a worker says what the work is based on. That counts
/// only if the user's own branch has it. (The repository of a worker has no branches: it trusts the store.)
fn base_of_settings(ctx: &LegContext<'_>, job: &Job<'_>) -> Result<CommitId, crate::git::Error> {
    let Some(branch) =
        job.task.seed.base.branch.as_ref().filter(|_| job.definition.travel.repository.is_some())
    else {
        return Ok(job.base.clone());
    };
    let (git, source) = (&ctx.runtime.git, &job.source);
    let tips = [source.branch(git, branch)?, source.tracking_ref(git, branch)?];
    for tip in tips.iter().flatten() {
        if *tip == job.base || source.contains(git, tip, &job.base)? {
            return Ok(job.base.clone());
        }
    }
    Ok(tips.into_iter().flatten().next().unwrap_or_else(|| job.base.clone()))
}

/// Returns the files of the project that agents of the task load when they start.
fn loaded(definition: &Definition) -> Vec<String> {
    let config = &definition.config;
    let agents = definition.workflow.stages.iter().filter_map(|stage| match &stage.work {
        Work::Agent(work) => config.agents.get(work.agent.as_ref().or(config.agent.as_ref())?),
        Work::Action { .. } | Work::Check | Work::Human { .. } => None,
    });
    let mut all: Vec<String> = agents.flat_map(|agent| crate::agent::loads(&agent.adapter)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Steps three to six: context, agent, run, outcome.
fn agent_turn(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    agent: &AgentWork,
    workspace: &LockedWorkspace,
    saved: Option<&SavedAttempt>,
) -> Result<Done, LegAbort> {
    let folder = ctx.runtime.leg_folder(ctx.hold.leg);
    // Setup sees the committed files only.
    let working_tree = WorkingTree::of_agent(ctx, job, workspace)?;
    let chosen = turn::choose(ctx, job, agent)?;
    let commit = saved.map(|saved| saved.commit.to_string());
    let files = match (saved, commit.as_deref()) {
        (Some(saved), _) if chosen.goes_on(job) => {
            workspace.restore(saved, &job.start)?;
            Files::There
        }
        (_, Some(commit)) => Files::Saved(commit),
        (_, None) => Files::Gone,
    };
    let subject = match agent.mode {
        Mode::Review => Some(review::subject(ctx, job, workspace)?),
        Mode::Plan | Mode::Implement | Mode::Investigate | Mode::Design | Mode::Fix | Mode::Resolve => None,
    };
    let agents_md = agents_md(job, workspace).filter(|_| chosen.needs_agents_md());
    turn::context(ctx, job, &folder, &chosen, subject.as_ref(), files, agents_md.as_deref())?;
    ctx.step(Step::Context);
    let launch = turn::configure(ctx, job, agent, chosen)?;
    ctx.step(Step::Agent);
    let ran = turn::run(ctx, job, &folder, launch, &working_tree)?;
    ctx.step(Step::Run);
    if agent.mode.writes()
        && let Some(what) = unfinished(&workspace.tree())
    {
        // Otherwise the tree would be delivered with conflict markers.
        let words =
            format!("the agent left {what} unfinished: it must be concluded or aborted before the end");
        return Err(LegAbort::failed(kind::AGENT, words));
    }
    let collected = workspace.collect(&ctx.hold.leg.to_string(), leftovers(job, agent.mode))?;
    guard::collected(ctx, job, workspace, &collected)?;
    let mut outcome = read_outcome(job, agent.mode, &folder, &ran, &collected).inspect_err(|_| {
        if collected.head != job.start {
            let place = ctx.runtime.workspace_folder(ctx.hold.leg.task);
            let words =
                format!("what it did is kept as commit {} in {}", collected.head.short(), place.display());
            ctx.notice(Level::Info, words);
        }
    })?;
    if let Some(subject) = &subject {
        subject.check(&outcome)?;
    }
    ctx.redactor.value(&mut outcome.payload);
    ctx.step(Step::Outcome);
    let failures = sync::resolution(job, workspace, &outcome, &collected)?;
    Ok(Done { outcome, collected: Some(collected), moved: None, failures })
}

/// Returns the repository's `AGENTS.md` from the base branch, so that an agent that changes the file cannot instruct
/// the next one. Best effort, as for agents that read it themselves.
fn agents_md(job: &Job<'_>, workspace: &LockedWorkspace) -> Option<String> {
    const NAME: &str = "AGENTS.md";
    workspace.tree().join(NAME).symlink_metadata().ok()?;
    workspace.text_at(&job.base, NAME).ok().flatten()
}

/// Returns the unfinished git operation, as far as the agent's own repository shows it. Reported to help the next
/// attempt: an agent that hides it gains nothing, because the gates still judge the work.
fn unfinished(tree: &Path) -> Option<&'static str> {
    const SIGNS: [(&str, &str); 5] = [
        ("MERGE_HEAD", "a merge"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
    ];
    let is_there = |name: &str| tree.join(".git").join(name).symlink_metadata().is_ok();
    SIGNS.iter().find(|(name, _)| is_there(name)).map(|(_, what)| *what)
}

/// Decides what happens to uncommitted changes: a stage that writes keeps them, others do not.
fn leftovers(job: &Job<'_>, mode: Mode) -> Leftovers {
    let author = &job.definition.author;
    if mode.writes() {
        Leftovers::Commit {
            message: format!("{0}: work of stage {1}\n\nTask: {0}\n", job.task.seed.id, job.stage.name),
            identity: Identity::new(&author.name, &author.email),
        }
    } else {
        Leftovers::SaveAndReset
    }
}

/// Returns the validated report of the agent, or why it cannot be used.
fn read_outcome(
    job: &Job<'_>,
    mode: Mode,
    folder: &LegFolder,
    ran: &turn::Ran,
    collected: &Collected,
) -> Result<Outcome, LegAbort> {
    let changed = collected.head != job.start;
    let wrong = |wrong: Wrong| LegAbort::failed(kind::OUTCOME, wrong.to_string());
    let mut found = mcp::reported(folder).map_err(wrong)?;
    if let (None, Some(report)) = (&found, &ran.summary.report) {
        found = outcome::from_structured(report).map_err(wrong)?;
    }
    if found.is_none() {
        found = handed_over(folder).map_err(wrong)?;
    }
    if found.is_none() {
        found = outcome::from_markers(ran.summary.last_words()).map_err(wrong)?;
    }
    if found.is_none() {
        let left = Left { plan: artifacts::plan(folder).is_some(), commits: changed };
        found = outcome::infer(mode, &left, &job.stage.on);
    }
    let idle = mode.writes() && !changed;
    let nothing = || {
        let words = format!("the agent ended without changing anything (tool uses: {})", ran.summary.tools);
        LegAbort::failed(kind::NOTHING, words)
    };
    let outcome = match found {
        Some(outcome) => outcome,
        None if idle => return Err(nothing()),
        None => return Err(wrong(Wrong::Silence)),
    };
    outcome::check(&outcome, &job.stage.on).map_err(wrong)?;
    if let Some(words) = proposed_before(job, &outcome) {
        return Err(LegAbort::failed(kind::OUTCOME, words));
    }
    // The tree shows whether conflicts are resolved, but only the payload says which changes were given up.
    let resolves = matches!(job.entry.purpose, Purpose::Resolve { .. });
    if idle && !resolves && mode.success() == Some(outcome.name.as_str()) {
        return Err(nothing());
    }
    if outcome.name == *outcome::FAILED && !job.stage.on.contains_key(&outcome.name) {
        let reason = outcome.summary().unwrap_or_else(|| "the agent gave up without saying why".to_owned());
        return Err(LegAbort::failed(kind::AGENT, reason));
    }
    Ok(outcome)
}

/// Returns why an analyst's choice is rejected, if the task knows what earlier nights proposed. Code decides this, not
/// the agent.
fn proposed_before(job: &Job<'_>, outcome: &Outcome) -> Option<String> {
    let earlier = job.task.seed.wish.metadata.get(night::key::EARLIER)?;
    let earlier: Vec<night::memory::Proposal> = serde_json::from_str(earlier).ok()?;
    night::memory::refusal(&earlier, &outcome.payload)
}

/// Reads the handoff file.
fn handed_over(folder: &LegFolder) -> Result<Option<Outcome>, Wrong> {
    const PLACE: &str = "handoff file";
    if let Some(what) = untrusted::not_a_file(&folder.handoff()) {
        return Err(Wrong::Shape { place: PLACE, reason: format!("it was replaced by {what}") });
    }
    let text = untrusted::text(&folder.handoff(), outcome::PAYLOAD_LIMIT as u64)
        .map_err(|size| Wrong::TooLarge { place: PLACE, size })?;
    outcome::from_handoff(&text.unwrap_or_default())
}

/// Replaces the outcome that the agent chose by the one that its own findings demand, and records the original. A
/// review with a critical finding sends the work back on the path that the workflow defines for that, so that the fix
/// must pass the same gates again.
fn overrule(ctx: &mut LegContext<'_>, instead: Option<&Name>, mut done: Done) -> Done {
    let Some(name) = instead.filter(|name| **name != done.outcome.name) else { return done };
    let said = std::mem::replace(&mut done.outcome.name, name.clone());
    ctx.notice(
        Level::Warning,
        format!("the review ended `{said}` with a critical finding: taken as `{name}`"),
    );
    if let Some(payload) = done.outcome.payload.as_object_mut() {
        payload.insert(OVERRULED.to_owned(), said.to_string().into());
    }
    done
}

/// Key in the payload of an overruled outcome for what its agent had chosen.
const OVERRULED: &str = "overruled";

fn report(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    done: Done,
    failures: Vec<Failure>,
    artifacts: Vec<acquit_core::artifact::Artifact>,
    proof: Proof,
) -> Report {
    let Done { outcome, collected, moved, failures: _ } = done;
    let (tip, base, proof) = match (moved, collected) {
        (Some(moved), _) => (moved.tip, moved.base, moved.proof),
        (None, Some(collected)) => (collected.head, job.base.clone(), proof),
        (None, None) => (job.start.clone(), job.base.clone(), proof),
    };
    let new = |commit: &CommitId, known: &str| (commit.as_str() != known).then(|| commit.to_string());
    let proven = (proof == Proof::Given && failures.is_empty()).then(|| base.to_string());
    // If a stage started from the base, an earlier attempt is no longer part of the task's work.
    let (tip, base) = (new(&tip, &job.task.tip), new(&base, job.task.base()));
    let learning = outcome
        .summary()
        .filter(|_| failures.is_empty() && outcome.payload.get(OVERRULED).is_none())
        .filter(|_| super::has_agent(&job.entry.purpose, &job.stage.work))
        .map(|summary| format!("{}: {summary}", job.stage.name));
    let ending =
        if failures.is_empty() { Ending::Passed { outcome } } else { Ending::Rejected { outcome, failures } };
    let (usage, session) = (ctx.usage.clone(), ctx.session.clone());
    Report { ending, tip, base, proven, artifacts, learning, usage, session }
}
