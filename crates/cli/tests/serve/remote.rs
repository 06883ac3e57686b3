//! Repositories elsewhere: over HTTPS with the token of their host, over SSH without a question, bounded, and never out of date unsaid.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use acquit_testkit::forge::{Dialect, Forge, Rights};
use acquit_testkit::receiver::Receiver;
use acquit_testkit::repo::Repo;
use acquit_testkit::tls;
use rustix::process::Signal;

use crate::common::{Sandbox, processes, read, until};
use crate::{FINDS, SHIFT, due, make_due, tasks, today};

const TOKEN: &str = "glpat-0nlyTheForgeMayKnow12345";

fn remote() -> Repo {
    let remote = Repo::at("remote", &[]);
    remote.write("README.md", "one\n");
    remote.commit("first");
    remote
}

/// A port where everybody is let in and nobody is answered.
struct Silent {
    host: String,
    visits: Arc<Mutex<Vec<TcpStream>>>,
}

impl Silent {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let visits: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let kept = Arc::clone(&visits);
        std::thread::spawn(move || {
            listener.incoming().flatten().for_each(|one| kept.lock().unwrap().push(one));
        });
        Self { host, visits }
    }

    fn visits(&self) -> usize {
        self.visits.lock().unwrap().len()
    }
}

/// Whether a file below a folder has this in it.
fn holds(folder: &std::path::Path, words: &str) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            holds(&path, words)
        } else {
            bytes(&path).windows(words.len()).any(|w| w == words.as_bytes())
        }
    })
}

fn bytes(path: &std::path::Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}

/// What `acquit mirror` says.
fn mirror(sandbox: &Sandbox, args: &[&str]) -> serde_json::Value {
    sandbox.acquit(&[&["mirror"], args].concat()).json()
}

fn plain() -> Sandbox {
    Sandbox::new(crate::common::SCRIPTED, SHIFT, FINDS)
}

/// SPEC §8 [N]: "repository by URL (SSH, HTTPS or path) cloned when absent".
#[test]
fn over_https_a_repository_at_gitlab_is_cloned_with_its_token_and_gets_its_request() {
    gets_its_request(Dialect::GitLab, "gitlab");
}

#[test]
fn over_https_a_repository_at_github_is_cloned_with_its_token_and_gets_its_request() {
    gets_its_request(Dialect::GitHub, "github");
}

fn gets_its_request(dialect: Dialect, kind: &str) {
    let remote = remote();
    let forge = Forge::start(dialect);
    forge.project("acme/widget", remote.path());
    forge.allow(TOKEN, "ada", Rights::Write);
    let front = tls::Front::start(forge.address());
    let ca = tls::authority(&remote.beside(""));
    let url = format!("https://{}/acme/widget.git", front.host());
    let config = today(&format!("category = \"tests\"\nrepositories = [\"{url}\"]\nmost_open = 9"))
        + &format!(
            "[report]\nfile = \"../night.md\"\n[secrets]\nTHE_TOKEN = {{ env = \"THE_TOKEN\" }}\n\
                 [forge]\nkind = \"{kind}\"\nhost = \"{}\"\ntoken = \"THE_TOKEN\"\nca = \"{}\"\nproject = \"not/this\"\n",
            front.host(),
            ca.display()
        );
    let sandbox = due(&config, FINDS).with("THE_TOKEN", TOKEN);
    sandbox.repo.write(".acquit/workflows/flow.toml", &SHIFT.replace("squash", "publish"));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let report = read(&sandbox.place("night.md"));
    assert!(report.contains("MR_CREATED, <http"), "{report}");
    let pulls = forge.pulls();
    assert_eq!((pulls.len(), pulls[0].project.as_str()), (1, "acme/widget"), "{pulls:?}");
    // What others push there meanwhile is what the next night begins with.
    remote.write("README.md", "two\n");
    let newer = remote.commit("second");
    remote.git(&[
        "push",
        "--quiet",
        &forge.repository("acme/widget").to_string_lossy(),
        "HEAD:refs/heads/main",
    ]);
    sandbox.repo.write(".acquit/script.toml", &FINDS.replace("Test the parser", "Name the numbers"));
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let second = sandbox.acquit(&["task", "show", "T-2", "--json"]).must(0).json();
    assert_eq!(second["task"]["seed"]["base"]["commit"], newer.trim());
    assert!(!holds(&sandbox.place("acquit"), TOKEN), "the token is on the disk");
}

#[test]
fn a_token_is_shown_to_the_host_that_it_is_for_and_to_no_other() {
    let other = Receiver::start(|_, _| (401, String::new()));
    let host = other.url.trim_start_matches("http://").to_owned();
    for forge in [
        "kind = \"gitlab\"\nhost = \"git.example.org\"\ntoken = \"THE_TOKEN\"",
        "kind = \"gitlab\"\nhost = \"git.example.org\"",
        "kind = \"gitlab\"\ntoken = \"THE_TOKEN\"",
        "kind = \"gitlab\"",
    ] {
        let config = format!(
            "{}\n[secrets]\nTHE_TOKEN = {{ env = \"THE_TOKEN\" }}\n[forge]\n{forge}\n",
            crate::common::SCRIPTED
        );
        let sandbox =
            Sandbox::new(&config, SHIFT, FINDS).with("THE_TOKEN", TOKEN).with("GITLAB_TOKEN", TOKEN);
        let said = mirror(&sandbox, &[&format!("http://{host}/acme/widget.git")]);
        let words = said["failed"].as_str().unwrap();
        assert!(
            words.contains("the login is not accepted") && words.contains("no token was found"),
            "{words}"
        );
    }
    let asked = other.received();
    assert!(asked.len() >= 4 && asked.iter().all(|one| one.header("authorization").is_empty()), "{asked:?}");
}

#[test]
fn over_ssh_nobody_is_asked_anything() {
    let remote = remote();
    let sandbox = plain();
    let program = sandbox.place("bin/ssh");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let log = sandbox.place("asked");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{0}'\nenv >> '{0}'\nfor last; do :; done\nexec sh -c \"$last\"\n",
        log.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = sandbox.with("GIT_SSH_COMMAND", format!("'{}'", program.display())).with("A_SECRET", TOKEN);
    let place = remote.path().display();
    for url in [format!("ssh://git@127.0.0.1:2222{place}"), format!("git@127.0.0.1:{place}")] {
        let said = mirror(&sandbox, &[&url]);
        let mirror = said["mirror"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned();
        let head = acquit_testkit::repo::git(std::path::Path::new(&mirror), &["rev-parse", "HEAD"]);
        assert_eq!(head, remote.git(&["rev-parse", "HEAD"]));
    }
    let asked = read(&log);
    for words in [
        "-oBatchMode=yes",
        "-oPasswordAuthentication=no",
        "-oForwardAgent=no",
        "-oServerAliveInterval=15",
        "2222",
    ] {
        assert!(asked.contains(words), "no {words} in {asked}");
    }
    assert!(asked.contains("GIT_TERMINAL_PROMPT=0") && !asked.contains(TOKEN), "{asked}");
}

#[test]
fn an_address_with_a_login_in_it_is_refused_and_not_repeated() {
    let sandbox = plain();
    for url in [
        "https://ada:swordfish@forge.example/a/b.git",
        "https://swordfish@forge.example/a/b.git",
        "ssh://git:swordfish@forge.example/a/b.git",
    ] {
        let words = mirror(&sandbox, &[url])["failed"].as_str().unwrap().to_owned();
        assert!(words.contains("forge.example") && words.contains("has a login in it"), "{words}");
        assert!(!words.contains("swordfish"), "{words}");
    }
    assert!(!sandbox.place("acquit/mirrors").exists());
}

#[test]
fn a_remote_that_never_answers_is_given_up_with_everything_that_asked_it() {
    let silent = Silent::start();
    let sandbox = plain();
    let begun = Instant::now();
    let said = mirror(&sandbox, &["--within", "2", &format!("http://{}/a/b.git", silent.host)]);
    assert!(said["failed"].as_str().unwrap().contains("was not done within 2s"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(20) && silent.visits() > 0);
    assert_eq!(processes::marked(&silent.host), []);
}

#[test]
fn a_repository_that_is_too_large_is_refused_before_it_fills_the_disk() {
    let remote = remote();
    let mut noise = Vec::new();
    let mut state = 1_u64;
    while noise.len() < 3_000_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        noise.extend_from_slice(&state.to_le_bytes());
    }
    fs::write(remote.path().join("noise.bin"), &noise).unwrap();
    remote.commit("noise");
    let url = format!("file://{}", remote.path().display());
    let sandbox = plain();
    let said = mirror(&sandbox, &["--largest", "1000000", &url]);
    assert!(said["failed"].as_str().unwrap().contains("it has more than 1000000 bytes"), "{said}");
    let whole = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|end| end == "git");
    assert!(!fs::read_dir(sandbox.place("acquit/mirrors")).unwrap().flatten().any(|entry| whole(&entry)));
    assert!(mirror(&sandbox, &[&url])["mirror"].is_string());
}

#[test]
fn a_mirror_that_could_not_be_refreshed_is_not_used_and_the_report_says_so() {
    let remote = remote();
    let url = format!("file://{}", remote.path().display());
    let config = today(&format!("category = \"tests\"\nrepositories = [\"{url}\"]\nmost_open = 9"))
        + "[report]\nfile = \"../night.md\"\n";
    let sandbox = due(&config, FINDS);
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    fs::rename(remote.path(), remote.beside("away")).unwrap();
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    let report = read(&sandbox.place("night.md"));
    let newest = report.split("\n<!-- acquit").next().unwrap();
    assert!(newest.contains("SKIPPED, failed to fetch file://"), "{newest}");
    assert_eq!(tasks(&sandbox), 1, "nothing was begun on what is out of date");
}

/// Two schedules that are due: one whose remote never answers, and one that has all it needs.
fn beside(silent: &Silent) -> Sandbox {
    let night = today("category = \"tests\"");
    let hangs = night
        .replace("name = \"night\"", "name = \"hangs\"")
        .replace("category", &format!("repositories = [\"http://{}/a/b.git\"]\ncategory", silent.host));
    due(&format!("{hangs}{night}[report]\nfile = \"../night.md\"\n"), FINDS)
}

#[test]
fn a_fetch_that_hangs_holds_up_no_other_night_no_message_and_no_stop() {
    let silent = Silent::start();
    let sandbox = beside(&silent);
    let daemon = sandbox.start(&["serve"]);
    let report = until("the other night's report", || {
        Some(read(&sandbox.place("night.md"))).filter(|text| !text.is_empty())
    });
    assert!(report.contains("## night ") && report.contains("BRANCH_CREATED"), "{report}");
    until("that the silent one was asked", || (silent.visits() > 0).then_some(()));
    assert!(!processes::marked(&silent.host).is_empty(), "the fetch still waits");
    let begun = Instant::now();
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
    assert!(begun.elapsed() < Duration::from_secs(5));
    until("the fetch's end", || processes::marked(&silent.host).is_empty().then_some(()));
}

#[test]
fn a_daemon_that_is_killed_takes_its_fetch_with_it_and_the_next_one_fetches_again() {
    let silent = Silent::start();
    let sandbox = beside(&silent);
    let daemon = sandbox.start(&["serve"]);
    until("that the silent one was asked", || (silent.visits() > 0).then_some(()));
    daemon.signal(Signal::KILL);
    drop(daemon);
    until("the fetch's end", || processes::marked(&silent.host).is_empty().then_some(()));
    let asked = silent.visits();
    make_due(&sandbox);
    let daemon = sandbox.start(&["serve"]);
    until("that it is asked again", || (silent.visits() > asked).then_some(()));
    daemon.signal(Signal::TERM);
    daemon.wait().must(0);
}
