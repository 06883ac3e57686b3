//! Two projects that share a store: each is told of its own, with its own keys, by its own schedules.

use acquit_run::notify::verify;
use acquit_testkit::postgres::database_or_skip;
use acquit_testkit::receiver::{Received, Receiver};
use acquit_testkit::repo::Repo;

use crate::common::{SCRIPTED, Sandbox, read};
use crate::{FINDS, SHIFT};

const KEYS: [&str; 2] = ["the-key-of-the-first", "the-key-of-the-second"];

/// A schedule that only a person runs.
const NEVER_DUE: &str = "[[schedule]]\nname = \"night\"\ncron = \"0 0 29 2 *\"\nzone = \"UTC\"\nworkflow = \"flow\"\ncategory = \"tests\"\n";

/// A project's files: a schedule of the same name in both, and a webhook that is signed with the project's key.
fn config(url: &str, which: usize) -> String {
    format!(
        "{SCRIPTED}\n{NEVER_DUE}\n[secrets]\nKEY = {{ env = \"KEY_{which}\" }}\n\
         [notify.hook]\nkind = \"webhook\"\nurl = \"{url}/{which}\"\nsecret = \"KEY\"\nevents = [\"done\", \"failed\", \"report\"]\n"
    )
}

/// Two repositories over one store.
fn two(url: &str, store: Option<&str>) -> (Sandbox, Repo) {
    let mut sandbox =
        Sandbox::new(&config(url, 0), SHIFT, FINDS).with("KEY_0", KEYS[0]).with("KEY_1", KEYS[1]);
    if let Some(store) = store {
        sandbox = sandbox.with("ACQUIT_STORE", store);
    }
    let other = Repo::at("another", &[]);
    for file in ["workflows/flow.toml", "script.toml"] {
        other.write(&format!(".acquit/{file}"), &read(&sandbox.repo.path().join(".acquit").join(file)));
    }
    other.write(".acquit/acquit.toml", &config(url, 1));
    other.commit("with acquit");
    (sandbox, other)
}

/// `acquit` in the second repository, which must end well.
fn in_other(sandbox: &Sandbox, other: &Repo, args: &[&str]) {
    let ran = sandbox.command(args).current_dir(other.path()).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Each message is at its project's address, and signed with its project's key.
fn check(messages: &[Received], of: usize, most: usize) {
    let mine: Vec<&Received> = messages.iter().filter(|one| one.path == format!("/{of}")).collect();
    assert_eq!(
        mine.len(),
        most,
        "{:?}",
        messages.iter().map(|one| (&one.path, one.json())).collect::<Vec<_>>()
    );
    for message in mine {
        let (id, at) =
            (message.header("acquit-id"), message.header("acquit-timestamp").parse::<i64>().unwrap());
        let signature = message.header("acquit-signature");
        assert_eq!(verify(KEYS[of].as_bytes(), id, at, &message.body, signature, at), Ok(()));
        assert!(verify(KEYS[1 - of].as_bytes(), id, at, &message.body, signature, at).is_err());
    }
}

fn each_project_is_told_of_its_own(store: Option<&str>) {
    let server = Receiver::start(|_, _| (200, "{}".to_owned()));
    let (sandbox, other) = two(&server.url, store);
    // Both know where they stand before anything happens.
    sandbox.acquit(&["serve", "--once"]).must(0);
    in_other(&sandbox, &other, &["serve", "--once"]);
    // A task of the second project ends; the first one's daemon looks before the second one's does.
    in_other(&sandbox, &other, &["run", "A task of the second"]);
    sandbox.acquit(&["serve", "--once"]).must(0);
    check(&server.received(), 0, 0);
    in_other(&sandbox, &other, &["serve", "--once"]);
    check(&server.received(), 0, 0);
    check(&server.received(), 1, 1);
    // Says what was delivered, and where it is.
    let told = server.received().iter().find(|one| one.path == "/1").expect("a message").json();
    let text = told["text"].as_str().expect("a text");
    assert!(text.contains("branch acquit/") && text.contains(" in "), "{told}");
    // Nights of the same schedule are two.
    in_other(&sandbox, &other, &["schedule", "run", "night"]);
    in_other(&sandbox, &other, &["serve", "--once"]);
    check(&server.received(), 0, 0);
    check(&server.received(), 1, 2);
    in_other(&sandbox, &other, &["schedule", "pause", "night"]);
    let listed = sandbox.acquit(&["schedule", "list", "--json"]).must(0).json();
    assert!(
        !listed.to_string().contains("paused\":true") && !listed.to_string().contains("\"state\":\"paused"),
        "{listed}"
    );
    sandbox.acquit(&["schedule", "run", "night"]).must(0);
    sandbox.acquit(&["serve", "--once"]).must(0);
    check(&server.received(), 0, 1);
    check(&server.received(), 1, 2);
}

#[test]
fn projects_over_one_store_are_told_of_their_own() {
    each_project_is_told_of_its_own(None);
}

#[test]
fn projects_over_one_server_are_told_of_their_own() {
    let Some(database) = database_or_skip("two projects that share a PostgreSQL") else { return };
    each_project_is_told_of_its_own(Some(&database.url));
}
