//! The frame of every page: head, navigation, signs of state, and what a page without content says.

use acquit_core::ids::TaskId;
use acquit_core::time::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::words;

/// A page without its frame.
pub struct Content {
    /// The browser's title.
    pub title: String,
    /// The task that it is about.
    pub task: Option<TaskId>,
    /// What it shows.
    pub body: Markup,
}

/// Which page is open, for the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The board.
    Board,
    /// What waits for a person.
    Inbox,
    /// Workflows.
    Workflows,
    /// Schedules and their nights.
    Nights,
    /// What it cost.
    Costs,
    /// How agents compare.
    Agents,
    /// Something that does not change while one looks: settings, a form, what the machine lacks.
    Still,
    /// One task, or none of these.
    Elsewhere,
}

/// What the frame shows around a page.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Which page.
    pub place: Place,
    /// The browser's title.
    pub title: String,
    /// How many tasks wait for a person.
    pub waiting: usize,
    /// The newest event that the page knows; `None` for pages that do not change.
    pub seq: Option<i64>,
    /// The task that the page is about.
    pub task: Option<String>,
    /// When it was made.
    pub now: Timestamp,
    /// The colours that the person chose.
    pub theme: Theme,
}

/// The colours that a person chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Those of the system.
    #[default]
    Auto,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// All of them with their names.
    pub const ALL: [(&str, Self); 3] = [("auto", Self::Auto), ("light", Self::Light), ("dark", Self::Dark)];

    /// The theme of that name; the system's for every other name.
    pub fn named(name: &str) -> Self {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, theme)| *theme).unwrap_or_default()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, theme)| *theme == self).map_or("auto", |(name, _)| name)
    }
}

/// The state of something: a sign, a colour and a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A request is open.
    Needs,
    /// A leg runs.
    Runs,
    /// It waits for something that is not a person.
    Waits,
    /// Nothing has happened yet.
    Queued,
    /// Still to come, in a path.
    ToCome,
    /// It stood its gates.
    Proven,
    /// Gates overruled it, or it came to nothing.
    Rejected,
    /// Over, and nothing was delivered.
    Without,
    /// Found, and rejects nothing.
    Noted,
}

impl Sign {
    /// The name of its drawing and of its colour.
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

    /// Its word.
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

    /// The sign with its word for those who do not see it.
    pub fn named(self) -> Markup {
        html! { svg class={ "i " (self.class()) } role="img" aria-label=(self.word()) { use href={ "#i-" (self.class()) } {} } }
    }

    /// The sign beside its word.
    pub fn bare(self) -> Markup {
        html! { svg class={ "i " (self.class()) } aria-hidden="true" { use href={ "#i-" (self.class()) } {} } }
    }
}

/// The keys that the script knows.
const KEYS: [(&str, &str); 10] = [
    ("g b", "board"),
    ("g i", "inbox"),
    ("g w", "workflows"),
    ("g n", "nights"),
    ("g c", "costs"),
    ("j k", "next, previous"),
    ("n", "new task"),
    ("/", "search"),
    ("f", "follow the transcript"),
    ("[ ]", "leg before, after"),
];

/// Heads of arrows for a drawing: plain, `-bad`, `-good` and `-ahead`.
pub fn arrow_heads(name: &str) -> Markup {
    html! {
        defs { @for (kind, class) in [("", "head"), ("-bad", "head bad"), ("-good", "head good"), ("-ahead", "head ahead")] {
            marker id={ (name) (kind) } viewBox="0 0 8 8" refX="4" refY="4" markerWidth="8" markerHeight="8" orient="auto" markerUnits="userSpaceOnUse" { path class=(class) d="M0 0.5L8 4L0 7.5z" {} }
        } }
    }
}

/// The drawings of all signs. Constant text of ours.
const SIGNS: &str = include_str!("signs.svg");

/// A whole page.
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
                        span #live .live { "as of " (words::moment(frame.now, "%H:%M:%S")) }
                        details.menu {
                            summary { "Menu" }
                            div.menu-box {
                                a href="/new" { "New task" }
                                a href="/workers" { "Workers" }
                                a href="/settings" { "Settings" }
                                a href="/doctor" { "Doctor" }
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
                main #main .page { (content) }
                footer.foot { p.legend role="group" aria-label="Signs" { @for sign in [Sign::Needs, Sign::Runs, Sign::Waits, Sign::Queued, Sign::Proven, Sign::Rejected] { span { (sign.bare()) (sign.word()) } } } }
                div #note .note hidden role="status" {}
            }
        }
    };
    whole.into_string()
}

/// A page that says one thing: an error, or that there is nothing.
pub fn message(title: &str, text: &str, hint: Option<&str>) -> Markup {
    html! {
        h1 { (title) }
        p.lede { (words::text(text)) }
        @if let Some(hint) = hint { p.lede { (words::text(hint)) } }
        p { a.btn href="/" { "Back to the board" } }
    }
}

/// A page for those who are not logged in: it knows nothing and shows nothing.
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
            body { main #main .page.narrow { (content) } }
        }
    };
    whole.into_string()
}

/// A moment as an element that the script keeps counting.
pub fn since(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(words::datetime(at)) data-since=(at.0) { (words::length(now.since(at))) } }
}
