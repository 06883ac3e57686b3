//! Renders a workflow as a graph for documents and terminals.
//!
//! The shape of a stage shows its kind: a box for an agent, a hexagon for a check, a box with double sides for an
//! action, rounded ends for a person. A dotted line is the path of rejected work.

use std::fmt::Write as _;

use super::{Consent, Mode, Stage, Target, Transition, Work, Workflow};

/// Maximum length of a text in a shape.
const TEXT_SHOWN: usize = 60;

/// Renders the workflow as a Mermaid flowchart.
pub fn mermaid(workflow: &Workflow) -> String {
    let mut lines = vec!["begin((start))".to_owned()];
    lines.extend(workflow.stages.iter().map(|stage| shape(workflow, stage)));
    for (word, target) in [("done", Target::Done), ("failed", Target::Failed), ("person", Target::Person)] {
        if workflow.stages.iter().flat_map(|stage| stage.on.values()).any(|it| leads_to(it, &target)) {
            lines.push(format!("{word}_end((({word})))"));
        }
    }
    lines.push(format!("begin --> {}", id(workflow, workflow.start.as_str())));
    for stage in &workflow.stages {
        let from = id(workflow, stage.name.as_str());
        for (outcome, transition) in &stage.on {
            for (target, note) in ends(transition) {
                for (to, word) in places(workflow, stage, &target) {
                    let mut label = outcome.to_string();
                    if let Some(budget) = &transition.budget {
                        let _ = write!(label, ", spends {budget}");
                    }
                    for more in [note, word].into_iter().flatten() {
                        let _ = write!(label, ", {more}");
                    }
                    lines.push(format!("{from} -->|\"{}\"| {to}", escape(&label)));
                }
            }
        }
        if let Some(fix) = &stage.fix {
            lines.push(format!("{from} -.->|\"rejected\"| {}", id(workflow, fix.as_str())));
        }
    }
    let mut out = String::from("flowchart TD\n");
    for line in lines {
        let _ = writeln!(out, "    {line}");
    }
    out
}

/// Returns a generated id for a stage, because some names, such as `end`, are reserved in Mermaid.
fn id(workflow: &Workflow, name: &str) -> String {
    let position = workflow.stages.iter().position(|stage| stage.name == *name);
    position.map_or_else(|| "nowhere".to_owned(), |position| format!("s{position}"))
}

fn shape(workflow: &Workflow, stage: &Stage) -> String {
    let (open, does, close) = match &stage.work {
        Work::Agent(agent) => ("[", mode_word(agent.mode).to_owned(), "]"),
        Work::Check => ("{{", "check".to_owned(), "}}"),
        Work::Action { action, .. } => match action {
            super::Action::Squash => ("[[", "squash".to_owned(), "]]"),
            super::Action::Merge => ("[[", "merge".to_owned(), "]]"),
            super::Action::Publish(_) => ("[[", "publish".to_owned(), "]]"),
            super::Action::Notify(_) => ("[[", "notify".to_owned(), "]]"),
        },
        Work::Human { question } => ("([", escape(question), "])"),
    };
    let mut text = format!("<b>{}</b><br/>{does}", escape(stage.name.as_str()));
    if !stage.gates.is_empty() {
        let gates: Vec<&str> = stage.gates.iter().map(crate::ids::Name::as_str).collect();
        let _ = write!(text, "<br/>gates: {}", escape(&gates.join(", ")));
    }
    match stage.consent {
        Consent::NotNeeded => {}
        Consent::AfterIt => text.push_str("<br/>asks before going on"),
        Consent::BeforeIt => text.push_str("<br/>asks before it begins"),
    }
    format!("{}{open}\"{text}\"{close}", id(workflow, stage.name.as_str()))
}

fn mode_word(mode: Mode) -> &'static str {
    Mode::ALL.iter().find(|(_, known)| *known == mode).map_or("", |(word, _)| word)
}

/// Returns the possible targets of a transition with their labels. With none or several, a person chooses.
fn ends(transition: &Transition) -> Vec<(Target, Option<&'static str>)> {
    match transition.to.as_slice() {
        [] => vec![(Target::Person, None)],
        [one] => vec![(one.clone(), None)],
        several => several.iter().map(|target| (target.clone(), Some("if a person says so"))).collect(),
    }
}

fn leads_to(transition: &Transition, target: &Target) -> bool {
    ends(transition).iter().any(|(end, _)| end == target)
}

/// Returns the shapes of a target. `back` leads to every stage that has this one as its fix.
fn places(workflow: &Workflow, stage: &Stage, target: &Target) -> Vec<(String, Option<&'static str>)> {
    match target {
        Target::Stage(name) => vec![(id(workflow, name.as_str()), None)],
        Target::Done | Target::Failed | Target::Person => vec![(format!("{target}_end"), None)],
        Target::Back => {
            let resolves = workflow.conflict.as_ref() == Some(&stage.name);
            let mended =
                workflow.stages.iter().filter(|other| !resolves && other.fix.as_ref() == Some(&stage.name));
            mended.map(|other| (id(workflow, other.name.as_str()), Some("back"))).collect()
        }
        Target::NextVariation => vec![(id(workflow, workflow.start.as_str()), Some("next variation"))],
    }
}

/// Escapes text for a quoted label: no character may end the label, act as markup or break the line.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars().take(TEXT_SHOWN) {
        match character {
            character if character.is_control() => out.push(' '),
            '"' | '<' | '>' | '&' | '#' | '`' | '|' | '\\' | '{' | '}' | '[' | ']' | '(' | ')' | '*'
            | ';' => {
                let _ = write!(out, "#{};", u32::from(character));
            }
            character => out.push(character),
        }
    }
    if text.chars().nth(TEXT_SHOWN).is_some() {
        out.push('…');
    }
    out
}
