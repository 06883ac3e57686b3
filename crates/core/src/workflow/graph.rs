//! A workflow as a picture, for documents and terminals.

use super::Workflow;

/// The workflow as a Mermaid flowchart.
pub fn mermaid(_workflow: &Workflow) -> String { String::new() }
