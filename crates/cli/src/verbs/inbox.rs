//! `acquit inbox`, `answer`, `approve`, `reject`: lists and answers human requests.

use std::io::{BufRead, IsTerminal, Read};

use acquit_core::human_request::Ask;
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use acquit_core::task::{State, Task};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::walk;
use acquit_app::Error;
use acquit_app::answer::Reply;
use acquit_app::suggest;

/// Maximum length of an answer: more is a file.
const ANSWER_LIMIT: u64 = 256 * 1024;

/// Whose requests to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Requests of this repository.
    Here,
    /// Requests of all repositories.
    All,
}

/// Goes through the requests one by one on a terminal; elsewhere, or with `list`, lists them.
pub fn inbox(cli: &Cli, whose: Whose, limit: u32, list: bool) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let project = match whose {
        Whose::All => None,
        Whose::Here => cli.app.project_here(),
    };
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if terminal && !list && !cli.printer.json {
        let (tasks, more) = walk::waiting(cli, store.as_mut(), project, limit)?;
        if tasks.is_empty() {
            cli.printer.say("nothing waits for you");
        }
        if more {
            cli.printer.cut(tasks.len());
        }
        walk::walk(cli, store.as_mut(), &tasks)?;
        return Ok(Exit::Done);
    }
    let (tasks, more) = cli.app.inbox(store.as_mut(), project, None, limit)?;
    cli.printer.inbox(&tasks);
    if more {
        cli.printer.cut(tasks.len());
    }
    Ok(Exit::Done)
}

/// Answers with text or an option.
///
/// Several questions take one answer each: as separate arguments, or in sequence on the terminal.
pub fn answer(cli: &Cli, task: TaskId, words: Vec<String>, pinned: bool) -> Result<Exit, Error> {
    let words = match words.as_slice() {
        [only] if only == "-" => vec![from_stdin()?],
        [] => asked(cli, task)?,
        _ => words,
    };
    reply(cli, task, Reply::Words(words), pinned)
}

/// Approves a request.
pub fn approve(cli: &Cli, task: TaskId, pinned: bool) -> Result<Exit, Error> {
    reply(cli, task, Reply::Approve, pinned)
}

/// Rejects a request.
pub fn reject(cli: &Cli, task: TaskId, reason: String) -> Result<Exit, Error> {
    reply(cli, task, Reply::Reject(reason), true)
}

fn reply(cli: &Cli, task: TaskId, reply: Reply, pinned: bool) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let task = give(cli, store.as_mut(), task, reply, pinned)?;
    if cli.printer.json {
        cli.printer.json(&task);
    } else {
        cli.printer.data(&format!("{} {}", task.id(), task.state.idle_word()));
    }
    Ok(Exit::Done)
}

/// Replies to a task's request, and prints what to do next.
pub fn give(cli: &Cli, store: &mut dyn Store, id: TaskId, reply: Reply, pinned: bool) -> Result<Task, Error> {
    let task = cli.app.reply(store, id, reply, pinned)?;
    if matches!(task.state, State::Working { .. }) {
        cli.printer.say(&format!("answered; `acquit run {}` goes on with it", task.id()));
    }
    Ok(task)
}

/// Asks the user question by question.
fn asked(cli: &Cli, task: TaskId) -> Result<Vec<String>, Error> {
    let mut input = std::io::stdin().lock();
    let known = cli.app.store()?.task(task)?;
    let commands = suggest::in_words(&suggest::answer_commands(&known));
    let unanswered = || Error::NoAnswer { task, commands: commands.clone() };
    if cli.printer.json || !input.is_terminal() {
        return Err(unanswered());
    }
    let State::Waiting { request } = &known.state else { return Err(unanswered()) };
    let questions = match &request.ask {
        Ask::Question { questions } => questions.as_slice(),
        Ask::Choice { .. } | Ask::Approval { .. } | Ask::Stage { .. } | Ask::Budget { .. } | Ask::Stuck => {
            &[]
        }
    };
    let mut read = || -> Result<String, Error> {
        let mut line = String::new();
        let file = |source| Error::File { doing: "read", path: "standard input".into(), source };
        input.by_ref().take(ANSWER_LIMIT).read_line(&mut line).map_err(file)?;
        Ok(line.trim().to_owned())
    };
    if questions.is_empty() {
        cli.printer.ask(&request.question, None);
        return Ok(vec![read()?]);
    }
    let mut answers = Vec::new();
    for question in questions {
        cli.printer.ask(&question.question, Some(question));
        answers.push(read()?);
    }
    Ok(answers)
}

fn from_stdin() -> Result<String, Error> {
    let mut text = String::new();
    let file = |source| Error::File { doing: "read", path: "standard input".into(), source };
    std::io::stdin().take(ANSWER_LIMIT).read_to_string(&mut text).map_err(file)?;
    Ok(text.trim().to_owned())
}
