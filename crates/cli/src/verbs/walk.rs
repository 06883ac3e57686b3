//! Answers human requests one by one on the terminal: `acquit inbox`, and the key `a` of `acquit top`.

use std::io::{BufRead, Read};

use acquit_core::artifact::Artifact;
use acquit_core::gate::Verdict;
use acquit_core::human_request::{Answer, Ask, HumanRequest, Kind, Question};
use acquit_core::store::Store;
use acquit_core::task::{State, Task};
use acquit_core::workflow::Workflow;
use acquit_run::git::Form;

use crate::cli::Cli;
use crate::report::{Look, text};
use acquit_app::Error;
use acquit_app::answer::{Leads, Reply, Seen, conflict, leads, review};
use acquit_app::history::history;

/// Maximum length of an answer: more is a file.
const ANSWER_LIMIT: u64 = 256 * 1024;

/// The user's choice for a request.
enum Choice {
    /// Answer it.
    Reply(Reply),
    /// Leave it for later.
    Later,
    /// Stop answering.
    Quit,
}

/// Returns the newest tasks that need input, the oldest of them first, and whether there are more; of all projects if
/// `project` is `None`.
pub fn waiting(
    cli: &Cli,
    store: &mut dyn Store,
    project: Option<String>,
    limit: u32,
) -> Result<(Vec<Task>, bool), Error> {
    let (mut tasks, more) = cli.app.inbox(store, project, None, limit)?;
    tasks.reverse();
    Ok((tasks, more))
}

/// Goes through the requests. Returns the number of answers.
pub fn walk(cli: &Cli, store: &mut dyn Store, tasks: &[Task]) -> Result<usize, Error> {
    let mut answered = 0;
    for (index, task) in tasks.iter().enumerate() {
        let State::Waiting { request } = &task.state else { continue };
        heading(cli, task, request, index + 1, tasks.len());
        let reply = match choose(cli, store, task, request)? {
            Choice::Reply(reply) => reply,
            Choice::Later => continue,
            Choice::Quit => break,
        };
        // An answer refers to the work that was shown.
        let seen = Seen { request: request.number, commit: Some(task.tip.clone()) };
        match cli.app.reply_seen(store, task.id(), &seen, reply) {
            Ok(task) => {
                answered += 1;
                cli.printer.data(&format!("{} {}", task.id(), task.state.idle_word()));
            }
            // Someone else was faster, or the answer does not fit. Continue with the others.
            Err(error @ (Error::Illegal { .. } | Error::Answered { .. } | Error::WorkChanged { .. })) => {
                cli.printer.warn(&format!("failed to {}", acquit_run::harness::chain(&error)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(answered)
}

fn heading(cli: &Cli, task: &Task, request: &HumanRequest, number: usize, of: usize) {
    let printer = cli.printer;
    let seed = &task.seed;
    let place = format!("{} · {} · {}", text::visible(&seed.project.name), seed.workflow, request.stage);
    let id = printer.paint(Look::Strong, &seed.id.to_string());
    let count = printer.paint(Look::Notable, &format!("? {number} of {of}"));
    printer.data("");
    printer.data(&format!("{count}   {id}  {}", text::line(&task.listed_title(), 100)));
    printer.data(&printer.paint(Look::Faint, &format!("  {place}")));
}

fn choose(cli: &Cli, store: &mut dyn Store, task: &Task, request: &HumanRequest) -> Result<Choice, Error> {
    let printer = cli.printer;
    match &request.ask {
        Ask::Question { questions } if !questions.is_empty() => questions_of(cli, questions),
        Ask::Question { .. } => {
            printer.ask(&request.question, None);
            Ok(words(&read(cli, "answer, enter: later, q: quit")?))
        }
        Ask::Choice { options } => {
            printer.ask(&request.question, None);
            subject(cli, store, task);
            option(cli, store, task, &options.iter().map(ToString::to_string).collect::<Vec<_>>())
        }
        Ask::Stage { outcomes } => {
            printer.ask(&request.question, None);
            subject(cli, store, task);
            let all: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
            // These two are decisions about the work: one names the commit, the other has words.
            let decides = |name: &str| ["approved", "rejected"].contains(&name);
            if all.iter().filter(|name| decides(name)).count() == 2 {
                let others: Vec<String> = all.into_iter().filter(|name| !decides(name)).collect();
                decision(cli, store, task, &approve(task), &others)
            } else {
                option(cli, store, task, &all)
            }
        }
        Ask::Approval { .. } => {
            printer.ask(&request.question, None);
            subject(cli, store, task);
            decision(cli, store, task, &approve(task), &[])
        }
        Ask::Budget { .. } | Ask::Stuck => {
            printer.ask(&request.question, None);
            background(cli, task);
            decision(cli, store, task, "try again", &[])
        }
    }
}

/// Maximum number of conflicting places and findings to print.
const PLACES: usize = 10;

/// Prints both sides of a conflict, and what a review found.
fn background(cli: &Cli, task: &Task) {
    let printer = cli.printer;
    let title = |words: &str| printer.data(&printer.paint(Look::Faint, &format!("  {words}")));
    for hunk in conflict(task).map(|(_, hunks)| hunks).unwrap_or_default().iter().take(PLACES) {
        printer.data(&format!("  {}:{}", text::line(&hunk.path, 200), hunk.line));
        for (side, lines) in [("on the base branch", &hunk.branch), ("this task", &hunk.task)] {
            title(side);
            lines.lines().for_each(|line| printer.data(&format!("    {}", text::visible(line))));
        }
    }
    for found in review(task).iter().take(PLACES) {
        let place = format!("{}:{}", text::line(&found.file, 200), found.line);
        printer.data(&format!("  {} {place} {}", found.severity.word(), text::line(&found.problem, 300)));
    }
}

/// Asks each question of a request.
fn questions_of(cli: &Cli, questions: &[Question]) -> Result<Choice, Error> {
    let mut answers = Vec::new();
    for (index, question) in questions.iter().enumerate() {
        if questions.len() > 1 {
            let count = format!("  question {} of {}", index + 1, questions.len());
            cli.printer.data(&cli.printer.paint(Look::Faint, &count));
        }
        cli.printer.ask(&question.question, Some(question));
        let hint = match (question.kind, question.options.is_empty()) {
            (Kind::YesNo, _) => "yes or no",
            (_, false) => "a number, or your own words",
            (_, true) => "answer",
        };
        let line = read(cli, &format!("{hint}, enter: later, q: quit"))?;
        match line.as_str() {
            "" => return Ok(Choice::Later),
            "q" => return Ok(Choice::Quit),
            "y" if question.kind == Kind::YesNo => answers.push("yes".to_owned()),
            "n" if question.kind == Kind::YesNo => answers.push("no".to_owned()),
            _ => answers.push(line),
        }
    }
    Ok(Choice::Reply(Reply::Words(answers)))
}

fn option(cli: &Cli, store: &mut dyn Store, task: &Task, options: &[String]) -> Result<Choice, Error> {
    for (index, option) in options.iter().enumerate() {
        cli.printer.data(&format!("  {}) {}", index + 1, text::visible(option)));
    }
    loop {
        let line = read(cli, "a number, d: diff, enter: later, q: quit")?;
        if line == "d" {
            diff(cli, store, task);
            continue;
        }
        return Ok(words(&line));
    }
}

/// Names the commit that is approved.
fn approve(task: &Task) -> String {
    let is_changed = task.tip != task.base();
    if is_changed { format!("approve {} and no other", short(&task.tip)) } else { "approve".to_owned() }
}

/// Describes where an answer leads.
fn lead(task: &Task, workflow: &Workflow, answer: Answer) -> Option<String> {
    Some(match leads(task, workflow, answer)? {
        Leads::Stage { stage, round: Some((spent, limit)) } => format!("{stage}, round {spent} of {limit}"),
        Leads::Stage { stage, round: None } => stage,
        Leads::Done => "the end: the task is done".to_owned(),
        Leads::Asks | Leads::Ends => return None,
    })
}

/// Asks yes or no, and shows the consequences of each. `others` are further outcomes to choose by number.
fn decision(
    cli: &Cli,
    store: &mut dyn Store,
    task: &Task,
    yes: &str,
    others: &[String],
) -> Result<Choice, Error> {
    let printer = cli.printer;
    let workflow = store.definition(task.id())?.workflow;
    let approved = lead(task, &workflow, Answer::Approve).map(|to| format!("; goes to {to}"));
    let rejected = Answer::Reject { reason: "no".to_owned() };
    let no = match leads(task, &workflow, rejected.clone()) {
        Some(Leads::Asks) => "leave it to a person".to_owned(),
        _ => lead(task, &workflow, rejected)
            .map_or_else(|| "end the task".to_owned(), |to| format!("send it back to {to}, with your words")),
    };
    printer.data(&format!("  y  {yes}{}", approved.unwrap_or_default()));
    printer.data(&format!("  n  {no}"));
    for (index, option) in others.iter().enumerate() {
        printer.data(&format!("  {}  {}", index + 1, text::visible(option)));
    }
    let number = if others.is_empty() { "" } else { " a number," };
    loop {
        let line = read(cli, &format!("y, n,{number} d: diff, enter: later, q: quit"))?;
        let other = line.parse::<usize>().ok().and_then(|number| others.get(number.checked_sub(1)?));
        if let Some(option) = other {
            return Ok(Choice::Reply(Reply::Exactly(Answer::Choose { option: option.clone() })));
        }
        match line.as_str() {
            "y" => return Ok(Choice::Reply(Reply::Approve)),
            "n" => {
                let reason = read(cli, "why not? (enter: leave it)")?;
                if !reason.is_empty() {
                    return Ok(Choice::Reply(Reply::Reject(reason)));
                }
            }
            "d" => diff(cli, store, task),
            "" => return Ok(Choice::Later),
            "q" => return Ok(Choice::Quit),
            _ => printer.say("y approves, n rejects"),
        }
    }
}

/// Returns an abbreviated commit id.
fn short(commit: &str) -> String {
    text::visible(commit.get(..10).unwrap_or(commit))
}

/// Prints the subject of the decision: the commit, its target, its size, and the newest verdict of each gate.
fn subject(cli: &Cli, store: &mut dyn Store, task: &Task) {
    let printer = cli.printer;
    let faint = |word: &str| printer.paint(Look::Faint, &format!("  {word:<8}"));
    let diff = task.artifacts.iter().find_map(|artifact| match artifact {
        Artifact::Diff(stats) => {
            let files = if stats.files == 1 { "file" } else { "files" };
            Some(format!("   +{} −{} in {} {files}", stats.insertions, stats.deletions, stats.files))
        }
        _ => None,
    });
    let commit =
        format!("{}  {}{}", short(&task.tip), text::line(task.headline(), 80), diff.unwrap_or_default());
    printer.data(&format!("{}{commit}", faint("commit")));
    let branch = task.seed.base.branch.as_deref().unwrap_or("a commit");
    printer.data(&format!("{}{} at {}", faint("onto"), text::line(branch, 80), short(task.base())));
    // A history that cannot be read must not hide the question.
    let verdicts = history(store, task.id()).unwrap_or_default();
    let mark = |verdict: &Verdict| {
        let (look, sign) = match (verdict.passed, verdict.rejects()) {
            (true, _) => (Look::Good, "✓"),
            (false, true) => (Look::Bad, "✗"),
            (false, false) => (Look::Faint, "!"),
        };
        format!("{} {}", printer.paint(look, sign), verdict.gate)
    };
    let marks: Vec<String> = verdicts.newest_verdicts().into_iter().map(mark).collect();
    if !marks.is_empty() {
        printer.data(&format!("{}{}", faint("gates"), marks.join("  ")));
    }
    for said in task.account() {
        printer.data(&format!("{}{}", faint("said"), text::line(&said, 200)));
    }
}

fn diff(cli: &Cli, store: &mut dyn Store, task: &Task) {
    match cli.app.diff(store, task.id(), Form::Patch) {
        Ok(diff) => cli.printer.diff(&String::from_utf8_lossy(&diff.text)),
        Err(error) => cli.printer.warn(&format!("failed to {}", acquit_run::harness::chain(&error))),
    }
}

/// Interprets a line of input where words are expected.
fn words(line: &str) -> Choice {
    match line {
        "" => Choice::Later,
        "q" => Choice::Quit,
        line => Choice::Reply(Reply::Words(vec![line.to_owned()])),
    }
}

/// Reads a line from the terminal. End of file means quit.
fn read(cli: &Cli, hint: &str) -> Result<String, Error> {
    cli.printer.say(&cli.printer.paint(Look::Faint, &format!("  [{hint}]")));
    let mut line = String::new();
    let file = |source| Error::File { doing: "read", path: "standard input".into(), source };
    let count = std::io::stdin().lock().take(ANSWER_LIMIT).read_line(&mut line).map_err(file)?;
    Ok(if count == 0 { "q".to_owned() } else { line.trim().to_owned() })
}
