//! The working tree of a program of a leg: as the program sees it, and as it is on this machine.
//!
//! Gates, setup and the trees of executed checks appear at [`TREE`], the same path in every task, because installed
//! packages often contain the path of the tree. A gate's tree is an overlay: its own writes, which are discarded, over
//! the committed files, over the output of setup. An agent works in the workspace, over the output of setup. If the
//! machine does not allow overlays, trees are copies, and setup runs in each of them.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use acquit_core::event::Level;
use acquit_core::sandbox::{Mode, Resources};

use super::{GRACE, Job, LegAbort, LegContext};
use crate::layers::{self, SharedLayer};
use crate::process::{Exit, Limits, Next, Spec, Stderr, Stdin, Stdout, Wall, Watcher};
use crate::runtime::make_private;
use crate::sandbox::{Entry, Policy, Reach, What};
use crate::workspace::{LockedWorkspace, Scratch, remove_folder};

/// Path at which programs see their tree.
pub(crate) const TREE: &str = "/acquit/tree";

/// The working tree of a program.
pub(crate) struct WorkingTree {
    /// The tree, as the program sees it.
    pub(crate) tree: PathBuf,
    /// Files that programs wrote there, on this machine.
    pub(crate) written: PathBuf,
    /// The committed files, on this machine. Equal to `written` if programs work in them directly.
    pub(crate) committed: PathBuf,
    /// Object directories that the repository of that tree borrows.
    pub(crate) objects: Vec<PathBuf>,
    /// Directory of the tree for the reports of commands. Its name is unpredictable.
    pub(crate) reports: String,
    setup: SharedLayer,
    /// Keeps home, `/tmp` and caches of the program, if set.
    pub(crate) aside: Option<PathBuf>,
    passing: Passing,
}

/// Directories that are removed on drop.
#[derive(Default)]
struct Passing(Vec<PathBuf>);

impl WorkingTree {
    /// Returns the workspace as the agent left it: for reading, not for running programs.
    pub(crate) fn of(workspace: &LockedWorkspace) -> Self {
        Self::plain(workspace.tree(), workspace)
    }

    fn plain(tree: PathBuf, workspace: &LockedWorkspace) -> Self {
        Self {
            written: tree.clone(),
            committed: tree.clone(),
            tree,
            objects: workspace.borrowed_objects(),
            reports: format!(".acquit-reports-{}", crate::agent::new_session()),
            setup: SharedLayer::default(),
            aside: None,
            passing: Passing::default(),
        }
    }

    /// Returns the workspace for an agent: on top of the output of setup for its start commit.
    pub(crate) fn of_agent(
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        workspace: &LockedWorkspace,
    ) -> Result<Self, LegAbort> {
        let working_tree = Self::of(workspace);
        if workspace.has_overlays() {
            let layer = super::layer(ctx, job, workspace, &job.start)?;
            if let Some(layer) = &layer {
                workspace.ignore_layer(&layer.tree())?;
            }
            *working_tree.setup.borrow_mut() = layer;
        } else {
            super::setup_in_place(ctx, job, workspace)?;
        }
        Ok(working_tree)
    }

    /// Creates a new tree of the committed work for the gate `name`.
    pub(crate) fn of_work(
        ctx: &mut LegContext<'_>,
        job: &Job<'_>,
        workspace: &LockedWorkspace,
        name: &str,
    ) -> Result<Self, LegAbort> {
        let head = workspace.work_head()?;
        if !workspace.has_overlays() {
            let scratch = workspace.beside(name)?;
            scratch.show(head.as_str(), &head)?;
            super::setup_aside(ctx, job, &scratch)?;
            let mut working_tree = Self::plain(scratch.tree(), workspace);
            working_tree.passing.0.push(scratch.keep());
            return Ok(working_tree);
        }
        let layer = super::layer(ctx, job, workspace, &head)?;
        let written = ctx.runtime.leg_folder(ctx.hold.leg).path().join(format!("tree-{name}"));
        let working_tree = Self::over(workspace.checked_over(&head, layer.as_deref())?, written, workspace)?;
        *working_tree.setup.borrow_mut() = layer;
        Ok(working_tree)
    }

    /// Creates a new tree over a checkout. Its writes go to `written`.
    fn over(committed: PathBuf, written: PathBuf, workspace: &LockedWorkspace) -> Result<Self, LegAbort> {
        remove_folder(&written)?;
        make_private(&written).map_err(|error| LegAbort::file("make the folder", &written, &error))?;
        let passing = Passing(vec![written.clone(), work_of(&written)]);
        Ok(Self { tree: TREE.into(), written, passing, ..Self::plain(committed, workspace) })
    }

    /// Creates a new tree over a checkout for setup. Its writes are kept: those to the tree in `written`, all others in
    /// `aside`.
    pub(crate) fn of_setup(
        committed: PathBuf,
        written: PathBuf,
        aside: PathBuf,
        workspace: &LockedWorkspace,
    ) -> Result<Self, LegAbort> {
        let mut working_tree = Self::over(committed, written, workspace)?;
        working_tree.passing.0.remove(0);
        working_tree.aside = Some(aside);
        Ok(working_tree)
    }

    /// Uses a temporary tree, in which programs overwrite the files themselves.
    pub(crate) fn of_scratch(scratch: &Scratch<'_>) -> Self {
        let workspace = scratch.workspace();
        let working_tree = Self::plain(scratch.tree(), workspace);
        let tree = if workspace.has_overlays() { TREE.into() } else { working_tree.written.clone() };
        Self { tree, setup: Rc::clone(scratch.setup()), ..working_tree }
    }

    /// Returns the caches that setup filled.
    pub(crate) fn setup_home(&self) -> Option<PathBuf> {
        self.setup.borrow().as_ref().and_then(|layer| layer.home())
    }

    /// Returns the mounts that make up the tree.
    pub(crate) fn mounts(&self) -> std::io::Result<Vec<Entry>> {
        let (tree, written) = (self.tree.clone(), self.written.clone());
        let mut lower = Vec::new();
        if self.committed != self.written {
            lower.push(self.committed.clone());
        }
        let layer = self.setup.borrow().as_ref().map(|layer| layer.tree());
        let has_layer = layer.is_some();
        lower.extend(layer);
        let what = if !lower.is_empty() {
            make_private(&work_of(&written))?;
            What::Layered { lower, inside: PathBuf::new(), upper: written }
        } else if tree == written {
            What::Write
        } else {
            What::Bound { source: written }
        };
        let mut mounts = vec![Entry { at: tree.clone(), what }];
        if has_layer && tree != Path::new(TREE) {
            mounts.push(Entry { at: TREE.into(), what: What::Link { to: tree } });
        }
        Ok(mounts)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        for folder in &self.0 {
            // If it cannot be removed, it is removed with the task.
            let _ = remove_folder(folder);
        }
    }
}

/// Returns the work directory that the kernel needs next to the upper directory of an overlay.
fn work_of(upper: &Path) -> PathBuf {
    let mut name = upper.as_os_str().to_owned();
    name.push(".work");
    name.into()
}

/// Returns whether overlays work here. Tried once per boot, because the kernel does not report it: it depends on user
/// namespaces, on the kernel, and on the disk of acquit's directory. If a trial does not complete, as on an overloaded
/// machine, the next leg repeats it.
pub(crate) fn overlays(ctx: &mut LegContext<'_>, mode: Mode) -> Result<bool, LegAbort> {
    if mode == Mode::Off {
        return Ok(false);
    }
    let folder = ctx.runtime.home.join("layers");
    let at = |error: std::io::Error| LegAbort::file("try overlays in", &folder, &error);
    let boot = crate::process::Identity::of_self().map_err(at)?.boot().to_owned();
    let known = folder.join("overlays");
    let text = std::fs::read_to_string(&known).unwrap_or_default();
    match text.strip_prefix(&boot).map(str::trim) {
        Some("yes") => return Ok(true),
        Some("no") => return Ok(false),
        _ => {}
    }
    make_private(&folder).map_err(at)?;
    let (trial, _held) = layers::trial(&folder).map_err(at)?;
    let works = attempt(ctx, &trial);
    if let Some(works) = works {
        remember(&trial, &known, &format!("{boot} {}\n", if works { "yes" } else { "no" })).map_err(at)?;
    }
    let _ = remove_folder(&trial);
    if works != Some(true) {
        let words = "this machine refuses overlays: every tree is a copy, and setup runs in each of them";
        ctx.notice(Level::Warning, words.to_owned());
    }
    Ok(works.unwrap_or(false))
}

/// Writes the file atomically, through the directory of a trial: the first legs after a boot may all write it at once.
fn remember(trial: &Path, file: &Path, text: &str) -> std::io::Result<()> {
    let new = trial.join("found");
    super::private(&new, text.as_bytes())?;
    std::fs::rename(&new, file)
}

/// Starts a program over an overlay. `None` if the trial did not complete.
fn attempt(ctx: &LegContext<'_>, folder: &Path) -> Option<bool> {
    let (lower, upper) = (folder.join("lower"), folder.join("upper"));
    for part in [&lower, &upper, &work_of(&upper)] {
        make_private(part).ok()?;
    }
    let system = ["/usr", "/bin", "/lib", "/lib64", "/nix", "/etc"].into_iter();
    let mut view: Vec<Entry> = system.filter(|place| Path::new(place).exists()).map(Entry::read).collect();
    view.push(Entry {
        at: TREE.into(),
        what: What::Layered { lower: vec![lower], inside: PathBuf::new(), upper },
    });
    let policy = Policy {
        mode: Mode::Reduced,
        view,
        network: Reach::Nobody,
        resources: Resources::default(),
        commands: None,
    };
    let file = folder.join("policy.json");
    super::program_sandbox::write_policy(&file, &policy).ok()?;
    let spec = Spec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), format!(": > {TREE}/written").into()],
        cwd: "/".into(),
        env: Vec::new(),
        stdin: Stdin::Closed,
        stdout: Stdout::Truncate(folder.join("output")),
        stderr: Stderr::WithStdout,
        limits: Limits { time: GRACE, idle: None, output: 1 << 16, grace: GRACE },
        policy: Some(file),
    };
    let child = ctx.runtime.spawner.spawn(&spec).ok()?;
    let held = !child.missing().walls().any(|wall| wall == Wall::Namespaces);
    let ended = child.watch(&mut Unheard).ok()?;
    if matches!(ended.exit, Exit::TimedOut { .. }) {
        return None;
    }
    Some(held && folder.join("upper/written").exists())
}

/// Ignores the output of a trial.
struct Unheard;

impl Watcher for Unheard {
    fn output(&mut self, _: u64, _: &[u8]) {}

    fn tick(&mut self) -> Next {
        Next::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_that_begin_at_the_same_time_all_remember_what_they_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("overlays");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let (trial, _held) = layers::trial(folder.path()).unwrap();
                        remember(&trial, &file, "boot yes\n").unwrap();
                        remove_folder(&trial).unwrap();
                        assert_eq!(std::fs::read_to_string(&file).unwrap(), "boot yes\n");
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}
