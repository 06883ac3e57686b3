//! `acquit service …`: installs `acquit serve` as a system service.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use acquit_run::service::{self, Manager, Plan, call};
use serde_json::json;

use crate::args::ServiceVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::Error;

/// The default service name.
const DEFAULT: &str = "acquit";
/// Directory of system units.
const SYSTEM_UNITS: &str = "/etc/systemd/system";
/// Variables that the service inherits from this process: they say where acquit's files are.
const KEPT: [&str; 3] = ["ACQUIT_HOME", "ACQUIT_STORE", "ACQUIT_CONFIG"];

/// Whether to act or only print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// Act.
    Really,
    /// Only print.
    Dry,
}

/// Runs one of the commands.
pub fn service(cli: &Cli, verb: ServiceVerb) -> Result<Exit, Error> {
    let dry = |dry: bool| if dry { How::Dry } else { How::Really };
    match verb {
        ServiceVerb::Install { name, system, dry_run } => {
            install(cli, &Place::find(cli, name, system)?, dry(dry_run))
        }
        ServiceVerb::Status { name, system } => status(cli, &Place::find(cli, name, system)?),
        ServiceVerb::Uninstall { name, system, dry_run } => {
            uninstall(cli, &Place::find(cli, name, system)?, dry(dry_run))
        }
    }
}

/// Where the service's files are.
struct Place {
    manager: Manager,
    /// The unit or the property list.
    file: PathBuf,
    plan: Plan,
}

impl Place {
    fn find(cli: &Cli, name: String, system: bool) -> Result<Self, Error> {
        let around = &cli.app.surroundings;
        let home = around.user_home.clone().ok_or(Error::NoHome)?;
        let manager = match (cfg!(target_os = "macos"), system) {
            (true, _) => Manager::Launchd,
            (false, true) => Manager::SystemdSystem,
            (false, false) => Manager::SystemdUser,
        };
        if !cfg!(any(target_os = "linux", target_os = "macos")) {
            return Err(Error::NoServices);
        }
        let config = around
            .user_config
            .as_deref()
            .and_then(Path::parent)
            .map_or_else(|| home.join(".config/acquit"), Path::to_owned);
        let units =
            around.environment.get("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        let file = match manager {
            Manager::SystemdUser => units.join(format!("systemd/user/{name}.service")),
            Manager::SystemdSystem => Path::new(SYSTEM_UNITS).join(format!("{name}.service")),
            Manager::Launchd => {
                home.join(format!("Library/LaunchAgents/{}.plist", service::launchd_label(&name)))
            }
        };
        let kept = KEPT.iter().filter_map(|name| {
            let value = around.environment.get(name)?.to_str()?;
            Some(((*name).to_owned(), value.to_owned()))
        });
        // A store's URL may contain a password, which belongs in the private file.
        let kept = kept.filter(|(name, value)| name != "ACQUIT_STORE" || !value.contains("://"));
        let folder = cli.app.source().map_or_else(|_| around.here.clone(), |source| source.top().to_owned());
        let plan = Plan {
            log: around.home.join(format!("{}.log", if name == DEFAULT { "serve" } else { &name })),
            name,
            program: around.exe.clone(),
            folder,
            environment: config.join("service.env"),
            user: Some(around.user.clone()),
            variables: kept.collect(),
        };
        Ok(Self { manager, file, plan })
    }

    fn text(&self) -> String {
        match self.manager {
            Manager::SystemdUser | Manager::SystemdSystem => service::systemd(&self.plan, self.manager),
            Manager::Launchd => service::launchd(&self.plan),
        }
    }

    /// Returns whether the installed service belongs to another repository.
    fn is_other(&self) -> bool {
        let folder = service::folder_line(&self.plan, self.manager);
        std::fs::read_to_string(&self.file).is_ok_and(|installed| !installed.contains(&folder))
    }

    /// Fails if the service belongs to another repository.
    fn refuse_other(&self) -> Result<(), Error> {
        if !self.is_other() {
            return Ok(());
        }
        let here = self.plan.folder.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let slug: String = here
            .unwrap_or_default()
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
            .collect();
        let other = format!("{DEFAULT}-{}", slug.trim_matches('-'));
        Err(Error::OtherService { name: self.plan.name.clone(), file: self.file.clone(), other })
    }

    /// Returns arguments for `systemctl`, for the user or the system manager.
    fn systemctl<'a>(&self, args: &[&'a str]) -> Vec<&'a str> {
        let scope: &[&str] = if self.manager == Manager::SystemdUser { &["--user"] } else { &[] };
        scope.iter().chain(args).copied().collect()
    }

    /// Returns the commands that enable and start the service. One that runs already starts again, because it would keep
    /// its old program and settings otherwise; legs outlive that.
    fn starting(&self) -> Vec<Vec<String>> {
        let unit = format!("{}.service", self.plan.name);
        match self.manager {
            Manager::Launchd => vec![words("launchctl", &["load", "-w", &self.file.to_string_lossy()])],
            Manager::SystemdUser | Manager::SystemdSystem => vec![
                words("systemctl", &self.systemctl(&["daemon-reload"])),
                words("systemctl", &self.systemctl(&["enable", &unit])),
                words("systemctl", &self.systemctl(&["restart", &unit])),
            ],
        }
    }

    /// Returns the commands that stop and disable it.
    fn stopping(&self) -> Vec<Vec<String>> {
        let unit = format!("{}.service", self.plan.name);
        match self.manager {
            Manager::Launchd => vec![words("launchctl", &["unload", "-w", &self.file.to_string_lossy()])],
            Manager::SystemdUser | Manager::SystemdSystem => {
                vec![words("systemctl", &self.systemctl(&["disable", "--now", &unit]))]
            }
        }
    }
}

fn words(program: &str, args: &[&str]) -> Vec<String> {
    std::iter::once(program).chain(args.iter().copied()).map(str::to_owned).collect()
}

fn install(cli: &Cli, place: &Place, how: How) -> Result<Exit, Error> {
    let printer = cli.printer;
    let linger = place.manager == Manager::SystemdUser;
    let lines = place.starting();
    if how == How::Dry {
        place.refuse_other()?;
        printer.data(&format!("# {}", place.file.display()));
        printer.data(place.text().trim_end());
        printer.say(&format!(
            "\nwould write this, and {} if it is not there, then run:",
            place.plan.environment.display()
        ));
        lines.iter().for_each(|line| printer.say(&format!("  {}", line.join(" "))));
        if linger {
            printer
                .say(&format!("  loginctl enable-linger {}", place.plan.user.as_deref().unwrap_or_default()));
            printer.say("so that it also runs while you are not logged in");
        }
        return Ok(Exit::Done);
    }
    place.refuse_other()?;
    write_new(&place.plan.environment, service::environment_file())?;
    write(&place.file, &place.text())?;
    for line in &lines {
        run(cli, line)?;
    }
    if linger {
        // Without lingering, a user's services end at logout, and the night shift with them.
        let user = place.plan.user.clone().unwrap_or_default();
        if let Err(error) = run(cli, &words("loginctl", &["enable-linger", &user])) {
            printer.warn(&format!(
                "it ends when you log out: failed to {}; run `sudo loginctl enable-linger {user}`",
                acquit_run::harness::chain(&error)
            ));
        }
    }
    printer.data(&format!("installed {}", place.file.display()));
    printer.say(&format!(
        "keys and tokens for it belong into {} (then: restart it)",
        place.plan.environment.display()
    ));
    printer.say("`acquit service status` says how it is; `acquit schedule next` when it has something to do");
    Ok(Exit::Done)
}

fn status(cli: &Cli, place: &Place) -> Result<Exit, Error> {
    let printer = cli.printer;
    let other = place.is_other();
    let installed = place.file.exists() && !other;
    let unit = format!("{}.service", place.plan.name);
    let label = service::launchd_label(&place.plan.name);
    let (program, args) = match place.manager {
        Manager::Launchd => ("launchctl", vec!["list", label.as_str()]),
        Manager::SystemdUser | Manager::SystemdSystem => {
            ("systemctl", place.systemctl(&["is-active", &unit]))
        }
    };
    let said = if installed { Some(call(&cli.app.runtime, program, &args)?) } else { None };
    let active = said.as_ref().is_some_and(|said| said.code == Some(0));
    let state = match (installed, active) {
        (false, _) => "not installed",
        (true, true) => "running",
        (true, false) => "not running",
    };
    if printer.json {
        let words = said.map(|said| said.text);
        printer.json(&json!({ "state": state, "file": place.file, "environment": place.plan.environment, "said": words }));
    } else {
        printer.data(state);
        match (installed, active) {
            (false, _) if other => printer.say(&format!(
                "{} runs another repository; `acquit service status --name …` shows another service",
                place.file.display()
            )),
            (false, _) => printer.say("`acquit service install` writes and starts it"),
            (true, true) => {}
            (true, false) => printer.say(&format!(
                "{} says: {}",
                program,
                said.map_or_else(String::new, |said| crate::report::text::visible(&said.text))
            )),
        }
    }
    Ok(if active { Exit::Done } else { Exit::Failed })
}

fn uninstall(cli: &Cli, place: &Place, how: How) -> Result<Exit, Error> {
    let printer = cli.printer;
    if !place.file.exists() {
        printer.data("not installed");
        return Ok(Exit::Done);
    }
    if how == How::Dry {
        place.stopping().iter().for_each(|line| printer.say(&format!("would run {}", line.join(" "))));
        printer.data(&format!("would remove {}", place.file.display()));
        return Ok(Exit::Done);
    }
    for line in place.stopping() {
        if let Err(error) = run(cli, &line) {
            printer.warn(&format!("failed to {}", acquit_run::harness::chain(&error)));
        }
    }
    let whose = if place.is_other() { ", which ran another repository" } else { "" };
    std::fs::remove_file(&place.file).map_err(|source| Error::File {
        doing: "remove",
        path: place.file.clone(),
        source,
    })?;
    printer.data(&format!("removed {}{whose}", place.file.display()));
    printer.say(&format!("{} is kept: it is yours", place.plan.environment.display()));
    Ok(Exit::Done)
}

fn run(cli: &Cli, line: &[String]) -> Result<(), Error> {
    let [program, args @ ..] = line else { return Ok(()) };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    call(&cli.app.runtime, program, &args)?.must(program, &args)?;
    Ok(())
}

/// Writes a file atomically.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let file = |source| Error::File { doing: "write", path: path.to_owned(), source };
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(file)?;
    let new = path.with_extension("acquit-new");
    std::fs::write(&new, text).map_err(file)?;
    std::fs::rename(&new, path).map_err(file)
}

/// Writes a private file, unless it exists.
fn write_new(path: &Path, text: &str) -> Result<(), Error> {
    let file = |source| Error::File { doing: "write", path: path.to_owned(), source };
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(file)?;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut new) => new.write_all(text.as_bytes()).map_err(file),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(file(error)),
    }
}
