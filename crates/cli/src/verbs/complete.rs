//! `acquit complete`: lists completions for a shell's completion script. Only those that a script cannot know: task
//! IDs, names of agents and workflows, states. The script has everything else.
//!
//! Finds the argument at the cursor from the command line's definition, so a new verb that takes a task needs no
//! change here.

use clap::{Command, CommandFactory};

use acquit_core::config::Product;
use acquit_core::store::Filter;
use acquit_run::agent::Facts;

use crate::args::Args;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::text;
use acquit_app::tasks::STATES;

/// Maximum number of tasks to offer, newest first.
const MOST: u32 = 50;
/// Maximum width of a title.
const TITLE: usize = 50;

/// What to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Task,
    Agent,
    /// An agent that `acquit agents` can try: one of the project, or one that acquit knows.
    Tried,
    Workflow,
    State,
}

/// Prints one candidate per line: the word, a tab, a description. Skips everything that it cannot find out, because
/// a shell cannot show errors.
pub fn complete(cli: &Cli, words: &[String]) -> Exit {
    let found = match at_cursor(words) {
        Some(What::Task) => tasks(cli),
        Some(What::Agent) => of_project(cli, What::Agent),
        Some(What::Tried) => tried(cli),
        Some(What::Workflow) => of_project(cli, What::Workflow),
        Some(What::State) => STATES.iter().map(|state| ((*state).to_owned(), String::new())).collect(),
        None => Vec::new(),
    };
    for (word, about) in found {
        cli.printer.data(format!("{word}\t{about}").trim_end());
    }
    Exit::Done
}

/// Returns the kind of the last word, which may be empty or incomplete. `words` starts after `acquit`.
fn at_cursor(words: &[String]) -> Option<What> {
    let (last, before) = words.split_last()?;
    if last.starts_with('-') {
        return None;
    }
    let mut command = Args::command();
    let mut positional = 0;
    let mut option = None;
    for word in before {
        if option.take().is_some() {
            continue;
        }
        if let Some(named) = word.strip_prefix('-') {
            option = takes_value(&command, named).map(|arg| arg.get_id().to_string());
        } else if let Some(below) = command.find_subcommand(word) {
            command = below.clone();
            positional = 0;
        } else {
            positional += 1;
        }
    }
    let id = option.or_else(|| {
        // The last one may take several words.
        let several = |arg: &&clap::Arg| matches!(arg.get_action(), clap::ArgAction::Append);
        let at = command.get_positionals().nth(positional);
        let arg = at.or_else(|| command.get_positionals().last().filter(several))?;
        Some(arg.get_id().to_string())
    });
    match id?.as_str() {
        "task" => Some(What::Task),
        // `acquit run T-7` continues a task.
        "title" if command.get_name() == "run" => Some(What::Task),
        "agent" => Some(What::Agent),
        "names" if command.get_name() == "agents" => Some(What::Tried),
        "workflow" => Some(What::Workflow),
        "state" => Some(What::State),
        _ => None,
    }
}

/// Returns the option with this name (without its first dash), if its value is the next word.
fn takes_value<'c>(command: &'c Command, named: &str) -> Option<&'c clap::Arg> {
    let arg = command.get_arguments().find(|arg| match named.strip_prefix('-') {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| named.strip_prefix(short) == Some("")),
    })?;
    arg.get_action().takes_values().then_some(arg)
}

fn tasks(cli: &Cli) -> Vec<(String, String)> {
    let filter = Filter { project: cli.app.project_here(), ended: true, limit: MOST, ..Filter::default() };
    let list = cli.app.store().ok().and_then(|mut store| store.list(&filter).ok()).unwrap_or_default();
    list.into_iter().map(|task| (task.id.to_string(), text::line(&task.title, TITLE))).collect()
}

fn tried(cli: &Cli) -> Vec<(String, String)> {
    let mut found = of_project(cli, What::Agent);
    for product in Product::ALL {
        if found.iter().all(|(name, _)| name != product.name()) {
            found.push((product.name().to_owned(), Facts::of(*product).title.to_owned()));
        }
    }
    found
}

fn of_project(cli: &Cli, what: What) -> Vec<(String, String)> {
    let project = cli.app.source().and_then(|source| cli.app.files(&source)).and_then(|files| files.look());
    let Ok(project) = project else { return Vec::new() };
    if what == What::Agent {
        let adapter = |agent: &acquit_core::config::Agent| agent.adapter.name().to_owned();
        return project
            .config
            .agents
            .iter()
            .map(|(name, agent)| (name.to_string(), adapter(agent)))
            .collect();
    }
    let origin =
        |known: &acquit_app::project::Known| (known.name.to_string(), known.origin.words().to_owned());
    project.workflows.iter().map(origin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_at_the_cursor_is_known() {
        let at = |line: &str| at_cursor(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in
            ["show ", "diff T", "logs -f ", "task retry ", "merge --json ", "run ", "task retry --note x "]
        {
            assert_eq!(at(line), Some(What::Task), "{line:?}");
        }
        for line in
            ["", "task ", "show T-1 ", "run --", "run x ", "task retry --note ", "run --base ", "diff --st"]
        {
            assert_eq!(at(line), None, "{line:?}");
        }
        assert_eq!(at("run x --agent "), Some(What::Agent));
        for line in ["agents ", "agents --ask ", "agents claude co"] {
            assert_eq!(at(line), Some(What::Tried), "{line:?}");
        }
        assert_eq!(at("run -w fe"), Some(What::Workflow));
        assert_eq!(at("task list --state "), Some(What::State));
    }
}
