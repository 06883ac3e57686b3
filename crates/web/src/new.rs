//! The form that adds a task.

use acquit_app::places::{Choices, Place};
use acquit_app::{App, Error, Limits, Means, NewTask};
use acquit_core::ids::{Name, TaskId};
use acquit_core::store::Store;
use maud::{Markup, html};
use serde::Deserialize;

use crate::actions::Fields;
use crate::page::{Content, Sign};
use crate::shared::Shared;
use crate::words;

/// Selects the repository.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    #[serde(default)]
    project: String,
}

/// Renders the page.
pub fn content(shared: &Shared, store: &mut dyn Store, wanted: &Wanted) -> Result<Content, Error> {
    let places = shared.places(store)?;
    let named = places.iter().find(|place| place.path == wanted.project);
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
        @if let Some((place, choices)) = &chosen { (form(place, choices)) }
        @for (place, error) in &troubles {
            p.panel.panel-body { (Sign::Noted.named()) b { (words::line(&place.name, 60)) } " " span.dim { (words::line(&place.path, 200)) } ": failed to " (words::line(&acquit_run::harness::chain(error), 400)) @if let Some(hint) = error.hint() { "; " (words::line(&hint, 400)) } }
        }
    };
    Ok(Content { title: "New task".to_owned(), task: None, body })
}

fn form(place: &Place, choices: &Choices) -> Markup {
    let usual = |name: &Option<String>| match name {
        Some(name) => format!("as the project says ({})", words::line(name, 60)),
        None => "as the workflow says".to_owned(),
    };
    html! {
        form.panel.new method="post" action="/new" {
            div.panel-body.fields {
                input type="hidden" name="project" value=(place.path);
                p.dim.wide { "in " code { (words::line(&place.path, 300)) } }
                label.field.wide { span { "Title" } input name="title" required maxlength="300" placeholder="Add a --json flag" autofocus; }
                label.field.wide { span { "Description " span.hint { "(optional)" } } textarea name="description" rows="6" {} }
                label.field { span { "Workflow" } select name="workflow" {
                    @if choices.workflow.is_none() { option value="" { "choose one" } }
                    @for (name, about) in &choices.workflows { option value=(name) selected[choices.workflow.as_ref() == Some(name)] { (words::line(name, 60)) @if !about.is_empty() { ": " (words::line(about, 80)) } } }
                } }
                label.field { span { "Agent" } select name="agent" { option value="" { (usual(&choices.agent)) } @for name in &choices.agents { option value=(name) { (words::line(name, 60)) } } } }
                @if choices.agents.len() > 1 {
                    fieldset.also.wide { legend { "Also with " span.hint { "(one more task for each, to compare)" } } @for name in &choices.agents { label { input type="checkbox" name="also" value=(name); " " (words::line(name, 60)) } } }
                }
                label.field { span { "Model " span.hint { "(optional)" } } input name="model" list="models" placeholder="as the agent is set up"; datalist #models { @for name in &choices.models { option value=(name) {} } } }
                label.field { span { "Base " span.hint { "(branch or commit)" } } input name="base" placeholder=(choices.base.clone().unwrap_or_else(|| "what is checked out".to_owned())); }
                label.field { span { "Tags " span.hint { "(separated by commas)" } } input name="tags"; }
                label.field { span { "Most it may cost " span.hint { "(dollars, optional)" } } input name="max_cost" inputmode="decimal"; }
            }
            footer.panel-foot { button.btn.main { "Add the task" } span.hint { "The workflow is pinned to the task as it is now." } }
        }
    }
}

/// Adds the tasks of a form, one for each agent. None if the form lacks something.
pub fn add(shared: &Shared, app: &App, store: &mut dyn Store, form: &Fields) -> Result<Vec<TaskId>, Error> {
    let Some((project, mut new, also)) = read(form) else { return Ok(Vec::new()) };
    let places = shared.places(store)?;
    let mut added = vec![app.create_at(store, &places, &project, &new)?.id()];
    for agent in also {
        new.means.agent = Some(agent);
        added.push(app.create_at(store, &places, &project, &new)?.id());
    }
    Ok(added)
}

/// Returns the repository, the task, and the agents that get a copy of it.
fn read(form: &Fields) -> Option<(String, NewTask, Vec<Name>)> {
    let name = |key: &str| match form.get(key) {
        Some(text) => text.trim().parse().ok().map(Some),
        None => Some(None),
    };
    let text = |key: &str| form.get(key).map(|text| text.trim().to_owned());
    let tags = text("tags").unwrap_or_default();
    let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    let max_cost = match form.get("max_cost") {
        Some(text) => Some(micros(text.trim().trim_start_matches('$'))?),
        None => None,
    };
    let new = NewTask {
        title: text("title")?,
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
    Some((text("project")?, new, also))
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
    fn a_form_without_a_title_or_with_a_price_that_is_none_adds_nothing() {
        let fields = |extra: &[(&str, &str)]| {
            let all = [("project", "/p")]
                .iter()
                .chain(extra)
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            read(&Fields(all.collect()))
        };
        assert!(fields(&[("title", " ")]).is_none());
        assert!(fields(&[("title", "x"), ("max_cost", "much")]).is_none());
        assert!(fields(&[("title", "x"), ("agent", "no agent/at all")]).is_none());
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
