//! Reads a workflow from TOML. Every mistake is reported, with its place and what can be done about it.
//!
//! A workflow with everything in it:
#![doc = concat!("```toml\n", include_str!("../../reference/workflow.toml"), "```")]

use std::collections::BTreeMap;

use super::draft::Draft;
use super::{Variation, check, placeholders, stage};
use crate::config;
use crate::config::toml::{At, Mistakes, Source, Table, did_you_mean, quoted};
use crate::failure::kind;
use crate::gate::check::{Plain, UnknownKind};
use crate::gate::{Check, Command, Gate, Manner, Reuse, Severity};
use crate::ids::Name;
use crate::time::Span;

/// The most stages of a workflow: beyond it nobody sees through the graph, and what is written is a generated accident.
const MOST_STAGES: usize = 200;

/// The highest budget: what fails a hundred times will not succeed the next time, and each try costs money.
const MOST_RETRIES: u32 = 100;

/// How long a gate may take if it does not say: longer than most test suites.
const GATE_TIMEOUT: Span = Span::mins(10);

/// A workflow with everything in it, and a word about each key.
pub const REFERENCE: &str = include_str!("../../reference/workflow.toml");

/// The form of a workflow, for editors: a JSON Schema.
pub fn schema() -> serde_json::Value {
    reference().schema()
}

/// The reference, read.
fn reference() -> Source<'static> {
    #[expect(clippy::expect_used, reason = "the reference is part of the program, and tests read it")]
    let (source, root) = Source::parse("workflow.toml", REFERENCE).expect("the reference is TOML");
    draft(Table::root(&source, &root), &[]);
    source
}

/// Reads and checks the workflow `name`. `file` is what mistakes call it; `known` are the project's own variables.
pub fn read(file: &str, name: &Name, text: &str, known: &[String]) -> Result<super::Workflow, Mistakes> {
    let (source, root) = Source::parse(file, text)?;
    let draft = draft(Table::root(&source, &root), known);
    check::check(&source, &draft);
    source.end(draft.build(name))
}

fn draft(mut root: Table<'_, '_>, known: &[String]) -> Draft {
    let source = root.source;
    let description = root.string("description").map_or_else(String::new, |text| text.value);
    let start = root.name("start");
    let mut whole = start.is_some() || !root.has("start");
    let budgets = root.table("budgets").map(budgets).unwrap_or_default();
    let variables = root.table("variables").map(variables).unwrap_or_default();
    let variation = root.table("variation").and_then(|table| variation(table, &variables));

    let mut template = placeholders::Known::new(known);
    template.extend(variables.keys().map(String::as_str));
    template.extend(variation.iter().map(|variation| variation.variable.as_str()));
    let varies = root.has("variation");
    if variation.is_none() && varies {
        template.uncertain();
    }

    let mut gates = Vec::new();
    for (name, value) in root.table("gates").map(Table::named_entries).unwrap_or_default() {
        gates.push(At { place: name.place, value: gate(name.value, value.table(), &budgets) });
    }
    let (mut stages, mut unread) = (Vec::new(), Vec::new());
    let table = root.table("stages");
    let unreadable = table.is_none() && root.has("stages");
    if let Some(table) = table {
        let (place, entries) = (table.place, table.entries());
        if entries.len() > MOST_STAGES {
            let what = format!("{} stages; {MOST_STAGES} are allowed", entries.len());
            source.report(place, what, None);
        }
        for (key, value) in entries.into_iter().take(MOST_STAGES) {
            match stage::read(source, key, &value, &template, &mut whole) {
                Some(stage) => stages.push(stage),
                None => unread.push(key.value.to_owned()),
            }
        }
    }
    whole &= unread.is_empty();
    if stages.is_empty() && unread.is_empty() && !unreadable {
        let hint = "write at least one: [stages.code] with mode = \"implement\"".to_owned();
        source.report(root.place, "the workflow has no stages", Some(hint));
    }
    root.finish();
    Draft { description, start, stages, gates, budgets, variation, varies, variables, whole, unread }
}

fn budgets(table: Table<'_, '_>) -> Vec<(At<Name>, u32)> {
    // A budget whose limit is wrong is still declared; the mistake is noted.
    let entries = table.named_entries().into_iter();
    entries.map(|(name, value)| (name, value.count(MOST_RETRIES).unwrap_or(0))).collect()
}

/// Reads `[variables]`: strings by names that nothing else has.
pub(crate) fn variables(table: Table<'_, '_>) -> BTreeMap<String, String> {
    let source = table.source;
    let mut variables = BTreeMap::new();
    for (name, value) in table.named_entries() {
        placeholders::refuse_builtin(source, &name);
        if let Some(text) = value.string() {
            variables.insert(name.value.to_string(), text.value);
        }
    }
    variables
}

fn variation(mut table: Table<'_, '_>, variables: &BTreeMap<String, String>) -> Option<Variation> {
    let source = table.source;
    let variable = table.name("variable");
    table.require("variable", "name the template variable that carries the value");
    let list = table.strings("values");
    table.require("values", "list the values to try, in order");
    let first = table.string("first");
    if let Some(name) = &variable {
        placeholders::refuse_builtin(source, name);
        if variables.contains_key(name.value.as_str()) {
            let what = format!("{} is both a variable and the variation", quoted(name.value.as_str()));
            source.report(name.place, what, None);
        }
    }
    let mut values: Vec<String> = Vec::new();
    for value in list.as_deref().unwrap_or_default() {
        if value.value.trim().is_empty() {
            source.report(value.place, "a value of the variation is empty", None);
        } else if values.contains(&value.value) {
            let what = format!("the value {} is there twice", quoted(&value.value));
            source.report(value.place, what, Some("each value is tried once".to_owned()));
        }
        values.push(value.value.clone());
    }
    if list.is_some_and(|list| list.is_empty()) {
        source.report(table.place, "the variation has no values", None);
    }
    let position = first.as_ref().and_then(|first| values.iter().position(|value| *value == first.value));
    if let (Some(first), None, false) = (&first, position, values.is_empty()) {
        let hint = did_you_mean(&first.value, "values are", values.iter().map(String::as_str));
        source.report(first.place, format!("{} is not a value of the variation", quoted(&first.value)), hint);
    }
    table.finish();
    Some(Variation { variable: variable?.value.to_string(), values, first: position.unwrap_or(0) })
}

/// Reads a gate. One that could not be read is still declared, so that the stages that name it are not blamed.
fn gate(name: Name, table: Option<Table<'_, '_>>, budgets: &[(At<Name>, u32)]) -> Gate {
    const SEVERITIES: [(&str, Severity); 2] = [("error", Severity::Error), ("warning", Severity::Warning)];
    let unread = || Check::Command(Plain { run: Command::Program(Vec::new()), report: None });
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
        };
    };
    let mut table = table.named(format!("gate `{name}`"));
    let check = Check::read(&mut table);
    let known = |word: &str| {
        let declared = budgets.iter().any(|(budget, _)| budget.value == *word);
        declared || kind::DEFAULTS.iter().any(|(budget, _)| *budget == word)
    };
    let kind = table.name("kind").map(|kind| {
        if !known(kind.value.as_str()) {
            let names = kind::DEFAULTS.iter().map(|(name, _)| *name);
            let names = names.chain(budgets.iter().map(|(budget, _)| budget.value.as_str()));
            check::report_budget(table.source, &kind, names);
        }
        kind.value
    });
    let by_name = || if known(name.as_str()) { name.clone() } else { Name::literal("gate") };
    let kind = kind.unwrap_or_else(by_name);
    let severity = table.word("severity", &SEVERITIES).map_or(Severity::Error, |severity| severity.value);
    let timeout = table.span("timeout").unwrap_or(GATE_TIMEOUT);
    let network = table.word("network", &config::NETWORKS).map(|network| network.value);
    let manner = manner(&mut table, check.as_ref().ok().and_then(Option::as_ref));
    let reuse = match table.flag("cache") {
        Some(cache) if !cache.value => Reuse::Never,
        Some(_) | None => Reuse::SameTree,
    };
    let check = match check {
        Ok(check) => {
            table.finish();
            check
        }
        // Of a check that is not known any key may be meant.
        Err(UnknownKind) => None,
    };
    Gate { name, check: check.unwrap_or_else(unread), kind, severity, timeout, network, manner, reuse }
}

/// `parallel`: only a command is one thing that can run beside others.
fn manner(table: &mut Table<'_, '_>, check: Option<&Check>) -> Manner {
    let Some(parallel) = table.flag("parallel").filter(|flag| flag.value) else { return Manner::Alone };
    if let Some(check) = check
        && !matches!(check, Check::Command(_))
    {
        let what = format!("a gate with check = \"{}\" cannot run beside others", check.word());
        let hint = "only commands can; this one runs by itself, without `parallel`".to_owned();
        table.source.report(parallel.place, what, Some(hint));
    }
    Manner::AtOnce
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_every_key_that_is_read() {
        assert_eq!(reference().unseen(), [""; 0]);
    }
}
