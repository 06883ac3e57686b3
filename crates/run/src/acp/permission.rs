//! Answers permission requests. The sandbox decides what an agent can do, so it may do what it asks for, once. Two
//! things are rejected: tools that its definition leaves out and, at a read-only stage, changes to the repository.
//! Those changes would be moved aside, and an agent that learns this at once wastes less work.

use std::path::{Component, Path};

use acquit_core::role::Tool;
use serde_json::{Value, json};

use super::Stage;

/// Kinds of tools that change files.
const CHANGES: [&str; 3] = ["edit", "delete", "move"];

/// Reason for rejecting a change at a read-only stage.
const LOOKS_ONLY: &str =
    "this stage changes nothing in the repository; files may be written to the output folder";

/// Reason for rejecting a tool that the definition leaves out.
const NOT_ITS: &str = "the definition of this agent leaves that out";

/// A permission request.
pub(super) struct Asked<'a> {
    /// Parameters of the request.
    pub(super) params: &'a Value,
    /// Kind of the tool.
    pub(super) kind: &'a str,
    /// Directory where files may be written at every stage.
    pub(super) output_dir: &'a Path,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Allowed, with the option that says so.
    Allowed {
        /// Option id. `None` if the agent offers no such option.
        option: Option<String>,
    },
    /// Rejected.
    Refused {
        /// Option id.
        option: Option<String>,
        /// The reason, for people who watch.
        why: &'static str,
    },
}

impl Answer {
    /// Converts the answer to the protocol. Without a matching option nothing is selected, which is not consent.
    pub(super) fn outcome(&self) -> Value {
        match self {
            Self::Allowed { option: Some(id) } | Self::Refused { option: Some(id), .. } => {
                json!({ "outcome": { "outcome": "selected", "optionId": id } })
            }
            Self::Allowed { option: None } | Self::Refused { option: None, .. } => {
                json!({ "outcome": { "outcome": "cancelled" } })
            }
        }
    }
}

pub(super) fn answer(stage: Stage, allowed: Option<&[Tool]>, asked: &Asked<'_>) -> Answer {
    let changes = CHANGES.contains(&asked.kind) && !only_output(asked);
    let tool = match asked.kind {
        _ if changes => Some(Tool::Edit),
        "execute" => Some(Tool::Run),
        "fetch" => Some(Tool::Web),
        _ => None,
    };
    let left_out = tool.is_some_and(|tool| allowed.is_some_and(|allowed| !allowed.contains(&tool)));
    let why = match (stage, changes) {
        (Stage::Looks, true) => Some(LOOKS_ONLY),
        (Stage::Writes, _) | (Stage::Looks, false) => left_out.then_some(NOT_ITS),
    };
    match why {
        Some(why) => Answer::Refused { option: option(asked, &["reject_once", "reject_always"]), why },
        // Prefer once over always: we cannot revoke what an agent remembers as allowed.
        None => Answer::Allowed { option: option(asked, &["allow_once", "allow_always"]) },
    }
}

/// Returns the first option of one of these kinds, in the order of the kinds.
fn option(asked: &Asked<'_>, kinds: &[&str]) -> Option<String> {
    let options = asked.params.get("options").and_then(Value::as_array)?;
    let of =
        |kind: &&str| options.iter().find(|option| option.get("kind").is_some_and(|found| *found == **kind));
    kinds.iter().find_map(of)?.get("optionId")?.as_str().map(str::to_owned)
}

/// Returns whether all named paths are in the output directory. A symlink that leads out of it does no harm: the
/// sandbox holds, and the repository is reset.
fn only_output(asked: &Asked<'_>) -> bool {
    let call = asked.params.get("toolCall").unwrap_or(&Value::Null);
    let list = |key: &str| call.get(key).and_then(Value::as_array).into_iter().flatten();
    let diffs = list("content").filter(|part| part.get("type").is_some_and(|kind| kind == "diff"));
    let mut places =
        list("locations").chain(diffs).map(|place| place.get("path").and_then(Value::as_str)).peekable();
    let inside = |path: Option<&str>| {
        path.is_some_and(|path| {
            let path = Path::new(path);
            let plain = !path.components().any(|part| part == Component::ParentDir);
            plain && path.starts_with(asked.output_dir)
        })
    };
    places.peek().is_some() && places.all(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(stage: Stage, kind: &str, paths: &[&str], options: &[(&str, &str)]) -> Value {
        let locations: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
        let options: Vec<Value> =
            options.iter().map(|(id, kind)| json!({ "optionId": id, "kind": kind })).collect();
        let params = json!({ "toolCall": { "locations": locations }, "options": options });
        let asked = Asked { params: &params, kind, output_dir: Path::new("/out") };
        answer(stage, None, &asked).outcome()["outcome"]["optionId"].clone()
    }

    #[test]
    fn what_its_definition_leaves_out_is_refused_at_every_stage() {
        let params = json!({ "options": [{ "optionId": "y", "kind": "allow_once" }, { "optionId": "n", "kind": "reject_once" }] });
        let all = [("execute", Tool::Run), ("fetch", Tool::Web), ("edit", Tool::Edit)];
        for (kind, tool) in all {
            let asked = Asked { params: &params, kind, output_dir: Path::new("/out") };
            let chosen = |allowed: &[Tool]| {
                answer(Stage::Writes, Some(allowed), &asked).outcome()["outcome"]["optionId"].clone()
            };
            assert_eq!(chosen(&[Tool::Read]), json!("n"), "{kind}");
            assert_eq!(chosen(&[Tool::Read, tool]), json!("y"), "{kind}");
        }
        let asked = Asked { params: &params, kind: "read", output_dir: Path::new("/out") };
        assert!(matches!(answer(Stage::Looks, Some(&[]), &asked), Answer::Allowed { .. }));
    }

    #[test]
    fn what_the_stage_may_do_is_allowed_once_and_what_it_may_not_is_refused() {
        let all = [("a", "allow_always"), ("o", "allow_once"), ("n", "reject_once")];
        for (stage, kind, paths, expected) in [
            (Stage::Writes, "edit", &["/repo/x"][..], "o"),
            (Stage::Writes, "execute", &[], "o"),
            (Stage::Looks, "execute", &[], "o"),
            (Stage::Looks, "", &[], "o"),
            (Stage::Looks, "read", &["/repo/x"], "o"),
            (Stage::Looks, "edit", &["/repo/x"], "n"),
            (Stage::Looks, "delete", &[], "n"),
            (Stage::Looks, "edit", &["/out/plan.md"], "o"),
            (Stage::Looks, "edit", &["/out/plan.md", "/repo/x"], "n"),
            (Stage::Looks, "edit", &["/out/../repo/x"], "n"),
            (Stage::Looks, "move", &["/output/x"], "n"),
        ] {
            assert_eq!(ask(stage, kind, paths, &all), json!(expected), "{stage:?} {kind} {paths:?}");
        }
    }

    #[test]
    fn where_no_option_says_it_nothing_is_chosen() {
        assert_eq!(ask(Stage::Writes, "edit", &[], &[("a", "allow_always")]), json!("a"));
        assert_eq!(ask(Stage::Writes, "edit", &[], &[("n", "reject_once")]), Value::Null);
        assert_eq!(ask(Stage::Looks, "edit", &[], &[("a", "allow_once")]), Value::Null);
        assert_eq!(ask(Stage::Writes, "edit", &[], &[]), Value::Null);
    }
}
