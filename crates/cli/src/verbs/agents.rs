//! `acquit agents`: which coding agents are here, in which version, whether they can log in, and what each of them lacks.

use acquit_core::config::{Adapter, Product};
use acquit_run::agent::Facts;
use acquit_run::agent::found::{self, Found};
use acquit_run::agent::product::{Login, Support};
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;
use crate::report;

/// Looks for all of them. In a project, the programs that it names are taken in place of the usual ones.
pub fn agents(desk: &Desk) -> Result<Exit, Error> {
    let instead = programs(desk)?;
    let list: Vec<(Product, Option<Found>)> = Product::ALL
        .into_iter()
        .map(|product| {
            let program = instead.iter().find(|(named, _)| *named == product).map(|(_, path)| path.as_str());
            (product, found::look(&desk.world, product, program))
        })
        .collect();
    let printer = desk.printer;
    if printer.json {
        let list: Vec<Value> = list.iter().map(|(product, found)| shown(*product, found.as_ref())).collect();
        printer.json(&json!({ "agents": list }));
    } else {
        let home = desk.surroundings.user_home.as_deref();
        report::agents::lines(printer, &list, home).iter().for_each(|line| printer.data(line));
    }
    Ok(if list.iter().any(|(_, found)| found.is_some()) { Exit::Done } else { Exit::Failed })
}

/// The programs that the project names, if the command was called in one.
fn programs(desk: &Desk) -> Result<Vec<(Product, String)>, Error> {
    let Ok(source) = desk.source() else { return Ok(Vec::new()) };
    let files = match desk.files(&source) {
        Ok(files) => files,
        Err(Error::NotInitialised(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let project = files.look()?;
    let named = project.config.agents.into_values().filter_map(|agent| match agent.adapter {
        Adapter::Product { product } => Some((product, agent.program?)),
        Adapter::Command { .. } | Adapter::Acp { .. } | Adapter::Scripted { .. } => None,
    });
    let named: Vec<(Product, String)> = named.collect();
    if !named.is_empty() {
        // They are started to ask for their versions.
        files.trust().check(files.snapshot())?;
    }
    Ok(named)
}

fn shown(product: Product, found: Option<&Found>) -> Value {
    let facts = Facts::of(product);
    let supports: serde_json::Map<String, Value> = facts
        .supports
        .all()
        .into_iter()
        .map(|(name, support)| {
            let value = match support {
                Support::Yes => json!(true),
                Support::Partly(how) => json!(how),
                Support::No => json!(false),
            };
            (name.to_owned(), value)
        })
        .collect();
    let mut value = json!({
        "name": product.name(), "title": facts.title, "tried": facts.tried.to_string(), "supports": supports,
        "installed": found.is_some(),
    });
    if let Some(found) = found {
        value["program"] = json!(found.program);
        value["version"] = json!(found.version.as_ref().ok());
        value["trouble"] = json!(found.version.as_ref().err().map(String::as_str).or(found.trouble));
        value["login"] = match &found.login {
            Login::Variable(name) => json!({ "variable": name }),
            Login::File(path) => json!({ "file": path }),
            Login::Missing => json!("missing"),
            Login::Unknown => json!("unknown"),
        };
    }
    value
}
