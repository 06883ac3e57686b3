//! `acquit init`: writes `.acquit/` for a repository.

use crate::args::Hook;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::verbs::check::{self, Fix};
use acquit_app::Error;
use acquit_app::init::{self, Overwrite};

/// Inspects the repository and writes `.acquit/`. With `then`, checks the result.
pub fn init(cli: &Cli, overwrite: Overwrite, then: Option<Fix>) -> Result<Exit, Error> {
    let source = cli.app.source()?;
    let top = source.top();
    let tracked = source.tracked_files(&cli.app.runtime.git)?;
    // Before the first commit, it is unknown which files a clone will contain.
    let cloned = |file: &str| tracked.is_empty() || tracked.contains(std::path::Path::new(file));
    let below = cli.app.surroundings.here.strip_prefix(top).ok().and_then(std::path::Path::to_str);
    let plan = init::plan(&init::Place {
        top,
        folder: below.filter(|folder| !folder.is_empty()),
        cloned: &cloned,
        environment: &cli.app.surroundings.environment,
        has_agent: has_agent(cli),
        resolve: &acquit_run::registry::system_resolve,
    });
    let kept = init::write(top, &plan, overwrite)?;
    // Nothing reads the copies.
    let trusted = cli.app.trust_written(&source, &[plan.files.clone(), kept.clone()].concat())?;
    let kept: Vec<String> = kept.iter().map(|(path, _)| path.display().to_string()).collect();
    let printer = cli.printer;
    let files: Vec<String> = plan.files.iter().map(|(path, _)| path.display().to_string()).collect();
    // Before the first commit there is no base to check. And never run files that are not trusted.
    let has_commits = source.base(&cli.app.runtime.git, None).is_ok();
    let then = then.filter(|_| trusted && has_commits);
    let mut report =
        serde_json::json!({ "files": files, "kept": kept, "seen": plan.seen, "notes": plan.notes });
    if !printer.json {
        for seen in &plan.seen {
            printer.say(&format!("seen: {seen}"));
        }
        files.iter().for_each(|file| printer.data(&format!("wrote {file}")));
        kept.iter().for_each(|copy| printer.say(&format!("note: what was there is in {copy}")));
        for note in &plan.notes {
            printer.say(&format!("note: {note}"));
        }
        if !trusted {
            printer.say(
                "note: .acquit/ has files that `acquit init` did not write; read them with `acquit trust`",
            );
        }
    }
    let exit = match then {
        Some(fix) => {
            printer.say("\nchecking that setup and gates hold on the untouched tree; Ctrl-C leaves it");
            let (exit, checked) = check::examine(cli, fix)?;
            report["check"] = checked;
            exit
        }
        None => Exit::Done,
    };
    if printer.json {
        printer.json(&report);
    } else if exit == Exit::Done {
        let look = match (then, has_commits) {
            (Some(_), _) => "",
            (None, true) => "`acquit check`, then ",
            (None, false) => "make a first commit, which tasks start from; then ",
        };
        let run = if plan.has_agent {
            "`acquit run \"what you want\"`"
        } else {
            "install an agent and run `acquit init --force`; `acquit demo` needs none"
        };
        printer.say(&format!("next: {look}{run}"));
    }
    Ok(exit)
}

/// Writes the named hooks, of agents or git. Without names, writes hooks for the agents that are used here.
pub fn hooks(cli: &Cli, hooks: &[Hook]) -> Result<Exit, Error> {
    let source = cli.app.source()?;
    let top = source.top();
    let path = cli.app.surroundings.environment.get("PATH").unwrap_or_default();
    let names: Vec<&str> = match hooks {
        [] => init::hooks::used(top, path),
        named => named.iter().filter_map(|hook| hook.agent()).map(|(name, _)| name).collect(),
    };
    let mut plan = init::hooks::plan(top, &names)?;
    init::write(top, &plan, Overwrite::InPlace)?;
    let mut files: Vec<String> = plan.files.iter().map(|(path, _)| path.display().to_string()).collect();
    if hooks.contains(&Hook::PrePush) {
        let written = acquit_app::pre_push::write(&cli.app, &source)?;
        files.push(written.file.display().to_string());
        plan.notes.extend(
            written.kept.map(|kept| format!("your own hook is kept and runs first: {}", kept.display())),
        );
    }
    let printer = cli.printer;
    if printer.json {
        printer.json(&serde_json::json!({ "files": files, "notes": plan.notes }));
        return Ok(Exit::Done);
    }
    files.iter().for_each(|file| printer.data(&format!("wrote {file}")));
    plan.notes.iter().for_each(|note| printer.say(&format!("note: {note}")));
    if files.is_empty() {
        printer.say("no agent with hooks was found: name one, such as `acquit init --hooks claude`");
    }
    Ok(Exit::Done)
}

/// Returns whether the user's own configuration has an agent.
fn has_agent(cli: &Cli) -> bool {
    let file = cli.app.surroundings.user_config.as_deref();
    let text = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("agents"))
}
