//! A project's own files: `.acquit/acquit.toml`, `workflows/*.toml`, `agents/*.md`, `prompts/`, `instructions.md`, read as a
//! whole, with those that come with the program under them.

use std::path::{Path, PathBuf};

use acquit_core::config::toml::{Mistake, Mistakes};
use acquit_core::config::{self, Adapter, Config};
use acquit_core::ids::Name;
use acquit_core::workflow::{self, Around, Workflow};

use crate::error::Error;
use crate::shipped;

mod texts;

pub use texts::{Asked, Library};

/// The folder of acquit's files in a repository.
pub const FOLDER: &str = ".acquit";
/// The configuration, in that folder.
pub const CONFIG: &str = "acquit.toml";
const WORKFLOWS: &str = "workflows";
const INSTRUCTIONS: &str = "instructions.md";

/// A project's files, found but not yet read.
pub struct Files {
    folder: PathBuf,
    /// The user's own configuration, if there is a place for one.
    user: Option<PathBuf>,
}

/// The files that a configuration comes from, in the order in which they are read.
pub struct Layer {
    /// How it is called.
    pub name: &'static str,
    /// Where it is.
    pub path: PathBuf,
    /// What it says; nothing if it is not there.
    pub text: String,
}

/// A project's files, read and checked.
pub struct Project {
    /// The configuration.
    pub config: Config,
    /// Instructions for every agent.
    pub instructions: String,
    /// The workflows, by name.
    pub workflows: Vec<Known>,
}

/// A workflow that can be run here.
pub struct Known {
    /// Its name.
    pub name: Name,
    /// Where it comes from.
    pub origin: Origin,
    /// What it says; or why it cannot be used here, which only concerns who wants to. That a project's own cannot be used is a
    /// mistake of the project.
    pub read: Result<Workflow, Mistakes>,
}

/// Where a workflow comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The program.
    Shipped,
    /// The project.
    Project,
    /// The project, in place of one of the program's.
    OverridesShipped,
}

impl Origin {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Project => "project",
            Self::OverridesShipped => "project, overrides shipped",
        }
    }
}

impl Files {
    /// Finds `.acquit/` at the top of a repository.
    pub fn find(repository: &Path, user: Option<&Path>) -> Result<Self, Error> {
        let folder = repository.join(FOLDER);
        if !folder.join(CONFIG).is_file() {
            return Err(Error::NotInitialised(repository.to_owned()));
        }
        Ok(Self { folder, user: user.map(Path::to_owned) })
    }

    /// Reads and checks everything; all mistakes of all files come together.
    pub fn read(&self) -> Result<Project, Error> {
        let mut mistakes = Vec::new();
        let under = match self.user_config()? {
            Ok(config) => config,
            Err(Mistakes(list)) => {
                mistakes.extend(list);
                Config::default()
            }
        };
        let config = self.text(CONFIG)?.and_then(|text| config::read_over(&shown(CONFIG), &text, under));
        let config = match config {
            Ok(config) => config,
            Err(Mistakes(list)) => {
                mistakes.extend(list);
                Config::default()
            }
        };
        let workflows = self.workflows(&config, &mut mistakes)?;
        let instructions = match self.text(INSTRUCTIONS) {
            Ok(Ok(text)) => text,
            Ok(Err(Mistakes(list))) => {
                mistakes.extend(list);
                String::new()
            }
            Err(Error::ProjectFile { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                String::new()
            }
            Err(error) => return Err(error),
        };
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes).into());
        }
        Ok(Project { config: absolute_scripts(config, &self.folder), instructions, workflows })
    }

    /// The project's texts, and those of the program under them.
    pub fn library(&self) -> Library {
        Library::new(self.folder.clone())
    }

    /// Every workflow that there is. Mistakes of the project's files are added to `mistakes`; what only lacks something that a
    /// workflow of the program needs is kept with that workflow.
    fn workflows(&self, config: &Config, mistakes: &mut Vec<Mistake>) -> Result<Vec<Known>, Error> {
        let library = self.library();
        let variables: Vec<String> = config.variables.keys().cloned().collect();
        let (gates, budgets) = (&config.gates, &config.budgets);
        let around = Around { variables: &variables, gates, budgets, texts: &library };
        let own = self.workflow_names()?;
        let mut all: Vec<(Name, Origin)> = own
            .into_iter()
            .map(|name| {
                let shipped = shipped::workflows().any(|shipped| name == *shipped);
                (name, if shipped { Origin::OverridesShipped } else { Origin::Project })
            })
            .collect();
        for name in shipped::workflows().map(Name::literal) {
            if all.iter().all(|(own, _)| *own != name) {
                all.push((name, Origin::Shipped));
            }
        }
        let mut known = Vec::new();
        for (name, origin) in all {
            let file = format!("{WORKFLOWS}/{name}.toml");
            let (called, text) = match origin {
                Origin::Shipped => {
                    (texts::shipped(&file), Ok(shipped::text(&file).unwrap_or_default().to_owned()))
                }
                Origin::Project | Origin::OverridesShipped => (shown(&file), self.text(&file)?),
            };
            let read = text.and_then(|text| workflow::read_in(&called, &name, &text, &around));
            if let Err(Mistakes(list)) = &read {
                let ours = list.iter().filter(|mistake| !texts::is_shipped(&mistake.file));
                for mistake in ours {
                    if !mistakes.contains(mistake) {
                        mistakes.push(mistake.clone());
                    }
                }
            }
            known.push(Known { name, origin, read });
        }
        known.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(known)
    }

    /// The texts that the configuration comes from, the user's first.
    pub fn layers(&self) -> Result<Vec<Layer>, Error> {
        let mut layers = Vec::new();
        if let Some(path) = &self.user {
            let text = read_if_there(path)?.unwrap_or_default();
            layers.push(Layer { name: "user", path: path.clone(), text });
        }
        let path = self.folder.join(CONFIG);
        let text = read_if_there(&path)?.unwrap_or_default();
        layers.push(Layer { name: "project", path, text });
        Ok(layers)
    }

    /// What the user's own file says; the built-in values if there is none.
    fn user_config(&self) -> Result<Result<Config, Mistakes>, Error> {
        let Some(path) = &self.user else { return Ok(Ok(Config::default())) };
        let Some(text) = read_if_there(path)? else { return Ok(Ok(Config::default())) };
        let config = config::read(&path.to_string_lossy(), &text);
        Ok(config.map(|config| absolute_scripts(config, path.parent().unwrap_or(path))))
    }

    /// Names of the workflow files, in order.
    fn workflow_names(&self) -> Result<Vec<Name>, Error> {
        let path = self.folder.join(WORKFLOWS);
        let file = |source| Error::ProjectFile { path: path.clone(), source };
        let mut names = Vec::new();
        let entries = match std::fs::read_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(names),
            entries => entries.map_err(file)?,
        };
        for entry in entries {
            let name = entry.map_err(file)?.file_name();
            let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".toml")) else { continue };
            let bad = |error| Error::ProjectFile {
                path: path.join(&name),
                source: std::io::Error::new(std::io::ErrorKind::InvalidInput, error),
            };
            names.push(stem.parse::<Name>().map_err(bad)?);
        }
        names.sort();
        Ok(names)
    }

    /// A file's text. That it is none is a mistake like others, with its place.
    fn text(&self, file: &str) -> Result<Result<String, Mistakes>, Error> {
        let path = self.folder.join(file);
        let bytes = std::fs::read(&path).map_err(|source| Error::ProjectFile { path, source })?;
        Ok(String::from_utf8(bytes).map_err(|error| not_text(&shown(file), &error)))
    }
}

/// Scripts are named relative to the file that names them, and used by processes that run elsewhere.
fn absolute_scripts(mut config: Config, folder: &Path) -> Config {
    for agent in config.agents.values_mut() {
        if let Adapter::Scripted { script } = &mut agent.adapter {
            *script = folder.join(&*script).to_string_lossy().into_owned();
        }
    }
    config
}

/// A file's text, if there is such a file.
fn read_if_there(path: &Path) -> Result<Option<String>, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::ProjectFile { path: path.to_owned(), source }),
    }
}

impl Project {
    /// Says which of a workflow's stages lack an agent or a secret, if any.
    pub fn check_stages(&self, workflow: &Workflow) -> Result<(), Error> {
        let missing = config::check_stages(workflow, &self.config);
        if missing.is_empty() { Ok(()) } else { Err(Error::Lacking(missing)) }
    }

    /// The workflow of that name, or the default one.
    pub fn workflow(&self, name: Option<&Name>) -> Result<&Workflow, Error> {
        let names = || self.workflows.iter().map(|w| w.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut own = self.workflows.iter().filter(|known| known.origin != Origin::Shipped);
        let known = match (name.or(self.config.workflow.as_ref()), own.next(), own.next()) {
            (Some(name), _, _) => self
                .workflows
                .iter()
                .find(|workflow| workflow.name == *name)
                .ok_or_else(|| Error::NoWorkflow { name: name.clone(), known: names() })?,
            (None, Some(only), None) => only,
            (None, _, _) => return Err(Error::WhichWorkflow(names())),
        };
        known.read.as_ref().map_err(|mistakes| mistakes.clone().into())
    }
}

/// The mistake of a file that is not text.
fn not_text(file: &str, error: &std::string::FromUtf8Error) -> Mistakes {
    let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
    let before = valid.rsplit('\n').next().unwrap_or_default();
    Mistakes(vec![Mistake {
        file: file.to_owned(),
        line: valid.matches('\n').count() + 1,
        column: before.chars().count() + 1,
        what: "not text: here is a byte that is not UTF-8".to_owned(),
        hint: Some("save the file as UTF-8".to_owned()),
        source_line: format!("{before}\u{fffd}"),
    }])
}

/// How a file is called in messages.
fn shown(file: &str) -> String {
    format!("{FOLDER}/{file}")
}
