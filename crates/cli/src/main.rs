//! The `acquit` binary: arguments, configuration, words for people, and the wiring of the rest.

mod args;
mod check;
mod desk;
mod environment;
mod error;
mod exit;
mod init;
mod interrupt;
mod passing;
mod preflight;
mod project;
mod relay;
mod renew;
mod report;
mod serve;
mod shipped;
mod suggest;
mod trust;
mod verbs;

use std::path::Path;
use std::process::ExitCode;

use acquit_core::event::Level;
use acquit_core::ids::LegId;
use acquit_core::sandbox::Mode;
use acquit_core::time::Timestamp;
use acquit_run::process::contain::Launcher;
use clap::Parser;

use args::{Args, Verb};
use desk::Desk;
use environment::Surroundings;
use error::Error;
use exit::Exit;
use report::Printer;

fn main() -> ExitCode {
    // These start with every agent or gate, so they go before everything that costs time.
    let mut words = std::env::args_os().skip(1);
    let launcher = match words.next() {
        Some(verb) if verb == acquit_run::process::contain::VERB => acquit_run::process::contain::main(words),
        Some(verb) if verb == acquit_run::agent::SCRIPTED_VERB => {
            let script = words.next().unwrap_or_default();
            let tools = words.collect();
            let code = environment::for_agent().map_or(1, |(exe, variables)| {
                verbs::scripted::scripted(Path::new(&script), tools, &exe, variables)
            });
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
        Some(verb) if verb == acquit_run::acp::VERB => {
            let code = environment::for_agent().map_or(1, |(_, variables)| verbs::acp::acp(words, variables));
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        }
        Some(verb) if verb == acquit_run::mcp::VERB => return verbs::mcp::mcp(words),
        Some(verb) if verb == acquit_run::syntax::VERB => return verbs::outline::outline(),
        // These start programs. Without a launcher they do so too, only slower.
        Some(verb) if verb == "leg" || verb == "sandbox" || verb == "open" => Launcher::fork().ok(),
        _ => None,
    };
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let (surroundings, no_color) = match Surroundings::read() {
        Ok(surroundings) => {
            let no_color = surroundings.no_color;
            (Ok(surroundings), no_color)
        }
        Err(error) => (Err(error), true),
    };
    let printer = Printer::new(args.json, args.color, no_color);
    let done =
        surroundings.and_then(|surroundings| run(Desk::new(surroundings, printer, launcher), args.verb));
    match done.and_then(|exit| printer.finish().map(|()| exit)) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            printer.error(&error);
            ExitCode::from(error.exit().code())
        }
    }
}

/// A command line that was not understood, or that asks for help.
fn usage(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|word| word == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let message = text.trim_start_matches("error: ").lines().next().unwrap_or_default();
        Printer::new(true, args::Colour::Never, true).json_error(message, None, Exit::Usage);
    } else {
        // As clap does it itself.
        let _ = error.print();
    }
    ExitCode::from(if error.use_stderr() { Exit::Usage.code() } else { 0 })
}

fn run(desk: Desk, verb: Verb) -> Result<Exit, Error> {
    match verb {
        Verb::Init { force, no_check, fix } => {
            let overwrite = if force { init::Overwrite::Allowed } else { init::Overwrite::Never };
            let fix = if fix { verbs::check::Fix::All } else { verbs::check::Fix::Own };
            verbs::init::init(&desk, overwrite, (!no_check).then_some(fix))
        }
        Verb::Check { fix } => {
            verbs::check::check(&desk, if fix { verbs::check::Fix::All } else { verbs::check::Fix::Ask })
        }
        Verb::Trust { args } => verbs::trust::trust(&desk, args),
        Verb::Run { task, pinned } => verbs::run::run(&desk, &task, pinned),
        Verb::Task(verb) => verbs::task::task(&desk, verb),
        Verb::Inbox { all_projects, limit } => {
            let whose = if all_projects { verbs::inbox::Whose::All } else { verbs::inbox::Whose::Here };
            verbs::inbox::inbox(&desk, whose, limit)
        }
        Verb::Answer { task, words, more, pinned } => {
            verbs::inbox::answer(&desk, task, words.into_iter().chain(more).collect(), pinned)
        }
        Verb::Approve { task, pinned } => verbs::inbox::approve(&desk, task, pinned),
        Verb::Reject { task, reason } => verbs::inbox::reject(&desk, task, reason),
        Verb::Feedback { task } => verbs::feedback::feedback(&desk, task),
        Verb::Review { asked } => verbs::review::review(&desk, &asked),
        Verb::Logs { task, follow, leg: Some(number), .. } => {
            verbs::logs::output(&desk, LegId { task, number }, follow)
        }
        Verb::Logs { task, follow, raw: true, .. } => verbs::logs::newest(&desk, task, follow),
        Verb::Logs { task, follow, all, .. } => {
            let level = if all { Level::Debug } else { Level::Info };
            verbs::logs::logs(&desk, task, level, follow)
        }
        Verb::Attach { task } => verbs::run::attach(&desk, task),
        Verb::Open { task, command } => verbs::open::open(&desk, task, command),
        Verb::Show { task } => verbs::task::show(&desk, task),
        Verb::Diff { task, stat } => {
            let form = if stat { acquit_run::git::Form::Stat } else { acquit_run::git::Form::Patch };
            verbs::diff::diff(&desk, task, form)
        }
        Verb::Merge { task } => verbs::merge::merge(&desk, task),
        Verb::Workflow(verb) => verbs::workflow::workflow(&desk, verb),
        Verb::Prompt(verb) => verbs::prompt::prompt(&desk, &verb),
        Verb::Sandbox { policy, network, hosts, read, write, reduced, print: _, command } => {
            let mode = if reduced { Mode::Reduced } else { Mode::On };
            verbs::sandbox::sandbox(
                &desk,
                &verbs::sandbox::Wanted { policy, network, hosts, read, write, mode, start: None, command },
            )
        }
        Verb::Serve { once, drain, workers } => {
            let stop = if drain { serve::Stop::Drain } else { serve::Stop::Leave };
            let until = if once { serve::Until::Done } else { serve::Until::Stopped };
            verbs::serve::serve(&desk, serve::Options { until, stop, most: workers, only: None })
        }
        Verb::Clean { dry_run, parent, tasks } => {
            if let Some(parent) = parent {
                match (acquit_run::process::end_with(parent), tasks.as_slice()) {
                    (true, []) => serve::tidy(&desk)?,
                    (true, tasks) => serve::remove(&desk, tasks)?,
                    (false, _) => {}
                }
                return Ok(Exit::Done);
            }
            let wish =
                if dry_run { acquit_run::retention::Wish::Look } else { acquit_run::retention::Wish::Clean };
            verbs::clean::clean(&desk, wish)
        }
        Verb::Schedule(verb) => verbs::schedule::schedule(&desk, verb),
        Verb::Service(verb) => verbs::service::service(&desk, verb),
        Verb::Agents => verbs::agents::agents(&desk),
        Verb::Config(args::ConfigVerb::Show { origin }) => verbs::config::show(&desk, origin),
        Verb::Demo { keep } => verbs::demo::demo(desk, keep),
        Verb::Doctor => Ok(verbs::doctor::doctor(&desk)),
        Verb::Schema { form } => Ok(verbs::schema::schema(&desk, form)),
        Verb::Completions { shell } => Ok(verbs::completions::completions(&desk, shell)),
        Verb::Complete { words } => Ok(verbs::complete::complete(&desk, &words)),
        Verb::Stats { all_projects, since, limit } => {
            verbs::stats::stats(&desk, verbs::stats::Which { all_projects, since, limit })
        }
        Verb::Begin { schedule, nominal, job, parent } => {
            let which = serve::Which { project: String::new(), schedule, nominal: Timestamp(nominal), job };
            verbs::begin::begin(&desk, &which, parent)
        }
        Verb::Post { parent } => {
            if acquit_run::process::end_with(parent) {
                serve::post(&desk)?;
            }
            Ok(Exit::Done)
        }
        Verb::Mirror { url, largest, within } => {
            verbs::mirror::mirror(&desk, &url, largest, std::time::Duration::from_secs(within))
        }
        Verb::Leg { task, once, passed_on } => {
            let then = if once { verbs::leg::Then::Stop } else { verbs::leg::Then::GoOn };
            verbs::leg::leg(&desk, task, then, passed_on.map(Timestamp))
        }
    }
}
