//! `acquit prove`: judges any change by all gates of its project.

use std::io::Read;

use acquit_app::Error;
use acquit_app::prove::attest::Sign;
use acquit_app::prove::hook::{self, Answer, Count, Turn};
use acquit_app::prove::{
    Asked, Cache, Conduct, Decision, Depth, Empty, Report, Save, Trusting, Walls, Which,
};
use acquit_core::event::Level;
use acquit_run::process::Interrupt;

use crate::args::{Format, Output, Proved};
use crate::cli::Cli;
use crate::exit::Exit;
use crate::foreground::{self, Part};
use crate::report::prove as show;

/// Judges the change and prints the result.
pub fn prove(cli: &Cli, args: &Proved) -> Result<Exit, Error> {
    if let Some(hook) = args.hook {
        return Ok(hook.agent().map_or(Exit::Usage, |(_, agent)| answer_hook(cli, args, agent)));
    }
    let report = run(cli, args, Empty::Judge)?;
    let printer = cli.printer;
    write(&args.format, &report)?;
    match args.format.iter().find(|output| output.file.is_none()) {
        None if printer.json => printer.json(&report),
        None => show::people(printer, &report),
        Some(output) => printer.document(&rendered(output.format, &report)),
    }
    if report.cancelled {
        return Ok(Exit::Cancelled);
    }
    if let Some(file) = &args.attest {
        let (sign, with) = if args.sign { (Sign::Yes, ", signed") } else { (Sign::No, "") };
        cli.app.attest(&report, file, sign)?;
        printer.say(&format!("wrote {}{with}; `acquit verify {}` checks it", file.display(), file.display()));
    }
    if let Some(request) = &args.comment {
        let page = acquit_app::prove::comment(&cli.app, &report, request, &show::markdown(&report))?;
        printer.say(&format!("commented: {page}"));
    }
    Ok(exit(&report))
}

/// Writes the formats that go to files.
fn write(formats: &[Output], report: &Report) -> Result<(), Error> {
    for Output { format, file } in formats {
        let Some(path) = file else { continue };
        std::fs::write(path, format!("{}\n", rendered(*format, report).trim_end()))
            .map_err(|source| Error::File { doing: "write", path: path.clone(), source })?;
    }
    Ok(())
}

/// Renders the report in a format.
fn rendered(format: Format, report: &Report) -> String {
    match format {
        Format::Text => show::plain(report),
        Format::Json => serde_json::to_string_pretty(report).unwrap_or_default(),
        Format::Sarif => show::sarif(report),
        Format::Junit => show::junit(report),
        Format::Markdown => show::markdown(report),
        Format::Github => show::github(report),
        Format::Gitlab => show::gitlab(report),
    }
}

/// Returns the exit code of a judgement.
pub(super) fn exit(report: &Report) -> Exit {
    match report.decision {
        _ if report.cancelled => Exit::Cancelled,
        Decision::Acquitted => Exit::Done,
        Decision::Guilty => Exit::Failed,
        Decision::Unjudged => Exit::Internal,
    }
}

/// Judges the change. Progress goes to stderr.
pub fn run(cli: &Cli, args: &Proved, empty: Empty) -> Result<Report, Error> {
    let which = match &args.change {
        Some(change) => Which::parse(change),
        None if args.staged => Which::Staged,
        None if args.working_tree => Which::WorkingTree,
        None => Which::Checkout,
    };
    let asked = Asked {
        which,
        base: args.base.clone(),
        depth: if args.quick { Depth::Quick } else { Depth::Full },
        trust: if args.trust_base { Trusting::Base } else { Trusting::User },
        walls: if args.reduced { Walls::AsFound } else { Walls::AsConfigured },
        cache: if args.fresh { Cache::Ignore } else { Cache::Use },
        logs: args.logs(),
        save: if args.save { Save::Yes } else { Save::No },
        empty,
        allow: args.allow.clone(),
    };
    let interrupt = Interrupt::listen().map_err(Error::Signals)?;
    let printer = cli.printer.in_words();
    let mut follow = |app: &acquit_app::App, store: &mut dyn acquit_core::store::Store, id| {
        foreground::follow(app, printer, store, id, Part::Judges, Level::Info, 0)
    };
    let mut conduct =
        Conduct { run: &mut follow, say: &|line| printer.say(line), stopped: &|| interrupt.count() > 0 };
    acquit_app::prove::prove(&cli.app, &asked, &mut conduct)
}

/// Answers an agent's hook with one line of JSON. Always exits with 0, because agents treat other codes as a broken
/// hook.
fn answer_hook(cli: &Cli, args: &Proved, agent: hook::Agent) -> Exit {
    let mut bytes = Vec::new();
    // Unreadable input means a session without a name.
    let _ = std::io::stdin().lock().take(hook::LARGEST).read_to_end(&mut bytes);
    let turn = Turn::read(agent, &bytes, &cli.app.surroundings.here);
    if turn.broken_off {
        cli.printer.document(&Answer::Let(String::new()).in_words_of(agent).to_string());
        return Exit::Done;
    }
    let home = &cli.app.runtime.home;
    let count = Count::load(home, &turn);
    let answer = match run(cli, args, Empty::Pass) {
        Ok(report) if report.cancelled => Answer::Let(String::new()),
        Ok(report) => {
            let (answer, next) = hook::answer(&report, count, &turn);
            match next.save(home, &turn) {
                Ok(()) => answer,
                // Let the agent stop: without a count it could be sent back forever.
                Err(error) => Answer::Let(format!("acquit cannot count how often it sent you back: {error}")),
            }
        }
        Err(error) => {
            cli.printer.error(&error);
            Answer::Let(format!("acquit could not judge: {}", acquit_run::harness::chain(&error)))
        }
    };
    cli.printer.document(&answer.in_words_of(agent).to_string());
    Exit::Done
}
