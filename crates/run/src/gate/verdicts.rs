//! Verdicts that hold still: a gate is not run again on a tree that it has judged in the same task.
//!
//! A verdict is kept by everything that it is known to depend on: the files, the history that a command could look at, the
//! gate, the configuration, the machine's programs. It is kept with the task and not beyond it, because a command runs in a
//! workspace whose ignored folders the task's agents have written to. Work that is only judged has no agents: its verdicts are kept
//! for the project. Where they are kept no agent and no gate can write.
//!
//! What says nothing about the next time is not kept: a command that was cut short by a limit, and flaky tests. What a leg said
//! that was lost is not believed: it may have told nobody. How long a gate took is kept for the whole project, to run the
//! cheapest first.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use acquit_core::gate::{Gate, Reuse, Verdict};
use acquit_core::leg::{Ending, Past};
use acquit_core::proof::How;
use acquit_core::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};

use super::cache;
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, setup_key};
use crate::workspace::LockedWorkspace;

/// How long a verdict is believed, like the results of a base: the toolchain changes without a sign.
const AGE: std::time::Duration = std::time::Duration::from_hours(24);

/// The largest file that is read again: a verdict is bounded, and this is far more.
const LARGEST: u64 = 16 << 20;

/// How many durations are kept before all are forgotten: more gates than a machine's projects have.
const MOST_DURATIONS: usize = 5_000;

/// How many verdicts of one task, or of one project, are kept before all are forgotten.
const MOST_VERDICTS: usize = 1_000;

/// Changes with the form of the file.
const FORM: u32 = 3;

/// The verdicts of one state of the work.
pub(super) struct Verdicts {
    folder: PathBuf,
    durations: PathBuf,
    /// What all of them depend on.
    work: serde_json::Value,
    project: String,
    told: Told,
    now: Timestamp,
}

/// Whose verdicts are believed.
enum Told {
    /// Those of the legs whose verdicts are in the history: one that was lost may have told nobody.
    Legs(BTreeSet<u32>),
    /// All: no agent has worked where they were given.
    Anyone,
}

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    at: Timestamp,
    leg: u32,
    /// All that it depends on, to the letter: a name that is a hash could be made to fit.
    depends: String,
    verdict: Verdict,
}

acquit_core::json!(Kept);

impl Verdicts {
    /// Those of the work as it stands.
    pub(super) fn of(
        ctx: &LegContext<'_>,
        job: &Job<'_>,
        workspace: &LockedWorkspace,
    ) -> Result<Self, LegAbort> {
        let (base, head) = (job.base(), workspace.work_head()?);
        let history = history(workspace, &base, &head)?;
        let wish = &job.task.seed.wish;
        let path = ctx.runtime.environment.get("PATH").map(|path| path.to_string_lossy().into_owned());
        let work = serde_json::json!({
            "form": FORM,
            "tree": workspace.tree_of(&head)?,
            "base": base,
            "history": history,
            // What a task asks for and allows decides about findings.
            "task": [&wish.title, &wish.description],
            "allowed": [serde_json::json!(wish.tags), serde_json::json!(wish.metadata)],
            "config": job.definition.config,
            "installed": setup_key(ctx, job, workspace),
            "path": path,
            "machine": [std::env::consts::OS, std::env::consts::ARCH],
        });
        let told = if job.source.is_judged_only() {
            Told::Anyone
        } else {
            let legs = job.task.past.iter().filter(|past| has_told(past)).map(|past| past.number).collect();
            Told::Legs(legs)
        };
        Ok(Self {
            folder: folder(ctx, job),
            durations: ctx.runtime.home.join("durations"),
            work,
            project: job.source.owner().git_dir().to_string_lossy().into_owned(),
            told,
            now: (ctx.runtime.now)(),
        })
    }

    /// The verdict of this gate on this work, if it was given before.
    pub(super) fn find(&self, gate: &Gate) -> Option<Verdict> {
        if !is_kept(gate) {
            return None;
        }
        let depends = self.depends(gate);
        let kept = cache::load::<Kept>(&self.file(&depends), LARGEST)?;
        let holds = kept.form == FORM && kept.depends == depends && self.now.since(kept.at) <= AGE;
        let told = match &self.told {
            Told::Legs(legs) => legs.contains(&kept.leg),
            Told::Anyone => true,
        };
        (holds && told).then_some(Verdict { reused: Some(kept.leg), ..kept.verdict })
    }

    /// Keeps a verdict that was just given, without the secrets that a gate may have found and told.
    pub(super) fn keep(&self, ctx: &LegContext<'_>, gate: &Gate, verdict: &Verdict) -> Result<(), LegAbort> {
        let flaky = verdict.evidence.findings.iter().any(|finding| finding.rule == How::Flaky.rule());
        if !is_kept(gate) || flaky {
            return Ok(());
        }
        let depends = self.depends(gate);
        let file = self.file(&depends);
        let leg = ctx.hold.leg.number;
        let kept = Kept { form: FORM, at: self.now, leg, depends, verdict: verdict.clone() };
        let Some(kept) = ctx.redactor.stored(kept) else { return Ok(()) };
        make_room(&self.folder, MOST_VERDICTS);
        cache::save(&file, &kept).map_err(|error| LegAbort::file("keep a verdict in", &file, &error))
    }

    /// How long the gate took when it was last run for this project.
    pub(super) fn duration(&self, gate: &Gate) -> Option<Span> {
        cache::load(&self.clock(gate), LARGEST)
    }

    /// Keeps how long it took.
    pub(super) fn took(&self, gate: &Gate, took: Span) -> Result<(), LegAbort> {
        let file = self.clock(gate);
        make_room(&self.durations, MOST_DURATIONS);
        cache::save(&file, &took).map_err(|error| LegAbort::file("keep a duration in", &file, &error))
    }

    fn depends(&self, gate: &Gate) -> String {
        serde_json::json!({ "work": self.work, "gate": gate }).to_string()
    }

    fn file(&self, depends: &str) -> PathBuf {
        self.folder.join(name(depends))
    }

    fn clock(&self, gate: &Gate) -> PathBuf {
        let depends = serde_json::json!({ "project": self.project, "name": gate.name, "check": gate.check });
        self.durations.join(name(&depends.to_string()))
    }
}

/// Returns what a command can see of the history of the work: authors and messages of its commits.
pub(super) fn history(
    workspace: &LockedWorkspace,
    base: &CommitId,
    head: &CommitId,
) -> Result<Vec<(String, String)>, LegAbort> {
    let commits = workspace.commits(base, head)?;
    Ok(commits.into_iter().map(|commit| (commit.author, commit.message)).collect())
}

/// Returns the folder for what gates found out about this work.
pub(super) fn folder(ctx: &LegContext<'_>, job: &Job<'_>) -> PathBuf {
    if job.source.is_judged_only() {
        let project = name(&job.source.owner().git_dir().to_string_lossy());
        ctx.runtime.home.join("verdicts").join(project)
    } else {
        ctx.runtime.task_folder(ctx.hold.leg.task).join("verdicts")
    }
}

/// The file for something. Two things may have the same: the file says what it is about, where that matters.
pub(super) fn name(depends: &str) -> String {
    let mut hasher = DefaultHasher::new();
    depends.hash(&mut hasher);
    format!("{:016x}.json", hasher.finish())
}

fn has_told(past: &Past) -> bool {
    !matches!(past.ending, Ending::Lost { .. })
}

/// Whether the verdicts of a gate are worth keeping: looking takes no time, and looks at more than files.
fn is_kept(gate: &Gate) -> bool {
    gate.check.command().is_some() && gate.reuse == Reuse::SameTree
}

/// Forgets all files of a folder when there are too many: they come back with the next run of each gate.
fn make_room(folder: &Path, most: usize) {
    let count = fs::read_dir(folder).map_or(0, Iterator::count);
    if count > most {
        // Another harness may be at it as well.
        let _ = fs::remove_dir_all(folder);
    }
}
