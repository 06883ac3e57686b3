//! A user's repository with a workspace on it, tripwires, and every operation of acquit that runs git, in one go.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acquit_core::ids::{StoreId, TaskId};
use acquit_run::git::{Access, CommitId, Direction, Form, Git, Identity, PushWay, Source, Uncommitted, User};
use acquit_run::process::Spawner;
use acquit_run::secrets::{Known, Redactor, Secret};
use acquit_run::workspace::{
    Around, Become, Error, Leftovers, LockedWorkspace, Move, Rebased, Rules, Sent, Work, Workspace,
};
use acquit_testkit::repo::{self, Repo};

pub(crate) const BRANCH: &str = "acquit/sample-T-1";
/// A call that takes longer has hung: each takes milliseconds.
const HUNG: Duration = Duration::from_secs(20);

/// The store that the task is of.
pub(crate) fn store() -> StoreId {
    "5f3a09c1".parse().expect("a store id")
}

pub(crate) struct Stage {
    pub(crate) repo: Repo,
    pub(crate) dir: PathBuf,
}

impl Stage {
    /// A repository with a submodule that nobody has filled, and files that filters could be for.
    pub(crate) fn new() -> Self {
        let repo = Repo::empty();
        repo.write(".gitignore", "cache/\n");
        repo.write("README.md", "sample\n");
        repo.write("src/main.txt", "one\ntwo\n");
        repo.write(".acquit/acquit.toml", "agent = \"bot\"\n");
        repo.write("outside/file", "not yours\n");
        let inner = repo.beside("inner");
        fs::create_dir(&inner).unwrap();
        repo::git(&inner, &["init", "--quiet", "-b", "main"]);
        repo::write(&inner.join("code.txt"), "inner\n");
        let commit = repo::commit_all(&inner, "inner");
        repo.git(&["add", "--all"]);
        repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
        repo.git(&["commit", "--quiet", "-m", "first"]);
        fs::create_dir(repo.path().join("sub")).unwrap();
        let program = repo.beside("tripwire");
        let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", repo.beside("TRIPPED").display());
        repo::write(&program, &text);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let dir = repo.beside("tasks/T-1");
        Self { repo, dir }
    }

    /// One whose git writes down what it is asked for, which costs a shell for each call.
    pub(crate) fn listening() -> Self {
        let stage = Self::new();
        let wrapper = stage.repo.beside("bin/git");
        let text = format!(
            "#!/bin/sh\necho \"$*\" >> '{}'\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
            stage.repo.beside("calls").display()
        );
        repo::write(&wrapper, &text);
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        stage
    }

    pub(crate) fn git(&self) -> Git {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.repo.beside("bin").display());
        Git::new(Spawner::new("/nonexistent/helper"), path).with_time_limit(HUNG)
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.dir.join("work")
    }

    /// The tripwire as a command of a configuration.
    pub(crate) fn program(&self) -> String {
        self.repo.beside("tripwire").to_str().unwrap().to_owned()
    }

    pub(crate) fn source(&self) -> Source {
        Source::discover(&self.git(), self.repo.path()).unwrap()
    }

    pub(crate) fn workspace(&self, source: &Source) -> Workspace {
        Workspace::open(&self.dir, source, self.git(), &store()).unwrap().with_rules(rules())
    }

    /// The calls that git got since the last time, of a stage that is listening.
    pub(crate) fn calls(&self) -> Vec<String> {
        let file = self.repo.beside("calls");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(&file);
        text.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    pub(crate) fn nothing_ran(&self, name: &str) {
        let trace = fs::read_to_string(self.repo.beside("TRIPPED")).unwrap_or_default();
        assert!(trace.is_empty(), "{name}: a planted program ran: {trace}");
    }

    /// All files of the user's repository and checkout.
    pub(crate) fn listing(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        list(self.repo.path(), self.repo.path(), &mut files);
        files
    }

    /// Asserts that the user's repository has what it had, and beyond that only objects and refs of acquit's own.
    #[track_caller]
    pub(crate) fn unchanged(&self, name: &str, before: &BTreeMap<PathBuf, Vec<u8>>) {
        let after = self.listing();
        for (path, content) in before {
            assert!(after.get(path) == Some(content), "{name}: {} changed or went", path.display());
        }
        let ours = [
            ".git/objects",
            ".git/refs/acquit",
            ".git/refs/heads/acquit",
            ".git/logs/refs/acquit",
            ".git/logs/refs/heads/acquit",
        ];
        for path in after.keys().filter(|path| !before.contains_key(*path)) {
            assert!(ours.iter().any(|our| path.starts_with(our)), "{name}: {} is new", path.display());
        }
    }
}

fn list(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = path.strip_prefix(root).unwrap().to_owned();
        if kind.is_dir() {
            list(root, &path, files);
        } else if kind.is_file() {
            files.insert(name, fs::read(&path).unwrap());
        } else if kind.is_symlink() {
            files.insert(name, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes());
        } else {
            files.insert(name, b"special".to_vec());
        }
    }
}

pub(crate) fn rules() -> Rules {
    Rules {
        task_id: "T-1".into(),
        base: Some("main".into()),
        base_commit: None,
        protected: vec!["release/*".into(), "it's".into()],
        loaded: Vec::new(),
        linked: Vec::new(),
    }
}

pub(crate) fn leftovers() -> Leftovers {
    Leftovers::Commit { message: "T-1: the rest\n".into(), identity: Identity::neutral() }
}

/// What an operation on hostile ground may come to: it works, or the agent is told what it did.
#[track_caller]
fn fine<T>(name: &str, doing: &str, result: Result<T, Error>) -> Option<String> {
    match result {
        Ok(_) => None,
        Err(Error::Guardrail { what }) if what.len() > 10 => Some(what),
        Err(other) => panic!("{name}: {doing}: {}", acquit_run::harness::chain(&other)),
    }
}

/// What `acquit prove` does: uncommitted work becomes a commit of a repository of ours. What a plant makes impossible may fail; what it
/// names must not run.
fn judged(stage: &Stage, source: &Source, base: &CommitId) {
    let (git, place, home) = (stage.git(), stage.repo.beside("judged"), stage.repo.beside("home"));
    let _ = fs::remove_dir_all(&place);
    let scratch = source.borrowed_at(&place.join("git")).unwrap();
    for which in [Uncommitted::Staged, Uncommitted::All] {
        let Ok(taken) = source.take_uncommitted(&git, &scratch, base, which, Some(&home)) else { continue };
        scratch.paths_between(&git, base, &taken.commit).unwrap();
        let files = place.join(format!("{which:?}"));
        fs::create_dir_all(&files).unwrap();
        scratch.check_out(&git, &taken.commit, &files).unwrap();
    }
}

/// A whole life of a workspace whose agent plants something in every leg. Every operation that runs git is in it. Gives what
/// the agent was told, if anything.
pub(crate) fn everything(stage: &Stage, name: &str, plant: &dyn Fn(&Stage)) -> Vec<String> {
    let git = stage.git();
    let source = stage.source();
    for base in [None, Some("main"), Some("HEAD~0"), Some("no such branch")] {
        let _ = source.base(&git, base);
    }
    let base = source.base(&git, None).unwrap().commit;
    source.identity(&git, Some(&stage.repo.beside("home")));
    source.is_dirty(&git).unwrap();
    judged(stage, &source, &base);
    let home = stage.repo.beside("home").into_os_string();
    let user = User::new(|name| (name == "HOME").then(|| home.clone()));
    source.signing(&git, &user).ok();
    source.subjects(&git, &base, 10).unwrap();
    source.dirty_checkout(&git, "main").unwrap();
    source.pin(&git, &store(), TaskId(1), &base).unwrap();
    let locked = || stage.workspace(&source).lock("a test").unwrap();
    let mut said = Vec::new();

    // A leg that writes: a commit, something left over, gates that leave something too.
    let (head, work) = leg(stage, &locked(), "L1", &base, leftovers(), plant);
    said.extend(fine(name, "collect", work));
    let workspace = locked();
    plant(stage);
    fine(name, "give", workspace.give_to("another stage"));
    workspace.changed_paths(&base, &base).unwrap();
    if let Some(head) = &head {
        workspace.change(&base, head, Around::Files).unwrap();
        workspace.changes(&base, head).unwrap();
        workspace.commits(&base, head).unwrap();
        workspace.touched_lately(head, 10).unwrap();
        assert_eq!(workspace.find_secret(&unknown(), &base, head).unwrap(), None, "{name}: no secret");
    }
    let at = head.as_ref().unwrap_or(&base);
    assert!(workspace.work_head().is_ok(), "{name}: the work stands somewhere");
    beside(stage, &workspace, &base, at);
    drop(workspace);

    // A leg that only looks, a harness that died, and an attempt that is hidden by ignore rules.
    let start = head.unwrap_or_else(|| base.clone());
    let (_, work) = leg(stage, &locked(), "L2", &start, Leftovers::SaveAndReset, plant);
    said.extend(fine(name, "save and reset", work));
    locked().prepare("L3", &start, BRANCH).unwrap();
    repo::write(&stage.tree().join(".gitignore"), "hidden/\n");
    repo::write(&stage.tree().join("hidden/work.txt"), "work\n");
    plant(stage);
    locked().prepare("L4", &start, BRANCH).unwrap();
    assert!(
        stage.tree().join("README.md").is_file() && !stage.tree().join("hidden").exists(),
        "{name}: a clean tree"
    );

    // Work that must not be kept is taken away.
    plant(stage);
    fine(name, "purge", locked().purge("L4"));
    locked().prepare("L4", &start, BRANCH).unwrap();

    // Delivery, and the end.
    let workspace = locked();
    if start != base {
        let squashed = workspace.squash(&base, &start, "T-1: squashed\n", &Identity::neutral()).unwrap();
        workspace.publish(&source, BRANCH, &squashed).unwrap();
        workspace.publish(&source, BRANCH, &squashed).unwrap();
        moved(stage, &workspace, &source, &base, &start);
        send(stage, &workspace, &source, &squashed);
    }
    plant(stage);
    workspace.keep_in_source(&source, "T-1").unwrap();
    drop(workspace);
    // Refused while something would be lost; then everything is taken in, and it goes.
    let _ = locked().remove(&source);
    if stage.dir.exists() {
        let workspace = locked();
        workspace.prepare("L5", &start, BRANCH).unwrap();
        workspace.keep_in_source(&source, "T-1").unwrap();
        workspace.discard_kept().unwrap();
        workspace.remove(&source).unwrap();
    }
    assert!(!stage.dir.exists(), "{name}: removed");
    source.unpin(&git, &store(), TaskId(1)).unwrap();
    said
}

/// A commit on top of another, with the same files, made where no setting of the repository has a say.
pub(crate) fn commit_on(stage: &Stage, source: &Source, base: &CommitId) -> CommitId {
    let neutral = Identity::neutral();
    let call = stage.git().call("commit-tree").git_dir(source.git_dir()).signed(&neutral, &neutral, 0);
    let tree = format!("{base}^{{tree}}");
    call.args([&tree, "-p", base.as_str(), "-m", "moved"]).run_for_id().unwrap()
}

/// The base branch moves, and the work follows it.
fn moved(stage: &Stage, workspace: &LockedWorkspace, source: &Source, base: &CommitId, tip: &CommitId) {
    let git = stage.git();
    let onto = commit_on(stage, source, base);
    let work = Move { from: base, onto: &onto, tip };
    let Rebased::Clean(rebased) = workspace.rebase(work, "T-1: moved\n", None).unwrap() else {
        panic!("nothing is in the way")
    };
    workspace.resolution(work, &rebased, &[]).unwrap();
    workspace.phases(&onto, &rebased, &[]).unwrap();
    workspace.below(&rebased, base.as_str(), tip.as_str()).unwrap();
    assert!(workspace.contains(&rebased, &onto).unwrap());
    workspace.keep_history("T-1", "leg-1", tip).unwrap();
    workspace.diff(&onto, &rebased, Form::Patch).unwrap();
    source.diff(&git, base, &onto, Form::Stat(100)).unwrap();
}

/// To a remote, with a login that nobody gives.
fn send(stage: &Stage, workspace: &LockedWorkspace, source: &Source, commit: &CommitId) {
    let git = stage.git();
    let home = stage.repo.beside("home");
    assert!(git.credential(&home, "https", "example.org", &[]).is_none());
    for direction in [Direction::Fetch, Direction::Push] {
        let _ = source.remote_url(&git, Some(&home), "origin", direction);
    }
    let remote = stage.repo.beside("remote.git");
    if !remote.exists() {
        fs::create_dir(&remote).unwrap();
        repo::git(&remote, &["init", "--quiet", "--bare"]);
    }
    let url = format!("file://{}", remote.display());
    let way = PushWay { url: &url, access: Access::Open, ca: None, proxy: None };
    for _ in 0..2 {
        assert_eq!(workspace.send(&way, BRANCH, commit, &[]).unwrap(), Sent::There);
    }
    for (branch, found) in [(BRANCH, Some(commit.clone())), ("nowhere", None)] {
        assert_eq!(workspace.fetch_base(source, &way, branch, commit).unwrap(), found);
        assert_eq!(source.tracking_ref(&git, branch).unwrap(), found);
    }
    assert!(source.contains(&git, commit, commit).unwrap());
}

/// A mirror of the user's repository, and where a branch of it stands. No agent has a say in either.
pub(crate) fn mirrored(stage: &Stage) {
    let (git, source) = (stage.git(), stage.source());
    let address = format!("file://{}", stage.repo.path().display());
    let way = PushWay { url: &address, access: Access::Open, ca: None, proxy: None };
    git.mirror(&stage.repo.beside("mirrors"), &way).unwrap();
    let base = source.base(&git, None).unwrap().commit;
    source.stands(&git, "main", &base, None).unwrap();
}

/// Other states of the work, beside it. What programs of the change left in that tree is as hostile as what an agent left.
fn beside(stage: &Stage, workspace: &LockedWorkspace, base: &CommitId, head: &CommitId) {
    let scratch = workspace.scratch().unwrap();
    let tree = scratch.tree();
    let changed = workspace.changed(base, head).unwrap();
    let mut files = vec![("gone.txt".to_owned(), Become::Gone)];
    // One of them is enough: each costs several starts of git, for each of the many plants.
    for file in changed.into_iter().take(1) {
        if let Some(new) = file.new {
            let text = workspace.text(&new).unwrap();
            let to = text.map_or(Become::Stored(new.clone()), |text| Become::Text(new, text + "more\n"));
            files.push((file.path, to));
        }
    }
    scratch.show(base.as_str(), base).unwrap();
    repo::write(&tree.join("left.txt"), "x");
    repo::write(&tree.join(".gitattributes"), "* filter=x diff=x\n");
    let _ = fs::remove_dir_all(tree.join(".git"));
    // As a program of the change could leave it: the repository that an agent has prepared, in place of the one beside.
    // Not through a link in place of the tree: that would be the user's.
    if fs::symlink_metadata(stage.tree()).is_ok_and(|meta| meta.is_dir()) {
        let _ = fs::rename(stage.tree().join(".git"), tree.join(".git"));
    }
    let composed = scratch.compose(base, &files).unwrap();
    scratch.show(&composed, base).unwrap();
    assert!(!tree.join("left.txt").exists(), "a clean tree");
}

/// Knows a secret that is nowhere.
pub(crate) fn unknown() -> Redactor {
    Redactor::new(&[(Secret::new("NOWHERE", b"nobody has written this".to_vec()), Known::Declared)])
}

/// One leg of an agent that commits honestly, plants, and leaves something. The commit that the work came to, if it is taken.
fn leg(
    stage: &Stage,
    locked: &LockedWorkspace,
    name: &str,
    start: &CommitId,
    keep: Leftovers,
    plant: &dyn Fn(&Stage),
) -> (Option<CommitId>, Result<Work, Error>) {
    locked.prepare(name, start, BRANCH).unwrap();
    let tree = stage.tree();
    repo::write(&tree.join("README.md"), &format!("by the agent in {name}\n"));
    stage.nothing_ran(name);
    // It may have made its own commits impossible; then everything is left over.
    repo::git_succeeds(&tree, &["commit", "--quiet", "--all", "-m", "work"]);
    // What the agent's own git runs of its own plants, it runs in the sandbox.
    let _ = fs::remove_file(stage.repo.beside("TRIPPED"));
    repo::write(&tree.join("new file.txt"), name);
    plant(stage);
    let work = locked.collect(name, keep);
    (work.as_ref().ok().map(|work| work.head.clone()), work)
}
