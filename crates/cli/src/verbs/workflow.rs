//! `acquit workflow …`: list, check, draw.

use acquit_core::ids::Name;
use acquit_core::workflow::mermaid;

use crate::args::WorkflowVerb;
use crate::desk::Desk;
use crate::error::Error;
use crate::exit::Exit;
use crate::report::{table, text};

/// Does one of them.
pub fn workflow(desk: &Desk, verb: WorkflowVerb) -> Result<Exit, Error> {
    let project = desk.files(&desk.source()?)?.read()?;
    let printer = desk.printer;
    match verb {
        WorkflowVerb::List if printer.json => printer.json(&project.workflows),
        WorkflowVerb::List => {
            let rows: Vec<Vec<String>> = project
                .workflows
                .iter()
                .map(|workflow| {
                    let stages: Vec<&str> = workflow.stages.iter().map(|stage| stage.name.as_str()).collect();
                    let mark =
                        if project.config.workflow.as_ref() == Some(&workflow.name) { "*" } else { "" };
                    vec![
                        format!("{}{mark}", workflow.name),
                        stages.join(" "),
                        text::line(&workflow.description, 60),
                    ]
                })
                .collect();
            table::lines(&["WORKFLOW", "STAGES", "DESCRIPTION"], &rows, &[])
                .iter()
                .for_each(|line| printer.data(line));
        }
        WorkflowVerb::Check { workflow } => {
            let checked: Vec<&Name> = match &workflow {
                Some(name) => vec![&project.workflow(Some(name))?.name],
                None => project.workflows.iter().map(|workflow| &workflow.name).collect(),
            };
            if project.config.workflow.is_some() {
                // The default must be there too, whichever was asked for.
                project.workflow(None)?;
            }
            for name in &checked {
                project.check_stages(project.workflow(Some(name))?)?;
            }
            if printer.json {
                printer.json(&serde_json::json!({ "checked": checked, "mistakes": [] }));
            } else {
                printer.data(&format!("no mistakes in {} and the configuration", join(&checked)));
            }
        }
        WorkflowVerb::Graph { workflow } => printer.data(&mermaid(project.workflow(workflow.as_ref())?)),
    }
    Ok(Exit::Done)
}

fn join(names: &[&Name]) -> String {
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}
