//! The project's setup: installs dependencies once per state of the lock files, in a layer that all tasks share.
//!
//! *Content from a task's agent never affects a layer that others see.* Setup runs code of the tree (scripts of a
//! manifest, a script of the repository), so a shared layer is made from the base commit, which is the user's own. Work
//! that changes a lock file gets its own layer, made from exactly that tree. Setup gets no secrets, has its own home
//! and sees committed files only.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use acquit_core::config::{Config, Setup};
use acquit_core::event::{About, Body, Level, SetupAgain};
use acquit_core::failure::kind;
use acquit_core::gate::Command;
use acquit_core::leg::Ending;
use acquit_core::sandbox::Network;
use acquit_core::store::Pulse;

use super::blocked_connections::of_setup;
use super::copies::Copies;
use super::manifest;
use super::{Job, LegAbort, LegContext, WorkingTree};
use super::{Reports, Wanted, command, killed_again};
use crate::git::CommitId;
use crate::layers::{Found, Layer, Making, Place, keep_caches};
use crate::network::{Connection, Verdict};
use crate::pause::pause;
use crate::sandbox::{default_policy, toolchains};
use crate::workspace::{LockedWorkspace, Scratch, Stored, remove_folder};

/// Poll interval for a layer that another task is making.
const AGAIN: Duration = Duration::from_millis(200);

/// Maximum number of hosts to name of each kind.
const MOST_HOSTS: usize = 12;

/// Maximum age of a layer. Dependencies outside its key, such as the toolchain, change unnoticed.
const AGE: Duration = Duration::from_hours(7 * 24);

/// Format version of layers.
const FORM: u32 = 4;

/// Returns the layer of setup for the tree of a commit. `None` if the project has no setup.
pub(crate) fn layer(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    commit: &CommitId,
) -> Result<Option<Rc<Layer>>, LegAbort> {
    let Some(setup) = &job.definition.config.setup else { return Ok(None) };
    let base = job.base();
    let inputs = inputs(setup);
    let bases = workspace.files_at(&base, &inputs)?;
    let wanted = if *commit == base { bases.clone() } else { workspace.files_at(commit, &inputs)? };
    let is_bases = is_same(workspace, &bases, &wanted)?;
    let from = if is_bases { &base } else { commit };
    let copies = Copies::read(ctx, job, setup, workspace, from)?;
    let depends = (if is_bases { bases.as_str() } else { "" }, copies.key(workspace));
    let place = place(ctx, job, workspace, from, &depends)?;
    let at = |error: std::io::Error| {
        LegAbort::failed(kind::HARNESS, format!("failed to use the setup layers of the project: {error}"))
    };
    let mut waits = false;
    loop {
        match place.find().map_err(at)? {
            Found::Layer(layer) => {
                if !is_bases && let Some(setup) = layer.setup() {
                    tell_once(ctx, SetupAgain { earlier: true, ..setup });
                }
                return Ok(Some(Rc::new(layer)));
            }
            Found::Nothing(making) => {
                let network = reach(&job.definition.config);
                let why = if is_bases {
                    String::new()
                } else {
                    format!(
                        "; the work changed a lock file, so it gets a layer of its own; network {network}"
                    )
                };
                ctx.notice(Level::Info, format!("{}running setup: {}{why}", copies.words(), setup.run));
                ctx.flush_patiently()?;
                // Discard results of compiling an agent's code, because its build scripts could have written them.
                let compile = setup.compile.as_ref().filter(|_| is_bases);
                let connections = make(ctx, job, workspace, (setup, compile), (from, &copies), &making)?;
                if !is_bases {
                    let changed = changed(&wanted, &bases);
                    let setup = used(changed, network, &connections);
                    making.keep(&setup).map_err(at)?;
                    tell_once(ctx, setup);
                }
                return place.publish(making).map(|layer| Some(Rc::new(layer))).map_err(at);
            }
            Found::InTheMaking => {
                if !waits {
                    ctx.notice(Level::Info, "waiting for another task that runs the same setup".to_owned());
                    ctx.flush_patiently()?;
                }
                waits = true;
                if ctx.pulse()? == Pulse::Cancel {
                    return Err(LegAbort::Leg(Ending::Cancelled));
                }
                pause(AGAIN);
            }
        }
    }
}

/// Returns what the result of setup depends on besides the tree and the configuration: files of the checkout, and whose
/// layers are used. Cached gate results use it as part of their key.
pub(crate) fn setup_key(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
) -> serde_json::Value {
    let Some(setup) = &job.definition.config.setup else { return serde_json::Value::Null };
    // A file that cannot be copied is reported when setup runs.
    let copies = Copies::read(ctx, job, setup, workspace, &job.base()).ok();
    serde_json::json!([copies.map(|copies| copies.key(workspace)), job.source.layers_of()])
}

/// Records a setup for changed lock files once per leg, because every gate asks for the same layer.
fn tell_once(ctx: &mut LegContext<'_>, setup: SetupAgain) {
    if !ctx.setups.iter().any(|told| told.is_same(&setup)) {
        ctx.setups.push(setup.clone());
        ctx.note(Body::SetupAgain(setup));
    }
}

/// Describes the network access of setup.
fn reach(config: &Config) -> String {
    let hosts: Vec<String> = config.network.hosts.iter().map(ToString::to_string).collect();
    match config.network.setup {
        Network::Model if hosts.is_empty() => "model (no hosts)".to_owned(),
        Network::Model => format!("model ({})", hosts.join(", ")),
        Network::Off => "off".to_owned(),
        Network::Open => "open (every host; connections are not logged)".to_owned(),
    }
}

/// Returns whether setup does the same for two lists of [`LockedWorkspace::files_at`].
fn is_same(workspace: &LockedWorkspace, old: &str, new: &str) -> Result<bool, LegAbort> {
    if old == new {
        return Ok(true);
    }
    let read = |rows: &str, path: &str| -> Result<Option<String>, LegAbort> {
        let row = rows.lines().filter_map(|row| row.split_once('\t')).find(|(_, other)| *other == path);
        let stored = row.and_then(|(facts, _)| Stored::parse(facts));
        Ok(stored.map(|stored| workspace.text(&stored)).transpose()?.flatten())
    };
    for path in changed(old, new) {
        match (read(old, &path)?, read(new, &path)?) {
            (Some(old), Some(new)) if manifest::is_same(&path, &old, &new) => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns the paths that differ between two lists of [`LockedWorkspace::files_at`].
fn changed(one: &str, other: &str) -> Vec<String> {
    let path = |row: &str| row.split_once('\t').map(|(_, path)| path.to_owned());
    let (one, other): (BTreeSet<&str>, BTreeSet<&str>) = (one.lines().collect(), other.lines().collect());
    let paths: BTreeSet<String> = one.symmetric_difference(&other).copied().filter_map(path).collect();
    paths.into_iter().collect()
}

/// Summarizes the connections of a setup.
fn used(changed: Vec<String>, network: String, connections: &[Connection]) -> SetupAgain {
    let hosts = |wanted: Verdict| {
        let hosts = connections.iter().filter(|one| one.verdict == wanted && !one.host.is_empty());
        let hosts: BTreeSet<String> = hosts.map(|one| format!("{}:{}", one.host, one.port)).collect();
        hosts.into_iter().take(MOST_HOSTS).collect()
    };
    let (reached, refused) = (hosts(Verdict::Granted), hosts(Verdict::Refused));
    SetupAgain { changed, network, reached, refused, earlier: false }
}

/// Returns the files that decide whether setup must run again: lock files, and files of the repository that its command
/// names.
fn inputs(setup: &Setup) -> Vec<&str> {
    let words: Vec<&str> = match &setup.run {
        Command::Shell(line) => line.split_whitespace().collect(),
        Command::Program(words) => words.iter().map(String::as_str).collect(),
    };
    let is_path = |word: &&str| {
        let plain = |char: char| char.is_ascii_alphanumeric() || "._-/+".contains(char);
        // A directory would change with everything in it.
        !word.starts_with(['-', '/', ':'])
            && !word.ends_with(['.', '/'])
            && word.chars().all(plain)
            && !word.split('/').any(|part| part == "..")
    };
    let named = words
        .into_iter()
        .map(|word| word.trim_start_matches("./"))
        .filter(is_path)
        .filter(|word| !word.is_empty());
    let mut all: Vec<&str> = setup.lock_files.iter().map(String::as_str).chain(named).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns where to keep a layer. The key covers everything it is known to depend on; without lock files that is the
/// whole tree.
fn place(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    from: &CommitId,
    (inputs, copies): &(&str, Vec<String>),
) -> Result<Place, LegAbort> {
    let config = &job.definition.config;
    let tree = if inputs.is_empty() { Some(workspace.tree_of(from)?) } else { None };
    let variable =
        |name: &str| ctx.runtime.environment.get(name).map(|value| value.to_string_lossy().into_owned());
    // Where caches are decides which of setup's downloads are kept.
    let toolchains: Vec<(&str, Option<String>)> =
        toolchains::variables().map(|name| (name, variable(name))).collect();
    let period = (ctx.runtime.now)().0 / i64::try_from(AGE.as_millis()).unwrap_or(i64::MAX);
    let depends = serde_json::json!({
        "form": FORM,
        "run": config.setup.as_ref().map(|setup| setup.run.to_string()),
        "compile": config.setup.as_ref().map(|setup| setup.compile.as_ref().map(ToString::to_string)),
        "env": config.setup.as_ref().map(|setup| &setup.env),
        "inputs": inputs,
        "copies": copies,
        "tree": tree,
        "network": config.network.setup,
        "hosts": config.network.hosts,
        "access": config.access,
        "sandbox": config.sandbox,
        "path": variable("PATH"),
        "toolchains": toolchains,
        "period": period,
        "machine": [std::env::consts::OS, std::env::consts::ARCH],
    });
    let project = workspace.hash(job.source.layers_of());
    Ok(Place::new(ctx.runtime, &project, &workspace.hash(depends.to_string())))
}

/// Runs setup on the committed files only, and keeps its result.
fn make(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    (setup, compile): (&Setup, Option<&Command>),
    (from, copies): (&CommitId, &Copies),
    making: &Making,
) -> Result<Vec<Connection>, LegAbort> {
    let folder = making.folder.as_path();
    let (tree, aside) = (folder.join("tree"), folder.join("aside"));
    let working_tree =
        WorkingTree::of_setup(workspace.checked(from)?, tree.clone(), aside.clone(), workspace)?;
    copies.write(&tree)?;
    let connections = run(ctx, job, setup, &working_tree, "setup")?;
    if let Some(compile) = compile {
        self::compile(ctx, job, setup, compile, &working_tree)?;
    }
    drop(working_tree);
    workspace.keep_new_files(from, &tree)?;
    let environment = &ctx.runtime.environment;
    let moved =
        environment.home().map(|home| default_policy::moved_caches(home, environment)).unwrap_or_default();
    keep_caches(&aside, &moved, folder)
        .map_err(|error| LegAbort::file("keep what setup downloaded in", folder, &error))?;
    remove_folder(&aside)?;
    Ok(connections)
}

/// Compiles what gates would compile each time. If that fails, the gates report it.
fn compile(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    setup: &Setup,
    compile: &Command,
    working_tree: &WorkingTree,
) -> Result<(), LegAbort> {
    let wanted = Wanted {
        reports: Reports::Unread,
        name: "setup-compile",
        command: compile,
        timeout: setup.timeout,
        network: Network::Off,
        env: &setup.env,
        output: None,
    };
    let ran = command(ctx, job, working_tree, &wanted)?;
    if !ran.passed {
        ctx.notice(Level::Info, format!("the compile command of setup `{compile}`: {}", ran.ended));
    }
    Ok(())
}

/// Runs setup in a tree and returns its connections.
fn run(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    setup: &Setup,
    working_tree: &WorkingTree,
    name: &str,
) -> Result<Vec<Connection>, LegAbort> {
    let network = job.definition.config.network.setup;
    let wanted = Wanted {
        reports: Reports::Unread,
        name,
        command: &setup.run,
        timeout: setup.timeout,
        network,
        env: &setup.env,
        output: None,
    };
    let ran = command(ctx, job, working_tree, &wanted)?;
    if ran.passed {
        return Ok(ran.connections);
    }
    if ran.killed {
        return Err(killed_again(name, &ran));
    }
    if ran.timed_out {
        ctx.note(Body::Notice {
            level: Level::Warning,
            text: format!("setup {}", ran.ended),
            about: Some(About::SetupTimedOut),
        });
    }
    let words = crate::untrusted::tail(&ran.log, 2_000);
    let reason = format!("the setup command `{}`: {}\n{words}", setup.run, ran.ended);
    Err(of_setup(reason, &ran.connections, &job.definition.config))
}

/// Runs setup in the workspace itself, once per state of the lock files. Used where there are no overlays.
pub(crate) fn setup_in_place(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
) -> Result<(), LegAbort> {
    let Some(setup) = &job.definition.config.setup else { return Ok(()) };
    let files = workspace.files_at(&job.start, &inputs(setup))?;
    let copies = Copies::read(ctx, job, setup, workspace, &job.start)?;
    let key = workspace.hash(format!("{files}{}", copies.key(workspace).join("\n")));
    if workspace.setup_done(&key)? {
        return Ok(());
    }
    ctx.notice(Level::Info, format!("running setup: {}", setup.run));
    ctx.flush_patiently()?;
    workspace.mark_uncommitted()?;
    // An earlier leg of the stage may have left a secret in a file that git ignores, and setup has a network.
    workspace.remove_uncommitted()?;
    copies.write(&workspace.tree())?;
    let connections = run(ctx, job, setup, &WorkingTree::of(workspace), "setup")?;
    tell_if_changed(ctx, job, workspace, (setup, &job.start), &connections)?;
    workspace.ignore_untracked()?;
    workspace.mark_setup_done(&key)?;
    Ok(())
}

/// Provides the result of setup for a temporary tree.
pub(crate) fn setup_aside(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    scratch: &Scratch<'_>,
) -> Result<(), LegAbort> {
    let Some(setup) = &job.definition.config.setup else { return Ok(()) };
    let workspace = scratch.workspace();
    if workspace.has_overlays() {
        if let Some(shown) = scratch.shown() {
            let layer = layer(ctx, job, workspace, &shown)?;
            if let Some(layer) = &layer {
                scratch.show_over(layer)?;
            }
            scratch.set_up_with(layer);
        }
        return Ok(());
    }
    if !scratch.needs_setup(&setup.lock_files) {
        return Ok(());
    }
    if let Some(shown) = scratch.shown() {
        Copies::read(ctx, job, setup, workspace, &shown)?.write(&scratch.tree())?;
    }
    let connections = run(ctx, job, setup, &WorkingTree::of_scratch(scratch), "setup-aside")?;
    match scratch.shown() {
        Some(shown) => tell_if_changed(ctx, job, workspace, (setup, &shown), &connections),
        None => Ok(()),
    }
}

/// Records a setup without layers, if the lock files of `commit` differ from those of the base.
fn tell_if_changed(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    workspace: &LockedWorkspace,
    (setup, commit): (&Setup, &CommitId),
    connections: &[Connection],
) -> Result<(), LegAbort> {
    let inputs = inputs(setup);
    let changed = changed(&workspace.files_at(commit, &inputs)?, &workspace.files_at(&job.base(), &inputs)?);
    if !changed.is_empty() {
        tell_once(ctx, used(changed, reach(&job.definition.config), connections));
    }
    Ok(())
}
