//! The definition of a task, pinned when the task is created. Later edits of the files, by the user or an agent, don't
//! affect a running task, and any worker can run it without the user's checkout.

use serde::{Deserialize, Serialize};

use serde_json::Value;

use crate::config::Config;
use crate::ids::Name;
use crate::repository::Repository;
use crate::time::Span;
use crate::workflow::Workflow;

/// The workflow and configuration of a task, as of its creation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Format version; see [`Definition::FORM`].
    pub form: u32,
    /// Stages and transitions.
    pub workflow: Workflow,
    /// Agents, setup, branch names and other settings.
    pub config: Config,
    /// The project's own instructions for agents.
    pub instructions: String,
    /// Author of commits: the user, as configured in git.
    pub author: Author,
    /// Where the repository is. `None` in a definition that no leg uses, or if it was stored in a form that is unknown
    /// here: the task can still be shown.
    #[serde(deserialize_with = "known_source")]
    pub source: Option<Repository>,
    /// Settings that a person chose for this task.
    #[serde(default)]
    pub chosen: Chosen,
    /// How the repository gets to other machines.
    #[serde(default)]
    pub travel: Travel,
}

/// How a task's repository gets to other machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Travel {
    /// Key of the repository in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// A parcel that the store had when the task was created. Parcels of a repository are removed together, so if this
    /// one exists, all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parcel: Option<i64>,
    /// Another place from which workers can fetch it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Remote>,
    /// Why it cannot leave this machine, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
}

/// A remote of a task's repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    /// Address, without credentials.
    pub url: String,
    /// Newest start commit of the task that the remote has, as far as known when the task was created.
    pub commit: String,
}

/// Settings that a person chose for the task on the command line. They override the files, even when those are read
/// again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chosen {
    /// Agent for every stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// Model for every stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// First value of the workflow's variation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<String>,
    /// Maximum total cost of legs after `since`, in millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
    /// Maximum total run time of legs after `since`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Span>,
    /// Number of legs when the limits were set.
    pub since: u32,
}

/// The author of commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Name.
    pub name: String,
    /// Email address.
    pub email: String,
}

fn known_source<'de, D: serde::Deserializer<'de>>(stored: D) -> Result<Option<Repository>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(stored)?).ok())
}

impl Definition {
    /// Current format version. A store with a newer one was written by a newer acquit.
    pub const FORM: u32 = 1;

    /// Describes the differences to another definition, one line per setting; empty if there are none. Omits values of
    /// environment variables, because some people put keys there.
    pub fn difference(&self, other: &Self) -> Vec<String> {
        let value = |thing: &Self| {
            serde_json::json!({
                "acquit.toml": thing.config,
                "workflow": thing.workflow,
                "command line": thing.chosen,
            })
        };
        let mut lines = Vec::new();
        differ("", &value(self), &value(other), &mut lines);
        if self.instructions != other.instructions {
            lines.push("instructions.md changed".to_owned());
        }
        if self.source != other.source {
            lines.push("the repository is found elsewhere".to_owned());
        }
        lines
    }
}

/// Maximum size of a shown value.
const SHOWN: usize = 160;

fn differ(path: &str, old: &Value, new: &Value, lines: &mut Vec<String>) {
    if old == new {
        return;
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let part = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                differ(&below(key), &part(old), &part(new), lines);
            }
        }
        (Value::Array(old), Value::Array(new)) if is_named(old) && is_named(new) => {
            let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
            let mut names: Vec<String> = old.iter().chain(new).map(name).collect();
            names.sort();
            names.dedup();
            for one in names {
                let part = |list: &[Value]| list.iter().find(|value| name(value) == one).cloned();
                let (old, new) = (part(old).unwrap_or_default(), part(new).unwrap_or_default());
                differ(&below(&one), &old, &new, lines);
            }
        }
        (old, new) => {
            let hidden = path.contains(".env.");
            let shown = |value: &Value| match value {
                Value::Null => "not set".to_owned(),
                _ if hidden => "…".to_owned(),
                value => crate::agent::shorten(&value.to_string(), SHOWN),
            };
            lines.push(format!("{path}: {} -> {}", shown(old), shown(new)));
        }
    }
}

/// Returns whether every item has a name, as stages and gates do.
fn is_named(list: &[Value]) -> bool {
    list.iter().all(|value| value.get("name").is_some_and(Value::is_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_each_setting_once() {
        let old = serde_json::json!({ "agents": { "bot": { "hosts": [], "env": { "KEY": "secret" } } },
            "stages": [{ "name": "plan", "timeout": 1 }, { "name": "code", "timeout": 1 }] });
        let new = serde_json::json!({ "agents": { "bot": { "hosts": ["a.example"], "env": { "KEY": "other" } } },
            "stages": [{ "name": "code", "timeout": 2 }, { "name": "plan", "timeout": 1 }] });
        let mut lines = Vec::new();
        differ("", &old, &new, &mut lines);
        assert_eq!(
            lines,
            [
                "agents.bot.env.KEY: … -> …",
                "agents.bot.hosts: [] -> [\"a.example\"]",
                "stages.code.timeout: 1 -> 2"
            ]
        );
        lines.clear();
        differ("", &old, &old, &mut lines);
        assert_eq!(lines, [""; 0]);
    }
}
