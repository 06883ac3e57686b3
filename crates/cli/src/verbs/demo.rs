//! `acquit demo`: runs a full task on a sample repository, with scripted agents. No model, no key, no network.

use std::path::{Path, PathBuf};

use acquit_core::store::Store;
use acquit_run::git::Git;

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{Look, Offers};
use crate::verbs::run;
use acquit_app::Error;
use acquit_app::NewTask;
use acquit_app::scratch_dir::Folder;

/// The sample repository and its `.acquit/`.
const FILES: [(&str, &str); 6] = [
    ("greet.sh", include_str!("../../demo/repository/greet.sh")),
    ("README.md", include_str!("../../demo/repository/README.md")),
    ("tests/run.sh", include_str!("../../demo/repository/tests/run.sh")),
    (".acquit/acquit.toml", include_str!("../../demo/acquit.toml")),
    (".acquit/script.toml", include_str!("../../demo/script.toml")),
    (".acquit/workflows/feature.toml", include_str!("../../demo/feature.toml")),
];

const INTRODUCTION: &str = "\
A sample repository, and a task for it: greet.sh is to get a --json flag.
The agents are scripts. The first attempt has a bug, the agent says that
everything works, and the gates find out.";

/// Folder of the last sample in acquit's home.
const FOLDER: &str = "demo";

/// The sample's repository and acquit's home for it, in its folder.
const REPOSITORY: &str = "greet";
const HOME: &str = "home";

/// Runs the demo. Its sample stays until the next demo, or for good with `keep`.
pub fn demo(cli: Cli, keep: bool) -> Result<Exit, Error> {
    let (folder, place) = if keep {
        let folder = scratch(&cli)?;
        let home = quoted(&folder.join(HOME));
        // Created once, and needed until the process ends.
        let place: &str =
            Box::leak(format!("env -u ACQUIT_STORE ACQUIT_HOME={home} acquit").into_boxed_str());
        (folder, place)
    } else {
        (Folder::new(&cli.app.surroundings.home.join(FOLDER))?.leave(), "acquit demo")
    };
    let repository = folder.join(REPOSITORY);
    sample(&cli.app.runtime.git, &repository)?;
    let cli = at(cli, &folder, Offers::At(place));
    let shown = show(&cli, &repository);
    let printer = cli.printer;
    let again = match place {
        "acquit demo" => format!("{place} run \"Add a --json flag\""),
        _ => format!("cd {} && {place} run \"Add a --json flag\"", quoted(&repository)),
    };
    printer.data("\nTry it yourself:");
    printer.data(&format!("  what happened:  {place} logs T-1"));
    printer.data(&format!("  the evidence:   {place} show T-1"));
    printer.data(&format!("  the figures:    {place} stats"));
    printer.data(&format!("  do it again:    {again}"));
    printer.say(&if keep {
        format!("\nkept: {}", folder.display())
    } else {
        "\nthe next `acquit demo` replaces this repository; `acquit demo --keep` keeps one".to_owned()
    });
    shown
}

/// Returns the command line for the sample of the last demo.
pub fn in_sample(mut cli: Cli, json: bool) -> Result<Cli, Error> {
    let all = std::fs::read_dir(cli.app.surroundings.home.join(FOLDER));
    let samples = all.into_iter().flatten().flatten().map(|entry| entry.path());
    let last = samples.filter(|path| path.join(REPOSITORY).is_dir()).max_by_key(|path| {
        path.metadata().and_then(|data| data.modified()).unwrap_or(std::time::SystemTime::UNIX_EPOCH)
    });
    cli.printer.json |= json;
    last.map(|folder| at(cli, &folder, Offers::At("acquit demo"))).ok_or(Error::NoDemo)
}

/// Returns the command line for a sample's own store, whatever the user's environment names.
fn at(cli: Cli, folder: &Path, offers: Offers) -> Cli {
    let mut surroundings = cli.app.surroundings;
    surroundings.home = folder.join(HOME);
    surroundings.store = folder.join(HOME).join("acquit.db").to_string_lossy().into_owned();
    surroundings.here = folder.join(REPOSITORY);
    let mut printer = cli.printer;
    printer.offers = offers;
    Cli::new(surroundings, printer, None)
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

fn show(cli: &Cli, repository: &Path) -> Result<Exit, Error> {
    let printer = cli.printer;
    printer.say(&format!("{}\n", printer.paint(Look::Faint, INTRODUCTION)));
    let written: Vec<(PathBuf, String)> =
        FILES.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
    cli.app.trust_written(&cli.app.source()?, &written)?;
    let mut store = cli.app.store()?;
    let store: &mut dyn Store = store.as_mut();
    let wish = NewTask {
        title: "Add a --json flag".to_owned(),
        description: "greet.sh --json NAME prints the greeting as one line of JSON.".to_owned(),
        ..NewTask::default()
    };
    let task = cli.app.create(store, &wish)?;
    let exit = run::run_task(cli, store, &task, 0)?;
    if exit == Exit::Done && !printer.json {
        let range = format!("main..{}", task.seed.branch);
        let log = cli
            .app
            .runtime
            .git
            .call("log")
            .inside(repository)
            .arg(format!("--stat={}", printer.width()))
            .args(["--format=%h %s%n%n%b", &range])
            .run()?;
        printer.data(&format!("\n{}", printer.paint(Look::Strong, "What is in the repository now:")));
        printer.data(&crate::report::text::visible(String::from_utf8_lossy(&log.stdout).trim_end()));
    }
    Ok(exit)
}

/// Creates a private directory.
fn scratch(cli: &Cli) -> Result<PathBuf, Error> {
    let base =
        cli.app.surroundings.environment.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let path = base.join(format!("acquit-demo-{}", std::process::id()));
    std::fs::create_dir(&path).map_err(|source| Error::File {
        doing: "create",
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

/// Creates the sample repository with one commit.
fn sample(git: &Git, repository: &Path) -> Result<(), Error> {
    for (name, text) in FILES {
        let path = repository.join(name);
        let file = |source| Error::File { doing: "write", path: path.clone(), source };
        std::fs::create_dir_all(path.parent().unwrap_or(repository)).map_err(file)?;
        std::fs::write(&path, text).map_err(file)?;
    }
    let author = acquit_run::git::Identity::neutral();
    git.call("init").inside(repository).args(["--quiet", "--initial-branch=main"]).run()?;
    git.call("add").inside(repository).arg("--all").run()?;
    let message = ["--quiet", "--message=Say hello"];
    git.call("commit").inside(repository).signed(&author, &author, 1_700_000_000).args(message).run()?;
    Ok(())
}
