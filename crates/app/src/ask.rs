//! `acquit agents --ask`: runs one small turn of a real agent, to see whether its model answers.
//!
//! The question is a task with one stage, in its own repository, home and store, run by the same harness and sandbox as
//! every other task. So the agent gets exactly the login, secrets, hosts and settings of a stage, and errors read as
//! those of a task.

use std::path::Path;
use std::time::{Duration, Instant};

use acquit_core::agent::Usage;
use acquit_core::config::Config;
use acquit_core::config::forge::Kind;
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::store::{Store, Wanted};
use acquit_core::template::NoTexts;
use acquit_core::workflow::{self, Around};
use acquit_run::git::Identity;
use acquit_run::harness::{self, Began};

use crate::app::App;
use crate::error::Error;
use crate::project::{self, Known, Project};
use crate::task::{NewTask, Origin};

/// The only stage. An agent that does not answer within its timeout is reported as unreachable.
const WORKFLOW: &str = r#"
description = "one question to an agent"
[budgets]
agent = 0
outcome = 0
limit = 0
harness = 0
[stages.ask]
mode = "investigate"
instructions = "This is a test of the connection to you. Look at nothing and change nothing: report `ready` at once."
timeout = "2m"
on = { ready = "done" }
"#;
const STAGE: &str = "ask";

/// Result of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Why there was no answer, with a hint.
    pub trouble: Option<String>,
    /// Duration.
    pub took: Duration,
    /// Usage the agent reported.
    pub usage: Usage,
}

/// Asks an agent of a configuration. `folder` is a private folder for temporary files; the caller removes it.
pub fn ask(app: &App, config: &Config, agent: &Name, folder: &Path) -> Result<Reply, Error> {
    let repository = folder.join("repository");
    let mut surroundings = app.surroundings.clone();
    surroundings.home = folder.join("home");
    surroundings.store = folder.join("home/ask.db").to_string_lossy().into_owned();
    surroundings.here.clone_from(&repository);
    let own = App::new(surroundings, Box::new(|_| {}), None);
    make_repository(&own, &repository)?;
    let origin = Origin {
        source: own.source()?,
        project: project(config, agent)?,
        id: None,
        category: None,
        metadata: std::collections::BTreeMap::new(),
        by: own.person(),
    };
    let wish = NewTask { title: "Report ready".to_owned(), ..NewTask::default() };
    let mut store = own.store()?;
    let store: &mut dyn Store = store.as_mut();
    let id = own.create_from(store, &wish, origin)?.id();
    let begun = Instant::now();
    let Some(claim) = harness::claim(&own.runtime, store, Wanted::Of(id))? else {
        return Err(Error::Stalled { task: id, times: 1, log: own.runtime.harness_log(id) });
    };
    let task = harness::run(&own.runtime, store, claim, Began::now())?;
    let took = begun.elapsed();
    let Some(past) = task.past.last() else {
        return Err(Error::Stalled { task: id, times: 1, log: own.runtime.harness_log(id) });
    };
    Ok(Reply { trouble: trouble(&past.ending), took, usage: past.usage.clone() })
}

/// Returns the error, if the model did not answer. The quality of the answer does not matter.
fn trouble(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Passed { .. } | Ending::Rejected { .. } => None,
        Ending::Failed { kind: of, .. } if [kind::OUTCOME, kind::NOTHING].contains(&of.as_str()) => None,
        Ending::Failed { reason, .. }
        | Ending::TimedOut { reason }
        | Ending::Held { reason, .. }
        | Ending::Conflict { reason, .. } => {
            Some(reason.replace(", then approve", "").replace(" and approve", ""))
        }
        Ending::Lost { why } => Some(why.clone()),
        Ending::Cancelled => Some("cancelled".to_owned()),
    }
}

/// Returns the project for the question: only what its agents need.
fn project(config: &Config, agent: &Name) -> Result<Project, Error> {
    let name = Name::literal(STAGE);
    let budgets = std::collections::BTreeMap::new();
    let around = Around { variables: &[], gates: &[], budgets: &budgets, texts: &NoTexts };
    let read = workflow::read_in(STAGE, &name, WORKFLOW, &around)?;
    let mut config = Config {
        workflow: Some(name.clone()),
        agent: Some(agent.clone()),
        gates: Vec::new(),
        budgets,
        setup: None,
        ..config.clone()
    };
    config.forge.kind = Some(Kind::None);
    Ok(Project {
        broken: Vec::new(),
        config,
        instructions: String::new(),
        workflows: vec![Known { name, origin: project::Origin::Shipped, read: Ok(read) }],
    })
}

/// Creates a repository with one file.
fn make_repository(app: &App, at: &Path) -> Result<(), Error> {
    let file = |source| Error::File { doing: "write", path: at.to_owned(), source };
    std::fs::create_dir_all(at).map_err(file)?;
    std::fs::write(at.join("README.md"), "Nothing is here.\n").map_err(file)?;
    let (git, author) = (&app.runtime.git, Identity::neutral());
    git.call("init").inside(at).args(["--quiet", "--initial-branch=main"]).run()?;
    git.call("add").inside(at).arg("--all").run()?;
    let message = ["--quiet", "--message=Begin"];
    git.call("commit").inside(at).signed(&author, &author, 1_700_000_000).args(message).run()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_however_it_is_worded_and_trouble_is_told_without_the_words_about_a_task() {
        let failed = |kind: &'static str, reason: &str| Ending::Failed {
            kind: Name::literal(kind),
            reason: reason.to_owned(),
        };
        assert_eq!(trouble(&failed(kind::OUTCOME, "it reported nothing")), None);
        assert_eq!(
            trouble(&failed(
                kind::LOGIN,
                "the agent bot is not logged in (401); log in or correct its key, then approve"
            )),
            Some("the agent bot is not logged in (401); log in or correct its key".to_owned())
        );
        assert_eq!(trouble(&Ending::Cancelled), Some("cancelled".to_owned()));
    }

    #[test]
    fn the_question_is_a_workflow_that_can_be_read() {
        let project = project(&Config::default(), &Name::literal("bot")).expect("a project");
        assert!(project.workflow(None).is_ok_and(|workflow| workflow.name.as_str() == STAGE));
    }
}
