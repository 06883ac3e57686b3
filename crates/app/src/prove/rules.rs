//! Selects the gates that judge a change.
//!
//! *A change never chooses how it is judged.* If the change touches `.acquit/`, the base's version applies. Without
//! `.acquit/`, the gates that `acquit init` would write for the base apply. Only if it detects nothing on the base,
//! those it would write for the change apply.

use std::path::Path;

use acquit_core::config::Config;
use acquit_core::gate::check::Tests;
use acquit_core::gate::{Check, Command, Gate, Manner, Severity};
use acquit_core::ids::Name;
use acquit_run::git::{CommitId, Source};
use serde::Serialize;

use super::affected::{self, Narrowed};
use super::subject::Subject;
use super::{Asked, Depth, Trusting, make_folder};
use crate::app::App;
use crate::error::Error;
use crate::init;
use crate::project::{FOLDER, Files};

/// Where the rules come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `.acquit/` of the checkout.
    Project,
    /// `.acquit/` of the base, because the change touches it.
    Base,
    /// What `acquit init` would write for the base.
    Detected,
    /// What `acquit init` would write for the change, because it detected nothing on the base.
    DetectedInChange,
}

/// The rules of a judgement.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) origin: Origin,
    pub(crate) config: Config,
    /// Gates to run, in the order of the file.
    pub(crate) gates: Vec<Gate>,
    /// Gates that are not run, and why.
    pub(crate) left_out: Vec<(Name, String)>,
    /// What was detected, if the project has no rules.
    pub(crate) seen: Vec<String>,
    /// What `acquit init` would write, if the project has no rules.
    pub(crate) plan: Option<init::Plan>,
    /// Walls that this machine lacks, if the judgement does without them.
    pub(crate) reduced: Option<String>,
    /// Whether the change has nothing that a test could see, such as only prose.
    pub(crate) nothing_to_test: bool,
}

/// Checks that cost nothing and always run.
const ALWAYS: &str = "[gates.dilution]\ncheck = \"dilution\"\nkind = \"test\"\n\n[gates.secrets]\ncheck = \"secrets\"\nkind = \"security\"\n";

/// Finds the rules. `place` is a folder for temporary files.
pub(super) fn of(
    app: &App,
    asked: &Asked,
    source: &Source,
    scratch: &Source,
    subject: &Subject,
    place: &Path,
) -> Result<Rules, Error> {
    let (origin, config, plan) = configuration(app, asked, source, scratch, subject, place)?;
    let mut gates: Vec<Gate> = Vec::new();
    let mut left_out = Vec::new();
    for gate in config.gates.iter().filter(|gate| gate.severity != Severity::Off) {
        match why_not(gate, subject) {
            Some(why) => left_out.push((gate.name.clone(), why.to_owned())),
            None => gates.push(Gate { manner: Manner::Alone, ..gate.clone() }),
        }
    }
    let mut nothing_to_test = false;
    let files = || -> Result<affected::Files, Error> {
        Ok(affected::Files::read(&checkout(app, scratch, &subject.head, &place.join("change"))?))
    };
    if asked.depth == Depth::Full {
        let tests = own_tests(&gates, &subject.paths);
        if !tests.is_empty() {
            narrow_repeated(&mut gates, &files()?, &tests);
        }
    }
    if asked.depth == Depth::Quick {
        let files = files()?;
        let mut seen = Vec::new();
        for gate in std::mem::take(&mut gates) {
            let (gate, why) = quick(gate, &files, &subject.paths, &mut seen);
            nothing_to_test |= why.as_ref().is_some_and(|(_, why)| why == affected::PROSE);
            left_out.extend(why);
            gates.extend(gate);
        }
    }
    for gate in always()? {
        let same = |other: &&Gate| other.check.word() == gate.check.word();
        if gates.iter().find(same).is_none() {
            gates.insert(0, gate);
        }
    }
    let seen = plan.as_ref().map(|plan| plan.seen.clone()).unwrap_or_default();
    Ok(Rules { origin, config, gates, left_out, seen, plan, reduced: None, nothing_to_test })
}

/// Returns why a gate is not run, if so.
fn why_not(gate: &Gate, subject: &Subject) -> Option<&'static str> {
    match &gate.check {
        Check::Review(_) => Some("a review needs a reviewer"),
        Check::Reproduced(_) => Some("it is for changes that only reproduce a defect"),
        Check::Commits(_) if subject.uncommitted => Some("part of the change is not committed yet"),
        _ => None,
    }
}

/// Returns the changed files that belong to the tests.
fn own_tests(gates: &[Gate], changed: &[String]) -> Vec<String> {
    let globs = gates.iter().find_map(|gate| match &gate.check {
        Check::Tdd(tdd) => Some(tdd.tests.compile()),
        _ => None,
    });
    let is_test = |path: &&String| globs.as_ref().is_some_and(|globs| globs.is_match(path));
    changed.iter().filter(is_test).cloned().collect()
}

/// Tells gates how to run only the tests of the change, for runs that are repeated and concern no other test.
fn narrow_repeated(gates: &mut [Gate], files: &affected::Files, tests: &[String]) {
    for gate in gates {
        let (run, part) = match &mut gate.check {
            Check::Tests(tests) => (&tests.run, &mut tests.part),
            Check::Tdd(tdd) => (&tdd.run, &mut tdd.part),
            _ => continue,
        };
        if let Narrowed::To { command, .. } = affected::narrow(files, run, tests) {
            *part = Some(command);
        }
    }
}

/// Kinds of commands that only read files.
const STATIC: [&str; 3] = ["format", "lint", "types"];

/// Returns a gate as `--quick` runs it, and what that leaves out. `seen` are commands whose affected tests already run.
fn quick(
    gate: Gate,
    files: &affected::Files,
    changed: &[String],
    seen: &mut Vec<Command>,
) -> (Option<Gate>, Option<(Name, String)>) {
    let name = gate.name.clone();
    let left_out = |why: &str| (None, Some((name.clone(), why.to_owned())));
    if let Some(related) = &gate.related {
        let run = gate.check.command().cloned().unwrap_or_else(|| related.clone());
        let plain = acquit_core::gate::check::Plain { run, report: None, related: Some(related.clone()) };
        return (Some(Gate { check: Check::Command(plain), ..gate }), None);
    }
    let mut tests = match &gate.check {
        Check::Command(plain) if plain.related.is_some() || STATIC.contains(&gate.kind.as_str()) => {
            return (Some(gate), None);
        }
        Check::Command(_) if gate.is_test() => {
            return left_out("--quick cannot choose among the tests of this command");
        }
        Check::Command(_) => return left_out("--quick runs only static checks and affected tests"),
        Check::Coverage(_) | Check::Mutation(_) => return left_out("it runs all tests; --quick does not"),
        Check::Tests(tests) => tests.clone(),
        Check::Tdd(tdd) => Tests::of(tdd),
        _ => return (Some(gate), None),
    };
    if seen.contains(&tests.run) {
        return left_out("--quick does not run tests on code that they were not written for");
    }
    seen.push(tests.run.clone());
    // One failure is enough to reject; the full judgement detects flaky tests.
    tests.again = 0;
    let narrowed = affected::narrow(files, &tests.run, changed);
    let said = match narrowed {
        Narrowed::To { command, what } => {
            if let Some(build) = &mut tests.build
                && let Narrowed::To { command, .. } = affected::narrow(files, build, changed)
            {
                *build = command;
            }
            tests.run = command;
            format!("only the affected tests were run: {what}")
        }
        Narrowed::All(why) => format!("all tests were run: {why}"),
        Narrowed::Not(why) => return left_out(&why),
    };
    (Some(Gate { check: Check::Tests(tests), ..gate }), Some((name, said)))
}

fn always() -> Result<Vec<Gate>, Error> {
    let (config, mistakes) =
        acquit_core::config::look_over("the checks that are always made", ALWAYS, Config::default());
    match config {
        Some(config) if mistakes.is_empty() => Ok(config.gates),
        _ => Err(acquit_core::toml_reader::Mistakes(mistakes).into()),
    }
}

fn configuration(
    app: &App,
    asked: &Asked,
    source: &Source,
    scratch: &Source,
    subject: &Subject,
    place: &Path,
) -> Result<(Origin, Config, Option<init::Plan>), Error> {
    let own = match app.files(source) {
        Ok(files) => Some(files),
        Err(Error::NotInitialised(_)) => None,
        Err(error) => return Err(error),
    };
    let touches = subject.paths.iter().any(|path| is_ours(path))
        || subject.paths.is_empty() && subject.head != subject.base;
    let of_base = touches || asked.trust == Trusting::Base || own.is_none();
    let base = if of_base { Some(checkout(app, scratch, &subject.base, &place.join("base"))?) } else { None };
    if let Some(base) = &base {
        match app.files_in(base, source.top()) {
            Ok(files) => return from_base(asked, &files, own.as_ref()),
            Err(Error::NotInitialised(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(files) = own {
        return Ok((Origin::Project, files.read()?.config, None));
    }
    let top = base.unwrap_or_else(|| source.top().to_owned());
    let on_base = detect(app, &top);
    let (origin, plan) = if on_base.recognised {
        (Origin::Detected, on_base)
    } else {
        let change = checkout(app, scratch, &subject.head, &place.join("change"))?;
        (Origin::DetectedInChange, detect(app, &change))
    };
    let folder = place.join("detected");
    init::write(&make_folder(&folder)?, &plan, init::Overwrite::InPlace)?;
    // Detected rules need no trust: acquit wrote them from its own list of commands.
    let config = app.files_in(&folder, &folder)?.look()?.config;
    Ok((origin, config, Some(plan)))
}

/// Reads the rules of the base. If the user trusts only those of the checkout, uses those.
fn from_base(
    asked: &Asked,
    base: &Files,
    own: Option<&Files>,
) -> Result<(Origin, Config, Option<init::Plan>), Error> {
    let trusted = asked.trust == Trusting::Base || base.trust().standing(base.snapshot()).is_trusted();
    match own {
        Some(own) if !trusted => Ok((Origin::Project, own.read()?.config, None)),
        _ if trusted => Ok((Origin::Base, base.look()?.config, None)),
        _ => Ok((Origin::Base, base.read()?.config, None)),
    }
}

fn is_ours(path: &str) -> bool {
    path.split('/').next().is_some_and(|first| first.eq_ignore_ascii_case(FOLDER))
}

/// Checks out the files of a commit into a folder.
fn checkout(app: &App, scratch: &Source, commit: &CommitId, to: &Path) -> Result<std::path::PathBuf, Error> {
    let to = make_folder(to)?;
    scratch.check_out(&app.runtime.git, commit, &to)?;
    Ok(to)
}

/// Returns what `acquit init` would write for the files in a folder.
fn detect(app: &App, top: &Path) -> init::Plan {
    init::plan(&init::Place {
        top,
        folder: None,
        cloned: &|_| true,
        environment: &app.surroundings.environment,
        has_agent: true,
        resolve: &acquit_run::registry::system_resolve,
    })
}
