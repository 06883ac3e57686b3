//! What a task runs by, pinned when it is created: a later edit of a file, or an agent's edit of one, changes nothing
//! for a task that is under way, and any worker can run it without the user's checkout.

use serde::{Deserialize, Serialize};

use serde_json::Value;

use crate::config::Config;
use crate::ids::Name;
use crate::time::Span;
use crate::workflow::Workflow;

/// A workflow and the project's configuration as they were when the task was created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// The form of this value; see [`Definition::FORM`].
    pub form: u32,
    /// The stages and what follows what.
    pub workflow: Workflow,
    /// Agents, setup, branch names.
    pub config: Config,
    /// The project's own instructions for agents.
    pub instructions: String,
    /// Who the work is committed as: the user, as git knows them.
    pub author: Author,
    /// The repository, in the form by which the harness finds it again without looking for it.
    pub source: serde_json::Value,
    /// What a person chose for this task.
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
    /// The key by which the store has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Why it stays where it is, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
}

/// What a person chose for the task on the command line. It counts before the files, also when those are read again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chosen {
    /// The agent of every stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
    /// The model of every stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The value that the workflow's variation begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<String>,
    /// What legs after `since` may cost together, in millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<u64>,
    /// How long legs after `since` may run together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Span>,
    /// How many legs the task had when the limits were set.
    pub since: u32,
}

/// A name for commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The person's name.
    pub name: String,
    /// The person's address.
    pub email: String,
}

impl Definition {
    /// The form written today. A store that holds a newer one was written by a newer acquit.
    pub const FORM: u32 = 1;

    /// What is different in another one, a line for each setting; empty if nothing is. Values of environment variables are not
    /// shown: some people write keys there.
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

/// The longest value that is shown.
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

/// Whether each of a list has a name of its own: stages and gates.
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
