//! Checks a workflow as a whole: every name resolves, every stage has the outcomes its kind requires, and every gate
//! and budget is used. [`super::flow`] checks how the stages connect.

use super::draft::{Draft, StageDraft, TransitionDraft};
use super::outcomes;
use super::{Action, Mode, Target, Work, flow};
use crate::failure::kind;
use crate::gate::{Check, Gate, Severity};
use crate::ids::Name;
use crate::toml_reader::{At, Place, Source, did_you_mean, nearest};

/// Reports everything that is wrong with a draft beyond single values.
pub(super) fn check(source: &Source<'_>, draft: &Draft) {
    if let Some(start) = &draft.start {
        if draft.stage(&start.value).is_none() {
            unknown_stage(source, draft, start.place, &start.value, &[]);
        } else if draft.mends(&start.value) {
            enters_a_fix(source, start.place, &start.value);
        }
    }
    conflict(source, draft);
    for stage in &draft.stages {
        outcomes(source, stage);
        gates(source, draft, stage);
        fix(source, draft, stage);
        for transition in &stage.on {
            targets(source, draft, stage, transition);
        }
    }
    unused(source, draft);
    flow::check(source, draft);
}

/// Checks that a stage handles the outcomes it can end with, and no others.
fn outcomes(source: &Source<'_>, stage: &StageDraft) {
    let (Some(place), Some(work)) = (stage.on_place, &stage.work) else { return };
    let has = |name: &str| stage.on.iter().any(|transition| transition.outcome.value == *name);
    // Any agent can end with these, so they say nothing about the purpose of this one.
    let everywhere = [outcomes::NEEDS_INPUT, outcomes::FAILED];
    let own = stage.on.iter().filter(|it| !everywhere.contains(&it.outcome.value.as_str())).count();
    let name = &stage.name.value;
    let need = |word: &str, what: &str| {
        if !has(word) {
            let what = format!("stage `{name}` has no transition for `{word}`, {what}");
            source.report(place, what, Some(format!("say where it leads: {word} = \"<stage>\"")));
        }
    };
    let need_own = |least: usize, what: &str, hint: &str| {
        if own < least {
            let what = format!("stage `{name}` needs {what} of its own");
            source.report(place, what, Some(hint.to_owned()));
        }
    };
    let only = |possible: &[&str], kind: &str| {
        for transition in &stage.on {
            if !possible.contains(&transition.outcome.value.as_str()) {
                let what = format!("{kind} stage never ends `{}`", transition.outcome.value);
                let hint = format!("it can end: {}", possible.join(", "));
                source.report(transition.outcome.place, what, Some(hint));
            }
        }
    };
    match work {
        Work::Agent(agent) => match (agent.mode, agent.mode.success()) {
            (_, Some(word)) => need(word, "which is how its agent says that the work is there"),
            (Mode::Review, None) => {
                need_own(
                    2,
                    "two outcomes",
                    "a review approves or it does not: approved and changes_requested",
                );
            }
            (
                Mode::Plan | Mode::Implement | Mode::Investigate | Mode::Design | Mode::Fix | Mode::Resolve,
                None,
            ) => need_own(1, "an outcome", "name what the agent can find, and where that leads"),
        },
        Work::Check => {
            need(outcomes::PASSED, "which is how a check ends");
            only(&[outcomes::PASSED, outcomes::REJECTED, outcomes::FAILED], "a check");
        }
        Work::Action { action, .. } => {
            need(outcomes::DONE, "which is how an action ends");
            match action {
                Action::Squash | Action::Merge | Action::Notify(_) => {
                    only(&[outcomes::DONE, outcomes::FAILED], "an action");
                }
                Action::Publish(_) => {
                    only(&[outcomes::DONE, outcomes::FAILED, outcomes::CHANGES_REQUESTED], "publishing");
                }
            }
        }
        Work::Human { .. } => {
            if stage.on.is_empty() {
                let hint = "name the answers: approved = \"done\", rejected = \"failed\"".to_owned();
                source.report(place, format!("stage `{name}` has no answers"), Some(hint));
            }
        }
    }
}

fn gates(source: &Source<'_>, draft: &Draft, stage: &StageDraft) {
    for (index, gate) in stage.gates.iter().enumerate() {
        if draft.gate(&gate.value).is_none() {
            let own = draft.gates.iter().map(|known| &known.value);
            let names = own.chain(&draft.shared).map(|known| known.name.as_str());
            let hint = did_you_mean(gate.value.as_str(), "gates are", names);
            let declare = || format!("declare it: [gates.{}] with run = \"…\"", gate.value);
            let hint = hint.unwrap_or_else(declare);
            source.report(gate.place, format!("unknown gate `{}`", gate.value), Some(hint));
        }
        review(source, draft, stage, gate);
        if stage.gates[..index].iter().any(|earlier| earlier.value == gate.value) {
            source.report(gate.place, format!("the gate `{}` is there twice", gate.value), None);
        }
    }
}

/// Checks the stage for conflicts.
fn conflict(source: &Source<'_>, draft: &Draft) {
    let Some(named) = &draft.conflict else { return };
    match draft.stage(&named.value) {
        None => unknown_stage(source, draft, named.place, &named.value, &[]),
        Some(StageDraft { work: Some(Work::Agent(agent)), .. }) if agent.mode == Mode::Resolve => {}
        Some(StageDraft { work: None, .. }) => {}
        Some(_) => {
            let hint = format!("set mode = \"resolve\" in [stages.{}]", named.value);
            source.report(
                named.place,
                format!("stage `{}` does not resolve conflicts", named.value),
                Some(hint),
            );
        }
    }
}

/// Checks that a gate on review findings has a review to look at, and a way to send the work back.
fn review(source: &Source<'_>, draft: &Draft, stage: &StageDraft, gate: &At<Name>) {
    let known = draft.gates.iter().find(|known| known.value.name == gate.value);
    let Some(Check::Review(settings)) = known.map(|known| &known.value.check) else { return };
    let (name, stage_name) = (&gate.value, &stage.name.value);
    match &stage.work {
        Some(Work::Agent(agent)) if agent.mode == Mode::Review => {}
        Some(_) => {
            let what = format!(
                "the gate `{name}` looks at the findings of a review, and stage `{stage_name}` is none"
            );
            let hint = "name it in a stage with mode = \"review\"".to_owned();
            return source.report(gate.place, what, Some(hint));
        }
        None => return,
    }
    let outcome = &settings.outcome;
    if stage.on_place.is_some() && !stage.on.iter().any(|known| known.outcome.value == *outcome) {
        let what =
            format!("a critical finding ends stage `{stage_name}` with `{outcome}`, which it does not have");
        let hint =
            format!("say where it leads, or set `outcome` in [gates.{name}] to the one that sends work back");
        source.report(gate.place, what, Some(hint));
    }
}

fn fix(source: &Source<'_>, draft: &Draft, stage: &StageDraft) {
    let name = &stage.name.value;
    if let Some(fix) = &stage.fix {
        match draft.stage(&fix.value) {
            None => unknown_stage(source, draft, fix.place, &fix.value, &[]),
            Some(target) => {
                if let Some(work) = &target.work
                    && !matches!(work, Work::Agent(agent) if agent.mode == Mode::Fix)
                {
                    let hint = format!("set mode = \"fix\" in [stages.{}]", fix.value);
                    source.report(fix.place, format!("stage `{}` is not a fix", fix.value), Some(hint));
                }
            }
        }
        if stage.gates.is_empty() {
            let what = format!("stage `{name}` has a fix, but no gates that could reject its work");
            source.report(fix.place, what, Some("name the gates: gates = [\"test\"]".to_owned()));
        }
        if draft.mends(name) {
            let hint = "a fix that is rejected is tried again by itself".to_owned();
            source.report(fix.place, format!("stage `{name}` is a fix and cannot have one"), Some(hint));
        }
    }
    if !draft.mends(name) {
        return;
    }
    let leads_back = |transition: &TransitionDraft| transition.to.iter().any(|to| to.value == Target::Back);
    if let Some(place) = stage.on_place
        && !stage.on.iter().any(leads_back)
    {
        let what = format!("stage `{name}` is a fix, but none of its outcomes leads back");
        let word = if draft.resolves(name) { "resolved" } else { "fixed" };
        source.report(place, what, Some(format!("write {word} = \"back\"")));
    }
}

fn targets(source: &Source<'_>, draft: &Draft, stage: &StageDraft, transition: &TransitionDraft) {
    for (index, target) in transition.to.iter().enumerate() {
        match &target.value {
            Target::Stage(name) if draft.stage(name).is_none() => {
                unknown_stage(source, draft, target.place, name, &Target::WORDS);
            }
            Target::Stage(name) if draft.mends(name) => enters_a_fix(source, target.place, name),
            Target::Back if !draft.mends(&stage.name.value) => {
                let what = format!("`back` leads nowhere: no stage has `{}` as its fix", stage.name.value);
                let hint = "name the stage, or set `fix` in the one that this is to mend".to_owned();
                source.report(target.place, what, Some(hint));
            }
            Target::NextVariation if !draft.varies => {
                let hint = "declare [variation] with variable and values".to_owned();
                source.report(target.place, "`next-variation`, but there is no variation", Some(hint));
            }
            Target::Stage(_)
            | Target::Done
            | Target::Failed
            | Target::Person
            | Target::Back
            | Target::NextVariation => {}
        }
        if transition.to[..index].iter().any(|earlier| earlier.value == target.value) {
            source.report(target.place, format!("`{}` is there twice", target.value), None);
        }
    }
    if let Some(budget) = &transition.budget {
        let budgets = draft.all_budgets();
        if !budgets.contains_key(&budget.value) {
            report_budget(source, budget, budgets.keys().map(Name::as_str));
        }
    }
}

/// Reports what is declared but never used: a gate that never runs proves nothing, and an unused budget is probably a
/// typo.
fn unused(source: &Source<'_>, draft: &Draft) {
    // A name that is misspelled where it is used is reported there.
    let budgets = draft.all_budgets();
    let transitions = || draft.stages.iter().flat_map(|stage| &stage.on);
    let kinds = || draft.gates.iter().map(|gate| &gate.value).chain(&draft.shared).map(|gate| &gate.kind);
    let spent = || kinds().chain(transitions().filter_map(|it| it.budget.as_ref()).map(|it| &it.value));
    let run = || draft.stages.iter().flat_map(|stage| &stage.gates).map(|gate| &gate.value);
    let gates_resolve = run().all(|name| draft.gate(name).is_some());
    let budgets_resolve = spent().all(|name| budgets.contains_key(name));

    let is_on = |gate: &&At<Gate>| gate.value.severity != Severity::Off;
    for gate in draft.gates.iter().filter(is_on).filter(|_| draft.whole && gates_resolve) {
        let name = &gate.value.name;
        if run().all(|used| used != name) {
            let hint = format!("add it to a stage: gates = [\"{name}\"]");
            source.report(gate.place, format!("the gate `{name}` is never run"), Some(hint));
        }
    }
    for (budget, _) in draft.budgets.iter().filter(|_| draft.whole && budgets_resolve) {
        let name = &budget.value;
        let usual = || kind::DEFAULTS.iter().map(|(name, _)| *name);
        if spent().all(|used| used != name) && usual().all(|kind| kind != name.as_str()) {
            let hint = did_you_mean(name.as_str(), "kinds of failure are", usual());
            source.report(budget.place, format!("nothing spends the budget `{name}`"), hint);
        }
    }
}

/// Reports an undeclared budget.
pub(super) fn report_budget<'n>(
    source: &Source<'_>,
    budget: &At<Name>,
    known: impl Iterator<Item = &'n str> + Clone,
) {
    let name = &budget.value;
    let declare = format!("declare it in [budgets]: {name} = 2");
    let hint = match nearest(name.as_str(), known) {
        Some(near) => format!("did you mean `{near}`? Or {declare}"),
        None => declare,
    };
    source.report(budget.place, format!("unknown budget `{name}`"), Some(hint));
}

/// Reports a stage that does not exist; `words` are the alternatives to a stage. A stage that exists but could not be
/// parsed is already reported.
fn unknown_stage(source: &Source<'_>, draft: &Draft, place: Place, name: &Name, words: &[(&str, Target)]) {
    if draft.unread.iter().any(|unread| name == unread.as_str()) {
        return;
    }
    let stages = draft.stages.iter().map(|stage| stage.name.value.as_str());
    let names = stages.chain(words.iter().map(|(word, _)| *word));
    let hint = did_you_mean(name.as_str(), "it can be", names);
    source.report(place, format!("unknown stage `{name}`"), hint);
}

fn enters_a_fix(source: &Source<'_>, place: Place, name: &Name) {
    let hint = "only a rejected gate leads there; use a stage of its own".to_owned();
    source.report(place, format!("stage `{name}` is a fix and cannot be entered like this"), Some(hint));
}
