//! The form that adds a task.

use acquit_app::places::{Choices, Place};
use acquit_app::{App, Error, Kind, Limits, Means, NewTask};
use acquit_core::ids::{Name, TaskId};
use acquit_core::store::Store;
use maud::{Markup, html};
use serde::Deserialize;

use crate::actions::{Fields, Lacks};
use crate::page::{Content, Sign};
use crate::request::lacking;
use crate::shared::Shared;
use crate::words;

/// Selects the repository.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    /// Path of the repository.
    #[serde(default)]
    pub project: String,
}

/// A form that was not accepted, and why.
type Sent<'s> = Option<(&'s Fields, &'s Lacks)>;

/// Renders the page for this repository, with the person's earlier input.
pub fn content(
    shared: &Shared,
    store: &mut dyn Store,
    project: &str,
    sent: Sent<'_>,
) -> Result<Content, Error> {
    let places = shared.places(store)?;
    let named = places.iter().find(|place| place.path == project);
    let mut troubles: Vec<(&Place, Error)> = Vec::new();
    let mut choose = |place| match shared.app.choices(place) {
        Ok(choices) => Some((place, choices)),
        Err(error) => {
            troubles.push((place, error));
            None
        }
    };
    // Without a choice of the person, the first repository that is ready for tasks.
    let chosen = match named {
        Some(place) => choose(place),
        None => places.iter().find_map(choose),
    };
    let usable = chosen.is_some();
    let body = html! {
        div.head {
            h1 { @if usable { "What should be done?" } @else { "No repository is ready for tasks" } }
            p.lede { @if usable { "The task runs as soon as a worker is free." } @else { "Run " code { "acquit init" } " in a repository, and start " code { "acquit serve" } " there." } }
        }
        @if places.len() > 1 {
            nav.tabs aria-label="Repositories" { @for other in &places {
                a href={ "/new?project=" (words::encoded(&other.path)) } aria-current=[chosen.as_ref().is_some_and(|(place, _)| place.path == other.path).then_some("page")] title=(words::line(&other.path, 300)) { (words::line(&other.name, 60)) }
            } }
        }
        @if let Some((place, choices)) = &chosen { (form(place, choices, shared.app.surroundings.user_home.as_deref(), sent)) }
        @for (place, error) in &troubles {
            p.panel.panel-body { (Sign::Noted.named()) b { (words::line(&place.name, 60)) } " " span.dim { (words::line(&place.path, 200)) } ": failed to " (words::line(&acquit_run::harness::chain(error), 400)) @if let Some(hint) = error.hint() { "; " (words::line(&hint, 400)) } }
        }
    };
    Ok(Content { title: "New task".to_owned(), task: None, body })
}

fn form(place: &Place, choices: &Choices, home: Option<&std::path::Path>, sent: Sent<'_>) -> Markup {
    let usual = |name: &Option<String>| match name {
        Some(name) => format!("as the project says ({})", words::line(name, 60)),
        None => "as the workflow says".to_owned(),
    };
    let typed = |name: &str| sent.and_then(|(fields, _)| fields.get(name));
    let wrong = |name: &str| sent.is_some_and(|(_, lacks)| lacks.field == name).then_some("true");
    let why = |name: &str| {
        lacking(
            sent.map(|(_, lacks)| lacks).filter(|lacks| lacks.field == name).map(|lacks| lacks.why.as_str()),
        )
    };
    let workflow = if sent.is_some() { typed("workflow") } else { choices.workflow.as_deref() };
    let also = |name: &str| sent.is_some_and(|(fields, _)| fields.all("also").any(|known| known == name));
    html! {
        form.panel.new method="post" action="/new" {
            div.panel-body.fields {
                input type="hidden" name="project" value=(place.path);
                p.dim.wide { "in " code { (words::path(&place.path, home)) } }
                @if wrong("").is_some() { p.wide role="alert" { (why("")) } }
                label.field.wide { span { "Title" } input name="title" required maxlength="300" placeholder="Add a --json flag" autofocus value=[typed("title")] aria-invalid=[wrong("title")]; (why("title")) }
                label.field.wide { span { "Description " span.hint { "(optional)" } } textarea name="description" rows="6" { (words::kept(typed("description").unwrap_or_default())) } }
                label.field { span { "Workflow" } select name="workflow" aria-invalid=[wrong("workflow")] {
                    @if choices.workflow.is_none() { option value="" { "choose one" } }
                    @for (name, about) in &choices.workflows { option value=(name) selected[workflow == Some(name.as_str())] { (words::line(name, 60)) @if !about.is_empty() { ": " (words::line(about, 80)) } } }
                } (why("workflow")) }
                label.field { span { "Agent" } select name="agent" aria-invalid=[wrong("agent")] { option value="" { (usual(&choices.agent)) } @for name in &choices.agents { option value=(name) selected[typed("agent") == Some(name.as_str())] { (words::line(name, 60)) } } } (why("agent")) }
                label.field { span { "Model " span.hint { "(optional)" } } input name="model" list="models" placeholder="as the agent is set up" value=[typed("model")]; datalist #models { @for name in &choices.models { option value=(name) {} } } }
                @if choices.agents.len() > 1 {
                    fieldset.also.wide { legend { "Also with " span.hint { "(one more task for each, to compare)" } } @for name in &choices.agents { label { input type="checkbox" name="also" value=(name) checked[also(name)]; " " (words::line(name, 60)) } } }
                }
                label.field { span { "Base " span.hint { "(branch or commit)" } } input name="base" placeholder=(choices.base.clone().unwrap_or_else(|| "what is checked out".to_owned())) value=[typed("base")] aria-invalid=[wrong("base")]; (why("base")) }
                label.field { span { "Tags " span.hint { "(separated by commas)" } } input name="tags" value=[typed("tags")]; }
                label.field { span { "Priority " span.hint { "(a number; higher runs first)" } } input name="priority" inputmode="numeric" value=[typed("priority")] aria-invalid=[wrong("priority")]; (why("priority")) }
                label.field { span { "Ticket " span.hint { "(optional)" } } input name="ticket" maxlength="200" value=[typed("ticket")]; }
                label.field { span { "Size " span.hint { "(estimated, optional)" } } input name="size" maxlength="100" value=[typed("size")]; }
                label.field { span { "Complexity " span.hint { "(estimated, optional)" } } input name="complexity" maxlength="100" value=[typed("complexity")]; }
                label.field { span { "Most it may cost " span.hint { "(dollars, optional)" } } input name="max_cost" inputmode="decimal" value=[typed("max_cost")] aria-invalid=[wrong("max_cost")]; (why("max_cost")) }
            }
            footer.panel-foot { button.btn.main { "Add the task" } span.hint { "The workflow is pinned to the task as it is now." } }
        }
    }
}

/// Adds the tasks of a form, one for each agent.
pub fn add(
    shared: &Shared,
    app: &App,
    store: &mut dyn Store,
    form: &Fields,
) -> Result<Result<Vec<TaskId>, Lacks>, Error> {
    let (project, mut new, also) = match read(form) {
        Ok(read) => read,
        Err(lacks) => return Ok(Err(lacks)),
    };
    let places = shared.places(store)?;
    let mut added = vec![app.create_at(store, &places, &project, &new)?.id()];
    for agent in also {
        new.means.agent = Some(agent);
        added.push(app.create_at(store, &places, &project, &new)?.id());
    }
    Ok(Ok(added))
}

/// Returns the field that an error is about. `None` if no change of the form helps.
pub fn field_of(error: &Error) -> Option<Lacks> {
    let field = match error {
        Error::EmptyTitle => "title",
        Error::Git(acquit_run::git::Error::UnknownBase { .. }) => "base",
        Error::NoWorkflow { .. } | Error::WhichWorkflow(_) => "workflow",
        error if error.kind() == Kind::Usage => "",
        _ => return None,
    };
    let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
    Some(Lacks::new(field, format!("Failed to {}{hint}.", acquit_run::harness::chain(error))))
}

/// Returns the repository, the task, and the agents that get a copy of it.
fn read(form: &Fields) -> Result<(String, NewTask, Vec<Name>), Lacks> {
    let name = |key: &str| match form.get(key).map(|text| text.trim().parse::<Name>()) {
        Some(Err(_)) => Err(Lacks::new(key, format!("There is no such {key}."))),
        Some(Ok(name)) => Ok(Some(name)),
        None => Ok(None),
    };
    let text = |key: &str| form.get(key).map(|text| text.trim().to_owned());
    let title = text("title").ok_or_else(|| Lacks::new("title", "A task needs a title."))?;
    let tags = text("tags").unwrap_or_default();
    let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    let cost = |text: &str| {
        let why = "This is not an amount of dollars: write a number such as 2.50.";
        micros(text.trim().trim_start_matches('$')).ok_or_else(|| Lacks::new("max_cost", why))
    };
    let max_cost = form.get("max_cost").map(cost).transpose()?;
    let whole = |text: String| {
        text.parse::<i32>()
            .map_err(|_| Lacks::new("priority", "A priority is a whole number, such as 5 or -1."))
    };
    let priority = text("priority").map(whole).transpose()?;
    let new = NewTask {
        title,
        priority,
        size: text("size"),
        complexity: text("complexity"),
        ticket: text("ticket"),
        description: form.get("description").unwrap_or_default().replace("\r\n", "\n"),
        means: Means { workflow: name("workflow")?, agent: name("agent")?, model: text("model") },
        base: text("base"),
        tags,
        limits: Limits { max_cost, ..Limits::default() },
        ..NewTask::default()
    };
    let mut also: Vec<Name> = form.all("also").filter_map(|name| name.parse().ok()).collect();
    also.sort();
    also.dedup();
    also.retain(|name| new.means.agent.as_ref() != Some(name));
    let project = text("project").ok_or_else(|| Lacks::new("", "The form names no repository."))?;
    Ok((project, new, also))
}

/// Parses an amount of dollars as people write it, to millionths.
fn micros(text: &str) -> Option<u64> {
    let amount: f64 = text.replace(',', ".").parse().ok()?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded just here")]
    let micros = (amount * 1e6).round() as u64;
    (amount.is_finite() && amount > 0.0 && amount < 1e6).then_some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_without_a_title_or_with_a_price_that_is_none_adds_nothing_and_says_where() {
        let fields = |extra: &[(&str, &str)]| {
            let all = [("project", "/p")]
                .iter()
                .chain(extra)
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            read(&Fields(all.collect()))
        };
        let lacks = |extra: &[(&str, &str)]| fields(extra).expect_err("nothing is added").field;
        assert_eq!(lacks(&[("title", " ")]), "title");
        assert_eq!(lacks(&[("title", "x"), ("max_cost", "much")]), "max_cost");
        assert_eq!(lacks(&[("title", "x"), ("priority", "high")]), "priority");
        assert_eq!(lacks(&[("title", "x"), ("agent", "no agent/at all")]), "agent");
        let (project, new, also) = fields(&[
            ("title", " x "),
            ("tags", "a, ,b"),
            ("description", "1\r\n2"),
            ("agent", "one"),
            ("also", "two"),
            ("also", "one"),
        ])
        .unwrap();
        assert_eq!(also, ["two".parse::<Name>().unwrap()], "the task's own agent gets no second one");
        assert_eq!(
            (project.as_str(), new.title.as_str(), new.tags, new.description.as_str()),
            ("/p", "x", vec!["a".to_owned(), "b".to_owned()], "1\n2")
        );
    }
}
