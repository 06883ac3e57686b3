//! Draws a workflow: stages in a row, back transitions above them, fixes below, with how often each transition was
//! taken and where tasks are.

use acquit_app::flow::{Arrow, Flow, Here, StageFigures};
use acquit_app::index::repairs;
use acquit_core::workflow::{Stage, Target, Work, Workflow};
use maud::{Markup, html};

use crate::page::{Sign, arrow_heads};
use crate::words;

/// Distance between two boxes.
const STEP: usize = 168;
/// Width of a box.
const BOX: usize = 128;
/// Height of a box.
const TALL: usize = 76;
/// Start of the first box.
const LEFT: usize = 52;
/// Distance between two transitions above the boxes.
const LEVEL: usize = 30;
/// Maximum number of tasks to name in a box. The rest is counted.
const NAMED: usize = 2;

/// A transition above the boxes.
struct Arc {
    from: usize,
    to: usize,
    label: String,
    back: bool,
    taken: bool,
}

/// Returns the main stages, in order.
fn main(workflow: &Workflow) -> Vec<&Stage> {
    workflow.stages.iter().filter(|stage| !repairs(workflow, stage)).collect()
}

/// Returns how often a transition was taken, by one outcome or by any.
fn taken(flow: &Flow, from: Option<&str>, to: Option<&str>, outcome: Option<&str>) -> u64 {
    let fits = |arrow: &Arrow| {
        arrow.from.as_deref() == from
            && arrow.to.as_deref() == to
            && outcome.is_none_or(|outcome| arrow.outcome == outcome)
    };
    flow.arrows.iter().filter(|(arrow, _)| fits(arrow)).map(|(_, count)| count).sum()
}

/// Returns the thickness of a line for a count.
fn thickness(count: u64, most: u64) -> String {
    let share = u32::try_from(count * 100 / most.max(1)).unwrap_or(100);
    format!("{:.1}", 1.0 + 2.5 * f64::from(share) / 100.0)
}

/// Renders the drawing.
pub fn draw(workflow: &Workflow, flow: &Flow) -> Markup {
    let stages = main(workflow);
    let position = |name: &str| stages.iter().position(|stage| stage.name.as_str() == name);
    let mut arcs = Vec::new();
    for (from, stage) in stages.iter().enumerate() {
        for (outcome, transition) in &stage.on {
            for target in &transition.to {
                let to = match target {
                    Target::Stage(name) => position(name.as_str()),
                    Target::NextVariation => position(workflow.start.as_str()),
                    Target::Done | Target::Failed | Target::Person | Target::Back => None,
                };
                let Some(to) = to.filter(|to| *to != from + 1) else { continue };
                let count = taken(
                    flow,
                    Some(stage.name.as_str()),
                    Some(stages[to].name.as_str()),
                    Some(outcome.as_str()),
                );
                let label = format!("{} {outcome}", words::rounded(count));
                arcs.push(Arc { from, to, label, back: to <= from, taken: count > 0 });
            }
        }
    }
    arcs.sort_by_key(|arc| arc.from.abs_diff(arc.to));
    let top = 14 + arcs.len() * LEVEL;
    let fixed = stages.iter().any(|stage| below(workflow, stage).is_some());
    let height = top + TALL + if fixed { 68 + TALL + 4 } else { 6 };
    let width = LEFT + stages.len() * STEP + 40;
    let most = flow.tasks.max(1);
    html! {
        svg.flow width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="group" aria-label={ "Workflow " (workflow.name) ": stages, ways with how often they were taken, and tasks that are there now" } {
            (arrow_heads("f"))
            circle.dot-end cx="14" cy=(top + TALL / 2) r="6" {}
            path.edge stroke-width=(thickness(flow.tasks, most)) d={ "M20 " (top + TALL / 2) "H" (LEFT - 8) } marker-end="url(#f)" {}
            text.num x="33" y=(top + TALL / 2 - 10) text-anchor="middle" { (words::rounded(flow.tasks)) }
            @for (level, arc) in arcs.iter().enumerate() { (bow(arc, level, top)) }
            @for (index, stage) in stages.iter().enumerate() {
                @let x = LEFT + index * STEP;
                @let next = stages.get(index + 1).map(|next| next.name.as_str());
                @let count = taken(flow, Some(stage.name.as_str()), next, None);
                (stage_box(stage, flow.stages.get(stage.name.as_str()), x, top))
                path.edge stroke-width=(thickness(count, most)) d={ "M" (x + BOX) " " (top + TALL / 2) "h" (STEP - BOX - 8) } marker-end="url(#f)" {}
                text.num x=(x + BOX + (STEP - BOX) / 2 - 3) y=(top + TALL / 2 - 8) text-anchor="middle" { (words::rounded(count)) }
                @if let Some((name, word)) = below(workflow, stage) { (fix_box(workflow, flow, stage, name, word, x, top)) }
            }
            @let end = LEFT + stages.len() * STEP;
            use.ok href="#i-ok" x=(end) y=(top + TALL / 2 - 10) width="20" height="20" {}
            text.dim x=(end + 10) y=(top + TALL / 2 + 26) text-anchor="middle" { "done" }
        }
    }
}

/// Returns the stage that repairs another, and the outcome that leads there.
fn below<'w>(workflow: &'w Workflow, stage: &'w Stage) -> Option<(&'w str, &'static str)> {
    let merges = matches!(stage.work, Work::Action { .. });
    let fix = stage.fix.as_ref().map(|fix| (fix.as_str(), "rejected"));
    fix.or_else(|| workflow.conflict.as_ref().filter(|_| merges).map(|stage| (stage.as_str(), "conflict")))
}

fn bow(arc: &Arc, level: usize, top: usize) -> Markup {
    // Several transitions end at one box, so their ends are placed side by side.
    let shift = 20 + level % 5 * 18;
    let (from, to) = (LEFT + arc.from * STEP + BOX / 2 + level % 3 * 10, LEFT + arc.to * STEP + shift);
    let y = top - LEVEL * (level + 1) + LEVEL / 2;
    let wide = arc.label.chars().count() * 7 + 8;
    let middle = usize::midpoint(from, to);
    html! {
        path class={ "edge" @if !arc.taken { " ahead" } @else if arc.back { " bad" } } d={ "M" (from) " " (top) "V" (y) "H" (to) "V" (top - 8) } marker-end={ "url(#f" @if !arc.taken { "-ahead" } @else if arc.back { "-bad" } ")" } {}
        rect.plate x=(middle.saturating_sub(wide / 2)) y=(y - 8) width=(wide) height="16" {}
        text class={ @if arc.back && arc.taken { "bad-t" } @else { "dim" } } x=(middle) y=(y + 4) text-anchor="middle" { (words::line(&arc.label, 40)) }
    }
}

fn who(stage: &Stage) -> String {
    match &stage.work {
        Work::Agent(work) => {
            work.role.as_ref().map_or_else(|| "agent".to_owned(), |role| role.name.to_string())
        }
        Work::Check => "gates only".to_owned(),
        Work::Action { .. } => "acquit itself".to_owned(),
        Work::Human { .. } => "a person".to_owned(),
    }
}

fn stage_box(stage: &Stage, figures: Option<&StageFigures>, x: usize, y: usize) -> Markup {
    let kind = match &stage.work {
        Work::Action { .. } | Work::Check => " act",
        Work::Human { .. } => " hot",
        Work::Agent(_) => "",
    };
    html! {
        rect class={ "box" (kind) } x=(x) y=(y) width=(BOX) height=(TALL) rx="6" {}
        text.name x=(x + 12) y=(y + 22) { (words::line(stage.name.as_str(), 15)) }
        text.dim x=(x + 12) y=(y + 39) { (words::line(&who(stage), 18)) }
        @if let Some(figures) = figures { (tasks_here(figures, x + 10, y + 52)) }
    }
}

/// Renders the tasks that are at a stage now.
fn tasks_here(figures: &StageFigures, x: usize, y: usize) -> Markup {
    let sign = |here: Here| match here {
        Here::Needs => Sign::Needs,
        Here::Runs => Sign::Runs,
        Here::Waits => Sign::Waits,
    };
    let more = figures.here.len().saturating_sub(NAMED);
    html! {
        @for (place, (task, here)) in figures.here.iter().take(NAMED).enumerate() {
            a href={ "/tasks/" (task) } aria-label={ (task) ", " (sign(*here).word()) } {
                use class=(sign(*here).class()) href={ "#i-" (sign(*here).class()) } x=(x + place * 54) y=(y) width="12" height="12" {}
                text x=(x + place * 54 + 15) y=(y + 10) { (task) }
            }
        }
        @if more > 0 { text.dim x=(x + BOX - 22) y=(y - 30) text-anchor="end" { "+" (more) } }
    }
}

fn fix_box(
    workflow: &Workflow,
    flow: &Flow,
    stage: &Stage,
    name: &str,
    word: &str,
    x: usize,
    top: usize,
) -> Markup {
    let own = stage.name.as_str();
    let down = taken(flow, Some(own), Some(name), Some(word));
    let back = taken(flow, Some(name), Some(own), None);
    let y = top + TALL;
    html! {
        path.edge.bad d={ "M" (x + 20) " " (y) "v60" } marker-end="url(#f-bad)" {}
        text.bad-t x=(x + 26) y=(y + 24) { (words::rounded(down)) " " (word) }
        path.edge.good d={ "M" (x + 116) " " (y + 68) "v-60" } marker-end="url(#f-good)" {}
        text.good-t x=(x + 110) y=(y + 46) text-anchor="end" { (words::rounded(back)) " back" }
        rect.box x=(x) y=(y + 68) width=(BOX) height=(TALL) rx="6" {}
        text.name x=(x + 12) y=(y + 90) { (words::line(name, 15)) }
        @if let Some(stage) = workflow.stage(name) { text.dim x=(x + 12) y=(y + 107) { (words::line(&who(stage), 18)) } }
        @if let Some(figures) = flow.stages.get(name) { (tasks_here(figures, x + 10, y + 120)) }
    }
}
