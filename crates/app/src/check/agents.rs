//! Checks that the agents of the default workflow can start here: gates that hold are of no use to a task that cannot
//! begin.

use acquit_run::agent::trial::Finding;

use super::problem::{Place, Problem};
use crate::app::App;
use crate::error::Error;
use crate::preflight::{findings, name_installed};
use crate::project::Project;

/// Returns a problem for everything that keeps the default workflow's agents from starting. `None` if the project has no
/// agent at all: `init` writes its files before the user has installed one.
pub(super) fn inspect(app: &App, project: &Project) -> Result<Option<Vec<Problem>>, Error> {
    let config = &project.config;
    if !config.has_agent() {
        return Ok(None);
    }
    let workflow = match project.workflow(None) {
        Ok(workflow) => workflow,
        // Then each run names its workflow, and reports what that one lacks.
        Err(Error::WhichWorkflow(_)) => return Ok(Some(Vec::new())),
        Err(error) => {
            let what = format!("failed to {}", acquit_run::harness::chain(&error));
            return Ok(Some(vec![problem(what, error.hint())]));
        }
    };
    match project.check_stages(workflow).map_err(|error| name_installed(app, config, error)) {
        Ok(()) => Ok(Some(findings(app, config, workflow)?.into_iter().map(of_finding).collect())),
        Err(Error::Lacking(missing)) => {
            let mut problems: Vec<Problem> = Vec::new();
            for lack in missing {
                let what = lack.what.to_string();
                if problems.iter().all(|known| known.what != what) {
                    problems.push(problem(what, lack.hint));
                }
            }
            Ok(Some(problems))
        }
        Err(error) => Err(error),
    }
}

fn of_finding(finding: Finding) -> Problem {
    let add = (!finding.add.is_empty())
        .then(|| format!("add to .acquit/acquit.toml:\n    {}", finding.add.join("\n    ")));
    problem(finding.what, add)
}

fn problem(what: String, advice: Option<String>) -> Problem {
    Problem {
        place: Place::Agents,
        what,
        said: Vec::new(),
        advice,
        mends: Vec::new(),
        missing: None,
        unrecognised: false,
    }
}
