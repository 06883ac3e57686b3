//! Results of the tests of the exact base commit, cached for all tasks that start from the same tree.
//!
//! The base is the user's own code, run in the same sandbox as everything else. Its results are cached in acquit's
//! folder, where no agent and no gate can write. The key has everything they depend on: the tree, the commands, the
//! machine's programs.

use std::path::{Path, PathBuf};

use acquit_core::proof::{Ran, Tree};
use acquit_core::results::Merged;
use acquit_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::cache;
use super::suite::{Spent, Suite};
use crate::git::CommitId;
use crate::leg::{Job, LegAbort, LegContext, WorkingTree, setup_aside, setup_key};
use crate::workspace::{LockedWorkspace, Scratch};

/// Maximum age of a result. The toolchain, which it also depends on, changes unnoticed.
const AGE: std::time::Duration = std::time::Duration::from_hours(7 * 24);

/// Maximum size of a file to read.
const LARGEST: u64 = 256 << 20;

/// Maximum number of cached results.
const MOST_KEPT: usize = 200;

/// Format version of the files.
const FORM: u32 = 3;

/// acquit's own folder in a repository.
const OWN: &str = ".acquit";

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Kept {
    form: u32,
    at: Timestamp,
    /// Compiler output, if the base did not build.
    not_built: Option<String>,
    merged: Merged,
}

/// Returns the results of the base, from at least this many runs. Afterwards, the tree of `scratch` shows the base,
/// unless all results were cached.
pub(super) fn base(
    ctx: &mut LegContext<'_>,
    job: &Job<'_>,
    suite: &Suite<'_>,
    workspace: &LockedWorkspace,
    scratch: &Scratch<'_>,
    runs: u32,
    spent: &mut Spent,
) -> Result<Tree, LegAbort> {
    let commit = job.base();
    let (file, before) = files(ctx, job, suite, workspace, &commit)?;
    let now = (ctx.runtime.now)();
    if let Some(tree) =
        [Some(&file), before.as_ref()].into_iter().flatten().find_map(|file| load(file, now, runs))
    {
        return Ok(tree);
    }
    scratch.show(commit.as_str(), &commit)?;
    let working_tree = WorkingTree::of_scratch(scratch);
    setup_aside(ctx, job, scratch)?;
    let tree = suite.tree(ctx, job, &working_tree, "base", runs, spent)?;
    // A run that was cut short says nothing about the next one.
    let is_whole = match &tree {
        Tree::Ran(ran) => ran.trouble.is_none() && !ran.merged.results.cut,
        Tree::NotBuilt(_) => true,
    };
    if is_whole {
        save(&file, now, &tree)
            .map_err(|error| LegAbort::file("keep the results of the base in", &file, &error))?;
    }
    Ok(tree)
}

/// Returns the paths of the result. The first has everything that it is known to depend on in its key. The second is
/// also looked up: the result of the same tree before `.acquit/` was committed, which `acquit check` left. No other
/// difference is ignored, not even between two states of `.acquit/`, and none at all if a command uses a file there.
fn files(
    ctx: &LegContext<'_>,
    job: &Job<'_>,
    suite: &Suite<'_>,
    workspace: &LockedWorkspace,
    commit: &CommitId,
) -> Result<(PathBuf, Option<PathBuf>), LegAbort> {
    let config = &job.definition.config;
    let build = suite.build.map(ToString::to_string);
    let path = ctx.runtime.environment.get("PATH").map(|path| path.to_string_lossy().into_owned());
    let commands = serde_json::json!({
        "build": build,
        "run": suite.run.to_string(),
        "report": suite.report,
        "env": suite.gate.env,
        "setup": config.setup.as_ref().map(|setup| (setup.run.to_string(), &setup.env)),
        "installed": setup_key(ctx, job, workspace),
    });
    let place = |top: &[&String]| {
        let depends = serde_json::json!({
            "form": FORM,
            "tree": top,
            "commands": commands,
            "sandbox": config.sandbox,
            "network": suite.gate.reach(&config.network),
            "path": path,
            "machine": [std::env::consts::OS, std::env::consts::ARCH],
        });
        let name = workspace.hash(depends.to_string());
        ctx.runtime.home.join("baselines").join(format!("{name}.json"))
    };
    let top = workspace.top_of(commit)?;
    let is_own = |row: &&String| row.ends_with(&format!("\t{OWN}"));
    let (all, without): (Vec<&String>, Vec<&String>) =
        (top.iter().collect(), top.iter().filter(|row| !is_own(row)).collect());
    let before = without.len() < all.len() && !commands.to_string().contains(OWN);
    Ok((place(&all), before.then(|| place(&without))))
}

fn load(file: &Path, now: Timestamp, runs: u32) -> Option<Tree> {
    let kept: Kept = cache::load(file, LARGEST)?;
    if kept.form != FORM || now.since(kept.at) > AGE {
        return None;
    }
    match kept.not_built {
        Some(said) => Some(Tree::NotBuilt(said)),
        None if kept.merged.runs >= runs => Some(Tree::Ran(Ran { merged: kept.merged, ..Ran::default() })),
        None => None,
    }
}

fn save(file: &Path, at: Timestamp, tree: &Tree) -> std::io::Result<()> {
    let (not_built, merged) = match tree {
        Tree::NotBuilt(said) => (Some(said.clone()), Merged::default()),
        Tree::Ran(ran) => (None, ran.merged.clone()),
    };
    if let Some(folder) = file.parent() {
        cache::prune(folder, MOST_KEPT)?;
    }
    cache::save(file, &Kept { form: FORM, at, not_built, merged })
}
