//! Formats the agents of a machine: one line each, and below it whether it starts in the sandbox, how it logs in,
//! what to add to the configuration, and which features it lacks.

use std::path::{Path, PathBuf};

use acquit_app::ask::Reply;
use acquit_core::config::Product;
use acquit_core::ids::Name;
use acquit_run::agent::Facts;
use acquit_run::agent::product::{Login, Support, Supports};
use acquit_run::agent::trial::Trial;

use super::{Look, Printer, money, text};

/// Column where details start.
const INDENT: usize = 13;

/// An agent that was tried.
pub struct Tried {
    /// Its name in the configuration, or that of its product.
    pub name: Name,
    /// The product; `None` for an adapter that runs any command.
    pub product: Option<Product>,
    /// Its program, if known.
    pub program: Option<PathBuf>,
    /// Whether the project configures it.
    pub configured: bool,
    /// Its reported version, in the sandbox or else outside.
    pub version: Option<String>,
    /// Why this version does not work, if known.
    pub trouble: Option<&'static str>,
    /// Result of starting it.
    pub trial: Trial,
    /// Result of asking its model, if it was asked.
    pub reply: Option<Reply>,
}

/// All agents.
pub struct Agents {
    /// Installed agents.
    pub here: Vec<Tried>,
    /// Products that are not installed.
    pub missing: Vec<Product>,
}

/// Formats all agents, installed ones first.
pub fn lines(printer: Printer, all: &Agents, home: Option<&Path>) -> Vec<String> {
    let mut lines = Vec::new();
    for tried in &all.here {
        lines.extend(one(printer, tried, home));
    }
    if lines.is_empty() {
        lines.push(printer.paint(Look::Bad, "no agent that acquit knows is in PATH"));
    }
    if !all.missing.is_empty() {
        let names: Vec<&str> = all.missing.iter().map(|product| product.name()).collect();
        lines.push(printer.paint(Look::Faint, &format!("not installed: {}", names.join(", "))));
    }
    lines
}

fn one(printer: Printer, tried: &Tried, home: Option<&Path>) -> Vec<String> {
    let bad = match (&tried.trial.started, tried.trouble) {
        (Err(why), _) => Some(format!("does not start: {why}")),
        (Ok(_), Some(why)) => Some(format!("this version does not work: {why}")),
        (Ok(_), None) => None,
    };
    let unanswered = tried.reply.as_ref().and_then(|reply| reply.trouble.as_deref());
    let (look, mark) = match (&bad, unanswered, tried.trial.findings.as_slice()) {
        (Some(_), ..) | (None, Some(_), _) => (Look::Bad, "✗"),
        (None, None, []) => (Look::Good, "✓"),
        (None, None, [_, ..]) => (Look::Notable, "!"),
    };
    let name = printer.paint(Look::Strong, &format!("{:<8}", tried.name.as_str()));
    let version = tried.version.clone().unwrap_or_default();
    let program = tried.program.as_deref().map(|path| short(path, home)).unwrap_or_default();
    let title = format!("{} {name}  {}  {program}", printer.paint(look, mark), text::visible(&version));
    let mut lines = vec![title.trim_end().to_owned()];
    let mut detail = |label: &str, words: &str| {
        let words = printer.wrapped(words, INDENT);
        lines.push(format!("    {label:<8} {words}"));
    };
    match &bad {
        Some(bad) => detail("sandbox", &printer.paint(Look::Bad, &text::visible(bad))),
        None => detail("sandbox", "starts"),
    }
    match &tried.trial.login {
        Login::Variable(name) => detail("login", &format!("${name}")),
        Login::File(path) => detail("login", &short(path, home)),
        // A finding explains more.
        Login::Missing => {}
        Login::Unknown => detail("login", "cannot be seen from outside"),
    }
    if let Some(reply) = &tried.reply {
        let took = format!("{:.1} s", reply.took.as_secs_f64());
        if let Some(why) = &reply.trouble {
            let words = format!("no answer in {took}: {}", text::visible(why));
            detail("model", &printer.paint(Look::Bad, &words));
        } else {
            let cost = money::usage_cost(&reply.usage);
            let cost = if cost.is_empty() { cost } else { format!(", {cost}") };
            detail("model", &format!("answers in {took}{cost}"));
        }
    }
    for finding in &tried.trial.findings {
        detail("missing", &printer.paint(Look::Notable, &text::visible(&finding.what)));
        if !finding.add.is_empty() {
            detail("", "add to .acquit/acquit.toml:");
            finding.add.iter().for_each(|line| detail("", &format!("  {}", text::visible(line))));
        }
    }
    let lacks = tried.product.map(|product: Product| lacks(&Facts::of(product).supports)).unwrap_or_default();
    if !lacks.is_empty() {
        detail("lacks", &printer.paint(Look::Faint, &lacks));
    }
    lines
}

/// Lists the features that an agent lacks or supports only partly.
fn lacks(supports: &Supports) -> String {
    let part = |(name, support): (&str, Support)| match support {
        Support::Yes => None,
        Support::Partly(how) => Some(format!("{name} ({how})")),
        Support::No => Some(name.to_owned()),
    };
    supports.all().into_iter().filter_map(part).collect::<Vec<_>>().join(", ")
}

/// Formats a path, with `~` for the home.
fn short(path: &Path, home: Option<&Path>) -> String {
    let below = home.and_then(|home| path.strip_prefix(home).ok());
    let path = below.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()));
    text::visible(&path)
}
