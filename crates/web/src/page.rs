//! The frame of every page: head, navigation, status signs, and messages of pages without content.

use acquit_core::ids::TaskId;
use acquit_core::time::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::access::Role;
use crate::words;

/// A page without its frame.
pub struct Content {
    /// Title of the browser window.
    pub title: String,
    /// Task the page is about.
    pub task: Option<TaskId>,
    /// Content.
    pub body: Markup,
}

/// The open page, for the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The board.
    Board,
    /// Open requests to people.
    Inbox,
    /// Workflows.
    Workflows,
    /// Schedules and their nights.
    Nights,
    /// Costs.
    Costs,
    /// Comparison of agents.
    Agents,
    /// A page without live updates: settings, a form, the state of the machine.
    Still,
    /// One task, or none of these.
    Elsewhere,
}

/// The content of the frame around a page.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The open page.
    pub place: Place,
    /// Title of the browser window.
    pub title: String,
    /// Number of tasks that wait for a person.
    pub waiting: usize,
    /// Cost of the legs that started today, in millionths of a dollar.
    pub spent: u64,
    /// Number of tasks that the server has not read yet.
    pub unread: usize,
    /// Newest event the page knows; `None` for pages without live updates.
    pub seq: Option<i64>,
    /// Task the page is about.
    pub task: Option<String>,
    /// Name of the caller.
    pub caller: Option<String>,
    /// Role of the caller.
    pub role: Role,
    /// Time at which the page was rendered.
    pub now: Timestamp,
    /// Selected theme.
    pub theme: Theme,
}

/// Color theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Follow the system.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// All themes with their names.
    pub const ALL: [(&str, Self); 3] = [("auto", Self::Auto), ("light", Self::Light), ("dark", Self::Dark)];

    /// Returns the theme with this name; `Auto` for any other name.
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, theme)| *theme).unwrap_or_default()
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, theme)| *theme == self).map_or("auto", |(name, _)| name)
    }
}

/// A status: a sign, a color and a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A request to a person is open.
    Needs,
    /// A leg runs.
    Runs,
    /// Waits for something other than a person.
    Waits,
    /// Nothing has happened yet.
    Queued,
    /// Still to come, in a path.
    ToCome,
    /// Passed its gates.
    Proven,
    /// Rejected by gates, or failed.
    Rejected,
    /// Ended without delivering anything.
    Without,
    /// A finding that rejects nothing.
    Noted,
}

impl Sign {
    /// Returns the name of its drawing and color.
    pub fn class(self) -> &'static str {
        match self {
            Self::Needs => "needs",
            Self::Runs => "run",
            Self::Waits => "wait",
            Self::Queued => "queue",
            Self::ToCome => "todo",
            Self::Proven => "ok",
            Self::Rejected => "no",
            Self::Without => "none",
            Self::Noted => "noted",
        }
    }

    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Needs => "needs you",
            Self::Runs => "running",
            Self::Waits => "waiting",
            Self::Queued => "queued",
            Self::ToCome => "to come",
            Self::Proven => "passed",
            Self::Rejected => "rejected",
            Self::Without => "without a change",
            Self::Noted => "noted",
        }
    }

    /// Renders the sign with its word as a label for screen readers.
    pub fn named(self) -> Markup {
        html! { svg class={ "i " (self.class()) } role="img" aria-label=(self.word()) { use href={ "#i-" (self.class()) } {} } }
    }

    /// Renders the sign for use next to its word.
    pub fn bare(self) -> Markup {
        html! { svg class={ "i " (self.class()) } aria-hidden="true" { use href={ "#i-" (self.class()) } {} } }
    }
}

/// Keys that the script handles.
const KEYS: [(&str, &str); 16] = [
    ("g b", "board"),
    ("g i", "inbox"),
    ("g w", "workflows"),
    ("g n", "nights"),
    ("g c", "costs"),
    ("g a", "agents"),
    ("g d", "doctor"),
    ("j k", "next, previous"),
    ("n", "new task"),
    ("/", "search"),
    ("f", "follow the transcript"),
    ("e", "unfold all tool calls"),
    ("[ ]", "leg before, after"),
    ("1–9", "choose an option"),
    ("a x", "go to approve, reject"),
    ("?", "these keys"),
];

/// Arrow heads for a drawing: plain, `-bad`, `-good` and `-ahead`.
pub fn arrow_heads(name: &str) -> Markup {
    html! {
        defs { @for (kind, class) in [("", "head"), ("-bad", "head bad"), ("-good", "head good"), ("-ahead", "head ahead")] {
            marker id={ (name) (kind) } viewBox="0 0 8 8" refX="4" refY="4" markerWidth="8" markerHeight="8" orient="auto" markerUnits="userSpaceOnUse" { path class=(class) d="M0 0.5L8 4L0 7.5z" {} }
        } }
    }
}

/// Drawings of all signs. Constant text of our own.
const SIGNS: &str = include_str!("signs.svg");

/// Renders a whole page.
pub fn page(frame: &Frame, content: Markup) -> String {
    let theme = (frame.theme != Theme::Auto).then(|| frame.theme.name());
    let at = |place: Place| (frame.place == place).then_some("page");
    let whole = html! {
        (DOCTYPE)
        html lang="en" data-theme=[theme] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (frame.title) " · acquit" }
                link rel="icon" href="/icon.svg";
                link rel="stylesheet" href={ "/style.css?" (env!("CARGO_PKG_VERSION")) };
                script src={ "/live.js?" (env!("CARGO_PKG_VERSION")) } defer {}
            }
            body data-seq=[frame.seq] data-task=[frame.task.as_deref()] {
                (PreEscaped(SIGNS))
                a.skip href="#main" { "Skip to content" }
                header.bar {
                    a.brand href="/" { svg viewBox="0 0 20 20" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" { path d="M5 3v14M5 10h11" {} } "acquit" }
                    nav.nav aria-label="Pages" {
                        a href="/" aria-current=[at(Place::Board)] { "Board" }
                        a href="/inbox" aria-current=[at(Place::Inbox)] {
                            "Inbox "
                            span #inbox-count .count.needs[frame.waiting > 0] data-live {
                                (frame.waiting) span.sr { " waiting for you" }
                            }
                        }
                        a href="/workflows" aria-current=[at(Place::Workflows)] { "Workflows" }
                        a href="/nights" aria-current=[at(Place::Nights)] { "Nights" }
                        a href="/costs" aria-current=[at(Place::Costs)] { "Costs" }
                        a href="/agents" aria-current=[at(Place::Agents)] { "Agents" }
                    }
                    div.bar-end {
                        span #spent data-live { b { (words::cost(Some(frame.spent))) } " today" }
                        span #live .live { "as of " (words::moment(frame.now, "%H:%M:%S")) }
                        details.menu {
                            summary { "Menu" }
                            div.menu-box {
                                @if frame.role.may_act() { a href="/new" { "New task" } }
                                a href="/workers" { "Workers" }
                                a href="/settings" { "Settings" }
                                a href="/doctor" { "Doctor" }
                                a href="/api" { "API" }
                                form method="post" action="/theme" {
                                    span.label { "Theme" }
                                    div.acts {
                                        @for (name, theme) in Theme::ALL {
                                            button.btn.s name="theme" value=(name) aria-pressed=(theme == frame.theme) { (name) }
                                        }
                                    }
                                }
                                form method="post" action="/logout" { button.btn.s { "Log out" } }
                                details.keys { summary { "Keys" } dl { @for (keys, what) in KEYS { dt { kbd { (keys) } } dd { (what) } } } }
                            }
                        }
                    }
                }
                main #main .page {
                    div #unread data-live { @if frame.unread > 0 { p.panel.panel-body { (Sign::Waits.bare()) " Still reading " (words::count(frame.unread, "older task")) ". Figures are not complete yet." } } }
                    (content)
                }
                footer.foot {
                    p.dim { "acquit " (env!("CARGO_PKG_VERSION")) @if let Some(caller) = &frame.caller { " · logged in as " (words::line(caller, 80)) " (" (frame.role.name()) ")" } }
                    p.legend role="group" aria-label="Signs" { @for sign in [Sign::Needs, Sign::Runs, Sign::Waits, Sign::Queued, Sign::Proven, Sign::Rejected] { span { (sign.bare()) (sign.word()) } } span { svg.i.no viewBox="0 0 16 16" aria-hidden="true" { rect.pip x="5" y="5" width="6" height="6" {} } "a rejected try" } }
                }
                div #note .note hidden role="status" {}
            }
        }
    };
    whole.into_string()
}

/// Renders a page with one message: an error, or that there is nothing.
pub fn message(title: &str, text: &str, hint: Option<&str>) -> Markup {
    html! {
        h1 { (title) }
        p.lede { (words::commands(text)) }
        @if let Some(hint) = hint { p.lede { (words::commands(hint)) } }
        p { a.btn href="/" { "Back to the board" } }
    }
}

/// Renders a page for callers who are not logged in. It shows no data.
pub fn outside(title: &str, content: Markup) -> String {
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · acquit" }
                link rel="icon" href="/icon.svg";
                link rel="stylesheet" href={ "/style.css?" (env!("CARGO_PKG_VERSION")) };
            }
            body { (PreEscaped(SIGNS)) main #main .page.narrow { (content) } }
        }
    };
    whole.into_string()
}

/// Renders a time as an element that the script keeps updating.
pub fn since(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(words::datetime(at)) data-since=(at.0) { (words::length(now.since(at))) } }
}
