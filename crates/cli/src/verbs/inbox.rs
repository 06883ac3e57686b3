//! `acquit inbox`, `answer`, `approve`, `reject`: what waits for a person, and what the person says to it.

use std::io::{BufRead, IsTerminal, Read};

use acquit_core::decide::Input;
use acquit_core::ids::TaskId;
use acquit_core::request::{Answer, Ask, Kind, Question};
use acquit_core::store::{Filter, Store};
use acquit_core::task::{State, Task};

use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;
use acquit_app::renew::Renewal;

/// An answer longer than this is a file, not an answer.
const ANSWER_LIMIT: u64 = 256 * 1024;

/// Whose requests are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Those of this repository.
    Here,
    /// Those of all repositories.
    All,
}

/// Lists what waits for a person.
pub fn inbox(cli: &Cli, whose: Whose, limit: u32) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let project = match whose {
        Whose::All => None,
        Whose::Here => cli.app.project_here(),
    };
    let most = limit.saturating_add(1).min(100_000);
    let filter = Filter { project, state: Some("waiting".to_owned()), ended: false, limit: most };
    let mut tasks = Vec::new();
    let mut found = store.list(&filter)?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    for summary in found {
        let task = store.task(summary.id)?;
        // Somebody may have answered since the list was read.
        tasks.extend(Some(task).filter(|task| matches!(task.state, State::Waiting { .. })));
    }
    cli.printer.inbox(&tasks);
    if more {
        cli.printer.say(&format!("only the newest {limit}; --limit shows more"));
    }
    Ok(Exit::Done)
}

/// Answers in words, or with one of the options.
///
/// Several questions take one answer each: as so many words, or one after another at the terminal.
pub fn answer(cli: &Cli, task: TaskId, words: Vec<String>, pinned: bool) -> Result<Exit, Error> {
    let words = match words.as_slice() {
        [only] if only == "-" => vec![from_stdin()?],
        [] => asked(cli, task)?,
        _ => words,
    };
    said(cli, task, pinned, |ask| match words.as_slice() {
        [only] => understood(ask, only),
        several => Answer::Each { answers: each(ask, several) },
    })
}

/// One answer for each question: words, or an option by its name or number.
fn each(ask: Option<&Ask>, words: &[String]) -> Vec<String> {
    let questions = match ask {
        Some(Ask::Question { questions }) => questions.as_slice(),
        Some(_) | None => &[],
    };
    let one = |(at, words): (usize, &String)| {
        let alone = |question: &Question| Ask::Question { questions: vec![question.clone()] };
        match questions.get(at).map(|question| understood(Some(&alone(question)), words)) {
            Some(Answer::Choose { option }) => option,
            Some(_) | None => words.clone(),
        }
    };
    words.iter().enumerate().map(one).collect()
}

/// Asks the person at the terminal, question by question.
fn asked(cli: &Cli, task: TaskId) -> Result<Vec<String>, Error> {
    let mut input = std::io::stdin().lock();
    if cli.printer.json || !input.is_terminal() {
        return Err(Error::NoAnswer(task));
    }
    let known = cli.app.store()?.task(task)?;
    let State::Waiting { request } = &known.state else { return Err(Error::NoAnswer(task)) };
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

/// Says yes.
pub fn approve(cli: &Cli, task: TaskId, pinned: bool) -> Result<Exit, Error> {
    said(cli, task, pinned, |ask| match ask.and_then(yes_or_no) {
        Some(_) => Answer::Text { text: "yes".to_owned() },
        None => Answer::Approve,
    })
}

/// Says no.
pub fn reject(cli: &Cli, task: TaskId, reason: String) -> Result<Exit, Error> {
    said(cli, task, true, |ask| match ask.and_then(yes_or_no) {
        Some(_) => Answer::Text { text: format!("no: {reason}") },
        None => Answer::Reject { reason },
    })
}

/// Gives an answer to a task, and says what follows.
pub fn give(
    cli: &Cli,
    store: &mut dyn Store,
    task: &Task,
    answer: Answer,
    pinned: bool,
) -> Result<Task, Error> {
    let request = match &task.state {
        State::Waiting { request } => request.number,
        State::New | State::Working { .. } | State::Blocked { .. } | State::Ended { .. } => 0,
    };
    let pinned = pinned || matches!(answer, Answer::Reject { .. });
    let input = Input::Answer { request, by: cli.app.person(), answer };
    let renewal = Renewal { pinned, ..Renewal::default() };
    let task = cli.app.decide_with(store, task.id(), Some(&input), &renewal)?;
    if matches!(task.state, State::Working { .. }) {
        cli.printer.say(&format!("answered; `acquit run {}` goes on with it", task.id()));
    }
    Ok(task)
}

fn said(
    cli: &Cli,
    task: TaskId,
    pinned: bool,
    answer: impl FnOnce(Option<&Ask>) -> Answer,
) -> Result<Exit, Error> {
    let mut store = cli.app.store()?;
    let known = store.task(task)?;
    let ask = match &known.state {
        State::Waiting { request } => Some(&request.ask),
        State::New | State::Working { .. } | State::Blocked { .. } | State::Ended { .. } => None,
    };
    let answer = answer(ask);
    let task = give(cli, store.as_mut(), &known, answer, pinned)?;
    if cli.printer.json {
        cli.printer.json(&task);
    } else {
        cli.printer.data(&format!("{} {}", task.id(), task.state.word()));
    }
    Ok(Exit::Done)
}

/// What words mean to a request: where there is something to choose, a name or a number chooses it.
fn understood(ask: Option<&Ask>, words: &str) -> Answer {
    let text = || Answer::Text { text: words.to_owned() };
    let chosen = |options: Vec<String>| {
        let number = words.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = || options.iter().find(|option| option.eq_ignore_ascii_case(words.trim()));
        named().or_else(|| options.get(number?)).cloned()
    };
    match ask {
        Some(Ask::Question { questions }) => match questions.as_slice() {
            [only] => {
                let names = only.options.iter().map(|option| option.name.clone()).collect();
                // A number that no option has is a mistake, and no words.
                let number = !only.options.is_empty() && words.trim().parse::<u64>().is_ok();
                let other =
                    || if number { Answer::Choose { option: words.trim().to_owned() } } else { text() };
                chosen(names).map_or_else(other, |option| Answer::Choose { option })
            }
            [] | [_, _, ..] => text(),
        },
        // What is none of them is refused, in words that name them.
        Some(Ask::Choice { options }) => {
            let names = options.iter().map(ToString::to_string).collect();
            Answer::Choose { option: chosen(names).unwrap_or_else(|| words.trim().to_owned()) }
        }
        Some(Ask::Stage { outcomes }) => {
            let names = outcomes.iter().map(ToString::to_string).collect();
            Answer::Choose { option: chosen(names).unwrap_or_else(|| words.trim().to_owned()) }
        }
        Some(Ask::Approval { .. } | Ask::Budget { .. } | Ask::Stuck) | None => text(),
    }
}

/// The question, if it is a single one that wants a yes or a no.
fn yes_or_no(ask: &Ask) -> Option<&Question> {
    match ask {
        Ask::Question { questions } => match questions.as_slice() {
            [only] if only.kind == Kind::YesNo => Some(only),
            _ => None,
        },
        Ask::Choice { .. } | Ask::Approval { .. } | Ask::Stage { .. } | Ask::Budget { .. } | Ask::Stuck => {
            None
        }
    }
}

fn from_stdin() -> Result<String, Error> {
    let mut text = String::new();
    let file = |source| Error::File { doing: "read", path: "standard input".into(), source };
    std::io::stdin().take(ANSWER_LIMIT).read_to_string(&mut text).map_err(file)?;
    Ok(text.trim().to_owned())
}
