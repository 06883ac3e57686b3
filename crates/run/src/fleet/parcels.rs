//! Sends and receives parcels.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use acquit_core::artifact::Artifact;
use acquit_core::config::Config;
use acquit_core::definition::{Definition, Remote, Travel};
use acquit_core::event::Level;
use acquit_core::fleet::{Content, Parcel, Parcels, StoredParcel, Under};
use acquit_core::ids::TaskId;
use acquit_core::leg::{Ending, Report};
use acquit_core::store::Store;
use acquit_core::task::Task;
use rustix::fs::Mode;
use rustix::io::Errno;

use super::Error;
use crate::forge::Address;
use crate::git::{self, CommitId, Git, ObjectFormat, Source};
use crate::leg::LegContext;
use crate::process::CAPTURE_OUTPUT;
use crate::runtime::{Runtime, make_private};
use crate::trusted_definitions;
use crate::untrusted;
use crate::workspace::Workspace;

/// Maximum size of a leg's file to send. Transcripts are in the store in any case.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;
/// Maximum number of a leg's files to send.
const FILES: usize = 100;
/// Maximum total size of a leg's files to send.
const ALL_FILES: u64 = 32 * 1024 * 1024;
/// Remote whose address identifies a repository.
const ORIGIN: &str = "origin";

/// Sends the start of a new task, as far as the store does not have it. Returns the key with which others find it, or
/// why it is not sent.
pub fn send_base(
    runtime: &Runtime,
    store: &mut dyn Store,
    source: &Source,
    config: &Config,
    task: TaskId,
    commits: &[&CommitId],
) -> Result<Travel, Error> {
    if !runtime.shared {
        return Ok(Travel::default());
    }
    let stays = |why: &str| Ok(Travel { stays: Some(why.to_owned()), ..Travel::default() });
    if !source.shallow().is_empty() {
        return stays("its repository is a shallow clone");
    }
    if git::is_partial(source) {
        return stays("its repository is a partial clone");
    }
    if source.of_clone("lfs/objects").iter().any(|folder| folder.is_dir()) {
        return stays("its repository has files of Git LFS");
    }
    if config.setup.as_ref().is_some_and(|setup| !setup.copy.is_empty()) {
        return stays("setup copies files from the checkout");
    }
    for commit in commits {
        let modules = source
            .call(&runtime.git, "ls-tree")
            .args([commit.as_str(), ".gitmodules"])
            .run()
            .map_err(Error::git("look for submodules"))?;
        if !modules.stdout.is_empty() {
            return stays("its repository has submodules");
        }
    }
    let key = key(runtime, source)?;
    let remote = remote(runtime, source, commits)?;
    match (send_commits(runtime, store, source, (&key, task), commits, None), &remote) {
        (Ok(parcel), _) => Ok(Travel { repository: Some(key), parcel, remote, stays: None }),
        (Err(Error::TooLarge { .. }), None) => {
            stays("its repository is larger than 64 MiB, and no remote is known to have it")
        }
        (Err(Error::TooLarge { .. }), Some(there)) => {
            match send_commits(runtime, store, source, (&key, task), commits, there.commit.parse().ok()) {
                Ok(parcel) => Ok(Travel { repository: Some(key), parcel, remote, stays: None }),
                Err(Error::TooLarge { .. }) => stays("what its remote does not have is larger than 64 MiB"),
                Err(error) => Err(error),
            }
        }
        (Err(error), _) => Err(error),
    }
}

/// Returns the remote of a repository, if it has an address that others can use and is known to have a part of the
/// commits. Makes no network call: the user's last fetch or push shows it.
fn remote(runtime: &Runtime, source: &Source, commits: &[&CommitId]) -> Result<Option<Remote>, Error> {
    let looking = Error::git("look for the remote of the repository");
    let url = source.remote_url(&runtime.git, None, ORIGIN, git::Direction::Fetch).map_err(&looking)?;
    let Some(address) = url.as_deref().and_then(Address::of_server) else { return Ok(None) };
    let Some(base) = commits.first() else { return Ok(None) };
    let found = source.newest_at(&runtime.git, ORIGIN, base).map_err(&looking)?;
    Ok(found.map(|commit| Remote { url: address.url, commit: commit.to_string() }))
}

/// Sends again the data that a retried task needs after its parcels were removed, as far as the store does not have it.
pub fn send_again(
    runtime: &Runtime,
    store: &mut dyn Store,
    task: &Task,
    definition: &Definition,
) -> Result<(), Error> {
    let Some(key) = &definition.travel.repository else { return Ok(()) };
    let Ok(source) = Source::of(definition) else { return Ok(()) };
    if trusted_definitions::check(runtime, task.id(), definition).is_err() {
        return Ok(());
    }
    let commits = [&task.seed.base.commit, task.base(), &task.tip].map(|text| text.parse().ok());
    let commits: BTreeSet<CommitId> = commits.into_iter().flatten().collect();
    let commits: Vec<&CommitId> = commits.iter().collect();
    let there = definition.travel.remote.as_ref().and_then(|remote| remote.commit.parse().ok());
    let sent = send_commits(runtime, store, &source, (key, task.id()), &commits, None);
    match (sent, there) {
        (Err(Error::TooLarge { .. }), Some(there)) => {
            send_commits(runtime, store, &source, (key, task.id()), &commits, Some(there)).map(drop)
        }
        (sent, _) => sent.map(drop),
    }
}

/// Sends commits with everything that they need, as far as neither the store nor a remote has it: `elsewhere` is the
/// newest commit that workers get from there. Returns a parcel of the repository.
fn send_commits(
    runtime: &Runtime,
    store: &mut dyn Store,
    source: &Source,
    (key, task): (&str, TaskId),
    commits: &[&CommitId],
    elsewhere: Option<CommitId>,
) -> Result<Option<i64>, Error> {
    let which = Parcels::Objects(key.to_owned(), task);
    let base = |found: &[StoredParcel]| found.iter().find(|one| one.parcel.leg.is_none()).map(|one| one.id);
    let found = store.parcels(&which)?;
    let mut known = tips(&found);
    known.extend(elsewhere);
    let fresh: Vec<&CommitId> = commits.iter().filter(|commit| !known.contains(**commit)).copied().collect();
    if fresh.is_empty() {
        return Ok(base(&found));
    }
    let known = present(&runtime.git, source, known)?;
    let pack = match pack(source.call(&runtime.git, "pack-objects"), &fresh, &known) {
        Ok(pack) => pack,
        Err(git::Error::TooMuchOutput { .. }) => {
            return Err(Error::TooLarge { limit: CAPTURE_OUTPUT as u64 });
        }
        Err(source) => return Err(Error::Git { doing: "pack the repository", source }),
    };
    let parcel = Parcel { repository: key.to_owned(), leg: None, content: objects(&fresh, source.format()) };
    store.send(&parcel, Under::Base(base(&found)), &pack)?;
    Ok(base(&store.parcels(&which)?))
}

/// Returns the key of a repository: the address of its origin, or its path.
fn key(runtime: &Runtime, source: &Source) -> Result<String, Error> {
    let url = source
        .remote_url(&runtime.git, None, ORIGIN, git::Direction::Fetch)
        .map_err(Error::git("look for the address of the repository"))?
        .filter(|url| git::is_address(url) && !url.starts_with("file:"));
    let plain = |url: String| match url.split_once("://") {
        Some((scheme, rest)) => {
            let place = rest.split('/').next().unwrap_or_default();
            let login = place.rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[login..])
        }
        None => url,
    };
    Ok(url.map_or_else(|| format!("{}:{}", runtime.host, source.owner().git_dir().display()), plain))
}

/// Sends the results of a leg: the commits of its report that the store does not have, and its files. Call it before
/// the handoff.
pub(crate) fn send_leg(
    ctx: &mut LegContext<'_>,
    task: &Task,
    definition: &Definition,
    report: &Report,
) -> Result<(), Error> {
    let Some(key) = &definition.travel.repository else { return Ok(()) };
    send_work(ctx, task, definition, report, key)?;
    let folder = ctx.runtime.leg_folder(ctx.hold.leg);
    let mut left = ALL_FILES;
    for path in leg_files(folder.path(), &report.artifacts) {
        let size = folder.path().join(&path).symlink_metadata().map_or(0, |meta| meta.len());
        if size > FILE_LIMIT.min(left) {
            let words = format!("{} has {size} bytes and stays on {}", path.display(), ctx.runtime.host);
            ctx.notice(Level::Info, words);
            continue;
        }
        let below = path.to_string_lossy().into_owned();
        let Some(content) = untrusted::plain(folder.path(), &below, FILE_LIMIT) else { continue };
        left = left.saturating_sub(size);
        let content = ctx.redactor.bytes(&content).into_owned();
        let file = Content::File { path: below };
        let parcel = Parcel { repository: key.clone(), leg: Some(ctx.hold.leg), content: file };
        ctx.store.send(&parcel, Under::Leg(ctx.hold), &content)?;
    }
    Ok(())
}

fn send_work(
    ctx: &mut LegContext<'_>,
    task: &Task,
    definition: &Definition,
    report: &Report,
    key: &str,
) -> Result<(), Error> {
    let onto = match &report.ending {
        Ending::Conflict { onto, .. } => Some(onto),
        _ => None,
    };
    let named: Vec<CommitId> = [report.tip.as_ref(), report.base.as_ref(), onto]
        .into_iter()
        .flatten()
        .filter_map(|commit| commit.parse().ok())
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    let mut known = tips(&ctx.store.parcels(&Parcels::Objects(key.to_owned(), task.id()))?);
    // Every machine that runs a leg has this, from the store or from the remote.
    known.extend(task.seed.base.commit.parse().ok());
    let fresh: Vec<&CommitId> = named.iter().filter(|commit| !known.contains(*commit)).collect();
    let Ok(source) = Source::of(definition) else { return Ok(()) };
    if fresh.is_empty() {
        return Ok(());
    }
    let runtime = ctx.runtime;
    let folder = runtime.workspace_folder(task.id());
    let workspace = Workspace::open(&folder, &source, runtime.git.clone(), runtime.store())?;
    let known = present(&runtime.git, &source, known)?;
    let pack = match pack(workspace.call("pack-objects"), &fresh, &known) {
        Ok(pack) => pack,
        Err(git::Error::TooMuchOutput { .. }) => {
            return Err(Error::TooLarge { limit: CAPTURE_OUTPUT as u64 });
        }
        Err(source) => return Err(Error::Git { doing: "pack the work", source }),
    };
    let content = objects(&fresh, source.format());
    let parcel = Parcel { repository: key.to_owned(), leg: Some(ctx.hold.leg), content };
    Ok(ctx.store.send(&parcel, Under::Leg(ctx.hold), &pack)?)
}

/// Fetches a task's work from the store into a repository, unless the commits are already there.
pub fn receive(
    runtime: &Runtime,
    store: &mut dyn Store,
    source: &Source,
    key: &str,
    task: TaskId,
    commits: &[&CommitId],
) -> Result<(), Error> {
    let wanted: BTreeSet<CommitId> = commits.iter().map(|commit| (*commit).clone()).collect();
    let there = present(&runtime.git, source, wanted.clone())?;
    if there.len() == wanted.len() {
        return Ok(());
    }
    let parcels = store.parcels(&Parcels::Objects(key.to_owned(), task))?;
    let received = receive_all(runtime, store, source, &parcels);
    if let Err(error @ Error::Store(_)) = received {
        return Err(error);
    }
    let there = present(&runtime.git, source, wanted.clone())?;
    let missing = wanted.into_iter().find(|commit| !there.contains(commit));
    missing.map_or(Ok(()), |commit| {
        received?;
        Err(Error::Missing { commit: commit.to_string(), repository: key.to_owned() })
    })
}

/// Adds the objects of parcels to a repository, oldest first, unless they are already there. A parcel may build on
/// commits that only a remote has and belong to another task, so the others are still added; the first error is
/// returned at the end.
pub(super) fn receive_all(
    runtime: &Runtime,
    store: &mut dyn Store,
    source: &Source,
    parcels: &[StoredParcel],
) -> Result<(), Error> {
    let there = present(&runtime.git, source, tips(parcels))?;
    let mut received = Ok(());
    for stored in parcels {
        let all = tips(std::slice::from_ref(stored));
        if all.iter().all(|tip| there.contains(tip)) {
            continue;
        }
        let data = whole(store, stored)?;
        let take = source.call(&runtime.git, "index-pack").args(["--strict", "--stdin"]).input(data);
        let taken = take.run().map(drop).map_err(Error::git("take objects from the store"));
        received = received.and(taken);
    }
    received
}

/// Fetches the files of a task's legs from other machines, unless they are already here. Only a shared store is asked.
pub fn fetch_files(runtime: &Runtime, store: &mut dyn Store, task: TaskId) -> Result<(), Error> {
    if runtime.shared { take_files(runtime, store, task) } else { Ok(()) }
}

/// Fetches the files of a task's legs, also from a store that was shared before it was moved to this machine.
pub(super) fn take_files(runtime: &Runtime, store: &mut dyn Store, task: TaskId) -> Result<(), Error> {
    for stored in store.parcels(&Parcels::Files(task))? {
        let (Some(leg), Content::File { path }) = (stored.parcel.leg, &stored.parcel.content) else {
            continue;
        };
        // The store's writers choose leg and path.
        if leg.task != task || !is_leg_file(path) {
            continue;
        }
        let folder = runtime.leg_folder(leg);
        let place = folder.path().join(path);
        if stored.bytes > FILE_LIMIT * 2 || place.symlink_metadata().is_ok() {
            continue;
        }
        let data = whole(store, &stored)?;
        for folder in [
            &runtime.home,
            &runtime.home.join("tasks"),
            &runtime.tasks(),
            &runtime.task_folder(task),
            folder.path(),
        ] {
            make_private(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
        }
        write(folder.path(), path, &data).map_err(|source| Error::File { path: place, source })?;
    }
    Ok(())
}

/// Writes a file of a leg, unless a link or file of an earlier agent is in the way.
fn write(folder: &Path, path: &str, data: &[u8]) -> std::io::Result<()> {
    untrusted::put_below(folder, path, data, Mode::RUSR | Mode::WUSR).or_else(|error| {
        let errno = Errno::from_io_error(&error);
        let in_the_way = matches!(errno, Some(Errno::LOOP | Errno::NOTDIR | Errno::ISDIR));
        if in_the_way { Ok(()) } else { Err(error) }
    })
}

/// Returns the task with the paths of its files on this machine.
pub fn local_task(runtime: &Runtime, task: &Task) -> Task {
    let mut task = task.clone();
    for artifact in &mut task.artifacts {
        if let Artifact::File { path, .. } | Artifact::Report { path, .. } = artifact
            && let Some(local) = local_path(runtime, path)
        {
            *path = local.to_string_lossy().into_owned();
        }
    }
    task
}

/// Returns the path of a leg's file on this machine, regardless of the home of the machine that wrote it.
fn local_path(runtime: &Runtime, path: &str) -> Option<PathBuf> {
    let front = format!("/tasks/{}/", runtime.store());
    let (_, rest) = path.rsplit_once(&front)?;
    Some(runtime.tasks().join(plain_path(rest)?))
}

/// Returns a relative path, if no component of it leads elsewhere.
fn plain_path(text: &str) -> Option<&Path> {
    let path = Path::new(text);
    let down = path.components().all(|part| matches!(part, Component::Normal(_)));
    (down && path.components().next().is_some()).then_some(path)
}

/// Returns whether a path is one that [`leg_files`] sends: an output at the top, or a file of the agent.
fn is_leg_file(text: &str) -> bool {
    plain_path(text).is_some_and(|path| match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => path.extension().is_some_and(|end| end == "log"),
        Some(folder) => folder.starts_with("out"),
        None => false,
    })
}

/// Returns the files of a leg that others may want to see, relative to its directory: outputs and artifacts.
fn leg_files(folder: &Path, artifacts: &[Artifact]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if Path::new(&name).extension().is_some_and(|end| end == "log") {
            found.push(PathBuf::from(name));
        }
    }
    for artifact in artifacts {
        if let Artifact::File { path, .. } | Artifact::Report { path, .. } = artifact
            && let Ok(below) = Path::new(path).strip_prefix(folder)
        {
            found.push(below.to_owned());
        }
    }
    found.sort();
    found.dedup();
    found.truncate(FILES);
    found
}

fn whole(store: &mut dyn Store, stored: &StoredParcel) -> Result<Vec<u8>, Error> {
    let mut data = Vec::new();
    for part in 0.. {
        let Some(bytes) = store.receive(stored.id, part)? else { break };
        data.extend(bytes);
        if data.len() as u64 > stored.bytes {
            break;
        }
    }
    Ok(data)
}

fn objects(tips: &[&CommitId], format: ObjectFormat) -> Content {
    let format = match format {
        ObjectFormat::Sha1 => "sha1",
        ObjectFormat::Sha256 => "sha256",
    };
    Content::Objects { tips: tips.iter().map(ToString::to_string).collect(), format: format.to_owned() }
}

/// Returns the commits up to which parcels are complete.
pub(super) fn tips(parcels: &[StoredParcel]) -> BTreeSet<CommitId> {
    let of = |stored: &StoredParcel| match &stored.parcel.content {
        Content::Objects { tips, .. } => tips.iter().filter_map(|tip| tip.parse().ok()).collect(),
        Content::File { .. } => Vec::new(),
    };
    parcels.iter().flat_map(of).collect()
}

/// Returns which of these commits a repository has.
pub(super) fn present(
    git: &Git,
    source: &Source,
    commits: BTreeSet<CommitId>,
) -> Result<BTreeSet<CommitId>, Error> {
    if commits.is_empty() {
        return Ok(commits);
    }
    let lines: Vec<&str> = commits.iter().map(CommitId::as_str).collect();
    let output = source
        .call(git, "cat-file")
        .arg("--batch-check=%(objectname) %(objecttype)")
        .input(lines.join("\n") + "\n")
        .run()
        .map_err(Error::git("look for commits"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let there = text.lines().filter_map(|line| line.strip_suffix(" commit")?.parse().ok());
    let there: BTreeSet<CommitId> = there.collect();
    Ok(commits.into_iter().filter(|commit| there.contains(commit)).collect())
}

/// Creates a pack of everything that `tips` have and `known` do not.
fn pack(call: git::Call, tips: &[&CommitId], known: &BTreeSet<CommitId>) -> Result<Vec<u8>, git::Error> {
    let mut revisions = String::new();
    for tip in tips {
        revisions.push_str(&format!("{tip}\n"));
    }
    for known in known {
        revisions.push_str(&format!("^{known}\n"));
    }
    let call = call.args(["--quiet", "--revs", "--stdout", "--delta-base-offset"]).input(revisions);
    call.run().map(|output| output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_from_the_store_leads_nowhere_but_down() {
        assert_eq!(plain_path("out/plan.md"), Some(Path::new("out/plan.md")));
        for bad in ["", "/etc/passwd", "../x", "a/../../b", "."] {
            assert_eq!(plain_path(bad), None, "{bad}");
        }
    }

    #[test]
    fn no_file_of_the_store_is_written_through_a_link() {
        let world = tempfile::tempdir().unwrap();
        let (leg, outside) = (world.path().join("1"), world.path().join("outside"));
        fs::create_dir_all(leg.join("out")).unwrap();
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, leg.join("out/folder")).unwrap();
        std::os::unix::fs::symlink(outside.join("file"), leg.join("output.log")).unwrap();
        fs::write(leg.join("out/file"), "a file").unwrap();
        for path in ["out/folder/new", "out/folder/a/b", "output.log", "out/file/new", "out/a/b.md"] {
            write(&leg, path, b"new").unwrap();
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        assert_eq!(fs::read(leg.join("out/a/b.md")).unwrap(), b"new");
        assert!(!leg.join("output.log").is_symlink(), "the link itself is replaced");
    }

    #[test]
    fn only_outputs_and_the_agents_files_are_taken_from_the_store() {
        for good in ["output.log", "check-test.log", "out/plan.md", "out/a/b.txt"] {
            assert!(is_leg_file(good), "{good}");
        }
        for bad in [
            "prompt.md",
            "policy-agent.json",
            "tools.json",
            "log",
            "a/output.log",
            "out",
            "../out/x",
            "/out/x",
            "outer/x",
        ] {
            assert!(!is_leg_file(bad), "{bad}");
        }
    }
}
