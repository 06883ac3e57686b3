//! `acquit prove`: judges a change by any author against all gates of its project.
//!
//! The change becomes a commit in a scratch repository that borrows the user's objects (`subject`). `rules` selects the
//! gates: those of the project, or those that `acquit init` would write. They run as a task with one stage of the kind
//! `check`, in a separate store, with the same harness and sandbox as every other task (`trial`). Failures of gates
//! that don't compare with the base then run on the base, so that a change is not blamed for what was already broken.
//! [`report`] holds the result.
//!
//! No agent, forge or daemon takes part, and nothing in the user's checkout, index, refs or objects changes.

use std::path::PathBuf;

use acquit_core::check::dilution::Permit;
use acquit_core::gate::check::Tests;
use acquit_core::gate::{Check, Gate, Verdict, rule};
use acquit_core::ids::TaskId;
use acquit_core::sandbox::Mode;
use acquit_run::git::{Offer, Source};
use acquit_run::workspace::remove_folder;

use crate::app::App;
use crate::check::{self, problem};
use crate::error::Error;
use crate::walls;

mod affected;
pub mod attest;
pub mod hook;
pub mod report;
mod rules;
mod subject;
pub mod tool;
mod trial;

pub use crate::check::Run;
pub use report::{Claim, Decision, Report, Status, Unchecked};
pub use subject::Which;

/// How to do without a wall that the machine lacks.
const ACCEPT: &str = "`acquit prove --reduced`";

/// Folder of temporary files of judgements in acquit's home, one folder per process.
const FOLDER: &str = "proofs";

/// Options of a judgement.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The change to judge.
    pub which: Which,
    /// Base to compare with; `None` uses the branch that the change started from.
    pub base: Option<String>,
    /// Which gates to run.
    pub depth: Depth,
    /// Whether the base's `.acquit/` may be used although the user has not trusted it here.
    pub trust: Trusting,
    /// Whether a machine without all walls of the sandbox will do.
    pub walls: Walls,
    /// Whether to reuse verdicts of earlier judgements on the same content.
    pub cache: Cache,
    /// Folder for copies of the gates' output, if they are to be kept.
    pub logs: Option<PathBuf>,
    /// Whether to write detected gates to `.acquit/`.
    pub save: Save,
    /// What to do with an empty change.
    pub empty: Empty,
    /// What the change may weaken, in the syntax of `allow` of the check `dilution`.
    pub allow: Vec<String>,
}

/// Whether to write detected gates to `.acquit/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    /// Only use them.
    No,
    /// Write them, unless `.acquit/` exists.
    Yes,
}

/// What to do with an empty change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// Run the gates on the tree as it is.
    Judge,
    /// Run nothing.
    Pass,
}

/// Which gates to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// All gates.
    Full,
    /// Static checks, and the tests that the change affects.
    Quick,
}

/// Who must consent to the project's `.acquit/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trusting {
    /// The user, with `acquit trust`.
    User,
    /// The caller, with this call, for the version of the base.
    Base,
}

/// Whether a machine without all walls of the sandbox will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// As the rules say: by default, nothing runs without all of them.
    AsConfigured,
    /// Yes: this run does with those that the machine has.
    AsFound,
}

/// Whether to reuse verdicts of earlier judgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Reuse verdicts on the same content.
    Use,
    /// Run everything again.
    Ignore,
}

/// Callbacks to run a judgement, show its progress and stop it.
pub struct Conduct<'c> {
    /// Runs a task until it ends.
    pub run: Run<'c>,
    /// Reports the next step.
    pub say: &'c dyn Fn(&str),
    /// Returns whether to stop.
    pub stopped: &'c dyn Fn() -> bool,
}

/// Judges a change.
pub fn prove(app: &App, asked: &Asked, conduct: &mut Conduct<'_>) -> Result<Report, Error> {
    let source = app.source()?;
    sweep(app);
    let place = Place::new(app, std::process::id());
    let done = judge(app, asked, &source, &place, conduct);
    if let Err(error) = place.clear(app) {
        app.warn(format!("files of the judgement are kept: {}", acquit_run::harness::chain(&error)));
    }
    done
}

fn judge(
    app: &App,
    asked: &Asked,
    source: &Source,
    place: &Place,
    conduct: &mut Conduct<'_>,
) -> Result<Report, Error> {
    let began = (app.runtime.now)();
    for word in &asked.allow {
        word.parse::<Permit>().map_err(|source| Error::Permit { word: word.clone(), source })?;
    }
    place.make()?;
    let scratch = source.borrowed_at(&place.folder.join("repository"))?;
    let subject = subject::take(app, asked, source, &scratch, &place.folder)?;
    if asked.empty == Empty::Pass && subject.head == subject.base {
        return Ok(Report::of_nothing(subject));
    }
    let scratch = if subject.own_base { scratch } else { scratch.on_foreign(&subject.base) };
    let mut rules = rules::of(app, asked, source, &scratch, &subject, &place.folder)?;
    if let (Save::Yes, Some(plan)) = (asked.save, &rules.plan) {
        crate::init::write(source.top(), plan, crate::init::Overwrite::Never)?;
        app.trust_written(source, &plan.files)?;
    }
    for seen in &rules.seen {
        (conduct.say)(&format!("detected: {seen}"));
    }
    let lacking = walls::lacking(app, rules.config.sandbox)?;
    match (asked.walls, lacking) {
        (Walls::AsConfigured, Some(lacking)) if rules.config.sandbox == Mode::On => {
            return Ok(Report::of_machine(subject, &rules, problem::of_machine(lacking, ACCEPT)));
        }
        (_, Some(lacking)) => {
            rules.config.sandbox = Mode::Reduced;
            rules.reduced = Some(lacking.what);
        }
        (Walls::AsFound, None) => (conduct.say)(match rules.config.sandbox {
            Mode::On | Mode::Reduced => "--reduced changes nothing here: this machine lacks no wall",
            Mode::Off => "--reduced changes nothing: `sandbox = \"off\"` asks for none",
        }),
        (Walls::AsConfigured, None) => {}
    }
    if (conduct.stopped)() {
        return Ok(Report::cancelled(subject, &rules));
    }
    let mut trial = trial::Trial {
        app,
        scratch: &scratch,
        rules: &rules,
        place,
        next: 0,
        cache: asked.cache,
        logs: asked.logs.as_deref(),
        allow: &asked.allow,
    };
    let offer = Offer { head: subject.head.clone(), base: subject.base.clone() };
    let first = trial.run(&rules.gates, &offer, conduct)?;
    let mut report = Report::of(subject, &rules, &first);
    if let Some(problem) = &mut report.stopped {
        check::missing_program(app, problem);
        let written = !matches!(rules.origin, rules::Origin::Detected | rules::Origin::DetectedInChange);
        if let (false, Some(program)) = (written, &problem.missing) {
            problem.advice = Some(match problem.mends.first() {
                Some(mend) => format!("run `acquit init`, then {} in .acquit/acquit.toml", mend.words),
                None => format!(
                    "install {program}; or run `acquit init` and change the command in .acquit/acquit.toml"
                ),
            });
        }
    }
    if first.cancelled || first.stopped.is_some() {
        report.finish((app.runtime.now)().since(began));
        return Ok(report);
    }
    // Run what the first round left open: the existing tests, if the change has no tests of its own, and failures that
    // may have existed before the change.
    let regressions = open_tests(&rules.gates, &first.told.verdicts);
    if !regressions.is_empty() && !(conduct.stopped)() {
        let second = trial.run(&regressions, &offer, conduct)?;
        report.add_regressions(&second);
        report.cancelled |= second.cancelled;
    }
    let doubtful = doubtful(&rules.gates, &report);
    if !doubtful.is_empty() && !report.cancelled && !(conduct.stopped)() {
        (conduct.say)("running what failed on the base, to see whether it failed before");
        let on_base = Offer { head: offer.base.clone(), base: offer.base };
        let third = trial.run(&doubtful, &on_base, conduct)?;
        report.cancelled |= third.cancelled;
        report.compare_with_base(&third);
    }
    report.finish((app.runtime.now)().since(began));
    Ok(report)
}

/// Posts the summary of a judgement on a pull request, or updates the existing one. Returns its URL.
pub fn comment(app: &App, report: &Report, request: &str, text: &str) -> Result<String, Error> {
    let number = acquit_run::forge::number(request).ok_or_else(|| Error::NoRequest(request.to_owned()))?;
    let mark = text.lines().next().unwrap_or_default();
    acquit_run::external_pull_request::comment(
        &app.runtime,
        report.config(),
        &app.source()?,
        number,
        mark,
        text,
    )
    .map_err(|source| Error::Comment { number, source })
}

/// Returns test gates that did not run the existing tests, because the change has no tests of its own.
fn open_tests(gates: &[Gate], verdicts: &[Verdict]) -> Vec<Gate> {
    const EARLY: [&str; 4] = [rule::UNTESTED, rule::UNPROVEN, rule::EXEMPT, rule::TOO_LARGE];
    let ended_early = |gate: &Gate| {
        let verdict = verdicts.iter().find(|verdict| verdict.gate == gate.name);
        verdict.is_some_and(|it| it.evidence.findings.iter().any(|it| EARLY.contains(&it.rule.as_str())))
    };
    let compared = |tdd: &acquit_core::gate::check::Tdd| {
        gates.iter().any(|other| match &other.check {
            Check::Tests(tests) => tests.run == tdd.run && tests.report == tdd.report,
            _ => false,
        })
    };
    let each = gates.iter().filter_map(|gate| match &gate.check {
        Check::Tdd(tdd) if ended_early(gate) && !compared(tdd) => {
            Some(Gate { check: Check::Tests(Tests::of(tdd)), ..gate.clone() })
        }
        _ => None,
    });
    each.collect()
}

/// Returns the gates whose failure may not be caused by the change.
fn doubtful(gates: &[Gate], report: &Report) -> Vec<Gate> {
    const ABOUT_THE_RUN: [&str; 5] = [rule::BUILD, rule::NOTHING_RAN, rule::EXIT, rule::REPORT, rule::BROKEN];
    let failed = |gate: &Gate| {
        let claim = report.claims.iter().find(|claim| claim.gate == gate.name);
        claim.filter(|claim| matches!(claim.status, Status::Broken | Status::Warned))
    };
    let each = gates.iter().filter_map(|gate| {
        let claim = failed(gate)?;
        let about_the_run =
            || claim.evidence.failing().all(|finding| ABOUT_THE_RUN.contains(&finding.rule.as_str()));
        let check = match &gate.check {
            Check::Command(_) => gate.check.clone(),
            Check::Tests(_) if about_the_run() => gate.check.clone(),
            Check::Tdd(tdd) if about_the_run() => Check::Tests(Tests::of(tdd)),
            _ => return None,
        };
        let paths = acquit_core::gate::PathFilter::default();
        Some(Gate { check, paths, ..gate.clone() })
    });
    each.collect()
}

/// The folders of a judgement's files.
struct Place {
    folder: PathBuf,
    pid: u32,
}

impl Place {
    fn new(app: &App, pid: u32) -> Self {
        Self { folder: app.runtime.home.join(FOLDER).join(pid.to_string()), pid }
    }

    fn make(&self) -> Result<(), Error> {
        let at = |source| Error::File { doing: "make the folder", path: self.folder.clone(), source };
        self.remove()?;
        std::fs::create_dir_all(&self.folder).map_err(at)
    }

    /// Removes all files of the judgement, including the folders of its tasks.
    fn clear(&self, app: &App) -> Result<(), Error> {
        trial::forget(app, self)?;
        self.remove()?;
        // Fails if other judgements are there.
        let _ = self.folder.parent().map(std::fs::remove_dir);
        Ok(())
    }

    fn remove(&self) -> Result<(), Error> {
        if !self.folder.exists() {
            return Ok(());
        }
        remove_folder(&self.folder).map_err(|source| Error::Workspace { task: self.task(0), source })
    }

    /// Returns the task id of a round. No user's task has such a number.
    fn task(&self, round: u64) -> TaskId {
        TaskId(trial::FIRST + u64::from(self.pid) * trial::ROUNDS + round)
    }
}

/// Removes files left by killed judgements.
fn sweep(app: &App) {
    let folders = std::fs::read_dir(app.runtime.home.join(FOLDER));
    for entry in folders.into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if !std::path::Path::new("/proc").join(pid.to_string()).exists() {
            // Ignore errors: the next sweep tries again.
            let _ = Place::new(app, pid).clear(app);
        }
    }
}

/// Creates a folder for the judgement.
fn make_folder(folder: &std::path::Path) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(folder).map_err(|source| Error::File {
        doing: "make the folder",
        path: folder.to_owned(),
        source,
    })?;
    Ok(folder.to_owned())
}
