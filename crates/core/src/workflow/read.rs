//! Reads a workflow from TOML. Every mistake is reported, with its place and what can be done about it.
//!
//! A workflow with everything in it:
#![doc = concat!("```toml\n", include_str!("../../reference/workflow.toml"), "```")]

use std::collections::BTreeMap;

use super::disabled::leave_out;
use super::draft::Draft;
use super::gates::{self, budgets, gate};
use super::{Variation, check, mode, stage};
use crate::gate::{Gate, Severity};
use crate::ids::Name;
use crate::shared_keys;
use crate::template::{Known, NoTexts, Reader, Texts, refuse_builtin};
use crate::toml_reader::{At, Mistakes, Source, Table, did_you_mean, quoted};

/// The most stages of a workflow: beyond it nobody sees through the graph, and what is written is a generated accident.
const MOST_STAGES: usize = 200;

/// What a workflow finds around it: everything that is not written in its own file.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The project's own variables.
    pub variables: &'a [String],
    /// The project's gates, which stages name one by one or together as `project`.
    pub gates: &'a [Gate],
    /// The project's budgets.
    pub budgets: &'a BTreeMap<Name, u32>,
    /// Agent definitions, step files and what they include.
    pub texts: &'a dyn Texts,
}

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
    let budgets = BTreeMap::new();
    let around = Around { variables: &[], gates: &[], budgets: &budgets, texts: &NoTexts };
    draft(Table::root(&source, &root), &Name::literal("workflow"), &around);
    source
}

/// Reads and checks the workflow `name`, which needs nothing but itself. `file` is what mistakes call it; `known` are the
/// project's own variables.
pub fn read(file: &str, name: &Name, text: &str, known: &[String]) -> Result<super::Workflow, Mistakes> {
    let (gates, budgets) = (Vec::new(), BTreeMap::new());
    read_in(file, name, text, &Around { variables: known, gates: &gates, budgets: &budgets, texts: &NoTexts })
}

/// Reads and checks the workflow `name` in its surroundings.
pub fn read_in(
    file: &str,
    name: &Name,
    text: &str,
    around: &Around<'_>,
) -> Result<super::Workflow, Mistakes> {
    let (source, root) = Source::parse(file, text)?;
    let draft = draft(Table::root(&source, &root), name, around);
    check::check(&source, &draft);
    source.end(draft.build(name))
}

fn draft(mut root: Table<'_, '_>, name: &Name, around: &Around<'_>) -> Draft {
    let source = root.source;
    let description = root.string("description").map_or_else(String::new, |text| text.value);
    let start = root.name("start");
    let conflict = root.name("conflict");
    let mut whole = start.is_some() || !root.has("start");
    whole &= conflict.is_some() || !root.has("conflict");
    let budgets = root.table("budgets").map(budgets).unwrap_or_default();
    let variables = root.table("variables").map(variables).unwrap_or_default();
    let variation = root.table("variation").and_then(|table| variation(table, &variables));

    let branch_prefix = shared_keys::branch_prefix(&mut root);
    let mut template = Known::new(around.variables);
    template.extend(variables.keys().map(String::as_str));
    template.extend(variation.iter().map(|variation| variation.variable.as_str()));
    template.extend(
        variation
            .iter()
            .filter(|variation| !variation.guidance.is_empty())
            .map(Variation::guidance_variable)
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str),
    );
    let varies = root.has("variation");
    if variation.is_none() && varies {
        template.uncertain();
    }

    let usual: Vec<Name> = around.budgets.keys().cloned().collect();
    let mut gates = Vec::new();
    for (name, value) in root.table("gates").map(Table::named_entries).unwrap_or_default() {
        gates::refuse_project(source, &name);
        gates.push(At { place: name.place, value: gate(name.value, value.table(), &budgets, &usual) });
    }
    let path = format!("workflows/{name}.toml");
    let reader = Reader { texts: around.texts, known: &template, variation: variation.as_ref() };
    let disabled: Vec<Name> = shared(around.gates)
        .into_iter()
        .chain(gates.iter().map(|gate: &At<Gate>| gate.value.clone()))
        .filter(|gate| gate.severity == Severity::Off)
        .map(|gate| gate.name)
        .collect();
    let modes = mode::Modes::default();
    let part = stage::Part {
        reader: &reader,
        path: &path,
        shared: around.gates,
        modes: &modes,
        disabled: &disabled,
    };
    let modes = root.table("modes").map(|table| mode::modes(table, &part, &mut whole)).unwrap_or_default();
    let part = stage::Part { modes: &modes, ..part };
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
            match stage::read(source, key, &value, &part, &mut whole) {
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
    let start = leave_out(source, &mut stages, start);
    Draft {
        description,
        start,
        conflict,
        stages,
        gates,
        shared: shared(around.gates),
        usual: around.budgets.clone(),
        branch_prefix,
        budgets,
        variation,
        varies,
        variables,
        whole,
        unread,
    }
}

/// The project's gates in all the forms in which stages can name them.
fn shared(gates: &[Gate]) -> Vec<Gate> {
    let others = gates
        .iter()
        .map(super::gates::unbroken)
        .chain(
            gates.iter().map(super::gates::related).filter(|gate| gate.name.as_str().ends_with("-related")),
        )
        .chain(super::gates::reproduced(gates))
        .filter(|other| gates.iter().all(|gate| gate.name != other.name));
    gates.iter().cloned().chain(others).chain(super::gates::built_in(gates)).collect()
}

/// Reads `[variables]`: strings by names that nothing else has.
pub(crate) fn variables(table: Table<'_, '_>) -> BTreeMap<String, String> {
    let source = table.source;
    let mut variables = BTreeMap::new();
    for (name, value) in table.named_entries() {
        refuse_builtin(source, &name);
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
        refuse_builtin(source, name);
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
    let mut guidance = BTreeMap::new();
    if let Some(table) = table.table("guidance") {
        let place = table.place;
        for (value, text) in table.entries() {
            guidance.extend(text.string().map(|text| (value.value.to_owned(), text.value)));
        }
        // One that is left over does no harm; one that is missing would be an empty line in a prompt.
        if let Some(missing) = values.iter().find(|value| !guidance.contains_key(*value)) {
            let hint = did_you_mean(missing, "it is written for", guidance.keys().map(String::as_str));
            source.report(place, format!("no guidance for the value {}", quoted(missing)), hint);
        }
    }
    table.finish();
    let first = position.unwrap_or(0);
    Some(Variation { variable: variable?.value.to_string(), values, first, guidance })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_every_key_that_is_read() {
        assert_eq!(reference().unseen(), [""; 0]);
    }
}
