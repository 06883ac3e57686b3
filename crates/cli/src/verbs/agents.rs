//! `acquit agents`: shows which coding agents are installed, whether each starts in the sandbox with a stage's
//! credentials, what to add if not, and with `--ask` whether its model answers.

use acquit_core::config::{self, Adapter, Agent, Config, Product};
use acquit_core::ids::Name;
use acquit_run::agent::Facts;
use acquit_run::agent::discovery;
use acquit_run::agent::product::{Login, Support};
use acquit_run::agent::trial::{self, Finding, Trial};
use serde_json::{Value, json};

use crate::cli::Cli;
use crate::exit::Exit;
use crate::report;
use crate::report::agents::{Agents, Tried};
use acquit_app::Error;
use acquit_app::ask::{self, Reply};
use acquit_app::scratch_dir::Folder;

/// Tries all agents: those that the project configures, and others as `acquit init` would configure them. With names,
/// only these.
pub fn agents(cli: &Cli, names: &[Name], ask: bool) -> Result<Exit, Error> {
    let config = configuration(cli)?;
    check_names(&config, names)?;
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|one| one.as_str() == name);
    let folder = Folder::new(&cli.app.runtime.home.join("sandboxes"))?;
    let mut all = Agents { here: Vec::new(), missing: Vec::new() };
    for (name, agent) in &config.agents {
        if matches!(agent.adapter, Adapter::Scripted { .. }) || !is_wanted(name.as_str()) {
            continue;
        }
        all.here.push(tried(cli, &config, name, agent, &folder, true, ask)?);
    }
    for &product in Product::ALL {
        let is_this =
            |agent: &Agent| matches!(agent.adapter, Adapter::Product { product: one } if one == product);
        if config.agents.values().any(is_this) || !is_wanted(product.name()) {
            continue;
        }
        if discovery::find(&cli.app.runtime, product, None).is_none() {
            all.missing.push(product);
            continue;
        }
        let usual = usual(product);
        for (name, agent) in &usual.agents {
            let with = Config { agents: usual.agents.clone(), ..config.clone() };
            all.here.push(tried(cli, &with, name, agent, &folder, false, ask)?);
        }
    }
    let printer = cli.printer;
    if printer.json {
        let mut list: Vec<Value> = all.here.iter().map(shown).collect();
        list.extend(all.missing.iter().map(|product| described(*product)));
        printer.json(&json!({ "agents": list }));
    } else {
        let home = cli.app.surroundings.user_home.as_deref();
        report::agents::lines(printer, &all, home).iter().for_each(|line| printer.data(line));
    }
    let can_start = all.here.iter().any(|agent| agent.trial.started.is_ok());
    let answers = |agent: &Tried| agent.reply.as_ref().is_some_and(|reply| reply.trouble.is_none());
    let is_well = if ask { !all.here.is_empty() && all.here.iter().all(answers) } else { can_start };
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

/// Rejects a name that neither the project nor acquit knows.
fn check_names(config: &Config, names: &[Name]) -> Result<(), Error> {
    let products = Product::ALL.iter().map(|product| -> &str { product.name() });
    let known: Vec<&str> = config.agents.keys().map(Name::as_str).chain(products).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let known = known.join(", ");
            Err(Error::NoSuch { doing: "try the agent", name: name.to_string(), known })
        }
    }
}

/// Reads the project's configuration, if run inside one. It names programs and secrets, so it must be trusted.
fn configuration(cli: &Cli) -> Result<Config, Error> {
    let Ok(source) = cli.app.source() else { return Ok(Config::default()) };
    match cli.app.files(&source).and_then(|files| files.read()) {
        Ok(project) => Ok(project.config),
        Err(Error::NotInitialised(_)) => Ok(Config::default()),
        Err(error) => Err(error),
    }
}

/// Returns a product's configuration as `acquit init` writes it.
fn usual(product: Product) -> Config {
    let name = product.name();
    config::read(name, &format!("[agents.{name}]\nadapter = \"{name}\"\n")).unwrap_or_default()
}

fn tried(
    cli: &Cli,
    config: &Config,
    name: &Name,
    agent: &Agent,
    folder: &Folder,
    configured: bool,
    ask: bool,
) -> Result<Tried, Error> {
    let runtime = &cli.app.runtime;
    let product = match agent.adapter {
        Adapter::Product { product } => Some(product),
        Adapter::Command { .. } | Adapter::Acp { .. } | Adapter::Scripted { .. } => None,
    };
    let program = product.and_then(|product| discovery::find(runtime, product, agent.program.as_deref()));
    let place = folder.path.join(name.as_str());
    let at = |source| Error::File { doing: "try an agent in", path: place.clone(), source };
    let trial = match (product, &program) {
        (Some(product), None) => Trial {
            started: Err(format!(
                "`{}` is not installed",
                agent.program.as_deref().unwrap_or(Facts::of(product).program)
            )),
            login: Login::Unknown,
            findings: Vec::new(),
        },
        _ => trial::try_agent(runtime, config, name, agent, &place).map_err(at)?,
    };
    let mut trial = trial;
    if let (false, Some(product)) = (configured, product) {
        let table = format!("[agents.{name}]");
        for finding in &mut trial.findings {
            if let Some(at) = finding.add.iter().position(|line| *line == table) {
                finding.add.insert(at + 1, format!("adapter = \"{}\"", product.name()));
            }
        }
    }
    let outside = || discovery::version(runtime, product?, program.as_deref()?).ok();
    let version = trial.started.clone().ok().or_else(outside).filter(|version| !version.is_empty());
    let trouble =
        product.zip(version.as_deref()).and_then(|(product, version)| discovery::trouble(product, version));
    let reply = if ask && trial.started.is_ok() {
        Some(ask::ask(&cli.app, config, name, &place.join("ask"))?)
    } else {
        None
    };
    Ok(Tried { name: name.clone(), product, program, configured, version, trouble, trial, reply })
}

/// Describes a product as JSON.
fn described(product: Product) -> Value {
    let facts = Facts::of(product);
    let support = |(name, support): (&str, Support)| {
        let value = match support {
            Support::Yes => json!(true),
            Support::Partly(how) => json!(how),
            Support::No => json!(false),
        };
        (name.to_owned(), value)
    };
    let supports: serde_json::Map<String, Value> = facts.supports.all().into_iter().map(support).collect();
    json!({
        "name": product.name(), "title": facts.title, "tried": facts.tried.to_string(), "supports": supports,
        "installed": false,
    })
}

fn shown(tried: &Tried) -> Value {
    let mut value = tried.product.map_or_else(|| json!({}), described);
    let Trial { started, login, findings } = &tried.trial;
    value["name"] = json!(tried.name);
    value["adapter"] = json!(tried.product.map(Product::name));
    value["configured"] = json!(tried.configured);
    value["installed"] = json!(tried.product.is_none() || tried.program.is_some());
    value["program"] = json!(tried.program);
    value["version"] = json!(tried.version);
    value["trouble"] = json!(started.as_ref().err().map(String::as_str).or(tried.trouble));
    value["starts_in_sandbox"] = json!(started.is_ok());
    value["login"] = match login {
        Login::Variable(name) => json!({ "variable": name }),
        Login::File(path) => json!({ "file": path }),
        Login::Missing => json!("missing"),
        Login::Unknown => json!("unknown"),
    };
    let finding = |Finding { what, add }: &Finding| json!({ "what": what, "add": add });
    value["findings"] = findings.iter().map(finding).collect();
    if let Some(Reply { trouble, took, usage }) = &tried.reply {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        value["reply"] =
            json!({ "answers": trouble.is_none(), "trouble": trouble, "took_ms": took, "usage": usage });
    }
    value
}
