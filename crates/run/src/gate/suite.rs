//! Builds the tests of a tree, runs them as often as requested, and reads the results.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use acquit_core::agent::shorten;
use acquit_core::gate::{Command, Gate, Place, Report, Stopped};
use acquit_core::proof::{self, Tree};
use acquit_core::results::Results;
use acquit_core::time::Span;

use super::runs::{Commands, Once, Runs};
use super::{distill, killed, origin, reports};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, Ran, Wanted, WorkingTree};
use crate::workspace::LockedWorkspace;

/// Maximum size of a command's output to read for the reason why something is missing.
const SAID: usize = 16_000;

/// Size of the end of an output that contains the runner's own summary.
const SUMMARY: u64 = 4_000;

/// The commands that build and run tests.
#[derive(Clone, Copy)]
pub(super) struct Suite<'a> {
    pub(super) gate: &'a Gate,
    pub(super) build: Option<&'a Command>,
    pub(super) run: &'a Command,
    pub(super) report: &'a Report,
}

/// What the commands of a gate used so far.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) took: u64,
    /// Whether the last tree was built, or needed no build. If all runs of a tree were cached, it was not built.
    pub(super) built: bool,
    /// Duration of the last test run with its build, even if it was cached.
    pub(super) run: u64,
    /// Output of the last command.
    pub(super) log: PathBuf,
    /// How it ended.
    pub(super) ended: String,
    /// Why the first command that was stopped early was stopped.
    pub(super) stopped: Option<Stopped>,
}

impl Spent {
    pub(super) fn add(&mut self, ran: &Ran) {
        self.took = self.took.saturating_add(u64::from(ran.took));
        self.log.clone_from(&ran.log);
        self.ended.clone_from(&ran.ended);
        self.stopped = self.stopped.or_else(|| ran.cut_short.as_ref().map(|cut| cut.by));
    }

    pub(super) fn took(&self) -> Span {
        Span::from(self.took)
    }
}

impl<'a> Suite<'a> {
    /// Returns the same for a tree that may be built already.
    pub(super) fn in_tree(self, built: bool) -> Suite<'a> {
        Suite { build: self.build.filter(|_| !built), ..self }
    }

    /// Builds and runs the tests of the tree at `ground`. `phase` is part of the names of its files.
    pub(super) fn tree(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        working_tree: &WorkingTree,
        phase: &str,
        runs: u32,
        spent: &mut Spent,
    ) -> Result<Tree, LegAbort> {
        self.runs(ctx, job, working_tree, (phase, 1..=runs.max(1)), None, spent)
    }

    /// Returns the cached runs of the tree of a commit, or of a tree itself.
    pub(super) fn kept(
        &self,
        ctx: &LegContext<'_>,
        job: &Job<'_>,
        workspace: &LockedWorkspace,
        tree: &CommitId,
    ) -> Result<Runs, LegAbort> {
        let commands = Commands { gate: self.gate, build: self.build, run: self.run, report: self.report };
        Runs::of(ctx, job, workspace, tree, &commands)
    }

    /// Runs the tests of a tree by number, unless these runs are cached. Builds it only if something has to run.
    pub(super) fn runs(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        working_tree: &WorkingTree,
        (phase, numbers): (&str, RangeInclusive<u32>),
        kept: Option<&Runs>,
        spent: &mut Spent,
    ) -> Result<Tree, LegAbort> {
        let mut unbuilt = self.build;
        spent.built = unbuilt.is_none();
        let mut all = proof::Ran::default();
        for number in numbers {
            let began = spent.took;
            let once = if let Some(once) = kept.and_then(|kept| kept.find(number)) {
                once
            } else {
                if let Some(build) = unbuilt.take() {
                    if let Some(said) = self.built(ctx, job, working_tree, (phase, build), kept, spent)? {
                        return Ok(Tree::NotBuilt(said));
                    }
                    spent.built = true;
                }
                let (results, ran) = self.once(ctx, job, working_tree, &format!("{phase}-{number}"))?;
                spent.add(&ran);
                let said = if ran.passed { String::new() } else { said(&ran, working_tree) };
                let once = Once::of(&ran, spent.took - began, said, results);
                if let Some(kept) = kept {
                    kept.keep(ctx, number, &once);
                }
                once
            };
            spent.run = once.took;
            self.add(&mut all, once);
        }
        Ok(Tree::Ran(all))
    }

    /// Builds a tree. Returns the compiler's output if that fails or is known to fail.
    fn built(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        working_tree: &WorkingTree,
        (phase, build): (&str, &Command),
        kept: Option<&Runs>,
        spent: &mut Spent,
    ) -> Result<Option<String>, LegAbort> {
        if let Some(said) = kept.and_then(Runs::not_built) {
            return Ok(Some(said));
        }
        let ran = self.command(ctx, job, working_tree, &format!("{phase}-build"), build)?;
        spent.add(&ran);
        if ran.passed {
            return Ok(None);
        }
        let said = format!("{}\n`{build}`: {}", said(&ran, working_tree), ran.why());
        if let Some(kept) = kept.filter(|_| ran.cut_short.is_none()) {
            kept.keep_not_built(ctx, &said);
        }
        Ok(Some(said))
    }

    fn add(&self, all: &mut proof::Ran, once: Once) {
        let results = &once.results;
        if once.passed && results.tests.is_empty() && results.broken.is_empty() {
            all.unread = Some(self.unread());
        }
        let fails = results.red().next().is_some() || !results.broken.is_empty();
        if !once.passed && (once.cut_short.is_some() || !fails) {
            all.trouble = Some(format!("`{}`: {}", self.run, once.why()));
        }
        if once.timed_out {
            all.hung = Some(once.ended.clone());
        }
        if !once.passed {
            all.said = once.said;
            all.exit = Some(once.ended);
        }
        all.merged.add(once.results);
    }

    /// Describes a run that ended well and reported no test.
    fn unread(&self) -> String {
        let format = self.report.format.name();
        match &self.report.place {
            Place::Output => {
                format!("`{}` ended well and printed no test in the form of `{format}`", self.run)
            }
            Place::Files(paths) => {
                let places = paths.as_slice().join(", ");
                format!("`{}` ended well and left no test in the form of `{format}` at {places}", self.run)
            }
        }
    }

    /// Runs the tests once.
    fn once(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        working_tree: &WorkingTree,
        phase: &str,
    ) -> Result<(Results, Ran), LegAbort> {
        let ran = self.command(ctx, job, working_tree, phase, self.run)?;
        let mut results = Results::default();
        for text in reports::read(working_tree, self.report, &ran).unwrap_or_default() {
            // Runners name files by their absolute path; make test names the same in every tree.
            results.read(self.report.format, &text.replace(&prefix(working_tree), ""));
        }
        origin::assert_panics(&mut results, &working_tree.committed);
        if let Place::Files(_) = self.report.place {
            results.agree_with(&distill::tail(&ran.log, SUMMARY));
        }
        // The tests' own processes write a report, so it can contain a secret, like their output.
        let results = ctx.redactor.stored(results).unwrap_or_default();
        Ok((results, ran))
    }

    fn command(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        working_tree: &WorkingTree,
        phase: &str,
        line: &Command,
    ) -> Result<Ran, LegAbort> {
        let name = format!("{}-{phase}", self.gate.name);
        killed::run(ctx, job, working_tree, &Wanted::of(job, self.gate, &name, line), Some(self.report))
    }
}

/// Returns the output of a failed command, with paths relative to the repository.
fn said(ran: &Ran, working_tree: &WorkingTree) -> String {
    let text = distill::errors(&ran.log);
    shorten(&text.replace(&prefix(working_tree), ""), SAID)
}

fn prefix(working_tree: &WorkingTree) -> String {
    format!("{}/", working_tree.tree.display())
}
