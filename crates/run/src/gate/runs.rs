//! Cached runs of tests, keyed by the content of their tree, so that the same content does not run again.
//!
//! Trees repeat within a judgement and between judgements: `tests` and `tdd` both run the change, and the base with the
//! tests of the change stays the same while only the code is edited. The runs of a tree are numbered, so runs that are
//! compared with each other are always different runs. The key of a run has everything it is known to depend on. The
//! cache is where no agent and no gate can write: with the task, or with the project if no agent works on it. Each run
//! started in a new tree of committed files, so it contains nothing that an agent left. Runs that were cut short, and
//! runs of trees with flaky tests, are not cached.

use std::path::PathBuf;
use std::time::Duration;

use acquit_core::gate::{Command, Gate, Report, Reuse};
use acquit_core::results::{Merged, Results};
use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::runner::waited;
use super::verdicts::history;
use super::{cache, verdicts};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, Ran, setup_key};
use crate::workspace::LockedWorkspace;

/// Maximum age, as for a verdict: the toolchain changes unnoticed.
const AGE: Duration = Duration::from_hours(24);

/// Maximum size of a file to read.
const LARGEST: u64 = 64 << 20;

/// Maximum number of files of a project or task.
const MOST_KEPT: usize = 200;

/// Format version of the files.
const FORM: u32 = 3;

/// One run of the tests of a tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Once {
    pub(super) passed: bool,
    pub(super) ended: String,
    /// How long it took, including the build.
    pub(super) took: u64,
    /// Output, as far as it explains a failure.
    pub(super) said: String,
    pub(super) results: Results,
    /// Why it was stopped early. Such a run is not cached.
    #[serde(skip)]
    pub(super) cut_short: Option<String>,
    /// Whether that was because of its timeout.
    #[serde(skip)]
    pub(super) timed_out: bool,
}

impl Once {
    pub(super) fn of(ran: &Ran, took: u64, said: String, results: Results) -> Self {
        let (passed, ended) = (ran.passed, ran.ended.clone());
        let cut_short = ran.cut_short.as_ref().map(ToString::to_string);
        Self { passed, ended, took, said, results, cut_short, timed_out: ran.timed_out }
    }

    /// Returns why it did not exit with code 0.
    pub(super) fn why(&self) -> &str {
        self.cut_short.as_ref().unwrap_or(&self.ended)
    }

    /// Returns whether it predicts the next run of the same tree.
    fn is_whole(&self) -> bool {
        let told = !self.results.tests.is_empty() || !self.results.broken.is_empty();
        self.cut_short.is_none() && told && !self.results.cut
    }
}

/// The cached result of a tree.
#[derive(Serialize, Deserialize)]
enum What {
    /// Its tests ran.
    Ran(Box<Once>),
    /// It did not build; the compiler's output.
    NotBuilt(String),
}

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    at: Timestamp,
    /// Everything that it depends on. The name of the file is only a hash of it.
    depends: String,
    what: What,
}

acquit_core::json!(Kept);

/// Commands whose runs are cached.
pub(super) struct Commands<'a> {
    pub(super) gate: &'a Gate,
    pub(super) build: Option<&'a Command>,
    pub(super) run: &'a Command,
    pub(super) report: &'a Report,
}

/// The runs of one tree.
pub(super) struct Runs {
    folder: PathBuf,
    depends: serde_json::Value,
    now: Timestamp,
    is_kept: bool,
}

impl Runs {
    /// Returns the runs of the tree of a commit, or of a tree itself.
    pub(super) fn of(
        ctx: &LegContext<'_>,
        job: &Job<'_>,
        workspace: &LockedWorkspace,
        tree: &CommitId,
        commands: &Commands<'_>,
    ) -> Result<Self, LegAbort> {
        let gate = commands.gate;
        let (base, head) = (job.base(), workspace.work_head()?);
        let path = ctx.runtime.environment.get("PATH").map(|path| path.to_string_lossy().into_owned());
        let depends = serde_json::json!({
            "form": FORM,
            "tree": workspace.tree_of(tree)?,
            "base": base,
            // A command can read the history of the work.
            "history": if *tree == head { history(workspace, &base, &head)? } else { Vec::new() },
            "build": commands.build.map(ToString::to_string),
            "run": commands.run,
            "report": commands.report,
            "env": gate.env,
            "timeout": gate.timeout,
            "output": gate.output,
            "network": gate.reach(&job.definition.config.network),
            "config": job.definition.config,
            "installed": setup_key(ctx, job, workspace),
            "path": path,
            "machine": [std::env::consts::OS, std::env::consts::ARCH],
        });
        Ok(Self {
            folder: verdicts::folder(ctx, job).join("runs"),
            depends,
            now: (ctx.runtime.now)(),
            is_kept: gate.reuse == Reuse::SameTree && !waited(job),
        })
    }

    /// Returns the run with this number, if it is cached.
    pub(super) fn find(&self, number: u32) -> Option<Once> {
        match self.load(&self.run(number))? {
            What::Ran(once) => Some(*once),
            What::NotBuilt(_) => None,
        }
    }

    /// Returns the compiler's output, if the tree is known not to build.
    pub(super) fn not_built(&self) -> Option<String> {
        match self.load(&self.build())? {
            What::NotBuilt(said) => Some(said),
            What::Ran(_) => None,
        }
    }

    /// Caches a run.
    pub(super) fn keep(&self, ctx: &LegContext<'_>, number: u32, once: &Once) {
        if once.is_whole() {
            self.save(ctx, self.run(number), What::Ran(Box::new(once.clone())));
        }
    }

    /// Caches the compiler's output for a tree that does not build.
    pub(super) fn keep_not_built(&self, ctx: &LegContext<'_>, said: &str) {
        self.save(ctx, self.build(), What::NotBuilt(said.to_owned()));
    }

    /// Removes the cached runs of a tree if they disagree: the next judgement tries again.
    pub(super) fn forget_flaky(&self, merged: &Merged) {
        if merged.flaky.is_empty() {
            return;
        }
        for number in 1..=merged.runs {
            // If it cannot be removed, it expires after a day.
            let _ = std::fs::remove_file(self.file(&self.run(number)));
        }
    }

    fn run(&self, number: u32) -> String {
        serde_json::json!({ "of": self.depends, "run": number }).to_string()
    }

    fn build(&self) -> String {
        serde_json::json!({ "of": self.depends, "run": "build" }).to_string()
    }

    fn file(&self, depends: &str) -> PathBuf {
        self.folder.join(verdicts::name(depends))
    }

    fn load(&self, depends: &str) -> Option<What> {
        if !self.is_kept {
            return None;
        }
        let kept = cache::load::<Kept>(&self.file(depends), LARGEST)?;
        let holds = kept.form == FORM && kept.depends == depends && self.now.since(kept.at) <= AGE;
        holds.then_some(kept.what)
    }

    fn save(&self, ctx: &LegContext<'_>, depends: String, what: What) {
        if !self.is_kept {
            return;
        }
        let file = self.file(&depends);
        let Some(kept) = ctx.redactor.stored(Kept { form: FORM, at: self.now, depends, what }) else {
            return;
        };
        // A run that is not cached runs again. Another process may be removing the folder.
        let _ = cache::prune(&self.folder, MOST_KEPT).and_then(|()| cache::save(&file, &kept));
    }
}
