//! Workers get a repository from its remote, if their user has named its host, and otherwise from the store.

use std::net::TcpListener;

use acquit_testkit::forge::{Dialect, Forge, Rights};
use acquit_testkit::postgres::database_or_skip;
use rustix::process::Signal;

use crate::common::{Sandbox, until};
use crate::{Machine, SLOW, waits_at};

const TOKEN: &str = "ghp_0nlyTheForgeMayKnow1234567890";
const WORKS: &str = "echo work > work.txt\n";

/// Makes `url` the remote that the repository was cloned from.
fn clone_of(sandbox: &Sandbox, url: &str) {
    sandbox.repo.git(&["remote", "add", "origin", url]);
    sandbox.repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
}

/// The configuration of a worker that may fetch from a forge.
fn named(forge: &Forge, token: &str) -> String {
    let host = forge.host();
    format!(
        "fetch_from = [\"{host}\"]\n[secrets]\nWIDGET = {{ command = \"echo {token}\" }}\n\
         [forge]\nkind = \"github\"\nhost = \"{host}\"\ntoken = \"WIDGET\"\n"
    )
}

#[test]
fn heavy_a_repository_that_is_too_large_for_the_store_comes_from_its_remote() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WORKS).with("ACQUIT_STORE", database.url.clone());
    // More than 64 MiB that cannot be compressed, as far as the store is concerned.
    let mut dice = std::fs::File::open("/dev/urandom").unwrap();
    let mut file = std::fs::File::create(sandbox.repo.path().join("large.bin")).unwrap();
    std::io::copy(&mut std::io::Read::take(&mut dice, 66 << 20), &mut file).unwrap();
    sandbox.repo.git(&["-c", "core.compression=0", "add", "large.bin"]);
    sandbox.repo.commit("something large");
    let forge = Forge::start(Dialect::GitHub);
    forge.project("acme/widget", sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Read);
    clone_of(&sandbox, &forge.url("acme/widget"));
    // One commit of the user's own is not at the remote.
    sandbox.repo.write("own.txt", "not pushed\n");
    sandbox.repo.commit("not pushed");
    sandbox.acquit(&["task", "add", "Do it"]).must(0);

    // Nobody has named the host to the first, and the second has no token that the forge knows.
    let cases = [("none", String::new(), "fetch_from"), ("wrong", named(&forge, "ghp_wrong000000"), "login")];
    for (name, config, words) in cases {
        let machine = Machine::new(&sandbox, &database, name, &config);
        let worker = machine.worker(&[]);
        let why = until("it says why it cannot get the repository", || {
            waits_at(&machine)?.1.into_iter().find(|why| why.contains(words))
        });
        assert!(why.contains("no worker has the repository") && !why.contains("ghp_"), "{why}");
        worker.signal(Signal::TERM);
        worker.wait().must(0);
    }
    let one = Machine::new(&sandbox, &database, "one", &named(&forge, TOKEN));
    let worker = one.worker(&[]);
    until("the delivery waits", || waits_at(&one).filter(|(stage, _)| stage == "deliver"));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    let sizes = "update parcels set bytes = bytes where bytes > 1000000";
    assert_eq!(database.execute(sizes), 0, "no parcel has the history");
    sandbox.acquit(&["run", "T-1"]).must(0).said("T-1 is done");
    let branch = sandbox.task().seed.branch;
    assert_eq!(sandbox.repo.git(&["show", &format!("{branch}:work.txt")]), "work");
    let said = format!("{}{}", worker_log(&one), crate::common::read(&one.place("worker.err")));
    assert!(!said.contains(TOKEN), "{said}");
}

fn worker_log(machine: &Machine<'_>) -> String {
    std::fs::read_to_string(machine.place(&format!("acquit/worker/worker-{}.log", machine.name)))
        .unwrap_or_default()
}

#[test]
fn a_worker_contacts_no_host_that_its_user_did_not_name() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let host = listener.local_addr().unwrap();
    let sandbox = Sandbox::shell(SLOW, WORKS).with("ACQUIT_STORE", database.url.clone());
    clone_of(&sandbox, &format!("http://{host}/acme/widget.git"));
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    assert_eq!(database.execute("delete from parcels"), 1);
    // The port is part of the name.
    let config = "fetch_from = [\"git.example.org\", \"127.0.0.1\"]\n";
    let one = Machine::new(&sandbox, &database, "one", config);
    let worker = one.worker(&[]);
    let why = until("it says why", || waits_at(&one)?.1.into_iter().find(|why| why.contains("fetch_from")));
    assert!(why.contains(&host.to_string()), "{why}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    worker.signal(Signal::TERM);
    worker.wait().must(0);
}

#[test]
fn a_worker_packs_its_copy_of_a_repository_again_and_keeps_every_object() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WORKS).with("ACQUIT_STORE", database.url.clone());
    let one = Machine::new(&sandbox, &database, "one", "");
    let runs_a_leg = |title: &str| {
        sandbox.acquit(&["task", "add", title]).must(0);
        let worker = one.worker(&[]);
        until("the delivery waits", || waits_at(&one).filter(|(stage, _)| stage == "deliver"));
        worker.signal(Signal::TERM);
        worker.wait().must(0);
    };
    runs_a_leg("One");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let stores = std::fs::read_dir(one.place("acquit/worker/repositories")).unwrap().flatten();
    let mut copies = stores.flat_map(|store| std::fs::read_dir(store.path()).unwrap().flatten());
    let copy = copies.next().unwrap().path();
    // As many packs as many tasks leave, each with an object that no ref leads to.
    let pack = "for number in $(seq 50); do id=$(echo $number | git hash-object -w --stdin); echo $id; \
                echo $id | git pack-objects -q objects/pack/pack > packed; done; git prune-packed; rm packed";
    let packed = sandbox.program("sh").args(["-c", pack]).current_dir(&copy).output().unwrap();
    let objects = String::from_utf8(packed.stdout).unwrap();
    assert_eq!(objects.lines().count(), 50, "{}", String::from_utf8_lossy(&packed.stderr));
    let packs = || {
        let files = std::fs::read_dir(copy.join("objects/pack")).unwrap().flatten();
        files.filter(|file| file.path().extension().is_some_and(|ending| ending == "pack")).count()
    };
    assert!(packs() > 50, "{} packs", packs());
    runs_a_leg("Two");
    assert!(packs() < 20, "{} packs", packs());
    for object in objects.lines() {
        acquit_testkit::repo::git(&copy, &["cat-file", "-e", object]);
    }
    sandbox.acquit(&["run", "T-2"]).must(0).said("T-2 is done");
}

#[test]
fn what_the_remote_does_not_give_comes_from_the_store() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WORKS).with("ACQUIT_STORE", database.url.clone());
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    clone_of(&sandbox, &format!("http://{gone}/acme/widget.git"));
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let one = Machine::new(&sandbox, &database, "one", &format!("fetch_from = [\"{gone}\"]\n"));
    let worker = one.worker(&[]);
    until("the delivery waits", || waits_at(&one).filter(|(stage, _)| stage == "deliver"));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    sandbox.acquit(&["run", "T-1"]).must(0).said("T-1 is done");
}

#[test]
fn a_worker_takes_from_the_store_only_what_the_remote_does_not_have() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WORKS).with("ACQUIT_STORE", database.url.clone());
    let forge = Forge::start(Dialect::GitHub);
    forge.project("acme/widget", sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Read);
    clone_of(&sandbox, &forge.url("acme/widget"));
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    // A worker that took the pack would fail with it.
    assert_eq!(database.execute("update parcel_parts set data = 'damaged'"), 1);
    let one = Machine::new(&sandbox, &database, "one", &named(&forge, TOKEN));
    let worker = one.worker(&[]);
    until("the delivery waits", || waits_at(&one).filter(|(stage, _)| stage == "deliver"));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    sandbox.acquit(&["run", "T-1"]).must(0).said("T-1 is done");
}

#[test]
fn a_parcel_that_cannot_be_taken_keeps_no_other_task_from_its_worker() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WORKS).with("ACQUIT_STORE", database.url.clone());
    let forge = Forge::start(Dialect::GitHub);
    forge.project("acme/widget", sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Read);
    clone_of(&sandbox, &forge.url("acme/widget"));
    let pushed = sandbox.repo.git(&["rev-parse", "HEAD"]);
    sandbox.repo.write("one.txt", "not pushed\n");
    sandbox.repo.commit("not pushed");
    sandbox.acquit(&["task", "add", "One"]).must(0);
    // Like a parcel that builds on a commit of the remote that only the first task fetches.
    assert_eq!(database.execute("update parcel_parts set data = 'damaged'"), 1);
    sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
    sandbox.repo.git(&["reset", "--quiet", "--hard", &pushed]);
    sandbox.repo.write("two.txt", "not pushed either\n");
    sandbox.repo.commit("not pushed either");
    sandbox.acquit(&["task", "add", "Two"]).must(0);
    let one = Machine::new(&sandbox, &database, "one", &named(&forge, TOKEN));
    let worker = one.worker(&[]);
    until("the delivery waits", || waits_at(&one).filter(|(stage, _)| stage == "deliver"));
    worker.signal(Signal::TERM);
    worker.wait().must(0);
    sandbox.acquit(&["run", "T-2"]).must(0).said("T-2 is done");
}

#[test]
fn a_fetch_removes_what_killed_fetches_left_and_runs_alone() {
    let Some(database) = database_or_skip("workers on PostgreSQL") else { return };
    let sandbox = Sandbox::shell(SLOW, WORKS).with("ACQUIT_STORE", database.url.clone());
    let forge = Forge::start(Dialect::GitHub);
    forge.project("acme/widget", sandbox.repo.path());
    forge.allow(TOKEN, "ada", Rights::Read);
    clone_of(&sandbox, &forge.url("acme/widget"));
    let one = Machine::new(&sandbox, &database, "one", &named(&forge, TOKEN));
    let runs_a_leg = |title: &str| {
        sandbox.acquit(&["task", "add", title]).must(0);
        let worker = one.worker(&[]);
        until("the delivery waits", || waits_at(&one).filter(|(stage, _)| stage == "deliver"));
        worker.signal(Signal::TERM);
        worker.wait().must(0);
    };
    runs_a_leg("One");
    sandbox.acquit(&["run", "T-1"]).must(0);
    let stores = std::fs::read_dir(one.place("acquit/worker/repositories")).unwrap().flatten();
    let mut copies = stores.flat_map(|store| std::fs::read_dir(store.path()).unwrap().flatten());
    let copy = copies.find(|copy| copy.path().is_dir()).unwrap().path();
    assert!(copy.with_extension("lock").is_file(), "fetches take turns");
    let half = copy.join("objects/pack/tmp_pack_half");
    std::fs::write(&half, "half a pack").unwrap();
    let touched = sandbox.program("touch").args(["-d", "1 hour ago"]).arg(&half).status().unwrap();
    assert!(touched.success());
    // Something new at the remote, which the worker fetches.
    sandbox.repo.write("new.txt", "pushed\n");
    sandbox.repo.commit("pushed");
    forge.project("acme/widget", sandbox.repo.path());
    sandbox.repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    runs_a_leg("Two");
    assert!(!half.exists());
    sandbox.acquit(&["run", "T-2"]).must(0).said("T-2 is done");
}
