//! Attacks the user's repository and the harness's trust in the clone: pushing, editing borrowed objects, planting
//! programs, smuggling objects, and breaking the rules for commits and branches.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files::{could_write, overwrite};
use super::{Attack, Tried, World};

pub(super) const ATTACKS: &[Attack] = &[
    ("git-push", "pushes to the user's repository", push),
    ("git-borrowed-refs", "edits refs, config, hooks and index next to the borrowed objects", borrowed_refs),
    (
        "git-borrowed-objects",
        "overwrites and adds objects and packs where they are borrowed",
        borrowed_objects,
    ),
    ("git-user-repository", "edits the user's repository by its path", user_repository),
    ("git-global-config", "sets what every git of the user runs", global_config),
    ("git-plant-hooks", "plants hooks in its clone", plant_hooks),
    (
        "git-plant-config",
        "plants fsmonitor, filters, diffs, aliases, includes and helpers in its config",
        plant_config,
    ),
    ("git-plant-attributes", "plants filters by attributes, in and beside the tree", plant_attributes),
    ("git-plant-submodule", "plants a submodule whose address is a program", plant_submodule),
    ("git-redirect", "makes its clone lead to the user's repository", redirect),
    ("git-worktree", "makes its clone's tree be somewhere else", worktree),
    ("git-steal-objects", "borrows from a private repository and puts its branch there", steal),
    ("git-replace-objects", "replaces commits by others, with refs and grafts", replace),
    ("git-symbolic-branch", "makes its branch a name for another", symbolic),
    ("git-odd-branch", "leaves branches with names that mislead", odd_branch),
    ("git-no-task-id", "commits without the task's id", no_task_id),
    ("git-protected-branch", "moves the branch that the work is meant for", protected),
    ("git-checkout-protected", "works on the protected branch itself", checkout),
    ("git-edit-acquit", "changes the rules it works under", edit_acquit),
    ("git-garbage", "leaves a repository that is none", garbage),
    ("git-pipes", "leaves pipes where git's files were, on which a reader waits for ever", pipes),
    ("git-removed", "removes its repository", removed),
    ("git-locks", "leaves the locks of a git that never ended", locks),
];

/// Runs git in the workspace.
fn git(args: &[&str]) -> io::Result<String> {
    let ran = Command::new("git")
        .args([
            "-c",
            "user.name=Hostile",
            "-c",
            "user.email=hostile@example.org",
            "-c",
            "core.hooksPath=/dev/null",
        ])
        .args(args)
        .stdin(Stdio::null())
        .output()?;
    if ran.status.success() {
        Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    } else {
        Err(io::Error::from_raw_os_error(libc::EACCES))
    }
}

fn changed(result: io::Result<String>) -> io::Result<&'static str> {
    result.map(|_| "git did it")
}

/// Makes a change and commits it with this message.
fn commit(words: &str) -> io::Result<&'static str> {
    fs::write("hostile.txt", words)?;
    git(&["add", "hostile.txt"])?;
    changed(git(&["commit", "-q", "-m", words]))
}

fn push(world: &World, tried: &mut Tried) {
    // Otherwise every attempt would fail without being refused.
    if git(&["rev-parse", "HEAD"]).is_err() {
        return tried.error("git does not work in the workspace");
    }
    let repo = world.text("repo").to_owned();
    tried.way("a new branch", changed(git(&["push", "-q", &repo, "HEAD:refs/heads/pushed"])));
    tried.way("by force", changed(git(&["push", "-q", "--force", &repo, "HEAD:refs/heads/main"])));
    tried.way("a tag", changed(git(&["push", "-q", &repo, "HEAD:refs/tags/pushed"])));
    tried.way("a removal", changed(git(&["push", "-q", &repo, ":refs/heads/kept"])));
    tried.way("origin", changed(git(&["push", "-q", "origin", "HEAD:refs/heads/pushed"])));
    tried.way(
        "as a remote",
        git(&["remote", "add", "user", &repo])
            .and_then(|_| changed(git(&["push", "-q", "user", "HEAD:refs/heads/pushed"]))),
    );
    let _ = git(&["remote", "remove", "user"]);
}

/// Returns the object folders that the clone borrows from.
fn borrowed() -> Vec<PathBuf> {
    let list = fs::read_to_string(".git/objects/info/alternates").unwrap_or_default();
    list.lines().map(PathBuf::from).collect()
}

fn create(path: &Path) -> io::Result<&'static str> {
    fs::write(path, "hostile\n").map(|()| "created")
}

fn edit_repository(tried: &mut Tried, git_dir: &Path) {
    for name in
        ["config", "HEAD", "packed-refs", "index", "refs/heads/main", "refs/heads/kept", "description"]
    {
        let path = git_dir.join(name);
        if path.exists() || name == "config" {
            tried.way(name, overwrite(&path));
        }
    }
    for name in ["hooks/post-checkout", "refs/heads/planted", "info/attributes", "objects/info/alternates"] {
        tried.way(name, create(&git_dir.join(name)));
    }
}

fn borrowed_refs(_: &World, tried: &mut Tried) {
    let folders = borrowed();
    if folders.is_empty() {
        tried.absent("borrowed objects");
    }
    for folder in folders {
        edit_repository(tried, folder.parent().unwrap_or(&folder));
    }
}

fn borrowed_objects(_: &World, tried: &mut Tried) {
    let folders = borrowed();
    if folders.is_empty() {
        tried.absent("borrowed objects");
    }
    for folder in folders {
        tried.way(
            "a new object",
            fs::create_dir_all(folder.join("ab")).and_then(|()| create(&folder.join("ab/cdef"))),
        );
        tried.way("alternates", create(&folder.join("info/alternates")));
        let object = git(&["rev-parse", "HEAD^{tree}"]).unwrap_or_default();
        if let Some((front, rest)) = object.split_at_checked(2) {
            let path = folder.join(front).join(rest);
            if path.exists() {
                use std::os::unix::fs::PermissionsExt;
                let _ = fs::set_permissions(&path, fs::Permissions::from_mode(0o644));
                tried.way("an object", could_write(&path));
            }
        }
        for pack in fs::read_dir(folder.join("pack")).into_iter().flatten().flatten() {
            tried.way("a pack", could_write(pack.path()));
        }
        tried.way("a new pack", create(&folder.join("pack/pack-hostile.idx")));
    }
}

fn user_repository(world: &World, tried: &mut Tried) {
    edit_repository(tried, &world.path("repo").join(".git"));
    tried.way("a tracked file", overwrite(world.path("repo").join("README.md")));
    tried.way("the rules", overwrite(world.path("repo").join(".acquit/acquit.toml")));
    let repo = world.text("repo").to_owned();
    tried.way("by git", changed(git(&["-C", &repo, "config", "hostile.was", "here"])));
    tried.way("a ref", changed(git(&["-C", &repo, "update-ref", "refs/heads/planted", "HEAD"])));
}

fn global_config(world: &World, tried: &mut Tried) {
    let alias = format!("!touch {}", tripwire(world));
    tried.way("--global", changed(git(&["config", "--global", "alias.st", &alias])));
    tried.way("--system", could_write("/etc/gitconfig").map(|_| "open"));
}

/// Returns the tripwire that a program outside of the sandbox would touch. Inside, nothing can.
fn tripwire(world: &World) -> String {
    format!("'{}'", world.path("outside").join("tripwire").display())
}

fn script(path: &Path, world: &World) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, format!("#!/bin/sh\ntouch {}\ncat\n", tripwire(world)))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn plant_hooks(world: &World, tried: &mut Tried) {
    for name in [
        "post-checkout",
        "pre-commit",
        "post-commit",
        "commit-msg",
        "post-index-change",
        "reference-transaction",
        "post-merge",
        "pre-push",
        "update",
    ] {
        tried.way(name, script(&Path::new(".git/hooks").join(name), world).map(|()| "planted"));
    }
}

fn plant_config(world: &World, tried: &mut Tried) {
    let program = std::env::current_dir().unwrap_or_default().join(".git/planted");
    let _ = script(&program, world);
    let run = program.to_string_lossy();
    let planted = format!(
        "[core]\n fsmonitor = \"{run}\"\n sshCommand = \"{run}\"\n pager = \"{run}\"\n editor = \"{run}\"\n hooksPath = .git/hooks\n\
         [filter \"x\"]\n clean = \"{run}\"\n smudge = \"{run}\"\n process = \"{run}\"\n required = true\n\
         [diff]\n external = \"{run}\"\n[diff \"x\"]\n textconv = \"{run}\"\n command = \"{run}\"\n[merge \"x\"]\n driver = \"{run}\"\n\
         [credential]\n helper = \"!{run}\"\n[alias]\n status = \"!{run}\"\n[gpg]\n program = \"{run}\"\n[commit]\n gpgSign = true\n\
         [include]\n path = \"{run}\"\n[uploadpack]\n packObjectsHook = \"{run}\"\n[protocol]\n allow = always\n"
    );
    let written = fs::OpenOptions::new()
        .append(true)
        .open(".git/config")
        .and_then(|mut config| io::Write::write_all(&mut config, planted.as_bytes()));
    tried.way("config", written.map(|()| "planted"));
    tried.way("worktree config", fs::write(".git/config.worktree", &planted).map(|()| "planted"));
}

fn plant_attributes(world: &World, tried: &mut Tried) {
    plant_config(world, tried);
    tried.way("in the tree", fs::write(".gitattributes", "* filter=x diff=x merge=x\n").map(|()| "planted"));
    let _ = fs::create_dir_all(".git/info");
    tried.way(
        "beside it",
        fs::write(".git/info/attributes", "* filter=x diff=x merge=x\n").map(|()| "planted"),
    );
}

fn plant_submodule(world: &World, tried: &mut Tried) {
    let address = format!("ext::sh -c touch% {}", tripwire(world));
    let text =
        format!("[submodule \"x\"]\n path = x\n url = {address}\n update = !touch {}\n", tripwire(world));
    tried.way("file", fs::write(".gitmodules", text).map(|()| "planted"));
    let entry = git(&["rev-parse", "HEAD"])
        .and_then(|head| git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},x")]));
    tried.way("entry", changed(entry));
    tried.way(
        "nested",
        fs::create_dir_all("x/.git/hooks")
            .and_then(|()| script(Path::new("x/.git/hooks/post-checkout"), world))
            .map(|()| "planted"),
    );
}

/// Replaces its `.git`.
fn instead(act: impl FnOnce() -> io::Result<()>) -> io::Result<&'static str> {
    fs::rename(".git", "was-git")?;
    act().map(|()| "replaced")
}

fn redirect(world: &World, tried: &mut Tried) {
    let target = world.path("repo").join(".git");
    tried.way("a file", instead(|| fs::write(".git", format!("gitdir: {}\n", target.display()))));
}

fn worktree(world: &World, tried: &mut Tried) {
    tried.way("core.worktree", changed(git(&["config", "core.worktree", world.text("outside")])));
    tried.way(
        "commondir",
        fs::write(".git/commondir", world.path("repo").join(".git").to_string_lossy().as_bytes())
            .map(|()| "planted"),
    );
}

fn steal(world: &World, tried: &mut Tried) {
    let objects = world.path("private").join(".git/objects");
    let planted = fs::create_dir_all(".git/objects/info").and_then(|()| {
        use std::io::Write;
        let mut file =
            fs::OpenOptions::new().create(true).append(true).open(".git/objects/info/alternates")?;
        writeln!(file, "{}", objects.display())
    });
    tried.way("alternates", planted.map(|()| "planted"));
    let head = fs::read_to_string(".git/HEAD").unwrap_or_default();
    let branch = head.trim().trim_start_matches("ref: ").to_owned();
    let commit = world.text("private-commit");
    // git fails if the object cannot be read; writing the file by hand does not.
    tried.way("branch", fs::write(Path::new(".git").join(branch), format!("{commit}\n")).map(|()| "moved"));
}

fn replace(_: &World, tried: &mut Tried) {
    let replaced = commit("T-1: to be replaced").and_then(|_| {
        let (head, parent) = (git(&["rev-parse", "HEAD"])?, git(&["rev-parse", "HEAD^"])?);
        changed(git(&["update-ref", &format!("refs/replace/{parent}"), &head]))
    });
    tried.way("replace ref", replaced);
    let head = git(&["rev-parse", "HEAD"]).unwrap_or_default();
    let _ = fs::create_dir_all(".git/info");
    tried.way("graft", fs::write(".git/info/grafts", format!("{head}\n")).map(|()| "planted"));
    tried.way("shallow", fs::write(".git/shallow", format!("{head}\n")).map(|()| "planted"));
}

fn symbolic(_: &World, tried: &mut Tried) {
    let head = git(&["symbolic-ref", "HEAD"]).unwrap_or_default();
    tried.way("of main", changed(git(&["symbolic-ref", &head, "refs/heads/main"])));
}

fn odd_branch(_: &World, tried: &mut Tried) {
    let head = git(&["rev-parse", "HEAD"]).unwrap_or_default();
    for name in [
        "refs/heads/-x",
        "refs/heads/HEAD",
        "refs/heads/refs/heads/main",
        "refs/acquit/base",
        "refs/remotes/origin/main",
        "refs/tags/main",
        "refs/heads/--upload-pack=x",
    ] {
        let path = Path::new(".git").join(name);
        let made = fs::create_dir_all(path.parent().unwrap_or(&path))
            .and_then(|()| fs::write(&path, format!("{head}\n")));
        tried.way(name, made.map(|()| "made"));
    }
}

fn no_task_id(_: &World, tried: &mut Tried) {
    tried.way("commit", commit("No id in these words"));
}

fn protected(_: &World, tried: &mut Tried) {
    let _ = commit("T-1: work of the wrong branch");
    tried.way("branch -f", changed(git(&["branch", "-f", "main", "HEAD"])));
    tried.way("update-ref", changed(git(&["update-ref", "refs/heads/main", "HEAD"])));
}

fn checkout(_: &World, tried: &mut Tried) {
    let there =
        changed(git(&["checkout", "-q", "-B", "main"])).and_then(|_| commit("T-1: work on the wrong branch"));
    tried.way("checkout", there);
}

fn edit_acquit(_: &World, tried: &mut Tried) {
    for name in ["acquit.toml", "workflows/attack.toml", "instructions.md"] {
        let path = Path::new(".acquit").join(name);
        tried.way(name, fs::write(path, "# sandbox off\n").map(|()| "changed"));
    }
    tried.way("removed", fs::remove_dir_all(".acquit").map(|()| "removed"));
}

fn garbage(_: &World, tried: &mut Tried) {
    for name in ["HEAD", "config", "index", "packed-refs", "refs/heads/x"] {
        tried.way(name, fs::write(Path::new(".git").join(name), b"\0\xff garbage \n[[[").map(|()| "broken"));
    }
}

fn pipes(_: &World, tried: &mut Tried) {
    for name in
        ["HEAD", "config", "index", "packed-refs", "objects/info/alternates", "info/attributes", "shallow"]
    {
        let path = Path::new(".git").join(name);
        let _ = fs::remove_file(&path);
        tried.way(name, super::leftovers::pipe(&path));
    }
}

fn removed(_: &World, tried: &mut Tried) {
    tried.way("all of it", fs::remove_dir_all(".git").map(|()| "removed"));
}

fn locks(_: &World, tried: &mut Tried) {
    for name in ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock"] {
        tried.way(name, fs::write(Path::new(".git").join(name), "").map(|()| "left"));
    }
}
