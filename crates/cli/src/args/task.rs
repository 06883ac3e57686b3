//! Tasks on the command line: a new one, and what can be done with those that exist.

use clap::Subcommand;

use acquit_core::config::is_model;
use acquit_core::ids::{Name, TaskId};
use acquit_core::task::TICKET;
use acquit_core::time::Span;

/// A task to be made.
#[derive(clap::Args, Debug, Default)]
pub struct NewTask {
    /// What is wanted, in a line; or the id of a task that exists.
    pub title: String,
    /// The rest of what is wanted; `-` reads it from standard input.
    #[arg(short, long)]
    pub description: Option<String>,
    #[command(flatten)]
    pub means: Means,
    /// The branch or commit to start from, instead of what is checked out.
    #[arg(short, long)]
    pub base: Option<String>,
    /// Higher goes first; 0 if not given.
    #[arg(long, allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// A word to find it by; can be given several times.
    #[arg(long = "tag")]
    pub tags: Vec<String>,
    /// How large it is, by your guess: `small`, `XL`, `2 days`. Agents see it.
    #[arg(long, value_parser = word)]
    pub size: Option<String>,
    /// How hard it is, by your guess. Agents see it.
    #[arg(long, value_parser = word)]
    pub complexity: Option<String>,
    /// The ticket that it comes from, such as ABC-123. Agents see it.
    #[arg(long, value_parser = word)]
    pub ticket: Option<String>,
    /// Something else to keep with it, as NAME=VALUE; can be given several times. Agents see it.
    #[arg(long = "meta", value_name = "NAME=VALUE", value_parser = metadata)]
    pub metadata: Vec<(String, String)>,
    /// A variable for templates, as NAME=VALUE; can be given several times.
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = key_value)]
    pub variables: Vec<(String, String)>,
    #[command(flatten)]
    pub limits: Limits,
}

/// Limits of one run.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Limits {
    /// Stop and ask when the agents of this run have cost so many dollars, such as 2.50.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<u64>,
    /// Stop and ask when the legs of this run have taken so long, such as 90m.
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
    /// The request for the task. The description is what `--description` says, or what standard input has.
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

/// By what a task is done, where that is not as the project says.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct Means {
    /// The workflow to follow.
    #[arg(short, long)]
    pub workflow: Option<Name>,
    /// The agent that takes every stage of it, instead of those that the workflow and the project name.
    #[arg(long)]
    pub agent: Option<Name>,
    /// The model that is asked at every stage, or an alias of `[models]`.
    #[arg(long, value_parser = model)]
    pub model: Option<String>,
}

/// What can be done with tasks.
#[derive(Subcommand, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one, read from the command line")]
pub enum TaskVerb {
    /// List the tasks of this repository; outside of one, of all repositories.
    List {
        /// Those of all repositories.
        #[arg(long)]
        all_projects: bool,
        /// Only those in this state: ready, working, cancelling, waiting, blocked, done, failed, no_improvement, cancelled.
        #[arg(long)]
        state: Option<String>,
        /// Only those with this tag; can be given several times.
        #[arg(long = "tag")]
        tags: Vec<String>,
        /// Only those of the repository with this name or path, from anywhere.
        #[arg(long, conflicts_with = "all_projects")]
        project: Option<String>,
        /// Only those added before this time ago: 7d, 12h, 30m.
        #[arg(long, value_parser = span, value_name = "TIME")]
        older_than: Option<Span>,
        /// Only those added since this time ago.
        #[arg(long, value_parser = span, value_name = "TIME")]
        newer_than: Option<Span>,
        /// At most so many, newest first.
        #[arg(long, default_value_t = 50)]
        limit: u32,
    },
    /// Show one task: where it stands, its legs, gates, artifacts and cost.
    Show {
        /// The task, such as T-1.
        task: TaskId,
    },
    /// Add a task without running it. `acquit run T-1` runs it later.
    Add {
        #[command(flatten)]
        task: NewTask,
    },
    /// Try a task again that waits, failed or was cancelled, with all its budgets anew. `acquit run` then runs it.
    Retry {
        /// The task, such as T-1.
        task: TaskId,
        /// Begin at this stage instead of where it stopped.
        #[arg(long)]
        stage: Option<Name>,
        /// Words for the agent.
        #[arg(long)]
        note: Option<String>,
        /// Keep the workflow and configuration that the task was added with.
        #[arg(long)]
        pinned: bool,
    },
    /// Answer the question of a task that waits for a person. `acquit run` then goes on with it.
    #[command(group = clap::ArgGroup::new("answer").required(true))]
    Answer {
        /// The task, such as T-1.
        task: TaskId,
        /// Agree.
        #[arg(long, group = "answer")]
        approve: bool,
        /// Refuse, with the reason.
        #[arg(long, group = "answer", value_name = "REASON")]
        reject: Option<String>,
        /// Choose one of the options.
        #[arg(long, group = "answer", value_name = "OPTION")]
        choose: Option<String>,
        /// Answer in words; several times for several questions, in their order.
        #[arg(long, group = "answer", value_name = "WORDS")]
        text: Vec<String>,
    },
    /// End a task. What it did so far is kept.
    Cancel {
        /// The task, such as T-1.
        task: TaskId,
    },
}

/// A length of time.
pub fn span(text: &str) -> Result<Span, String> {
    Span::parse(text).ok_or_else(|| "must be a length of time such as 90m or 7d".to_owned())
}

fn model(text: &str) -> Result<String, String> {
    if is_model(text) { Ok(text.to_owned()) } else { Err("must be the name of a model".to_owned()) }
}

/// The longest size, complexity, ticket or value of metadata: they are words, not texts.
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
    if [key::SCHEDULE, key::NIGHT, key::REPOSITORY, key::EARLIER, TICKET].contains(&name.as_str()) {
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
