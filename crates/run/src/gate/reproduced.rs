//! A defect, shown: the tests of the change are red by an assertion, and nothing but tests was changed.
//!
//! Both trees are shown in the same scratch folder, the base first, so that nothing an agent left in ignored folders has a say.

use acquit_core::gate::check::Reproduced;
use acquit_core::gate::{Evidence, Gate, Report, Verdict, Weight, rule};
use acquit_core::proof::{reproduced, reproduced_by_exit, unlike, without_files};

use super::suite::{Spent, Suite};
use super::{Case, Judge, baseline, conclude, killed, origin, tdd};
use crate::leg::{Job, LegAbort, LegContext, Wanted, WorkingTree, setup_aside};
use crate::workspace::{LockedWorkspace, Scratch};

/// Number of runs in which the tests must be red. With an occasional failure, it is impossible to see whether the
/// defect is fixed.
const RUNS: u32 = 2;

/// The check and its inputs.
struct Trial<'a> {
    job: &'a Job<'a>,
    gate: &'a Gate,
    settings: &'a Reproduced,
    workspace: &'a LockedWorkspace,
    scratch: Scratch<'a>,
}

impl Judge for Reproduced {
    fn judge(&self, case: Case<'_, '_>) -> Result<Verdict, LegAbort> {
        let Case { ctx, job, gate, workspace, .. } = case;
        let mut spent = Spent::default();
        let mut evidence = Evidence::default();
        match tdd::others(workspace, gate, &self.tests, &self.exempt, &job.base())? {
            None => evidence.find(Weight::Fails, rule::TOO_LARGE, tdd::TOO_LARGE, None),
            Some(paths) => {
                for path in paths {
                    let what = format!(
                        "{path} is no test: a defect is shown on code that is as it was; mend nothing yet"
                    );
                    evidence.find(Weight::Fails, "changes-code", &what, None);
                }
            }
        }
        // Code that was changed can make any test red.
        if evidence.failing().next().is_none() {
            let trial = Trial { job, gate, settings: self, workspace, scratch: workspace.scratch()? };
            evidence.add(match &self.report {
                Some(report) => trial.by_report(ctx, report, &mut spent)?,
                None => trial.by_exit(ctx, &mut spent)?,
            });
        }
        Ok(conclude(gate, &spent, evidence, &WorkingTree::of(workspace)))
    }
}

impl Trial<'_> {
    fn by_report(
        &self,
        ctx: &mut LegContext<'_>,
        report: &Report,
        spent: &mut Spent,
    ) -> Result<Evidence, LegAbort> {
        let Self { job, gate, settings, workspace, scratch } = self;
        let suite = Suite { gate, build: settings.build.as_ref(), run: &settings.run, report };
        let base = baseline::base(ctx, job, &suite, workspace, scratch, 1, spent)?;
        self.show_work(ctx)?;
        let mut now = suite.tree(ctx, job, &WorkingTree::of_scratch(scratch), "now", RUNS, spent)?;
        origin::locate(&mut now, scratch, &settings.tests);
        let mut constant = origin::constant(&now, scratch);
        let wish = &job.task.seed.wish;
        let task = format!("{}\n{}", wish.title, wish.description);
        constant.extend(unlike(&now, &task));
        constant.extend(without_files(&now, &task));
        Ok(reproduced(&base, &now, &constant))
    }

    fn by_exit(&self, ctx: &mut LegContext<'_>, spent: &mut Spent) -> Result<Evidence, LegAbort> {
        let base = self.job.base();
        self.scratch.show(base.as_str(), &base)?;
        setup_aside(ctx, self.job, &self.scratch)?;
        let before = self.exit(ctx, "base", spent)?;
        self.show_work(ctx)?;
        let now = self.exit(ctx, "now", spent)?;
        Ok(reproduced_by_exit(before.as_deref(), now.as_deref()))
    }

    fn show_work(&self, ctx: &mut LegContext<'_>) -> Result<(), LegAbort> {
        let head = self.workspace.work_head()?;
        self.scratch.show(head.as_str(), &head)?;
        setup_aside(ctx, self.job, &self.scratch)
    }

    /// Returns how the command ended, unless with code 0.
    fn exit(
        &self,
        ctx: &mut LegContext<'_>,
        phase: &str,
        spent: &mut Spent,
    ) -> Result<Option<String>, LegAbort> {
        let Self { job, gate, settings, scratch, .. } = self;
        let name = format!("{}-{phase}", gate.name);
        let wanted = Wanted::of(job, gate, &name, &settings.run);
        let ran = killed::run(ctx, job, &WorkingTree::of_scratch(scratch), &wanted, None)?;
        spent.add(&ran);
        Ok((!ran.passed).then(|| ran.why().to_owned()))
    }
}
