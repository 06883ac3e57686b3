//! Creates a task in which the shipped reviewers review a branch or a pull request at the forge. Changes, pushes and
//! posts nothing; the findings are the result.

use acquit_core::ids::Name;
use acquit_core::store::Store;
use acquit_core::task::Task;
use acquit_run::forge;
use acquit_run::git::Offer;

use crate::options::Means;
use crate::preflight;
use crate::task::{NewTask, Origin};
use crate::{App, Error};

/// What to review.
#[derive(Clone, Debug)]
pub struct Reviewed {
    /// A branch or commit, or the number or URL of a pull request.
    pub what: String,
    /// What to merge it into. Defaults to the project's base.
    pub base: Option<String>,
    /// Workflow, agent and model.
    pub means: Means,
}

/// Default workflow.
const WORKFLOW: &str = "review";

/// The reviewed change.
struct Subject {
    title: String,
    description: String,
    offer: Offer,
}

impl App {
    /// Creates the review task.
    pub fn review(&self, store: &mut dyn Store, asked: &Reviewed) -> Result<Task, Error> {
        let source = self.source()?;
        let project = self.files(&source)?.read()?;
        let subject = if let Some(number) = forge::number(&asked.what) {
            if asked.base.is_some() {
                return Err(Error::NoEffect { flag: "--base", with: format!("with pull request {number}") });
            }
            let offered = acquit_run::external_pull_request::fetch(
                &self.runtime,
                &project.config,
                &source,
                &source,
                number,
            )
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
            let onto = source.base(&self.runtime.git, base)?;
            let head = source.base(&self.runtime.git, Some(&asked.what))?;
            let offer = source.offer(&self.runtime.git, head.commit.as_str(), onto.commit.as_str())?;
            Subject { title: format!("Review {}", asked.what), description: String::new(), offer }
        };
        let Offer { head, base } = &subject.offer;
        if head == base {
            return Err(Error::NothingToReview { what: asked.what.clone() });
        }
        let workflow = asked.means.workflow.clone().unwrap_or(Name::literal(WORKFLOW));
        let new = NewTask {
            title: subject.title,
            description: subject.description,
            means: Means { workflow: Some(workflow), ..asked.means.clone() },
            variables: vec![("since".to_owned(), base.to_string())],
            ..NewTask::default()
        };
        preflight::check_new(self, &project, &new.means)?;
        let metadata = std::collections::BTreeMap::new();
        let origin = Origin { source, project, id: None, category: None, metadata, by: self.person() };
        self.create_with(store, &new, origin, Some(subject.offer))
    }
}
