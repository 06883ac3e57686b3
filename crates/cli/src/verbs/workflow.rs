//! `acquit workflow …`: lists, checks, draws and copies workflows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use acquit_core::gate::Gate;
use acquit_core::ids::Name;
use acquit_core::toml_reader::{Mistake, Mistakes};
use acquit_core::workflow::{self, Around, mermaid};

use crate::args::{Ejected, WorkflowVerb};
use crate::cli::Cli;
use crate::exit::Exit;
use crate::report::{table, text};
use acquit_app::Error;
use acquit_app::init::{self, Overwrite};
use acquit_app::project::{Asked, FOLDER, Known, Origin, Project};
use acquit_app::{serve, shipped};
use acquit_run::agent;

/// Runs one of the commands.
pub fn workflow(cli: &Cli, verb: WorkflowVerb) -> Result<Exit, Error> {
    if let WorkflowVerb::Eject { workflow, only, force } = &verb {
        let overwrite = if *force { Overwrite::Allowed } else { Overwrite::Never };
        return eject(cli, workflow, *only, overwrite);
    }
    if let WorkflowVerb::Check { workflow } = &verb {
        return check(cli, workflow.as_ref());
    }
    let project = cli.app.files(&cli.app.source()?)?.look()?;
    let printer = cli.printer;
    match verb {
        WorkflowVerb::Eject { .. } | WorkflowVerb::Check { .. } => {}
        WorkflowVerb::List if printer.json => {
            let all: Vec<_> = project.workflows.iter().map(|known| listed(&project, known)).collect();
            printer.json(&all);
        }
        WorkflowVerb::List => {
            let rows: Vec<Vec<String>> = project.workflows.iter().map(|known| row(&project, known)).collect();
            table::lines(&["WORKFLOW", "FROM", "STAGES", "DESCRIPTION"], &rows, &[])
                .iter()
                .for_each(|line| printer.data(line));
        }
        WorkflowVerb::Graph { workflow } => {
            let drawn = mermaid(project.workflow(workflow.as_ref())?);
            if printer.json {
                printer.json(&serde_json::json!({ "mermaid": drawn }));
            } else {
                printer.data(&drawn);
            }
        }
    }
    Ok(Exit::Done)
}

/// Reports every mistake: in one workflow, or in the configuration and all workflows of the project.
fn check(cli: &Cli, only: Option<&Name>) -> Result<Exit, Error> {
    let source = cli.app.source()?;
    let files = cli.app.files(&source)?;
    let (project, mut mistakes) = files.inspect()?;
    let mut warnings = Vec::new();
    let used = |known: &&Known| match only {
        Some(name) => known.name == *name,
        // Check built-in workflows only if they are used.
        None => known.origin != Origin::Shipped || is_default(&project, known),
    };
    let known: Vec<&Known> = project.workflows.iter().filter(used).collect();
    if let (Some(name), true) = (only, known.is_empty()) {
        project.workflow(Some(name))?;
    }
    let checked = Checked { names: known.iter().map(|known| &known.name).collect(), only };
    let layers = files.layers()?;
    if layers.iter().any(|layer| layer.text.parse::<toml::Table>().is_err()) {
        // Without a configuration it is unknown which names workflows may use, so don't check them.
        return found(cli, &checked, mistakes, &warnings);
    }
    mistakes.extend(serve::mistakes(&project, &layers));
    let is_sound = mistakes.is_empty();
    if only.is_some() && !is_sound {
        warnings.push("the configuration has mistakes; `acquit workflow check` lists them".to_owned());
        mistakes.clear();
    }
    for known in &known {
        if let Err(Mistakes(list)) = &known.read {
            let new: Vec<_> = list.iter().filter(|mistake| !mistakes.contains(mistake)).cloned().collect();
            mistakes.extend(new);
        }
    }
    if only.is_none() {
        // Of unused workflows, check only files that the project overrides.
        for known in project.workflows.iter().filter(|known| !used(known)) {
            let Err(Mistakes(list)) = &known.read else { continue };
            let own = list.iter().filter(|mistake| mistake.file.starts_with(FOLDER));
            let new: Vec<_> = own.filter(|mistake| !mistakes.contains(mistake)).cloned().collect();
            mistakes.extend(new);
        }
    }
    // If the configuration has mistakes, names used by stages may only seem to be missing.
    if !mistakes.is_empty() || !is_sound {
        return found(cli, &checked, mistakes, &warnings);
    }
    if only.is_none() && project.config.workflow.is_some() {
        // The default workflow must exist too.
        project.workflow(None)?;
    }
    for known in &known {
        let Ok(workflow) = &known.read else { continue };
        project.check_stages(workflow)?;
        let tools = agent::tools::unheld(workflow, &project.config).into_iter();
        let unheld = tools.chain(agent::limits::unheld(workflow, &project.config));
        warnings.extend(unheld.map(|warning| format!("workflow `{}`, {warning}", known.name)));
    }
    found(cli, &checked, Vec::new(), &warnings)
}

/// The subject of a check.
struct Checked<'k> {
    names: Vec<&'k Name>,
    /// The one workflow that was asked about. Without one, also the configuration.
    only: Option<&'k Name>,
}

/// Reports the result of a check.
fn found(
    cli: &Cli,
    checked: &Checked<'_>,
    mistakes: Vec<Mistake>,
    warnings: &[String],
) -> Result<Exit, Error> {
    let printer = cli.printer;
    if printer.json {
        let list: Vec<_> = mistakes
            .iter()
            .map(|one| {
                serde_json::json!({
                    "file": one.file, "line": one.line, "column": one.column, "what": one.what, "hint": one.hint,
                })
            })
            .collect();
        printer
            .json(&serde_json::json!({ "checked": checked.names, "mistakes": list, "warnings": warnings }));
        return Ok(if list.is_empty() { Exit::Done } else { Exit::Usage });
    }
    warnings.iter().for_each(|warning| printer.warn(warning));
    if !mistakes.is_empty() {
        return Err(Mistakes(mistakes).into());
    }
    let names: Vec<&str> = checked.names.iter().map(|name| name.as_str()).collect();
    let names = names.join(", ");
    printer.data(&match checked.only {
        Some(_) => format!("no mistakes in {names}"),
        None if names.is_empty() => "no mistakes in the configuration".to_owned(),
        None => format!("no mistakes in {names} and the configuration"),
    });
    Ok(Exit::Done)
}

fn is_default(project: &Project, known: &Known) -> bool {
    project.config.workflow.as_ref() == Some(&known.name)
}

fn row(project: &Project, known: &Known) -> Vec<String> {
    let mark = if is_default(project, known) { "*" } else { "" };
    let (stages, description) = match &known.read {
        Ok(workflow) => {
            let stages: Vec<&str> = workflow.stages.iter().map(|stage| stage.name.as_str()).collect();
            (stages.join(" "), text::line(&workflow.description, 60))
        }
        Err(mistakes) => {
            let first = mistakes.0.first().map(|mistake| mistake.what.as_str()).unwrap_or_default();
            (String::new(), format!("cannot be used here: {}", text::line(first, 60)))
        }
    };
    vec![format!("{}{mark}", known.name), known.origin.words().to_owned(), stages, description]
}

fn listed(project: &Project, known: &Known) -> serde_json::Value {
    let mistakes = known.read.as_ref().err().map(|mistakes| {
        let lines: Vec<String> = mistakes.0.iter().map(ToString::to_string).collect();
        lines
    });
    serde_json::json!({
        "name": known.name,
        "origin": known.origin,
        "default": is_default(project, known),
        "workflow": known.read.as_ref().ok(),
        "mistakes": mistakes.unwrap_or_default(),
    })
}

/// Copies a built-in workflow and the files it uses into the project.
fn eject(cli: &Cli, name: &Name, only: Option<Ejected>, overwrite: Overwrite) -> Result<Exit, Error> {
    let source = cli.app.source()?;
    let library = cli.app.files(&source)?.library();
    let own = format!("workflows/{name}.toml");
    let Some(text) = shipped::text(&own) else {
        let known = shipped::workflows().collect::<Vec<_>>().join(", ");
        return Err(Error::NotShipped { name: name.clone(), known });
    };
    let wanted = |path: &str| match only {
        None => true,
        Some(Ejected::Workflow) => path == own,
        Some(Ejected::Agents) => path.starts_with("agents/"),
        Some(Ejected::Prompts) => path.starts_with("prompts/"),
    };
    let mut files = Vec::new();
    let mut kept = Vec::new();
    for path in used(name, text).iter().chain([&own]).filter(|path| wanted(path)) {
        // Keep a text that the project already has, whichever workflow includes it. The workflow's own file was
        // requested, so refusing to write it is an error.
        if overwrite == Overwrite::Never && *path != own && library.has_own(path) {
            kept.push(path.clone());
        } else {
            let text = shipped::text(path).unwrap_or_default().to_owned();
            files.push((PathBuf::from(FOLDER).join(path), text));
        }
    }
    let plan = init::Plan { files, seen: Vec::new(), recognised: true, has_agent: true, notes: Vec::new() };
    let copies = init::write(source.top(), &plan, overwrite)?;
    let trusted = cli.app.trust_written(&source, &[plan.files.clone(), copies.clone()].concat())?;
    let written: Vec<String> = plan.files.iter().map(|(path, _)| path.display().to_string()).collect();
    let printer = cli.printer;
    if printer.json {
        printer.json(&serde_json::json!({ "files": written, "kept": kept }));
        return Ok(Exit::Done);
    }
    written.iter().for_each(|file| printer.data(&format!("wrote {file}")));
    kept.iter().for_each(|file| printer.say(&format!("kept {FOLDER}/{file}")));
    copies
        .iter()
        .for_each(|(copy, _)| printer.say(&format!("note: what was there is in {}", copy.display())));
    printer.say("these files count from now on; what you remove comes from acquit again");
    if !trusted {
        printer.say("next: `acquit trust` to look at all of .acquit/ and let it be used");
    }
    Ok(Exit::Done)
}

/// Returns the texts that a built-in workflow uses. Ignores the project's files and gates.
fn used(name: &Name, text: &str) -> BTreeSet<String> {
    let asked = Asked::default();
    let (gates, budgets): (Vec<Gate>, _) = (Vec::new(), BTreeMap::new());
    let around = Around { variables: &[], gates: &gates, budgets: &budgets, texts: &asked };
    // Missing gates do not matter here.
    let _ = workflow::read_in(name.as_str(), name, text, &around);
    asked.paths()
}
