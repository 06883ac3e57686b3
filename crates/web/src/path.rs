//! Draws a task's path through its workflow: a node for each stage, a mark for each rejected attempt, and the name of
//! the current stage.

use acquit_app::index::{StageShape, repairs};
use acquit_core::leg::{Ending, Entry, Purpose};
use acquit_core::task::{End, State, Task};
use acquit_core::workflow::{Stage, Work, Workflow};
use maud::{Markup, html};

use crate::page::Sign;

/// A stage with its status in one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Status.
    pub sign: Sign,
    /// Number of attempts that did not pass.
    pub failed: usize,
    /// Number of legs.
    pub tries: usize,
    /// Whether it is the current stage.
    pub current: bool,
}

/// Returns the stage that a leg counts for. Work on a stage's failures counts for that stage.
fn subject(entry: &Entry) -> &str {
    match &entry.purpose {
        Purpose::Fix { of, .. } => of.as_str(),
        Purpose::Resolve { of, .. } => subject(of),
        Purpose::Work | Purpose::Recheck { .. } | Purpose::Merge => entry.stage.as_str(),
    }
}

/// Kind of a stage in a drawing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Done by legs.
    Work,
    /// Done by legs, after another stage was rejected.
    Repairs,
    /// Done by a person, without a leg.
    Person,
}

/// Returns the stages of a task's workflow, without those that only repair others.
pub(crate) fn nodes(task: &Task, workflow: &Workflow, here: Sign) -> Vec<Node> {
    let stages = workflow.stages.iter();
    let kind = |stage: &Stage| match &stage.work {
        _ if repairs(workflow, stage) => Kind::Repairs,
        Work::Human { .. } => Kind::Person,
        Work::Agent(_) | Work::Check | Work::Action { .. } => Kind::Work,
    };
    drawn(task, stages.map(|stage| (stage.name.as_str(), kind(stage))), here)
}

/// Like [`nodes`], if only the shape of the workflow is known.
pub(crate) fn known(task: &Task, stages: &[StageShape], here: Sign) -> Vec<Node> {
    let kind = |stage: &StageShape| match &*stage.who {
        _ if stage.repairs => Kind::Repairs,
        "person" => Kind::Person,
        _ => Kind::Work,
    };
    drawn(task, stages.iter().map(|stage| (&*stage.name, kind(stage))), here)
}

fn drawn<'s>(task: &Task, stages: impl Iterator<Item = (&'s str, Kind)>, here: Sign) -> Vec<Node> {
    let current = match &task.state {
        State::Working { entry, .. } | State::Blocked { resume: entry, .. } => Some(subject(entry)),
        State::Waiting { request } => Some(subject(&request.resume)),
        State::New | State::Ended { .. } => None,
    };
    let last = task.past.last().map(|past| subject(&past.entry));
    let failed_end = matches!(&task.state, State::Ended { end } if !matches!(end, End::Done));
    let node = |name: &str| {
        let legs: Vec<_> = task.past.iter().filter(|past| subject(&past.entry) == name).collect();
        let failed = legs
            .iter()
            .filter(|past| {
                !matches!(
                    past.ending,
                    Ending::Passed { .. } | Ending::Held { .. } | Ending::Cancelled | Ending::Lost { .. }
                )
            })
            .count();
        let is_current = current == Some(name);
        let passed = legs
            .iter()
            .rev()
            .any(|past| past.entry.stage.as_str() == name && matches!(past.ending, Ending::Passed { .. }));
        let sign = if is_current {
            here
        } else if failed_end && last == Some(name) && !passed {
            if matches!(&task.state, State::Ended { end: End::Failed { .. } }) {
                Sign::Rejected
            } else {
                Sign::Without
            }
        } else if passed {
            Sign::Proven
        } else {
            Sign::ToCome
        };
        Node {
            name: name.to_owned(),
            sign,
            failed,
            tries: legs.len() + usize::from(is_current),
            current: is_current,
        }
    };
    let shown = stages.filter(|(name, kind)| *kind != Kind::Repairs || current == Some(*name));
    let mut nodes: Vec<(Node, Kind)> = shown.map(|(name, kind)| (node(name), kind)).collect();
    // A stage before the last one with a leg, but without a leg of its own, was skipped or done by a person.
    let last = nodes.iter().rposition(|(node, _)| node.tries > 0).unwrap_or(0);
    for (node, kind) in nodes.iter_mut().take(last).filter(|(node, _)| node.tries == 0) {
        node.sign = if *kind == Kind::Person { Sign::Proven } else { Sign::Without };
    }
    nodes.into_iter().map(|(node, _)| node).collect()
}

/// Describes the path as text, for screen readers.
fn in_words(nodes: &[Node]) -> String {
    let word = |node: &Node| match node.failed {
        0 => format!("{} {}", node.name, node.sign.word()),
        failed => format!("{} {} after {failed} rejected", node.name, node.sign.word()),
    };
    format!("Stages: {}", nodes.iter().map(word).collect::<Vec<_>>().join(", "))
}

/// Distance between two nodes.
const STEP: usize = 34;
/// Size of a node.
const SIZE: usize = 14;

/// Renders the small drawing of a card.
pub fn small(nodes: &[Node]) -> Markup {
    if nodes.is_empty() {
        return html! {};
    }
    let width = (nodes.len() - 1) * STEP + SIZE;
    let current = nodes.iter().position(|node| node.current);
    html! {
        svg.path width=(width) height="36" viewBox={ "0 0 " (width) " 36" } role="img" aria-label=(in_words(nodes)) {
            @for (index, node) in nodes.iter().enumerate() {
                @let x = index * STEP;
                @if index > 0 {
                    line.rail.ahead[node.sign == Sign::ToCome] x1=(x - STEP + SIZE + 2) y1="15" x2=(x - 2) y2="15" {}
                }
                use class=(node.sign.class()) href={ "#i-" (node.sign.class()) } x=(x) y="8" width=(SIZE) height=(SIZE) {}
                @for pip in 0..node.failed.min(3) {
                    rect.pip x=((x + 8 + pip * 6).saturating_sub(node.failed.min(3) * 3)) y="1" width="4" height="4" {}
                }
            }
            @if let Some(at) = current {
                @let (x, anchor) = anchored(at, nodes.len());
                text class={ "cur " (nodes[at].sign.class()) } x=(x) y="35" text-anchor=(anchor) { (nodes[at].name) }
            }
        }
    }
}

/// Returns position and anchor of a node's name, so that it stays within the drawing.
fn anchored(at: usize, count: usize) -> (usize, &'static str) {
    if count > 1 && at + 1 == count {
        (at * STEP + SIZE, "end")
    } else if at == 0 {
        (0, "start")
    } else {
        (at * STEP + SIZE / 2, "middle")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_stage_with_many_rejected_tries_is_drawn() {
        let node = |failed| Node {
            name: "code".to_owned(),
            sign: Sign::Needs,
            failed,
            tries: failed,
            current: true,
        };
        for failed in 0..9 {
            let drawn = small(&[node(failed)]).into_string();
            assert_eq!(drawn.matches("class=\"pip\"").count(), failed.min(3), "{drawn}");
        }
    }
}
