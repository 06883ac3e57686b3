//! What tests of the reference share.

use acquit_core::template::{Found, Texts};

/// The texts that the reference names.
pub(crate) struct Sample;

impl Texts for Sample {
    fn text(&self, path: &str) -> Found {
        let text = match path {
            "agents/planner.md" => {
                "+++\ndescription = \"plans\"\ntier = \"deep\"\ntools = [\"read\"]\n+++\nPlan {{ task }}.\n"
            }
            "prompts/plan.md" => "Two pages.\n",
            "prompts/style.md" => "Plain words for {{ category }}.\n",
            _ => return Found::Absent,
        };
        Found::Text { shown: path.to_owned(), text: text.to_owned() }
    }

    fn names(&self, folder: &str) -> Vec<String> {
        if folder == "agents" { vec!["agents/planner.md".to_owned()] } else { Vec::new() }
    }
}
