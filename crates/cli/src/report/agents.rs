//! The agents of a machine, in words: a line each, and below it how they log in and what they lack.

use std::path::Path;

use acquit_core::config::Product;
use acquit_run::agent::Facts;
use acquit_run::agent::found::Found;
use acquit_run::agent::product::{Login, Support, Supports};

use super::{Look, Printer, text};

/// All of them: first those that are here.
pub fn lines(printer: Printer, list: &[(Product, Option<Found>)], home: Option<&Path>) -> Vec<String> {
    let mut lines = Vec::new();
    for found in list.iter().filter_map(|(_, found)| found.as_ref()) {
        lines.extend(one(printer, found, home));
    }
    let missing: Vec<&str> =
        list.iter().filter(|(_, found)| found.is_none()).map(|(product, _)| product.name()).collect();
    if lines.is_empty() {
        lines.push(printer.paint(Look::Bad, "no agent that acquit knows is where PATH leads"));
    }
    if !missing.is_empty() {
        lines.push(printer.paint(Look::Faint, &format!("not here: {}", missing.join(", "))));
    }
    lines
}

fn one(printer: Printer, found: &Found, home: Option<&Path>) -> Vec<String> {
    let facts = Facts::of(found.product);
    let (version, bad) = match (&found.version, found.trouble) {
        (Ok(version), None) => (version.clone(), None),
        (Ok(version), Some(why)) => (version.clone(), Some(format!("this version does not work: {why}"))),
        (Err(why), _) => ("unknown version".to_owned(), Some(format!("it does not tell its version: {why}"))),
    };
    let mark = if bad.is_none() { printer.paint(Look::Good, "✓") } else { printer.paint(Look::Bad, "✗") };
    let name = printer.paint(Look::Strong, &format!("{:<8}", found.product.name()));
    let mut lines =
        vec![format!("{mark} {name}  {}  {}", text::visible(&version), short(&found.program, home))];
    if let Some(bad) = bad {
        lines.push(format!("    {}", printer.paint(Look::Bad, &text::visible(&bad))));
    }
    let login = match &found.login {
        Login::Variable(name) => format!("${name} is set"),
        Login::File(path) => short(path, home),
        Login::Missing => printer.paint(
            Look::Notable,
            &match (facts.log_in, facts.keys.first().copied().unwrap_or_default()) {
                ("", key) => format!("none found: set {key}, or the key of another provider"),
                (log_in, key) => format!("none found: `{log_in}`, or set {key}"),
            },
        ),
        Login::Unknown => "cannot be seen from outside".to_owned(),
    };
    lines.push(format!("    login  {login}"));
    let lacks = lacks(&facts.supports);
    if !lacks.is_empty() {
        lines.push(printer.paint(Look::Faint, &format!("    lacks  {lacks}")));
    }
    lines
}

/// What an agent has not, or not wholly.
fn lacks(supports: &Supports) -> String {
    let part = |(name, support): (&str, Support)| match support {
        Support::Yes => None,
        Support::Partly(how) => Some(format!("{name} ({how})")),
        Support::No => Some(name.to_owned()),
    };
    supports.all().into_iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// A path, with the home as people write it.
fn short(path: &Path, home: Option<&Path>) -> String {
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    let path = below.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()));
    text::visible(&path)
}
