//! `acquit check`: rehearses setup and every gate on the unchanged base, before paying for an agent.
//!
//! The rehearsal is a task with one stage of the kind `check`, in a separate store, run by the same harness and sandbox
//! as every other task. So the results are valid for later tasks, setups and baselines are kept for them, and the
//! user's task list never shows the rehearsal. [`rehearse`] runs it, [`problem`] explains failures and suggests edits
//! that fix them, [`edit`] makes those edits in `acquit.toml`.

use std::path::PathBuf;

use acquit_core::config::Config;
use acquit_core::config::forge::Kind;
use acquit_core::event::{About, Body, SetupAgain};
use acquit_core::gate::{Check, Gate, Manner, PathFilter, Reuse, Severity, Verdict};
use acquit_core::ids::{Name, TaskId};
use acquit_core::leg::Ending;
use acquit_core::sandbox::Mode;
use acquit_core::store::Store;
use acquit_core::task::{End, State, Task};
use acquit_core::template::NoTexts;
use acquit_core::workflow::{self, Around};
use acquit_run::git::Source;
use acquit_run::retention;

use crate::app::App;
use crate::error::Error;
use crate::project::{self, Known, Project};
use crate::task::{NewTask, Origin};
use crate::walls;

mod agents;
pub mod edit;
pub mod problem;

use problem::{Place, Problem};

/// First number of rehearsals; the process id is added. No task has a number that could give it the branch name of a
/// rehearsal.
const FIRST: u64 = 1_000_000_000;

/// Folder of the rehearsals' stores in acquit's home, one folder per process.
const FOLDER: &str = "checks";

/// Store of a rehearsal, in its folder.
const STORE: &str = "check.db";

/// Name of the only stage.
const STAGE: &str = "check";

/// How to do without a wall that the machine lacks.
const ACCEPT: &str = "write `sandbox = \"reduced\"` at the top of .acquit/acquit.toml";

/// Number of events to read at once.
const PAGE: u32 = 500;

/// Result of a rehearsal.
pub struct Rehearsal {
    /// Verdicts of the gates that ran, in order.
    pub verdicts: Vec<Verdict>,
    /// Gates that did not run, and why.
    pub left_out: Vec<(Name, &'static str)>,
    /// Problems that were found.
    pub problems: Vec<Problem>,
    /// Whether the user cancelled it.
    pub cancelled: bool,
    /// Whether the project has an agent.
    pub has_agent: bool,
}

/// Runs a task until it ends and shows its progress. Receives the app of the rehearsal, with its own store.
pub type Run<'r> = &'r mut dyn FnMut(&App, &mut dyn Store, TaskId) -> Result<Task, Error>;

/// Runs setup and all gates of the project that work without a change, and checks whether the agents can start.
pub fn rehearse(app: &App, run: Run<'_>) -> Result<Rehearsal, Error> {
    let source = app.source()?;
    let whole = app.files(&source)?.read()?;
    sweep(app, &source);
    if whole.config.sandbox == Mode::On
        && let Some(lacking) = walls::lacking(app, Mode::On)?
    {
        // Setup and all gates would fail, for the same reason.
        return Ok(Rehearsal {
            verdicts: Vec::new(),
            left_out: Vec::new(),
            problems: vec![problem::of_machine(lacking, ACCEPT)],
            cancelled: false,
            has_agent: whole.config.has_agent(),
        });
    }
    let pid = std::process::id();
    let own = own(app, u64::from(pid));
    let agents = agents::inspect(app, &whole)?;
    let mut done = in_store(&own, &whole.config, TaskId(FIRST + u64::from(pid)), run);
    if let Ok(rehearsal) = &mut done {
        rehearsal.has_agent = agents.is_some();
        rehearsal.problems.extend(agents.unwrap_or_default());
    }
    if let Err(error) = forget(&own, &source, u64::from(pid)) {
        app.warn(format!("files of the check are kept: {}", acquit_run::harness::chain(&error)));
    }
    done
}

fn folder(app: &App, pid: u64) -> PathBuf {
    app.runtime.home.join(FOLDER).join(pid.to_string())
}

/// Returns the same app with the store of a process's rehearsal.
fn own(app: &App, pid: u64) -> App {
    let mut surroundings = app.surroundings.clone();
    surroundings.store = folder(app, pid).join(STORE).to_string_lossy().into_owned();
    App::new(surroundings, Box::new(|_| {}), None)
}

/// Removes the files of a process's rehearsal. `own` is the app with its store.
fn forget(own: &App, source: &Source, pid: u64) -> Result<(), Error> {
    let folder = folder(own, pid);
    if folder.join(STORE).exists() {
        own.store()?;
        retention::forget(&own.runtime, source, TaskId(FIRST + pid)).map_err(Error::Retention)?;
    }
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::File { doing: "remove", path: folder, source: error })
        }
        _ => Ok(()),
    }
}

fn in_store(app: &App, config: &Config, id: TaskId, run: Run<'_>) -> Result<Rehearsal, Error> {
    let (gates, left_out) = gates(config);
    let source = app.source()?;
    let origin = Origin {
        source,
        project: project(config, gates.clone())?,
        id: Some(id),
        category: None,
        metadata: std::collections::BTreeMap::new(),
        by: app.person(),
    };
    let wish = NewTask { title: "check".to_owned(), ..NewTask::default() };
    let mut store = app.store()?;
    let store: &mut dyn Store = store.as_mut();
    let task = app.create_from(store, &wish, origin)?;
    let task = run(app, store, task.id())?;
    let cancelled = matches!(
        task.state,
        State::Ended { end: End::Cancelled { .. } } | State::Working { cancel: Some(_), .. }
    );
    let told = told(store, id)?;
    let mut problems = Vec::new();
    let failed = task.past.last().and_then(|past| match &past.ending {
        Ending::Failed { reason, .. } => Some(problem::of_setup(config, reason, &told)),
        Ending::Held { reason, .. } => Some(problem::no_result(reason)),
        Ending::TimedOut { .. }
        | Ending::Passed { .. }
        | Ending::Rejected { .. }
        | Ending::Cancelled
        | Ending::Lost { .. }
        | Ending::Conflict { .. } => None,
    });
    problems.extend(failed);
    for verdict in told.verdicts.iter().filter(|verdict| !verdict.passed) {
        let Some(gate) = gates.iter().find(|gate| gate.name == verdict.gate) else { continue };
        if gate.severity == Severity::Error {
            let refused: Vec<_> =
                told.refused.iter().filter(|(name, _)| *name == gate.name.as_str()).cloned().collect();
            problems.push(problem::of_gate(config, gate, verdict, &refused));
        }
    }
    for problem in &mut problems {
        missing_program(app, problem);
    }
    Ok(Rehearsal { verdicts: told.verdicts, left_out, problems, cancelled, has_agent: true })
}

/// Splits the gates into those that work without a change and the others, with the reason.
fn gates(config: &Config) -> (Vec<Gate>, Vec<(Name, &'static str)>) {
    let mut kept: Vec<Gate> = Vec::new();
    let mut left_out = Vec::new();
    for gate in &config.gates {
        let Some(check) = gate.check.on_base() else {
            let why = match gate.check.command() {
                Some(_) => "needs a change to run on",
                None => "looks at the change only",
            };
            left_out.push((gate.name.clone(), why));
            continue;
        };
        // Don't run the tests of another gate a second time.
        let same =
            check != gate.check && config.gates.iter().any(|other| runs_the_same(&other.check, &check));
        if same {
            left_out.push((gate.name.clone(), "runs the tests of another gate"));
            continue;
        }
        // Clear the path filter: there is no change that it could match.
        let paths = PathFilter::default();
        kept.push(Gate { check, paths, manner: Manner::Alone, reuse: Reuse::Never, ..gate.clone() });
    }
    (kept, left_out)
}

/// Returns whether two checks compare the results of the same tests.
fn runs_the_same(one: &Check, other: &Check) -> bool {
    match (one, other) {
        (Check::Tests(one), Check::Tests(other)) => one.run == other.run && one.report == other.report,
        _ => false,
    }
}

/// Returns a project with one workflow that runs these gates without retries.
pub(crate) fn project(config: &Config, gates: Vec<Gate>) -> Result<Project, Error> {
    let names: Vec<String> = gates.iter().map(|gate| format!("\"{}\"", gate.name)).collect();
    let text = format!(
        "description = \"setup and gates on the base\"\n[budgets]\nharness = 0\nlimit = 0\n[stages.{STAGE}]\nkind = \"check\"\n\
         gates = [{}]\non = {{ passed = \"done\", rejected = \"failed\", failed = \"failed\" }}\n",
        names.join(", ")
    );
    let name = Name::literal(STAGE);
    let budgets = gates.iter().map(|gate| (gate.kind.clone(), 0)).collect();
    let around = Around { variables: &[], gates: &gates, budgets: &budgets, texts: &NoTexts };
    let read = workflow::read_in(STAGE, &name, &text, &around)?;
    let mut config = Config { workflow: Some(name.clone()), gates, budgets, ..config.clone() };
    // Nothing is delivered, so don't ask a forge about the base.
    config.forge.kind = Some(Kind::None);
    config.agents.clear();
    config.agent = None;
    Ok(Project {
        broken: Vec::new(),
        config,
        instructions: String::new(),
        workflows: vec![Known { name, origin: project::Origin::Shipped, read: Ok(read) }],
    })
}

/// Name of a program, and the host it was refused.
pub type RefusedHost = (String, String);

/// Data from the events of a rehearsal.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) verdicts: Vec<Verdict>,
    /// Hosts that were refused, by program.
    pub(crate) refused: Vec<RefusedHost>,
    /// Whether setup was stopped by its timeout.
    pub(crate) setup_timed_out: bool,
    /// Setups that ran because of changed lock files.
    pub(crate) setups: Vec<SetupAgain>,
}

/// Reads the events of a task.
pub(crate) fn told(store: &mut dyn Store, id: TaskId) -> Result<Told, Error> {
    let mut told = Told::default();
    let mut after = 0;
    loop {
        let events = store.events(Some(id), after, PAGE)?;
        for event in &events {
            after = event.seq;
            match &event.body {
                Body::Gate { verdict } => told.verdicts.push((**verdict).clone()),
                Body::SetupAgain(setup) => told.setups.push(setup.clone()),
                Body::Notice { about: Some(About::RefusedHost { program, host }), .. } => {
                    told.refused.push((program.clone(), host.clone()));
                }
                Body::Notice { about: Some(About::SetupTimedOut), .. } => told.setup_timed_out = true,
                _ => {}
            }
        }
        if events.len() < PAGE as usize {
            return Ok(told);
        }
    }
}

/// Reports whether the machine has a program that is missing in the sandbox.
pub(crate) fn missing_program(app: &App, problem: &mut Problem) {
    let Some(program) = &problem.missing else { return };
    let path = app.surroundings.environment.get("PATH").unwrap_or_default();
    if let Some(found) = acquit_run::process::in_path(path, program) {
        let folder: PathBuf = found.canonicalize().unwrap_or(found);
        let folder = folder.parent().map(|it| it.display().to_string()).unwrap_or_default();
        problem.what = format!("`{program}` is installed in {folder}, which the sandbox does not show");
        problem.mends.insert(0, problem::show(&folder));
    } else {
        problem.what = format!("`{program}` is not installed");
        problem.advice = Some(format!("install {program}, or change the command in .acquit/acquit.toml"));
        if let Place::Setup = problem.place {
            problem.mends.clear();
        }
    }
}

/// Removes files left by killed rehearsals.
fn sweep(app: &App, source: &Source) {
    let folders = std::fs::read_dir(app.runtime.home.join(FOLDER));
    for entry in folders.into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok()) else {
            continue;
        };
        if !std::path::Path::new("/proc").join(pid.to_string()).exists() {
            // Ignore errors: the next sweep tries again.
            let _ = forget(&own(app, pid), source, pid);
        }
    }
}
