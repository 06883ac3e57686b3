//! The form that adds a task.

use acquit_app::places::Place;
use acquit_app::{App, Error, Limits, Means, NewTask};
use acquit_core::ids::TaskId;
use acquit_core::store::Store;
use maud::{Markup, html};
use serde::Deserialize;

use crate::actions::Fields;
use crate::page::{Content, Sign};
use crate::words;

/// Selects the repository.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Wanted {
    #[serde(default)]
    project: String,
}

/// Renders the page.
pub fn content(app: &App, store: &mut dyn Store, wanted: &Wanted) -> Result<Content, Error> {
    let places = app.places(store)?;
    let usable = places.iter().any(|place| place.choices.is_ok());
    let chosen = places
        .iter()
        .find(|place| place.path == wanted.project && place.choices.is_ok())
        .or_else(|| places.iter().find(|place| place.choices.is_ok()));
    let body = html! {
        div.head {
            h1 { @if usable { "What should be done?" } @else { "No repository is ready for tasks" } }
            p.lede { @if usable { "The task runs as soon as a worker is free." } @else { "Run " code { "acquit init" } " in a repository, and start " code { "acquit serve" } " there." } }
        }
        @if let Some(place) = chosen { (form(place, &places)) }
        @for place in &places { @if let Err(why) = &place.choices {
            p.panel.panel-body { (Sign::Noted.named()) b { (words::line(&place.name, 60)) } " " span.dim { (words::line(&place.path, 200)) } ": " (words::line(why, 400)) }
        } }
    };
    Ok(Content { title: "New task".to_owned(), task: None, body })
}

fn form(place: &Place, places: &[Place]) -> Markup {
    let Ok(choices) = &place.choices else { return html! {} };
    let usual = |name: &Option<String>| match name {
        Some(name) => format!("as the project says ({})", words::line(name, 60)),
        None => "as the workflow says".to_owned(),
    };
    html! {
        @if places.iter().filter(|place| place.choices.is_ok()).count() > 1 {
            nav.tabs aria-label="Repositories" { @for other in places.iter().filter(|other| other.choices.is_ok()) {
                a href={ "/new?project=" (words::encoded(&other.path)) } aria-current=[(other.path == place.path).then_some("page")] title=(words::line(&other.path, 300)) { (words::line(&other.name, 60)) }
            } }
        }
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
                label.field { span { "Model " span.hint { "(optional)" } } input name="model" list="models" placeholder="as the agent is set up"; datalist #models { @for name in &choices.models { option value=(name) {} } } }
                label.field { span { "Base " span.hint { "(branch or commit)" } } input name="base" placeholder=(choices.base.clone().unwrap_or_else(|| "what is checked out".to_owned())); }
                label.field { span { "Tags " span.hint { "(separated by commas)" } } input name="tags"; }
                label.field { span { "Most it may cost " span.hint { "(dollars, optional)" } } input name="max_cost" inputmode="decimal"; }
            }
            footer.panel-foot { button.btn.main { "Add the task" } span.hint { "The workflow is pinned to the task as it is now." } }
        }
    }
}

/// Adds the task of a form. `None` if the form lacks something.
pub fn add(app: &App, store: &mut dyn Store, form: &Fields) -> Result<Option<TaskId>, Error> {
    let Some(wanted) = read(form) else { return Ok(None) };
    let (project, new) = wanted;
    Ok(Some(app.create_at(store, &project, &new)?.id()))
}

fn read(form: &Fields) -> Option<(String, NewTask)> {
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
    Some((text("project")?, new))
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
        let (project, new) =
            fields(&[("title", " x "), ("tags", "a, ,b"), ("description", "1\r\n2")]).unwrap();
        assert_eq!(
            (project.as_str(), new.title.as_str(), new.tags, new.description.as_str()),
            ("/p", "x", vec!["a".to_owned(), "b".to_owned()], "1\n2")
        );
    }
}
