//! Read-only routes for everything except tasks and schedules: projects, workflows, costs, agents, settings, the
//! machine, tokens and the audit log.

use std::collections::BTreeMap;
use std::path::PathBuf;

use acquit_app::figures::{Bill, Dear};
use acquit_app::stats;
use acquit_app::{doctor, settings};
use acquit_core::store::Filter;
use acquit_core::time::Timestamp;
use acquit_core::workflow::Work;
use acquit_run::agent::{Facts, discovery};
use acquit_run::sandbox::machine::{Need, State};
use serde_json::Value;

use super::audit;
use super::problem::Problem;
use super::route::{At, Context, Route, get};
use super::schema::{answer, input};
use super::types::{Moment, Nothing, Page, Project};
use crate::access::{Files, Role};

/// Maximum number of tasks to search for the projects they belong to.
const TASKS: u32 = 100_000;

/// Returns the routes.
pub fn routes() -> Vec<Route> {
    vec![
        get("/version", "getVersion", "Show the version of the server", version),
        get("/whoami", "getCaller", "Show the name and role of your token", whoami),
        get("/projects", "listProjects", "List repositories that have tasks", projects),
        get("/workflows", "listWorkflows", "List workflows of a repository", workflows),
        get("/workflows/{name}", "getWorkflow", "Show a workflow with its stages", workflow),
        get(
            "/stats",
            "getStats",
            "Show cost, time and success by project, workflow, agent, model and day, the most expensive tasks, and agents compared",
            costs,
        ),
        get("/agents", "listAgents", "List coding agents that are installed or configured", agents),
        get("/settings", "listSettings", "List settings in effect with their origin", list_settings),
        get("/doctor", "getDoctor", "Show what this machine can enforce and what it lacks", examine),
        get("/tokens", "listTokens", "List named tokens", tokens).for_role(Role::Admin),
        get("/audit", "listAudit", "List writes with who made them, newest first", audit_log)
            .for_role(Role::Admin),
    ]
}

input! {
    /// Selects a repository.
    ProjectQuery {
        /// Repository, by path or short name. Defaults to the one the server runs in.
        project: Option<String> = { "minLength": 1, "maxLength": 4096 },
    }

    /// Selects entries of the audit log.
    AuditQuery {
        /// Maximum number of items.
        limit: Option<u32> = { "minimum": 1, "maximum": 500 },
        /// `next` of the previous page.
        cursor: Option<String> = { "pattern": "^[0-9]{1,18}-[0-9]{1,9}$" },
    }

    /// Selects the tasks to count.
    StatsQuery {
        /// Only tasks added in the last N days.
        days: Option<u32> = { "minimum": 1, "maximum": 3650 },
        /// Maximum number of tasks, newest first.
        limit: Option<u32> = { "minimum": 1, "maximum": 10_000 },
    }

    /// Selects settings.
    SettingsQuery {
        /// Repository, by path or short name. Defaults to the one the server runs in.
        project: Option<String> = { "minLength": 1, "maxLength": 4096 },
        /// Include the stage settings of this workflow.
        workflow: Option<String> = { "pattern": "^[a-z0-9][a-z0-9_-]{0,47}$" },
    }
}

answer! {
    /// Version of the server.
    Version {
        /// Version of acquit.
        version: String,
        /// Version of the API.
        api: String,
    }

    /// The caller.
    Whoami {
        /// Name of the token or the user.
        name: String,
        /// Role: viewer, operator or admin.
        role: String,
    }

    /// A workflow.
    Workflow {
        /// Name.
        name: String,
        /// Origin: shipped, project or overrides_shipped.
        origin: String,
        /// Description.
        description: String,
        /// Whether it can be used here.
        usable: bool,
        /// First stage of a task.
        start: Option<String>,
        /// Stages.
        stages: Vec<Stage>,
    }

    /// A stage of a workflow.
    Stage {
        /// Name.
        name: String,
        /// Kind: agent, check, action or human.
        kind: String,
        /// Gates of the stage.
        gates: Vec<String>,
        /// Stage that fixes what a gate rejects.
        fix: Option<String>,
        /// Next stage for each outcome.
        on: BTreeMap<String, String>,
    }

    /// Costs and results.
    Stats {
        /// Number of counted tasks.
        tasks: u64,
        /// Whether there are more tasks than the limit.
        more: bool,
        /// Cost in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
        /// By project. Each task counts once.
        projects: BTreeMap<String, Group>,
        /// By workflow. Each task counts once.
        workflows: BTreeMap<String, Group>,
        /// By agent. Each leg counts.
        agents: BTreeMap<String, Group>,
        /// By model. Each leg counts.
        models: BTreeMap<String, Group>,
        /// Cost of completed tasks in millionths of a dollar.
        proven_micros: u64,
        /// By day in the server's time zone, such as 2026-11-19. Each leg counts on the day it started.
        days: BTreeMap<String, Group>,
        /// The most expensive tasks.
        dearest: Vec<Dearest>,
        /// Agents compared by model.
        compared: Vec<Contender>,
    }

    /// One of the most expensive tasks.
    Dearest {
        /// Task id.
        id: String,
        /// Title.
        title: String,
        /// Cost in millionths of a dollar.
        cost_micros: Option<u64>,
        /// Cost limit in millionths of a dollar.
        limit_micros: Option<u64>,
    }

    /// Results of a week.
    Week {
        /// Finished tasks that were added in it, without cancelled ones.
        tasks: u64,
        /// Completed tasks among them.
        done: u64,
    }

    /// Results of an agent with a model. A task counts for the agent and model that first wrote its change.
    Contender {
        /// Agent.
        agent: String,
        /// Model.
        model: String,
        /// Finished tasks, without cancelled ones.
        tasks: u64,
        /// Completed tasks among them.
        done: u64,
        /// First attempts at gated stages.
        first_tries: u64,
        /// First attempts that passed their gates.
        first_passed: u64,
        /// Legs that fixed what gates rejected.
        fixes: u64,
        /// Cost in millionths of a dollar, including failed work.
        cost_micros: Option<u64>,
        /// Median run time of a task in milliseconds.
        median_ms: Option<u64>,
        /// By week, named by its Monday.
        weeks: BTreeMap<String, Week>,
    }

    /// A group of tasks or legs.
    Group {
        /// Number of tasks or legs.
        count: u64,
        /// Number that succeeded.
        succeeded: u64,
        /// Number that ended otherwise.
        failed: u64,
        /// Run time of the legs in milliseconds.
        ran_ms: u64,
        /// Number of tokens.
        tokens: u64,
        /// Cost in millionths of a dollar; null if no price is known.
        cost_micros: Option<u64>,
        /// Part of the cost that went into completed tasks.
        proven_micros: u64,
    }

    /// A coding agent.
    Agent {
        /// Name.
        name: String,
        /// Display name.
        title: Option<String>,
        /// Whether the project configures it.
        configured: bool,
        /// Path of its program; null if it is not installed.
        program: Option<String>,
        /// Version that acquit was tested with.
        tried: Option<String>,
    }

    /// A setting in effect.
    Setting {
        /// Key.
        key: String,
        /// Value.
        value: Value,
        /// Origin: built-in, user, project, role, workflow or run.
        origin: String,
        /// File that sets it.
        file: Option<String>,
        /// Line in the file.
        line: Option<u64>,
    }

    /// Capabilities of the machine.
    Doctor {
        /// Whether everything tasks need is available.
        complete: bool,
        /// The capabilities.
        abilities: Vec<Ability>,
    }

    /// A capability of the machine.
    Ability {
        /// Name.
        name: String,
        /// Whether it is available.
        there: bool,
        /// Need: always, wall or useful.
        need: String,
        /// What was found.
        found: String,
        /// What happens if it is missing.
        consequence: String,
        /// How to get it.
        fix: Option<String>,
    }

    /// A named token.
    Token {
        /// Name.
        name: String,
        /// Role: viewer, operator or admin.
        role: String,
        /// Creation time.
        created: Moment,
    }

    /// A write request.
    AuditEntry {
        /// Time.
        at: Moment,
        /// Who sent it.
        actor: String,
        /// Role of the actor.
        role: String,
        /// Method and path.
        request: String,
        /// HTTP status of the response.
        status: u32,
    }
}

/// Returns the folder of a known repository: the one the server runs in, or one that has tasks. A caller cannot point
/// the server at any other folder.
pub fn project(cx: &mut Context<'_>, named: Option<&str>) -> Result<PathBuf, Problem> {
    let here = cx.app.project_here();
    let Some(named) = named else {
        let none = || {
            Problem::new("unprocessable", "the server does not run in a repository").hint("name a project")
        };
        return here.map(PathBuf::from).ok_or_else(none);
    };
    let known = known_projects(cx)?;
    let found = known.into_iter().find(|project| project.path == named || project.name == named);
    found.map(|project| PathBuf::from(project.path)).ok_or_else(|| {
        let detail = format!("there is no project {named} here");
        Problem::new("unprocessable", detail).hint("GET /api/v1/projects lists those that are known")
    })
}

/// Returns the repositories that have tasks, and the one the server runs in.
fn known_projects(cx: &mut Context<'_>) -> Result<Vec<Project>, Problem> {
    let mut all: Vec<Project> = Vec::new();
    if let Some(path) = cx.app.project_here() {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        all.push(Project { name, path });
    }
    let filter = Filter { ended: true, limit: TASKS, ..Filter::default() };
    for task in cx.store.list(&filter)? {
        if all.iter().all(|known| known.name != task.project) {
            let seed = cx.store.task(task.id)?.seed;
            all.push((&seed.project).into());
        }
    }
    Ok(all)
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a handler")]
fn version(_: &mut Context<'_>, _: &At, _: Nothing) -> Result<Version, Problem> {
    Ok(Version { version: super::VERSION.to_owned(), api: "v1".to_owned() })
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a handler")]
fn whoami(cx: &mut Context<'_>, _: &At, _: Nothing) -> Result<Whoami, Problem> {
    Ok(Whoami { name: cx.caller.name.clone(), role: cx.caller.role.name().to_owned() })
}

fn projects(cx: &mut Context<'_>, _: &At, _: Nothing) -> Result<Vec<Project>, Problem> {
    known_projects(cx)
}

fn of_project(cx: &mut Context<'_>, named: Option<&str>) -> Result<acquit_app::project::Project, Problem> {
    let top = project(cx, named)?;
    Ok(cx.app.files_at(&top)?.look()?)
}

fn workflows(cx: &mut Context<'_>, _: &At, query: ProjectQuery) -> Result<Vec<Workflow>, Problem> {
    Ok(of_project(cx, query.project.as_deref())?.workflows.iter().map(Workflow::from).collect())
}

fn workflow(cx: &mut Context<'_>, at: &At, query: ProjectQuery) -> Result<Workflow, Problem> {
    let name = at.name()?;
    let project = of_project(cx, query.project.as_deref())?;
    let known = project.workflows.iter().find(|known| known.name == name);
    known.map(Workflow::from).ok_or_else(|| Problem::new("not-found", format!("there is no workflow {name}")))
}

impl From<&acquit_app::project::Known> for Workflow {
    fn from(known: &acquit_app::project::Known) -> Self {
        let origin = match known.origin {
            acquit_app::project::Origin::Shipped => "shipped",
            acquit_app::project::Origin::Project => "project",
            acquit_app::project::Origin::OverridesShipped => "overrides_shipped",
        };
        let (name, origin) = (known.name.to_string(), origin.to_owned());
        let Ok(read) = &known.read else {
            return Self {
                name,
                origin,
                description: String::new(),
                usable: false,
                start: None,
                stages: Vec::new(),
            };
        };
        let stage = |stage: &acquit_core::workflow::Stage| Stage {
            name: stage.name.to_string(),
            kind: match stage.work {
                Work::Agent(_) => "agent",
                Work::Check => "check",
                Work::Action { .. } => "action",
                Work::Human { .. } => "human",
            }
            .to_owned(),
            gates: stage.gates.iter().map(ToString::to_string).collect(),
            fix: stage.fix.as_ref().map(ToString::to_string),
            on: stage.on.iter().map(|(outcome, way)| (outcome.to_string(), targets(way))).collect(),
        };
        Self {
            name,
            origin,
            description: read.description.clone(),
            usable: true,
            start: Some(read.start.to_string()),
            stages: read.stages.iter().map(stage).collect(),
        }
    }
}

fn targets(way: &acquit_core::workflow::Transition) -> String {
    way.to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn dearest(one: Dear) -> Dearest {
    Dearest {
        id: one.id.to_string(),
        title: one.title,
        cost_micros: one.usage.paid(),
        limit_micros: one.limit,
    }
}

fn contender(one: stats::Contender) -> Contender {
    let median = one.results.median();
    Contender {
        agent: one.agent,
        model: one.model,
        tasks: one.results.tasks,
        done: one.results.done,
        first_tries: one.results.first_tries,
        first_passed: one.results.first_passed,
        fixes: one.results.fixes,
        cost_micros: one.results.cost,
        median_ms: median.map(|median| u64::try_from(median.as_millis()).unwrap_or(u64::MAX)),
        weeks: one
            .weeks
            .into_iter()
            .map(|(week, stats::Week { tasks, done })| (week, Week { tasks, done }))
            .collect(),
    }
}

fn costs(cx: &mut Context<'_>, _: &At, query: StatsQuery) -> Result<Stats, Problem> {
    let now = cx.store.now()?;
    let since = query.days.map(|days| Timestamp(now.0 - i64::from(days) * 86_400_000));
    let most = query.limit.unwrap_or(1_000) as usize;
    let stats = {
        let index = cx.shared.whole_index(cx.store)?;
        let tasks = index.all().filter(|task| since.is_none_or(|since| task.created >= since));
        stats::Stats { more: tasks.clone().nth(most).is_some(), ..stats::of(tasks.take(most), now) }
    };
    let groups = |groups: BTreeMap<String, Bill>| {
        let group = |(name, group): (String, Bill)| {
            let shown = Group {
                count: group.count,
                succeeded: group.succeeded,
                failed: group.failed,
                ran_ms: group.ran_millis,
                tokens: group.usage.tokens(),
                cost_micros: group.cost_micros,
                proven_micros: group.proven_micros,
            };
            (name, shown)
        };
        groups.into_iter().map(group).collect()
    };
    Ok(Stats {
        tasks: stats.tasks,
        more: stats.more,
        cost_micros: stats.cost_micros,
        projects: groups(stats.projects),
        workflows: groups(stats.workflows),
        agents: groups(stats.agents),
        models: groups(stats.models),
        proven_micros: stats.proven_micros,
        days: groups(stats.days),
        dearest: stats.dearest.into_iter().map(dearest).collect(),
        compared: stats.compared.into_iter().map(contender).collect(),
    })
}

fn agents(cx: &mut Context<'_>, _: &At, query: ProjectQuery) -> Result<Vec<Agent>, Problem> {
    use acquit_core::config::{Adapter, Product};
    let config = match (of_project(cx, query.project.as_deref()), query.project) {
        (Ok(project), _) => project.config,
        (Err(problem), Some(_)) => return Err(problem),
        (Err(_), None) => acquit_core::config::Config::default(),
    };
    let runtime = &cx.app.runtime;
    let shown = |path: PathBuf| path.display().to_string();
    let mut all = Vec::new();
    for (name, agent) in &config.agents {
        let product = match agent.adapter {
            Adapter::Product { product } => Some(product),
            Adapter::Command { .. } | Adapter::Acp { .. } | Adapter::Scripted { .. } => None,
        };
        let program = product.and_then(|product| discovery::find(runtime, product, agent.program.as_deref()));
        all.push(Agent {
            name: name.to_string(),
            title: product.map(|product| Facts::of(product).title.to_owned()),
            configured: true,
            program: program.map(shown),
            tried: product.map(|product| Facts::of(product).tried.to_string()),
        });
    }
    for &product in Product::ALL {
        let facts = Facts::of(product);
        let is_this = |agent: &acquit_core::config::Agent| matches!(agent.adapter, Adapter::Product { product: one } if one == product);
        if !config.agents.values().any(is_this) {
            all.push(Agent {
                name: product.name().to_owned(),
                title: Some(facts.title.to_owned()),
                configured: false,
                program: discovery::find(runtime, product, None).map(shown),
                tried: Some(facts.tried.to_string()),
            });
        }
    }
    Ok(all)
}

fn list_settings(cx: &mut Context<'_>, _: &At, query: SettingsQuery) -> Result<Vec<Setting>, Problem> {
    let top = project(cx, query.project.as_deref())?;
    let means = acquit_app::Means {
        workflow: query.workflow.and_then(|name| name.parse().ok()),
        ..acquit_app::Means::default()
    };
    let run = settings::Run { means, variables: Vec::new() };
    let all = settings::settings(&cx.app.files_at(&top)?, &run)?;
    let setting = |setting: settings::Setting| Setting {
        key: setting.key,
        value: setting.value,
        origin: setting.origin.to_owned(),
        file: setting.file.map(|file| file.display().to_string()),
        line: setting.line.map(|line| line as u64),
    };
    Ok(all.into_iter().map(setting).collect())
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a handler")]
fn examine(cx: &mut Context<'_>, _: &At, _: Nothing) -> Result<Doctor, Problem> {
    let list = doctor::examine(cx.app);
    let need = |need: Need| match need {
        Need::Always => "always",
        Need::Wall => "wall",
        Need::Useful => "useful",
    };
    let complete = doctor::is_complete(&list);
    let ability = |ability: acquit_run::sandbox::machine::Ability| Ability {
        there: ability.is_there(),
        name: ability.name,
        need: need(ability.need).to_owned(),
        found: match ability.state {
            State::Yes(found) | State::No(found) => found,
        },
        consequence: ability.consequence,
        fix: ability.mend,
    };
    Ok(Doctor { complete, abilities: list.into_iter().map(ability).collect() })
}

fn tokens(cx: &mut Context<'_>, _: &At, _: Nothing) -> Result<Vec<Token>, Problem> {
    let token = |token: crate::access::Named| Token {
        name: token.name,
        role: token.role.name().to_owned(),
        created: token.created.into(),
    };
    Ok(cx.shared.guard.tokens().list()?.into_iter().map(token).collect())
}

fn audit_log(cx: &mut Context<'_>, _: &At, query: AuditQuery) -> Result<Page<AuditEntry>, Problem> {
    let files = Files::below(&cx.app.surroundings.home);
    let entry = |entry: audit::Entry| AuditEntry {
        at: Timestamp(entry.at.0).into(),
        actor: entry.actor,
        role: entry.role,
        request: entry.request,
        status: u32::from(entry.status),
    };
    let limit = usize::try_from(query.limit.unwrap_or(100)).unwrap_or(100);
    let after = query.cursor.as_deref().and_then(audit::Cursor::parse);
    let (entries, next) = audit::newest(&files, after, limit)?;
    Ok(Page { items: entries.into_iter().map(entry).collect(), next: next.map(audit::Cursor::text) })
}
