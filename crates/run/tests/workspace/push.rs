//! Pushing with a lease: what we pushed may be replaced, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use acquit_run::git::{Access, CommitId, Git, Identity, PushWay};
use acquit_run::process::Spawner;
use acquit_run::workspace::{Sent, Workspace};
use acquit_testkit::repo;

use crate::kit::{BRANCH, Bench, id, store};

/// A bench with two states of work, and a remote.
fn stage() -> (Bench, [CommitId; 2], PathBuf) {
    let bench = Bench::new();
    let author = Identity::new("Ada", "ada@example.org");
    let commits = ["L1", "L2"].map(|leg| {
        bench.prepare(leg);
        bench.write("README.md", leg);
        let head = bench.collect(leg).unwrap().head;
        bench.lock().squash(&bench.base, &head, "Add it\n", &author).unwrap()
    });
    let remote = bench.repo.beside("remote.git");
    fs::create_dir(&remote).unwrap();
    repo::git(&remote, &["init", "--quiet", "--bare"]);
    (bench, commits, remote)
}

fn at(remote: &std::path::Path) -> CommitId {
    id(&repo::git(remote, &["rev-parse", &format!("refs/heads/{BRANCH}")]))
}

#[test]
fn what_we_pushed_is_replaced_and_what_others_pushed_is_not() {
    let (bench, [first, second], remote) = stage();
    let url = format!("file://{}", remote.display());
    let way = PushWay { url: &url, access: Access::Open, ca: None, proxy: None };
    let send =
        |commit: &CommitId, known: &[CommitId]| bench.lock().send(&way, BRANCH, commit, known).unwrap();
    assert_eq!(send(&first, &[]), Sent::There);
    assert_eq!(send(&first, &[]), Sent::There, "again changes nothing");
    assert_eq!(send(&second, &[]), Sent::There, "over what this workspace pushed");
    assert_eq!(at(&remote), second);

    let theirs = bench.repo.git(&["commit-tree", "HEAD^{tree}", "-m", "theirs"]);
    bench.repo.git(&["push", "--quiet", "--force", &url, &format!("{theirs}:refs/heads/{BRANCH}")]);
    assert_eq!(send(&first, &[]), Sent::Foreign { found: Some(id(&theirs)) });
    assert_eq!(at(&remote), id(&theirs), "it is still there");
    assert_eq!(send(&first, &[id(&theirs)]), Sent::There, "known from elsewhere, it is ours");

    repo::write(&remote.join("hooks/update"), "#!/bin/sh\necho no, never >&2\nexit 1\n");
    fs::set_permissions(remote.join("hooks/update"), fs::Permissions::from_mode(0o755)).unwrap();
    match send(&second, &[]) {
        Sent::Refused(words) => assert!(words.contains("no, never"), "{words}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn ssh_is_used_in_batch_mode_with_the_users_own_program() {
    let (bench, [first, _], remote) = stage();
    let program = bench.repo.beside("bin/my-ssh");
    let log = bench.repo.beside("asked");
    let text =
        format!("#!/bin/sh\necho \"$*\" >> '{}'\nfor last; do :; done\neval \"$last\"\n", log.display());
    repo::write(&program, &text);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let git = Git::new(Spawner::new("/nonexistent/helper"), "/usr/local/bin:/usr/bin:/bin");
    let workspace =
        Workspace::open(&bench.dir, &bench.source, git, &store()).unwrap().lock("a test").unwrap();
    let url = format!("ssh://git@forge.example.org{}", remote.display());
    let command = Some(program.into_os_string());
    let way =
        PushWay { url: &url, access: Access::Ssh { command, variables: Vec::new() }, ca: None, proxy: None };
    assert_eq!(workspace.send(&way, BRANCH, &first, &[]).unwrap(), Sent::There);
    assert_eq!(at(&remote), first);
    let asked = fs::read_to_string(log).unwrap();
    assert!(asked.contains("-oBatchMode=yes") && asked.contains("git@forge.example.org"), "{asked}");
}
