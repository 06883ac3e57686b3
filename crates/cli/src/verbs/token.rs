//! `acquit token`: creates, lists and removes tokens of the dashboard and the API.

use acquit_app::Error;
use acquit_web::access::{Files, TokenError, Tokens};
use serde_json::json;

use crate::args::TokenVerb;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::table;

/// Runs one of the commands.
pub fn token(cli: &Cli, verb: TokenVerb) -> Result<Exit, Error> {
    let files = Files::below(&cli.app.surroundings.home);
    let tokens = Tokens::new(&files);
    let path = files.tokens();
    let failed = |error: TokenError| match error {
        TokenError::File(source) => Error::File { doing: "use", path: path.clone(), source },
        error => Error::Token(error.to_string()),
    };
    let printer = cli.printer;
    match verb {
        TokenVerb::Add { name, role } => {
            let token = tokens.add(&name, role, (cli.app.runtime.now)()).map_err(failed)?;
            if printer.json {
                printer.json(&json!({ "name": name, "role": role, "token": token }));
            } else {
                printer.data(&token);
                printer.say(&format!("keep it: it is not shown again; `acquit token remove {name}` ends it"));
            }
        }
        TokenVerb::List => {
            let all = tokens.list().map_err(|error| failed(error.into()))?;
            if printer.json {
                let shown = all
                    .iter()
                    .map(|one| json!({ "name": one.name, "role": one.role, "created": one.created }));
                printer.json(&shown.collect::<Vec<_>>());
            } else if all.is_empty() {
                printer.say("no tokens; `acquit token add NAME --role operator` makes one");
            } else {
                let rows: Vec<Vec<String>> =
                    all.iter().map(|one| vec![one.name.clone(), one.role.name().to_owned()]).collect();
                table::lines(&["NAME", "ROLE"], &rows, &[]).iter().for_each(|line| printer.data(line));
            }
        }
        TokenVerb::Remove { name } => {
            tokens.remove(&name).map_err(failed)?;
            if printer.json {
                printer.json(&json!({ "name": name, "removed": true }));
            } else {
                printer.data(&format!("{name} removed"));
            }
        }
    }
    Ok(Exit::Done)
}
