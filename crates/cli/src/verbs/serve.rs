//! `acquit serve`: the daemon, and the dashboard beside it.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::args::ServeArgs;
use crate::cli::Cli;
use crate::exit::Exit;
use acquit_app::serve::{self, Dashboard, Options, Stop, Until};
use acquit_app::{App, Error};

/// Runs the daemon, or prints a login link for the dashboard that runs.
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
    // Said now: the process that would find it out is another one.
    if let Some(address) = args.listen {
        acquit_web::check_address(address)?;
    }
    let dashboard = (!args.no_web && !args.once)
        .then(|| Dashboard { listen: args.listen.map(|address| address.to_string()), open: args.open });
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

/// Serves the dashboard: the process beside the daemon.
pub fn web(app: App, listen: Option<SocketAddr>, open: bool) -> Result<Exit, Error> {
    let app = Arc::new(app);
    let told = Arc::clone(&app);
    acquit_web::serve(app, acquit_web::Options { listen }, move |link| {
        serve::log(&told, "dashboard", link);
        if open {
            acquit_web::open_browser(&told, link);
        }
    })?;
    Ok(Exit::Done)
}
