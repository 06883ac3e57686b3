//! Finds errors that can be known before an agent starts: an outdated git, a missing part of the sandbox, a missing
//! program, variable or secret. `acquit run` then fails with hints, before it creates a task or spends money.

use std::collections::BTreeMap;

use acquit_core::config::{Adapter, Config, Lack};
use acquit_core::definition::Chosen;
use acquit_core::ids::Name;
use acquit_core::workflow::{Work, Workflow};
use acquit_run::agent::Facts;
use acquit_run::agent::trial::{self, Finding};
use acquit_run::agent::user_settings;

use crate::app::App;
use crate::doctor;
use crate::error::Error;
use crate::options::{Means, take_chosen};
use crate::project::Project;
use crate::scratch_dir::Folder;

/// Rejects a new task whose agents cannot start here. Errors of the task itself are reported when it is created.
pub fn check_new(app: &App, project: &Project, means: &Means) -> Result<(), Error> {
    let mut workflow = project.workflow(means.workflow.as_ref())?.clone();
    let chosen = Chosen { agent: means.agent.clone(), ..Chosen::default() };
    take_chosen(&mut workflow, &chosen);
    project.check_stages(&workflow).map_err(|error| name_installed(app, &project.config, error))?;
    check(app, &project.config, &workflow)
}

/// If the project has no agent, adds how to set up the first one: the lines that name the installed agent.
pub(crate) fn name_installed(app: &App, config: &Config, error: Error) -> Error {
    let Error::Lacking(mut missing) = error else { return error };
    let path = app.surroundings.environment.get("PATH").unwrap_or_default();
    let hint = match crate::init::agents::installed(path).first() {
        Some(facts) => {
            let name = facts.product.name();
            format!(
                "{} is installed; to use it, write this at the top of .acquit/acquit.toml, and the table at its end:\n  agent = \"{name}\"\n  \
                 [agents.{name}]\n  adapter = \"{name}\"",
                facts.title
            )
        }
        None => "install an agent, such as Claude Code or Codex, and run `acquit init --force`; or describe your own in \
                 .acquit/acquit.toml: [agents.NAME] with adapter and run"
            .to_owned(),
    };
    if config.agents.is_empty() {
        for lack in missing.iter_mut().filter(|lack| lack.what == Lack::NoAgent) {
            lack.hint = Some(hint.clone());
        }
    }
    Error::Lacking(missing)
}

/// Rejects a workflow whose agents cannot start here.
pub fn check(app: &App, config: &Config, workflow: &Workflow) -> Result<(), Error> {
    let found = findings(app, config, workflow)?;
    if !found.is_empty() {
        return Err(Error::NotReady(found));
    }
    agents(config, workflow).keys().for_each(|name| warn_of_settings(app, config, name));
    Ok(())
}

/// Returns why agents of a workflow cannot start here.
pub fn findings(app: &App, config: &Config, workflow: &Workflow) -> Result<Vec<Finding>, Error> {
    let mut found = Vec::new();
    if let Err(lack) = doctor::git_found(app) {
        let mend = lack.mend.map(|mend| format!(": {mend}")).unwrap_or_default();
        found.push(Finding { what: format!("{}{mend}", lack.why), add: Vec::new() });
    }
    let agents = agents(config, workflow);
    let folder = Folder::new(&app.runtime.home.join("sandboxes"))?;
    for (name, secrets) in &agents {
        let Some(agent) = config.agents.get(*name) else { continue };
        let place = folder.path.join(name.as_str());
        let blockers = trial::blockers(&app.runtime, config, name, agent, secrets, &place);
        let at = |source| Error::File { doing: "try an agent in", path: place.clone(), source };
        for finding in blockers.map_err(at)? {
            if !found.contains(&finding) {
                found.push(finding);
            }
        }
    }
    Ok(found)
}

/// Returns the agents that the workflow's stages use, with the secrets of those stages.
fn agents<'c>(config: &'c Config, workflow: &'c Workflow) -> BTreeMap<&'c Name, Vec<String>> {
    let mut used: BTreeMap<&Name, Vec<String>> = BTreeMap::new();
    for stage in &workflow.stages {
        if let Work::Agent(work) = &stage.work
            && let Some(name) = work.agent.as_ref().or(config.agent.as_ref())
        {
            used.entry(name).or_default().extend(work.secrets.iter().cloned());
        }
    }
    used
}

/// Warns that an agent uses another server than in the user's terminal. Nothing else would reveal it.
fn warn_of_settings(app: &App, config: &Config, name: &Name) {
    let Some(agent) = config.agents.get(name) else { return };
    let Adapter::Product { product } = agent.adapter else { return };
    let facts = Facts::of(product);
    let gets = |variable: &str| {
        agent.env.contains_key(variable)
            || agent.pass_env.iter().chain(&agent.secrets).any(|one| one == variable)
    };
    let usual: Vec<String> = facts.login.iter().map(|&file| file.to_owned()).collect();
    let shown = if agent.login.is_empty() { &usual } else { &agent.login };
    let missing = user_settings::missing(facts, &app.runtime.environment, shown, gets, &agent.hosts);
    if missing.names_server {
        let files = missing.files.iter().cloned();
        let variables = missing.variables.iter().map(|name| format!("${name}"));
        let named: Vec<String> = files.chain(variables).collect();
        app.warn(format!(
            "{} names a server for the model, which the agent {name} does not see: `acquit agents` says what to add",
            named.join(", ")
        ));
    }
}
