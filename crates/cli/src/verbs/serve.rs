//! `acquit serve`: runs the daemon, and the dashboard in a separate process.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::args::ServeArgs;
use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::serve::{self, Dashboard, Options, Stop, Until};
use acquit_app::{App, Error};
use acquit_web::access::Exposure;

/// Runs the daemon, or prints a login link for the running dashboard.
pub fn serve(cli: &Cli, args: ServeArgs) -> Result<Exit, Error> {
    if args.link {
        let link = acquit_web::link(&cli.app)?;
        if cli.printer.json {
            cli.printer.json(&serde_json::json!({ "link": link }));
        } else {
            cli.printer.data(&link);
        }
        return Ok(Exit::Done);
    }
    // Check this now: another process would find the error later.
    acquit_web::check_address(args.listen, &args.exposed.exposure())?;
    let listen = args.listen.map(|address| [OsString::from("--listen"), address.to_string().into()]);
    let words = listen.into_iter().flatten().chain(args.exposed.words()).collect();
    let dashboard = (!args.no_web && !args.once).then_some(Dashboard { words, open: args.open });
    serve::run(
        &cli.app,
        Options {
            until: if args.once { Until::Done } else { Until::Stopped },
            stop: if args.drain { Stop::Drain } else { Stop::Leave },
            most: args.workers,
            only: None,
            pass_on: cli.pass_on(),
            dashboard,
        },
    )?;
    Ok(Exit::Done)
}

/// Serves the dashboard, in its own process.
pub fn web(app: App, listen: Option<SocketAddr>, exposure: Exposure, open: bool) -> Result<Exit, Error> {
    let app = Arc::new(app);
    let told = Arc::clone(&app);
    acquit_web::serve(app, acquit_web::Options { listen, exposure }, move |link| {
        serve::log(&told, "dashboard", link);
        if open {
            acquit_web::open_browser(&told, link);
        }
    })?;
    Ok(Exit::Done)
}
