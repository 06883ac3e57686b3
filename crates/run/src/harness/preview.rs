//! Shows the prompt of an agent without starting one: the same sections as in a leg, with secrets redacted.

use acquit_core::config::Reporting;
use acquit_core::definition::Definition;
use acquit_core::ids::LegId;
use acquit_core::leg::Entry;
use acquit_core::prompt::{self, Memory, Parts, Section, Tools};
use acquit_core::task::Task;
use acquit_core::workflow::Work;

use super::turn::date;
use crate::agent;
use crate::runtime::Runtime;
use crate::secrets::{self, Vault};

/// Returns the prompt sections that the task's next leg would get for this entry.
pub fn preview(
    runtime: &Runtime,
    task: &Task,
    definition: &Definition,
    entry: &Entry,
) -> Result<Vec<Section>, prompt::Error> {
    let config = &definition.config;
    let leg = LegId { task: task.id(), number: task.legs + 1 };
    let folder = runtime.leg_folder(leg);
    let (handoff, output_dir) = (folder.handoff(), folder.output_dir());
    let parts = Parts {
        task,
        definition,
        entry,
        leg,
        date: &date((runtime.now)().0),
        handoff_file: &handoff.to_string_lossy(),
        output_dir: &output_dir.to_string_lossy(),
        memory: Memory::None,
        tools: tools(definition, entry),
        // A review gets the change from the workspace, which a preview does not touch.
        change: None,
        agents_md: None,
        files: acquit_core::prompt::Files::Gone,
    };
    let mut sections = prompt::sections(&parts)?;
    let redactor = secrets::known(
        &Vault::new(config, &runtime.environment, &runtime.spawner),
        config,
        &runtime.environment,
    );
    for section in &mut sections {
        section.text = redactor.text(&section.text);
    }
    Ok(sections)
}

/// Returns how the stage's agent reports, if the agent is known.
fn tools(definition: &Definition, entry: &Entry) -> Tools {
    let stage = definition.workflow.stage(entry.stage.as_str());
    let Some(Work::Agent(work)) = stage.map(|stage| &stage.work) else { return Tools::Absent };
    let config = &definition.config;
    let chosen = work.agent.as_ref().or(config.agent.as_ref()).and_then(|name| config.agents.get(name));
    match chosen.and_then(|agent| agent::reports(agent).ok()) {
        Some(Reporting::Tools) => Tools::Offered,
        Some(Reporting::Structured) => Tools::Form,
        Some(Reporting::File) | None => Tools::Absent,
    }
}
