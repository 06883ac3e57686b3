//! `acquit task …`: lists, shows, adds, edits, retries, answers and cancels tasks.

use acquit_core::decide::Input;
use acquit_core::human_request::Answer;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;

use acquit_core::task::State;
use acquit_core::time::{Span, Timestamp};

use crate::args::TaskVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::text;
use crate::verbs::{inbox, run};
use acquit_app::Error;
use acquit_app::answer::Reply;
use acquit_app::reload::Renewal;
use acquit_app::tasks::{self, Wanted};

/// Runs one of the commands.
pub fn task(cli: &Cli, verb: TaskVerb) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let store = store.as_mut();
    let printer = cli.printer;
    let task = match verb {
        TaskVerb::List { all_projects, state, tags, project: named, older_than, newer_than, limit } => {
            // A name selects among the tasks of all repositories; a path is a repository.
            let path = named.as_deref().filter(|named| named.contains('/') || named.starts_with('.'));
            let path = path.and_then(|path| std::fs::canonicalize(path).ok());
            let project = match (&path, all_projects || named.is_some()) {
                (Some(path), _) => Some(cli.app.project_at(path)),
                (None, true) => None,
                (None, false) => cli.app.project_here(),
            };
            let wanted = Wanted {
                project,
                state,
                tags,
                name: named.filter(|_| path.is_none()),
                before: older_than.map(|span| ago(store, span)).transpose()?,
                since: newer_than.map(|span| ago(store, span)).transpose()?,
                ..Wanted::default()
            };
            let listed = tasks::list(store, &wanted, limit)?;
            if let (Some(name), true) = (&wanted.name, listed.tasks.is_empty()) {
                tasks::refuse_unknown_project(store, name)?;
            }
            printer.tasks(&listed);
            return Ok(Exit::Done);
        }
        TaskVerb::Show { task } => return show(cli, task),
        TaskVerb::Add { task } => {
            let description = run::description(&task)?;
            let task = cli.app.create(store, &task.request(description))?;
            printer.say(&format!("added; `acquit run {}` runs it", task.id()));
            task
        }
        TaskVerb::Retry { task, stage, note, pinned } => {
            let input = Input::Retry { by: cli.app.person(), stage, note };
            let renewal = Renewal { pinned, ..Renewal::default() };
            let task = cli.app.decide_with(store, task, Some(&input), &renewal)?;
            printer.say(&format!("ready again; `acquit run {}` runs it", task.id()));
            task
        }
        TaskVerb::Answer { task, approve, reject, choose, text } => {
            let answer = match (approve, reject, choose, text.as_slice()) {
                (_, Some(reason), _, _) => Answer::Reject { reason },
                (_, _, Some(option), _) => Answer::Choose { option },
                (_, _, _, [text]) => Answer::Text { text: text.clone() },
                (_, _, _, [_, ..]) => Answer::Each { answers: text },
                (_, None, None, []) => Answer::Approve,
            };
            inbox::give(cli, store, task, Reply::Exactly(answer), false)?
        }
        TaskVerb::Edit { task, edit } => {
            let task = cli.app.decide(store, task, &Input::Edit { edit: edit.into() })?;
            printer.say(&format!("{}: {}", task.id(), text::visible(&task.seed.wish.labels().to_string())));
            task
        }
        TaskVerb::Cancel { task } => {
            let task = cli.app.cancel(store, task)?;
            if let State::Working { .. } = task.state {
                printer.say(&format!("{}: its harness has been asked to stop", task.id()));
            }
            task
        }
    };
    if printer.json {
        printer.json(&task);
    } else {
        printer.data(&format!("{} {}", task.id(), task.state.idle_word()));
    }
    Ok(Exit::Done)
}

/// `acquit show`: prints one task in full, with evidence and next steps.
pub fn show(cli: &Cli, task: TaskId) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let mut details = tasks::show(store.as_mut(), task)?;
    if cli.app.runtime.shared {
        acquit_run::fleet::fetch_files(&cli.app.runtime, store.as_mut(), task)?;
        details.task = acquit_run::fleet::local_task(&cli.app.runtime, &details.task);
    }
    let dirty = cli.app.dirty_checkout(store.as_mut(), &details.task);
    cli.printer.task(&details, dirty.as_deref());
    Ok(Exit::Done)
}

fn ago(store: &mut dyn Store, span: Span) -> Result<Timestamp, Error> {
    Ok(Timestamp(store.now()?.0.saturating_sub_unsigned(u64::from(span))))
}
