//! Tests of a tree: built, run as often as wanted, and read.

use std::path::PathBuf;

use acquit_core::agent::shorten;
use acquit_core::gate::{Command, Gate, Place, Report};
use acquit_core::proof::{self, Tree};
use acquit_core::results::Results;
use acquit_core::time::Span;

use super::{distill, reports};
use crate::leg::{Job, LegAbort, LegContext, Ran, Wanted, WorkingTree, command};

/// How much of what a command said is looked at to see why something is missing.
const SAID: usize = 16_000;

/// How much of the end of an output has the runner's own summary in it.
const SUMMARY: u64 = 4_000;

/// What builds and runs tests.
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
    /// The output of the last one.
    pub(super) log: PathBuf,
    /// How it ended.
    pub(super) ended: String,
}

impl Spent {
    pub(super) fn add(&mut self, ran: &Ran) {
        self.took = self.took.saturating_add(u64::from(ran.took));
        self.log.clone_from(&ran.log);
        self.ended.clone_from(&ran.ended);
    }

    pub(super) fn took(&self) -> Span {
        Span::from(self.took)
    }
}

impl Suite<'_> {
    /// Builds and runs the tests of the tree at `ground`. `phase` names the files that tell of it.
    pub(super) fn tree(
        &self,
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        working_tree: &WorkingTree,
        phase: &str,
        runs: u32,
        spent: &mut Spent,
    ) -> Result<Tree, LegAbort> {
        if let Some(build) = self.build {
            let ran = self.command(ctx, job, working_tree, &format!("{phase}-build"), build)?;
            spent.add(&ran);
            if !ran.passed {
                return Ok(Tree::NotBuilt(format!("{}\n`{build}`: {}", said(&ran, working_tree), ran.why())));
            }
        }
        let mut all = proof::Ran::default();
        for number in 1..=runs.max(1) {
            let (results, ran) = self.once(ctx, job, working_tree, &format!("{phase}-{number}"))?;
            spent.add(&ran);
            if ran.passed && results.tests.is_empty() && results.broken.is_empty() {
                all.unread = Some(self.unread());
            }
            let fails = results.red().next().is_some() || !results.broken.is_empty();
            if !ran.passed && (ran.cut_short.is_some() || !fails) {
                all.trouble = Some(format!("`{}`: {}", self.run, ran.why()));
            }
            if ran.timed_out {
                all.hung = Some(ran.ended.clone());
            }
            if !ran.passed {
                all.said = said(&ran, working_tree);
                all.exit = Some(ran.ended.clone());
            }
            all.merged.add(results);
        }
        Ok(Tree::Ran(all))
    }

    /// What is said of a run that ended well and told of no test.
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
        reports::clear(working_tree, self.report);
        let ran = self.command(ctx, job, working_tree, phase, self.run)?;
        let mut results = Results::default();
        for text in reports::read(working_tree, self.report, &ran).unwrap_or_default() {
            // Runners name files by where they are; the same test has the same name in every tree.
            results.read(self.report.format, &text.replace(&prefix(working_tree), ""));
        }
        if let Place::Files(_) = self.report.place {
            results.agree_with(&distill::tail(&ran.log, SUMMARY));
        }
        // A report is written by the tests' own processes, so a secret could be in it as well as in what they print.
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
        command(ctx, job, working_tree, &Wanted::of(job, self.gate, &name, line))
    }
}

/// What a command that failed said, with paths as the repository has them.
fn said(ran: &Ran, working_tree: &WorkingTree) -> String {
    let text = distill::errors(&ran.log);
    shorten(&text.replace(&prefix(working_tree), ""), SAID)
}

fn prefix(working_tree: &WorkingTree) -> String {
    format!("{}/", working_tree.tree.display())
}
