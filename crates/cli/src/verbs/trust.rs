//! `acquit trust`: shows what a repository's `.acquit/` asks for, and asks whether to trust it.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal};

use serde_json::json;

use crate::args::TrustArgs;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{Look, text};
use acquit_app::Error;
use acquit_app::trust::{self, Ask, Standing, What};

/// Shows what the repository asks for, and adds or removes the user's trust.
pub fn trust(cli: &Cli, args: TrustArgs) -> Result<Exit, Error> {
    let source = cli.app.source()?;
    let files = cli.app.files(&source)?;
    // Read the files once, so that exactly what was shown is trusted.
    let (trust, snapshot) = (files.trust(), files.snapshot());
    let printer = cli.printer;
    if args.revoke {
        let was = trust.revoke()?;
        let standing = trust.standing(snapshot);
        if printer.json {
            printer.json(&json!({ "path": source.top(), "standing": standing, "revoked": was }));
        } else {
            printer.data(if was { "no longer trusted" } else { "was not trusted" });
            if standing == Standing::ByPath {
                printer.warn("`trusted_paths` of your own configuration still covers this repository");
            }
        }
        return Ok(Exit::Done);
    }
    let standing = trust.standing(snapshot);
    let asks = trust::asks(snapshot);
    let difference = if standing.is_trusted() { String::new() } else { trust.difference(snapshot) };
    if !printer.json {
        printer.diff(&difference);
        summary(cli, &asks);
    }
    let shown = |standing: Standing| {
        let asks: Vec<_> = asks.iter().map(|ask| json!(ask)).collect();
        json!({
            "path": source.top(), "standing": standing, "trusted": standing.is_trusted(), "asks": asks, "diff": difference,
        })
    };
    if args.show || standing.is_trusted() {
        if printer.json {
            printer.json(&shown(standing));
        } else {
            printer.data(words(standing));
        }
        return Ok(if standing.is_trusted() { Exit::Done } else { Exit::Failed });
    }
    if !args.yes && !agreed(cli)? {
        if printer.json {
            printer.json(&shown(standing));
        } else {
            printer.data(words(standing));
        }
        return Ok(Exit::Failed);
    }
    trust.keep(snapshot, (cli.app.runtime.now)())?;
    let standing = trust.standing(snapshot);
    if printer.json {
        printer.json(&shown(standing));
    } else {
        printer.data(words(standing));
    }
    Ok(Exit::Done)
}

/// Describes the trust status.
fn words(standing: Standing) -> &'static str {
    match standing {
        Standing::NotNeeded => "this repository asks for nothing that needs trust",
        Standing::ByPath => "trusted: it is below a path in `trusted_paths` of your own configuration",
        Standing::Trusted => "trusted",
        Standing::Changed => "not trusted: .acquit/ has changed since you trusted it",
        Standing::Unknown => "not trusted",
    }
}

/// Prints what is asked for, by kind. It comes last, right above the question, however long the files are.
fn summary(cli: &Cli, asks: &[Ask]) {
    let printer = cli.printer;
    let mut kinds: BTreeMap<What, Vec<&Ask>> = BTreeMap::new();
    asks.iter().for_each(|ask| kinds.entry(ask.what).or_default().push(ask));
    for (what, asks) in kinds {
        printer.data(&printer.paint(Look::Strong, &format!(".acquit/ {}:", what.words())));
        for ask in asks {
            let file = printer.paint(Look::Faint, &format!("  # {}", text::visible(&ask.file)));
            printer.data(&format!("  {}{file}", text::visible(&format!("{} = {}", ask.key, ask.value))));
        }
    }
}

/// Asks the user. Fails without a terminal.
fn agreed(cli: &Cli) -> Result<bool, Error> {
    let mut input = std::io::stdin().lock();
    if cli.printer.json || !input.is_terminal() {
        return Err(Error::TrustUnasked);
    }
    cli.printer.say("Trust this repository with all of that? [y/N]");
    let mut answer = String::new();
    let read = input.read_line(&mut answer);
    read.map_err(|source| Error::File { doing: "read", path: "standard input".into(), source })?;
    Ok(["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()))
}
