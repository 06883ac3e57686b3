//! Checks how the stages of a workflow connect: every stage is reachable, `done` is reachable, and no cycle is endless.
//!
//! A cycle ends eventually if it spends a budget or asks a person. So only transitions that do neither are examined:
//! they must not form a cycle. Fixes are left out because a gate rejected the work, which spends the budget of its
//! kind. Variations are left out because they have finitely many values.

use std::collections::BTreeSet;

use super::draft::{Draft, StageDraft, TransitionDraft};
use super::{Consent, Target, Work};
use crate::ids::Name;
use crate::toml_reader::{Place, Source};

/// Number of stages of a cycle to name in a message.
const PATH_SHOWN: usize = 12;

/// Reports problems with the shape of the workflow.
pub(super) fn check(source: &Source<'_>, draft: &Draft) {
    // A stage that seems unreachable may be behind something that could not be parsed or resolved. A cycle is always
    // real.
    if draft.whole && resolved(draft) {
        reach(source, draft);
    }
    cycles(source, draft);
}

fn resolved(draft: &Draft) -> bool {
    let stages = draft.stages.iter().flat_map(|stage| &stage.on).flat_map(|transition| &transition.to);
    let mut named = stages.filter_map(|target| name_of(&target.value));
    let fixes = draft.stages.iter().filter_map(|stage| stage.fix.as_ref());
    let mut mending = fixes.chain(&draft.conflict);
    named.all(|name| draft.stage(name).is_some()) && mending.all(|fix| draft.stage(&fix.value).is_some())
}

fn name_of(target: &Target) -> Option<&Name> {
    match target {
        Target::Stage(name) => Some(name),
        Target::Done | Target::Failed | Target::Person | Target::Back | Target::NextVariation => None,
    }
}

/// Follows all transitions from the start. `back` and `next-variation` lead to stages that are already visited.
fn reach(source: &Source<'_>, draft: &Draft) {
    let Some(start) = draft.start() else { return };
    let mut seen = BTreeSet::from([&start.name.value]);
    let mut open = vec![start];
    if let Some(resolver) = draft.conflict.as_ref().and_then(|conflict| draft.stage(&conflict.value)) {
        seen.insert(&resolver.name.value);
        open.push(resolver);
    }
    let mut done = false;
    while let Some(stage) = open.pop() {
        let targets = || stage.on.iter().flat_map(|transition| &transition.to);
        done |= targets().any(|target| target.value == Target::Done);
        let stages = targets().filter_map(|target| name_of(&target.value));
        for next in stages.chain(stage.fix.as_ref().map(|fix| &fix.value)) {
            if seen.insert(next) {
                open.extend(draft.stage(next));
            }
        }
    }
    for stage in draft.stages.iter().filter(|stage| !seen.contains(&stage.name.value)) {
        let what = format!("stage `{}` cannot be reached from `{}`", stage.name.value, start.name.value);
        let hint = "let a transition lead to it, or remove it".to_owned();
        source.report(stage.name.place, what, Some(hint));
    }
    if !done {
        let what = format!("no way leads from `{}` to `done`", start.name.value);
        let hint = "let the last stage end: on = { approved = \"done\" }".to_owned();
        source.report(start.name.place, what, Some(hint));
    }
}

/// A transition that needs no decision and spends nothing.
struct Free<'d> {
    from: &'d StageDraft,
    transition: &'d TransitionDraft,
    to: &'d StageDraft,
    place: Place,
}

fn free<'d>(draft: &'d Draft, from: &'d StageDraft) -> impl Iterator<Item = Free<'d>> {
    let asks_after = from.consent == Consent::AfterIt || is_human(from);
    from.on.iter().filter(move |_| !asks_after).filter_map(move |transition| {
        let ([target], None) = (transition.to.as_slice(), &transition.budget) else { return None };
        let to = draft.stage(name_of(&target.value)?)?;
        let asks_before = to.consent == Consent::BeforeIt || is_human(to);
        (!asks_before).then_some(Free { from, transition, to, place: target.place })
    })
}

fn is_human(stage: &StageDraft) -> bool {
    matches!(stage.work, Some(Work::Human { .. }))
}

/// Walks the free transitions depth-first. A transition to a stage on the current path closes a cycle. Without these
/// transitions there would be no cycle, so fixing each reported one is enough.
fn cycles(source: &Source<'_>, draft: &Draft) {
    let mut closed: BTreeSet<&Name> = BTreeSet::new();
    let roots = draft.start().into_iter().chain(&draft.stages);
    for root in roots {
        if closed.contains(&root.name.value) {
            continue;
        }
        // Stages on the current path, each with its remaining transitions.
        let mut path = vec![(root, free(draft, root))];
        while let Some((stage, edges)) = path.last_mut() {
            let Some(edge) = edges.next() else {
                closed.insert(&stage.name.value);
                path.pop();
                continue;
            };
            if let Some(begin) = path.iter().position(|(on_path, _)| on_path.name.value == edge.to.name.value)
            {
                let names: Vec<&Name> = path[begin..].iter().map(|(stage, _)| &stage.name.value).collect();
                report(source, &names, &edge);
            } else if !closed.contains(&edge.to.name.value) {
                path.push((edge.to, free(draft, edge.to)));
            }
        }
    }
}

fn report(source: &Source<'_>, names: &[&Name], edge: &Free<'_>) {
    let mut shown: Vec<&str> = names.iter().take(PATH_SHOWN).map(|name| name.as_str()).collect();
    if names.len() > PATH_SHOWN {
        shown.push("…");
    }
    shown.push(edge.to.name.value.as_str());
    let (stage, outcome, to) = (&edge.from.name.value, &edge.transition.outcome.value, &edge.to.name.value);
    let hint =
        format!("give it one: [stages.{stage}.on] {outcome} = {{ to = \"{to}\", budget = \"review\" }}");
    source.report(edge.place, format!("a cycle without a budget: {}", shown.join(" → ")), Some(hint));
}
