//! An agent's turn: its prompt, its start and its result.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::agent::{Fault, Session};
use acquit_core::artifact::Artifact;
use acquit_core::config::{Agent, Reporting};
use acquit_core::event::{self, Body, Level};
use acquit_core::failure::kind;
use acquit_core::ids::Name;
use acquit_core::leg::Ending;
use acquit_core::outcome;
use acquit_core::prompt::{self, Files, Tools};
use acquit_core::sandbox::Network;
use acquit_core::time::Span;
use acquit_core::workflow::{AgentWork, Refused, Work};

use super::end::{self, Turn};
use super::{backoff, earlier_files, review, session};
use crate::agent::{self, Launch, tools};
use crate::leg::blocked_connections::{BlockedConnection, without_spare};
use crate::leg::budget::Allowance;
use crate::leg::stall::{StallDetector, is_outage};
use crate::leg::{GRACE, Job, LegAbort, LegContext, ProgramSandbox, Watch, Who, WorkingTree, private, span};
use crate::mcp::{self, Brief, Progress};
use crate::process::{self, Limits, Spec, Stderr, Stdin, Stdout};
use crate::runtime::{LegFolder, Runtime};
use crate::sandbox::Commands;
use crate::secrets::{self, Secret, Vault};
use crate::transcript::Transcript;
use crate::turn_summary::TurnSummary;
use crate::versions;
use crate::workspace::{GUARDRAIL, REFUSED_COMMANDS};

/// Maximum amount of error output to show for a failed agent.
const ERRORS_SHOWN: u64 = 2_000;

/// How long an agent may keep running after it reported the end of its turn: time to close its connections. Some never
/// exit, because a process that they started is still running.
const LINGER: Duration = Duration::from_secs(10);

/// The agent of a stage.
pub(super) struct Chosen {
    name: Name,
    agent: Agent,
    /// Conversation to continue.
    session: Option<Session>,
    /// How the agent reports its outcome.
    reports: Reporting,
}

/// An agent that is ready to start.
pub(super) struct Ready {
    chosen: Chosen,
    network: Network,
    launch: Launch,
}

/// Result of a run.
pub(super) struct Ran {
    /// Summary of its output.
    pub(super) summary: TurnSummary,
}

/// Chooses the agent of this stage and the conversation to continue.
pub(super) fn choose(ctx: &mut LegContext<'_>, job: &Job<'_>, work: &AgentWork) -> Result<Chosen, LegAbort> {
    let config = &job.definition.config;
    let name = work.agent.as_ref().or(config.agent.as_ref()).ok_or_else(|| {
        let words = format!("stage {} names no agent, and the project has no default agent", job.stage.name);
        LegAbort::failed(kind::CONFIG, words)
    })?;
    let mut agent =
        config.agents.get(name).cloned().ok_or_else(|| {
            LegAbort::failed(kind::CONFIG, format!("the configuration has no agent `{name}`"))
        })?;
    agent.model = agent.model_for(work);
    agent.turns = job.stage.limits.turns.into_iter().chain(agent.turns).min();
    let left = |wanted: &&String| {
        let is_it = |one: &Artifact| matches!(one, Artifact::File { name, .. } if name == *wanted);
        job.task.artifacts.iter().any(is_it)
    };
    if let Some(missing) = work.inputs.iter().find(|name| !left(name)) {
        let words = format!("its agent needs the file `{missing}` (`inputs`), and no earlier stage left it");
        return Err(LegAbort::failed(kind::CONFIG, words));
    }
    let session = session::earlier(ctx, job, name, work.session);
    let reports = agent::reports(&agent).map_err(|error| LegAbort::config(&error))?;
    Ok(Chosen { name: name.clone(), agent, session, reports })
}

impl Chosen {
    /// Returns whether the prompt must include the repository's `AGENTS.md`.
    pub(super) fn needs_agents_md(&self) -> bool {
        !crate::agent::tools::reads_agents_md(&self.agent.adapter)
    }

    /// Returns whether the agent continues a conversation that a limit of its provider interrupted. It remembers what
    /// it wrote, so its files must be restored.
    pub(super) fn goes_on(&self, job: &Job<'_>) -> bool {
        let last = job.task.past.last().map(|past| &past.ending);
        self.session.is_some() && matches!(last, Some(Ending::Held { .. }))
    }
}

/// Creates the leg's directory with the prompt, the stub of the handoff file and the data for acquit's tools.
pub(super) fn context(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    folder: &LegFolder,
    chosen: &Chosen,
    subject: Option<&review::Subject>,
    files: Files<'_>,
    agents_md: Option<&str>,
) -> Result<(), LegAbort> {
    let memory = match chosen.session {
        Some(_) => prompt::Memory::Conversation,
        None => prompt::Memory::None,
    };
    let (handoff, output_dir) = (folder.handoff(), folder.output_dir());
    let tools = match chosen.reports {
        Reporting::Tools => Tools::Offered,
        Reporting::Structured => Tools::Form,
        Reporting::File => Tools::Absent,
    };
    let parts = prompt::Parts {
        task: job.task,
        definition: job.definition,
        entry: job.entry,
        leg: ctx.hold.leg,
        date: &date((ctx.runtime.now)().0),
        handoff_file: &handoff.to_string_lossy(),
        output_dir: &output_dir.to_string_lossy(),
        memory,
        tools,
        change: subject.map(|subject| &subject.change),
        files,
        agents_md,
    };
    let prompt = prompt::build(&parts).and_then(|prompt| Ok((prompt, prompt::sections(&parts)?)));
    let (prompt, mut sections) = prompt
        .map_err(|error| LegAbort::failed(kind::HARNESS, format!("failed to build the prompt: {error}")))?;
    for section in &mut sections {
        section.text = ctx.redactor.text(&section.text);
    }
    let lines = subject.and_then(|subject| subject.lines.clone());
    let brief = Brief { review: lines, ..Brief::new(&job.stage.on, sections, folder) };
    let made = || -> std::io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&output_dir)?;
        private(&folder.prompt(), ctx.redactor.text(&prompt).as_bytes())?;
        if tools == Tools::Offered {
            private(&folder.tools(), &serde_json::to_vec(&brief)?)?;
        }
        private(&handoff, outcome::stub(&job.stage.on).as_bytes())
    };
    made().map_err(|error| LegAbort::file("write the prompt into", folder.path(), &error))
}

/// Prepares everything for starting the agent.
pub(super) fn configure(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    work: &AgentWork,
    chosen: Chosen,
) -> Result<Ready, LegAbort> {
    let config = &job.definition.config;
    let agent = &chosen.agent;
    let folder = ctx.runtime.leg_folder(ctx.hold.leg);
    let server = mcp::server(&ctx.runtime.spawner.helper, &folder.tools());
    let tools = (chosen.reports == Reporting::Tools).then_some(&server);
    let form = (chosen.reports == Reporting::Structured).then(|| outcome::form(&job.stage.on));
    let mut launch = agent::launch(&agent::Wanted {
        agent,
        runtime: ctx.runtime,
        mode: work.mode,
        allowed: work.tools(),
        commands: &work.commands,
        model: agent.model.as_deref().map(|name| config.model(name)),
        prompt: &folder.prompt(),
        output: &folder.output_dir(),
        settings: &folder.settings(),
        session: chosen.session.as_ref(),
        new_session: &agent::new_session(),
        tools,
        schema: form.as_ref(),
    })
    .map_err(|error| LegAbort::config(&error))?;
    if tools.is_some() {
        launch.parts.extend([ctx.runtime.spawner.helper.clone(), folder.tools()]);
    }
    launch.parts.extend(earlier_files::named(ctx, job, &work.inputs));
    settle(&launch, &folder)
        .map_err(|error| LegAbort::file("write the agent's settings into", folder.path(), &error))?;
    let granted =
        secrets::granted(&Vault::new(config, &ctx.runtime.environment, &ctx.runtime.spawner), agent, work)
            .map_err(|error| LegAbort::config(&error))?;
    ctx.redactor = ctx.redactor.with(&granted);
    launch.env.extend(granted.iter().map(Secret::variable));
    agent::billing::check(agent, &launch.env)
        .map_err(|error| LegAbort::failed(kind::LOGIN, error.to_string()))?;
    let attempt = 1 + job.task.past.iter().filter(|past| counts(past, job)).count();
    let mut set = |name: &str, value: OsString| launch.env.push((name.into(), value));
    set("ACQUIT_TASK", ctx.hold.leg.task.to_string().into());
    set("ACQUIT_LEG", ctx.hold.leg.to_string().into());
    set("ACQUIT_STAGE", job.stage.name.to_string().into());
    set("ACQUIT_ATTEMPT", attempt.to_string().into());
    set("ACQUIT_HANDOFF", folder.handoff().into());
    set("ACQUIT_OUTPUT", folder.output_dir().into());
    if let Some(session) = &chosen.session {
        set("ACQUIT_SESSION", session.id.clone().into());
    }
    let network = work.network.unwrap_or(config.network.agents);
    Ok(Ready { chosen, network, launch })
}

/// Writes the agent's settings files.
fn settle(launch: &Launch, folder: &LegFolder) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.settings())?;
    launch.files.iter().try_for_each(|(path, text)| private(path, text.as_bytes()))
}

/// Returns whether a past leg was an attempt at this stage. A lost leg was not, because its result is unknown.
fn counts(past: &acquit_core::leg::Past, job: &Job<'_>) -> bool {
    past.entry.stage == job.stage.name
        && !matches!(past.ending, Ending::Lost { .. } | Ending::Held { .. })
        && super::has_agent(&past.entry.purpose, &job.stage.work)
}

/// Starts the agent, watches it until it ends, and stores its output.
pub(super) fn run(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    folder: &LegFolder,
    ready: Ready,
    working_tree: &WorkingTree,
) -> Result<Ran, LegAbort> {
    let Ready { chosen: Chosen { name, agent, session, reports }, network, mut launch } = ready;
    let limits = &job.stage.limits;
    let allowance = Allowance::of(ctx, job)?;
    allowance.must_last()?;
    if allowance.has_caps()
        && let Some(words) = agent::limits::money(&name, &agent, &job.definition.config)
    {
        ctx.notice(Level::Warning, words);
    }
    let commands = commands(job, &agent, &launch, ctx.runtime, working_tree);
    let has_list = commands.is_some();
    let who = Who::Agent {
        login: &launch.login,
        hosts: &launch.hosts,
        parts: &launch.parts,
        placed: &launch.placed,
        commands,
    };
    let sandbox = ProgramSandbox::new(ctx, job, working_tree, "agent", network, &who)?;
    let settings = settings(ctx, &launch);
    let enclosed = sandbox.policy.is_some() && network == Network::Model;
    let written_in = versions::interpreter(&launch.program, &ctx.runtime.environment);
    if let Some(path) = versions::path(&working_tree.committed, &ctx.runtime.environment, Some(&written_in)) {
        launch.env.retain(|(name, _)| name != "PATH");
        launch.env.push(("PATH".into(), path));
    }
    launch.env.extend(sandbox.environment());
    let spec = Spec {
        program: launch.program,
        args: launch.args,
        cwd: working_tree.tree.clone(),
        env: launch.env,
        stdin: Stdin::File(folder.prompt()),
        stdout: Stdout::Truncate(folder.output()),
        stderr: Stderr::File(folder.errors()),
        limits: Limits {
            time: limits.time.duration(),
            idle: limits.idle.map(Span::duration),
            output: limits.output,
            grace: GRACE,
        },
        policy: sandbox.policy.clone(),
    };
    forget_refused(working_tree);
    let child = ctx.runtime.spawner.spawn(&spec).map_err(|error| not_started(&name, &error))?;
    ctx.note(Body::AgentStarted {
        agent: name.to_string(),
        adapter: agent.adapter.name().to_owned(),
        containment: format!("{}; {}", sandbox.words(child.missing()), child.containment()),
    });
    sandbox.announce(ctx, "the agent", child.missing());
    if has_list && sandbox.policy.is_none() {
        let words = "the agent can run other commands than the stage's `commands`: without a sandbox, nothing refuses them";
        ctx.notice(Level::Warning, words.to_owned());
    }
    let hearing = agent::Hearing {
        before: session.as_ref().map(|session| session.total.clone()).unwrap_or_default(),
        model: agent.model.as_deref().map(|name| job.definition.config.model(name).to_owned()),
        structured: reports == Reporting::Structured,
        billing: agent.billing,
        prices: job.definition.config.prices.clone(),
        now: ctx.runtime.now,
    };
    let parser = agent::parser(&agent.adapter, hearing);
    let (tells, shown) = (parser.tells(), parser.turns());
    let mut transcript = Transcript::new(parser, ctx.redactor.clone());
    let mut watch = Watch::new(ctx, Some(&mut transcript)).ending_within(LINGER);
    watch.progress = Some(Progress::new(folder.progress()));
    let stall = StallDetector::new(sandbox.log().to_owned(), &launch.hosts, enclosed, allowance)
        .sparing(launch.spare_hosts)
        .limiting(shown, agent.turns);
    let git = working_tree.written.join(".git");
    watch.stall = Some(stall.halting(refused_commands(job).iter().map(|name| git.join(name)).collect()));
    // The agent runs on its own now: a good moment to show others the progress so far.
    watch.flush();
    let ended = child.watch(&mut watch).map_err(|error| LegAbort::harness(&error));
    // Redact before anything is read from the files, however the agent ended.
    let cleaned = watch.ctx.redactor.folder(folder.path());
    crate::workspace::strip_privileges(&folder.output_dir());
    let (broken, cancelled, lingered) = (watch.broken.take(), watch.cancelled, watch.lingered);
    // Include a command that was rejected just before the end.
    let refused = watch.stall.as_ref().and_then(StallDetector::refused_command);
    let stopped = watch.stopped.take().or(refused);
    if let Some(error) = broken {
        return Err(error.into());
    }
    let ended = ended?;
    cleaned.map_err(|error| LegAbort::file("take secrets out of", folder.path(), &error))?;
    watch.finish()?;
    let summary = transcript.summary;
    ctx.session =
        summary.session.as_ref().map(|id| Box::new(continued(&name, id, session.as_ref(), &summary)));
    let exit = match &ended.exit {
        _ if lingered => event::Exit::Other(format!(
            "stayed for {LINGER:?} after it had said how its turn ended, and was ended"
        )),
        process::Exit::Code(code) => event::Exit::Code(*code),
        other => event::Exit::Other(other.to_string()),
    };
    ctx.note(Body::AgentEnded {
        exit,
        took: span(ended.duration),
        output: ended.output_bytes,
        left: ended.left,
        unknown: summary.unknown.clone(),
    });
    let connections = without_spare(sandbox.connections(), launch.spare_hosts);
    let refusal = BlockedConnection::of(&connections, &launch.hosts).or_else(|| {
        let unreached = enclosed && summary.fault.as_ref().is_some_and(is_outage);
        let settings = settings.iter().map(|text| Cow::from(text.as_str())).filter(|_| unreached);
        BlockedConnection::of_unreached(&connections, &launch.hosts, settings).filter(|_| unreached)
    });
    sandbox.end(ctx, "the agent");
    if cancelled {
        return Err(LegAbort::Leg(Ending::Cancelled));
    }
    let turn = Turn {
        agent: &name,
        stage: &job.stage.name,
        exit: ended.exit,
        lingered,
        stopped,
        refusal,
        hosts: &launch.hosts,
        network,
        tells,
        summary: &summary,
        errors: &crate::untrusted::tail(&folder.errors(), ERRORS_SHOWN),
        clock: backoff::Clock {
            now: (ctx.runtime.now)(),
            waiting: &job.definition.config.waiting,
            before: job.task.spent.get(kind::OVERLOAD).copied().unwrap_or(0),
        },
    };
    if summary.fault.as_ref().is_some_and(|trouble| trouble.fault == Fault::TooLong) {
        // Continuing the conversation would only make it longer.
        ctx.session = None;
    }
    match end::meaning(&turn) {
        None => Ok(Ran { summary }),
        Some(ending) => Err(LegAbort::Leg(ending)),
    }
}

/// Returns the names of the files that record rejected commands which end the stage.
fn refused_commands(job: &Job<'_>) -> &'static [&'static str] {
    let Work::Agent(work) = &job.stage.work else { return &[] };
    match work.refused {
        Refused::Told => &[],
        Refused::Guarded => &[GUARDRAIL],
        Refused::Halts => &[GUARDRAIL, REFUSED_COMMANDS],
    }
}

/// Removes what an earlier leg recorded: it must not end this one.
fn forget_refused(working_tree: &WorkingTree) {
    let git = working_tree.written.join(".git");
    // No agent runs now, but an earlier one may have left a symlink.
    if git.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        for name in [GUARDRAIL, REFUSED_COMMANDS] {
            let _ = fs::remove_file(git.join(name));
        }
    }
}

/// Returns what the sandbox needs to know about the commands of a stage, if it lists any and the agent does not refuse
/// others on its own.
fn commands(
    job: &Job<'_>,
    agent: &Agent,
    launch: &Launch,
    runtime: &Runtime,
    working_tree: &WorkingTree,
) -> Option<Commands> {
    let Work::Agent(work) = &job.stage.work else { return None };
    let refuses_itself =
        matches!(tools::hold_commands(&agent.adapter), tools::Hold::Refused | tools::Hold::Lacking);
    if work.commands.is_empty() || refuses_itself {
        return None;
    }
    let program = PathBuf::from(agent::trial::program_of(agent, launch));
    let path = launch.env.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path);
    let found = path.and_then(|path| process::in_path(path, program.to_str()?));
    let own = own_files(&found.unwrap_or(program)).into_iter();
    let halts = refused_commands(job).contains(&REFUSED_COMMANDS);
    let noted = halts.then(|| working_tree.tree.join(".git").join(REFUSED_COMMANDS));
    Some(Commands {
        listed: work.commands.clone(),
        own: own.chain([runtime.spawner.helper.clone()]).collect(),
        noted,
    })
}

/// Returns the files that belong to a program. Many agents have helper programs next to theirs.
fn own_files(program: &Path) -> Vec<PathBuf> {
    let Ok(real) = program.canonicalize() else { return Vec::new() };
    let mut own = package(&real);
    let is_bin = |folder: &Path| ["bin", "sbin"].iter().any(|name| folder.ends_with(name));
    if own.is_empty() {
        own.extend(real.parent().filter(|folder| !is_bin(folder)).map(Path::to_owned));
    }
    own.push(real);
    own
}

/// Returns the folder of the Node.js package that a program belongs to, and those of its platform-specific builds,
/// which have its name and a suffix. Other packages next to it, such as npm, don't belong to it.
fn package(program: &Path) -> Vec<PathBuf> {
    let Some(modules) = program.ancestors().filter(|path| path.ends_with("node_modules")).last() else {
        return Vec::new();
    };
    let mut names = program.strip_prefix(modules).into_iter().flat_map(Path::components);
    let mut package = modules.to_owned();
    for name in names.by_ref().take(2) {
        package.push(name);
        if !name.as_os_str().to_string_lossy().starts_with('@') {
            break;
        }
    }
    let (Some(folder), Some(name)) = (package.parent(), package.file_name()) else { return Vec::new() };
    let builds = format!("{}-", name.to_string_lossy());
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let beside = beside.filter(|entry| entry.file_name().to_string_lossy().starts_with(&builds));
    let mut own: Vec<PathBuf> = beside.map(|entry| entry.path()).collect();
    own.push(package);
    own
}

/// Returns the texts that may tell an agent where its model is: variables, arguments and files.
fn settings(ctx: &LegContext<'_>, launch: &Launch) -> Vec<String> {
    /// Maximum size of a settings file.
    const LARGEST: u64 = 256 * 1024;
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let mut all: Vec<String> = launch.env.iter().map(|(_, value)| text(value)).collect();
    all.extend(launch.args.iter().map(text));
    all.extend(launch.files.iter().map(|(_, text)| text.clone()));
    let files = launch.login.iter().filter_map(|file| ctx.runtime.environment.expand(file));
    all.extend(files.filter_map(|file| crate::untrusted::text(&file, LARGEST).ok().flatten()));
    all
}

/// Returns the conversation as it is after this leg.
fn continued(name: &Name, id: &str, before: Option<&Session>, summary: &TurnSummary) -> Session {
    let mut total =
        before.filter(|before| before.id == id).map(|before| before.total.clone()).unwrap_or_default();
    total.add(&summary.usage);
    Session { agent: name.clone(), id: id.to_owned(), total }
}

/// Explains why the agent did not start, and what a person can do about it.
fn not_started(name: &Name, error: &process::Error) -> LegAbort {
    let advice = match error {
        process::Error::ProgramMissing { .. } | process::Error::ProgramNotExecutable { .. } => {
            format!(
                "; install it in a folder of PATH and approve, or configure another in [agents.{name}] of .acquit/acquit.toml"
            )
        }
        _ => String::new(),
    };
    let reason = format!("the agent {name} did not start: failed to {}{advice}", super::chain(error));
    match LegAbort::process(error) {
        LegAbort::Leg(Ending::Failed { kind, .. }) => LegAbort::Leg(Ending::Failed { kind, reason }),
        other => other,
    }
}

/// Returns the UTC date, as `2026-11-15`. A time out of range gives the Unix epoch.
pub(super) fn date(millis: i64) -> String {
    let moment = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    moment.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let day = 86_400_000;
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(19_782 * day), "2024-02-29");
        assert_eq!(date(19_783 * day - 1), "2024-02-29");
        assert_eq!(date(20_772 * day), "2026-11-15");
    }
}
