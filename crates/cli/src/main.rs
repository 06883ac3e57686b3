//! The `acquit` binary: parses arguments, reads the environment, and prints the results of the use cases.

mod args;
mod cli;
mod exit;
mod foreground;
mod report;
mod top;
mod verbs;

use std::path::Path;
use std::process::ExitCode;

use acquit_app::{Error, Surroundings, environment, init, serve};
use acquit_core::event::Level;
use acquit_core::ids::LegId;
use acquit_core::sandbox::Mode;
use acquit_core::store::Wanted;
use acquit_core::time::Timestamp;
use acquit_run::fleet::Whose;
use acquit_run::process::contain::Launcher;
use clap::Parser;

use args::{Args, Verb};
use cli::Cli;
use exit::Exit;
use report::Printer;

fn main() -> ExitCode {
    // Agents and gates start these verbs, so handle them before anything slow.
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
        // With a file, serve the tools of a leg; without one, those for any client.
        Some(verb) if verb == acquit_run::mcp::VERB => match words.next() {
            Some(brief) if !brief.to_string_lossy().starts_with('-') => return verbs::mcp::of_leg(&brief),
            _ => None,
        },
        Some(verb) if verb == acquit_run::syntax::VERB => return verbs::outline::outline(),
        // These start programs. Without a launcher that works too, only slower.
        Some(verb) if verb == "leg" || verb == "sandbox" || verb == "open" => Launcher::fork().ok(),
        _ => None,
    };
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(mut error) => {
            args::suggest_nested(&mut error);
            return usage(&error);
        }
    };
    if let Verb::Prove { args: args::Proved { directory: Some(directory), .. } } = &args.verb
        && let Err(error) = std::env::set_current_dir(directory)
    {
        let printer = Printer::new(args.json, args.color, true);
        printer.error(&Error::File { doing: "go to", path: directory.clone(), source: error });
        return ExitCode::from(Exit::Usage.code());
    }
    let (surroundings, no_color) = match Surroundings::read() {
        Ok(surroundings) => {
            let no_color = surroundings.no_color;
            (Ok(surroundings), no_color)
        }
        Err(error) => (Err(error), true),
    };
    let printer = Printer::new(args.json, args.color, no_color);
    let done =
        surroundings.and_then(|surroundings| run(Cli::new(surroundings, printer, launcher), args.verb));
    match done.and_then(|exit| printer.finish().map(|()| exit)) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            printer.error(&error);
            ExitCode::from(Exit::from(error.kind()).code())
        }
    }
}

/// Prints a usage error, or help.
fn usage(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|word| word == "--json");
    if json && error.use_stderr() {
        let text = error.render().to_string();
        let message = text.trim_start_matches("error: ").lines().next().unwrap_or_default();
        Printer::new(true, args::Colour::Never, true).json_error(message, None, Exit::Usage);
    } else {
        // As clap does itself.
        let _ = error.print();
    }
    ExitCode::from(if error.use_stderr() { Exit::Usage.code() } else { 0 })
}

fn run(cli: Cli, verb: Verb) -> Result<Exit, Error> {
    match verb {
        Verb::Init { hooks: Some(agents), .. } => verbs::init::hooks(&cli, &agents),
        Verb::Init { force, no_check, fix, hooks: None } => {
            let overwrite = if force { init::Overwrite::Allowed } else { init::Overwrite::Never };
            let fix = if fix { verbs::check::Fix::All } else { verbs::check::Fix::Own };
            verbs::init::init(&cli, overwrite, (!no_check).then_some(fix))
        }
        Verb::Check { fix } => {
            verbs::check::check(&cli, if fix { verbs::check::Fix::All } else { verbs::check::Fix::Ask })
        }
        Verb::Prove { args } if args.hook == Some(args::Hook::PrePush) => {
            verbs::pre_push::pre_push(&cli, &args)
        }
        Verb::Prove { args } => verbs::prove::prove(&cli, &args),
        Verb::Verify { file, signed, allowed_signers } => {
            verbs::verify::verify(&cli, &file, signed, allowed_signers.as_deref())
        }
        Verb::Mcp => verbs::mcp::for_any_client(&cli),
        Verb::Ci { args } => verbs::ci::ci(&cli, &args),
        Verb::Trust { args } => verbs::trust::trust(&cli, args),
        Verb::Run { task, pinned } => verbs::run::run(&cli, &task, pinned),
        Verb::Task(verb) => verbs::task::task(&cli, verb),
        Verb::Inbox { list, all_projects, limit } => {
            let whose = if all_projects { verbs::inbox::Whose::All } else { verbs::inbox::Whose::Here };
            verbs::inbox::inbox(&cli, whose, limit, list)
        }
        Verb::Answer { task, words, more, pinned } => {
            verbs::inbox::answer(&cli, task, words.into_iter().chain(more).collect(), pinned)
        }
        Verb::Approve { task, pinned } => verbs::inbox::approve(&cli, task, pinned),
        Verb::Reject { task, reason } => verbs::inbox::reject(&cli, task, reason),
        Verb::Feedback { task } => verbs::feedback::feedback(&cli, task),
        Verb::Review { asked } => verbs::review::review(&cli, &asked),
        Verb::Logs { task, follow, leg: Some(number), .. } => {
            verbs::logs::output(&cli, LegId { task, number }, follow)
        }
        Verb::Logs { task, follow, raw: true, .. } => verbs::logs::newest(&cli, task, follow),
        Verb::Logs { task, follow, all, .. } => {
            let level = if all { Level::Debug } else { Level::Info };
            verbs::logs::logs(&cli, task, level, follow)
        }
        Verb::Attach { task } => verbs::run::attach(&cli, task),
        Verb::Open { task, command } => verbs::open::open(&cli, task, command),
        Verb::Show { task } => verbs::task::show(&cli, task),
        Verb::Diff { task, stat } => {
            let form = if stat {
                acquit_run::git::Form::Stat(cli.printer.width())
            } else {
                acquit_run::git::Form::Patch
            };
            verbs::diff::diff(&cli, task, form)
        }
        Verb::Merge { task } => verbs::merge::merge(&cli, task),
        Verb::Workflow(verb) => verbs::workflow::workflow(&cli, verb),
        Verb::Prompt(verb) => verbs::prompt::prompt(&cli, &verb),
        Verb::Sandbox { policy, network, hosts, read, write, reduced, print: _, command } => {
            let mode = if reduced { Mode::Reduced } else { Mode::On };
            verbs::sandbox::sandbox(
                &cli,
                &verbs::sandbox::Wanted { policy, network, hosts, read, write, mode, start: None, command },
            )
        }
        Verb::Serve { args } => verbs::serve::serve(&cli, args),
        Verb::Fleet(verb) => verbs::worker::fleet(cli, verb),
        Verb::Notify(verb) => verbs::notify::notify(&cli, &verb),
        Verb::Top => top::top(&cli),
        Verb::Token(verb) => verbs::token::token(&cli, verb),
        Verb::Web { listen, exposed, open, parent } => {
            if acquit_run::process::end_with(parent) {
                verbs::serve::web(cli.app, listen, exposed.exposure(), open)
            } else {
                Ok(Exit::Done)
            }
        }
        Verb::Clean { dry_run, others, parent, tasks } => {
            if let Some(parent) = parent {
                match (acquit_run::process::end_with(parent), tasks.as_slice()) {
                    (true, []) => serve::tidy(&cli.app)?,
                    (true, tasks) => serve::remove(&cli.app, tasks)?,
                    (false, _) => {}
                }
                return Ok(Exit::Done);
            }
            let wish =
                if dry_run { acquit_run::retention::Wish::Look } else { acquit_run::retention::Wish::Clean };
            verbs::clean::clean(&cli, wish, if others { Whose::Everyones } else { Whose::Own })
        }
        Verb::Backup { file } => verbs::store::backup(&cli, &file),
        Verb::Restore { file } => verbs::store::restore(&cli, &file),
        Verb::Store(verb) => verbs::store::store(&cli, &verb),
        Verb::Schedule(verb) => verbs::schedule::schedule(&cli, verb),
        Verb::Report { night } => verbs::report::report(&cli, night.as_ref()),
        Verb::Service(verb) => verbs::service::service(&cli, verb),
        Verb::Agents(args) => verbs::agents::agents(&cli, &args.names, args.ask),
        Verb::Config(args::ConfigVerb::Show { origin, means, variables }) => {
            let run = acquit_app::settings::Run { means: means.into(), variables };
            verbs::config::show(&cli, origin, &run)
        }
        Verb::Demo(demo) if demo.command.is_empty() => verbs::demo::demo(cli, demo.keep),
        Verb::Demo(demo) => {
            match Args::try_parse_from(std::iter::once("acquit".into()).chain(demo.command)) {
                Ok(args) => run(verbs::demo::in_sample(cli, args.json)?, args.verb),
                Err(error) => {
                    let _ = error.print();
                    Ok(if error.use_stderr() { Exit::Usage } else { Exit::Done })
                }
            }
        }
        Verb::Doctor => Ok(verbs::doctor::doctor(&cli)),
        Verb::Schema { form } => Ok(verbs::schema::schema(&cli, form)),
        Verb::Completions { shell } => Ok(verbs::completions::completions(&cli, shell)),
        Verb::Complete { words } => Ok(verbs::complete::complete(&cli, &words)),
        Verb::Stats { all_projects, since, limit } => {
            verbs::stats::stats(&cli, acquit_app::stats::Which { all_projects, since, limit })
        }
        Verb::Begin { schedule, nominal, job, parent } => {
            let which = serve::Which { project: String::new(), schedule, nominal: Timestamp(nominal), job };
            verbs::begin::begin(&cli, &which, parent)
        }
        Verb::Post { parent } => {
            if acquit_run::process::end_with(parent) {
                serve::send_messages(&cli.app)?;
            }
            Ok(Exit::Done)
        }
        Verb::Mirror { args } => verbs::mirror::mirror(&cli, &args),
        Verb::Obtain { task, parent } => verbs::mirror::obtain(&cli, task, parent),
        Verb::Leg { task, in_turn, worker, once, passed_on } => {
            let then = if once { verbs::leg::Then::Stop } else { verbs::leg::Then::GoOn };
            // A harness that continues respects the limits of pools; a person who names a task does not wait for
            // them.
            let in_turn = in_turn || passed_on.is_some();
            let wanted = match (worker.as_deref(), task) {
                (Some(worker), task) => Wanted::By(worker, task),
                (None, None) => Wanted::Any,
                (None, Some(task)) if in_turn => Wanted::Due(task),
                (None, Some(task)) => Wanted::Of(task),
            };
            verbs::leg::leg(&cli, wanted, then, passed_on.map(Timestamp))
        }
    }
}
