//! Reads one stage. Its kind decides which keys it has.

use super::draft::{StageDraft, TransitionDraft};
use super::gates::{PROJECT, RELATED, REPRODUCED, UNBROKEN, of_kind, related, reproduced, unbroken};
use super::mode::{self, Modes};
use super::{
    Action, AgentWork, Begin, Commits, Consent, Continue, Limits, Notify, Refused, Stop, Target, Warnings,
    Work,
};
use crate::gate::Gate;
use crate::ids::Name;
use crate::json_schema;
use crate::label;
use crate::role::{self, Role};
use crate::sandbox::Network;
use crate::template::{Found, Reader, Template};
use crate::toml_reader::{At, Source, Table, Value, did_you_mean, quoted, sentence};
use crate::{publishing, shared_keys};

/// Default patterns of files to keep from an output folder.
const OUTPUTS: [&str; 5] = ["*.md", "*.json", "*.txt", "*.yaml", "*.yml"];

#[derive(Clone, Copy)]
enum Does {
    Squash,
    Merge,
    Publish,
    Notify,
}

const ACTIONS: [(&str, Does); 4] =
    [("squash", Does::Squash), ("merge", Does::Merge), ("publish", Does::Publish), ("notify", Does::Notify)];

/// Keys of a stage that sends a message.
const OF_MESSAGES: [&str; 2] = ["message", "channels"];

#[derive(Clone, Copy)]
enum Kind {
    Agent,
    Check,
    Action,
    Human,
}

const KINDS: [(&str, Kind); 4] =
    [("agent", Kind::Agent), ("check", Kind::Check), ("action", Kind::Action), ("human", Kind::Human)];

const OF_AGENTS: [&str; 20] = [
    "mode",
    "role",
    "step",
    "from",
    "agent",
    "model",
    "instructions",
    "outputs",
    "inputs",
    "tools",
    "commands",
    "turns",
    "timeout",
    "idle",
    "output",
    "max_cost",
    "secrets",
    "network",
    "session",
    "refused",
];
const OF_GATES: [&str; 4] = ["gates", "fix", "stop", "fail_on_warning"];
const STOPS: [(&str, Stop); 2] = [("end", Stop::AtEnd), ("first", Stop::AtFirst)];
const OF_CONSENT: [&str; 2] = ["approval", "irreversible"];

/// The context for reading the stages of a workflow.
pub(super) struct Part<'a> {
    /// Reads their templates.
    pub(super) reader: &'a Reader<'a>,
    /// Path of the workflow file.
    pub(super) path: &'a str,
    /// Gates of the project.
    pub(super) shared: &'a [Gate],
    /// Modes of the workflow.
    pub(super) modes: &'a Modes,
    /// Disabled gates.
    pub(super) disabled: &'a [Name],
}

/// Reads a stage. Returns `None` if it is not a stage at all. Sets `whole` to false if a transition could not be
/// parsed.
pub(super) fn read(
    source: &Source<'_>,
    key: At<&str>,
    value: &Value<'_, '_>,
    part: &Part<'_>,
    whole: &mut bool,
) -> Option<StageDraft> {
    let name = match key.value.parse::<Name>() {
        Ok(name) => name,
        Err(error) => {
            source.report(key.place, error.to_string(), None);
            return None;
        }
    };
    if Target::WORDS.iter().any(|(word, _)| name == **word) {
        let hint = "it is what transitions call an end or a return; choose another name".to_owned();
        source.report(key.place, format!("a stage cannot be named `{name}`"), Some(hint));
        return None;
    }
    let mut table = value.table()?.named(format!("stage `{name}`"));
    let kind = table.word("kind", &KINDS).map(|kind| kind.value);
    if kind.is_none() && !table.has("kind") {
        let names_role = table.has("role");
        if !names_role {
            table.require("mode", "write mode = \"implement\", or kind = \"check\", \"action\" or \"human\"");
        }
    }
    let implied = !table.has("kind") && (table.has("mode") || table.has("role"));
    let kind = kind.or(implied.then_some(Kind::Agent));

    let mut limits = Limits::default();
    let mut from = Begin::default();
    // A mode that is not a string is reported where it is read.
    let mode = table.value("mode").filter(Value::is_string).and_then(|value| value.string());
    let work = work(&mut table, kind, part, &mut limits, &mut from);
    let mut gates = gates(&mut table, part, whole);
    let usual = mode.and_then(|mode| part.modes.get(&mode.value)).filter(|_| !table.has("gates"));
    if let Some(usual) = usual {
        gates = mode::at(&usual.gates, key.place);
    }
    gates.retain(|gate| !part.disabled.contains(&gate.value));
    let disabled = table.flag("enabled").is_some_and(|enabled| !enabled.value);
    let warnings = match table.flag("fail_on_warning") {
        Some(flag) if flag.value => Warnings::Reject,
        Some(_) | None => Warnings::Shown,
    };
    let stop = table.word("stop", &STOPS).map(|stop| stop.value).unwrap_or_default();
    let fix = table.name("fix");
    *whole &= fix.is_some() || !table.has("fix");
    let consent = consent(&mut table);
    let runs_on = runs_on(&mut table, kind);
    let on_value = table.value("on");
    let on_place = on_value.as_ref().map(|value| value.key);
    let on = on_value.and_then(|value| value.table()).map(|table| transitions(table, whole));
    *whole &= on.is_some();
    table.require("on", "say where each outcome leads: on = { <outcome> = \"<stage>\" }");
    table.finish();
    Some(StageDraft {
        name: At { value: name, place: key.place },
        work,
        gates,
        stop,
        warnings,
        fix,
        on_place,
        on: on.unwrap_or_default(),
        limits,
        consent,
        from,
        runs_on,
        disabled,
    })
}

/// Reads what the stage does. Keys of other kinds are mistakes, because they would have no effect.
fn work(
    table: &mut Table<'_, '_>,
    kind: Option<Kind>,
    part: &Part<'_>,
    limits: &mut Limits,
    from: &mut Begin,
) -> Option<Work> {
    if matches!(kind, Some(Kind::Agent | Kind::Check | Kind::Human)) {
        refuse_publishing(table);
    }
    match kind {
        Some(Kind::Agent) => {
            table.refuse(&["action"], "only a stage of kind \"action\" has an action");
            table.refuse(&["question"], "only a stage of kind \"human\" has a question");
            agent(table, part, limits, from).map(Work::Agent)
        }
        Some(Kind::Check) => {
            table.refuse(&OF_AGENTS, "a check stage runs gates and has no agent");
            table.refuse(&["action"], "only a stage of kind \"action\" has an action");
            table.refuse(&["question"], "only a stage of kind \"human\" has a question");
            let hint = "name the gates that it runs: gates = [\"test\"]";
            table.require("gates", hint);
            if let Some(value) = table.value("gates").filter(Value::is_empty_list) {
                table.source.report(
                    value.place,
                    "a check stage without gates checks nothing",
                    Some(hint.to_owned()),
                );
            }
            Some(Work::Check)
        }
        Some(Kind::Action) => {
            table.refuse(&OF_AGENTS, "an action stage is code of acquit's own and has no agent");
            table.refuse(&["question"], "only a stage of kind \"human\" has a question");
            table.require("action", "say what is done: action = \"squash\"");
            const COMMITS: [(&str, Commits); 2] = [("one", Commits::One), ("phases", Commits::Phases)];
            let commits = table.word("commits", &COMMITS).map(|commits| commits.value).unwrap_or_default();
            let does = table.word("action", &ACTIONS).map(|does| does.value);
            if !matches!(does, Some(Does::Notify) | None) {
                table.refuse(&OF_MESSAGES, "only a stage with action = \"notify\" sends a message");
            }
            let action = match does {
                Some(Does::Publish) => Some(Action::Publish(Box::new(publishing(table, part)))),
                Some(does @ (Does::Squash | Does::Merge)) => {
                    refuse_publishing(table);
                    Some(if let Does::Merge = does { Action::Merge } else { Action::Squash })
                }
                Some(Does::Notify) => {
                    refuse_publishing(table);
                    table.refuse(
                        &OF_GATES,
                        "a message needs no gates; put a stage of kind \"check\" before it",
                    );
                    table.refuse(&["commits"], "a message makes no commits");
                    notify(table, part).map(|notify| Action::Notify(Box::new(notify)))
                }
                None => {
                    publishing(table, part);
                    for key in OF_MESSAGES {
                        table.value(key);
                    }
                    None
                }
            };
            Some(Work::Action { action: action?, commits })
        }
        Some(Kind::Human) => {
            table.refuse(&OF_AGENTS, "a person answers here, not an agent");
            table.refuse(&OF_GATES, "put a stage of kind \"check\" before it");
            table.refuse(&OF_CONSENT, "a person already decides here");
            table.refuse(&["action"], "only a stage of kind \"action\" has an action");
            table.require("question", "say what the person is asked: question = \"Ship it?\"");
            Some(Work::Human { question: filled(table, "question")?.value })
        }
        // With an unknown kind, any key may be valid.
        None => {
            let others = ["title", "action", "question", "commits"];
            for key in OF_AGENTS.into_iter().chain(publishing::OF_REQUESTS).chain(others).chain(OF_MESSAGES) {
                table.value(key);
            }
            None
        }
    }
}

/// Reads the pull request settings of a stage, which override `[forge]`.
fn publishing(table: &mut Table<'_, '_>, part: &Part<'_>) -> publishing::Publishing {
    let title = filled(table, "title");
    let title = title.map(|title| part.reader.inline(table.source, part.path, &title));
    for label in table.strings("labels").unwrap_or_default() {
        part.reader.inline(table.source, part.path, &label);
    }
    publishing::Publishing { title, ..publishing::read(table) }
}

/// Reads the message of a stage and its channels.
fn notify(table: &mut Table<'_, '_>, part: &Part<'_>) -> Option<Notify> {
    table.require("message", "say what people are told: message = \"{{ title }} is ready\"");
    let message = filled(table, "message");
    let message = message.map(|message| part.reader.inline(table.source, part.path, &message));
    let channels =
        table.value("channels").and_then(|value| value.items("a list of names")).unwrap_or_default();
    let channels = channels.iter().filter_map(Value::name).map(|name| name.value).collect();
    Some(Notify { message: message?, channels })
}

fn refuse_publishing(table: &mut Table<'_, '_>) {
    let why = "only a stage with action = \"publish\" makes a request";
    table.refuse(&publishing::OF_REQUESTS, why);
    table.refuse(&["title"], why);
}

fn agent(
    table: &mut Table<'_, '_>,
    part: &Part<'_>,
    limits: &mut Limits,
    from: &mut Begin,
) -> Option<AgentWork> {
    let mode = table.name("mode");
    let own = mode.as_ref().and_then(|mode| part.modes.get(mode.value.as_str()));
    let mode = mode.map(|name| At { value: part.modes.mode(table, &name), place: name.place });
    let role = table.name("role").map(|name| definition(table, part, &name));
    if table.has("kind") && role.is_none() {
        table.require("mode", "say what kind of turn it is: mode = \"implement\"");
    }
    let role = role.flatten();
    let mode = match (&mode, &role) {
        (Some(mode), _) => mode.value,
        (None, Some(Role { name, mode: None, .. })) if !table.has("mode") => {
            let hint = "say what kind of turn it is: mode = \"implement\"".to_owned();
            let what = format!("neither this stage nor the role `{name}` has a mode");
            table.source.report(table.place, what, Some(hint));
            None
        }
        (None, role) => role.as_ref().and_then(|role| role.mode),
    };
    let agent = table.name("agent").map(|agent| agent.value);
    let model = shared_keys::model(table);
    let step = table.string("step");
    let step = step.map(|named| part.reader.file(table.source, part.path, &named).unwrap_or_default());
    let instructions = table.string("instructions");
    let instructions = instructions.map(|text| part.reader.inline(table.source, part.path, &text));
    let instructions = match (own.map(|own| own.instructions.clone()), instructions) {
        (Some(own), Some(stage)) => own.then(stage),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => Template::default(),
    };
    let inputs = table.strings("inputs").unwrap_or_default();
    let inputs = inputs.into_iter().map(|name| input(table.source, name)).collect();
    let tools = role::tools(table);
    let commands = table.strings("commands").unwrap_or_default();
    let commands = commands.into_iter().map(|command| allowed(table.source, command)).collect();
    const FROM: [(&str, Begin); 2] = [("work", Begin::Work), ("base", Begin::Base)];
    *from = table.word("from", &FROM).map(|from| from.value).unwrap_or_default();
    let outputs = match table.strings("outputs") {
        Some(patterns) => patterns.into_iter().map(|pattern| output(table.source, pattern)).collect(),
        None => OUTPUTS.map(str::to_owned).to_vec(),
    };
    let secrets = shared_keys::grants(table).into_iter().map(|name| name.value).collect();
    let network = table.word("network", &Network::ALL);
    const SESSIONS: [(&str, Continue); 2] = [("continue", Continue::Earlier), ("fresh", Continue::Fresh)];
    let session = table.word("session", &SESSIONS).map(|session| session.value).unwrap_or_default();
    const REFUSED: [(&str, Refused); 3] =
        [("tell", Refused::Told), ("guardrail", Refused::Guarded), ("halt", Refused::Halts)];
    let refused = table.word("refused", &REFUSED).map(|refused| refused.value).unwrap_or_default();
    let usual = Limits::default();
    *limits = Limits {
        time: table.span("timeout").unwrap_or(usual.time),
        idle: table.span("idle").or(usual.idle),
        output: table.bytes("output").unwrap_or(usual.output),
        turns: shared_keys::turns(table),
        cost: table.value("max_cost").and_then(|value| value.dollars()),
    };
    Some(AgentWork {
        mode: mode?,
        agent: agent.or_else(|| role.as_ref()?.agent.clone()),
        model: model.or_else(|| role.as_ref()?.model.clone()),
        role: role.map(Box::new),
        step: step.unwrap_or_default(),
        instructions,
        outputs,
        inputs,
        tools,
        commands,
        secrets,
        network: network.map(|network| network.value),
        session,
        refused,
    })
}

/// Reads the agent definition that a stage names.
fn definition(table: &Table<'_, '_>, part: &Part<'_>, name: &At<Name>) -> Option<Role> {
    let path = format!("agents/{}.md", name.value);
    match part.reader.texts.text(&path) {
        Found::Text { shown, text } => role::read(&shown, &path, &name.value, &text, part.reader)
            .map_err(|mistakes| table.source.adopt_all(mistakes))
            .ok(),
        Found::Absent => {
            let files = part.reader.texts.names("agents");
            let names = files.iter().filter_map(|file| file.strip_prefix("agents/")?.strip_suffix(".md"));
            let hint = did_you_mean(name.value.as_str(), "roles are", names);
            let hint = hint.unwrap_or_else(|| format!("write it: .acquit/{path}"));
            table.source.report(name.place, format!("unknown role `{}`", name.value), Some(hint));
            None
        }
        Found::Refused(why) => {
            table.source.report(name.place, format!("{} cannot be read: {why}", quoted(&path)), None);
            None
        }
    }
}

/// Checks a command that an agent may run: one line, not empty.
fn allowed(source: &Source<'_>, command: At<String>) -> String {
    // Agents have their own rule syntax for commands, in which other characters have a meaning.
    let plain = |letter: char| letter.is_alphanumeric() || " -_./:=@+".contains(letter);
    let words = command.value.trim();
    if words.is_empty() || words != command.value || !words.chars().all(plain) {
        let hint = "name a program, or a program with its first words: \"git\", \"sbt test\"".to_owned();
        source.report(command.place, format!("{} is not a command", quoted(&command.value)), Some(hint));
    }
    command.value
}

/// Checks a pattern for files at the top of the output folder. It must not point anywhere else.
fn output(source: &Source<'_>, pattern: At<String>) -> String {
    let text = &pattern.value;
    let hint = Some("only files at the top of the output folder are kept: \"*.md\"".to_owned());
    if text.trim().is_empty() {
        source.report(pattern.place, "an output pattern is empty", hint);
    } else if text.contains(['/', '\\']) || text.contains("..") {
        source.report(
            pattern.place,
            format!("the output pattern {} leaves the folder's top", quoted(text)),
            hint,
        );
    }
    pattern.value
}

/// Checks the name of a file from an earlier stage.
fn input(source: &Source<'_>, name: At<String>) -> String {
    if name.value.trim().is_empty() || name.value.contains(['/', '\\', '*']) {
        let hint =
            Some("name a file that an earlier stage left in its output folder: \"plan.md\"".to_owned());
        source.report(name.place, format!("{} is not the name of a file", quoted(&name.value)), hint);
    }
    name.value
}

fn consent(table: &mut Table<'_, '_>) -> Consent {
    let approval = table.flag("approval").filter(|flag| flag.value);
    let irreversible = table.flag("irreversible").filter(|flag| flag.value);
    match (approval, irreversible) {
        (None, None) => Consent::NotNeeded,
        (Some(_), None) => Consent::AfterIt,
        (None, Some(_)) => Consent::BeforeIt,
        (Some(_), Some(irreversible)) => {
            let hint = "`irreversible` asks before the stage, `approval` after it; choose one".to_owned();
            table.source.report(irreversible.place, "both `approval` and `irreversible`", Some(hint));
            Consent::BeforeIt
        }
    }
}

/// Reads the labels of the workers that may run its legs.
fn runs_on(table: &mut Table<'_, '_>, kind: Option<Kind>) -> Vec<String> {
    if matches!(kind, Some(Kind::Action | Kind::Human)) {
        table.refuse(&["runs_on"], "only stages of agents and checks run on workers");
    }
    let labels = table.strings("runs_on").unwrap_or_default();
    for label in labels.iter().filter(|label| !label::is_label(&label.value)) {
        let hint = "letters, digits and = . _ - / are possible: \"gpu\", \"os=linux\"".to_owned();
        table.source.report(label.place, format!("{} is not a label", quoted(&label.value)), Some(hint));
    }
    labels.into_iter().map(|label| label.value).collect()
}

fn transitions(table: Table<'_, '_>, whole: &mut bool) -> Vec<TransitionDraft> {
    let source = table.source;
    let mut transitions = Vec::new();
    for (key, value) in table.entries() {
        match key.value.parse::<Name>() {
            Ok(name) => {
                transitions.push(transition(At { value: name, place: key.place }, &value, whole));
            }
            Err(error) => {
                source.report(key.place, error.to_string(), None);
                *whole = false;
            }
        }
    }
    transitions
}

fn transition(outcome: At<Name>, value: &Value<'_, '_>, whole: &mut bool) -> TransitionDraft {
    let mut draft =
        TransitionDraft { outcome, to: Vec::new(), budget: None, schema: None, description: None };
    if !value.is_table() {
        let wanted = "a stage, a list of stages, or a table with `to`";
        draft.to = targets(value, wanted, whole);
        return draft;
    }
    let Some(table) = value.table() else { return draft };
    let mut table = table.named(format!("the transition `{}`", draft.outcome.value));
    match table.value("to") {
        Some(value) => draft.to = targets(&value, "a stage or a list of stages", whole),
        None => *whole = false,
    }
    table.require("to", "say where it leads: to = \"done\"");
    draft.budget = table.name("budget");
    draft.description = table.string("description").map(|text| text.value);
    draft.schema = table.value("schema").and_then(|value| schema(table.source, &value));
    table.finish();
    draft
}

fn targets(value: &Value<'_, '_>, wanted: &str, whole: &mut bool) -> Vec<At<Target>> {
    value.is_string_or_strings();
    let named = if value.is_string() {
        vec![value.name()]
    } else if value.is_list() {
        let items = value.items(wanted).unwrap_or_default();
        items.iter().map(Value::name).collect()
    } else {
        vec![value.wrong(wanted)]
    };
    *whole &= named.iter().all(Option::is_some);
    let target = |name: At<Name>| {
        let word = Target::WORDS.iter().find(|(word, _)| name.value == **word);
        let value = word.map_or_else(|| Target::Stage(name.value.clone()), |(_, target)| target.clone());
        At { value, place: name.place }
    };
    named.into_iter().flatten().map(target).collect()
}

/// Reads the JSON Schema of a payload. It must be valid itself and describe an object.
fn schema(source: &Source<'_>, value: &Value<'_, '_>) -> Option<serde_json::Value> {
    value.table()?;
    let schema = value.json()?;
    let place = if source.slice(value.place).starts_with('{') { value.place } else { value.key };
    if let Err(error) = json_schema::check(&schema) {
        source.report(place, sentence(&format!("not a JSON Schema: {error}")), error.hint);
        return None;
    }
    if schema.get("type").is_some_and(|kind| kind.is_string() && kind != "object") {
        let what = "no payload fits this schema: a payload is always an object";
        source.report(place, what, None);
    }
    Some(schema)
}

/// Reads the gates by name. `project`, `unbroken` and `related` stand for all gates of the project, `reproduced` for
/// its tests.
pub(super) fn gates(table: &mut Table<'_, '_>, part: &Part<'_>, whole: &mut bool) -> Vec<At<Name>> {
    let Some(value) = table.value("gates") else { return Vec::new() };
    let items = value.items("a list of names");
    let names: Option<Vec<_>> = items.map(|items| items.iter().map(Value::name).collect());
    *whole &= names.as_ref().is_some_and(|names| names.iter().all(Option::is_some));
    let mut gates = Vec::new();
    for name in names.into_iter().flatten().flatten() {
        let all: Vec<Name> = match name.value.as_str() {
            PROJECT => part.shared.iter().map(|gate| gate.name.clone()).collect(),
            UNBROKEN => part.shared.iter().map(|gate| unbroken(gate).name).collect(),
            RELATED => part.shared.iter().map(|gate| related(gate).name).collect(),
            // A project without tests cannot demonstrate a defect; its other gates don't apply here.
            REPRODUCED if !part.shared.is_empty() => {
                let known = reproduced(part.shared).into_iter();
                gates.extend(known.map(|gate| At { value: gate.name, place: name.place }));
                continue;
            }
            REPRODUCED => Vec::new(),
            word if part.shared.iter().all(|gate| gate.name != *word)
                && !of_kind(part.shared, word).is_empty() =>
            {
                of_kind(part.shared, word)
            }
            word if of_kind(part.shared, word).contains(&name.value) => {
                // `project` includes it as well; run it once.
                if gates.iter().all(|known: &At<Name>| known.value != name.value) {
                    gates.push(name);
                }
                continue;
            }
            _ => {
                gates.push(name);
                continue;
            }
        };
        if all.is_empty() {
            let hint =
                "say in acquit.toml how this repository is proven: [gates.test] with run = \"…\"".to_owned();
            table.source.report(name.place, "the project has no gates", Some(hint));
            *whole = false;
        }
        let new: Vec<Name> =
            all.into_iter().filter(|one| gates.iter().all(|known| known.value != *one)).collect();
        gates.extend(new.into_iter().map(|value| At { value, place: name.place }));
    }
    gates
}

/// Reads a text that is not empty.
fn filled(table: &mut Table<'_, '_>, key: &'static str) -> Option<At<String>> {
    let text = table.string(key)?;
    if text.value.trim().is_empty() {
        table.source.report(text.place, format!("{} is empty", quoted(key)), None);
        return None;
    }
    Some(text)
}
