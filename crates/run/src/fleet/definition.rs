//! The definition that a worker uses for a task: the task's own, with the worker's settings for everything that grants
//! access to its machine.

use acquit_core::config::Config;
use acquit_core::definition::Definition;

use crate::git::Source;

/// Returns the definition for a worker. The sandbox, the paths that programs can access, the sources of secrets, and
/// the variables and credential files of agents come from the worker's own configuration; its floor applies. The
/// repository is the worker's own copy.
pub fn worker_definition(definition: &Definition, own: &Config, source: &Source) -> Definition {
    let mut definition = definition.clone();
    definition.source = Some(source.clone().into());
    let config = &mut definition.config;
    config.sandbox = own.sandbox;
    config.access = own.access.clone();
    config.secrets.clone_from(&own.secrets);
    for (name, agent) in &mut config.agents {
        let known = own.agents.get(name);
        agent.pass_env.retain(|variable| known.is_some_and(|known| known.pass_env.contains(variable)));
        agent.login = known.map(|known| known.login.clone()).unwrap_or_default();
    }
    own.floor.hold(config);
    own.floor.hold_workflow(&mut definition.workflow);
    definition
}

#[cfg(test)]
mod tests {
    use super::*;
    use acquit_core::repository::Repository;

    #[test]
    fn doors_of_the_worker_are_opened_by_the_worker_alone() {
        let read = |text: &str| acquit_core::config::read("acquit.toml", text).expect("a configuration");
        let theirs = read(
            "sandbox = \"off\"\n[access]\nread = [\"/etc/shadow\"]\n[secrets]\nTOKEN = { command = \"steal\" }\n\
             [agents.bot]\nadapter = \"claude\"\npass_env = [\"PGPASSWORD\", \"LANGUAGE\"]\nlogin = [\"~/.ssh/id_ed25519\"]\n",
        );
        let own = read(
            "[access]\nread = [\"/srv/cache\"]\n[secrets]\nTOKEN = { env = \"TOKEN\" }\n\
             [agents.bot]\nadapter = \"claude\"\npass_env = [\"LANGUAGE\"]\n",
        );
        let workflow = serde_json::json!({
            "name": "flow", "description": "", "start": "a", "stages": [], "gates": [], "budgets": {},
            "variation": null, "variables": {},
        });
        let source: Repository = serde_json::from_value(serde_json::json!({
            "path": "/r", "git_dir": "/r", "objects": "/r/objects", "format": "sha1", "work_tree": null,
        }))
        .expect("a source");
        let source = Source::from(source);
        let definition: Definition = serde_json::from_value(serde_json::json!({
            "form": 1, "workflow": workflow, "config": theirs, "instructions": "",
            "author": { "name": "a", "email": "b" }, "source": null,
        }))
        .expect("a definition");
        let used = worker_definition(&definition, &own, &source);
        assert_eq!((used.config.sandbox, &used.config.access), (own.sandbox, &own.access));
        assert_eq!(used.config.secrets, own.secrets);
        let bot = &used.config.agents["bot"];
        assert_eq!((bot.pass_env.as_slice(), bot.login.len()), (["LANGUAGE".to_owned()].as_slice(), 0));
        assert_eq!(Source::of(&used).expect("a source"), source);
    }
}
