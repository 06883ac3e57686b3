//! Returns the settings in effect with their origin: built-in, user file, project file, workflow or this run.
//!
//! `acquit config show --origin` prints them. Later layers override earlier ones.

use std::path::PathBuf;

use acquit_core::config::Config;
use acquit_core::ids::Name;
use acquit_core::workflow::{AgentWork, Stage, Work, Workflow};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::options::Means;
use crate::project::{Files, Layer};
use crate::task::refuse_unknown_variables;
use acquit_core::template::{Found, Texts};

/// A setting in effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Key as written in files.
    #[serde(skip)]
    pub key: String,
    /// Value.
    pub value: Value,
    /// Layer that sets it: `built-in`, `user`, `project`, `role`, `workflow` or `run`.
    pub origin: &'static str,
    /// File that sets it.
    pub file: Option<PathBuf>,
    /// Line in the file.
    pub line: Option<usize>,
}

/// Origin of a value that no file sets.
const BUILT_IN: &str = "built-in";
/// Origin of a value from the command line.
const RUN: &str = "run";

/// Choices of a run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Workflow, agent and model.
    pub means: Means,
    /// Template variables.
    pub variables: Vec<(String, String)>,
}

/// Returns every setting, by its key in files. With a workflow, or any other choice of a run, includes the settings of
/// its stages.
pub fn settings(files: &Files, run: &Run) -> Result<Vec<Setting>, Error> {
    let project = files.look()?;
    let mut layers = Layers { files, layers: files.layers()? };
    let mut all: Vec<Setting> = values(&project.config)
        .into_iter()
        .map(|(key, value)| layers.of(key.clone(), value, &[At::Config(key)]))
        .collect();
    let Run { means, variables } = run;
    if means.workflow.is_none() && means.agent.is_none() && means.model.is_none() && variables.is_empty() {
        return Ok(all);
    }
    let workflow = project.workflow(means.workflow.as_ref())?.clone();
    if let Some(name) = means.agent.as_ref().filter(|name| !project.config.agents.contains_key(*name)) {
        let names: Vec<&str> = project.config.agents.keys().map(Name::as_str).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Error::NoSuch { doing: "use the agent", name: name.to_string(), known });
    }
    refuse_unknown_variables(&variables.iter().cloned().collect(), &workflow, &project.config)?;
    layers.layers.push(files.workflow_layer(&workflow.name)?);
    for stage in &workflow.stages {
        if let Work::Agent(work) = &stage.work {
            all.extend(of_stage(&layers, &project.config, &workflow, stage, work, means));
        }
    }
    for (name, value) in &workflow.variables {
        let keys = [
            At::Config(format!("workflows.{}.variables.{name}", workflow.name)),
            At::Workflow(format!("variables.{name}")),
        ];
        all.push(layers.of(format!("variables.{name}"), json!(value), &keys));
    }
    for (name, limit) in &workflow.budgets {
        let key = format!("budgets.{name}");
        all.retain(|setting| setting.key != key);
        all.push(layers.of(key.clone(), json!(limit), &[At::Workflow(key.clone()), At::Config(key)]));
    }
    for (name, value) in variables {
        all.retain(|setting| setting.key != format!("variables.{name}"));
        all.push(by_run(format!("variables.{name}"), json!(value)));
    }
    Ok(all)
}

/// Returns the settings of an agent stage.
fn of_stage(
    layers: &Layers<'_>,
    config: &Config,
    workflow: &Workflow,
    stage: &Stage,
    work: &AgentWork,
    means: &Means,
) -> Vec<Setting> {
    let mut all = Vec::new();
    let key = |name: &str| format!("stages.{}.{name}", stage.name);
    let own = |name: &str| At::Workflow(key(name));
    let role = work.role.as_ref();
    let of_role = |name: &'static str, is_set: bool| {
        role.filter(|_| is_set).map(|role| At::Role(role.name.clone(), name))
    };
    let agent = means.agent.as_ref().or(work.agent.as_ref()).or(config.agent.as_ref());
    match (&means.agent, agent) {
        (Some(agent), _) => all.push(by_run(key("agent"), json!(agent))),
        (None, Some(agent)) => {
            let keys = [
                Some(own("agent")),
                of_role("agent", role.is_some_and(|role| role.agent.is_some())),
                Some(At::Config("agent".to_owned())),
            ];
            all.push(layers.of(key("agent"), json!(agent), &keys.into_iter().flatten().collect::<Vec<_>>()));
        }
        (None, None) => {}
    }
    let known = agent.and_then(|name| Some((name, config.agents.get(name)?)));
    match (&means.model, known.and_then(|(_, agent)| agent.model_for(work))) {
        (Some(model), _) => all.push(by_run(key("model"), json!(config.model(model)))),
        (None, Some(model)) => {
            let tier = role.and_then(|role| role.tier);
            let of_agent =
                |name: String| known.map(|(agent, _)| At::Config(format!("agents.{agent}.{name}")));
            let keys = [
                Some(At::Config(format!("workflows.{}.models.{}", workflow.name, stage.name))),
                Some(own("model")),
                of_role("model", role.is_some_and(|role| role.model.is_some())),
                tier.and_then(|tier| of_agent(format!("tiers.{}", json!(tier).as_str().unwrap_or_default()))),
                of_agent("model".to_owned()),
            ];
            let keys: Vec<At> = keys.into_iter().flatten().collect();
            all.push(layers.of(key("model"), json!(config.model(&model)), &keys));
        }
        (None, None) => {}
    }
    let limits = &stage.limits;
    let network = work.network.unwrap_or(config.network.agents);
    all.push(layers.of(
        key("network"),
        json!(network),
        // The user's floor has already limited a stage that wants more.
        &[own("network"), At::Config("network.agents".to_owned())],
    ));
    let turns = limits.turns.or_else(|| known?.1.turns);
    let of_agent = known.map(|(agent, _)| At::Config(format!("agents.{agent}.turns")));
    let turns_keys: Vec<At> = [Some(own("turns")), of_agent].into_iter().flatten().collect();
    all.extend(turns.map(|turns| layers.of(key("turns"), json!(turns), &turns_keys)));
    let others = [
        ("timeout", Some(json!(limits.time))),
        ("idle", limits.idle.map(|idle| json!(idle))),
        ("output", Some(json!(limits.output))),
        ("max_cost", limits.cost.map(|cost| json!(cost))),
        ("gates", (!stage.gates.is_empty()).then(|| json!(stage.gates))),
        ("secrets", (!work.secrets.is_empty()).then(|| json!(work.secrets))),
    ];
    all.extend(others.into_iter().filter_map(|(name, value)| {
        Some(layers.of(key(name), as_files_state(&key(name), value?), &[own(name)]))
    }));
    all
}

/// Returns whether the value of a key is an amount of money.
pub fn is_amount(key: &str) -> bool {
    key.starts_with("prices.") || key == "max_cost" || key.ends_with(".max_cost")
}

/// Last parts of keys whose values are lengths of time.
const TIMES: [&str; 5] = ["longest", "slack", "timeout", "unfinished", "idle"];
/// Last parts of keys whose values are sizes.
const SIZES: [&str; 3] = ["memory", "disk", "output"];

/// Returns a value as a file states it: money in dollars, a length of time or a size with the largest unit that has no
/// fraction. Other values, and those that a file states already, stay as they are.
fn as_files_state(key: &str, value: Value) -> Value {
    const MILLISECONDS: [(u64, &str); 5] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    const BYTES: [(u64, &str); 4] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
    let Some(number) = value.as_u64() else { return value };
    let last = key.rsplit('.').next().unwrap_or_default();
    let with_unit = |units: &[(u64, &str)]| {
        let unit = units.iter().find(|(size, _)| number >= *size && number.is_multiple_of(*size));
        unit.map(|(size, name)| json!(format!("{}{name}", number / size)))
    };
    let stated = if is_amount(key) {
        Some(in_dollars(number))
    } else if TIMES.contains(&last) {
        with_unit(&MILLISECONDS)
    } else if SIZES.contains(&last) {
        with_unit(&BYTES)
    } else {
        None
    };
    stated.unwrap_or(value)
}

#[expect(clippy::cast_precision_loss, reason = "at most 10^12, which a float holds exactly")]
fn in_dollars(micros: u64) -> Value {
    if micros.is_multiple_of(1_000_000) { json!(micros / 1_000_000) } else { json!(micros as f64 / 1e6) }
}

/// Returns a setting from the command line.
fn by_run(key: String, value: Value) -> Setting {
    Setting { key, value, origin: RUN, file: None, line: None }
}

/// Layer, file and line.
type Place = (&'static str, Option<PathBuf>, Option<usize>);

/// A place that may set a value.
enum At {
    /// A key of the configuration.
    Config(String),
    /// A key of the workflow.
    Workflow(String),
    /// A key of an agent definition.
    Role(Name, &'static str),
}

/// The files in which values are looked up.
struct Layers<'a> {
    files: &'a Files,
    layers: Vec<Layer>,
}

impl Layers<'_> {
    /// Returns a value with the first place that sets it.
    fn of(&self, key: String, value: Value, places: &[At]) -> Setting {
        for place in places {
            let found = match place {
                At::Config(key) => self.said(key, |layer| layer.name != Layer::WORKFLOW),
                At::Workflow(key) => self.said(key, |layer| layer.name == Layer::WORKFLOW),
                At::Role(role, name) => self.in_role(role, name),
            };
            if let Some((origin, file, line)) = found {
                return Setting { key, value, origin, file, line };
            }
        }
        Setting { key, value, origin: BUILT_IN, file: None, line: None }
    }

    /// Returns the place of a key in the front matter of an agent definition.
    fn in_role(&self, role: &Name, key: &str) -> Option<Place> {
        let Found::Text { shown, text } = self.files.library().text(&format!("agents/{role}.md")) else {
            return None;
        };
        let head = text.split("+++\n").nth(1).unwrap_or_default();
        // The front matter starts after its delimiter line.
        let line = line_of(head, key).map(|line| line + 1);
        Some(("role", Some(PathBuf::from(shown)), line))
    }

    fn said(&self, key: &str, is_wanted: impl Fn(&Layer) -> bool) -> Option<Place> {
        let mut layers = self.layers.iter().rev().filter(|layer| is_wanted(layer));
        let layer = layers.find(|layer| says(&layer.text.parse().unwrap_or_default(), key))?;
        Some((layer.name, Some(layer.path.clone()), line_of(&layer.text, key)))
    }
}

/// Returns whether a file sets a key. A list, or a line that covers several keys, sets all of them.
fn says(table: &toml::Table, key: &str) -> bool {
    let mut table = table;
    let mut parts = key.split('.');
    while let Some(part) = parts.next() {
        match table.get(part) {
            None => return false,
            Some(toml::Value::Table(inner)) => table = inner,
            Some(toml::Value::Array(list)) if list.iter().any(toml::Value::is_table) => {
                // A list of tables; the next part is the name of one of them.
                let Some(name) = parts.next() else { return true };
                let is_it =
                    |entry: &&toml::Table| entry.get("name").and_then(|own| own.as_str()) == Some(name);
                let Some(entry) = list.iter().filter_map(toml::Value::as_table).find(is_it) else {
                    return false;
                };
                table = entry;
            }
            Some(_) => return true,
        }
    }
    true
}

/// Returns the line of a file that sets a key.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let root = toml::de::DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut found = None;
    let mut parts = key.split('.');
    while let Some(part) = parts.next() {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == part) else { break };
        found = Some(name.span().start);
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            toml::de::DeValue::Array(list) => {
                let mut entries = list.iter().filter_map(|entry| entry.get_ref().as_table());
                let own = |entry: &toml::de::DeTable<'_>| {
                    entry.get("name").and_then(|name| name.get_ref().as_str()).map(str::to_owned)
                };
                let wanted = parts.next();
                let Some(entry) = entries.find(|entry| own(entry).as_deref() == wanted) else { break };
                table = entry;
            }
            _ => break,
        }
    }
    Some(text.get(..found?)?.matches('\n').count() + 1)
}

/// Returns the values that are set, by their keys in files.
fn values(config: &Config) -> Vec<(String, Value)> {
    let mut whole = serde_json::to_value(config).unwrap_or_default();
    if let Some(map) = whole.as_object_mut() {
        if let Some(limits) = map.remove("resources") {
            map.insert("limits".to_owned(), limits);
        }
        for (key, value) in map.iter_mut() {
            state_as_files(key, value);
        }
        for agent in
            map.get_mut("agents").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            name_adapter(agent);
        }
        if let Some(Value::Object(setup)) = map.get_mut("setup") {
            setup.entry("run").and_modify(|run| *run = plain(run));
        }
        // These are shown as files write them.
        for (section, value) in config.written.0.iter().filter(|(section, _)| *section != "setup") {
            map.insert(section.clone(), serde_json::to_value(value).unwrap_or_default());
        }
        for gate in &config.gates {
            // The user's floor has already limited a gate that wants more.
            let gates = map.get_mut("gates").and_then(|gates| gates.get_mut(gate.name.as_str()));
            if let (Some(network), Some(Value::Object(written))) = (gate.network, gates) {
                written.insert("network".to_owned(), json!(network));
            }
        }
    }
    let mut found = Vec::new();
    flatten("", &whole, &mut found);
    found
}

/// Puts every value in it as a file states it.
fn state_as_files(key: &str, value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.iter_mut().for_each(|(name, value)| state_as_files(&format!("{key}.{name}"), value));
        }
        other => *other = as_files_state(key, other.take()),
    }
}

/// Puts the adapter and its options side by side, as files have them.
fn name_adapter(agent: &mut Value) {
    let Some(agent) = agent.as_object_mut() else { return };
    let Some(Value::Object(mut adapter)) = agent.remove("adapter") else { return };
    if let Some(product) = adapter.remove("product") {
        adapter.insert("adapter".to_owned(), product);
    }
    for (key, value) in adapter {
        agent.insert(key, plain(&value));
    }
}

/// Writes a command as a line or as a list, as it was configured.
fn plain(value: &Value) -> Value {
    let command = value.as_object().filter(|command| command.len() == 1);
    command.and_then(|command| command.values().next()).unwrap_or(value).clone()
}

fn flatten(key: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&key, value, found);
            }
        }
        Value::Null => {}
        Value::Array(list) if list.is_empty() => {}
        Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push((key.to_owned(), value.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_times_and_sizes_are_shown_as_files_state_them() {
        let all = [
            ("max_cost", json!(5_000_000), json!(5)),
            ("stages.code.max_cost", json!(250_000), json!(0.25)),
            ("prices.a-1.5.input", json!(3_000_000), json!(3)),
            ("waiting.longest", json!(86_400_000), json!("1d")),
            ("waiting.slack", json!(90_000), json!("90s")),
            ("setup.timeout", json!(1_500), json!("1500ms")),
            ("setup.timeout", json!("2m"), json!("2m")),
            ("limits.disk", json!(20_u64 << 30), json!("20GiB")),
            ("retention.disk", json!(1_025), json!("1025B")),
            ("limits.processes", json!(1_024), json!(1_024)),
            ("agent", json!("bot"), json!("bot")),
            ("access.write", json!([1]), json!([1])),
        ];
        for (key, value, wanted) in all {
            assert_eq!(as_files_state(key, value), wanted, "{key}");
        }
    }

    #[test]
    fn what_is_shown_can_be_written_in_a_file() {
        use acquit_core::time::Span;
        for millis in [1, 1_500, 90_000, 5_400_000, 86_400_000] {
            let shown = as_files_state("idle", json!(Span::from(millis)));
            assert_eq!(Span::parse(shown.as_str().unwrap()).map(u64::from), Some(millis));
        }
        let config = Config { max_cost: Some(5_000_000), ..Config::default() };
        assert!(values(&config).contains(&("max_cost".to_owned(), json!(5))));
    }
}
