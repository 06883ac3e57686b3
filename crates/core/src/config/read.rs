//! Reads a project's `.acquit/acquit.toml`. Reports every mistake with its location and a hint.
//!
//! A configuration with every key:
#![doc = concat!("```toml\n", include_str!("../../reference/acquit.toml"), "```")]

use std::collections::BTreeMap;

use super::floor::{Floor, Outright};
use super::{Adjusted, Config, Setup, Written};
use crate::command::Command;
use crate::gate::Gate;
use crate::ids::Name;
use crate::sandbox::Mode;
use crate::shared_keys::{at_once, branch_prefix, check_ref, is_model};
use crate::time::Span;
use crate::toml_reader::{Mistake, Mistakes, Source, Table, did_you_mean, quoted};
use crate::workflow::gate;

mod agent;
mod clock;
mod copies;
mod delivery;
mod forge;
mod layers;
mod notify;
mod retention;
mod safety;
mod schedule;
mod waiting;

use layers::Layers;
use safety::{access, fetch_from, limits, network, protected, secrets, trusted_paths};

/// Default timeout of setup: dependencies may have to be downloaded and compiled.
const SETUP_TIMEOUT: Span = Span::mins(15);

/// A configuration with every key, each with a comment.
pub const REFERENCE: &str = include_str!("../../reference/acquit.toml");

/// Returns the JSON Schema of the configuration, for editors.
pub fn schema() -> serde_json::Value {
    let mut schema = reference().schema();
    // Workflows use the same reader for gates, over a reference with every kind of gate.
    schema["properties"]["gates"] = crate::workflow::schema()["properties"]["gates"].take();
    schema
}

/// Parses the reference.
fn reference() -> Source<'static> {
    #[expect(clippy::expect_used, reason = "the reference is part of the program, and tests read it")]
    let (source, root) = Source::parse("acquit.toml", REFERENCE).expect("the reference is TOML");
    config(Table::root(&source, &root), Config::default(), Whose::User);
    source
}

/// Whose file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// The user's own.
    User,
    /// A repository's, which others write.
    Project,
}

/// Reads and checks the user's own configuration. `file` is its name in mistakes.
pub fn read(file: &str, text: &str) -> Result<Config, Mistakes> {
    let (source, root) = Source::parse(file, text)?;
    let config = config(Table::root(&source, &root), Config::default(), Whose::User);
    source.end(Some(config))
}

/// Reads a project's configuration on top of the user's. The user's values apply where the project sets none. Agents,
/// gates, channels, schedules, secrets, models, prices and variables of both files are combined.
pub fn read_over(file: &str, text: &str, under: Config) -> Result<Config, Mistakes> {
    let (source, root) = Source::parse(file, text)?;
    let config = config(Table::root(&source, &root), under, Whose::Project);
    source.end(Some(config))
}

/// Like [`read`], but also returns what could be read from a file with mistakes. `None` if it is not TOML at all.
pub fn look(file: &str, text: &str) -> (Option<Config>, Vec<Mistake>) {
    look_at(file, text, Config::default(), Whose::User)
}

/// Like [`look`], of a project's configuration on top of the user's.
pub fn look_over(file: &str, text: &str, under: Config) -> (Option<Config>, Vec<Mistake>) {
    look_at(file, text, under, Whose::Project)
}

fn look_at(file: &str, text: &str, under: Config, whose: Whose) -> (Option<Config>, Vec<Mistake>) {
    let (source, root) = match Source::parse(file, text) {
        Ok(parsed) => parsed,
        Err(Mistakes(list)) => return (None, list),
    };
    let config = config(Table::root(&source, &root), under, whose);
    match source.end(Some(())) {
        Ok(()) => (Some(config), Vec::new()),
        Err(Mistakes(list)) => (Some(config), list),
    }
}

/// Sandbox modes that no longer exist.
const FORMER_MODES: [(&str, &str); 1] = [(
    "strict",
    "write \"on\", the default: nothing starts where a wall is missing; \"reduced\" accepts what the machine has",
)];

fn config(mut root: Table<'_, '_>, under: Config, whose: Whose) -> Config {
    let source = root.source;
    let outright = Outright::of(&root);
    let layers = Layers::new(source.text(), under.written.0);
    let workflow = root.name("workflow").map(|name| name.value);
    let agent = root.name("agent");
    let base = root.string("base").map(|base| {
        check_ref(source, &base, &base.value);
        base.value
    });
    let branch_prefix = branch_prefix(&mut root);
    let sandbox = root.word_or_former("sandbox", &Mode::ALL, &FORMER_MODES);
    let sandbox = sandbox.map_or(under.sandbox, |mode| mode.value);
    let trusted_paths = trusted_paths(&mut root, whose).unwrap_or(under.trusted_paths);
    let fetch_from = fetch_from(&mut root, whose).unwrap_or(under.fetch_from);
    let protected = protected(&mut root);
    let protected = if root.has("protected") { protected } else { under.protected };
    let max_cost = root.value("max_cost").and_then(|value| value.dollars()).or(under.max_cost);
    let at_once = at_once(&mut root).or(under.at_once);
    let access = match root.table("access") {
        Some(table) => access(table, under.access),
        None => under.access,
    };
    let network = match root.table("network") {
        Some(table) => network(table, under.network),
        None => under.network,
    };
    let resources = root.table("limits").map_or(under.resources, |table| limits(table, under.resources));
    let (own_secrets, own_known) = root.table("secrets").map(secrets).unwrap_or_default();
    let known: Vec<&str> = under.secrets.keys().map(String::as_str).chain(own_known).collect();
    let waiting = match root.table("waiting") {
        Some(table) => waiting::waiting(table, under.waiting),
        None => under.waiting,
    };
    let commit = match root.table("commit") {
        Some(table) => delivery::commit(table, under.commit),
        None => under.commit,
    };
    let merge = root.table("merge").map_or(under.merge, |table| delivery::merge(table, under.merge));
    let setup = root.table("setup").and_then(|table| table.over(&layers.inherited(&["setup"]), setup));
    let setup = setup.or(under.setup);
    let forge = match root.table("forge") {
        Some(table) => forge::forge(table, under.forge, &known, whose),
        None => under.forge,
    };
    let mut agents = under.agents;
    let mut declared = Vec::new();
    for (name, value) in root.table("agents").map(Table::named_entries).unwrap_or_default() {
        declared.push(name.value.clone());
        let agent = value.table().and_then(|table| {
            let under = agents.get(&name.value);
            agent::agent(table.named(format!("agent `{}`", name.value)), &known, under)
        });
        agents.extend(agent.map(|agent| (name.value, agent)));
    }
    if let Some(agent) = &agent
        && !declared.contains(&agent.value)
        && !agents.contains_key(&agent.value)
    {
        let all = declared.iter().chain(agents.keys().filter(|name| !declared.contains(name)));
        let hint = did_you_mean(agent.value.as_str(), "agents are", all.map(Name::as_str));
        let hint =
            hint.unwrap_or_else(|| format!("declare it: [agents.{}] with adapter and run", agent.value));
        source.report(agent.place, format!("unknown agent `{}`", agent.value), Some(hint));
    }
    let only = if let [only] = declared.as_slice() { Some(only.clone()) } else { None };
    let mut prices = under.prices;
    let own_prices = root.table("prices").map(|table| agent::prices(table, &prices)).unwrap_or_default();
    prices.extend(own_prices);
    let mut models = under.models;
    models.extend(root.table("models").map(agent::models).unwrap_or_default());
    let mut variables = under.variables;
    variables.extend(root.table("variables").map(crate::workflow::variables).unwrap_or_default());
    let mut workflows = under.workflows;
    for (name, value) in root.table("workflows").map(Table::named_entries).unwrap_or_default() {
        let Some(table) = value.table() else { continue };
        let own = adjusted(table.named(format!("[workflows.{}]", name.value)));
        let under = workflows.remove(&name.value).unwrap_or_default();
        workflows.insert(name.value, own.over(under));
    }
    let (gates, budgets) = proof(&mut root, (under.gates, under.budgets), &layers);
    let schedules = schedule::schedules(&mut root, under.schedules, &layers);
    let notices = notify::notices(&mut root, under.notices, &known, &layers);
    let retention =
        root.table("retention").map_or(under.retention, |table| retention::retention(table, under.retention));
    root.finish();
    let mut secrets = under.secrets.clone();
    secrets.extend(own_secrets);
    let mut config = Config {
        workflow: workflow.or(under.workflow),
        agent: agent.map(|agent| agent.value).or(only).or(under.agent),
        base: base.or(under.base),
        branch_prefix: branch_prefix.unwrap_or(under.branch_prefix),
        setup,
        agents,
        variables,
        workflows,
        sandbox,
        access,
        network,
        resources,
        protected,
        secrets,
        max_cost,
        at_once,
        waiting,
        models,
        prices,
        commit,
        merge,
        gates,
        budgets,
        forge,
        trusted_paths,
        fetch_from,
        floor: under.floor,
        schedules,
        notices,
        retention,
        written: Written(layers.merged),
    };
    match whose {
        Whose::User => config.floor = Floor::of(&config, &outright),
        Whose::Project => config.floor.clone().hold(&mut config),
    }
    config
}

/// Reads overrides for a workflow.
fn adjusted(mut table: Table<'_, '_>) -> Adjusted {
    let variables = table.table("variables").map(crate::workflow::variables).unwrap_or_default();
    let mut models = BTreeMap::new();
    for (stage, value) in table.table("models").map(Table::named_entries).unwrap_or_default() {
        let Some(model) = value.string() else { continue };
        if !is_model(&model.value) {
            let what = format!("{} is not the name of a model", quoted(&model.value));
            table.source.report(model.place, what, None);
        }
        models.insert(stage.value, model.value);
    }
    table.finish();
    Adjusted { variables, models }
}

/// Reads budgets, and the gates that spend them.
fn proof(
    root: &mut Table<'_, '_>,
    under: (Vec<Gate>, BTreeMap<Name, u32>),
    layers: &Layers,
) -> (Vec<Gate>, BTreeMap<Name, u32>) {
    let (mut gates, mut budgets) = under;
    let own = root.table("budgets").map(crate::workflow::budgets).unwrap_or_default();
    let usual: Vec<Name> = budgets.keys().cloned().collect();
    for (name, value) in root.table("gates").map(Table::named_entries).unwrap_or_default() {
        crate::workflow::refuse_project(root.source, &name);
        let inherited = layers.inherited(&["gates", name.value.as_str()]);
        let gate = match value.table() {
            Some(table) => table.over(&inherited, |table| gate(name.value, Some(table), &own, &usual)),
            None => gate(name.value, None, &own, &usual),
        };
        gates.retain(|other| other.name != gate.name);
        gates.push(gate);
    }
    budgets.extend(own.into_iter().map(|(name, limit)| (name.value, limit)));
    (gates, budgets)
}

fn setup(mut table: Table<'_, '_>) -> Option<Setup> {
    let run = table.value("run").and_then(|value| value.command());
    let compile = table.value("compile").and_then(|value| value.command());
    let copy = copies::copies(&mut table);
    let needs_run = copy.is_empty() && compile.is_none();
    if needs_run {
        table.require("run", "say what is run: run = \"npm ci\"");
    }
    // Copying files or compiling alone needs no other command.
    let nothing = || Command::Program(vec!["true".to_owned()]);
    let run = run.or_else(|| (!table.has("run") && !needs_run).then(nothing));
    let mut lock_files = Vec::new();
    for path in table.strings("lock_files").unwrap_or_default() {
        let outside = path.value.starts_with('/') || path.value.split('/').any(|part| part == "..");
        if outside || path.value.is_empty() {
            let what = format!("{} is not a file of the repository", quoted(&path.value));
            table.source.report(
                path.place,
                what,
                Some("write it relative to the repository's top".to_owned()),
            );
        }
        lock_files.push(path.value);
    }
    let timeout = table.span("timeout").unwrap_or(SETUP_TIMEOUT);
    let env = table.environment("env");
    table.finish();
    Some(Setup { run: run?, compile, lock_files, timeout, env, copy })
}

/// Returns an example declaration of a secret.
pub(in crate::config) fn declare(name: &str) -> String {
    let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(60).collect();
    format!("declare it in acquit.toml: [secrets] with {name} = {{ env = \"{name}\" }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_every_key_that_is_read() {
        let unseen = reference().unseen();
        let own: Vec<&String> = unseen.iter().filter(|path| !path.starts_with("gates.")).collect();
        assert_eq!(own, [""; 0]);
    }
}
