//! Planted in the agent's own clone and tree. A line of a table is a plant.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use acquit_testkit::repo;

use crate::stage::{BRANCH, Stage, everything};

/// What becomes of the work of an agent that plants something.
enum Ends {
    /// It is taken, and the plant is nobody's business.
    Fine,
    /// It is refused, with these words among others.
    Refused(&'static str),
}
use Ends::{Fine, Refused};

type Plant = (&'static str, Ends, fn(&Stage));

/// Runs each of a table on a stage of its own, all of them even if one fails.
fn play(table: &[Plant]) {
    let failed: Vec<&str> =
        table.iter().filter(|plant| catch_unwind(|| one(plant)).is_err()).map(|p| p.0).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn one((name, ends, plant): &Plant) {
    let stage = Stage::new();
    let before = stage.listing();
    let told = everything(&stage, name, plant);
    stage.nothing_ran(name);
    stage.unchanged(name, &before);
    match ends {
        Fine => assert!(told.is_empty(), "{name}: {told:?}"),
        Refused(word) => assert!(told.first().is_some_and(|t| t.contains(word)), "{name}: {told:?}"),
    }
}

/// Writes below the agent's tree.
fn put(s: &Stage, file: &str, text: &str) {
    let path = s.tree().join(file);
    if path.parent().is_some_and(|p| p.is_dir() || fs::create_dir_all(p).is_ok()) {
        let _ = fs::write(path, text);
    }
}

/// Adds to the agent's configuration; `@` is the tripwire.
pub(crate) fn config(s: &Stage, text: &str) {
    let path = s.tree().join(".git/config");
    let old = fs::read_to_string(&path).unwrap_or_default();
    put(s, ".git/config", &(old + &text.replace('@', &s.program()) + "\n"));
}

/// A program as a hook, under every name that git knows.
pub(crate) fn hooks(s: &Stage, folder: &str) {
    for hook in HOOKS {
        let at = s.tree().join(folder).join(hook);
        let _ = fs::create_dir_all(at.parent().unwrap());
        let _ = fs::remove_file(&at);
        let _ = fs::copy(s.program(), at);
    }
}

pub(crate) const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];

/// Attributes for everything, in both places.
fn attributes(s: &Stage, text: &str) {
    put(s, ".gitattributes", text);
    put(s, ".git/info/attributes", text);
}

fn tip(s: &Stage, text: &str) {
    put(s, &format!(".git/refs/heads/{BRANCH}"), text);
}

fn pipe(s: &Stage, file: &str) {
    let path = s.tree().join(file);
    let _ = fs::create_dir_all(path.parent().unwrap());
    let _ = fs::remove_file(&path);
    let mode = rustix::fs::Mode::RWXU;
    let _ = rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0);
}

/// Replaces something in the tree by a link to the user's repository.
fn link(s: &Stage, file: &str, to: &str) {
    let path = s.tree().join(file);
    if path.is_dir() && !path.is_symlink() {
        let _ = fs::remove_dir_all(&path);
    } else {
        let _ = fs::remove_file(&path);
    }
    let _ = fs::create_dir_all(path.parent().unwrap());
    let _ = symlink(s.repo.path().join(to), &path);
}

/// Folders in folders, made one below the other because no path could name the last.
fn deep(s: &Stage, folder: &str, levels: usize) {
    let top = s.tree().join(folder);
    if fs::create_dir_all(&top).is_err() {
        return;
    }
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let mut here = rustix::fs::open(&top, flags, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..levels {
        let _ = rustix::fs::mkdirat(&here, "d", rustix::fs::Mode::RWXU);
        here = rustix::fs::openat(&here, "d", flags, rustix::fs::Mode::empty()).unwrap();
    }
}

/// Packs the agent's own commit, and puts something else where a file of its name would be: git reads the pack.
fn shadow(s: &Stage, by: fn(&Stage, &Path)) {
    let tree = s.tree();
    let has_work = repo::git_succeeds(&tree, &["rev-parse", "--verify", "HEAD^"]);
    if !has_work || !repo::git_succeeds(&tree, &["repack", "-adlq"]) {
        return;
    }
    let tip = repo::git(&tree, &["rev-parse", "HEAD"]);
    let place = loose(s, &tip);
    let _ = fs::create_dir_all(place.parent().unwrap());
    let _ = fs::remove_file(&place);
    by(s, &place);
}

/// The file of an object that is not in a pack.
fn loose(s: &Stage, id: &str) -> PathBuf {
    s.tree().join(".git/objects").join(&id[..2]).join(&id[2..])
}

/// A commit like the agent's own that does not name the task, which is refused wherever it is believed.
fn nameless(s: &Stage, place: &Path) {
    let id = repo::git(&s.tree(), &["commit-tree", "-m", "nameless", "-p", "HEAD^", "HEAD^{tree}"]);
    let _ = fs::copy(loose(s, &id), place);
}

/// A hostile repository where the project has a submodule, at exactly the commit that the project names.
pub(crate) fn fill_submodule(s: &Stage) {
    let sub = s.tree().join("sub");
    if sub.join(".git").exists() || !s.tree().is_dir() {
        return;
    }
    let _ = fs::remove_dir_all(&sub);
    repo::git(&s.tree(), &["clone", "--quiet", s.repo.beside("inner").to_str().unwrap(), "sub"]);
    repo::write(&sub.join(".gitattributes"), "* filter=x\n");
    repo::write(&sub.join("code.txt"), "INNER\n");
    let program = s.program();
    let text = format!(
        "[core]\n\tfsmonitor = {program}\n[filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n"
    );
    let config = fs::read_to_string(sub.join(".git/config")).unwrap();
    repo::write(&sub.join(".git/config"), &(config + &text));
    repo::write(&sub.join(".git/info/attributes"), "* filter=x\n");
    let _ = fs::create_dir_all(sub.join(".git/hooks"));
    fs::copy(&program, sub.join(".git/hooks/post-index-change")).unwrap();
}

/// Each only adds settings that name a program, so none hides another.
#[rustfmt::skip] // A plant is a line.
static PROGRAMS: &[Plant] = &[
    ("all hooks", Fine, |s| hooks(s, ".git/hooks")),
    ("core.hooksPath", Fine, |s| { hooks(s, "my-hooks"); config(s, "[core]\n\thooksPath = my-hooks"); }),
    ("hooks by configuration", Fine, |s| config(s, "[hook \"x\"]\n\tcommand = @\n\tevent = reference-transaction\n\tevent = post-index-change")),
    ("core.fsmonitor", Fine, |s| config(s, "[core]\n\tfsmonitor = @\n\tfsmonitorHookVersion = 1")),
    ("programs of core", Fine, |s| config(s, "[core]\n\tsshCommand = @\n\teditor = @\n\tpager = @\n\taskPass = @\n\tgitProxy = @\n\talternateRefsCommand = @\n[sequence]\n\teditor = @")),
    ("pagers", Fine, |s| config(s, "[pager]\n\tlog = @\n\tstatus = @\n\tdiff = @\n\tconfig = @\n\tbranch = @")),
    ("credential.helper", Fine, |s| config(s, "[credential]\n\thelper = !@")),
    ("diff.external", Fine, |s| config(s, "[diff]\n\texternal = @")),
    ("signing", Fine, |s| config(s, "[gpg]\n\tprogram = @\n[gpg \"ssh\"]\n\tprogram = @\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true")),
    ("aliases", Fine, |s| config(s, "[alias]\n\tstatus = !@\n\tadd = !@\n\tlog = !@\n\tfetch = !@\n\tcommit = !@")),
    ("include", Fine, |s| { put(s, "evil.inc", &format!("[core]\n\tfsmonitor = {}\n", s.program())); config(s, "[include]\n\tpath = ../evil.inc\n[includeIf \"gitdir:/\"]\n\tpath = ../evil.inc"); }),
    ("uploadpack.packObjectsHook", Fine, |s| config(s, "[uploadpack]\n\tpackObjectsHook = @")),
    ("remotes", Fine, |s| config(s, "[protocol \"ext\"]\n\tallow = always\n[protocol]\n\tallow = always\n[url \"ext::@ \"]\n\tinsteadOf = /\n[remote \"origin\"]\n\turl = ext::@\n\tuploadpack = @\n\tvcs = @\n\tpromisor = true\n[extensions]\n\tpartialClone = origin\n[fetch]\n\tbundleURI = ext::@")),
    ("submodules by configuration", Fine, |s| config(s, "[submodule \"sub\"]\n\tupdate = !@\n\turl = ext::@\n\tactive = true\n[submodule]\n\trecurse = true")),
    ("trailers", Fine, |s| config(s, "[trailer \"x\"]\n\tcommand = @\n\tcmd = @\n\tifmissing = add")),
    ("help and browsers", Fine, |s| config(s, "[man]\n\tviewer = x\n[man \"x\"]\n\tcmd = @\n[browser \"x\"]\n\tcmd = @\n[help]\n\tbrowser = x\n\tautocorrect = 1")),
];

#[test]
#[rustfmt::skip] // A plant is a line.
fn planted_settings_never_run() {
    // All in one life of a workspace; soak has a life for each.
    let stage = Stage::new();
    let before = stage.listing();
    let told = everything(&stage, "programs", &|s| PROGRAMS.iter().for_each(|(_, _, plant)| plant(s)));
    stage.nothing_ran("programs");
    stage.unchanged("programs", &before);
    assert!(told.is_empty(), "{told:?}");
    play(&[
        ("filters", Fine, |s| { attributes(s, "* filter=x\n"); config(s, "[filter \"x\"]\n\tclean = @\n\tsmudge = @\n\trequired = true"); }),
        ("filter.process", Fine, |s| { attributes(s, "* filter=x\n"); config(s, "[filter \"x\"]\n\tprocess = @\n\trequired = true"); }),
        ("diff drivers", Fine, |s| { attributes(s, "* diff=x\n"); config(s, "[diff \"x\"]\n\tcommand = @\n\ttextconv = @\n\tcachetextconv = true"); }),
        ("merge drivers", Fine, |s| { attributes(s, "* merge=x\n"); config(s, "[merge \"x\"]\n\tdriver = @ %A\n[merge]\n\ttool = x\n[mergetool \"x\"]\n\tcmd = @"); }),
        ("include of itself", Fine, |s| config(s, "[include]\n\tpath = config")),
        ("include of a pipe", Fine, |s| { pipe(s, "waits"); config(s, "[include]\n\tpath = ../waits"); }),
        ("core.worktree", Fine, |s| config(s, "[core]\n\tworktree = /\n\tbare = true")),
        ("config.worktree", Fine, |s| { config(s, "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true"); put(s, ".git/config.worktree", &format!("[core]\n\tfsmonitor = {}\n", s.program())); }),
        ("a line without end", Fine, |s| config(s, &format!("[x]\n\ty = {}", "z".repeat(20 << 20)))),
        ("commondir", Fine, |s| put(s, ".git/commondir", &format!("{}\n", s.repo.path().join(".git").display()))),
        ("gitdir", Fine, |s| put(s, ".git/gitdir", "/\n")),
    ]);
}

#[test]
fn soak_each_planted_program_alone_never_runs() {
    play(PROGRAMS);
}

#[test]
#[rustfmt::skip] // A plant is a line.
fn planted_trees_neither_run_nor_hang_nor_lead_out() {
    play(&[
        (".gitmodules", Fine, |s| put(s, ".gitmodules", &format!("[submodule \"sub\"]\n\tpath = sub\n\turl = ext::{}\n\tupdate = none\n", s.program()))),
        ("a submodule that is a repository", Fine, fill_submodule),
        ("a repository inside", Fine, |s| { let at = s.tree().join("vendor"); let _ = fs::create_dir_all(&at); repo::git(&at, &["init", "--quiet"]); put(s, "vendor/.git/config", &format!("[core]\n\tbare = false\n\tfsmonitor = {}\n", s.program())); }),
        ("a pointer to a repository inside", Fine, |s| put(s, "vendor/.git", &format!("gitdir: {}/.git\n", s.repo.path().display()))),
        ("a bare repository inside", Fine, |s| { let at = s.tree().join("bare"); let _ = fs::create_dir_all(&at); repo::git(&at, &["init", "--quiet", "--bare"]); hooks(s, "bare/hooks"); }),
        ("an encoding that fits nothing", Fine, |s| attributes(s, "* working-tree-encoding=UTF-16\n")),
        ("an encoding that is none", Fine, |s| attributes(s, "* working-tree-encoding=x ident text eol=crlf\n")),
        ("attributes of a megabyte", Fine, |s| attributes(s, &"* a b c\n".repeat(1 << 17))),
        ("attributes as a pipe", Fine, |s| pipe(s, ".gitattributes")),
        ("ignore rules as a pipe", Fine, |s| pipe(s, "src/.gitignore")),
        (".gitmodules as a pipe", Fine, |s| pipe(s, ".gitmodules")),
        ("a pipe in place of a file", Refused("can only add"), |s| pipe(s, "src/main.txt")),
        ("a link out in place of a folder", Fine, |s| link(s, "src", "outside")),
        ("a link out in place of a file", Fine, |s| link(s, "src/main.txt", "outside/file")),
        ("attributes as a link", Fine, |s| link(s, ".gitattributes", "outside/file")),
        ("a name like .git", Refused(".GIT"), |s| put(s, ".GIT/config", "[core]\n")),
        ("a name like .git on other systems", Refused("git~1"), |s| put(s, "git~1/config", "[core]\n")),
        ("a deep tree", Refused("deep"), |s| deep(s, "deep", 600)),
        ("a deep repository", Refused("deep"), |s| deep(s, ".git/deep", 600)),
        ("a tree in place of the tree", Refused("replaced"), |s| { let _ = fs::rename(s.tree(), s.repo.beside("away")); let _ = symlink(s.repo.path(), s.tree()); }),
        ("odd names", Fine, |s| put(s, "-x\n\u{1b}[31m--upload-pack=y ü", "x")),
        ("acquit's own files", Refused(".acquit"), |s| put(s, ".acquit/acquit.toml", "agent = \"mine\"\n")),
        ("acquit's own folder moved", Refused(".acquit"), |s| { let _ = fs::rename(s.tree().join(".acquit"), s.tree().join("moved")); }),
        ("acquit's own folder as a link", Refused(".acquit"), |s| link(s, ".acquit", "outside")),
    ]);
}

#[test]
#[rustfmt::skip] // A plant is a line.
fn planted_repositories_are_refused_or_have_no_say() {
    play(&[
        ("no repository", Refused("deleted"), |s| { let _ = fs::remove_dir_all(s.tree().join(".git")); }),
        ("a file as repository", Refused("a file"), |s| { let _ = fs::remove_dir_all(s.tree().join(".git")); put(s, ".git", &format!("gitdir: {}/.git\n", s.repo.path().display())); }),
        ("a link as repository", Refused("a symbolic link"), |s| link(s, ".git", ".git")),
        ("a pipe as repository", Refused("a file"), |s| { let _ = fs::remove_dir_all(s.tree().join(".git")); pipe(s, ".git"); }),
        ("another commit beside its pack", Fine, |s| shadow(s, nameless)),
        ("a file of a terabyte beside its pack", Fine, |s| shadow(s, |_, place| { let _ = fs::File::create(place).and_then(|file| file.set_len(1 << 40)); })),
        ("a link to another commit beside its pack", Refused("a symbolic link"), |s| shadow(s, |s, place| { let at = s.repo.beside("nameless"); nameless(s, &at); let _ = symlink(at, place); })),
        ("a pipe beside its pack", Refused("a pipe"), |s| shadow(s, |s, place| pipe(s, place.strip_prefix(s.tree()).unwrap().to_str().unwrap()))),
        ("objects as a link", Refused("a symbolic link"), |s| link(s, ".git/objects", ".git/objects")),
        ("refs as a link", Refused("not a plain file"), |s| link(s, ".git/refs", ".git/refs")),
        ("a pipe among the objects", Refused("a pipe"), |s| pipe(s, ".git/objects/pack/pack-x.idx")),
        ("alternates", Refused("borrows"), |s| put(s, ".git/objects/info/alternates", "/\n")),
        ("alternates as a pipe", Refused("a pipe"), |s| pipe(s, ".git/objects/info/alternates")),
        ("http-alternates", Refused("alternates on the network"), |s| put(s, ".git/objects/info/http-alternates", "http://127.0.0.1:1/\n")),
        ("grafts", Refused("grafts"), |s| { let head = "1".repeat(40); put(s, ".git/info/grafts", &format!("{head}\n")); }),
        ("shallow", Refused("shallow"), |s| { let head = "1".repeat(40); put(s, ".git/shallow", &format!("{head}\n")); }),
        ("replace refs", Refused("replacement"), |s| { let ids = repo::git(&s.tree(), &["rev-list", "-2", "HEAD"]); let (new, old) = ids.split_once('\n').unwrap_or((&ids, &ids)); put(s, &format!(".git/refs/replace/{new}"), &format!("{old}\n")); }),
        ("odd packed refs", Fine, |s| put(s, ".git/packed-refs", "# pack-refs with: x\nrubbish\n^\n \n../../x y\n\u{0}\n")),
        ("packed refs of ten megabytes", Fine, |s| put(s, ".git/packed-refs", &"x".repeat(10 << 20))),
        ("packed refs as a pipe", Fine, |s| pipe(s, ".git/packed-refs")),
        ("HEAD elsewhere", Fine, |s| put(s, ".git/HEAD", "ref: refs/../../../outside\n")),
        ("HEAD as a pipe", Fine, |s| pipe(s, ".git/HEAD")),
        ("a branch as a symbolic ref", Refused("another ref"), |s| tip(s, "ref: refs/heads/other\n")),
        ("a branch as a pipe", Refused("not a plain file"), |s| pipe(s, &format!(".git/refs/heads/{BRANCH}"))),
        ("a branch that is an option", Refused("no commit id"), |s| tip(s, "--upload-pack=x\n")),
        ("a branch that is huge", Refused("not a plain file"), |s| tip(s, &"a".repeat(10 << 20))),
        ("a branch to nowhere", Refused("take in"), |s| tip(s, &format!("{}\n", "1".repeat(40)))),
        ("refs with odd names", Refused("made a branch with the name"), |s| { for name in ["-x", "a..b", "a b", "x.lock", "\u{1b}[0m", "@{1}"] { put(s, &format!(".git/refs/heads/{name}"), "x\n"); } }),
        ("a crafted index", Fine, |s| { let _ = fs::write(s.tree().join(".git/index"), b"DIRC\0\0\0\x02\xff\xff\xff\xff"); }),
        ("an index as a pipe", Fine, |s| pipe(s, ".git/index")),
        ("locks everywhere", Fine, |s| { for name in ["index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"] { put(s, &format!(".git/{name}"), ""); } }),
        ("a protected branch", Refused("protected"), |s| put(s, ".git/refs/heads/main", &format!("{}\n", "1".repeat(40)))),
        ("a protected branch by pattern", Refused("protected"), |s| put(s, ".git/refs/heads/release/1", "x\n")),
        ("a protected branch, packed", Refused("protected"), |s| put(s, ".git/packed-refs", &format!("{} refs/heads/main\n", "1".repeat(40)))),
        ("HEAD on a protected branch", Refused("protected"), |s| put(s, ".git/HEAD", "ref: refs/heads/main\n")),
    ]);
}
