//! Agent definitions: who takes a stage, as people write it. A Markdown file with a head of TOML between lines of `+++`; the
//! rest is what the agent is told of itself, a template.
//!
//! ```text
//! +++
//! description = "finds one reason to reject"
//! mode = "review"              # the mode of stages that name none
//! tier = "deep"                # fast, balanced or deep; `[agents.<name>.tiers]` says which models these are
//! tools = ["read", "run"]      # read, edit, run, web; default: all
//! agent = "claude"             # default: the project's
//! model = "opus"               # instead of a tier
//! +++
//! You review {{ branch }} …
//! ```

use serde::{Deserialize, Serialize};

use crate::ids::Name;
use crate::mode::Mode;
use crate::shared_keys;
use crate::template::{Reader, Template};
use crate::toml_reader::{self, Mistakes, Place, Source, Table};

/// What the head of a definition stands between.
const FENCE: &str = "+++";

/// Who takes a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its name: the file's name without `.md`.
    pub name: Name,
    /// One line for listings.
    pub description: String,
    /// The mode of stages that name none.
    pub mode: Option<Mode>,
    /// How strong a model it needs; `None` for whatever the agent takes.
    pub tier: Option<Tier>,
    /// What it may use; `None` for everything.
    pub tools: Option<Vec<Tool>>,
    /// The agent of the configuration that takes it, if the stage names none.
    pub agent: Option<Name>,
    /// The model, if the stage names none.
    pub model: Option<String>,
    /// What it is told of itself.
    pub persona: Template,
}

/// How strong a model is wanted. Which that is, is said for each agent of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Quick and cheap: sorting, wording.
    Fast,
    /// For most work.
    Balanced,
    /// Where a mistake costs most: planning, judging.
    Deep,
}

impl Tier {
    /// The words for them.
    pub const ALL: [(&str, Self); 3] =
        [("fast", Self::Fast), ("balanced", Self::Balanced), ("deep", Self::Deep)];
}

/// Kinds of tools, in words that fit every agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Reading and searching files.
    Read,
    /// Changing files of the repository.
    Edit,
    /// Running commands.
    Run,
    /// Looking things up on the network, as far as the stage's network lets it.
    Web,
}

impl Tool {
    /// The words for them.
    pub const ALL: [(&str, Self); 4] =
        [("read", Self::Read), ("edit", Self::Edit), ("run", Self::Run), ("web", Self::Web)];

    /// Its name in definitions.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, tool)| *tool == self).map_or("", |(name, _)| name)
    }
}

/// Reads the definition `name`. `path` is where it lies below acquit's folder, `shown` what mistakes call it.
pub(crate) fn read(
    shown: &str,
    path: &str,
    name: &Name,
    text: &str,
    reader: &Reader<'_>,
) -> Result<Role, Mistakes> {
    let own = Source::plain(shown, text);
    let Some((head, body)) = parts(text) else {
        let hint = format!("begin with a line {FENCE}, then key = value, then a line {FENCE}, then the text");
        own.report(Place { start: 0, end: 0 }, "the definition has no head", Some(hint));
        return own.end(None);
    };
    // A line for the fence, so that lines are counted as in the file.
    let padded = format!("\n{head}");
    let (source, root) = Source::parse(shown, &padded)?;
    let role = head_of(Table::root(&source, &root), name);
    let persona = reader.rest(&own, path, text, body);
    if persona.is_empty() {
        let hint = "write what this agent does first, what counts as done, what it never does".to_owned();
        own.report(Place { start: body, end: body }, "the definition says nothing", Some(hint));
    }
    source.adopt(own);
    source.end(Some(Role { persona, ..role }))
}

/// The text between the fences, and where the rest begins.
fn parts(text: &str) -> Option<(&str, usize)> {
    let after = text.strip_prefix(FENCE)?;
    let after = after.strip_prefix('\n').or_else(|| after.strip_prefix("\r\n"))?;
    let start = text.len() - after.len();
    let mut at = start;
    for line in after.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((&text[start..at], at + line.len()));
        }
        at += line.len();
    }
    None
}

fn head_of(mut table: Table<'_, '_>, name: &Name) -> Role {
    let description = table.string("description").map_or_else(String::new, |text| text.value);
    let mode = table.word("mode", &Mode::ALL).map(|mode| mode.value);
    let tier = table.word("tier", &Tier::ALL).map(|tier| tier.value);
    let tools = tools(&mut table);
    let agent = table.name("agent").map(|agent| agent.value);
    let model_place = table.value("model").map(|value| value.key);
    let model = shared_keys::model(&mut table);
    if let (Some(place), Some(_)) = (model_place, tier) {
        let hint = "a tier is a choice of models; keep one of them".to_owned();
        table.source.report(place, "both `tier` and `model`", Some(hint));
    }
    table.finish();
    Role { name: name.clone(), description, mode, tier, tools, agent, model, persona: Template::default() }
}

/// Reads `tools`.
pub(crate) fn tools(table: &mut Table<'_, '_>) -> Option<Vec<Tool>> {
    let names = table.value("tools").and_then(|value| value.strings())?;
    Some(names.iter().filter_map(|name| known(table, name)).collect())
}

fn known(table: &Table<'_, '_>, name: &crate::toml_reader::At<String>) -> Option<Tool> {
    let found = Tool::ALL.iter().find(|(word, _)| *word == name.value).map(|(_, tool)| *tool);
    if found.is_none() {
        let words = Tool::ALL.iter().map(|(word, _)| *word);
        let hint = toml_reader::did_you_mean(&name.value, "it can be", words);
        let what = format!("unknown tool {}", toml_reader::quoted(&name.value));
        table.source.report(name.place, what, hint);
    }
    found
}
