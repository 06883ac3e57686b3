//! Cached verdicts: a gate does not run again on a tree that it has judged in the same task.
//!
//! The key of a verdict has everything it is known to depend on: the files, the history that a command could read, the
//! gate, the configuration, the machine's programs. It is cached with the task and not beyond, because a command runs
//! in a workspace whose ignored folders the task's agents have written to. Work that is only judged has no agents: its
//! verdicts are cached for the project. No agent and no gate can write to the cache.
//!
//! Results that don't predict the next run are not cached: commands that a limit cut short, and flaky tests. Verdicts
//! of a lost leg are not used, because they may not be in the history. Durations of gates are cached for the whole
//! project, to run the cheapest first.

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

/// Maximum age of a verdict, as for the results of a base: the toolchain changes unnoticed.
const AGE: std::time::Duration = std::time::Duration::from_hours(24);

/// Maximum size of a file to read. A verdict is bounded, and this is far more.
const LARGEST: u64 = 16 << 20;

/// Maximum number of durations; beyond it all are removed. More gates than a machine's projects have.
const MOST_DURATIONS: usize = 5_000;

/// Maximum number of verdicts of a task or a project; beyond it all are removed.
const MOST_VERDICTS: usize = 1_000;

/// Format version of the files.
const FORM: u32 = 3;

/// The verdicts on one state of the work.
pub(super) struct Verdicts {
    folder: PathBuf,
    durations: PathBuf,
    /// Everything that all of them depend on.
    work: serde_json::Value,
    project: String,
    told: Told,
    now: Timestamp,
}

/// Whose verdicts to use.
enum Told {
    /// Those of legs whose verdicts are in the history; a lost leg's may not be.
    Legs(BTreeSet<u32>),
    /// All: no agent has worked there.
    Anyone,
}

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    at: Timestamp,
    leg: u32,
    /// Everything that it depends on, in full, because a hash in the name could be forged.
    depends: String,
    verdict: Verdict,
}

acquit_core::json!(Kept);

impl Verdicts {
    /// Returns the verdicts on the current work.
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
            // The task's request and permits decide about findings.
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

    /// Returns the verdict of this gate on this work, if it is cached.
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

    /// Caches a new verdict, without secrets that a gate may have printed.
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

    /// Returns how long the gate took when it last ran for this project.
    pub(super) fn duration(&self, gate: &Gate) -> Option<Span> {
        cache::load(&self.clock(gate), LARGEST)
    }

    /// Caches how long it took.
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

/// Returns the cache folder for this work.
pub(super) fn folder(ctx: &LegContext<'_>, job: &Job<'_>) -> PathBuf {
    if job.source.is_judged_only() {
        let project = name(&job.source.owner().git_dir().to_string_lossy());
        ctx.runtime.home.join("verdicts").join(project)
    } else {
        ctx.runtime.task_folder(ctx.hold.leg.task).join("verdicts")
    }
}

/// Returns the file for a key. Two keys may have the same file; where that matters, the file contains the key.
pub(super) fn name(depends: &str) -> String {
    let mut hasher = DefaultHasher::new();
    depends.hash(&mut hasher);
    format!("{:016x}.json", hasher.finish())
}

fn has_told(past: &Past) -> bool {
    !matches!(past.ending, Ending::Lost { .. })
}

/// Returns whether the verdicts of a gate are worth caching. Checks that only read are fast, and read more than files.
fn is_kept(gate: &Gate) -> bool {
    gate.check.command().is_some() && gate.reuse == Reuse::SameTree
}

/// Removes all files of a folder if there are too many; each gate's next run writes them again.
fn make_room(folder: &Path, most: usize) {
    let count = fs::read_dir(folder).map_or(0, Iterator::count);
    if count > most {
        // Another harness may be removing them as well.
        let _ = fs::remove_dir_all(folder);
    }
}
