//! Reads a workflow from TOML. Every mistake is reported, with its place and what can be done about it.
//!
//! A workflow with everything in it:
//!
//! ```toml
//! description = "plan, write, check, review, deliver"
//! start = "plan"                # default: the first stage
//! branch_prefix = "night/"      # default: the project's
//!
//! [budgets]                     # how often each kind of failure, or a loop of your own, may happen
//! test = 3
//! rework = 2
//!
//! [variables]                   # {{ tone }} in instructions
//! tone = "short"
//!
//! [variation]                   # a variable with values to try one after another
//! variable = "category"
//! values = ["tests", "docs"]
//! first = "tests"               # default: the first
//!
//! [gates.test]
//! check = "command"             # or tests, tdd, coverage, mutation, secrets, scope, commits, dilution: docs/gates.md
//! run = "cargo test"            # a line for sh -c, or a list: program and arguments
//! report = "libtest"            # what it prints, or { junit = "report.xml" }: shown with the verdict
//! kind = "test"                 # the budget that a failure spends; default: its name, if that is a budget, or "gate"
//! severity = "error"            # or "warning": shown, but rejects nothing
//! timeout = "10m"
//! network = "off"               # or "model" or "open"; default: the project's
//!
//! [stages.plan]                 # an agent stage: it has a mode
//! mode = "plan"                 # plan, implement, review, investigate, design, fix or resolve
//! role = "planner"              # an agent definition, agents/planner.md; it may say mode, agent and model too
//! step = "../prompts/plan.md"   # a step file, relative to this one
//! agent = "coder"               # default: the role's, or the project's
//! model = "fast"                # of [models], or as the agent knows it; default: the agent's
//! instructions = "Be {{ tone }}. Look for {{ category }}. {{> ../prompts/style.md }}"
//! outputs = ["*.md"]            # files of the output folder that are kept
//! timeout = "30m"               # the whole turn
//! idle = "5m"                   # without printing anything; default: as long as it likes
//! output = "256MiB"             # what it may print
//! secrets = ["REGISTRY_TOKEN"]  # of the project's, only here
//! network = "open"              # or "model" or "off"; default: the project's
//! approval = true               # a person agrees before the task moves on
//! on = { plan_complete = "code", nothing_to_do = "next-variation" }
//!
//! [stages.code]
//! mode = "implement"
//! gates = ["project", "test"]   # all gates of acquit.toml, and one of this file
//! from = "base"                 # each try begins with a clean tree; default "work": with what is there
//! fix = "mend"                  # default: the stage itself is tried again
//! [stages.code.on]
//! pr_ready = "verify"           # a stage, or done, failed, person, back, next-variation
//! stuck = ["plan", "person"]    # several: a person chooses;  []: a person decides
//!
//! [stages.mend]
//! mode = "fix"
//! on = { fixed = "back" }       # the gates of the stage that was rejected are run again
//!
//! [stages.verify]
//! kind = "check"                # gates only, no model
//! gates = ["test"]
//! on = { passed = "review" }    # and rejected, instead of trying again: rejected = { to = "code", budget = "rework" }
//!
//! [stages.review]
//! mode = "review"
//! on.approved = "sign-off"
//! [stages.review.on.changes_requested]
//! to = "code"
//! budget = "rework"             # a cycle must spend something, or ask a person
//! description = "what must change"
//! schema = { type = "object", required = ["findings"], properties = { findings = { type = "array" } } }
//!
//! [stages.sign-off]
//! kind = "human"
//! question = "Ship it?"
//! on = { approved = "deliver", rejected = "failed" }
//!
//! [stages.deliver]
//! kind = "action"               # code of acquit's own
//! action = "squash"
//! irreversible = true           # a person agrees before it begins
//! on = { done = "done" }
//! ```

use std::collections::BTreeMap;

use super::draft::Draft;
use super::gates::{self, budgets, gate};
use super::{Variation, check, stage};
use crate::config;
use crate::config::toml::{At, Mistakes, Source, Table, did_you_mean, quoted};
use crate::gate::Gate;
use crate::ids::Name;
use crate::template::{Known, NoTexts, Reader, Texts, refuse_builtin};

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
    let mut whole = start.is_some() || !root.has("start");
    let budgets = root.table("budgets").map(budgets).unwrap_or_default();
    let variables = root.table("variables").map(variables).unwrap_or_default();
    let variation = root.table("variation").and_then(|table| variation(table, &variables));

    let branch_prefix = config::branch_prefix(&mut root);
    let mut template = Known::new(around.variables);
    template.extend(variables.keys().map(String::as_str));
    template.extend(variation.iter().map(|variation| variation.variable.as_str()));
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
    let part = stage::Part { reader: &reader, path: &path, shared: around.gates };
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
    Draft {
        description,
        start,
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
        .filter(|other| gates.iter().all(|gate| gate.name != other.name));
    gates.iter().cloned().chain(others).collect()
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
    table.finish();
    Some(Variation { variable: variable?.value.to_string(), values, first: position.unwrap_or(0) })
}
