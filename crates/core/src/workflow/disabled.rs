//! Removes stages with `enabled = false`. Transitions to such a stage go where its success leads.

use super::draft::StageDraft;
use super::{Target, Work};
use crate::ids::Name;
use crate::toml_reader::{At, Source};

/// Outcomes that mean success at any kind of stage, in addition to those of modes.
const SUCCESS: [&str; 3] = ["passed", "done", "approved"];

/// Removes disabled stages. Returns the start stage, which may have been one of them.
pub(super) fn leave_out(
    source: &Source<'_>,
    stages: &mut Vec<StageDraft>,
    start: Option<At<Name>>,
) -> Option<At<Name>> {
    // Without `start`, a task begins at the first stage, even if that stage is disabled.
    let first = stages.first().map(|stage| stage.name.clone());
    let mut start = start.or(first.filter(|_| stages.first().is_some_and(|stage| stage.disabled)));
    while let Some(at) = stages.iter().position(|stage| stage.disabled) {
        let stage = stages.remove(at);
        let Some(next) = success(&stage) else {
            let what =
                format!("the stage `{}` cannot be left out: it has no single way on", stage.name.value);
            let hint = "give it an outcome that means success, such as `done`, with one target".to_owned();
            source.report(stage.name.place, what, Some(hint));
            continue;
        };
        if start.as_ref().is_some_and(|start| start.value == stage.name.value) {
            if let Target::Stage(name) = &next {
                start = Some(At { value: name.clone(), place: stage.name.place });
            } else {
                let what = format!("the task would begin with `{}`, which is left out", stage.name.value);
                source.report(stage.name.place, what, Some("name another `start`".to_owned()));
            }
        }
        for other in stages.iter_mut() {
            let targets = other.on.iter_mut().flat_map(|transition| &mut transition.to);
            for target in targets.filter(|target| target.value == Target::Stage(stage.name.value.clone())) {
                target.value = next.clone();
            }
            // Without a fix stage, the stage itself is retried.
            other.fix.take_if(|fix| fix.value == stage.name.value);
        }
    }
    start
}

/// Returns where the success of a stage leads, if there is exactly one target.
fn success(stage: &StageDraft) -> Option<Target> {
    let by_mode = match &stage.work {
        Some(Work::Agent(work)) => work.mode.success(),
        Some(Work::Check | Work::Action { .. } | Work::Human { .. }) | None => None,
    };
    let named = by_mode.into_iter().chain(SUCCESS);
    let of = |name: &str| stage.on.iter().find(|transition| transition.outcome.value == *name);
    let only = || match &stage.on[..] {
        [only] => Some(only),
        _ => None,
    };
    match &named.into_iter().find_map(of).or_else(only)?.to[..] {
        [target] => Some(target.value.clone()),
        _ => None,
    }
}
