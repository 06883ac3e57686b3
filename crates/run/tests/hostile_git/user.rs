//! Planted in the user's own repository, by whoever it was cloned from or whatever ran in it. A line is a plant.

use std::fs;
use std::panic::catch_unwind;

use acquit_testkit::repo;

use crate::agent::HOOKS;
use crate::stage::{BRANCH, Stage, everything, leftovers, mirrored};

type Plant = (&'static str, fn(&Stage));

/// Adds to the repository's configuration; `@` is the tripwire.
fn config(s: &Stage, text: &str) {
    let path = s.repo.path().join(".git/config");
    let old = fs::read_to_string(&path).unwrap();
    repo::write(&path, &(old + &text.replace('@', &s.program()) + "\n"));
}

fn attributes(s: &Stage, text: &str) {
    s.repo.write(".git/info/attributes", text);
    s.repo.write(".gitattributes", text);
}

fn hooks(s: &Stage, folder: &str) {
    for hook in HOOKS {
        let at = s.repo.path().join(folder).join(hook);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::copy(s.program(), at).unwrap();
    }
}

/// Programs that a merge into a checkout would run.
pub(crate) fn hooks_and_programs(s: &Stage) {
    hooks(s, ".git/hooks");
    s.repo.write(".git/info/attributes", "* diff=x merge=x\n");
    config(
        s,
        "[core]\n\tfsmonitor = @\n[diff]\n\texternal = @\n[diff \"x\"]\n\tcommand = @\n\ttextconv = @\n[merge \"x\"]\n\tdriver = @\n\
         [filter \"x\"]\n\tclean = @\n\tsmudge = @\n[gpg]\n\tprogram = @\n[commit]\n\tgpgSign = true",
    );
}

/// Each only adds settings that name a program, so none hides another.
#[rustfmt::skip] // A plant is a line.
static PROGRAMS: &[Plant] = &[
    ("all hooks", |s| hooks(s, ".git/hooks")),
    ("core.hooksPath", |s| { hooks(s, "hooks"); config(s, &format!("[core]\n\thooksPath = {}/hooks", s.repo.path().display())); }),
    ("hooks by configuration", |s| config(s, "[hook \"x\"]\n\tcommand = @\n\tevent = reference-transaction\n\tevent = post-index-change")),
    ("core.fsmonitor", |s| config(s, "[core]\n\tfsmonitor = @\n\tuntrackedCache = true")),
    ("programs of core", |s| config(s, "[core]\n\tsshCommand = @\n\teditor = @\n\tpager = @\n\taskPass = @\n\tgitProxy = @\n\talternateRefsCommand = @")),
    ("pagers", |s| config(s, "[pager]\n\tlog = @\n\tstatus = @\n\tconfig = @\n\tworktree = @\n\tfor-each-ref = @")),
    ("signing", |s| config(s, "[gpg]\n\tprogram = @\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true")),
    ("aliases", |s| config(s, "[alias]\n\tstatus = !@\n\tfetch = !@\n\trev-parse = !@\n\tupdate-ref = !@")),
    ("credentials", |s| config(s, "[credential]\n\thelper = !@")),
    ("a remote by the name of the workspace", |s| { let at = s.dir.join("git"); config(s, &format!("[protocol \"ext\"]\n\tallow = always\n[remote \"{}\"]\n\tuploadpack = @\n\treceivepack = @", at.display())); }),
    ("a promised remote", |s| config(s, "[remote \"origin\"]\n\turl = ext::@\n\tpromisor = true\n\tuploadpack = @\n[protocol \"ext\"]\n\tallow = always")),
    ("uploadpack.packObjectsHook", |s| config(s, "[uploadpack]\n\tpackObjectsHook = @")),
    ("maintenance", |s| config(s, "[gc]\n\tauto = 1\n\tautoDetach = false\n[maintenance]\n\tauto = true\n\tstrategy = incremental\n[maintenance \"x\"]\n\tcommand = @")),
    ("submodules", |s| { config(s, "[submodule \"sub\"]\n\tupdate = !@\n\tactive = true\n\turl = ext::@\n[submodule]\n\trecurse = true"); s.repo.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ./x\n"); }),
    ("settings of the user's home", |s| repo::write(&s.repo.beside("home/.gitconfig"), &format!("[core]\n\tpager = {0}\n\tfsmonitor = {0}\n[pager]\n\tconfig = {0}\n", s.program()))),
];

/// Those that change how files or the repository are read.
#[rustfmt::skip] // A plant is a line.
static OTHERS: &[Plant] = &[
    ("filters", |s| { attributes(s, "* filter=x.y=z\n"); config(s, "[filter \"x.y=z\"]\n\tclean = @\n\tsmudge = @\n\trequired = true"); }),
    ("filter.process", |s| { attributes(s, "* filter=x\n"); config(s, "[filter \"x\"]\n\tprocess = @\n\trequired = true"); }),
    ("filters by include", |s| { attributes(s, "* filter=x\n"); s.repo.write(".git/more", &format!("[filter \"x\"]\n\tclean = {}\n", s.program())); config(s, "[includeIf \"gitdir:/\"]\n\tpath = more\n[includeIf \"onbranch:main\"]\n\tpath = more"); }),
    ("config.worktree", |s| { attributes(s, "* filter=x\n"); config(s, "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true"); s.repo.write(".git/config.worktree", &format!("[core]\n\tfsmonitor = {0}\n[filter \"x\"]\n\tclean = {0}\n", s.program())); }),
    ("differences and merges", |s| { attributes(s, "* diff=x merge=x\n"); config(s, "[diff]\n\texternal = @\n[diff \"x\"]\n\tcommand = @\n\ttextconv = @\n[merge \"x\"]\n\tdriver = @"); }),
    ("a bundle before every fetch", |s| config(s, "[fetch]\n\tbundleURI = http://127.0.0.1:1/x\n\tprune = true\n\tpruneTags = true\n\twriteCommitGraph = true\n\trecurseSubmodules = true")),
    ("a submodule that is hostile", |s| { let sub = s.repo.path().join("sub"); repo::git(&sub, &["init", "--quiet"]); repo::write(&sub.join(".git/info/attributes"), "* filter=x\n"); repo::write(&sub.join(".git/config"), &format!("[core]\n\tbare = false\n\tfsmonitor = {0}\n[filter \"x\"]\n\tclean = {0}\n", s.program())); }),
    ("grafts and replacements", |s| { let head = s.repo.git(&["rev-parse", "HEAD"]); let other = s.repo.git(&["commit-tree", "-m", "x", "HEAD^{tree}"]); s.repo.write(".git/info/grafts", &format!("{head} {other}\n")); s.repo.write(&format!(".git/refs/replace/{head}"), &format!("{other}\n")); }),
];

#[test]
fn plants_in_the_users_repository_never_run() {
    // All programs in one life of a workspace; soak has a life for each.
    play("programs", &|stage| PROGRAMS.iter().for_each(|(_, plant)| plant(stage)));
    each_alone(OTHERS);
}

#[test]
fn soak_each_program_planted_in_the_users_repository_alone_never_runs() {
    each_alone(PROGRAMS);
}

fn each_alone(table: &[Plant]) {
    let fails = |(name, plant): &&Plant| catch_unwind(|| play(name, plant)).is_err();
    let failed: Vec<&str> = table.iter().filter(fails).map(|plant| plant.0).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

fn play(name: &str, plant: &dyn Fn(&Stage)) {
    let stage = Stage::new();
    plant(&stage);
    // Looks changed to git, so that it has to read the content: that is when filters run.
    stage.repo.write("README.md", "sample\n");
    let before = stage.listing();
    everything(&stage, name, &|_| {});
    mirrored(&stage);
    stage.nothing_ran(name);
    stage.unchanged(name, &before);
    let branches = stage.repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads/acquit"]);
    assert_eq!(branches, "refs/heads/acquit/sample-T-1", "{name}");
}

#[test]
fn a_path_that_the_configuration_turns_into_a_program_has_no_say() {
    let stage = Stage::new();
    let program = format!("[url \"ext::@ \"]\n\tinsteadOf = {}", stage.dir.display());
    config(&stage, &format!("[protocol \"ext\"]\n\tallow = always\n{program}"));
    let before = stage.listing();
    let source = stage.source();
    let base = source.base(&stage.git(), None).unwrap().commit;
    let locked = stage.workspace(&source).lock("t").unwrap();
    locked.prepare("L1", &base, BRANCH).unwrap();
    repo::write(&stage.tree().join("README.md"), "work\n");
    let work = locked.collect("L1", leftovers()).unwrap();
    // Commits are copied without a transport, so there is nothing to turn into a program.
    locked.publish(&source, BRANCH, &work.head).unwrap();
    stage.nothing_ran("insteadOf");
    stage.unchanged("insteadOf", &before);
}
