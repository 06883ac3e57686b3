//! A project's own files: `.acquit/acquit.toml`, `workflows/*.toml`, `agents/*.md`, `prompts/` and `instructions.md`.
//! They are read together, and fall back to the shipped files.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use acquit_core::config::{self, Adapter, Config};
use acquit_core::ids::Name;
use acquit_core::toml_reader::{Mistake, Mistakes};
use acquit_core::workflow::{self, Around, Workflow};

use crate::error::Error;
use crate::shipped;
use crate::snapshot::{Content, Snapshot};
use crate::trust::Trust;

mod texts;

pub use texts::{Asked, Library};

/// Folder of acquit's files in a repository.
pub const FOLDER: &str = ".acquit";
/// Configuration file in that folder.
pub const CONFIG: &str = "acquit.toml";
const WORKFLOWS: &str = "workflows";
const INSTRUCTIONS: &str = "instructions.md";

/// A snapshot of a project's files, not yet checked.
pub struct Files {
    folder: PathBuf,
    snapshot: Rc<Snapshot>,
    /// Path and content of the user's own configuration, if there is a place for one.
    user: Option<(PathBuf, Option<String>)>,
    /// The user's trust in the repository.
    trust: Trust,
}

/// Paths of the user, independent of the repository.
pub struct User<'u> {
    /// The user's own configuration, if there is a place for one. It may not exist.
    pub config: Option<&'u Path>,
    /// Home folder of the user.
    pub home: Option<&'u Path>,
    /// acquit's home.
    pub acquit: &'u Path,
}

/// A file of the configuration. Layers are listed in the order of reading.
pub struct Layer {
    /// Name of the layer.
    pub name: &'static str,
    /// Path of the file.
    pub path: PathBuf,
    /// Content; empty if the file does not exist.
    pub text: String,
}

impl Layer {
    /// Name of the layer of the project's configuration.
    const PROJECT: &'static str = "project";
    /// Name of the layer of a workflow file.
    pub const WORKFLOW: &'static str = "workflow";

    /// Returns the name of the file in mistakes: files of the project are below its folder.
    pub fn shown(&self) -> String {
        if self.name == Self::PROJECT { shown(CONFIG) } else { self.path.to_string_lossy().into_owned() }
    }
}

/// A project's files, read and checked.
pub struct Project {
    /// Configuration.
    pub config: Config,
    /// Instructions for every agent.
    pub instructions: String,
    /// Workflows by name.
    pub workflows: Vec<Known>,
    /// Mistakes in the project's own workflows. They do not affect other workflows.
    pub broken: Vec<Mistake>,
}

/// A workflow that is available here.
pub struct Known {
    /// Name.
    pub name: Name,
    /// Where it comes from.
    pub origin: Origin,
    /// The workflow, or why it cannot be used here. The latter only matters to a user of this workflow, unless it is
    /// the project's own: then it is a mistake of the project.
    pub read: Result<Workflow, Mistakes>,
}

/// Where a workflow comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Shipped with the program.
    Shipped,
    /// Defined by the project.
    Project,
    /// Defined by the project; replaces a shipped one.
    OverridesShipped,
}

impl Origin {
    /// Returns the origin as text.
    pub fn words(self) -> &'static str {
        match self {
            Self::Shipped => "shipped",
            Self::Project => "project",
            Self::OverridesShipped => "project, overrides shipped",
        }
    }
}

impl Files {
    /// Finds `.acquit/` at the top of a repository, and reads all of its files.
    pub fn find(repository: &Path, user: &User<'_>) -> Result<Self, Error> {
        Self::find_in(repository, repository, user)
    }

    /// Like [`Files::find`], for files below `place`, a copy of some state of the repository.
    pub fn find_in(place: &Path, repository: &Path, user: &User<'_>) -> Result<Self, Error> {
        let folder = place.join(FOLDER);
        if !folder.join(CONFIG).is_file() {
            return Err(Error::NotInitialised(repository.to_owned()));
        }
        let snapshot =
            Snapshot::take(&folder).map_err(|source| Error::ProjectFile { path: folder.clone(), source })?;
        let own = match user.config {
            Some(path) => Some((path.to_owned(), read_if_there(path)?)),
            None => None,
        };
        let prefixes = trusted_paths(own.as_ref(), user.home);
        let trust = Trust::new(user.acquit, repository, &prefixes);
        Ok(Self { folder, snapshot: Rc::new(snapshot), user: own, trust })
    }

    /// Returns the user's trust in the repository.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    /// Returns the files.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Reads and checks everything, if the user trusts it. The result may be used.
    pub fn read(&self) -> Result<Project, Error> {
        let project = self.look()?;
        self.trust.check(&self.snapshot)?;
        Ok(project)
    }

    /// Reads and checks everything, trusted or not, to show it. Nothing of the result may be run, queried or sent.
    /// Returns the mistakes of all files together.
    pub fn look(&self) -> Result<Project, Error> {
        let (project, mut mistakes) = self.inspect()?;
        if mistakes.is_empty() {
            return Ok(project);
        }
        mistakes.extend(project.broken);
        Err(Mistakes(mistakes).into())
    }

    /// Like [`Files::look`], but returns the mistakes of everything except workflows separately, so that a question
    /// about one workflow gets only the mistakes of that one.
    pub fn inspect(&self) -> Result<(Project, Vec<Mistake>), Error> {
        let (under, mut mistakes) = self.user_config();
        let (config, list) = match (under, self.text(CONFIG)?) {
            (Some(under), Ok(text)) => config::look_over(&shown(CONFIG), &text, under),
            // Everything that the project uses from it would seem to be missing.
            (None, Ok(_)) => (None, Vec::new()),
            (_, Err(Mistakes(list))) => (None, list),
        };
        mistakes.extend(list);
        let mut broken = Vec::new();
        let workflows = self.workflows(&config.clone().unwrap_or_default(), &mut broken)?;
        if config.is_none() {
            // Everything that workflows use from it would seem to be missing.
            broken.clear();
        }
        let config = config.unwrap_or_default();
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
        let config = absolute_scripts(config, &self.folder);
        Ok((Project { config, instructions, workflows, broken }, mistakes))
    }

    /// Returns the project's texts, which fall back to the shipped ones.
    pub fn library(&self) -> Library {
        Library::new(Rc::clone(&self.snapshot))
    }

    /// Reads all workflows. Adds mistakes in the project's files to `mistakes`. If a shipped workflow only lacks
    /// something it needs, that stays with the workflow.
    fn workflows(&self, config: &Config, mistakes: &mut Vec<Mistake>) -> Result<Vec<Known>, Error> {
        let library = self.library();
        let (gates, budgets) = (&config.gates, &config.budgets);
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
            let adjusted = config.workflows.get(&name).cloned().unwrap_or_default();
            let variables: Vec<String> =
                config.variables.keys().chain(adjusted.variables.keys()).cloned().collect();
            let around = Around { variables: &variables, gates, budgets, texts: &library };
            let read = text.and_then(|text| workflow::read_in(&called, &name, &text, &around));
            let read = read.and_then(|mut workflow| {
                let unknown = adjusted.adjust(&mut workflow);
                config.floor.hold_workflow(&mut workflow);
                match unknown.first() {
                    None => Ok(workflow),
                    Some(stage) => Err(self.no_such_stage(&workflow, stage)),
                }
            });
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

    /// Returns the mistake that `[workflows.…]` names a stage the workflow does not have.
    fn no_such_stage(&self, workflow: &Workflow, stage: &Name) -> Mistakes {
        let text = self.text(CONFIG).ok().and_then(Result::ok).unwrap_or_default();
        let header = format!("[workflows.{}]", workflow.name);
        let named = |(number, line): &(usize, &str)| {
            let below = text.lines().take(*number + 1).any(|line| line.trim_start().starts_with(&header));
            below && line.contains(stage.as_str())
        };
        let (line, source_line) = text.lines().enumerate().find(named).unwrap_or_default();
        let agents = workflow.stages.iter().filter(|stage| matches!(stage.work, workflow::Work::Agent(_)));
        let agents: Vec<&str> = agents.map(|stage| stage.name.as_str()).collect();
        Mistakes(vec![Mistake {
            file: shown(CONFIG),
            line: line + 1,
            column: source_line.find(stage.as_str()).map_or(1, |at| source_line[..at].chars().count() + 1),
            what: format!("the workflow `{}` has no agent stage `{stage}`", workflow.name),
            hint: Some(format!("its agent stages are {}", agents.join(", "))),
            source_line: source_line.to_owned(),
        }])
    }

    /// Returns the layers of the configuration, the user's first.
    pub fn layers(&self) -> Result<Vec<Layer>, Error> {
        let mut layers = Vec::new();
        if let Some((path, text)) = &self.user {
            let text = text.clone().unwrap_or_default();
            layers.push(Layer { name: "user", path: path.clone(), text });
        }
        let text = self.text(CONFIG)?.unwrap_or_default();
        layers.push(Layer { name: Layer::PROJECT, path: self.folder.join(CONFIG), text });
        Ok(layers)
    }

    /// Returns the file of a workflow, the project's own before the shipped one.
    pub fn workflow_layer(&self, name: &Name) -> Result<Layer, Error> {
        let file = format!("{WORKFLOWS}/{name}.toml");
        let (path, text) = if self.workflow_names()?.contains(name) {
            (self.folder.join(&file), self.text(&file)?.unwrap_or_default())
        } else {
            (PathBuf::from(texts::shipped(&file)), shipped::text(&file).unwrap_or_default().to_owned())
        };
        Ok(Layer { name: Layer::WORKFLOW, path, text })
    }

    /// Reads the user's own file, with its mistakes; the built-in values if there is none. `None` if it is not TOML.
    fn user_config(&self) -> (Option<Config>, Vec<Mistake>) {
        let Some((path, Some(text))) = &self.user else { return (Some(Config::default()), Vec::new()) };
        let (config, mistakes) = config::look(&path.to_string_lossy(), text);
        (config.map(|config| absolute_scripts(config, path.parent().unwrap_or(path))), mistakes)
    }

    /// Returns the names of the workflow files, in order.
    fn workflow_names(&self) -> Result<Vec<Name>, Error> {
        let path = self.folder.join(WORKFLOWS);
        match self.snapshot.get(WORKFLOWS) {
            None => {}
            Some(Content::Refused(refusal)) => {
                return Err(Error::ProjectFile { path, source: refusal.error() });
            }
            Some(Content::Bytes(_)) => {
                let source = std::io::Error::from(std::io::ErrorKind::NotADirectory);
                return Err(Error::ProjectFile { path, source });
            }
        }
        let mut names = Vec::new();
        for file in self.snapshot.names(WORKFLOWS) {
            let name = file.rsplit('/').next().unwrap_or(file);
            let Some(stem) = name.strip_suffix(".toml") else { continue };
            let bad = |error| Error::ProjectFile {
                path: path.join(name),
                source: std::io::Error::new(std::io::ErrorKind::InvalidInput, error),
            };
            names.push(stem.parse::<Name>().map_err(bad)?);
        }
        names.sort();
        Ok(names)
    }

    /// Returns the text of a file. Invalid UTF-8 is a mistake like any other, with its location.
    fn text(&self, file: &str) -> Result<Result<String, Mistakes>, Error> {
        let failed = |source| Error::ProjectFile { path: self.folder.join(file), source };
        match self.snapshot.get(file) {
            None => Err(failed(std::io::ErrorKind::NotFound.into())),
            Some(Content::Refused(refusal)) => Err(failed(refusal.error())),
            Some(Content::Bytes(bytes)) => {
                Ok(String::from_utf8(bytes.clone()).map_err(|error| not_text(&shown(file), &error)))
            }
        }
    }
}

/// Returns the folders whose repositories the user trusts. A file with mistakes trusts none; its reader reports the
/// mistakes.
fn trusted_paths(user: Option<&(PathBuf, Option<String>)>, home: Option<&Path>) -> Vec<PathBuf> {
    let Some((path, Some(text))) = user else { return Vec::new() };
    let Ok(config) = config::read(&path.to_string_lossy(), text) else { return Vec::new() };
    let expand = |written: &String| match written.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(PathBuf::from(written)),
    };
    config.trusted_paths.iter().filter_map(expand).collect()
}

/// Makes script paths absolute. They are relative to the file that names them, and used by processes that run
/// elsewhere.
fn absolute_scripts(mut config: Config, folder: &Path) -> Config {
    for agent in config.agents.values_mut() {
        if let Adapter::Scripted { script } = &mut agent.adapter {
            *script = folder.join(&*script).to_string_lossy().into_owned();
        }
    }
    config
}

/// Reads a file, if it exists.
fn read_if_there(path: &Path) -> Result<Option<String>, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::ProjectFile { path: path.to_owned(), source }),
    }
}

impl Project {
    /// Returns an error if stages of a workflow lack an agent or a secret.
    pub fn check_stages(&self, workflow: &Workflow) -> Result<(), Error> {
        let missing = config::check_stages(workflow, &self.config);
        if missing.is_empty() { Ok(()) } else { Err(Error::Lacking(missing)) }
    }

    /// Returns the workflow with this name, or the default one.
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

/// Returns the mistake of a file that is not valid UTF-8.
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

/// Returns the name of a file for messages.
fn shown(file: &str) -> String {
    format!("{FOLDER}/{file}")
}
