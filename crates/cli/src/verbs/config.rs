//! `acquit config show`: what holds here, and which file said so.

use acquit_core::config::Config;
use serde_json::{Map, Value, json};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::Look;
use acquit_app::Error;
use acquit_app::project::Layer;

/// Where a value comes from that no file has.
const BUILT_IN: &str = "built-in";

/// Shows every value that is set, as `key = value`; with its origin if that is wanted.
pub fn show(cli: &Cli, origin: bool) -> Result<Exit, Error> {
    let files = cli.app.files(&cli.app.source()?)?;
    let layers = files.layers()?;
    let values = values(&files.look()?.config);
    let known: Vec<(&Layer, toml::Table)> =
        layers.iter().map(|layer| (layer, layer.text.parse().unwrap_or_default())).collect();
    let from = |key: &str| known.iter().rev().find(|(_, table)| says(table, key)).map(|(layer, _)| *layer);
    let printer = cli.printer;
    if printer.json {
        let entry = |(key, value): &(String, Value)| {
            let layer = from(key);
            let entry = json!({
                "value": value,
                "origin": layer.map_or(BUILT_IN, |layer| layer.name),
                "file": layer.map(|layer| layer.path.to_string_lossy()),
                "line": layer.and_then(|layer| line_of(&layer.text, key)),
            });
            (key.clone(), entry)
        };
        printer.json(&values.iter().map(entry).collect::<Map<_, _>>());
        return Ok(Exit::Done);
    }
    for (key, value) in &values {
        let line = crate::report::text::visible(&format!("{key} = {value}"));
        let place = match from(key) {
            Some(layer) => match line_of(&layer.text, key) {
                Some(line) => format!("{}:{line}", layer.path.display()),
                None => layer.path.to_string_lossy().into_owned(),
            },
            None => BUILT_IN.to_owned(),
        };
        let place = if origin { printer.paint(Look::Faint, &format!("  # {place}")) } else { String::new() };
        printer.data(&format!("{line}{place}"));
    }
    Ok(Exit::Done)
}

/// Whether a file says something about a key. A list or a line that stands for several keys counts for all of them.
fn says(table: &toml::Table, key: &str) -> bool {
    let mut table = table;
    for part in key.split('.') {
        match table.get(part) {
            None => return false,
            Some(toml::Value::Table(inner)) => table = inner,
            Some(_) => return true,
        }
    }
    true
}

/// The line of a file that says something about a key.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let root = toml::de::DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let mut found = None;
    for part in key.split('.') {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == part) else { break };
        found = Some(name.span().start);
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    Some(text.get(..found?)?.matches('\n').count() + 1)
}

/// The values that are set, by the keys that files have for them.
fn values(config: &Config) -> Vec<(String, Value)> {
    let mut whole = serde_json::to_value(config).unwrap_or_default();
    if let Some(map) = whole.as_object_mut() {
        if let Some(limits) = map.remove("resources") {
            map.insert("limits".to_owned(), limits);
        }
        for agent in
            map.get_mut("agents").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
        {
            name_adapter(agent);
        }
    }
    let mut found = Vec::new();
    flatten("", &whole, &mut found);
    found
}

/// An adapter and what belongs to it stand side by side in a file.
fn name_adapter(agent: &mut Value) {
    let Some(agent) = agent.as_object_mut() else { return };
    let Some(Value::Object(mut adapter)) = agent.remove("adapter") else { return };
    if let Some(product) = adapter.remove("product") {
        adapter.insert("adapter".to_owned(), product);
    }
    for (key, value) in adapter {
        // A command is a line or a list, whichever it was.
        let plain = match &value {
            Value::Object(command) if command.len() == 1 => command.values().next().cloned(),
            _ => None,
        };
        agent.insert(key, plain.unwrap_or(value));
    }
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
