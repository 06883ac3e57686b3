//! Reads gates and budgets of workflows and of the project. Every workflow can name the project's gates.

use std::collections::BTreeMap;

use super::check;
use crate::failure::kind;
use crate::gate::check::{Plain, UnknownKind};
use crate::gate::{self, Check, Command, Gate, Manner, PathFilter, Reuse, Severity};
use crate::ids::Name;
use crate::sandbox::Network;
use crate::time::Span;
use crate::toml_reader::{At, Source, Table};

/// Stands for all gates of the project in a stage's list.
pub(super) const PROJECT: &str = "project";

/// Stands for all gates of the project, but `tdd` gates only check that nothing breaks.
pub(super) const UNBROKEN: &str = "unbroken";

/// Like [`UNBROKEN`], but gates with a `related` command check only what is related to the changed files.
pub(super) const RELATED: &str = "related";

/// Stands for the project's tests at a stage that writes a failing test and fixes nothing.
pub(super) const REPRODUCED: &str = "reproduced";

/// Maximum budget. What failed a hundred times will not succeed the next time, and each attempt costs money.
const MOST_RETRIES: u32 = 100;

/// Default timeout of a gate: longer than most test suites take.
const GATE_TIMEOUT: Span = Span::mins(10);

/// Reads `[budgets]`.
pub(crate) fn budgets(table: Table<'_, '_>) -> Vec<(At<Name>, u32)> {
    // A budget with an invalid limit still counts as declared; the mistake is already reported.
    let entries = table.named_entries().into_iter();
    entries.map(|(name, value)| (name, value.count(MOST_RETRIES).unwrap_or(0))).collect()
}

/// Reads a gate. An invalid gate still counts as declared, so that stages which name it are not reported as well.
pub(crate) fn gate(
    name: Name,
    table: Option<Table<'_, '_>>,
    budgets: &[(At<Name>, u32)],
    usual: &[Name],
) -> Gate {
    const SEVERITIES: [(&str, Severity); 2] = [("error", Severity::Error), ("warning", Severity::Warning)];
    let unread = || Check::Command(Plain { run: Command::Program(Vec::new()), report: None, related: None });
    let Some(table) = table else {
        let kind = Name::literal("gate");
        return Gate {
            name,
            check: unread(),
            kind,
            severity: Severity::Error,
            timeout: GATE_TIMEOUT,
            network: None,
            manner: Manner::default(),
            reuse: Reuse::default(),
            env: BTreeMap::new(),
            paths: PathFilter::default(),
            related: None,
            output: None,
        };
    };
    let mut table = table.named(format!("gate `{name}`"));
    let check = Check::read(&mut table);
    let known = |word: &str| {
        let declared = budgets.iter().any(|(budget, _)| budget.value == *word);
        let declared = declared || usual.iter().any(|budget| *budget == *word);
        declared || kind::DEFAULTS.iter().any(|(budget, _)| *budget == word)
    };
    let kind = table.name("kind").map(|kind| {
        if !known(kind.value.as_str()) {
            let names = kind::DEFAULTS.iter().map(|(name, _)| *name);
            let names = names.chain(usual.iter().map(Name::as_str));
            let names = names.chain(budgets.iter().map(|(budget, _)| budget.value.as_str()));
            check::report_budget(table.source, &kind, names);
        }
        kind.value
    });
    let by_name = || if known(name.as_str()) { name.clone() } else { Name::literal("gate") };
    let kind = kind.unwrap_or_else(by_name);
    let severity = table.word("severity", &SEVERITIES).map_or(Severity::Error, |severity| severity.value);
    let enabled = table.flag("enabled").is_none_or(|enabled| enabled.value);
    let severity = if enabled { severity } else { Severity::Off };
    let timeout = table.span("timeout").unwrap_or(GATE_TIMEOUT);
    let network = table.word("network", &Network::ALL).map(|network| network.value);
    let manner = manner(&mut table, check.as_ref().ok().and_then(Option::as_ref));
    let reuse = match table.flag("cache") {
        Some(cache) if !cache.value => Reuse::Never,
        Some(_) | None => Reuse::SameTree,
    };
    let Surroundings { env, paths, related, output } =
        surroundings(&mut table, check.as_ref().ok().and_then(Option::as_ref));
    let check = match check {
        Ok(check) => {
            table.finish();
            check
        }
        // With an unknown check, any key may be valid.
        Err(UnknownKind) => None,
    };
    let check = check.unwrap_or_else(unread);
    Gate { name, check, kind, severity, timeout, network, manner, reuse, env, paths, related, output }
}

/// The settings that only gates with a command have.
#[derive(Default)]
struct Surroundings {
    env: BTreeMap<String, String>,
    paths: PathFilter,
    related: Option<Command>,
    output: Option<u64>,
}

/// Reads the settings of gates with a command. Gates without one have no use for variables and limits, and look at the
/// whole change anyway.
fn surroundings(table: &mut Table<'_, '_>, check: Option<&Check>) -> Surroundings {
    if let Some(check) = check
        && check.command().is_none()
    {
        let why =
            format!("a gate with check = \"{}\" runs no command and looks at the whole change", check.word());
        table.refuse(&["env", "paths", "related", "output"], &why);
        return Surroundings::default();
    }
    let related = table.value("related").and_then(|value| value.command());
    if let Some(check) = check.filter(|check| !check.narrows()) {
        let why = format!("a gate with check = \"{}\" cannot be run for some files", check.word());
        table.refuse(&["related"], &why);
    }
    let output = table.bytes("output");
    let env = table.environment("env");
    let mut paths = PathFilter::default();
    for pattern in table.strings("paths").unwrap_or_default() {
        if let Err(error) = paths.push(&pattern.value) {
            let hint = "patterns are for paths from the repository's root: \"packages/app/**\", \"!docs/**\"";
            table.source.report(pattern.place, error.to_string(), Some(hint.to_owned()));
        }
    }
    Surroundings { env, paths, related, output }
}

/// Reads `parallel`. Only a single command can run in parallel.
fn manner(table: &mut Table<'_, '_>, check: Option<&Check>) -> Manner {
    let Some(parallel) = table.flag("parallel").filter(|flag| flag.value) else { return Manner::Alone };
    if let Some(check) = check
        && !check.is_parallel()
    {
        let what = format!("a gate with check = \"{}\" cannot run beside others", check.word());
        let hint = "only commands can; this one runs by itself, without `parallel`".to_owned();
        table.source.report(parallel.place, what, Some(hint));
    }
    Manner::AtOnce
}

/// Reports a gate whose name is reserved for a set of gates.
pub(crate) fn refuse_project(source: &Source<'_>, name: &At<Name>) {
    if [PROJECT, UNBROKEN, RELATED, REPRODUCED].contains(&name.value.as_str()) {
        let hint = "it stands for gates of the project; choose another name".to_owned();
        source.report(name.place, format!("a gate cannot be named `{}`", name.value), Some(hint));
    }
}

/// Returns the built-in gates for which the project has no gate of the same kind. A stage can name a built-in gate in
/// every project: the name stands for the project's gates of that kind, or else for the built-in one.
pub(super) fn built_in(gates: &[Gate]) -> Vec<Gate> {
    gate::check::built_in()
        .filter(|(name, ..)| of_kind(gates, name).is_empty())
        .filter(|(name, ..)| gates.iter().all(|gate| gate.name != **name))
        .map(|(name, kind, check)| Gate {
            name: Name::literal(name),
            check,
            kind: Name::literal(kind),
            severity: Severity::Error,
            timeout: GATE_TIMEOUT,
            network: None,
            manner: Manner::default(),
            reuse: Reuse::default(),
            env: BTreeMap::new(),
            paths: PathFilter::default(),
            related: None,
            output: None,
        })
        .collect()
}

/// Returns the project's gates that a built-in name stands for; empty if it is not such a name.
pub(super) fn of_kind(gates: &[Gate], name: &str) -> Vec<Name> {
    let known = gate::check::built_in().any(|(word, ..)| word == name);
    let same = gates.iter().filter(|gate| known && gate.check.word() == name);
    same.map(|gate| gate.name.clone()).collect()
}

/// Returns a project gate for work that adds no behavior, such as a refactoring: no new test must have failed before,
/// but everything that passed must still pass.
pub(super) fn unbroken(gate: &Gate) -> Gate {
    let Some(check) = gate.check.without_new_behavior() else { return gate.clone() };
    let name = format!("{}-{UNBROKEN}", gate.name);
    // If the suffix makes the name too long, keep the name: a stage that names this gate does not run the other one.
    Gate { name: name.parse().unwrap_or_else(|_| gate.name.clone()), check, ..gate.clone() }
}

/// Returns a project gate for a small change: it checks only what is related to the change if it has a command for
/// that, else that nothing breaks.
pub(super) fn related(gate: &Gate) -> Gate {
    let (Some(related), Some(run)) = (&gate.related, gate.check.command()) else { return unbroken(gate) };
    let Ok(name) = format!("{}-{RELATED}", gate.name).parse() else { return unbroken(gate) };
    // A report would be compared with that of all tests, so only the exit code counts here.
    let plain = Plain { run: run.clone(), report: None, related: Some(related.clone()) };
    Gate { name, check: Check::Command(plain), ..gate.clone() }
}

/// Returns the project's tests for work that demonstrates a defect: those of its `tdd` gates, which know most about
/// tests; else those compared with the base; else commands of kind `test`.
pub(super) fn reproduced(gates: &[Gate]) -> Vec<Gate> {
    let known: Vec<(u8, Gate)> = gates
        .iter()
        .filter_map(|gate| {
            let (rank, reproduced) = gate.check.reproduced(&gate.kind)?;
            let check = Check::Reproduced(reproduced);
            let name = format!("{}-{REPRODUCED}", gate.name).parse().ok()?;
            Some((rank, Gate { name, check, manner: Manner::Alone, ..gate.clone() }))
        })
        .collect();
    let best = known.iter().map(|(rank, _)| *rank).min();
    known.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, gate)| gate).collect()
}
