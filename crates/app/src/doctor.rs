//! Examines what this machine can enforce, what it cannot, and the consequences.

use std::collections::BTreeMap;
use std::path::Path;

use acquit_core::event::Body;
use acquit_core::sandbox::Mode;
use acquit_core::store::{Filter, Store};
use acquit_run::git;
use acquit_run::sandbox::machine::{Ability, Found, Lack, Machine, Need, Version};

use crate::app::App;
use crate::error::Error;
use crate::walls;

/// Returns the capabilities of this machine, its store and the project.
pub fn examine(app: &App) -> Vec<Ability> {
    let machine =
        Machine::here(acquit_run::process::contain::landlock_version(), app.runtime.spawner.helper.clone());
    let mut list = machine.abilities();
    list.extend(sandbox_built(app, &list));
    let places = app.source().ok().map(|source| ("the repository", source.git_dir().to_owned()));
    let places = places.into_iter().chain([("acquit's home", app.runtime.home.clone())]);
    list.extend(places.filter_map(|(what, path)| on_windows(&machine, what, &path)));
    list.push(Ability::new("version of git", Need::Always, git_found(app), "no task can run"));
    list.extend(author_found(app));
    list.push(Ability::new("store", Need::Always, store_found(app), "no task can be made or looked at"));
    list.push(Ability::new(
        "agent output",
        Need::Useful,
        records_found(app),
        "such records are kept in the legs' output, and nothing follows from them",
    ));
    list.extend(project_found(app));
    list
}

/// Returns that no sandbox can be built, although the kernel has all that it needs: it refuses it to containers.
fn sandbox_built(app: &App, machine: &[Ability]) -> Option<Ability> {
    if machine.iter().any(|ability| !ability.is_there() && ability.need == Need::Wall) {
        return None;
    }
    let lacking = walls::lacking(app, Mode::On).ok()??;
    let lack = Lack::mended(format!("the kernel refuses it to acquit: {}", lacking.what), walls::CONTAINER);
    Some(Ability::new(
        "a sandbox that was tried",
        Need::Wall,
        Err(lack),
        "no task with `sandbox = \"on\"` starts",
    ))
}

/// Returns a warning about a directory on a Windows drive.
fn on_windows(machine: &Machine, what: &str, path: &Path) -> Option<Ability> {
    let drive = machine.windows_drive(path)?;
    let lack = Lack::mended(
        format!("{what} is on the Windows drive {}", drive.display()),
        "move it into your Linux home",
    );
    let without = "git, setup and gates are many times slower, file modes are lost, and locks may not hold";
    Some(Ability::new("Linux file system", Need::Useful, Err(lack), without))
}

/// Returns whether everything tasks need is available.
pub fn is_complete(list: &[Ability]) -> bool {
    list.iter().all(|ability| ability.is_there() || ability.need == Need::Useful)
}

/// Returns the git version, or why git cannot be used.
pub fn git_found(app: &App) -> Found {
    let said = app.runtime.git.call("version").run().map_err(|error| lack(error.into()))?;
    let said = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    match Version::in_text(&said) {
        Some(version) if version >= git::version::OLDEST => Ok(said),
        Some(_) | None => {
            Err(Lack::mended(format!("{said} is older than {}", git::version::OLDEST), "install a newer git"))
        }
    }
}

/// Returns the author of commits in the repository of the current directory.
fn author_found(app: &App) -> Option<Ability> {
    let author = app.author(&app.source().ok()?);
    let words = format!("{} <{}>", author.name(), author.email());
    let without = format!("the author of commits is {words}");
    let found = if author.is_complete() {
        Ok(words)
    } else {
        Err(Lack::mended(
            "git has no user.name or no user.email",
            "git config --global user.name \"Your Name\" && git config --global user.email you@example.com",
        ))
    };
    Some(Ability::new("author of commits", Need::Useful, found, &without))
}

/// Opens the store. Creates a missing store, like any other command.
fn store_found(app: &App) -> Found {
    app.store().map_err(lack)?;
    Ok(acquit_store::Location::parse(&app.surroundings.store).to_string())
}

/// Checks whether agents recently printed records that their adapters do not know.
fn records_found(app: &App) -> Found {
    let unknown = app.store().and_then(|mut store| unknown_records(store.as_mut())).map_err(lack)?;
    if unknown.is_empty() {
        return Ok("all recent records parsed".to_owned());
    }
    let words: Vec<String> = unknown.iter().map(|(kind, count)| format!("{kind} ({count} times)")).collect();
    let why = format!("agents printed records of unknown kinds: {}", words.join(", "));
    Err(Lack::mended(
        why,
        "see whether a newer acquit knows them; `acquit agents` says which versions were tried",
    ))
}

/// Counts records of unknown kinds in the newest tasks, by agent and kind.
fn unknown_records(store: &mut dyn Store) -> Result<BTreeMap<String, u64>, Error> {
    /// Agent output changes with the agent's version, so old tasks say nothing.
    const TASKS: u32 = 20;
    /// Enough for dozens of legs. Examining the machine must not take minutes.
    const EVENTS: u32 = 2_000;
    let filter = Filter { ended: true, limit: TASKS, ..Filter::default() };
    let mut found = BTreeMap::new();
    for task in store.list(&filter)? {
        let mut name = String::new();
        for event in store.events(Some(task.id), 0, EVENTS)? {
            match event.body {
                Body::AgentStarted { adapter, .. } => name = adapter,
                Body::AgentEnded { unknown, .. } => {
                    for (kind, count) in unknown {
                        *found.entry(format!("{name}: {kind}")).or_default() += count;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(found)
}

/// Examines the project of the current directory, if there is one.
fn project_found(app: &App) -> Vec<Ability> {
    let source = match app.source() {
        Ok(source) => source,
        // Running outside a repository is fine, and problems with git are reported separately.
        Err(Error::Git(git::Error::NotARepository { .. } | git::Error::Start(_))) => return Vec::new(),
        Err(error) => {
            return vec![Ability::new("repository", Need::Always, Err(lack(error)), "no task can run here")];
        }
    };
    let read = app.files(&source).and_then(|files| {
        let project = files.look()?;
        Ok((project, files.trust().check(files.snapshot())))
    });
    let (project, trusted) = match read {
        Ok(project) => project,
        Err(error @ Error::NotInitialised(_)) => {
            return vec![Ability::new("project", Need::Useful, Err(lack(error)), "no task can run here yet")];
        }
        Err(error) => {
            return vec![Ability::new("project", Need::Always, Err(lack(error)), "no task can be made here")];
        }
    };
    let valid = Ok("its configuration and workflows have no mistakes".to_owned());
    vec![
        Ability::new("project", Need::Always, valid, ""),
        Ability::new(
            "trust in the project",
            Need::Useful,
            trusted.map(|()| "what .acquit/ asks for may be done".to_owned()).map_err(lack),
            "no task can be made here",
        ),
        Ability::new(
            "sandbox of the project",
            Need::Wall,
            sandbox_found(project.config.sandbox),
            "agents and gates run with all your rights, whatever the machine could enforce",
        ),
    ]
}

fn sandbox_found(mode: Mode) -> Found {
    match mode {
        Mode::On => Ok("on: no task starts where a wall is missing".to_owned()),
        Mode::Reduced => Ok("reduced: walls that this machine lacks are left out".to_owned()),
        Mode::Off => Err(Lack::mended(
            "`sandbox = \"off\"` is written in .acquit/acquit.toml",
            "remove that line from .acquit/acquit.toml",
        )),
    }
}

fn lack(error: Error) -> Lack {
    let why = match &error {
        Error::Mistakes(mistakes) => match mistakes.0.as_slice() {
            [first, rest @ ..] => {
                let more =
                    if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
                format!("{}:{}:{}: {}{more}", first.file, first.line, first.column, first.what)
            }
            [] => "mistakes in the project's files".to_owned(),
        },
        error => format!("failed to {}", acquit_run::harness::chain(error)),
    };
    Lack { why, mend: error.hint() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_is_off_is_a_lack_and_the_others_are_none() {
        assert!(sandbox_found(Mode::Off).is_err());
        assert!(sandbox_found(Mode::On).is_ok() && sandbox_found(Mode::Reduced).is_ok());
    }
}
