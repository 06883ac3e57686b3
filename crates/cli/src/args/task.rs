//! Arguments of `acquit task` and `acquit run`.

use clap::Subcommand;

use acquit_core::config::is_model;
use acquit_core::ids::{Name, TaskId};
use acquit_core::labels::Edit;
use acquit_core::task::TICKET;
use acquit_core::time::Span;

/// A task to create.
#[derive(clap::Args, Debug, Default)]
pub struct NewTask {
    /// The task in one line; or the id of an existing task.
    pub title: String,
    /// More details; `-` reads standard input.
    #[arg(short, long)]
    pub description: Option<String>,
    #[command(flatten)]
    pub means: Means,
    /// Start from this branch or commit [default: the current branch]
    #[arg(short, long)]
    pub base: Option<String>,
    /// Priority; higher runs first [default: 0]
    #[arg(long, allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// Add a tag; repeatable.
    #[arg(long = "tag")]
    pub tags: Vec<String>,
    /// Estimated size, such as `small`, `XL`, `2 days`. Agents see it.
    #[arg(long, value_parser = word)]
    pub size: Option<String>,
    /// Estimated complexity. Agents see it.
    #[arg(long, value_parser = word)]
    pub complexity: Option<String>,
    /// The ticket, such as ABC-123. Agents see it.
    #[arg(long, value_parser = word)]
    pub ticket: Option<String>,
    /// Metadata as NAME=VALUE; repeatable. Agents see it.
    #[arg(long = "meta", value_name = "NAME=VALUE", value_parser = metadata)]
    pub metadata: Vec<(String, String)>,
    /// Set a template variable as NAME=VALUE; repeatable.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = key_value)]
    pub variables: Vec<(String, String)>,
    #[command(flatten)]
    pub limits: Limits,
}

/// Limits of one run.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Limits {
    /// Stop and ask when this run has cost this many dollars, such as 2.50.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<u64>,
    /// Stop and ask when this run's legs have taken this long, such as 90m.
    #[arg(long, value_name = "TIME", value_parser = run_time)]
    pub max_time: Option<Span>,
}

impl From<Limits> for acquit_app::Limits {
    fn from(limits: Limits) -> Self {
        Self { max_cost: limits.max_cost, max_time: limits.max_time }
    }
}

impl From<Means> for acquit_app::Means {
    fn from(means: Means) -> Self {
        Self { workflow: means.workflow, agent: means.agent, model: means.model }
    }
}

impl NewTask {
    /// Returns the request for a new task, with its description from `--description` or stdin.
    pub fn request(&self, description: String) -> acquit_app::NewTask {
        acquit_app::NewTask {
            title: self.title.clone(),
            description,
            means: self.means.clone().into(),
            base: self.base.clone(),
            priority: self.priority,
            tags: self.tags.clone(),
            size: self.size.clone(),
            complexity: self.complexity.clone(),
            ticket: self.ticket.clone(),
            metadata: self.metadata.clone(),
            variables: self.variables.clone(),
            limits: self.limits.into(),
        }
    }
}

/// Overrides of the project's workflow, agent and model.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Means {
    /// Use this workflow.
    #[arg(short, long)]
    pub workflow: Option<Name>,
    /// Use this agent at every stage.
    #[arg(long)]
    pub agent: Option<Name>,
    /// Use this model, or alias of `[models]`, at every stage.
    #[arg(long, value_parser = model)]
    pub model: Option<String>,
}

/// Subcommands of `acquit task`.
#[derive(Subcommand, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one, read from the command line")]
pub enum TaskVerb {
    /// List the tasks of this repository, or of all repositories outside of one.
    List {
        /// Include all repositories.
        #[arg(long)]
        all_projects: bool,
        /// Only tasks in this state: ready, working, cancelling, waiting, blocked, done, failed, no_improvement, cancelled.
        #[arg(long)]
        state: Option<String>,
        /// Only tasks with this tag; repeatable.
        #[arg(long = "tag")]
        tags: Vec<String>,
        /// Only tasks of the repository with this name or path.
        #[arg(long, conflicts_with = "all_projects")]
        project: Option<String>,
        /// Only tasks older than this: 7d, 12h, 30m.
        #[arg(long, value_parser = span, value_name = "TIME")]
        older_than: Option<Span>,
        /// Only tasks newer than this.
        #[arg(long, value_parser = span, value_name = "TIME")]
        newer_than: Option<Span>,
        /// Show at most this many, newest first.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show a task: state, legs, gates, artifacts and cost.
    Show {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Add a task without running it. `acquit run T-1` runs it later.
    Add {
        #[command(flatten)]
        task: NewTask,
    },
    /// Retry a waiting, failed or cancelled task with fresh budgets. Then continue it with `acquit run T-1`.
    Retry {
        /// The task, such as T-1.
        task: TaskId,
        /// Start at this stage instead of where it stopped.
        #[arg(long)]
        stage: Option<Name>,
        /// A note for the agent.
        #[arg(long)]
        note: Option<String>,
        /// Keep the workflow and configuration the task was created with.
        #[arg(long)]
        pinned: bool,
    },
    /// Answer a task's question. Then continue it with `acquit run T-1`.
    #[command(group = clap::ArgGroup::new("answer").required(true))]
    Answer {
        /// The task, such as T-1.
        task: TaskId,
        /// Approve.
        #[arg(long, group = "answer")]
        approve: bool,
        /// Reject, with the reason.
        #[arg(long, group = "answer", value_name = "REASON")]
        reject: Option<String>,
        /// Choose an option.
        #[arg(long, group = "answer", value_name = "OPTION")]
        choose: Option<String>,
        /// Answer in words; repeat for several questions, in order.
        #[arg(long, group = "answer", value_name = "WORDS")]
        text: Vec<String>,
    },
    /// Change the priority, size, complexity, ticket, tags or metadata of a task that has not ended. The next leg sees them.
    #[command(group = clap::ArgGroup::new("edit").required(true).multiple(true))]
    Edit {
        /// The task, such as T-1.
        task: TaskId,
        #[command(flatten)]
        edit: TaskEdit,
    },
    /// Cancel a task. Its work so far is kept.
    Cancel {
        /// The task, such as T-1.
        task: TaskId,
    },
}

/// What `acquit task edit` changes.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct TaskEdit {
    /// Set the priority; higher runs first.
    #[arg(long, group = "edit", allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// Set the estimated size.
    #[arg(long, group = "edit", value_parser = word)]
    pub size: Option<String>,
    /// Set the estimated complexity.
    #[arg(long, group = "edit", value_parser = word)]
    pub complexity: Option<String>,
    /// Set the ticket.
    #[arg(long, group = "edit", value_parser = word)]
    pub ticket: Option<String>,
    /// Set metadata as NAME=VALUE; repeatable.
    #[arg(long = "meta", group = "edit", value_name = "NAME=VALUE", value_parser = metadata)]
    pub metadata: Vec<(String, String)>,
    /// Remove `size`, `complexity`, `ticket` or this metadata; repeatable.
    #[arg(long, group = "edit", value_name = "NAME", value_parser = word)]
    pub unset: Vec<String>,
    /// Add a tag; repeatable.
    #[arg(long = "tag", group = "edit", value_parser = word)]
    pub tags: Vec<String>,
    /// Remove a tag; repeatable.
    #[arg(long = "untag", group = "edit", value_name = "TAG")]
    pub untag: Vec<String>,
}

impl From<TaskEdit> for Edit {
    fn from(given: TaskEdit) -> Self {
        let mut edit = Self {
            priority: given.priority,
            size: given.size,
            complexity: given.complexity,
            add_tags: given.tags,
            remove_tags: given.untag,
            metadata: given.metadata.into_iter().collect(),
        };
        edit.metadata.extend(given.ticket.map(|ticket| (TICKET.to_owned(), ticket)));
        for name in given.unset {
            match name.as_str() {
                "size" => edit.size = Some(String::new()),
                "complexity" => edit.complexity = Some(String::new()),
                _ => drop(edit.metadata.insert(name, String::new())),
            }
        }
        edit
    }
}

/// Parses a duration.
pub fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).ok_or_else(|| "must be a length of time such as 90m or 7d".to_owned())
}

fn model(text: &str) -> Result<String, String> {
    if is_model(text) { Ok(text.to_owned()) } else { Err("must be the name of a model".to_owned()) }
}

/// Maximum length of a size, complexity, ticket or metadata value.
const LONGEST_WORD: usize = 200;

fn word(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text {
        "" => Err("must not be empty".to_owned()),
        _ if text.chars().count() > LONGEST_WORD => Err(format!("must have at most {LONGEST_WORD} letters")),
        _ if text.contains(char::is_control) => Err("must be one line".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn metadata(text: &str) -> Result<(String, String), String> {
    use acquit_core::night::key;
    let (name, value) = key_value(text)?;
    if key::ALL.contains(&name.as_str()) || name == TICKET {
        return Err(format!("`{name}` is set by acquit itself; choose another name"));
    }
    Ok((word(&name)?, word(&value)?))
}

pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}

fn dollars(text: &str) -> Result<u64, String> {
    const MOST: f64 = 1_000_000.0;
    let amount = text.trim().trim_start_matches('$').parse::<f64>().ok();
    let Some(amount) = amount.filter(|amount| *amount > 0.0 && *amount <= MOST) else {
        return Err("must be an amount of dollars such as 2.50".to_owned());
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10^12")]
    let micros = (amount * 1e6).round() as u64;
    Ok(micros)
}

fn run_time(text: &str) -> Result<Span, String> {
    Span::parse(text)
        .filter(|span| u64::from(*span) > 0)
        .ok_or_else(|| "must be a length of time such as 90m or 2h".to_owned())
}
