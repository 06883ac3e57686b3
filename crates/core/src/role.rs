//! Agent definitions: Markdown files with TOML front matter between `+++` lines. The body is a template for the agent's
//! role prompt.
//!
//! ```text
//! +++
//! description = "finds one reason to reject"
//! mode = "review"              # mode for stages that don't name one
//! tier = "deep"                # fast, balanced or deep; `[agents.<name>.tiers]` maps tiers to models
//! tools = ["read", "run"]      # read, edit, run, web; default: all
//! agent = "claude"             # default: the project's agent
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

/// Delimiter of the front matter.
const FENCE: &str = "+++";

/// An agent definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Name: the file name without `.md`.
    pub name: Name,
    /// One line for listings.
    pub description: String,
    /// Mode for stages that don't name one.
    pub mode: Option<Mode>,
    /// How capable a model it needs; `None` uses the agent's default.
    pub tier: Option<Tier>,
    /// Tools it may use; `None` means all.
    pub tools: Option<Vec<Tool>>,
    /// Agent to use if the stage names none.
    pub agent: Option<Name>,
    /// Model to use if the stage names none.
    pub model: Option<String>,
    /// Role prompt.
    pub persona: Template,
}

/// How capable a model is wanted. The configuration of each agent maps tiers to models.
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
    /// All tiers with their names.
    pub const ALL: [(&str, Self); 3] =
        [("fast", Self::Fast), ("balanced", Self::Balanced), ("deep", Self::Deep)];
}

/// Kinds of tools, in terms that fit every agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Read and search files.
    Read,
    /// Change files of the repository.
    Edit,
    /// Run commands.
    Run,
    /// Look things up on the network, within the stage's network access.
    Web,
}

impl Tool {
    /// All tools with their names.
    pub const ALL: [(&str, Self); 4] =
        [("read", Self::Read), ("edit", Self::Edit), ("run", Self::Run), ("web", Self::Web)];

    /// Returns the name in definitions.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, tool)| *tool == self).map_or("", |(name, _)| name)
    }
}

/// Reads the definition `name`. `path` is its location below acquit's folder, `shown` its name in mistakes.
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
    // Add a line for the delimiter, so that line numbers match the file.
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

/// Returns the text between the delimiters, and where the body starts.
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
