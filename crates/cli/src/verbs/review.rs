//! `acquit review`: the shipped reviewers look at a branch, or at a request that others made at the forge. Nothing is changed, pushed or
//! posted; the findings are the result.

use acquit_core::ids::Name;
use acquit_run::forge;
use acquit_run::git::Offer;

use crate::args::Reviewed;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::run::run_task;
use acquit_app::Error;
use acquit_app::preflight;
use acquit_app::{Means, NewTask, Origin};

/// The workflow, unless another is named.
const WORKFLOW: &str = "review";

/// What is looked at.
struct Subject {
    title: String,
    description: String,
    offer: Offer,
}

/// Makes the task and runs it.
pub fn review(cli: &Cli, asked: &Reviewed) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let source = cli.app.source()?;
    let project = cli.app.files(&source)?.read()?;
    let subject = if let Some(number) = forge::number(&asked.what) {
        let offered = acquit_run::offered::fetch(&cli.app.world, &project.config, &source, number)
            .map_err(|source| Error::Request { number, source })?;
        let here = &offered.seen.url;
        if asked.what.contains("://") && !asked.what.starts_with(here.as_str()) {
            return Err(Error::OtherRequest { what: asked.what.clone(), here: here.clone() });
        }
        Subject {
            title: format!("Review request {number}: {}", offered.seen.title),
            description: format!("{}\n\n{}", offered.seen.url, offered.seen.text),
            offer: offered.offer,
        }
    } else {
        let base = asked.base.as_deref().or(project.config.base.as_deref());
        let onto = source.base(&cli.app.world.git, base)?;
        let head = source.base(&cli.app.world.git, Some(&asked.what))?;
        let offer = source.offer(&cli.app.world.git, head.commit.as_str(), onto.commit.as_str())?;
        Subject { title: format!("Review {}", asked.what), description: String::new(), offer }
    };
    let Offer { head, base } = &subject.offer;
    if head == base {
        return Err(Error::NothingToReview { what: asked.what.clone() });
    }
    let new = NewTask {
        title: subject.title,
        description: subject.description,
        means: Means {
            workflow: Some(asked.means.workflow.clone().unwrap_or(Name::literal(WORKFLOW))),
            ..asked.means.clone().into()
        },
        variables: vec![("since".to_owned(), base.to_string())],
        ..NewTask::default()
    };
    preflight::check_new(&cli.app, &project, &new.means)?;
    let metadata = std::collections::BTreeMap::new();
    let origin = Origin { source, project, id: None, category: None, metadata, by: cli.app.person() };
    let task = cli.app.create_with(store, &new, origin, Some(subject.offer))?;
    run_task(cli, store, &task, 0)
}
